//! Movement of data: which bytes stay together.

use super::{indexed, is_plain};
use crate::graph::Format;
use crate::workload::{Move, Operand};

/// Movement of data, with the bytes that stay together where that is less than a row of blocks.
pub(super) fn movement(op: &str, inputs: &[Operand], outputs: &[Operand], first: bool) -> Option<Move> {
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
