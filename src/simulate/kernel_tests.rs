//! Cube kernels given by their operands: what follows from shapes, types and blocks.

use super::{Parts, answer};
use serde_json::{Value, json};

fn tensor(shape: &[u64], dtype: &str, format: &str) -> Value {
    json!({"shape": shape, "dtype": dtype, "format": format})
}

fn map(shape: &[u64], dtype: &str) -> Value {
    tensor(shape, dtype, "NC1HWC0")
}

fn filter(shape: &[u64], dtype: &str) -> Value {
    tensor(shape, dtype, "FRACTAL_Z")
}

fn case(op: &str, soc: &str, inputs: &[Value], outputs: &[Value]) -> Value {
    json!({"op": op, "soc": soc, "inputs": inputs, "outputs": outputs})
}

fn ask(case: &Value) -> Value {
    serde_json::from_str(&answer(&case.to_string(), &mut Parts::new(None, Vec::new(), None).unwrap())).unwrap()
}

fn time(case: &Value) -> f64 {
    let answer = ask(case);
    answer["time_us"].as_f64().unwrap_or_else(|| panic!("{case}: {answer}"))
}

/// Microseconds that the cube unit of the busiest core works.
fn cube_us(case: &Value) -> f64 {
    let answer = ask(case);
    answer["pipes"]["mac"].as_f64().unwrap_or_else(|| panic!("{case}: {answer}")) * time(case)
}

fn error(case: &Value) -> String {
    let answer = ask(case);
    answer["error"].as_str().unwrap_or_else(|| panic!("{case}: {answer}")).to_owned()
}

/// 256 to 256 channels, 3 x 3, in blocks as wide as the type has them.
fn convolution(dtype: &str, out_dtype: &str, blocks: u64, lanes: u64, out_blocks: u64, out_lanes: u64) -> Value {
    case(
        "Conv2D",
        "Ascend910B2",
        &[map(&[32, blocks, 28, 28, lanes], dtype), filter(&[9 * blocks, 16, 16, lanes], dtype)],
        &[map(&[32, out_blocks, 28, 28, out_lanes], out_dtype)],
    )
}

#[test]
fn where_each_operand_lies_is_told_of_a_kernel_alone_between_all_warm_and_all_cold() {
    let answer = |op: &str, cache: Value| {
        let x = json!({"shape": [1024, 4096], "dtype": "float32", "format": "ND"});
        let y = json!({"shape": [1024, 4096], "dtype": "float16", "format": "ND"});
        ask(&json!({"op": op, "soc": "Ascend910B2", "cache": cache, "inputs": [x, y], "outputs": [x]}))
    };
    for op in ["Add", "AddRmsNorm"] {
        let us = |cache: Value| {
            let answer = answer(op, cache);
            assert_eq!(answer["context"], "alone", "{answer}");
            answer["time_us"].as_f64().unwrap()
        };
        let [warm, cold] = ["warm", "cold"].map(|word| us(word.into()));
        assert_eq!([us(json!(["warm", "warm"])), us(json!(["cold", "cold"])), us(json!(["cold"]))], [warm, cold, cold]);
        let [small, large] = [json!(["warm", "cold"]), json!(["cold", "warm"])].map(us);
        assert!(warm < small && small < large && large <= cold, "{op}: {warm} {small} {large} {cold}");
    }
}

#[test]
fn one_convolution_in_other_types_takes_the_cube_units_factor() {
    let half = cube_us(&convolution("float16", "float16", 16, 16, 16, 16));
    let whole = cube_us(&convolution("int8", "int32", 8, 32, 16, 16));
    let single = convolution("float32", "float32", 32, 8, 32, 8);
    let mut rounded = single.clone();
    rounded["hf32"] = json!(true);
    for (name, ratio, expected) in [
        ("int8", whole / half, 0.5),
        ("HF32", cube_us(&rounded) / half, 2.0),
        ("float32", cube_us(&single) / half, 4.0),
    ] {
        assert!((ratio / expected - 1.0).abs() < 0.2, "{name}: {ratio}");
    }
    assert!(ask(&rounded)["note"].is_null());
}

#[test]
fn groups_of_a_convolution_show_in_its_filter() {
    let x = map(&[32, 16, 28, 28, 16], "float16");
    let grouped = |blocks: u64| {
        let inputs = [x.clone(), filter(&[144, blocks, 16, 16], "float16")];
        cube_us(&case("Conv2D", "Ascend910B2", &inputs, std::slice::from_ref(&x)))
    };
    // Four groups: a quarter of the products.
    let ratio = grouped(4) / grouped(16);
    assert!((0.22..0.35).contains(&ratio), "{ratio}");
}

#[test]
fn what_lies_together_passes_as_one_whether_or_not_its_rows_fill_whole_blocks() {
    for soc in ["Ascend910B2", "Ascend310P3", "Ascend910A"] {
        for op in ["Slice", "StridedSlice", "StridedSliceGrad", "Pad", "Tile"] {
            let us = |row: u64| {
                let [long, short] = [4, 2].map(|rows| tensor(&[rows, 8192, row], "float32", "ND"));
                let grows = ["StridedSliceGrad", "Pad", "Tile"].contains(&op);
                let [x, y] = if grows { [short, long] } else { [long, short] };
                time(&case(op, soc, &[x], &[y]))
            };
            let [even, odd] = [16, 17].map(us);
            assert!(odd < 1.1 * even, "{op} on {soc}: {even} {odd}");
        }
    }
}

#[test]
fn parts_that_lie_together_and_short_ones_cost_what_they_move() {
    for soc in ["Ascend910B2", "Ascend950PR_9589"] {
        let price = |op: &str, inputs: &[Value], outputs: &[Value]| time(&case(op, soc, inputs, outputs));
        let of = |shape: &[u64]| tensor(shape, "int64", "ND");
        // Rows of 56 bytes, one tensor behind the other: no row is moved by itself.
        let (part, both) = (of(&[100_003, 7]), of(&[200_006, 7]));
        let whole = price("ConcatD", &[part.clone(), part.clone()], std::slice::from_ref(&both));
        let flat = price("ConcatD", &[of(&[700_021]), of(&[700_021])], &[of(&[1_400_042])]);
        assert!((0.9..1.1).contains(&(whole / flat)), "{soc}: {whole} and {flat} us");
        let cut = price("SplitD", std::slice::from_ref(&both), &[part.clone(), part.clone()]);
        assert!((0.8..1.2).contains(&(cut / whole)), "{soc}: {cut} and {whole} us");
        // Two numbers side by side are the transpose of two rows.
        let half = |shape: &[u64]| tensor(shape, "float16", "ND");
        let stacked = price("Pack", &[half(&[1 << 20]), half(&[1 << 20])], &[half(&[1 << 20, 2])]);
        let turned = price("Transpose", &[half(&[2, 1 << 20])], &[half(&[1 << 20, 2])]);
        assert!((0.3..3.0).contains(&(stacked / turned)), "{soc}: {stacked} and {turned} us");
    }
}

#[test]
fn operands_that_do_not_fit_each_other_are_named() {
    let conv = |x: [u64; 5], w: [u64; 4], y: [u64; 5]| {
        case("Conv2D", "Ascend910B", &[map(&x, "float16"), filter(&w, "float16")], &[map(&y, "float16")])
    };
    let square = |dtype: &str| tensor(&[64, 64], dtype, "ND");
    let product = |a: &str, b: &str, soc: &str| case("MatMulV2", soc, &[square(a), square(b)], &[square(b)]);
    for (case, said) in [
        (conv([4, 2, 8, 8, 16], [18, 2, 16, 16], [3, 2, 8, 8, 16]), "4 and 3 images"),
        (conv([4, 2, 8, 8, 16], [18, 2, 16, 16], [4, 2, 80, 8, 16]), "height of 8 give at most 10, not 80"),
        (conv([4, 2, 8, 8, 16], [19, 2, 16, 16], [4, 2, 8, 8, 16]), "does not cover 2 blocks"),
        (conv([4, 2, 8, 8, 16], [18, 3, 16, 16], [4, 2, 8, 8, 16]), "no filter for 2 output blocks"),
        (product("int8", "float16", "Ascend910B2"), "multiplies int8 by float16"),
        (product("bfloat16", "bfloat16", "Ascend910A"), "Ascend910A does not multiply bfloat16"),
        (product("bfloat16", "bfloat16", "Ascend310P3"), "Ascend310P3 does not multiply bfloat16"),
    ] {
        let error = error(&case);
        assert!(error.contains(said), "{error}");
    }
    let product = |soc: &str| json!({"op": "MatMul", "soc": soc, "m": 64, "k": 64, "n": 64, "dtype": "float8_e5m2"});
    assert!(time(&product("Ascend950PR_9599")) > 0.0);
    assert!(error(&product("Ascend910B4")).contains("does not multiply float8_e5m2"));
}

#[test]
fn fewer_blocks_than_cores_take_longer_on_every_part() {
    for soc in ["Ascend910B", "Ascend910B2", "Ascend950PR_9599"] {
        let on = |blocks: u64| {
            let case = json!({"op": "MatMul", "soc": soc, "m": 2048, "k": 512, "n": 2048, "block_dim": blocks});
            let answer = ask(&case);
            assert!(answer["schedule"]["used_cores"].as_u64().unwrap() <= blocks, "{soc}: {answer}");
            answer["time_us"].as_f64().unwrap()
        };
        let (one, four, twenty) = (on(1), on(4), on(20));
        assert!(one > 2.0 * four && four > 2.0 * twenty, "{soc}: {one} {four} {twenty}");
    }
}

#[test]
fn attention_takes_the_same_time_in_every_layout() {
    let (batch, heads, tokens, width) = (2, 8, 1024, 128);
    let shapes: [&[u64]; 4] = [
        &[batch, heads, tokens, width],
        &[batch, tokens, heads, width],
        &[tokens, batch, heads * width],
        &[batch, tokens, heads * width],
    ];
    let statistic = tensor(&[batch, heads, tokens, 8], "float32", "ND");
    let times = shapes.iter().flat_map(|shape| {
        let q = || tensor(shape, "bfloat16", "ND");
        let told = case("FlashAttentionScore", "Ascend910B4", &[q(), q(), q()], &[statistic.clone(), q()]);
        let untold = case("PromptFlashAttention", "Ascend910B4", &[q(), q(), q()], &[q()]);
        [time(&told), time(&untold)]
    });
    let times: Vec<_> = times.collect();
    assert!(times.iter().all(|t| (t / times[0] - 1.0).abs() < 1e-9), "{times:?}");
}

#[test]
fn attention_scores_need_no_device_memory() {
    // In fp32 the scores would be 137 GB.
    let q = tensor(&[1, 8, 65_536, 128], "bfloat16", "ND");
    let inputs = [q.clone(), q.clone(), q.clone()];
    assert!(time(&case("PromptFlashAttention", "Ascend910B4", &inputs, &[q])) > 1000.0);
}

#[test]
fn tensors_beyond_the_memory_are_sizes_that_cannot_be() {
    let large = || tensor(&[1 << 20, 1 << 16], "float32", "ND");
    for case in [
        json!({"op": "MatMul", "m": 1 << 20, "k": 1 << 16, "n": 1 << 16}),
        case("Add", "Ascend910B2", &[large()], &[large()]),
    ] {
        let error = super::price(&case.to_string(), &mut Parts::new(None, Vec::new(), None).unwrap()).unwrap_err();
        assert!(matches!(error, crate::status::Error::Workload { .. }), "{error}");
    }
}

#[test]
fn where_operands_lie_is_read_word_by_word() {
    let linear = |field: &str, words: Value| {
        let mut case = json!({"op": "MatMulV2", "soc": "Ascend910B2", "m": 16, "k": 4096, "n": 16384,
            "dtype": "bfloat16", "trans_b": true});
        case[field] = words;
        case
    };
    let (cold, warm) = (time(&linear("b_cache", json!("cold"))), time(&linear("b_cache", json!("warm"))));
    // 134 MB from device memory of 1.6 TB/s.
    assert!(cold > 84.0 && cold < 130.0 && warm < 0.7 * cold, "{cold} {warm}");
    let same = |words: Value, us: f64| assert!((time(&linear("cache", words)) / us - 1.0).abs() < 1e-9);
    same(json!(["warm", "cold"]), cold);
    same(json!("warm: the same tensors 700 times"), warm);
    for (field, words, said) in [
        ("cache", json!("tepid"), "tepid"),
        ("b_cache", json!("hot"), "`b_cache`"),
        ("cache", json!(["cold", "icy"]), "icy"),
        ("cache", json!([]), "0 words"),
        ("a_cache", json!(3), "`a_cache`"),
    ] {
        let message = error(&linear(field, words.clone()));
        assert!(message.contains(said), "{words}: {message}");
    }
    let mut twice = linear("cache", json!("cold"));
    twice["b_cache"] = json!("cold");
    assert!(error(&twice).contains("both say"));
    let mut twice = linear("cache", json!("cold"));
    twice["missed_bytes"] = json!(5);
    assert!(error(&twice).contains("both say"));
}

/// Keys that few heads share are read once for all the queries that share them, and a row of a causal prefill sees half
/// of its keys.
#[test]
fn attention_counts_the_heads_of_keys_and_the_mask() {
    let attention = |kv_heads: u64, rows: u64, keys: u64, attrs: Value| {
        let q = tensor(&[32, 32, rows, 128], "bfloat16", "ND");
        let k = tensor(&[32, kv_heads, keys, 128], "bfloat16", "FORMAT_ND");
        let inputs = [q.clone(), k.clone(), k];
        let mut case = case("FusedInferAttentionScore", "Ascend910B2", &inputs, &[q]);
        (case["attrs"], case["cache"]) = (attrs, json!("cold"));
        time(&case)
    };
    let layout = |causal: bool| json!({"input_layout": "BNSD", "causal": causal});
    let (each, shared) = (attention(32, 1, 4096, layout(false)), attention(4, 1, 4096, layout(false)));
    assert!(each > 3.0 * shared, "{each} {shared}");
    let (full, half) = (attention(32, 2048, 2048, layout(false)), attention(32, 2048, 2048, layout(true)));
    assert!(half < 0.75 * full && half > 0.4 * full, "{full} {half}");
}

/// `DeepSeek`'s decode: int8 weights of bfloat16 results cost the vector cores their scaling.
#[test]
fn a_bfloat16_result_of_int8_is_scaled_by_vector_cores() {
    let product = |out: &str| {
        let inputs = [tensor(&[8192, 256], "int8", "ND"), tensor(&[256, 8192], "int8", "ND")];
        case("QuantBatchMatmulV3", "Ascend910B2", &inputs, &[tensor(&[8192, 8192], out, "ND")])
    };
    let (by_fixpipe, by_vector) = (ask(&product("float16")), ask(&product("bfloat16")));
    assert!(by_fixpipe["pipes"]["vec"] == 0.0 && by_vector["pipes"]["vec"].as_f64().unwrap() > 0.1, "{by_vector}");
    assert!(by_vector["time_us"].as_f64() > by_fixpipe["time_us"].as_f64());
}

/// A record as repositories for parts without fixpipe hold them: the input's gradient of a 3 x 3 convolution.
fn record(change: impl Fn(&mut Value)) -> Value {
    let mut case = json!({
        "id": "dx", "soc": "Ascend310P3", "op": "conv2d_bp_input",
        "a": {"shape": [2, 4, 28, 28, 16], "dtype": "float16", "format": "NC1HWC0"},
        "b": {"shape": [64, 4, 3, 3, 16], "dtype": "float16", "format": "NC1HWC0"}, "c": null,
        "attrs": {"padl": 1, "padr": 1, "padu": 1, "padd": 1, "strideH": 1, "strideW": 1, "strideH_expand": 1,
            "strideW_expand": 1, "dilationH": 1, "dilationW": 1, "group": 1},
        "l1_kib": null, "test_case": "own",
        "tiling": [2, false, 2, 4, 1, [], 1, 1, 1, 1, null, null, null, null, 2, false, 1, 144, 1, 1, 1, 1, null, null,
            null, null, 2, 13, 1, 1, 1, 2, 1, 4, 1, 1, 2, 13, 4, 1, 1, 2, 2, 13, 1, 1, 2, false, false, false],
    });
    change(&mut case);
    ask(&case)
}

#[test]
fn a_convolution_with_a_repositorys_tiling_is_priced_as_it_stands() {
    let plain = record(|_| {});
    assert!(plain["time_us"].as_f64().unwrap() > 0.0 && plain["interval_us"].is_array(), "{plain}");
    assert_eq!(plain["schedule"]["cores"], json!({"batch": 2, "m": 4, "n": 1, "k": 1}));
    // Without blocks one core does what eight did.
    let one = record(|case| (case["tiling"][2], case["tiling"][3]) = (json!(1), json!(1)));
    assert!(one["time_us"].as_f64().unwrap() > 2.0 * plain["time_us"].as_f64().unwrap(), "{one}");
    let sized =
        record(|case| case["c"] = json!({"shape": [2, 4, 28, 28, 16], "dtype": "float16", "format": "NC1HWC0"}));
    assert_eq!(sized["time_us"], plain["time_us"]);
}

#[test]
fn what_a_record_lacks_is_named() {
    for (change, named) in [
        ((|case: &mut Value| case["a"] = Value::Null) as fn(&mut Value), "`a` is missing"),
        (|case| case["b"]["shape"] = json!([64, 4]), "`b.shape`"),
        (|case| case["tiling"] = json!([1, 2]), "2 values"),
        (|case| case["tiling"] = json!("none"), "`tiling`"),
        (|case| case["tiling"][2] = json!(-1), "`tiling[2]`"),
        (|case| case["tiling"][2] = json!(1.5), "`tiling[2]`"),
        (|case| case["attrs"]["padl"] = json!("one"), "`attrs.padl`"),
        (|case| case["op"] = json!("conv2d_bp_filter"), "`c` is missing"),
        (|case| case["op"] = json!("Relu"), "Relu"),
        (|case| case["a"]["shape"] = json!([2, 4, 0, 28, 16]), "`a.shape`"),
    ] {
        let error = record(change)["error"].as_str().unwrap().to_owned();
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn an_instance_norm_goes_row_by_row_where_its_planes_fill_no_whole_blocks() {
    let norm = |width: u64| {
        let (x, means) = (tensor(&[100, 40, width, 24], "float16", "ND"), tensor(&[100, 1, 1, 24], "float16", "ND"));
        let lanes = tensor(&[40], "float16", "ND");
        let mut norm =
            case("InstanceNorm", "Ascend310", &[x.clone(), lanes.clone(), lanes], &[x, means.clone(), means]);
        norm["block_dim"] = json!(1);
        time(&norm)
    };
    // 24 lanes of 16 bits are 48 bytes: two of them are whole blocks.
    assert!(norm(101) > 10.0 * norm(102), "{} {}", norm(101), norm(102));
    assert!((norm(103) / norm(101) - 103.0 / 101.0).abs() < 0.02);
}

#[test]
fn rows_of_a_grouped_product_are_worked_on_once() {
    let product = |op: &str, weights: &[u64]| {
        case(
            op,
            "Ascend910B2",
            &[tensor(&[4096, 1024], "float16", "ND"), tensor(weights, "float16", "ND")],
            &[tensor(&[4096, 2048], "float16", "ND")],
        )
    };
    let (one, grouped) =
        (cube_us(&product("MatMulV3", &[1024, 2048])), cube_us(&product("GroupedMatmul", &[8, 1024, 2048])));
    assert!((grouped / one - 1.0).abs() < 0.2, "{grouped} {one}");
}

#[test]
fn attention_alone_waits_for_no_stream_and_costs_less_on_the_950() {
    let attention = |soc: &str, cache: Option<&str>| {
        let x = tensor(&[4, 32, 1024, 128], "float16", "ND");
        let mut case = case("FusedInferAttentionScore", soc, &[x.clone(), x.clone(), x.clone()], &[x]);
        if let Some(cache) = cache {
            case["cache"] = json!(cache);
        }
        time(&case)
    };
    let [stream, alone] = [None, Some("warm")].map(|cache| attention("Ascend910B2", cache));
    assert!(alone < stream && attention("Ascend950PR_9589", Some("warm")) < 0.5 * alone, "{alone} {stream}");
}

#[test]
fn a_quantised_weight_of_the_950_is_read_in_its_own_width() {
    let product = |soc: &str, op: &str, dtype: &str| {
        let inputs = [tensor(&[16, 8192], "float16", "ND"), tensor(&[8192, 8192], dtype, "ND")];
        let mut case = case(op, soc, &inputs, &[tensor(&[16, 8192], "float16", "ND")]);
        case["cache"] = json!("cold");
        time(&case)
    };
    let of = |soc| product(soc, "WeightQuantBatchMatmulV2", "int8") / product(soc, "MatMulV3", "float16");
    assert!(of("Ascend950PR_9589") < 0.7 && of("Ascend910B2") > 0.9);
    let grouped = |dtype: &str| {
        let inputs = [tensor(&[16, 4096], "float16", "ND"), tensor(&[8, 4096, 4096], dtype, "ND")];
        let mut case = case("GroupedMatmul", "Ascend950PR_9589", &inputs, &[tensor(&[16, 4096], "float16", "ND")]);
        case["cache"] = json!("cold");
        time(&case)
    };
    assert!(grouped("int4") < 0.75 * grouped("int8") && grouped("int8") < 0.75 * grouped("float16"));
}

#[test]
fn plain_matrices_of_a_repository_take_longer_on_two_cores_than_fractals() {
    let product = |stride: u64| {
        time(&json!({
            "op": "MatMul", "soc": "Ascend310", "m": 64, "k": 64, "n": 500_000, "dtype": "float16", "out_dtype": "float32",
            "a_format": "FRACTAL_NZ", "b_format": "FRACTAL_NZ",
            "raw": {"dilation_h": 1, "stride_h": stride, "batch_type": null, "fused_operands": 1},
            "schedule": {
                "cores": {"batch": 1, "m": 1, "n": 2, "group": 1}, "l1_a": "full", "l1_b": {"k": 64, "n_tiles": 1, "batch": 1},
                "l0": {"m": 32, "n": 400, "k_a": 32, "k_b": 32},
                "buffers": {"l1_a": 2, "l1_b": 2, "l0_a": 2, "l0_b": 2, "l0_c": 1},
            },
        }))
    };
    assert!(product(0) > 1.5 * product(1), "{} {}", product(0), product(1));
}

#[test]
fn results_of_plain_matrices_leave_for_device_memory_behind_the_cube() {
    let product = |out: &str| {
        time(&json!({
            "op": "MatMul", "soc": "Ascend310P3", "m": 512, "k": 65536, "n": 4096, "dtype": "float16", "out_dtype": out,
            "a_format": "FRACTAL_NZ", "b_format": "FRACTAL_NZ",
            "raw": {"dilation_h": 1, "stride_h": 0, "batch_type": null, "fused_operands": 1},
            "schedule": {
                "cores": {"batch": 1, "m": 1, "n": 8, "group": 1},
                "l1_a": {"k": 256, "m_tiles": 1, "batch": 1}, "l1_b": {"k": 256, "n_tiles": 1, "batch": 1},
                "l0": {"m": 128, "n": 256, "k_a": 32, "k_b": 32},
                "buffers": {"l1_a": 2, "l1_b": 2, "l0_a": 2, "l0_b": 2, "l0_c": 2},
            },
        }))
    };
    // Two bytes more for each result, at the part's 204.8 GB/s, in the repository's unit. K is so long that nothing else tells.
    let least = 0.42 * 512.0 * 4096.0 * 2.0 / 204.8e3;
    let more = product("float32") - product("float16");
    assert!(more > least, "{more} {least}");
}

#[test]
fn blocks_of_columns_a_mebibyte_apart_share_a_channel_on_the_first_generation() {
    let product = |rows: u64| {
        let inputs =
            [tensor(&[48, rows, 16, 16], "float16", "FRACTAL_NZ"), tensor(&[48, 48, 16, 16], "float16", "FRACTAL_NZ")];
        let mut case = case("MatMul", "Ascend910B", &inputs, &[tensor(&[48, rows, 16, 16], "float16", "FRACTAL_NZ")]);
        case["block_dim"] = json!(32);
        time(&case)
    };
    assert!(product(2048) > 3.0 * product(2056), "{} {}", product(2048), product(2056));
}

/// A cache of keys in pages takes the time of the keys that sequences have in it, in whichever form it is given.
#[test]
fn attention_over_pages_takes_the_same_time_in_every_form() {
    let attention = |q: &[u64], cache: &[u64], attrs: Value| {
        let [q, cache] = [q, cache].map(|shape| tensor(shape, "bfloat16", "ND"));
        let mut case = case("FusedInferAttentionScore", "Ascend910B2", &[q.clone(), cache.clone(), cache], &[q]);
        case["attrs"] = attrs;
        case
    };
    let lengths = |layout: &str, keys: u64| json!({"input_layout": layout, "actual_seq_lengths_kv": vec![keys; 16], "block_size": 128});
    let (q, flat, by_heads) = ([16, 32, 1, 128], [2048, 128, 1024], [2048, 8, 128, 128]);
    let expected = time(&attention(&[16, 1, 4096], &flat, lengths("BSH", 4096)));
    assert!((250.0..350.0).contains(&expected), "{expected}");
    for case in [
        attention(&q, &flat, lengths("BNSD", 4096)),
        attention(&q, &by_heads, lengths("BNSD", 4096)),
        attention(&[16, 32, 128], &flat, lengths("TND", 4096)),
        attention(&q, &by_heads, json!({"layout": "paged, block 128", "seq_len": 4096})),
    ] {
        assert!((time(&case) - expected).abs() < 1e-6, "{} {case}", time(&case));
        assert!(ask(&case)["note"].is_null(), "{}", ask(&case));
    }
    assert!(time(&attention(&q, &flat, lengths("BNSD", 1024))) < 0.5 * expected);
    let untold = ask(&attention(&q, &flat, json!({"input_layout": "BNSD", "scale": 0.1})));
    let note = untold["note"].as_str().unwrap();
    assert!(note.contains("full cache") && note.contains("not used: `attrs.scale`"), "{note}");
    assert!(error(&attention(&q, &flat, lengths("BNXD", 4096))).contains("input_layout"));
}

#[test]
fn attention_takes_no_less_than_its_operands_need_to_come_from_device_memory() {
    for (soc, dtype, gb_s) in [("Ascend310P3", "float16", 204.8), ("Ascend910B2", "bfloat16", 1600.0)] {
        let q = tensor(&[16, 32, 1, 256], dtype, "ND");
        let keys = tensor(&[16, 8, 31_591, 256], dtype, "ND");
        let mut case = case("FusedInferAttentionScore", soc, &[q.clone(), keys.clone(), keys], &[q]);
        (case["attrs"], case["cache"]) = (json!({"input_layout": "BNSD"}), json!("cold"));
        let bytes = 2.0 * 2.0 * 256.0 * (16.0 * 8.0 * 31_591.0 + 16.0 * 32.0 / 2.0);
        let least = bytes / gb_s / 1e3;
        let found = time(&case);
        assert!(found >= least && found < 2.0 * least, "{soc}: {found} {least}");
        case["cache"] = json!(["warm", "cold", "warm"]);
        assert!(time(&case) >= 0.49 * least, "{soc}");
    }
}

/// Profiles have a place for each optional operand, filled or not.
#[test]
fn an_operand_that_is_not_there_costs_nothing() {
    let square = || tensor(&[512, 512], "float16", "ND");
    let (image, filter) = (tensor(&[1, 64, 28, 28], "float16", "NCHW"), tensor(&[64, 64, 3, 3], "float16", "NCHW"));
    let absent = [
        json!({"shape": [], "dtype": "", "format": ""}),
        json!({"shape": [0], "dtype": "float16", "format": "ND"}),
        json!({"shape": [], "dtype": "DT_UNDEFINED", "format": "NULL"}),
        Value::Null,
    ];
    for absent in &absent {
        for (op, inputs, output) in [
            ("MatMulV3", vec![square(), square()], square()),
            ("RmsNorm", vec![square(), tensor(&[512], "float16", "ND")], square()),
            ("Add", vec![square(), square()], square()),
            ("Conv2D", vec![image.clone(), filter.clone()], image.clone()),
            ("FusedInferAttentionScore", vec![tensor(&[4, 8, 64, 64], "float16", "ND"); 3], square()),
        ] {
            let of = |inputs: &[Value]| {
                let mut case = case(op, "Ascend910B2", inputs, std::slice::from_ref(&output));
                case["attrs"] = if op == "Conv2D" { json!({"pads": [1, 1, 1, 1]}) } else { json!({}) };
                time(&case)
            };
            let more: Vec<Value> = inputs.iter().chain([absent, absent]).cloned().collect();
            assert!((of(&inputs) - of(&more)).abs() < 1e-9, "{op} {absent}: {} {}", of(&inputs), of(&more));
        }
        let needed = error(&case("MatMulV3", "Ascend910B2", &[square(), absent.clone()], &[square()]));
        assert!(needed.contains("`inputs[1]`") && needed.contains("x2"), "{needed}");
        let nothing = case("Unheard", "Ascend910B2", std::slice::from_ref(absent), std::slice::from_ref(absent));
        assert!(error(&nothing).contains("no operands"));
    }
    // A type without a shape is a single value, which is read.
    let add = |second: Value| time(&case("Add", "Ascend910B2", &[square(), second], &[square()]));
    assert!(add(tensor(&[], "float16", "ND")) > 0.0);
}
