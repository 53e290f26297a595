//! Tilings of convolutions as CANN's tiling repositories for parts without fixpipe hold them: a vector of 50 values, 51
//! in some records (facts: generation C).

use super::{Buffers, Conv, Cores, CubeSchedule, Extents, L0Tile, L1Tile, L2Tiling, LoopOrder, OutputPath, SplitK};

/// Lengths that a vector has.
const LENGTHS: std::ops::RangeInclusive<usize> = 50..=51;
/// Rows and columns of a fractal.
const FRACTAL: u32 = 16;

/// One place of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A number.
    Number(u32),
    /// `[]`: all of the axis.
    Full,
    /// null or false: not used.
    Absent,
}

/// A decoded vector. Extents are in the units of the vector: k of L1 in elements, L0 in fractals, L1 in L0 tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvTiling(Vec<Place>);

impl ConvTiling {
    /// Takes the places of a vector. Fails with a sentence for one of another length.
    pub fn new(places: Vec<Place>) -> Result<ConvTiling, String> {
        if LENGTHS.contains(&places.len()) {
            Ok(ConvTiling(places))
        } else {
            Err(format!(
                "{} values, a tiling of a convolution has {} or {}",
                places.len(),
                LENGTHS.start(),
                LENGTHS.end()
            ))
        }
    }

    /// A place; those behind the last are absent.
    pub fn place(&self, at: usize) -> Place {
        self.0.get(at).copied().unwrap_or(Place::Absent)
    }

    /// The number at a place, or what stands for all of an axis.
    fn or(&self, at: usize, full: f64) -> f64 {
        match self.place(at) {
            Place::Number(n) if n > 0 => f64::from(n),
            _ => full,
        }
    }

    fn one(&self, at: usize) -> f64 {
        self.or(at, 1.0)
    }

    /// Blocks over the batch, m, depth or groups, and n.
    pub fn blocks(&self) -> [f64; 4] {
        [2, 3, 4, 16].map(|at| self.one(at))
    }

    /// Blocks over k: the filter's gradient sums over pixels.
    pub fn k_blocks(&self) -> f64 {
        self.one(10)
    }

    /// L0 tile: fractals along m, n, and k of A.
    pub fn l0(&self) -> [f64; 3] {
        [37, 38, 28].map(|at| self.one(at))
    }

    /// L0B holds all of k.
    pub fn l0_b_is_full(&self) -> bool {
        !matches!(self.place(32), Place::Number(_))
    }

    /// What of A and of B L1 holds: k in elements, L0 tiles, and taps of depth; `None` for all.
    pub fn l1(&self) -> [Option<[f64; 3]>; 2] {
        let panel = |k: usize, tiles: usize, depth: usize| match self.place(k) {
            Place::Number(_) => Some([k, tiles, depth].map(|at| self.one(at))),
            Place::Full | Place::Absent => None,
        };
        [panel(5, 6, 8), panel(17, 18, 20)]
    }

    /// Buffers of L1 (A, B), L0 (A, B, C) and UB.
    pub fn buffers(&self) -> [u8; 6] {
        [0, 14, 26, 31, 36, 41].map(|at| self.one(at).min(2.0) as u8)
    }

    /// The tiling in the form of every other one; `cores` is what the part has.
    pub fn schedule(&self, conv: &Conv, cores: u32) -> CubeSchedule {
        let shape = conv.cube();
        let whole = |x: f64| x.clamp(1.0, f64::from(u32::MAX)) as u32;
        let [batch, m, depth, n] = self.blocks().map(whole);
        let k = if conv.kind == super::ConvKind::BackpropFilter { whole(self.k_blocks()) } else { 1 };
        let blocks = Cores { batch: batch.saturating_mul(depth), m, n, k };
        let [l0_m, l0_n, l0_k] = self.l0().map(whole);
        let k0 = shape.k0() as u32;
        let base_k = l0_k.saturating_mul(k0);
        let [a, b] = self.l1().map(|panel| match panel {
            Some([k, tiles, depth]) => L1Tile::panel(whole(k * depth), whole(tiles)),
            None => L1Tile::FULL,
        });
        let [l1_a, l1_b, l0_a, l0_b, l0_c, _] = self.buffers();
        CubeSchedule {
            used_cores: u32::try_from(blocks.tasks()).unwrap_or(u32::MAX).clamp(1, cores.max(1)),
            cores: blocks,
            single: Extents {
                batch: shape.batch,
                m: shape.m.div_ceil(u64::from(m) * u64::from(batch)),
                n: shape.n.div_ceil(n.into()),
                k: shape.k.div_ceil(k.into()),
            },
            l0: L0Tile { m: l0_m.saturating_mul(FRACTAL), n: l0_n.saturating_mul(FRACTAL), k_a: base_k, k_b: base_k },
            l1_a: a,
            l1_b: b,
            buffers: Buffers { l1_a, l1_b, l0_a, l0_b, l0_c },
            order: LoopOrder::default(),
            l2: L2Tiling::default(),
            split_k: if k > 1 { SplitK::MultiCore } else { SplitK::None },
            output: OutputPath::Direct,
            unmodelled: std::collections::BTreeMap::new(),
        }
    }
}

/// A convolution with such a tiling.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvRecord {
    /// What is computed.
    pub conv: Conv,
    /// Every channel has its own filter; the cube works on one block of channels at a time.
    pub depthwise: bool,
    /// Operands of the result's size that vector work behind it brings, `fused_double_operand_num`.
    pub fused_operands: f64,
    /// How.
    pub tiling: ConvTiling,
}
