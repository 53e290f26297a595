//! Shape arithmetic in the graph, followed to its end.

use super::t;
use crate::infer::{infer, require_static};
use crate::{Attr, Constant, DataType, Graph, Node, Port, Shape, TensorDesc};

/// A graph written down node by node.
struct Net {
    graph: Graph,
}

impl Net {
    fn new(dims: &[i64]) -> (Net, Port) {
        let mut graph = Graph::new("chain");
        let x = graph.add_input("x", TensorDesc::new(DataType::Float, Shape::new(dims))).unwrap();
        (Net { graph }, x)
    }

    fn ints(&mut self, values: &[i64]) -> Port {
        let name = format!("c{}", self.graph.len());
        let desc = TensorDesc::new(DataType::Int64, Shape::new([values.len() as i64]));
        self.graph.add_const(name, desc, Constant::Ints(values.to_vec())).unwrap()
    }

    fn int(&mut self, value: i64) -> Port {
        let name = format!("c{}", self.graph.len());
        self.graph
            .add_const(name, TensorDesc::new(DataType::Int64, Shape::scalar()), Constant::Ints(vec![value]))
            .unwrap()
    }

    fn float(&mut self, value: f64) -> Port {
        let name = format!("c{}", self.graph.len());
        self.graph
            .add_const(name, TensorDesc::new(DataType::Float, Shape::scalar()), Constant::Floats(vec![value]))
            .unwrap()
    }

    fn op(&mut self, op_type: &str, inputs: &[Port]) -> Port {
        self.op_with(op_type, inputs, &[])
    }

    fn op_with(&mut self, op_type: &str, inputs: &[Port], attrs: &[(&str, Attr)]) -> Port {
        let mut node = Node::new(format!("{op_type}{}", self.graph.len()), op_type).with_inputs(inputs.iter().copied());
        for (name, value) in attrs {
            node.attrs.set(*name, value.clone());
        }
        Port::first(self.graph.add(node).unwrap())
    }

    fn shape_at(&mut self, x: Port, axis: i64) -> Port {
        let shape = self.op("Shape", &[x]);
        let (index, zero) = (self.int(axis), self.int(0));
        self.op("GatherV2", &[shape, index, zero])
    }

    fn concat(&mut self, parts: &[Port]) -> Port {
        let axes = self.ints(&[0]);
        let lists: Vec<_> = parts.iter().map(|&p| self.op("Unsqueeze", &[p, axes])).collect();
        self.op_with("ConcatD", &lists, &[("concat_dim", Attr::Int(0)), ("N", Attr::Int(parts.len() as i64))])
    }

    fn value(&self, port: Port) -> Option<&Constant> {
        self.graph.node(port.node).value.as_ref()
    }

    fn shape(&self, port: Port) -> String {
        self.graph.desc(port).shape.to_string()
    }
}

#[test]
fn the_reshape_of_attention_heads_resolves() {
    let (mut net, x) = Net::new(&[2, 128, 768]);
    let (batch, tokens) = (net.shape_at(x, 0), net.shape_at(x, 1));
    let (heads, depth) = (net.int(12), net.int(64));
    let sizes = net.concat(&[batch, tokens, heads, depth]);
    let y = net.op("Reshape", &[x, sizes]);
    infer(&mut net.graph).unwrap();
    assert_eq!(net.shape(y), "[2,128,12,64]");
    assert_eq!(net.value(sizes), Some(&Constant::Ints(vec![2, 128, 12, 64])));
    assert_eq!(net.value(y), None, "the reshape itself works on run-time data");
}

#[test]
fn an_open_batch_is_followed_as_far_as_it_goes() {
    let (mut net, x) = Net::new(&[-1, 128, 768]);
    let (batch, tokens) = (net.shape_at(x, 0), net.shape_at(x, 1));
    let rest = net.int(-1);
    let sizes = net.concat(&[batch, tokens, rest]);
    let y = net.op("Reshape", &[x, sizes]);
    infer(&mut net.graph).unwrap();
    assert_eq!(net.shape(y), "[?,128,768]");
    assert_eq!(net.value(tokens), Some(&Constant::Ints(vec![128])), "what does not depend on the batch is folded");
    assert_eq!(net.value(batch), None);
    assert!(require_static(&net.graph).is_err());
}

#[test]
fn arithmetic_on_sizes_follows_integer_rules() {
    let (mut net, _) = Net::new(&[7, 5]);
    for (op_type, left, right, expected) in [
        ("Add", 7, -3, 4),
        ("Sub", 7, 9, -2),
        ("Mul", 7, 3, 21),
        ("Div", -7, 2, -3),
        ("FloorDiv", -7, 2, -4),
        ("Mod", -7, 3, -1),
        ("FloorMod", -7, 3, 2),
        ("FloorMod", 7, -3, -2),
        ("Maximum", 7, 3, 7),
        ("Minimum", 7, 3, 3),
        ("Pow", 7, 2, 49),
        ("Equal", 7, 7, 1),
        ("Less", 7, 7, 0),
        ("BitwiseXor", 1, 1, 0),
        ("BitwiseAnd", 6, 3, 2),
        ("BitwiseOr", 6, 3, 7),
    ] {
        let operands = [net.int(left), net.int(right)];
        let result = net.op(op_type, &operands);
        infer(&mut net.graph).unwrap();
        assert_eq!(net.value(result), Some(&Constant::Ints(vec![expected])), "{left} {op_type} {right}");
    }
    let operands = [net.int(7), net.int(0)];
    let undefined = net.op("Div", &operands);
    let operands = [net.int(i64::MAX), net.int(2)];
    let too_large = net.op("Mul", &operands);
    infer(&mut net.graph).unwrap();
    assert_eq!(net.value(undefined), Some(&Constant::Opaque), "constant, but not to be computed here");
    assert_eq!(net.value(too_large), Some(&Constant::Opaque));
}

#[test]
fn what_a_constant_holds_is_found_without_a_run() {
    let (mut net, x) = Net::new(&[5, 3]);
    let (list, sizes) = (net.ints(&[4, 0, 0, 0, 9, 2]), net.ints(&[2, 3]));
    let matrix = net.op("Reshape", &[list, sizes]);
    let (by_axis, by_element) = (net.op("NonZero", &[matrix]), net.op("Where", &[matrix]));
    let turned = net.op_with("NonZero", &[matrix], &[("transpose", Attr::Bool(true))]);
    let zeros = net.ints(&[0, 0]);
    let nothing = net.op("NonZero", &[zeros]);
    let (of_a_run, of_a_size) = (net.op("NonZero", &[x]), net.op("Shape", &[x]));
    let sizes = net.op("NonZero", &[of_a_size]);
    infer(&mut net.graph).unwrap();
    for (port, shape, expected) in [
        (by_axis, "[2,3]", vec![0, 1, 1, 0, 1, 2]),
        (by_element, "[3,2]", vec![0, 0, 1, 1, 1, 2]),
        (turned, "[3,2]", vec![0, 0, 1, 1, 1, 2]),
        (nothing, "[1,0]", vec![]),
        (sizes, "[1,2]", vec![0, 1]),
    ] {
        let name = net.graph.node(port.node).name.clone();
        assert_eq!(net.shape(port), shape, "{name}");
        assert_eq!(net.value(port), Some(&Constant::Ints(expected)), "{name}");
    }
    assert_eq!((net.shape(of_a_run).as_str(), net.value(of_a_run)), ("[2,?]", None));
}

#[test]
fn scaled_sizes_of_an_upsampling_resolve() {
    let (mut net, x) = Net::new(&[1, 64, 10, 15]);
    let shape = net.op("Shape", &[x]);
    let (begin, end, axes) = (net.ints(&[2]), net.ints(&[4]), net.ints(&[0]));
    let space = net.op("StridedSliceV2", &[shape, begin, end, axes]);
    let float = net.op_with("Cast", &[space], &[("dst_type", Attr::Type(DataType::Float))]);
    let scale = net.float(1.5);
    let scaled = net.op("Mul", &[float, scale]);
    let floor = net.op("Floor", &[scaled]);
    let sizes = net.op_with("Cast", &[floor], &[("dst_type", Attr::Type(DataType::Int64))]);
    let (begin, end) = (net.ints(&[0]), net.ints(&[2]));
    let front = net.op("StridedSliceV2", &[shape, begin, end, axes]);
    let whole = net.op_with("ConcatD", &[front, sizes], &[("concat_dim", Attr::Int(0))]);
    let mut resize = Node::new("resize", "Resize");
    resize.inputs = vec![Some(x), None, None, Some(whole)];
    let y = Port::first(net.graph.add(resize).unwrap());
    infer(&mut net.graph).unwrap();
    assert_eq!(net.shape(y), "[1,64,15,22]");
}

#[test]
fn the_expand_idiom_of_exporters_resolves() {
    // Where(Equal(sizes, -1), ones, sizes): a size of -1 keeps what is there.
    let (mut net, x) = Net::new(&[1, 1, 6]);
    let sizes = net.ints(&[4, 5, -1]);
    let length = net.ints(&[3]);
    let one = net.int(1);
    let ones = net.op("Fill", &[length, one]);
    let minus = net.int(-1);
    let is_open = net.op("Equal", &[sizes, minus]);
    let target = net.op("SelectV2", &[is_open, ones, sizes]);
    let y = net.op("Expand", &[x, target]);
    infer(&mut net.graph).unwrap();
    assert_eq!(net.value(target), Some(&Constant::Ints(vec![4, 5, 1])));
    assert_eq!(net.shape(y), "[4,5,6]");
}

#[test]
fn small_tensors_are_moved_as_the_operators_say() {
    let (mut net, _) = Net::new(&[4]);
    let list = net.ints(&[1, 2, 3, 4, 5, 6]);
    let sizes = net.ints(&[2, 3]);
    let matrix = net.op("Reshape", &[list, sizes]);
    let perm = net.ints(&[1, 0]);
    let turned = net.op("Transpose", &[matrix, perm]);
    let (one, row) = (net.int(1), net.ints(&[1]));
    let picked = net.op("GatherV2", &[turned, row, one]);
    let axes = net.ints(&[0]);
    let product = net.op("ReduceProd", &[turned, axes]);
    let times = net.ints(&[2, 1]);
    let tiled = net.op("Tile", &[matrix, times]);
    let (begin, end, backwards) = (net.ints(&[5]), net.ints(&[i64::MIN]), net.ints(&[-2]));
    let reversed = net.op("StridedSliceV2", &[list, begin, end, axes, backwards]);
    let (start, limit, step) = (net.int(3), net.int(-4), net.int(-3));
    let range = net.op("Range", &[start, limit, step]);
    let together = net.op_with("Pack", &[start, limit], &[("axis", Attr::Int(0))]);
    infer(&mut net.graph).unwrap();
    for (port, expected) in [
        (turned, vec![1, 4, 2, 5, 3, 6]),
        (picked, vec![4, 5, 6]),
        (product, vec![6, 120]),
        (tiled, vec![1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]),
        (reversed, vec![6, 4, 2]),
        (range, vec![3, 0, -3]),
        (together, vec![3, -4]),
    ] {
        let name = &net.graph.node(port.node).name;
        assert_eq!(net.value(port), Some(&Constant::Ints(expected)), "{name}");
    }
}

#[test]
fn parts_of_a_shape_are_followed_through_a_split() {
    let (mut net, x) = Net::new(&[2, 3, 4]);
    let shape = net.op("Shape", &[x]);
    let mut split = Node::new("split", "SplitD").with_inputs([shape]).with_outputs(vec![TensorDesc::unknown(); 3]);
    split.attrs.set("split_dim", Attr::Int(0));
    let split = net.graph.add(split).unwrap();
    let part = |output| Port { node: split, output };
    let joined = net.op_with("ConcatD", &[part(2), part(0), part(1)], &[("concat_dim", Attr::Int(0))]);
    let y = net.op("Reshape", &[x, joined]);
    infer(&mut net.graph).unwrap();
    assert_eq!(net.shape(y), "[4,2,3]");
}

#[test]
fn what_depends_on_constants_only_runs_no_kernel_except_cube_work_and_random_numbers() {
    let mut graph = Graph::new("weights");
    let desc = TensorDesc::new(DataType::Float, Shape::new([64, 64]));
    let w = graph.add_const("w", desc, Constant::Opaque).unwrap();
    let turned = graph.add(Node::new("turned", "Transpose").with_inputs([w])).unwrap();
    let product = graph.add(Node::new("product", "MatMulV2").with_inputs([w, Port::first(turned)])).unwrap();
    let random = graph.add(Node::new("random", "RandomUniformLike").with_inputs([w])).unwrap();
    infer(&mut graph).unwrap();
    assert_eq!(graph.node(turned).value, Some(Constant::Opaque));
    assert_eq!(graph.node(product).value, None);
    assert_eq!(graph.node(random).value, None);
}

#[test]
fn a_new_input_shape_replaces_what_was_folded_from_the_old_one() {
    let (mut net, x) = Net::new(&[2, 128, 768]);
    let batch = net.shape_at(x, 0);
    let rest = net.int(-1);
    let sizes = net.concat(&[batch, rest]);
    let y = net.op("Reshape", &[x, sizes]);
    infer(&mut net.graph).unwrap();
    assert_eq!(net.shape(y), "[2,98304]");
    net.graph.node_mut(x.node).outputs[0].shape = Shape::new([3, 128, 768]);
    infer(&mut net.graph).unwrap();
    assert_eq!(net.shape(y), "[3,98304]");
    assert_eq!(net.value(batch), Some(&Constant::Ints(vec![3])));
}

#[test]
fn a_constant_must_have_as_many_values_as_elements() {
    let mut graph = Graph::new("bad");
    let desc = TensorDesc::new(DataType::Int64, Shape::new([3]));
    graph.add_const("c", desc, Constant::Ints(vec![1, 2])).unwrap();
    let message = infer(&mut graph).unwrap_err().to_string();
    assert!(message.contains("node `c`") && message.contains("2 values for 3 elements"), "{message}");
}

#[test]
fn inputs_of_impossible_sizes_are_refused_by_name() {
    for dims in [vec![-5, 3], vec![i64::MAX, 3], vec![1; 65]] {
        let mut graph = super::graph_of("Relu", &[t(dims.clone())], &[], 1);
        let message = infer(&mut graph).unwrap_err().to_string();
        assert!(message.contains("`in0`"), "{dims:?}: {message}");
    }
}
