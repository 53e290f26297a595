//! From the kernels of a network and their times to its run.

use super::run::{COMPUTING, EXCHANGING, Kernel, Model, Run, Task, Tensor};
use super::timed::{Form, Scene, Timed, TimedKernel};
use crate::graph::{Attr, Graph, NodeId, Port, TensorDesc};
use crate::lower::{self, FUSED_NODES, Layouts, Precision, device_layouts};
use crate::workload::Workload;
use rustc_hash::{FxHashMap, FxHashSet};

impl Timed<'_> {
    /// The network's run: every kernel with its names and tensors, every launch in its place.
    pub fn run(&self) -> Run {
        let mut run = Run {
            network: self.scene.network.to_owned(),
            soc: self.scene.soc.clone(),
            models: Vec::with_capacity(self.forms.len()),
            kernels: Vec::with_capacity(self.kernels.len()),
            tasks: Vec::new(),
            ranks: self.step.as_ref().map(|step| step.ranks.clone()),
        };
        let mut clock = 0.0;
        let mut kernels = self.kernels.iter().peekable();
        for (number, form) in self.forms.iter().enumerate() {
            let tensors = Tensors::of(form, &self.scene);
            let first = run.kernels.len();
            while let Some(kernel) = kernels.next_if(|kernel| kernel.form == number) {
                run.kernels.push(self.kernel(kernel, form, &tensors));
            }
            let begin = run.tasks.len();
            for kernel in launches(&run.kernels, first) {
                let stream = if run.kernels[kernel].engine.computes() { COMPUTING } else { EXCHANGING };
                let start_us = self.kernels[kernel].start_us.unwrap_or(clock);
                run.tasks.push(Task { kernel, stream, start_us });
                clock = start_us + run.kernels[kernel].us();
            }
            let name = format!("{}{}", self.scene.network, form.label);
            let backward_us = self.step.as_ref().map(|step| step.backward_us);
            run.models.push(Model { id: number as u32 + 1, name, tasks: begin..run.tasks.len(), backward_us });
        }
        run
    }

    fn kernel(&self, timed: &TimedKernel<'_>, form: &Form<'_>, tensors: &Tensors<'_>) -> Kernel {
        let TimedKernel { form: model, kernel, kind, us, .. } = *timed;
        let kind = &self.kinds[kind];
        let [inputs, outputs] = tensors.of_kernel(kernel);
        let node = form.graph.node(kernel.node);
        Kernel {
            model,
            name: node.name.clone(),
            launched: kernel.name(form.graph),
            fused: fused(form.graph, kernel),
            op_type: node.op_type.clone(),
            engine: kind.engine,
            inputs,
            outputs,
            workload: kernel.workload.clone(),
            schedule: kind.schedule.clone(),
            duration_us: us,
            missed: kernel.missed,
            launches: kernel.launches,
            prediction: kind.prediction,
            counts: kind.counts,
            is_simulated: kind.is_simulated,
        }
    }
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

/// The tensors of a graph, and who reads them.
struct Tensors<'a> {
    graph: &'a Graph,
    precision: Precision,
    /// How the tensors of nodes lie.
    layouts: FxHashMap<NodeId, Layouts>,
    readers: FxHashMap<Port, Vec<NodeId>>,
    leaving: FxHashSet<Port>,
    /// The nodes of all kernels; others run nothing.
    launching: FxHashSet<NodeId>,
}

impl<'a> Tensors<'a> {
    fn of(form: &Form<'a>, scene: &Scene<'_>) -> Tensors<'a> {
        let (graph, precision) = (form.graph, scene.precision);
        let settings = lower::Settings { precision, ..lower::Settings::default() };
        let layouts = device_layouts(graph, form.lowered, scene.soc, &settings);
        let mut readers: FxHashMap<Port, Vec<NodeId>> = FxHashMap::default();
        for (id, node) in graph.iter() {
            node.inputs.iter().flatten().for_each(|&port| readers.entry(port).or_default().push(id));
        }
        let kernels = form.lowered.kernels.iter();
        let launching =
            kernels.flat_map(|kernel| std::iter::once(kernel.node).chain(kernel.fused.iter().copied())).collect();
        Tensors { graph, precision, layouts, readers, leaving: graph.outputs().iter().copied().collect(), launching }
    }

    /// What a tensor is another look at: views, and casts to the type that it has, run nothing.
    fn origin(&self, mut port: Port) -> Port {
        while let Some(input) = self.looks_at(port.node) {
            port = input;
        }
        port
    }

    /// The one tensor that a node hands on without running anything; the others that it reads are constants.
    fn looks_at(&self, id: NodeId) -> Option<Port> {
        let is_constant = |port: &Port| self.graph.node(port.node).value.is_some();
        let mut inputs = self.graph.node(id).inputs.iter().flatten().filter(|port| !is_constant(port));
        let first = inputs.next().filter(|_| !self.launching.contains(&id) && inputs.next().is_none());
        first.copied()
    }

    /// Whether others than these nodes read a tensor, through whatever views, or it leaves the network.
    fn leaves(&self, port: Port, nodes: &[NodeId]) -> bool {
        let mut looks = vec![port];
        while let Some(port) = looks.pop() {
            if self.leaving.contains(&port) {
                return true;
            }
            for &reader in self.readers.get(&port).map_or(&[][..], Vec::as_slice) {
                if self.looks_at(reader) == Some(port) {
                    let outputs = self.graph.node(reader).outputs.len() as u32;
                    looks.extend((0..outputs).map(|output| Port { node: reader, output }));
                } else if !nodes.contains(&reader) {
                    return true;
                }
            }
        }
        false
    }

    /// What a kernel reads from outside, each tensor once for each reading node, and what it leaves to others.
    fn of_kernel(&self, kernel: &lower::Kernel) -> [Vec<Tensor>; 2] {
        let nodes: Vec<NodeId> = std::iter::once(kernel.node).chain(kernel.fused.iter().copied()).collect();
        let read =
            nodes.iter().flat_map(|&id| self.graph.node(id).inputs.iter().flatten().map(move |&port| (id, port)));
        // Exchanged is what the graph states: the precision is that of operators.
        let precision = (!matches!(kernel.workload, Workload::Collective(_))).then_some(self.precision);
        let layouts = |node| self.layouts.get(&node).copied().unwrap_or(Layouts::PLAIN);
        let read = read.filter(|(_, port)| !nodes.contains(&self.origin(*port).node));
        let inputs = read.map(|(reader, port)| self.tensor(port, precision, layouts(reader), Some(reader))).collect();
        let made =
            |&id: &NodeId| (0..self.graph.node(id).outputs.len() as u32).map(move |output| Port { node: id, output });
        let is_known = |port: &Port| self.graph.desc(*port).shape.known().is_some();
        // A kernel of one node writes all its results, whoever reads them; of a fused one those that stay inside are none.
        let is_written = |port: &Port| nodes.len() == 1 && is_known(port) || self.leaves(*port, &nodes);
        let mut outputs: Vec<Port> = nodes.iter().flat_map(made).filter(is_written).collect();
        if outputs.is_empty() {
            // Nobody reads it: its last node writes all the same.
            outputs.extend(nodes.last().into_iter().flat_map(made));
        }
        [inputs, outputs.into_iter().map(|port| self.tensor(port, precision, layouts(port.node), None)).collect()]
    }

    /// A tensor as a kernel with these layouts reads or, without a reader, leaves it: stored with this precision, else as
    /// the graph states it.
    fn tensor(&self, port: Port, precision: Option<Precision>, layouts: Layouts, reader: Option<NodeId>) -> Tensor {
        let stated = self.graph.desc(port);
        let user = self.graph.node(reader.unwrap_or(port.node));
        let dtype = precision.map_or(stated.dtype, |it| lower::stored_by(user, stated, reader.is_some(), it));
        let stored = match reader {
            Some(reader) => layouts.read(self.graph, self.graph.node(reader), port, dtype),
            None => layouts.written(stated, dtype),
        };
        let desc = TensorDesc { dtype, ..stated.clone() };
        Tensor { desc, stored, is_weight: self.graph.node(port.node).value.is_some() }
    }
}
