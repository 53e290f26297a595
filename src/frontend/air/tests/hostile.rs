//! Input that is damaged, contradictory or made to do harm.

use super::*;
use crate::frontend::{Framework, ModelOptions, load_memory};
use proptest::prelude::*;

fn small() -> Vec<u8> {
    let mut weight = op("w", "Const", &[], &[4, 3, 1, 1]);
    weight.attr.push(value(DataType::Float16, &[4, 3, 1, 1], &[1; 24]));
    let conv = with(op("c", "Conv2D", &["x:0", "w:0"], &[1, 4, 8, 8]), "strides", &Attr::Ints(vec![1, 1, 1, 1]));
    let conv = with(conv, "pads", &Attr::Ints(vec![0; 4]));
    let conv = with(conv, "data_format", &Attr::Str("NCHW".into()));
    let ops = [
        op("x", "Data", &[], &[1, 3, 8, 8]),
        weight,
        conv,
        op("r", "Relu", &["c:0", "w:-1"], &[1, 4, 8, 8]),
        call("k", &["r:0"], "body"),
        net_output(&["k:0"]),
    ];
    let argument = with(op("p", "Data", &[], &[1, 4, 8, 8]), "index", &Attr::Int(0));
    let body = [argument, op("s", "Sigmoid", &["p:0"], &[1, 4, 8, 8]), net_output(&["s:0"])];
    file(&[graph_def("g", &ops), graph_def("body", &body)])
}

fn load(bytes: &[u8]) -> Result<Graph> {
    load_memory(bytes, "test", Some(Framework::Air), &ModelOptions::default())
}

/// Loads damaged bytes; what loads must be a graph that can be written.
fn drive(bytes: &[u8]) {
    if let Ok(graph) = load(bytes) {
        graph.validate().unwrap();
        let written = crate::frontend::air::encode_model(&graph).unwrap();
        load(&written).unwrap();
    }
}

#[test]
fn a_file_cut_short_anywhere_is_an_error_or_a_graph() {
    let bytes = small();
    load(&bytes).unwrap();
    (0..bytes.len()).for_each(|end| drive(&bytes[..end]));
}

#[test]
fn no_byte_that_is_turned_around_makes_the_reader_panic() {
    let bytes = small();
    for at in 0..bytes.len() {
        for flip in [0x01, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            drive(&damaged);
        }
    }
}

#[test]
fn nesting_without_end_costs_no_stack() {
    let mut nested = Bytes::new();
    for _ in 0..20_000 {
        // A graph in an attribute (field 13) of an operator of a graph.
        let value = [&[0x6a][..], &varint(nested.len()), &nested].concat();
        let holder = proto::Op { attr: vec![attr::entry("g", value.into())], ..op("n", "If", &[], &[1]) };
        nested = encode(&graph_def("g", &[holder]));
        if nested.len() > 1 << 17 {
            break;
        }
    }
    let value: Bytes = [&[0x6a][..], &varint(nested.len()), &nested].concat().into();
    let graph = root(&[proto::Op { attr: vec![attr::entry("g", value.clone())], ..op("n", "If", &[], &[1]) }]).unwrap();
    assert_eq!(node(&graph, "n").attrs.get("g"), Some(&Attr::Opaque(value)));
    // Start-group keys of an unknown field, which a reader has to skip.
    load(&vec![0xab; 100_000]).unwrap_err();
}

fn varint(mut n: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
    bytes
}

#[test]
fn edges_to_nowhere_name_node_and_input() {
    let x = || op("x", "Data", &[], &[2]);
    for (reference, part) in [
        ("gone:0", "`gone`"),
        ("x:7", "does not exist"),
        ("x", "name:index"),
        ("x:", "name:index"),
        ("x:-2", "name:index"),
        ("x:4294967296", "name:index"),
        ("gone:-1", "`gone`"),
        (":0", "no node"),
    ] {
        refusal(&[x(), op("r", "Relu", &[reference], &[2])], &["`r`", "input 0", part]);
    }
    refusal(&[x(), net_output(&["gone:0"])], &["output 0", "`gone`"]);
}

#[test]
fn cycles_of_data_and_of_control_name_their_nodes() {
    refusal(&[op("a", "Relu", &["b:0"], &[2]), op("b", "Relu", &["a:0"], &[2])], &["`a`", "`b`", "cycle"]);
    refusal(&[op("a", "Relu", &["b:-1"], &[2]), op("b", "Relu", &["a:0"], &[2])], &["`a`", "`b`", "cycle"]);
    refusal(&[op("a", "Relu", &["a:-1"], &[2])], &["`a`", "cycle"]);
}

#[test]
fn names_that_are_empty_or_taken_are_named() {
    refusal(&[op("", "Relu", &[], &[2])], &["node 0 (Relu)", "name is empty"]);
    refusal(&[op("a", "", &[], &[2])], &["`a`", "type is empty"]);
    refusal(&[op("a", "Relu", &[], &[2]), op("a", "Tanh", &[], &[2])], &["`a`", "same name"]);
    refusal(&[net_output(&[]), net_output(&[])], &["`out`", "second NetOutput"]);
}

#[test]
fn tensors_that_cannot_be_are_named() {
    for dim in [-4, i64::MIN, 1 << 31, i64::MAX] {
        refusal(&[op("x", "Data", &[], &[2, dim])], &["`x`", "output 0", "dimension 1", &dim.to_string()]);
    }
    let mut number = proto::Tensor::decode(described(&[1])).unwrap();
    number.dtype = 99;
    let x = proto::Op { output_desc: vec![encode(&number)], ..op("x", "Data", &[], &[]) };
    refusal(&[x], &["`x`", "99"]);
    refusal(&[proto::Op { output_desc: vec![], ..op("x", "Data", &[], &[]) }], &["`x`", "0 outputs"]);
    refusal(&[op("x", "Data", &[], &[1]), op("w", "Const", &["x:0"], &[1])], &["`w`", "reads a tensor"]);
}

#[test]
fn constants_that_contradict_their_shape_are_named() {
    for (dims, bytes, part) in
        [(&[4][..], 7, "7"), (&[4], 9, "9"), (&[1 << 30; 4], 8, "too large"), (&[-1], 2, "[?]"), (&[0], 2, "2")]
    {
        let mut w = op("w", "Const", &[], dims);
        w.attr.push(value(DataType::Float16, dims, &vec![0; bytes]));
        refusal(&[w], &["`w`", part]);
    }
}

#[test]
fn a_file_cannot_plant_what_the_reader_notes() {
    let names = Attr::Strs(vec!["gone".into()]);
    let planted = with(op("x", "Data", &[], &[2]), "_aoe_control_inputs", &names);
    let planted = with(planted, "_aoe_subgraph_names", &names);
    let mut def = graph_def("g", &[planted]);
    def.attr = ["_aoe_control_outputs", "_aoe_subgraphs"].map(|own| attr::entry(own, attr::write(&names))).to_vec();
    let graph = read(file(&[def]).into(), "test").unwrap();
    read(crate::frontend::air::encode_model(&graph).unwrap().into(), "again").unwrap();
}

#[test]
fn a_model_without_a_graph_is_named() {
    refused(&load(&file(&[])).unwrap_err().to_string(), &["`test`", "no graph"]);
    refused(&load(b"\x0a\xff").unwrap_err().to_string(), &["`test`"]);
}

proptest! {
    #![proptest_config(aoe_testing::cases(300))]

    #[test]
    fn bytes_that_are_moved_about_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = small();
        for (at, length, byte) in edits {
            let (at, length) = (at.index(bytes.len()), length.index(16));
            let end = (at + length).min(bytes.len());
            match byte % 3 {
                0 => drop(bytes.splice(at..end, [byte])),
                1 => { let part = bytes[at..end].to_vec(); drop(bytes.splice(at..at, part)); }
                _ => bytes[at..end].fill(byte),
            }
            if bytes.is_empty() {
                break;
            }
        }
        drive(&bytes);
    }
}
