//! A language model as its `config.json` describes it: sizes, and which of the known ways it is built in.

mod families;
mod fields;
mod layers;
mod parameters;
#[cfg(test)]
mod published;
mod read;
#[cfg(test)]
pub(super) mod tests;

pub use parameters::Parameters;
use serde::Serialize;

/// A decoder-only language model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a model")]
pub struct Model {
    /// What the configuration calls its kind (`model_type`).
    pub family: String,
    /// Decoder layers.
    pub layers: u64,
    /// Width of the residual stream in elements.
    pub hidden: u64,
    /// Entries of the vocabulary.
    pub vocabulary: u64,
    /// How tokens attend to each other.
    pub attention: Attention,
    /// Width of the dense feed-forward layers.
    pub intermediate: u64,
    /// What stands in place of dense feed-forward layers, where there is any.
    pub experts: Option<Experts>,
    /// The products of query, key and value add a bias.
    pub qkv_bias: bool,
    /// Queries and keys are normalised head by head.
    pub qk_norm: bool,
    /// The gate of feed-forward layers is a `Gelu`, else `SiLU`.
    pub gelu: bool,
    /// What every token passes beside its experts is scaled by a gate of its own.
    pub shared_gate: bool,
    /// Elements of a head that are rotated by position.
    pub rotated: u64,
    /// Logits are capped softly before a token is drawn.
    pub logits_cap: bool,
    /// Outputs of attention and feed-forward are normalised once more before they are added.
    pub post_norms: bool,
    /// The head's weights are those of the embedding.
    pub tied: bool,
    /// Tokens of a sequence at most; 0 where the configuration does not say.
    pub positions: u64,
    /// Layers that look back over so many tokens only.
    pub window: Option<Window>,
    /// What is to be said of how the configuration was read.
    pub notes: Vec<String>,
}

/// How tokens attend to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Attention {
    /// Heads in groups that share a key and a value.
    Grouped {
        /// Query heads.
        heads: u64,
        /// Heads of keys and values.
        kv_heads: u64,
        /// Elements of a head.
        width: u64,
    },
    /// Keys and values from one latent vector a token (MLA).
    Latent {
        /// Query heads.
        heads: u64,
        /// Width of the queries' latent vector; 0 where queries come straight from the residual stream.
        q_rank: u64,
        /// Width of the latent vector of keys and values.
        kv_rank: u64,
        /// Elements of a head that carry no position.
        nope: u64,
        /// Elements that do, shared by the keys of all heads.
        rope: u64,
        /// Elements of a value head.
        value: u64,
    },
}

impl Attention {
    /// Query heads.
    pub const fn heads(self) -> u64 {
        match self {
            Attention::Grouped { heads, .. } | Attention::Latent { heads, .. } => heads,
        }
    }
}

/// Routed and shared experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Experts {
    /// Experts of a layer that tokens are routed to.
    pub routed: u64,
    /// Of them, those that each token goes to.
    pub per_token: u64,
    /// Width of an expert.
    pub width: u64,
    /// Width of what every token passes beside them; 0 where there is none.
    pub shared: u64,
    /// Layers with experts.
    pub layers: u64,
    /// Experts are chosen within groups or with a bias that balances them: by `MoeGatingTopK`.
    pub grouped: bool,
}

/// Layers that see the last tokens only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Tokens that they see.
    pub tokens: u64,
    /// How many layers they are.
    pub layers: u64,
}

impl Model {
    /// Layers with a dense feed-forward part.
    pub fn dense_layers(&self) -> u64 {
        self.layers - self.experts.map_or(0, |experts| experts.layers)
    }

    /// Elements that one token leaves in the cache of one layer, on all devices together.
    pub fn cached_elements(&self) -> u64 {
        match self.attention {
            Attention::Grouped { kv_heads, width, .. } => 2 * kv_heads * width,
            Attention::Latent { kv_rank, rope, .. } => kv_rank + rope,
        }
    }
}
