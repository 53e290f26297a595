//! Kernel lists beside what served models are known to launch.

use super::super::deployment::Quantization;
use super::super::figures::Figures;
use super::super::kernel::{Class, Kernel, Pattern, Work};
use super::super::load::Load;
use super::super::model::tests::{deepseek_v3, qwen3_32b};
use super::super::price::Pricer;
use super::{Deployment, Model, Step};
use crate::soc::{Arch, Soc};
use serde_json::{Value, json};

fn model(config: &Value) -> Model {
    Model::parse(&config.to_string()).unwrap()
}

/// The kernels on a 910B or 910C.
fn kernels(model: &Model, deployment: &Deployment, step: Step) -> Vec<Kernel> {
    super::kernels(model, deployment, step, Arch::C220)
}

fn on(tensor_parallel: u64) -> Deployment {
    Deployment { tensor_parallel, ..Deployment::default() }
}

fn count(kernels: &[Kernel], op: &str) -> u64 {
    kernels.iter().filter(|kernel| kernel.op_type() == op).map(|kernel| kernel.count).sum()
}

/// Launches of products, by rows, depth and columns.
fn products(kernels: &[Kernel]) -> Vec<(String, [u64; 3], u64)> {
    let of = |kernel: &Kernel| {
        let Work::Case(case) = &kernel.work else { return None };
        let [m, k, n] = ["m", "k", "n"].map(|size| case[size].as_u64());
        Some((kernel.op_type().to_owned(), [m?, k?, n?], kernel.count))
    };
    kernels.iter().filter_map(of).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "each test makes the operand for it")]
fn has(kernels: &[Kernel], op: &str, first_input: Value, count: u64) -> bool {
    kernels.iter().any(|kernel| {
        let Work::Case(case) = &kernel.work else { return false };
        case["op"] == op && case["inputs"][0]["shape"] == first_input && kernel.count == count
    })
}

#[test]
fn a_decode_step_of_qwen3_on_sixteen_devices_launches_what_the_served_one_does() {
    let list = kernels(&model(&qwen3_32b()), &on(16), Step::decode(16, 4096));
    let product = |k: u64, n: u64, count: u64| ("MatMulV2".to_owned(), [16, k, n], count);
    let expected = [
        product(5120, 768, 64),
        product(512, 5120, 64),
        product(5120, 3200, 64),
        product(1600, 5120, 64),
        product(5120, 9496, 1),
    ];
    assert_eq!(products(&list), expected);
    assert!(has(&list, "AddRmsNormBias", json!([16, 5120]), 128));
    assert!(has(&list, "RmsNorm", json!([16, 4, 128]), 1), "the first layer makes the sines");
    assert!(has(&list, "RmsNorm", json!([16, 1, 128]), 1));
    assert!(has(&list, "SwiGlu", json!([16, 3200]), 64));
    assert!(has(&list, "SoftmaxV2", json!([16, 151_936]), 1));
    assert!(has(&list, "RealDiv", json!([16, 151_936]), 1));
    assert_eq!(count(&list, "FusedInferAttentionScore"), 64);
    // After the embedding, attention and feed-forward; the head's parts are gathered.
    assert_eq!((count(&list, "hcom_allReduce_"), count(&list, "hcom_allGather_")), (129, 1));
}

#[test]
fn a_long_prefill_cuts_the_residual_stream_over_the_devices() {
    let list = kernels(&model(&qwen3_32b()), &on(16), Step::prefill(16, 2565, 2565));
    let product = |op: &str, k: u64, n: u64| (op.to_owned(), [41040, k, n], 64);
    let expected = [
        product("MatMulV2", 5120, 768),
        product("MatMulV2", 512, 5120),
        product("MatMulV3", 5120, 3200),
        product("MatMulV3", 1600, 5120),
    ];
    assert_eq!(products(&list)[..4], expected);
    assert!(has(&list, "AddRmsNormBias", json!([2565, 5120]), 128));
    assert!(has(&list, "TensorMove", json!([41040, 4, 128]), 64));
    assert_eq!((count(&list, "hcom_reduceScatter_"), count(&list, "hcom_allReduce_")), (129, 0));
    let short = kernels(&model(&qwen3_32b()), &on(16), Step::prefill(1, 512, 512));
    assert_eq!((count(&short, "hcom_reduceScatter_"), count(&short, "hcom_allReduce_")), (0, 129));
}

#[test]
fn experts_get_even_shares_of_the_tokens_of_all_devices() {
    let spread = Deployment { expert_parallel: 32, quantization: Quantization::W8a8, ..on(1) };
    let list = kernels(&model(&deepseek_v3()), &spread, Step::decode(32, 1024));
    // 32 devices with 32 tokens, each for 8 of 256 experts: 256 rows on each device's 8 experts.
    assert!(has(&list, "GroupedMatmul", json!([256, 7168]), 58) && has(&list, "GroupedMatmul", json!([256, 2048]), 58));
    let all_to_all = |kernel: &&Kernel| matches!(&kernel.work, Work::Exchange(x) if x.kind == Pattern::AllToAll);
    let exchanged: Vec<_> = list.iter().filter(all_to_all).map(|kernel| (kernel.role, kernel.count)).collect();
    assert_eq!(exchanged, [("MoeDistributeDispatchV2", 58), ("MoeDistributeCombineV2", 58)]);
    assert_eq!(count(&list, "MoeGatingTopK"), 58);
    // Latent attention: two products each way with the weights of heads.
    assert_eq!(count(&list, "TransposeBatchMatMul"), 122);
    let attention = list.iter().find(|kernel| kernel.class == Class::Attention).unwrap();
    assert_eq!(attention.cold_bytes, 32 * 1024 * 576 * 2, "the latent vectors are read once");
}

#[test]
fn few_tokens_wake_few_experts() {
    let cold = |batch: u64| {
        let list = kernels(&model(&deepseek_v3()), &on(8), Step::decode(batch, 1024));
        list.iter().filter(|kernel| kernel.class == Class::Grouped).map(|kernel| kernel.cold_bytes).sum::<u64>()
    };
    let expert = 3 * 7168 * (2048 / 8) * 2;
    assert_eq!(cold(1), 8 * expert);
    assert!(cold(4) > 3 * cold(1) && cold(4) < 4 * cold(1), "some experts are shared");
    assert_eq!(cold(4096), 256 * expert);
}

#[test]
fn earlier_tokens_of_a_latent_prompt_are_unfolded_again() {
    let up = |step: Step| -> Vec<u64> {
        let list = kernels(&model(&deepseek_v3()), &on(8), step);
        let products = products(&list).into_iter().filter(|(_, [_, k, _], _)| *k == 512);
        products.map(|(_, [m, ..], _)| m).collect()
    };
    assert_eq!(up(Step::prefill(1, 4096, 4096)), [4096]);
    assert_eq!(up(Step::prefill(1, 4096, 12_288)), [4096, 8192]);
}

#[test]
fn heads_rotated_in_part_are_cut_and_joined_and_never_fused() {
    let glm = json!({"model_type": "glm4_moe", "hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 46,
        "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151_552,
        "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 1408,
        "first_k_dense_replace": 1, "use_qk_norm": true});
    let list = kernels(&model(&glm), &on(8), Step::decode(16, 1024));
    assert!(has(&list, "ApplyRotaryPosEmb", json!([16, 12, 64]), 46));
    assert!(has(&list, "Slice", json!([16, 12, 128]), 46) && has(&list, "ConcatD", json!([16, 1, 64]), 46));
    assert_eq!(count(&list, "split_qkv_rmsnorm_rope_kernel"), 0);
}

#[test]
fn shared_experts_have_their_gate_and_are_added_to_the_routed_ones() {
    let qwen = json!({"model_type": "qwen2_moe", "hidden_size": 2048, "intermediate_size": 5632,
        "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 151_936,
        "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632});
    let list = kernels(&model(&qwen), &on(1), Step::decode(16, 1024));
    assert!(products(&list).contains(&("MatMulV2".to_owned(), [16, 2048, 1], 24)));
    assert!(has(&list, "Sigmoid", json!([16, 1]), 24) && has(&list, "Add", json!([16, 2048]), 24));
    let deepseek = kernels(&model(&deepseek_v3()), &on(8), Step::decode(16, 1024));
    assert!(has(&deepseek, "Add", json!([16, 7168]), 58) && count(&deepseek, "Sigmoid") == 0);
}

#[test]
fn without_fused_kernels_the_same_is_launched_in_more_pieces() {
    let step = Step::decode(16, 1024);
    let [fused, apart] = [true, false].map(|fused| {
        let deployment = Deployment { fused, ..on(16) };
        kernels(&model(&qwen3_32b()), &deployment, step)
    });
    assert_eq!(
        (count(&apart, "AddRmsNormBias"), count(&apart, "SwiGlu"), count(&apart, "ApplyRotaryPosEmb")),
        (0, 0, 64)
    );
    assert_eq!((count(&apart, "Swish"), count(&apart, "Mul"), count(&apart, "Add")), (64, 64, 128));
    let [fast, slow] = [fused, apart].map(|list| pricer().step(step, &list, true).unwrap().time.us);
    assert!(fast < slow, "{fast} {slow}");
}

/// How far the decode products of a list are from a line through those of a served network: a start and a rate.
fn from_line(config: &Value, deployment: &Deployment, (start_us, bytes_per_us): (f64, f64)) -> Vec<f64> {
    let mut pricer = Pricer::new(&Soc::find("Ascend910_9382").unwrap());
    let list = kernels(&model(config), deployment, Step::decode(16, 2565));
    let weights = |kernel: &&Kernel| {
        let known = ["MatMulV2", "QuantBatchMatmulV3"].contains(&kernel.op_type());
        known && kernel.count > 1 && kernel.cold_bytes > 4_000_000
    };
    let off = |kernel: &Kernel| {
        let line_us = start_us + kernel.cold_bytes as f64 / bytes_per_us;
        pricer.kernel(kernel).unwrap().time.us / line_us - 1.0
    };
    list.iter().filter(weights).map(off).collect()
}

#[test]
fn decode_products_take_as_long_as_published_of_served_networks() {
    // Served on dies of an Atlas A3: 4.0 us and 1.17 TB/s in bfloat16, 12.7 us and 1.55 TB/s in int8.
    let plain = from_line(&qwen3_32b(), &on(16), (4.0, 1.17e6));
    assert_eq!(plain.len(), 4);
    assert!(plain.iter().all(|off| off.abs() < 0.08), "{plain:?}");
    let spread = Deployment { expert_parallel: 32, quantization: Quantization::W8a8, ..on(4) };
    let int8 = from_line(&deepseek_v3(), &spread, (12.7, 1.55e6));
    assert!(int8.len() >= 5 && int8.iter().all(|off| off.abs() < 0.2), "{int8:?}");
}

#[test]
fn weights_of_all_layers_are_read_once_in_a_step_and_as_many_as_the_model_has() {
    for (config, devices, billions) in [(qwen3_32b(), 1, 32.0), (qwen3_32b(), 4, 8.0)] {
        let list = kernels(&model(&config), &on(devices), Step::decode(1, 128));
        let of = |kernel: &Kernel| if kernel.class == Class::Product { kernel.cold_bytes * kernel.count } else { 0 };
        let read = list.iter().map(of).sum::<u64>() as f64 / 2e9;
        // 32.8 billion parameters, of which the embedding's are not read.
        assert!((read / billions - 1.0).abs() < 0.02, "{read} of {billions}");
    }
}

#[test]
fn quantised_weights_are_smaller_by_as_much_as_their_types() {
    let cold = |quantization: Quantization| {
        let deployment = Deployment { quantization, ..on(4) };
        let list = kernels(&model(&qwen3_32b()), &deployment, Step::decode(8, 1024));
        let linear = list.iter().filter(|kernel| kernel.class == Class::Product && kernel.role != "head");
        linear.map(|kernel| kernel.cold_bytes * kernel.count).sum::<u64>() as f64
    };
    let plain = cold(Quantization::None);
    assert!((cold(Quantization::W8a8) / plain - 0.5).abs() < 1e-9);
    assert!((0.25..0.27).contains(&(cold(Quantization::W4a16) / plain)), "four bits and a scale for 128 of them");
}

fn mixtral() -> Value {
    json!({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8,
        "num_experts_per_tok": 2})
}

fn pricer() -> Pricer {
    Pricer::new(&Soc::find("Ascend910B2").unwrap())
}

#[test]
fn a_prompt_in_a_window_costs_what_its_rows_see() {
    let gemma = json!({"model_type": "gemma3_text", "hidden_size": 3840, "intermediate_size": 15360,
        "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256,
        "vocab_size": 262_208, "sliding_window": 1024});
    let (mut pricer, step) = (pricer(), Step::prefill(1, 8192, 8192));
    let list = kernels(&model(&gemma), &on(1), step);
    let mut us = |count: u64| {
        let attention = list.iter().find(|kernel| kernel.class == Class::Attention && kernel.count == count);
        pricer.kernel(attention.unwrap_or_else(|| panic!("no attention of {count} layers"))).unwrap().time.us
    };
    // A row sees 960 keys in the mean, without the window 4096; blocks on the edges are worked on whole.
    let (near, far) = (us(40), us(8));
    assert!((0.15..0.45).contains(&(near / far)), "{near} {far}");
}

#[test]
fn kernels_launched_one_by_one_follow_no_sooner_than_in_a_graph() {
    let step = Step::decode(32, 2048);
    let list = kernels(&model(&qwen3_32b()), &on(1), step);
    let [graph, eager] = [true, false].map(|graph| pricer().step(step, &list, graph).unwrap().time.us);
    assert!(eager >= graph, "{eager} {graph}");
}

#[test]
fn a_point_that_no_device_holds_keeps_no_other_from_its_price() {
    let load = Load { batches: vec![1, 512], prompts: vec![512], contexts: vec![2048, 1 << 18] };
    let figures = Figures::of(&model(&qwen3_32b()), &on(1), &load, &mut pricer()).unwrap();
    let priced: Vec<_> = figures.decode.iter().map(|point| (point.batch, point.context)).collect();
    assert_eq!(priced, [(1, 2048), (1, 1 << 18), (512, 2048)]);
    assert_eq!(figures.prefill.len(), 2);
}

#[test]
fn every_kernel_of_every_family_can_be_priced() {
    let gemma = json!({"model_type": "gemma2", "hidden_size": 3584, "intermediate_size": 14336, "num_hidden_layers": 42,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256, "vocab_size": 256_000,
        "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 4096});
    let mut pricer = pricer();
    for config in [qwen3_32b(), deepseek_v3(), gemma, mixtral()] {
        let model = model(&config);
        for quantization in [Quantization::None, Quantization::W8a8, Quantization::W4a16] {
            for expert_parallel in [1, 8] {
                let deployment = Deployment { expert_parallel, quantization, ..on(4) };
                if deployment.check(&model).is_err() {
                    continue;
                }
                for step in [Step::decode(3, 5000), Step::prefill(2, 700, 700), Step::prefill(1, 8192, 8192)] {
                    for kernel in kernels(&model, &deployment, step) {
                        let priced = pricer.kernel(&kernel).unwrap_or_else(|e| panic!("{kernel:?}: {e}"));
                        assert!(priced.time.us > 0.0 && priced.time.us < 1e7, "{kernel:?} {priced:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_devices_cannot_share_evenly_is_refused_by_name() {
    let refused = |config: Value, deployment: Deployment| deployment.check(&model(&config)).unwrap_err().to_string();
    let three = refused(qwen3_32b(), on(3));
    assert!(three.contains("64 query heads") && three.contains("1, 2, 4"), "{three}");
    assert!(refused(qwen3_32b(), on(0)).contains("tensor_parallel"));
    assert!(refused(qwen3_32b(), Deployment { expert_parallel: 2, ..on(1) }).contains("no experts"));
    assert!(refused(deepseek_v3(), Deployment { expert_parallel: 24, ..on(1) }).contains("256 experts"));
    assert!(refused(deepseek_v3(), Deployment { expert_parallel: 4, ..on(8) }).contains("no multiple"));
    on(16).check(&model(&qwen3_32b())).unwrap();
}

#[test]
fn products_have_the_names_that_the_part_launches() {
    let model = model(&qwen3_32b());
    let ops = |arch: Arch| -> Vec<String> {
        let list = super::kernels(&model, &on(1), Step::prefill(1, 4096, 4096), arch);
        products(&list).into_iter().map(|(op, ..)| op).filter(|op| op.ends_with("V3")).collect()
    };
    assert!(!ops(Arch::C220).is_empty() && !ops(Arch::C310).is_empty());
    for arch in [Arch::C100, Arch::M200, Arch::M300] {
        assert!(ops(arch).is_empty(), "{arch:?}");
    }
}

#[test]
fn products_and_nothing_else_start_later_in_a_network() {
    for config in [qwen3_32b(), deepseek_v3(), mixtral()] {
        for quantization in [Quantization::None, Quantization::W8a8, Quantization::W4a16] {
            let deployment = Deployment { quantization, ..on(4) };
            for kernel in kernels(&model(&config), &deployment, Step::decode(3, 5000)) {
                let is_product = matches!(kernel.class, Class::Product | Class::Grouped);
                assert_eq!(crate::sim::served_start_us(kernel.op_type()) > 0.0, is_product, "{kernel:?}");
            }
        }
    }
}
