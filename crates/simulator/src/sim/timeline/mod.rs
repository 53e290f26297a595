//! One kernel as a timeline of its pipes: why a tiling is slow.
//!
//! The busiest core's loop is gone through operation by operation, with the costs that the closed form sums
//! up: every operation takes its kind's mean. The two totals differ where the closed form's smooth maximum
//! and the queues' waiting do; both are kept, neither is scaled to the other.

mod core;
mod cube;
mod lane;
#[cfg(test)]
mod tests;
mod vector;

pub use lane::{Bar, Lane, Pipe};

use self::core::Core;
use super::{Model, Piece, Prediction, busy_cores};
use crate::workload::{Schedule, Workload};
use aoe_base::status::Result;

/// A part of a kernel's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// `start`, `fill`, `steady` or `drain`.
    pub name: &'static str,
    /// Its begin in microseconds.
    pub start_us: f64,
    /// Its end.
    pub end_us: f64,
}

/// How the kernel's blocks are dealt to cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Blocks in all.
    pub tasks: u64,
    /// Cores that get some.
    pub cores: u64,
}

impl Blocks {
    /// Blocks of the busiest core.
    pub fn rounds(&self) -> u64 {
        self.tasks.div_ceil(self.cores.max(1))
    }

    /// Cores that work in the last round.
    pub fn cores_in_last_round(&self) -> u64 {
        self.tasks - (self.rounds().max(1) - 1) * self.cores
    }
}

/// The timeline of the busiest core.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// What the closed form says.
    pub prediction: Prediction,
    /// End of the last operation in microseconds from the kernel's start.
    pub total_us: f64,
    /// What each pipe did.
    pub lanes: Vec<Lane>,
    /// The parts of the time, in order, without gaps.
    pub phases: Vec<Phase>,
    /// Time that the unit that computes waited, and for whom; the longest first.
    pub waits: Vec<(Pipe, f64)>,
    /// The blocks.
    pub blocks: Blocks,
    /// Tiles of the loop in all, and those that were gone through; the others are taken for repeats.
    pub tiles: [u64; 2],
    /// Steps along k that were taken as one.
    pub steps_joined: u64,
}

impl Model {
    /// The timeline of a schedule. Fails as [`Model::predict`] does.
    pub fn timeline(&self, schedule: &Schedule) -> Result<Timeline> {
        let prediction = self.predict(schedule)?;
        let closed = self.times(schedule);
        let mut core = Core::new();
        let (seen, blocks, start) = match (&self.first, schedule) {
            (Piece::Cube(problem), Schedule::Cube(s)) => {
                let (walk, own) = problem.walk(s);
                let transferred = transferred(&walk);
                core.memory_us_per_byte = own.shared / transferred.max(1.0);
                let epilogues = self.rest.iter().filter_map(|piece| match piece {
                    Piece::Vector(p) => {
                        Some(p.epilogue(busy_cores(schedule), matches!(self.first, Piece::Cube(_))).total)
                    }
                    Piece::Cube(_) | Piece::Collective(_) => None,
                });
                let mut seen = cube::run(&walk, epilogues.sum::<f64>() / walk.tiles() as f64, &mut core);
                for piece in &self.rest {
                    if let Piece::Cube(next) = piece {
                        let last = cube::run(&next.walk(s).0, 0.0, &mut core);
                        seen.last_step = last.last_step;
                        seen.tiles += last.tiles;
                        seen.simulated += last.simulated;
                    }
                }
                let start = problem.start_us(walk.active as f64);
                (seen, Blocks { tasks: walk.tasks, cores: walk.active }, start)
            }
            (_, Schedule::Vector(s)) => {
                let share = largest_bytes(&self.workload) / f64::from(s.cores);
                let tiles = (share / f64::from(s.ub_tile_bytes)).ceil().max(1.0) as u64;
                let cores = u64::from(s.cores);
                (vector::run(&closed, tiles, s.double_buffer, &mut core), Blocks { tasks: cores, cores }, closed.lead)
            }
            // The legality check lets no other pair through.
            _ => (cube::Seen::default(), Blocks { tasks: 1, cores: 1 }, 0.0),
        };
        Ok(assemble(prediction, core, seen, blocks, start))
    }
}

/// Bytes that the busiest core loads: the shared memory's time is dealt to them.
fn transferred(walk: &super::cube::Walk) -> f64 {
    use super::cube::{Operand, Reload};
    let groups = |o: &Operand| o.tiles.div_ceil(o.tiles_in_panel.max(1)) as f64;
    let loads = |own: &Operand, other: &Operand| {
        let each = match own.reload {
            Reload::Once => 1.0,
            Reload::Group => groups(own),
            Reload::Pair => groups(own) * groups(other) * own.pieces as f64,
        };
        let products = if own.first_product_only { 1.0 } else { walk.products as f64 };
        each * products * own.load_bytes
    };
    loads(&walk.a, &walk.b) + loads(&walk.b, &walk.a)
}

fn assemble(prediction: Prediction, core: Core, seen: cube::Seen, blocks: Blocks, start: f64) -> Timeline {
    let end = start + core.end();
    let first = if seen.first_step.is_finite() { start + seen.first_step } else { start };
    let last = (start + seen.last_step).clamp(first, end);
    let phase = |name, start_us, end_us| Phase { name, start_us, end_us };
    let phases = vec![
        phase("start", 0.0, start),
        phase("fill", start, first),
        phase("steady", first, last),
        phase("drain", last, end),
    ];
    let mut waits: Vec<_> = Pipe::ALL.into_iter().zip(core.waits).filter(|(_, us)| *us > 0.0).collect();
    waits.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut lanes = Vec::from(core.lanes);
    lanes.retain(|lane| lane.operations > 0);
    for lane in &mut lanes {
        lane.shift(start);
    }
    Timeline {
        prediction,
        total_us: end,
        lanes,
        phases,
        waits,
        blocks,
        tiles: [seen.tiles, seen.simulated],
        steps_joined: seen.steps_joined,
    }
}

/// Bytes of the largest operand: what tiles are cut from.
fn largest_bytes(workload: &Workload) -> f64 {
    if let Workload::Fused(parts) = workload {
        return parts.first().map_or(0.0, largest_bytes);
    }
    let (inputs, outputs) = workload.operands().unwrap_or_default();
    inputs.iter().chain(outputs).map(|o| o.bytes() as f64).fold(0.0, f64::max)
}
