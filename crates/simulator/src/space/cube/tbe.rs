//! What TBE's convolutions ask of a tiling, parameter by parameter, so that a search meets few that no record can say.
//! The rules are those of [`crate::tiling::tbe::conv2d`]; here they only point the way.

use super::tiling::F;
use super::{FULL_A, FULL_B, P};
use crate::rounding::round_up;
use crate::soc::{Arch, Soc};
use crate::tiling::tbe::conv2d::filter_block;
use crate::workload::{Conv, ConvKind};

/// The extents of a convolution as TBE's kernel counts them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    images: u64,
    /// Pixels of an image along m.
    pixels: u64,
    /// Columns, channels in whole blocks.
    n: u64,
    /// Inner extent, channels in whole blocks.
    k: u64,
    /// Elements of k of one channel block with all kernel positions.
    block: u64,
    /// The same of a panel of filters.
    filter_block: u64,
    /// Columns as the schedule counts them.
    schedule_n: u64,
}

impl Whole {
    /// The extents of a convolution that TBE compiles on a part and whose records can be written. The gradient of a
    /// filter has a space without them: its inner axis is the pixels.
    pub fn of(w: &Conv, soc: &Soc) -> Option<Whole> {
        let groups = w.groups.max(1);
        // Groups of whole blocks are tiled one by one.
        let is_whole = |channels: u64| channels.is_multiple_of(groups) && (channels / groups).is_multiple_of(F);
        let is_joined = groups > 1 && !(w.kind == ConvKind::Forward && is_whole(w.cin) && is_whole(w.cout));
        let is_other = is_joined || w.kind == ConvKind::BackpropFilter || w.is_volume();
        if !matches!(soc.arch, Arch::C220 | Arch::M300) || is_other {
            return None;
        }
        let shape = w.cube();
        let k0 = shape.k0();
        let positions = w.kh.saturating_mul(w.kw).max(1);
        let pixels = match w.kind {
            ConvKind::Forward => w.ho.saturating_mul(w.wo),
            _ => w.hi.saturating_mul(w.wi),
        };
        Some(Whole {
            images: w.batch.max(1),
            pixels: pixels.max(1),
            n: round_up(shape.n, F),
            k: shape.k,
            block: k0.saturating_mul(positions),
            filter_block: filter_block(w, soc.l1_size),
            schedule_n: shape.n.max(1),
        })
    }

    /// Sizes of whole images and their even parts along m: the number of images, and the pixels of one.
    pub const fn images(&self) -> (u64, u64) {
        (self.images, self.pixels)
    }

    /// Elements of k that belong together, in steps of one kernel position.
    pub fn steps(&self, k0: u64) -> u64 {
        (self.block / k0.max(1)).max(1)
    }

    /// Whether parameter `p` may have its value, given those before it.
    pub fn holds(&self, p: P, value: impl Fn(P) -> u64) -> bool {
        let now = value(p);
        match p {
            // Pixels that stay in L1 are those of one image.
            P::FullLoad => now & FULL_A == 0 || self.images == 1,
            P::BaseK => self.k.is_multiple_of(now),
            P::BaseM => now <= round_up(self.pixels, F),
            P::BaseN => self.n.is_multiple_of(now),
            P::SingleN => self.n.is_multiple_of(self.columns_at_once(now).saturating_mul(value(P::BaseN))),
            P::SingleM => self.is_dealt(now, value(P::BaseM)),
            P::StepM => {
                now.saturating_mul(value(P::BaseM)) <= round_up(value(P::SingleM).min(self.pixels), value(P::BaseM))
            }
            P::StepN => {
                let columns = self.n / self.columns_at_once(value(P::SingleN)).max(1);
                value(P::FullLoad) & FULL_B != 0 || columns.is_multiple_of(now.saturating_mul(value(P::BaseN)))
            }
            P::StepKa => value(P::FullLoad) & FULL_A != 0 || self.cuts_k(now, value(P::BaseK), self.block),
            P::StepKb => value(P::FullLoad) & FULL_B != 0 || self.cuts_k(now, value(P::BaseK), self.filter_block),
            _ => true,
        }
    }

    /// Cores along n.
    fn columns_at_once(&self, single: u64) -> u64 {
        self.schedule_n.div_ceil(single.max(1))
    }

    /// Fewest steps that make a panel of A, and of B.
    pub fn least_steps(&self, base: u64) -> [u64; 2] {
        [self.block, self.filter_block].map(|block| {
            let whole_blocks = block / gcd(block, base.max(1));
            whole_blocks.min(self.k.div_ceil(base.max(1))).max(1)
        })
    }

    /// Whether core tasks of so many pixels are whole images, or even runs of L0 tiles of one.
    fn is_dealt(&self, single: u64, base: u64) -> bool {
        if single.is_multiple_of(self.pixels) {
            return self.images.is_multiple_of(single / self.pixels);
        }
        let tiles = self.pixels.div_ceil(base.max(1));
        let parts = self.pixels.div_ceil(single.max(1));
        single < self.pixels && tiles.div_ceil(parts.max(1)).saturating_mul(base) == single
    }

    /// Whether panels of so many steps are whole blocks that leave nothing of k over.
    fn cuts_k(&self, steps: u64, base: u64, block: u64) -> bool {
        let depth = steps.saturating_mul(base);
        depth >= self.k || depth.is_multiple_of(block) && self.k.is_multiple_of(depth)
    }
}

/// Greatest common divisor of two positive numbers.
fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
