//! Whether a deployment fits its devices.

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
    /// Tokens for whose cache there is room; `None` where the part's memory is not known.
    pub tokens: Option<u64>,
}

impl Memory {
    /// Of a model deployed so on a part.
    pub fn of(model: &Model, deployment: &Deployment, soc: &Soc) -> Memory {
        let products = kernels(model, deployment, Step::decode(1, 1));
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
        let room = (soc.memory_size as f64 * USED_SHARE) as u64;
        let tokens = (soc.memory_size > 0).then(|| room.saturating_sub(weights) / cache_of_token.max(1));
        Memory { weights, cache_of_token, tokens }
    }
}
