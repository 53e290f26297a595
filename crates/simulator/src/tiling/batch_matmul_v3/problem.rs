//! What the host tiling of `BatchMatMulV3` looks at: a product and the batches of its operands.

use crate::tiling::Platform;
use crate::tiling::matmul_v3::math::product;
use crate::workload::MatMul;

/// Axes of a batch, outermost first; missing ones are 1.
pub type Batch = [u64; 4];

/// Whether a bias is added and whether it has a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bias {
    /// None.
    #[default]
    None,
    /// One row of N for all products.
    Shared,
    /// One row for each product.
    Batched,
}

/// Products of batches of A and of B; an axis of one of them that is 1 serves all of the other's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// One product of the batch: extents, types, transposes, formats. Its own `batch`, `a_shared`, `b_shared` and
    /// `bias` do not count.
    pub product: MatMul,
    /// Batch of A.
    pub batch_a: Batch,
    /// Batch of B.
    pub batch_b: Batch,
    /// The bias.
    pub bias: Bias,
}

impl From<&MatMul> for Problem {
    /// The batch as one axis; a bias of a [`MatMul`] has none.
    fn from(w: &MatMul) -> Problem {
        let batch = |shared: bool| [1, 1, 1, if shared { 1 } else { w.batch }];
        Problem {
            product: w.clone(),
            batch_a: batch(w.a_shared),
            batch_b: batch(w.b_shared),
            bias: if w.bias { Bias::Shared } else { Bias::None },
        }
    }
}

/// Longest M that rows of several products are folded into.
const LONGEST: u64 = i32::MAX as u64;

/// The batches as the rules see them, after folding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Batches {
    /// Products that A has.
    pub a: u64,
    /// Products that B has.
    pub b: u64,
    /// Products of the result.
    pub c: u64,
    /// A and B have the same batch in every axis.
    pub equal: bool,
}

impl Problem {
    /// The product that section 1 tiles and whose key the bank of `MatMulV3` is asked for, and the batches that are
    /// left. Where one B serves all products and A's rows lie one after another, they are rows of one product.
    pub(super) fn fold(&self, part: &Platform) -> (MatMul, Batches, bool) {
        let (a, b) = (product(self.batch_a), product(self.batch_b));
        let each = |axis: usize| self.batch_a[axis].max(self.batch_b[axis]);
        let batches = Batches { a, b, c: product([0, 1, 2, 3].map(each)), equal: self.batch_a == self.batch_b };
        let w = MatMul {
            batch: 1,
            a_shared: false,
            b_shared: false,
            bias: self.bias != Bias::None,
            ..self.product.clone()
        };
        let rows = a.saturating_mul(w.m);
        let folds = b == 1 && !w.trans_a && self.bias != Bias::Batched && part.fixpipe && rows <= LONGEST;
        if !folds {
            return (w, batches, false);
        }
        (MatMul { m: rows, ..w }, Batches { a: 1, b: 1, c: 1, equal: true }, a > 1)
    }
}
