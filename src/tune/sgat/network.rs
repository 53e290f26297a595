//! A lowered graph as subgraph tuning sees it: kernels with their roles in fusion, and who reads whom.

use crate::frontend::air::tuned::MOST_PARTS;
use crate::graph::op::{self, Kind};
use crate::graph::{DataType, Graph, NodeId};
use crate::lower::{self, Batch, Kernel, Layouts, Lowered, Priced, Read, Source, flows};
use crate::soc::{Arch, Soc};
use crate::status::Result;
use crate::workload::{ConvKind, Operand, Workload};
use std::ops::Range;
use std::sync::OnceLock;

/// What a kernel may be in a fused one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A product or convolution: may lead, elementwise work following on its result.
    Cube,
    /// Elementwise work: may lead or follow.
    Elementwise,
    /// A reduction: may come last behind elementwise work.
    Reducing,
    /// A kernel that is fused with nothing: its template is closed, or it moves data.
    Alone,
    /// A kernel of another engine (`HCCL`, AI CPU) or of an unknown operator: subgraphs end here.
    Border,
}

/// One kernel.
#[derive(Debug, Clone)]
pub struct Stage<'a> {
    /// The node it runs.
    pub node: NodeId,
    /// The layouts that it works in and leaves.
    pub layouts: Layouts,
    /// What it does.
    pub workload: &'a Workload,
    /// What it may be in a fused kernel.
    pub role: Role,
    /// Tensors that it reads.
    pub reads: Vec<Read>,
    /// Elements of the tensor that its loop walks over: the result's, for a reduction the input's.
    pub domain: u64,
    /// Elements of its result.
    pub elements: u64,
    /// Bytes of its result.
    pub written: u64,
    /// Whether it is launched at all: a joined tensor whose parts are written in place is there already.
    pub runs: bool,
    /// How its time is told.
    pub priced: Priced,
    /// Whether a result leaves the graph.
    pub leaves: bool,
    /// Whether it reads or makes conditions. Asked of each pair of kernels, and a kernel may have very many operands.
    pub decides: bool,
    /// Kernels that read its result, ascending, each once.
    pub users: Vec<u32>,
}

/// Whether a kernel reads or makes conditions.
fn decides(workload: &Workload) -> bool {
    let is_condition = |operands: &[Operand]| operands.iter().any(|operand| operand.dtype == DataType::Bool);
    workload.operands().is_some_and(|(read, made)| is_condition(read) || is_condition(made))
}

/// The kernels of a graph in the order in which they run.
#[derive(Debug)]
pub struct Network<'a> {
    graph: &'a Graph,
    lowered: &'a Lowered,
    soc: &'a Soc,
    settings: lower::Settings,
    batch: Option<Batch>,
    /// Numbers of parts that the batch may be cut into, ascending.
    cuts: Vec<u64>,
    stages: Vec<Stage<'a>>,
    /// What each kernel does on a part of the batch, for each of `cuts`; made when it is first asked.
    slices: Vec<OnceLock<Box<[Option<Workload>]>>>,
    /// See [`Network::chains`].
    chains: OnceLock<Vec<Option<u32>>>,
}

impl<'a> Network<'a> {
    /// Looks at a lowered graph.
    pub fn new(
        graph: &'a Graph,
        lowered: &'a Lowered,
        soc: &'a Soc,
        settings: &lower::Settings,
    ) -> Result<Network<'a>> {
        let flows = flows(graph, lowered, soc, settings);
        let mut stages: Vec<Stage<'a>> = Vec::with_capacity(lowered.kernels.len());
        for (((kernel, reads), leaves), layouts) in
            lowered.kernels.iter().zip(flows.reads).zip(flows.leaves).zip(flows.layouts)
        {
            let at = stages.len() as u32;
            for read in &reads {
                if let Source::Kernel(from) = read.source
                    && let Some(users) = stages.get_mut(from as usize).map(|s| &mut s.users)
                    && users.last() != Some(&at)
                {
                    users.push(at);
                }
            }
            let kind = op::kind(&graph.node(kernel.node).op_type);
            let role = if kernel.priced.is_timed() { role(&kernel.workload, kind, soc) } else { Role::Border };
            let elements = elements(graph, kernel, layouts, settings);
            let widest = reads.iter().map(|r| r.elements).max().unwrap_or(elements);
            stages.push(Stage {
                node: kernel.node,
                layouts,
                workload: &kernel.workload,
                role,
                reads,
                domain: if role == Role::Reducing { widest } else { elements },
                elements,
                written: lower::written_bytes(&kernel.workload),
                runs: kernel.launches > 0,
                priced: kernel.priced,
                leaves,
                decides: decides(&kernel.workload),
                users: Vec::new(),
            });
        }
        let batch = Batch::of(graph)?;
        let size = batch.as_ref().map_or(1, Batch::size);
        let cuts: Vec<u64> = (2..=size.min(MOST_PARTS)).filter(|parts| size.is_multiple_of(*parts)).collect();
        let slices = if cuts.is_empty() { Vec::new() } else { stages.iter().map(|_| OnceLock::new()).collect() };
        Ok(Network { graph, lowered, soc, settings: *settings, batch, cuts, stages, slices, chains: OnceLock::new() })
    }

    /// Tells kernels made of this network's what they find in device memory; those in the ranges `cut` run on parts of
    /// the batch.
    pub fn settle(&self, lowered: &mut Lowered, cut: &[Range<usize>]) {
        lower::settle(self.graph, lowered, self.soc, &self.settings, cut);
    }

    /// The kernels.
    pub fn stages(&self) -> &[Stage<'a>] {
        &self.stages
    }

    /// A kernel.
    pub fn stage(&self, at: u32) -> &Stage<'a> {
        &self.stages[at as usize]
    }

    /// Ascend operator type of a kernel's node.
    pub fn op_type(&self, at: u32) -> &'a str {
        &self.graph.node(self.stage(at).node).op_type
    }

    /// Name of a kernel's node.
    pub fn name(&self, at: u32) -> &'a str {
        &self.graph.node(self.stage(at).node).name
    }

    /// The room for what [`chained_to`](super::chains::chained_to) finds once for the whole network.
    pub(super) fn chains(&self) -> &OnceLock<Vec<Option<u32>>> {
        &self.chains
    }

    /// The part that the network runs on.
    pub fn soc(&self) -> &Soc {
        self.soc
    }

    /// Which of these kernels reads the result of which: maker and reader, counted from the first of them.
    pub fn edges(&self, kernels: &Range<u32>) -> Vec<[u32; 2]> {
        let users = |at: u32| self.stage(at).users.iter().map(move |&user| [at, user]);
        let inside = kernels.clone().flat_map(users).filter(|[_, user]| kernels.contains(user));
        inside.map(|edge| edge.map(|at| at - kernels.start)).collect()
    }

    /// The graph it was made from.
    pub fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// What decided how the graph was lowered.
    pub fn settings(&self) -> &lower::Settings {
        &self.settings
    }

    /// Nodes whose operator is not known.
    pub fn unmapped(&self) -> &'a [NodeId] {
        &self.lowered.unmapped
    }

    /// Numbers of parts that the batch may be cut into, ascending; empty where there is no batch to cut.
    pub fn cuts(&self) -> &[u64] {
        &self.cuts
    }

    /// Size of the batch along which a kernel's results can be cut; 0 where they do not have it.
    pub fn batch_of(&self, at: u32) -> u64 {
        let batch = self.batch.as_ref().filter(|batch| batch.carries(self.stage(at).node));
        batch.map_or(0, Batch::size)
    }

    /// What a kernel does for one of `parts` equal parts of the batch; `None` where it needs all of it, or
    /// `parts` is none of [`Network::cuts`].
    pub fn slice(&self, at: u32, parts: u64) -> Option<&Workload> {
        let (batch, which) = (self.batch.as_ref()?, self.cuts.binary_search(&parts).ok()?);
        let slice = |&parts: &u64| {
            batch.slice(self.graph, self.soc, &self.settings, (self.stage(at).node, self.stage(at).layouts), parts)
        };
        self.slices[at as usize].get_or_init(|| self.cuts.iter().map(slice).collect())[which].as_ref()
    }

    /// Elements that a kernel sees of a tensor on one of `parts` parts of the batch: rows of a part fill up blocks anew.
    pub fn part_of(&self, at: u32, read: &Read, parts: u64) -> u64 {
        let Some(batch) = self.batch.as_ref().filter(|_| parts > 1 && self.carries(read)) else { return read.elements };
        let Stage { node, layouts, .. } = *self.stage(at);
        let part = batch.part_of(self.graph.desc(read.port), parts);
        let blocked = || layouts.elements(self.graph.node(node), &part, true, self.settings.precision);
        read.in_blocks.then(blocked).flatten().unwrap_or(read.elements / parts)
    }

    /// Whether a tensor that a kernel reads is cut with the batch.
    pub fn carries(&self, read: &Read) -> bool {
        let maker = match read.source {
            Source::Kernel(at) => self.stage(at).node,
            Source::Input => read.origin.node,
            Source::Constant => return false,
        };
        self.batch.as_ref().is_some_and(|batch| batch.carries(maker))
    }
}

fn role(workload: &Workload, kind: Kind, soc: &Soc) -> Role {
    match (workload, kind) {
        (Workload::Collective(_), _) => Role::Border,
        (Workload::MatMul(_), Kind::MatMul) => Role::Cube,
        // `Conv3DV2` is no kernel of TBE's, which alone has what follows it fused in.
        (Workload::Conv(conv), _) if conv.is_volume() && soc.arch == Arch::C220 => Role::Alone,
        (Workload::Conv(conv), _) if conv.kind == ConvKind::Forward => Role::Cube,
        (Workload::Vector(w), Kind::Elementwise | Kind::PerChannel) if w.outputs.len() == 1 => Role::Elementwise,
        (Workload::Reduce(w), Kind::ReduceAxes) if w.outputs.len() == 1 => Role::Reducing,
        _ => Role::Alone,
    }
}

/// Elements of a kernel's first result, with those that fill up its blocks.
fn elements(graph: &Graph, kernel: &Kernel, layouts: Layouts, settings: &lower::Settings) -> u64 {
    let node = graph.node(kernel.node);
    let result = node.outputs.first();
    let elements = result.and_then(|desc| layouts.elements(node, desc, false, settings.precision));
    elements.unwrap_or(0)
}
