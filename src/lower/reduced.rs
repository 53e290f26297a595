//! The axes of reductions: the network's first, and those of the blocks that its image lies in on the device.

use super::layout::DeviceLayout;
use super::tensors::Layouts;
use super::{Lowered, Settings, flows};
use crate::graph::Graph;
use crate::graph::infer::{Call, Values, reduce};
use crate::graph::op::{self, Kind};
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
        && let Some(stored) = stored_axes(call, w, works)
    {
        reduce_along(w, &stored);
    }
}

/// Sizes of what a reduction reads as it is stored, and which of them are reduced.
fn stored_axes(call: &Call<'_>, w: &Reduce, works: DeviceLayout) -> Option<Vec<(u64, bool)>> {
    let desc = call.get(0).filter(|desc| works.holds(desc))?;
    let reduced = reduce::reduced(call, desc.shape.rank()?).ok()??;
    let sizes = works.stored(desc, w.inputs.first()?.dtype)?;
    Some(sizes.iter().map(|size| size.unsigned_abs()).zip(works.along_stored(&reduced)).collect())
}

/// Makes a reduction that of these axes, each with whether it is reduced; it stays as it is where 64 bits do not hold them.
///
/// Where axes are kept between reduced ones its operands keep them, for they decide how the work is dealt: a reduction of
/// one axis is told by its rows, terms and lanes.
pub(super) fn reduce_along(w: &mut Reduce, of: &[(u64, bool)]) {
    let fused = Fused::of(of.iter().copied());
    let is_one = fused.axes().iter().filter(|axis| axis.1).count() < 2;
    let shape = |sizes: Vec<u64>| axes::volume(&sizes).map(|all| if is_one { vec![all] } else { sizes });
    let read = shape(fused.axes().iter().map(|axis| axis.0).collect());
    let kept = shape(fused.axes().iter().map(|&(size, reduced)| if reduced { 1 } else { size }).collect());
    let (Some([outer, axis, inner]), Some(read), Some(kept)) = (axes::rows(of.iter().copied()), read, kept) else {
        return;
    };
    // Beside what is left of the axes there are results as large as the input: squares, a normalised image.
    let [whole, rows] = [w.inputs.first().map(Operand::elements), w.outer.checked_mul(w.inner)];
    for operand in w.inputs.iter_mut().take(1).chain(&mut w.outputs) {
        let elements = Some(operand.elements());
        if elements == whole {
            operand.shape.clone_from(&read);
        } else if elements == rows {
            operand.shape.clone_from(&kept);
        }
    }
    (w.outer, w.axis, w.inner) = (outer, axis, inner);
}
