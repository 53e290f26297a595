//! CANN's default tiling of vector kernels: elementwise work, rows (softmax, norms, reductions), movement.

use crate::space::vector::{Axes, Work};
use crate::workload::{VectorSchedule, VectorTemplate};

/// A reduction with fewer rows than this share of the cores is split along its axis. CANN's thresholds
/// are not public.
const FEW_ROWS: u64 = 4;
/// A core's part of a split axis has at least this many bytes.
const SPLIT_AXIS_BYTES: u64 = 16 << 10;

/// The default tiling of a vector kernel.
///
/// Elementwise: granules dealt evenly, the largest double-buffered tile. Rows: whole rows in UB where one
/// fits (`FullLoad`), as many of them as fit; else tiles of a row, read once more for every pass
/// (`Recompute`). Reductions of few long rows are split along the axis.
pub(super) fn schedule(work: &Work) -> VectorSchedule {
    let template = template(work);
    let cores = work.even_cores(work.cores, template);
    let smallest = work.smallest_tile(template);
    let share = work.share(cores, template);
    let double_buffer = smallest < share && smallest <= work.largest_tile(true, template);
    let most = work.largest_tile(double_buffer, template) / smallest * smallest;
    let whole = share.div_ceil(smallest).saturating_mul(smallest);
    // A share that fits UB at once needs no second buffer.
    let (tile, double_buffer) = if most >= whole { (whole, false) } else { (most, double_buffer) };
    VectorSchedule {
        cores: cores as u32,
        ub_tile_bytes: u32::try_from(tile).unwrap_or(u32::MAX / 32 * 32),
        double_buffer,
        template,
    }
}

fn template(work: &Work) -> VectorTemplate {
    let Axes::Rows { row, combines } = work.axes else { return VectorTemplate::Flat };
    let few = work.units < work.cores / FEW_ROWS;
    if combines && few && work.bytes / work.cores >= SPLIT_AXIS_BYTES {
        VectorTemplate::SplitAxis
    } else if row <= work.largest_tile(false, VectorTemplate::FullLoad) {
        VectorTemplate::FullLoad
    } else {
        VectorTemplate::Recompute
    }
}
