//! Answers to cases of every operator, and to lines that are none.

use super::{Count, Form, Parts, answer, run};
use proptest::prelude::*;
use serde_json::{Value, json};

fn ask(case: &Value) -> Value {
    let mut parts = Parts::new(Some("Ascend910B2"), Vec::new(), None).unwrap();
    serde_json::from_str(&answer(&case.to_string(), &mut parts)).unwrap()
}

fn kernel(op: &str, inputs: &[&[u64]], outputs: &[&[u64]], attrs: &Value) -> Value {
    let tensors = |shapes: &[&[u64]]| -> Vec<Value> {
        shapes.iter().map(|shape| json!({"shape": shape, "dtype": "float16"})).collect()
    };
    json!({"id": 1, "op": op, "inputs": tensors(inputs), "outputs": tensors(outputs), "attrs": attrs})
}

fn cases() -> Vec<(Value, &'static str, &'static str)> {
    let image = json!({"strides": [1, 1, 1, 1, 1], "pads": [1, 1, 1, 1, 1, 1], "dilations": [1, 1, 1, 1, 1]});
    let volume: &[u64] = &[1, 32, 8, 16, 16];
    vec![
        (json!({"op": "MatMul", "m": 512, "k": 512, "n": 512}), "MatMulV3", "public"),
        (json!({"op": "MatMulV3", "m": 512, "k": 512, "n": 512, "dtype": "float32"}), "MatMulV3", "public"),
        (json!({"op": "MatMul", "batch": 8, "m": 64, "k": 64, "n": 64}), "BatchMatMulV3", "public"),
        (json!({"op": "BatchMatMulV3", "a_shape": [2, 4, 64, 32], "b_shape": [4, 32, 16]}), "BatchMatMulV3", "public"),
        (json!({"op": "MatMulV2", "m": 512, "k": 512, "n": 512}), "MatMulV2", "estimated"),
        (kernel("Conv3DV2", &[volume, &[64, 32, 3, 3, 3]], &[&[1, 64, 8, 16, 16]], &image), "Conv3DV2", "public"),
        (
            kernel("Conv2D", &[&[1, 32, 16, 16], &[64, 32, 1, 1]], &[&[1, 64, 16, 16]], &json!({})),
            "Conv2D",
            "estimated",
        ),
        (kernel("Relu", &[&[512, 512]], &[&[512, 512]], &json!({})), "Relu", "public"),
        // Launches show another deal of so few elements than the public copy.
        (kernel("Relu", &[&[64, 64]], &[&[64, 64]], &json!({})), "Relu", "estimated"),
        (kernel("ReduceSum", &[&[64, 48]], &[&[64]], &json!({"axes": [-1]})), "ReduceSum", "public"),
        (kernel("RmsNorm", &[&[64, 48], &[48]], &[&[64, 48]], &json!({})), "RmsNorm", "public"),
        (
            kernel("AddLayerNorm", &[&[64, 48], &[64, 48], &[48], &[48]], &[&[64, 48]], &json!({})),
            "AddLayerNorm",
            "public",
        ),
        // So many rows of a core may not fit: the bytes that a row of float16 takes are not all known.
        (
            kernel("AddLayerNorm", &[&[8192, 48], &[8192, 48], &[48], &[48]], &[&[8192, 48]], &json!({})),
            "AddLayerNorm",
            "estimated",
        ),
        (kernel("Transpose", &[&[64, 48, 32]], &[&[48, 64, 32]], &json!({"perm": [1, 0, 2]})), "Transpose", "public"),
        (
            kernel("Transpose", &[&[64, 48, 32]], &[&[32, 48, 64]], &json!({"perm": [2, 1, 0]})),
            "Transpose",
            "estimated",
        ),
        (kernel("SoftmaxV2", &[&[64, 48]], &[&[64, 48]], &json!({})), "SoftmaxV2", "estimated"),
        (kernel("LayerNorm", &[&[64, 48], &[48], &[48]], &[&[64, 48]], &json!({})), "LayerNorm", "estimated"),
    ]
}

/// As profiles and data sets write it: one format for the whole kernel.
#[test]
fn a_format_of_the_case_is_that_of_operands_without_one() {
    let both = |case: &Value| {
        let mut parts = Parts::new(Some("Ascend910B2"), Vec::new(), None).unwrap();
        let priced: Value = serde_json::from_str(&crate::simulate::answer(&case.to_string(), &mut parts)).unwrap();
        [ask(case), priced]
    };
    let with = |case: &Value, name: &str, value: Value| {
        let mut case = case.clone();
        case[name] = value;
        case
    };
    let product = json!({"op": "MatMulV3", "m": 512, "k": 512, "n": 512, "b_format": "ND"});
    let image = json!({"strides": [1, 1, 1, 1, 1], "pads": [1, 1, 1, 1, 1, 1]});
    let mut conv =
        kernel("Conv3DV2", &[&[1, 8, 16, 16, 32], &[64, 32, 3, 3, 3], &[64]], &[&[1, 8, 16, 16, 64]], &image);
    conv["inputs"][1]["format"] = json!("NCDHW");
    let mut named = conv.clone();
    for (side, place) in [("inputs", 0), ("outputs", 0)] {
        named[side][place]["format"] = json!("NDHWC");
    }
    for (said, meant) in [
        (with(&product, "format", json!("ND")), product.clone()),
        (with(&product, "format", json!("FORMAT_FRACTAL_NZ")), with(&product, "a_format", json!("FRACTAL_NZ"))),
        (with(&conv, "format", json!("NDHWC")), named),
    ] {
        assert_eq!(both(&said), both(&meant), "{said}");
        assert!(both(&said)[0].get("error").is_none(), "{:?}", both(&said));
    }
    for (format, reason) in
        [(json!("NCWH"), "there is no format `NCWH`"), (json!(7), "`format`"), (json!("NCHW"), "a matrix is ND")]
    {
        for answer in both(&with(&product, "format", format.clone())) {
            assert!(answer["error"].as_str().unwrap().contains(reason), "{format}: {answer}");
        }
    }
    let unused = &both(&with(&conv, "format", json!("NCWH")))[1];
    assert!(unused["error"].as_str().unwrap().contains("`format`"), "{unused}");
}

#[test]
fn each_operator_is_answered_by_its_rules_and_says_whether_they_are_public() {
    for (case, op, default) in cases() {
        let answer = ask(&case);
        assert_eq!((&answer["op"], &answer["default"]), (&json!(op), &json!(default)), "{case}: {answer}");
        assert!(!answer["rules"].as_array().unwrap().is_empty() && answer["template"].is_string(), "{answer}");
        assert!(!answer["knowledge"].as_object().unwrap().is_empty() && answer["note"].is_null(), "{answer}");
        assert_eq!(answer["nd2nz"].is_array(), op.contains("MatMulV3"), "{answer}");
    }
}

#[test]
fn a_product_has_all_fields_of_its_record() {
    let answer = ask(&cases()[0].0);
    let names: Vec<_> = answer["knowledge"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = crate::tiling::matmul_v3::Tiling::NAMES.to_vec();
    expected.sort_unstable();
    assert_eq!(names, expected);
}

#[test]
fn a_product_is_the_same_however_it_is_written() {
    let sizes = ask(&json!({"op": "MatMulV3", "m": 512, "k": 256, "n": 128, "trans_b": true}));
    let stored = ask(&json!({"op": "MatMulV3", "a_shape": [512, 256], "b_shape": [128, 256], "trans_b": true}));
    assert_eq!(sizes, stored);
    let mut operands = kernel("MatMulV3", &[&[512, 256], &[128, 256]], &[&[512, 128]], &json!({"transpose_x2": true}));
    operands["id"] = json!(null);
    assert_eq!(sizes, ask(&operands));
    // Square operands do not show it; the case does.
    let square =
        |told: Value| ask(&kernel("MatMulV3", &[&[512, 512], &[512, 512]], &[&[512, 512]], &told))["rules"].clone();
    assert_ne!(square(json!({"transpose_x2": true})), square(json!({})));
    // Shapes as they are multiplied are taken where those in memory do not fit, and that is said.
    let multiplied = ask(&json!({"op": "MatMulV3", "a_shape": [512, 256], "b_shape": [256, 128], "trans_b": true}));
    assert_eq!(multiplied["knowledge"], sizes["knowledge"]);
    assert!(multiplied["note"].as_str().unwrap().contains("as stored"), "{multiplied}");
}

#[test]
fn axes_of_a_batch_count_and_not_only_their_product() {
    let case = |b: &[u64]| json!({"op": "BatchMatMulV3", "a_shape": [8, 12, 64, 64], "b_shape": b});
    let [equal, one_axis] = [case(&[8, 12, 64, 64]), case(&[8, 1, 64, 64])].map(|c| ask(&c)["template"].clone());
    assert_eq!((equal, one_axis), (json!("several-products"), json!("base")));
}

#[test]
fn each_mistake_is_named_and_gets_no_tiling() {
    let conv = &cases()[5].0;
    let spoilt = |pointer: &str, value: Value| {
        let mut case = conv.clone();
        *case.pointer_mut(pointer).unwrap() = value;
        case
    };
    for (case, said) in [
        (json!({"op": "Reluu"}), "did you mean Relu"),
        (json!({"op": "MatMul", "k": 1, "n": 1}), "`m` is missing"),
        (json!({"op": "MatMulV3", "m": 64, "k": 64, "n": 64, "dtype": "int8"}), "QuantBatchMatmulV3 does"),
        (json!({"op": "QuantBatchMatmulV3", "m": 64, "k": 64, "n": 64}), "multiplies int8"),
        (json!({"op": "MatMulV3", "a_shape": [64, 32]}), "go together"),
        (json!({"op": "MatMulV3", "a_shape": [64, 32], "b_shape": [31, 64]}), "inner sizes 32 and 31"),
        (json!({"op": "MatMulV3", "a_shape": [64, 32], "b_shape": [32, 64], "m": 63}), "`m`"),
        (json!({"op": "MatMulV3", "a_shape": [2, 64, 32], "b_shape": [3, 32, 64]}), "batches of 2 and 3"),
        (json!({"op": "MatMulV3", "a_shape": [64, 0], "b_shape": [0, 64]}), "`a_shape`: 0"),
        (json!({"op": "MatMulV3", "a_shape": [64, 32], "b_shape": [32, 64], "out_shape": [64, 65]}), "`out_shape`"),
        (spoilt("/attrs/strides", json!([1, 1, 2, 1, 1])), "the depth is 8, the attributes make 4"),
        (spoilt("/attrs/strides", json!("x")), "`attrs.strides`"),
        (spoilt("/attrs/strides", json!([0, 0, 0])), "no positive numbers"),
        (spoilt("/inputs/1/shape", json!([64, 31, 3, 3, 3])), ""),
        (spoilt("/inputs/1/shape", json!([64, 16, 3, 3, 3])), "`inputs[1].shape`"),
        (kernel("ReduceSum", &[&[8, 8]], &[&[8]], &json!({})), "`attrs.axes` is missing"),
        (kernel("ReduceSum", &[&[8, 8]], &[&[8]], &json!({"axes": [2]})), "2 is no axis"),
        (kernel("ReduceSum", &[&[8, 4]], &[&[8]], &json!({"axes": [0]})), "leave 4 elements"),
        (kernel("Transpose", &[&[8, 4]], &[&[4, 8]], &json!({"perm": [0, 0]})), "perm"),
        (kernel("RmsNorm", &[&[8, 4], &[3]], &[&[8, 4]], &json!({})), "does not divide"),
        (kernel("Add", &[&[3, 1000], &[5, 1000]], &[&[7, 1000]], &json!({})), "`inputs[0].shape`"),
        (kernel("Relu", &[&[64, 100]], &[&[7, 100]], &json!({})), "does not make [7, 100]"),
        (kernel("Relu", &[], &[&[7, 100]], &json!({})), "reads nothing"),
    ] {
        let answer = ask(&case);
        if said.is_empty() {
            // Channels are counted in blocks of 16: 31 and 32 are the same.
            assert!(answer["error"].is_null(), "{case}: {answer}");
            continue;
        }
        let error = answer["error"].as_str().unwrap_or_else(|| panic!("{case}: {answer}"));
        assert!(error.contains(said) && answer["knowledge"].is_null(), "{case}: {error}");
    }
}

#[test]
fn the_cached_tiling_of_a_quantised_product_has_cann_s_fields_and_says_its_rules() {
    let case = json!({"op": "QuantBatchMatmulV3", "m": 16, "k": 4096, "n": 7168, "trans_b": true, "dtype": "int8",
        "out_dtype": "float16"});
    let answer = ask(&case);
    assert_eq!((&answer["template"], &answer["default"]), (&json!("cached"), &json!("public")), "{answer}");
    for (field, value) in [("m_dim", 1), ("n_dim", 22), ("m_l0", 1), ("n_l0", 7), ("k_l0", 4), ("k_al1", 16)] {
        assert_eq!(answer["knowledge"][field], value, "{field}: {answer}");
    }
    let mut parts = Parts::new(Some("Ascend910B2"), Vec::new(), None).unwrap();
    let text = super::explain(&case.to_string(), &mut parts).unwrap();
    assert!(text.contains("The short side is at most 256"), "{text}");
}

#[test]
fn kernels_of_a_network_are_answered_field_by_field() {
    for (workload, op, default) in [
        (
            json!({"kind": "vector", "op_type": "Add", "inputs": [[[98304], "float16", "ND"], [[98304], "float16", "ND"]],
                "outputs": [[[98304], "float16", "ND"]]}),
            "Add",
            "public",
        ),
        (
            json!({"kind": "reduce", "op_type": "RmsNorm", "axis": 768, "inner": 1, "outer": 128,
                "inputs": [[[98304], "float16", "ND"], [[768], "float16", "ND"]], "outputs": [[[98304], "float16", "ND"]]}),
            "RmsNorm",
            "public",
        ),
        (
            json!({"kind": "move", "op_type": "Transpose", "run_bytes": 128, "inputs": [[[128, 12, 64], "float16", "ND"]],
                "outputs": [[[12, 128, 64], "float16", "ND"]]}),
            "Transpose",
            "estimated",
        ),
    ] {
        let answer = ask(&json!({"id": 1, "op": op, "workload": workload}));
        assert_eq!((&answer["op"], &answer["default"]), (&json!(op), &json!(default)), "{answer}");
    }
    // As the same kernel with its operands is.
    let flat = ask(&json!({"op": "Add", "workload": {"kind": "vector", "op_type": "Add",
        "inputs": [[[98304], "float16", "ND"], [[98304], "float16", "ND"]], "outputs": [[[98304], "float16", "ND"]]}}));
    let whole = ask(&kernel("Add", &[&[128, 768], &[128, 768]], &[&[128, 768]], &json!({})));
    assert_eq!(flat["knowledge"], whole["knowledge"]);
}

#[test]
fn what_turns_on_closed_temporaries_is_an_estimate_and_paddings_from_sizes_are_said() {
    let relu = |op: &str, n: u64| ask(&kernel(op, &[&[n]], &[&[n]], &json!({})));
    assert_eq!(relu("Relu", 4_000_000)["default"], "public", "one instruction has no temporaries");
    assert_eq!(relu("Gelu", 4_000_000)["default"], "estimated");
    assert_eq!(relu("Gelu", 400_000)["default"], "public", "a part that fits with twice the room taken is known");
    let fused = ask(&kernel("Cast", &[&[16], &[16]], &[&[16]], &json!({})));
    assert_eq!(fused["default"], "estimated", "a Cast reads one tensor: {fused}");
    assert!(fused["note"].as_str().is_some_and(|note| note.contains("fused")), "{fused}");
    let image = json!({"op": "Conv3D", "inputs": [{"shape": [1, 16, 4, 8, 8], "dtype": "float16"},
        {"shape": [16, 16, 3, 3, 3], "dtype": "float16"}], "outputs": [{"shape": [1, 16, 4, 8, 8], "dtype": "float16"}]});
    let answer = ask(&image);
    assert!(answer["note"].as_str().is_some_and(|note| note.contains("`attrs.pads` is missing")), "{answer}");
    let mut wide = image;
    wide["outputs"][0]["shape"] = json!([1, 16, 9, 9, 9]);
    let answer = ask(&wide);
    assert!(answer["error"].as_str().is_some_and(|error| error.contains("needs a padding of 7")), "{answer}");
}

#[test]
fn an_explanation_fits_100_columns_and_says_every_rule() {
    let lines = cases().iter().fold(String::new(), |lines, (case, ..)| lines + &case.to_string() + "\n");
    let mut text = Vec::new();
    let mut parts = Parts::new(Some("Ascend910B2"), Vec::new(), None).unwrap();
    let count = run(&mut format!("{lines}nonsense\n").as_bytes(), &mut text, &mut parts, Form::Text).unwrap();
    let last = lines.lines().count() as u64 + 1;
    assert_eq!(count, Count { cases: last, failed: 1 });
    let text = String::from_utf8(text).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let failed = format!("line {last}: case: not a case");
    for part in ["MatMulV3", "CANN's default", "an estimate", "OneL2Tile: ", "baseM ", &failed] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// What must hold of any line: one answer, an object with an error or with knowledge, and no line break.
fn holds(line: &str) {
    let mut parts = Parts::new(None, Vec::new(), None).unwrap();
    let text = answer(line, &mut parts);
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert!(!text.contains('\n') && answer["error"].is_string() != answer["knowledge"].is_object(), "{line}: {text}");
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (1u64..4096).prop_map(|n| json!(n)),
        1 => any::<i64>().prop_map(|n| json!(n)),
        1 => any::<u64>().prop_map(|n| json!(n)),
        1 => Just(json!(2_147_483_647u64)),
        1 => Just(json!([2_147_483_647u64, 2_147_483_647u64])),
        1 => Just(json!(null)),
        1 => Just(json!("float32")),
    ]
}

/// Every place in a case that can be spoilt.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, inner)| pointers(inner, &format!("{at}/{name}"), all)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, inner)| pointers(inner, &format!("{at}/{i}"), all));
        }
        _ => {}
    }
    if !at.is_empty() {
        all.push(at.to_owned());
    }
}

proptest! {
    #![proptest_config(aoe_testing::cases(256))]

    #[test]
    fn a_spoilt_case_gets_one_answer(
        which in any::<prop::sample::Index>(), places in prop::collection::vec((any::<prop::sample::Index>(), number()), 1..3),
        soc in prop::sample::select(vec!["Ascend910B2", "Ascend910A", "Ascend310P3", "Ascend950PR_9589", "Ascend310B1"]),
    ) {
        let all = cases();
        let mut case = which.get(&all).0.clone();
        case["soc"] = json!(soc);
        for (place, value) in places {
            let mut found = Vec::new();
            pointers(&case, "", &mut found);
            *case.pointer_mut(place.get(found.as_slice()).as_str()).unwrap() = value;
        }
        holds(&case.to_string());
    }

    #[test]
    fn any_line_gets_one_answer(line in "\\PC{0,80}") {
        holds(&line);
    }
}

/// The rules of batched and quantised products are public for 910B and `910_93`.
#[test]
fn rules_of_other_parts_are_estimates() {
    let of = |case: &Value, soc: &str| {
        let mut parts = Parts::new(Some(soc), Vec::new(), None).unwrap();
        let answer: Value = serde_json::from_str(&answer(&case.to_string(), &mut parts)).unwrap();
        answer["default"].as_str().unwrap_or_default().to_owned()
    };
    let batched = json!({"op": "BatchMatMulV3", "batch": 16, "m": 512, "k": 64, "n": 512, "trans_b": true});
    let quantised = json!({
        "op": "QuantBatchMatmulV3", "m": 4096, "k": 4096, "n": 4096, "dtype": "int8", "out_dtype": "float16",
        "trans_b": true,
    });
    for case in [batched, quantised] {
        assert_eq!(of(&case, "Ascend910B2"), "public", "{case}");
        for soc in ["Ascend950PR_9589", "Ascend310B1"] {
            assert_eq!(of(&case, soc), "estimated", "{case} on {soc}");
        }
    }
}

#[test]
fn kernels_that_no_operator_has_are_errors() {
    let typed = |op: &str, shapes: &[(&[u64], &str)], out: (&[u64], &str), attrs: Value| {
        let tensor = |(shape, dtype): &(&[u64], &str)| json!({"shape": shape, "dtype": dtype});
        let inputs: Vec<Value> = shapes.iter().map(tensor).collect();
        json!({"op": op, "inputs": inputs, "outputs": [tensor(&out)], "attrs": attrs})
    };
    let product = |fields: Value| {
        let mut case = json!({"op": "MatMulV3", "m": 512, "k": 512, "n": 512});
        case.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        case
    };
    let volume: &[u64] = &[1, 64, 8, 8, 8];
    let cases = [
        (product(json!({"out_dtype": "int8"})), "does not give int8"),
        (product(json!({"out_dtype": "bfloat16"})), "does not give bfloat16"),
        (product(json!({"dtype": "float32", "out_dtype": "float16"})), "does not give float16"),
        (product(json!({"bias_shape": [7]})), "512 columns"),
        (product(json!({"op": "BatchMatMulV3", "batch": 8, "bias_shape": [3, 1, 512]})), "for 3 products"),
        (typed("RmsNorm", &[(&[4, 512], "int8"), (&[512], "int8")], (&[4, 512], "int8"), json!({})), "floats"),
        (typed("Conv3DV2", &[(volume, "int8"), (&[64, 64, 1, 1, 1], "int8")], (volume, "int8"), json!({})), "floats"),
        (typed("Relu", &[(&[4], "string")], (&[4], "string"), json!({})), "texts"),
        (
            typed(
                "AddLayerNorm",
                &[(&[4, 512], "float16"), (&[5, 512], "float16"), (&[512], "float16"), (&[512], "float16")],
                (&[4, 512], "float16"),
                json!({}),
            ),
            "[5, 512]",
        ),
        (typed("ReduceSum", &[(&[4, 5], "float16")], (&[4], "int8"), json!({"axes": [1]})), "does not give int8"),
    ];
    let mut parts = Parts::new(Some("Ascend910B2"), Vec::new(), None).unwrap();
    for (case, words) in cases {
        for error in
            [ask(&case), serde_json::from_str(&crate::simulate::answer(&case.to_string(), &mut parts)).unwrap()]
        {
            assert!(error["error"].as_str().is_some_and(|text| text.contains(words)), "{case}: {error}");
        }
    }
    for fine in [
        json!({"bias_shape": [512]}),
        json!({"out_dtype": "float32"}),
        json!({"op": "BatchMatMulV3", "batch": 8, "bias_shape": [8, 1, 512]}),
    ] {
        assert!(ask(&product(fine.clone()))["error"].is_null(), "{fine}");
    }
}
