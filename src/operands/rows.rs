//! Work along an axis: how many rows there are, of how many elements, in how many lanes.

use super::{Stated, is_plain};
use crate::graph::Format;
use crate::graph::op::{self, Kind};
use crate::tiling::vector::axes::rows as rows_along;
use crate::workload::Operand;

/// Lanes of formats whose innermost axis is a block of 16.
const BLOCK: u64 = 16;

/// Rows, elements and lanes of a kernel that reads and writes these operands; `None` for elementwise work.
pub(super) fn of(op: &str, operands: [&[Operand]; 2], stated: Stated<'_>) -> Option<[u64; 3]> {
    let rows = stated_rows(op, operands, stated.axes).or_else(|| kept_axes(op, operands));
    rows.or_else(|| read_off(op, operands, stated.window))
}

/// Rows, terms and lanes of a reduction in blocks that keeps its axes: those of which one element is left are reduced, of
/// channels or columns both the blocks and what is in them.
fn kept_axes(op: &str, [inputs, outputs]: [&[Operand]; 2]) -> Option<[u64; 3]> {
    let (x, y) = (inputs.first()?, outputs.first()?);
    let alike = x.format == y.format && x.shape.len() == y.shape.len();
    if op::kind(op) != Kind::ReduceAxes || !alike {
        return None;
    }
    // Of what each size is a block of: the place of the size that says whether the axis is reduced.
    let of = |at: usize| match (x.format, x.shape.len()) {
        (Format::Nc1hwc0, 5) => Some(if at == 4 { 1 } else { at }),
        (Format::Ndc1hwc0, 6) => Some(if at == 5 { 2 } else { at }),
        (Format::FractalNz, 4..) => Some(if at + 2 >= x.shape.len() { 2 * x.shape.len() - 5 - at } else { at }),
        _ => None,
    };
    let axis = |at: usize| of(at).map(|of| (x.shape[at], y.shape[of] == 1 && x.shape[of] > 1));
    let axes: Vec<_> = (0..x.shape.len()).map(axis).collect::<Option<_>>()?;
    rows_along(axes)
}

/// Rows, elements and lanes along the axes that a case names; `None` where it names none, or work of another kind.
fn stated_rows(op: &str, [inputs, outputs]: [&[Operand]; 2], axes: Option<&[i64]>) -> Option<[u64; 3]> {
    let x = inputs.iter().max_by_key(|o| o.elements()).filter(|x| is_plain(x.format))?;
    // Of each group of channels there is one mean.
    if let (Kind::GroupNorm, Some(means)) = (op::kind(op), outputs.get(1)) {
        let groups = means.elements().max(1);
        return Some([groups, (x.elements() / groups).max(1), 1]);
    }
    let kinds = [Kind::AlongAxis, Kind::ReduceAxes];
    let rank = x.shape.len();
    let at = |axis: i64| usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok().filter(|&a| a < rank);
    let axes = axes?.iter().map(|&axis| at(axis)).collect::<Option<Vec<_>>>()?;
    if axes.is_empty() || !kinds.contains(&op::kind(op)) {
        return None;
    }
    let reduced = (0..rank).map(|axis| axes.contains(&axis));
    rows_along(x.shape.iter().copied().zip(reduced))
}

/// Taps of the window whose places a mask says: a plane of bits for each.
fn mask_window([inputs, outputs]: [&[Operand]; 2]) -> Option<u64> {
    let mut masks = inputs.iter().chain(outputs).filter(|o| o.dtype.bits() == 8 && !o.dtype.is_float());
    masks.next().filter(|mask| mask.shape.len() == 5).map(|mask| mask.shape[2])
}

/// Rows, elements and lanes as far as shapes and formats tell.
fn read_off(op: &str, operands: [&[Operand]; 2], window: Option<u64>) -> Option<[u64; 3]> {
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
    let [inputs, outputs] = operands;
    let x = inputs.iter().max_by_key(|o| o.elements())?;
    let total = x.elements();
    let last = x.shape.last().copied().unwrap_or(1).max(1);
    // A row is sorted whole, however many of its values are kept.
    if starts(&["TopK", "Sort"]) && is_plain(x.format) {
        return Some([total / last, last, 1]);
    }
    let is_softmax = op.contains("Softmax") && !op.contains("CrossEntropy") && !op.starts_with("MoeGating");
    let is_norm = norms.iter().any(|n| op.contains(n));
    if (starts(&along_last) || is_softmax || is_norm) && !op.contains("BetaGamma") {
        let (axis, lanes) = match (x.format, x.shape.as_slice()) {
            // [columns / 16][rows / 16][16][16]: sixteen rows side by side.
            (Format::FractalNz, [.., blocks, _, _, width]) => (blocks * width, BLOCK),
            // Along an axis of one element nothing is left to do.
            (_, sizes) => (*sizes.iter().rfind(|&&size| size > 1).or(sizes.last())?, 1),
        };
        return Some([total.checked_div(axis.max(1))?.div_ceil(lanes).max(1), axis.max(1), lanes]);
    }
    if !starts(&along_any) || op.starts_with("BNTrainingUpdate") && !op.contains("Grad") || op == "BNTrainingReduceGrad"
    {
        return None;
    }
    if (op.starts_with("MaxPool") || op.starts_with("AvgPool"))
        && let Some(window) = mask_window(operands).or(window)
    {
        let results = inputs.iter().chain(outputs).filter(|o| o.dtype.is_float());
        let result = results.map(Operand::elements).min().unwrap_or(BLOCK);
        return Some([(result / BLOCK).max(1), window, BLOCK]);
    }
    // Planes of images are added up one by one.
    if op.starts_with("Global")
        && let &[batch, channels, h, w] = x.shape.as_slice()
        && x.format != Format::Nhwc
    {
        return Some([batch.saturating_mul(channels).max(1), h.saturating_mul(w).max(1), 1]);
    }
    if let ("BiasAddGrad", Format::Nd | Format::Nchw, &[batch, channels, h, w]) = (op, x.format, x.shape.as_slice()) {
        return Some([batch.saturating_mul(channels).max(1), h.saturating_mul(w).max(1), 1]);
    }
    let kept = outputs.iter().map(Operand::elements).max().unwrap_or(1).min(total).max(1);
    let keeps_last = outputs.iter().any(|o| o.shape.last() == Some(&last) && o.elements() > 1);
    let axis = (total / kept).max(1);
    Some(if x.format == Format::Nd && !keeps_last { [kept, axis, 1] } else { [1, axis, kept.max(BLOCK)] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::DataType;

    fn rows(op: &str, format: Format, from: &[u64], to: &[u64]) -> Option<[u64; 3]> {
        let operand = |shape: &[u64]| [Operand { format, ..Operand::new(shape, DataType::Float16) }];
        of(op, [&operand(from), &operand(to)], Stated::default())
    }

    #[test]
    fn axes_of_which_one_element_is_left_are_reduced_with_what_their_blocks_hold() {
        let image = |to: &[u64]| rows("ReduceMeanD", Format::Nc1hwc0, &[2, 5, 7, 9, 16], to);
        assert_eq!(image(&[2, 5, 1, 1, 16]), Some([10, 63, 16]));
        assert_eq!(image(&[2, 1, 7, 9, 16]), Some([2 * 63, 80, 1]), "channels are blocks and what is in them");
        assert_eq!(image(&[1, 5, 7, 9, 16]), Some([1, 2, 5 * 63 * 16]));
        let matrix = |to: &[u64]| rows("ReduceSumD", Format::FractalNz, &[3, 4, 8, 16, 16], to);
        assert_eq!(matrix(&[3, 1, 8, 16, 16]), Some([3 * 128, 64, 1]), "columns");
        assert_eq!(matrix(&[3, 4, 1, 16, 16]), Some([12, 128, 16]), "rows");
    }

    #[test]
    fn a_softmax_works_along_the_last_axis_that_has_more_than_one_element() {
        let softmax = |shape: &[u64]| rows("SoftmaxV2", Format::Nchw, shape, shape);
        assert_eq!(softmax(&[8, 1000, 1, 1]), Some([8, 1000, 1]));
        assert_eq!(softmax(&[8, 12, 128, 64]), Some([8 * 12 * 128, 64, 1]));
        assert_eq!(softmax(&[1, 1]), Some([1, 1, 1]));
    }
}
