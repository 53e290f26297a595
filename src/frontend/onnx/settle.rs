//! What an operator becomes once the ranks of its inputs are known.

use crate::frontend::warnings::warn;
use crate::graph::{Attr, DataType, Graph, Node, NodeId, Port, Shape, TensorDesc, WHY_UNMAPPED, infer};
use crate::status::Result;

/// Attribute of a node whose single entry in `axes` stands for that axis and all behind it, until
/// the rank is known.
pub const AXES_TO_END: &str = "_axes_to_end";

/// Writes out axes that depend on a rank, where the rank is known by now: the open-ended ones of
/// [`AXES_TO_END`], and the spatial ones of a global maximum, which is a reduction on the device.
///
/// Fails as adding a node does.
pub fn settle(graph: &mut Graph) -> Result<()> {
    warn(graph.iter().filter_map(|(_, node)| mixed(graph, node)), "more nodes mix types");
    for index in 0..graph.len() {
        let id = NodeId(index as u32);
        let node = graph.node(id);
        if node.op_type == EYE_LIKE && !node.mapped {
            settle_eye(graph, id)?;
        }
    }
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
    Ok(())
}

/// Operators that read tensors of one type.
const OF_ONE_TYPE: &[&str] =
    &["MatMul", "Gemm", "Conv", "ConvTranspose", "Concat", "Add", "Sub", "Mul", "Div", "Sum", "Max", "Min"];

/// What a node reads that ONNX does not let it read together: floats beside integers.
fn mixed(graph: &Graph, node: &Node) -> Option<String> {
    if !node.mapped || !OF_ONE_TYPE.contains(&node.origin_type.as_str()) {
        return None;
    }
    let known = |dtype: &DataType| *dtype != DataType::Undefined;
    let mut types = node.inputs.iter().flatten().map(|&port| graph.desc(port).dtype).filter(known);
    let first = types.next()?;
    let other = types.find(|other| other.is_float() != first.is_float())?;
    let Node { name, origin_type, .. } = node;
    let (first, other) = (first.name(), other.name());
    Some(format!(
        "node `{name}` ({origin_type}) reads {first} and {other}, which ONNX does not allow; {first} is priced"
    ))
}

/// ONNX's matrix of ones along a diagonal, of the sizes of another tensor.
const EYE_LIKE: &str = "EyeLike";

/// Makes CANN's `Eye` of a matrix whose sizes are known by now. That has its ones along the main diagonal: another one is a
/// part of a larger matrix.
fn settle_eye(graph: &mut Graph, id: NodeId) -> Result<()> {
    let node = graph.node(id);
    let sizes = node.outputs.first().and_then(|output| output.shape.known()).map(<[i64]>::to_vec);
    let Some(&[rows, columns]) = sizes.as_deref() else { return Ok(()) };
    let (name, output, k) = (node.name.clone(), node.outputs[0].clone(), node.attrs.int("k").unwrap_or(0));
    let (Some(down), Some(right)) = (rows.checked_add(k.max(0)), columns.checked_add(k.min(0).saturating_neg())) else {
        return Ok(());
    };
    let eye = |mut node: Node, rows: i64, columns: i64| {
        "Eye".clone_into(&mut node.op_type);
        (node.mapped, node.inputs) = (true, Vec::new());
        for own in ["k", WHY_UNMAPPED, infer::SHAPES_OF_INPUTS] {
            node.attrs.remove(own);
        }
        node.attrs.set("num_rows", Attr::Int(rows));
        node.attrs.set("num_columns", Attr::Int(columns));
        node.attrs.set("dtype", Attr::Int(i64::from(output.dtype.ge_number())));
        node.outputs = vec![TensorDesc { shape: Shape::new([rows, columns]), ..output.clone() }];
        node
    };
    // Sizes of nothing are no sizes of CANN's, for which no columns are as many as rows.
    if rows < 1 || columns < 1 || k >= columns || k <= -rows {
        return Ok(());
    }
    if k == 0 {
        let settled = eye(graph.node(id).clone(), rows, columns);
        *graph.node_mut(id) = settled;
        return Ok(());
    }
    let mut whole = eye(graph.node(id).clone(), down, right);
    whole.name = format!("{name}/Eye");
    while graph.find(&whole.name).is_some() {
        whole.name.push('_');
    }
    let whole = graph.add(whole)?;
    let part = graph.node_mut(id);
    "SliceD".clone_into(&mut part.op_type);
    (part.mapped, part.inputs) = (true, vec![Some(Port::first(whole))]);
    for own in ["k", "dtype", WHY_UNMAPPED, infer::SHAPES_OF_INPUTS] {
        part.attrs.remove(own);
    }
    part.attrs.set("offsets", Attr::Ints(vec![k.max(0), k.min(0).saturating_neg()]));
    part.attrs.set("size", Attr::Ints(vec![rows, columns]));
    Ok(())
}
