//! The closed loop of gradient tuning: times, the best split, the bank.

use super::cluster::Cluster;
use super::gradients::Training;
use super::graph::Backward;
use super::joint::best_of_sets;
use super::known::{from_bank, hccl_default, uniform_by_count, uniform_by_size};
use super::outcome::{Case, Equal, Found, GdatOutcome, KernelTime, Scale};
use super::plan::Plan;
use super::split::Step;
use super::{Contention, Exchange};
use crate::backend::simulator::Simulator;
use crate::backend::{Backend, Description, Measurement};
use crate::bank::gradient::{self, GradientBank};
use crate::graph::Graph;
use crate::lower::Lowered;
use crate::output_file::directory_of;
use crate::search::StopReason;
use crate::soc::Soc;
use crate::space::default_policy;
use crate::status::{Error, Result};
use crate::tune::cases::unmapped_of;
use crate::tune::job::{Job, Units, run};
use crate::tune::tuner::ended;
use crate::tune::watched::Searched;
use crate::tune::{BankStatus, Interrupt, Observer, Progress, Tuned, Tuning, Unsaved};
use crate::workload::Workload;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Segments that hccl's interface takes.
pub const MOST_SEGMENTS: usize = 8;

/// Numbers of devices that the table of scaling has.
const SCALING: [u64; 10] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

/// What a caller may decide about gradient tuning.
#[derive(Debug, Clone)]
pub struct GdatSettings {
    /// The devices that train together.
    pub cluster: Cluster,
    /// Segments at most.
    pub most_segments: usize,
    /// Replace what a bank already holds of the network (`REPEAT_TUNE`).
    pub repeat_tune: bool,
    /// No new measurement is begun after this moment.
    pub deadline: Option<Instant>,
    /// Directory of a bank for an entry that the bank does not take.
    pub rescue: Option<PathBuf>,
}

/// Where the times of the gradients come from.
pub enum Source<'a> {
    /// A training graph, whose kernels are measured.
    Graph {
        /// The graph, its shapes known.
        graph: &'a Graph,
        /// Its kernels.
        lowered: &'a Lowered,
        /// Who measures.
        backend: &'a dyn Backend,
    },
    /// A recording, of which the description says where it lies.
    Recording(Training, Description),
}

/// Everything gradient tuning needs.
pub struct GdatJob<'a> {
    /// Name of the network.
    pub name: &'a str,
    /// The gradients.
    pub source: Source<'a>,
    /// The SoC tuned for.
    pub soc: &'a Soc,
    /// The bank read from and written to.
    pub bank: &'a GradientBank,
    /// The caller's settings.
    pub settings: &'a GdatSettings,
    /// Set from any thread to stop.
    pub cancel: &'a AtomicBool,
}

/// Finds the best split of the gradients of a network, and records their times and sizes in the bank.
///
/// After a cancel the outcome says `finished: false`: before the times are known the bank is as it was; after that it
/// has them, and the splits are the best by then. Where the backend was lost, the outcome says that as well.
///
/// Fails with [`Error::NothingToTune`] and [`Error::Graph`] as [`Backward`] does, with [`Error::Workload`] for a kernel
/// that cannot run on the part at all, and with [`Error::Tuning`] where the time is up before every kernel was measured. Of
/// a bank that cannot be written, on a full disk for one, the outcome tells.
pub fn gdat(job: &GdatJob<'_>, observer: &mut dyn Observer) -> Result<GdatOutcome> {
    let settings = job.settings;
    let backend = match &job.source {
        Source::Graph { backend, .. } => backend.describe(),
        Source::Recording(_, description) => description.clone(),
    };
    let outcome = GdatOutcome {
        tuning: Tuning::new(job.name, backend, job.soc, &[]),
        cluster: settings.cluster.clone(),
        contention: settings.cluster.contention_on(job.soc),
        most_segments: settings.most_segments,
        found: None,
        unmeasured: Vec::new(),
    };
    let interrupt = Interrupt { cancel: job.cancel, deadline: settings.deadline };
    let mut gradients = Gradients { job, interrupt, outcome, backward: None, times: FxHashMap::default(), kernels: 0 };
    run(&mut gradients, 1, interrupt, observer)?;
    Ok(gradients.outcome)
}

/// The job of tuning gradients: the kernels of a training graph are its units of work, of a recording there are none.
struct Gradients<'a> {
    job: &'a GdatJob<'a>,
    interrupt: Interrupt<'a>,
    outcome: GdatOutcome,
    /// The passes of a training graph.
    backward: Option<Backward<'a>>,
    /// The times of its kernels, and whether the simulator says so.
    times: FxHashMap<&'a Workload, (f64, bool)>,
    /// How many there are to measure.
    kernels: usize,
}

impl<'a> Job for Gradients<'a> {
    type Units = Kernels<'a>;

    fn prepare(&mut self) -> Result<Kernels<'a>> {
        let job = self.job;
        let mut distinct = Vec::new();
        if let Source::Graph { graph, lowered, backend } = &job.source {
            self.outcome.tuning.unmapped = unmapped_of(graph, lowered, "");
            let backward = self.backward.insert(Backward::of(graph, lowered)?);
            let mut seen = FxHashSet::default();
            let kernels = backward.workloads().filter(|workload| seen.insert(*workload));
            distinct.extend(kernels.map(|workload| (workload, *backend)));
        }
        self.kernels = distinct.len();
        Ok(Kernels { distinct, soc: job.soc, interrupt: self.interrupt })
    }

    fn keep(&mut self, units: &Kernels<'a>, unit: usize, (us, unmeasured): (f64, Option<String>)) {
        let (workload, _) = units.distinct[unit];
        let is_simulated = unmeasured.is_some() || self.outcome.tuning.backend.is_simulated;
        self.times.insert(workload, (us, is_simulated));
        self.outcome.unmeasured.extend(unmeasured.map(|reason| (workload.to_string(), reason)));
    }

    /// Splits the gradients, once their times are known.
    fn finish(&mut self, _: &Kernels<'a>) -> Result<()> {
        let Some((training, kernels)) = self.training()? else { return Ok(()) };
        let mut found = Found { kernels, ..found(self.job, training, self.outcome.contention) };
        self.outcome.tuning.unsaved = record(self.job, &mut found, self.outcome.contention);
        warn(&found);
        self.outcome.found = Some(found);
        Ok(())
    }

    fn is_complete(&self) -> bool {
        // The search for splits ends early, too.
        self.outcome.found.is_some() && !self.interrupt.cancelled()
    }

    fn progress(&self) -> Progress {
        let (unit, done, total) = match &self.outcome.found {
            Some(Found { training, .. }) => ("gradients", training.gradients.len(), training.gradients.len()),
            None => ("operators", self.times.len(), self.kernels),
        };
        let (before_us, after_us) = self.outcome.times_us();
        Progress::of(unit, [done, total], [before_us, after_us])
    }

    fn tuning(&mut self) -> &mut Tuning {
        &mut self.outcome.tuning
    }

    fn tuned(&self) -> Tuned<'_> {
        Tuned::Gradients(&self.outcome)
    }
}

impl Gradients<'_> {
    /// The gradients, and the times of the graph's kernels; `None` where not all were measured.
    fn training(&self) -> Result<Option<(Training, Vec<KernelTime>)>> {
        match (&self.job.source, &self.backward) {
            (Source::Recording(training, _), _) => Ok(Some((training.clone(), Vec::new()))),
            (_, Some(backward)) if self.times.len() == self.kernels && !self.interrupt.cancelled() => {
                let untimed = (0.0, self.outcome.tuning.backend.is_simulated);
                let kernels = backward.times(|workload| self.times.get(workload).copied().unwrap_or(untimed));
                Ok(Some((backward.training(&kernels)?, kernels)))
            }
            _ => Ok(None),
        }
    }
}

/// The distinct kernels of a training graph.
struct Kernels<'a> {
    /// With who measures them.
    distinct: Vec<(&'a Workload, &'a dyn Backend)>,
    soc: &'a Soc,
    interrupt: Interrupt<'a>,
}

impl Units for Kernels<'_> {
    type Tool = ();
    /// Microseconds; by the simulator, where there is a reason why the backend could not measure it.
    type Done = (f64, Option<String>);

    fn count(&self) -> usize {
        self.distinct.len()
    }

    fn tool(&self) {}

    fn name(&self, unit: usize) -> String {
        self.distinct[unit].0.op_type().to_owned()
    }

    fn work(&self, (): &mut (), unit: usize, _: &mut dyn FnMut(Searched)) -> Result<(f64, Option<String>)> {
        if self.interrupt.reason() == Some(StopReason::TimeLimit) {
            let reason = format!("the time was up when {unit} of {} kernels were measured", self.count());
            return Err(Error::Tuning { reason });
        }
        let (workload, backend) = self.distinct[unit];
        let reason = match self.time(workload, backend)? {
            Ok(us) => return Ok((us, None)),
            Err(reason) => reason,
        };
        match self.time(workload, &Simulator::new(self.soc.clone()))? {
            Ok(us) => Ok((us, Some(reason))),
            Err(reason) => Err(Error::Workload { workload: workload.to_string(), reason }),
        }
    }
}

impl Kernels<'_> {
    /// The time of a kernel as CANN runs it: by its own choice where the backend can leave it that, else with its default
    /// tiling; the reason where it cannot be measured.
    fn time(&self, workload: &Workload, backend: &dyn Backend) -> Result<Result<f64, String>> {
        let mut measure = backend.prepare(workload)?;
        if let Some(reason) = measure.unmeasurable() {
            return Ok(Err(reason.to_owned()));
        }
        let default = default_policy(workload, backend.soc())?;
        match measure.untuned().unwrap_or_else(|| measure.measure(&default)) {
            Measurement::Time { us } => Ok(Ok(us)),
            Measurement::Failed { reason } => Ok(Err(reason)),
            Measurement::Ended { reason } => Err(ended(reason, backend, self.interrupt)),
        }
    }
}

/// Writes the gradients into the bank, where what CANN makes of them is no slower than its default, and has what was found
/// say what CANN makes of the bank then. What a bank holds of the network already stays, as CANN's tuner leaves it, unless
/// it is to be replaced. What the bank does not take goes to the rescue's place.
fn record(job: &GdatJob<'_>, found: &mut Found, contention: Contention) -> Option<Unsaved> {
    let training = &found.training;
    let (entry, known) = (training.entry(), job.bank.get(training.hash));
    let is_worse = found.bank_is_worse();
    let mut unsaved = None;
    found.status = match known {
        Some(known) if *known == entry || !job.settings.repeat_tune || is_worse => BankStatus::Reserved,
        Some(_) => BankStatus::Updated,
        None if is_worse => BankStatus::Unsatisfied,
        None => BankStatus::Added,
    };
    if found.status.is_new() {
        let fills = matches!(job.source, Source::Recording(..));
        if let Err(error) = job.bank.record(training.hash, &entry, fills) {
            let save = |place: &Path| job.bank.elsewhere(place).record(training.hash, &entry, false);
            let (bank, rescue) = (directory_of(job.bank.file()), job.settings.rescue.as_deref());
            unsaved = Some(Unsaved::rescued(bank, &error, rescue, save));
            found.status = BankStatus::Unsaved;
        }
    }
    let kept = if matches!(found.status, BankStatus::Added | BankStatus::Updated) { Some(&entry) } else { known };
    found.is_of_others = kept.is_some_and(|kept| kept.size != entry.size);
    found.from_bank = by_bank(job, training, contention, kept);
    unsaved
}

/// What CANN's graph compiler makes of an entry of the bank, and of none; `None` with several sets.
fn by_bank(
    job: &GdatJob<'_>,
    training: &Training,
    contention: Contention,
    entry: Option<&gradient::Gradients>,
) -> Option<Case> {
    let (step, cluster) = (training.step(), &job.settings.cluster);
    let [part] = step.parts().try_into().ok()?;
    let ends = entry.and_then(|entry| from_bank(entry, cluster));
    let ends = ends.filter(|ends| ends.last() == Some(&step.bytes.len())).unwrap_or_else(|| hccl_default(&part));
    let ways = Ways { step: &step, exchanges: cluster.exchanges(), contention, known: &[], is_over: &|| false };
    Some(ways.run(&vec![ends]))
}

/// Says where the bank does not do what a tuning is for.
fn warn(found: &Found) {
    if found.is_of_others {
        log::warn!(
            "the bank keeps other gradients under this network's hash {}, by which CANN cuts this network as well: it tells \
             networks apart by the number and types of their gradients alone. REPEAT_TUNE=True replaces them",
            found.training.hash
        );
    }
    if found.status == BankStatus::Unsatisfied {
        log::warn!(
            "the gradients are not recorded: from a bank CANN's rule makes a step that ends later than by hccl's default. Give \
             hccl the best split by set_split_strategy_by_idx, or train the tuned model"
        );
    }
    if let Some(bank) = found.from_bank.as_ref().filter(|_| found.bank_is_worse()) {
        log::warn!(
            "from the bank CANN's rule makes a step of {:.3} ms, hccl's default one of {:.3} ms: give hccl the best split by \
             set_split_strategy_by_idx, or train the tuned model",
            bank.plan.end_us / 1e3,
            found.before.plan.end_us / 1e3
        );
    }
}

/// The splits, as if the bank had the gradients.
fn found(job: &GdatJob<'_>, training: Training, contention: Contention) -> Found {
    let (step, cluster) = (training.step(), &job.settings.cluster);
    let parts = step.parts();
    let most = job.settings.most_segments.max(1);
    let default: Ends = parts.iter().map(hccl_default).collect();
    let uniform = |segments: usize| {
        let cut = |part: &Step| segments.min(part.bytes.len());
        let counted: Ends = parts.iter().map(|part| uniform_by_count(part.bytes.len(), cut(part))).collect();
        let sized: Ends = parts.iter().map(|part| uniform_by_size(part, cut(part))).collect();
        [(false, counted), (true, sized)]
    };
    let longest = parts.iter().map(|part| part.bytes.len()).max().unwrap_or(0);
    let equal: Vec<(bool, Ends)> = (1..=most.min(longest)).flat_map(uniform).collect();
    let known: Vec<Ends> = equal.iter().map(|(_, ends)| ends).chain([&default]).cloned().collect();
    let interrupt = Interrupt { cancel: job.cancel, deadline: job.settings.deadline };
    let is_over = || interrupt.reason().is_some();
    let ways = |cluster: &Cluster| Ways {
        step: &step,
        exchanges: cluster.exchanges(),
        contention,
        known: &known,
        is_over: &is_over,
    };
    let here = ways(cluster);
    let scale = |devices: u64| {
        let cluster = cluster.with_devices(devices);
        let ways = ways(&cluster);
        let nodes = cluster.nodes;
        Scale { devices: cluster.devices(), nodes, before: ways.run(&default), after: ways.best(most).0 }
    };
    let (after, is_optimum) = here.best(most);
    Found {
        kernels: Vec::new(),
        status: BankStatus::NotTuned,
        is_of_others: false,
        before: here.run(&default),
        after,
        is_optimum,
        from_bank: by_bank(job, &training, contention, Some(&training.entry())),
        equal: equal.iter().map(|(by_size, ends)| Equal { by_size: *by_size, case: here.run(ends) }).collect(),
        scaling: SCALING.into_iter().map(scale).collect(),
        sets: training.sets(),
        training,
    }
}

/// Where the segments of each set end.
type Ends = Vec<Vec<usize>>;

/// A step and all ways to exchange: each split runs by the one that suits it best.
struct Ways<'a> {
    step: &'a Step,
    exchanges: Vec<Exchange>,
    contention: Contention,
    /// Splits that the best one is not to be worse than.
    known: &'a [Ends],
    /// Whether to be content with the best so far.
    is_over: &'a dyn Fn() -> bool,
}

impl Ways<'_> {
    fn run(&self, ends: &Ends) -> Case {
        self.first_to_end(|_| (ends.clone(), true)).0
    }

    /// The best split, and whether no other ends earlier.
    fn best(&self, most: usize) -> (Case, bool) {
        self.first_to_end(|exchange| {
            let found = best_of_sets(self.step, exchange.cost, self.contention, most, self.known, self.is_over);
            found.map_or_else(|| (Ends::new(), true), |split| (split.ends, split.is_optimum))
        })
    }

    /// The way that ends first, and whether all are what they are said to be.
    fn first_to_end(&self, ends: impl Fn(&Exchange) -> (Ends, bool)) -> (Case, bool) {
        let case = |exchange: &Exchange| {
            let (ends, is_optimum) = ends(exchange);
            let case = Case {
                plan: Plan::of(self.step, exchange.cost, self.contention, &ends),
                algorithms: exchange.levels.iter().map(|level| level.algorithm).collect(),
                cost: exchange.cost,
            };
            (case, is_optimum)
        };
        let first = |best: (Case, bool), next: (Case, bool)| {
            let is_optimum = best.1 && next.1;
            (if next.0.plan.end_us < best.0.plan.end_us { next.0 } else { best.0 }, is_optimum)
        };
        self.exchanges.iter().map(case).reduce(first).unwrap_or_else(|| {
            let plan = Plan { segments: Vec::new(), backward_us: self.step.backward_us, end_us: self.step.backward_us };
            let cost = crate::sim::collective::AllReduce { start_us: 0.0, us_per_byte: 0.0 };
            (Case { plan, algorithms: Vec::new(), cost }, true)
        })
    }
}
