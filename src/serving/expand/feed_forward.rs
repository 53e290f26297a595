//! Dense feed-forward layers.

use super::super::kernel::{Class, case};
use super::List;
use super::linear::Scale;

impl List<'_> {
    /// Adds the kernels of all dense layers.
    pub(super) fn feed_forward_layers(&mut self) {
        let layers = self.model.dense_layers();
        self.gather("feed-forward", layers);
        self.gated(["gate and up", "down"], self.model.intermediate / self.tp(), layers);
        self.sum_up("feed-forward", layers);
    }

    /// Two products with the gate between them, of so many columns on one device.
    pub(super) fn gated(&mut self, [up, down]: [&'static str; 2], width: u64, count: u64) {
        let (tokens, hidden) = (self.tokens, self.model.hidden);
        self.linear(up, [tokens, hidden, 2 * width], (Scale::Dynamic, false), count);
        self.gate([tokens, width], count);
        self.linear(down, [tokens, width, hidden], (Scale::Dynamic, false), count);
    }

    /// The gate of so many rows and columns.
    pub(super) fn gate(&mut self, [rows, width]: [u64; 2], count: u64) {
        let half = || self.activations([rows, width]);
        if self.model.gelu {
            let gelu = case("Gelu", vec![half()], vec![half()]);
            let product = case("Mul", vec![half(), half()], vec![half()]);
            self.launch(Class::Activation, "gate", gelu, count);
            self.launch(Class::Activation, "gate", product, count);
            return;
        }
        if !self.deployment.fused {
            let silu = case("Swish", vec![half()], vec![half()]);
            let product = case("Mul", vec![half(), half()], vec![half()]);
            self.launch(Class::Activation, "gate", silu, count);
            self.launch(Class::Activation, "gate", product, count);
            return;
        }
        let gate = case("SwiGlu", vec![self.activations([rows, 2 * width])], vec![half()]);
        self.launch(Class::Activation, "gate", gate, count);
    }
}
