//! The form of a case.

use super::{Job, deal, operands, tiling};
use crate::graph::{DataType, Format};
use crate::soc::Soc;
use crate::space::default_policy;
use crate::status::{Error, Result};
use crate::workload::{MatMul, Operand, Schedule, VectorSchedule, Workload};
use serde::Deserialize;
use serde_json::Value;

/// Largest extent or core count of a case; beyond it sizes are taken for nonsense.
const MAX_EXTENT: u64 = 1 << 40;

/// One case as written. Which of the optional fields must be there depends on `op`.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    #[serde(default)]
    id: Value,
    op: String,
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

fn wrong(reason: impl Into<String>) -> Error {
    Error::param("case", reason)
}

impl Case {
    pub(super) fn parse(line: &str) -> Result<Case> {
        serde_json::from_str(line).map_err(|e| wrong(e.to_string()))
    }

    pub(super) fn job(self, soc: &Soc) -> Result<Job> {
        let workload = self.workload(soc)?;
        let schedule = self.schedule(&workload, soc)?;
        crate::workload::check(&workload, &schedule, soc)?;
        Ok(Job { id: self.id, workload, schedule })
    }

    fn workload(&self, soc: &Soc) -> Result<Workload> {
        match (&self.inputs, &self.outputs) {
            (Some(inputs), Some(outputs)) => {
                let read = |tensors: &[Tensor]| tensors.iter().map(Tensor::operand).collect::<Result<Vec<_>>>();
                operands::workload(&self.op, read(inputs)?, read(outputs)?, self.block_dim, soc)
            }
            (None, None) => self.matmul().map(Workload::MatMul),
            _ => Err(wrong("`inputs` and `outputs` go together")),
        }
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
            Some(v) if v == 0 || v > MAX_EXTENT => {
                Err(wrong(format!("`{name}` = {v} is not between 1 and {MAX_EXTENT}")))
            }
            Some(v) => Ok(v),
        };
        let batch = extent("batch", Some(self.batch.unwrap_or(1)))?;
        let (m, k, n) = (extent("m", self.m)?, extent("k", self.k)?, extent("n", self.n)?);
        let dtype = dtype(self.dtype.as_deref().unwrap_or("float16"))?;
        let out_dtype = self.out_dtype.as_deref().map_or(Ok(dtype), self::dtype)?;
        let trans = |bit: i64| self.raw.dilation_h.is_some_and(|mode| (1..=4).contains(&mode) && (mode - 1) & bit != 0);
        Ok(MatMul {
            batch,
            b_shared: batch > 1 && self.raw.batch_type == Some(2),
            dtype,
            out_dtype,
            trans_a: self.trans_a.unwrap_or_else(|| trans(1)),
            trans_b: self.trans_b.unwrap_or_else(|| trans(2)),
            bias: self.bias,
            a_format: matrix_format(self.a_format.as_deref())?,
            b_format: matrix_format(self.b_format.as_deref())?,
            hf32: self.hf32,
            ..MatMul::new(m, k, n)
        })
    }

    fn schedule(&self, workload: &Workload, soc: &Soc) -> Result<Schedule> {
        if let Some(block_dim) = self.block_dim
            && (block_dim == 0 || block_dim > 1 << 20)
        {
            return Err(wrong(format!("`block_dim` = {block_dim} is not a number of cores")));
        }
        match (&self.schedule, self.block_dim) {
            (Some(written), _) => {
                tiling::read(written, workload, soc).map_err(|reason| wrong(format!("schedule: {reason}")))
            }
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

impl Tensor {
    fn operand(&self) -> Result<Operand> {
        if self.shape.len() > 16 {
            return Err(wrong(format!("a tensor of {} dimensions", self.shape.len())));
        }
        let elements = self.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).filter(|&n| n <= MAX_EXTENT);
        if elements.is_none_or(|n| n == 0) {
            return Err(wrong(format!("shape {:?} has no or too many elements", self.shape)));
        }
        let format = match self.format.as_deref() {
            None | Some("NULL") => Format::Nd,
            Some(name) => Format::from_name(name).ok_or_else(|| wrong(format!("unknown format `{name}`")))?,
        };
        let rank = self.shape.len();
        let fits = match format {
            Format::FractalNz => rank >= 4,
            Format::Nc1hwc0 => rank == 5,
            Format::Ndc1hwc0 => rank == 6,
            Format::FractalZ | Format::FractalZ3d => rank >= 4 || rank == 0,
            _ => true,
        };
        if !fits {
            return Err(wrong(format!("shape {:?} does not fit format {}", self.shape, format.name())));
        }
        Ok(Operand { shape: self.shape.clone(), dtype: dtype(&self.dtype)?, format })
    }
}

fn dtype(name: &str) -> Result<DataType> {
    Ok(match name {
        // Profiles write these for masks, shapes without a type, and absent optional operands.
        "uint" => DataType::Uint8,
        "begin" | "undefined" | "null" => DataType::Int32,
        _ => DataType::from_name(name).ok_or_else(|| wrong(format!("unknown data type `{name}`")))?,
    })
}

fn matrix_format(name: Option<&str>) -> Result<Format> {
    match name {
        None => Ok(Format::Nd),
        Some(name) => match Format::from_name(name) {
            Some(format @ (Format::Nd | Format::FractalNz)) => Ok(format),
            Some(format) => Err(wrong(format!("a matrix cannot have format {}", format.name()))),
            None => Err(wrong(format!("unknown format `{name}`"))),
        },
    }
}
