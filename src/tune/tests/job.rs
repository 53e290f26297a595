//! What the loop of jobs promises, whatever the job.

use super::soc;
use crate::backend::Backend;
use crate::backend::simulator::Simulator;
use crate::status::{Error, Result};
use crate::tune::job::{Job, Units, run};
use crate::tune::watched::Searched;
use crate::tune::{Interrupt, Observer, OpatOutcome, Progress, Tuned, Tuning};
use std::sync::atomic::{AtomicBool, Ordering};

/// Units that come out as their own number; with one of them the backend is lost.
struct Numbers {
    count: usize,
    lost: Option<usize>,
}

impl Units for Numbers {
    type Tool = ();
    type Done = usize;

    fn count(&self) -> usize {
        self.count
    }

    fn tool(&self) {}

    fn name(&self, unit: usize) -> String {
        unit.to_string()
    }

    fn work(&self, (): &mut (), unit: usize, _: &mut dyn FnMut(Searched)) -> Result<usize> {
        let lost = || Error::BackendLost { backend: "played".into(), reason: "gone".into() };
        if self.lost == Some(unit) { Err(lost()) } else { Ok(unit) }
    }
}

/// Keeps what comes and when it is to be written.
struct Played<const IN_ORDER: bool> {
    units: (usize, Option<usize>),
    outcome: OpatOutcome,
    kept: Vec<usize>,
    saved: Vec<usize>,
    is_finished: bool,
}

impl<const IN_ORDER: bool> Played<IN_ORDER> {
    fn new(count: usize, lost: Option<usize>) -> Self {
        let tuning = Tuning::new("net", Simulator::new(soc()).describe(), &soc(), &[]);
        let outcome =
            OpatOutcome { tuning, seed: 0, cases: Vec::new(), asked: Vec::new(), base: None, to_measure: None };
        Played { units: (count, lost), outcome, kept: Vec::new(), saved: Vec::new(), is_finished: false }
    }
}

impl<const IN_ORDER: bool> Job for Played<IN_ORDER> {
    type Units = Numbers;
    const IN_ORDER: bool = IN_ORDER;

    fn prepare(&mut self) -> Result<Numbers> {
        let (count, lost) = self.units;
        if count > 0 { Ok(Numbers { count, lost }) } else { Err(Error::NothingToTune { reason: "none".into() }) }
    }

    fn keep(&mut self, _: &Numbers, _: usize, done: usize) {
        self.kept.push(done);
    }

    fn settled(&self) -> usize {
        self.kept.len()
    }

    fn save(&mut self, first: usize) -> Result<()> {
        self.saved.push(first);
        Ok(())
    }

    fn finish(&mut self, _: &Numbers) -> Result<()> {
        self.is_finished = true;
        Ok(())
    }

    fn progress(&self) -> Progress {
        Progress::of("numbers", [self.kept.len(), self.units.0], [0.0; 2])
    }

    fn tuning(&mut self) -> &mut Tuning {
        &mut self.outcome.tuning
    }

    fn tuned(&self) -> Tuned<'_> {
        Tuned::Operators(None, &self.outcome)
    }
}

/// Keeps how much is done whenever it is told; cancels once so much is.
struct Told<'a>(Vec<usize>, Option<usize>, &'a AtomicBool);

impl Observer for Told<'_> {
    fn progress(&mut self, progress: &Progress, _: Tuned<'_>) {
        self.0.push(progress.done);
        if self.1.is_some_and(|most| progress.done >= most) {
            self.2.store(true, Ordering::Release);
        }
    }
}

fn played<const IN_ORDER: bool>(
    job: &mut Played<IN_ORDER>,
    threads: usize,
    cancel_at: Option<usize>,
) -> (Result<()>, Vec<usize>) {
    let cancel = AtomicBool::new(false);
    let mut told = Told(Vec::new(), cancel_at, &cancel);
    let ran = run(job, threads, Interrupt { cancel: &cancel, deadline: None }, &mut told);
    (ran, told.0)
}

#[test]
fn what_is_found_is_told_after_each_unit_and_written_after_8_16_32_units() {
    for threads in [1, 4] {
        let mut job = Played::<true>::new(40, None);
        let (ran, told) = played(&mut job, threads, None);
        ran.unwrap();
        assert_eq!(job.kept, (0..40).collect::<Vec<_>>(), "{threads} threads");
        assert_eq!(job.saved, [8, 16, 32]);
        assert_eq!(told, (0..=40).chain([40]).collect::<Vec<_>>());
        assert!(job.outcome.tuning.finished && job.is_finished);
    }
}

#[test]
fn a_lost_backend_and_a_cancel_keep_what_was_found_and_are_told() {
    let mut lost = Played::<false>::new(40, Some(5));
    played(&mut lost, 1, None).0.unwrap();
    assert!(lost.kept.starts_with(&[0, 1, 2, 3, 4]) && !lost.kept.contains(&5), "{:?}", lost.kept);
    assert_eq!(lost.outcome.tuning.lost.as_deref(), Some("gone"));
    assert!(matches!(lost.outcome.tuning.ended(), Err(Error::BackendLost { .. })));
    let mut cancelled = Played::<false>::new(1000, None);
    played(&mut cancelled, 2, Some(3)).0.unwrap();
    assert!(cancelled.kept.len() >= 3, "{:?}", cancelled.kept);
    assert!(matches!(cancelled.outcome.tuning.ended(), Err(Error::Cancelled)));
    assert!(lost.is_finished && cancelled.is_finished);
}

#[test]
fn a_job_without_units_is_told_once_and_begins_nothing() {
    let mut job = Played::<false>::new(0, None);
    let (ran, told) = played(&mut job, 2, None);
    assert!(matches!(ran, Err(Error::NothingToTune { .. })));
    assert_eq!((told, job.is_finished), (vec![0], false));
}
