//! Models of all families by their published sizes, in the spellings of their newest configurations: the sum of parameters is
//! the published one, and what a device holds is as much.

use super::super::{Deployment, Memory};
use super::Model;
use crate::soc::Soc;
use serde_json::{Value, json};

/// A configuration, and its published billions of parameters: all, and those of a token where these are published.
struct Published {
    name: &'static str,
    config: Value,
    billions: f64,
    of_token: Option<f64>,
}

fn of(name: &'static str, billions: f64, config: Value) -> Published {
    Published { name, config, billions, of_token: None }
}

/// Sizes that dense models have: layers, width, feed-forward, heads, heads of keys, entries.
fn dense(kind: &str, [layers, hidden, inner, heads, kv_heads, entries]: [u64; 6], more: Value) -> Value {
    let mut config = json!({"model_type": kind, "num_hidden_layers": layers, "hidden_size": hidden,
        "intermediate_size": inner, "num_attention_heads": heads, "num_key_value_heads": kv_heads, "vocab_size": entries,
        "dtype": "bfloat16", "architectures": ["ForCausalLM"], "rms_norm_eps": 1e-6});
    if let (Value::Object(fields), Value::Object(more)) = (&mut config, more) {
        fields.extend(more);
    }
    config
}

/// What configurations of Transformers 5 write about positions.
fn rope(theta: f64) -> Value {
    json!({"rope_parameters": {"rope_type": "default", "rope_theta": theta}, "rope_scaling": null})
}

fn llama_and_mistral() -> Vec<Published> {
    let scaled = json!({"torch_dtype": "bfloat16", "rope_scaling": {"rope_type": "llama3", "factor": 8.0},
        "tie_word_embeddings": false, "attention_bias": false, "mlp_bias": false});
    let small = json!({"tie_word_embeddings": true, "head_dim": 64});
    vec![
        of("Llama-2-7B", 6.74, dense("llama", [32, 4096, 11008, 32, 32, 32000], json!({}))),
        of("Llama-3-8B", 8.03, dense("llama", [32, 4096, 14336, 32, 8, 128_256], rope(5e5))),
        of("Llama-3.1-70B", 70.6, dense("llama", [80, 8192, 28672, 64, 8, 128_256], scaled)),
        of("Llama-3.2-1B", 1.24, dense("llama", [16, 2048, 8192, 32, 8, 128_256], small)),
        of("Mistral-7B", 7.24, dense("mistral", [32, 4096, 14336, 32, 8, 32000], json!({"sliding_window": 4096}))),
        of(
            "Mistral-Nemo",
            12.2,
            dense("mistral", [40, 5120, 14336, 32, 8, 131_072], json!({"head_dim": 128, "sliding_window": null})),
        ),
        of(
            "Mistral-Small-3.1",
            23.6,
            json!({"model_type": "mistral3", "vision_config": {"hidden_size": 1024},
            "tie_word_embeddings": false,
            "text_config": dense("mistral", [40, 5120, 32768, 32, 8, 131_072], json!({"head_dim": 128}))}),
        ),
        of(
            "Mixtral-8x7B",
            46.7,
            dense(
                "mixtral",
                [32, 4096, 14336, 32, 8, 32000],
                json!({"num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": null}),
            ),
        ),
        of(
            "Mixtral-8x22B",
            140.6,
            dense(
                "mixtral",
                [56, 6144, 16384, 48, 8, 32768],
                json!({"num_local_experts": 8, "num_experts_per_tok": 2}),
            ),
        ),
    ]
}

fn qwen() -> Vec<Published> {
    let far = |layers: usize| {
        json!({"layer_types": vec!["full_attention"; layers], "sliding_window": null,
        "use_sliding_window": false, "max_window_layers": layers})
    };
    let experts = |count: u64, width: u64| {
        json!({"head_dim": 128, "num_experts": count, "num_experts_per_tok": 8,
        "moe_intermediate_size": width, "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": true})
    };
    vec![
        of("Qwen2-0.5B", 0.494, dense("qwen2", [24, 896, 4864, 14, 2, 151_936], json!({"tie_word_embeddings": true}))),
        of("Qwen2.5-7B", 7.62, dense("qwen2", [28, 3584, 18944, 28, 4, 152_064], far(28))),
        of("Qwen2.5-72B", 72.7, dense("qwen2", [80, 8192, 29568, 64, 8, 152_064], far(80))),
        of(
            "Qwen2.5-VL-7B's language model",
            7.62,
            json!({"model_type": "qwen2_5_vl", "tie_word_embeddings": false,
            "text_config": dense("qwen2_5_vl_text", [28, 3584, 18944, 28, 4, 152_064], rope(1e6))}),
        ),
        of(
            "Qwen2-57B-A14B",
            57.4,
            dense(
                "qwen2_moe",
                [28, 3584, 18944, 28, 4, 151_936],
                json!({"num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 2560,
                "shared_expert_intermediate_size": 20480, "decoder_sparse_step": 1, "mlp_only_layers": []}),
            ),
        ),
        of(
            "Qwen3-0.6B",
            0.596,
            dense("qwen3", [28, 1024, 3072, 16, 8, 151_936], json!({"head_dim": 128, "tie_word_embeddings": true})),
        ),
        of("Qwen3-8B", 8.19, dense("qwen3", [36, 4096, 12288, 32, 8, 151_936], json!({"head_dim": 128}))),
        of(
            "Qwen3-32B",
            32.8,
            dense("qwen3", [64, 5120, 25600, 64, 8, 151_936], {
                let mut fields = far(64);
                fields["head_dim"] = 128.into();
                fields
            }),
        ),
        Published {
            of_token: Some(3.3),
            ..of("Qwen3-30B-A3B", 30.5, dense("qwen3_moe", [48, 2048, 6144, 32, 4, 151_936], experts(128, 768)))
        },
        Published {
            of_token: Some(22.2),
            ..of("Qwen3-235B-A22B", 235.1, dense("qwen3_moe", [94, 4096, 12288, 64, 4, 151_936], experts(128, 1536)))
        },
        of(
            "Qwen3-VL-30B-A3B's language model",
            30.5,
            json!({"model_type": "qwen3_vl_moe", "tie_word_embeddings": false,
            "text_config": dense("qwen3_vl_moe_text", [48, 2048, 6144, 32, 4, 151_936], experts(128, 768))}),
        ),
    ]
}

fn deepseek_and_glm() -> Vec<Published> {
    let latent = |q_rank: Value, [width, routed, shared, chosen, first]: [u64; 5]| {
        json!({"q_lora_rank": q_rank,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "moe_intermediate_size": width, "n_routed_experts": routed, "n_shared_experts": shared,
        "num_experts_per_tok": chosen, "first_k_dense_replace": first, "moe_layer_freq": 1})
    };
    let mut v3 = latent(1536.into(), [2048, 256, 1, 8, 3]);
    v3["quantization_config"] = json!({"quant_method": "fp8", "weight_block_size": [128, 128]});
    v3["num_nextn_predict_layers"] = 1.into();
    vec![
        of(
            "DeepSeek-V2-Lite",
            15.7,
            dense("deepseek_v2", [27, 2048, 10944, 16, 16, 102_400], latent(Value::Null, [1408, 64, 2, 6, 1])),
        ),
        Published {
            of_token: Some(21.0),
            ..of(
                "DeepSeek-V2",
                236.0,
                dense("deepseek_v2", [60, 5120, 12288, 128, 128, 102_400], latent(1536.into(), [1536, 160, 2, 6, 1])),
            )
        },
        Published {
            of_token: Some(37.0),
            ..of("DeepSeek-V3", 671.0, dense("deepseek_v3", [61, 7168, 18432, 128, 128, 129_280], v3))
        },
        of(
            "Kimi-K2",
            1026.0,
            dense("kimi_k2", [61, 7168, 18432, 64, 64, 163_840], latent(1536.into(), [2048, 384, 1, 8, 1])),
        ),
        of(
            "GLM-4-9B",
            9.4,
            json!({"model_type": "chatglm", "num_layers": 40, "hidden_size": 4096,
            "ffn_hidden_size": 13696, "num_attention_heads": 32, "multi_query_attention": true,
            "multi_query_group_num": 2, "kv_channels": 128, "padded_vocab_size": 151_552, "add_qkv_bias": true,
            "tie_word_embeddings": false, "torch_dtype": "bfloat16", "seq_length": 131_072}),
        ),
        of(
            "GLM-4-9B in Transformers",
            9.4,
            dense(
                "glm",
                [40, 4096, 13696, 32, 2, 151_552],
                json!({"head_dim": 128, "attention_bias": true, "partial_rotary_factor": 0.5}),
            ),
        ),
        of(
            "GLM-4-32B-0414",
            32.6,
            dense("glm4", [61, 6144, 23040, 48, 2, 151_552], json!({"head_dim": 128, "attention_bias": false})),
        ),
        Published {
            of_token: Some(32.0),
            ..of(
                "GLM-4.5",
                355.0,
                dense(
                    "glm4_moe",
                    [92, 5120, 12288, 96, 8, 151_552],
                    json!({"head_dim": 128, "moe_intermediate_size": 1536, "n_routed_experts": 160, "n_shared_experts": 1,
                "num_experts_per_tok": 8, "first_k_dense_replace": 3, "use_qk_norm": true, "attention_bias": true}),
                ),
            )
        },
    ]
}

fn gemma_and_others() -> Vec<Published> {
    let gelu = |width: u64| json!({"head_dim": width, "hidden_activation": "gelu_pytorch_tanh"});
    let alternating: Vec<&str> =
        (0..24).map(|layer| if layer % 2 == 0 { "sliding_attention" } else { "full_attention" }).collect();
    vec![
        of("Gemma-2B", 2.51, dense("gemma", [18, 2048, 16384, 8, 1, 256_000], gelu(256))),
        of("Gemma-7B", 8.54, dense("gemma", [28, 3072, 24576, 16, 16, 256_000], gelu(256))),
        of("Gemma-2-9B", 9.24, dense("gemma2", [42, 3584, 14336, 16, 8, 256_000], gelu(256))),
        of("Gemma-2-27B", 27.2, dense("gemma2", [46, 4608, 36864, 32, 16, 256_000], gelu(128))),
        of("Gemma-3-1B", 1.0, dense("gemma3_text", [26, 1152, 6912, 4, 1, 262_144], gelu(256))),
        of(
            "Gemma-3-4B's language model",
            3.88,
            json!({"model_type": "gemma3", "text_config": {
            "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
            "sliding_window": 1024, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}}),
        ),
        of(
            "Gemma-3-27B's language model",
            27.0,
            json!({"model_type": "gemma3", "text_config": {
            "model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 62,
            "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128, "sliding_window": 1024}}),
        ),
        // Kinds that are not known, with the same field names.
        of("Phi-4", 14.7, dense("phi3", [40, 5120, 17920, 40, 10, 100_352], json!({"sliding_window": null}))),
        of(
            "Seed-OSS-36B",
            36.2,
            dense("seed_oss", [64, 5120, 27648, 80, 8, 155_136], json!({"head_dim": 128, "attention_bias": true})),
        ),
        of(
            "gpt-oss-20B",
            20.9,
            dense(
                "gpt_oss",
                [24, 2880, 2880, 64, 8, 201_088],
                json!({"head_dim": 64, "attention_bias": true, "num_local_experts": 32, "num_experts_per_tok": 4,
                "layer_types": alternating, "sliding_window": 128}),
            ),
        ),
    ]
}

fn all() -> Vec<Published> {
    [llama_and_mistral(), qwen(), deepseek_and_glm(), gemma_and_others()].into_iter().flatten().collect()
}

fn read(published: &Published) -> Model {
    Model::parse(&published.config.to_string()).unwrap_or_else(|reason| panic!("{}: {reason}", published.name))
}

/// How far one number is from another, as a share.
fn distance(of: f64, from: f64) -> f64 {
    (of / from - 1.0).abs()
}

#[test]
fn every_family_has_its_published_number_of_parameters() {
    for published in all() {
        let parameters = read(&published).parameters();
        let total = parameters.total as f64 / 1e9;
        assert!(distance(total, published.billions) < 0.01, "{}: {total} B", published.name);
        // Published ones leave the embedding out or round them.
        if let Some(expected) = published.of_token {
            let of_token = parameters.of_token as f64 / 1e9;
            assert!(distance(of_token, expected) < 0.07, "{}: {of_token} B of a token", published.name);
        }
    }
}

#[test]
fn one_device_holds_the_weights_that_are_counted() {
    let soc = Soc::find("Ascend910B2").unwrap();
    for published in all() {
        let model = read(&published);
        let held = Memory::of(&model, &Deployment::default(), &soc).weights as f64;
        assert!(distance(held, 2.0 * model.parameters().total as f64) < 0.003, "{}: {held} bytes", published.name);
    }
}

#[test]
fn devices_that_do_not_hold_weights_or_caches_are_told() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let config = all().into_iter().find(|published| published.name == "Qwen3-32B").unwrap();
    let model = read(&config);
    let of = |tensor_parallel: u64| Memory::of(&model, &Deployment { tensor_parallel, ..Deployment::default() }, &soc);
    let [one, four] = [1, 4].map(of);
    assert!(!one.holds_weights() && !one.holds(1, 1), "{one:?}");
    assert!(four.holds_weights() && four.holds(1, 8192) && !four.holds(1024, 8192), "{four:?}");
    // A sequence takes whole blocks of the cache.
    let tokens = four.tokens.unwrap();
    assert!(four.holds(tokens / 128, 128) && !four.holds(tokens / 128 + 1, 1), "{four:?}");
}
