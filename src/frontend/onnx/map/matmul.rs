//! Matrix products.

use super::{Default::Str, Rule, attr, same, with};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, Port};
use crate::status::Result;

pub const RULES: &[Rule] =
    &[with("MatMul", matmul), with("Gemm", gemm), same("Einsum", "Einsum", &[attr("equation", "equation", Str(""))])];

/// A product of any rank.
fn matmul(op: &mut Op) -> Result<()> {
    let mut node = op.node("BatchMatMulV2").with_inputs([op.required(0)?, op.required(1)?]);
    node.attrs.set("adj_x1", Attr::Bool(false));
    node.attrs.set("adj_x2", Attr::Bool(false));
    op.finish(node)
}

/// alpha * A * B + beta * C: the product keeps the node's name; a row vector C rides along as its
/// bias where nothing is scaled.
fn gemm(op: &mut Op) -> Result<()> {
    let (a, b, c) = (op.required(0)?, op.required(1)?, op.input(2));
    let alpha = op.float("alpha")?.unwrap_or(1.0);
    let beta = op.float("beta")?.unwrap_or(1.0);
    for input in 0..2 {
        if let Some(rank) = op.found_rank(input).filter(|rank| *rank != 2) {
            return Err(
                op.error(format!("input {input} has {rank} axes, and Gemm multiplies matrices of 2: use MatMul"))
            );
        }
    }
    let mut node = op.node("MatMulV2").with_inputs([a, b]);
    node.attrs.set("transpose_x1", Attr::Bool(op.flag("transA", false)?));
    node.attrs.set("transpose_x2", Attr::Bool(op.flag("transB", false)?));
    let scaled = |x: f64| (x - 1.0).abs() > f64::EPSILON;
    let Some(c) = c.filter(|_| beta != 0.0) else {
        if !scaled(alpha) {
            return op.finish(node);
        }
        let product = Port::first(op.core(node)?);
        let result = muls(op, product, alpha)?;
        op.finish_with(result);
        return Ok(());
    };
    if !scaled(alpha) && !scaled(beta) && op.desc(c).shape.rank() == Some(1) {
        node.inputs.push(Some(c));
        return op.finish(node);
    }
    let mut product = Port::first(op.core(node)?);
    if scaled(alpha) {
        product = muls(op, product, alpha)?;
    }
    let addend = if scaled(beta) { muls(op, c, beta)? } else { c };
    let result = op.helper("Add", &[product, addend], &[])?;
    op.finish_with(result);
    Ok(())
}

fn muls(op: &mut Op, x: Port, value: f64) -> Result<Port> {
    op.helper("Muls", &[x], &[("value", Attr::Float(value))])
}
