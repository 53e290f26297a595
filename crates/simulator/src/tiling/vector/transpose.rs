//! Transposes of `AscendC` on the 910B: planes turned over, and leading axes that change places.

use super::{Choice, Rule, Rules};
use crate::soc::Arch;
use crate::tiling::Platform;

/// Elements of a padded plane that UB turns over as a whole.
const PLANE: u64 = 128 * 128;
/// Most axes that are looked at; tensors have at most 16 dimensions.
const MOST_AXES: usize = 16;

/// The default tiling of a transpose of this shape to this order of axes; `None` for orders whose kernels TBE
/// compiles, with closed tiling, and for none at all.
pub fn transpose(shape: &[u64], order: &[usize], es: u64, p: &Platform) -> Option<Choice> {
    let (sizes, order, count) = fused(shape, order)?;
    let choice = match (&sizes[..count], &order[..count]) {
        (&[rows, columns], [1, 0]) => plane(1, rows, columns, es, p)?,
        (&[batch, rows, columns], [0, 2, 1]) => plane(batch, rows, columns, es, p)?,
        (&[first, second, last], [1, 0, 2]) => places(1, first, second, last, es, p),
        (&[batch, first, second, last], [0, 2, 1, 3]) => places(batch, first, second, last, es, p),
        _ => return None,
    };
    (p.arch == Arch::C220).then_some(choice)
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
