//! Attention with heads in groups, between its products.

use super::super::deployment::CACHE_BLOCK;
use super::super::kernel::{Class, Kernel, Work, bytes, case, operand};
use super::List;
use super::linear::Scale;
use crate::graph::DataType;
use serde_json::{Value, json};

/// Rows and columns of the mask that stands for a causal one of any size.
const MASK: u64 = 2048;
/// Keys that a row in a window is given beyond those it sees: half a block of 128 on either edge, which is worked on whole.
const WINDOW_EDGES: u64 = 128;

/// What one attention kernel reads.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "heads and KV heads are the field's terms")]
pub(super) struct Heads {
    pub heads: u64,
    pub kv_heads: u64,
    /// Elements of a query's and a key's head.
    pub width: u64,
    /// Elements of a value's head.
    pub value: u64,
}

impl List<'_> {
    /// Adds the kernels of all layers' attention; sizes are those of one device.
    pub(super) fn grouped_attention(&mut self, heads: u64, kv_heads: u64, width: u64) {
        let (tokens, hidden, layers) = (self.tokens, self.model.hidden, self.model.layers);
        self.gather("attention", layers);
        let columns = (heads + 2 * kv_heads) * width;
        self.linear("qkv", [tokens, hidden, columns], (Scale::Static, self.model.qkv_bias), layers);
        self.rotation(heads, kv_heads, width);
        self.cache_rows(2 * kv_heads * width);
        self.attend(Heads { heads, kv_heads, width, value: width });
        self.linear("attention out", [tokens, heads * width, hidden], (Scale::Static, false), layers);
        self.sum_up("attention", layers);
    }

    /// Norms of heads and rotation. In a graph both and the cut of query, key and value are one kernel of vLLM-Ascend, but
    /// for the first layer, which makes the sines for all others.
    fn rotation(&mut self, heads: u64, kv_heads: u64, width: u64) {
        let (tokens, layers) = (self.tokens, self.model.layers);
        let of = |heads: u64| self.activations([tokens, heads, width]);
        let angles = || self.activations([tokens, 1, width]);
        if !self.model.qk_norm {
            self.rotate([heads, kv_heads], width, layers);
            return;
        }
        // The one kernel rotates whole heads.
        let is_one = self.deployment.graph && self.deployment.fused && self.model.rotated == width;
        let fused = if is_one { layers - 1 } else { 0 };
        let norm = |heads: u64| {
            let statistic = operand([tokens, heads, 1], DataType::Float);
            case("RmsNorm", vec![of(heads), self.activations([width])], vec![of(heads), statistic])
        };
        let (norms, row) = ([norm(heads), norm(kv_heads)], (heads + 2 * kv_heads) * width);
        let all = || self.activations([tokens, row]);
        let parts = [heads, kv_heads, kv_heads].map(|heads| self.activations([tokens, heads * width])).to_vec();
        let fused_work = case("split_qkv_rmsnorm_rope_kernel", vec![all(), angles(), angles()], parts);
        // Its work is that of a norm over the row of a token.
        let alike = case("RmsNorm", vec![all(), self.activations([row])], vec![all()]);
        for norm in norms {
            self.launch(Class::Norm, "head norm", norm, layers - fused);
        }
        self.rotate([heads, kv_heads], width, layers - fused);
        self.launch_as(Class::Rotary, "head norm and rotary", (fused_work, alike), 0, fused);
    }

    /// Rotates queries and keys. Of heads that are rotated in part, that part is cut out before and put back behind.
    fn rotate(&mut self, heads: [u64; 2], width: u64, count: u64) {
        let (tokens, rotated) = (self.tokens, self.model.rotated);
        let of = |heads: u64, width: u64| self.activations([tokens, heads, width]);
        let parts = heads.map(|heads| (of(heads, rotated), of(heads, width - rotated), of(heads, width)));
        let angles = || self.activations([tokens, 1, rotated]);
        let [q, k] = [0, 1].map(|at| parts[at].0.clone());
        let rotate = case("ApplyRotaryPosEmb", vec![q.clone(), k.clone(), angles(), angles()], vec![q, k]);
        if rotated == width {
            self.launch(Class::Rotary, "rotary", rotate, count);
            return;
        }
        for (part, _, whole) in &parts {
            let cut = case("Slice", vec![whole.clone()], vec![part.clone()]);
            self.launch(Class::Rotary, "rotary", cut, count);
        }
        self.launch(Class::Rotary, "rotary", rotate, count);
        for (part, rest, whole) in parts {
            let joined = case("ConcatD", vec![part, rest], vec![whole]);
            self.launch(Class::Rotary, "rotary", joined, count);
        }
    }

    /// Writes so many elements of each new token to the cache.
    pub(super) fn cache_rows(&mut self, elements: u64) {
        let (tokens, layers) = (self.tokens, self.model.layers);
        let half = || self.activations([tokens, elements / 2]);
        let slots = operand([tokens], DataType::Int32);
        let work = case("ScatterPaKvCache", vec![half(), half(), slots], vec![half(), half()]);
        let rows = || self.activations([tokens, elements]);
        let alike = case("TensorMove", vec![rows()], vec![rows()]);
        self.launch_as(Class::Movement, "cache", (work, alike), 0, layers);
    }

    /// Attention of all layers, those with a window apart.
    pub(super) fn attend(&mut self, heads: Heads) {
        let layers = self.model.layers;
        let windowed = self.model.window.filter(|window| window.tokens < self.step.context);
        let near = windowed.map_or(0, |window| window.layers);
        self.attend_over(heads, self.step.context, None, layers - near);
        if let Some(window) = windowed {
            // The first token of a step looks back over the window, the last one over as much.
            let context = (window.tokens + self.step.tokens_each - 1).min(self.step.context);
            self.attend_over(heads, context, Some(window.tokens), near);
        }
        if self.step.prefill {
            let rows = || self.activations([self.tokens, heads.heads, heads.value]);
            let copy = case("TensorMove", vec![rows()], vec![rows()]);
            self.launch(Class::Movement, "attention result", copy, layers);
        }
    }

    /// Adds attention over so many tokens, of which a row sees no more than those of its window.
    fn attend_over(&mut self, heads: Heads, context: u64, window: Option<u64>, count: u64) {
        let mut work = self.attention_case(heads, context, self.step.prefill);
        // What rows of a prompt see in a window is priced as that many keys without a mask.
        let priced = window.filter(|_| self.step.prefill).map(|window| {
            work["attrs"]["pre_tokens"] = window.into();
            let keys = (self.seen_in(window) + WINDOW_EDGES).min(context);
            self.attention_case(heads, keys, false)
        });
        let cache = self.step.sequences * heads.kv_heads * context;
        let cold_bytes = if self.step.prefill {
            0
        } else {
            let value = heads_of(heads.width, heads.value);
            bytes(cache * heads.width, self.deployment.dtype) + self.value_bytes(cache, value)
        };
        let (class, work) = (Class::Attention, Work::Case(work));
        self.push(Kernel { class, role: "attention", work, priced, cold_bytes, count });
    }

    /// Keys that a row of a prompt's step sees in a window, in the mean.
    fn seen_in(&self, window: u64) -> u64 {
        let (rows, context) = (self.step.tokens_each, self.step.context);
        // The first rows see one key more each, until the window is full.
        let first = context - rows + 1;
        let growing = window.saturating_sub(first).min(rows);
        let seen = growing * (2 * first + growing).saturating_sub(1) / 2 + (rows - growing) * window;
        seen.div_ceil(rows)
    }

    fn attention_case(&self, heads: Heads, context: u64, causal: bool) -> Value {
        let Heads { heads, kv_heads, width, value } = heads;
        let (batch, rows) = (self.step.sequences, self.step.tokens_each);
        let keys = self.activations([batch, kv_heads, context, width]);
        let values = self.activations([batch, kv_heads, context, value]);
        let mut inputs = vec![self.activations([batch, heads, rows, width]), keys, values];
        if self.step.prefill {
            inputs.push(operand([MASK, MASK], DataType::Int8));
        }
        let mut work = case("FusedInferAttentionScore", inputs, vec![self.activations([batch, heads, rows, value])]);
        let (phase, layout) = if self.step.prefill {
            ("prefill", "TND".to_owned())
        } else {
            ("decode", format!("paged, block {CACHE_BLOCK}"))
        };
        work["attrs"] = json!({
            "phase": phase, "batch": batch, "seq_len": context, "heads": heads, "kv_heads": kv_heads, "head_dim": width,
            "causal": causal, "layout": layout,
        });
        work
    }

    /// Bytes of the values in the cache; those of a latent vector are a part of its keys.
    fn value_bytes(&self, rows: u64, value: Option<u64>) -> u64 {
        value.map_or(0, |value| bytes(rows * value, self.deployment.dtype))
    }
}

/// The width of values that lie in the cache by themselves.
fn heads_of(width: u64, value: u64) -> Option<u64> {
    (value == width).then_some(value)
}
