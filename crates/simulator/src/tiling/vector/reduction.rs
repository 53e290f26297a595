//! Reductions: TBE's run-time tiling, version 3.

use super::axes::{Fused, MOST_FUSED};
use super::{Choice, Rule, Rules};
use crate::soc::Arch;
use crate::tiling::Platform;
use aoe_graph::DataType;

/// A reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduction<'a> {
    /// Sizes of the input, and which axes are reduced.
    pub axes: &'a [(u64, bool)],
    /// Bytes of an element.
    pub es: u64,
    /// Whether partial sums of cores may be added up in memory: a flag of the compiled kernel, for sums of fp32.
    pub atomic: bool,
    /// Whether elements are widened to fp32 before they are added.
    pub widened: bool,
}

impl<'a> Reduction<'a> {
    /// The kernel of an operator on a tensor with these axes.
    pub fn of(op_type: &str, axes: &'a [(u64, bool)], dtype: DataType) -> Reduction<'a> {
        let sums = ["ReduceSum", "ReduceSumD"].contains(&op_type);
        let adds = sums || op_type.starts_with("ReduceMean");
        Reduction {
            axes,
            es: dtype.bytes().max(1),
            atomic: sums && dtype == DataType::Float,
            widened: adds && dtype.is_float() && dtype.bits() == 16,
        }
    }
}

/// What is dealt to the cores.
struct Deal {
    /// Parts of the axes before.
    before: u64,
    /// The axis, among the fused ones, and how much of it a core gets.
    axis: usize,
    factor: u64,
    rule: Rule,
}

/// The default tiling.
pub fn reduction(w: &Reduction, p: &Platform) -> Choice {
    let fused = Fused::of(w.axes.iter().copied());
    let es = w.es.max(1);
    let e = 32 / es.min(32);
    // A tile of the input, widened where it is, and its partial results, with two buffers.
    let before = (p.ub / 2 / (es + if w.widened { 4 } else { 0 }) / 128 * 128).max(e);
    let after = before;
    let deal = split_reduced(&fused, w, p, before, after, e).or_else(|| split_kept(&fused, p, after, e));
    let mut deal = deal.unwrap_or(Deal { before: 1, axis: 0, factor: fused.size(0), rule: Rule::NoSplit });
    let mut rules = Rules::default().and(deal.rule).and(Rule::UbCounted);
    let size = fused.size(deal.axis);
    if deal.axis + 1 == fused.axes().len() && (e..size).contains(&deal.factor) && !deal.factor.is_multiple_of(e) {
        deal.factor = deal.factor / e * e;
        rules.add(Rule::WholeBlocks);
    }
    let blocks = deal.before.saturating_mul(size.div_ceil(deal.factor.max(1))).max(1);
    let (ub_axis, ub_factor, tile) = ub_split(&fused, &deal, before, e);
    let template = match deal.rule {
        Rule::SplitReduced | Rule::SplitReducedRows => "ReduceAtomic",
        _ => "Reduce",
    };
    let choice = Choice::new(template, blocks.min(p.vector_cores.max(1)), rules)
        .launching(blocks)
        .with("blockTilingAxis", deal.axis as u64)
        .with("blockTilingFactor", deal.factor)
        .with("ubTilingAxis", ub_axis as u64)
        .with("ubTilingFactor", ub_factor)
        .tile(tile, true);
    // The copy is of the time of these parts.
    if matches!(p.arch, Arch::C100 | Arch::C220) { choice } else { choice.estimated() }
}

/// Cores share the reduced axis and add up in memory.
fn split_reduced(f: &Fused, w: &Reduction, p: &Platform, before: u64, after: u64, e: u64) -> Option<Deal> {
    let (out, red, cores) = (f.product(false), f.product(true), p.vector_cores.max(1));
    if !w.atomic || red <= 1 || out > before {
        return None;
    }
    let few = out.saturating_mul(red) > 1024 && out < cores * e / 2 && red > cores / 2;
    let rows = matches!(*f.axes(), [(first, true), (last, false)] if first >= cores && after > 4096 && last < before);
    if !few && !rows {
        return None;
    }
    let mut parts = 1u64;
    let reduced = || f.axes().iter().enumerate().filter(|(_, axis)| axis.1);
    let last = reduced().next_back()?.0;
    for (axis, &(size, _)) in reduced() {
        if parts.saturating_mul(size) >= cores || axis == last {
            let factor = size.div_ceil((cores / parts).max(1));
            let rule = if few { Rule::SplitReduced } else { Rule::SplitReducedRows };
            return Some(Deal { before: parts, axis, factor, rule });
        }
        parts *= size;
    }
    None
}

/// Cores share a kept axis; every store is a whole block of 32 bytes.
fn split_kept(f: &Fused, p: &Platform, after: u64, e: u64) -> Option<Deal> {
    let cores = p.vector_cores.max(1);
    let mut following = f.product(false);
    let mut parts = 1u64;
    for (axis, &(size, _)) in f.axes().iter().enumerate().filter(|(_, axis)| !axis.1) {
        following = (following / size).max(1);
        if following > after {
            parts = parts.saturating_mul(size);
            continue;
        }
        // Where not every core can have a result, a part is what a block of memory holds.
        if following <= e && parts.saturating_mul(size) < cores {
            let factor = e.div_ceil(following).min(size);
            let deal = Deal { before: parts, axis, factor, rule: Rule::SplitKept };
            return (size.saturating_mul(following) >= e).then_some(deal);
        }
        return full_parts(size, following, parts, cores, after, e, axis);
    }
    None
}

/// The least multiple of the core count whose parts fit UB; fewer parts where the last one's store would be
/// less than a block.
fn full_parts(size: u64, following: u64, before: u64, cores: u64, after: u64, e: u64, axis: usize) -> Option<Deal> {
    let fitting = (after / following).max(1);
    // The fewest parts that fit UB, as a multiple of the cores.
    let rounds = before.saturating_mul(size.div_ceil(fitting)).div_ceil(cores).max(1);
    let wanted = (rounds.saturating_mul(cores) / before).clamp(1, size);
    let mut factor = size.div_ceil(wanted);
    while factor <= fitting.min(size) {
        let tail = size - (size.div_ceil(factor) - 1) * factor;
        if tail.saturating_mul(following) >= e {
            return Some(Deal { before, axis, factor, rule: Rule::SplitKeptFull });
        }
        // A part that is one block longer makes the tail shorter or takes it in.
        let parts = size.div_ceil(factor);
        factor = if parts > 1 { size.div_ceil(parts - 1).max(factor + 1) } else { factor + 1 };
    }
    None
}

/// The tile of UB: kept axes come first, then reduced ones; the first axis whose following ones fit.
fn ub_split(f: &Fused, deal: &Deal, before: u64, e: u64) -> (usize, u64, u64) {
    let axes = f.axes();
    let size = |axis: usize| if axis == deal.axis { deal.factor.min(axes[axis].0) } else { axes[axis].0 };
    let order = |reduced: bool| (0..axes.len()).filter(move |&axis| axes[axis].1 == reduced);
    let mut following = 1u64;
    let mut best = (0, 1, 1);
    let mut left = [0usize; MOST_FUSED];
    let mut count = 0;
    for axis in order(false).chain(order(true)) {
        left[count] = axis;
        count += 1;
    }
    for &axis in left[..count].iter().rev() {
        if following > before {
            break;
        }
        let most = (before / following).max(1);
        let mut factor = size(axis).min(most);
        // Only the innermost axis has to be cut in whole blocks.
        if following == 1 && factor < size(axis) && factor > e {
            factor = factor / e * e;
        }
        best = (axis, factor, factor.saturating_mul(following));
        let whole = if following == 1 { size(axis).div_ceil(e).saturating_mul(e) } else { size(axis) };
        following = following.saturating_mul(whole);
    }
    best
}
