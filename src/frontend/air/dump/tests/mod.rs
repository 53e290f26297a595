//! Texts held against the bytes of the same message, and what becomes of texts that are none.

mod hostile;
mod print;
mod shown;

use super::{encode_model, is_dump, is_text};
use crate::frontend::air::proto::{self, Entry, ListValue, Tensor, TensorDef, Value, decode, encode};
use crate::frontend::air::tests::{file, graph_def, net_output, op, raw_desc, value, with};
use crate::frontend::air::{attr, read};
use crate::graph::{Attr, DataType, Graph};
use aoe_testing::cases;
use print::{Style, print};
use proptest::prelude::*;
use prost::Message;
use prost::bytes::Bytes;

fn text_to_bytes(text: &str) -> Bytes {
    encode_model(text.as_bytes(), "test").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn model(bytes: &[u8]) -> proto::Model {
    decode(Bytes::copy_from_slice(bytes), || "a model of a test".into()).unwrap()
}

/// A network with an operator of each sort that matters to reading.
fn network() -> Vec<u8> {
    let origin = [
        ("origin_shape", Attr::Ints(vec![1, 3, 8, 8])),
        ("origin_shape_initialized", Attr::Bool(true)),
        ("origin_format_for_int", Attr::Int(0)),
    ];
    let mut weight = op("w", "Const", &[], &[4, 3, 1, 1]);
    weight.attr.push(value(DataType::Float16, &[4, 3, 1, 1], &(0..24).map(|b| b * 11).collect::<Vec<u8>>()));
    let mut conv =
        with(op("c/Conv 2D", "Conv2D", &["x:0", "w:0", ""], &[1, 4, 8, 8]), "strides", &Attr::Ints(vec![1; 4]));
    conv = with(conv, "pads", &Attr::Ints(vec![0; 4]));
    conv = with(conv, "data_format", &Attr::Str("NCHW".into()));
    conv.input_desc = vec![raw_desc("NC1HWC0", &[1, 1, 8, 8, 16], &origin)];
    file(&[graph_def("g", &[op("x", "Data", &[], &[1, 3, 8, 8]), weight, conv, net_output(&["c/Conv 2D:0"])])])
}

/// Bytes at random: text, what has to be escaped, and what is no text at all.
fn some_bytes(rng: &mut fastrand::Rng) -> Bytes {
    let choices: [&[u8]; 5] = [b"NCHW", "naïve 名前".as_bytes(), b"\"'\\\n\t\0\x01", b"\xff\xfe\x80", b""];
    choices[rng.usize(..choices.len())].repeat(1 + rng.usize(..2)).into()
}

fn some_text(rng: &mut fastrand::Rng) -> String {
    String::from_utf8_lossy(&some_bytes(rng)).into_owned()
}

/// Any number of something, more often few.
fn some<T>(rng: &mut fastrand::Rng, most: usize, mut one: impl FnMut(&mut fastrand::Rng) -> T) -> Vec<T> {
    (0..rng.usize(..=most)).map(|_| one(rng)).collect()
}

fn some_int(rng: &mut fastrand::Rng) -> i64 {
    [0, 1, -1, 224, i64::MAX, i64::MIN, rng.i64(..)][rng.usize(..7)]
}

fn some_float(rng: &mut fastrand::Rng) -> f32 {
    [0.0, -0.0, 1.5, 1e-5, -3.4e38, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE][rng.usize(..8)]
}

fn some_tensor(rng: &mut fastrand::Rng, depth: u32) -> Bytes {
    encode(&Tensor {
        name: some_text(rng),
        dtype: rng.i32(0..=41),
        shape: rng.bool().then(|| proto::Shape { dim: some(rng, 4, some_int) }),
        layout: "NC1HWC0".into(),
        attr: some_attrs(rng, depth),
        has_out_attr: rng.bool(),
        weight_size: some_int(rng),
        device_type: some_text(rng),
        data_offset: some_int(rng),
    })
}

fn some_value(rng: &mut fastrand::Rng, depth: u32) -> Bytes {
    let none = Value::default();
    let tensor_def =
        |rng: &mut fastrand::Rng| encode(&TensorDef { desc: some_tensor(rng, depth + 1), data: some_bytes(rng) });
    encode(&match rng.u32(..if depth > 2 { 6 } else { 9 }) {
        0 => Value { s: Some(some_bytes(rng)), ..none },
        1 => Value { i: Some(some_int(rng)), ..none },
        2 => Value { f: Some(some_float(rng)), ..none },
        3 => Value { b: Some(rng.bool()), ..none },
        4 => Value { dt: Some(some_int(rng)), ..none },
        5 => {
            let lists = some(rng, 3, |rng| encode(&proto::ListInt { values: some(rng, 3, some_int) }));
            Value { list_list_int: Some(encode(&proto::ListListInt { lists })), ..none }
        }
        6 => Value { t: Some(tensor_def(rng)), ..none },
        _ => {
            let list = ListValue {
                s: some(rng, 2, some_bytes),
                i: some(rng, 4, some_int),
                f: some(rng, 2, some_float),
                b: some(rng, 2, fastrand::Rng::bool),
                bt: some(rng, 1, some_bytes),
                td: some(rng, 1, |rng| some_tensor(rng, depth + 1)),
                t: some(rng, 1, tensor_def),
                g: some(rng, 1, |rng| some_graph(rng, depth + 2)),
                na: Vec::new(),
                dt: some(rng, 2, some_int),
                val_type: rng.i32(0..=10),
            };
            Value { list: Some(encode(&list)), ..none }
        }
    })
}

fn some_attrs(rng: &mut fastrand::Rng, depth: u32) -> Vec<Bytes> {
    let entry = |rng: &mut fastrand::Rng| {
        let value = some_value(rng, depth);
        // An entry always has both, and an empty value cannot be told from none.
        encode(&Entry { key: format!("k{}", some_text(rng)), value })
    };
    some(rng, if depth > 3 { 0 } else { 3 }, entry)
}

fn some_graph(rng: &mut fastrand::Rng, depth: u32) -> Bytes {
    let op = |rng: &mut fastrand::Rng| {
        encode(&proto::Op {
            name: some_text(rng),
            op_type: some_text(rng),
            input: some(rng, 3, some_text),
            attr: some_attrs(rng, depth + 1),
            has_out_attr: rng.bool(),
            id: some_int(rng),
            input_desc: some(rng, 2, |rng| some_tensor(rng, depth + 1)),
            output_desc: some(rng, 2, |rng| some_tensor(rng, depth + 1)),
            subgraph_name: some(rng, 2, some_text),
        })
    };
    let op = some(rng, if depth > 1 { 1 } else { 3 }, op);
    let name = some_text(rng);
    encode(&proto::Graph {
        name,
        input: some(rng, 2, some_text),
        output: some(rng, 2, some_text),
        op,
        attr: some_attrs(rng, depth),
    })
}

fn some_model(rng: &mut fastrand::Rng) -> proto::Model {
    proto::Model {
        name: some_text(rng),
        version: rng.u32(..),
        custom_version: some_text(rng),
        graph: some(rng, 2, |rng| some_graph(rng, 0)),
        attr: some_attrs(rng, 0),
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn the_text_of_a_model_in_any_style_is_its_bytes(seed: u64) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let model = some_model(&mut rng);
        let style = Style::random(&mut rng);
        let text = print(&model, &style);
        prop_assert_eq!(&text_to_bytes(&text)[..], &model.encode_to_vec()[..], "{}", text);
    }
}

#[test]
fn a_graph_read_from_text_is_the_graph_read_from_bytes() {
    let bytes = network();
    let text = print(&model(&bytes), &Style::default());
    assert!(is_dump(text.as_bytes()) && !is_dump(&bytes) && !is_text(&bytes));
    let (from_text, from_bytes) = (read(text.into(), "n").unwrap(), read(bytes.into(), "n").unwrap());
    let written = |graph: &Graph| crate::frontend::air::encode_model(graph).unwrap();
    assert_eq!(written(&from_text), written(&from_bytes));
    assert_eq!(from_text.len(), 3);
}

#[test]
fn what_ges_printer_and_hands_write_is_read() {
    let text = r#"
        # A comment, and a field that is spelt with a colon and angle brackets.
        graph: <
          name: 'it''s' " one"; op { name: "a" type: "Data" id: 0x10, has_out_attr: t
            attr { key: "l" value { list { i: [1, -2, 03] i: 4 val_type: VT_LIST_INT } } }
            attr { key: "f" value { f: -1.5e-3f } } attr < key: "e" value: { s: "\001\x41\u00e9\?" } >
            output_desc { dtype: DT_BF16 shape { dim: [] } layout: "ND" } output_desc { dtype: 4 } }
        >"#;
    let model = model(&text_to_bytes(text));
    let graph: proto::Graph = decode(model.graph[0].clone(), String::new).unwrap();
    assert_eq!(graph.name, "its one");
    let op: proto::Op = decode(graph.op[0].clone(), String::new).unwrap();
    assert_eq!((op.id, op.has_out_attr, op.output_desc.len()), (16, true, 2));
    let attrs = attr::read_all(&op.attr, &String::new).unwrap();
    assert_eq!(attrs.get("l"), Some(&Attr::Ints(vec![1, -2, 3, 4])));
    assert_eq!(attrs.get("f"), Some(&Attr::Float(f64::from(-1.5e-3_f32))));
    assert_eq!(attrs.get("e"), Some(&Attr::Str("\u{1}Aé?".into())));
    let types = op.output_desc.iter().map(|bytes| decode::<Tensor>(bytes.clone(), String::new).unwrap().dtype);
    assert_eq!(types.collect::<Vec<_>>(), [DataType::Bfloat16.proto_number(), 4]);
}

#[test]
fn a_text_longer_than_what_is_read_at_once_is_whole() {
    let data: Vec<u8> = (0..700_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut weight = op("w", "Const", &[], &[350_000]);
    weight.attr.push(value(DataType::Float16, &[350_000], &data));
    let bytes = file(&[graph_def("g", &[weight])]);
    let text = print(&model(&bytes), &Style::default());
    assert_eq!(text_to_bytes(&text), bytes);
    let named = graph_def("名".repeat(300_000).as_str(), &[op("x", "Data", &[], &[1])]);
    let bytes = file(&[named]);
    assert_eq!(text_to_bytes(&print(&model(&bytes), &Style { raw_text: true, ..Style::default() })), bytes);
}

#[test]
fn a_graph_by_itself_is_read_as_torchair_dumps_it() {
    let tensor = "{ dtype: DT_FLOAT16 shape { dim: 4 dim: 8 } layout: \"ND\" }";
    let text = format!(
        "name: \"graph_1\"\nop {{ name: \"x\" type: \"Data\" input_desc {tensor} output_desc {tensor} }}
         op {{ name: \"r\" type: \"Relu\" input: \"x:0\" input_desc {tensor} output_desc {tensor} }}"
    );
    assert!(is_dump(text.as_bytes()));
    let graph = read(text.into(), "dump").unwrap();
    assert_eq!((graph.name.as_str(), graph.len()), ("graph_1", 2));
    // Texts of other frameworks whose lists are called so have no operators with types.
    assert!(!is_dump(b"op { name: \"Add\" input_arg { name: \"x\" } }"));
}

#[test]
fn zero_bytes_are_an_error_with_their_place() {
    let text = "graph {\n  op {\n    name: \"x\"\n    type: \"Data\"\n  }\n}\n";
    for at in [0, 7, 8, text.len() - 3] {
        let mut bytes = text.as_bytes().to_vec();
        bytes.insert(at, 0);
        assert!(is_dump(&bytes), "{at}");
        let error = read(bytes.into(), "dump").unwrap_err().to_string();
        assert!(error.contains("line ") && error.contains("column ") && error.contains("zero byte"), "{at}: {error}");
    }
}
