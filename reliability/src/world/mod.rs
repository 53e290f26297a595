//! Banks in a simulated world: processes whose steps come in every order that a seed may give, that are killed, lose
//! power, and write to a disk that fills and fails.
//!
//! What must hold: a record that `save` acknowledged is in the bank, or one that took its place by the rules; whatever
//! is read was recorded by somebody, with the time it was recorded with; and when faults stop, the next save works.

mod disk;
mod ledger;
pub mod plan;
mod process;

use crate::campaign::{Finding, Planted};
use aoe::bank::{BankPaths, OperatorBank};
use aoe::soc::Soc;
use disk::{Disk, Told};
use ledger::Ledger;
use plan::{Action, Find, Life, PROBLEMS, Plan, workload};
use process::Process;
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, FailurePersistence, Runner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Where the bank lies.
const DIRECTORY: &str = "/bank/Ascend910B2/unified_bank";

/// Bytes of stack for each process.
const STACK: usize = 1 << 20;

/// Tries to make a failing world smaller.
const SHRINKS: usize = 2000;

/// Runs the world of a seed; what it finds is made small.
pub fn find(seed: u64, planted: Option<Planted>, in_full: bool) -> Option<Finding> {
    let plan = Plan::of(seed);
    let mut reason = run(&plan, seed, planted, None).err();
    if in_full {
        let lines = Arc::new(Mutex::new(Vec::new()));
        reason = run(&plan, seed, planted, Some(Arc::clone(&lines))).err();
        println!("{plan:#?}");
        lines.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|line: &String| println!("{line}"));
    }
    reason.map(|reason| {
        let (plan, reason) = shrink(plan, reason, seed, planted);
        format!("{reason}\nin the smallest such world that was found: {plan:#?}")
    })
}

/// Leaves out what the failure does not need.
fn shrink(mut plan: Plan, mut reason: String, seed: u64, planted: Option<Planted>) -> (Plan, String) {
    let mut left = SHRINKS;
    'smaller: loop {
        for candidate in plan.smaller() {
            if left == 0 {
                return (plan, reason);
            }
            left -= 1;
            if let Err(why) = run(&candidate, seed, planted, None) {
                (plan, reason) = (candidate, why);
                continue 'smaller;
            }
        }
        return (plan, reason);
    }
}

/// Runs a plan, with the order of steps that the seed gives; fails with what did not hold.
fn run(plan: &Plan, seed: u64, planted: Option<Planted>, told: Option<Told>) -> Result<(), String> {
    let mut config = Config::new();
    config.stack_size = STACK;
    config.failure_persistence = FailurePersistence::None;
    let plan = plan.clone();
    let runner = Runner::new(RandomScheduler::new_from_seed(seed, 1), config);
    let world = move || World::new(planted, told.clone()).run(&plan, seed);
    let outcome = catch_unwind(AssertUnwindSafe(|| runner.run(world)));
    outcome.map(drop).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

struct World {
    disk: Arc<Disk>,
    ledger: Arc<Ledger>,
}

impl World {
    fn new(planted: Option<Planted>, told: Option<Told>) -> World {
        World { disk: Disk::new(planted, told), ledger: Arc::default() }
    }

    fn run(&self, plan: &Plan, seed: u64) {
        let random = &mut fastrand::Rng::with_seed(seed ^ 0x5eed);
        for phase in &plan.phases {
            self.disk.cut_power_at(phase.power_cut);
            let threads: Vec<_> = phase.lives.iter().map(|life| self.spawn(life)).collect();
            for thread in threads {
                thread.join().expect("a process that panicked ends the world");
            }
            if self.disk.is_dark() {
                self.disk.after_power_cut(random);
            } else {
                self.disk.cut_power_at(None);
            }
        }
        self.check_end(random);
    }

    fn spawn(&self, life: &Life) -> shuttle::thread::JoinHandle<()> {
        let process = self.disk.process(life.faults.clone());
        let (disk, ledger, life) = (Arc::clone(&self.disk), Arc::clone(&self.ledger), life.clone());
        shuttle::thread::spawn(move || live(&disk, &ledger, process, &life))
    }

    /// When faults stop, the next save works, leaves nothing behind, and what was acknowledged outlives the next power cut.
    fn check_end(&self, random: &mut fastrand::Rng) {
        let finds = (0..PROBLEMS).map(|problem| Find { problem, tiling: 0, time_us: 9 }).collect();
        let last = Life { faults: Vec::new(), actions: vec![Action::Look, Action::Save(finds)], day: 1 };
        let process = self.disk.process(Vec::new());
        live(&self.disk, &self.ledger, process, &last);
        assert!(self.ledger.is_acknowledged_to(process), "when faults stop, a save does not work");
        let left = self.disk.files_ending(".tmp");
        assert!(left.is_empty(), "the last save leaves {left:?}");
        self.disk.after_power_cut(random);
        let process = self.disk.process(Vec::new());
        look(&self.disk, &self.ledger, process, 1);
    }
}

/// A process from its beginning to its end.
fn live(disk: &Arc<Disk>, ledger: &Ledger, process: usize, life: &Life) {
    for action in &life.actions {
        match action {
            Action::Wait => shuttle::thread::yield_now(),
            Action::Look => look(disk, ledger, process, life.day),
            Action::Save(finds) => save(disk, ledger, process, life.day, finds),
        }
        if !disk.lives(process) {
            return;
        }
    }
}

fn soc() -> &'static Soc {
    static SOC: OnceLock<Soc> = OnceLock::new();
    SOC.get_or_init(|| Soc::find("Ascend910B2").expect("a built-in part"))
}

fn open(disk: &Arc<Disk>, process: usize, day: u8) -> OperatorBank {
    let paths = BankPaths { custom: PathBuf::from(DIRECTORY), also_read: Vec::new() };
    let storage = Arc::new(Process { disk: Arc::clone(disk), id: process });
    OperatorBank::with_storage(paths, soc(), storage, format!("2026-01-{day:02}"))
}

/// Whatever a process finds was recorded by somebody, and nothing acknowledged before is lost.
fn look(disk: &Arc<Disk>, ledger: &Ledger, process: usize, day: u8) {
    let acknowledged = ledger.acknowledged();
    let bank = open(disk, process, day);
    for problem in 0..PROBLEMS {
        let entry = bank.lookup(&workload(problem));
        if !disk.lives(process) {
            return;
        }
        // A read that failed says so; it does not say that there is nothing.
        let Ok(entry) = entry else { continue };
        let found = entry.as_ref().map(|entry| (&entry.schedule, entry.measured.as_ref().map(|m| m.after_us)));
        disk.tell(|| format!("{process} finds {problem}: {:?}", found.map(|(_, time)| time)));
        ledger.check(problem, found, &acknowledged);
    }
    let warnings = bank.warnings();
    assert!(warnings.is_empty(), "nothing is damaged, and yet: {warnings:?}");
}

fn save(disk: &Arc<Disk>, ledger: &Ledger, process: usize, day: u8, finds: &[Find]) {
    let mut bank = open(disk, process, day);
    let mut under_way = Vec::new();
    for find in finds {
        let workload = workload(find.problem);
        let Ok(seen) = bank.lookup(&workload) else { return };
        if bank.record(&workload, &find.schedule(), &find.measured()).is_err() {
            return;
        }
        under_way.push(ledger.attempt(process, *find, seen.map(|entry| entry.schedule)));
    }
    disk.tell(|| format!("{process} saves {finds:?}"));
    let saved = bank.save();
    if saved.is_ok() && disk.lives(process) {
        disk.tell(|| format!("{process} saved"));
        ledger.acknowledge(&under_way);
    }
}
