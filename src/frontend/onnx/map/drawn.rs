//! What is made of nothing or of little, random numbers, windows and tables, and what ONNX keeps in an optional. Nothing of it is
//! modelled; the types of what it gives are read here, its sizes inferred by ONNX's rules.

use super::{Rule, with};
use crate::frontend::onnx::op::Op;
use crate::graph::{CONST, Constant, DataType, Shape, TensorDesc};
use crate::status::Result;

pub const RULES: &[Rule] = &[
    with("Bernoulli", |op| like(op, "dtype")),
    with("RandomNormalLike", |op| like(op, "dtype")),
    with("RandomUniformLike", |op| like(op, "dtype")),
    with("RandomNormal", |op| typed(op, "dtype", DataType::Float)),
    with("RandomUniform", |op| typed(op, "dtype", DataType::Float)),
    with("Multinomial", |op| typed(op, "dtype", DataType::Int32)),
    with("BlackmanWindow", |op| typed(op, "output_datatype", DataType::Float)),
    with("HammingWindow", |op| typed(op, "output_datatype", DataType::Float)),
    with("HannWindow", |op| typed(op, "output_datatype", DataType::Float)),
    with("MelWeightMatrix", |op| typed(op, "output_datatype", DataType::Float)),
    with("RegexFullMatch", |op| op.keep_typed(DataType::Bool)),
    with("DFT", dft),
    with("OptionalGetElement", held),
    with("OptionalHasElement", holds),
];

/// A tensor of the type that an attribute names, else of that of input 0.
fn like(op: &mut Op, attr: &str) -> Result<()> {
    let own = op.desc(op.required(0)?).dtype;
    let dtype = op.type_attr(attr)?.unwrap_or(own);
    op.keep_typed(dtype)
}

/// A tensor of the type that an attribute names.
fn typed(op: &mut Op, attr: &str, default: DataType) -> Result<()> {
    let dtype = op.type_attr(attr)?.unwrap_or(default);
    op.keep_typed(dtype)
}

/// The axis is an attribute before opset 20, and 1 by itself; since, an input, and the last but one.
fn dft(op: &mut Op) -> Result<()> {
    let mut node = op.unmapped()?;
    if op.opset >= 20 && op.input(2).is_none() {
        node.attrs.set("axis", crate::graph::Attr::Int(-2));
    } else if op.opset < 20 && op.int("axis")?.is_none() {
        node.attrs.set("axis", crate::graph::Attr::Int(1));
    }
    op.finish(node)
}

/// Of a tensor, the tensor itself.
fn held(op: &mut Op) -> Result<()> {
    let node = op.node("Identity").with_inputs([op.required(0)?]);
    op.finish(node)
}

/// A tensor is there where it is connected: what may be empty is no tensor, and was refused before.
fn holds(op: &mut Op) -> Result<()> {
    let made_of = op.input(0).map(|port| op.maker(port).to_owned());
    if made_of.is_some_and(|name| name == "Optional") {
        return op.keep_typed(DataType::Bool);
    }
    let mut node = op.node(CONST);
    node.outputs = vec![TensorDesc::new(DataType::Bool, Shape::scalar())];
    node.value = Some(Constant::Ints(vec![i64::from(op.input(0).is_some())]));
    op.finish(node)
}
