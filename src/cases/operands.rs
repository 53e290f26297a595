//! From an operator's name and operands, as a profile shows them, to a workload.
//!
//! A profile has no attributes: axes and strides are read off shapes and formats, and so is the order of a transpose
//! where the case does not give it.

use super::kernel::{Kernel, Stated, is_absent};
use super::{attention, conv, indexed, product, transpose};
use crate::graph::Format;
use crate::graph::op::{self, Kind};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tiling::vector::axes::rows as rows_along;
use crate::workload::{Move, Operand, Reduce, Vector, Workload};

/// Bytes that one core clears of the buffers that an `AtomicAddrClean` names; it clears only the part
/// that is added to, which the case does not tell.
const CLEANED_BYTES_PER_CORE: u64 = 48 << 10;
/// Lanes of formats whose innermost axis is a block of 16.
const BLOCK: u64 = 16;

/// Bytes of the largest operand of vector work.
pub(crate) fn largest_bytes(workload: &Workload) -> u64 {
    if let Workload::Fused(parts) = workload {
        return parts.iter().filter(|p| !matches!(p, Workload::Fused(_))).map(largest_bytes).max().unwrap_or(0);
    }
    let (inputs, outputs) = workload.operands().unwrap_or_default();
    inputs.iter().chain(outputs).map(Operand::bytes).max().unwrap_or(0)
}

/// The workload of a kernel.
pub(super) fn workload(
    op: &str,
    inputs: Vec<Operand>,
    outputs: Vec<Operand>,
    stated: &Stated,
    soc: &Soc,
) -> Result<Workload> {
    if inputs.iter().chain(&outputs).all(is_absent) {
        return Err(Error::Workload { workload: op.to_owned(), reason: "it has no operands".into() });
    }
    let kernel = Kernel { op: op.to_owned(), inputs, outputs };
    if let Some(transposed) = transpose::workload(op, &kernel, stated.perm, soc)? {
        return Ok(transposed);
    }
    if let Some(fused) = attention::workload(&kernel, stated.attrs)? {
        return Ok(fused);
    }
    let mut parts = parts(op);
    let first = parts.next().unwrap_or(op);
    let lead = if let Some(matmul) = product::workload(first, &kernel, stated.transposes)? {
        matmul
    } else if let Some(conv) = conv::workload(first, &kernel, stated.attrs)? {
        conv
    } else {
        vector(first, &kernel.of_present(), stated)
    };
    let mut pieces = vec![lead];
    if first == "FusedDbnDw" {
        pieces.push(epilogue("BNTrainingReduceGrad", &kernel));
    }
    pieces.extend(parts.map(|part| epilogue(part, &kernel)));
    Ok(if pieces.len() == 1 { pieces.swap_remove(0) } else { Workload::Fused(pieces) })
}

/// The parts of a kernel, which TBE names a fused one after: `FusionOp_Conv2D_ReLU`.
pub(super) fn parts(op: &str) -> impl Iterator<Item = &str> {
    let (fused, alone) = match op.strip_prefix("FusionOp_") {
        Some(names) => (Some(names.split('_')), None),
        None => (None, Some(op)),
    };
    fused.into_iter().flatten().chain(alone)
}

/// A later part of a fused kernel: works on the first part's result, and brings operands of its own.
fn epilogue(op: &str, kernel: &Kernel) -> Workload {
    let result = kernel.outputs.iter().max_by_key(|o| o.elements()).or_else(|| kernel.largest());
    let elements = result.map_or(0, Operand::elements);
    let same = |o: &&Operand| o.elements() >= elements && o.format != Format::FractalZ;
    let extra = |operands: &[Operand]| operands.iter().filter(same).skip(1).cloned().collect::<Vec<_>>();
    let result = result.cloned().into_iter().collect::<Vec<_>>();
    // The lead loads the product's two operands and stores one result.
    let inputs = result.iter().cloned().chain(kernel.inputs.iter().skip(2).filter(same).cloned()).collect();
    let outputs = result.into_iter().chain(extra(&kernel.outputs)).collect();
    Workload::Vector(Vector { op_type: op.to_owned(), inputs, outputs })
}

/// Vector work or movement.
fn vector(op: &str, kernel: &Kernel, stated: &Stated) -> Workload {
    let op_type = op.to_owned();
    let (mut inputs, mut outputs) = (kernel.inputs.clone(), kernel.outputs.clone());
    if op == "AtomicAddrClean" {
        let cleared = cleared(&inputs, stated.block_dim);
        return Workload::Move(Move { op_type, run_bytes: 0, inputs: Vec::new(), outputs: cleared });
    }
    if ["ZerosLike", "OnesLike", "Fill", "Range"].contains(&op) {
        return Workload::Move(Move { op_type, run_bytes: 0, inputs: Vec::new(), outputs });
    }
    if op.contains("Cache") || op.contains("cache") {
        indexed::leave_in_place(&mut inputs, &mut outputs);
    }
    if op == "Assign" && inputs.len() == 2 {
        // The first operand is only written.
        inputs.remove(0);
    }
    if let Some(movement) = movement(op, &inputs, &outputs, stated.first) {
        return Workload::Move(movement);
    }
    if let Some((outer, axis, inner)) = stated_rows(op, kernel, stated.axes).or_else(|| rows(op, kernel, stated)) {
        return Workload::Reduce(Reduce { op_type, outer, axis, inner, inputs, outputs });
    }
    Workload::Vector(Vector { op_type, inputs, outputs })
}

fn cleared(inputs: &[Operand], block_dim: Option<u64>) -> Vec<Operand> {
    let bytes = inputs.iter().map(Operand::bytes).fold(0, u64::saturating_add);
    let most = block_dim.filter(|&b| b < 25).map_or(u64::MAX, |b| b.saturating_mul(CLEANED_BYTES_PER_CORE));
    vec![Operand::new([bytes.min(most).div_ceil(4).max(1)], crate::graph::DataType::Float)]
}

/// Rows, elements and lanes along the axes that a case names; `None` where it names none, or work of another kind.
fn stated_rows(op: &str, kernel: &Kernel, axes: Option<&[i64]>) -> Option<(u64, u64, u64)> {
    let x = kernel.inputs.iter().max_by_key(|o| o.elements()).filter(|x| is_plain(x.format))?;
    // Of each group of channels there is one mean.
    if let (Kind::GroupNorm, Some(means)) = (op::kind(op), kernel.outputs.get(1)) {
        let groups = means.elements().max(1);
        return Some((groups, (x.elements() / groups).max(1), 1));
    }
    let kinds = [Kind::AlongAxis, Kind::ReduceAxes];
    let rank = x.shape.len();
    let at = |axis: i64| usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok().filter(|&a| a < rank);
    let axes = axes?.iter().map(|&axis| at(axis)).collect::<Option<Vec<_>>>()?;
    if axes.is_empty() || !kinds.contains(&op::kind(op)) {
        return None;
    }
    let reduced = (0..rank).map(|axis| axes.contains(&axis));
    rows_along(x.shape.iter().copied().zip(reduced)).map(<(u64, u64, u64)>::from)
}

/// Movement of data, with the bytes that stay together where that is less than a row of blocks.
fn movement(op: &str, inputs: &[Operand], outputs: &[Operand], first: bool) -> Option<Move> {
    let is = |names: &[&str]| names.iter().any(|n| op.starts_with(n));
    if let Some(rows) = indexed::movement(op, inputs, outputs) {
        return Some(rows);
    }
    let kinds = [
        "TransData",
        "Transpose",
        "ConfusionTranspose",
        "Concat",
        "Split",
        "Slice",
        "StridedSlice",
        "Tile",
        "Pad",
        "AsStrided",
        "Pack",
        "Stack",
        "ParallelConcat",
        "Unpack",
        "Unstack",
    ];
    if !is(&kinds) {
        return None;
    }
    if first && let Some(short) = short_rows(op, inputs, outputs) {
        return Some(short);
    }
    let all = || inputs.iter().chain(outputs);
    let largest = all().map(Operand::bytes).max().unwrap_or(0);
    // Runs are counted on the largest operand.
    let scaled = |(o, row): (&Operand, u64)| (largest as f64 * row as f64 / o.bytes().max(1) as f64).ceil() as u64;
    let turns_pixels = op == "Tile" || all().any(|o| o.format == Format::Nc1hwc0);
    let plain = all().filter_map(|o| odd_row(o, turns_pixels).map(|row| (o, row)));
    let run_bytes = plain.max_by_key(|(o, _)| o.bytes()).map_or(0, scaled);
    // A part of a tensor is taken: only that is read.
    let partial = op.contains("Slice") || op == "AsStrided";
    let joins = op.starts_with("Pack") || op.starts_with("Stack");
    let runs = match (inputs.first(), outputs.first()) {
        (Some(x), Some(y)) if partial => strided_runs(if y.elements() < x.elements() { (x, y) } else { (y, x) }),
        (Some(_), Some(y)) if op.starts_with("Concat") => inputs.iter().map(|part| strided_runs((y, part))).sum(),
        (Some(x), Some(_)) if op.starts_with("Split") => outputs.iter().map(|part| strided_runs((x, part))).sum(),
        (Some(_), Some(y)) if joins => inputs.iter().map(|part| stacked_runs(y, part)).sum(),
        (Some(x), Some(_)) if op.starts_with("Un") => outputs.iter().map(|part| stacked_runs(x, part)).sum(),
        _ => 0,
    };
    let moved =
        if partial { inputs.iter().take(1).chain(outputs).map(Operand::bytes).min().unwrap_or(0) } else { largest };
    let run_bytes = match runs {
        0 if is_whole(op, inputs, outputs) || is_one_piece(op, inputs, outputs) => 0,
        0 => run_bytes,
        runs => moved.div_ceil(runs).max(1),
    };
    let (inputs, outputs) = match (partial, op.ends_with("Grad")) {
        (true, false) => (outputs.to_vec(), outputs.to_vec()),
        (true, true) => (inputs.iter().take(1).cloned().collect(), outputs.to_vec()),
        _ => (inputs.to_vec(), outputs.to_vec()),
    };
    Some(Move { op_type: op.to_owned(), run_bytes, inputs, outputs })
}

/// Whether every part of a plain tensor that is joined of parts, or cut, lies together in it: the axis is the first.
fn is_whole(op: &str, inputs: &[Operand], outputs: &[Operand]) -> bool {
    let named = ["Concat", "Split", "Pack", "Stack", "ParallelConcat", "Unpack", "Unstack"];
    let all = || inputs.iter().chain(outputs);
    let rank = all().map(|o| o.shape.len()).max().unwrap_or(0);
    let is_part = |o: &Operand| is_plain(o.format) && o.shape.len() + 1 >= rank;
    named.iter().any(|n| op.starts_with(n)) && all().filter(|o| o.elements() > 1).all(is_part)
}

/// Whether what is taken of a plain tensor, or what it becomes a part of, lies together in it: it differs along the first axis
/// alone. Rows that fill no whole blocks pass as one then. (Views by strides may be of anything.)
fn is_one_piece(op: &str, inputs: &[Operand], outputs: &[Operand]) -> bool {
    let named = ["Slice", "StridedSlice", "Pad", "Tile"].iter().any(|n| op.starts_with(n));
    let (Some(x), Some(y)) = (inputs.first(), outputs.first()) else { return false };
    let same_rows = x.shape.len() == y.shape.len() && x.shape.iter().skip(1).eq(y.shape.iter().skip(1));
    named && is_plain(x.format) && is_plain(y.format) && same_rows
}

/// Bytes of a block of UB.
const UB_BLOCK: u64 = 32;
/// Rows of at most a block that pass in the time of one run: they are sorted out in UB.
const ROWS_IN_A_RUN: u64 = 5;
/// Bytes of an odd row that are written in the time of one run where most of it is zeros.
const ZEROED_RUN: u64 = 64;

/// Parts of the last axis, as TBE's kernels for fused cores take or join them: rows of at most a block lie in UB whole,
/// and a part shorter than a block of a longer row passes element by element. `None` for other movements.
fn short_rows(op: &str, inputs: &[Operand], outputs: &[Operand]) -> Option<Move> {
    let (x, y) = (inputs.first()?, outputs.first()?);
    let row = |o: &Operand| o.shape.last().map_or(0, |&n| n.saturating_mul(u64::from(o.dtype.bits())) / 8);
    let others_agree =
        x.shape.len() == y.shape.len() && (op.starts_with("Pad") || x.shape.split_last()?.1 == y.shape.split_last()?.1);
    if !others_agree || !is_plain(x.format) || row(x) == row(y) {
        return None;
    }
    let moved = |run_bytes: u64, inputs: &[Operand]| {
        Some(Move { op_type: op.to_owned(), run_bytes, inputs: inputs.to_vec(), outputs: outputs[..1].to_vec() })
    };
    if op.starts_with("Concat") {
        return if row(y) <= UB_BLOCK { moved(0, inputs) } else { None };
    }
    if op.starts_with("Pad") {
        return if row(y).is_multiple_of(UB_BLOCK) { None } else { moved(ZEROED_RUN, &inputs[..1]) };
    }
    if !op.starts_with("StridedSlice") && !op.starts_with("Slice") {
        return None;
    }
    if op.contains("Grad") {
        return match row(y) {
            whole if whole <= UB_BLOCK => moved(0, &inputs[..1]),
            whole if whole.is_multiple_of(UB_BLOCK) => None,
            _ => moved(ZEROED_RUN, &inputs[..1]),
        };
    }
    match (row(x), row(y)) {
        (whole, _) if whole <= UB_BLOCK => moved(ROWS_IN_A_RUN * whole, &inputs[..1]),
        // Two elements of a short part take as long as a run, and so do the part's two ends.
        (_, part) if part < UB_BLOCK => moved((2 * part / (y.shape.last()? + 2)).max(1), &outputs[..1]),
        _ => None,
    }
}

/// Contiguous pieces of a `part` cut out of a `whole`; 0 where all of it is one.
fn strided_runs((whole, part): (&Operand, &Operand)) -> u64 {
    if whole.shape.len() != part.shape.len() {
        return 0;
    }
    match whole.shape.iter().zip(&part.shape).rposition(|(w, p)| w != p) {
        Some(differs) if differs > 0 => part.shape[..differs].iter().fold(1, |n: u64, &d| n.saturating_mul(d)),
        _ => 0,
    }
}

/// Contiguous pieces of a `part` that is a whole's slice along an axis of its own; 0 where all of it is one.
fn stacked_runs(whole: &Operand, part: &Operand) -> u64 {
    if whole.shape.len() != part.shape.len() + 1 {
        return 0;
    }
    match whole.shape.iter().zip(&part.shape).position(|(w, p)| w != p).unwrap_or(part.shape.len()) {
        0 => 0,
        axis => part.shape[..axis].iter().fold(1, |n: u64, &d| n.saturating_mul(d)),
    }
}

/// Whether a layout has the axes in the order of the shape, nothing in blocks.
fn is_plain(format: Format) -> bool {
    matches!(format, Format::Nd | Format::Nchw | Format::Nhwc | Format::Ncdhw | Format::Ncl)
}

/// Bytes that stay together of a plain tensor whose innermost row fills no whole 32-byte blocks. Planes
/// of pixels are turned block by block.
fn odd_row(o: &Operand, turns_pixels: bool) -> Option<u64> {
    let plain = is_plain(o.format);
    let bytes = |elements: u64| elements.saturating_mul(u64::from(o.dtype.bits())) / 8;
    match *o.shape.as_slice() {
        [_, _, h, w] if turns_pixels && h > 1 && w > 1 && h == w => (plain && bytes(h * w) % 32 != 0).then_some(32),
        [.., _, last] => (plain && bytes(last) % 32 != 0 && bytes(last) > 32).then_some(bytes(last)),
        _ => None,
    }
}

/// Taps of the window whose places a mask says: a plane of bits for each.
fn mask_window(kernel: &Kernel) -> Option<u64> {
    let mut masks = kernel.inputs.iter().chain(&kernel.outputs).filter(|o| o.dtype.bits() == 8 && !o.dtype.is_float());
    masks.next().filter(|mask| mask.shape.len() == 5).map(|mask| mask.shape[2])
}

/// Rows, elements and lanes of work along an axis; `None` for elementwise work.
fn rows(op: &str, kernel: &Kernel, stated: &Stated) -> Option<(u64, u64, u64)> {
    let along_last = ["Softmax", "LogSoftmax", "ConfusionSoftmax", "DynamicQuant"];
    // A norm may stand behind what it is fused with: `InplaceAddRmsNorm`, `DeepNorm`, `QuantizeAddLayerNorm`.
    let norms = ["LayerNorm", "RmsNorm", "DeepNorm"];
    let along_any = [
        "Reduce",
        "BiasAddGrad",
        "SquareSum",
        "LpNorm",
        "BNTraining",
        "MaxPool",
        "AvgPool",
        "Adaptive",
        "Global",
        "ArgMax",
        "TopK",
        "Sort",
    ];
    let starts = |names: &[&str]| names.iter().any(|n| op.starts_with(n));
    let x = kernel.inputs.iter().max_by_key(|o| o.elements())?;
    let total = x.elements();
    let last = x.shape.last().copied().unwrap_or(1).max(1);
    // A row is sorted whole, however many of its values are kept.
    if starts(&["TopK", "Sort"]) && is_plain(x.format) {
        return Some((total / last, last, 1));
    }
    let is_softmax = op.contains("Softmax") && !op.contains("CrossEntropy") && !op.starts_with("MoeGating");
    let is_norm = norms.iter().any(|n| op.contains(n));
    if (starts(&along_last) || is_softmax || is_norm) && !op.contains("BetaGamma") {
        let (axis, lanes) = match (x.format, x.shape.as_slice()) {
            // [columns / 16][rows / 16][16][16]: sixteen rows side by side.
            (Format::FractalNz, [.., blocks, _, _, width]) => (blocks * width, BLOCK),
            (_, [.., last]) => (*last, 1),
            _ => return None,
        };
        return Some((total.checked_div(axis.max(1))?.div_ceil(lanes).max(1), axis.max(1), lanes));
    }
    if !starts(&along_any) || op.starts_with("BNTrainingUpdate") && !op.contains("Grad") || op == "BNTrainingReduceGrad"
    {
        return None;
    }
    if (op.starts_with("MaxPool") || op.starts_with("AvgPool"))
        && let Some(window) = mask_window(kernel).or(stated.window)
    {
        let results = kernel.inputs.iter().chain(&kernel.outputs).filter(|o| o.dtype.is_float());
        let result = results.map(Operand::elements).min().unwrap_or(BLOCK);
        return Some(((result / BLOCK).max(1), window, BLOCK));
    }
    // Planes of images are added up one by one.
    if op.starts_with("Global")
        && let &[batch, channels, h, w] = x.shape.as_slice()
        && x.format != Format::Nhwc
    {
        return Some((batch.saturating_mul(channels).max(1), h.saturating_mul(w).max(1), 1));
    }
    if let ("BiasAddGrad", Format::Nd | Format::Nchw, &[batch, channels, h, w]) = (op, x.format, x.shape.as_slice()) {
        return Some((batch.saturating_mul(channels).max(1), h.saturating_mul(w).max(1), 1));
    }
    let kept = kernel.outputs.iter().map(Operand::elements).max().unwrap_or(1).min(total).max(1);
    let keeps_last = kernel.outputs.iter().any(|o| o.shape.last() == Some(&last) && o.elements() > 1);
    let axis = (total / kept).max(1);
    Some(if x.format == Format::Nd && !keeps_last { (kept, axis, 1) } else { (1, axis, kept.max(BLOCK)) })
}
