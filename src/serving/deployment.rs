//! How a model is served: devices, quantisation, what the serving stack is told.

use super::model::{Attention, Model};
use crate::graph::DataType;
use crate::spelling;
use crate::status::{Error, Result};
use serde::Serialize;

/// Most devices of either kind of parallelism.
const MOST_DEVICES: u64 = 1024;
/// Tokens of a step from which on vLLM-Ascend exchanges halves of sums in a prefill (its `FlashComm` threshold).
const SEQUENCE_PARALLEL_TOKENS: u64 = 1000;
/// Entries of the vocabulary are padded to so many (vLLM's `DEFAULT_VOCAB_PADDING_SIZE`).
const VOCABULARY_PADDING: u64 = 64;
/// Tokens of a block of the cache (vLLM-Ascend's only size).
pub(super) const CACHE_BLOCK: u64 = 128;

/// Types in which weights lie and are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantization {
    /// As the activations.
    None,
    /// Weights and activations in int8.
    W8a8,
    /// Weights in int4 with a scale for each group, activations as they are.
    W4a16,
}

impl Quantization {
    /// The words that name them.
    pub const NAMES: [&str; 3] = ["none", "w8a8", "w4a16"];

    /// The one that a word names.
    pub fn named(name: &str) -> Option<Quantization> {
        let at = Self::NAMES.iter().position(|known| *known == name)?;
        Some([Quantization::None, Quantization::W8a8, Quantization::W4a16][at])
    }

    /// Its word.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// How a model is served.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a serving stack")]
pub struct Deployment {
    /// Devices over which heads and feed-forward layers are cut.
    pub tensor_parallel: u64,
    /// Devices over which experts are spread; 1: each device has a part of every expert.
    pub expert_parallel: u64,
    /// Types of the weights.
    pub quantization: Quantization,
    /// Type of the activations.
    #[serde(serialize_with = "by_name")]
    pub dtype: DataType,
    /// Weights lie in `FRACTAL_NZ`.
    pub nz_weights: bool,
    /// Steps are launched as one graph.
    pub graph: bool,
    /// The serving stack's fused kernels are used: sum and norm, gate, norms of heads and rotation.
    pub fused: bool,
    /// Long prefills keep the residual stream cut over the devices between blocks.
    pub sequence_parallel: bool,
    /// Tokens of one prefill step at most; longer prompts and larger batches take several.
    pub step_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it serialises by reference")]
fn by_name<S: serde::Serializer>(dtype: &DataType, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(dtype.name())
}

impl Default for Deployment {
    fn default() -> Self {
        Deployment {
            tensor_parallel: 1,
            expert_parallel: 1,
            quantization: Quantization::None,
            dtype: DataType::Bfloat16,
            nz_weights: true,
            graph: true,
            fused: true,
            sequence_parallel: true,
            step_tokens: 8192,
        }
    }
}

impl Deployment {
    /// Whether the devices can share the model evenly. Fails with [`Error::Option`], which names both numbers.
    pub fn check(&self, model: &Model) -> Result<()> {
        let (tp, ep) = (self.tensor_parallel, self.expert_parallel);
        for (option, devices) in [("tensor_parallel", tp), ("expert_parallel", ep)] {
            if !(1..=MOST_DEVICES).contains(&devices) {
                return Err(Error::option(option, format!("{devices} is not from 1 to {MOST_DEVICES}")));
            }
        }
        if let Some(reason) = self.unshared(model, tp) {
            let fitting: Vec<String> =
                (1..=64).filter(|n| self.unshared(model, *n).is_none()).map(|n| n.to_string()).collect();
            let fitting: Vec<&str> = fitting.iter().map(String::as_str).collect();
            return Err(Error::option("tensor_parallel", format!("{reason}; {} can", spelling::listed(&fitting))));
        }
        let Some(experts) = model.experts else {
            return if ep == 1 {
                Ok(())
            } else {
                Err(Error::option("expert_parallel", format!("is {ep}, and the model has no experts")))
            };
        };
        if ep == 1 {
            return Ok(());
        }
        if !experts.routed.is_multiple_of(ep) {
            let reason = format!("{ep} devices cannot share {} experts evenly", experts.routed);
            return Err(Error::option("expert_parallel", reason));
        }
        if !ep.is_multiple_of(tp) {
            let reason = format!(
                "{ep} devices with experts are no multiple of the {tp} that share a layer's heads (tensor_parallel)"
            );
            return Err(Error::option("expert_parallel", reason));
        }
        Ok(())
    }

    /// Why so many devices cannot share heads and columns.
    fn unshared(&self, model: &Model, devices: u64) -> Option<String> {
        let uneven = |size: u64, what: &str| {
            (!size.is_multiple_of(devices)).then(|| format!("{devices} devices cannot share {size} {what} evenly"))
        };
        let held = || match model.attention {
            Attention::Grouped { kv_heads, .. }
                if !kv_heads.is_multiple_of(devices) && !devices.is_multiple_of(kv_heads) =>
            {
                Some(format!(
                    "{kv_heads} heads of keys can neither be shared by {devices} devices nor be held by several each"
                ))
            }
            _ => None,
        };
        let dense = (model.dense_layers() > 0).then_some(model.intermediate);
        let expert = model.experts.filter(|_| self.expert_parallel == 1).map(|experts| experts.width);
        uneven(model.attention.heads(), "query heads")
            .or_else(held)
            .or_else(|| uneven(dense?, "columns of the feed-forward layers"))
            .or_else(|| uneven(expert?, "columns of an expert"))
    }

    /// Groups of devices that each serve a batch of their own and share the experts.
    pub const fn groups(&self) -> u64 {
        if self.expert_parallel > self.tensor_parallel { self.expert_parallel / self.tensor_parallel } else { 1 }
    }

    /// Devices in all.
    pub const fn devices(&self) -> u64 {
        self.tensor_parallel * self.groups()
    }

    /// Columns of the head on one device.
    pub fn head_columns(&self, model: &Model) -> u64 {
        model.vocabulary.next_multiple_of(VOCABULARY_PADDING).div_ceil(self.tensor_parallel)
    }

    /// Whether a prefill step of so many tokens keeps the residual stream cut over the devices.
    pub fn cuts_tokens(&self, tokens: u64) -> bool {
        self.sequence_parallel && self.tensor_parallel > 1 && tokens > SEQUENCE_PARALLEL_TOKENS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Heads of Qwen2.5-7B: its 28 query heads alone would let 7 and 14 devices share them.
    #[test]
    fn degrees_that_are_named_are_those_that_pass() {
        let text = r#"{"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
            "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064}"#;
        let model = Model::parse(text).unwrap();
        let of = |tensor_parallel| Deployment { tensor_parallel, ..Deployment::default() }.check(&model);
        for degree in [3, 7, 28] {
            let refused = of(degree).unwrap_err().to_string();
            assert!(refused.ends_with("1, 2, 4 can"), "{refused}");
        }
        assert!([1, 2, 4].into_iter().all(|degree| of(degree).is_ok()));
    }
}
