//! Where the operands of cube kernels lie in a running network: constants come from device memory once a step, what
//! other kernels made is in L2 as far as what has passed since lets it stay.

use super::{Lowered, Settings, tensors, written_bytes};
use crate::graph::{Graph, NodeId, Port};
use crate::soc::Soc;
use rustc_hash::{FxHashMap, FxHashSet};

/// Tells every cube kernel that is launched once how many bytes of its operands it finds in device memory. Kernels
/// that know it already (their group's batch is cut) keep it. Vector kernels keep what their kind tells: that is what
/// their prices were fitted to.
///
/// L2 drops what was used longest ago: of `s` bytes that were used when `d` bytes had still to pass, `L2 - d` are there.
pub fn settle(graph: &Graph, lowered: &mut Lowered, soc: &Soc, settings: &Settings) {
    let mut makers: Vec<Option<u32>> = vec![None; graph.len()];
    for (kernel, at) in lowered.kernels.iter().zip(0..) {
        for id in std::iter::once(&kernel.node).chain(&kernel.fused) {
            makers[id.index()] = Some(at);
        }
    }
    let mut passing = Passing { used: FxHashMap::default(), passed: 0, l2_size: soc.l2_size };
    for at in 0..lowered.kernels.len() {
        let kernel = &lowered.kernels[at];
        if kernel.launches == 0 {
            continue;
        }
        let at = at as u32;
        let members: Vec<NodeId> = std::iter::once(kernel.node).chain(kernel.fused.iter().copied()).collect();
        let reads = reads(graph, &members, at, &makers, settings);
        let missed: u64 = reads.iter().map(|(origin, bytes)| passing.missed(*origin, *bytes)).sum();
        let written = written_bytes(&kernel.workload).saturating_mul(u64::from(kernel.launches));
        let outputs = members.iter().flat_map(|&id| (0u32..).zip(&graph.node(id).outputs).map(move |(n, _)| (id, n)));
        let made: Vec<Port> = outputs.map(|(node, output)| Port { node, output }).collect();
        passing.pass(reads.iter().map(|(origin, _)| *origin), reads.iter().map(|(_, bytes)| *bytes).sum());
        passing.pass(made.into_iter(), written);
        let kernel = &mut lowered.kernels[at as usize];
        if kernel.launches == 1 && kernel.missed.is_none() && kernel.workload.is_cube() {
            kernel.missed = Some(missed as f64);
        }
    }
}

/// The tensors that pass L2, one after the other.
struct Passing {
    /// Bytes that had passed when each tensor was last used.
    used: FxHashMap<Port, u64>,
    passed: u64,
    l2_size: u64,
}

impl Passing {
    /// Bytes of a tensor that have left L2, or were never there.
    fn missed(&self, origin: Port, bytes: u64) -> u64 {
        let held = self.used.get(&origin).map_or(0, |used| self.l2_size.saturating_sub(self.passed - used));
        bytes.saturating_sub(held)
    }

    fn pass(&mut self, tensors: impl Iterator<Item = Port>, bytes: u64) {
        self.passed = self.passed.saturating_add(bytes);
        self.used.extend(tensors.map(|origin| (origin, self.passed)));
    }
}

/// The tensors that a kernel reads and does not make itself, each once, seen through nodes that run no kernel, with
/// their bytes.
fn reads(graph: &Graph, members: &[NodeId], at: u32, makers: &[Option<u32>], settings: &Settings) -> Vec<(Port, u64)> {
    let mut seen: FxHashSet<Port> = FxHashSet::default();
    let mut reads = Vec::new();
    for &member in members {
        let node = graph.node(member);
        for &port in node.inputs.iter().flatten() {
            let origin = origin(graph, port, makers);
            if makers[origin.node.index()] == Some(at) || !seen.insert(origin) {
                continue;
            }
            let desc = graph.desc(port);
            // Integer constants (axes, sizes) are part of the kernel.
            let is_parameter =
                graph.node(origin.node).value.is_some() && !desc.dtype.is_float() && desc.shape.rank() < Some(2);
            let bits = u64::from(tensors::stored(node, desc, true, settings.precision).bits());
            let elements = desc.shape.elements().filter(|_| !is_parameter).unwrap_or(0);
            reads.push((origin, elements.saturating_mul(bits).div_ceil(8)));
        }
    }
    reads
}

/// The tensor itself, seen through views: they have the bytes of their first input.
fn origin(graph: &Graph, mut port: Port, makers: &[Option<u32>]) -> Port {
    loop {
        let node = graph.node(port.node);
        match node.input(0) {
            Some(earlier) if makers[port.node.index()].is_none() && node.value.is_none() => port = earlier,
            _ => return port,
        }
    }
}
