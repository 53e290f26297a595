//! What a tuning found: the plain data that reports are made from.

use super::cases::{Variant, gears, unmapped};
use super::nodes::{SkippedKernel, TunedNode};
use crate::backend::Description;
use crate::backend::simulator::Simulator;
use crate::bank::{RecordReader, Writable};
use crate::search::StopReason;
use crate::sim::interval::Interval;
use crate::soc::{CorrectedBy, Soc};
use crate::space::default_origin;
use crate::status::{Error, Result};
use crate::workload::{DefaultOrigin, Schedule, Workload};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is known of a tuning, whatever is tuned.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// Name of the graph.
    pub graph: String,
    /// What measures; subgraphs are priced by the simulator, whatever measures operators.
    pub backend: Description,
    /// The SoC tuned for.
    pub soc: String,
    /// The calibration that corrects predicted times.
    pub calibration: Option<CorrectedBy>,
    /// Operators of which it is not known how they work; most of their kernels have no time.
    pub unmapped: Vec<SkippedKernel>,
    /// Names of the gears, by variant; nothing where there is one variant.
    pub gears: Vec<String>,
    /// Time since the tuning began.
    pub elapsed: Duration,
    /// Whether all was dealt with; false while tuning runs and where it was ended early.
    pub finished: bool,
    /// Why the backend could measure no more, where that ended it.
    pub lost: Option<String>,
    /// Why the bank could not be written, where that is so at the end.
    pub unsaved: Option<Unsaved>,
    /// Operators or subgraphs whose records the bank's files have, the first so many by their index. While tuning runs, what
    /// was found behind them is still to be written, and no result file may say that it is.
    pub saved: usize,
}

impl Tuning {
    /// One that begins.
    pub(super) fn new(graph: &str, backend: Description, soc: &Soc, variants: &[Variant]) -> Tuning {
        Tuning {
            graph: graph.to_owned(),
            backend,
            soc: soc.name.clone(),
            calibration: soc.corrections.as_ref().map(|corrections| corrections.named()),
            unmapped: unmapped(variants),
            gears: gears(variants),
            elapsed: Duration::ZERO,
            finished: false,
            lost: None,
            unsaved: None,
            saved: 0,
        }
    }

    /// How it ended: [`Error::Directory`] where the bank could not be written, [`Error::BackendLost`] where nothing more
    /// could be measured, [`Error::Cancelled`] where it was.
    pub fn ended(&self) -> Result<()> {
        match (&self.unsaved, &self.lost) {
            (Some(unsaved), _) => Err(unsaved.error()),
            (None, _) if self.finished => Ok(()),
            (None, Some(reason)) => {
                Err(Error::BackendLost { backend: self.backend.name.clone(), reason: reason.clone() })
            }
            (None, None) => Err(Error::Cancelled),
        }
    }
}

/// Result of operator tuning.
#[derive(Debug, Clone)]
pub struct OpatOutcome {
    /// What every tuning tells; `finished` is false also where the backend was lost.
    pub tuning: Tuning,
    /// Seed of the searches.
    pub seed: u64,
    /// The distinct operators, in the order in which they first occur in the graph. While tuning
    /// runs: those finished so far.
    pub cases: Vec<CaseOutcome>,
    /// What became of what was asked for by name.
    pub asked: Vec<Asked>,
    /// The bank of the earlier tuning that this one started from (`base_result`).
    pub base: Option<PathBuf>,
    /// What `TUNE_BANK_PATH` has to name for CANN to run what is to be measured; `None` where that does not stay.
    pub to_measure: Option<PathBuf>,
}

/// A bank that could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsaved {
    /// Its directory.
    pub bank: PathBuf,
    /// What hindered it, and where the records are instead.
    pub reason: String,
}

impl Unsaved {
    /// What a bank did not take: `save` puts it into the directory `rescue` instead, where there is one with room.
    pub fn rescued(
        bank: &Path,
        error: &Error,
        rescue: Option<&Path>,
        save: impl FnOnce(&Path) -> Result<()>,
    ) -> Unsaved {
        let became = match rescue.map(|place| (place, save(place))) {
            None => "what was found is not saved".to_owned(),
            Some((place, Ok(()))) => format!(
                "the records are in {}: make room, then `aoe bank merge --into {} {}`",
                place.display(),
                bank.display(),
                place.display()
            ),
            Some((place, Err(other))) => {
                format!("nor could {} be written ({other}): what was found is not saved", place.display())
            }
        };
        Unsaved { bank: bank.to_owned(), reason: format!("{error}; {became}") }
    }

    /// The tuning's error.
    pub fn error(&self) -> Error {
        Error::directory("write to", &self.bank, &self.reason)
    }
}

/// Result for one distinct operator: all nodes with the same workload.
#[derive(Debug, Clone)]
pub struct CaseOutcome {
    /// Place among the distinct operators of the graph, counted from 0.
    pub index: usize,
    /// The nodes that run it; never empty.
    pub nodes: Vec<TunedNode>,
    /// What they do.
    pub workload: Workload,
    /// Time of one run with CANN's default, in microseconds; with the bank's tiling where that alone runs. Where it could
    /// not be measured (then `status` is `Failed` or `NotMeasured`) it is the simulator's, 0 where that has none either
    /// and where `status` is `NotModelled`.
    /// Where what runs before it decides what it finds in L2, it is the mean over its launches in the network.
    pub before_us: f64,
    /// Time of one run after tuning.
    pub after_us: f64,
    /// CANN's default.
    pub before: Schedule,
    /// What the bank had for it before this tuning, where that runs.
    pub banked: Option<Timed>,
    /// Whether CANN's default for it, which an untuned operator runs, is by its public rules.
    pub default: DefaultOrigin,
    /// Tiling after; equal to the bank's, or to `before`, where nothing better was found, or nothing that is sure to be.
    pub after: Schedule,
    /// What nine of ten true ratios of the times before and after lie between, as multiples of the one here; `None` where
    /// nobody knows. Nothing that did not change is in doubt.
    pub doubt: Option<Interval>,
    /// What seems better than what is, and is not sure to be: the bank gets no record of it, or has it by a prediction alone.
    pub unsure: Option<Timed>,
    /// Who reads its record.
    pub reader: RecordReader,
    /// Whether a device can time it by itself with a tiling of ours.
    pub measured_alone: bool,
    /// What this means for the bank.
    pub status: BankStatus,
    /// Name of the backend that measured it.
    pub backend: String,
    /// Candidates measured.
    pub trials: usize,
    /// Candidates that earlier tunings had measured.
    pub known_trials: usize,
    /// Those of them that only the bank of `base_result` has.
    pub base_trials: usize,
    /// Candidates whose measurement failed.
    pub failed_trials: usize,
    /// The best time known to the search each time that it got better, beginning with the time before.
    pub improvements: Vec<Improvement>,
    /// The best that was measured of it, of this tuning and of earlier ones, the fastest first: at most
    /// [`CaseOutcome::BEST`]. On a noisy backend what is confirmed in the end may be another.
    pub best: Vec<Timed>,
    /// Why the search ended; `None` where none was run.
    pub stop: Option<StopReason>,
}

/// A tiling and what it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed {
    /// The tiling.
    pub schedule: Schedule,
    /// Microseconds of one run.
    pub us: f64,
}

/// A step of a search towards its best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Improvement {
    /// Candidates measured until then; 0 for the time before tuning.
    pub trial: usize,
    /// Best time from then on, in microseconds, as the search saw it: on a noisy backend what is confirmed in the
    /// end may be another.
    pub us: f64,
}

/// CANN's status of a case after tuning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BankStatus {
    /// Not in a bank before, and better than the default: a record was added.
    Added,
    /// In a bank before, and better than that: the record was updated.
    Updated,
    /// In a bank before, and nothing better found (or not searched again).
    Reserved,
    /// Not in a bank, and nothing better than the default found.
    Unsatisfied,
    /// Something seems better, and the doubt in the times does not exclude that it is not: no record is made. Or the bank has
    /// such a record, and nothing but a prediction speaks for it.
    NotSure,
    /// The same, and CANN would run it: its record lies in the bank to measure.
    ToMeasure,
    /// Something better was found, and the bank could not be written.
    Unsaved,
    /// Not a tuning problem: the operator type is not tunable or the caller's filter leaves it out.
    NotTuned,
    /// What measures can measure such an operator with what runs anyhow, and with no tiling of ours.
    NotTunable(String),
    /// What measures cannot measure such operators; the case counts with CANN's default as the simulator has it.
    NotMeasured(String),
    /// It is not known how its kernel works; the case counts 0 in the network's times.
    NotModelled,
    /// Its baseline could not be measured; the case counts as one that is not measured.
    Failed(String),
}

impl BankStatus {
    /// Whether the case counts in `repo_summary`.
    pub fn is_tuned(&self) -> bool {
        use BankStatus::{Failed, NotMeasured, NotModelled, NotTunable, NotTuned};
        !matches!(self, NotTuned | NotTunable(_) | NotModelled | NotMeasured(_) | Failed(_))
    }

    /// Whether the bank is to get a record.
    pub fn is_new(&self) -> bool {
        matches!(self, BankStatus::Added | BankStatus::Updated)
    }
}

impl BankStatus {
    /// Why it could not be measured, where that is so.
    pub fn failure(&self) -> Option<&str> {
        match self {
            BankStatus::Failed(reason) | BankStatus::NotMeasured(reason) => Some(reason),
            _ => None,
        }
    }

    /// Why no tiling of it was measured, where that is so.
    pub fn reason(&self) -> Option<&str> {
        match self {
            BankStatus::NotTunable(reason) => Some(reason),
            _ => self.failure(),
        }
    }
}

impl CaseOutcome {
    /// A case as it is before its search: this tiling runs, at this time, before and after. `backend` measured it.
    pub(super) fn untuned(index: usize, workload: &Workload, runs: &Timed, backend: String, soc: &Soc) -> CaseOutcome {
        let writable = Writable::of(workload, soc);
        CaseOutcome {
            index,
            nodes: Vec::new(),
            workload: workload.clone(),
            before_us: runs.us,
            after_us: runs.us,
            before: runs.schedule.clone(),
            after: runs.schedule.clone(),
            banked: None,
            default: default_origin(workload, soc),
            doubt: None,
            unsure: None,
            reader: writable.reader(),
            measured_alone: writable.is_measured_alone(),
            status: BankStatus::NotTuned,
            backend,
            trials: 0,
            known_trials: 0,
            base_trials: 0,
            failed_trials: 0,
            improvements: Vec::new(),
            best: Vec::new(),
            stop: None,
        }
    }

    /// Most candidates that are told one by one.
    pub const BEST: usize = 5;

    /// The type that CANN launches its first node by: that of the node, where its workload may be named otherwise.
    pub fn op_type(&self) -> &str {
        self.nodes.first().map_or(self.workload.op_type(), |node| &node.op_type)
    }

    /// Launches of the workload in one run of the network.
    pub fn count(&self) -> usize {
        self.nodes.iter().map(|node| node.launches as usize).sum()
    }

    /// Whether its times are predictions: no other backend may have the simulator's name.
    pub fn is_simulated(&self) -> bool {
        self.backend == Simulator::NAME
    }

    /// Whether the bank has a record of it after this tuning.
    pub fn is_recorded(&self) -> bool {
        matches!(self.status, BankStatus::Added | BankStatus::Updated | BankStatus::Reserved)
    }

    /// Whether CANN runs another tiling than its default: the record of a bank that it reads.
    pub fn is_taken(&self) -> bool {
        self.is_recorded() && self.reader.is_cann()
    }

    /// The tiling that CANN will run, and its time.
    pub fn taken(&self) -> (&Schedule, f64) {
        if self.is_taken() { (&self.after, self.after_us) } else { (&self.before, self.before_us) }
    }

    /// What nine of ten true times after lie between, if [`CaseOutcome::before_us`] is one; `None` where nobody knows.
    pub fn interval_us(&self) -> Option<[f64; 2]> {
        let us = self.after_us;
        if self.after == self.before {
            return Some([us; 2]);
        }
        self.doubt.map(|doubt| [us / doubt.high, us / doubt.low])
    }
}

impl OpatOutcome {
    /// Time of the whole network with CANN's defaults in microseconds: every kernel's time, summed.
    pub fn before_us(&self) -> f64 {
        self.cases.iter().fold(0.0, |sum, c| sum + c.before_us * c.count() as f64)
    }

    /// Times of the kernels whose default is of this origin, before and after tuning, in microseconds.
    pub fn times_over(&self, origin: DefaultOrigin) -> [f64; 2] {
        let of = self.cases.iter().filter(|case| case.default == origin);
        of.fold([0.0; 2], |[before, after], case| {
            let count = case.count() as f64;
            [before + case.before_us * count, after + case.after_us * count]
        })
    }

    /// Time of the whole network with all that was found in microseconds, also in records that CANN does not read.
    pub fn after_us(&self) -> f64 {
        self.cases.iter().fold(0.0, |sum, c| sum + c.after_us * c.count() as f64)
    }

    /// Time of the whole network with what CANN will take, in microseconds.
    pub fn taken_us(&self) -> f64 {
        self.cases.iter().fold(0.0, |sum, c| sum + c.taken().1 * c.count() as f64)
    }

    /// How many distinct operators were to be searched, and how many the search came to before the time limit; `None`
    /// where it came to all.
    pub fn reached(&self) -> Option<[usize; 2]> {
        let searched = self.cases.iter().filter(|case| case.stop.is_some());
        let missed = |case: &&CaseOutcome| case.stop == Some(StopReason::TimeLimit) && case.trials == 0;
        let (wanted, missed) = (searched.clone().count(), searched.filter(missed).count());
        (missed > 0).then(|| [wanted - missed, wanted])
    }

    /// How the tuning ended: as [`Tuning::ended`] says, [`Error::Tuning`] where operators were to be tuned, some failed and
    /// none was, and [`Error::NothingToTune`] where what measures can measure none of them. A few that fail or are not
    /// measured are no failure of the tuning; the report names them.
    pub fn ended(&self) -> Result<()> {
        self.tuning.ended()?;
        if self.cases.iter().any(|case| case.status.is_tuned()) {
            return Ok(());
        }
        let failed = self.first_of(|status| match status {
            BankStatus::Failed(reason) => Some(reason),
            _ => None,
        });
        if let Some(which) = failed {
            return Err(Error::Tuning { reason: format!("no operator could be measured; {which}") });
        }
        let unmeasured = self.first_of(|status| match status {
            BankStatus::NotMeasured(reason) | BankStatus::NotTunable(reason) => Some(reason),
            _ => None,
        });
        let nothing = |which| Error::NothingToTune {
            reason: format!(
                "backend {} can measure no operator of graph `{}`; {which}",
                self.tuning.backend.name, self.tuning.graph
            ),
        };
        unmeasured.map_or(Ok(()), |which| Err(nothing(which)))
    }

    /// The first operator whose status has a reason of some kind, with that, and how many such there are.
    fn first_of(&self, reason_of: impl Fn(&BankStatus) -> Option<&String>) -> Option<String> {
        let mut cases = self.cases.iter().filter_map(|case| Some((case, reason_of(&case.status)?)));
        let (case, reason) = cases.next()?;
        let count = cases.count() + 1;
        let which = if count == 1 { "it".to_owned() } else { format!("the first of {count}") };
        Some(format!("{which}, `{}`: {reason}", case.nodes[0].name))
    }

    /// Number of cases with this status.
    pub fn count(&self, wanted: &BankStatus) -> usize {
        self.cases.iter().filter(|c| &c.status == wanted).count()
    }

    /// The same, of records only those that the bank's files have.
    pub fn count_on_disk(&self, wanted: &BankStatus) -> usize {
        let is_there = |c: &&CaseOutcome| !c.status.is_new() || c.index < self.tuning.saved;
        self.cases.iter().filter(|c| &c.status == wanted).filter(is_there).count()
    }
}

/// Something that was asked for, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The name of a node, or a type.
    pub what: String,
    /// What became of it.
    pub outcome: Answer,
}

/// What became of what was asked for by name; in words it goes on after the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// So many distinct operators ended so.
    Operators(BTreeMap<&'static str, usize>),
    /// No Ascend operator is known for it.
    Unmapped,
    /// It runs no kernel of its own.
    NoKernel,
    /// The network has nothing of this name or type; the nearest that it has.
    NotHere(Option<String>),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Operators(counts) => {
                let parts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
                f.write_str(&parts.join(", "))
            }
            Answer::Unmapped => f.write_str("no Ascend operator is known for it, so there is no tiling to choose"),
            Answer::NoKernel => f.write_str(
                "runs no kernel of its own here (a view, a constant, or part of another kernel), so there is nothing to \
                 choose",
            ),
            Answer::NotHere(None) => f.write_str("is not in this network"),
            Answer::NotHere(Some(near)) => write!(f, "is not in this network; did you mean `{near}`?"),
        }
    }
}
