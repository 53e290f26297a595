//! The written forms of a schedule: the canonical one, TBE's as measured records hold it, and that of CANN's
//! runtime bank.

use crate::bank::Writable;
use crate::graph::DataType;
use crate::soc::Soc;
use crate::spelling::beginning;
use crate::tiling::quant_batch_matmul_v3;
use crate::workload::tbe::{self, TbeTiling};
use crate::workload::{
    Buffers, Cores, CubeSchedule, CubeShape, L0Tile, L1Tile, LoopOrder, MatMulKernel, Panel, Schedule, Workload,
};
use serde::Deserialize;
use serde_json::Value;

/// TBE's form: extents of core tasks follow from the number of blocks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tbe {
    cores: Cores,
    l1_a: L1Tile,
    l1_b: L1Tile,
    l0: L0,
    buffers: Buffers,
    order: Option<LoopOrder>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct L0 {
    m: u32,
    n: u32,
    k_a: Depth,
    k_b: Depth,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "neither \"full\" nor a number of elements")]
enum Depth {
    Elements(u32),
    Full(Full),
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum Full {
    #[serde(rename = "full")]
    Full,
}

/// What a schedule's `kernel` says where TBE's kernel computes the product. Without the word it is for the kernel that
/// the case's operator names.
pub(super) const TBE: &str = "tbe";

/// Reads a schedule: the canonical form where `single` or a vector schedule's fields are given, TBE's where
/// `cores` are, else the `knowledge` of the workload's bank record.
pub(super) fn read(written: &Value, workload: &Workload, soc: &Soc) -> Result<Schedule, String> {
    let Some(shape) = workload.cube() else { return typed(written).map(Schedule::Vector) };
    let written = &without_kernel(written, workload)?;
    if written.get("single").is_some() {
        return typed(written).map(Schedule::Cube);
    }
    let writable = Writable::of(workload, soc);
    let in_bank = writable.is_read_by_cann() || writable.is_read_when_compiled() && written.get("block_dim").is_some();
    if written.get("cores").is_none() && written.is_object() && in_bank {
        return writable.read(written).map_err(|error| format!("`schedule`: {error}"));
    }
    if let (Some(fields), Workload::MatMul(w)) = (written.as_object().filter(|f| f.contains_key("m_l0")), workload) {
        let tiling = quant_batch_matmul_v3::Tiling::from_knowledge(fields);
        let schedule = tiling.map_err(|e| format!("`schedule`: {e}"))?.schedule(w);
        return schedule.map(Schedule::Cube).map_err(|e| format!("`schedule`: {e}"));
    }
    let tbe: Tbe = typed(written)?;
    canonical(&tbe, &shape, soc).map(Schedule::Cube).map_err(|reason| format!("`schedule`: {reason}"))
}

/// The schedule without the name of its kernel, which has to be that of the workload.
fn without_kernel(written: &Value, workload: &Workload) -> Result<Value, String> {
    let mut schedule = written.clone();
    match schedule.as_object_mut().and_then(|fields| fields.remove("kernel")) {
        None => Ok(schedule),
        Some(name) if name != TBE => Err(format!("`schedule.kernel`: it is {name}, and can be \"{TBE}\" or left out")),
        Some(_) if workload.product_kernel() == Some(MatMulKernel::Tbe) => Ok(schedule),
        Some(_) => Err(format!("`schedule.kernel`: TBE's tiling of a product, and {} is none", workload.op_type())),
    }
}

/// The written schedule in this form; an error names the place in it.
fn typed<'a, T: Deserialize<'a>>(written: &'a Value) -> Result<T, String> {
    serde_path_to_error::deserialize(written).map_err(|e| match e.path().iter().next() {
        Some(_) => format!("`schedule.{}`: {}", beginning(&e.path().to_string()), e.inner()),
        None => format!("`schedule`: {}", e.inner()),
    })
}

fn canonical(tbe: &Tbe, shape: &CubeShape, soc: &Soc) -> Result<CubeSchedule, String> {
    // Of products of int8 that write int32 the records count the depth in L1 in halves of a fractal.
    let halved = shape.dtype == DataType::Int8 && shape.out_dtype == DataType::Int32;
    let in_l1 = |tile: L1Tile, base: Depth| match (tile, base) {
        (L1Tile::Panel(panel), Depth::Elements(base)) if halved && panel.k.is_multiple_of(2 * base.max(1)) => {
            L1Tile::Panel(Panel { k: panel.k / 2, ..panel })
        }
        _ => tile,
    };
    let depth = |d: Depth| match d {
        Depth::Elements(k) => Ok(k),
        Depth::Full(Full::Full) => tbe::whole_depth(shape),
    };
    let L0 { m, n, k_a, k_b } = tbe.l0;
    let l0 = L0Tile { m, n, k_a: depth(k_a)?, k_b: depth(k_b)? };
    let Tbe { cores, buffers, .. } = *tbe;
    let (l1_a, l1_b) = (in_l1(tbe.l1_a, k_a), in_l1(tbe.l1_b, k_b));
    let mut schedule = TbeTiling { cores, l1_a, l1_b, l0, buffers }.schedule(shape)?;
    if cores.tasks() > u64::from(soc.ai_core_cnt) {
        return Err(format!("{} blocks, the SoC has {} cores", cores.tasks(), soc.ai_core_cnt));
    }
    if let Some(order) = tbe.order {
        schedule.order = order;
    }
    Ok(schedule)
}
