//! From what a tuning found to runs of the network: before it, and after.

use super::run::{COMPUTING, EXCHANGING, Engine, Kernel, Model, Run, Task, Tensor};
use crate::backend::simulator::Simulator;
use crate::graph::{Attr, Graph, NodeId, Port, TensorDesc};
use crate::lower::{self, FUSED_NODES, Lowered, Precision};
use crate::sim::{self, Counts, Prediction};
use crate::soc::Soc;
use crate::space::default_policy;
use crate::status::Result;
use crate::tune::{CaseOutcome, OpatOutcome, Variant};
use crate::workload::{Schedule, Workload};
use rustc_hash::{FxHashMap, FxHashSet};

/// Which state of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// As it ran before the tuning.
    Before,
    /// As it runs now.
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

/// A launch as it was measured.
struct Timed {
    schedule: Schedule,
    us: Option<f64>,
    is_simulated: bool,
}

impl Run {
    /// The network with the times and tilings that operator tuning found. The forms are those that were tuned.
    pub fn of_operators(forms: &[Form<'_>], outcome: &OpatOutcome, moment: Moment, scene: Scene<'_>) -> Run {
        let cases = by_node(outcome);
        let timed = |model: usize, kernel: &lower::Kernel| Some(of_case(cases.get(&(model, kernel.node))?, moment));
        build(forms, scene, timed)
    }

    /// The network with the times of the performance model and the tilings that CANN chooses by itself, or that
    /// operator tuning found in the bank for kernels that are the same: what subgraph tuning begins with and
    /// ends with.
    ///
    /// Fails with [`crate::status::Error::Workload`] for a kernel that cannot run on the part at all.
    pub fn of_subgraphs(forms: &[Form<'_>], outcome: Option<&OpatOutcome>, scene: Scene<'_>) -> Result<Run> {
        let known: FxHashMap<&Workload, &CaseOutcome> =
            outcome.into_iter().flat_map(|outcome| &outcome.cases).map(|case| (&case.workload, case)).collect();
        let schedule = |workload: &Workload| match known.get(workload) {
            Some(case) if case.before_us > 0.0 => Ok(case.before.clone()),
            _ => default_policy(workload, scene.soc),
        };
        let mut schedules: FxHashMap<&Workload, Schedule> = FxHashMap::default();
        for kernel in forms.iter().flat_map(|form| &form.lowered.kernels) {
            if !schedules.contains_key(&kernel.workload) {
                schedules.insert(&kernel.workload, schedule(&kernel.workload)?);
            }
        }
        let mut model = Pricer::new(scene.soc);
        Ok(build(forms, scene, |_, kernel| {
            let schedule = schedules.get(&kernel.workload)?.clone();
            let us = model.price(kernel, &schedule).map(|(prediction, _)| prediction.time_us);
            Some(Timed { schedule, us, is_simulated: true })
        }))
    }
}

/// The cases by the nodes that run them.
fn by_node(outcome: &OpatOutcome) -> FxHashMap<(usize, NodeId), &CaseOutcome> {
    outcome.cases.iter().flat_map(|case| case.nodes.iter().map(move |node| ((node.variant, node.id), case))).collect()
}

fn of_case(case: &CaseOutcome, moment: Moment) -> Timed {
    let (schedule, us) = match moment {
        Moment::Before => (&case.before, case.before_us),
        Moment::After => (&case.after, case.after_us),
    };
    Timed { schedule: schedule.clone(), us: (us > 0.0).then_some(us), is_simulated: case.backend == Simulator::NAME }
}

fn build(forms: &[Form<'_>], scene: Scene<'_>, mut timed: impl FnMut(usize, &lower::Kernel) -> Option<Timed>) -> Run {
    let mut run = Run {
        network: scene.network.to_owned(),
        soc: scene.soc.clone(),
        models: Vec::with_capacity(forms.len()),
        kernels: Vec::new(),
        tasks: Vec::new(),
    };
    let mut model = Pricer::new(scene.soc);
    let mut clock = 0.0;
    for (number, form) in forms.iter().enumerate() {
        let tensors = Tensors::of(form.graph, scene.precision);
        let first = run.kernels.len();
        for kernel in &form.lowered.kernels {
            let Some(timed) = timed(number, kernel) else { continue };
            let (prediction, counts) = model.price(kernel, &timed.schedule).unzip();
            // What the kernel finds in L2 decides its time; the case has the mean of all that are alike.
            let own = prediction.filter(|_| timed.is_simulated && kernel.missed.is_some()).map(|p| p.time_us);
            let [inputs, outputs] = tensors.of_kernel(kernel);
            run.kernels.push(Kernel {
                model: number,
                name: form.graph.node(kernel.node).name.clone(),
                fused: fused(form.graph, kernel),
                op_type: form.graph.node(kernel.node).op_type.clone(),
                engine: Engine::of(&kernel.workload, scene.soc),
                inputs,
                outputs,
                workload: kernel.workload.clone(),
                duration_us: own.or(timed.us),
                schedule: timed.schedule,
                missed: kernel.missed,
                launches: kernel.launches,
                prediction,
                counts,
                is_simulated: timed.is_simulated,
            });
        }
        let begin = run.tasks.len();
        for kernel in launches(&run.kernels, first) {
            let stream = if run.kernels[kernel].engine.computes() { COMPUTING } else { EXCHANGING };
            run.tasks.push(Task { kernel, stream, start_us: clock });
            clock += run.kernels[kernel].us();
        }
        let name = format!("{}{}", scene.network, form.label);
        run.models.push(Model { id: number as u32 + 1, name, tasks: begin..run.tasks.len() });
    }
    run
}

/// The kernels from `first` on in the order of their launches. Neighbours that are launched equally often run on
/// one part of the batch after the other.
fn launches(kernels: &[Kernel], first: usize) -> Vec<usize> {
    let mut order = Vec::new();
    let mut from = first;
    for group in kernels[first..].chunk_by(|a, b| a.launches == b.launches) {
        let group_end = from + group.len();
        for _ in 0..group[0].launches {
            order.extend(from..group_end);
        }
        from = group_end;
    }
    order
}

/// Nodes that a kernel runs besides its first: fused into its scope, or before that into one of its nodes.
pub(super) fn fused(graph: &Graph, kernel: &lower::Kernel) -> Vec<String> {
    let absorbed = |id: NodeId| match graph.node(id).attrs.get(FUSED_NODES) {
        Some(Attr::Strs(names)) => names.clone(),
        _ => Vec::new(),
    };
    let mut names = absorbed(kernel.node);
    for &id in &kernel.fused {
        names.push(graph.node(id).name.clone());
        names.extend(absorbed(id));
    }
    names
}

/// What decides a kernel's price: its work, the bits of what it finds in device memory, its tiling.
type Look = (Workload, Option<u64>, Schedule);

/// What the performance model says of kernels, each kind priced once.
struct Pricer<'a> {
    soc: &'a Soc,
    known: FxHashMap<Look, Option<(Prediction, Counts)>>,
}

impl<'a> Pricer<'a> {
    fn new(soc: &'a Soc) -> Pricer<'a> {
        Pricer { soc, known: FxHashMap::default() }
    }

    fn price(&mut self, kernel: &lower::Kernel, schedule: &Schedule) -> Option<(Prediction, Counts)> {
        let key = (kernel.workload.clone(), kernel.missed.map(f64::to_bits), schedule.clone());
        let price = || {
            let model = sim::Model::new(&kernel.workload, self.soc).ok()?;
            let model = kernel.missed.map_or(model.clone(), |bytes| model.with_missed(bytes));
            Some((model.predict(schedule).ok()?, model.counts(schedule).ok()?))
        };
        *self.known.entry(key).or_insert_with(price)
    }
}

/// The tensors of a graph, and who reads them.
struct Tensors<'a> {
    graph: &'a Graph,
    precision: Precision,
    readers: FxHashMap<Port, Vec<NodeId>>,
    leaving: FxHashSet<Port>,
}

impl<'a> Tensors<'a> {
    fn of(graph: &'a Graph, precision: Precision) -> Tensors<'a> {
        let mut readers: FxHashMap<Port, Vec<NodeId>> = FxHashMap::default();
        for (id, node) in graph.iter() {
            node.inputs.iter().flatten().for_each(|&port| readers.entry(port).or_default().push(id));
        }
        Tensors { graph, precision, readers, leaving: graph.outputs().iter().copied().collect() }
    }

    /// What a kernel reads from outside, each tensor once for each reading node, and what it leaves to others.
    fn of_kernel(&self, kernel: &lower::Kernel) -> [Vec<Tensor>; 2] {
        let nodes: Vec<NodeId> = std::iter::once(kernel.node).chain(kernel.fused.iter().copied()).collect();
        let read = nodes.iter().flat_map(|&id| self.graph.node(id).inputs.iter().flatten());
        let inputs = read.filter(|port| !nodes.contains(&port.node)).map(|&port| self.tensor(port)).collect();
        let made =
            |&id: &NodeId| (0..self.graph.node(id).outputs.len() as u32).map(move |output| Port { node: id, output });
        let leaves = |port: &Port| {
            let readers = self.readers.get(port).map_or(&[][..], Vec::as_slice);
            self.leaving.contains(port) || readers.iter().any(|reader| !nodes.contains(reader))
        };
        let mut outputs: Vec<Port> = nodes.iter().flat_map(made).filter(leaves).collect();
        if outputs.is_empty() {
            // Nobody reads it: its last node writes all the same.
            outputs.extend(nodes.last().into_iter().flat_map(made));
        }
        [inputs, outputs.into_iter().map(|port| self.tensor(port)).collect()]
    }

    fn tensor(&self, port: Port) -> Tensor {
        let desc = self.graph.desc(port);
        let desc = TensorDesc { dtype: self.precision.stored(desc.dtype), ..desc.clone() };
        Tensor { desc, is_weight: self.graph.node(port.node).value.is_some() }
    }
}
