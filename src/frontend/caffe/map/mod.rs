//! Mapping rules: layers to Ascend operator types. A row of a table for each; most only carry parameters over, the
//! others have a function.

mod cube;
mod shape;
mod vector;

use super::op::Op;
use crate::frontend::caffe::net;
use crate::graph::{Attr, Shape};
use crate::status::Result;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// One row: a type of layer and what becomes of it.
pub struct Rule(&'static str, Emit);

/// What becomes of a layer.
enum Emit {
    /// One node of this type that reads the bottoms and carries parameters of this message over.
    Same(&'static str, &'static str, &'static [Parameter]),
    /// What this function adds.
    With(fn(&mut Op) -> Result<()>),
}

/// A parameter by its name in the layer, its name on the device, and its default.
struct Parameter(&'static str, &'static str, Default);

/// Type and default of a parameter.
enum Default {
    Int(i64),
    Float(f64),
    Bool(bool),
}

const fn same(kind: &'static str, op_type: &'static str, param: &'static str, carry: &'static [Parameter]) -> Rule {
    Rule(kind, Emit::Same(op_type, param, carry))
}

const fn with(kind: &'static str, function: fn(&mut Op) -> Result<()>) -> Rule {
    Rule(kind, Emit::With(function))
}

/// Layers that bring data in or pass it on.
const PLUMBING: &[Rule] = &[
    with("Input", input),
    with("DummyData", dummy_data),
    with("Data", |op| op.inputs(&[])),
    with("ImageData", |op| op.inputs(&[])),
    with("HDF5Data", |op| op.inputs(&[])),
    with("WindowData", |op| op.inputs(&[])),
    with("MemoryData", |op| op.inputs(&[])),
    with("Split", pass_on),
    with("Dropout", pass_on),
    with("Silence", |_| Ok(())),
];

static RULES: LazyLock<FxHashMap<&'static str, &'static Emit>> = LazyLock::new(|| {
    [PLUMBING, cube::RULES, vector::RULES, shape::RULES]
        .into_iter()
        .flatten()
        .map(|Rule(kind, emit)| (*kind, emit))
        .collect()
});

/// Applies the rule for a layer's type; a layer that no rule knows is kept as it is.
pub fn apply(op: &mut Op) -> Result<()> {
    match RULES.get(op.kind()) {
        None => op.keep_unmapped(),
        Some(Emit::With(function)) => function(op),
        Some(Emit::Same(op_type, param, carry)) => carried(op, op_type, param, carry),
    }
}

fn carried(op: &mut Op, op_type: &str, param: &str, carry: &[Parameter]) -> Result<()> {
    if op.bottoms().is_empty() {
        return Err(op.error("it has no bottom"));
    }
    let mut node = op.node(op_type).with_inputs(op.bottoms().iter().copied());
    let param = op.param(param)?;
    for Parameter(caffe, ascend, default) in carry {
        let value = match default {
            Default::Int(default) => Attr::Int(op.field(param.int(caffe))?.unwrap_or(*default)),
            Default::Float(default) => Attr::Float(op.field(param.float(caffe))?.unwrap_or(*default)),
            Default::Bool(default) => Attr::Bool(op.field(param.bool(caffe))?.unwrap_or(*default)),
        };
        node.attrs.set(*ascend, value);
    }
    op.finish(node)
}

/// `Split`, `Dropout`: the same tensor.
fn pass_on(op: &mut Op) -> Result<()> {
    op.pass_on()
}

/// `Input`: one shape for each top, or one for all.
fn input(op: &mut Op) -> Result<()> {
    shaped(op, "input_param")
}

fn dummy_data(op: &mut Op) -> Result<()> {
    shaped(op, "dummy_data_param")
}

fn shaped(op: &mut Op, param: &str) -> Result<()> {
    let param = op.param(param)?;
    let messages = op.field(param.messages("shape"))?;
    let shapes: Vec<Shape> = messages.into_iter().map(|m| net::shape_of(m, &op.place())).collect::<Result<_>>()?;
    op.inputs(&shapes)
}
