//! Configurations of published sizes, written for these tests, and what is wrong with others.

use super::{Attention, Experts, Model, Window};
use aoe_testing as testing;
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(config: &Value) -> Model {
    Model::parse(&config.to_string()).unwrap()
}

fn error(config: &Value) -> String {
    Model::parse(&config.to_string()).unwrap_err()
}

/// A configuration with other fields.
fn with(mut config: Value, fields: &[(&str, Value)]) -> Value {
    for (name, value) in fields {
        config[*name] = value.clone();
    }
    config
}

fn without(mut config: Value, name: &str) -> Value {
    config.as_object_mut().unwrap().remove(name);
    config
}

pub(crate) fn qwen3_32b() -> Value {
    json!({"model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151_936,
        "max_position_embeddings": 40960, "hidden_act": "silu", "tie_word_embeddings": false,
        "use_sliding_window": false, "sliding_window": null})
}

pub(crate) fn deepseek_v3() -> Value {
    json!({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
        "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "n_routed_experts": 256,
        "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1,
        "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "vocab_size": 129_280, "max_position_embeddings": 163_840, "hidden_act": "silu"})
}

fn llama(layers: u64, hidden: u64, heads: u64, kv_heads: u64, intermediate: u64) -> Value {
    json!({"model_type": "llama", "hidden_size": hidden, "intermediate_size": intermediate, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "vocab_size": 128_256})
}

const fn grouped(heads: u64, kv_heads: u64, width: u64) -> Attention {
    Attention::Grouped { heads, kv_heads, width }
}

#[test]
fn dense_families_differ_in_bias_norms_and_gates() {
    let llama2 = without(llama(32, 4096, 32, 32, 11008), "num_key_value_heads");
    assert_eq!(read(&llama2).attention, grouped(32, 32, 128));
    assert_eq!(read(&llama(80, 8192, 64, 8, 28672)).attention, grouped(64, 8, 128));
    let of = |kind: &str| read(&with(llama(28, 3584, 28, 4, 18944), &[("model_type", kind.into())]));
    let qwen2 = of("qwen2");
    assert!(qwen2.qkv_bias && !qwen2.qk_norm);
    let qwen3 = read(&qwen3_32b());
    assert!(qwen3.qk_norm && !qwen3.qkv_bias && qwen3.notes.is_empty() && qwen3.window.is_none());
    assert!(of("glm4").post_norms && of("glm4").qkv_bias);
    let gemma = read(&with(
        llama(42, 3584, 16, 8, 14336),
        &[
            ("model_type", "gemma2".into()),
            ("head_dim", 256.into()),
            ("hidden_activation", "gelu_pytorch_tanh".into()),
            ("sliding_window", 4096.into()),
        ],
    ));
    assert!(gemma.gelu && gemma.tied && gemma.post_norms);
    assert_eq!(gemma.attention, grouped(16, 8, 256));
    assert_eq!(gemma.window, Some(Window { tokens: 4096, layers: 21 }));
    let mistral = [("model_type", "mistral".into()), ("sliding_window", 4096.into())];
    assert_eq!(read(&with(llama(32, 4096, 32, 8, 14336), &mistral)).window, Some(Window { tokens: 4096, layers: 32 }));
}

#[test]
fn experts_are_counted_layer_by_layer() {
    let mixtral = with(
        llama(32, 4096, 32, 8, 14336),
        &[("model_type", "mixtral".into()), ("num_local_experts", 8.into()), ("num_experts_per_tok", 2.into())],
    );
    let expected = Experts { routed: 8, per_token: 2, width: 14336, shared: 0, layers: 32, grouped: false };
    assert_eq!((read(&mixtral).experts, read(&mixtral).dense_layers()), (Some(expected), 0));
    let deepseek = read(&deepseek_v3());
    let expected = Experts { routed: 256, per_token: 8, width: 2048, shared: 2048, layers: 58, grouped: true };
    assert_eq!((deepseek.experts, deepseek.dense_layers()), (Some(expected), 3));
    assert_eq!(
        deepseek.attention,
        Attention::Latent { heads: 128, q_rank: 1536, kv_rank: 512, nope: 128, rope: 64, value: 128 }
    );
    assert_eq!(deepseek.cached_elements(), 576);
    // DeepSeek-V2 chooses among groups of experts, without a bias; its small one among all.
    let chosen_in_groups = |groups: u64| {
        let config = with(deepseek_v3(), &[("model_type", "deepseek_v2".into()), ("n_group", groups.into())]);
        read(&config).experts.unwrap().grouped
    };
    assert!(chosen_in_groups(8) && !chosen_in_groups(1));
    // The queries of DeepSeek-V2-Lite have no latent vector.
    let lite = read(&with(deepseek_v3(), &[("model_type", "deepseek_v2".into()), ("q_lora_rank", Value::Null)]));
    assert!(matches!(lite.attention, Attention::Latent { q_rank: 0, .. }) && !lite.experts.unwrap().grouped);
    let every_other = with(
        qwen3_32b(),
        &[
            ("model_type", "qwen3_moe".into()),
            ("num_experts", 128.into()),
            ("num_experts_per_tok", 8.into()),
            ("moe_intermediate_size", 768.into()),
            ("decoder_sparse_step", 2.into()),
            ("mlp_only_layers", json!([1, 2])),
        ],
    );
    // Layers 1, 3, 5, ... but for 1.
    assert_eq!(read(&every_other).experts.unwrap().layers, 31);
}

#[test]
fn a_model_that_sees_pictures_keeps_its_language_model_apart() {
    let nested = json!({"model_type": "gemma3", "text_config": with(llama(34, 2560, 8, 4, 10240), &[
        ("model_type", "gemma3_text".into()), ("head_dim", 256.into()), ("sliding_window", 1024.into())])});
    let model = read(&nested);
    assert_eq!((model.layers, model.window), (34, Some(Window { tokens: 1024, layers: 29 })));
}

#[test]
fn what_published_gemma3_configurations_leave_out_is_as_their_class_has_it() {
    let language = |hidden: u64, layers: u64, more: Value| {
        let mut fields = json!({"model_type": "gemma3_text", "hidden_size": hidden, "intermediate_size": 4 * hidden,
            "num_hidden_layers": layers, "sliding_window": 1024});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        read(&json!({"model_type": "gemma3", "text_config": fields}))
    };
    let small = language(2560, 34, json!({}));
    assert_eq!((small.vocabulary, small.attention), (262_208, grouped(8, 4, 256)));
    let large = language(5376, 62, json!({"num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128}));
    assert_eq!((large.vocabulary, large.attention), (262_208, grouped(32, 16, 128)));
    // Other families have no such defaults.
    assert!(error(&without(qwen3_32b(), "vocab_size")).contains("vocab_size"));
}

#[test]
fn weights_that_are_published_quantised_are_a_note() {
    let config = with(deepseek_v3(), &[("quantization_config", json!({"quant_method": "fp8"}))]);
    assert!(read(&config).notes.iter().any(|note| note.contains("`fp8`")), "{:?}", read(&config).notes);
    assert!(read(&deepseek_v3()).notes.is_empty());
}

#[test]
fn a_field_that_is_null_is_told_from_one_that_is_not_there() {
    assert!(error(&with(qwen3_32b(), &[("hidden_size", Value::Null)])).contains("`hidden_size` is null"));
    assert!(error(&without(qwen3_32b(), "hidden_size")).contains("is missing"));
}

#[test]
fn a_family_is_shown_without_what_terminals_obey() {
    let model = read(&with(llama(2, 1024, 8, 8, 4096), &[("model_type", "new\u{1b}[2J\nkind".into())]));
    assert!(!model.family.chars().any(char::is_control) && model.family.contains("kind"), "{:?}", model.family);
}

#[test]
fn names_of_early_releases_count_too() {
    let glm = json!({"model_type": "chatglm", "num_layers": 40, "hidden_size": 4096, "ffn_hidden_size": 13696,
        "num_attention_heads": 32, "multi_query_group_num": 2, "kv_channels": 128, "padded_vocab_size": 151_552,
        "add_qkv_bias": true, "seq_length": 131_072});
    let model = read(&glm);
    assert_eq!((model.layers, model.intermediate, model.attention), (40, 13696, grouped(32, 2, 128)));
    assert!(model.qkv_bias && model.positions == 131_072);
}

#[test]
fn a_kind_that_is_not_known_is_built_as_its_fields_say_and_says_so() {
    let model = read(&with(llama(16, 2048, 16, 4, 8192), &[("model_type", "brandnew".into())]));
    assert!(model.notes[0].contains("brandnew") && model.notes[0].contains("qwen3"));
    let foreign = with(llama(16, 2048, 16, 4, 8192), &[("model_type", "hybrid".into()), ("mamba_d_state", 128.into())]);
    assert!(error(&foreign).contains("mamba_d_state") && error(&foreign).contains("hybrid"));
    let missing =
        without(with(llama(16, 2048, 16, 4, 8192), &[("model_type", "brandnew".into())]), "num_hidden_layers");
    assert!(error(&with(missing, &[("num_hiden_layers", 3.into())])).contains("num_hiden_layers"));
}

#[test]
fn every_missing_field_is_named() {
    for (config, fields) in [
        (
            qwen3_32b(),
            &[
                "model_type",
                "num_hidden_layers",
                "hidden_size",
                "vocab_size",
                "intermediate_size",
                "num_attention_heads",
            ][..],
        ),
        (
            deepseek_v3(),
            &[
                "kv_lora_rank",
                "n_routed_experts",
                "qk_nope_head_dim",
                "qk_rope_head_dim",
                "v_head_dim",
                "num_experts_per_tok",
            ],
        ),
    ] {
        for field in fields {
            let error = error(&without(config.clone(), field));
            assert!(error.contains(field) && error.contains("missing"), "{field}: {error}");
        }
    }
}

#[test]
fn sizes_that_cannot_be_or_contradict_each_other_are_named() {
    let wrong: &[(&str, Value, &str)] = &[
        ("num_hidden_layers", 0.into(), "num_hidden_layers"),
        ("num_hidden_layers", 1_000_000.into(), "1000000"),
        ("hidden_size", (-1).into(), "hidden_size"),
        ("hidden_size", json!(1.5), "hidden_size"),
        ("vocab_size", json!(1e30), "vocab_size"),
        ("num_attention_heads", "64".into(), "num_attention_heads"),
        ("num_key_value_heads", 7.into(), "num_key_value_heads"),
        ("num_attention_heads", 8_000_000.into(), "num_attention_heads"),
        ("head_dim", 1_000_000.into(), "head_dim"),
        ("attention_bias", 1.into(), "attention_bias"),
        ("model_type", 3.into(), "model_type"),
        ("num_experts", 10.into(), "num_experts_per_tok"),
        ("layer_types", 3.into(), "layer_types"),
    ];
    for (field, value, named) in wrong {
        let config = with(
            qwen3_32b(),
            &[(field, value.clone()), ("sliding_window", 5.into()), ("use_sliding_window", Value::Null)],
        );
        assert!(error(&config).contains(named), "{field}: {}", error(&config));
    }
    let odd = without(with(qwen3_32b(), &[("hidden_size", 5121.into())]), "head_dim");
    assert!(error(&odd).contains("head_dim") && error(&odd).contains("5121"));
    assert!(error(&with(deepseek_v3(), &[("num_experts_per_tok", 300.into())])).contains("300 of 256"));
    assert!(error(&with(deepseek_v3(), &[("first_k_dense_replace", 62.into())])).contains("first_k_dense_replace"));
}

#[test]
fn what_a_kind_cannot_be_without_is_asked_for() {
    for kind in ["mixtral", "qwen2_moe", "qwen3_moe", "glm4_moe"] {
        let dense = with(llama(4, 1024, 8, 4, 2048), &[("model_type", kind.into())]);
        assert!(error(&dense).contains("n_routed_experts") && error(&dense).contains("missing"), "{}", error(&dense));
        let none = with(dense, &[("num_experts", 0.into())]);
        assert!(error(&none).contains("`num_experts`: 0"), "{}", error(&none));
    }
    // A newer model under an older kind's name.
    assert!(error(&with(deepseek_v3(), &[("index_topk", 2048.into())])).contains("index_topk"));
    let encoder = with(llama(12, 768, 12, 12, 3072), &[("model_type", "newer".into()), ("type_vocab_size", 2.into())]);
    assert!(error(&encoder).contains("type_vocab_size") && error(&encoder).contains("encoder"));
}

#[test]
fn one_quantity_under_two_names_that_differ_is_named_with_both() {
    let moe = with(
        qwen3_32b(),
        &[
            ("model_type", "qwen3_moe".into()),
            ("num_experts", 128.into()),
            ("num_experts_per_tok", 8.into()),
            ("moe_intermediate_size", 768.into()),
        ],
    );
    let latent = deepseek_v3();
    let glm = with(llama(40, 4096, 32, 2, 13696), &[("model_type", "glm4".into()), ("add_qkv_bias", true.into())]);
    for (config, one, other, value) in [
        (&moe, "num_experts", "n_routed_experts", json!(64)),
        (&moe, "num_key_value_heads", "multi_query_group_num", json!(4)),
        (&moe, "num_key_value_heads", "num_kv_heads", json!(16)),
        (&moe, "num_hidden_layers", "num_layers", json!(32)),
        (&moe, "hidden_size", "n_embd", json!(4096)),
        (&moe, "head_dim", "kv_channels", json!(64)),
        (&moe, "intermediate_size", "ffn_hidden_size", json!(11008)),
        (&moe, "moe_intermediate_size", "expert_intermediate_size", json!(1536)),
        (&moe, "hidden_act", "hidden_activation", json!("gelu")),
        (&latent, "n_shared_experts", "shared_expert_intermediate_size", json!(1024)),
        (&latent, "qk_nope_head_dim", "qk_head_dim", json!(128)),
        (&glm, "add_qkv_bias", "attention_bias", json!(false)),
        (&with(latent.clone(), &[("torch_dtype", "bfloat16".into())]), "torch_dtype", "dtype", json!("float16")),
        (&moe, "vocab_size", "padded_vocab_size", json!(1000)),
    ] {
        assert!(Model::parse(&config.to_string()).is_ok());
        let error = error(&with(config.clone(), &[(other, value)]));
        assert!(error.contains(&format!("`{one}`")) && error.contains(&format!("`{other}`")), "{one} {other}: {error}");
        // The same said twice is no contradiction.
        if !["qk_head_dim", "shared_expert_intermediate_size"].contains(&other) {
            read(&with(config.clone(), &[(other, config[one].clone())]));
        }
    }
    read(&with(latent.clone(), &[("qk_head_dim", 192.into()), ("shared_expert_intermediate_size", 2048.into())]));
    // A padded vocabulary holds the entries, Gemma's say which kind of Gelu, and the sampling has a `top_k`, too.
    assert_eq!(read(&with(moe.clone(), &[("padded_vocab_size", 152_064.into())])).vocabulary, 152_064);
    assert!(
        read(&with(qwen3_32b(), &[("hidden_act", "gelu".into()), ("hidden_activation", "gelu_pytorch_tanh".into())]))
            .gelu
    );
    assert_eq!(read(&with(moe.clone(), &[("top_k", 50.into())])).experts.unwrap().per_token, 8);
    assert_eq!(read(&with(qwen3_32b(), &[("seq_length", 8192.into())])).positions, 40960);
    let twice = json!({"model_type": "vl", "text_config": qwen3_32b(), "llm_config": llama(2, 1024, 8, 8, 4096)});
    assert!(error(&twice).contains("`text_config` and `llm_config`"), "{}", error(&twice));
}

#[test]
fn types_and_heads_that_cannot_be_are_refused_and_rare_ones_are_noted() {
    let of = |field: &str, value: Value| with(qwen3_32b(), &[(field, value)]);
    for (field, value) in
        [("torch_dtype", json!("float8")), ("dtype", json!("half precision")), ("torch_dtype", json!(16))]
    {
        assert!(error(&of(field, value)).contains(&format!("`{field}`")));
    }
    for quiet in ["bfloat16", "torch.float16", "float32", "auto"] {
        assert!(read(&of("torch_dtype", quiet.into())).notes.is_empty());
    }
    assert!(read(&of("dtype", "float8_e4m3fn".into())).notes[0].contains("`float8_e4m3fn`"));
    let odd = error(&of("head_dim", 3.into()));
    assert!(odd.contains("`head_dim`: heads of 3 elements"), "{odd}");
    assert!(error(&with(deepseek_v3(), &[("qk_rope_head_dim", 63.into())])).contains("`qk_rope_head_dim`"));
    assert!(read(&of("head_dim", 120.into())).notes[0].contains("heads of 120 elements"));
    let nested = json!({"model_type": "gemma3", "torch_dtype": "float8", "text_config": qwen3_32b()});
    assert!(error(&nested).contains("`torch_dtype`"), "{}", error(&nested));
    // The language model may have another type than what stands beside it.
    let own = with(qwen3_32b(), &[("dtype", "float32".into())]);
    read(&json!({"model_type": "gemma3", "torch_dtype": "bfloat16", "text_config": own}));
}

#[test]
fn encoders_are_refused_whatever_fields_they_have() {
    read(&with(llama(12, 768, 12, 12, 3072), &[("model_type", "gpt5".into())]));
    for kind in ["bert", "modernbert", "roberta", "electra", "t5", "umt5"] {
        let reason = error(&with(llama(12, 768, 12, 12, 3072), &[("model_type", kind.into())]));
        assert!(reason.contains(kind) && reason.contains("encoder"), "{reason}");
    }
    let masked = with(
        llama(12, 768, 12, 12, 3072),
        &[("model_type", "newer".into()), ("architectures", json!(["NewerForMaskedLM"]))],
    );
    assert!(error(&masked).contains("`NewerForMaskedLM`"), "{}", error(&masked));
}

#[test]
fn gates_and_groups_that_are_not_built_are_named() {
    assert!(error(&with(qwen3_32b(), &[("hidden_act", "relu2".into())])).contains("relu2"));
    assert!(read(&with(qwen3_32b(), &[("hidden_act", "gelu_new".into())])).gelu);
    assert!(error(&with(deepseek_v3(), &[("n_group", 7.into())])).contains("256 experts are not in 7 groups"));
    let chosen = with(deepseek_v3(), &[("n_group", 8.into()), ("topk_group", 9.into())]);
    assert!(error(&chosen).contains("`topk_group`") && error(&chosen).contains("9 of 8"));
}

#[test]
fn heads_are_rotated_as_far_as_the_configuration_or_its_kind_says() {
    let of = |kind: &str, fields: &[(&str, Value)]| {
        read(&with(with(llama(4, 1024, 8, 4, 2048), &[("model_type", kind.into())]), fields)).rotated
    };
    assert_eq!((of("llama", &[]), of("glm4", &[])), (128, 64));
    assert_eq!(of("llama", &[("partial_rotary_factor", json!(0.25))]), 32);
    assert_eq!(of("glm", &[("rope_parameters", json!({"partial_rotary_factor": 1.0}))]), 128);
    assert_eq!(read(&deepseek_v3()).rotated, 64);
    for wrong in [json!(0), json!(1.5), json!("half")] {
        assert!(error(&with(qwen3_32b(), &[("partial_rotary_factor", wrong)])).contains("partial_rotary_factor"));
    }
}

#[test]
fn files_that_are_no_configuration_are_named_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let reason = |content: &[u8]| {
        let path = folder.path().join("config.json");
        std::fs::write(&path, content).unwrap();
        // The folder names its file.
        Model::read(folder.path()).unwrap_err().to_string()
    };
    let utf16: Vec<u8> = qwen3_32b().to_string().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked: Vec<u8> = [&[0xff, 0xfe][..], &utf16].concat();
    assert!(reason(&marked).contains("UTF-8") && reason(&marked).contains("config.json"));
    assert!(reason(b"{\"model_type\":").contains("JSON"));
    assert!(reason(b"[1]").contains("object"));
    assert!(reason(&vec![b'['; 100_000]).contains("JSON"));
    let file = std::fs::File::create(folder.path().join("config.json")).unwrap();
    file.set_len(3 << 30).unwrap();
    assert!(Model::read(folder.path()).unwrap_err().to_string().contains("4 MiB"));
    assert!(Model::read(&folder.path().join("none")).is_err());
    let text = format!("\u{feff}{}", qwen3_32b());
    std::fs::write(folder.path().join("config.json"), text).unwrap();
    assert_eq!(Model::read(folder.path()).unwrap().layers, 64);
}

#[test]
fn a_field_that_is_there_twice_is_named_at_any_depth() {
    let text = qwen3_32b().to_string();
    let twice = text.replacen('{', r#"{"hidden_size": 4096, "#, 1);
    let reason = Model::parse(&twice).unwrap_err();
    assert!(reason.contains("`hidden_size` is given twice") && reason.contains("line 1"), "{reason}");
    let nested = format!(r#"{{"model_type": "gemma3", "text_config": {twice}}}"#);
    assert!(Model::parse(&nested).unwrap_err().contains("`hidden_size` is given twice"));
    // What Python writes for numbers that JSON lacks is no reason to refuse a configuration.
    Model::parse(&text.replacen('{', r#"{"time_step_limit": [0.0, Infinity], "#, 1)).unwrap();
}

#[test]
fn layers_with_experts_are_those_that_each_family_counts() {
    let layers = |field: &str, every: u64| {
        let config = with(deepseek_v3(), &[("first_k_dense_replace", 1.into()), ("moe_layer_freq", 1.into())]);
        read(&with(config, &[(field, every.into())])).experts.unwrap().layers
    };
    // Of layers 1 to 60 those whose number is even, and those whose number is odd.
    assert_eq!((layers("moe_layer_freq", 2), layers("decoder_sparse_step", 2)), (30, 30));
    // 3, 6, ..., 60 and 2, 5, ..., 59.
    assert_eq!((layers("moe_layer_freq", 3), layers("decoder_sparse_step", 3)), (20, 20));
    assert_eq!((layers("moe_layer_freq", 4), layers("decoder_sparse_step", 4)), (15, 15));
    let from_four = |field: &str| {
        let config = with(deepseek_v3(), &[("first_k_dense_replace", 4.into()), ("moe_layer_freq", 1.into())]);
        read(&with(config, &[(field, 4.into())])).experts.unwrap().layers
    };
    // 4, 8, ..., 60 and 7, 11, ..., 59.
    assert_eq!((from_four("moe_layer_freq"), from_four("decoder_sparse_step")), (15, 14));
}

#[test]
fn experts_under_other_names_are_not_taken_for_none() {
    let odd = with(llama(4, 1024, 8, 4, 2048), &[("model_type", "newmoe".into()), ("moe_num_experts", 64.into())]);
    assert!(error(&odd).contains("`moe_num_experts`") && error(&odd).contains("num_local_experts"), "{}", error(&odd));
    let chosen = with(qwen3_32b(), &[("num_experts_per_tok", 8.into())]);
    assert!(error(&chosen).contains("`num_experts_per_tok`"), "{}", error(&chosen));
    let none =
        [("n_routed_experts", Value::Null), ("num_experts_per_tok", Value::Null), ("n_shared_experts", Value::Null)];
    assert!(read(&with(llama(4, 1024, 8, 4, 2048), &none)).experts.is_none());
}

#[test]
fn windows_are_those_of_the_layers_that_are_told() {
    let windowed =
        |fields: &[(&str, Value)]| with(with(llama(4, 1024, 8, 4, 2048), &[("sliding_window", 64.into())]), fields);
    let layers = |fields: &[(&str, Value)]| read(&windowed(fields)).window.map(|window| window.layers);
    let qwen = [("model_type", "qwen2".into()), ("use_sliding_window", true.into()), ("max_window_layers", 3.into())];
    assert_eq!(layers(&qwen), Some(1), "Qwen's first layers see everything");
    let kinds = json!(["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"]);
    assert_eq!(layers(&[("layer_types", kinds.clone())]), Some(3));
    // Nothing says which layers: that is told, and not guessed.
    let open = read(&windowed(&[]));
    assert!(open.window.is_none() && open.notes.iter().any(|note| note.contains("sliding_window")), "{:?}", open.notes);
    let short = windowed(&[("layer_types", json!(["full_attention"]))]);
    assert!(error(&short).contains("`layer_types`") && error(&short).contains("4 layers"), "{}", error(&short));
    let foreign = windowed(&[("layer_types", json!(["full_attention", "conv", "conv", "conv"]))]);
    assert!(error(&foreign).contains("conv"), "{}", error(&foreign));
    let unsized_window = without(windowed(&[("layer_types", kinds)]), "sliding_window");
    assert!(error(&unsized_window).contains("`sliding_window` is missing"), "{}", error(&unsized_window));
}

#[test]
fn experts_have_a_width_of_their_own_where_layers_are_dense_and_no_drafts_are_no_error() {
    let none = read(&with(deepseek_v3(), &[("num_nextn_predict_layers", 0.into())]));
    assert!(!none.notes.iter().any(|note| note.contains("drafts")), "{:?}", none.notes);
    // The width of a dense layer is not that of an expert.
    let nameless = with(deepseek_v3(), &[("moe_intermediate_size", Value::Null)]).to_string();
    let reason = Model::parse(&nameless.replace("\"moe_intermediate_size\":null,", "")).unwrap_err();
    assert!(reason.contains("`moe_intermediate_size`") && reason.contains("width of an expert"), "{reason}");
}

#[test]
fn what_stands_outside_of_the_language_model_counts_for_it() {
    let nested = json!({"model_type": "mistral3", "tie_word_embeddings": true,
        "quantization_config": {"quant_method": "fp8"},
        "text_config": with(llama(4, 1024, 8, 4, 2048), &[("model_type", "mistral".into())])});
    let model = read(&nested);
    assert!(model.tied && model.notes.iter().any(|note| note.contains("`fp8`")), "{:?}", model.notes);
    let drafts = read(&with(deepseek_v3(), &[("num_nextn_predict_layers", 1.into())]));
    assert!(drafts.notes.iter().any(|note| note.contains("draft")), "{:?}", drafts.notes);
}

#[test]
fn newer_kinds_that_are_built_otherwise_are_refused() {
    for (field, value) in
        [("interleave_moe_layer_step", json!(2)), ("altup_num_inputs", json!(4)), ("attn_type_list", json!([0, 0, 1]))]
    {
        let config = with(llama(3, 1024, 8, 4, 2048), &[("model_type", "newer".into()), (field, value)]);
        assert!(error(&config).contains(field), "{}", error(&config));
    }
}

proptest! {
    #![proptest_config(testing::cases(256))]

    #[test]
    fn whatever_a_configuration_says_it_is_a_model_or_a_sentence(
        config in prop_oneof![Just(qwen3_32b()), Just(deepseek_v3())],
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![
            Just(Value::Null), any::<u64>().prop_map(Value::from), (0u64..300).prop_map(Value::from),
            any::<bool>().prop_map(Value::from), Just(json!([0, 1])), Just(json!({})), "[a-z0-9]{0,6}".prop_map(Value::from),
        ]), 0..4),
    ) {
        let mut config = config;
        let names: Vec<String> = config.as_object().unwrap().keys().cloned().collect();
        for (at, value) in changes {
            config[at.get(&names).as_str()] = value;
        }
        if let Ok(model) = Model::parse(&config.to_string()) {
            prop_assert!(model.layers > 0 && model.dense_layers() <= model.layers);
        }
    }
}
