//! Products by the shapes of their operands: `a_shape`, `b_shape`, `out_shape`.

use super::{Case, MAX_EXTENT, wrong};
use crate::status::Result;

/// Axes of a batch.
const BATCH_AXES: usize = 4;

/// What the shapes of a product say.
pub(super) struct Shapes {
    /// m, k, n.
    pub extents: [u64; 3],
    /// Axes of the batches of A and B, outermost first.
    pub batches: [[u64; BATCH_AXES]; 2],
    /// They are m x k and k x n: as they are stored they would not fit each other.
    pub as_multiplied: bool,
}

/// A matrix with the axes of its batch.
struct Matrix {
    batch: [u64; BATCH_AXES],
    rows: u64,
    columns: u64,
}

impl Matrix {
    fn read(name: &str, shape: &[u64]) -> Result<Matrix> {
        let [batch @ .., rows, columns] = shape else {
            return Err(wrong(format!("`{name}`: {shape:?} is no matrix")));
        };
        if batch.len() > BATCH_AXES {
            let reason = format!("`{name}`: {} axes of a batch are more than {BATCH_AXES}", batch.len());
            return Err(wrong(reason));
        }
        if let Some(dim) = shape.iter().find(|d| !(1..=MAX_EXTENT).contains(*d)) {
            return Err(wrong(format!("`{name}`: {dim} is not from 1 to {MAX_EXTENT}")));
        }
        let mut axes = [1; BATCH_AXES];
        axes[BATCH_AXES - batch.len()..].copy_from_slice(batch);
        Ok(Matrix { batch: axes, rows: *rows, columns: *columns })
    }

    fn turned(&self, turn: bool) -> (u64, u64) {
        if turn { (self.columns, self.rows) } else { (self.rows, self.columns) }
    }
}

impl Case {
    /// What the shapes of a product say, with these transposes; `None` where the case gives none. Shapes are those
    /// in memory, or m x k and k x n where only these fit; `m`, `k`, `n` and `batch` may stand beside them and have to agree.
    pub(super) fn shapes_of(&self, [trans_a, trans_b]: [bool; 2]) -> Result<Option<Shapes>> {
        let (a, b) = match (&self.a_shape, &self.b_shape) {
            (None, None) if self.out_shape.is_none() => return Ok(None),
            (Some(a), Some(b)) => (Matrix::read("a_shape", a)?, Matrix::read("b_shape", b)?),
            _ => return Err(wrong("`a_shape` and `b_shape` go together, `out_shape` with both")),
        };
        let out = self.out_shape.as_deref().map(|shape| Matrix::read("out_shape", shape)).transpose()?;
        let read = |[ta, tb]: [bool; 2]| (a.turned(ta), b.turned(tb));
        let fits = |((m, k), (inner, n)): ((u64, u64), (u64, u64))| {
            let given =
                [(self.m, m), (self.k, k), (self.n, n)].iter().all(|(given, size)| given.is_none_or(|g| g == *size));
            k == inner && given && out.as_ref().is_none_or(|c| (c.rows, c.columns) == (m, n))
        };
        // Some write m x k and k x n however they are stored.
        let as_multiplied = !fits(read([trans_a, trans_b])) && fits(read([false, false]));
        let ((m, k), (inner, n)) = read(if as_multiplied { [false, false] } else { [trans_a, trans_b] });
        if k != inner {
            return Err(wrong(format!(
                "`a_shape` and `b_shape` have inner sizes {k} and {inner}{}",
                if trans_a || trans_b { ", as they are stored with `trans_a` and `trans_b`" } else { "" }
            )));
        }
        let mut batch = [1; BATCH_AXES];
        for (axis, size) in batch.iter_mut().enumerate() {
            let (of_a, of_b) = (a.batch[axis], b.batch[axis]);
            if of_a != of_b && of_a != 1 && of_b != 1 {
                return Err(wrong(format!("`a_shape` and `b_shape` have batches of {of_a} and {of_b}")));
            }
            *size = of_a.max(of_b);
        }
        if let Some(out) = out
            && (out.batch, out.rows, out.columns) != (batch, m, n)
        {
            return Err(wrong(format!(
                "`out_shape`: it is not {:?} with batch {batch:?}, which `a_shape` and `b_shape` give",
                [m, n]
            )));
        }
        let all = batch.iter().fold(1u64, |n, &d| n.saturating_mul(d));
        for (name, given, size) in [("m", self.m, m), ("k", self.k, k), ("n", self.n, n), ("batch", self.batch, all)] {
            if given.is_some_and(|given| given != size) {
                return Err(wrong(format!("`{name}`: the shapes give {size}")));
            }
        }
        if all > MAX_EXTENT {
            return Err(wrong(format!("`a_shape`: a batch of {all} is more than {MAX_EXTENT}")));
        }
        Ok(Some(Shapes { extents: [m, k, n], batches: [a.batch, b.batch], as_multiplied }))
    }
}
