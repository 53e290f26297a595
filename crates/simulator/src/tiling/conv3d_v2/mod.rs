//! `Conv3DV2`: three-dimensional convolutions on the 910B.
//!
//! Cores are dealt by a cost model, L0 tiles grow until a buffer is full, and L1 holds as much as then fits. All
//! channels of an image are in blocks of 16.

mod cores;
mod l0;
mod l1;
pub mod legality;
mod record;
#[cfg(test)]
mod tests;

pub use cores::Deal;
pub use record::{BANK_OP_TYPE, Tiling as Record};

use super::Platform;
use super::rules::rules;
use crate::soc::Arch;
use crate::workload::{Conv, ConvKind};
use l0::MOST_K;

/// CANN's name of the operator.
pub const OP_TYPE: &str = "Conv3DV2";

rules! {
    Estimated "CANN's rules for this part, or for groups, are not known: those of one group on a 910B stand in.",
    LeastCost "Cores are dealt where the cost model's loads, stores and products are least.",
    IdleDepthDropped "A split of the output's depth whose last core would idle is dropped, as another is not dearer.",
    GrowL0 "The L0 tile grows by its shorter side until a buffer is full.",
    DoubleL0C "L0C holds two tiles.",
    OneL0A "All of K and the whole task's rows fit L0A: one buffer.",
    OneL0B "All of K and the whole task's channels fit L0B: one buffer.",
    BothWhole "Image and weights of a core's task both stay in L1.",
    WeightsWhole "The weights of a core's task stay in L1, the smaller of the two.",
    ImageWhole "The image of a core's task stays in L1, the smaller of the two.",
    WholeKBoth "Neither stays in L1: tiles of both hold all of K.",
    WholeKImage "Neither stays in L1: tiles of the image hold all of K.",
    WholeKWeights "Neither stays in L1: tiles of the weights hold all of K.",
    PartOfK "Neither stays in L1: K passes in parts.",
    WeightsBypassL1 "The tile of the weights in L1 is that of L0: they go to L0B straight.",
}

/// Beyond this sizes count as so large: no buffer comes near.
const MOST: u64 = 1 << 40;

/// A convolution as the rules see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// Images.
    pub batch: u64,
    /// Groups of channels.
    pub groups: u64,
    /// Channels of the image, all groups together.
    pub cin: u64,
    /// Channels of the result, all groups together.
    pub cout: u64,
    /// Depth, height, width of the image.
    pub input: [u64; 3],
    /// Depth, height, width of the result.
    pub output: [u64; 3],
    /// Depth, height, width of the kernel.
    pub kernel: [u64; 3],
    /// Strides along them.
    pub stride: [u64; 3],
    /// Dilations along them.
    pub dilation: [u64; 3],
    /// Bytes of an element of image and weights.
    pub es: u64,
    /// A bias is added.
    pub bias: bool,
}

impl Problem {
    /// A forward convolution of volumes; `None` for any other.
    pub fn of(w: &Conv) -> Option<Problem> {
        let depth = w.depth.filter(|depth| w.kind == ConvKind::Forward && depth.output > 0 && depth.kernel > 0)?;
        Some(Problem {
            batch: w.batch / depth.output,
            groups: w.groups,
            cin: w.cin / depth.kernel,
            cout: w.cout,
            input: [depth.input, w.hi, w.wi],
            output: [depth.output, w.ho, w.wo],
            kernel: [depth.kernel, w.kh, w.kw],
            stride: [depth.stride, w.stride[0], w.stride[1]],
            dilation: [depth.dilation, w.dilation[0], w.dilation[1]],
            es: w.dtype.bytes().max(1),
            bias: w.bias,
        })
    }

    /// Blocks of 16 input channels of a group.
    fn ci16(&self) -> u64 {
        (self.cin / self.groups.max(1)).div_ceil(16).clamp(1, MOST)
    }

    /// Blocks of 16 output channels of a group.
    pub fn co16(&self) -> u64 {
        (self.cout / self.groups.max(1)).div_ceil(16).clamp(1, MOST)
    }

    /// Pixels of an output plane.
    pub fn pixels(&self) -> u64 {
        self.output[1].saturating_mul(self.output[2]).clamp(1, MOST)
    }

    /// Elements of K that a block of 16 channels has with all taps of a plane.
    pub fn k_unit(&self) -> u64 {
        self.kernel[1].saturating_mul(self.kernel[2]).saturating_mul(16).max(16)
    }

    /// Blocks of K: those of channels at every depth of the kernel.
    pub fn k_units(&self) -> u64 {
        self.ci16().saturating_mul(self.kernel[0].max(1)).min(MOST)
    }

    /// Bytes that an image of so many output pixels takes in L1, with so many blocks of K: whole rows, of which
    /// the pixels may begin and end within one.
    pub fn image_bytes(&self, pixels: u64, k_units: u64) -> u64 {
        let rows_out = pixels / self.output[2].max(1) + 2;
        let taps = (self.kernel[1].max(1) - 1).saturating_mul(self.dilation[1]) + 1;
        let rows = (rows_out - 1).saturating_mul(self.stride[1]).saturating_add(taps).min(self.input[1].max(1));
        [rows, self.input[2], k_units, 16, self.es].into_iter().fold(1, u64::saturating_mul)
    }

    /// Bytes that the weights of so many channels take in L1, with so many blocks of K.
    pub fn weight_bytes(&self, channels: u64, k_units: u64) -> u64 {
        [channels, k_units, self.k_unit(), self.es].into_iter().fold(1, u64::saturating_mul)
    }
}

/// The default tiling, by CANN's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the fields are CANN's")]
pub struct Tiling {
    pub batch_dim: u64,
    pub n_dim: u64,
    pub m_dim: u64,
    pub do_dim: u64,
    pub group_dim: u64,
    pub single_core_do: u64,
    pub single_core_m: u64,
    pub single_core_co: u64,
    pub m_l0: u64,
    pub n_l0: u64,
    pub k_l0: u64,
    pub m_al1: u64,
    pub n_bl1: u64,
    pub k_al1: u64,
    pub k_bl1: u64,
    /// Bits: 0 L0A, 1 L0B, 2 L0C, 3 image in L1, 4 weights in L1 have two buffers.
    pub p_buffer_flag: u64,
    /// 0 M first, 1 N first.
    pub iterate_mn_order: u64,
    pub al1_full_load: u64,
    pub bl1_full_load: u64,
    pub bl1_bypass_flag: u64,
}

impl Tiling {
    /// The fields by CANN's names.
    pub fn fields(&self) -> [(&'static str, u64); 20] {
        [
            ("batchDim", self.batch_dim),
            ("nDim", self.n_dim),
            ("mDim", self.m_dim),
            ("doDim", self.do_dim),
            ("groupDim", self.group_dim),
            ("singleCoreDo", self.single_core_do),
            ("singleCoreM", self.single_core_m),
            ("singleCoreCo", self.single_core_co),
            ("mL0", self.m_l0),
            ("nL0", self.n_l0),
            ("kL0", self.k_l0),
            ("mAL1", self.m_al1),
            ("nBL1", self.n_bl1),
            ("kAL1", self.k_al1),
            ("kBL1", self.k_bl1),
            ("pBufferFlag", self.p_buffer_flag),
            ("iterateMNOrder", self.iterate_mn_order),
            ("al1FullLoad", self.al1_full_load),
            ("bl1FullLoad", self.bl1_full_load),
            ("bl1BypassFlag", self.bl1_bypass_flag),
        ]
    }
}

/// What the host tiling chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The fields.
    pub tiling: Tiling,
    /// Whether the rules for the part are public.
    pub public: bool,
    /// The rules that decided.
    pub rules: Rules,
}

/// The default tiling; `None` for a convolution with an extent of zero, or whose smallest tile does not fit L1.
pub fn default(w: &Problem, p: &Platform) -> Option<Choice> {
    let extents = [w.batch, w.groups, w.cin, w.cout, w.es];
    if extents.iter().chain(&w.input).chain(&w.output).chain(&w.kernel).any(|&n| n == 0) {
        return None;
    }
    let mut rules = Rules::default();
    let deal = cores::deal(w, p, &mut rules);
    let tile = l0::grow(w, &deal, p, &mut rules)?;
    let l1 = l1::fill(w, &deal, &tile, p, &mut rules);
    let k = l1::depth(&tile, &l1, w, p);
    let public = p.arch == Arch::C220 && w.groups == 1;
    if !public {
        rules.add(Rule::Estimated);
    }
    Some(Choice { tiling: fields(w, &deal, &tile, &l1, k, &mut rules), public, rules })
}

fn fields(w: &Problem, deal: &Deal, tile: &l0::Tile, l1: &l1::Held, k_l0: u64, rules: &mut Rules) -> Tiling {
    let whole_k = k_l0 == w.k_units().saturating_mul(w.k_unit());
    let [one_a, one_b] = [whole_k && tile.m >= deal.m, whole_k && tile.n >= deal.n];
    let [k_al1, k_bl1] = [l1.k_a, l1.k_b].map(|units| units.saturating_mul(w.k_unit()));
    let bypass = k_bl1 == k_l0 && l1.n == tile.n;
    for (rule, on) in [(Rule::OneL0A, one_a), (Rule::OneL0B, one_b), (Rule::WeightsBypassL1, bypass)] {
        if on {
            rules.add(rule);
        }
    }
    let bits = [!one_a, !one_b, tile.two_l0c, l1.two_a, l1.two_b];
    Tiling {
        batch_dim: deal.batch_dim,
        n_dim: deal.n_dim,
        m_dim: deal.m_dim,
        do_dim: deal.do_dim,
        group_dim: deal.group_dim,
        single_core_do: w.output[0].div_ceil(deal.do_dim),
        single_core_m: deal.m * 16,
        single_core_co: deal.n * 16,
        m_l0: tile.m * 16,
        n_l0: tile.n * 16,
        k_l0,
        m_al1: l1.m * 16,
        n_bl1: l1.n * 16,
        k_al1,
        k_bl1,
        p_buffer_flag: (0..).zip(bits).map(|(bit, on)| u64::from(on) << bit).sum(),
        iterate_mn_order: u64::from(l1.n_first),
        al1_full_load: u64::from(l1.whole_a),
        bl1_full_load: u64::from(l1.whole_b),
        bl1_bypass_flag: u64::from(bypass),
    }
}

/// Divisors of a number, ascending.
fn divisors(n: u64) -> Vec<u64> {
    let mut small: Vec<u64> = (1..=n.isqrt()).filter(|d| n.is_multiple_of(*d)).collect();
    let large: Vec<u64> = small.iter().rev().map(|d| n / d).filter(|d| d * d != n).collect();
    small.extend(large);
    small
}
