//! Arithmetic with scalars.

use super::rewrite::Fusion;
use crate::graph::{Attr, Attrs, NodeId};

/// The least divisor whose reciprocal is taken.
const LEAST: f64 = 1e-6;

impl Fusion<'_> {
    /// x / v -> `Muls` by 1/v.
    pub(super) fn division_by_scalar(&mut self, id: NodeId) -> Option<bool> {
        let [x, divisor] = self.pair(id)?;
        let divisor = self.scalar(divisor)?;
        let [from, to] = [x, crate::graph::Port::first(id)].map(|port| self.graph.desc(port));
        if divisor <= LEAST || !from.dtype.is_float() || from.shape != to.shape {
            return Some(false);
        }
        let mut attrs = Attrs::default();
        attrs.set("value", Attr::Float(1.0 / divisor));
        self.become_one(id, "Muls", attrs, vec![Some(x)], &[]);
        Some(true)
    }
}
