//! Models of every format, from the command line.

use super::resnet50::{Caffe, TensorFlow, resnet50};
use super::{Place, model, timeless};
use aoe::frontend::{ModelOptions, load_file, save_file};
use aoe::graph::Attr;
use serde_json::Value;
use std::path::Path;

/// A value without these fields, wherever they are.
fn without(mut value: Value, names: &[&str]) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|key, _| !names.contains(&key.as_str()));
            fields.values_mut().for_each(|field| *field = without(field.take(), names));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without(item.take(), names)),
        _ => {}
    }
    value
}

/// Results of tuning both subgraphs and operators, by the kind of job; where the tuned models lie is told.
fn tuned(place: &Place, arguments: &[&str]) -> Vec<Value> {
    let quick = ["--job_type=1,2", "--backend=simulator", "--max_tuning_count=8"];
    place.run(&[&quick, arguments].concat()).expect(0, &[]);
    let mut results = place.results();
    results.sort_by_key(|result| result[1].get("OPAT").is_some());
    results
}

#[test]
fn one_network_is_one_result_in_caffe_tensorflow_and_onnx() {
    for soc in ["--soc_version=Ascend910B2", "--soc_version=Ascend310P3"] {
        let results = |file: &str, content: Option<String>| {
            let place = Place::new();
            let path = content.map_or_else(
                || model(file),
                |content| {
                    std::fs::write(place.path(file), content).unwrap();
                    file.to_owned()
                },
            );
            let found = tuned(&place, &["-m", &path, soc]);
            assert_eq!(found.len(), 2, "{file}: {found:#?}");
            // Each format has names of its own.
            found.into_iter().map(|result| without(timeless(result), &["op_name", "op"])).collect::<Vec<_>>()
        };
        let expected = results("resnet50.onnx", None);
        assert!(expected[1][1]["OPAT"]["repo_summary"]["total_num"].as_u64() > Some(0), "{expected:#?}");
        assert_eq!(results("resnet50.prototxt", Some(resnet50(Caffe::new()))), expected, "Caffe {soc}");
        // The bank knows a subgraph by the shapes that its framework states. TensorFlow's mean drops its axes, so that no
        // conversion stands behind it: the times of what has it differ, those of operators do not.
        let fields = [
            "gains",
            "repo_key",
            "model_baseline_performance(ms)",
            "model_result_performance(ms)",
            "model_performance_improvement",
            "performance_before_tune(ms)",
            "performance_after_tune(ms)",
            "performance_improvement",
        ];
        let keyless = |results: Vec<Value>| results.into_iter().map(|r| without(r, &fields)).collect::<Vec<_>>();
        let found = results("resnet50.pbtxt", Some(resnet50(TensorFlow::new())));
        assert_eq!(keyless(found), keyless(expected), "TensorFlow {soc}");
    }
}

#[test]
fn a_model_of_any_format_written_as_air_tunes_to_the_same_result() {
    let tensor = |dims: &str| format!(r#"{{"format": "ND", "shape": [{dims}], "type": "float16"}}"#);
    let (a, b, c) = (tensor("512,256"), tensor("256,1024"), tensor("512,1024"));
    let ops = format!(
        r#"[{{"op": "MatMulV2", "input_desc": [{a}, {b}], "output_desc": [{c}]}}, {{"op": "Relu", "input_desc": [{c}], "output_desc": [{c}]}}]"#
    );
    let unknown = "input: 'x' input_dim: [1, 8, 16, 16]
        layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 16 kernel_size: 3 } }
        layer { name: 'odd' type: 'Odd' bottom: 'c' top: 'c' }
        layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'r' }
        layer { name: 'boxes' type: 'DetectionOutput' bottom: 'r' top: 'boxes' }";
    for (option, file, content) in [
        ("-m", "net.prototxt", resnet50(Caffe::new())),
        ("-m", "net.pbtxt", resnet50(TensorFlow::new())),
        ("-m", "odd.prototxt", unknown.to_owned()),
        ("--singleop", "ops.json", ops),
        ("-m", "net.onnx", String::new()),
    ] {
        let first = Place::new();
        match content.as_str() {
            "" => drop(std::fs::copy(model("resnet50.onnx"), first.path(file)).unwrap()),
            content => std::fs::write(first.path(file), content).unwrap(),
        }
        let stem = file.split('.').next().unwrap();
        let output = format!("--output=out/{stem}.air");
        let expected: Vec<_> = tuned(&first, &[option, file, &output]).into_iter().map(timeless).collect();
        let written = first.path(&format!("out/{stem}.air"));
        let again = Place::new();
        let results: Vec<_> = tuned(&again, &["-m", written.to_str().unwrap(), "--output=out/again.air"])
            .into_iter()
            .map(timeless)
            .collect();
        assert_eq!(results, expected, "{file}");
        let bytes = |path| std::fs::read(path).unwrap();
        assert!(bytes(written) == bytes(again.path("out/again.air")), "{file} is written otherwise");
    }
}

#[test]
fn a_layer_that_is_not_known_is_named_and_the_others_are_tuned() {
    let place = Place::new();
    let net = "input: 'x' input_dim: [1, 8, 16, 16]
        layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 16 kernel_size: 3 } }
        layer { name: 'boxes' type: 'DetectionOutput' bottom: 'c' top: 'boxes' }";
    std::fs::write(place.path("net.prototxt"), net).unwrap();
    let answer = place.tune(&["-m", "net.prototxt"]).expect(0, &[]);
    assert!(answer.stdout.contains("boxes") && answer.stdout.contains("DetectionOutput"), "{answer:#?}");
    let reader = format!("{net} layer {{ name: 'r' type: 'ReLU' bottom: 'boxes' top: 'r' }}");
    std::fs::write(place.path("read.prototxt"), reader).unwrap();
    // What reads it has sizes that nobody knows.
    let why = "their sizes follow from operators and inputs that are not known, `boxes` (DetectionOutput): r";
    let answer = place.tune(&["-m", "read.prototxt", "--output=out/"]).expect(0, &[why]);
    let told = "Left out     r (ReLU): their sizes follow from operators and inputs that are not known, boxes (DetectionOutput)";
    assert!(
        answer.stdout.contains(told)
            && answer.stdout.contains("; without 1 kernel of unknown sizes and 1 kernel of unknown time"),
        "{answer:#?}"
    );
    let json = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(place.path(&format!("out/{name}"))).unwrap()).unwrap()
    };
    assert_eq!(json("summary.json")["left_out_ops"], 1);
    let left_out = &json("report.json")["dynamic"][0];
    assert_eq!((&left_out["name"], &left_out["reason"]), (&"r".into(), &"unknown operator".into()));
    let page = std::fs::read_to_string(place.path("out/report.html")).unwrap();
    assert!(page.contains("r (ReLU), behind boxes of the unknown type DetectionOutput"), "{page}");
    let answer = place.tune(&["-m", "read.prototxt", "--out_nodes=c"]).expect(0, &[]);
    assert!(!answer.stdout.contains("Left out"), "{answer:#?}");
    for (out_nodes, said) in [("d:0", "`d`"), (";;", "names no output"), ("c:1", "none of index 1")] {
        let option = format!("--out_nodes={out_nodes}");
        place.tune(&["-m", "read.prototxt", &option]).expect(2, &["EG0003", "out_nodes", said]);
    }
}

#[test]
fn every_gear_is_tuned_and_told_apart_by_name() {
    let net = |dims: &str| {
        format!(
            "input: 'x' input_dim: [{dims}]
            layer {{ name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param {{ num_output: 32 kernel_size: 3 }} }}"
        )
    };
    let sizes = |place: &Place, file: &str, option: &str| -> Value {
        let told = place.run(&["kernels", file, option, "--json"]).expect(0, &[]).stdout;
        serde_json::from_str::<Value>(&told).unwrap()["kernels"]["groups"].take()
    };
    for (dims, option, labels, shapes) in [
        ("-1, 8, 16, 16", "--dynamic_batch_size=1,4", ["@batch=1", "@batch=4"], ["1,8,16,16", "4,8,16,16"]),
        (
            "1, 8, -1, -1",
            "--dynamic_image_size=16,24;32,32",
            ["@image=16,24", "@image=32,32"],
            ["1,8,16,24", "1,8,32,32"],
        ),
        ("-1, 8, -1, 16", "--dynamic_dims=1,16;2,32", ["@dims=1,16", "@dims=2,32"], ["1,8,16,16", "2,8,32,16"]),
    ] {
        let place = Place::new();
        std::fs::write(place.path("net.prototxt"), net(dims)).unwrap();
        let answer = place.tune(&["-m", "net.prototxt", option, "--output=tuned.om"]).expect(0, &[]);
        for (label, shape) in labels.into_iter().zip(shapes) {
            let held = format!("; for {}", label.trim_start_matches('@'));
            assert!(answer.stdout.contains(&held), "{held}: {answer:#?}");
            // Each gear has files of its own, which hold the network with its sizes.
            let air = format!("tuned{}.air", label.replace(['@', '=', ','], "_"));
            assert!(place.path(&air).with_extension("om").is_file(), "{air}: {answer:#?}");
            let expected = sizes(&place, "net.prototxt", &format!("--input_shape=x:{shape}"));
            assert_eq!(sizes(&place, &air, "--soc_version=Ascend910B2"), expected, "{air}");
        }
        assert!(!place.path("tuned.air").exists());
        let found = place.results().remove(0).to_string();
        let gear = |label: &str| format!(r#""name":"{}""#, label.trim_start_matches('@'));
        assert!(labels.iter().all(|label| found.contains(&gear(label))), "{option}: {found}");
        // A single one binds the dimensions when the model is read, and once more when it is tuned.
        let single = option.split_once(';').map_or_else(|| option.split_once(',').unwrap().0, |(first, _)| first);
        let answer = place.tune(&["-m", "net.prototxt", single]).expect(0, &[]);
        assert!(!answer.stdout.contains("; for "), "{answer:#?}");
    }
    let place = Place::new();
    std::fs::write(place.path("net.prototxt"), net("1, 8, 16, 16")).unwrap();
    // ATC's way to open a size that the model states.
    let gears = "--dynamic_batch_size=1,4";
    place.tune(&["-m", "net.prototxt", "--input_shape=x:-1,8,16,16", gears]).expect(0, &[]);
    let found = place.results().remove(0).to_string();
    assert!([r#""name":"batch=1""#, r#""name":"batch=4""#].iter().all(|name| found.contains(name)), "{found}");
    place.tune(&["-m", "net.prototxt", gears]).expect(2, &["EG0003", "input_shape, as in", "x:-1"]);
    place
        .tune(&["-m", "net.prototxt", "--input_shape=x:-1,8,16,16"])
        .expect(1, &["net.prototxt", "`x`", "input_shape"]);
    place.tune(&["-m", "net.prototxt", "--dynamic_batch_size=1,1"]).expect(2, &["EG0003", "gear 2"]);
    std::fs::write(place.path("net.prototxt"), net("-1, 8, 16, 16")).unwrap();
    place.tune(&["-m", "net.prototxt", "--dynamic_dims=1,2"]).expect(2, &["EG0003", "dynamic_dims", "2 values for 1"]);
    let both = ["-m", "net.prototxt", "--dynamic_dims=1", "--dynamic_batch_size=1"];
    place.tune(&both).expect(2, &["dynamic_dims", "dynamic_batch_size"]);
}

#[test]
fn weights_that_contradict_the_net_are_named() {
    let place = Place::new();
    let net = "input: 'x' input_dim: [1, 8, 16, 16] layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c'
        convolution_param { num_output: 16 kernel_size: 3 bias_term: false } }";
    std::fs::write(place.path("net.prototxt"), net).unwrap();
    // A NetParameter with one layer `c` and one blob of four sizes.
    let weights = |cin: u8| {
        let layer = [0x0a, 0x01, b'c', 0x3a, 0x08, 0x3a, 0x06, 0x0a, 0x04, 16, cin, 3, 3];
        [&[0xa2, 0x06, layer.len() as u8][..], &layer].concat()
    };
    for (cin, status, said) in [(8, 0, &[][..]), (9, 1, &["`c`", "channels"])] {
        std::fs::write(place.path("net.caffemodel"), weights(cin)).unwrap();
        place.tune(&["-m", "net.prototxt", "--weight=net.caffemodel"]).expect(status, said);
    }
    place.tune(&["-m", "net.prototxt", "-w", "none.caffemodel"]).expect(1, &["EG0011", "none.caffemodel"]);
    place.tune(&["-m", &model("resnet50.onnx"), "-w", "net.caffemodel"]).expect(2, &["weight", "Caffe"]);
    place.tune(&["--model_path=.", "-w", "net.caffemodel"]).expect(2, &["--weight"]);
}

#[test]
fn a_model_is_not_replaced_by_its_tuned_form() {
    let place = Place::new();
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/training/resnet50.air"), place.path("net.air"))
        .unwrap();
    let before = std::fs::read(place.path("net.air")).unwrap();
    for output in ["net", "net.om", "./net.air", "sub/../net.air"] {
        let output = format!("--output={output}");
        place.tune(&["-m", "net.air", &output]).expect(2, &["EG0003", "output", "would take the place"]);
    }
    assert!(std::fs::read(place.path("net.air")).unwrap() == before);
}

#[test]
fn the_model_of_several_gears_is_kept_from_the_files_of_each_and_only_from_these() {
    let place = Place::new();
    let net = "input: 'x' input_dim: [1, 8, 16, 16]
        layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 32 kernel_size: 3 } }";
    std::fs::write(place.path("net.prototxt"), net).unwrap();
    place.tune(&["-m", "net.prototxt", "--output=net.air"]).expect(0, &[]);
    let model = std::fs::read(place.path("net.air")).unwrap();
    std::fs::write(place.path("net_batch_4.air"), &model).unwrap();
    let gears = ["--input_shape=x:-1,8,16,16", "--dynamic_batch_size=1,4", "--output=net.om", "-m"];
    place.tune(&[&gears[..], &["net_batch_4.air"]].concat()).expect(2, &["EG0003", "output", "would take the place"]);
    assert!(std::fs::read(place.path("net_batch_4.air")).unwrap() == model);
    place.tune(&[&gears[..], &["net.air"]].concat()).expect(0, &[]);
    assert!(std::fs::read(place.path("net.air")).unwrap() == model);
    assert!(std::fs::read(place.path("net_batch_4.air")).unwrap() != model && place.path("net_batch_1.om").is_file());
}

#[test]
fn what_is_tuned_is_written_as_ge_compiles_it_and_is_read_again() {
    let place = Place::new();
    let quick = ["--job_type=1", "--backend=simulator", "--max_tuning_count=4", "--output=net.air"];
    for (soc, file) in [
        ("Ascend910B2", "models/bert_base.onnx"),
        ("Ascend310P3", "models/bert_base.onnx"),
        ("Ascend910B2", "training/bert_base.air"),
        ("Ascend910A", "training/resnet50.air"),
    ] {
        let (soc, file) = (format!("--soc_version={soc}"), format!("{}/examples/{file}", env!("CARGO_MANIFEST_DIR")));
        place.run(&[&quick[..], &["-m", &file, &soc]].concat()).expect(0, &[]);
        place.run(&["kernels", "net.air", &soc]).expect(0, &[]);
        let told = place.run(&["model", "check", "net.air", "--json"]).stdout;
        let rules: Vec<Value> = told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
        let other: Vec<_> = rules.iter().filter(|f| f["rule"] != "value" && f["blocks"] == true).collect();
        assert!(!rules.is_empty() && other.is_empty(), "{file} {soc}: {other:?}");
    }
}

#[test]
fn a_tuned_model_tells_the_formats_of_the_device_and_one_that_was_tampered_with_is_refused() {
    let place = Place::new();
    let resnet = model("resnet50.onnx");
    let quick = ["--job_type=1,2", "--backend=simulator", "--soc_version=Ascend310P3", "--max_tuning_count=4"];
    place.run(&[&quick[..], &["-m", &resnet, "--output=net.air"]].concat()).expect(0, &[]);
    for file in ["net.air", "net.om"] {
        let graph = load_file(&place.path(file), None, &ModelOptions::default()).unwrap();
        let formats = |op_type: &str, name: &str| {
            let (_, node) = graph.iter().find(|(_, node)| node.op_type == op_type).unwrap();
            node.attrs.get(name).cloned()
        };
        let strs = |names: &[&str]| Some(Attr::Strs(names.iter().map(|&name| name.to_owned()).collect()));
        assert_eq!(formats("Conv2D", "_aoe_output_formats"), strs(&["NC1HWC0"]), "{file}");
        assert_eq!(formats("Relu", "_aoe_input_formats"), strs(&["NC1HWC0"]), "{file}");
        assert_eq!(formats("MatMulV2", "_aoe_output_formats"), strs(&["FRACTAL_NZ"]), "{file}");
        let scoped = graph.iter().find(|(_, node)| node.attrs.get("fusion_scope").is_some()).unwrap().0;
        for (name, value) in [
            ("fusion_scope", Attr::Int(i64::MAX)),
            // A scope behind it: conversions of the image come first.
            ("fusion_scope", Attr::Int(5)),
            ("_aoe_cut", Attr::Int(-2)),
            ("_aoe_output_formats", Attr::Strs(vec!["NC1HWC1".to_owned()])),
            ("_aoe_tiling", Attr::Str("[99999999999999999999]".to_owned())),
        ] {
            let mut graph = graph.clone();
            graph.node_mut(scoped).attrs.set(name, value);
            save_file(&graph, &place.path(&format!("bad-{file}"))).unwrap();
            let answer = place.run(&[&quick[..], &["-m", &format!("bad-{file}")]].concat());
            assert!(answer.status == Some(1) && answer.stderr.contains(name), "{file} {name}: {answer:#?}");
            assert!(answer.stderr.contains("node `") || name == "fusion_scope", "{file} {name}: {answer:#?}");
        }
    }
}

#[test]
fn a_tuned_model_that_is_tuned_again_holds_the_new_tuning_alone() {
    let place = Place::new();
    std::fs::create_dir(place.path("plain")).unwrap();
    std::fs::create_dir(place.path("tuned")).unwrap();
    let graph = load_file(Path::new(&model("resnet50.onnx")), None, &ModelOptions::default()).unwrap();
    save_file(&graph, &place.path("plain/net.air")).unwrap();
    let quick = ["--backend=simulator", "--max_tuning_count=4"];
    let tune = |more: &[&str]| place.run(&[&quick[..], more].concat()).expect(0, &[]);
    tune(&["-j", "1", "--soc_version=Ascend310P3", "-m", "plain/net.air", "--output=tuned/net.air"]);
    for job in ["1", "2"] {
        for (from, to) in [("plain/net.air", "fresh"), ("tuned/net.air", "again")] {
            std::fs::remove_dir_all(place.path("bank")).unwrap();
            std::fs::create_dir(place.path("bank")).unwrap();
            tune(&["-j", job, "--soc_version=Ascend910B2", "-m", from, &format!("--output={to}.air")]);
        }
        let written = |name: &str| std::fs::read(place.path(name)).unwrap();
        assert!(written("fresh.air") == written("again.air"), "job {job}");
        load_file(&place.path("again.air"), None, &ModelOptions::default()).unwrap();
    }
}

/// The graph of CANN's sample `graph_run` (Apache-2.0) as GE saves what the program built: an input without a shape,
/// variables, and a convolution and the gradient of its filter whose `data_format` has its default, NHWC, beside NCHW.
#[test]
fn a_graph_as_a_program_builds_it_is_tuned_by_what_its_tensors_say() {
    let place = Place::new();
    std::fs::write(place.path("conv.air"), include_bytes!("graph_run_conv.air")).unwrap();
    place.tune(&["-m", "conv.air", "--input_shape=xShape:16,64,56,56", "--output=out/"]).expect(0, &[]);
    let report: Value = serde_json::from_slice(&std::fs::read(place.path("out/report.json")).unwrap()).unwrap();
    let workloads: Vec<&str> =
        report["kernels"].as_array().unwrap().iter().filter_map(|k| k["workload"].as_str()).collect();
    for expected in
        ["Conv2D [16,64,56,56]*[16,1,1]", "Conv2DBackpropFilter [16,64,56,56]*[16,1,1]", "Fused(ApplyMomentum [1024]"]
    {
        assert!(workloads.iter().any(|workload| workload.starts_with(expected)), "{expected}: {workloads:?}");
    }
    assert_eq!(report["dynamic"], serde_json::json!([]));
    // Without its shape all that follows from it is named, and there is nothing to tune.
    place.tune(&["-m", "conv.air"]).expect(1, &["`xShape`", "input_shape"]);
}

#[test]
fn a_layout_that_is_no_known_format_is_told_once_with_the_nodes_that_count_as_nd() {
    let graph = |layout: &str, origin: &str| {
        let desc = format!(
            r#"{{ name: "y" dtype: DT_FLOAT16 shape {{ dim: 64 dim: 64 }} layout: "{layout}"
               attr {{ key: "origin_format" value {{ s: "{origin}" }} }} }}"#
        );
        format!(
            r#"name: "g" graph {{ name: "g" op {{ name: "x" type: "Data" output_desc {desc} }}
               op {{ name: "r" type: "Relu" input: "x:0" input_desc {desc} output_desc {desc} }} }}"#
        )
    };
    let said =
        "layout `NHCWX` is no format that is known, and no origin format stands beside it: it counts as ND at x, r";
    let place = Place::new();
    // A newer CANN's format in memory has its origin beside it, and a name that is no format tells none.
    for (layout, origin, is_told) in [("NHCWX", "?", true), ("NHCWX", "ND", false), ("NHWC", "?", false)] {
        std::fs::write(place.path("g.txt"), graph(layout, origin)).unwrap();
        let answer = place.tune(&["-m", "g.txt", "--log=warning"]).expect(0, &[]);
        assert_eq!(answer.stderr.contains(said), is_told, "{layout} {origin}: {}", answer.stderr);
    }
}
