//! Texts that are cut short, in another encoding, contradictory or made to do harm: a reason with line and column.

use super::*;
use crate::frontend::air::dump::{Form, form};
use crate::frontend::{Framework, ModelOptions, load_file, load_memory};

#[track_caller]
fn refused(text: impl AsRef<[u8]>, parts: &[&str]) {
    let error = encode_model(text.as_ref(), "dump").expect_err("the text must be refused").to_string();
    for part in parts {
        assert!(error.contains(part), "`{part}` is missing in: {error}");
    }
}

#[test]
fn what_is_wrong_is_told_with_line_and_column() {
    for (text, parts) in [
        ("graph {\n  op {\n    name: 5\n", &["line 3, column 11", "`name` takes a string in quotes"][..]),
        ("graph {\n  op { id: \"x\" }", &["line 2, column 12", "`id` takes a whole number"]),
        (
            "graph { op { id: 9223372036854775808 } }",
            &["line 1, column 18", "whole number, found `9223372036854775808`"],
        ),
        ("version: -1", &["column 11", "found `-1`"]),
        ("graph { op { has_out_attr: maybe } }", &["true or false, found `maybe`"]),
        ("graph { op { output_desc { dtype: DT_FLOAT17 } } }", &["`dtype`", "DT_FLOAT17"]),
        ("graph { name: \"a\"\n name: \"b\" }", &["line 2, column 6", "`name` is given twice", "begins in line 1"]),
        ("attr { key: \"k\" value { i: 1 f: 2 } }", &["both `i` and `f` are given", "AttrDef"]),
        ("graph { op { name: \"a }\n", &["line 1", "does not end on its line"]),
        ("graph { op { name: \"a", &["ends inside a string"]),
        ("graph { name: \"\\q\" }", &["escape"]),
        ("graph { name: \"\\377\" }", &["not UTF-8"]),
        ("graph { name: \"caf\\351\" }", &["line 1, column", "not UTF-8", "latin-1", "`\\303\\251`"]),
        ("graph { name: \"C:\\dump\" }", &["line 1, column", "write a backslash itself as `\\\\`"]),
        ("graph { name: [\"a\"] }", &["one value, not a list"]),
        ("graph { input: [\"a\" \"b\", \"c\" 1] }", &["`,` or `]` is expected in the list `input`", "found `1`"]),
        ("graph { op: 1 }", &["`op` takes a message"]),
        ("graph { input \"x\" }", &["`:` is expected after `input`"]),
        ("graph { } }", &["column 11", "a field's name is expected, found `}`"]),
        ("graph { >", &["a field's name is expected, found `>`"]),
        ("graph { mystery { a: [1 } }", &["`mystery`", "found `}`"]),
    ] {
        refused(text, parts);
    }
    let long = "9".repeat(300);
    refused(format!("version: {long}"), &["more than 255 characters"]);
    refused("graph { name: \"名前\" x", &["line 1, column 21", "`x`"]);
}

#[test]
fn a_text_in_latin_1_is_known_for_what_it_is_and_its_first_wrong_character_placed() {
    let dir = tempfile::tempdir().unwrap();
    let view =
        "ir_version: 3\nproducer_name: \"caf\u{e9}\"\ngraph {\n  name: \"g\"\n  node { op_type: \"ge:Data\" }\n}\n";
    let model = "name: \"caf\u{e9}\"\ngraph {\n  op { name: \"x\" type: \"Data\" }\n}\n";
    let later = "graph {\n  op { name: \"caf\u{e9}\" type: \"Data\" }\n}\n";
    for (name, text, place) in [
        ("ge_onnx_00000000_graph_0_PreRunBegin.pbtxt", view, "line 2, column 20"),
        ("ge_proto_00000000_graph_0_PreRunBegin.txt", model, "line 1, column 11"),
        ("graph", model, "line 1, column 11"),
        ("net.pbtxt", later, "line 2, column 18"),
    ] {
        // Each of its characters is one byte there.
        let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = load_file(&path, None, &ModelOptions::default()).unwrap_err().to_string();
        assert!([place, "0xe9", "latin-1"].iter().all(|part| error.contains(part)), "{name}: {error}");
    }
}

#[test]
fn half_a_file_is_told_as_such_wherever_it_ends() {
    let text = print(&model(&network()), &Style::default());
    let whole = text.trim_end().len();
    for end in (0..whole).filter(|&end| text.is_char_boundary(end)) {
        match encode_model(&text.as_bytes()[..end], "dump") {
            Ok(_) => {
                let open = text[..end].matches('{').count() - text[..end].matches('}').count();
                assert_eq!(open, 0, "{}", &text[..end]);
            }
            Err(error) => assert!(error.to_string().contains("line "), "{error}"),
        }
    }
    refused(&text[..whole - 1], &["the file ends inside `GraphDef`, which begins in line 3"]);
}

#[test]
fn another_encoding_is_named() {
    let utf16 = |unit: fn(u16) -> [u8; 2]| {
        let text = "\u{feff}graph {\n op { name: \"x\" type: \"Data\" } }";
        text.encode_utf16().flat_map(unit).collect::<Vec<u8>>()
    };
    for bytes in [utf16(u16::to_le_bytes), utf16(u16::to_be_bytes)] {
        assert!(is_dump(&bytes));
        refused(&bytes, &["line 1, column 1", "UTF-16", "convert it to UTF-8"]);
    }
    for bytes in [&utf16(u16::to_le_bytes)[2..], &utf16(u16::to_be_bytes)[2..]] {
        assert!(is_dump(bytes), "the mark may be missing");
        refused(bytes, &["line 1, column 1", "UTF-16", "convert it to UTF-8"]);
    }
    let utf32 = "graph { op { name: \"x\" } }".chars().flat_map(|c| (c as u32).to_be_bytes()).collect::<Vec<u8>>();
    assert!(is_dump(&utf32));
    refused(&utf32, &["line 1, column 1", "UTF-32", "convert it to UTF-8"]);
    refused(b"graph\0 {", &["zero byte", "UTF-16"]);
    refused(b"graph {\n  name: \"caf\xe9\" }", &["line 2, column 13", "0xe9", "latin-1"]);
    refused(b"\xff\xfe\0\0g\0\0\0", &["UTF-32"]);
    // A mark of UTF-8 is no content, and a comment may be in whatever encoding.
    encode_model(&b"\xef\xbb\xbfgraph { # caf\xe9\n name: \"g\" }"[..], "dump").unwrap();
    refused(b"\xef\xbb\xbfx", &["line 1, column"]);
}

#[test]
fn nesting_without_end_costs_no_stack() {
    let values = "attr { value { t { desc { ".repeat(100_000);
    refused(format!("graph {{ op {{ {values}"), &["nest deeper than 64"]);
    refused("graph ".to_owned() + &"{ x ".repeat(100_000), &["nest deeper than 64"]);
    refused("unknown [".to_owned() + &"[".repeat(100_000), &["nest deeper than 64"]);
}

#[test]
fn fields_of_a_newer_cann_are_passed_over() {
    let known = "graph { name: \"g\" op { name: \"x\" type: \"Data\" } }";
    let newer = "new_thing { a: 1 b: [<c: \"}\">, {}] -3: x } 7: 5 [ext.e/x]: <y: 1> attr_groups { z { } }\n\
                 graph { name: \"g\" op { name: \"x\" flag: -inf, type: \"Data\" odd: \"a\" 'b' } }";
    assert_eq!(text_to_bytes(newer), text_to_bytes(known));
}

#[test]
fn dumps_are_told_from_the_texts_of_other_frameworks() {
    for text in [
        "graph {\n  name: \"g\"\n  op {",
        "name: \"m\" version: 1 graph {",
        "# by hand\ngraph: < op <",
        "ir_version: 6\nproducer_name: \"GE\"\ngraph {\n  node {",
        "\u{feff}graph {",
        // Fields in another order, lists, extensions, separators.
        "attr { key: 'a' value < list { i: [-1, 0x2] f: [.5, -inf] } > }; version: 3, graph {",
        "graph : [ # first\n { input: ['a' \"b\", 'c'] attr [{ key: 'op' }, < >] op: [",
        "opset_import { version: 11 } [a.b/c]: 7 ir_version: 6 graph { doc_string: '' value_info { } node <",
        "version: [1] graph {",
    ] {
        assert!(is_dump(text.as_bytes()), "{text}");
    }
    for text in [
        "",
        "graph",
        "graph: 1",
        "node { name: 'x' op: 'Relu' }",
        "name: 'n' layer { type: 'ReLU' }",
        "input: 'x' input_dim: 1",
        "{\"graph\": {",
        "graph_def { node {",
        "[{\"op\": \"Add\"}]",
        "graph: [1]",
        "layer { name: 'graph' } graph: 'x' ",
    ] {
        assert!(!is_dump(text.as_bytes()), "{text}");
    }
}

#[test]
fn the_form_is_told_by_the_operators_wherever_they_stand() {
    for (text, expected) in [
        ("graph { name: 'g', node <", Form::View),
        ("graph < input: ['a', 'b']; op {", Form::Model),
        ("graph { attr [{ key: 'node' value: { i: 1 } }] op {", Form::Model),
        ("graph: [{ doc_string: 'op {'; value_info { name: 'x' } node: [{", Form::View),
        ("ir_version: 6 graph { name: 'g'", Form::View),
        ("version: 6 graph { name: 'g' }", Form::Model),
    ] {
        assert_eq!(form(text.as_bytes()), Some(expected), "{text}");
    }
}

#[test]
fn a_dump_is_read_whatever_its_suffix_and_the_framework_may_be_told() {
    let dir = tempfile::tempdir().unwrap();
    let text = print(&model(&network()), &Style::default());
    for name in ["ge_proto_00000_Conv2D.txt", "g.pbtxt", "g.prototxt", "g.onnx", "g"] {
        let path = dir.path().join(name);
        std::fs::write(&path, &text).unwrap();
        for framework in [None, Some(Framework::Air)] {
            let graph = load_file(&path, framework, &ModelOptions::default()).unwrap();
            assert_eq!(graph.len(), 3, "{name}");
        }
    }
    let read = |framework| load_memory(text.as_bytes(), "g", framework, &ModelOptions::default());
    assert_eq!((read(None).unwrap().len(), read(Some(Framework::Air)).unwrap().len()), (3, 3));
    let path = dir.path().join("half.txt");
    std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    let error = load_file(&path, None, &ModelOptions::default()).unwrap_err().to_string();
    assert!(error.contains("half.txt") && error.contains("line"), "{error}");
    std::fs::write(&path, "grap {\n").unwrap();
    let error = load_file(&path, Some(Framework::Air), &ModelOptions::default()).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("grap"), "{error}");
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn damaged_text_is_an_error_or_a_message(at in any::<prop::sample::Index>(), byte: u8, cut in any::<prop::sample::Index>()) {
        let mut text = print(&model(&network()), &Style::default()).into_bytes();
        let (at, cut) = (at.index(text.len()), cut.index(text.len()));
        text[at] = byte;
        let _ = load_memory(&text, "dump", Some(Framework::Air), &ModelOptions::default());
        text.truncate(cut);
        let _ = load_memory(&text, "dump", None, &ModelOptions::default());
    }
}

#[test]
fn zero_bytes_stay_in_texts_and_are_no_layout() {
    let read = |text: &str| load_memory(text.as_bytes(), "dump", Some(Framework::Air), &ModelOptions::default());
    let op = |name: &str, layout: &str| {
        format!(
            "graph {{ op {{ name: \"{name}\" type: \"Data\" attr {{ key: \"k\\000\" value {{ s: \"v\\000w\" }} }} \
             output_desc {{ dtype: DT_FLOAT shape {{ dim: 2 }} layout: \"{layout}\" }} }} }}"
        )
    };
    let graph = read(&op("a\\000b", "ND")).unwrap();
    let node = graph.node(graph.find("a\0b").expect("the name is whole"));
    assert_eq!(node.attrs.str("k\0"), Some("v\0w"));
    for layout in ["ND\\000", "\\000", "N D", "NCHW\\n"] {
        let error = read(&op("a", layout)).unwrap_err().to_string();
        assert!(error.contains("`a`") && error.contains("no name of a format"), "{error}");
    }
    assert!(read(&op("a", "FRACTAL_OF_TOMORROW:4")).is_ok());
}
