//! The tiling repository, which came before the unified bank: one product, tiling and time a line. It is
//! read, for the measured times in it, and never written.

use super::product::{self, Reason};
use super::python::Value;
use crate::bank::key::Unusable;
use crate::bank::lines::{Finding, Judged, Lines};
use crate::workload::tbe::{TbeTiling, whole_depth};
use crate::workload::{Buffers, Cores, CubeSchedule, L0Tile, L1Tile, MatMul, Panel};
use prost::bytes::Bytes;

/// Values of a tiling.
const VALUES: usize = 51;
/// Rows and columns of a fractal.
const F: u32 = 16;
/// What stands in place of the time of a measurement that failed, in microseconds.
const FAILED_US: f64 = 1e17;

/// Indices into the tiling that are understood.
mod at {
    /// Buffers of A in L1, then what one of them holds: k in elements, m in L0 tiles, products.
    pub const L1_A: [usize; 4] = [0, 5, 6, 7];
    /// Blocks along batch, m, group.
    pub const BLOCKS: [usize; 3] = [2, 3, 4];
    /// Buffers of B in L1, then what one of them holds: k in elements, n in L0 tiles, products.
    pub const L1_B: [usize; 4] = [14, 17, 18, 19];
    /// Blocks along n.
    pub const BLOCKS_N: usize = 16;
    /// L0A: buffers, m and k in fractals.
    pub const L0_A: [usize; 3] = [26, 27, 28];
    /// L0B: buffers, k and n in fractals; k is an empty list where it holds all that L1 does.
    pub const L0_B: [usize; 3] = [31, 32, 33];
    /// L0C: buffers, m and n in fractals.
    pub const L0_C: [usize; 3] = [36, 37, 38];
}

/// A record.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Line counted from 1.
    pub line: usize,
    /// What was tiled.
    pub workload: MatMul,
    /// How.
    pub schedule: CubeSchedule,
    /// Microseconds it took; none where the measurement failed.
    pub cost_us: Option<f64>,
    /// Name of the kernel, where it has one.
    pub kernel: Option<String>,
}

/// A tiling repository.
#[derive(Debug, Default)]
pub struct Repository {
    lines: Lines<Row>,
}

impl Repository {
    /// Reads a file. Never fails: what cannot be used is named in [`Repository::findings`].
    pub fn parse(content: &[u8]) -> Repository {
        let mut lines = Lines::default();
        for (index, line) in Lines::<Row>::split(content).enumerate() {
            lines.take(index + 1, Bytes::copy_from_slice(line), row(index + 1, line).map(Judged::from));
        }
        Repository { lines }
    }

    /// What there is to tell of the file.
    pub fn findings(&self) -> &[Finding] {
        self.lines.findings()
    }

    /// How much more there is to tell.
    pub fn unlisted(&self) -> usize {
        self.lines.unlisted()
    }

    /// The records that are understood, in file order.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.lines.records()
    }
}

fn row(line: usize, text: &[u8]) -> Result<Row, Unusable> {
    let damaged = |reason: String| Unusable::Damaged(reason);
    let text = std::str::from_utf8(text).map_err(|e| damaged(e.to_string()))?;
    let value = Value::parse(text).map_err(damaged)?;
    let fields = value.as_dict().ok_or_else(|| damaged("the line is no JSON object".into()))?;
    let field = |name: &str| fields.get(name).ok_or_else(|| damaged(format!("`{name}` is missing")));
    let shape = field("shape")?.as_dict().ok_or_else(|| damaged("`shape` is no object".into()))?;
    let tiling = field("tiling")?.as_list().ok_or_else(|| damaged("`tiling` is no list".into()))?;
    let cost = field("cost_time")?;
    let cost_us = cost.as_f64().filter(|us| us.is_finite() && *us >= 0.0);
    let cost_us = cost_us.ok_or_else(|| damaged(format!("`cost_time` cannot be {cost}")))?;
    let kernel = shape.get("kernel_name").and_then(Value::as_str).map(ToOwned::to_owned);
    let workload = product::workload(shape).map_err(|reason| Unusable::Foreign(format!("shape: {reason}")))?;
    let schedule = read(tiling, &workload).and_then(|tiling| tiling.schedule(&workload.cube()));
    let schedule = schedule.map_err(|reason| Unusable::Foreign(format!("tiling: {reason}")))?;
    Ok(Row { line, workload, schedule, cost_us: Some(cost_us).filter(|us| *us < FAILED_US), kernel })
}

fn read(tiling: &[Value], w: &MatMul) -> Result<TbeTiling, Reason> {
    if tiling.len() != VALUES {
        return Err(format!("{} values, not {VALUES}", tiling.len()));
    }
    let value = |index: usize| tiling.get(index).unwrap_or(&Value::Null);
    let number = |index: usize| {
        let read = value(index).as_u64().and_then(|v| u32::try_from(v).ok());
        read.ok_or_else(|| format!("value {index} cannot be {}", value(index)))
    };
    let buffers = |index: usize| u8::try_from(number(index)?).map_err(|_| format!("value {index}: too many buffers"));
    let is_full = |index: usize| value(index).as_list().is_some_and(<[_]>::is_empty);
    let l1 = |[_, k, tiles, batch]: [usize; 4]| -> Result<L1Tile, Reason> {
        if is_full(k) {
            return Ok(L1Tile::FULL);
        }
        Ok(L1Tile::Panel(Panel { k: number(k)?, tiles: number(tiles)?, batch: number(batch)? }))
    };
    let k0 = u32::try_from(w.cube().k0()).map_err(|_| "the data type has no fractal".to_owned())?;
    let elements = |index: usize, block: u32| {
        number(index)?.checked_mul(block).ok_or_else(|| format!("value {index}: {} overflows", value(index)))
    };
    let [_, m, n] = at::L0_C;
    let same = |index: usize, other: usize| match (number(index)?, number(other)?) {
        (a, b) if a == b => Ok(()),
        (a, b) => Err(format!("value {index} = {a}, but value {other} = {b}")),
    };
    same(at::L0_A[1], m)?;
    let k_b = if is_full(at::L0_B[1]) {
        whole_depth(&w.cube())?
    } else {
        same(at::L0_B[2], n)?;
        elements(at::L0_B[1], k0)?
    };
    let [batch, along_m, group] = at::BLOCKS;
    Ok(TbeTiling {
        cores: Cores { batch: number(batch)?, m: number(along_m)?, n: number(at::BLOCKS_N)?, k: number(group)? },
        l1_a: l1(at::L1_A)?,
        l1_b: l1(at::L1_B)?,
        l0: L0Tile { m: elements(m, F)?, n: elements(n, F)?, k_a: elements(at::L0_A[2], k0)?, k_b },
        buffers: Buffers {
            l1_a: buffers(at::L1_A[0])?,
            l1_b: buffers(at::L1_B[0])?,
            l0_a: buffers(at::L0_A[0])?,
            l0_b: buffers(at::L0_B[0])?,
            l0_c: buffers(at::L0_C[0])?,
        },
    })
}
