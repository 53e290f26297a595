//! Kernels that work in blocks, as their operands lie on the device: what a profile shows of them is what they are priced by.

use super::layout::DeviceLayout;
use super::tensors::{self, Layouts};
use super::{Lowered, Precision, Settings, flows};
use crate::graph::infer::pool::Pooling;
use crate::graph::infer::{Call, Values, norm, reduce};
use crate::graph::op::{self, Kind};
use crate::graph::{Graph, NodeId, Port, TensorDesc};
use crate::operands;
use crate::soc::Soc;
use crate::tiling::vector::axes::{self, Fused};
use crate::workload::{Operand, Reduce, Workload};

/// Gives the vector kernels and movements of a lowered graph the operands that they have on the device.
pub fn as_stored(graph: &Graph, lowered: &mut Lowered, soc: &Soc, settings: &Settings) {
    let layouts = flows(graph, lowered, soc, settings).layouts;
    in_layouts(graph, lowered, &layouts, soc, settings);
}

/// The same where the layouts are known.
pub(super) fn in_layouts(graph: &Graph, lowered: &mut Lowered, layouts: &[Layouts], soc: &Soc, settings: &Settings) {
    let values = Values::default();
    let device = Device { soc, precision: settings.precision };
    for (kernel, layouts) in lowered.kernels.iter_mut().zip(layouts) {
        device.store(graph, kernel.node, *layouts, &values, &mut kernel.workload);
    }
}

/// A part, and the types that a network runs in there.
#[derive(Clone, Copy)]
pub(super) struct Device<'a> {
    pub soc: &'a Soc,
    pub precision: Precision,
}

impl Device<'_> {
    /// Gives the work of a node that has these layouts the operands that it has there.
    pub fn store(self, graph: &Graph, node: NodeId, layouts: Layouts, values: &Values, workload: &mut Workload) {
        if layouts == Layouts::PLAIN {
            return;
        }
        let call = Call::new(graph, graph.node(node), values);
        let kind = op::kind(&call.node.op_type);
        let is_whole = matches!(workload, Workload::Vector(_) | Workload::Reduce(_) | Workload::Move(_));
        let Some([inputs, outputs]) = is_whole.then(|| self.operands(graph, &call, layouts)).flatten() else { return };
        let (read, written) = workload.operands().unwrap_or_default();
        // What is no operand of its kernel (regions, scales) stays out.
        if (inputs.len(), outputs.len()) != (read.len(), written.len()) {
            return;
        }
        let read_off = |window| {
            let stated = operands::Stated { window, ..operands::Stated::on(self.soc) };
            operands::vector(&call.node.op_type, inputs.clone(), outputs.clone(), stated)
        };
        let taps = if kind == Kind::Pool { window(&call) } else { None };
        *workload = match (&*workload, kind) {
            (Workload::Vector(_) | Workload::Move(_), _) => read_off(None),
            (Workload::Reduce(_), Kind::AlongAxis | Kind::LayerNorm) if is_last_of_fractals(&call, kind, layouts) => {
                read_off(None)
            }
            (Workload::Reduce(_), Kind::Pool) if taps.is_some() => read_off(taps),
            (Workload::Reduce(w), _) => {
                let rows = (kind == Kind::ReduceAxes).then(|| stored_rows(&call, w, layouts.works)).flatten();
                let [outer, axis, inner] = rows.unwrap_or([w.outer, w.axis, w.inner]);
                Workload::Reduce(Reduce { op_type: w.op_type.clone(), outer, axis, inner, inputs, outputs })
            }
            _ => return,
        };
    }

    /// What a node reads and writes; `None` where the network does not know how that is stored.
    fn operands(self, graph: &Graph, call: &Call<'_>, layouts: Layouts) -> Option<[Vec<Operand>; 2]> {
        let node = call.node;
        let operand = |desc: &TensorDesc, reads: bool, stored: &dyn Fn(crate::graph::DataType) -> super::Stored| {
            let dtype = tensors::stored(node, desc, reads, self.precision);
            let super::Stored { format, dims } = stored(dtype);
            let shape = dims?.into_iter().map(i64::unsigned_abs).collect();
            Some(Operand { shape, dtype, format })
        };
        let is_data = |port: &&Port| {
            let desc = graph.desc(**port);
            graph.node(port.node).value.is_none() || desc.dtype.is_float() || desc.shape.rank() > Some(1)
        };
        let read = node.inputs.iter().flatten().filter(is_data);
        let read = read.map(|&port| operand(graph.desc(port), true, &|dtype| layouts.read(graph, node, port, dtype)));
        let written = node.outputs.iter().filter(|desc| desc.shape.known().is_some());
        let written = written.map(|desc| operand(desc, false, &|dtype| layouts.written(desc, dtype)));
        Some([read.collect::<Option<Vec<_>>>()?, written.collect::<Option<Vec<_>>>()?])
    }
}

/// Whether it works along the last axis of matrices in fractals alone.
fn is_last_of_fractals(call: &Call<'_>, kind: Kind, layouts: Layouts) -> bool {
    let rank = call.get(0).and_then(|x| x.shape.rank()).unwrap_or(0);
    let along = match kind {
        Kind::LayerNorm => norm::begin_axis(call, rank.max(1)).is_ok_and(|begin| begin + 1 == rank),
        _ => reduce::along(call, rank).is_ok_and(|axes| axes.is_some_and(|axes| is_last(&axes))),
    };
    layouts.works == DeviceLayout::Fractals && along
}

fn is_last(axes: &[bool]) -> bool {
    axes.split_last().is_some_and(|(last, others)| *last && !others.contains(&true))
}

/// Taps of the window of a pool.
fn window(call: &Call<'_>) -> Option<u64> {
    let pooling = Pooling::of(call).ok()??;
    pooling.axes.iter().try_fold(1u64, |window, axis| window.checked_mul(u64::try_from(axis.kernel).ok()?))
}

/// Rows, terms and lanes of a reduction that works in blocks: of an image in NC1HWC0 images and blocks of channels are
/// dealt to the cores, not images alone, and channels that fill up a block are read and written.
fn stored_rows(call: &Call<'_>, w: &Reduce, works: DeviceLayout) -> Option<[u64; 3]> {
    let desc = call.get(0).filter(|desc| works.holds(desc))?;
    let reduced = reduce::reduced(call, desc.shape.rank()?).ok()??;
    let sizes = works.stored(desc, w.inputs.first()?.dtype)?;
    axes::rows(sizes.iter().map(|size| size.unsigned_abs()).zip(works.along_stored(&reduced)))
}

/// Makes a reduction that of axes of the network, each with whether it is reduced.
///
/// Where axes are kept between reduced ones its operands keep them, for they decide how the work is dealt: a reduction of
/// one axis is told by its rows, terms and lanes.
pub(super) fn reduce_along(w: &mut Reduce, of: &[(u64, bool)]) {
    let fused = Fused::of(of.iter().copied());
    if fused.axes().iter().filter(|axis| axis.1).count() > 1 {
        let read = fused.axes().iter().map(|axis| axis.0).collect();
        let kept = fused.axes().iter().map(|&(size, reduced)| if reduced { 1 } else { size }).collect();
        take(w, of, [read, kept]);
    }
}

/// Gives a reduction axes, and its operands the sizes that they have: of what it reads, and of what is left of that. It
/// stays as it is where 64 bits do not hold them.
fn take(w: &mut Reduce, of: &[(u64, bool)], [read, kept]: [Vec<u64>; 2]) {
    let (Some(rows), Some(_)) = (axes::rows(of.iter().copied()), axes::volume(&read)) else { return };
    // Beside what is left of the axes there are results as large as the input: squares, a normalised image.
    let [all, left] = [w.inputs.first().map(Operand::elements), w.outer.checked_mul(w.inner)];
    for operand in w.inputs.iter_mut().take(1).chain(&mut w.outputs) {
        let elements = Some(operand.elements());
        let sizes = [(all, &read), (left, &kept)].into_iter().find_map(|(n, sizes)| (n == elements).then_some(sizes));
        if let Some(sizes) = sizes {
            operand.shape.clone_from(sizes);
        }
    }
    [w.outer, w.axis, w.inner] = rows;
}
