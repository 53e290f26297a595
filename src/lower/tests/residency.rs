//! What kernels in a running network find in device memory.

use crate::graph::{Constant, DataType, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::{Lowered, Precision, Settings, lower, settle};
use crate::soc::Soc;

/// Rows of the activations, and bytes of an element.
const ROWS: u64 = 256;
const ELEMENT: u64 = 2;

fn half(dims: &[u64]) -> TensorDesc {
    TensorDesc::new(DataType::Float16, Shape::new(dims.iter().map(|&d| d as i64).collect::<Vec<_>>()))
}

struct Net(Graph);

impl Net {
    fn product(&mut self, name: &str, x: Port, weight: Port) -> Port {
        Port::first(self.0.add(Node::new(name, "MatMulV2").with_inputs([x, weight])).unwrap())
    }

    fn weight(&mut self, name: &str, width: u64) -> Port {
        self.0.add_const(name, half(&[width, width]), Constant::Opaque).unwrap()
    }

    fn settled(mut self, outputs: &[Port], l2_size: u64) -> Lowered {
        self.0.set_outputs(outputs.to_vec());
        infer::infer(&mut self.0).unwrap();
        let soc = Soc { l2_size, ..Soc::find("Ascend910B2").unwrap() };
        let mut lowered = lower(&self.0, &soc, &Settings::default()).unwrap();
        settle(&self.0, &mut lowered, &soc, &Settings::default(), &[]);
        lowered
    }
}

/// A chain of products of one width, the last of which also uses the first one's weight.
fn chain(width: u64, l2_size: u64) -> Vec<f64> {
    let mut net = Net(Graph::new("net"));
    let x = net.0.add_input("x", half(&[ROWS, width])).unwrap();
    let weights: Vec<Port> = (0..3).map(|n| net.weight(&format!("w{n}"), width)).collect();
    let a = net.product("a", x, weights[0]);
    let b = net.product("b", a, weights[1]);
    let c = net.product("c", b, weights[2]);
    let d = net.product("d", c, weights[0]);
    net.settled(&[d], l2_size).kernels.iter().map(|kernel| kernel.missed.unwrap()).collect()
}

#[test]
fn a_constant_is_cold_once_and_what_was_just_written_is_warm() {
    const WIDTH: u64 = 1024;
    let (weight, activation) = ((WIDTH * WIDTH * ELEMENT) as f64, (ROWS * WIDTH * ELEMENT) as f64);
    // The input is the caller's, the last product's weight was read by the first.
    assert_eq!(chain(WIDTH, 1 << 30), [weight + activation, weight, weight, 0.0]);
}

#[test]
fn what_passed_since_drives_out_what_was_used_before_and_no_more() {
    const WIDTH: u64 = 1024;
    let (weight, activation) = (WIDTH * WIDTH * ELEMENT, ROWS * WIDTH * ELEMENT);
    // Since the first product read its weight two others passed with theirs, and three results.
    let since = 2 * weight + 5 * activation;
    for (held, missed) in [(0, weight), (weight / 4, weight - weight / 4), (weight, 0)] {
        assert_eq!(chain(WIDTH, since + held)[3], missed as f64, "{held}");
    }
    // Nothing stays where L2 holds nothing.
    assert_eq!(chain(WIDTH, 0)[2], (weight + activation) as f64);
}

/// A product of an input and a constant, and Relu behind it.
fn product_and_relu() -> (Graph, Soc, Lowered) {
    let mut net = Net(Graph::new("net"));
    let x = net.0.add_input("x", half(&[ROWS, 64])).unwrap();
    let weight = net.weight("w", 64);
    let y = net.product("y", x, weight);
    let z = Port::first(net.0.add(Node::new("z", "Relu").with_inputs([y])).unwrap());
    net.0.set_outputs(vec![z]);
    infer::infer(&mut net.0).unwrap();
    let soc = Soc::find("Ascend910B2").unwrap();
    let lowered = lower(&net.0, &soc, &Settings::default()).unwrap();
    (net.0, soc, lowered)
}

#[test]
fn kernels_that_know_it_and_vector_kernels_keep_what_they_know() {
    let (graph, soc, mut lowered) = product_and_relu();
    lowered.kernels[0].missed = Some(7.0);
    settle(&graph, &mut lowered, &soc, &Settings::default(), &[]);
    assert_eq!(lowered.kernels.iter().map(|kernel| kernel.missed).collect::<Vec<_>>(), [Some(7.0), None]);
}

#[test]
fn fp32_that_the_network_does_not_hold_is_no_parameter() {
    let settings = Settings { precision: Precision::MustKeepOriginDtype, ..Settings::default() };
    let missed = |l2_size: u64| {
        let mut net = Net(Graph::new("net"));
        let float = |_: &str| TensorDesc::new(DataType::Float, Shape::new(vec![1024i64, 1024]));
        let x = net.0.add_input("x", float("x")).unwrap();
        let weight = net.0.add_const("w", float("w"), Constant::Opaque).unwrap();
        let mut op = |name: &str, op: &str, inputs: &[Port]| {
            Port::first(net.0.add(Node::new(name, op).with_inputs(inputs.iter().copied())).unwrap())
        };
        let a = op("a", "Sqrt", &[x]);
        let b = op("b", "Softsign", &[a]);
        let c = op("c", "Mul", &[b, weight]);
        net.0.set_outputs(vec![c]);
        infer::infer(&mut net.0).unwrap();
        let soc = Soc { l2_size, ..Soc::find("Ascend910B2").unwrap() };
        let mut lowered = lower(&net.0, &soc, &settings).unwrap();
        settle(&net.0, &mut lowered, &soc, &settings, &[]);
        lowered.kernels.iter().map(|kernel| kernel.missed).collect::<Vec<_>>()
    };
    // The caller's tensor comes from device memory and what is made of it stays; the network's own is read as parameters are.
    assert_eq!(missed(192 << 20), [Some(4.0 * 1024.0 * 1024.0), Some(0.0), None]);
    // What has left L2 since comes from there, too.
    assert!(missed(1 << 20)[1].is_some_and(|bytes| bytes >= 4.0 * 1024.0 * 1024.0));
}

#[test]
fn each_part_of_a_cut_group_has_its_share_of_what_comes_from_before_beside_its_own() {
    let (graph, soc, mut lowered) = product_and_relu();
    for kernel in &mut lowered.kernels {
        (kernel.launches, kernel.missed) = (4, Some(7.0));
    }
    settle(&graph, &mut lowered, &soc, &Settings::default(), std::slice::from_ref(&(0..2)));
    // The caller's input lies in device memory; of weights and of what the group makes its kernels know.
    let share = (ROWS * 64 * ELEMENT / 4) as f64;
    assert_eq!(lowered.kernels.iter().map(|kernel| kernel.missed).collect::<Vec<_>>(), [Some(7.0 + share), Some(7.0)]);
}
