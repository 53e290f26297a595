//! Where the operands of kernels lie in a running network: constants come from device memory once a step, what other
//! kernels made is in L2 as far as what has passed since lets it stay.

use super::{Lowered, Settings, tensors, written_bytes};
use crate::graph::{Graph, NodeId, Port};
use crate::sim;
use crate::soc::Soc;
use std::ops::Range;

/// Tells every cube kernel how many bytes of its operands each launch finds in device memory. Vector kernels keep what their
/// kind tells: that is what their prices were fitted to. But where plain fp32 operands would be taken for parameters, which
/// come from device memory, and none that is large is one, they find what those of another rank or type do, and of what the
/// caller gives nothing.
///
/// Kernels within one of the ranges `cut` run on parts of a batch, one part of all of them after the other. What such a
/// kernel finds of its group's weights and results it knows already; what comes from before the group is added. Any other
/// that knows what it finds keeps it.
///
/// L2 drops what was used longest ago: of `s` bytes that were used when `d` bytes had still to pass, `L2 - d` are there.
pub fn settle(graph: &Graph, lowered: &mut Lowered, soc: &Soc, settings: &Settings, cut: &[Range<usize>]) {
    let mut makers: Vec<Option<u32>> = vec![None; graph.len()];
    for (kernel, at) in lowered.kernels.iter().zip(0..) {
        for id in std::iter::once(&kernel.node).chain(&kernel.fused) {
            makers[id.index()] = Some(at);
        }
    }
    let mut passing = Passing::new(graph, soc);
    let mut reader = Reader { graph, settings, makers: &makers, seen: vec![0; passing.used.len()], reads: Vec::new() };
    let mut groups = cut.iter().peekable();
    for at in 0..lowered.kernels.len() {
        while groups.next_if(|group| group.end <= at).is_some() {}
        let group = groups.peek().filter(|group| group.contains(&at));
        let kernel = &lowered.kernels[at];
        if kernel.launches == 0 {
            continue;
        }
        let members = || std::iter::once(kernel.node).chain(kernel.fused.iter().copied());
        let reads = reader.reads(members(), at as u32, &passing.ports);
        let comes_from_before = |origin: Port| {
            let is_constant = graph.node(origin.node).value.is_some();
            let is_inside = |group: &Range<usize>| {
                is_constant || makers[origin.node.index()].is_some_and(|maker| group.contains(&(maker as usize)))
            };
            !group.is_some_and(|group| is_inside(group))
        };
        let outside = reads.iter().filter(|read| comes_from_before(read.origin));
        let missed: u64 = outside.map(|read| passing.missed(read)).sum();
        let largest = reads.iter().map(|read| read.bytes).max().unwrap_or(0);
        let is_parameter = |read: &Reading| graph.node(read.origin.node).value.is_some() && read.bytes * 2 > largest;
        let lacks_parameters = group.is_none() && !reads.is_empty() && !reads.iter().any(is_parameter);
        let written = written_bytes(&kernel.workload).saturating_mul(u64::from(kernel.launches));
        passing.pass(reads.iter().map(|read| read.number), reads.iter().map(|read| read.bytes).sum());
        let made = members().flat_map(|id| passing.ports.of(id));
        passing.pass(made.collect::<Vec<_>>().into_iter(), written);
        let kernel = &mut lowered.kernels[at];
        if kernel.workload.is_cube() {
            kernel.missed = match (kernel.missed, group) {
                (None, None) if kernel.launches == 1 => Some(missed as f64),
                (Some(own), Some(_)) => Some(own + missed as f64 / f64::from(kernel.launches)),
                (known, _) => known,
            };
        } else if lacks_parameters && kernel.missed.is_none() && kernel.launches == 1 {
            kernel.missed = sim::missed_of_made(&kernel.workload, soc).map(|of_kind| of_kind.max(missed as f64));
        }
    }
}

/// Numbers of the tensors of a graph.
struct Ports {
    /// Of each node's first result; behind the last node their count.
    first: Vec<u32>,
}

impl Ports {
    fn new(graph: &Graph) -> Ports {
        let mut first = Vec::with_capacity(graph.len() + 1);
        let mut next = 0;
        for (_, node) in graph.iter() {
            first.push(next);
            next += node.outputs.len() as u32;
        }
        first.push(next);
        Ports { first }
    }

    fn number(&self, port: Port) -> u32 {
        self.first[port.node.index()] + port.output
    }

    /// Those of a node's results.
    fn of(&self, node: NodeId) -> Range<u32> {
        self.first[node.index()]..self.first[node.index() + 1]
    }
}

/// A tensor that a kernel reads.
struct Reading {
    origin: Port,
    number: u32,
    bytes: u64,
}

/// The tensors that pass L2, one after the other.
struct Passing {
    ports: Ports,
    /// Bytes that had passed when each tensor was last used.
    used: Vec<Option<u64>>,
    passed: u64,
    l2_size: u64,
}

impl Passing {
    fn new(graph: &Graph, soc: &Soc) -> Passing {
        let ports = Ports::new(graph);
        let count = ports.first.last().map_or(0, |&count| count as usize);
        Passing { ports, used: vec![None; count], passed: 0, l2_size: soc.l2_size }
    }

    /// Bytes of a tensor that have left L2, or were never there.
    fn missed(&self, read: &Reading) -> u64 {
        let held = self.used[read.number as usize].map_or(0, |used| self.l2_size.saturating_sub(self.passed - used));
        read.bytes.saturating_sub(held)
    }

    fn pass(&mut self, tensors: impl Iterator<Item = u32>, bytes: u64) {
        self.passed = self.passed.saturating_add(bytes);
        for number in tensors {
            self.used[number as usize] = Some(self.passed);
        }
    }
}

/// Follows what kernels read.
struct Reader<'a> {
    graph: &'a Graph,
    settings: &'a Settings,
    makers: &'a [Option<u32>],
    /// The kernel that was the last to read each tensor, counted from 1.
    seen: Vec<u32>,
    reads: Vec<Reading>,
}

impl Reader<'_> {
    /// The tensors that a kernel reads and does not make itself, each once, seen through nodes that run no kernel, with
    /// their bytes.
    fn reads(&mut self, members: impl Iterator<Item = NodeId>, at: u32, ports: &Ports) -> &[Reading] {
        self.reads.clear();
        for member in members {
            let node = self.graph.node(member);
            for &port in node.inputs.iter().flatten() {
                let origin = origin(self.graph, port, self.makers);
                let number = ports.number(origin);
                let last = std::mem::replace(&mut self.seen[number as usize], at + 1);
                if self.makers[origin.node.index()] == Some(at) || last == at + 1 {
                    continue;
                }
                let desc = self.graph.desc(port);
                // Integer constants (axes, sizes) are part of the kernel.
                let is_parameter = self.graph.node(origin.node).value.is_some()
                    && !desc.dtype.is_float()
                    && desc.shape.rank() < Some(2);
                let bits = u64::from(tensors::stored(node, desc, true, self.settings.precision).bits());
                let elements = desc.shape.elements().filter(|_| !is_parameter).unwrap_or(0);
                self.reads.push(Reading { origin, number, bytes: elements.saturating_mul(bits).div_ceil(8) });
            }
        }
        &self.reads
    }
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
