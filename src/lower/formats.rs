//! The formats and layouts of a whole graph on the device.

use super::device::input_format;
use super::flow::flows;
use super::tensors::Layouts;
use super::{Kernel, Lowered, Settings};
use crate::graph::{Format, Graph, NodeId};
use crate::soc::Soc;
use crate::workload::Workload;
use rustc_hash::FxHashMap;

/// The formats of the inputs and outputs of each kernel on the device, in the kernels' order; `None` for an input that is
/// left out.
pub fn device_formats(
    graph: &Graph,
    lowered: &Lowered,
    soc: &Soc,
    settings: &Settings,
) -> Vec<[Vec<Option<Format>>; 2]> {
    let layouts = flows(graph, lowered, soc, settings).layouts;
    let formats = |(kernel, layouts): (&Kernel, Layouts)| {
        let node = graph.node(kernel.node);
        let inputs = node.inputs.iter().map(|port| port.map(|port| input_format(graph, node, port, layouts.works)));
        [inputs.collect(), node.outputs.iter().map(|desc| Some(layouts.result.format(desc))).collect()]
    };
    lowered.kernels.iter().zip(layouts).map(formats).collect()
}

/// The layouts of every node that a kernel runs, those that are fused into others among them.
pub fn device_layouts(graph: &Graph, lowered: &Lowered, soc: &Soc, settings: &Settings) -> FxHashMap<NodeId, Layouts> {
    let mut apart = Lowered::default();
    for kernel in &lowered.kernels {
        let nodes = std::iter::once(kernel.node).chain(kernel.fused.iter().copied());
        let workloads = kernel.workload.parts();
        let single = |(node, workload): (NodeId, &Workload)| Kernel {
            node,
            workload: workload.clone(),
            fused: Vec::new(),
            ..kernel.clone()
        };
        apart.kernels.extend(nodes.zip(workloads).map(single));
    }
    let layouts = flows(graph, &apart, soc, settings).layouts;
    apart.kernels.iter().map(|kernel| kernel.node).zip(layouts).collect()
}
