//! What scopes cost, by the simulator.

use super::network::{Network, Role};
use super::residency::{Residency, Run};
use super::scope;
use crate::graph::Port;
use crate::lower::{self, Source};
use crate::sim::Model;
use crate::soc::Soc;
use crate::space::default_policy;
use crate::workload::{Schedule, Workload};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

/// What kernels launch and move, where that tells what a strategy gains.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Traffic {
    /// Kernels launched.
    pub launches: u64,
    /// Bytes that pass between kernels, or between them and the caller, weights included.
    pub bytes: f64,
    /// Those of them that device memory serves and L2 does not.
    pub from_memory: f64,
}

impl std::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Traffic) {
        self.launches += other.launches;
        self.bytes += other.bytes;
        self.from_memory += other.from_memory;
    }
}

/// Bytes that one part of a scope exchanges: with its group, with others, and of weights.
#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    hot: f64,
    cold: f64,
    weights: f64,
    /// Those of `hot` that it reads.
    hot_read: f64,
}

impl Moved {
    fn all(self) -> f64 {
        self.hot + self.cold + self.weights
    }

    /// Those of `cold` and `weights` that one part finds in device memory: its share of what the whole does,
    /// and the weights once, or again where L2 does not keep them from part to part.
    fn missed(self, whole: Priced, run: Run) -> f64 {
        self.cold * whole.missed + self.missed_weights(run)
    }

    fn missed_weights(self, run: Run) -> f64 {
        let again = if run.keeps_weights { 0.0 } else { (run.parts - 1) as f64 };
        self.weights * (1.0 + again) / run.parts as f64
    }
}

/// A slice's workload by number, with what decides its cost besides: parts, and bytes in L2 and in memory.
type SliceKey = (usize, u64, u64, u64);

/// Workloads beyond which a pricer forgets them: a few tens of megabytes. Those of one piece of a step, whose repeats pay
/// most, are hardly ever as many.
const MOST_PREPARED: usize = 4096;

/// Prices scopes, each kind once as long as it remembers them.
#[derive(Debug)]
pub struct Pricer<'a> {
    network: &'a Network<'a>,
    soc: &'a Soc,
    /// Places in `prepared` of the workloads seen so far.
    numbers: FxHashMap<Workload, usize>,
    prepared: Vec<Option<Prepared>>,
    cut: FxHashMap<SliceKey, Option<f64>>,
    /// Times of kernels by workload, and by the bits of what they find in device memory.
    standing: FxHashMap<(usize, u64), f64>,
}

/// A workload ready to be priced.
#[derive(Debug)]
struct Prepared {
    model: Model,
    schedule: Schedule,
    alone: Priced,
}

/// A kernel as it runs with nothing before it.
#[derive(Debug, Clone, Copy)]
struct Priced {
    us: f64,
    /// Share of its data that comes from device memory.
    missed: f64,
}

impl<'a> Pricer<'a> {
    /// A pricer of the scopes of a network on a SoC.
    pub fn new(network: &'a Network<'a>, soc: &'a Soc) -> Pricer<'a> {
        let (numbers, cut, standing) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        Pricer { network, soc, numbers, prepared: Vec::new(), cut, standing }
    }

    /// The network.
    pub fn network(&self) -> &'a Network<'a> {
        self.network
    }

    /// The SoC.
    pub fn soc(&self) -> &'a Soc {
        self.soc
    }

    /// Forgets what it priced where that has become much: a network that does not repeat would be kept as a whole.
    pub fn bound(&mut self) {
        if self.prepared.len() > MOST_PREPARED {
            *self = Pricer::new(self.network, self.soc);
        }
    }

    /// Workloads that it remembers.
    #[cfg(test)]
    pub fn remembered(&self) -> usize {
        self.prepared.len()
    }

    /// How these kernels run as a group on `parts` parts of the batch; `None` where L2 cannot hold it.
    pub fn run(&self, kernels: &Range<u32>, parts: u64) -> Option<Run> {
        if parts == 1 { Some(Run::WHOLE) } else { Residency::of(self.network, kernels, parts, self.soc) }
    }

    /// Microseconds of a scope for the whole batch; `None` where it cannot run so: a member needs the whole
    /// batch, or no tiling of it fits the buffers.
    pub fn scope_us(&mut self, members: &[u32], run: Run) -> Option<f64> {
        let network = self.network;
        if self.is_there(members) || !self.is_known(members) {
            return Some(0.0);
        }
        let whole = scope::workload(network, members, 1)?;
        let priced = self.whole(&whole)?;
        if run.parts == 1 && !whole.is_cube() {
            return Some(priced.us);
        }
        let slice = self.number(&*scope::workload(network, members, run.parts)?);
        let moved = self.moved(members, run);
        let missed = moved.missed(priced, run);
        let key = (slice, run.parts, moved.hot.to_bits(), missed.to_bits());
        if let Some(&known) = self.cut.get(&key) {
            return known;
        }
        let us = self.slice_us(slice, moved.hot, missed).map(|us| us * run.parts as f64);
        self.cut.insert(key, us);
        us
    }

    /// Bytes that each launch of a scope of a cut group finds in device memory, as far as the group decides that: of a
    /// cube kernel the order of all kernels has to tell the rest. `None` of what is not cut, and where it cannot run so.
    pub fn missed(&mut self, members: &[u32], run: Run) -> Option<f64> {
        if self.is_there(members) || run.parts == 1 {
            return None;
        }
        let network = self.network;
        let whole = scope::workload(network, members, 1)?;
        let priced = self.whole(&whole)?;
        let slice = self.whole(&*scope::workload(network, members, run.parts)?)?;
        let moved = self.moved(members, run);
        Some(if whole.is_cube() {
            moved.missed_weights(run) + moved.hot_read * slice.missed
        } else {
            moved.missed(priced, run) + moved.hot * slice.missed
        })
    }

    /// Microseconds of all launches of a kernel of the network as it stands there, with CANN's default tiling: the one
    /// price that networks are told with. `None` where it cannot run on the part.
    pub fn kernel_us(&mut self, kernel: &lower::Kernel) -> Option<f64> {
        if kernel.launches == 0 || !kernel.priced.is_timed() {
            return Some(0.0);
        }
        let number = self.number(&kernel.workload);
        let Prepared { model, schedule, alone } = self.prepared[number].as_ref()?;
        let us = match kernel.missed {
            None => alone.us,
            Some(missed) => match self.standing.entry((number, missed.to_bits())) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => *new.insert(model.clone().with_missed(missed).predict(schedule).ok()?.time_us),
            },
        };
        Some(us * f64::from(kernel.launches))
    }

    /// What a scope launches and moves for the whole batch, where each launch of it finds `missed` bytes in device memory;
    /// without that its group and its own size tell. `None` where it cannot run so.
    pub fn traffic(&mut self, members: &[u32], run: Run, missed: Option<f64>) -> Option<Traffic> {
        let network = self.network;
        if self.is_there(members) {
            return Some(Traffic::default());
        }
        if !self.is_known(members) {
            return Some(Traffic { launches: run.parts, ..Traffic::default() });
        }
        let priced = self.whole(&*scope::workload(network, members, 1)?)?;
        let bytes = self.moved(members, run).all();
        let missed = missed.or_else(|| self.missed(members, run)).unwrap_or(bytes * priced.missed);
        let parts = run.parts as f64;
        Some(Traffic { launches: run.parts, bytes: bytes * parts, from_memory: missed * parts })
    }

    /// Whether a scope is a joined tensor that was written in place: nothing runs for it.
    fn is_there(&self, members: &[u32]) -> bool {
        matches!(members, &[only] if !self.network.stage(only).runs)
    }

    /// Whether it is known how a scope works; no time and no movement is told of another.
    fn is_known(&self, members: &[u32]) -> bool {
        members.iter().all(|&at| self.network.stage(at).priced.is_timed())
    }

    /// What one part of a scope exchanges with others, each tensor once.
    fn moved(&self, members: &[u32], run: Run) -> Moved {
        let mut moved = Moved::default();
        let mut seen: Vec<Port> = Vec::new();
        let part = |bytes: u64, carries: bool| bytes as f64 / if carries { run.parts as f64 } else { 1.0 };
        for &at in members {
            let stage = self.network.stage(at);
            for read in stage.reads.iter().filter(|read| !seen.contains(&read.origin)) {
                let bytes = part(read.bytes, self.network.carries(read));
                match read.source {
                    Source::Constant => moved.weights += bytes,
                    Source::Kernel(from) if members.contains(&from) => {}
                    Source::Kernel(from) if from >= run.from => {
                        moved.hot += bytes;
                        moved.hot_read += bytes;
                    }
                    Source::Kernel(_) | Source::Input => moved.cold += bytes,
                }
            }
            // What a cube reads goes to L1: a follower has to fetch it again.
            if stage.role != Role::Cube {
                seen.extend(stage.reads.iter().map(|read| read.origin));
            }
            if scope::is_result(self.network, members, at) {
                let bytes = part(stage.written, true);
                let leaves = stage.leaves || stage.users.iter().any(|&user| user >= run.to);
                *(if leaves { &mut moved.cold } else { &mut moved.hot }) += bytes;
            }
        }
        moved
    }

    fn whole(&mut self, workload: &Workload) -> Option<Priced> {
        let number = self.number(workload);
        self.prepared[number].as_ref().map(|prepared| prepared.alone)
    }

    fn slice_us(&self, slice: usize, hot: f64, missed: f64) -> Option<f64> {
        let Prepared { model, schedule, alone } = self.prepared[slice].as_ref()?;
        let missed = missed + hot * alone.missed;
        Some(model.clone().with_missed(missed).predict(schedule).ok()?.time_us)
    }

    /// The place of a workload in `prepared`, with CANN's default tiling: what takes the time is made once,
    /// whatever L2 then holds.
    fn number(&mut self, workload: &Workload) -> usize {
        if let Some(&known) = self.numbers.get(workload) {
            return known;
        }
        let prepare = || {
            let model = Model::new(workload, self.soc).ok()?;
            let schedule = default_policy(workload, self.soc).ok()?;
            let us = model.predict(&schedule).ok()?.time_us;
            let alone = Priced { us, missed: model.missed_share() };
            Some(Prepared { model, schedule, alone })
        };
        self.prepared.push(prepare());
        self.numbers.insert(workload.clone(), self.prepared.len() - 1);
        self.prepared.len() - 1
    }
}
