//! Whether a deployment fits its devices.

use super::deployment::CACHE_BLOCK;
use super::expand::{Step, kernels};
use super::kernel::{Class, Work, bytes, operand_bytes};
use super::{Attention, Deployment, Model};
use crate::soc::Soc;
use serde::Serialize;

/// Share of device memory that serving stacks use (vLLM's `gpu_memory_utilization`).
const USED_SHARE: f64 = 0.9;

/// Bytes on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Weights.
    pub weights: u64,
    /// What a token leaves in the cache.
    pub cache_of_token: u64,
    /// What a serving stack uses of the device's memory; `None` where that is not known.
    pub usable: Option<u64>,
    /// Tokens for whose cache there is room; `None` likewise.
    pub tokens: Option<u64>,
}

/// Whether the caches of so many sequences of this length fit into room for so many tokens; each takes whole blocks.
pub(super) fn caches_fit(room: Option<u64>, sequences: u64, length: u64) -> bool {
    room.is_none_or(|room| room >= cached_tokens(sequences, length))
}

/// Tokens for which these sequences take blocks.
pub(super) fn cached_tokens(sequences: u64, length: u64) -> u64 {
    sequences.saturating_mul(length.next_multiple_of(CACHE_BLOCK))
}

impl Memory {
    /// Of a model deployed so on a part.
    pub fn of(model: &Model, deployment: &Deployment, soc: &Soc) -> Memory {
        let products = kernels(model, deployment, Step::decode(1, 1), soc.arch);
        let of_products = products.iter().filter_map(|kernel| match (&kernel.work, kernel.class) {
            (Work::Case(_), Class::Product) => Some(kernel.cold_bytes * kernel.count),
            (Work::Case(case), Class::Grouped) => Some(operand_bytes(&case["inputs"][1]) * kernel.count),
            _ => None,
        });
        let embedding = bytes(deployment.head_columns(model) * model.hidden, deployment.dtype);
        // What shares its weights with the head is counted there.
        let weights = of_products.sum::<u64>() + if model.tied { 0 } else { embedding };
        let elements = match model.attention {
            Attention::Grouped { kv_heads, width, .. } => 2 * kv_heads.div_ceil(deployment.tensor_parallel) * width,
            Attention::Latent { .. } => model.cached_elements(),
        };
        let cache_of_token = model.layers * bytes(elements, deployment.dtype);
        let usable = (soc.memory_size > 0).then_some((soc.memory_size as f64 * USED_SHARE) as u64);
        let tokens = usable.map(|usable| usable.saturating_sub(weights) / cache_of_token.max(1));
        Memory { weights, cache_of_token, usable, tokens }
    }

    /// Whether the weights fit a device, as far as its memory is known.
    #[must_use]
    pub fn holds_weights(&self) -> bool {
        self.usable.is_none_or(|usable| self.weights <= usable)
    }

    /// Whether the weights and the caches of so many sequences of this length do.
    #[must_use]
    pub fn holds(&self, sequences: u64, length: u64) -> bool {
        self.holds_weights() && caches_fit(self.tokens, sequences, length)
    }
}
