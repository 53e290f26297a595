//! Transposes by their order of axes, on the one path that a network's take too.

use super::kernel::Kernel;
use crate::graph::Format;
use crate::soc::Soc;
use crate::status::Result;
use crate::workload::{Operand, Workload};

/// The transpose that `op` names, `None` when it names none, or one whose formats or ranks need a reading of their own.
pub(super) fn workload(op: &str, kernel: &Kernel, perm: Option<&[i64]>, soc: &Soc) -> Result<Option<Workload>> {
    let (true, Some(x), Some(y)) = (is_transpose(op), kernel.inputs.first(), kernel.outputs.first()) else {
        return Ok(None);
    };
    if perm.is_none() && (!is_plain(x) || !is_plain(y) || x.shape.len() != y.shape.len()) {
        return Ok(None);
    }
    let order = match perm {
        Some(perm) => given(perm, x, y).map_err(|reason| kernel.error(reason))?,
        None => match inferred(&x.shape, &y.shape) {
            Some(order) => order,
            None => return Err(kernel.error(format!("no order of {:?} gives {:?}", x.shape, y.shape))),
        },
    };
    Ok(Some(Workload::Move(crate::lower::transposed(op, &x.shape, &order, x.dtype, soc))))
}

/// Whether an operator is a transpose and nothing else.
pub(super) fn is_transpose(op: &str) -> bool {
    ["Transpose", "TransposeD", "TransposeV2", "Permute"].contains(&op)
}

fn is_plain(o: &Operand) -> bool {
    matches!(o.format, Format::Nd | Format::Nchw | Format::Nhwc | Format::Ncdhw | Format::Ndhwc | Format::Ncl)
}

/// The order that the case gives; fails where it is none of the input, or not the one that makes the output.
fn given(perm: &[i64], x: &Operand, y: &Operand) -> Result<Vec<usize>, String> {
    let rank = x.shape.len();
    let axis = |&a: &i64| usize::try_from(if a < 0 { a.checked_add_unsigned(rank as u64)? } else { a }).ok();
    let order: Option<Vec<usize>> = perm.iter().map(axis).collect();
    let order = order.filter(|order| order.len() == rank && (0..rank).all(|axis| order.contains(&axis)));
    let order = order.ok_or_else(|| format!("`attrs.perm`: {perm:?} is no order of {rank} axes"))?;
    let made: Vec<u64> = order.iter().map(|&axis| x.shape[axis]).collect();
    if made != y.shape {
        return Err(format!("`attrs.perm`: {perm:?} makes {made:?} of {:?}, not {:?}", x.shape, y.shape));
    }
    Ok(order)
}

/// An order that makes one shape of the other: axes of equal size stay where they are, or in their order. Two equal
/// axes alone change places, as nothing else would be a kernel.
fn inferred(from: &[u64], to: &[u64]) -> Option<Vec<usize>> {
    if from == to {
        let mut order: Vec<usize> = (0..from.len()).collect();
        if let [a, b] = from
            && a == b
        {
            order.reverse();
        }
        return Some(order);
    }
    let stays = |axis: usize| from[axis] == to[axis];
    let mut left: Vec<usize> = (0..from.len()).filter(|&axis| !stays(axis)).collect();
    let mut order = Vec::with_capacity(to.len());
    for (at, size) in to.iter().enumerate() {
        order.push(if stays(at) { at } else { left.remove(left.iter().position(|&axis| from[axis] == *size)?) });
    }
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::inferred;

    #[test]
    fn an_order_is_read_off_the_shapes() {
        assert_eq!(inferred(&[64, 50, 12, 64], &[64, 12, 50, 64]), Some(vec![0, 2, 1, 3]));
        assert_eq!(inferred(&[363, 367, 373], &[373, 363, 367]), Some(vec![2, 0, 1]));
        assert_eq!(inferred(&[8, 8], &[8, 8]), Some(vec![1, 0]));
        assert_eq!(inferred(&[8, 4], &[4, 9]), None);
    }
}
