//! The axes of reductions: the network's first, and those of the blocks that its image lies in on the device.

use super::layout::DeviceLayout;
use super::tensors::Layouts;
use super::{Lowered, Settings, flows};
use crate::graph::infer::{Call, Values, reduce};
use crate::graph::op::{self, Kind};
use crate::graph::{Format, Graph};
use crate::soc::Soc;
use crate::tiling::vector::axes::{self, Fused};
use crate::workload::{Operand, Reduce, Workload};

/// Whether there are reductions of axes.
pub(super) fn any(graph: &Graph, lowered: &Lowered) -> bool {
    lowered.kernels.iter().any(|kernel| op::kind(&graph.node(kernel.node).op_type) == Kind::ReduceAxes)
}

/// Gives the reductions of a lowered graph the axes that they have on the device.
pub fn reduce_as_stored(graph: &Graph, lowered: &mut Lowered, soc: &Soc, settings: &Settings) {
    if any(graph, lowered) {
        let layouts = flows(graph, lowered, soc, settings).layouts;
        as_stored(graph, lowered, &layouts);
    }
}

/// Gives the reductions that work in blocks the axes that the blocks have: of an image in NC1HWC0 images and blocks of
/// channels are dealt to the cores, not images alone, and channels that fill up a block are read and written.
pub(super) fn as_stored(graph: &Graph, lowered: &mut Lowered, layouts: &[Layouts]) {
    let values = Values::default();
    for (kernel, layouts) in lowered.kernels.iter_mut().zip(layouts) {
        stored_in(&Call::new(graph, graph.node(kernel.node), &values), &mut kernel.workload, layouts.works);
    }
}

/// The same for the work of one node.
pub(super) fn stored_in(call: &Call<'_>, workload: &mut Workload, works: DeviceLayout) {
    if works != DeviceLayout::Plain
        && op::kind(&call.node.op_type) == Kind::ReduceAxes
        && let Workload::Reduce(w) = workload
        && let Some((format, axes)) = stored_axes(call, w, works)
    {
        let sizes = |kept: bool| axes.iter().map(|&(size, reduced)| if kept && reduced { 1 } else { size }).collect();
        take(w, &axes, [sizes(false), sizes(true)], format);
    }
}

/// CANN's format of what a reduction reads as it is stored, its sizes, and which of them are reduced.
fn stored_axes(call: &Call<'_>, w: &Reduce, works: DeviceLayout) -> Option<(Format, Vec<(u64, bool)>)> {
    let desc = call.get(0).filter(|desc| works.holds(desc))?;
    let reduced = reduce::reduced(call, desc.shape.rank()?).ok()??;
    let sizes = works.stored(desc, w.inputs.first()?.dtype)?;
    let axes = sizes.iter().map(|size| size.unsigned_abs()).zip(works.along_stored(&reduced));
    Some((works.format(desc), axes.collect()))
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
        take(w, of, [read, kept], Format::Nd);
    }
}

/// Gives a reduction axes, and its operands the sizes and the format in which they have them: what it reads, and what is
/// left of that. It stays as it is where 64 bits do not hold them.
fn take(w: &mut Reduce, of: &[(u64, bool)], [read, kept]: [Vec<u64>; 2], format: Format) {
    let (Some(rows), Some(_)) = (axes::rows(of.iter().copied()), axes::volume(&read)) else { return };
    // Beside what is left of the axes there are results as large as the input: squares, a normalised image.
    let [all, left] = [w.inputs.first().map(Operand::elements), w.outer.checked_mul(w.inner)];
    for operand in w.inputs.iter_mut().take(1).chain(&mut w.outputs) {
        let elements = Some(operand.elements());
        let Some(sizes) =
            [(all, &read), (left, &kept)].into_iter().find_map(|(n, sizes)| (n == elements).then_some(sizes))
        else {
            continue;
        };
        operand.shape.clone_from(sizes);
        operand.format = format;
    }
    [w.outer, w.axis, w.inner] = rows;
}
