//! Cases: kernels as a user or a data set writes them, one JSON object a line.
//!
//! Whoever answers cases reads them here: `aoe simulate` and `aoe tiling`, and the functions of the C interface.

mod attention;
mod cache;
mod conv;
mod exact;
mod fields;
mod kernel;
mod limits;
mod operands;
mod parts;
mod places;
mod plain;
mod product;
mod record;
mod sense;
mod shapes;
pub(crate) mod stream;
mod strict;
mod tensor;
mod transpose;

pub use parts::Parts;
pub use stream::Count;

pub(crate) use cache::Location;
pub use exact::case as exact_case;
pub(crate) use limits::check_types;
pub(crate) use operands::largest_bytes;
pub use strict::json;

use crate::graph::{DataType, Format};
use crate::soc::{Arch, Soc};
use crate::spelling::beginning;
use crate::status::{Error, Result};
use crate::workload::{MatMul, MatMulKernel, Operand, Workload};
use limits::{check_memory, matmul_bytes};
use serde::Deserialize;
use serde_json::Value;
use tensor::{Tensor, dtype, matrix_format};

/// Largest extent of one axis: tilings count in 32-bit integers.
pub(super) const MAX_EXTENT: u64 = i32::MAX as u64;
/// Largest number of elements of a tensor; beyond it sizes are taken for nonsense.
pub(super) const MAX_ELEMENTS: u64 = 1 << 40;
/// Most numbers of an attribute.
const MOST_INTEGERS: usize = 64;
/// Longest operator name in bytes.
const MAX_NAME: usize = 256;

/// One case as written. Which of the optional fields must be there depends on `op`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Case {
    #[serde(default)]
    pub(crate) id: Value,
    pub(crate) op: String,
    soc: Option<String>,
    batch: Option<u64>,
    m: Option<u64>,
    k: Option<u64>,
    n: Option<u64>,
    dtype: Option<String>,
    out_dtype: Option<String>,
    #[serde(default)]
    bias: bool,
    a_format: Option<String>,
    b_format: Option<String>,
    /// The format of operands that name none themselves.
    format: Option<String>,
    trans_a: Option<bool>,
    trans_b: Option<bool>,
    #[serde(default)]
    hf32: bool,
    #[serde(default)]
    raw: Raw,
    pub(crate) block_dim: Option<u64>,
    /// Sizes as stored, with the axes of the batch, in place of `batch`, `m`, `k` and `n`.
    a_shape: Option<Vec<u64>>,
    b_shape: Option<Vec<u64>>,
    out_shape: Option<Vec<u64>>,
    bias_shape: Option<Vec<u64>>,
    /// `null` is an optional operand that is not there.
    inputs: Option<Vec<Option<Tensor>>>,
    outputs: Option<Vec<Option<Tensor>>>,
    pub(crate) schedule: Option<Value>,
    attrs: Option<serde_json::Map<String, Value>>,
    workload: Option<serde_json::Map<String, Value>>,
    pub(crate) missed_bytes: Option<f64>,
    cache: Option<cache::Words>,
    a_cache: Option<String>,
    b_cache: Option<String>,
    /// Operands and tiling of a convolution as tiling repositories have them.
    a: Option<Tensor>,
    b: Option<Tensor>,
    c: Option<Tensor>,
    tiling: Option<Value>,
    /// Names of the fields that were not used.
    #[serde(skip)]
    unused: Vec<String>,
}

/// A product, and the axes of its batches, outermost first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Product {
    pub matmul: MatMul,
    pub batches: [[u64; 4]; 2],
    /// The bias has an axis of the batch.
    pub bias_has_batch: bool,
    /// The case's shapes are m x k and k x n, and not those in memory.
    pub as_multiplied: bool,
}

/// Fields of TBE's bank records whose names come from convolutions but mean something else for products.
#[derive(Debug, Default, Deserialize)]
struct Raw {
    /// 1 neither operand transposed, 2 A, 3 B, 4 both.
    dilation_h: Option<i64>,
    /// 0 operands are plain matrices, 1 they are fractals: which of the two takes several times as long says so, of
    /// products that a repository has both ways.
    stride_h: Option<i64>,
    /// 0 one product, 2 one B for all products, 3 every product its own.
    batch_type: Option<i64>,
    /// Operands of the result's size behind the product; for int32 the width of what is written.
    fused_operands: Option<i64>,
}

impl Raw {
    /// Whether the row counts the result's columns in blocks of 32 and calls each 16: rows of int8 whose int32 leaves as it
    /// is have blocks of L0 tiles that would otherwise reach beyond n.
    fn halves_columns(&self, dtype: DataType, out_dtype: DataType) -> bool {
        self.fused_operands == Some(1) && dtype == DataType::Int8 && out_dtype == DataType::Int32
    }
}

/// The id of a case, read on its own so that an answer can name even a malformed case.
pub(crate) fn id_of(line: &str) -> Value {
    match serde_json::from_str(line).or_else(|_| json(line)) {
        Ok(Value::Object(mut fields)) => fields.remove("id").unwrap_or(Value::Null),
        _ => Value::Null,
    }
}

pub(crate) fn wrong(reason: impl Into<String>) -> Error {
    Error::Case { reason: reason.into() }
}

impl Case {
    pub(crate) fn parse(line: &str) -> Result<Case> {
        let case = plain::read(line).map_or_else(|| Case::value_by_value(line), Ok)?;
        if case.op.is_empty() || case.op.len() > MAX_NAME || case.op.contains(char::is_control) {
            return Err(wrong(format!("`op`: `{}` is no operator type", beginning(&case.op))));
        }
        Ok(case)
    }

    /// A case of any form, with a word on what is wrong and on what is not used.
    fn value_by_value(line: &str) -> Result<Case> {
        let value = json(line).map_err(|e| wrong(format!("not a case in JSON: {e}")))?;
        let Value::Object(fields) = &value else { return Err(wrong("a case is a JSON object")) };
        let unused = fields::unused(fields).map_err(wrong)?;
        let case: Case = serde_path_to_error::deserialize(value).map_err(|e| match e.path().iter().next() {
            Some(_) => wrong(format!("`{}`: {}", beginning(&e.path().to_string()), e.inner())),
            None => wrong(e.inner().to_string()),
        })?;
        Ok(Case { unused, ..case })
    }

    /// Whether it is a kernel field by field, as a network has it.
    pub(crate) fn is_exact(&self) -> bool {
        self.workload.is_some()
    }

    /// Whether it is a row of a tiling repository, with its time in the repository's unit.
    pub(crate) fn is_repository_row(&self) -> bool {
        self.raw.fused_operands.is_some() && self.has_tbe_tiling()
    }

    /// Whether it is such a row of a product whose operands are plain matrices.
    pub(crate) fn has_plain_operands(&self) -> bool {
        self.is_repository_row() && self.raw.stride_h == Some(0)
    }

    /// Whether it does not say how its work is cut.
    pub(crate) fn is_dealt(&self) -> bool {
        self.schedule.is_none() && self.block_dim.is_none()
    }

    /// The SoC that the case names.
    pub(crate) fn soc(&self) -> Option<&str> {
        self.soc.as_deref()
    }

    /// What an answer has to say of the case: fields that were not used.
    pub(crate) fn note(&self) -> Option<String> {
        self.note_but(&[])
    }

    /// The same of an answer that did use these.
    pub(crate) fn note_but(&self, used: &[&str]) -> Option<String> {
        // Who uses a field uses what is in it.
        let field = |name: &str| name.split('.').next().is_some_and(|field| used.contains(&field));
        let unused: Vec<&str> = self.unused.iter().map(String::as_str).filter(|name| !field(name)).collect();
        let inputs = self.inputs.as_ref().and_then(|inputs| self.tensors("inputs", inputs).ok());
        let attention = inputs.map(|inputs| attention::notes(&self.op, &inputs, self.attrs.as_ref()));
        let notes: Vec<String> = attention.into_iter().flatten().chain(fields::note(&unused)).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// The operands; `None` for a case that gives sizes.
    pub(crate) fn operands(&self) -> Result<Option<(Vec<Operand>, Vec<Operand>)>> {
        match (&self.inputs, &self.outputs) {
            (Some(inputs), Some(outputs)) => {
                Ok(Some((self.tensors("inputs", inputs)?, self.tensors("outputs", outputs)?)))
            }
            (None, None) => Ok(None),
            _ => Err(wrong("`inputs` and `outputs` go together")),
        }
    }

    fn tensors(&self, field: &str, tensors: &[Option<Tensor>]) -> Result<Vec<Operand>> {
        let others = self.format.as_deref().map(|name| tensor::format("format", name)).transpose()?;
        tensor::read(field, tensors, others.unwrap_or(Format::Nd))
    }

    /// Refuses operands that an operator of this name does not have.
    pub(crate) fn check_operands(&self, soc: &Soc) -> Result<()> {
        let Some((inputs, outputs)) = self.operands()? else { return Ok(()) };
        sense::operands(&self.op, &inputs, &outputs, soc)
    }

    /// An attribute that is whole numbers: one, or a list. `None` where the case has none of these names.
    pub(crate) fn integers(&self, names: &[&str]) -> Result<Option<Vec<i64>>> {
        let Some((name, value)) = names.iter().find_map(|name| Some((name, self.attrs.as_ref()?.get(*name)?))) else {
            return Ok(None);
        };
        let numbers = match value {
            Value::Array(items) if items.len() <= MOST_INTEGERS => items.iter().map(Value::as_i64).collect(),
            one => one.as_i64().map(|n| vec![n]),
        };
        let wrong = || wrong(format!("`attrs.{name}`: it is no list of whole numbers"));
        numbers.map(Some).ok_or_else(wrong)
    }

    /// Whether A and B are stored transposed, as far as the case says so.
    fn transposes(&self) -> Result<[Option<bool>; 2]> {
        let attr = |names: [&str; 4]| {
            let found = names.iter().find_map(|name| Some((name, self.attrs.as_ref()?.get(*name)?)));
            found.map(|(name, value)| {
                value.as_bool().ok_or_else(|| wrong(format!("`attrs.{name}`: it is neither true nor false")))
            })
        };
        let [a, b] = fields::TRANSPOSES.map(|names| attr(names).transpose());
        let (a, b) = (a?, b?);
        Ok([self.trans_a.or(a), self.trans_b.or(b)])
    }

    /// The product and the axes of its batches, whichever way the case gives it.
    pub(crate) fn product(&self, soc: &Soc) -> Result<Product> {
        let mut as_multiplied = false;
        let (matmul, batches) = match self.operands()? {
            None => {
                let Workload::MatMul(matmul) = self.workload(soc)? else {
                    return Err(wrong("`op`: it is no product alone"));
                };
                let shapes = self.shapes_of([matmul.trans_a, matmul.trans_b])?;
                as_multiplied = shapes.as_ref().is_some_and(|s| s.as_multiplied);
                (matmul, shapes.map(|s| s.batches))
            }
            Some((inputs, _)) => match self.workload(soc)? {
                Workload::MatMul(matmul) => {
                    let batches = product::batches(&inputs);
                    (matmul, batches)
                }
                other => return Err(wrong(format!("`op`: {other} is no product alone"))),
            },
        };
        let shared = |one: bool| [1, 1, 1, if one { 1 } else { matmul.batch }];
        let batches = batches.unwrap_or_else(|| [shared(matmul.a_shared), shared(matmul.b_shared)]);
        let bias_has_batch = match (&self.bias_shape, self.operands()?) {
            (Some(shape), _) => shape.iter().rev().skip(1).any(|&d| d > 1),
            (None, Some((inputs, _))) => inputs.get(2).is_some_and(|o| o.shape.iter().rev().skip(2).any(|&d| d > 1)),
            _ => false,
        };
        Ok(Product { matmul, batches, bias_has_batch, as_multiplied })
    }

    /// The work; fails where the fields do not say it.
    pub(crate) fn workload(&self, soc: &Soc) -> Result<Workload> {
        if let Some(written) = &self.workload {
            return exact::workload(written, soc);
        }
        let Some((inputs, outputs)) = self.operands()? else {
            let mut matmul = self.matmul()?;
            if self.is_tbe(soc) {
                matmul.kernel = MatMulKernel::Tbe;
            }
            sense::product(&self.op, &matmul)?;
            self.bias_shape.as_ref().map_or(Ok(()), |shape| sense::bias(shape, &matmul))?;
            check_memory(&matmul.to_string(), matmul_bytes(&matmul), soc)?;
            return Ok(Workload::MatMul(matmul));
        };
        check_memory(&self.op, inputs.iter().chain(&outputs).map(|o| u128::from(o.bytes())).sum(), soc)?;
        sense::operands(&self.op, &inputs, &outputs, soc)?;
        let perm = self.perm()?;
        let axes = self.axes();
        let stated = kernel::Stated {
            work: crate::operands::Stated {
                block_dim: self.block_dim,
                axes: axes.as_deref(),
                window: self.window(),
                ..crate::operands::Stated::on(soc)
            },
            perm: perm.as_deref(),
            transposes: self.transposes()?,
            attrs: self.attrs.as_ref(),
        };
        let mut workload = operands::workload(&self.op, inputs, outputs, &stated, soc)?;
        if let Workload::MatMul(matmul) = &workload {
            sense::product(&self.op, matmul)?;
        }
        if self.hf32 {
            allow_hf32(&mut workload);
        }
        if self.is_tbe(soc) {
            by_tbe(&mut workload);
        }
        Ok(workload)
    }

    /// Where its operands lie when it starts, as far as it says so.
    pub(crate) fn cache(&self) -> Result<Option<Location>> {
        let Some(words) = &self.cache else { return Ok(None) };
        let operands = self.operands()?.map(|(inputs, _)| inputs);
        words.read(operands.as_deref()).map(Some)
    }

    /// The axes along which a kernel works, where the case names them.
    fn axes(&self) -> Option<Vec<i64>> {
        self.integers(fields::AXES).ok().flatten()
    }

    /// Taps of the window that slides over an image, where the case gives its sizes.
    fn window(&self) -> Option<u64> {
        let sizes = self.integers(fields::WINDOWS).ok().flatten()?;
        sizes.iter().try_fold(1u64, |n, &size| n.checked_mul(u64::try_from(size).ok().filter(|&size| size > 0)?))
    }

    /// The order of axes of a transpose, where the case gives it.
    fn perm(&self) -> Result<Option<Vec<i64>>> {
        let Some(perm) = self.attrs.as_ref().and_then(|a| a.get("perm")).filter(|_| transpose::is_transpose(&self.op))
        else {
            return Ok(None);
        };
        let axes = perm.as_array().and_then(|axes| axes.iter().map(Value::as_i64).collect::<Option<Vec<_>>>());
        axes.map(Some).ok_or_else(|| wrong("`attrs.perm`: it is no list of axes"))
    }

    /// Whether a product is priced as TBE's kernel: what the graph compiler takes before version 3 is, and whatever has a
    /// tiling in TBE's form. A 910B's `MatMulV2` without a tiling is not: the graph compiler has version 3 take its place,
    /// and so has a kernel of that name in PyTorch's profiles.
    fn is_tbe(&self, soc: &Soc) -> bool {
        let op = operands::parts(&self.op).next().unwrap_or_default();
        let is_batched = matches!(op, "BatchMatMul" | "BatchMatMulV2");
        let connects = op == "FullyConnection" && !soc.has_two_cores();
        let by_name = match soc.arch {
            Arch::C310 => false,
            Arch::C220 | Arch::M300 => is_batched || connects,
            Arch::C100 | Arch::M200 => is_batched || matches!(op, "MatMul" | "MatMulV2") || connects,
        };
        self.has_tbe_tiling() || by_name
    }

    /// Whether its tiling has TBE's form, or is that of an answer about such a product; a name that says otherwise counts
    /// first.
    fn has_tbe_tiling(&self) -> bool {
        let tbe_tiling = self
            .schedule
            .as_ref()
            .is_some_and(|s| s.get("kernel").is_some() || (s.get("cores").is_some() && s.get("single").is_none()));
        tbe_tiling && !self.op.ends_with("V3")
    }

    fn matmul(&self) -> Result<MatMul> {
        if !self.op.contains("MatMul") && !self.op.contains("Matmul") {
            return Err(wrong(format!(
                "{} needs `inputs` and `outputs`; only MatMul is described by m, k, n",
                self.op
            )));
        }
        let trans = |bit: i64| self.raw.dilation_h.is_some_and(|mode| (1..=4).contains(&mode) && (mode - 1) & bit != 0);
        let [stated_a, stated_b] = self.transposes()?;
        let [trans_a, trans_b] = [stated_a.unwrap_or_else(|| trans(1)), stated_b.unwrap_or_else(|| trans(2))];
        if let Some(shapes) = self.shapes_of([trans_a, trans_b])? {
            return self.matmul_of(shapes.extents, shapes.batches, [trans_a, trans_b]);
        }
        let batch = extent("batch", Some(self.batch.unwrap_or(1)))?;
        let types = [self.dtype.as_deref(), self.out_dtype.as_deref()].map(|name| name.and_then(DataType::from_name));
        let halved = matches!(types, [Some(read), Some(written)] if self.raw.halves_columns(read, written));
        let n = self.n.map(|n| if halved { n.saturating_mul(2) } else { n });
        let extents = [extent("m", self.m)?, extent("k", self.k)?, extent("n", n)?];
        let b_shared = batch > 1 && self.raw.batch_type == Some(2);
        let batches = [[1, 1, 1, batch], [1, 1, 1, if b_shared { 1 } else { batch }]];
        self.matmul_of(extents, batches, [trans_a, trans_b])
    }

    fn matrix_format(&self, field: &str, own: Option<&str>) -> Result<Format> {
        let others = || Some(("format", self.format.as_deref()?));
        own.map(|name| (field, name)).or_else(others).map_or(Ok(Format::Nd), |(field, name)| matrix_format(field, name))
    }

    /// The product of these extents and batches, with the case's types and formats.
    fn matmul_of(&self, [m, k, n]: [u64; 3], batches: [[u64; 4]; 2], [trans_a, trans_b]: [bool; 2]) -> Result<MatMul> {
        let [a, b] = batches.map(|axes| axes.iter().fold(1u64, |n, &d| n.saturating_mul(d)));
        let batch = (0..4).fold(1u64, |n, axis| n.saturating_mul(batches[0][axis].max(batches[1][axis])));
        let dtype = dtype("dtype", self.dtype.as_deref().unwrap_or("float16"))?;
        let out_dtype = self.out_dtype.as_deref().map_or(Ok(dtype), |name| tensor::dtype("out_dtype", name))?;
        Ok(MatMul {
            batch,
            a_shared: batch > 1 && a == 1,
            b_shared: batch > 1 && b == 1,
            dtype,
            out_dtype,
            trans_a,
            trans_b,
            bias: self.bias || self.bias_shape.is_some(),
            a_format: self.matrix_format("a_format", self.a_format.as_deref())?,
            b_format: self.matrix_format("b_format", self.b_format.as_deref())?,
            hf32: self.hf32,
            kernel: ascend_c(&self.op),
            ..MatMul::new(m, k, n)
        })
    }
}

/// Whose kernel computes a product of this type where TBE's does not.
fn ascend_c(op: &str) -> MatMulKernel {
    match op {
        "QuantBatchMatmulV4" | "QuantBatchMatMulV4" => MatMulKernel::QuantV4,
        "TransposeBatchMatMul" => MatMulKernel::Transposed,
        _ => MatMulKernel::AscendC,
    }
}

/// An extent of a product, which has to be there.
fn extent(name: &str, value: Option<u64>) -> Result<u64> {
    match value {
        None => Err(wrong(format!("`{name}` is missing"))),
        Some(v) if v == 0 || v > MAX_EXTENT => Err(wrong(format!("`{name}`: {v} is not from 1 to {MAX_EXTENT}"))),
        Some(v) => Ok(v),
    }
}

/// Lets fp32 be rounded to HF32 in all cube work.
fn allow_hf32(workload: &mut Workload) {
    match workload {
        Workload::MatMul(w) => w.hf32 = true,
        Workload::Conv(w) => w.hf32 = true,
        Workload::Fused(parts) => parts.iter_mut().for_each(allow_hf32),
        Workload::Vector(_) | Workload::Reduce(_) | Workload::Move(_) | Workload::Collective(_) => {}
    }
}

/// Has TBE's kernels compute the products.
fn by_tbe(workload: &mut Workload) {
    match workload {
        Workload::MatMul(w) => w.kernel = MatMulKernel::Tbe,
        Workload::Fused(parts) => parts.iter_mut().for_each(by_tbe),
        Workload::Conv(_) | Workload::Vector(_) | Workload::Reduce(_) | Workload::Move(_) | Workload::Collective(_) => {
        }
    }
}
