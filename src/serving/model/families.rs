//! What the families of models do beyond what their sizes say; from their published configurations and papers.

/// Sizes that a family's class in Transformers gives where a configuration has none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Defaults {
    /// Entries of the vocabulary.
    pub vocabulary: u64,
    /// Query heads.
    pub heads: u64,
    /// Heads of keys and values.
    pub kv_heads: u64,
    /// Elements of a head.
    pub width: u64,
}

/// Gemma 3's class; published configurations of its smaller and larger models leave out what equals these.
const GEMMA3: Defaults = Defaults { vocabulary: 262_208, heads: 8, kv_heads: 4, width: 256 };

/// A kind of model by its `model_type`.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a model")]
pub(super) struct Family {
    /// The name in configurations.
    pub name: &'static str,
    /// Bias on query, key and value where `attention_bias` does not say.
    pub qkv_bias: bool,
    /// Norms of each head's query and key, where `use_qk_norm` does not say.
    pub qk_norm: bool,
    /// Norms after attention and feed-forward too.
    pub post_norms: bool,
    /// Weights of the head shared with the embedding where `tie_word_embeddings` does not say.
    pub tied: bool,
    /// Of so many layers all but the last look back over a window only; 0: none does, 1: all do where a window is given.
    pub window_every: u64,
    /// Experts are chosen with a bias, whether or not `n_group` says that there are groups of them.
    pub grouped: bool,
    /// All its models have experts: a configuration that names none is not whole.
    pub experts: bool,
    /// All its models have latent attention.
    pub latent: bool,
    /// The shared expert's result is scaled by a gate of each token.
    pub shared_gate: bool,
    /// The part of each head that is rotated, where `partial_rotary_factor` does not say.
    pub rotated_share: f64,
    /// What sizes are where the configuration does not say; `None`: it has to.
    pub defaults: Option<Defaults>,
}

const PLAIN: Family = Family {
    name: "",
    qkv_bias: false,
    qk_norm: false,
    post_norms: false,
    tied: false,
    window_every: 0,
    grouped: false,
    experts: false,
    latent: false,
    shared_gate: false,
    rotated_share: 1.0,
    defaults: None,
};

const fn plain(name: &'static str) -> Family {
    Family { name, ..PLAIN }
}

/// The known ones. `chatglm` is GLM-4 with the field names of its first release.
const FAMILIES: &[Family] = &[
    plain("llama"),
    Family { window_every: 1, ..plain("mistral") },
    Family { window_every: 1, experts: true, ..plain("mixtral") },
    Family { qkv_bias: true, ..plain("qwen2") },
    Family { qkv_bias: true, experts: true, shared_gate: true, ..plain("qwen2_moe") },
    Family { qk_norm: true, ..plain("qwen3") },
    Family { qk_norm: true, experts: true, ..plain("qwen3_moe") },
    Family { latent: true, ..plain("deepseek_v2") },
    Family { grouped: true, latent: true, experts: true, ..plain("deepseek_v3") },
    Family { grouped: true, latent: true, experts: true, ..plain("kimi_k2") },
    Family { qkv_bias: true, rotated_share: 0.5, ..plain("chatglm") },
    Family { qkv_bias: true, rotated_share: 0.5, ..plain("glm") },
    Family { qkv_bias: true, post_norms: true, rotated_share: 0.5, ..plain("glm4") },
    Family { qkv_bias: true, grouped: true, experts: true, rotated_share: 0.5, ..plain("glm4_moe") },
    Family { tied: true, ..plain("gemma") },
    Family { tied: true, post_norms: true, window_every: 2, ..plain("gemma2") },
    Family { tied: true, post_norms: true, qk_norm: true, window_every: 6, defaults: Some(GEMMA3), ..plain("gemma3") },
    Family {
        tied: true,
        post_norms: true,
        qk_norm: true,
        window_every: 6,
        defaults: Some(GEMMA3),
        ..plain("gemma3_text")
    },
];

/// Kinds that are built as a known one: language models of models that see pictures, and newer names.
const ALIKE: &[(&str, &str)] = &[
    ("qwen2_vl", "qwen2"),
    ("qwen2_vl_text", "qwen2"),
    ("qwen2_5_vl", "qwen2"),
    ("qwen2_5_vl_text", "qwen2"),
    ("qwen3_vl_text", "qwen3"),
    ("qwen3_vl_moe_text", "qwen3_moe"),
    ("glm4v_text", "glm4"),
    ("glm4v_moe_text", "glm4_moe"),
    ("ministral", "mistral"),
    ("ministral3", "mistral"),
];

/// The family of this name; `None` for one that is not known.
pub(super) fn find(name: &str) -> Option<Family> {
    let name = ALIKE.iter().find(|(other, _)| *other == name).map_or(name, |(_, known)| known);
    FAMILIES.iter().find(|family| family.name == name).copied()
}

/// What is taken for a family that is not known: what the field names say, and nothing else.
pub(super) const fn unknown() -> Family {
    PLAIN
}

/// Their names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name)
}
