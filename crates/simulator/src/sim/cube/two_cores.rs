//! TBE's products on parts of two cores (the 310), by their tilings from a repository.
//!
//! What the pipes' times leave of the measured ones is told by what the kernel moves through UB: results on their way
//! from L0C to memory, which nothing hides, and filters. Where the operands are plain matrices, which rows of the
//! repository say by a `stride_h` of 0 and which take up to six times as long, the vector units also turn them: B and C once,
//! and A for each tile of L0C.
//!
//! The numbers are least absolute relative errors on the problems that fitting sees (`docs/simulator.md`), by hand: on those
//! that it does not see they lower the mean error from 36 to 24 % of products in fractals, and from 50 to 28 % of plain ones.

/// How the operands lie, and with it what a product costs besides its pipes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weights {
    /// Microseconds before and after.
    start: f64,
    /// Share of the time that its pipes take with the usual overlap.
    pipes: f64,
    /// Microseconds for each byte of B and of C, and for each element of them.
    bytes: [f64; 2],
    elements: [f64; 2],
    /// Microseconds for each byte of A that a tile of L0C is made of.
    turned: f64,
}

/// Operands in fractals.
pub(super) const FRACTALS: Weights =
    Weights { start: 5.7, pipes: 0.32, bytes: [12.2e-6, 38.1e-6], elements: [0.0; 2], turned: 0.0 };
/// Plain matrices.
pub(super) const PLAIN: Weights =
    Weights { start: 0.8, pipes: 0.25, bytes: [0.0, 40.7e-6], elements: [70.3e-6, 224.8e-6], turned: 181e-6 };

/// What a product moves, in bytes and elements of all cores; of `tiles` those of the busiest core.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moved {
    pub bytes: [f64; 2],
    pub elements: [f64; 2],
    pub tiles: f64,
}

impl Weights {
    /// Microseconds of a product whose pipes would take `pipes_us`.
    pub fn time_us(&self, pipes_us: f64, moved: &Moved) -> f64 {
        let sum = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
        self.start
            + self.pipes * pipes_us
            + sum(self.bytes, moved.bytes)
            + sum(self.elements, moved.elements)
            + self.turned * moved.tiles
    }
}
