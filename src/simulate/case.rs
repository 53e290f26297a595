//! The form of a case.

use super::limits::{check_memory, check_types, matmul_bytes};
use super::strict::Strict;
use super::{Job, deal, exact, fields, operands, tiling, transpose};
use crate::graph::{DataType, Format};
use crate::soc::Soc;
use crate::space::default_policy;
use crate::status::{Error, Result};
use crate::workload::{MatMul, Operand, Schedule, VectorSchedule, Workload};
use serde::Deserialize;
use serde_json::Value;

/// Largest extent of one axis: tilings count in 32-bit integers.
pub(super) const MAX_EXTENT: u64 = i32::MAX as u64;
/// Largest number of elements of a tensor; beyond it sizes are taken for nonsense.
pub(super) const MAX_ELEMENTS: u64 = 1 << 40;
/// Most dimensions of a tensor.
const MAX_RANK: usize = 16;
/// Most operands of a kernel.
const MAX_OPERANDS: usize = 4096;
/// Longest operator name in bytes.
const MAX_NAME: usize = 256;

/// One case as written. Which of the optional fields must be there depends on `op`.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    #[serde(default)]
    id: Value,
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
    block_dim: Option<u64>,
    inputs: Option<Vec<Tensor>>,
    outputs: Option<Vec<Tensor>>,
    schedule: Option<Value>,
    attrs: Option<serde_json::Map<String, Value>>,
    workload: Option<serde_json::Map<String, Value>>,
    missed_bytes: Option<f64>,
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

#[derive(Debug, Deserialize)]
struct Tensor {
    shape: Vec<u64>,
    dtype: String,
    #[serde(default)]
    format: Option<String>,
}

/// The id of a case, read on its own so that an answer can name even a malformed case.
pub(super) fn id_of(line: &str) -> Value {
    match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(mut fields)) => fields.remove("id").unwrap_or(Value::Null),
        _ => Value::Null,
    }
}

pub(super) fn wrong(reason: impl Into<String>) -> Error {
    Error::Case { reason: reason.into() }
}

impl Case {
    pub(super) fn parse(line: &str) -> Result<Case> {
        let Strict(value) = serde_json::from_str(line).map_err(|e| wrong(format!("not a case in JSON: {e}")))?;
        let Value::Object(fields) = &value else { return Err(wrong("a case is a JSON object")) };
        let unused = fields::note(&fields::unused(fields).map_err(wrong)?);
        let case: Case = serde_path_to_error::deserialize(value).map_err(|e| match e.path().iter().next() {
            Some(_) => wrong(format!("`{}`: {}", fields::shown(&e.path().to_string()), e.inner())),
            None => wrong(e.inner().to_string()),
        })?;
        if case.op.is_empty() || case.op.len() > MAX_NAME || case.op.contains(char::is_control) {
            return Err(wrong(format!("`op`: `{}` is no operator type", fields::shown(&case.op))));
        }
        Ok(Case { unused, ..case })
    }

    /// The SoC that the case names.
    pub(super) fn soc(&self) -> Option<&str> {
        self.soc.as_deref()
    }

    /// What an answer has to say of the case.
    pub(super) fn note(&self) -> Option<String> {
        self.unused.clone()
    }

    pub(super) fn job(self, soc: &Soc) -> Result<Job> {
        let workload = self.workload(soc)?;
        check_types(&workload, soc)?;
        let schedule = self.schedule(&workload, soc)?;
        crate::workload::check(&workload, &schedule, soc)?;
        let missed = self.missed_bytes;
        if missed.is_some_and(|bytes| !bytes.is_finite() || bytes < 0.0) {
            return Err(wrong("`missed_bytes`: it is no number of bytes"));
        }
        Ok(Job { id: self.id, workload, schedule, missed })
    }

    fn workload(&self, soc: &Soc) -> Result<Workload> {
        if let Some(written) = &self.workload {
            return exact::workload(written, soc);
        }
        let perm = self.perm()?;
        match (&self.inputs, &self.outputs) {
            (Some(inputs), Some(outputs)) => {
                let (inputs, outputs) = (read("inputs", inputs)?, read("outputs", outputs)?);
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
        let out_dtype = self.out_dtype.as_deref().map_or(Ok(dtype), |name| self::dtype("out_dtype", name))?;
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

    fn schedule(&self, workload: &Workload, soc: &Soc) -> Result<Schedule> {
        if let Some(block_dim) = self.block_dim
            && (block_dim == 0 || block_dim > 1 << 20)
        {
            return Err(wrong(format!("`block_dim`: {block_dim} is not a number of cores")));
        }
        match (&self.schedule, self.block_dim) {
            (Some(written), _) => tiling::read(written, workload, soc).map_err(wrong),
            (None, Some(blocks)) if workload.is_cube() => deal::schedule(workload, blocks, soc),
            (None, Some(blocks)) => match default_policy(workload, soc)? {
                Schedule::Vector(s) => Ok(Schedule::Vector(on_blocks(s, workload, blocks, soc))),
                cube @ Schedule::Cube(_) => Ok(cube),
            },
            (None, None) => default_policy(workload, soc),
        }
    }
}

/// The default vector schedule on another number of cores: tiles are cut anew from the larger or smaller
/// share of each.
fn on_blocks(s: VectorSchedule, workload: &Workload, blocks: u64, soc: &Soc) -> VectorSchedule {
    let most = u64::from(soc.vector_core_cnt.max(soc.ai_core_cnt));
    let cores = blocks.min(most).max(1);
    let share = operands::largest_bytes(workload).div_ceil(cores).div_ceil(32).saturating_mul(32).max(32);
    // Room for two buffers of two operands.
    let tile = share.min(soc.ub_size / 4 / 32 * 32);
    let (cores, ub_tile_bytes) = (cores as u32, tile as u32);
    VectorSchedule { cores, ub_tile_bytes, double_buffer: share > tile, ..s }
}

fn read(field: &str, tensors: &[Tensor]) -> Result<Vec<Operand>> {
    if tensors.len() > MAX_OPERANDS {
        return Err(wrong(format!("`{field}`: {} operands are more than {MAX_OPERANDS}", tensors.len())));
    }
    let operand = |(i, tensor): (usize, &Tensor)| tensor.operand(&format!("{field}[{i}]"));
    tensors.iter().enumerate().map(operand).collect()
}

impl Tensor {
    /// `place` says which one it is.
    fn operand(&self, place: &str) -> Result<Operand> {
        let wrong_shape = |reason: String| wrong(format!("`{place}.shape`: {reason}"));
        if self.shape.len() > MAX_RANK {
            return Err(wrong_shape(format!("{} dimensions are more than {MAX_RANK}", self.shape.len())));
        }
        if let Some(dim) = self.shape.iter().find(|d| !(1..=MAX_EXTENT).contains(*d)) {
            return Err(wrong_shape(format!("{dim} is not from 1 to {MAX_EXTENT}")));
        }
        let elements = self.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).filter(|&n| n <= MAX_ELEMENTS);
        if elements.is_none() {
            return Err(wrong_shape(format!("{:?} has more than {MAX_ELEMENTS} elements", self.shape)));
        }
        let dtype = dtype(&format!("{place}.dtype"), &self.dtype)?;
        let format = match self.format.as_deref() {
            None | Some("NULL") => Format::Nd,
            Some(name) => Format::from_name(name)
                .ok_or_else(|| wrong(format!("`{place}.format`: there is no format `{}`", fields::shown(name))))?,
        };
        if let Some(form) = misfit(format, &self.shape) {
            return Err(wrong_shape(format!(
                "{:?} does not fit format {}, which is {form}",
                self.shape,
                format.name()
            )));
        }
        Ok(Operand { shape: self.shape.clone(), dtype, format })
    }
}

/// The form of a format whose tensors cannot have this shape.
fn misfit(format: Format, shape: &[u64]) -> Option<&'static str> {
    /// Elements of the innermost block, by type; 4 for few input channels.
    const C0: [u64; 5] = [4, 8, 16, 32, 64];
    let block = shape.last().is_some_and(|c0| C0.contains(c0));
    let fractal = block && matches!(shape, [.., 16, _]);
    let (fits, form) = match format {
        Format::FractalNz => (shape.len() >= 4 && fractal, "[.., n / C0, m / 16, 16, C0]"),
        Format::Nc1hwc0 => (shape.len() == 5 && block, "[n, c / C0, h, w, C0]"),
        Format::Ndc1hwc0 => (shape.len() == 6 && block, "[n, d, c / C0, h, w, C0]"),
        // Profiles show an empty shape for filters that a fused kernel makes for itself.
        Format::FractalZ | Format::FractalZ3d => {
            (shape.is_empty() || (shape.len() == 4 && fractal), "[c / C0 * kh * kw, n / 16, 16, C0]")
        }
        _ => (true, ""),
    };
    (!fits).then_some(form)
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

fn dtype(place: &str, name: &str) -> Result<DataType> {
    Ok(match name {
        // Profiles write these for masks, shapes without a type, and absent optional operands.
        "uint" => DataType::Uint8,
        "begin" | "undefined" | "null" => DataType::Int32,
        _ => DataType::from_name(name)
            .ok_or_else(|| wrong(format!("`{place}`: there is no data type `{}`", fields::shown(name))))?,
    })
}

fn matrix_format(field: &str, name: Option<&str>) -> Result<Format> {
    match name.map(|name| (name, Format::from_name(name))) {
        None => Ok(Format::Nd),
        Some((_, Some(format @ (Format::Nd | Format::FractalNz)))) => Ok(format),
        Some((_, Some(format))) => {
            Err(wrong(format!("`{field}`: a matrix is ND or FRACTAL_NZ, not {}", format.name())))
        }
        Some((name, None)) => Err(wrong(format!("`{field}`: there is no format `{}`", fields::shown(name)))),
    }
}
