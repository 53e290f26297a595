//! Latent attention (MLA): queries, keys and values from small vectors, which alone are cached.

use super::super::kernel::{Class, Kernel, Work, bytes, case, operand};
use super::super::model::Attention;
use super::List;
use super::attention::Heads;
use super::linear::Scale;
use crate::graph::DataType;

impl List<'_> {
    /// Adds the kernels of all layers' attention.
    pub(super) fn latent_attention(&mut self) {
        let Attention::Latent { heads, q_rank, kv_rank, nope, rope, value } = self.model.attention else { return };
        let heads = heads / self.tp();
        let (tokens, hidden, layers) = (self.tokens, self.model.hidden, self.model.layers);
        self.gather("attention", layers);
        let latent = kv_rank + rope;
        if q_rank > 0 {
            // The two products from the residual stream are one, whole on every device.
            self.linear("q and kv down", [tokens, hidden, q_rank + latent], (Scale::Static, false), layers);
            let x = || self.activations([tokens, q_rank]);
            let statistic = operand([tokens, 1], DataType::Float);
            let norm = case("RmsNorm", vec![x(), self.activations([q_rank])], vec![x(), statistic]);
            self.launch(Class::Norm, "latent norm", norm, layers);
            self.linear("q up", [tokens, q_rank, heads * (nope + rope)], (Scale::Static, false), layers);
        } else {
            self.linear("q", [tokens, hidden, heads * (nope + rope)], (Scale::Static, false), layers);
            self.linear("kv down", [tokens, hidden, latent], (Scale::Static, false), layers);
        }
        self.latent_cache(kv_rank, rope);
        let rotated = || self.activations([tokens, heads, rope]);
        let angles = || self.activations([tokens, 1, rope]);
        let rotate = case("InterleaveRope", vec![rotated(), angles(), angles()], vec![rotated()]);
        let alike = case("RotaryMul", vec![rotated(), angles(), angles()], vec![rotated()]);
        self.launch_as(Class::Rotary, "rotary", (rotate, alike), 0, layers);
        if self.step.prefill {
            self.unfolded(heads, kv_rank, [nope, rope, value]);
        } else {
            self.per_head("q into latent", heads, [nope, kv_rank]);
            self.attend(Heads { heads, kv_heads: 1, width: latent, value: kv_rank });
            self.per_head("value from latent", heads, [kv_rank, value]);
        }
        self.linear("attention out", [tokens, heads * value, hidden], (Scale::Static, false), layers);
        self.sum_up("attention", layers);
    }

    /// Norm, rotation and the cache's new rows, in one kernel.
    fn latent_cache(&mut self, kv_rank: u64, rope: u64) {
        let (tokens, layers) = (self.tokens, self.model.layers);
        let x = || self.activations([tokens, 1, 1, kv_rank + rope]);
        let part = |width: u64| self.activations([tokens, 1, 1, width]);
        let slots = operand([tokens], DataType::Int64);
        let inputs = vec![x(), self.activations([kv_rank]), part(rope), part(rope), slots];
        let work = case("KvRmsNormRopeCache", inputs, vec![part(rope), part(kv_rank)]);
        let alike = case("RmsNorm", vec![x(), self.activations([kv_rank + rope])], vec![x()]);
        self.launch_as(Class::Movement, "cache", (work, alike), 0, layers);
    }

    /// Keys and values of every head from the latent vectors, and attention over those. Earlier steps left only the latent
    /// vectors of their tokens: they are read from the cache and unfolded again.
    fn unfolded(&mut self, heads: u64, kv_rank: u64, [nope, rope, value]: [u64; 3]) {
        let layers = self.model.layers;
        let earlier = self.step.sequences * (self.step.context - self.step.tokens_each);
        if earlier > 0 {
            let latent = || self.activations([earlier, kv_rank + rope]);
            let slots = operand([earlier], DataType::Int32);
            let work = case("GatherPaKvCache", vec![latent(), slots], vec![latent()]);
            let alike = case("TensorMove", vec![latent()], vec![latent()]);
            let cold_bytes = bytes(earlier * (kv_rank + rope), self.deployment.dtype);
            self.launch_as(Class::Movement, "cached", (work, alike), cold_bytes, layers);
        }
        for tokens in [self.tokens, earlier].into_iter().filter(|tokens| *tokens > 0) {
            self.linear("kv up", [tokens, kv_rank, heads * (nope + value)], (Scale::Static, false), layers);
            let part = |width: u64| self.activations([tokens, heads, width]);
            let joined = case("ConcatD", vec![part(nope), part(rope)], vec![part(nope + rope)]);
            self.launch(Class::Movement, "keys", joined, layers);
        }
        self.attend(Heads { heads, kv_heads: heads, width: nope + rope, value });
    }

    /// A product of each head's own weights, which are never quantised.
    fn per_head(&mut self, role: &'static str, heads: u64, [k, n]: [u64; 2]) {
        let (tokens, layers) = (self.tokens, self.model.layers);
        let inputs = vec![self.activations([heads, tokens, k]), self.activations([heads, k, n])];
        let launched = case("TransposeBatchMatMul", inputs.clone(), vec![self.activations([tokens, heads, n])]);
        let alike = case("BatchMatMulV2", inputs, vec![self.activations([heads, tokens, n])]);
        let cold_bytes = bytes(heads * k * n, self.deployment.dtype);
        let work = Work::Case(launched);
        self.push(Kernel { class: Class::Product, role, work, priced: Some(alike), cold_bytes, count: layers });
    }
}
