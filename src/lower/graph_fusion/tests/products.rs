//! Biases, activations and scalars behind products.

use super::super::Part;
use super::super::passes::{PASSES, Pass};
use super::{Line, types};
use crate::graph::{Attr, Constant, DataType, Graph, Port, Shape, TensorDesc};
use crate::lower::{FUSED_NODES, Switches};
use crate::soc::Soc;

/// As the graphs have it, and CANN's pass compares it.
#[expect(clippy::approx_constant, reason = "of eight places, as CANN has it")]
const ROOT_OF_TWO: f64 = 1.414_213_56;
const PARTS: [&str; 4] = ["Ascend910A", "Ascend310P3", "Ascend910B2", "Ascend950PR_9589"];

impl Line {
    fn scalar(&mut self, name: &str, value: f64) -> Port {
        let desc = TensorDesc::new(DataType::Float, Shape::scalar());
        self.graph.add_const(name, desc, Constant::Floats(vec![value])).unwrap()
    }

    /// Lets the end of the line be an input of the last node on the other side.
    fn turned(&mut self) -> &mut Line {
        self.graph.node_mut(self.end.node).inputs.reverse();
        self
    }

    pub(super) fn by(&mut self, name: &str, op_type: &str, value: f64) -> &mut Line {
        let scalar = self.scalar(&format!("{name}/value"), value);
        self.then(name, op_type, &[scalar], &[])
    }
}

pub(super) fn node<'a>(graph: &'a Graph, name: &str) -> &'a crate::graph::Node {
    graph.node(graph.find(name).unwrap())
}

/// Which node each input of a node comes from.
pub(super) fn inputs(graph: &Graph, name: &str) -> Vec<String> {
    node(graph, name).inputs.iter().flatten().map(|port| graph.node(port.node).name.clone()).collect()
}

#[test]
fn a_bias_of_one_axis_goes_into_a_product_of_any_rank() {
    for dims in [&[32][..], &[4, 32], &[2, 4, 32], &[2, 3, 4, 32]] {
        for part in PARTS {
            for turned in [false, true] {
                let mut line = Line::new(dims);
                let weights = line.weight("w", &[32, 10]);
                line.then("m", "BatchMatMul", &[weights], &[]).norm("b", "Add", 10, 1, &[]);
                if turned {
                    line.turned();
                }
                let fused = line.fused_on(part, &Switches::default());
                let expected = if part.contains("950") { "BatchMatMulV3" } else { "BatchMatMulV2" };
                assert!(types(&fused) == ["BatchMatMulV2"] || types(&fused) == [expected], "{dims:?}");
                assert_eq!(inputs(&fused, "m"), ["x", "w", "b/0"]);
                assert_eq!(node(&fused, "m").attrs.get(FUSED_NODES), Some(&Attr::Strs(vec!["b".into()])));
            }
        }
    }
}

#[test]
fn a_bias_need_not_be_constant() {
    let mut line = Line::new(&[2, 4, 32]);
    let bias = line.graph.add_input("bias", TensorDesc::new(DataType::Float, Shape::new([10]))).unwrap();
    let weights = line.weight("w", &[32, 10]);
    line.then("m", "BatchMatMulV2", &[weights], &[]).then("b", "Add", &[bias], &[]);
    assert_eq!(types(&line.fused()), ["BatchMatMulV2"]);
}

#[test]
fn a_sum_that_is_no_bias_of_a_stack_stays() {
    let summed = |op_type: &str, change: &dyn Fn(&mut Line) -> Vec<i64>| {
        let mut line = Line::new(&[2, 4, 32]);
        let weights = line.weight("w", &[32, 10]);
        line.then("m", op_type, &[weights], &[]);
        let dims = change(&mut line);
        let summand = line.weight("s", &dims);
        line.then("a", "Add", &[summand], &[]);
        types(&line.fused()).len()
    };
    assert_eq!(summed("BatchMatMulV2", &|_| vec![10]), 1);
    for dims in [&[1][..], &[], &[4, 10], &[1, 10], &[2, 4, 10], &[4, 1], &[2, 2, 4, 10]] {
        assert_eq!(summed("BatchMatMulV2", &|_| dims.to_vec()), 2, "{dims:?}");
    }
    assert_eq!(summed("MatMulV2", &|_| vec![10]), 2, "a stack is none of the products of rank 2");
    let leaves = |line: &mut Line| {
        line.graph.add_output(line.end);
        vec![10]
    };
    assert_eq!(summed("BatchMatMulV2", &leaves), 2, "the product leaves the graph");
    let read = |line: &mut Line| {
        line.graph.add(crate::graph::Node::new("r", "Relu").with_inputs([line.end])).unwrap();
        vec![10]
    };
    assert_eq!(summed("BatchMatMulV2", &read), 3, "the product is read twice");
}

#[test]
fn a_product_takes_one_bias() {
    let mut line = Line::new(&[4, 32]);
    let weights = line.weight("w", &[32, 10]);
    line.then("m", "BatchMatMulV2", &[weights], &[]).norm("b", "Add", 10, 1, &[]).norm("c", "Add", 10, 1, &[]);
    assert_eq!(types(&line.fused()), ["BatchMatMulV2", "Add"]);
}

#[test]
fn a_bias_behind_a_view_that_keeps_the_columns_goes_into_the_product() {
    let summed = |dims: &[i64], bias: i64, part: &str| {
        let mut line = Line::new(&[12, 32]);
        let weights = line.weight("w", &[32, 10]);
        let sizes = line.ints("sizes", dims);
        line.then("m", "MatMulV2", &[weights], &[]).then("v", "Reshape", &[sizes], &[]).norm("b", "Add", bias, 1, &[]);
        line.then("r", "Relu", &[], &[]);
        line.fused_on(part, &Switches::default())
    };
    let fused = summed(&[3, 4, 10], 10, "Ascend910B2");
    assert_eq!(types(&fused).len(), 2);
    assert_eq!((inputs(&fused, "r"), inputs(&fused, "m").len()), (vec!["v".to_owned()], 3));
    assert_eq!(types(&summed(&[3, 8, 5], 5, "Ascend910B2")).len(), 3);
    assert_eq!(types(&summed(&[3, 4, 10], 10, "Ascend310P3")).len(), 3);
}

/// GELU by erf as frameworks export it: the 0.5 behind all of it, or before.
fn gelu_of_erf(root: f64, half: f64, behind: bool) -> Line {
    let mut line = Line::new(&[1, 8, 64]);
    let x = line.then("in", "Relu", &[], &[]).end;
    line.by("d", "Div", root).then("e", "Erf", &[], &[]).by("a", "Add", 1.0);
    if behind {
        line.then("m", "Mul", &[x], &[]).by("h", "Mul", half);
    } else {
        let term = std::mem::replace(&mut line.end, x);
        line.by("h", "Mul", half).then("m", "Mul", &[term], &[]);
    }
    line
}

#[test]
fn gelu_by_erf_is_one_operator_wherever_the_half_is() {
    for part in PARTS {
        for (behind, last) in [(true, "h"), (false, "m")] {
            for turned in [false, true] {
                let mut line = gelu_of_erf(ROOT_OF_TWO, 0.5, behind);
                if turned {
                    line.turned();
                }
                line.then("r", "Relu", &[], &[]);
                let fused = line.fused_on(part, &Switches::default());
                assert_eq!(types(&fused), ["Relu", "Gelu", "Relu"], "{part} {behind}");
                assert_eq!(inputs(&fused, last), ["in"]);
                let Some(Attr::Strs(names)) = node(&fused, last).attrs.get(FUSED_NODES) else { panic!("names") };
                assert_eq!(names.len(), 4);
            }
        }
    }
}

#[test]
fn what_only_looks_like_gelu_by_erf_stays() {
    for behind in [true, false] {
        // CANN's pass compares with 1.41421 to five digits.
        for (root, half) in [(1.5, 0.5), (1.4143, 0.5), (1.41418, 0.5), (ROOT_OF_TWO, 0.6)] {
            let mut line = gelu_of_erf(root, half, behind);
            line.then("r", "Relu", &[], &[]);
            assert_eq!(types(&line.fused()).len(), 7, "{root} {half}");
        }
        for inner in ["d", "e", "a"] {
            let mut line = gelu_of_erf(ROOT_OF_TWO, 0.5, behind);
            line.graph.add_output(Port::first(line.graph.find(inner).unwrap()));
            assert!(!types(&line.fused()).contains(&"Gelu"), "{inner} leaves the graph");
        }
    }
}

/// GELU by tanh with a power, as GPT-2 has it.
fn gelu_of_tanh(exponent: f64, behind: bool) -> Line {
    let mut line = Line::new(&[1, 8, 64]);
    let x = line.then("in", "Relu", &[], &[]).end;
    line.by("p", "Pow", exponent).by("c", "Mul", 0.044_715).then("s", "Add", &[x], &[]).turned();
    line.by("f", "Mul", 0.797_884_6).then("t", "Tanh", &[], &[]).by("a", "Add", 1.0);
    if behind {
        line.then("m", "Mul", &[x], &[]).by("h", "Mul", 0.5);
    } else {
        let term = std::mem::replace(&mut line.end, x);
        line.by("h", "Mul", 0.5).then("m", "Mul", &[term], &[]);
    }
    line
}

#[test]
fn gelu_by_tanh_is_one_operator_where_the_part_has_the_pass() {
    for behind in [true, false] {
        for part in ["Ascend910A", "Ascend310P3", "Ascend310B1", "Ascend910B2", "Ascend910_9391"] {
            let fused = gelu_of_tanh(3.0, behind).fused_on(part, &Switches::default());
            assert_eq!(types(&fused), ["Relu", "Gelu"], "{part}");
        }
        let fused = gelu_of_tanh(3.0, behind).fused_on("Ascend950PR_9589", &Switches::default());
        assert_eq!(types(&fused).len(), 9);
        assert_eq!(types(&gelu_of_tanh(2.0, behind).fused()).len(), 9);
    }
}

#[test]
fn a_division_by_a_scalar_is_a_product_with_its_reciprocal() {
    let divided = |value: f64, part: &str| {
        let mut line = Line::new(&[1, 8, 64]);
        line.by("d", "RealDiv", value);
        line.fused_on(part, &Switches::default())
    };
    let fused = divided(8.0, "Ascend910B2");
    assert_eq!(types(&fused), ["Muls"]);
    assert_eq!(types(&divided(8.0, "Ascend310B1")), ["Muls"]);
    assert_eq!(node(&fused, "d").attrs.float("value"), Some(0.125));
    for (value, part) in [(1e-7, "Ascend910B2"), (-8.0, "Ascend910B2"), (8.0, "Ascend950PR_9589")] {
        assert_eq!(types(&divided(value, part)), ["RealDiv"], "{value} on {part}");
    }
    let mut line = Line::new(&[1, 8, 64]);
    line.by("d", "RealDiv", 8.0).turned();
    assert_eq!(types(&line.fused()), ["RealDiv"], "a scalar divided");
}

#[test]
fn a_pass_that_is_switched_off_leaves_what_it_would_fuse() {
    let fused = gelu_of_erf(ROOT_OF_TWO, 0.5, true).fused_on("Ascend910B2", &Switches::closed());
    assert_eq!(types(&fused).len(), 6);
}

/// The names that a network of PyTorch launches follow the same rule.
#[test]
fn products_get_their_third_version_only_on_parts_that_launch_it() {
    let thirds: Vec<&Pass> = PASSES.iter().filter(|pass| pass.name.contains("atmulV3FusionPass")).collect();
    assert_eq!(thirds.len(), 3);
    for soc in Soc::names().iter().map(|name| Soc::find(name).unwrap()) {
        let renamed = thirds.iter().any(|pass| pass.parts.contains(&Part::of(&soc)));
        assert!(!renamed || soc.arch.has_third_products(), "{}", soc.name);
        let is_new = matches!(Part::of(&soc), Part::P910B | Part::A3 | Part::P950);
        assert_eq!(soc.arch.has_third_products(), is_new, "{}", soc.name);
    }
}
