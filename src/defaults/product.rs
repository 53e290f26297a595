//! Products: `MatMulV3`, `BatchMatMulV3`, `QuantBatchMatmulV3`, and those that TBE compiles.

use super::{Knowledge, Rule, Tiling, check, estimate};
use crate::cases::{Case, Product, wrong};
use crate::graph::DataType;
use crate::soc::Soc;
use crate::status::Result;
use crate::tiling::batch_matmul_v3::{self, Bias};
use crate::tiling::quant_batch_matmul_v3::{self, Which};
use crate::tiling::{Platform, matmul_v3};
use crate::workload::{MatMul, MatMulKernel, Workload};

/// Says how shapes were read that only fit the other way.
const AS_MULTIPLIED: &str = "a_shape and b_shape are read as m x k and k x n: as stored they do not fit each other";

/// The product of a case, which the part can compute.
fn read(case: &Case, soc: &Soc) -> Result<Product> {
    let product = case.product(soc)?;
    check(&Workload::MatMul(product.matmul.clone()), soc)?;
    Ok(product)
}

/// A product of floats: `MatMulV3`, and `BatchMatMulV3` where there are several or the case says so.
pub(super) fn float(case: &Case, soc: &Soc) -> Result<Tiling> {
    let product = read(case, soc)?;
    let w = &product.matmul;
    if !w.dtype.is_float() || w.dtype.bits() < 16 {
        return Err(wrong(format!("`op`: {} does not multiply {}; QuantBatchMatmulV3 does", case.op, w.dtype.name())));
    }
    let batched = case.op.starts_with("Batch") || w.batch > 1;
    let tiling = if batched { batch(&product, soc) } else { single(w, soc) };
    Ok(Tiling { note: product.as_multiplied.then_some(AS_MULTIPLIED), ..tiling })
}

fn single(w: &MatMul, soc: &Soc) -> Tiling {
    let choice = matmul_v3::default(w, &Platform::of(soc));
    Tiling {
        op: matmul_v3::OP_TYPE.to_owned(),
        template: template(choice.template).to_owned(),
        knowledge: Knowledge::Product(choice.tiling),
        nd2nz: Some([choice.nd2nz_a, choice.nd2nz_b]),
        public: choice.public,
        rules: product_rules(choice.rules).collect(),
        note: None,
    }
}

fn product_rules(rules: matmul_v3::Rules) -> impl Iterator<Item = Rule> {
    rules.iter().map(|rule| (rule.name(), rule.describe()))
}

/// What `tilingEnable` names: its kernels in words.
fn template(digits: u32) -> &'static str {
    match digits {
        1020 => "b-in-l1-copy-out",
        2020 => "b-in-l1-copy-out-nz",
        12 => "split-k-with-a-in-l1",
        _ => match (digits % 10, digits / 10 % 10) {
            (2, _) => "split-k-single-core",
            (3, _) => "split-k-deterministic",
            (4, _) => "split-k-multi-core",
            (5, _) => "split-k-n-outer",
            (6, _) => "split-k-own-copy",
            (_, 1) => "a-in-l1",
            (_, 2) => "b-in-l1",
            _ => "base",
        },
    }
}

fn batch(product: &Product, soc: &Soc) -> Tiling {
    let bias = match (product.matmul.bias, product.bias_has_batch) {
        (false, _) => Bias::None,
        (true, false) => Bias::Shared,
        (true, true) => Bias::Batched,
    };
    let [batch_a, batch_b] = product.batches;
    let problem = batch_matmul_v3::Problem { product: product.matmul.clone(), batch_a, batch_b, bias };
    let choice = batch_matmul_v3::default(&problem, &Platform::of(soc));
    let mut knowledge = choice.tiling.to_knowledge();
    let beside = [
        ("batch", choice.batch),
        ("iterBatch", choice.iter_batch),
        ("aBatch", choice.a_batch),
        ("l0cBatch", choice.l0c_batch),
    ];
    knowledge.extend(beside.map(|(name, value)| (name.to_owned(), value.into())));
    let own = choice.rules.iter().map(|rule| (rule.name(), rule.describe()));
    Tiling {
        op: batch_matmul_v3::OP_TYPE.to_owned(),
        template: choice.template.name().to_owned(),
        knowledge: Knowledge::Fields(knowledge),
        nd2nz: Some([choice.nd2nz_a, choice.nd2nz_b]),
        public: choice.public,
        rules: product_rules(choice.product_rules).chain(own).collect(),
        note: None,
    }
}

/// A quantised product.
pub(super) fn quant(case: &Case, soc: &Soc) -> Result<Tiling> {
    let product = read(case, soc)?;
    let w = &product.matmul;
    if !matches!(w.dtype, DataType::Int8 | DataType::Int4 | DataType::Qint8) {
        return Err(wrong(format!("`dtype`: {} multiplies int8 and int4, not {}", case.op, w.dtype.name())));
    }
    let problem = quant_batch_matmul_v3::Problem::from(w);
    let Some(choice) = quant_batch_matmul_v3::default(&problem, &Platform::of(soc)) else {
        return Err(wrong("`m`: the product has no elements"));
    };
    let template = match choice.which {
        Which::Basic => "basic",
        Which::BasicDecode => "basic-decode",
        Which::Special310P => "special-310p",
        Which::Cached => "cached",
    };
    let knowledge = match (choice.basic, choice.cached) {
        (Some(tiling), _) => Some(Knowledge::Fields(tiling.to_knowledge())),
        (None, Some(tiling)) => Some(Knowledge::Fields(tiling.to_knowledge())),
        (None, None) => None,
    };
    let stands_in = if knowledge.is_none() { Some(estimate::of(&Workload::MatMul(w.clone()), soc)?) } else { None };
    Ok(Tiling {
        op: quant_batch_matmul_v3::OP_TYPE.to_owned(),
        template: template.to_owned(),
        public: choice.public && knowledge.is_some(),
        knowledge: knowledge.or(stands_in.map(|estimate| estimate.knowledge)).unwrap_or_default(),
        nd2nz: None,
        rules: choice.rules.into_iter().flatten().map(|name| (name, quant_batch_matmul_v3::describe(name))).collect(),
        note: product.as_multiplied.then_some(AS_MULTIPLIED),
    })
}

/// A product that TBE compiles: its tiling is closed.
pub(super) fn tbe(case: &Case, soc: &Soc) -> Result<Tiling> {
    let matmul = MatMul { kernel: MatMulKernel::Tbe, ..read(case, soc)?.matmul };
    let tiling = estimate::of(&Workload::MatMul(matmul), soc)?;
    Ok(Tiling { op: case.op.clone(), ..tiling })
}
