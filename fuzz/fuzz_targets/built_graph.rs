//! Graphs as programs build them with GE's operators, whose fields say any mixture of nothing, defaults and sizes: an
//! error or a graph that lowers or says why not; a constant is what its value says; what can be inferred need not be
//! described; nothing panics.
//!
//! Run with `cargo +nightly fuzz run built_graph`.
#![no_main]

use aoe::frontend::{Framework, ModelOptions, air, load_memory};
use aoe::graph::infer::split_static;
use aoe::graph::{Graph, Shape};
use aoe::lower::{Settings, lower};
use aoe::soc::Soc;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static SOC: LazyLock<Soc> = LazyLock::new(|| Soc::find("Ascend910B2").expect("the default part is known"));

/// Formats by name and number; the empty one is left out.
const FORMATS: [(&str, u64); 9] = [
    ("", 99),
    ("ND", 2),
    ("NCHW", 0),
    ("NHWC", 1),
    ("HWCN", 16),
    ("NC1HWC0", 3),
    ("FRACTAL_Z", 4),
    ("FRACTAL_NZ", 29),
    ("FORMAT_RESERVED", 40),
];
const SIZES: [i64; 16] = [1, 1, 2, 2, 8, 8, 8, 16, 16, 16, 1, 8, 33, 3, -1, 0];
const RANKS: [usize; 8] = [0, 0, 1, 2, 4, 4, 4, 5];
const TYPES: [&str; 8] = ["Conv2D", "MaxPool", "Relu", "BiasAdd", "MatMulV2", "Reshape", "NoSuchOperator", "Add"];

/// The fuzzer's bytes, one choice after the other; zeros once they are used up.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        let (&first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        usize::from(first) % count
    }

    fn dims(&mut self) -> Vec<i64> {
        match self.below(32) {
            0 => vec![-2],
            1 => vec![-3],
            2 => vec![1, -2],
            _ => (0..RANKS[self.below(RANKS.len())]).map(|_| SIZES[self.below(SIZES.len())]).collect(),
        }
    }
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 127 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A field of bytes.
fn bytes(field: u64, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(field << 3 | 2, &mut out);
    varint(content.len() as u64, &mut out);
    [out.as_slice(), content].concat()
}

/// A field that is a number.
fn number(field: u64, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    varint(field << 3, &mut out);
    varint(value, &mut out);
    out
}

fn attr(field: u64, name: &str, value: &[u8]) -> Vec<u8> {
    bytes(field, &[bytes(1, name.as_bytes()), bytes(2, value)].concat())
}

fn ints(list: &[i64]) -> Vec<u8> {
    let list: Vec<u8> = list.iter().flat_map(|&i| number(3, i.cast_unsigned())).collect();
    bytes(1, &[list, number(20, 2)].concat())
}

/// A tensor's description, of which anything may be missing.
fn described(choices: &mut Choices<'_>) -> Vec<u8> {
    let (layout, of_layout) = FORMATS[choices.below(FORMATS.len())];
    let (origin, of_origin) = FORMATS[choices.below(FORMATS.len())];
    let mut tensor = [number(2, [1, 2, 9, 0][choices.below(4)]), bytes(4, layout.as_bytes())].concat();
    let dims: Vec<u8> = choices.dims().iter().flat_map(|&d| number(1, d.cast_unsigned())).collect();
    tensor.extend(bytes(3, &dims));
    for (name, value) in [("format_for_int", of_layout), ("origin_format_for_int", of_origin)] {
        if choices.below(2) == 1 {
            tensor.extend(attr(5, name, &number(3, value)));
        }
    }
    tensor.extend(attr(5, "origin_format", &bytes(2, origin.as_bytes())));
    match choices.below(3) {
        0 => tensor.extend(attr(5, "origin_shape_initialized", &number(5, 0))),
        1 => {
            tensor.extend(attr(5, "origin_shape", &ints(&choices.dims())));
            tensor.extend(attr(5, "origin_shape_initialized", &number(5, 1)));
        }
        _ => {}
    }
    tensor
}

/// An operator; `outputs` says whether its outputs are described.
fn op(choices: &mut Choices<'_>, at: usize, outputs: bool) -> Vec<u8> {
    let mut op = bytes(1, format!("n{at}").as_bytes());
    let kind = choices.below(if at < 3 { 2 } else { TYPES.len() });
    let (op_type, reads) = match (at, kind) {
        (..3, 0) => ("Data", 0),
        (..3, _) => ("Const", 0),
        (_, kind) => (TYPES[kind], 1 + choices.below(3)),
    };
    op.extend(bytes(2, op_type.as_bytes()));
    for _ in 0..reads {
        op.extend(bytes(5, format!("n{}:0", choices.below(at.max(1))).as_bytes()));
        let stated = described(choices);
        op.extend(if choices.below(2) == 1 { bytes(33, &stated) } else { Vec::new() });
    }
    let output = described(choices);
    op.extend(bytes(34, if outputs || at < 3 { &output } else { &[] }));
    if op_type == "Const" {
        let data = vec![7; [0, 0, 0, 2, 4, 8, 16, 64][choices.below(8)]];
        let tensor = [bytes(1, &described(choices)), bytes(2, &data)].concat();
        op.extend(attr(10, "value", &bytes(12, &tensor)));
    }
    op.extend(attr(10, "data_format", &bytes(2, FORMATS[choices.below(5)].0.as_bytes())));
    for name in ["strides", "ksize", "pads"] {
        let list: Vec<i64> = (0..4).map(|_| SIZES[choices.below(4)]).collect();
        op.extend(attr(10, name, &ints(&list)));
    }
    op
}

fn model(data: &[u8], outputs: bool) -> Vec<u8> {
    let mut choices = Choices(data);
    let count = 4 + choices.below(8);
    let ops: Vec<u8> = (0..count).flat_map(|at| bytes(6, &op(&mut choices, at, outputs))).collect();
    bytes(7, &[bytes(1, b"g"), ops].concat())
}

fn read(data: &[u8], outputs: bool) -> Option<Graph> {
    load_memory(&model(data, outputs), "fuzz", Some(Framework::Air), &ModelOptions::default()).ok()
}

fuzz_target!(|data: &[u8]| {
    let Some(graph) = read(data, true) else { return };
    graph.validate().expect("a graph that was loaded is one");
    let written = air::encode_model(&graph).expect("a graph that was loaded can be written");
    let again = air::read(written.clone().into(), "fuzz").expect("what was written can be read");
    assert_eq!(air::encode_model(&again).expect("and written again"), written);
    if let Ok(known) = split_static(graph.clone()) {
        let _ = lower(&known.graph, &SOC, &Settings::default());
    }
    // Where a shape is told without any description, by a rule or by who reads it, a description that does not contradict it
    // changes nothing.
    let Some(bare) = read(data, false) else { return };
    for ((_, node), (_, other)) in bare.iter().zip(graph.iter()) {
        let told = |shape: &Shape| shape.known().is_some();
        for (found, with) in node.outputs.iter().zip(&other.outputs) {
            let counts = told(&found.shape) && with.shape.accepts(&found.shape);
            assert!(!counts || told(&with.shape), "{}: {} became {}", node.name, found.shape, with.shape);
        }
    }
});
