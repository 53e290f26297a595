//! The performance model of the AI Core: pipes with bounded buffers, cores that share L2 and device
//! memory, blocks dealt to cores with their tail, and a launch.
//!
//! A workload is prepared once ([`Model::new`]); pricing a schedule is then closed-form arithmetic
//! without allocation. [`constants`] lists every number that is neither the workload's nor the SoC's.

mod attention;
pub mod calibration;
pub mod collective;
pub mod constants;
mod counts;
mod cube;
#[cfg(test)]
mod first_tests;
pub mod interval;
mod machine;
mod place;
mod recipe;
pub mod record;
mod served;
#[cfg(test)]
mod tests;
pub mod timeline;
mod vector;
mod work;

pub use constants::Constants;
pub use counts::Counts;
pub use place::Places;
pub use served::served_start_us;
pub use vector::{missed_of_made, setups_us};
pub use work::{Roofs, Work};

use crate::soc::{Applied, Soc};
use crate::workload::{ConvKind, Schedule, Workload};
use aoe_base::status::{Error, Result};

/// What the model says of one kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Kernel time in microseconds, launch not included, corrected where a calibration says so.
    pub time_us: f64,
    /// The same before any correction.
    pub model_us: f64,
    /// Share of the time that each pipe is busy on the busiest core, 0 to 1.
    pub pipes: Pipes,
    /// What bounds the kernel.
    pub bound: Bound,
    /// Whether the model knows the operator; if not, it is priced as the movement of its data.
    pub known: bool,
}

impl Prediction {
    /// The same, with the time that a calibration makes of it.
    #[must_use]
    pub fn corrected(self, correction: &Applied) -> Prediction {
        Prediction { time_us: correction.time_us(self.model_us), ..self }
    }
}

/// Where a kernel's operands lie when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// In device memory: L2 was filled with other data.
    Cold,
    /// In L2 as far as they fit.
    Warm,
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

impl Pipes {
    /// The share of the busiest.
    pub fn busiest(&self) -> f64 {
        let Pipes { mac, mte1, mte2, fixpipe, vec, mte3 } = *self;
        [mac, mte1, mte2, fixpipe, vec, mte3].into_iter().fold(0.0, f64::max)
    }
}

/// The resource that a kernel waits for most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
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
    /// Fixed cost of starting the kernel and filling its pipes: more than half of its time.
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
    /// Part of it before the steady state: start, first transfers.
    lead: f64,
    /// Part of it after: the last output.
    tail: f64,
    /// What of the time is the same for any data: the start, and the wait for what the first transfers bring.
    fixed: f64,
}

impl Times {
    /// Runs `other` when this is done, without starting anew.
    fn after(self, other: Times) -> Times {
        self.joined(other, |steady, _| steady + other.total)
    }

    /// Runs `other` on this kernel's results while the next ones are made: the longer of the two decides, and each pipe,
    /// and the memory that all cores share, does the work of both. What `other` reads besides comes through the pipe that
    /// feeds this kernel.
    fn beside(self, other: Times) -> Times {
        let (fed, computed) = (self.busy.mte2 + other.lead, self.busy.vec + other.busy.vec);
        let shared = self.shared + other.shared;
        self.joined(other, |steady, hidden| steady.max(hidden).max(fed).max(computed).max(shared))
    }

    /// Both, whose times apart from what leads them and ends them `join` makes one.
    fn joined(self, other: Times, join: impl Fn(f64, f64) -> f64) -> Times {
        let add = |a: Pipes, b: Pipes| Pipes {
            mac: a.mac + b.mac,
            mte1: a.mte1 + b.mte1,
            mte2: a.mte2 + b.mte2,
            fixpipe: a.fixpipe + b.fixpipe,
            vec: a.vec + b.vec,
            mte3: a.mte3 + b.mte3,
        };
        let steady = (self.total - self.lead - self.tail).max(0.0);
        Times {
            busy: add(self.busy, other.busy),
            shared: self.shared + other.shared,
            total: self.lead + join(steady, other.total - other.lead) + self.tail,
            fixed: self.fixed + other.fixed,
            ..self
        }
    }

    fn prediction(self, known: bool) -> Prediction {
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
        let (_, bound) =
            candidates.into_iter().fold((0.0, Bound::Latency), |best, c| if c.0 > best.0 { c } else { best });
        Prediction {
            time_us,
            model_us: time_us,
            pipes: Pipes {
                mac: share(busy.mac),
                mte1: share(busy.mte1),
                mte2: share(busy.mte2),
                fixpipe: share(busy.fixpipe),
                vec: share(busy.vec),
                mte3: share(busy.mte3),
            },
            // Pipes that take turns may each be idle for most of the time: it is them that the kernel waits for all
            // the same, unless what is fixed takes longer than all their work.
            bound: if self.fixed > 0.5 * time_us { Bound::Latency } else { bound },
            known,
        }
    }
}

/// A workload prepared for pricing many schedules on one SoC.
#[derive(Debug, Clone)]
pub struct Model {
    workload: Workload,
    soc: Soc,
    /// The first piece moves the kernel's data; the others work on what it holds.
    first: Piece,
    rest: Vec<Piece>,
    /// A filter's gradient, whose vector work is on its operands and so comes first: nothing follows the sum over all pixels.
    sums_pixels: bool,
    /// The kernel as a whole where it is attention with a model of its own.
    attention: Option<attention::Problem>,
    /// What bounds it on any part, where it is attention.
    least: Option<attention::Least>,
    known: bool,
    /// What a calibration says of kernels like this.
    correction: Applied,
}

/// A part of a kernel with its problem reduced to numbers.
#[derive(Debug, Clone)]
enum Piece {
    Cube(Box<cube::Problem>),
    Vector(Box<vector::Problem>),
    Collective(collective::Problem),
}

impl Model {
    /// Prepares a workload. Fails with [`aoe_base::status::Error::Workload`] for sizes that cannot be.
    pub fn new(workload: &Workload, soc: &Soc) -> Result<Model> {
        Model::with_constants(workload, soc, &Constants::FITTED)
    }

    /// [`Model::new`] with other constants than the fitted ones; for fitting.
    pub fn with_constants(workload: &Workload, soc: &Soc, constants: &Constants) -> Result<Model> {
        let fail = |reason: String| Error::Workload { workload: workload.to_string(), reason };
        let parts = workload.parts();
        let mut pieces =
            parts.iter().map(|part| piece(part, soc, constants)).collect::<Result<Vec<_>, _>>().map_err(fail)?;
        // Cube work leads wherever it stands in the list.
        pieces.sort_by_key(|piece| !matches!(piece, Piece::Cube(_)));
        if pieces.iter().filter(|piece| matches!(piece, Piece::Cube(_))).count() > 1 {
            for piece in &mut pieces {
                if let Piece::Cube(problem) = piece {
                    problem.stay_in_l2();
                }
            }
        }
        let known = approximated(workload).is_empty();
        let mut pieces = pieces.into_iter();
        let first = pieces.next().ok_or_else(|| fail("nothing to compute".into()))?;
        Ok(Model {
            workload: workload.clone(),
            soc: soc.clone(),
            first,
            rest: pieces.collect(),
            sums_pixels: parts
                .iter()
                .any(|part| matches!(part, Workload::Conv(conv) if conv.kind == ConvKind::BackpropFilter)),
            attention: attention::Problem::of(parts, soc, constants),
            least: attention::Least::of(parts, soc, constants),
            known,
            correction: calibration::applied(soc, workload),
        })
    }

    /// Share of the kernel's data, 0 to 1, that it finds in device memory and not in L2, as far as its own
    /// size tells.
    pub fn missed_share(&self) -> f64 {
        match &self.first {
            Piece::Cube(p) => p.missed_share(),
            Piece::Vector(p) => p.missed_share(),
            Piece::Collective(_) => 1.0,
        }
    }

    /// What the kernel computes and moves, whatever its tiling.
    pub fn work(&self) -> Work {
        Work::of(std::iter::once(&self.first).chain(&self.rest))
    }

    /// The same kernel, with so many bytes of its data in device memory and all else in L2: for callers that know
    /// what ran before it.
    #[must_use]
    pub fn with_missed(mut self, bytes: f64) -> Model {
        if let Some(attention) = &mut self.attention {
            attention.miss(bytes);
        }
        if let Some(least) = &mut self.least {
            least.miss(bytes);
        }
        match &mut self.first {
            Piece::Cube(p) => p.miss(bytes),
            Piece::Vector(p) => p.miss(bytes),
            Piece::Collective(_) => {}
        }
        self
    }

    /// The same kernel, with its operands lying so when it starts, whatever they are.
    #[must_use]
    pub fn with_cache(mut self, cache: Cache) -> Model {
        if let Some(attention) = &mut self.attention {
            attention.run_alone();
        }
        match &mut self.first {
            Piece::Vector(p) => p.lie(cache),
            Piece::Cube(p) if cache == Cache::Cold => p.start_cold(),
            Piece::Cube(_) | Piece::Collective(_) => {}
        }
        self.with_operands(&Places::new(vec![cache]))
    }

    /// The same kernel with nothing else under way, so many bytes of its operands in device memory when it starts and all else in
    /// L2: `places` say which.
    #[must_use]
    pub fn with_each_placed(self, bytes: f64, places: &Places) -> Model {
        let mut model = self.with_missed(bytes);
        if let Some(attention) = &mut model.attention {
            attention.run_alone();
        }
        if let Piece::Vector(p) = &mut model.first {
            p.lie_apart(bytes);
        }
        model.with_operands(places)
    }

    /// The same cube kernel with its operands where they are said to lie: for callers that know each of them.
    #[must_use]
    pub fn with_operands(mut self, places: &Places) -> Model {
        if let Some(attention) = &mut self.attention {
            attention.place(places);
        }
        if let Some(least) = &mut self.least {
            least.place(places);
        }
        match &mut self.first {
            Piece::Cube(p) => p.place(places),
            Piece::Vector(_) | Piece::Collective(_) => {}
        }
        self
    }

    /// The same product with operands that are plain matrices where its kernel is TBE's, which turns them into fractals
    /// itself.
    #[must_use]
    pub fn with_plain_operands(mut self) -> Model {
        if let Piece::Cube(p) = &mut self.first {
            p.turn_operands();
        }
        self
    }

    /// Prices one schedule. Fails with [`aoe_base::status::Error::IllegalSchedule`] where
    /// [`crate::workload::check`] does.
    pub fn predict(&self, schedule: &Schedule) -> Result<Prediction> {
        crate::workload::check(&self.workload, schedule, &self.soc)?;
        Ok(self.times(schedule).prediction(self.known).corrected(&self.correction))
    }

    /// Prices a schedule that is known to be legal.
    fn times(&self, schedule: &Schedule) -> Times {
        let times = self.times_of_pieces(schedule);
        self.least.as_ref().map_or(times, |least| least.bound(times))
    }

    fn times_of_pieces(&self, schedule: &Schedule) -> Times {
        if let Some(attention) = &self.attention {
            return attention.times();
        }
        let mut times = match (&self.first, schedule) {
            (Piece::Cube(p), Schedule::Cube(s)) => p.times(s),
            (Piece::Vector(p), Schedule::Vector(s)) => p.times(s),
            (Piece::Collective(p), _) => p.times(),
            // The legality check lets no other pair through.
            (Piece::Cube(_), Schedule::Vector(_)) | (Piece::Vector(_), Schedule::Cube(_)) => Times::default(),
        };
        for piece in &self.rest {
            times = match piece {
                Piece::Cube(p) => match schedule {
                    // A second product (attention) runs on the same cores with the same tiles.
                    Schedule::Cube(s) => times.after(p.times(s)),
                    Schedule::Vector(_) => times,
                },
                Piece::Vector(p) => {
                    let other = p.epilogue(busy_cores(schedule), matches!(self.first, Piece::Cube(_)));
                    if self.sums_pixels { times.after(other) } else { times.beside(other) }
                }
                Piece::Collective(p) => times.after(p.times()),
            };
        }
        times
    }
}

/// Operator types in a workload that the model does not know: they are priced as the movement of their data.
pub fn approximated(workload: &Workload) -> Vec<&str> {
    let parts = workload.parts();
    let mut types: Vec<&str> = parts.iter().filter(|part| !vector::is_known(part)).map(Workload::op_type).collect();
    types.sort_unstable();
    types.dedup();
    types
}

/// Cores that have work: a tiling may name more than it has tasks.
fn busy_cores(schedule: &Schedule) -> u32 {
    match schedule {
        Schedule::Cube(s) => u32::try_from(s.cores.tasks()).unwrap_or(u32::MAX).clamp(1, s.used_cores.max(1)),
        Schedule::Vector(s) => s.cores,
    }
}

fn piece(workload: &Workload, soc: &Soc, c: &Constants) -> Result<Piece, String> {
    let cube = |problem: cube::Problem| Piece::Cube(Box::new(problem));
    let vector = |problem: vector::Problem| Piece::Vector(Box::new(problem));
    match workload {
        Workload::MatMul(w) => cube::Problem::matmul(w, soc, c).map(cube),
        Workload::Conv(w) => cube::Problem::conv(w, soc, c).map(cube),
        Workload::Vector(w) => vector::Problem::vector(w, soc, c).map(vector),
        Workload::Reduce(w) => vector::Problem::reduce(w, soc, c).map(vector),
        Workload::Move(w) => vector::Problem::movement(w, soc, c).map(vector),
        Workload::Collective(w) => Ok(Piece::Collective(collective::Problem::new(w, soc))),
        Workload::Fused(_) => Err("a fused kernel cannot hold another fused kernel".into()),
    }
}
