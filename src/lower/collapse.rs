//! Merging axes that a kernel cannot tell apart, so that equal work has equal sizes.

/// Product of sizes; `None` when it overflows.
pub(super) fn product(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d))
}

/// Operands of an elementwise kernel with result `whole`, every one broadcast to it, with neighbouring
/// axes merged where no operand distinguishes them. Leading axes of size 1 go; a single element is `[1]`.
///
/// `None` when an operand does not broadcast to `whole`.
pub(super) fn elementwise(operands: &[Vec<u64>], whole: &[u64]) -> Option<Vec<Vec<u64>>> {
    let padded: Vec<Vec<u64>> = operands.iter().map(|o| pad(o, whole)).collect::<Option<_>>()?;
    let mut merged: Vec<Vec<u64>> = vec![Vec::new(); operands.len()];
    let mut last: Option<usize> = None;
    for axis in (0..whole.len()).filter(|&a| whole[a] != 1) {
        let follows =
            last.is_some_and(|before| padded.iter().all(|o| is_full(o, whole, before) == is_full(o, whole, axis)));
        for (sizes, operand) in merged.iter_mut().zip(&padded) {
            match sizes.last_mut() {
                Some(size) if follows => *size = size.checked_mul(operand[axis])?,
                _ => sizes.push(operand[axis]),
            }
        }
        last = Some(axis);
    }
    for sizes in &mut merged {
        let ones = sizes.iter().take_while(|&&s| s == 1).count();
        sizes.drain(..ones);
        if sizes.is_empty() {
            sizes.push(1);
        }
    }
    Some(merged)
}

fn is_full(operand: &[u64], whole: &[u64], axis: usize) -> bool {
    operand[axis] == whole[axis]
}

/// Sizes with leading ones up to the rank of `whole`; `None` when they do not broadcast to it.
fn pad(operand: &[u64], whole: &[u64]) -> Option<Vec<u64>> {
    let missing = whole.len().checked_sub(operand.len())?;
    let padded: Vec<u64> = std::iter::repeat_n(1, missing).chain(operand.iter().copied()).collect();
    padded.iter().zip(whole).all(|(&o, &w)| o == 1 || o == w).then_some(padded)
}

/// A transpose with axes of size 1 dropped and axes that stay neighbours merged: the sizes in the order
/// of the input, and the order of the output.
pub(super) fn transpose(dims: &[u64], order: &[usize]) -> (Vec<u64>, Vec<usize>) {
    let order: Vec<usize> = order.iter().copied().filter(|&a| dims[a] != 1).collect();
    // Where each group of axes that move together begins, in output order.
    let mut groups: Vec<(usize, u64)> = Vec::new();
    let mut before: Option<usize> = None;
    for &axis in &order {
        let adjacent = before.is_some_and(|b| b < axis && dims[b + 1..axis].iter().all(|&d| d == 1));
        match groups.last_mut() {
            // The whole tensor's elements were counted, so no part of it overflows.
            Some((_, size)) if adjacent => *size = size.saturating_mul(dims[axis]),
            _ => groups.push((axis, dims[axis])),
        }
        before = Some(axis);
    }
    let mut by_input = groups.clone();
    by_input.sort_unstable();
    let position = |axis: usize| by_input.iter().position(|&(first, _)| first == axis).unwrap_or(0);
    let sizes = by_input.iter().map(|&(_, size)| size).collect();
    (sizes, groups.iter().map(|&(first, _)| position(first)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_operands_become_flat() {
        assert_eq!(elementwise(&[vec![2, 3, 4], vec![2, 3, 4]], &[2, 3, 4]), Some(vec![vec![24], vec![24]]));
        assert_eq!(elementwise(&[vec![1, 1]], &[1, 1]), Some(vec![vec![1]]));
    }

    #[test]
    fn axes_merge_only_where_every_operand_agrees() {
        let merged = elementwise(&[vec![8, 128, 768], vec![768], vec![]], &[8, 128, 768]).unwrap();
        assert_eq!(merged, [vec![1024, 768], vec![768], vec![1]]);
        let mask = elementwise(&[vec![8, 12, 128, 128], vec![8, 1, 1, 128]], &[8, 12, 128, 128]).unwrap();
        assert_eq!(mask, [vec![8, 1536, 128], vec![8, 1, 128]]);
        assert_eq!(elementwise(&[vec![3]], &[4]), None);
        assert_eq!(elementwise(&[vec![2, 4]], &[4]), None);
    }

    #[test]
    fn transposes_keep_only_the_axes_that_move() {
        assert_eq!(transpose(&[8, 128, 12, 64], &[0, 2, 1, 3]), (vec![8, 128, 12, 64], vec![0, 2, 1, 3]));
        assert_eq!(transpose(&[1, 128, 12, 64], &[0, 2, 1, 3]), (vec![128, 12, 64], vec![1, 0, 2]));
        assert_eq!(transpose(&[2, 3, 4, 5], &[2, 3, 0, 1]), (vec![6, 20], vec![1, 0]));
        assert_eq!(transpose(&[2, 1, 3], &[1, 0, 2]), (vec![6], vec![0]));
        assert_eq!(transpose(&[1, 1], &[1, 0]), (vec![], vec![]));
    }
}
