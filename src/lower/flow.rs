//! How data flows between kernels: which tensors each reads and who made them, seen through the nodes
//! that run no kernel.

use super::device::{layouts, takes_blocks};
use super::layout::DeviceLayout;
use super::tensors::{self, Layouts, Read, Source};
use super::{Lowered, Settings};
use crate::graph::{Graph, Port};
use crate::soc::Soc;
use crate::workload::{Operand, Workload};

/// The place of a node that runs no kernel.
const NOWHERE: u32 = u32::MAX;

/// The tensors of each kernel, in the order of the kernels.
#[derive(Debug, Clone, Default)]
pub struct Flows {
    /// What each kernel reads, in the order of its node's inputs; integer parameters are left out.
    pub reads: Vec<Vec<Read>>,
    /// Whether a result of the kernel leaves the graph.
    pub leaves: Vec<bool>,
    /// Who made each output of the graph, and the tensor itself, seen through views.
    pub outputs: Vec<(Source, Port)>,
    /// How the tensors of each kernel lie on the device.
    pub layouts: Vec<Layouts>,
}

/// Follows the tensors of a lowered graph.
pub fn flows(graph: &Graph, lowered: &Lowered, soc: &Soc, settings: &Settings) -> Flows {
    let mut place: Vec<u32> = vec![NOWHERE; graph.len()];
    for (kernel, at) in lowered.kernels.iter().zip(0u32..) {
        place[kernel.node.index()] = at;
    }
    let source = |mut port: Port| loop {
        let at = place[port.node.index()];
        if at != NOWHERE {
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
    let mut flows = Flows { leaves: vec![false; lowered.kernels.len()], ..Flows::default() };
    for kernel in &lowered.kernels {
        let read = |port: &Port| {
            let desc = graph.desc(*port);
            let (source, origin) = source(*port);
            let parameter = source == Source::Constant && !desc.dtype.is_float();
            let elements = desc.shape.elements().filter(|&n| n > 0 && !parameter)?;
            let bits = u64::from(tensors::stored(graph.node(kernel.node), desc, true, settings.precision).bits());
            let bytes = elements.saturating_mul(bits).div_ceil(8);
            Some(Read { source, port: *port, origin, elements, bytes, in_blocks: false, converted: false })
        };
        flows.reads.push(graph.node(kernel.node).inputs.iter().flatten().filter_map(read).collect());
    }
    flows.outputs = graph.outputs().iter().map(|&port| source(port)).collect();
    for (made_by, _) in &flows.outputs {
        if let Source::Kernel(at) = *made_by {
            flows.leaves[at as usize] = true;
        }
    }
    flows.layouts = layouts(graph, lowered, soc, &flows.reads);
    let sizes = |port| graph.desc(port).shape.known().unwrap_or_default();
    for ((reads, here), kernel) in flows.reads.iter_mut().zip(&flows.layouts).zip(&lowered.kernels) {
        for read in reads {
            let made = match read.source {
                Source::Kernel(from) => flows.layouts[from as usize].of(graph.desc(read.origin)),
                // What the caller gives is plain.
                Source::Input => DeviceLayout::Plain,
                // Weights are converted when the network is compiled.
                Source::Constant => continue,
            };
            let node = graph.node(kernel.node);
            let in_blocks = takes_blocks(graph, node, read.port, here.works);
            let desc = graph.desc(read.port);
            if in_blocks && let Some(n) = here.elements(node, desc, true, settings.precision) {
                let bits = u64::from(tensors::stored(node, desc, true, settings.precision).bits());
                (read.elements, read.bytes, read.in_blocks) = (n, n.saturating_mul(bits).div_ceil(8), true);
            }
            let wanted = if in_blocks { here.works } else { DeviceLayout::Plain };
            read.converted = made.viewed(sizes(read.origin), sizes(read.port)) != Some(wanted);
        }
    }
    flows
}

/// Bytes that a kernel writes.
pub fn written_bytes(workload: &Workload) -> u64 {
    match workload {
        Workload::Collective(w) => w.bytes,
        Workload::Fused(parts) => parts.last().map_or(0, written_bytes),
        _ => match (workload.cube().zip(workload.cube_results()), workload.operands()) {
            (Some((cube, results)), _) => results.saturating_mul(u64::from(cube.out_dtype.bits())).div_ceil(8),
            (None, operands) => operands.map_or(0, |(_, outputs)| outputs.iter().map(Operand::bytes).sum()),
        },
    }
}
