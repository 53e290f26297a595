//! How many parameters a model has: the user's check that its configuration was understood.

use super::{Attention, Experts, Model};
use serde::Serialize;

/// Parameters of a model, draft layers and whatever sees pictures not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Parameters {
    /// All.
    pub total: u64,
    /// Those that one token meets: of the experts the ones that it goes to.
    pub of_token: u64,
}

impl Model {
    /// The model's parameters. Weights that the embedding and the head share count once.
    pub fn parameters(&self) -> Parameters {
        let table = product(&[self.vocabulary, self.hidden]);
        let tables = if self.tied { table } else { table.saturating_mul(2) };
        let norms = self.hidden.saturating_mul(if self.post_norms { 4 } else { 2 });
        let layer = self.attention_parameters().saturating_add(norms);
        let dense = product(&[self.dense_layers(), 3, self.hidden, self.intermediate]);
        let shared =
            [tables, self.hidden, product(&[self.layers, layer]), dense].into_iter().fold(0, u64::saturating_add);
        let with = |experts: &dyn Fn(&Experts) -> u64| shared.saturating_add(self.experts.as_ref().map_or(0, experts));
        Parameters {
            total: with(&|experts| self.expert_parameters(experts, experts.routed)),
            of_token: with(&|experts| self.expert_parameters(experts, experts.per_token)),
        }
    }

    /// Of the attention of one layer.
    fn attention_parameters(&self) -> u64 {
        let hidden = self.hidden;
        match self.attention {
            Attention::Grouped { heads, kv_heads, width } => {
                let columns = (heads + 2 * kv_heads) * width;
                let bias = if self.qkv_bias { columns } else { 0 };
                let norms = if self.qk_norm { 2 * width } else { 0 };
                hidden * (columns + heads * width) + bias + norms
            }
            Attention::Latent { heads, q_rank, kv_rank, nope, rope, value } => {
                let queries = heads * (nope + rope);
                let of_queries = if q_rank > 0 { q_rank * (hidden + 1 + queries) } else { hidden * queries };
                let of_keys = hidden * (kv_rank + rope) + kv_rank * (1 + heads * (nope + value));
                of_queries + of_keys + heads * value * hidden
            }
        }
    }

    /// Of all layers with experts, where so many of those that are routed to count.
    fn expert_parameters(&self, experts: &Experts, count: u64) -> u64 {
        let router = experts.routed.saturating_mul(self.hidden + u64::from(experts.grouped));
        let gate = if self.shared_gate { self.hidden } else { 0 };
        let routed = product(&[count, 3, self.hidden, experts.width]);
        let shared = product(&[3, self.hidden, experts.shared]);
        let layer = [router, gate, routed, shared].into_iter().fold(0, u64::saturating_add);
        experts.layers.saturating_mul(layer)
    }
}

fn product(sizes: &[u64]) -> u64 {
    sizes.iter().fold(1, |product, size| product.saturating_mul(*size))
}
