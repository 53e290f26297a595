//! GELU out of the operators that frameworks export it as: by erf, and by tanh.

use super::rewrite::Fusion;
use crate::graph::{Attrs, NodeId, Port};

/// The divisor that CANN's pass compares with, to five digits.
#[expect(clippy::approx_constant, reason = "to as many digits as CANN has it")]
const ROOT: f64 = 1.41421;

/// What `1 + erf(..)` or `1 + tanh(..)` is made of: its argument, and the nodes in the order in which they work.
type Term = (Port, Vec<NodeId>);

impl Fusion<'_> {
    /// x / 1.41421 -> `Erf` -> + 1, times x and 0.5.
    pub(super) fn gelu_of_erf(&mut self, id: NodeId) -> Option<bool> {
        self.gelu(id, |this, port| {
            let sum = this.made(port, &["Add", "AddV2"])?;
            let erf = this.beside(sum, 1.0)?;
            let erf = this.made(erf, &["Erf"])?;
            let scaled = this.graph.node(erf).input(0)?;
            let division = this.made(scaled, &["RealDiv", "Div"])?;
            let [x, divisor] = this.pair(division)?;
            let is_root = (this.scalar(divisor)? - ROOT).abs() <= 1e-5;
            is_root.then_some((x, vec![division, erf, sum]))
        })
    }

    /// x^3 by `Pow` -> `Mul` -> + x -> `Mul` -> `Tanh` -> + 1, times x and 0.5. The factors within are not looked at.
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method alone is of one lifetime, not of any")]
    pub(super) fn gelu_of_tanh(&mut self, id: NodeId) -> Option<bool> {
        self.gelu(id, |this, port| {
            let sum = this.made(port, &["Add", "AddV2"])?;
            let tanh = this.beside(sum, 1.0)?;
            let tanh = this.made(tanh, &["Tanh"])?;
            let scaled = this.graph.node(tanh).input(0)?;
            let scaling = this.made(scaled, &["Mul"])?;
            let inner = this.scaled(scaling)?;
            let inner = this.made(inner, &["Add", "AddV2"])?;
            let (cubed, x) = this.either(inner, |this, port| this.cube(port))?;
            let (base, [power, factor]) = cubed;
            (base == x).then(|| (x, vec![power, factor, inner, scaling, tanh, sum]))
        })
    }

    /// x^3 times a constant: x, and the two nodes.
    fn cube(&mut self, port: Port) -> Option<(Port, [NodeId; 2])> {
        let factor = self.made(port, &["Mul"])?;
        let power = self.scaled(factor)?;
        let power = self.made(power, &["Pow"])?;
        let [x, exponent] = self.pair(power)?;
        (self.scalar(exponent) == Some(3.0)).then_some((x, [power, factor]))
    }

    /// What a product with a scalar constant scales.
    fn scaled(&mut self, product: NodeId) -> Option<Port> {
        self.either(product, |this, port| this.scalar(port)).map(|(_, other)| other)
    }

    /// The products with x and with 0.5 around a term, in both places that the 0.5 may have: the last of them becomes
    /// the operator.
    fn gelu(&mut self, id: NodeId, term: impl Fn(&mut Self, Port) -> Option<Term>) -> Option<bool> {
        let (x, gone) = self.half_behind(id, &term).or_else(|| self.half_before(id, &term))?;
        self.become_one(id, "Gelu", Attrs::default(), vec![Some(x)], &gone);
        Some(true)
    }

    /// (x * term) * 0.5
    fn half_behind(&mut self, id: NodeId, term: impl Fn(&mut Self, Port) -> Option<Term>) -> Option<Term> {
        let product = self.beside(id, 0.5)?;
        let product = self.made(product, &["Mul"])?;
        let ((x, mut gone), other) = self.either(product, term)?;
        gone.push(product);
        (x == other).then_some((x, gone))
    }

    /// (x * 0.5) * term
    fn half_before(&mut self, id: NodeId, term: impl Fn(&mut Self, Port) -> Option<Term>) -> Option<Term> {
        let ((x, mut gone), other) = self.either(id, term)?;
        let half = self.made(other, &["Mul"])?;
        gone.push(half);
        (self.beside(half, 0.5)? == x).then_some((x, gone))
    }
}
