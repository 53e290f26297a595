//! The kernels of a network with their times, before tuning or after: what runs are made of, and what reports tell of
//! them. Kernels that are alike are priced once.

use super::run::{Engine, Ranks};
use crate::graph::{Graph, NodeId};
use crate::lower::{self, Lowered, Precision};
use crate::sim::{self, Counts, Prediction, Work};
use crate::soc::Soc;
use crate::space::default_policy;
use crate::status::Result;
use crate::tune::gdat::StepRun;
use crate::tune::{CaseOutcome, OpatOutcome, Variant};
use crate::workload::{Schedule, Workload};
use rustc_hash::FxHashMap;

/// Which state of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// As CANN runs it by default.
    Before,
    /// As CANN will run it.
    After,
}

/// One form of a network with the kernels that run it.
#[derive(Debug, Clone, Copy)]
pub struct Form<'a> {
    /// Added to the network's name where there are several forms.
    pub label: &'a str,
    /// The graph that was lowered.
    pub graph: &'a Graph,
    /// Its kernels.
    pub lowered: &'a Lowered,
}

impl<'a> From<&'a Variant> for Form<'a> {
    fn from(variant: &'a Variant) -> Form<'a> {
        Form { label: &variant.label, graph: &variant.graph, lowered: &variant.lowered }
    }
}

/// What decides a run besides the network.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// Name of the network.
    pub network: &'a str,
    /// The SoC.
    pub soc: &'a Soc,
    /// Types that the network runs in.
    pub precision: Precision,
}

/// A network with the time of every kernel.
#[derive(Debug)]
pub struct Timed<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) forms: Vec<Form<'a>>,
    /// The kernels, form by form.
    pub(super) kernels: Vec<TimedKernel<'a>>,
    pub(super) kinds: Vec<Kind<'a>>,
    /// What is known besides of a training step.
    pub(super) step: Option<Step>,
    places: FxHashMap<KernelKey<'a>, usize>,
}

/// A training step until its gradients are exchanged.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// When the backward pass is over, in microseconds from the step's begin.
    pub backward_us: f64,
    /// Who exchanges.
    pub ranks: Ranks,
}

/// One kernel of a form.
#[derive(Debug)]
pub(super) struct TimedKernel<'a> {
    /// Its place in [`Timed::forms`].
    pub form: usize,
    /// The kernel.
    pub kernel: &'a lower::Kernel,
    /// Its place in [`Timed::kinds`].
    pub kind: usize,
    /// Time of one launch in microseconds; `None` where it could not be measured.
    pub us: Option<f64>,
    /// When it begins, in microseconds from the begin of the run, where it does not just follow the one before.
    pub start_us: Option<f64>,
}

/// Kernels that do the same in the same way.
#[derive(Debug)]
pub struct Kind<'a> {
    /// What they do.
    pub workload: &'a Workload,
    /// What runs them.
    pub engine: Engine,
    /// How they are tiled.
    pub schedule: Schedule,
    /// Whether their times are the performance model's.
    pub is_simulated: bool,
    /// What the performance model says of one launch; `None` where it cannot price them.
    pub prediction: Option<Prediction>,
    /// What one launch moves and computes, by the same model.
    pub counts: Option<Counts>,
    /// The same without the tiling; `None` where the model does not know the sizes.
    pub work: Option<Work>,
    /// Launches of all of them in one run.
    pub launches: u64,
    /// Time of these launches together in microseconds.
    pub total_us: f64,
    /// The first of them.
    first: usize,
}

/// What makes kernels alike: their work, the bits of what they find in device memory, their tiling, and who timed them.
type KernelKey<'a> = (&'a Workload, Option<u64>, Schedule, bool);

/// A launch as it was measured.
struct Launch<'a> {
    schedule: &'a Schedule,
    time: Time,
    is_simulated: bool,
}

/// Time of a launch.
#[derive(Debug, Clone, Copy)]
enum Time {
    /// What the performance model says.
    Predicted,
    /// So many microseconds.
    Us(f64),
    /// It could not be measured.
    Unknown,
}

impl<'a> Timed<'a> {
    /// The network with CANN's default tilings and their times, or with those that CANN will take of what operator tuning
    /// found. The forms are those that were tuned; kernels that it did not come to are left out.
    pub fn of_operators(forms: Vec<Form<'a>>, outcome: &OpatOutcome, moment: Moment, scene: Scene<'a>) -> Timed<'a> {
        let cases = by_node(outcome);
        let mut timed = Timed::new(forms, scene);
        timed.fill(|form, kernel| Some(of_case(cases.get(&(form, kernel.node))?, moment)));
        timed
    }

    /// The network with the times of the performance model and the tilings that CANN chooses by itself, or that
    /// operator tuning found in the bank for kernels that are the same: what subgraph tuning begins with and
    /// ends with.
    ///
    /// Fails with [`crate::status::Error::Workload`] for a kernel that cannot run on the part at all.
    pub fn of_subgraphs(forms: Vec<Form<'a>>, outcome: Option<&OpatOutcome>, scene: Scene<'a>) -> Result<Timed<'a>> {
        let known: FxHashMap<&Workload, &CaseOutcome> =
            outcome.into_iter().flat_map(|outcome| &outcome.cases).map(|case| (&case.workload, case)).collect();
        let schedule = |workload: &Workload| match known.get(workload) {
            Some(case) if case.before_us > 0.0 => Ok(case.before.clone()),
            _ => default_policy(workload, scene.soc),
        };
        let mut schedules: FxHashMap<&Workload, Schedule> = FxHashMap::default();
        for kernel in forms.iter().flat_map(|form| form.lowered.launched()) {
            if !schedules.contains_key(&kernel.workload) {
                schedules.insert(&kernel.workload, schedule(&kernel.workload)?);
            }
        }
        let mut timed = Timed::new(forms, scene);
        timed.fill(|_, kernel| {
            let time = if kernel.priced.is_timed() { Time::Predicted } else { Time::Unknown };
            Some(Launch { schedule: schedules.get(&kernel.workload)?, time, is_simulated: true })
        });
        Ok(timed)
    }

    /// A training step as gradient tuning found it to run: the kernels of both passes one after the other, slowed down
    /// by the exchanges of the segments beside them. The form's kernels are those of the graph; those of `step` run.
    ///
    /// Fails with [`crate::status::Error::Workload`] for a kernel that cannot run on the part at all.
    pub fn of_gradients(form: Form<'a>, step: &'a StepRun, ranks: Ranks, scene: Scene<'a>) -> Result<Timed<'a>> {
        let form = Form { lowered: &step.lowered, ..form };
        let mut timed = Timed::new(vec![form], scene);
        timed.step = Some(Step { backward_us: step.backward_us, ranks });
        let mut schedules: FxHashMap<&Workload, Schedule> = FxHashMap::default();
        for (kernel, (span, is_simulated)) in
            step.lowered.kernels.iter().zip(step.spans_us.iter().zip(&step.is_simulated))
        {
            if !schedules.contains_key(&kernel.workload) {
                schedules.insert(&kernel.workload, default_policy(&kernel.workload, scene.soc)?);
            }
            let time = if kernel.priced.is_timed() { Time::Us((span[1] - span[0]).max(0.0)) } else { Time::Unknown };
            let launch = Launch { schedule: &schedules[&kernel.workload], time, is_simulated: *is_simulated };
            timed.add(0, kernel, &launch);
            if let Some(last) = timed.kernels.last_mut() {
                last.start_us = Some(span[0]);
            }
        }
        Ok(timed)
    }

    fn new(forms: Vec<Form<'a>>, scene: Scene<'a>) -> Timed<'a> {
        let (kernels, kinds, places) = (Vec::new(), Vec::new(), FxHashMap::default());
        Timed { scene, forms, kernels, kinds, step: None, places }
    }

    /// The kernels that are alike, each kind once, in the order in which they first occur.
    pub fn kinds(&self) -> &[Kind<'a>] {
        &self.kinds
    }

    /// The kernels in the order in which they run: the place of each one's kind, how often it is launched in a row, and
    /// the microseconds of all these launches.
    pub fn sequence(&self) -> impl Iterator<Item = (usize, u64, f64)> {
        self.kernels.iter().map(|kernel| {
            let launches = kernel.kernel.launches;
            (kernel.kind, u64::from(launches), kernel.us.unwrap_or(0.0) * f64::from(launches))
        })
    }

    /// Name of the first kernel of a kind: of its first node, with the form where there are several.
    pub fn name(&self, kind: &Kind<'_>) -> String {
        self.kernels.get(kind.first).map_or_else(String::new, |kernel| {
            let form = &self.forms[kernel.form];
            format!("{}{}", form.graph.node(kernel.kernel.node).name, form.label)
        })
    }

    /// The type that CANN launches the first kernel of a kind by: that of its node.
    pub fn op_type<'s>(&'s self, kind: &'s Kind<'_>) -> &'s str {
        self.kernels
            .get(kind.first)
            .map_or(kind.workload.op_type(), |kernel| &self.forms[kernel.form].graph.node(kernel.kernel.node).op_type)
    }

    /// Adds the kernels of all forms that `launch` knows.
    fn fill<'b>(&mut self, mut launch: impl FnMut(usize, &'a lower::Kernel) -> Option<Launch<'b>>) {
        for (number, form) in self.forms.clone().into_iter().enumerate() {
            for kernel in form.lowered.launched() {
                if let Some(launch) = launch(number, kernel) {
                    self.add(number, kernel, &launch);
                }
            }
        }
    }

    fn add(&mut self, form: usize, kernel: &'a lower::Kernel, launch: &Launch<'_>) {
        let key: KernelKey<'a> =
            (&kernel.workload, kernel.missed.map(f64::to_bits), launch.schedule.clone(), launch.is_simulated);
        let place = *self.places.entry(key).or_insert_with(|| {
            self.kinds.push(Kind::new(kernel, launch, self.scene.soc, self.kernels.len()));
            self.kinds.len() - 1
        });
        let kind = &mut self.kinds[place];
        let predicted = kind.prediction.map(|prediction| prediction.time_us);
        let us = match launch.time {
            Time::Predicted => predicted,
            // What the kernel finds in L2 decides its time; an operator's case has the mean of all that are alike.
            Time::Us(us) if launch.is_simulated && kernel.missed.is_some() => predicted.or(Some(us)),
            Time::Us(us) => Some(us),
            Time::Unknown => None,
        };
        kind.launches += u64::from(kernel.launches);
        kind.total_us += us.unwrap_or(0.0) * f64::from(kernel.launches);
        self.kernels.push(TimedKernel { form, kernel, kind: place, us, start_us: None });
    }
}

impl<'a> Kind<'a> {
    fn new(kernel: &'a lower::Kernel, launch: &Launch<'_>, soc: &Soc, first: usize) -> Kind<'a> {
        let model = sim::Model::new(&kernel.workload, soc).ok();
        let work = model.as_ref().map(sim::Model::work);
        let model = model.map(|model| kernel.missed.map_or(model.clone(), |bytes| model.with_missed(bytes)));
        let price =
            |model: &sim::Model| Some((model.predict(launch.schedule).ok()?, model.counts(launch.schedule).ok()?));
        let (prediction, counts) = model.as_ref().and_then(price).unzip();
        Kind {
            workload: &kernel.workload,
            engine: Engine::of(&kernel.workload, soc),
            schedule: launch.schedule.clone(),
            is_simulated: launch.is_simulated,
            prediction,
            counts,
            work,
            launches: 0,
            total_us: 0.0,
            first,
        }
    }
}

/// The cases by the nodes that run them.
fn by_node(outcome: &OpatOutcome) -> FxHashMap<(usize, NodeId), &CaseOutcome> {
    outcome.cases.iter().flat_map(|case| case.nodes.iter().map(move |node| ((node.variant, node.id), case))).collect()
}

fn of_case(case: &CaseOutcome, moment: Moment) -> Launch<'_> {
    let (schedule, us) = match moment {
        Moment::Before => (&case.before, case.before_us),
        Moment::After => case.taken(),
    };
    let time = if us > 0.0 { Time::Us(us) } else { Time::Unknown };
    Launch { schedule, time, is_simulated: case.is_simulated() }
}
