//! Files, frameworks and the binding of inputs.

use super::onnx::tests::{Dim, Model, node};
use super::{Framework, InputOptions, bind_inputs, load_file, load_memory};
use crate::graph::{DataType, Graph, Node, Shape, TensorDesc};
use crate::status::{Error, Status};
use std::path::Path;

/// Two inputs that share a symbol.
fn pair(first: &[Dim], second: &[Dim]) -> Vec<u8> {
    let model = Model::new(17).input("a", first).input("b", second);
    model.node(&node("Relu", &["a"], &["y"], &[])).output("y").bytes().to_vec()
}

fn shared() -> Vec<u8> {
    pair(&["batch".into(), 4.into()], &["batch".into(), "length".into()])
}

fn given(shapes: &[(&str, &[i64])], batch: Option<i64>) -> InputOptions {
    InputOptions { shapes: shapes.iter().map(|(n, d)| ((*n).to_owned(), d.to_vec())).collect(), batch }
}

fn load(bytes: &[u8], options: &InputOptions) -> Result<Graph, Error> {
    load_memory(bytes, "test", None, options)
}

fn shapes(graph: &Graph) -> Vec<String> {
    graph.inputs().map(|(_, n)| n.outputs[0].shape.to_string()).collect()
}

#[test]
fn a_symbol_bound_in_one_input_is_bound_in_all() {
    let graph = load(&shared(), &given(&[("a", &[8, 4])], None)).unwrap();
    assert_eq!(shapes(&graph), ["[8,4]", "[8,?]"]);
    let graph = load(&shared(), &given(&[("b", &[-1, 7])], None)).unwrap();
    assert_eq!(shapes(&graph), ["[?,4]", "[?,7]"]);
}

#[test]
fn the_batch_binds_open_first_dimensions_only() {
    let graph = load(&shared(), &given(&[], Some(16))).unwrap();
    assert_eq!(shapes(&graph), ["[16,4]", "[16,?]"]);
    let graph = load(&pair(&["n".into()], &[3.into()]), &given(&[], Some(16))).unwrap();
    assert_eq!(shapes(&graph), ["[16]", "[3]"]);
    let error = load(&pair(&[2.into()], &[3.into()]), &given(&[], Some(16))).unwrap_err();
    assert_eq!(error.status(), Status::InvalidOptionAttr);
    assert!(error.to_string().contains("dynamic_batch_size"), "{error}");
}

#[test]
fn a_bound_symbol_counts_for_what_the_file_says_of_unmapped_operators() {
    use super::onnx::tests::{FLOAT, encode, value_info};
    let mut model = Model::new(17)
        .input("a", &["batch".into(), "length".into()])
        .node(&node("Custom", &["a"], &["p", "q"], &[]))
        .node(&node("Relu", &["q"], &["y"], &[]))
        .output("y");
    model.graph.value_info.push(encode(&value_info("p", FLOAT, &[7.into(), "batch".into()])));
    model.graph.value_info.push(encode(&value_info("q", FLOAT, &["batch".into(), "length".into(), "other".into()])));
    let graph = load(&model.bytes(), &given(&[("a", &[3, 5])], None)).unwrap();
    let (_, custom) = graph.iter().find(|(_, n)| !n.mapped).unwrap();
    let shapes: Vec<_> = custom.outputs.iter().map(|o| o.shape.to_string()).collect();
    assert_eq!(shapes, ["[7,3]", "[3,5,?]"]);
    assert_eq!(graph.desc(graph.outputs()[0]).shape.to_string(), "[3,5,?]");
}

#[test]
fn options_that_contradict_the_model_are_named() {
    for (options, parts) in [
        (given(&[("c", &[1, 4])], None), ["`c`", "`a`, `b`"]),
        (given(&[("a", &[8])], None), ["`a`", "[8]"]),
        (given(&[("a", &[8, 5])], None), ["`a`, dimension 1", "4"]),
        (given(&[("a", &[0, 4])], None), ["`a`, dimension 0", "0"]),
        (given(&[("a", &[-2, 4])], None), ["`a`, dimension 0", "-2"]),
        (given(&[("a", &[1 << 31, 4])], None), ["`a`, dimension 0", "2147483648"]),
        (given(&[("a", &[8, 4]), ("b", &[9, 1])], None), ["`batch`", "9"]),
        (given(&[("a", &[8, 4]), ("a", &[8, 4])], None), ["`a`", "twice"]),
        (given(&[("b", &[(1 << 31) - 1, (1 << 31) - 1])], None), ["`b`", "too large"]),
        (given(&[], Some(0)), ["batch", "0"]),
        (given(&[], Some(-1)), ["batch", "-1"]),
    ] {
        let error = load(&shared(), &options).unwrap_err();
        assert_eq!(error.status(), Status::InvalidOptionAttr, "{error}");
        let message = error.to_string();
        assert!(parts.iter().all(|p| message.contains(p)), "{parts:?}: {message}");
    }
}

#[test]
fn a_given_shape_may_repeat_what_the_model_fixes() {
    let graph = load(&shared(), &given(&[("a", &[8, -1])], None)).unwrap();
    assert_eq!(shapes(&graph), ["[8,4]", "[8,?]"]);
}

#[test]
fn inputs_of_a_graph_built_by_hand_are_bound_alike() {
    let mut graph = Graph::new("built");
    let port = graph.add_input("x", TensorDesc::new(DataType::Float16, Shape::unknown_rank())).unwrap();
    graph.add(Node::new("r", "Relu").with_inputs([port])).unwrap();
    bind_inputs(&mut graph, &given(&[("x", &[2, 3])], None)).unwrap();
    assert_eq!(shapes(&graph), ["[2,3]"]);
    bind_inputs(&mut graph, &InputOptions::default()).unwrap();
    graph.node_mut(port.node).outputs[0].shape = Shape::new([2, 0]);
    let error = bind_inputs(&mut graph, &InputOptions::default()).unwrap_err();
    assert_eq!(error.status(), Status::InvalidGraph);
    assert!(error.to_string().contains("input `x`"), "{error}");
}

#[test]
fn a_refused_binding_leaves_the_graph_as_it_was() {
    let mut graph = load(&shared(), &InputOptions::default()).unwrap();
    bind_inputs(&mut graph, &given(&[("a", &[8, 4]), ("b", &[9, 1])], None)).unwrap_err();
    assert_eq!(shapes(&graph), ["[?,4]", "[?,?]"]);
}

fn file_error(path: &Path) -> String {
    let error = load_file(path, None, &InputOptions::default()).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains(path.to_str().unwrap()), "{message}");
    message
}

#[test]
fn files_that_cannot_be_read_are_named_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    assert!(file_error(&dir.path().join("no.onnx")).contains("No such file"));
    assert!(file_error(dir.path()).contains("directory"));
    let empty = dir.path().join("empty.onnx");
    std::fs::write(&empty, []).unwrap();
    assert!(file_error(&empty).contains("empty"));
    let huge = dir.path().join("huge.onnx");
    std::fs::File::create(&huge).unwrap().set_len(3 << 30).unwrap();
    assert!(file_error(&huge).contains("2 GiB"));
    assert!(file_error(Path::new("/dev/null")).contains("regular"));
    let unknown = dir.path().join("model.bin");
    std::fs::write(&unknown, "hello").unwrap();
    assert!(file_error(&unknown).contains("framework"));
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("closed.onnx");
    std::fs::write(&path, shared()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser reads everything; then there is no error to see.
    if std::fs::File::open(&path).is_err() {
        assert!(file_error(&path).contains("ermission"));
    }
}

#[test]
fn the_suffix_or_else_the_content_tells_the_framework() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    for name in ["model.onnx", "model.ONNX", "model.pb", "model", "model.bin"] {
        load_file(&write(name, &shared()), None, &InputOptions::default()).unwrap();
    }
    let error = load_file(&write("frozen.pb", b"\x0a\x03abc"), None, &InputOptions::default()).unwrap_err();
    assert!(error.to_string().contains("frozen GraphDef"), "{error}");
    for name in ["deploy.prototxt", "net.caffemodel"] {
        let error = load_file(&write(name, b"\x0a\x03\xffbc"), None, &InputOptions::default()).unwrap_err();
        assert!(error.to_string().contains("give the .prototxt"), "{error}");
    }
    let net = "input: 'x' input_dim: [1, 2, 3, 4] layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'y' }";
    let graph = load_file(&write("net.prototxt", net.as_bytes()), None, &InputOptions::default()).unwrap();
    assert_eq!((graph.name.as_str(), shapes(&graph)), ("net", vec!["[1,2,3,4]".to_owned()]));
    let error = load_file(&write("net.om", b"IMOD...."), None, &InputOptions::default()).unwrap_err();
    assert!(error.to_string().contains("om file `net`"), "{error}");
    let graph = load_file(&write("again.onnx", &shared()), None, &InputOptions::default()).unwrap();
    // CANN's adapters give their dumps any name.
    for (name, saved) in
        [("net.air", "net.air"), ("dump_0_Relu.bin", "net.air"), ("dumped", "net.air"), ("x", "net.om")]
    {
        let saved = dir.path().join(saved);
        super::save_file(&graph, &saved).unwrap();
        let copy = dir.path().join(name);
        if copy != saved {
            std::fs::copy(&saved, &copy).unwrap();
        }
        let read = load_file(&copy, None, &InputOptions::default()).unwrap();
        assert_eq!((read.len(), shapes(&read)), (graph.len(), shapes(&graph)), "{name}");
    }
    let forced = load_file(&write("model.txt", &shared()), Some(Framework::Onnx), &InputOptions::default()).unwrap();
    assert_eq!(forced.name, "model");
}

#[test]
fn values_of_small_constants_are_read_from_beside_the_model() {
    use super::onnx::tests::weight;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("model.onnx");
    let mut tensor = weight("shape", &[2]);
    tensor.data_type = super::onnx::tests::INT64;
    tensor.external_data = super::onnx::tests::location("weights.bin");
    let model = Model::new(17)
        .input("x", &[2.into(), 6.into()])
        .initializer(&tensor)
        .node(&node("Reshape", &["x", "shape"], &["y"], &[]))
        .output("y");
    std::fs::write(&path, model.bytes()).unwrap();
    let value = |graph: &Graph| graph.node(graph.find("shape").unwrap()).value.clone().unwrap();
    let graph = load_file(&path, None, &InputOptions::default()).unwrap();
    assert_eq!(value(&graph).ints(), None, "no file, no value, no error");
    std::fs::write(dir.path().join("weights.bin"), [3i64, 4].map(i64::to_le_bytes).concat()).unwrap();
    let graph = load_file(&path, None, &InputOptions::default()).unwrap();
    assert_eq!(value(&graph).ints(), Some(&[3, 4][..]));
}

#[test]
fn an_error_in_a_file_names_the_file_and_the_node() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("net.onnx");
    let model = Model::new(17).node(&node("Relu", &["gone"], &["y"], &[])).output("y");
    std::fs::write(&path, model.bytes()).unwrap();
    let message = load_file(&path, None, &InputOptions::default()).unwrap_err().to_string();
    assert!(message.contains(path.to_str().unwrap()) && message.contains("Relu"), "{message}");
}

#[test]
fn a_graph_is_written_under_names_that_tell_the_form() {
    let dir = tempfile::tempdir().unwrap();
    let graph = load(&shared(), &InputOptions::default()).unwrap();
    for name in ["net", "net.onnx", "net.air.txt"] {
        let path = dir.path().join(name);
        let message = super::save_file(&graph, &path).unwrap_err().to_string();
        assert!(message.contains(name) && message.contains(".air"), "{message}");
        assert!(!path.exists());
    }
    super::save_file(&graph, &dir.path().join("net.AIR")).unwrap();
}

#[test]
fn models_of_a_directory_are_told_by_suffix_or_content() {
    let dir = tempfile::tempdir().unwrap();
    let graph = load(&shared(), &InputOptions::default()).unwrap();
    super::save_file(&graph, &dir.path().join("net.air")).unwrap();
    super::save_file(&graph, &dir.path().join("net.om")).unwrap();
    std::fs::copy(dir.path().join("net.air"), dir.path().join("op_graph_0")).unwrap();
    for (name, content) in
        [("a.onnx", ""), ("w.caffemodel", ""), ("notes.txt", "notes"), ("result.json", "[{\"basic\": {}}]")]
    {
        std::fs::write(dir.path().join(name), content).unwrap();
    }
    let is_model = |name: &str| super::is_model_file(&dir.path().join(name));
    for name in ["net.air", "op_graph_0", "a.onnx"] {
        assert!(is_model(name), "{name}");
    }
    for name in ["net.om", "w.caffemodel", "notes.txt", "result.json", "gone"] {
        assert!(!is_model(name), "{name}");
    }
}
