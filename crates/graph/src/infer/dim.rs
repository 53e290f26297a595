//! Arithmetic on dimensions that may be unknown and may be huge.

use crate::{Shape, UNKNOWN_DIM};

/// Why a rule refuses its inputs.
pub type Reason = String;

/// Marks a dimension whose size is not known.
pub(crate) const UNKNOWN: i64 = UNKNOWN_DIM;

fn overflow(what: &str) -> Reason {
    format!("{what} overflows 64 bits")
}

/// Product of two dimensions; unknown unless both are known or one is zero.
pub(crate) fn times(a: i64, b: i64) -> Result<i64, Reason> {
    if a == 0 || b == 0 {
        return Ok(0);
    }
    if a < 0 || b < 0 {
        return Ok(UNKNOWN);
    }
    a.checked_mul(b).ok_or_else(|| overflow(&format!("{a} x {b}")))
}

/// Sum of two dimensions; unknown unless both are known.
pub(crate) fn plus(a: i64, b: i64) -> Result<i64, Reason> {
    if a < 0 || b < 0 {
        return Ok(UNKNOWN);
    }
    a.checked_add(b).ok_or_else(|| overflow(&format!("{a} + {b}")))
}

/// Product of dimensions; unknown unless all are known or one is zero.
pub(crate) fn product(dims: &[i64]) -> Result<i64, Reason> {
    if dims.contains(&0) {
        return Ok(0);
    }
    if dims.iter().any(|&d| d < 0) {
        return Ok(UNKNOWN);
    }
    let whole = dims.iter().try_fold(1i64, |n, &d| n.checked_mul(d));
    whole.ok_or_else(|| overflow(&format!("the number of elements of {}", Shape::new(dims))))
}

/// An axis counted from the front; negative ones count from the back.
pub fn axis(axis: i64, rank: usize) -> Result<usize, Reason> {
    let from_front = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    match usize::try_from(from_front) {
        Ok(a) if a < rank => Ok(a),
        _ => Err(format!("axis {axis} is outside a tensor of rank {rank}")),
    }
}

/// Axes counted from the front, as one flag per axis; an axis named twice counts once.
pub(crate) fn axes(list: &[i64], rank: usize) -> Result<Vec<bool>, Reason> {
    let mut flags = vec![false; rank];
    for &a in list {
        flags[axis(a, rank)?] = true;
    }
    Ok(flags)
}

/// The one size that two descriptions of a dimension agree on.
pub(crate) fn unify(a: i64, b: i64) -> Result<i64, Reason> {
    match (a, b) {
        (a, b) if a < 0 => Ok(b),
        (a, b) if b < 0 || a == b => Ok(a),
        (a, b) => Err(format!("sizes {a} and {b} should be equal")),
    }
}

fn broadcast_dim(a: i64, b: i64) -> Option<i64> {
    match (a, b) {
        (a, b) if a == b => Some(a),
        (1, other) | (other, 1) => Some(other),
        // An unknown size beside a known one other than 1 can only be 1 or equal.
        (a, b) if a < 0 => Some(b),
        (a, b) if b < 0 => Some(a),
        _ => None,
    }
}

/// Shape of two tensors broadcast against each other by numpy's rules.
pub(crate) fn broadcast(a: &[i64], b: &[i64]) -> Result<Vec<i64>, Reason> {
    let rank = a.len().max(b.len());
    let at = |dims: &[i64], i: usize| (i + dims.len()).checked_sub(rank).map_or(1, |j| dims[j]);
    (0..rank)
        .map(|i| broadcast_dim(at(a, i), at(b, i)))
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| format!("shapes {} and {} do not broadcast", Shape::new(a), Shape::new(b)))
}

/// `dims` with the one at `axis` replaced.
pub(crate) fn with(dims: &[i64], axis: usize, size: i64) -> Vec<i64> {
    let mut dims = dims.to_vec();
    if let Some(d) = dims.get_mut(axis) {
        *d = size;
    }
    dims
}

/// `dims` with the one at `axis` replaced by several.
pub(crate) fn splice(dims: &[i64], axis: usize, sizes: &[i64]) -> Vec<i64> {
    let at = axis.min(dims.len());
    let rest = (at + 1).min(dims.len());
    [&dims[..at], sizes, &dims[rest..]].concat()
}

/// A shape of this rank with no size known.
pub(crate) fn of_rank(rank: usize) -> Shape {
    Shape::new(vec![UNKNOWN; rank])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_follows_numpy() {
        for (a, b, expected) in [
            (&[2, 3][..], &[3][..], &[2, 3][..]),
            (&[2, 1, 4], &[3, 1], &[2, 3, 4]),
            (&[], &[5], &[5]),
            (&[0], &[1], &[0]),
            (&[UNKNOWN, 3], &[7, 1], &[7, 3]),
            (&[UNKNOWN], &[1], &[UNKNOWN]),
            (&[UNKNOWN], &[UNKNOWN], &[UNKNOWN]),
        ] {
            assert_eq!(broadcast(a, b).unwrap(), expected, "{a:?} {b:?}");
            assert_eq!(broadcast(b, a).unwrap(), expected, "{b:?} {a:?}");
        }
        assert!(broadcast(&[2], &[3]).unwrap_err().contains("[2] and [3]"));
    }

    #[test]
    fn a_product_beyond_64_bits_is_an_error_unless_a_zero_kills_it() {
        assert!(product(&[i64::MAX, 2]).is_err());
        assert_eq!(product(&[i64::MAX, 2, 0]), Ok(0));
        assert_eq!(product(&[i64::MAX, UNKNOWN]), Ok(UNKNOWN));
        assert_eq!(product(&[]), Ok(1));
    }

    #[test]
    fn axes_count_from_both_ends() {
        assert_eq!(axis(-1, 3), Ok(2));
        assert_eq!(axis(0, 3), Ok(0));
        assert!(axis(3, 3).is_err() && axis(-4, 3).is_err() && axis(i64::MIN, 3).is_err());
        assert_eq!(axes(&[0, -3, 2], 3), Ok(vec![true, false, true]));
    }
}
