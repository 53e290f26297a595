//! What happens in a world, as its seed decides.

use super::disk::Fault;
use aoe::bank::Measured;
use aoe::graph::DataType;
use aoe::workload::{
    Buffers, Cores, CubeSchedule, DefaultOrigin, Extents, L0Tile, L1Tile, L2Tiling, LoopOrder, MatMul, Operand,
    OutputPath, Schedule, SplitK, Vector, VectorSchedule, VectorTemplate, Workload,
};

/// Problems in a world: few, so that processes meet. The even ones lie in one bank file, the odd ones in another, and the
/// last, which version 0.1.0 had, in a third.
pub const PROBLEMS: u8 = 5;

/// The problem of which version 0.1.0 left a record.
pub const RELEASED_PROBLEM: u8 = 4;

/// Banks in a world, at most. Processes open one of them, and merge several into one.
pub const BANKS: u8 = 3;

/// Tilings of each.
const TILINGS: u8 = 3;

/// A record to be saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Find {
    pub problem: u8,
    pub tiling: u8,
    pub time_us: u8,
}

/// What a process does next, each time with a bank opened anew, which is told by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Records what it found and saves it.
    Save(u8, Vec<Find>),
    /// Looks at every problem.
    Look(u8),
    /// Merges these banks into another one.
    Merge(Vec<u8>, u8),
    /// Waits while others go on.
    Wait,
}

/// One process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    pub faults: Vec<Fault>,
    pub actions: Vec<Action>,
    /// The day that its clock shows.
    pub day: u8,
}

/// Processes that run at one time, until they end or the power goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    pub lives: Vec<Life>,
    pub power_cut: Option<u32>,
}

/// Who wrote a bank before the world begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// Some other program: there is no side file.
    Other,
    /// A version whose measurements say less.
    Earlier,
    /// A version that says more than this one knows, in files, records and measurements.
    Later,
    /// Version 0.1.0: what it left behind.
    Released,
}

/// A bank as another version left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Old {
    pub bank: u8,
    pub writer: Writer,
    /// What it recorded; of version 0.1.0 its files say that.
    pub finds: Vec<Find>,
}

/// A world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// How many banks there are. Where it is one, nothing is merged.
    pub banks: u8,
    pub old: Option<Old>,
    pub phases: Vec<Phase>,
}

impl Plan {
    pub fn of(seed: u64) -> Plan {
        let random = &mut fastrand::Rng::with_seed(seed);
        let banks = random.u8(..BANKS + 2).saturating_sub(1).max(1);
        let old = (random.u8(..3) == 0).then(|| Old::of(random, banks));
        Plan { banks, old, phases: (0..random.u8(1..=3)).map(|_| Phase::of(random, banks)).collect() }
    }

    /// Plans with a little less in them.
    pub fn smaller(&self) -> Vec<Plan> {
        let mut all = Vec::new();
        let mut add = |change: &dyn Fn(&mut Plan)| {
            let mut plan = self.clone();
            change(&mut plan);
            all.push(plan);
        };
        add(&|plan| plan.old = None);
        for f in 0..self.old.as_ref().map_or(0, |old| old.finds.len()) {
            add(&|plan| {
                if let Some(old) = &mut plan.old {
                    old.finds.remove(f);
                }
            });
        }
        for (p, phase) in self.phases.iter().enumerate() {
            add(&|plan| drop(plan.phases.remove(p)));
            add(&|plan| plan.phases[p].power_cut = None);
            for (l, life) in phase.lives.iter().enumerate() {
                add(&|plan| drop(plan.phases[p].lives.remove(l)));
                for f in 0..life.faults.len() {
                    add(&|plan| {
                        plan.phases[p].lives[l].faults.remove(f);
                    });
                }
                for (a, action) in life.actions.iter().enumerate() {
                    add(&|plan| drop(plan.phases[p].lives[l].actions.remove(a)));
                    let Action::Save(_, finds) = action else { continue };
                    for f in 0..finds.len() {
                        add(&|plan| {
                            if let Action::Save(_, finds) = &mut plan.phases[p].lives[l].actions[a] {
                                finds.remove(f);
                            }
                        });
                    }
                }
            }
        }
        all.retain(|plan| plan != self);
        all
    }
}

impl Old {
    fn of(random: &mut fastrand::Rng, banks: u8) -> Old {
        let writer = [Writer::Other, Writer::Earlier, Writer::Later, Writer::Released][random.usize(..4)];
        let finds = if writer == Writer::Released { Vec::new() } else { finds(random) };
        Old { bank: random.u8(..banks), writer, finds }
    }
}

impl Phase {
    fn of(random: &mut fastrand::Rng, banks: u8) -> Phase {
        let lives: Vec<Life> = (0..random.u8(1..=4)).map(|_| Life::of(random, banks)).collect();
        let power_cut = (random.u8(..3) == 0).then(|| random.u32(1..=60 * lives.len() as u32));
        Phase { lives, power_cut }
    }
}

impl Life {
    fn of(random: &mut fastrand::Rng, banks: u8) -> Life {
        let fault = |random: &mut fastrand::Rng| match random.u8(..3) {
            0 => Fault::Killed(random.u32(..80)),
            1 => Fault::Fails(random.u32(..80)),
            _ => Fault::Full(random.u32(..30), random.u32(1..30)),
        };
        let faults = (0..random.u8(..5).saturating_sub(2)).map(|_| fault(random)).collect();
        let actions = (0..random.u8(1..=3)).map(|_| Action::of(random, banks)).collect();
        Life { faults, actions, day: random.u8(1..=28) }
    }
}

impl Action {
    fn of(random: &mut fastrand::Rng, banks: u8) -> Action {
        let bank = random.u8(..banks);
        match random.u8(..if banks > 1 { 9 } else { 6 }) {
            0 => Action::Look(bank),
            1 => Action::Wait,
            2..6 => Action::Save(bank, finds(random)),
            _ => {
                let mut from: Vec<u8> = (0..banks).filter(|&other| other != bank).collect();
                random.shuffle(&mut from);
                from.truncate(random.usize(1..=from.len()));
                Action::Merge(from, bank)
            }
        }
    }
}

/// What a tuning finds: it records each problem once.
fn finds(random: &mut fastrand::Rng) -> Vec<Find> {
    let find = |random: &mut fastrand::Rng| Find {
        problem: random.u8(..PROBLEMS),
        tiling: random.u8(..TILINGS),
        time_us: random.u8(1..9),
    };
    let mut finds: Vec<Find> = (0..random.u8(1..=3)).map(|_| find(random)).collect();
    finds.sort_by_key(|find| find.problem);
    finds.dedup_by_key(|find| find.problem);
    finds
}

fn is_product(problem: u8) -> bool {
    problem.is_multiple_of(2) && problem != RELEASED_PROBLEM
}

/// A problem by its number.
pub fn workload(problem: u8) -> Workload {
    let rows = 128 * (1 + u64::from(problem));
    if is_product(problem) {
        return Workload::MatMul(MatMul::new(rows, 1024, 4096));
    }
    let vector = |op_type: &str, inputs: usize, shape: &[u64]| {
        let operand = Operand::new(shape, DataType::Float16);
        Workload::Vector(Vector {
            op_type: op_type.into(),
            inputs: vec![operand.clone(); inputs],
            outputs: vec![operand],
        })
    };
    if problem == RELEASED_PROBLEM {
        return Workload::Fused(vec![vector("Add", 2, &[100_352]), vector("Relu", 1, &[100_352])]);
    }
    vector("Gelu", 1, &[rows, 1024])
}

impl Find {
    /// Its tiling, a legal one.
    pub fn schedule(&self) -> Schedule {
        if !is_product(self.problem) {
            let (cores, template) = (4 + u32::from(self.tiling), VectorTemplate::Flat);
            return Schedule::Vector(VectorSchedule { cores, ub_tile_bytes: 4096, double_buffer: true, template });
        }
        let (base_k, tiles) = (64 >> self.tiling, 1 + u32::from(self.problem));
        Schedule::Cube(CubeSchedule {
            used_cores: 16,
            cores: Cores { batch: 1, m: tiles, n: 16, k: 1 },
            single: Extents { batch: 1, m: 128, n: 256, k: 1024 },
            l0: L0Tile { m: 128, n: 256, k_a: base_k, k_b: base_k },
            l1_a: L1Tile::panel(4 * base_k, 1),
            l1_b: L1Tile::panel(2 * base_k, 1),
            buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 1 },
            order: LoopOrder::NFirst,
            l2: L2Tiling { m_tiles: 1, n_tiles: 1, m_block: tiles, n_block: 16, order: LoopOrder::MFirst },
            split_k: SplitK::None,
            output: OutputPath::Direct,
            unmodelled: std::collections::BTreeMap::new(),
        })
    }

    /// What it was measured to take.
    pub fn measured(&self) -> Measured {
        let after_us = f64::from(self.time_us);
        let backend = "simulator".to_owned();
        Measured { before_us: 10.0, after_us, backend, space: 1, default: DefaultOrigin::Estimated }
    }
}
