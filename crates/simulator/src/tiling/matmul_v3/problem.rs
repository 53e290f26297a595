//! What the rules look at: one product on one part.

use super::math::{max, min};
use crate::tiling::Platform;
use crate::workload::MatMul;
use aoe_graph::{DataType, Format};

/// Sizes of a row of an operand, in bytes, that the cube kernel reads as they lie: no vector pass rewrites them.
pub(in crate::tiling) const READ_AS_IT_LIES: [u64; 9] = [32, 64, 96, 128, 160, 192, 224, 256, 384];

/// The largest extent of an inner axis that the kernel's copies can step over: 16 bits.
pub(in crate::tiling) const LONGEST_INNER: u64 = 65535;

/// CANN's extents are 32-bit integers with a sign.
const LONGEST: u64 = i32::MAX as u64;

/// One product on one part, in the terms of the rules. No number is 0 by which a rule divides.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the operands")]
pub(in crate::tiling) struct Problem {
    pub m: u64,
    pub k: u64,
    pub n: u64,
    /// Bytes of an element of A and B.
    pub es: u64,
    /// Bytes of an element of C.
    pub cs: u64,
    pub ta: bool,
    pub tb: bool,
    pub bias: bool,
    pub a_nz: bool,
    pub b_nz: bool,
    /// A and B are float32.
    pub fp32: bool,
    /// They may be rounded to HF32.
    pub hf32: bool,
    /// Number of AI Cores.
    pub u: u64,
    pub p: Platform,
}

impl Problem {
    pub fn new(w: &MatMul, p: &Platform) -> Problem {
        let fp32 = w.dtype == DataType::Float;
        let extent = |e: u64| min(max(e, 1), LONGEST);
        Problem {
            m: extent(w.m),
            k: extent(w.k),
            n: extent(w.n),
            es: w.dtype.bytes().clamp(1, 8),
            cs: w.out_dtype.bytes().clamp(1, 8),
            ta: w.trans_a,
            tb: w.trans_b,
            bias: w.bias,
            a_nz: w.a_format == Format::FractalNz,
            b_nz: w.b_format == Format::FractalNz,
            fp32,
            hf32: fp32 && w.hf32,
            u: p.cores.clamp(1, u32::MAX.into()),
            p: *p,
        }
    }

    /// float32 that is not rounded to HF32.
    pub fn plain_fp32(&self) -> bool {
        self.fp32 && !self.hf32
    }

    /// Whether the extent is a multiple of 256 bytes of elements.
    pub fn x256(&self, extent: u64) -> bool {
        (extent * self.es).is_multiple_of(256)
    }

    /// The contiguous axis of A as it is stored.
    pub fn inner_a(&self) -> u64 {
        if self.ta { self.m } else { self.k }
    }

    /// The other axis of A.
    pub fn outer_a(&self) -> u64 {
        if self.ta { self.k } else { self.m }
    }

    /// The contiguous axis of B as it is stored.
    pub fn inner_b(&self) -> u64 {
        if self.tb { self.k } else { self.n }
    }

    /// The other axis of B.
    pub fn outer_b(&self) -> u64 {
        if self.tb { self.n } else { self.k }
    }

    /// L0C holds 256 x 256 accumulators, as on a 310P.
    pub fn large_l0c(&self) -> bool {
        self.p.l0_c >= 256 << 10
    }

    /// Rows of the base block as CANN starts with it: 128, or 256 with the large L0C.
    pub fn start_m(&self) -> u64 {
        if self.large_l0c() { 256 } else { 128 }
    }

    /// Bytes of L0A, or of L0B where that is smaller, for one of two buffers.
    pub fn half_l0(&self) -> u64 {
        min(self.p.l0_a, self.p.l0_b) / 2
    }

    /// Bytes of A, B and C together.
    pub fn bytes(&self) -> u64 {
        let inputs = (self.m + self.n).saturating_mul(self.k).saturating_mul(self.es);
        inputs.saturating_add((self.m * self.n).saturating_mul(self.cs))
    }
}
