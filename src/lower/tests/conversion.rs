//! Casts and changes of layout between kernels.

use super::settings;
use crate::graph::{Attr, Constant, DataType, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::{Lowered, Precision, flows, with_conversions};
use crate::soc::Soc;
use crate::workload::{Operand, Workload};

/// An image through `Conv2D`, `Relu` and `Conv2D` beside a skip, a mean and a product, and out; of this type.
fn classifier(dtype: DataType) -> Graph {
    let mut graph = Graph::new("classifier");
    let tensor = |dims: &[i64]| TensorDesc::new(dtype, Shape::new(dims));
    let x = graph.add_input("x", tensor(&[2, 3, 8, 8])).unwrap();
    let conv = |graph: &mut Graph, name: &str, x: Port, cin: i64| {
        let filter = graph.add_const(format!("{name}/filter"), tensor(&[32, cin, 1, 1]), Constant::Opaque).unwrap();
        let mut node = Node::new(name, "Conv2D").with_inputs([x, filter]);
        for (key, value) in [("strides", 1), ("pads", 0)] {
            node.attrs.set(key, Attr::Ints(vec![value; 4]));
        }
        node.attrs.set("data_format", Attr::Str("NCHW".into()));
        Port::first(graph.add(node).unwrap())
    };
    let first = conv(&mut graph, "first", x, 3);
    let second = conv(&mut graph, "second", first, 32);
    let mut then = |name: &str, op_type: &str, inputs: &[Port], attrs: &[(&str, Attr)]| {
        let mut node = Node::new(name, op_type).with_inputs(inputs.iter().copied());
        for (key, value) in attrs {
            node.attrs.set(*key, value.clone());
        }
        Port::first(graph.add(node).unwrap())
    };
    let sum = then("sum", "Add", &[first, second], &[]);
    let mean =
        then("mean", "ReduceMeanD", &[sum], &[("axes", Attr::Ints(vec![2, 3])), ("keep_dims", Attr::Bool(true))]);
    let flat = then("flat", "FlattenV2", &[mean], &[]);
    let left = then("left", "Transpose", &[sum], &[("perm", Attr::Ints(vec![0, 2, 3, 1]))]);
    let right = then("right", "Transpose", &[sum], &[("perm", Attr::Ints(vec![0, 3, 2, 1]))]);
    let weight = graph.add_const("weight", tensor(&[32, 10]), Constant::Opaque).unwrap();
    let product = Port::first(graph.add(Node::new("product", "MatMulV2").with_inputs([flat, weight])).unwrap());
    graph.set_outputs(vec![product, left, right]);
    infer::infer(&mut graph).unwrap();
    graph
}

fn converted(graph: Graph, soc: &str, precision: Precision) -> (Graph, Lowered) {
    with_conversions(graph, &Soc::find(soc).unwrap(), &settings(precision)).unwrap()
}

/// Names of the kernels, and what each reads.
fn kernels((graph, lowered): &(Graph, Lowered)) -> Vec<(String, Vec<String>)> {
    let name = |port: &Port| graph.node(port.node).name.clone();
    let read = |kernel: &crate::lower::Kernel| {
        let node = graph.node(kernel.node);
        let data = node.inputs.iter().flatten().filter(|port| graph.node(port.node).value.is_none());
        (node.name.clone(), data.map(name).collect())
    };
    lowered.kernels.iter().map(read).collect()
}

#[test]
fn an_image_is_cast_and_blocked_once_and_what_leaves_is_plain_and_as_stated() {
    let made = converted(classifier(DataType::Float), "Ascend910B2", Precision::ForceFp16);
    let names: Vec<String> = kernels(&made).into_iter().map(|(name, _)| name).collect();
    let count = |base: &str| names.iter().filter(|name| name.starts_with(base)).count();
    // One in, three out; the image in, the mean and what both transposes share out of blocks.
    assert_eq!((count("trans_Cast_"), count("trans_TransData_"), names.len()), (4, 3, 4 + 3 + 7), "{names:?}");
    assert_eq!(names[..3], ["trans_Cast_0", "trans_TransData_1", "first"]);
    let all = kernels(&made);
    let source = |name: &str| all.iter().find(|(kernel, _)| kernel == name).unwrap().1[0].clone();
    assert_eq!(source("left"), source("right"));
    assert_eq!(source("first"), "trans_TransData_1");
    assert_eq!(source("trans_TransData_1"), "trans_Cast_0");
    let stated: Vec<DataType> = made.0.outputs().iter().map(|&port| made.0.desc(port).dtype).collect();
    assert_eq!(stated, [DataType::Float; 3]);
}

#[test]
fn a_cast_moves_both_types_and_blocks_are_filled_up() {
    let (_, lowered) = converted(classifier(DataType::Float), "Ascend910B2", Precision::ForceFp16);
    let Workload::Vector(cast) = &lowered.kernels[0].workload else { panic!("{:?}", lowered.kernels[0]) };
    let bytes = |operands: &[Operand]| operands.iter().map(Operand::bytes).sum::<u64>();
    let image = 2 * 3 * 8 * 8;
    assert_eq!((bytes(&cast.inputs), bytes(&cast.outputs)), (4 * image, 2 * image));
    let Workload::Move(moved) = &lowered.kernels[1].workload else { panic!("{:?}", lowered.kernels[1]) };
    assert_eq!((bytes(&moved.inputs), bytes(&moved.outputs)), (2 * image, 2 * 2 * 16 * 8 * 8));
}

#[test]
fn where_nothing_changes_there_is_no_conversion() {
    let count = |dtype, soc: &str, precision| {
        let names = kernels(&converted(classifier(dtype), soc, precision)).into_iter().map(|(name, _)| name);
        let names: Vec<String> = names.filter(|name| name.starts_with("trans_")).collect();
        ["trans_Cast_", "trans_TransData_"].map(|base| names.iter().filter(|name| name.starts_with(base)).count())
    };
    assert_eq!(count(DataType::Float16, "Ascend910B2", Precision::ForceFp16), [0, 3]);
    assert_eq!(count(DataType::Float, "Ascend910B2", Precision::MustKeepOriginDtype), [0, 3]);
    // Images lie there as the network has them.
    assert_eq!(count(DataType::Float16, "Ascend950PR_9589", Precision::ForceFp16), [0, 0]);
    assert_eq!(count(DataType::Float, "Ascend950PR_9589", Precision::ForceFp16), [4, 0]);
}

#[test]
fn behind_the_conversions_nothing_is_left_to_convert() {
    for precision in [Precision::ForceFp16, Precision::MustKeepOriginDtype] {
        let soc = Soc::find("Ascend910B2").unwrap();
        let (graph, lowered) = converted(classifier(DataType::Float), &soc.name, precision);
        let flows = flows(&graph, &lowered, &soc, &settings(precision));
        assert!(flows.reads.iter().flatten().all(|read| !read.converted), "{precision:?}");
    }
    let soc = Soc::find("Ascend910B2").unwrap();
    let (graph, lowered) = converted(classifier(DataType::Float16), &soc.name, Precision::ForceFp16);
    let (again, kernels) = with_conversions(graph.clone(), &soc, &settings(Precision::ForceFp16)).unwrap();
    assert_eq!((again.len(), kernels.kernels.len()), (graph.len(), lowered.kernels.len()));
}

#[test]
fn a_result_of_unknown_sizes_is_converted_by_nobody() {
    let mut graph = Graph::new("cut");
    let tensor = TensorDesc::new(DataType::Float, Shape::new([64, 64]));
    let x = graph.add_input("x", tensor).unwrap();
    let known = Port::first(graph.add(Node::new("known", "Relu").with_inputs([x])).unwrap());
    let unknown = TensorDesc::new(DataType::Float, Shape::unknown_rank());
    let mut node = Node::new("unknown", "Mystery").with_inputs([known]).with_outputs(vec![unknown]);
    node.mapped = false;
    let node = graph.add(node).unwrap();
    graph.add_output(Port::first(node));
    infer::infer(&mut graph).unwrap();
    let names = kernels(&converted(graph, "Ascend910B2", Precision::ForceFp16));
    assert!(names.iter().any(|(name, _)| name == "unknown"), "{names:?}");
    assert!(names.iter().all(|(_, reads)| !reads.contains(&"unknown".to_owned())), "{names:?}");
}
