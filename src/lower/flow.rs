//! How data flows between kernels: which tensors each reads and who made them, seen through the nodes
//! that run no kernel.

use super::{Lowered, Settings};
use crate::graph::{Graph, NodeId, Port};
use crate::workload::{Operand, Workload};
use rustc_hash::FxHashMap;

/// Who made a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// An earlier kernel, by its place among the kernels.
    Kernel(u32),
    /// A constant: a weight.
    Constant,
    /// The caller: an input of the graph.
    Input,
}

/// A tensor that a kernel reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// Who made it.
    pub source: Source,
    /// The tensor itself, seen through views: reads of one tensor have one origin.
    pub origin: Port,
    /// Elements of it that the kernel sees.
    pub elements: u64,
    /// Bytes of these in the type that the tensor is stored in.
    pub bytes: u64,
}

/// The tensors of each kernel, in the order of the kernels.
#[derive(Debug, Clone, Default)]
pub struct Flows {
    /// What each kernel reads, in the order of its node's inputs; integer parameters are left out.
    pub reads: Vec<Vec<Read>>,
    /// Whether a result of the kernel leaves the graph.
    pub leaves: Vec<bool>,
}

/// Follows the tensors of a lowered graph.
pub fn flows(graph: &Graph, lowered: &Lowered, settings: &Settings) -> Flows {
    let place: FxHashMap<NodeId, u32> = lowered.kernels.iter().zip(0u32..).map(|(k, at)| (k.node, at)).collect();
    let source = |mut port: Port| loop {
        if let Some(&at) = place.get(&port.node) {
            return (Source::Kernel(at), port);
        }
        let node = graph.node(port.node);
        if node.value.is_some() {
            return (Source::Constant, port);
        }
        // A view has the bytes of its first input.
        match node.input(0) {
            Some(earlier) => port = earlier,
            None => return (Source::Input, port),
        }
    };
    let mut flows = Flows { reads: Vec::with_capacity(place.len()), leaves: vec![false; place.len()] };
    for kernel in &lowered.kernels {
        let read = |port: &Port| {
            let desc = graph.desc(*port);
            let (source, origin) = source(*port);
            let parameter = source == Source::Constant && !desc.dtype.is_float();
            let elements = desc.shape.elements().filter(|&n| n > 0 && !parameter)?;
            let bits = u64::from(settings.precision.stored(desc.dtype).bits());
            Some(Read { source, origin, elements, bytes: elements.saturating_mul(bits).div_ceil(8) })
        };
        flows.reads.push(graph.node(kernel.node).inputs.iter().flatten().filter_map(read).collect());
    }
    for &port in graph.outputs() {
        if let (Source::Kernel(at), _) = source(port) {
            flows.leaves[at as usize] = true;
        }
    }
    flows
}

/// Bytes that a kernel writes.
pub fn written_bytes(workload: &Workload) -> u64 {
    match workload {
        Workload::Collective(w) => w.bytes,
        Workload::Fused(parts) => parts.last().map_or(0, written_bytes),
        _ => match (workload.cube(), workload.operands()) {
            (Some(cube), _) => cube.results().saturating_mul(u64::from(cube.out_dtype.bits())).div_ceil(8),
            (None, operands) => operands.map_or(0, |(_, outputs)| outputs.iter().map(Operand::bytes).sum()),
        },
    }
}
