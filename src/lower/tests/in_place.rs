//! Joined tensors that nobody copies, and movers that are one.

use crate::graph::{Attr, Constant, DataType, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::{Lowered, Settings, with_conversions};
use crate::soc::Soc;

/// A network under construction on half-precision tensors.
struct Net(Graph);

impl Net {
    fn new() -> Net {
        Net(Graph::new("net"))
    }

    fn input(&mut self, name: &str, dims: &[i64]) -> Port {
        self.0.add_input(name, half(dims)).unwrap()
    }

    fn node(&mut self, name: &str, op_type: &str, inputs: &[Port], attrs: &[(&str, Attr)]) -> Port {
        let mut node = Node::new(name, op_type).with_inputs(inputs.iter().copied());
        for (key, value) in attrs {
            node.attrs.set(*key, value.clone());
        }
        Port::first(self.0.add(node).unwrap())
    }

    fn relu(&mut self, name: &str, x: Port) -> Port {
        self.node(name, "Relu", &[x], &[])
    }

    fn conv(&mut self, name: &str, x: Port, channels: [i64; 2]) -> Port {
        let [cin, cout] = channels;
        let filter = self.0.add_const(format!("{name}/filter"), half(&[cout, cin, 1, 1]), Constant::Opaque).unwrap();
        let [strides, pads] = [1, 0].map(|n| Attr::Ints(vec![n; 4]));
        let format = Attr::Str("NCHW".into());
        self.node(name, "Conv2D", &[x, filter], &[("strides", strides), ("pads", pads), ("data_format", format)])
    }

    fn join(&mut self, name: &str, parts: &[Port], axis: i64) -> Port {
        self.node(name, "ConcatD", parts, &[("concat_dim", Attr::Int(axis))])
    }

    fn turned(&mut self, name: &str, x: Port, order: &[i64]) -> Port {
        self.node(name, "Transpose", &[x], &[("perm", Attr::Ints(order.to_vec()))])
    }

    /// The graph with its conversions, and its kernels.
    fn lowered(&self, outputs: &[Port], settings: &Settings) -> (Graph, Lowered) {
        let mut graph = self.0.clone();
        graph.set_outputs(outputs.to_vec());
        infer::infer(&mut graph).unwrap();
        with_conversions(graph, &Soc::find("Ascend910B2").unwrap(), settings).unwrap()
    }

    /// How often each kernel of these names is launched.
    fn launches(&self, outputs: &[Port], names: &[&str]) -> Vec<u32> {
        let (graph, lowered) = self.lowered(outputs, &Settings::default());
        let of = |name: &&str| lowered.kernels.iter().find(|k| graph.node(k.node).name == *name).unwrap().launches;
        names.iter().map(of).collect()
    }
}

fn half(dims: &[i64]) -> TensorDesc {
    TensorDesc::new(DataType::Float16, Shape::new(dims))
}

/// Two convolutions of so many channels each on an image of this side, joined, and another one behind.
fn branches(batch: i64, channels: i64, side: i64) -> (Net, [Port; 4]) {
    let mut net = Net::new();
    let x = net.input("x", &[batch, 16, side, side]);
    let [a, b] = ["a", "b"].map(|name| net.conv(name, x, [16, channels]));
    let joined = net.join("joined", &[a, b], 1);
    let end = net.conv("end", joined, [2 * channels, 16]);
    (net, [a, b, joined, end])
}

#[test]
fn branches_of_one_image_are_written_where_they_are_joined() {
    let (net, [.., end]) = branches(1, 32, 8);
    assert_eq!(net.launches(&[end], &["a", "b", "joined", "end"]), [1, 1, 0, 1]);
    let closed = Settings { ge_closed: true, ..Settings::default() };
    assert!(net.lowered(&[end], &closed).1.kernels.iter().all(|kernel| kernel.launches == 1));
    // A kernel that launches nothing is not among those that are launched.
    let (_, lowered) = net.lowered(&[end], &Settings::default());
    assert_eq!(lowered.launched().count() + 1, lowered.kernels.len());
}

#[test]
fn parts_between_others_or_of_broken_units_are_copied() {
    for (batch, channels, side) in [(2, 32, 8), (1, 24, 3)] {
        let (net, [.., end]) = branches(batch, channels, side);
        assert_eq!(net.launches(&[end], &["joined"]), [1], "{batch} images of {channels} channels");
    }
}

#[test]
fn what_has_its_place_elsewhere_is_copied() {
    let (mut net, [a, b, joined, _]) = branches(1, 32, 8);
    let again = net.join("again", &[a, b], 1);
    let sum = net.node("sum", "Add", &[joined, again], &[]);
    let twice = net.join("twice", &[sum, sum], 1);
    let behind = net.relu("behind", twice);
    assert_eq!(net.launches(&[behind], &["joined", "again", "twice"]), [0, 1, 1]);
    let (mut net, [_, _, joined, end]) = branches(1, 32, 8);
    let nested = net.join("nested", &[joined, end], 1);
    let behind = net.relu("behind", nested);
    assert_eq!(net.launches(&[behind], &["joined", "nested"]), [0, 1]);
}

#[test]
fn what_leaves_or_is_given_is_copied() {
    let mut net = Net::new();
    let [x, y] = ["x", "y"].map(|name| net.input(name, &[1, 64]));
    let [a, b] = ["a", "b"].map(|name| net.relu(name, x));
    let joined = net.join("joined", &[a, b], 1);
    let behind = net.relu("behind", joined);
    let with_given = net.join("with_given", &[b, y], 1);
    let last = net.relu("last", with_given);
    assert_eq!(net.launches(&[behind], &["joined"]), [0]);
    assert_eq!(net.launches(&[joined], &["joined"]), [1]);
    assert_eq!(net.launches(&[behind, a], &["joined"]), [1]);
    assert_eq!(net.launches(&[last], &["with_given"]), [1]);
}

#[test]
fn plain_rows_of_whole_units_are_written_in_place() {
    for (rows, columns, axis, launches) in [(1, 160, 1, 0), (1, 8, 1, 1), (4, 160, 1, 1), (4, 160, 0, 0), (3, 4, 0, 1)]
    {
        let mut net = Net::new();
        let x = net.input("x", &[rows, columns]);
        let [a, b] = ["a", "b"].map(|name| net.relu(name, x));
        let joined = net.join("joined", &[a, b], axis);
        let behind = net.relu("behind", joined);
        assert_eq!(net.launches(&[behind], &["joined"]), [launches], "{rows} x {columns} along {axis}");
    }
}

#[test]
fn an_image_that_is_turned_beside_its_blocks_is_moved_once() {
    let names = |(graph, lowered): &(Graph, Lowered)| -> Vec<String> {
        lowered.kernels.iter().map(|kernel| graph.node(kernel.node).op_type.clone()).collect()
    };
    let mut net = Net::new();
    let x = net.input("x", &[1, 16, 8, 8]);
    let first = net.conv("first", x, [16, 16]);
    // It has taken another one in.
    let attrs =
        [("perm", Attr::Ints(vec![0, 2, 3, 1])), (crate::lower::FUSED_NODES, Attr::Strs(vec!["before".into()]))];
    let last = net.node("last", "Transpose", &[first], &attrs);
    let soft = net.node("soft", "SoftmaxV2", &[last], &[("axes", Attr::Ints(vec![-1]))]);
    let back = net.turned("back", soft, &[0, 3, 1, 2]);
    let end = net.conv("end", back, [16, 16]);
    let made = net.lowered(&[end], &Settings::default());
    let expected = ["TransData", "Conv2D", "TransData", "SoftmaxV2", "TransData", "Conv2D", "TransData"];
    assert_eq!(names(&made), expected);
    let turned = made.0.node(made.1.kernels[2].node);
    assert_eq!(turned.outputs[0].shape.known(), Some(&[1, 8, 8, 16][..]));
    let all = Attr::Strs(vec!["last".into(), "before".into()]);
    assert_eq!(turned.attrs.get(crate::lower::FUSED_NODES), Some(&all));
    let closed = Settings { ge_closed: true, ..Settings::default() };
    assert_eq!(names(&net.lowered(&[end], &closed)).iter().filter(|name| *name == "Transpose").count(), 2);
    // One that somebody else reads, and one that does more than that, stay.
    assert!(names(&net.lowered(&[end, back], &Settings::default())).contains(&"Transpose".to_owned()));
    let mirrored = net.turned("mirrored", first, &[0, 3, 2, 1]);
    assert!(names(&net.lowered(&[mirrored], &Settings::default())).contains(&"Transpose".to_owned()));
}
