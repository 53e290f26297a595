//! The operands of products and convolutions: element types that do not go together, strides over what no window slides
//! over, and groups that no attribute states.

use super::{Finding, Rule, shared_places};
use crate::frontend::warnings::warn;
use crate::graph::infer::conv::Convolution;
use crate::graph::infer::{Call, Values};
use crate::graph::op::prototype::{self, Count, TypeSet};
use crate::graph::op::{self, ConvPass, Kind, OpClass};
use crate::graph::{DataType, Graph, Node};
use crate::spelling::listed;

/// Attributes of a convolution with a number for each axis of its image.
const STEPS: [&str; 2] = ["strides", "dilations"];
/// What becomes of a step that no kernel takes, and of one that another order of axes explains.
const IDLE: &str = "no window steps over these, it counts as 1";
const TURNED: &str = "it is read in the other order of axes, in which channels have 1";

/// Says of a graph, whose shapes are inferred, what keeps nobody from tuning it and GE perhaps from compiling it; and how
/// its convolutions are read that state no groups.
pub fn tell(graph: &Graph) {
    let words = |Finding { node, op, reason, .. }: Finding| format!("node `{node}` ({op}) {reason}");
    warn(shared_places(graph).into_iter().map(words), "more inputs share their places");
    warn(mixed(graph).map(words), "more products are of two types");
    let stepping = graph.iter().flat_map(|(_, node)| steps(graph, node));
    warn(stepping.map(words), "more convolutions step over images or channels");
    let values = Values::default();
    let implied =
        |node: &Node| Some((node.name.clone(), Convolution::implied_groups(&Call::new(graph, node, &values))?));
    let forward = graph.iter().map(|(_, node)| node).filter(|node| is_forward(node));
    let implied: Vec<String> =
        forward.filter_map(implied).map(|(name, groups)| format!("`{name}` ({groups})")).collect();
    if !implied.is_empty() {
        let names: Vec<&str> = implied.iter().map(String::as_str).collect();
        log::info!(
            "groups are read off the channels of image and filter, as no attribute states them: {}",
            listed(&names)
        );
    }
}

fn is_forward(node: &Node) -> bool {
    node.mapped && op::kind(&node.op_type) == Kind::Conv(ConvPass::Forward)
}

/// Products of two different types of real numbers, where the interface has the same types for both operands. GE converts
/// one of them, or finds no kernel: that hangs on the precision mode.
pub(super) fn mixed(graph: &Graph) -> impl Iterator<Item = Finding> {
    graph.iter().filter_map(|(_, node)| mixed_product(graph, node))
}

fn mixed_product(graph: &Graph, node: &Node) -> Option<Finding> {
    let is_product = matches!(op::class(&node.op_type), OpClass::MatMul | OpClass::Conv);
    let prototype = prototype::prototype(&node.op_type).filter(|_| node.mapped && is_product)?;
    let required = || prototype.inputs.iter().enumerate().filter(|(_, slot)| slot.count == Count::Required);
    // Before the operands may stand what sizes a result; behind them stands what goes with one of them.
    let [(left, x), (right, y)] = required().find_map(|(at, slot)| {
        let other = required().find(|(other, same)| *other > at && same.types == slot.types)?;
        (slot.types != TypeSet::ALL).then_some([(at, slot), other])
    })?;
    let real = |place: usize| {
        let port = node.input(place)?;
        let (desc, maker) = (graph.desc(port), &graph.node(port.node).op_type);
        // Of a tensor that nobody has described, and of an operator that nobody knows, float32 is GE's default.
        let is_known = prototype::prototype(maker).is_some() || op::family(maker).is_some();
        let is_told = desc.shape.dims().is_some() && (is_known || desc.dtype != DataType::Float);
        (is_told && desc.dtype.is_float() && desc.dtype.bits() >= 16).then_some(desc.dtype)
    };
    let (one, other) = (real(left)?, real(right)?);
    let reason = format!(
        "multiplies {} at `{}` with {} at `{}`: the type of the first counts, and GE has to convert the other",
        one.name(),
        x.name,
        other.name(),
        y.name
    );
    let advice = "convert one of them to the type of the other".to_owned();
    (one != other).then(|| found(node, Rule::Type, false, reason, advice))
}

fn found(node: &Node, rule: Rule, blocks: bool, reason: String, advice: String) -> Finding {
    Finding { node: node.name.clone(), op: node.op_type.clone(), rule, blocks, reason, advice }
}

/// Strides and dilations of a convolution over images or channels, which no kernel has: they count as 1.
pub(super) fn steps(graph: &Graph, node: &Node) -> Vec<Finding> {
    if !node.mapped || op::class(&node.op_type) != OpClass::Conv {
        return Vec::new();
    }
    let values = Values::default();
    // Of other passes no input of this place is sure to be the image.
    let format = is_forward(node).then(|| Call::new(graph, node, &values).format(0));
    let over = |name: &'static str| {
        let list = node.attrs.ints(name).filter(|list| matches!(list.len(), 4 | 5))?;
        let (first, second, last) = (list[0], list[1], list[list.len() - 1]);
        let channels_last = format.and_then(|format| format.channels_last(list.len()));
        let set = |what: &str, value: i64, blocks: bool, read: &str| {
            let reason = format!("has {value} for the {what} in `{name}` {list:?}: {read}");
            found(node, Rule::Attribute, blocks, reason, format!("set 1 for the {what}"))
        };
        Some(match (first, second, last, channels_last) {
            (1, 1, _, Some(false) | None) | (1, _, 1, Some(true) | None) => return None,
            (1, 1, value, Some(true)) | (1, value, 1, Some(false)) => set("channels", value, false, TURNED),
            (1, second, last, by_last) => {
                set("channels", if by_last == Some(true) { last } else { second }, true, IDLE)
            }
            (images, ..) => set("images", images, true, IDLE),
        })
    };
    STEPS.into_iter().filter_map(over).collect()
}

#[cfg(test)]
mod tests {
    use super::{mixed, steps};
    use crate::frontend::check::{Rule, judge};
    use crate::graph::{Attr, DataType, Format, Graph, Node, Shape, TensorDesc, infer};

    /// An operator that reads tensors of these types and sizes, inferred.
    fn of(op_type: &str, inputs: &[(DataType, &[i64])], attrs: &[(&str, &[i64])]) -> Graph {
        let mut graph = Graph::new("test");
        let format = Format::Nchw;
        let desc = |dtype: DataType, dims: &[i64]| TensorDesc { format, ..TensorDesc::new(dtype, Shape::new(dims)) };
        let input = |(at, (dtype, dims)): (usize, &(DataType, &[i64]))| {
            graph.add_input(format!("in{at}"), desc(*dtype, dims)).unwrap()
        };
        let ports: Vec<_> = inputs.iter().enumerate().map(input).collect();
        let mut node = Node::new("node", op_type).with_inputs(ports);
        for (name, list) in attrs {
            node.attrs.set(*name, Attr::Ints(list.to_vec()));
        }
        graph.add(node).unwrap();
        infer::infer(&mut graph).unwrap();
        graph
    }

    #[test]
    fn products_of_two_types_of_real_numbers_are_named() {
        use DataType::{Bfloat16, Float, Float16, Int8};
        let [window, pads]: [&[i64]; 2] = [&[1, 1, 1, 1], &[0, 0, 0, 0]];
        let [image, filter]: [&[i64]; 2] = [&[1, 8, 16, 16], &[8, 8, 3, 3]];
        let [matrix, stack]: [&[i64]; 2] = [&[16, 16], &[4, 16, 16]];
        let conv = |types: [DataType; 2]| {
            of("Conv2D", &[(types[0], image), (types[1], filter)], &[("strides", window), ("pads", pads)])
        };
        let product =
            |op_type: &str, dims, types: [DataType; 2]| of(op_type, &[(types[0], dims), (types[1], dims)], &[]);
        for graph in [
            conv([Float16, Float]),
            product("MatMul", matrix, [Float, Float16]),
            product("MatMulV2", matrix, [Float16, Float]),
            product("MatMulV3", matrix, [Bfloat16, Float16]),
            product("BatchMatMul", stack, [Float16, Float]),
            product("BatchMatMulV2", stack, [Float16, Bfloat16]),
        ] {
            let found: Vec<_> = mixed(&graph).collect();
            let [one] = &found[..] else { panic!("{found:?}") };
            assert_eq!((one.node.as_str(), one.rule, one.blocks), ("node", Rule::Type, false));
            assert!(one.reason.starts_with("multiplies ") && one.reason.contains("float16"), "{}", one.reason);
            let judged = judge(&graph).findings;
            assert!(judged.iter().any(|finding| finding.reason == one.reason), "{judged:?}");
        }
        for graph in [conv([Float16; 2]), product("MatMulV2", matrix, [Int8; 2]), conv([Int8, Int8])] {
            assert_eq!(mixed(&graph).count(), 0);
        }
        // What an operator makes that nobody knows is float32 by default.
        for (dtype, found) in [(Float, 0), (Bfloat16, 1)] {
            let mut graph = Graph::new("test");
            let desc = |dtype| TensorDesc::new(dtype, Shape::new(matrix));
            let known = graph.add_input("x", desc(Float16)).unwrap();
            let odd = Node::new("odd", "SomeoneElsesOperator").with_inputs([known]).with_outputs(vec![desc(dtype)]);
            let odd = crate::graph::Port::first(graph.add(odd).unwrap());
            graph.add(Node::new("node", "MatMulV2").with_inputs([odd, known])).unwrap();
            assert_eq!(mixed(&graph).count(), found, "{dtype:?}");
        }
    }

    #[test]
    fn a_stride_over_images_or_channels_is_named() {
        let [image, filter]: [&[i64]; 2] = [&[4, 8, 16, 16], &[8, 8, 3, 3]];
        let found = |name: &str, list: &[i64]| {
            let inputs = [(DataType::Float16, image), (DataType::Float16, filter)];
            let graph = of("Conv2D", &inputs, &[(name, list), ("pads", &[0, 0, 0, 0])]);
            let found = steps(&graph, graph.iter().last().unwrap().1);
            found.into_iter().map(|finding| (finding.blocks, finding.reason)).collect::<Vec<_>>()
        };
        for plain in [&[1, 1, 2, 2][..], &[2, 2], &[2]] {
            assert_eq!(found("strides", plain), [], "{plain:?}");
        }
        for (name, list, what, blocks) in [
            ("strides", [2, 1, 1, 1], "has 2 for the images in `strides` [2, 1, 1, 1]", true),
            ("strides", [1, 3, 2, 2], "has 3 for the channels in `strides`", true),
            ("dilations", [1, 2, 2, 2], "has 2 for the channels in `dilations`", true),
            ("strides", [1, 2, 2, 1], "read in the other order of axes", false),
        ] {
            let found = found(name, &list);
            assert!(matches!(&found[..], [(stops, why)] if *stops == blocks && why.contains(what)), "{found:?}");
        }
    }
}
