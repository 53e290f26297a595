//! Banks in a simulated world: processes whose steps come in every order that a seed may give, that are killed, lose
//! power, and write to a disk that fills and fails.
//!
//! What must hold: a record that `save` acknowledged is in the bank, or one that took its place by the rules; whatever
//! is read was recorded by somebody, with the time it was recorded with; and when faults stop, the next save works.

mod acts;
mod disk;
mod later;
mod ledger;
pub mod plan;
mod process;
mod versions;

use crate::campaign::{Finding, Planted};
use acts::{contents, live, look, merge};
use disk::{Disk, Told};
use ledger::Ledger;
use plan::{Action, BANKS, Find, Life, PROBLEMS, Plan};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, FailurePersistence, Runner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

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
        let kept = plan.old.as_ref().map(|old| versions::lay(&self.disk, &self.ledger, old));
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
        let check_kept = || {
            if let Some(kept) = &kept {
                kept.check(&self.disk, &self.ledger);
            }
        };
        self.check_joins(plan.banks, random);
        check_kept();
        self.check_end(plan.banks, random);
        check_kept();
    }

    fn spawn(&self, life: &Life) -> shuttle::thread::JoinHandle<()> {
        let process = self.disk.process(life.faults.clone());
        let (disk, ledger, life) = (Arc::clone(&self.disk), Arc::clone(&self.ledger), life.clone());
        shuttle::thread::spawn(move || live(&disk, &ledger, process, &life))
    }

    /// However banks are merged, the same records are left.
    fn check_joins(&self, banks: u8, random: &mut fastrand::Rng) {
        if banks == 1 {
            return;
        }
        let process = self.disk.process(Vec::new());
        let mut order: Vec<u8> = (0..banks).collect();
        let merge = |from: &[u8], into: u8| {
            assert!(merge(&self.disk, &self.ledger, process, from, into), "when faults stop, a merge does not work");
        };
        let (together, in_turn) = (BANKS, BANKS + 1);
        merge(&order, together);
        random.shuffle(&mut order);
        for bank in &order {
            merge(&[*bank], in_turn);
        }
        let joined = contents(&self.disk, process, together);
        let check = |bank, how: &str| {
            let there = contents(&self.disk, process, bank);
            assert_eq!(joined, there, "merged at once, and {how}, in the order {order:?}");
        };
        check(in_turn, "one after the other");
        look(&self.disk, &self.ledger, process, together, 1);
        // A side file may still have the time of a record that a power cut took back. It counts again where the same record
        // comes from a bank without times, but not in a new bank.
        if random.bool() && !self.ledger.has_unmeasured() {
            let (first, others) = order.split_first().expect("there are banks");
            merge(others, *first);
            for other in others {
                merge(&[*first], *other);
            }
            for bank in &order {
                check(*bank, "each into each");
            }
        }
    }

    /// When faults stop, the next save works, leaves nothing behind, and what was acknowledged outlives the next power cut.
    fn check_end(&self, banks: u8, random: &mut fastrand::Rng) {
        let finds: Vec<_> = (0..PROBLEMS).map(|problem| Find { problem, tiling: 0, time_us: 9 }).collect();
        for bank in 0..banks {
            let actions = vec![Action::Look(bank), Action::Save(bank, finds.clone())];
            let process = self.disk.process(Vec::new());
            live(&self.disk, &self.ledger, process, &Life { faults: Vec::new(), actions, day: 1 });
            assert!(self.ledger.is_acknowledged_to(process), "when faults stop, a save does not work");
        }
        let left = self.disk.files_ending(".tmp");
        assert!(left.is_empty(), "the last save leaves {left:?}");
        self.disk.after_power_cut(random);
        let process = self.disk.process(Vec::new());
        for bank in 0..banks {
            look(&self.disk, &self.ledger, process, bank, 1);
        }
    }
}
