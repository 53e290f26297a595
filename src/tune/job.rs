//! What is tuned is a job: it knows its units of work, what becomes of each, and where that is kept. One loop runs every
//! job: it owns the time, the cancel, the threads, when what was found is written, and who is told.

use super::progress::{Progress, remaining_s};
use super::settings::Interrupt;
use super::watched::Searched;
use super::workers::Workers;
use super::{Observer, Tuned, Tuning};
use crate::status::{Error, Result};
use std::collections::BTreeMap;
use std::time::Instant;

/// Units, from the network's first on, after which what was found is written for the first time; then after twice as
/// many, and so on. Fixed numbers, not times, so that the bank's bytes do not depend on how fast the machine is.
const FIRST_SAVE: usize = 8;

/// The units of work of a job, which its threads share; those that matter most come first.
pub(super) trait Units: Sync {
    /// What a thread works with.
    type Tool;
    /// What comes out for a unit.
    type Done: Send;

    /// Their number.
    fn count(&self) -> usize;

    /// A tool for one thread.
    fn tool(&self) -> Self::Tool;

    /// Name of the first node of a unit.
    fn name(&self, unit: usize) -> String;

    /// Works on a unit, on whatever thread; may tell how far it is. An error ends the job: [`Error::Cancelled`] where that
    /// is the caller's wish, [`Error::BackendLost`] where nothing more can be measured.
    fn work(&self, tool: &mut Self::Tool, unit: usize, tell: &mut dyn FnMut(Searched)) -> Result<Self::Done>;
}

/// What is tuned. All methods are called on the thread that started the tuning.
pub(super) trait Job {
    /// Its units of work.
    type Units: Units;

    /// Whether results are kept in the order of the units, else in that in which they are done.
    const IN_ORDER: bool = false;

    /// Looks up all that is known before any thread starts: what this tuning records must not change what a later unit
    /// finds. Fails with [`Error::NothingToTune`] where there is no unit.
    fn prepare(&mut self) -> Result<Self::Units>;

    /// Hears how far the search for a unit is.
    fn searching(&mut self, _units: &Self::Units, _unit: usize, _now: Searched) {}

    /// Takes what came out for a unit.
    fn keep(&mut self, units: &Self::Units, unit: usize, done: Done<Self>);

    /// How many units are done from the network's first on; 0 where nothing is written before the end.
    fn settled(&self) -> usize {
        0
    }

    /// Writes what came out for the network's first so many units.
    fn save(&mut self, _first: usize) -> Result<()> {
        Ok(())
    }

    /// Makes the outcome of what came out, and writes all of it, whatever ended the job.
    fn finish(&mut self, units: &Self::Units) -> Result<()>;

    /// Whether all was dealt with.
    fn is_complete(&self) -> bool {
        let progress = self.progress();
        progress.done == progress.total
    }

    /// How far it is, but for the node and the time.
    fn progress(&self) -> Progress;

    /// How much is done of how much that takes time.
    fn pace(&self, progress: &Progress) -> (f64, usize) {
        (progress.done as f64, progress.total)
    }

    /// What is known of the tuning.
    fn tuning(&mut self) -> &mut Tuning;

    /// What was found so far.
    fn tuned(&self) -> Tuned<'_>;
}

/// What comes out for a unit of a job.
pub(super) type Done<J> = <<J as Job>::Units as Units>::Done;

/// What a thread hands over.
enum Step<Done> {
    Searched(Searched),
    Done(Result<Done>),
}

/// Runs a job with a few threads, and tells the observer before the first unit, after each step and at the end.
///
/// What was found is written when 8, 16, 32, ... units from the first on are done, and at the end, also where a cancel, a
/// lost backend or an error ends it early. The first two are no failure: the outcome says so. Fails with the first error
/// of preparing, of a unit or of writing.
pub(super) fn run<J: Job>(
    job: &mut J,
    threads: usize,
    interrupt: Interrupt<'_>,
    observer: &mut dyn Observer,
) -> Result<()> {
    let mut reporter = Reporter { started: Instant::now(), interrupt, observer };
    let units = match job.prepare() {
        Err(error @ Error::NothingToTune { .. }) => {
            job.tuning().finished = true;
            reporter.tell(job, String::new(), 0);
            return Err(error);
        }
        units => units?,
    };
    if units.count() > 0 {
        reporter.tell(job, String::new(), 0);
    }
    let stopped = || interrupt.cancelled();
    let workers = Workers { name: "aoe-tune", threads, stopped: &stopped };
    let work = |tool: &mut _, unit: usize, hand_over: &mut dyn FnMut(_)| {
        Step::Done(units.work(tool, unit, &mut |now| hand_over(Step::Searched(now))))
    };
    let (mut early, mut turn, mut next_save) = (BTreeMap::new(), 0, FIRST_SAVE);
    let ran = workers.work(
        units.count(),
        || units.tool(),
        work,
        |unit, step| {
            match step {
                Step::Searched(now) => {
                    job.searching(&units, unit, now);
                    reporter.tell(job, units.name(unit), now.measured);
                }
                Step::Done(Err(Error::Cancelled)) => {}
                Step::Done(done) => drop(early.insert(unit, done?)),
            }
            while let Some(next) = early.first_entry().filter(|next| !J::IN_ORDER || *next.key() == turn) {
                let (unit, done) = next.remove_entry();
                turn += 1;
                job.keep(&units, unit, done);
                while job.settled() >= next_save {
                    job.save(next_save)?;
                    next_save *= 2;
                }
                reporter.tell(job, units.name(unit), 0);
            }
            Ok(())
        },
    );
    // Who asks to stop while it runs is told so, also when the last unit was done already; later it is too late.
    let cancelled = interrupt.cancelled();
    // Whatever ended it, what was found is kept.
    let kept = job.finish(&units);
    match ran {
        Err(Error::BackendLost { reason, .. }) => job.tuning().lost = Some(reason),
        ran => ran?,
    }
    kept?;
    job.tuning().finished = !cancelled && job.is_complete();
    reporter.tell(job, String::new(), 0);
    Ok(())
}

/// Tells the observer how far a job is.
struct Reporter<'a> {
    started: Instant,
    interrupt: Interrupt<'a>,
    observer: &'a mut dyn Observer,
}

impl Reporter<'_> {
    /// After a step of the unit of this node; `searching` are the measurements made for it while it is searched.
    fn tell<J: Job>(&mut self, job: &mut J, node: String, searching: usize) {
        let elapsed = self.started.elapsed();
        job.tuning().elapsed = elapsed;
        let mut progress = Progress { node, searching, elapsed_s: elapsed.as_secs_f64(), ..job.progress() };
        let (done, total) = job.pace(&progress);
        let is_done = progress.done >= progress.total;
        progress.remaining_s =
            if is_done { Some(0.0) } else { remaining_s(elapsed, done, total, self.interrupt.deadline) };
        self.observer.progress(&progress, job.tuned());
    }
}
