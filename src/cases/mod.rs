//! Cases: kernels as a user or a data set writes them, one JSON object a line.
//!
//! Whoever answers cases reads them here: `aoe simulate` and `aoe tiling`, and the functions of the C interface.

mod attention;
mod conv;
mod exact;
mod fields;
mod limits;
mod operands;
mod parts;
mod product;
pub(crate) mod stream;
mod strict;
mod tensor;
mod transpose;

pub use parts::Parts;
pub use stream::Count;

pub use exact::case as exact_case;
pub(crate) use fields::shown;
pub(crate) use limits::check_types;
pub(crate) use operands::largest_bytes;

use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{MatMul, Workload};
use limits::{check_memory, matmul_bytes};
use serde::Deserialize;
use serde_json::Value;
use strict::Strict;
use tensor::{Tensor, dtype, matrix_format};

/// Largest extent of one axis: tilings count in 32-bit integers.
pub(super) const MAX_EXTENT: u64 = i32::MAX as u64;
/// Largest number of elements of a tensor; beyond it sizes are taken for nonsense.
pub(super) const MAX_ELEMENTS: u64 = 1 << 40;
/// Longest operator name in bytes.
const MAX_NAME: usize = 256;

/// One case as written. Which of the optional fields must be there depends on `op`.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    #[serde(default)]
    pub(crate) id: Value,
    op: String,
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
    trans_a: Option<bool>,
    trans_b: Option<bool>,
    #[serde(default)]
    hf32: bool,
    #[serde(default)]
    raw: Raw,
    pub(crate) block_dim: Option<u64>,
    inputs: Option<Vec<Tensor>>,
    outputs: Option<Vec<Tensor>>,
    pub(crate) schedule: Option<Value>,
    attrs: Option<serde_json::Map<String, Value>>,
    workload: Option<serde_json::Map<String, Value>>,
    pub(crate) missed_bytes: Option<f64>,
    /// Names of the fields that were not used.
    #[serde(skip)]
    unused: Option<String>,
}

/// Fields of TBE's bank records whose names come from convolutions but mean something else for products.
#[derive(Debug, Default, Deserialize)]
struct Raw {
    /// 1 neither operand transposed, 2 A, 3 B, 4 both.
    dilation_h: Option<i64>,
    /// 0 one product, 2 one B for all products, 3 every product its own.
    batch_type: Option<i64>,
}

/// The id of a case, read on its own so that an answer can name even a malformed case.
pub(crate) fn id_of(line: &str) -> Value {
    match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(mut fields)) => fields.remove("id").unwrap_or(Value::Null),
        _ => Value::Null,
    }
}

pub(crate) fn wrong(reason: impl Into<String>) -> Error {
    Error::Case { reason: reason.into() }
}

impl Case {
    pub(crate) fn parse(line: &str) -> Result<Case> {
        let Strict(value) = serde_json::from_str(line).map_err(|e| wrong(format!("not a case in JSON: {e}")))?;
        let Value::Object(fields) = &value else { return Err(wrong("a case is a JSON object")) };
        let unused = fields::note(&fields::unused(fields).map_err(wrong)?);
        let case: Case = serde_path_to_error::deserialize(value).map_err(|e| match e.path().iter().next() {
            Some(_) => wrong(format!("`{}`: {}", shown(&e.path().to_string()), e.inner())),
            None => wrong(e.inner().to_string()),
        })?;
        if case.op.is_empty() || case.op.len() > MAX_NAME || case.op.contains(char::is_control) {
            return Err(wrong(format!("`op`: `{}` is no operator type", shown(&case.op))));
        }
        Ok(Case { unused, ..case })
    }

    /// The SoC that the case names.
    pub(crate) fn soc(&self) -> Option<&str> {
        self.soc.as_deref()
    }

    /// What an answer has to say of the case.
    pub(crate) fn note(&self) -> Option<String> {
        self.unused.clone()
    }

    /// The work; fails where the fields do not say it.
    pub(crate) fn workload(&self, soc: &Soc) -> Result<Workload> {
        if let Some(written) = &self.workload {
            return exact::workload(written, soc);
        }
        let perm = self.perm()?;
        match (&self.inputs, &self.outputs) {
            (Some(inputs), Some(outputs)) => {
                let (inputs, outputs) = (tensor::read("inputs", inputs)?, tensor::read("outputs", outputs)?);
                check_memory(&self.op, inputs.iter().chain(&outputs).map(|o| u128::from(o.bytes())).sum(), soc)?;
                let mut workload =
                    operands::workload(&self.op, inputs, outputs, (self.block_dim, perm.as_deref()), soc)?;
                if self.hf32 {
                    allow_hf32(&mut workload);
                }
                Ok(workload)
            }
            (None, None) => {
                let matmul = self.matmul()?;
                check_memory(&matmul.to_string(), matmul_bytes(&matmul), soc)?;
                Ok(Workload::MatMul(matmul))
            }
            _ => Err(wrong("`inputs` and `outputs` go together")),
        }
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

    fn matmul(&self) -> Result<MatMul> {
        if !self.op.contains("MatMul") {
            return Err(wrong(format!(
                "{} needs `inputs` and `outputs`; only MatMul is described by m, k, n",
                self.op
            )));
        }
        let extent = |name: &str, value: Option<u64>| match value {
            None => Err(wrong(format!("`{name}` is missing"))),
            Some(v) if v == 0 || v > MAX_EXTENT => Err(wrong(format!("`{name}`: {v} is not from 1 to {MAX_EXTENT}"))),
            Some(v) => Ok(v),
        };
        let batch = extent("batch", Some(self.batch.unwrap_or(1)))?;
        let (m, k, n) = (extent("m", self.m)?, extent("k", self.k)?, extent("n", self.n)?);
        let dtype = dtype("dtype", self.dtype.as_deref().unwrap_or("float16"))?;
        let out_dtype = self.out_dtype.as_deref().map_or(Ok(dtype), |name| tensor::dtype("out_dtype", name))?;
        let trans = |bit: i64| self.raw.dilation_h.is_some_and(|mode| (1..=4).contains(&mode) && (mode - 1) & bit != 0);
        Ok(MatMul {
            batch,
            b_shared: batch > 1 && self.raw.batch_type == Some(2),
            dtype,
            out_dtype,
            trans_a: self.trans_a.unwrap_or_else(|| trans(1)),
            trans_b: self.trans_b.unwrap_or_else(|| trans(2)),
            bias: self.bias,
            a_format: matrix_format("a_format", self.a_format.as_deref())?,
            b_format: matrix_format("b_format", self.b_format.as_deref())?,
            hf32: self.hf32,
            ..MatMul::new(m, k, n)
        })
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
