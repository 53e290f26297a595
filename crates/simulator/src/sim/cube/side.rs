//! One operand of cube work: how it lies in memory and what a transfer of a part of it costs.

use super::{FRACTAL, Problem};
use crate::sim::machine::Machine;
use crate::workload::{CubeSchedule, CubeShape, L1Tile, Panel};
use aoe_graph::Format;
use std::borrow::Cow;

/// How one operand lies in memory. `extent` is the operand's m or n, `depth` its k.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    /// Bytes in GM for each element of the matrix that the cube sees.
    pub bytes: f64,
    layout: Layout,
    /// Elements along k of one fractal.
    k0: f64,
    /// Rows start at addresses that are no multiple of 32 bytes.
    unaligned: bool,
    /// Bytes from one row to the next, or in fractals from one block of columns to the next.
    stride: f64,
}

/// Bytes of a row of a fractal.
const FRACTAL_ROW: f64 = 32.0;
/// Bytes between blocks of columns that lie behind the same channel of device memory.
const CHANNEL_STRIDE: f64 = 1024.0 * 1024.0;
/// Bytes between rows that lie in the same bank of L2 and of device memory.
const BANK_STRIDE: f64 = 32.0 * 1024.0;

#[derive(Debug, Clone, Copy)]
enum Layout {
    /// Fractals, those of one k block following each other along the extent.
    FractalsAlongExtent,
    /// Fractals, those of one extent block following each other along k.
    FractalsAlongK,
    /// Rows along the extent, one for each element of k.
    RowsAlongExtent,
    /// Rows along k, one for each element of the extent.
    RowsAlongK,
    /// Feature map by channel blocks, each of which covers this many elements of k.
    Channels(f64),
}

impl Problem {
    /// A schedule as the kernel goes through it: a tile with all of a task's K has it in whole fractals, however little
    /// of the last one there is. CANN's tilings of a 310P say K itself, 1 for a product of columns by rows.
    pub(super) fn in_fractals<'s>(&self, s: &'s CubeSchedule) -> Cow<'s, CubeSchedule> {
        if s.single.k.is_multiple_of(self.k0 as u64) {
            return Cow::Borrowed(s);
        }
        let whole = |k: u32| {
            let all = u64::from(k) >= s.single.k;
            if all { k.checked_next_multiple_of(self.k0 as u32).unwrap_or(k) } else { k }
        };
        let panel = |tile: L1Tile| match tile {
            L1Tile::Panel(p) => L1Tile::Panel(Panel { k: whole(p.k), ..p }),
            full @ L1Tile::Full(_) => full,
        };
        let mut s = s.clone();
        (s.l0.k_a, s.l0.k_b) = (whole(s.l0.k_a), whole(s.l0.k_b));
        (s.l1_a, s.l1_b) = (panel(s.l1_a), panel(s.l1_b));
        Cow::Owned(s)
    }
}

impl Side {
    /// A matrix whose stored rows run along k or not, with so many rows and columns as it is stored.
    pub fn matrix(format: Format, along_k: bool, [rows, pitch]: [u64; 2], shape: &CubeShape) -> Side {
        let es = shape.dtype.bytes() as f64;
        let fractal = format == Format::FractalNz;
        let layout = match (fractal, along_k) {
            // NZ stores [columns / 16][rows][16]: a block of columns is one run over all rows.
            (true, true) => Layout::FractalsAlongExtent,
            (true, false) => Layout::FractalsAlongK,
            (false, true) => Layout::RowsAlongK,
            (false, false) => Layout::RowsAlongExtent,
        };
        let unaligned = !fractal && !(pitch * shape.dtype.bytes()).is_multiple_of(32);
        let stride = if fractal { rows as f64 * FRACTAL_ROW } else { (pitch * shape.dtype.bytes()) as f64 };
        Side { bytes: es, layout, k0: shape.k0() as f64, unaligned, stride }
    }

    /// How much longer its rows take because they lie in one bank.
    pub fn conflict(&self, machine: &Machine) -> f64 {
        let shares = |stride: f64| self.stride > 0.0 && self.stride % stride == 0.0;
        match self.layout {
            // Runs along the other axis are long, and few lie beside each other.
            Layout::FractalsAlongExtent if machine.first && shares(CHANNEL_STRIDE) => {
                machine.constants.channel_factor_c100
            }
            Layout::FractalsAlongExtent | Layout::FractalsAlongK => 1.0,
            _ if shares(BANK_STRIDE) => machine.constants.conflict_factor,
            _ => 1.0,
        }
    }

    /// A feature map under a kernel of `taps` positions, each pixel of which serves `reuse` of them.
    pub fn window(shape: &CubeShape, taps: f64, reuse: f64) -> Side {
        let k0 = shape.k0() as f64;
        let bytes = shape.dtype.bytes() as f64 / reuse;
        Side { bytes, layout: Layout::Channels(taps * k0), k0, unaligned: false, stride: 0.0 }
    }

    /// A filter in `FRACTAL_Z`.
    pub fn filter(shape: &CubeShape) -> Side {
        let es = shape.dtype.bytes() as f64;
        Side { bytes: es, layout: Layout::FractalsAlongExtent, k0: shape.k0() as f64, unaligned: false, stride: 0.0 }
    }

    /// Cycles that one transfer of `extent` x `depth` elements keeps MTE2, and its bytes. `whole` tells
    /// whether the part spans the core task's whole operand along extent and k.
    pub fn transfer(&self, extent: f64, depth: f64, whole: [bool; 2], machine: &Machine) -> (f64, f64) {
        let [whole_extent, whole_k] = whole;
        let runs = match self.layout {
            Layout::FractalsAlongExtent if whole_extent => 1.0,
            Layout::FractalsAlongExtent => depth / self.k0,
            Layout::FractalsAlongK if whole_k => 1.0,
            Layout::FractalsAlongK => extent / FRACTAL,
            Layout::RowsAlongExtent => depth,
            Layout::RowsAlongK => extent,
            Layout::Channels(k) => (depth / k).ceil(),
        };
        let run_cycles =
            machine.constants.burst_cycles + if self.unaligned { machine.constants.unaligned_row_cycles } else { 0.0 };
        let bytes = extent * depth * self.bytes;
        (runs * run_cycles + bytes / machine.gm_rate * self.conflict(machine), bytes)
    }
}
