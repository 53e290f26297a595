//! The axes of a kernel as the sizes of its operands tell them: a workload has only what decides its work.

use crate::workload::Reduce;

/// Orders of axes with public rules.
const PUBLIC: [&[usize]; 4] = [&[1, 0], &[0, 2, 1], &[1, 0, 2], &[0, 2, 1, 3]];

/// The order of axes that turns these sizes into those, of the orders with public rules; `None` if it may be another.
///
/// Axes that stay neighbours are one axis of a workload, so of three axes there are three orders.
pub fn order(from: &[u64], to: &[u64]) -> Option<&'static [usize]> {
    let makes =
        |order: &[usize]| order.len() == from.len() && order.iter().map(|&axis| from[axis]).eq(to.iter().copied());
    let may_be_another = match *from {
        [a, b, c] => makes(&[2, 1, 0]) || a == b && b == c,
        [_, _, _, _] => from.iter().enumerate().any(|(i, size)| from[..i].contains(size)),
        _ => false,
    };
    PUBLIC.into_iter().find(|order| makes(order)).filter(|_| !may_be_another)
}

/// Most axes of a reduction among which those that are reduced are sought.
const MOST_AXES: usize = 10;

/// The sizes of a reduction's input and which of them are reduced; `None` where the operands leave open which of several
/// kernels it is.
///
/// A workload says how many rows, terms and lanes there are. Of images whose channels are kept the terms of a row lie
/// apart, and are dealt to the cores in another way than one axis of as many terms.
pub fn reduced(w: &Reduce) -> Option<Fused> {
    let (from, to) = (&w.inputs.first()?.shape, &w.outputs.first()?.shape);
    let work = [w.outer, w.axis, w.inner];
    // A network's tensors are flat where one axis is reduced.
    if let (&[_], &[_]) = (from.as_slice(), to.as_slice())
        && volume(from) == volume(&work)
    {
        return Some(Fused::of([(w.outer, false), (w.axis, true), (w.inner, false)]));
    }
    // Results that keep the axes as axes of one tell them whatever the sizes.
    if from.len() == to.len() && from.iter().zip(to).all(|(&from, &to)| to == from || to == 1) {
        let axes = || from.iter().zip(to).map(|(&from, &to)| (from, to == 1));
        return (rows(axes()) == Some(work)).then(|| Fused::of(axes()));
    }
    let sizes = |shape: &[u64]| shape.iter().copied().filter(|&size| size != 1).collect::<Vec<u64>>();
    let (from, kept) = (sizes(from), sizes(to));
    if from.len() > MOST_AXES {
        return None;
    }
    let mut found: Option<Fused> = None;
    for flags in 0..1u32 << from.len() {
        let axes = || from.iter().enumerate().map(|(axis, &size)| (size, flags >> axis & 1 == 1));
        let is_kept = axes().filter(|axis| !axis.1).map(|axis| axis.0).eq(kept.iter().copied());
        if !is_kept || rows(axes()) != Some(work) {
            continue;
        }
        let fused = Fused::of(axes());
        if found.is_some_and(|before| before != fused) {
            return None;
        }
        found = Some(fused);
    }
    found
}

/// Product of sizes; `None` when it overflows.
pub fn volume(sizes: &[u64]) -> Option<u64> {
    sizes.iter().try_fold(1u64, |n, &size| n.checked_mul(size))
}

/// Rows, terms of each and contiguous lanes below the last reduced axis: of axes and whether each is reduced.
///
/// `None` when a product overflows.
pub fn rows(axes: impl IntoIterator<Item = (u64, bool)>) -> Option<[u64; 3]> {
    let (mut outer, mut axis, mut inner) = (1u64, 1u64, 1u64);
    for (size, reduced) in axes.into_iter().filter(|axis| axis.0 != 1) {
        if reduced {
            axis = axis.checked_mul(size)?;
            outer = outer.checked_mul(inner)?;
            inner = 1;
        } else {
            inner = inner.checked_mul(size)?;
        }
    }
    // Nothing reduced: every element is a row of its own.
    if axis == 1 { Some([outer.checked_mul(inner)?, 1, 1]) } else { Some([outer, axis, inner]) }
}

/// Most axes after fusion: alternating, from tensors of at most 16 dimensions.
pub(super) const MOST_FUSED: usize = 16;

/// Axes fused until kept and reduced ones alternate; those of one element are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fused {
    axes: [(u64, bool); MOST_FUSED],
    count: usize,
}

impl Fused {
    /// Fuses axes, each with whether it is reduced.
    pub fn of(axes: impl IntoIterator<Item = (u64, bool)>) -> Fused {
        let mut fused = Fused { axes: [(1, false); MOST_FUSED], count: 0 };
        for (size, reduced) in axes.into_iter().filter(|axis| axis.0 != 1) {
            match fused.count.checked_sub(1) {
                Some(last) if fused.axes[last].1 == reduced || fused.count == MOST_FUSED => {
                    fused.axes[last].0 = fused.axes[last].0.saturating_mul(size);
                }
                _ => {
                    fused.axes[fused.count] = (size, reduced);
                    fused.count += 1;
                }
            }
        }
        fused
    }

    /// Sizes, and which are reduced.
    pub fn axes(&self) -> &[(u64, bool)] {
        &self.axes[..self.count]
    }

    /// The size of an axis; 1 of one that is not there.
    pub(super) fn size(&self, axis: usize) -> u64 {
        self.axes[axis].0
    }

    /// Product of the sizes that are reduced, or of those that are kept.
    pub(super) fn product(&self, reduced: bool) -> u64 {
        self.axes().iter().filter(|axis| axis.1 == reduced).fold(1, |n, axis| n.saturating_mul(axis.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Operand;
    use aoe_graph::DataType;

    fn axes(from: &[u64], to: &[u64], [outer, axis, inner]: [u64; 3]) -> Option<Vec<(u64, bool)>> {
        let operand = |shape: &[u64]| vec![Operand::new(shape, DataType::Float16)];
        reduced(&Reduce {
            op_type: "ReduceSum".into(),
            outer,
            axis,
            inner,
            inputs: operand(from),
            outputs: operand(to),
        })
        .map(|fused| fused.axes().to_vec())
    }

    #[test]
    fn reductions_become_rows() {
        let rows = |dims: &[u64], reduced: &[bool]| rows(dims.iter().copied().zip(reduced.iter().copied()));
        assert_eq!(rows(&[2, 3, 4, 5], &[false, false, true, true]), Some([6, 20, 1]));
        assert_eq!(rows(&[2, 3, 4, 5], &[false, true, false, false]), Some([2, 3, 20]));
        assert_eq!(rows(&[2, 3, 4, 5], &[true, false, true, true]), Some([3, 40, 1]));
        assert_eq!(rows(&[7], &[false]), Some([7, 1, 1]));
        assert_eq!(rows(&[u64::MAX, 3], &[true, true]), None);
    }

    #[test]
    fn kept_axes_between_reduced_ones_are_found_with_and_without_those_of_one() {
        let images = Some(vec![(4, true), (137, false), (2032, true)]);
        assert_eq!(axes(&[4, 137, 254, 8], &[137], [137, 8128, 1]), images);
        assert_eq!(axes(&[4, 137, 254, 8], &[1, 137, 1, 1], [137, 8128, 1]), images);
        // A mean over everything, and over nothing.
        assert_eq!(axes(&[8, 64], &[1], [1, 512, 1]), Some(vec![(512, true)]));
        assert_eq!(axes(&[8, 64], &[8, 64], [512, 1, 1]), Some(vec![(512, false)]));
        // As networks have them.
        assert_eq!(axes(&[512], &[16], [2, 32, 8]), Some(vec![(2, false), (32, true), (8, false)]));
        // Which of two equal axes is kept, the rows say.
        assert_eq!(axes(&[8, 8], &[8], [1, 8, 8]), Some(vec![(8, true), (8, false)]));
        assert_eq!(axes(&[8, 8], &[8], [8, 8, 1]), Some(vec![(8, false), (8, true)]));
    }

    #[test]
    fn sizes_that_fit_several_kernels_or_none_say_nothing() {
        // The first or the second axis is kept; either way there are 8 rows of 64 terms.
        assert_eq!(axes(&[8, 8, 8], &[8], [8, 64, 1]), None);
        assert_eq!(axes(&[8, 8, 8], &[1, 8, 1], [8, 64, 1]), Some(vec![(8, true), (8, false), (8, true)]));
        assert_eq!(axes(&[4, 6], &[5], [5, 4, 1]), None);
    }

    #[test]
    fn equal_sizes_leave_an_order_open_only_where_another_one_makes_the_same() {
        assert_eq!(order(&[54, 5, 5], &[5, 54, 5]), Some([1, 0, 2].as_slice()));
        assert_eq!(order(&[2, 49, 2], &[2, 2, 49]), Some([0, 2, 1].as_slice()));
        assert_eq!(order(&[7, 7], &[7, 7]), Some([1, 0].as_slice()));
        for same in [[5, 5, 5], [5, 7, 5]] {
            assert_eq!(order(&same, &same), None, "{same:?}");
        }
        assert_eq!(order(&[3, 4, 4, 5], &[3, 4, 4, 5]), None);
        assert_eq!(order(&[3, 4, 5, 6], &[3, 5, 4, 6]), Some([0, 2, 1, 3].as_slice()));
        assert_eq!(order(&[3, 4, 5], &[5, 4, 3]), None);
    }
}
