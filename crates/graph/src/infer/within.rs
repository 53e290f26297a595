//! The product that a kernel computes which does more ([`crate::op::Within`]): its sizes, from the same inputs as the
//! shape rule of its operator.

use super::Call;
use super::dim::{self, Reason};
use super::exchange;
use super::language::{groups, packs_words, stack_of};
use super::matmul::Product;
use crate::op::Reading;

/// Reads the node; `None` where sizes of the product are not told by its tensors.
pub fn product_within(call: &Call<'_>, reading: Reading) -> Result<Option<Product>, Reason> {
    match reading {
        Reading::Operands if packs_words(call, 1) => Ok(None),
        Reading::Operands => Product::of(call),
        Reading::Turned => stack_of(call),
        Reading::Gathered => exchange::gathered(call),
        Reading::Exchanged => exchange::exchanged(call),
        Reading::Stack => exchange::gathered_stack(call),
        Reading::Groups { transposed } => dealt(call, transposed),
        Reading::FeedForward => both(call),
    }
}

/// Rows dealt out to groups: evenly, as far as is known, and where they are fewer than the groups, one to each of as many.
fn dealt(call: &Call<'_>, transposed: bool) -> Result<Option<Product>, Reason> {
    let Some((xs, weights)) = groups(call) else { return Ok(None) };
    let (Some(&x), Some(&weight)) = (xs.first(), weights.first()) else { return Ok(None) };
    let alike = |list: &[usize]| -> Result<bool, Reason> {
        let first = call.dims(list[0])?;
        Ok(list.iter().map(|&input| call.dims(input)).collect::<Result<Vec<_>, _>>()?.iter().all(|d| *d == first))
    };
    let turned = call.flag(&["transpose_x"], false);
    if turned || packs_words(call, weight) || !alike(&xs)? || !alike(&weights)? {
        return Ok(None);
    }
    let (Some([lead @ .., k]), Some(weight)) = (call.dims(x)?, call.dims(weight)?) else { return Ok(None) };
    let (stacked, matrix) = match weight {
        [] | [_] => return Ok(None),
        [stack @ .., rows, columns] => (dim::product(stack)?, [*rows, *columns]),
    };
    let rows = dim::product(lead)?;
    let transposed = call.flag(&["transpose_weight", "transpose_w"], transposed);
    let (count, rows) = match (xs.len() as i64, weights.len() as i64) {
        (1, matrices) => {
            let groups = dim::times(matrices, stacked)?;
            let busy = groups.min(rows).max(1);
            (busy, (rows.max(0) as u64).div_ceil(busy as u64) as i64)
        }
        (pairs, matrices) if pairs == matrices && stacked == 1 => (pairs, rows),
        _ => return Ok(None),
    };
    let product = Product::of_dims(&[count, rows, *k], &[&[count][..], &matrix].concat(), false, transposed)?;
    Ok(Some(product))
}

/// Both products of a feed-forward block as one: its columns are those of the first and as many more as make the second's
/// work and weights, which is as exact where its result is as wide as x.
fn both(call: &Call<'_>) -> Result<Option<Product>, Reason> {
    if packs_words(call, 1) || packs_words(call, 2) {
        return Ok(None);
    }
    let (Some([lead @ .., hidden]), Some(first), Some(second)) = (call.dims(0)?, call.dims(1)?, call.dims(2)?) else {
        return Ok(None);
    };
    let ([experts @ .., inner, wide], [_, narrow, back]) = (first, last_two(second)?) else { return Ok(None) };
    if *inner != *hidden || back != *hidden {
        return Ok(None);
    }
    let (rows, experts) = (dim::product(lead)?, dim::product(experts)?);
    let busy = experts.min(rows).max(1);
    let rows = (rows.max(0) as u64).div_ceil(busy as u64) as i64;
    let columns = dim::plus(*wide, narrow)?;
    Product::of_dims(&[busy, rows, *hidden], &[busy, *hidden, columns], false, false).map(Some)
}

/// A stack, rows and columns.
fn last_two(dims: &[i64]) -> Result<[i64; 3], Reason> {
    match dims {
        [stack @ .., rows, columns] => Ok([dim::product(stack)?, *rows, *columns]),
        _ => Err(format!("weights of {} axes are no matrix", dims.len())),
    }
}
