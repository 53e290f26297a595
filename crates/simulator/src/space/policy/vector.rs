//! CANN's default tiling of vector kernels: by its own rules where they are public ([`own`]), else an estimate.

use crate::soc::Soc;
use crate::space::vector::{Axes, UB_BLOCK, Work};
use crate::tiling::Platform;
use crate::tiling::vector::{self, Choice, Elementwise, Norm, Reduction, axes};
use crate::workload::{Move, Operand, Reduce, Vector, VectorSchedule, VectorTemplate, Workload};
use aoe_graph::op::{self, Kind};

/// The default tiling of a vector kernel; a tile of no bytes where UB cannot hold a part of each tensor.
pub(super) fn schedule(workload: &Workload, soc: &Soc, work: &Work) -> VectorSchedule {
    let estimate = estimate(work);
    if estimate.ub_tile_bytes == 0 {
        return estimate;
    }
    own(workload, soc).or_else(|| launched(workload, soc)).unwrap_or(estimate)
}

/// What CANN's public rules choose; `None` where they are closed, or say what a schedule cannot.
///
/// Fused kernels are compiled as one, by closed rules.
pub(super) fn own(workload: &Workload, soc: &Soc) -> Option<VectorSchedule> {
    let part = Platform::of(soc);
    match workload {
        Workload::Vector(w) => elementwise(w, &part),
        Workload::Reduce(w) if w.op_type.starts_with("Reduce") => reduction(w, &part),
        Workload::Reduce(w) => norm(w, &part),
        Workload::Move(w) => transpose(w, &part),
        _ => None,
    }
}

/// Whether [`own`] is all that runs: the tile of no elementwise kernel turns on temporaries that are not known.
pub(super) fn is_exact(workload: &Workload, soc: &Soc) -> bool {
    let by_room = |w: &Vector| flat(w).is_some_and(|work| vector::elementwise(&work, &Platform::of(soc)).room_decides);
    own(workload, soc).is_some() && !matches!(workload, Workload::Vector(w) if by_room(w))
}

/// What launches of elementwise kernels show where the public rules say otherwise: an estimate of today's CANN.
fn launched(workload: &Workload, soc: &Soc) -> Option<VectorSchedule> {
    let Workload::Vector(w) = workload else { return None };
    let part = Platform::of(soc);
    schedule_of(&vector::launched(&flat(w)?, &part)?, VectorTemplate::Flat, largest(&w.inputs, &w.outputs)?, &part)
}

fn elementwise(w: &Vector, part: &Platform) -> Option<VectorSchedule> {
    let choice = vector::elementwise(&flat(w)?, part);
    schedule_of(&choice, VectorTemplate::Flat, largest(&w.inputs, &w.outputs)?, part)
}

/// Elementwise work whose axes are all one.
fn flat(w: &Vector) -> Option<Elementwise> {
    if op::kind(&w.op_type) != Kind::Elementwise || vector::broadcasts(&w.inputs, &w.outputs) {
        return None;
    }
    Elementwise::of(&w.op_type, &w.inputs, &w.outputs)
}

fn reduction(w: &Reduce, part: &Platform) -> Option<VectorSchedule> {
    let x = w.inputs.first().filter(|x| Some(x.elements()) == axes::volume(&[w.outer, w.axis, w.inner]))?;
    // Otherwise it does more than to reduce this axis.
    w.outputs.first().filter(|y| Some(y.elements()) == axes::volume(&[w.outer, w.inner]))?;
    let choice = vector::reduction(&Reduction::of(&w.op_type, axes::reduced(w)?.axes(), x.dtype), part);
    let template = match choice.template {
        "ReduceAtomic" => VectorTemplate::SplitAxis,
        // UB is filled with the reduced axis first.
        _ if choice.tile >= w.axis => VectorTemplate::FullLoad,
        _ => VectorTemplate::Recompute,
    };
    schedule_of(&choice, template, x, part)
}

/// `RmsNorm` and `AddLayerNorm`; other work along an axis is closed on the 910B.
fn norm(w: &Reduce, part: &Platform) -> Option<VectorSchedule> {
    let (rule, scale): (fn(&Norm, &Platform) -> Choice, usize) = match w.op_type.as_str() {
        "RmsNorm" => (vector::rms_norm, 1),
        "AddLayerNorm" => (vector::add_layer_norm, 2),
        _ => return None,
    };
    let x = w.inputs.first().filter(|x| Some(x.elements()) == axes::volume(&[w.outer, w.axis]))?;
    let scale = w.inputs.get(scale).filter(|scale| w.inner == 1 && scale.elements() == w.axis)?;
    let choice = rule(&Norm::of([w.outer, w.axis], x, scale, &w.inputs), part);
    let in_slices = ["SplitD", "SliceX", "Slice"].contains(&choice.template);
    let template = if in_slices { VectorTemplate::Recompute } else { VectorTemplate::FullLoad };
    schedule_of(&choice, template, x, part)
}

/// A transpose whose order of axes its sizes tell.
fn transpose(w: &Move, part: &Platform) -> Option<VectorSchedule> {
    let ([x], [y]) = (w.inputs.as_slice(), w.outputs.as_slice()) else { return None };
    if op::kind(&w.op_type) != Kind::Transpose {
        return None;
    }
    let rules = if w.op_type == "TransposeV2" { vector::transpose_v2 } else { vector::transpose };
    let mut choice = rules(&x.shape, axes::order(&x.shape, &y.shape)?, x.dtype, part)?;
    // How many of the four parts of UB an exchange of two axes works on at a time is not said: a tile of one leaves
    // room to load the next and to store the one before.
    choice.double_buffer |= choice.template != "Transpose021";
    schedule_of(&choice, VectorTemplate::Flat, x, part)
}

/// A choice as a schedule of a kernel that tiles `x`; `None` for an estimate, and for what UB does not hold.
fn schedule_of(choice: &Choice, template: VectorTemplate, x: &Operand, part: &Platform) -> Option<VectorSchedule> {
    let bytes = choice.tile.checked_mul(u64::from(x.dtype.bits()))?.div_ceil(8).checked_next_multiple_of(UB_BLOCK)?;
    // A core with one tile has nothing to load meanwhile.
    let double_buffer = choice.double_buffer && bytes < x.bytes().div_ceil(choice.cores.max(1));
    let fits = bytes > 0 && bytes <= part.ub / (1 + u64::from(double_buffer));
    let [cores, ub_tile_bytes] = [choice.cores, bytes].map(|n| u32::try_from(n).ok());
    (choice.public && fits).then_some(VectorSchedule {
        cores: cores?,
        ub_tile_bytes: ub_tile_bytes?,
        double_buffer,
        template,
    })
}

fn largest<'a>(inputs: &'a [Operand], outputs: &'a [Operand]) -> Option<&'a Operand> {
    inputs.iter().chain(outputs).max_by_key(|o| o.bytes())
}

/// A reduction with fewer rows than this share of the cores is split along its axis, where the rules are closed.
const FEW_ROWS: u64 = 4;
/// A core's part of a split axis has at least this many bytes.
const SPLIT_AXIS_BYTES: u64 = 16 << 10;

/// What stands for closed rules.
///
/// Elementwise: granules dealt evenly, the largest double-buffered tile. Rows: whole rows in UB where one
/// fits (`FullLoad`), as many of them as fit; else tiles of a row, read once more for every pass
/// (`Recompute`). Reductions of few long rows are split along the axis.
fn estimate(work: &Work) -> VectorSchedule {
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
