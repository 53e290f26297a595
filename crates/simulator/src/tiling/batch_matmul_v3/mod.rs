//! `BatchMatMulV3`: batches of matrix products of floats.
//!
//! One product is tiled by the rules of `MatMulV3` first, whose bank is asked on the way; then the operator's own
//! rules replace most of it.

mod block;
mod full;
pub mod legality;
mod order;
mod problem;
mod rules;
mod several;

pub use problem::{Batch, Bias, Problem};
pub use rules::{Rule, Rules};
pub use several::rewrites;

use super::Platform;
use super::matmul_v3::math::min;
use super::matmul_v3::{self, Draft, LONGEST_INNER, Mode, Problem as Product};
use crate::soc::Arch;
use crate::workload::MatMul;
use problem::Batches;

/// CANN's name of the operator.
pub const OP_TYPE: &str = "BatchMatMulV3";

/// The kernels of the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// Tasks of one block; the batch is walked first.
    Base,
    /// The one A stays in L1.
    FullA,
    /// The one B stays in L1.
    FullB,
    /// A task has several whole products.
    SeveralProducts,
    /// A task brings several A's for one B.
    SeveralA,
    /// Vector cores compute the products.
    Vector,
}

impl Template {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Template::Base => "base",
            Template::FullA => "a-in-l1",
            Template::FullB => "b-in-l1",
            Template::SeveralProducts => "several-products",
            Template::SeveralA => "several-a",
            Template::Vector => "vector",
        }
    }
}

/// What the host tiling chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The fields that the operator shares with `MatMulV3`, for one product (of all rows, where they are folded).
    pub tiling: matmul_v3::Tiling,
    /// The kernel.
    pub template: Template,
    /// Products of the result (1 where the batch is folded into M).
    pub batch: u64,
    /// Whole products of a task.
    pub iter_batch: u64,
    /// A's that a task brings for one B.
    pub a_batch: u64,
    /// Results that leave L0C together.
    pub l0c_batch: u64,
    /// Vector cores rewrite A first.
    pub nd2nz_a: bool,
    /// Vector cores rewrite B first.
    pub nd2nz_b: bool,
    /// The product for which the bank of `MatMulV3` is asked.
    pub queried: MatMul,
    /// Whether all rules that decided are public. Otherwise the fields are the nearest that is known.
    pub public: bool,
    /// The rules of `MatMulV3` that took part.
    pub product_rules: matmul_v3::Rules,
    /// The operator's own rules.
    pub rules: Rules,
}

/// A choice while the rules work on it.
struct State {
    q: Product,
    d: Draft,
    bias: Bias,
    batches: Batches,
    l2_tiled: bool,
    template: Template,
    per_task: u64,
    a_batch: u64,
    per_l0c: u64,
    public: bool,
    rules: Rules,
}

/// The default tiling of batched products on a part.
pub fn default(w: &Problem, part: &Platform) -> Choice {
    let (queried, batches, folded) = w.fold(part);
    let mut s = begin(w, &queried, batches, part);
    if folded {
        s.rules.add(Rule::FoldedBatch);
    }
    if s.q.inner_a() > LONGEST_INNER || s.q.inner_b() > LONGEST_INNER {
        s.rules.add(Rule::LongInner);
        (s.d.single_m, s.d.single_n) = (min(s.q.m, s.d.bm), min(s.q.n, s.d.bn));
    } else {
        block::block(&mut s);
        block::l1(&mut s);
        full::operand(&mut s);
        order::order(&mut s);
        several::products(&mut s);
        if several::on_vector_cores(&w.product) {
            s.rules.add(Rule::Vector);
            s.template = Template::Vector;
        }
    }
    Choice {
        tiling: s.d.tiling(),
        template: s.template,
        batch: batches.c,
        iter_batch: s.per_task,
        a_batch: s.a_batch,
        l0c_batch: s.per_l0c,
        nd2nz_a: s.d.nd2nz_a,
        nd2nz_b: s.d.nd2nz_b,
        queried,
        public: s.public,
        product_rules: s.d.rules,
        rules: s.rules,
    }
}

/// One product by the rules of `MatMulV3`.
fn begin(w: &Problem, queried: &MatMul, batches: Batches, part: &Platform) -> State {
    let q = Product::new(queried, part);
    let (d, _) = matmul_v3::draft(&q, Mode::Base);
    State {
        l2_tiled: d.l2.m_tiles.saturating_mul(d.l2.n_tiles) > 1,
        q,
        d,
        bias: w.bias,
        batches,
        template: Template::Base,
        per_task: 1,
        a_batch: 1,
        per_l0c: 1,
        // How the rules of the block meet the numbers of other parts is not known.
        public: part.arch == Arch::C220,
        rules: Rules::default(),
    }
}

#[cfg(test)]
mod tests;
