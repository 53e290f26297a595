//! Operators whose form here is not that of their interface: parameters that are inputs here and attributes there, or the
//! other way round, and what may be left out here only.

use super::Form;
use crate::graph::op::prototype::{AttrKind, prototype};
use crate::graph::{Attr, Constant, Node, NodeId, Port, Shape};
use crate::status::Result;

/// Brings an operator into the form of its interface, where it is one of those that differ.
pub fn rewrite(form: &mut Form, id: NodeId) -> Result<()> {
    match form.node(id).op_type.as_str() {
        "Squeeze" | "Unsqueeze" => {
            axes_to_attribute(form, id);
            Ok(())
        }
        "Split" => split(form, id),
        "SplitV" => split_v(form, id),
        "Shape" => shape_range(form, id),
        "Transpose" => transpose(form, id),
        "PadV3" => pad(form, id),
        "LayerNorm" => layer_norm(form, id),
        "LpNormV2" => {
            input_to_attribute(form, id, 1, "axes");
            rename(form, id, "keep_dims", "keepdim");
            Ok(())
        }
        "SquareSumV1" => {
            input_to_attribute(form, id, 1, "axis");
            every_axis(form, id, "axis");
            Ok(())
        }
        "Einsum" => {
            count_inputs(form, id, "N");
            Ok(())
        }
        "MaxPoolGrad" => {
            pool_grad(form, id);
            Ok(())
        }
        "MaxPool3D" | "AvgPool3D" => {
            calculated(form, id);
            Ok(())
        }
        name if name.starts_with("Reduce") && !name.ends_with('D') => reduce(form, id),
        _ => Ok(()),
    }
}

/// Axes as an attribute; those that only a run tells stay an input, of the version that has one.
fn axes_to_attribute(form: &mut Form, id: NodeId) {
    let squeeze = form.node(id).op_type == "Squeeze";
    if form.input(id, 1).is_some() && form.ints_of(id, 1).is_none() {
        form.node_mut(id).op_type.push_str("V3");
        return;
    }
    input_to_attribute(form, id, 1, "axes");
    // TensorFlow's name.
    rename(form, id, "squeeze_dims", "axes");
    // The declaration of `Squeeze` says `axis`; shape functions of GE were seen to ask for `axes`.
    if squeeze && let Some(axes) = form.node(id).attrs.ints("axes").map(<[i64]>::to_vec) {
        form.set(id, "axis", Attr::Ints(axes));
    }
}

/// The last input becomes an attribute where it is a constant. One with more behind it is not what its place says.
fn input_to_attribute(form: &mut Form, id: NodeId, input: usize, name: &str) {
    let Some(values) = form.ints_of(id, input).filter(|_| form.node(id).inputs.len() == input + 1) else { return };
    form.set(id, name, Attr::Ints(values));
    form.node_mut(id).inputs.truncate(input);
}

fn rename(form: &mut Form, id: NodeId, from: &str, to: &str) {
    let attrs = &mut form.node_mut(id).attrs;
    if attrs.get(to).is_none()
        && let Some(value) = attrs.remove(from)
    {
        attrs.set(to, value);
    }
}

/// Names all axes of input 0, where none are named.
fn every_axis(form: &mut Form, id: NodeId, name: &str) {
    if form.node(id).attrs.get(name).is_none()
        && let Some(rank) = form.rank(id, 0)
    {
        form.set(id, name, Attr::Ints((0..rank as i64).collect()));
    }
}

fn count_inputs(form: &mut Form, id: NodeId, name: &str) {
    let count = form.node(id).inputs.len() as i64;
    form.set(id, name, Attr::Int(count));
}

/// The paddings are in `pads`.
fn calculated(form: &mut Form, id: NodeId) {
    if form.node(id).attrs.get("padding").is_none() {
        form.set(id, "padding", Attr::Str("CALCULATED".to_owned()));
    }
}

/// The gradient of a pool whose paddings are numbers is of the version that has them.
fn pool_grad(form: &mut Form, id: NodeId) {
    let node = form.node_mut(id);
    if node.attrs.get("padding").is_none() && node.attrs.get("pads").is_some() {
        "MaxPoolV3Grad".clone_into(&mut node.op_type);
    }
}

/// The axis is input 0.
fn split(form: &mut Form, id: NodeId) -> Result<()> {
    if form.node(id).inputs.len() > 1 {
        return Ok(());
    }
    let axis = form.node(id).attrs.int("split_dim").unwrap_or(0);
    let axis = form.int(id, "split_dim", axis)?;
    let node = form.node_mut(id);
    node.inputs.insert(0, Some(axis));
    node.attrs.remove("split_dim");
    Ok(())
}

/// The axis is input 2; behind anything but the sizes it would be taken for something else.
fn split_v(form: &mut Form, id: NodeId) -> Result<()> {
    if form.node(id).inputs.len() != 2 {
        return Ok(());
    }
    let axis = form.node(id).attrs.int("split_dim").unwrap_or(0);
    let axis = form.int(id, "split_dim", axis)?;
    let node = form.node_mut(id);
    node.inputs.push(Some(axis));
    node.attrs.remove("split_dim");
    Ok(())
}

/// A part of a shape is the whole, and a slice of it.
fn shape_range(form: &mut Form, id: NodeId) -> Result<()> {
    if form.node(id).outputs.is_empty() {
        return Ok(());
    }
    let attrs = &mut form.node_mut(id).attrs;
    // As inference reads them, whatever their kind.
    let (start, end) = (attrs.int("start").unwrap_or(0), attrs.int("end"));
    let is_part = [attrs.remove("start"), attrs.remove("end")].iter().any(Option::is_some);
    if !is_part {
        return Ok(());
    }
    let begin = form.ints(id, "begin", vec![start])?;
    let end = form.ints(id, "end", vec![end.unwrap_or(i64::from(i32::MAX))])?;
    let mut whole = form.node(id).clone();
    whole.name = format!("{}/whole", whole.name);
    whole.value = None;
    whole.inputs.truncate(1);
    whole.outputs.truncate(1);
    let rank = form.rank(id, 0).map_or(crate::graph::UNKNOWN_DIM, |rank| rank as i64);
    for output in &mut whole.outputs {
        output.shape = Shape::new([rank]);
    }
    // GE's default is 32 bits.
    let dtype = whole.attrs.get("dtype").and_then(|dtype| super::attributes::converted(AttrKind::Int, dtype));
    if let Some(dtype) = dtype {
        whole.attrs.set("dtype", dtype);
    }
    let whole = Port::first(form.graph.add(whole)?);
    let node = form.node_mut(id);
    "StridedSliceV2".clone_into(&mut node.op_type);
    node.attrs.remove("dtype");
    node.inputs = [whole, begin, end].map(Some).to_vec();
    Ok(())
}

/// Without a permutation, the axes are reversed.
fn transpose(form: &mut Form, id: NodeId) -> Result<()> {
    if form.node(id).inputs.len() > 1 {
        return Ok(());
    }
    let Some(rank) = form.rank(id, 0) else { return Ok(()) };
    let perm = form.ints(id, "perm", (0..rank as i64).rev().collect())?;
    form.node_mut(id).inputs.push(Some(perm));
    Ok(())
}

/// Without axes, it is all of them; they are an input.
fn reduce(form: &mut Form, id: NodeId) -> Result<()> {
    if form.input(id, 1).is_some() || form.node(id).inputs.len() > 2 || !takes_axes(form.node(id)) {
        return Ok(());
    }
    let Some(rank) = form.rank(id, 0) else { return Ok(()) };
    let stated = form.node(id).attrs.ints("axes").map(<[i64]>::to_vec);
    let axes = form.ints(id, "axes", stated.unwrap_or_else(|| (0..rank as i64).collect()))?;
    let node = form.node_mut(id);
    node.inputs.truncate(1);
    node.inputs.push(Some(axes));
    node.attrs.remove("axes");
    Ok(())
}

/// Whether input 1 of an operator is its axes.
fn takes_axes(node: &Node) -> bool {
    prototype(&node.op_type).is_some_and(|p| p.inputs.get(1).is_some_and(|slot| slot.name == "axes"))
}

/// Paddings of some axes are paddings of all, of which the others have none.
fn pad(form: &mut Form, id: NodeId) -> Result<()> {
    let (Some(pads), Some(axes)) = (form.ints_of(id, 1), form.ints_of(id, 3)) else { return Ok(()) };
    let Some(rank) = form.rank(id, 0) else { return Ok(()) };
    if pads.len() != 2 * axes.len() {
        return Ok(());
    }
    let mut whole = vec![0; 2 * rank];
    for (at, &axis) in axes.iter().enumerate() {
        let axis = if axis < 0 { axis + rank as i64 } else { axis };
        let Some(axis) = usize::try_from(axis).ok().filter(|&axis| axis < rank) else { return Ok(()) };
        (whole[axis], whole[rank + axis]) = (pads[at], pads[axes.len() + at]);
    }
    let paddings = form.ints(id, "paddings", whole)?;
    let node = form.node_mut(id);
    node.inputs[1] = Some(paddings);
    node.inputs.truncate(3);
    Ok(())
}

/// ONNX may leave out beta, which is 0 then.
fn layer_norm(form: &mut Form, id: NodeId) -> Result<()> {
    let lacks_beta = form.input(id, 2).is_none() && form.node(id).inputs.len() <= 3;
    let Some(gamma) = form.input(id, 1).filter(|_| lacks_beta) else { return Ok(()) };
    let desc = form.graph.desc(gamma).clone();
    let Some(elements) = desc.shape.elements().and_then(|n| usize::try_from(n).ok()) else { return Ok(()) };
    // As many as gamma has, which is a weight of the network.
    let beta = form.constant(id, "beta", desc, Constant::Floats(vec![0.0; elements]))?;
    let node = form.node_mut(id);
    node.inputs.truncate(2);
    node.inputs.push(Some(beta));
    Ok(())
}
