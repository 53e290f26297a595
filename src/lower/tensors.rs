//! Tensors as kernels have them: who made them, how they lie on the device, and in which type. Conversions
//! (`TransData`, `Cast`) say theirs in attributes.

use super::Precision;
use super::layout::DeviceLayout;
use crate::graph::{DataType, Node, Port, TensorDesc};

/// Attribute of a `Cast` at the edge of the network: which edge. Its type out there is what the network states.
pub(super) const EDGE: &str = "_aoe_edge";

pub(super) const INPUT: &str = "input";

pub(super) const OUTPUT: &str = "output";

/// Attribute of a conversion: the layouts that it reads and writes.
pub(super) const LAYOUTS: &str = "_aoe_layouts";

const PLAIN: i64 = -1;
const FRACTALS: i64 = -2;

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
    /// The tensor as the kernel reads it.
    pub port: Port,
    /// The tensor itself, seen through views: reads of one tensor have one origin.
    pub origin: Port,
    /// Elements of it that the kernel sees, with those that fill up the blocks in which it reads it.
    pub elements: u64,
    /// Bytes of these in the type that the tensor is stored in.
    pub bytes: u64,
    /// Whether it reads it in blocks.
    pub in_blocks: bool,
    /// Whether it lies otherwise than the kernel or the caller that made it leaves it: a conversion (`TransData`) is
    /// between the two.
    pub converted: bool,
}

/// The layouts of one kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layouts {
    /// The one that it works in.
    pub works: DeviceLayout,
    /// That of its results.
    pub result: DeviceLayout,
}

impl Layouts {
    /// Everything as the network has it.
    pub const PLAIN: Layouts = Layouts { works: DeviceLayout::Plain, result: DeviceLayout::Plain };

    /// Elements of a tensor that a node with these layouts reads, or writes, with those that fill up its blocks; `None`
    /// where its sizes are not known, or 64 bits cannot count them.
    pub fn elements(self, node: &Node, desc: &TensorDesc, reads: bool, precision: Precision) -> Option<u64> {
        let layout = if reads { self.works } else { self.of(desc) };
        layout.padded(desc, stored(node, desc, reads, precision))
    }

    /// The layout of this result of the kernel: one that cannot be in blocks is plain.
    pub(super) fn of(self, result: &TensorDesc) -> DeviceLayout {
        if self.result.holds(result) { self.result } else { DeviceLayout::Plain }
    }
}

/// The type in which a node has a tensor that it reads, or writes.
pub fn stored(node: &Node, desc: &TensorDesc, read: bool, precision: Precision) -> DataType {
    match (node.attrs.str(EDGE), read) {
        (Some(INPUT), true) | (Some(OUTPUT), false) => desc.dtype,
        _ => precision.stored(desc.dtype),
    }
}

/// The layouts of a conversion; `None` for any other node.
pub(super) fn layouts(node: &Node) -> Option<Layouts> {
    if !matches!(node.op_type.as_str(), "TransData" | "Cast") {
        return None;
    }
    let &[works, result] = node.attrs.ints(LAYOUTS)? else { return None };
    Some(Layouts { works: layout(works)?, result: layout(result)? })
}

fn layout(number: i64) -> Option<DeviceLayout> {
    match number {
        PLAIN => Some(DeviceLayout::Plain),
        FRACTALS => Some(DeviceLayout::Fractals),
        axis => usize::try_from(axis).ok().map(DeviceLayout::Channels),
    }
}

pub(super) fn number(layout: DeviceLayout) -> i64 {
    match layout {
        DeviceLayout::Plain => PLAIN,
        DeviceLayout::Fractals => FRACTALS,
        DeviceLayout::Channels(axis) => axis as i64,
    }
}
