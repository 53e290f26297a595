//! Files, frameworks and the binding of inputs.

mod control;
mod restated;
mod unknown;

use super::onnx::tests::{Dim, Model, node};
use super::{Framework, Gear, ModelOptions, OutNode, bind_inputs, load_file, load_memory};
use crate::graph::{Attr, DataType, Graph, Node, Shape, TensorDesc};
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

fn given(shapes: &[(&str, &[i64])], batch: Option<i64>) -> ModelOptions {
    let shapes = shapes.iter().map(|(n, d)| ((*n).to_owned(), d.to_vec())).collect();
    ModelOptions { shapes, gear: batch.map(Gear::Batch), ..ModelOptions::default() }
}

fn load(bytes: &[u8], options: &ModelOptions) -> Result<Graph, Error> {
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

fn with_gear(shapes: &[(&str, &[i64])], gear: Gear) -> ModelOptions {
    ModelOptions { gear: Some(gear), ..given(shapes, None) }
}

#[test]
fn a_gear_gives_all_open_dimensions_their_values_in_the_order_of_the_shapes() {
    let two = pair(&["n".into(), 4.into()], &["m".into(), "length".into()]);
    let graph = load(&two, &with_gear(&[], Gear::Dims(vec![2, 3, 5]))).unwrap();
    assert_eq!(shapes(&graph), ["[2,4]", "[3,5]"]);
    let order: &[(&str, &[i64])] = &[("b", &[-1, -1]), ("a", &[-1, 4])];
    assert_eq!(shapes(&load(&two, &with_gear(order, Gear::Dims(vec![2, 3, 5]))).unwrap()), ["[5,4]", "[2,3]"]);
    let fixed: &[(&str, &[i64])] = &[("b", &[7, -1])];
    assert_eq!(shapes(&load(&two, &with_gear(fixed, Gear::Dims(vec![2, 3]))).unwrap()), ["[3,4]", "[7,2]"]);
    // CANN knows no symbols: a dimension that shares one is counted, and must agree.
    assert_eq!(shapes(&load(&shared(), &with_gear(&[], Gear::Dims(vec![2, 2, 5]))).unwrap()), ["[2,4]", "[2,5]"]);
    for (values, part) in
        [(vec![2, 3, 5], "`batch` would be"), (vec![2, 5], "2 values for 3"), (vec![2, 0, 5], "0 is not a size")]
    {
        let error = load(&shared(), &with_gear(&[], Gear::Dims(values))).unwrap_err();
        assert_eq!(error.status(), Status::InvalidOptionAttr);
        assert!(error.to_string().contains("dynamic_dims") && error.to_string().contains(part), "{error}");
    }
}

#[test]
fn many_inputs_take_the_shapes_and_gears_that_are_theirs() {
    let names: Vec<_> = (0..300).map(|index| format!("x{index}")).collect();
    let model = names.iter().fold(Model::new(17), |model, name| model.input(name, &["n".into(), 4.into()]));
    let bytes = model.node(&node("Relu", &["x0"], &["y"], &[])).output("y").bytes().to_vec();
    let dims: Vec<[i64; 2]> = (0..300).map(|index| [-1, 4 + index]).collect();
    let given: Vec<_> = names.iter().zip(&dims).map(|(name, dims)| (name.as_str(), &dims[..])).rev().collect();
    let found = shapes(&load(&bytes, &with_gear(&given, Gear::Batch(3))).unwrap());
    let expected: Vec<_> = dims.iter().map(|[_, columns]| format!("[3,{columns}]")).collect();
    assert_eq!(found, expected);
    let twice = [given.as_slice(), &given[7..8]].concat();
    let message = load(&bytes, &with_gear(&twice, Gear::Batch(3))).unwrap_err().to_string();
    assert!(message.contains("`x292` is given twice"), "{message}");
}

#[test]
fn a_batch_that_contradicts_the_symbol_of_an_input_is_named_with_it() {
    let two = pair(&["n".into(), 4.into()], &["n".into(), 4.into()]);
    let shape: &[(&str, &[i64])] = &[("a", &[-1, 4]), ("b", &[8, 4])];
    let message = load(&two, &with_gear(shape, Gear::Batch(4))).unwrap_err().to_string();
    assert!(message.contains("`a`, dimension 0 cannot be 4: `n` is 8 by input `b`"), "{message}");
    assert_eq!(shapes(&load(&two, &with_gear(shape, Gear::Batch(8))).unwrap()), ["[8,4]", "[8,4]"]);
}

#[test]
fn a_gear_gives_images_their_height_and_width_in_either_layout() {
    let image = |dims: &[Dim]| {
        let model = Model::new(17).input("a", dims).node(&node("Relu", &["a"], &["y"], &[])).output("y");
        model.bytes().to_vec()
    };
    let first = image(&[1.into(), 3.into(), "h".into(), "w".into()]);
    let size = || Gear::Image([24, 32]);
    assert_eq!(shapes(&load(&first, &with_gear(&[], size())).unwrap()), ["[1,3,24,32]"]);
    let last = image(&[1.into(), "h".into(), "w".into(), 3.into()]);
    assert_eq!(shapes(&load(&last, &with_gear(&[], size())).unwrap()), ["[1,24,32,3]"]);
    let batched = image(&["n".into(), 3.into(), "h".into(), "w".into()]);
    let message = load(&batched, &with_gear(&[], size())).unwrap_err().to_string();
    assert!(message.contains("`a`") && message.contains("0, 2, 3") && message.contains("input_shape"), "{message}");
    let shape: &[(&str, &[i64])] = &[("a", &[8, 3, -1, -1])];
    assert_eq!(shapes(&load(&batched, &with_gear(shape, size())).unwrap()), ["[8,3,24,32]"]);
    let nhwc = ModelOptions { format: Some(crate::graph::Format::Nhwc), ..with_gear(&[], size()) };
    assert!(load(&first, &nhwc).unwrap_err().to_string().contains("2, 3"));
    let none = load(&image(&[1.into(), 3.into(), 8.into(), 8.into()]), &with_gear(&[], size())).unwrap_err();
    assert!(none.to_string().contains("dynamic_image_size"), "{none}");
    assert!(load(&image(&["h".into(), "w".into()]), &with_gear(&[], size())).is_err(), "not an image");
}

#[test]
fn a_gear_that_was_bound_at_loading_may_be_given_again_and_no_other() {
    let two = pair(&["n".into(), 4.into()], &["m".into(), "length".into()]);
    for (gear, other) in [(Gear::Batch(6), Gear::Batch(7)), (Gear::Dims(vec![6, 7, 8]), Gear::Dims(vec![6, 7, 9]))] {
        let mut graph = load(&two, &with_gear(&[], gear.clone())).unwrap();
        let before = shapes(&graph);
        bind_inputs(&mut graph, &with_gear(&[], gear)).unwrap();
        assert_eq!(shapes(&graph), before);
        bind_inputs(&mut graph, &with_gear(&[], other)).unwrap_err();
        assert_eq!(shapes(&graph), before);
    }
    // Of a format that has no symbols too.
    let net = "input: 'x' input_dim: [-1, 2, 3, 4] layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'y' }";
    let options = with_gear(&[], Gear::Batch(5));
    let mut graph = load_memory(net.as_bytes(), "net", Some(Framework::Caffe), &options).unwrap();
    bind_inputs(&mut graph, &options).unwrap();
    assert_eq!(shapes(&graph), ["[5,2,3,4]"]);
}

fn out(name: &str, output: u32) -> OutNode {
    OutNode { name: name.to_owned(), output: Some(output) }
}

#[test]
fn a_network_is_cut_at_the_outputs_asked_for_and_what_they_do_not_need_goes() {
    let model = || {
        Model::new(17)
            .input("a", &[2.into(), 6.into()])
            .input("b", &["open".into(), 6.into()])
            .node(&node("Relu", &["a"], &["p"], &[]).named("first"))
            .node(&node("Split", &["p"], &["u", "v"], &[]).named("parts"))
            .node(&node("Sigmoid", &["b"], &["q"], &[]).named("other"))
            .node(&node("Add", &["v", "q"], &["y"], &[]).named("last"))
            .output("y")
            .bytes()
            .to_vec()
    };
    let cut_at = |out_nodes: Vec<OutNode>| load(&model(), &ModelOptions { out_nodes, ..ModelOptions::default() });
    let graph = cut_at(vec![out("parts", 1), out("first", 0)]).unwrap();
    let names: Vec<_> = graph.outputs().iter().map(|&port| graph.tensor_name(port)).collect();
    assert_eq!(names, ["parts:1", "first"]);
    assert_eq!((graph.find("last"), graph.find("other"), graph.find("b")), (None, None, None));
    crate::graph::infer::require_static(&graph).unwrap();
    graph.validate().unwrap();
    for (out_nodes, parts) in [
        (vec![out("fist", 0)], ["`fist`", "`first`"]),
        (vec![out("first", 1)], ["`first`", "none of index 1"]),
        (vec![out("first", 0), out("first", 0)], ["`first:0`", "twice"]),
    ] {
        let error = cut_at(out_nodes).unwrap_err();
        assert_eq!(error.status(), Status::InvalidOptionAttr);
        assert!(parts.iter().all(|part| error.to_string().contains(part)), "{parts:?}: {error}");
    }
}

#[test]
fn an_output_may_be_asked_for_by_the_name_of_its_tensor_where_that_is_one() {
    let bare = |name: &str| OutNode { name: name.to_owned(), output: None };
    let outputs = |bytes: &[u8], out_nodes: Vec<OutNode>| {
        let mut graph = load(bytes, &ModelOptions { out_nodes: out_nodes.clone(), ..ModelOptions::default() })?;
        // As a tuning does with a graph that was cut when it was loaded.
        super::cut(&mut graph, &out_nodes)?;
        Ok::<_, Error>(graph.outputs().iter().map(|&port| graph.tensor_name(port)).collect::<Vec<_>>())
    };
    let onnx = Model::new(17)
        .input("a", &[2.into(), 6.into()])
        .node(&node("Relu", &["a"], &["p"], &[]).named("first"))
        .node(&node("Split", &["p"], &["u:0", "v"], &[]).named("parts"))
        .node(&node("Add", &["v", "u:0"], &["y"], &[]).named("v"))
        .output("y")
        .bytes();
    assert_eq!(
        outputs(&onnx, vec![out("u", 0), bare("p"), bare("first:x")]).unwrap_err().status(),
        Status::InvalidOptionAttr
    );
    assert_eq!(outputs(&onnx, vec![out("u", 0), bare("p")]).unwrap(), ["parts:0", "first"]);
    assert_eq!(outputs(&onnx, vec![bare("y")]).unwrap(), ["v"]);
    for (asked, parts) in
        [("v", ["`v:0`", "`parts:1`"]), ("parts", ["2 outputs", "`parts:0`"]), ("z", ["`z`", "tensor"])]
    {
        let message = outputs(&onnx, vec![bare(asked)]).unwrap_err().to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{parts:?}: {message}");
    }
    let caffe = "input: 'x' input_dim: [1, 2, 3, 4] layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'y' }
        layer { name: 's' type: 'Sigmoid' bottom: 'y' top: 'y' } layer { name: 't' type: 'TanH' bottom: 'y' top: 'z' }";
    assert_eq!(outputs(caffe.as_bytes(), vec![bare("y")]).unwrap(), ["s"], "what was written last");
}

#[test]
fn cutting_before_a_layer_whose_shape_nothing_tells_makes_the_rest_static() {
    let net = "input: 'x' input_dim: [1, 2, 3, 4] layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'y' }
        layer { name: 'odd' type: 'Odd' bottom: 'y' top: 'z' } layer { name: 's' type: 'Sigmoid' bottom: 'z' top: 's' }";
    let read = |out_nodes| {
        let options = ModelOptions { out_nodes, ..ModelOptions::default() };
        let graph = load_memory(net.as_bytes(), "net", Some(Framework::Caffe), &options).unwrap();
        crate::graph::infer::require_static(&graph)
    };
    let message = read(vec![]).unwrap_err().to_string();
    assert!(["`odd`", "`Odd`", "out_nodes"].iter().all(|part| message.contains(part)), "{message}");
    read(vec![out("r", 0)]).unwrap();
}

#[test]
fn nobody_waits_for_what_was_cut_off() {
    let mut graph = load(&shared(), &ModelOptions::default()).unwrap();
    let relu = graph.iter().find(|(_, n)| n.op_type == "Relu").map(|(_, n)| n.name.clone()).unwrap();
    let id = graph.find(&relu).unwrap();
    let names = Attr::Strs(vec!["b".into(), "a".into()]);
    graph.node_mut(id).attrs.set(super::air::CONTROL_INPUTS, names);
    super::cut(&mut graph, &[out(&relu, 0)]).unwrap();
    let id = graph.find(&relu).unwrap();
    assert_eq!(graph.node(id).attrs.get(super::air::CONTROL_INPUTS), Some(&Attr::Strs(vec!["a".into()])));
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
    let graph = load(&shared(), &given(&[("a", &[8, 4])], None)).unwrap();
    assert_eq!(shapes(&graph), ["[8,4]", "[8,?]"]);
}

#[test]
fn inputs_of_a_graph_built_by_hand_are_bound_alike() {
    let mut graph = Graph::new("built");
    let port = graph.add_input("x", TensorDesc::new(DataType::Float16, Shape::unknown_rank())).unwrap();
    graph.add(Node::new("r", "Relu").with_inputs([port])).unwrap();
    bind_inputs(&mut graph, &given(&[("x", &[2, 3])], None)).unwrap();
    assert_eq!(shapes(&graph), ["[2,3]"]);
    bind_inputs(&mut graph, &ModelOptions::default()).unwrap();
    graph.node_mut(port.node).outputs[0].shape = Shape::new([2, 0]);
    let error = bind_inputs(&mut graph, &ModelOptions::default()).unwrap_err();
    assert_eq!(error.status(), Status::InvalidGraph);
    assert!(error.to_string().contains("input `x`"), "{error}");
}

#[test]
fn a_refused_binding_leaves_the_graph_as_it_was() {
    let mut graph = load(&shared(), &ModelOptions::default()).unwrap();
    bind_inputs(&mut graph, &given(&[("a", &[8, 4]), ("b", &[9, 1])], None)).unwrap_err();
    assert_eq!(shapes(&graph), ["[?,4]", "[?,?]"]);
}

fn file_error(path: &Path) -> String {
    let error = load_file(path, None, &ModelOptions::default()).unwrap_err();
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
        load_file(&write(name, &shared()), None, &ModelOptions::default()).unwrap();
    }
    let error = load_file(&write("frozen.pb", b"\x0a\x03abc"), None, &ModelOptions::default()).unwrap_err();
    assert!(error.to_string().contains("frozen GraphDef"), "{error}");
    for name in ["deploy.prototxt", "net.caffemodel"] {
        let error = load_file(&write(name, b"\x0a\x03\xffbc"), None, &ModelOptions::default()).unwrap_err();
        assert!(error.to_string().contains("give the .prototxt"), "{error}");
    }
    let net = "input: 'x' input_dim: [1, 2, 3, 4] layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'y' }";
    let graph = load_file(&write("net.prototxt", net.as_bytes()), None, &ModelOptions::default()).unwrap();
    assert_eq!((graph.name.as_str(), shapes(&graph)), ("net", vec!["[1,2,3,4]".to_owned()]));
    let error = load_file(&write("net.om", b"IMOD...."), None, &ModelOptions::default()).unwrap_err();
    assert!(error.to_string().contains("om file `net`"), "{error}");
    let graph = load_file(&write("again.onnx", &shared()), None, &ModelOptions::default()).unwrap();
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
        let read = load_file(&copy, None, &ModelOptions::default()).unwrap();
        assert_eq!((read.len(), shapes(&read)), (graph.len(), shapes(&graph)), "{name}");
    }
    let forced = load_file(&write("model.txt", &shared()), Some(Framework::Onnx), &ModelOptions::default()).unwrap();
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
    let graph = load_file(&path, None, &ModelOptions::default()).unwrap();
    assert_eq!(value(&graph).ints(), None, "no file, no value, no error");
    std::fs::write(dir.path().join("weights.bin"), [3i64, 4].map(i64::to_le_bytes).concat()).unwrap();
    let graph = load_file(&path, None, &ModelOptions::default()).unwrap();
    assert_eq!(value(&graph).ints(), Some(&[3, 4][..]));
}

#[test]
fn an_error_in_a_file_names_the_file_and_the_node() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("net.onnx");
    let model = Model::new(17).node(&node("Relu", &["gone"], &["y"], &[])).output("y");
    std::fs::write(&path, model.bytes()).unwrap();
    let message = load_file(&path, None, &ModelOptions::default()).unwrap_err().to_string();
    assert!(message.contains(path.to_str().unwrap()) && message.contains("Relu"), "{message}");
}

#[test]
fn a_graph_is_written_under_names_that_tell_the_form() {
    let dir = tempfile::tempdir().unwrap();
    let graph = load(&shared(), &ModelOptions::default()).unwrap();
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
    let graph = load(&shared(), &ModelOptions::default()).unwrap();
    super::save_file(&graph, &dir.path().join("net.air")).unwrap();
    super::save_file(&graph, &dir.path().join("net.om")).unwrap();
    std::fs::copy(dir.path().join("net.air"), dir.path().join("op_graph_0")).unwrap();
    let net = "name: 'n' layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'y' }";
    let text_graph = "node { name: 'x' op: 'Placeholder' }";
    for (name, content) in [
        ("a.onnx", ""),
        ("w.caffemodel", ""),
        ("notes.txt", "notes"),
        ("result.json", "[{\"basic\": {}}]"),
        ("settings.txt", "name: 'n' solver { type: 'SGD' }"),
        ("deploy.txt", net),
        ("graph", text_graph),
    ] {
        std::fs::write(dir.path().join(name), content).unwrap();
    }
    let is_model = |name: &str| super::is_model_file(&dir.path().join(name));
    // A binary GraphDef: one node with name and operator type.
    std::fs::write(dir.path().join("frozen"), b"\x0a\x0e\x0a\x01x\x12\x09Placehold").unwrap();
    for name in ["net.air", "op_graph_0", "a.onnx", "deploy.txt", "graph", "frozen"] {
        assert!(is_model(name), "{name}");
    }
    for name in ["net.om", "w.caffemodel", "notes.txt", "result.json", "settings.txt", "gone"] {
        assert!(!is_model(name), "{name}");
    }
}

#[test]
fn a_convolution_without_strides_is_told_what_is_taken() {
    use crate::graph::{Attr, DataType, Node, Shape, TensorDesc};
    let graph = |strides: Option<Vec<i64>>| {
        let mut graph = Graph::new("net");
        let half = |dims: &[i64]| TensorDesc::new(DataType::Float16, Shape::new(dims));
        let x = graph.add_input("x", half(&[1, 8, 4, 4])).unwrap();
        let w = graph.add_input("w", half(&[8, 8, 1, 1])).unwrap();
        let mut node = Node::new("conv", "Conv2D").with_inputs([x, w]);
        node.attrs.set("pads", Attr::Ints(vec![0; 4]));
        if let Some(strides) = strides {
            node.attrs.set("strides", Attr::Ints(strides));
        }
        graph.add(node).unwrap();
        graph
    };
    assert_eq!(super::assumed(&graph(Some(vec![1; 4]))), Vec::<String>::new());
    for lacking in [None, Some(Vec::new())] {
        let said = super::assumed(&graph(lacking));
        assert!(
            said.len() == 1 && said[0].contains("`strides`") && said[0].ends_with("1 is taken at conv"),
            "{said:?}"
        );
    }
}

#[test]
fn a_dump_for_people_is_named_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ge_readable_00000000_graph_0_PreRunBegin.txt");
    std::fs::write(&path, "graph(\"net\"):\n  %x : [#users=1] = Node[type=Data]\n").unwrap();
    let error = load_file(&path, None, &ModelOptions::default()).unwrap_err().to_string();
    assert!(error.contains("for people to read") && error.contains("ge_proto"), "{error}");
}

#[test]
fn bytes_that_are_no_model_say_so_in_words_whoever_reads_them() {
    let wide: Vec<u8> = "graph { op { name: 'a' } }".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases: [(&str, &[u8], &str); 9] = [
        ("empty", b"", "is empty"),
        ("white", b"  \n\t \r\n", "nothing but white space"),
        ("zeros", &[0; 4096], "nothing but zeros"),
        ("mark", b"\xef\xbb\xbf", "nothing but white space"),
        ("wide mark", b"\xff\xfe", "nothing but white space"),
        ("pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 1\n", "git lfs pull"),
        ("half", b"name: 'net\xe4\xb8", ""),
        ("part", b"\x0a\x7fab\x01", ""),
        ("wide", &wide, ""),
    ];
    let dir = tempfile::tempdir().unwrap();
    let frameworks = [None, Some("0"), Some("1"), Some("3"), Some("5")];
    for ((name, content, expected), number) in cases.iter().flat_map(|case| frameworks.map(|number| (case, number))) {
        let framework = number.map(|number| Framework::from_number(number).unwrap());
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        let by_file = load_file(&path, framework, &ModelOptions::default()).unwrap_err().to_string();
        let by_memory = load_memory(content, name, framework, &ModelOptions::default()).unwrap_err().to_string();
        for message in [by_file, by_memory] {
            assert!(message.contains(name) && message.contains(expected), "{name} {number:?}: {message}");
            let says_what_to_do =
                ["again", "is empty", "git lfs pull", "convert", "option framework", "give the .prototxt", "expected"];
            assert!(says_what_to_do.iter().any(|words| message.contains(words)), "{name} {number:?}: {message}");
            assert!(!message.contains("`: failed to decode"), "{name} {number:?}: {message}");
        }
    }
}
