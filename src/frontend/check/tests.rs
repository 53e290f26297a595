use super::{Judgement, Rule, judge, judge_file, without_weights};
use crate::frontend::{ModelOptions, air, load_file};
use crate::graph::{Attr, Constant, DataType, Format, Graph, Node, NodeId, Shape, TensorDesc, Weight};
use prost::bytes::Bytes;
use std::path::{Path, PathBuf};

fn desc(dims: &[i64]) -> TensorDesc {
    TensorDesc::new(DataType::Float, Shape::new(dims))
}

fn rules(judgement: &Judgement) -> Vec<Rule> {
    judgement.findings.iter().filter(|finding| finding.blocks).map(|finding| finding.rule).collect()
}

/// A graph of one operator that reads so many inputs of shape [2, 3].
fn single(op_type: &str, inputs: usize, change: impl FnOnce(&mut Node)) -> Graph {
    let mut graph = Graph::new("single");
    let ports: Vec<_> = (0..inputs).map(|i| graph.add_input(format!("in{i}"), desc(&[2, 3])).unwrap()).collect();
    let mut node = Node::new("node", op_type).with_inputs(ports);
    change(&mut node);
    graph.add(node).unwrap();
    graph
}

/// Every network that stands in the project.
fn bundled() -> Vec<PathBuf> {
    let folders = ["examples/models", "examples/training", "fuzz/seeds/load_memory"];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|suffix| suffix == "onnx" || suffix == "air"));
    files.extend(["fuzz/seeds/load_caffe/net.prototxt", "fuzz/seeds/load_tensorflow/conv.pb"].map(PathBuf::from));
    files.sort();
    files
}

/// Gives every constant without a value zeros for one, which take no memory.
fn fill(graph: &mut Graph) {
    for index in 0..graph.len() {
        let node = graph.node_mut(NodeId(index as u32));
        if super::is_without_value(node) {
            let bytes = node.outputs[0].bytes().unwrap();
            node.value = Some(Constant::Stored(Weight::Repeat { element: Bytes::from_static(&[0]), count: bytes }));
        }
    }
}

/// A graph as its file is judged.
fn judged_in_a_file(graph: &Graph) -> Judgement {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph.air");
    crate::frontend::save_file(graph, &path).unwrap();
    judge_file(&path, None).unwrap()
}

#[test]
fn every_bundled_network_is_written_as_ge_compiles_it() {
    let networks = bundled();
    assert!(networks.len() >= 7, "{networks:?}");
    for path in networks {
        let graph = load_file(&path, None, &ModelOptions::default()).unwrap();
        let missing = graph.iter().filter(|(_, node)| super::is_without_value(node)).count();
        let written = air::read(air::encode_model(&graph).unwrap().into(), "written").unwrap();
        let judged = judge(&written);
        let values = judged.findings.iter().filter(|finding| finding.rule == Rule::Value).count();
        assert_eq!(values, missing, "{}", path.display());
        assert_eq!(without_weights(&graph).is_some(), missing > 0, "{}", path.display());
        assert!(rules(&judged).iter().all(|rule| *rule == Rule::Value), "{}: {:?}", path.display(), judged.findings);
        if judged.nodes < 300 {
            let mut whole = graph.clone();
            fill(&mut whole);
            let judged = judged_in_a_file(&whole);
            assert!(judged.compiles(), "{}: {:?}", path.display(), judged.findings);
        }
    }
}

#[test]
fn each_rule_finds_what_breaks_it_and_says_what_to_do() {
    let found = |graph: &Graph| {
        let judged = judge(graph);
        assert!(!judged.compiles());
        let finding = judged.findings.into_iter().find(|finding| finding.blocks).unwrap();
        assert!(!finding.advice.is_empty());
        (finding.rule, finding.reason + "; " + &finding.advice)
    };
    let expect = |graph: Graph, rule: Rule, part: &str| {
        let (found, text) = found(&graph);
        assert!(found == rule && text.contains(part), "{found:?}: {text}");
    };
    expect(single("Cst", 1, |_| {}), Rule::Operator, "did you mean `Cast`?");
    expect(single("Relu", 1, |node| node.mapped = false), Rule::Operator, "another framework");
    let cast = |node: &mut Node| node.attrs.set("dst_type", Attr::Type(DataType::Float16));
    expect(single("Cast", 1, cast), Rule::Attribute, "set it as int: 1");
    expect(single("Cast", 1, |_| {}), Rule::Attribute, "no attribute `dst_type`");
    expect(single("Sub", 1, |_| {}), Rule::Input, "nothing at input 1 (`x2`)");
    expect(single("Relu", 2, |_| {}), Rule::Input, "has 2 inputs, where the interface has 1");
    expect(single("LayerNorm", 3, |_| {}), Rule::Output, "has 1 outputs, where the interface has 3");
    expect(single("If", 1, |_| {}), Rule::Graph, "then_branch, else_branch");
    let mut graph = single("Relu", 1, |_| {});
    graph.add_const("weight", desc(&[4]), Constant::Opaque).unwrap();
    expect(graph, Rule::Value, "without elements");
    let mut graph = single("Relu", 1, |_| {});
    let (a, b) = (graph.add_input("a", desc(&[2, 3])).unwrap(), graph.add_input("b", desc(&[4, 5])).unwrap());
    graph.add(Node::new("sum", "Sub").with_inputs([a, b])).unwrap();
    expect(graph, Rule::Shape, "`sum`");
}

#[test]
fn an_element_type_that_is_not_declared_is_a_remark() {
    let mut graph = Graph::new("typed");
    let x = graph.add_input("x", TensorDesc::new(DataType::String, Shape::new([2]))).unwrap();
    graph.add(Node::new("relu", "Relu").with_inputs([x]).with_outputs(vec![desc(&[2])])).unwrap();
    let judged = judge(&graph);
    assert!(judged.compiles());
    assert!(
        judged.findings.iter().any(|finding| finding.rule == Rule::Type && finding.reason.contains("string at input"))
    );
}

#[test]
fn weights_of_every_kind_come_out_of_the_file_as_they_went_in() {
    let dir = tempfile::tempdir().unwrap();
    let beside = dir.path().join("weights.bin");
    let numbers: Vec<u8> = (0..5000u32).flat_map(|i| (i as f32).to_le_bytes()).collect();
    std::fs::write(&beside, [&[9u8; 3][..], &numbers].concat()).unwrap();
    let weights = [
        Weight::Bytes(numbers.clone().into()),
        Weight::File { path: beside.into(), offset: 3, length: numbers.len() as u64 },
        Weight::Repeat { element: Bytes::copy_from_slice(&1f32.to_le_bytes()), count: 5000 },
    ];
    let mut graph = Graph::new("weights");
    for (index, weight) in weights.into_iter().enumerate() {
        graph.add_const(format!("w{index}"), desc(&[5000]), Constant::Stored(weight)).unwrap();
    }
    let path = dir.path().join("out.air");
    crate::frontend::save_file(&graph, &path).unwrap();
    let judged = judge_file(&path, None).unwrap();
    assert!(judged.compiles() && judged.nodes == 3, "{judged:?}");
    let file = std::fs::read(&path).unwrap();
    let times = |part: &[u8]| file.windows(part.len()).filter(|window| *window == part).count();
    assert_eq!((times(&numbers[..1000]), times(&1f32.to_le_bytes().repeat(5000))), (2, 1));
    assert_eq!(air::encode_model(&graph).unwrap(), file);
}

#[test]
fn a_model_that_is_not_ges_is_refused_and_a_damaged_one_judged() {
    let onnx = judge_file(Path::new("examples/models/resnet50.onnx"), None).unwrap_err().to_string();
    assert!(onnx.contains("ONNX") && onnx.contains(".air"), "{onnx}");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.air");
    let whole = std::fs::read("fuzz/seeds/load_air/ops.air").unwrap();
    std::fs::write(&path, &whole[..whole.len() - 7]).unwrap();
    assert_eq!(rules(&judge_file(&path, None).unwrap()), [Rule::Graph]);
}

/// A product as a text, each of whose lines may be left out or be another.
fn text(change: impl Fn(&str) -> String) -> Judgement {
    let tensor = |kind: &str, dims: [i64; 2]| {
        let [rows, columns] = dims;
        format!("{kind} {{ dtype: DT_FLOAT16 shape {{ dim: {rows} dim: {columns} }} layout: \"ND\" }}")
    };
    let data = |name: &str, index: usize, dims: [i64; 2]| {
        let (input, output) = (tensor("input_desc", dims), tensor("output_desc", dims));
        let index = format!("attr {{ key: \"index\" value {{ i: {index} }} }}");
        format!("op {{ name: \"{name}\" type: \"Data\" {index}\n{input}\n{output} }}")
    };
    let keys = "attr { key: \"_input_name_key\" value { list { s: \"x1\" s: \"x2\" } } }\n\
                attr { key: \"_input_name_value\" value { list { i: 0 i: 1 } } }";
    let product = [tensor("input_desc", [8, 64]), tensor("input_desc", [64, 32]), tensor("output_desc", [8, 32])];
    let product = format!(
        "op {{ name: \"mm\" type: \"MatMulV2\" input: \"a:0\" input: \"b:0\"\n{keys}\n{} }}",
        product.join("\n")
    );
    let whole = [
        "graph { name: \"g\"".to_owned(),
        data("a", 0, [8, 64]),
        data("b", 1, [64, 32]),
        product,
        "op { name: \"out\" type: \"NetOutput\" input: \"mm:0\" input_desc { } }".to_owned(),
        "}".to_owned(),
    ];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ge_proto_00000000_graph_0_PreRunBegin.txt");
    std::fs::write(&path, change(&whole.join("\n"))).unwrap();
    judge_file(&path, None).unwrap()
}

#[test]
fn inputs_that_a_file_does_not_describe_or_name_are_found() {
    let expect = |change: &dyn Fn(&str) -> String, node: &str, part: &str| {
        let judged = text(change);
        let found = judged.findings.iter().find(|finding| finding.blocks).unwrap_or_else(|| panic!("{part}"));
        assert!(found.node == node && found.rule == Rule::Input && found.reason.contains(part), "{found:?}");
    };
    assert!(text(str::to_owned).compiles(), "{:?}", text(str::to_owned));
    let cut = |text: &str, begin: &str| {
        let at = text.find(begin).unwrap();
        let end = at + text[at..].find('\n').unwrap();
        text[..at].to_owned() + &text[end..]
    };
    expect(&|text| cut(text, "input_desc"), "a", "does not describe its input `x`");
    expect(
        &|text| {
            cut(
                text,
                "input_desc { dtype: DT_FLOAT16 shape { dim: 64 dim: 32 } layout: \"ND\" }\noutput_desc { dtype: DT_FLOAT16 shape { dim: 8",
            )
        },
        "mm",
        "describes 1 of its 2 inputs",
    );
    expect(
        &|text| cut(&cut(text, "attr { key: \"_input_name_key"), "attr { key: \"_input_name_value"),
        "mm",
        "does not name its inputs",
    );
    expect(&|text| text.replace("s: \"x1\"", "s: \"left\""), "mm", "names an input `left`");
    assert!(
        text(|text| text
            .replace("s: \"x1\" s: \"x2\"", "s: \"x2\" s: \"x1\"")
            .replace("a:0", "c:0")
            .replace("b:0", "a:0")
            .replace("c:0", "b:0"))
        .findings
        .iter()
        .all(|finding| finding.rule != Rule::Input)
    );
}

#[test]
fn what_contradicts_itself_is_found() {
    let expect = |graph: &Graph, rule: Rule, part: &str| {
        let judged = judge(graph);
        let found = judged.findings.iter().find(|finding| finding.blocks).unwrap_or_else(|| panic!("{part}"));
        assert!(found.rule == rule && found.reason.contains(part), "{found:?}");
    };
    let axis = |node: &mut Node| node.attrs.set("axis", Attr::Ints(vec![0]));
    let graph = single("Unsqueeze", 1, axis);
    expect(&graph, Rule::Shape, "no axes");
    assert!(judge(&graph).findings.iter().any(|finding| finding.reason.contains("and no `axes`")));
    let joined = |n| {
        single("ConcatD", 2, |node| {
            node.attrs.set("concat_dim", Attr::Int(0));
            node.attrs.set("N", Attr::Int(n));
        })
    };
    expect(&joined(3), Rule::Attribute, "`N` 3, and joins 2 tensors");
    assert!(judge(&joined(2)).compiles());
    // A tuning says it, too.
    assert!(super::lacking(joined(3).node(NodeId(2))).iter().any(|lack| lack.contains("`N` 3, and joins 2")));
    assert!(super::lacking(joined(2).node(NodeId(2))).is_empty());
    let windows = |node: &mut Node| {
        node.attrs.set("ksize", Attr::Ints(Vec::new()));
        node.attrs.set("strides", Attr::Ints(vec![1, 1, 1, 1]));
        node.attrs.set("padding", Attr::Str("SAME".to_owned()));
    };
    expect(&single("MaxPool", 1, windows), Rule::Attribute, "`ksize` as an empty list");
    let mixed = |dtype| {
        let mut graph = Graph::new("mixed");
        let x = graph.add_input("x", TensorDesc::new(dtype, Shape::new([8, 64]))).unwrap();
        let y = graph.add_input("y", desc(&[64, 32])).unwrap();
        graph.add(Node::new("mm", "MatMulV2").with_inputs([x, y]).with_outputs(vec![desc(&[8, 32])])).unwrap();
        graph
    };
    expect(&mixed(DataType::Int8), Rule::Type, "multiplies int8 at `x1` with float32 at `x2`");
    assert!(judge(&mixed(DataType::Float)).compiles());
    // As CANN's sample of building a network has it.
    let mut graph = Graph::new("sample");
    let x = graph.add_input("x", TensorDesc { format: Format::Nchw, ..desc(&[1, 8, 4, 4]) }).unwrap();
    let filter = TensorDesc { format: Format::Nchw, ..TensorDesc::new(DataType::Int8, Shape::new([8, 8, 1, 1])) };
    let filter = graph.add_input("filter", filter).unwrap();
    let mut conv = Node::new("conv", "Conv2D").with_inputs([x, filter]);
    for name in ["strides", "pads"] {
        conv.attrs.set(name, Attr::Ints(vec![i64::from(name == "strides"); 4]));
    }
    graph.add(conv).unwrap();
    let judged = judge(&graph);
    assert!(judged.compiles() && judged.findings.iter().any(|finding| finding.rule == Rule::Type), "{judged:?}");
    let set = "attr { key: \"origin_shape_initialized\" value { b: true } } attr { key: \"origin_shape\" value { list { i: 8 i: 99 val_type: VT_LIST_INT } } } }";
    let judged = text(|text| {
        text.replace("dim: 8 dim: 32 } layout: \"ND\" }", &format!("dim: 8 dim: 99 }} layout: \"ND\" {set}"))
    });
    assert!(
        judged.findings.iter().any(|finding| finding.blocks && finding.rule == Rule::Shape && finding.node == "mm"),
        "{judged:?}"
    );
}

#[test]
fn what_works_by_element_gives_the_sizes_and_takes_the_types_that_it_reads() {
    use DataType::{Bool, Float, Float16, Int32};
    let blocking =
        |graph: &Graph| judge(graph).findings.into_iter().filter(|finding| finding.blocks).collect::<Vec<_>>();
    let relu = |dims: &[i64]| single("Relu", 1, |node| node.outputs = vec![desc(dims)]);
    for dims in [&[2, 3][..], &[-1, 3]] {
        assert_eq!(blocking(&relu(dims)), []);
    }
    for dims in [&[2, 4][..], &[6], &[1, 2, 3]] {
        let found = blocking(&relu(dims));
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((found.node.as_str(), found.rule), ("node", Rule::Shape));
        assert!(found.reason.contains("makes it [2,3]"), "{found:?}");
    }
    // The sizes of a graph that is written, which says that they were inferred.
    let finding = judged_in_a_file(&relu(&[2, 4])).findings;
    assert!(finding.iter().any(|finding| finding.blocks && finding.node == "node"), "{finding:?}");
    let of = |op_type: &str, types: &[DataType]| {
        let mut graph = Graph::new("typed");
        let ports: Vec<_> = types
            .iter()
            .enumerate()
            .map(|(at, &dtype)| graph.add_input(format!("in{at}"), TensorDesc::new(dtype, Shape::new([2, 3]))).unwrap())
            .collect();
        graph.add(Node::new("node", op_type).with_inputs(ports)).unwrap();
        graph
    };
    for (op_type, types) in [
        ("Add", &[Float16, Int32][..]),
        ("Mul", &[Int32, Float]),
        ("Equal", &[Float, Int32]),
        ("SelectV2", &[Bool, Float, Int32]),
    ] {
        let found = blocking(&of(op_type, types));
        let [found] = found.as_slice() else { panic!("{op_type}: {found:?}") };
        assert!(found.rule == Rule::Type && found.node == "node" && found.reason.contains("of one type"), "{found:?}");
    }
    let legal = [("Add", &[Float, Float][..]), ("SelectV2", &[Bool, Int32, Int32]), ("Pow", &[Float, Int32])];
    for (op_type, types) in legal {
        assert_eq!(blocking(&of(op_type, types)), [], "{op_type}");
    }
    let mixed = judge(&of("Add", &[Float16, Float]));
    assert!(mixed.compiles() && mixed.findings.iter().any(|finding| finding.rule == Rule::Type), "{mixed:?}");
}

#[test]
fn two_inputs_with_one_number_are_found_by_name() {
    let mut graph = single("Add", 2, |_| {});
    let number =
        |graph: &mut Graph, at: u32, index: i64| graph.node_mut(NodeId(at)).attrs.set("index", Attr::Int(index));
    assert!(judge(&graph).compiles(), "numbers that nobody stated are GE's to give");
    number(&mut graph, 0, 1);
    number(&mut graph, 1, 1);
    let judged = judge(&graph);
    let found: Vec<_> = judged.findings.iter().filter(|finding| finding.blocks).collect();
    let [found] = found.as_slice() else { panic!("{judged:?}") };
    assert!(found.node == "in1" && found.rule == Rule::Attribute && found.reason.contains("`in0`"), "{found:?}");
    number(&mut graph, 1, 0);
    assert!(judge(&graph).compiles());
}

#[test]
fn inputs_and_the_end_of_a_written_network_are_described_and_named() {
    use crate::graph::{DATA, NodeId};
    let mut graph = single("Relu", 1, |_| {});
    graph.add_output(crate::graph::Port::first(NodeId(1)));
    let model = air::encode_model(&graph).unwrap();
    assert!(air::form::faults(model.clone().into()).unwrap().is_empty());
    let times = |part: &[u8]| model.windows(part.len()).filter(|window| *window == part).count();
    assert_eq!(times(b"__input0"), 1, "the end of the network names what it reads");
    let read = air::read(model.clone().into(), "again").unwrap();
    assert_eq!(air::encode_model(&read).unwrap(), model);
    let data = read.iter().find(|(_, node)| node.op_type == DATA).unwrap().1;
    let Some(Attr::Strs(keys)) = data.attrs.get("_input_name_key") else { panic!("no names: {data:?}") };
    assert_eq!(keys, &["x"]);
}

/// A dump in which an operator describes what it reads.
fn described(shape: &str, attrs: &str) -> String {
    let tensor = |sizes: &[i64]| {
        let dims = sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        format!("shape {{ dim: [{dims}] }} dtype: DT_FLOAT16 layout: 'ND' name: 'x'")
    };
    let made = tensor(&[4, 8]);
    format!(
        "graph {{ name: 'g' op {{ name: 'in' type: 'Data' input_desc {{ {made} }} output_desc {{ {made} }} }}
         op {{ name: 'bend' type: 'Relu' input: 'in:0'
           input_desc {{ shape {{ {shape} }} dtype: DT_FLOAT16 layout: 'ND' name: 'x' {attrs} }} output_desc {{ {made} }} }} }}"
    )
}

#[test]
fn an_input_described_otherwise_than_it_is_made_is_named_and_what_is_made_counts() {
    let dir = tempfile::tempdir().unwrap();
    let judged = |text: &str| {
        let path = dir.path().join("ge_proto_1.txt");
        std::fs::write(&path, text).unwrap();
        let graph = load_file(&path, None, &ModelOptions::default()).unwrap();
        let bend = graph.node(graph.find("bend").unwrap());
        assert_eq!(bend.outputs[0].shape.to_string(), "[4,8]");
        assert!(bend.attrs.get(air::DESCRIBED_OTHERWISE).is_none(), "a file that is written would have it");
        judge_file(&path, None).unwrap()
    };
    for other in ["dim: 4 dim: 9", "dim: 4", "dim: 2 dim: 4 dim: 8"] {
        let judged = judged(&described(other, ""));
        let found: Vec<_> = judged.findings.iter().filter(|finding| finding.rule == Rule::Shape).collect();
        let [found] = found.as_slice() else { panic!("{other}: {:?}", judged.findings) };
        assert!(found.blocks && found.node == "bend", "{found:?}");
        assert!(found.reason.contains("input 0 as [4") || found.reason.contains("as [2,4,8]"), "{found:?}");
        assert!(found.reason.contains("`in` gives it as [4,8]"), "{found:?}");
    }
    // The same, not known, not set, and another form in memory of the same.
    let origin = "attr { key: 'origin_shape' value { list { i: 4 i: 8 val_type: VT_LIST_INT } } }
        attr { key: 'origin_shape_initialized' value { b: true } }";
    for (shape, attrs) in
        [("dim: 4 dim: 8", ""), ("dim: -1 dim: 8", ""), ("dim: -2", ""), ("", ""), ("dim: 16 dim: 16", origin)]
    {
        let judged = judged(&described(shape, attrs));
        assert!(judged.findings.iter().all(|finding| finding.rule != Rule::Shape), "{shape}: {:?}", judged.findings);
    }
}

#[test]
fn a_full_connection_as_ge_infers_it_is_as_it_should_be() {
    let tensor = |sizes: &[i64], name: &str| {
        let dims = sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        format!("shape {{ dim: [{dims}] }} dtype: DT_FLOAT16 layout: 'NCHW' name: '{name}'")
    };
    // GE describes the weights with the axes of the image, and leaves them alone where they are made.
    let text = |weights: &[i64]| {
        let (x, made, seen) = (tensor(&[1, 6, 4, 4], "x"), tensor(&[10, 96], "y"), tensor(weights, "w"));
        let y = tensor(&[1, 10, 1, 1], "y");
        let inferred = "attr { key: 'origin_shape_initialized' value { b: true } }
            attr { key: 'origin_shape' value { list { i: 1 i: 10 i: 1 i: 1 val_type: VT_LIST_INT } } }";
        format!(
            "graph {{ name: 'g' op {{ name: 'in' type: 'Data' input_desc {{ {x} }} output_desc {{ {x} }} }}
             op {{ name: 'w' type: 'Const' output_desc {{ {made} }} }}
             op {{ name: 'fc' type: 'FullyConnection' input: 'in:0' input: 'w:0' attr {{ key: 'num_output' value {{ i: 10 }} }}
               input_desc {{ {x} }} input_desc {{ {seen} }} output_desc {{ {y} {inferred} }} }} }}"
        )
    };
    let dir = tempfile::tempdir().unwrap();
    let shape_findings = |text: &str| {
        let path = dir.path().join("ge_proto_1.txt");
        std::fs::write(&path, text).unwrap();
        let judged = judge_file(&path, None).unwrap();
        judged.findings.into_iter().filter(|finding| finding.rule == Rule::Shape).collect::<Vec<_>>()
    };
    assert!(shape_findings(&text(&[10, 6, 4, 4])).is_empty(), "{:?}", shape_findings(&text(&[10, 6, 4, 4])));
    // Other sizes are none that it could read.
    assert_eq!(shape_findings(&text(&[10, 6, 4, 5])).len(), 1);
}

#[test]
fn tasks_of_a_compiled_graph_are_told_from_operators_that_nobody_declares() {
    let found = |op_type: &str| judge(&single(op_type, 1, |_| ())).findings[0].clone();
    let (task, unknown) = (found("StreamActive"), found("NoSuchOperator"));
    assert!(task.reason.contains("GE's compiler") && task.advice.contains("PreRunBegin"), "{task:?}");
    assert!(unknown.reason.contains("no operator that CANN declares"), "{unknown:?}");
}
