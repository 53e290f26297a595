//! The tiling that CANN's own heuristics choose: what a network runs with before it is tuned.

mod batch;
mod conv;
mod matmul;
mod origin;
mod quant;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(test)]
mod written;

pub use origin::default_origin;

use super::cube::{Limits, Tiling, is_tbe};
use super::vector::Work;
use crate::soc::Soc;
use crate::tiling::{Platform, matmul_v3};
use crate::workload::{CubeShape, MatMulKernel, Schedule, Workload, check};
use aoe_base::status::{Error, Result};
use aoe_graph::DataType;

/// The tiling that CANN's own heuristics choose: the baseline of every tuning. Always legal.
///
/// Fails with [`Error::Workload`] for a workload that has no legal schedule: an extent of zero, or nothing
/// to move.
pub fn default_policy(workload: &Workload, soc: &Soc) -> Result<Schedule> {
    let unfit = |reason: &str| Error::Workload { workload: workload.to_string(), reason: reason.into() };
    let schedule = if let Some(shape) = workload.cube() {
        if [shape.batch, shape.m, shape.k, shape.n].contains(&0) {
            return Err(unfit("an extent is zero"));
        }
        if let Some(schedule) = public(workload, soc) {
            return Ok(schedule);
        }
        let tiling = cube_tiling(workload, soc).ok_or_else(|| unfit("no cube work"))?;
        Schedule::Cube(settle(tiling, workload, &shape, soc).schedule(&shape))
    } else {
        let work = Work::new(workload, soc).ok_or_else(|| unfit("it neither reads nor writes a tensor"))?;
        let schedule = vector::schedule(workload, soc, &work);
        if schedule.ub_tile_bytes == 0 {
            let reason =
                format!("it has so many tensors that the unified buffer of {} cannot hold a part of each", soc.name);
            return Err(unfit(&reason));
        }
        Schedule::Vector(schedule)
    };
    check(workload, &schedule, soc)?;
    Ok(schedule)
}

/// The default exactly as CANN chooses it, where its rules are public: single products of floats that run as
/// `MatMulV3`, and convolutions of volumes. Nothing where extents exceed what its fields hold, and for the few products whose default does not
/// fit L1 by CANN's own rules (steps that stay of a refused full load of B).
fn public(workload: &Workload, soc: &Soc) -> Option<Schedule> {
    // A fused product is none of `AscendC`'s kernels.
    let w = match workload {
        Workload::MatMul(w) => w,
        Workload::Conv(w) => {
            return conv::public(w, soc).filter(|schedule| check(workload, schedule, soc).is_ok());
        }
        _ => return None,
    };
    let floats = matches!(w.dtype, DataType::Float | DataType::Float16 | DataType::Bfloat16);
    if w.kernel != MatMulKernel::AscendC || is_tbe(w, soc) || w.batch != 1 || !floats {
        return None;
    }
    let choice = matmul_v3::default(w, &Platform::of(soc));
    let schedule = Schedule::Cube(choice.tiling.schedule(w).ok().filter(|_| choice.public)?);
    check(workload, &schedule, soc).is_ok().then_some(schedule)
}

fn cube_tiling(workload: &Workload, soc: &Soc) -> Option<Tiling> {
    match workload {
        Workload::MatMul(matmul) if is_tbe(matmul, soc) => Some(conv::product(&matmul.cube(), soc)),
        Workload::MatMul(matmul) => {
            let own = batch::tiling(matmul, soc).or_else(|| quant::tiling(matmul, soc));
            Some(own.unwrap_or_else(|| matmul::tiling(matmul, soc)))
        }
        Workload::Conv(conv) => Some(conv::tiling(conv, soc)),
        Workload::Fused(parts) => parts.iter().find_map(|part| cube_tiling(part, soc)),
        _ => None,
    }
}

/// Brings a tiling into canonical form and, on parts whose buffers are smaller than the rules expect,
/// within their limits.
pub(super) fn settle(mut tiling: Tiling, workload: &Workload, shape: &CubeShape, soc: &Soc) -> Tiling {
    let limits = Limits::of(workload, shape, soc);
    tiling.make_canonical(shape, &limits);
    for _ in 0..MOST_SHRINKS {
        if tiling.fits(&limits) || !tiling.shrink(&limits) {
            break;
        }
        tiling.make_canonical(shape, &limits);
    }
    tiling
}

/// Every size at its largest is halved to its smallest in fewer steps than this. Where even the smallest
/// tile does not fit, shrinking and the canonical form would undo each other for ever.
const MOST_SHRINKS: usize = 256;
