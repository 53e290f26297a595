//! The gradients of a training graph, and when each is ready.
//!
//! One stream computes: the kernels run one after the other in the order of the graph. What needs the result of an
//! exchange (the optimiser's steps) is not of the backward pass.

use super::gradients::{DTYPES, Gradient, Training, WORLD};
use super::outcome::KernelTime;
use crate::bank::gradient::model_hash;
use crate::graph::{Graph, NodeId, Port, infer};
use crate::lower::{self, Lowered};
use crate::status::{Error, Result};
use crate::workload::Workload;

/// Operator type of the exchange of a gradient.
pub const ALL_REDUCE: &str = "HcomAllReduce";
/// Attribute of an exchange: whether it may be fused. 0 with none, 1 by the split, 2 with those of the same `fusion_id`.
pub const FUSION: &str = "fusion";
/// Attribute of an exchange: which others it is fused with, where `fusion` is 2.
pub const FUSION_ID: &str = "fusion_id";
/// `fusion`: by the split.
pub const BY_SPLIT: i64 = 1;
/// `fusion`: by `fusion_id`.
pub const BY_ID: i64 = 2;

/// The exchanges of a graph that are tuned, and the kernels of its forward and backward pass.
#[derive(Debug)]
pub struct Backward<'a> {
    graph: &'a Graph,
    lowered: &'a Lowered,
    /// The nodes, in topological order.
    order: Vec<NodeId>,
    /// The tuned exchanges, in that order.
    exchanges: Vec<NodeId>,
    /// For each node, whether it needs the result of an exchange.
    is_behind: Vec<bool>,
}

impl<'a> Backward<'a> {
    /// Looks at a graph; `lowered` has the kernels whose sizes are known.
    ///
    /// Fails with [`Error::NothingToTune`] where it exchanges no gradient that may be fused, with [`Error::Dynamic`] that
    /// names a gradient of unknown size, and with [`Error::Graph`] that names an exchange which cannot be one.
    pub fn of(graph: &'a Graph, lowered: &'a Lowered) -> Result<Backward<'a>> {
        let order = graph.validated_order()?;
        let mut is_behind = vec![false; graph.len()];
        let (mut exchanges, mut others) = (Vec::new(), 0);
        for &id in &order {
            let node = graph.node(id);
            is_behind[id.index()] = node.inputs.iter().flatten().any(|port| is_behind[port.node.index()]);
            if node.op_type == ALL_REDUCE {
                let is_fused = node.attrs.int(FUSION) == Some(BY_SPLIT) && node.attrs.str("reduction") == Some("sum");
                if is_fused {
                    exchanges.push(id);
                } else {
                    others += 1;
                }
                is_behind[id.index()] = true;
            }
        }
        if exchanges.is_empty() {
            let found = if others == 0 {
                format!("no {ALL_REDUCE}: gradients are tuned of a training graph; for any other, take job_type 1 or 2")
            } else {
                format!("{others} {ALL_REDUCE}, none with attributes {FUSION} = {BY_SPLIT} and reduction = sum")
            };
            return Err(Error::NothingToTune { reason: format!("graph `{}` has {found}", graph.name) });
        }
        // A split counts gradients: one whose size nobody knows leaves none to be found.
        let sources = exchanges.iter().filter_map(|&id| graph.node(id).input(0));
        if let Some(unknown) = sources.into_iter().find(|&source| graph.desc(source).bytes().is_none()) {
            return Err(infer::dynamic(graph, unknown));
        }
        if others > 0 {
            log::warn!("{others} {ALL_REDUCE} that may not be fused by the split are left out of the model");
        }
        Ok(Backward { graph, lowered, order, exchanges, is_behind })
    }

    /// What each kernel of the two passes does, in the order in which they run; exchanges are none.
    pub fn workloads(&self) -> impl Iterator<Item = &'a Workload> {
        self.kernels().filter(|(_, kernel)| kernel.priced.is_timed()).map(|(_, kernel)| &kernel.workload)
    }

    /// The kernels of the two passes with their places among those of the graph, in the order in which they run.
    fn kernels(&self) -> impl Iterator<Item = (usize, &'a lower::Kernel)> {
        let computes = |kernel: &lower::Kernel| !matches!(kernel.workload, Workload::Collective(_));
        let mut kernels: Vec<Option<(usize, &lower::Kernel)>> = vec![None; self.graph.len()];
        for (place, kernel) in self.lowered.kernels.iter().enumerate().filter(|(_, kernel)| computes(kernel)) {
            kernels[kernel.node.index()] = Some((place, kernel));
        }
        let passes = self.order.iter().filter(|id| !self.is_behind[id.index()]);
        passes.filter_map(|id| kernels[id.index()]).collect::<Vec<_>>().into_iter()
    }

    /// The kernels that run in a step until its gradients are exchanged: those of the two passes, and the exchanges.
    pub fn of_step(&self) -> Lowered {
        let is_tuned = |kernel: &&lower::Kernel| self.exchanges.contains(&kernel.node);
        let exchanges = self.lowered.kernels.iter().filter(is_tuned);
        let kernels = self.kernels().map(|(_, kernel)| kernel).chain(exchanges).cloned().collect();
        Lowered { kernels, unmapped: self.lowered.unmapped.clone() }
    }

    /// The time of one launch of each kernel of the two passes, in the order in which they run: so many microseconds,
    /// and whether the simulator says so.
    pub fn times(&self, time: impl Fn(&Workload) -> (f64, bool)) -> Vec<KernelTime> {
        let timed = |(place, kernel): (usize, &lower::Kernel)| {
            let (us, is_simulated) = if kernel.priced.is_timed() { time(&kernel.workload) } else { (0.0, false) };
            KernelTime { kernel: place, us, is_simulated }
        };
        self.kernels().map(timed).collect()
    }

    /// The gradients in the order in which they are ready, where the kernels take these times.
    pub fn training(&self, times: &[KernelTime]) -> Result<Training> {
        let mut ends = vec![0.0f64; self.graph.len()];
        let mut took = vec![None; self.graph.len()];
        for time in times {
            let kernel = &self.lowered.kernels[time.kernel];
            took[kernel.node.index()] = Some(time.us * f64::from(kernel.launches));
        }
        let mut now = 0.0f64;
        for &id in self.order.iter().filter(|id| !self.is_behind[id.index()]) {
            let inputs = self.graph.node(id).inputs.iter().flatten();
            let given = inputs.map(|port| ends[port.node.index()]).fold(0.0, f64::max);
            ends[id.index()] = match took[id.index()] {
                Some(us) => {
                    now += us;
                    now
                }
                // What runs no kernel is there when its inputs are.
                None => given,
            };
        }
        let mut found = Vec::with_capacity(self.exchanges.len());
        for &id in &self.exchanges {
            let (gradient, source) = self.gradient(id)?;
            found.push((ends[source.node.index()], gradient));
        }
        // Stable: those that are ready at once stay in the order of the graph.
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ns = |us: f64| (us * 1e3).round() as u64;
        let mut last = 0;
        let mut pause = |us: f64| ns(us) - std::mem::replace(&mut last, ns(us));
        let times_ns = found.iter().map(|(us, _)| pause(*us)).collect();
        let rest_us = found.last().map_or(0.0, |(us, _)| now - us);
        let gradients = found.into_iter().map(|(_, gradient)| gradient).collect();
        let training = Training { gradients, times_ns, rest_us, from_begin: true, hash: self.hash() };
        let wrong = |reason| Error::graph(format!("graph `{}`", self.graph.name), reason);
        training.check().map_err(wrong)?;
        Ok(training)
    }

    /// What one exchange exchanges, and where that comes from.
    fn gradient(&self, id: NodeId) -> Result<(Gradient, Port)> {
        let node = self.graph.node(id);
        let wrong = |reason: String| Error::graph(format!("node `{}` ({ALL_REDUCE})", node.name), reason);
        let sources: Vec<Port> = node.inputs.iter().flatten().copied().collect();
        let [source] = sources.as_slice() else {
            return Err(wrong(format!("it has {} inputs; one gradient is exchanged by one node", sources.len())));
        };
        if self.is_behind[source.node.index()] {
            return Err(wrong("its gradient needs the result of another exchange".into()));
        }
        let desc = self.graph.desc(*source);
        if !DTYPES.contains(&desc.dtype) {
            return Err(wrong(format!("gradients of type {} are not exchanged", desc.dtype.name())));
        }
        let bytes = desc.bytes().ok_or_else(|| infer::dynamic(self.graph, *source))?;
        let gradient = Gradient {
            node: self.graph.node(source.node).name.clone(),
            all_reduce: node.name.clone(),
            dtype: desc.dtype,
            bytes,
            group: node.attrs.str("group").unwrap_or(WORLD).to_owned(),
        };
        Ok((gradient, *source))
    }

    /// The network's name in the gradient bank: over the inputs of all its exchanges, of which CANN does not know the
    /// sizes yet when it makes it.
    fn hash(&self) -> u64 {
        let exchanges = self.order.iter().map(|&id| self.graph.node(id)).filter(|node| node.op_type == ALL_REDUCE);
        let inputs = exchanges.flat_map(|node| node.inputs.iter().flatten());
        model_hash(inputs.map(|&port| (self.graph.desc(port).dtype, 0)))
    }
}
