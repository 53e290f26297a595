//! The performance model of the AI Core: pipes with bounded buffers, cores that share L2 and device
//! memory, blocks dealt to cores with their tail, and a launch.
//!
//! A workload is prepared once ([`Model::new`]); pricing a schedule is then closed-form arithmetic
//! without allocation.

mod collective;
pub mod constants;
mod cube;
mod memory;
#[cfg(test)]
mod tests;
mod vector;

use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{Schedule, Workload};

/// What the model says of one kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Kernel time in microseconds, launch not included.
    pub time_us: f64,
    /// Share of the time that each pipe is busy on the busiest core, 0 to 1.
    pub pipes: Pipes,
    /// What bounds the kernel.
    pub bound: Bound,
}

/// Busy shares of the pipes.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct Pipes {
    /// Cube unit.
    pub mac: f64,
    /// L1 to L0.
    pub mte1: f64,
    /// GM to L1 or UB.
    pub mte2: f64,
    /// L0C to GM.
    pub fixpipe: f64,
    /// Vector unit.
    pub vec: f64,
    /// UB to GM.
    pub mte3: f64,
}

/// The resource that a kernel waits for most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Cube unit.
    Cube,
    /// Vector unit.
    Vector,
    /// L1 to L0.
    Mte1,
    /// GM to L1 or UB.
    Mte2,
    /// Output through fixpipe.
    Fixpipe,
    /// Output through MTE3.
    Mte3,
    /// Device memory, shared by all cores.
    Memory,
    /// Fixed cost of starting the kernel and filling its pipes.
    Latency,
}

/// Times in microseconds that the pieces of a kernel need; what [`Prediction`] is made of.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    busy: Pipes,
    /// Time on the shared paths (L2, device memory).
    shared: f64,
    /// Time of the longest chain, everything included.
    total: f64,
}

impl Times {
    /// Runs `other` after `self`.
    fn then(self, other: Times) -> Times {
        let add = |a: Pipes, b: Pipes| Pipes {
            mac: a.mac + b.mac,
            mte1: a.mte1 + b.mte1,
            mte2: a.mte2 + b.mte2,
            fixpipe: a.fixpipe + b.fixpipe,
            vec: a.vec + b.vec,
            mte3: a.mte3 + b.mte3,
        };
        Times { busy: add(self.busy, other.busy), shared: self.shared + other.shared, total: self.total + other.total }
    }

    fn prediction(self) -> Prediction {
        let time_us = self.total.max(f64::MIN_POSITIVE);
        let share = |busy: f64| (busy / time_us).clamp(0.0, 1.0);
        let busy = self.busy;
        let candidates = [
            (busy.mac, Bound::Cube),
            (busy.vec, Bound::Vector),
            (busy.mte1, Bound::Mte1),
            (busy.mte2, Bound::Mte2),
            (busy.fixpipe, Bound::Fixpipe),
            (busy.mte3, Bound::Mte3),
            (self.shared, Bound::Memory),
        ];
        let (longest, bound) =
            candidates.into_iter().fold((0.0, Bound::Latency), |best, c| if c.0 > best.0 { c } else { best });
        Prediction {
            time_us,
            pipes: Pipes {
                mac: share(busy.mac),
                mte1: share(busy.mte1),
                mte2: share(busy.mte2),
                fixpipe: share(busy.fixpipe),
                vec: share(busy.vec),
                mte3: share(busy.mte3),
            },
            bound: if longest < 0.5 * time_us { Bound::Latency } else { bound },
        }
    }
}

/// A workload prepared for pricing many schedules on one SoC.
#[derive(Debug, Clone)]
pub struct Model {
    workload: Workload,
    soc: Soc,
    pieces: Vec<Piece>,
}

/// A part of a kernel with its problem reduced to numbers.
#[derive(Debug, Clone)]
enum Piece {
    Cube(cube::Problem),
    Vector(vector::Problem),
    Collective(collective::Problem),
}

impl Model {
    /// Prepares a workload. Fails with [`crate::status::Error::Workload`] for sizes that cannot be.
    pub fn new(workload: &Workload, soc: &Soc) -> Result<Model> {
        let mut pieces = Vec::new();
        collect(workload, soc, &mut pieces)?;
        Ok(Model { workload: workload.clone(), soc: soc.clone(), pieces })
    }

    /// Prices one schedule. Fails with [`crate::status::Error::IllegalSchedule`] where
    /// [`crate::workload::check`] does.
    pub fn predict(&self, schedule: &Schedule) -> Result<Prediction> {
        crate::workload::check(&self.workload, schedule, &self.soc)?;
        let mut times = Times { total: constants::START_US, ..Times::default() };
        for piece in &self.pieces {
            times = times.then(match (piece, schedule) {
                (Piece::Cube(p), Schedule::Cube(s)) => p.times(s),
                (Piece::Vector(p), Schedule::Vector(s)) => p.times(s),
                // The vector part of a fused cube kernel works on the tiles as they come.
                (Piece::Vector(p), Schedule::Cube(s)) => p.epilogue(s.used_cores),
                (Piece::Collective(p), _) => p.times(),
                (Piece::Cube(_), Schedule::Vector(_)) => return Err(self.error("cube work needs a cube schedule")),
            });
        }
        Ok(times.prediction())
    }

    fn error(&self, reason: &str) -> Error {
        Error::Workload { workload: self.workload.to_string(), reason: reason.to_owned() }
    }
}

fn collect(workload: &Workload, soc: &Soc, pieces: &mut Vec<Piece>) -> Result<()> {
    let fail = |reason: &str| Error::Workload { workload: workload.to_string(), reason: reason.to_owned() };
    match workload {
        Workload::MatMul(w) => pieces.push(Piece::Cube(cube::Problem::matmul(w, soc).map_err(|r| fail(&r))?)),
        Workload::Conv(w) => pieces.push(Piece::Cube(cube::Problem::conv(w, soc).map_err(|r| fail(&r))?)),
        Workload::Vector(w) => pieces.push(Piece::Vector(vector::Problem::vector(w, soc).map_err(|r| fail(&r))?)),
        Workload::Reduce(w) => pieces.push(Piece::Vector(vector::Problem::reduce(w, soc).map_err(|r| fail(&r))?)),
        Workload::Move(w) => pieces.push(Piece::Vector(vector::Problem::movement(w, soc).map_err(|r| fail(&r))?)),
        Workload::Collective(w) => pieces.push(Piece::Collective(collective::Problem::new(w, soc))),
        Workload::Fused(parts) => {
            for part in parts {
                if matches!(part, Workload::Fused(_)) {
                    return Err(fail("a fused kernel cannot hold another fused kernel"));
                }
                collect(part, soc, pieces)?;
            }
        }
    }
    if pieces.is_empty() {
        return Err(fail("nothing to compute"));
    }
    Ok(())
}
