//! Cases: kernels as a user or a data set writes them, one JSON object a line.
//!
//! Whoever answers cases reads them here: `aoe simulate` and `aoe tiling`, and the functions of the C interface.

mod attention;
mod cache;
mod conv;
mod exact;
mod extents;
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
pub(crate) use extents::Product;
pub(crate) use limits::check_types;
pub(crate) use operands::largest_bytes;
pub use strict::json;

use crate::graph::Format;
use crate::soc::Soc;
use crate::spelling::beginning;
use crate::status::{Error, Result};
use crate::workload::{MatMulKernel, Operand, Workload};
use extents::{Raw, by_tbe};
use limits::{check_memory, matmul_bytes};
use serde::Deserialize;
use serde_json::Value;
use tensor::Tensor;

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
