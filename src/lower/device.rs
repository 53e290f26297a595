//! The layouts that kernels work in, as CANN spreads them: convolutions and pools settle on blocks of channels,
//! products on fractals where the cube wants them (its heavy operators), and what is around them takes that over as far
//! as it can work in it. Everything else is plain.

use super::cube::reads_image;
use super::layout::{self, DeviceLayout};
use super::tensors::{self, Layouts, Read, Source};
use super::{Lowered, is_known};
use crate::graph::infer::conv::Convolution;
use crate::graph::infer::{Call, Values};
use crate::graph::op::{self, Kind, OpClass};
use crate::graph::{DataType, Format, Graph, Node, NodeId, Port, TensorDesc};
use crate::soc::{Arch, Soc};
use crate::workload::{ConvKind, Workload};
use std::collections::VecDeque;

/// The layouts of the kernels of a graph, in their order; `reads` is what each reads.
pub(super) fn layouts(graph: &Graph, lowered: &Lowered, soc: &Soc, reads: &[Vec<Read>]) -> Vec<Layouts> {
    let values = Values::default();
    let settled = lowered.kernels.iter().map(|kernel| settled(graph, kernel.node, &kernel.workload, soc, &values));
    let settled: Vec<Option<Layouts>> = settled.collect();
    if settled.iter().all(|layouts| layouts.is_none_or(|layouts| layouts == Layouts::PLAIN)) {
        return vec![Layouts::PLAIN; settled.len()];
    }
    Spread { graph, lowered, reads, values, layouts: settled }.run()
}

/// A tensor as a kernel has it on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// CANN's format.
    pub format: Format,
    /// Its sizes in that format; `None` where the network does not know them.
    pub dims: Option<Vec<i64>>,
}

impl Layouts {
    /// A tensor as a node of a kernel with these layouts reads it, in a type.
    pub fn read(self, graph: &Graph, node: &Node, port: Port, stored: DataType) -> Stored {
        let desc = graph.desc(port);
        let format = input_format(graph, node, port, self.works);
        let as_stated = || desc.shape.known().map(<[i64]>::to_vec);
        let convolution = || match op::kind(&node.op_type) {
            Kind::Conv(pass) => Convolution::of(&Call::new(graph, node, &Values::default()), pass).ok()?,
            _ => None,
        };
        let dims = match format {
            Format::FractalZ | Format::FractalZ3d => match convolution().filter(|conv| conv.groups > 1) {
                Some(grouped) => layout::stored_groups(&grouped, stored),
                None => self.works.stored_filter(desc, stored),
            },
            _ if format == desc.format => as_stated(),
            _ => self.works.stored(desc, stored),
        };
        Stored { format, dims }
    }

    /// A result as a kernel with these layouts leaves it, in a type.
    pub fn written(self, result: &TensorDesc, stored: DataType) -> Stored {
        Stored { format: self.result.format(result), dims: self.result.stored(result, stored) }
    }
}

/// The format in which a node that works in a layout reads a tensor.
pub(super) fn input_format(graph: &Graph, node: &Node, port: Port, works: DeviceLayout) -> Format {
    let (desc, class) = (graph.desc(port), op::kind(&node.op_type).class());
    let convolves = class == OpClass::Conv || node.op_type == "FullyConnection";
    let is_filter = convolves && works != DeviceLayout::Plain && graph.node(port.node).value.is_some();
    match desc.shape.rank() {
        // A convolution of rows is one of images of height 1.
        Some(3 | 4) if is_filter => Format::FractalZ,
        Some(5) if is_filter => Format::FractalZ3d,
        _ if takes_blocks(graph, node, port, works) => works.format(desc),
        _ => desc.format,
    }
}

/// Whether a node that works in blocks reads this tensor in blocks: parameters, and rows that are stretched, stay plain.
pub(super) fn takes_blocks(graph: &Graph, node: &Node, port: Port, works: DeviceLayout) -> bool {
    let (desc, class) = (graph.desc(port), op::kind(&node.op_type).class());
    let in_blocks = || node.outputs.first().is_none_or(|whole| works.reads_in_blocks(desc, whole));
    works.holds(desc) && (class != OpClass::Elementwise || in_blocks())
}

/// Layouts that a kernel has whatever is around it.
fn settled(graph: &Graph, node: NodeId, workload: &Workload, soc: &Soc, values: &Values) -> Option<Layouts> {
    let call = Call::new(graph, graph.node(node), values);
    if let Some(layouts) = tensors::layouts(call.node) {
        return Some(layouts);
    }
    let Some(result) = call.node.outputs.first() else { return Some(Layouts::PLAIN) };
    let layout = match (workload, op::kind(&call.node.op_type)) {
        (Workload::MatMul(_), _) if reads_image(&call) && soc.arch != Arch::C310 => DeviceLayout::image(&call, result),
        (Workload::MatMul(product), _) if product.a_format == Format::FractalNz && result.shape.rank() > Some(1) => {
            DeviceLayout::Fractals
        }
        (Workload::Conv(conv), _)
            if matches!(conv.format, Format::Nc1hwc0 | Format::Ndc1hwc0) && conv.kind != ConvKind::BackpropFilter =>
        {
            DeviceLayout::image(&call, result)
        }
        // On the 950 images lie as the network has them.
        (Workload::Reduce(_), Kind::Pool | Kind::GlobalPool) if soc.arch != Arch::C310 => {
            DeviceLayout::image(&call, result)
        }
        (Workload::Vector(_) | Workload::Reduce(_) | Workload::Move(_), _) => return None,
        _ => DeviceLayout::Plain,
    };
    Some(Layouts { works: layout, result: layout })
}

/// Layouts on their way from kernel to kernel.
struct Spread<'a> {
    graph: &'a Graph,
    lowered: &'a Lowered,
    reads: &'a [Vec<Read>],
    values: Values,
    layouts: Vec<Option<Layouts>>,
}

impl Spread<'_> {
    /// The nearest settled kernel decides; of several as near the earliest.
    fn run(mut self) -> Vec<Layouts> {
        let users = self.users();
        let blocked = |(layouts, at): (&Option<Layouts>, u32)| layouts.filter(|l| *l != Layouts::PLAIN).map(|_| at);
        let mut open: VecDeque<u32> = self.layouts.iter().zip(0..).filter_map(blocked).collect();
        while let Some(at) = open.pop_front() {
            let here = self.layouts[at as usize].unwrap_or(Layouts::PLAIN);
            for read in &self.reads[at as usize] {
                if let Source::Kernel(from) = read.source
                    && self.takes_blocks(at, read, here.works)
                {
                    let layout = here.works.viewed(self.sizes(read.port), self.sizes(read.origin));
                    open.extend(self.take(from, layout));
                }
            }
            for &user in &users[at as usize] {
                let from_here = |read: &&Read| read.source == Source::Kernel(at);
                for read in self.reads[user as usize].iter().filter(from_here) {
                    let layout = here.result.viewed(self.sizes(read.origin), self.sizes(read.port));
                    open.extend(self.take(user, layout));
                }
            }
        }
        self.layouts.into_iter().map(|layouts| layouts.unwrap_or(Layouts::PLAIN)).collect()
    }

    /// Who reads the results of each kernel, each once.
    fn users(&self) -> Vec<Vec<u32>> {
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); self.reads.len()];
        for (reads, at) in self.reads.iter().zip(0..) {
            for read in reads {
                if let Source::Kernel(from) = read.source
                    && users[from as usize].last() != Some(&at)
                {
                    users[from as usize].push(at);
                }
            }
        }
        users
    }

    fn takes_blocks(&self, at: u32, read: &Read, works: DeviceLayout) -> bool {
        takes_blocks(self.graph, self.graph.node(self.lowered.kernels[at as usize].node), read.port, works)
    }

    fn sizes(&self, port: Port) -> &[i64] {
        self.graph.desc(port).shape.known().unwrap_or_default()
    }

    /// Lets a kernel without a layout take this one; answers it where it did.
    fn take(&mut self, at: u32, layout: Option<DeviceLayout>) -> Option<u32> {
        let layout = layout.filter(|&layout| layout != DeviceLayout::Plain)?;
        let node = self.graph.node(self.lowered.kernels[at as usize].node);
        if self.layouts[at as usize].is_some() || !is_known(node) {
            return None;
        }
        let result = layout.through(&Call::new(self.graph, node, &self.values), op::kind(&node.op_type))?;
        self.layouts[at as usize] = Some(Layouts { works: layout, result });
        Some(at)
    }
}
