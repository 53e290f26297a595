//! Text that is damaged, contradictory or made to do harm.

use super::{layer, load, net, refusal};
use crate::frontend::{Framework, ModelOptions, load_memory};
use proptest::prelude::*;

fn small() -> String {
    let rest = "layer { name: 'p' type: \"Pooling\" bottom: 'y' top: 'p' pooling_param { kernel_size: 2 } }
        layer { name: 'f' type: 'InnerProduct' bottom: 'p' top: 'f' inner_product_param { num_output: 3 } }\n";
    net(&[1, 3, 8, 8], &(layer("Convolution", "convolution_param { num_output: 4 kernel_size: 3 }") + rest))
}

fn load_bytes(bytes: &[u8]) {
    if let Ok(graph) = load_memory(bytes, "test", Some(Framework::Caffe), &ModelOptions::default()) {
        graph.validate().unwrap();
    }
}

#[test]
fn a_net_with_any_byte_changed_or_cut_off_never_panics() {
    let bytes = small().into_bytes();
    load(&small()).unwrap();
    for at in 0..bytes.len() {
        load_bytes(&bytes[..at]);
        for change in [0x01, 0x10, 0x20, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            load_bytes(&changed);
        }
    }
}

#[test]
fn a_slice_whose_parts_are_not_of_one_size_is_refused_by_name() {
    let slice = |parts: usize, param: &str| {
        let tops: Vec<String> = (0..parts).map(|at| format!("top: 's{at}'")).collect();
        let tops = tops.join(" ");
        net(
            &[1, 64, 8, 8],
            &format!("layer {{ name: 'cut' type: 'Slice' bottom: 'x' {tops} slice_param {{ {param} }} }}"),
        )
    };
    load(&slice(32, "axis: 1")).unwrap();
    for (parts, param, said) in
        [(65, "axis: 1", "an axis of 64 does not split into 65"), (5, "axis: -1", "an axis of 8 does not split into 5")]
    {
        let message = refusal(&slice(parts, param));
        assert!(["`cut`", said].iter().all(|part| message.contains(part)), "{message}");
    }
    let message = refusal(&slice(2, "axis: 1 slice_point: 65"));
    assert!(message.contains("`cut`") && message.contains("axis of 64"), "{message}");
}

#[test]
fn text_that_is_no_protobuf_is_refused_with_its_line() {
    for (text, part) in [
        ("layer {\n name: 'a'\n", "line 3"),
        ("layer {\n name 'a' }", "line 2"),
        ("name: 'a\n'", "string does not end"),
        ("name: '\\q'", "escape"),
        ("name: '\\xff'", "UTF-8"),
        ("name: '\\777'", "octal"),
        ("}", "`}`"),
        ("a: ", "no value"),
        ("a: [1 2]", "list"),
        ("a: [1,", "no value"),
        ("3: 4", "`3`"),
        ("layer: 'x'", "a message"),
        ("name: 7 layer { type: 'ReLU' }", "string in quotes"),
        ("", "no layer"),
    ] {
        let message = match text {
            "" => refusal("# nothing"),
            text => refusal(text),
        };
        assert!(message.contains(part), "{text:?}: {message}");
    }
    let error = load_memory(&[0x0a, 0xff, 0xfe], "test", Some(Framework::Caffe), &ModelOptions::default());
    assert!(error.unwrap_err().to_string().contains(".prototxt"));
}

#[test]
fn messages_nested_without_end_cost_no_stack() {
    for open in ["a {", "a <", "a: {"] {
        assert!(refusal(&open.repeat(100_000)).contains("deeper"), "{open}");
    }
    let message = refusal(&format!("a: [{}", "{".repeat(100_000)));
    assert!(message.contains("name is expected"), "{message}");
}

#[test]
fn a_text_too_large_for_a_net_is_refused() {
    assert!(refusal(&"#\n".repeat(9 << 20)).contains("16 MiB"));
}

#[test]
fn layers_in_a_circle_and_blobs_written_twice_are_refused() {
    let ring =
        "layer { name: 'a' type: 'ReLU' bottom: 'q' top: 'p' } layer { name: 'b' type: 'ReLU' bottom: 'p' top: 'q' }";
    let message = refusal(ring);
    assert!(message.contains("`a`") && message.contains("writes `q`"), "{message}");
    let message = refusal(&net(&[1, 3], &(layer("ReLU", "") + &layer("TanH", ""))));
    assert!(message.contains("`y` is written already"), "{message}");
    assert!(
        refusal("input: 'x' input: 'x' input_dim: [1, 1, 1, 1, 1, 1, 1, 1] layer { type: 'ReLU' bottom: 'x' }")
            .contains("second input")
    );
}

#[test]
fn impossible_sizes_of_inputs_are_refused() {
    for dim in ["0", "-2", "2147483648", "99999999999999999999"] {
        let text = format!("input: 'x' input_shape {{ dim: 1 dim: {dim} }} {}", layer("ReLU", ""));
        let message = refusal(&text);
        assert!(message.contains(dim), "{message}");
    }
    assert!(refusal(&format!("input: 'x' input_dim: [1, 2, 3] {}", layer("ReLU", ""))).contains("four input_dim"));
}

proptest! {
    #[test]
    fn any_text_is_a_net_or_an_error(text in "[a-z:{}<>\\[\\]\"'#\\\\ \n0-9.,;-]{0,200}") {
        load_bytes(text.as_bytes());
    }

    #[test]
    fn any_parameters_are_a_layer_or_an_error(
        kind in prop::sample::select(vec!["Convolution", "Deconvolution", "InnerProduct", "Pooling", "Scale", "Slice", "Reshape", "Flatten", "Tile", "Reduction", "Softmax", "Concat", "LRN", "ArgMax"]),
        names in prop::collection::vec((prop::sample::select(vec!["num_output", "kernel_size", "stride", "pad", "group", "axis", "num_axes", "end_axis", "slice_point", "tiles", "local_size", "dilation", "top_k"]), prop_oneof![-3i64..9, any::<i64>()]), 0..6),
    ) {
        let fields: String = names.iter().fold(String::new(), |text, (name, value)| text + &format!("{name}: {value} "));
        let param = match kind { "InnerProduct" => "inner_product_param".to_owned(), "Deconvolution" => "convolution_param".to_owned(), "ArgMax" => "argmax_param".to_owned(), kind => format!("{}_param", kind.to_lowercase()) };
        load_bytes(net(&[2, 4, 6, 6], &layer(kind, &format!("{param} {{ {fields} }}"))).as_bytes());
    }
}
