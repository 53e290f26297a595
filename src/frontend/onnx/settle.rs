//! What an operator becomes once the ranks of its inputs are known.

use crate::graph::{Attr, Graph, NodeId};

/// Attribute of a node whose single entry in `axes` stands for that axis and all behind it, until
/// the rank is known.
pub const AXES_TO_END: &str = "_axes_to_end";

/// Writes out axes that depend on a rank, where the rank is known by now: the open-ended ones of
/// [`AXES_TO_END`], and the spatial ones of a global maximum, which is a reduction on the device.
pub fn settle(graph: &mut Graph) {
    for index in 0..graph.len() {
        let id = NodeId(index as u32);
        let node = graph.node(id);
        let Some(rank) = node.input(0).and_then(|port| graph.desc(port).shape.rank()) else { continue };
        let rank = rank as i64;
        if node.attrs.bool(AXES_TO_END) == Some(true) {
            let Some(&[axis]) = node.attrs.ints("axes") else { continue };
            let first = if axis < 0 { axis + rank } else { axis };
            let node = graph.node_mut(id);
            node.attrs.remove(AXES_TO_END);
            if (0..rank).contains(&first) {
                node.attrs.set("axes", Attr::Ints((first..rank).collect()));
            }
        } else if node.op_type == "GlobalMaxPool" {
            let node = graph.node_mut(id);
            "ReduceMaxD".clone_into(&mut node.op_type);
            node.attrs.set("axes", Attr::Ints((2..rank).collect()));
            node.attrs.set("keep_dims", Attr::Bool(true));
        }
    }
}
