//! Mapping rules: ONNX operators to Ascend operator types, grouped by kind of operator.
//!
//! A rule is a row of a table. Most operators only change their name and the names of their
//! attributes ([`Emit::Same`]); the others have a function. What the rules produce is one form per
//! Ascend operator, whatever the opset:
//!
//! * axes, sizes, pads and the like that are inputs of the Ascend operator are inputs here, made
//!   constants where an opset gives them as attributes;
//! * `Conv2D`, `MaxPoolV3`, `AvgPoolV2`: `strides`, `dilations` and `ksize` in full NCHW form
//!   `[1, 1, h, w]`, `pads` `[top, bottom, left, right]`; with 3-D operands `[w]` and
//!   `[left, right]`; `Conv3D` and the 3-D pools `[1, 1, d, h, w]` and
//!   `[front, back, top, bottom, left, right]`. `auto_pad` (`SAME_UPPER`, `SAME_LOWER`) stays as an
//!   attribute where the file leaves the pads to shape inference;
//! * `Gemm` is `MatMulV2` with what it scales and adds beside it, `MatMul` of any rank
//!   `BatchMatMulV2`;
//! * reductions: axes as input 1 (absent: all), attribute `keep_dims`.

mod activation;
mod arity;
mod conv;
mod drawn;
mod elementwise;
mod integer;
mod matmul;
mod microsoft;
mod movement;
mod norm;
mod pool;
mod qlinear;
mod quantized;
pub mod reasons;
mod reduce;
mod resize;
mod rnn;
mod shape;
mod slice;
mod unpool;
mod window;

use super::op::Op;
use crate::graph::{Attr, Node};
use crate::status::Result;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// One row: an ONNX operator and what becomes of it.
pub struct Rule {
    onnx: &'static str,
    emit: Emit,
}

/// What becomes of an operator.
enum Emit {
    /// One node of this type, the inputs as they are, the attributes renamed.
    Same(&'static str, &'static [Rename]),
    /// What this function adds.
    With(fn(&mut Op) -> Result<()>),
}

/// One attribute under its ONNX and its Ascend name.
struct Rename {
    onnx: &'static str,
    ascend: &'static str,
    default: Default,
}

/// Type of an attribute and its value where the file has none; a list has no default.
enum Default {
    Int(i64),
    Bool(bool),
    Float(f64),
    Str(&'static str),
    Floats,
    Strs,
}

/// A row for an operator that only changes its names.
const fn same(onnx: &'static str, op_type: &'static str, attrs: &'static [Rename]) -> Rule {
    Rule { onnx, emit: Emit::Same(op_type, attrs) }
}

/// A row for an operator with a function of its own.
const fn with(onnx: &'static str, function: fn(&mut Op) -> Result<()>) -> Rule {
    Rule { onnx, emit: Emit::With(function) }
}

/// An attribute that is called `onnx` there and `ascend` here.
const fn attr(onnx: &'static str, ascend: &'static str, default: Default) -> Rename {
    Rename { onnx, ascend, default }
}

/// The tables, by kind.
const TABLES: [&[Rule]; 17] = [
    activation::RULES,
    conv::RULES,
    drawn::RULES,
    elementwise::RULES,
    integer::RULES,
    matmul::RULES,
    movement::RULES,
    norm::RULES,
    pool::RULES,
    qlinear::RULES,
    quantized::RULES,
    reduce::RULES,
    resize::RULES,
    rnn::RULES,
    shape::RULES,
    slice::RULES,
    unpool::RULES,
];

/// All rows by ONNX name.
static RULES: LazyLock<FxHashMap<&str, &Emit>> =
    LazyLock::new(|| TABLES.iter().flat_map(|table| table.iter()).map(|rule| (rule.onnx, &rule.emit)).collect());

/// The domain of what ONNX Runtime adds to ONNX.
const MICROSOFT: &str = "com.microsoft";

/// Adds what becomes of an operator to the graph: by its rule, or unmapped where there is none.
pub fn apply(op: &mut Op, domain: &str, op_type: &str) -> Result<()> {
    if domain.is_empty() {
        arity::check(op, op_type)?;
    }
    // Exporters for Ascend put their own operators into domains of various names.
    let ours = domain.is_empty() || ["NPU", "Ascend", "Int8"].iter().any(|prefix| op_type.starts_with(prefix));
    let rule = match domain {
        MICROSOFT => {
            let rules = qlinear::MICROSOFT.iter().chain(microsoft::RULES);
            rules.into_iter().find(|rule| rule.onnx == op_type).map(|rule| &rule.emit)
        }
        _ => RULES.get(op_type).copied().filter(|_| ours),
    };
    match rule {
        Some(Emit::Same(target, attrs)) => rename(op, target, attrs),
        Some(Emit::With(function)) => function(op),
        None => op.keep_unmapped(),
    }
}

/// Adds a node with the same inputs and renamed attributes.
fn rename(op: &mut Op, target: &str, attrs: &[Rename]) -> Result<()> {
    let mut node = op.node(target);
    node.inputs = op.inputs().to_vec();
    set_attrs(op, &mut node, attrs)?;
    op.finish(node)
}

/// Sets renamed attributes on a node.
fn set_attrs(op: &Op, node: &mut Node, attrs: &[Rename]) -> Result<()> {
    for rename in attrs {
        let name = rename.onnx;
        let value = match rename.default {
            Default::Int(default) => Some(Attr::Int(op.int(name)?.unwrap_or(default))),
            Default::Bool(default) => Some(Attr::Bool(op.flag(name, default)?)),
            Default::Float(default) => Some(Attr::Float(op.float(name)?.unwrap_or(default))),
            Default::Str(default) => Some(Attr::Str(op.str(name)?.unwrap_or_else(|| default.to_owned()))),
            Default::Floats => op.floats(name)?.map(Attr::Floats),
            Default::Strs => op.strs(name)?.map(Attr::Strs),
        };
        if let Some(value) = value {
            node.attrs.set(rename.ascend, value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Emit, RULES, Rule, TABLES, reasons};
    use crate::graph::{infer, op};

    #[test]
    fn no_operator_has_two_rules() {
        let rows: usize = TABLES.iter().map(|table| table.len()).sum();
        assert_eq!(RULES.len(), rows);
    }

    #[test]
    fn what_always_becomes_another_operator_has_no_reason_to_stay_and_no_sizes_of_its_own() {
        for Rule { onnx, emit } in TABLES.iter().flat_map(|table| table.iter()) {
            if matches!(emit, Emit::Same(..)) {
                assert!(reasons::why(onnx).is_none(), "{onnx} is mapped: take it out of ROWS in reasons.rs");
                assert!(!infer::tells_onnx(onnx), "{onnx} is mapped: take it out of rule in infer/onnx.rs");
            }
        }
    }

    #[test]
    fn every_operator_type_that_a_rule_names_has_a_shape_rule() {
        for rule in TABLES.iter().flat_map(|table| table.iter()) {
            if let Emit::Same(target, _) = rule.emit {
                assert!(op::family(target).is_some(), "{} becomes {target}, which nobody knows", rule.onnx);
            }
        }
    }
}
