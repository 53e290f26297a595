//! Transposes of `AscendC` on the 910B: planes turned over, and leading axes that change places.
//!
//! Their kernels are those of `TransposeV2`, which the operator interface launches for few orders and sizes ([`is_launched`]).
//! All else is TBE's `Transpose`, which deals what there is to all cores: on a 910B1 it has 48 for [4, 1024, 12288] to
//! [1024, 4, 12288], for [4, 3, 1024, 512] to [1024, 4, 3, 512], and for [1024, 4] to [4, 1024].

use super::{Choice, Rule, Rules};
use crate::soc::Arch;
use crate::tiling::Platform;
use aoe_graph::DataType;

/// Elements of a padded plane that UB turns over as a whole.
const PLANE: u64 = 128 * 128;
/// Longest side of a plane for which the kernel of planes is launched.
const LONGEST_SIDE: u64 = 128;
/// Longest rows, in elements, for which the kernels that move rows are launched though they are copied, and what one of the
/// axes that change places then has at most.
const LONGEST_ROW: u64 = 256;
const FEW: u64 = 64;
/// Batches for which, and the longest row up to which, the kernel that keeps a leading axis is launched.
const BATCHES: std::ops::RangeInclusive<u64> = 1024..=2048;
const BATCHED_ROW: u64 = 64;
/// Most axes that are looked at; tensors have at most 16 dimensions.
const MOST_AXES: usize = 16;

/// The default tiling of a transpose of this shape to this order of axes, an estimate where CANN launches TBE's kernel;
/// `None` for orders that only TBE has, with closed tiling, and for none at all.
pub fn transpose(shape: &[u64], order: &[usize], dtype: DataType, p: &Platform) -> Option<Choice> {
    let (sizes, axes, count) = fused(shape, order)?;
    let choice = of_fused(&sizes[..count], &axes[..count], dtype, p)?;
    if is_launched(&sizes[..count], &axes[..count], dtype) {
        return Some(choice);
    }
    Some(Choice { rules: choice.rules.and(Rule::NotLaunched), ..choice }.estimated())
}

/// The default tiling of `TransposeV2`, whoever launches it; `None` for orders that it does not have.
pub fn transpose_v2(shape: &[u64], order: &[usize], dtype: DataType, p: &Platform) -> Option<Choice> {
    let (sizes, order, count) = fused(shape, order)?;
    of_fused(&sizes[..count], &order[..count], dtype, p)
}

fn of_fused(sizes: &[u64], order: &[usize], dtype: DataType, p: &Platform) -> Option<Choice> {
    let es = dtype.bytes().max(1);
    let choice = match (sizes, order) {
        (&[rows, columns], [1, 0]) => plane(1, rows, columns, es, p)?,
        (&[batch, rows, columns], [0, 2, 1]) => plane(batch, rows, columns, es, p)?,
        (&[first, second, last], [1, 0, 2]) => places(1, first, second, last, es, p),
        (&[batch, first, second, last], [0, 2, 1, 3]) => places(batch, first, second, last, es, p),
        _ => return None,
    };
    (p.arch == Arch::C220).then_some(choice)
}

/// Whether CANN's operator interface launches `TransposeV2` for this, and not `Transpose` (`ops-math`,
/// `conversion/transpose/op_host/op_api/transpose.cpp`).
fn is_launched(sizes: &[u64], order: &[usize], dtype: DataType) -> bool {
    let block = 32 / dtype.bytes().clamp(1, 32);
    let few = |first: u64, second: u64| first.min(second) <= FEW;
    let sized = match (sizes, order) {
        (&[_, rows, columns], [0, 2, 1]) => rows.max(columns) <= LONGEST_SIDE,
        (&[first, second, last], [1, 0, 2]) => last < 4 * block || last <= LONGEST_ROW && few(first, second),
        (&[batch, first, second, last], [0, 2, 1, 3]) => {
            BATCHES.contains(&batch) && last <= BATCHED_ROW && last.is_multiple_of(block) && few(first, second)
        }
        _ => false,
    };
    sized && matches!(dtype, DataType::Float | DataType::Float16 | DataType::Bfloat16)
}

/// The transpose without axes of one element, and with those joined that stay together.
fn fused(shape: &[u64], order: &[usize]) -> Option<([u64; MOST_AXES], [usize; MOST_AXES], usize)> {
    if order.len() > MOST_AXES || order.len() != shape.len() {
        return None;
    }
    let kept = || order.iter().copied().filter(|&axis| shape.get(axis).is_some_and(|&size| size > 1));
    // The place of the next axis of the input that is not one element.
    let next = |axis: usize| (axis + 1..shape.len()).find(|&a| shape[a] > 1);
    let (mut heads, mut sizes, mut count) = ([0; MOST_AXES], [1u64; MOST_AXES], 0usize);
    let mut previous = None;
    for axis in kept() {
        if previous.is_some_and(|p| next(p) == Some(axis)) {
            sizes[count - 1] = sizes[count - 1].saturating_mul(shape[axis]);
        } else {
            (heads[count], sizes[count]) = (axis, shape[axis]);
            count += 1;
        }
        previous = Some(axis);
    }
    let mut ranks = [0; MOST_AXES];
    let mut input = [1; MOST_AXES];
    for place in 0..count {
        ranks[place] = heads[..count].iter().filter(|&&head| head < heads[place]).count();
        input[ranks[place]] = sizes[place];
    }
    Some((input, ranks, count))
}

/// Batches of planes whose two axes change places.
fn plane(batch: u64, rows: u64, columns: u64, es: u64, p: &Platform) -> Option<Choice> {
    let e = 32 / es.clamp(1, 32);
    let [high, wide] = [rows.next_multiple_of(16), columns.next_multiple_of(e)];
    if high.checked_mul(wide)? > PLANE {
        return None;
    }
    let buffer = p.ub / 4 / es.max(1);
    let once = if columns.is_multiple_of(e) { high } else { 16 * e };
    let double = once.saturating_mul(wide) <= buffer;
    let cores = batch.min(p.vector_cores).max(1);
    let mut rules = Rules::default().and(Rule::Batch).and(Rule::SmallPlane);
    if double {
        rules.add(Rule::DoubleBuffer);
    }
    let choice = Choice::new("Transpose021", cores, rules)
        .with("batchPerCore", batch / cores)
        .with("batchRemainder", batch % cores)
        .with("hOnce", once)
        .with("ubSize", buffer)
        .with("bufferNum", 1 + u64::from(double))
        .tile(once.saturating_mul(wide), double);
    Some(choice)
}

/// Two axes before the last change places.
fn places(batch: u64, first: u64, second: u64, last: u64, es: u64, p: &Platform) -> Choice {
    let e = 32 / es.clamp(1, 32);
    let (dealt, rule) = if batch > 1 { (batch, Rule::Batch) } else { (first.max(second), Rule::LongerAxis) };
    let cores = dealt.min(p.vector_cores).max(1);
    let copies = last >= 4 * e;
    let tile = p.ub / 4 / es.max(1);
    let rules = Rules::default().and(rule).and(if copies { Rule::StridedCopies } else { Rule::Turned16 });
    Choice::new(if batch > 1 { "Transpose0213" } else { "Transpose102" }, cores, rules)
        .with("dealtPerCore", dealt / cores)
        .with("dealtRemainder", dealt % cores)
        .with("ubSize", tile)
        .tile(tile, false)
}
