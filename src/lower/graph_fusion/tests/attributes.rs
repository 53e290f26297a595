//! Types that kernels have once what was constant is an attribute.

use super::{Line, types};
use crate::graph::{Attr, Graph, Node, Port, TensorDesc};
use crate::lower::{Settings, Switches, lower};
use crate::soc::Soc;
use crate::workload::Workload;

const PARTS: [&str; 3] = ["Ascend910A", "Ascend310P3", "Ascend910B2"];

/// The line's graph with nothing fused and with everything fused, which must do the same work but for the type's name.
fn both(line: &Line, part: &str) -> [(Vec<String>, Vec<Workload>); 2] {
    let soc = Soc::find(part).unwrap();
    let work = |graph: &Graph| {
        let lowered = lower(graph, &soc, &Settings::default()).unwrap();
        lowered.kernels.into_iter().map(|kernel| kernel.workload).collect::<Vec<_>>()
    };
    [Switches::closed(), Switches::default()].map(|switches| {
        let graph = line.fused_on(part, &switches);
        (types(&graph).iter().map(|t| (*t).to_owned()).collect(), work(&graph))
    })
}

fn becomes(line: &Line, from: &str, to: &str) {
    for part in PARTS {
        let [(before, plain), (after, named)] = both(line, part);
        assert_eq!((before, after), (vec![from.to_owned()], vec![to.to_owned()]), "{part}");
        let sizes = |work: &[Workload]| format!("{:?}", work[0].operands());
        assert_eq!(sizes(&plain), sizes(&named), "{part}");
    }
    let other = line.fused_on("Ascend950PR_9589", &Switches::default());
    assert_eq!(types(&other), [from], "kernels of the 950 are other ones");
}

#[test]
fn a_reduction_has_its_axes_as_an_attribute() {
    let mut line = Line::new(&[2, 16, 7, 7]);
    let axes = line.ints("axes", &[2, -1]);
    line.then("r", "ReduceMean", &[axes], &[("keep_dims", Attr::Bool(true))]);
    becomes(&line, "ReduceMean", "ReduceMeanD");
    let fused = line.fused_on("Ascend910B2", &Switches::default());
    let (_, node) = fused.iter().find(|(_, node)| node.op_type == "ReduceMeanD").unwrap();
    assert_eq!(node.attrs.ints("axes"), Some(&[2, -1][..]));
    assert_eq!(node.inputs.len(), 1);
}

#[test]
fn a_slice_has_its_bounds_as_attributes() {
    let sliced = |step: i64| {
        let mut line = Line::new(&[2, 64, 30]);
        let [begin, end, axes, steps] = [[3, 1], [9, 1 << 40], [1, 2], [1, step]].map(|list| list.to_vec());
        let inputs = [("begin", begin), ("end", end), ("axes", axes), ("steps", steps)];
        let inputs: Vec<Port> = inputs.iter().map(|(name, list)| line.ints(name, list)).collect();
        line.then("s", "StridedSliceV2", &inputs, &[]);
        line
    };
    becomes(&sliced(4), "StridedSliceV2", "StridedSliceD");
    let fused = sliced(4).fused_on("Ascend910B2", &Switches::default());
    let (_, node) = fused.iter().find(|(_, node)| node.op_type == "StridedSliceD").unwrap();
    assert_eq!(node.attrs.ints("begin"), Some(&[0, 3, 1][..]));
    assert_eq!(node.attrs.ints("strides"), Some(&[1, 1, 4][..]));
}

#[test]
fn parts_have_their_sizes_as_attributes() {
    let mut line = Line::new(&[4, 24]);
    let [sizes, axis] = [("sizes", vec![8, 16]), ("axis", vec![-1])].map(|(name, list)| line.ints(name, &list));
    let mut node = Node::new("s", "SplitV").with_inputs([line.end, sizes, axis]);
    node.attrs.set("num_split", Attr::Int(2));
    node.outputs = vec![TensorDesc::unknown(); 2];
    line.end = Port::first(line.graph.add(node).unwrap());
    becomes(&line, "SplitV", "SplitVD");
}

#[test]
fn a_norm_with_given_statistics_is_an_inference() {
    let mut line = Line::new(&[2, 16, 7, 7]);
    line.norm("n", "BatchNorm", 16, 4, &[("is_training", Attr::Bool(false)), ("data_format", super::text("NCHW"))]);
    for part in PARTS {
        let fused = line.fused_on(part, &Switches::default());
        assert_eq!(types(&fused), ["BNInferenceD"], "{part}");
    }
    let mut trained = Line::new(&[2, 16, 7, 7]);
    trained.norm("n", "BatchNorm", 16, 4, &[("data_format", super::text("NCHW"))]);
    assert_eq!(types(&trained.fused_on("Ascend910B2", &Switches::default())), ["BatchNorm"]);
}
