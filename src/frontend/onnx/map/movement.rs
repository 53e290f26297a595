//! Data movement: concatenation, gathering, scattering, transposition, conversion.

use super::{
    Default::{Int, Str},
    Rule, attr, same, with,
};
use crate::frontend::onnx::op::Op;
use crate::frontend::onnx::tensor;
use crate::graph::{Attr, Constant, DataType, Port, Shape, TensorDesc};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    with("Concat", concat),
    with("Transpose", transpose),
    with("Gather", gather),
    same("GatherElements", "GatherElements", &[attr("axis", "dim", Int(0))]),
    same("GatherND", "GatherNd", &[attr("batch_dims", "batch_dims", Int(0))]),
    with("ScatterND", scatter_nd),
    same(
        "ScatterElements",
        "ScatterElements",
        &[attr("axis", "axis", Int(0)), attr("reduction", "reduction", Str("none"))],
    ),
    same("Scatter", "ScatterElements", &[attr("axis", "axis", Int(0))]),
    same("Tile", "Tile", &[]),
    same("Expand", "Expand", &[]),
    with("Cast", cast),
    with("CastLike", cast_like),
    with("DepthToSpace", |op| block(op, "DepthToSpace")),
    with("SpaceToDepth", |op| block(op, "SpaceToDepth")),
    with("OneHot", one_hot),
    with("Trilu", trilu),
    same("NonZero", "NonZero", &[]),
    with("Compress", compress),
    with("Unique", unique),
    same(
        "ReverseSequence",
        "ReverseSequence",
        &[attr("time_axis", "seq_dim", Int(0)), attr("batch_axis", "batch_dim", Int(1))],
    ),
];

fn concat(op: &mut Op) -> Result<()> {
    let inputs = op.all_inputs()?;
    let Some(axis) = op.int("axis")? else { return Err(op.error("attribute `axis` is missing")) };
    let mut node = op.node("ConcatD");
    node.attrs.set("concat_dim", Attr::Int(axis));
    node.attrs.set("N", Attr::Int(inputs.len() as i64));
    op.finish(node.with_inputs(inputs))
}

/// Input 1 is the permutation; absent, it reverses the dimensions.
fn transpose(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let mut inputs = vec![x];
    if let Some(perm) = op.ints("perm")? {
        inputs.push(op.ints_input("perm", perm)?);
    }
    let node = op.node("Transpose").with_inputs(inputs);
    op.finish(node)
}

fn gather(op: &mut Op) -> Result<()> {
    let (x, indices) = (op.required(0)?, op.required(1)?);
    let axis = op.int("axis")?.unwrap_or(0);
    let axis = op.int_input("axis", axis)?;
    let mut node = op.node("GatherV2").with_inputs([x, indices, axis]);
    node.attrs.set("batch_dims", Attr::Int(0));
    op.finish(node)
}

/// One operator for each way to put the new beside the old; for products there is none.
fn scatter_nd(op: &mut Op) -> Result<()> {
    let inputs = [op.required(0)?, op.required(1)?, op.required(2)?];
    let op_type = match op.str("reduction")?.as_deref() {
        None | Some("none" | "") => "TensorScatterUpdate",
        Some("add") => "TensorScatterAdd",
        Some("max") => "TensorScatterMax",
        Some("min") => "TensorScatterMin",
        Some(_) => return op.keep_like_input(op.desc(inputs[0]).dtype),
    };
    let node = op.node(op_type).with_inputs(inputs);
    op.finish(node)
}

fn cast(op: &mut Op) -> Result<()> {
    let x = op.required(0)?;
    let Some(number) = op.int("to")? else { return Err(op.error("attribute `to` is missing")) };
    let place = || format!("node `{}` (Cast), attribute `to`", op.name());
    let dtype = tensor::data_type(i32::try_from(number).unwrap_or(-1), &place)?;
    let mut node = op.node("Cast").with_inputs([x]);
    node.attrs.set("dst_type", Attr::Type(dtype));
    op.finish(node)
}

/// A cast to the type of another tensor, where that is known.
fn cast_like(op: &mut Op) -> Result<()> {
    let (x, like) = (op.required(0)?, op.required(1)?);
    let dtype = op.element_type(like);
    if dtype == DataType::Undefined {
        return op.keep_like_input(dtype);
    }
    let mut node = op.node("Cast").with_inputs([x]);
    node.attrs.set("dst_type", Attr::Type(dtype));
    op.finish(node)
}

/// Blocks of pixels to channels and back.
fn block(op: &mut Op, op_type: &str) -> Result<()> {
    let Some(size) = op.int("blocksize")?.filter(|s| (1..=i64::from(i32::MAX)).contains(s)) else {
        return Err(op.error("attribute `blocksize` is missing or out of range"));
    };
    let mut node = op.node(op_type).with_inputs([op.required(0)?]);
    node.attrs.set("block_size", Attr::Int(size));
    node.attrs.set("data_format", Attr::Str("NCHW".to_owned()));
    if op_type == "DepthToSpace" {
        node.attrs.set("mode", Attr::Str(op.str("mode")?.unwrap_or_else(|| "DCR".to_owned())));
    }
    op.finish(node)
}

/// Rows that a condition picks: where it is constant, the rows are known; else only a run tells how many there are.
fn compress(op: &mut Op) -> Result<()> {
    let (x, condition) = (op.required(0)?, op.required(1)?);
    let Some(condition) = op.const_ints(condition) else { return op.keep_unmapped() };
    let picked = condition.iter().enumerate().filter(|(_, pick)| **pick != 0).map(|(at, _)| at as i64).collect();
    let (x, axis) = if let Some(axis) = op.int("axis")? {
        (x, axis)
    } else {
        let flat = op.ints_input("flat", vec![-1])?;
        (op.helper("Reshape", &[x, flat], &[])?, 0)
    };
    let inputs = [x, op.ints_input("picked", picked)?, op.int_input("axis", axis)?];
    let mut node = op.node("GatherV2").with_inputs(inputs);
    node.attrs.set("batch_dims", Attr::Int(0));
    op.finish(node)
}

/// How many different elements there are only a run tells, unless they are constant. Of a whole tensor, each of its elements
/// has a place among them, and that many places are known.
fn unique(op: &mut Op) -> Result<()> {
    let mut node = op.unmapped()?;
    node.outputs.iter_mut().skip(1).for_each(|places| places.dtype = DataType::Int64);
    if op.int("axis")?.is_none() {
        let (x, flat) = (op.required(0)?, op.ints_input("flat", vec![-1])?);
        node.inputs = vec![Some(op.helper("Reshape", &[x, flat], &[])?)];
    }
    op.finish(node)
}

/// ONNX has the two values in one tensor, Ascend as two inputs.
fn one_hot(op: &mut Op) -> Result<()> {
    let (indices, depth, values) = (op.required(0)?, op.required(1)?, op.required(2)?);
    let off = one_hot_value(op, values, 0)?;
    let on = one_hot_value(op, values, 1)?;
    let mut node = op.node("OneHot").with_inputs([indices, depth, on, off]);
    node.attrs.set("axis", Attr::Int(op.int("axis")?.unwrap_or(-1)));
    op.finish(node)
}

/// One of the two values: a constant where they are constant, else picked at run time.
fn one_hot_value(op: &mut Op, values: Port, index: usize) -> Result<Port> {
    let role = if index == 1 { "on_value" } else { "off_value" };
    let dtype = op.desc(values).dtype;
    let picked = match op.value(values) {
        Some(Constant::Ints(v)) => v.get(index).map(|&v| Constant::Ints(vec![v])),
        Some(Constant::Floats(v)) => v.get(index).map(|&v| Constant::Floats(vec![v])),
        _ => {
            let at = op.int_input(role, index as i64)?;
            let axis = op.int_input(&format!("{role}_axis"), 0)?;
            return op.helper("GatherV2", &[values, at, axis], &[("batch_dims", Attr::Int(0))]);
        }
    };
    let Some(picked) = picked else { return Err(op.error("input 2 does not hold two values")) };
    op.constant_input(role, TensorDesc::new(dtype, Shape::scalar()), picked)
}

/// The diagonal is an attribute here; one that is not constant has no counterpart.
fn trilu(op: &mut Op) -> Result<()> {
    let diagonal = match op.input(1) {
        None => Some(0),
        Some(k) => op.const_ints(k).and_then(|v| v.first().copied()),
    };
    let Some(diagonal) = diagonal else { return op.keep_like_input(DataType::Undefined) };
    let op_type = if op.flag("upper", true)? { "Triu" } else { "Tril" };
    let mut node = op.node(op_type).with_inputs([op.required(0)?]);
    node.attrs.set("diagonal", Attr::Int(diagonal));
    op.finish(node)
}
