//! Operators of ONNX that Ascend has none like: their sizes follow all the same, and they say why they stay.

use super::*;
use crate::graph::WHY_UNMAPPED;
use crate::graph::infer::{infer, split_static};

const INT32: i32 = 6;

/// What a network of one operator gives, its outputs parted by semicolons.
fn gives(op: &proto::Node, opset: i64, inputs: &[(&str, i32, &[i64])], constants: &[proto::Tensor]) -> Graph {
    let mut model = Model::new(opset);
    for (name, dtype, dims) in inputs {
        let dims: Vec<Dim> = dims.iter().map(|&dim| dim.into()).collect();
        model.graph.input.push(encode(&value_info(name, *dtype, &dims)));
    }
    let model = constants.iter().fold(model, Model::initializer).node(op);
    let model = op.output.iter().filter(|name| !name.is_empty()).fold(model, |model, name| model.output(name));
    let mut graph = model.read().unwrap();
    infer(&mut graph).unwrap();
    graph
}

fn told(graph: &Graph) -> String {
    let of = |port: &crate::graph::Port| format!("{} {}", graph.desc(*port).dtype.name(), graph.desc(*port).shape);
    graph.outputs().iter().map(of).collect::<Vec<_>>().join("; ")
}

fn number(name: &str, value: i64) -> proto::Tensor {
    proto::Tensor { dims: Vec::new(), ..ints(name, &[value]) }
}

/// An operator with its inputs, attributes and operator set, tensors that it is given, constants, and what it gives.
type Case = (
    &'static str,
    &'static [&'static str],
    Vec<(&'static str, Value)>,
    i64,
    &'static [(&'static str, i32, &'static [i64])],
    Vec<proto::Tensor>,
    &'static str,
);

#[rustfmt::skip] // one case, one line
fn cases() -> Vec<Case> {
    const X: &[(&str, i32, &[i64])] = &[("x", FLOAT, &[2, 3, 8])];
    let int = |value| Value::Int(value);
    let list = |values: &[i64]| Value::Ints(values.to_vec());
    vec![
        ("AffineGrid", &["x", "size"], vec![], 20, &[("x", FLOAT, &[2, 2, 3])], vec![ints("size", &[2, 3, 5, 7])], "float32 [2,5,7,2]"),
        ("AffineGrid", &["x", "size"], vec![], 20, &[("x", FLOAT, &[2, 3, 4])], vec![ints("size", &[2, 3, 4, 5, 7])], "float32 [2,4,5,7,3]"),
        ("AffineGrid", &["x", "size"], vec![], 20, &[("x", FLOAT, &[2, 2, 3]), ("size", INT64, &[4])], vec![], "float32 [?,?,?,2]"),
        ("CenterCropPad", &["x", "size"], vec![], 18, X, vec![ints("size", &[4, 2, 9])], "float32 [4,2,9]"),
        ("CenterCropPad", &["x", "size"], vec![("axes", list(&[-1, 0]))], 18, X, vec![ints("size", &[9, 4])], "float32 [4,3,9]"),
        ("STFT", &["x", "step", "", "length"], vec![], 17, &[("x", FLOAT, &[2, 128, 1])], vec![number("step", 8), number("length", 16)], "float32 [2,15,9,2]"),
        ("STFT", &["x", "step", "window"], vec![("onesided", int(0))], 17, &[("x", FLOAT, &[2, 128, 1]), ("window", FLOAT, &[16])], vec![number("step", 8)], "float32 [2,15,16,2]"),
        ("DFT", &["x"], vec![("onesided", int(1))], 17, &[("x", FLOAT, &[2, 10, 5, 1])], vec![], "float32 [2,6,5,2]"),
        ("DFT", &["x", "", "axis"], vec![], 20, &[("x", FLOAT, &[2, 10, 5, 2])], vec![number("axis", 1)], "float32 [2,10,5,2]"),
        ("DFT", &["x", "length"], vec![], 20, &[("x", FLOAT, &[2, 10, 5, 2])], vec![number("length", 32)], "float32 [2,10,32,2]"),
        ("Bernoulli", &["x"], vec![("dtype", int(11))], 15, X, vec![], "double [2,3,8]"),
        ("RandomNormalLike", &["x"], vec![], 17, X, vec![], "float32 [2,3,8]"),
        ("RandomUniformLike", &["x"], vec![("dtype", int(10))], 17, X, vec![], "float16 [2,3,8]"),
        ("RandomNormal", &[], vec![("shape", list(&[3, 4]))], 17, &[], vec![], "float32 [3,4]"),
        ("RandomUniform", &[], vec![("shape", list(&[3, 4])), ("dtype", int(10))], 17, &[], vec![], "float16 [3,4]"),
        ("Multinomial", &["x"], vec![("sample_size", int(5))], 17, &[("x", FLOAT, &[4, 10])], vec![], "int32 [4,5]"),
        ("HannWindow", &["n"], vec![], 17, &[], vec![number("n", 12)], "float32 [12]"),
        ("BlackmanWindow", &["n"], vec![("output_datatype", int(10))], 17, &[], vec![number("n", 12)], "float16 [12]"),
        ("MelWeightMatrix", &["bins", "length", "rate", "low", "high"], vec![], 17, &[], vec![number("bins", 8), number("length", 16), number("rate", 8192), scalar("low", 0.0), scalar("high", 4096.0)], "float32 [9,8]"),
        ("DeformConv", &["x", "w", "offset"], vec![], 19, &[("x", FLOAT, &[2, 3, 8, 8]), ("offset", FLOAT, &[2, 18, 6, 6])], vec![weight("w", &[5, 3, 3, 3])], "float32 [2,5,6,6]"),
        ("Det", &["x"], vec![], 17, &[("x", FLOAT, &[4, 3, 3])], vec![], "float32 [4]"),
        ("NegativeLogLikelihoodLoss", &["x", "t"], vec![("reduction", Value::Str("none"))], 13, &[("x", FLOAT, &[4, 9, 2]), ("t", INT64, &[4, 2])], vec![], "float32 [4,2]"),
        ("NegativeLogLikelihoodLoss", &["x", "t"], vec![], 13, &[("x", FLOAT, &[4, 9]), ("t", INT64, &[4])], vec![], "float32 []"),
        ("RegexFullMatch", &["x"], vec![], 20, &[("x", 8, &[3])], vec![], "bool [3]"),
        ("TfIdfVectorizer", &["x"], vec![("ngram_indexes", list(&[0, 3, 1]))], 17, &[("x", INT32, &[2, 6])], vec![], "float32 [2,4]"),
        ("OptionalGetElement", &["x"], vec![], 18, &[("x", FLOAT, &[2, 3, 8, 8])], vec![], "float32 [2,3,8,8]"),
        ("CumProd", &["x", "axis"], vec![], 26, X, vec![number("axis", 0)], "float32 [2,3,8]"),
        ("Swish", &["x"], vec![], 24, X, vec![], "float32 [2,3,8]"),
        ("RMSNormalization", &["x", "g"], vec![], 23, X, vec![weight("g", &[8])], "float32 [2,3,8]"),
        ("RMSNormalization", &["x", "g"], vec![("axis", int(1))], 23, X, vec![weight("g", &[8])], "float32 [2,3,8]"),
    ]
}

#[test]
fn sizes_of_operators_without_a_counterpart_follow_from_onnx_s_rules() {
    for (op_type, inputs, attrs, opset, given, constants, expected) in cases() {
        let graph = gives(&node(op_type, inputs, &["y"], &attrs).named("op"), opset, given, &constants);
        assert_eq!(told(&graph), expected, "{op_type} {inputs:?}");
        let made = graph.node(graph.outputs()[0].node);
        assert!(made.mapped || made.attrs.str(WHY_UNMAPPED).is_some(), "{op_type} does not say why it stays");
        if !expected.contains('?') {
            assert!(split_static(graph).unwrap().left_out.is_empty(), "{op_type}");
        }
    }
}

#[test]
fn operators_of_several_results_tell_the_sizes_of_each() {
    let two = |op_type: &str, inputs: &[&str], attrs: &[(&str, Value)]| node(op_type, inputs, &["y", "z"], attrs);
    let rnn = [("x", FLOAT, &[7, 2, 5][..])];
    let weights = [weight("w", &[2, 4, 5]), weight("r", &[2, 4, 4])];
    let attrs = [("direction", Value::Str("bidirectional")), ("hidden_size", Value::Int(4))];
    assert_eq!(
        told(&gives(&two("RNN", &["x", "w", "r"], &attrs), 14, &rnn, &weights)),
        "float32 [7,2,2,4]; float32 [2,2,4]"
    );
    let attrs = [&attrs[..], &[("layout", Value::Int(1))]].concat();
    assert_eq!(
        told(&gives(&two("RNN", &["x", "w", "r"], &attrs), 14, &rnn, &weights)),
        "float32 [7,2,2,4]; float32 [7,2,4]"
    );
    let scores = [("x", FLOAT, &[4, 9, 2][..]), ("t", INT64, &[4, 2])];
    let entropy = two("SoftmaxCrossEntropyLoss", &["x", "t"], &[]);
    assert_eq!(told(&gives(&entropy, 13, &scores, &[])), "float32 []; float32 [4,9,2]");
    let three = [("q", FLOAT, &[2, 5, 24][..]), ("k", FLOAT, &[2, 7, 12]), ("v", FLOAT, &[2, 7, 16])];
    let heads = [("q_num_heads", Value::Int(4)), ("kv_num_heads", Value::Int(2))];
    let past = [("pk", FLOAT, &[2, 2, 3, 6][..]), ("pv", FLOAT, &[2, 2, 3, 8])];
    let attention = node("Attention", &["q", "k", "v", "", "pk", "pv"], &["y", "nk", "nv", "s"], &heads);
    let given = [&three[..], &past].concat();
    let expected = "float32 [2,5,32]; float32 [2,2,10,6]; float32 [2,2,10,8]; float32 [2,4,5,10]";
    assert_eq!(told(&gives(&attention, 23, &given, &[])), expected);
    let split = two("StringSplit", &["x"], &[]);
    assert!(told(&gives(&split, 20, &[("x", 8, &[3][..])], &[])).ends_with("[3,?]; int64 [3]"));
}

#[test]
fn boxes_that_stay_of_constants_are_counted() {
    let boxes = [0.0, 0.0, 1.0, 1.0, 0.0, 0.1, 1.0, 1.1, 0.0, 10.0, 1.0, 11.0, 0.0, 10.1, 1.0, 11.1];
    let floats = |name: &str, dims: &[i64], values: &[f32]| proto::Tensor {
        name: name.to_owned(),
        dims: dims.to_vec(),
        data_type: FLOAT,
        float_data: values.to_vec(),
        ..proto::Tensor::default()
    };
    let count = |most: i64, overlap: f32, least: f32| {
        let constants = [
            floats("boxes", &[1, 4, 4], &boxes),
            floats("scores", &[1, 2, 4], &[0.9, 0.75, 0.6, 0.95, 0.1, 0.2, 0.3, 0.05]),
            ints("most", &[most]),
            floats("overlap", &[1], &[overlap]),
            floats("least", &[1], &[least]),
        ];
        let suppress = node("NonMaxSuppression", &["boxes", "scores", "most", "overlap", "least"], &["y"], &[]);
        told(&gives(&suppress, 11, &[], &constants))
    };
    // Of each pair the better one, in both classes.
    assert_eq!(count(3, 0.5, 0.0), "int32 [4,3]");
    assert_eq!(count(1, 0.5, 0.0), "int32 [2,3]");
    assert_eq!(count(3, 0.95, 0.0), "int32 [6,3]");
    assert_eq!(count(3, 0.5, 0.25), "int32 [3,3]");
    assert_eq!(count(3, 0.5, 0.99), "int32 [0,3]");
}

#[test]
fn questions_to_constants_decide_a_choice() {
    let branch = |op_type: &str| inlined::branch(&[node(op_type, &["x"], &["p"], &[])], &[], &["p"]);
    let graphs = [("then_branch", Value::Graph(branch("Exp"))), ("else_branch", Value::Graph(branch("Abs")))];
    let chosen = |asks: &proto::Node, value: f32| {
        let model = Model::new(20).input("x", &[4.into()]).initializer(&scalar("k", value)).node(asks);
        let graph = model.node(&node("If", &["c"], &["y"], &graphs)).output("y").read().unwrap();
        graph.node(graph.outputs()[0].node).op_type.clone()
    };
    let nan = node("IsNaN", &["k"], &["c"], &[]);
    assert_eq!([chosen(&nan, f32::NAN), chosen(&nan, 1.0)], ["Exp", "Abs"]);
    let inf = |below, above| {
        node("IsInf", &["k"], &["c"], &[("detect_negative", Value::Int(below)), ("detect_positive", Value::Int(above))])
    };
    assert_eq!([chosen(&inf(1, 1), f32::NEG_INFINITY), chosen(&inf(0, 1), f32::NEG_INFINITY)], ["Exp", "Abs"]);
    assert_eq!([chosen(&inf(1, 0), f32::INFINITY), chosen(&inf(1, 1), f32::NAN)], ["Abs", "Abs"]);
    assert_eq!(chosen(&node("OptionalHasElement", &["k"], &["c"], &[]), 1.0), "Exp");
    assert_eq!(chosen(&node("OptionalHasElement", &[""], &["c"], &[]), 1.0), "Abs");
}

#[test]
fn a_condition_that_follows_picks_as_many_rows_as_it_has_ones() {
    // The condition is computed from sizes, and no constant of the file.
    let model = Model::new(17).input("x", &[3.into(), 5.into()]).initializer(&ints("four", &[4]));
    let model = model
        .node(&node("Shape", &["x"], &["sizes"], &[]))
        .node(&node("Greater", &["sizes", "four"], &["c"], &[]))
        .node(&node("Compress", &["x", "c"], &["y"], &[("axis", Value::Int(0))]))
        .output("y");
    let mut graph = model.read().unwrap();
    infer(&mut graph).unwrap();
    assert_eq!(told(&graph), "float32 [1,5]");
}
