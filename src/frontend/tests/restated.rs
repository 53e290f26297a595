//! Inputs that are given other sizes than the model states.

use super::{given, load, shapes, with_gear};
use crate::frontend::onnx::tests::{FLOAT, Model, Value, encode, ints, node, value_info, weight};
use crate::frontend::{Framework, Gear, ModelOptions, air, bind_inputs, load_memory};
use crate::graph::{Graph, infer};
use crate::status::{Error, Result};
use proptest::prelude::*;

const IMAGE: [i64; 4] = [1, 3, 8, 8];

/// A convolution whose result the file states for its own batch.
fn net() -> Model {
    let mut model = Model::new(17)
        .input("x", &IMAGE.map(Into::into))
        .initializer(&weight("w", &[5, 3, 3, 3]))
        .node(&node("Conv", &["x", "w"], &["y"], &[("auto_pad", Value::Str("SAME_UPPER"))]))
        .node(&node("Relu", &["y"], &["z"], &[]))
        .output("z");
    model.graph.value_info.push(encode(&value_info("y", FLOAT, &[1.into(), 5.into(), 8.into(), 8.into()])));
    model
}

/// One network in every format that states the sizes of its inputs, each with the name of its framework.
fn nets() -> Vec<(Framework, Vec<u8>)> {
    let caffe = "input: 'x' input_dim: [1, 3, 8, 8] layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y'
        convolution_param { num_output: 5 kernel_size: 3 pad: 1 } }
        layer { name: 'r' type: 'ReLU' bottom: 'y' top: 'y' }";
    let tensorflow = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }
        attr { key: 'shape' value { shape { dim { size: 1 } dim { size: 3 } dim { size: 8 } dim { size: 8 } } } } }
        node { name: 'r' op: 'Relu' input: 'x' attr { key: '_output_shapes' value { list { shape {
            dim { size: 1 } dim { size: 3 } dim { size: 8 } dim { size: 8 } } } } } }";
    let tensor = r#"{"format":"NCHW","shape":[1,3,8,8],"type":"float"}"#;
    let named = tensor.replace('{', r#"{"name":"x","#);
    let single = format!(r#"[{{"op":"Relu","name":"r","input_desc":[{named}],"output_desc":[{tensor}]}}]"#);
    let onnx = net().bytes().to_vec();
    let air = air::encode_model(&load(&onnx, &ModelOptions::default()).unwrap()).unwrap();
    vec![
        (Framework::Onnx, onnx),
        (Framework::Caffe, caffe.into()),
        (Framework::TensorFlow, tensorflow.into()),
        (Framework::SingleOp, single.into_bytes()),
        (Framework::Air, air),
    ]
}

fn read(framework: Framework, bytes: &[u8], options: &ModelOptions) -> Result<Graph> {
    load_memory(bytes, "net", Some(framework), options)
}

/// The first size and the space of what the network gives.
fn result(graph: &Graph) -> (i64, Vec<i64>) {
    let &[batch, _, ref space @ ..] = graph.desc(graph.outputs()[0]).shape.known().unwrap() else { panic!() };
    (batch, space.to_vec())
}

#[test]
fn a_size_that_is_given_counts_in_every_format_and_all_behind_it_follows() {
    for (framework, bytes) in nets() {
        let name = read(framework, &bytes, &ModelOptions::default()).unwrap().inputs().next().unwrap().1.name.clone();
        let options = given(&[(&name, &[4, 3, 10, 9])], None);
        let graph = read(framework, &bytes, &options).unwrap();
        infer::require_static(&graph).unwrap();
        assert_eq!((shapes(&graph), result(&graph)), (vec!["[4,3,10,9]".into()], (4, vec![10, 9])), "{framework:?}");
    }
}

#[test]
fn sizes_that_are_opened_take_gears_one_after_the_other_in_every_format() {
    for (framework, bytes) in nets() {
        let name = read(framework, &bytes, &ModelOptions::default()).unwrap().inputs().next().unwrap().1.name.clone();
        let batch: &[(&str, &[i64])] = &[(&name, &[-1, 3, 8, 8])];
        let opened = read(framework, &bytes, &given(batch, None)).unwrap();
        assert_eq!(shapes(&opened), ["[?,3,8,8]"], "{framework:?}");
        for size in [2, 4] {
            let mut graph = opened.clone();
            bind_inputs(&mut graph, &with_gear(batch, Gear::Batch(size))).unwrap();
            assert_eq!(result(&graph), (size, vec![8, 8]), "{framework:?}");
            // As with a graph that was bound while it was loaded.
            let mut graph = read(framework, &bytes, &with_gear(batch, Gear::Batch(size))).unwrap();
            bind_inputs(&mut graph, &with_gear(batch, Gear::Batch(size))).unwrap();
            assert_eq!(result(&graph), (size, vec![8, 8]), "{framework:?}");
        }
        let image: &[(&str, &[i64])] = &[(&name, &[1, 3, -1, -1])];
        let graph = read(framework, &bytes, &with_gear(image, Gear::Image([6, 7]))).unwrap();
        assert_eq!(result(&graph), (1, vec![6, 7]), "{framework:?}");
        let graph = read(framework, &bytes, &with_gear(image, Gear::Dims(vec![6, 7]))).unwrap();
        assert_eq!(result(&graph), (1, vec![6, 7]), "{framework:?}");
    }
}

#[test]
fn a_gear_for_a_model_without_open_sizes_says_how_to_open_them() {
    let error = load(&net().bytes(), &given(&[], Some(4))).unwrap_err().to_string();
    assert!(error.contains("dynamic_batch_size") && error.contains("input_shape, as in \"x:-1"), "{error}");
    let error = load(&net().bytes(), &with_gear(&[], Gear::Image([4, 4]))).unwrap_err().to_string();
    assert!(error.contains("dynamic_image_size") && error.contains("\"x:1,3,-1,-1\""), "{error}");
}

#[test]
fn what_a_model_states_of_an_unknown_operator_holds_for_its_own_sizes_only() {
    let mut model =
        Model::new(17).input("x", &[1.into(), 6.into()]).node(&node("Custom", &["x"], &["y"], &[])).output("y");
    model.graph.value_info.push(encode(&value_info("y", FLOAT, &[1.into(), 9.into()])));
    let shape = |graph: &Graph| graph.desc(graph.outputs()[0]).shape.to_string();
    assert_eq!(shape(&load(&model.bytes(), &given(&[("x", &[1, 6])], None)).unwrap()), "[1,9]");
    assert_eq!(shape(&load(&model.bytes(), &given(&[("x", &[2, 6])], None)).unwrap()), "[?]");
    // Where the file says it by symbols, other values of them are no news.
    let mut model =
        Model::new(17).input("x", &["n".into(), 6.into()]).node(&node("Custom", &["x"], &["y"], &[])).output("y");
    model.graph.value_info.push(encode(&value_info("y", FLOAT, &["n".into(), 9.into()])));
    let mut graph = load(&model.bytes(), &given(&[("x", &[1, 6])], None)).unwrap();
    bind_inputs(&mut graph, &given(&[("x", &[3, 6])], None)).unwrap();
    assert_eq!(shape(&graph), "[3,9]");
}

/// A product behind a reshape to this target.
fn reshaped(batch: impl Into<crate::frontend::onnx::tests::Dim>, target: &[i64], multiplied: bool) -> Model {
    let model = Model::new(17)
        .input("x", &[batch.into(), 3.into(), 4.into()])
        .initializer(&ints("target", target))
        .node(&node("Reshape", &["x", "target"], &["flat"], &[]).named("flatten"));
    if !multiplied {
        return model.output("flat");
    }
    let product = node("MatMul", &["flat", "w"], &["y"], &[]).named("product");
    model.initializer(&weight("w", &[12, 5])).node(&product).output("y")
}

fn refusal(model: &Model, options: &ModelOptions) -> String {
    let error = load(&model.bytes(), options).unwrap_err();
    assert!(matches!(error, Error::Graph { .. }), "{error}");
    error.to_string()
}

#[test]
fn a_reshape_that_states_the_batch_is_named_whatever_follows() {
    let four = given(&[("x", &[4, 3, 4])], None);
    for multiplied in [false, true] {
        let message = refusal(&reshaped(1, &[1, -1], multiplied), &four);
        for part in ["`flatten` (Reshape)", "[1,-1]", "[4,3,4]", "input `x`", "[1,3,4]"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        load(&reshaped(1, &[-1, 12], multiplied).bytes(), &four).unwrap();
    }
    let opened: &[(&str, &[i64])] = &[("x", &[-1, 3, 4])];
    let message = refusal(&reshaped(1, &[1, -1], true), &with_gear(opened, Gear::Batch(4)));
    assert!(message.contains("`flatten`"), "{message}");
    let message = refusal(&reshaped(1, &[1, 12], true), &four);
    assert!(message.contains("`flatten`") && message.contains("input `x` is given as [4,3,4]"), "{message}");
    // A model that is open itself may fold its batch, unless that comes to nothing.
    let message = refusal(&reshaped("n", &[1, -1], true), &given(&[], Some(4)));
    assert!(message.contains("`flatten`") && message.contains("`product`"), "{message}");
    load(&reshaped("n", &[1, -1], false).bytes(), &given(&[], Some(4))).unwrap();
}

#[test]
fn sizes_that_the_weights_contradict_are_told_with_those_of_the_model() {
    let message = refusal(&net(), &given(&[("x", &[1, 4, 8, 8])], None));
    for part in ["(Conv2D)", "`x` is given as [1,4,8,8], the model states [1,3,8,8]"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let error = load(&net().bytes(), &given(&[("x", &[1, 3, 8])], None)).unwrap_err();
    assert!(matches!(error, Error::Option { .. }), "another rank is no other size: {error}");
}

#[test]
fn a_window_that_is_rounded_up_may_be_stated_otherwise_with_all_behind_it() {
    let attrs = |ceil| {
        let pair = || Value::Ints(vec![2, 2]);
        [
            ("kernel_shape", pair()),
            ("strides", pair()),
            ("pads", Value::Ints(vec![1; 4])),
            ("ceil_mode", Value::Int(ceil)),
        ]
    };
    let model = |ceil| {
        let mut model = Model::new(17)
            .input("x", &[1, 3, 7, 7].map(Into::into))
            .node(&node("MaxPool", &["x"], &["y"], &attrs(ceil)))
            .node(&node("Relu", &["y"], &["z"], &[]))
            .output("z");
        for name in ["y", "z"] {
            model.graph.value_info.push(encode(&value_info(name, FLOAT, &[1, 3, 5, 5].map(Into::into))));
        }
        model
    };
    let graph = load(&model(1).bytes(), &ModelOptions::default()).unwrap();
    assert_eq!(result(&graph), (1, vec![4, 4]));
    assert!(refusal(&model(0), &ModelOptions::default()).contains("(MaxPoolV3)"));
}

#[test]
fn shapes_that_a_file_states_must_follow_from_its_inputs() {
    let stating = |dims: &[crate::frontend::onnx::tests::Dim]| {
        let mut model = net();
        model.graph.value_info = vec![encode(&value_info("y", FLOAT, dims))];
        model
    };
    let message = refusal(&stating(&[1.into(), 7.into(), 8.into(), 8.into()]), &ModelOptions::default());
    for part in ["(Conv2D)", "[1,7,8,8]", "[1,5,8,8]"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    // What an exporter did not know says nothing.
    for dims in [&["n".into(), 0.into(), 8.into(), 8.into()][..], &[]] {
        load(&stating(dims).bytes(), &ModelOptions::default()).unwrap();
    }
    let graph = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }
        attr { key: 'shape' value { shape { dim { size: 2 } } } } }
        node { name: 'r' op: 'Relu' input: 'x'
            attr { key: '_output_shapes' value { list { shape { dim { size: 3 } } } } } }";
    let message = read(Framework::TensorFlow, graph.as_bytes(), &ModelOptions::default()).unwrap_err().to_string();
    assert!(message.contains("`r` (Relu)") && message.contains("[3]") && message.contains("[2]"), "{message}");
    read(Framework::TensorFlow, graph.as_bytes(), &given(&[("x", &[5])], None)).unwrap();
}

proptest! {
    #[test]
    fn a_damaged_model_that_is_given_other_sizes_never_panics(
        which in 0..5usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        dims in prop::collection::vec(prop_oneof![Just(-1i64), 0..6i64, Just(i64::from(i32::MAX))], 3..6),
        gear in prop_oneof![
            (1..5i64).prop_map(|n| Some(Gear::Batch(n))),
            (1..9i64, 1..9i64).prop_map(|(h, w)| Some(Gear::Image([h, w]))),
            prop::collection::vec(1..5i64, 0..4).prop_map(|values| Some(Gear::Dims(values))),
            Just(None),
        ],
    ) {
        let (framework, mut bytes) = nets().swap_remove(which);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
        }
        let input = if framework == Framework::SingleOp { "r/x" } else { "x" };
        for shapes in [&[(input, &dims[..])][..], &[]] {
            let options = ModelOptions { gear: gear.clone(), ..given(shapes, None) };
            if let Ok(mut graph) = read(framework, &bytes, &options) {
                graph.validate().unwrap();
                let _ = bind_inputs(&mut graph, &options);
            }
        }
    }
}
