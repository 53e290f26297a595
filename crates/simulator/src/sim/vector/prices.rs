//! What instructions, rows and pieces cost on each generation of vector cores.

use crate::sim::constants::Constants;
use crate::sim::machine::is_first;
use crate::sim::recipe::Recipe;
use crate::soc::{Arch, Soc};

/// Bytes of a block of UB.
const BLOCK: f64 = 32.0;
/// Times that Euclid's algorithm takes longer on 64 bits than on 32 where no instruction divides them.
const LONG_SCALARS: f64 = 100.0;

/// What a loop over registers takes on the 950 of what the scalar unit takes.
const REGISTER_SCALARS: f64 = 0.3;

/// Cycles of one part's vector cores.
pub(super) struct Prices {
    simple: f64,
    divide: f64,
    root: f64,
    /// What the instructions take of their price: the 950's work from registers.
    share: f64,
    /// The same of a row's own cost.
    row_share: f64,
    long_row: Option<f64>,
    row_block: f64,
    scalar_share: f64,
    /// Of a row on tiles that another kernel has just made.
    pub following_row: f64,
    /// Which of the two generations' setup counts; none for the first.
    setup: Option<usize>,
    pub spread_row: f64,
    pub halved_row: f64,
    pub run: f64,
    pub index: f64,
    /// Times that such a row costs more where it fills no whole blocks of UB.
    pub odd_index: f64,
    pub turn_byte: f64,
    /// Of an instruction on 64-bit integers, for each element.
    pub long_integer: f64,
}

impl Prices {
    pub(super) fn of(soc: &Soc, c: &Constants) -> Prices {
        let later = Prices {
            simple: c.simple_cycles,
            divide: c.divide_cycles_c220,
            root: c.root_cycles_c220,
            share: 1.0,
            row_share: 1.0,
            long_row: None,
            row_block: c.row_block_cycles_c220,
            scalar_share: 1.0,
            following_row: c.row_cycles_c220,
            setup: Some(0),
            spread_row: c.spread_row_cycles_c220,
            halved_row: c.halved_row_cycles_c220,
            run: c.run_cycles_c220,
            index: c.index_cycles_c220,
            odd_index: c.odd_index_factor,
            turn_byte: c.turn_byte_cycles,
            long_integer: c.long_integer_cycles,
        };
        match soc.arch {
            arch if is_first(arch) => Prices {
                divide: c.divide_cycles_c100,
                root: c.root_cycles_c100,
                long_row: Some(c.row_cycles_c100),
                following_row: c.row_cycles_c100,
                setup: None,
                spread_row: 0.0,
                halved_row: 0.0,
                run: c.run_cycles_c100,
                index: c.index_cycles_c100,
                odd_index: 1.0,
                turn_byte: 0.0,
                ..later
            },
            Arch::C310 => Prices {
                share: c.register_share,
                row_share: c.register_row_share,
                // Registers of 64-bit integers are two of 32 bits.
                run: c.run_cycles_c310,
                odd_index: 1.0,
                long_integer: 2.0 * 8.0 / soc.vec_bytes_per_cycle,
                scalar_share: REGISTER_SCALARS,
                setup: Some(1),
                spread_row: c.register_row_share * later.spread_row,
                halved_row: c.register_row_share * later.halved_row,
                ..later
            },
            _ => later,
        }
    }

    /// Of all instructions on 256 bytes of elements, `casts` of which are conversions alone.
    pub(super) fn instructions(&self, casts: f64, r: &Recipe) -> f64 {
        let series = if self.long_row.is_some() { r.series } else { 0.0 };
        self.share * (casts + (r.simple + series) * self.simple + r.divide * self.divide + r.root * self.root)
    }

    /// Of the instructions on 256 bytes of fp32 that rows take more than the first generation's kernels.
    pub(super) fn row_instructions(&self, r: &Recipe) -> f64 {
        if self.long_row.is_some() { 0.0 } else { self.share * r.row_simple * self.simple }
    }

    /// Of each element on the scalar unit.
    pub(super) fn scalar(&self, r: &Recipe, bits: u32) -> f64 {
        r.scalar * self.scalar_share * if bits == 64 { LONG_SCALARS } else { 1.0 }
    }

    /// Of a row of so many bytes that is reduced along the last axis, its instructions besides.
    pub(super) fn row(&self, r: &Recipe, bytes: f64) -> f64 {
        self.long_row.unwrap_or_else(|| self.row_share * r.row.min(r.row.min(12.0) + self.row_block * bytes / BLOCK))
    }

    /// Which of the two generations' setup counts.
    pub(super) const fn setup_generation(&self) -> Option<usize> {
        self.setup
    }

    /// Microseconds before the first tile of a kernel whose code is not in L2.
    pub(super) fn setup(&self, r: &Recipe) -> f64 {
        self.setup.map_or(0.0, |generation| r.setup_us[generation])
    }
}
