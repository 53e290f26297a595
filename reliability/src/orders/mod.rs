//! All orders of the steps that threads take on what they share: the fork word, the table of sessions and that of searches,
//! cancelling, and a bank in which several threads look up. A step is a lock taken or released, or a shared word read or
//! changed. Orders of two threads are tried one and all; where there are too many, so many as the arguments say, by chance.

mod bank;
mod fork;
mod sessions;
mod turns;

use crate::campaign::{Campaign, Planted};
use shuttle::scheduler::{DfsScheduler, PctScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, Runner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

/// Bytes of stack for each thread.
const STACK: usize = 1 << 19;

/// Orders of two threads that are tried at most.
const MOST: usize = 3_000_000;

/// Which orders of a scene are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tried {
    /// All.
    All,
    /// So many as the arguments say.
    Some,
    /// A twentieth of them: each takes milliseconds.
    Few,
}

/// One that is tried: what it is, what it does, and which planted fault it has to find.
struct Scene {
    name: &'static str,
    run: fn(Option<Planted>),
    finds: Planted,
    tried: Tried,
}

const SCENES: [Scene; 10] = [
    scene("fork word, a child while a thread uses it", fork::child_of_one, Planted::Torn, Tried::All),
    scene("fork word, two threads of a child", fork::threads_of_a_child, Planted::Torn, Tried::All),
    scene("session destroyed under a call", turns::destroyed, Planted::Torn, Tried::All),
    scene("cancel of one of two tunings", turns::cancelled, Planted::Torn, Tried::All),
    scene("fork word, a child while two threads use it", fork::child_of_two, Planted::Torn, Tried::Some),
    scene("calls of three threads on one session", turns::three, Planted::Torn, Tried::Some),
    scene("table of sessions, finalise under a call", sessions::finalised, Planted::Torn, Tried::Some),
    scene("table of sessions, two whole lives", sessions::lives, Planted::Torn, Tried::Some),
    scene("table of searches", sessions::searches, Planted::Torn, Tried::Some),
    scene("bank in which three threads look up", bank::looked_up, Planted::Shared, Tried::Few),
];

const fn scene(name: &'static str, run: fn(Option<Planted>), finds: Planted, tried: Tried) -> Scene {
    Scene { name, run, finds, tried }
}

/// Tries the orders of each scene and says what came of it.
pub fn run(campaign: &Campaign) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    if campaign.planted == Some(Planted::Torn) {
        aoe::sync::tear();
    }
    let mut as_expected = true;
    for scene in SCENES.iter().filter(|scene| campaign.planted.is_none_or(|planted| planted == scene.finds)) {
        let begin = Instant::now();
        let tried = scene.try_orders(campaign);
        let seconds = begin.elapsed().as_secs_f64();
        let (is_found, said) = match tried {
            Ok(orders) => {
                let all = if scene.tried == Tried::All && orders < MOST { "all " } else { "" };
                (false, format!("{all}{orders} orders, nothing found"))
            }
            Err(reason) => (true, format!("found: {reason}")),
        };
        println!("orders: {}: {said}, {seconds:.1} s", scene.name);
        as_expected &= is_found == campaign.planted.is_some();
    }
    if as_expected { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Scene {
    /// How many orders were tried; fails with what did not hold in one.
    fn try_orders(&self, campaign: &Campaign) -> Result<usize, String> {
        let some = match self.tried {
            Tried::All => return self.with(DfsScheduler::new(Some(MOST), false), campaign.planted),
            Tried::Some => campaign.seeds,
            Tried::Few => campaign.seeds.div_ceil(20),
        };
        // Of a fault that takes few changes of turn, such orders find more than those of a coin.
        self.with(PctScheduler::new_from_seed(campaign.from, 3, some as usize), campaign.planted)
    }

    fn with(&self, scheduler: impl Scheduler + 'static, planted: Option<Planted>) -> Result<usize, String> {
        let mut config = Config::new();
        config.stack_size = STACK;
        config.failure_persistence = FailurePersistence::None;
        config.silence_warnings = true;
        let (runner, run) = (Runner::new(scheduler, config), self.run);
        catch_unwind(AssertUnwindSafe(|| runner.run(move || run(planted)))).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
        })
    }
}
