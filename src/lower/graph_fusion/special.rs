//! Operators that stand for the special case of another.

use super::confusion::TRANSPOSES;
use super::rewrite::Fusion;
use super::transpose::TURNED;
use crate::graph::infer::conv::Convolution;
use crate::graph::infer::{Axis, movement};
use crate::graph::op::ConvPass;
use crate::graph::{Attr, Attrs, DataType, NodeId, Port, Shape, TensorDesc};

/// Types that cut a tensor into parts.
const SPLITS: &[&str] = &["Split", "SplitD", "SplitV", "SplitVD"];
/// Length from which on a cut axis has a gate of its own kernel.
const LEAST_GATED: i64 = 512;
/// Elements from which on a row is too long to be read with its batch in the middle.
const LONGEST_ROW: i64 = 65536;

impl Fusion<'_> {
    /// `Conv2D` whose groups, stated or read off its channels, are its channels -> `DepthwiseConv2D`.
    pub(super) fn depthwise(&mut self, id: NodeId) -> Option<bool> {
        let node = self.graph.node(id);
        let stated = node.attrs.int("groups").filter(|&groups| groups > 1);
        let groups = stated.or_else(|| self.ask(node, Convolution::implied_groups))?;
        let image = self.graph.desc(node.input(0)?);
        let &[_, first, _, last] = image.shape.known()? else { return None };
        let channels_last = self.ask(node, |call| call.channels_last(image.format, 4));
        if groups != if channels_last { last } else { first } {
            return Some(false);
        }
        self.rename(id, "DepthwiseConv2D");
        Some(true)
    }

    /// `Conv2D` whose filter is as large as its image, padding apart -> `FullyConnection`, where one operator reads it.
    pub(super) fn convolution_of_all(&mut self, id: NodeId) -> Option<bool> {
        let node = self.graph.node(id);
        let (image, filter) = (node.input(0)?, node.input(1)?);
        let read = self.ask(node, |call| Convolution::of(call, ConvPass::Forward)).ok()??;
        let covers = |axis: &Axis| axis.input == axis.kernel && axis.pads == [0, 0] && axis.dilation == 1;
        let channels_last = self.ask(node, |call| call.channels_last(self.graph.desc(image).format, 4));
        // The filter of the operator that it becomes has its axes in the order of the image's.
        let in_order = !channels_last && self.dims(image).map(|x| &x[1..]) == self.dims(filter).map(|w| &w[1..]);
        let stored = self.precision.stored(self.graph.desc(image).dtype);
        let fits = match stored {
            DataType::Float => read.cout % 16 == 0,
            other => other.is_float(),
        };
        let is_plain = read.groups == 1 && read.axes.len() == 2 && read.axes.iter().all(covers);
        if !is_plain || !in_order || !fits || self.read(Port::first(id)) != 1 {
            return Some(false);
        }
        let inputs: Vec<_> = (0..3).map(|input| self.graph.node(id).input(input)).collect();
        let mut attrs = Attrs::default();
        attrs.set("num_output", Attr::Int(read.cout));
        attrs.set("transpose", Attr::Bool(false));
        attrs.set("axis", Attr::Int(1));
        self.become_one(id, "FullyConnection", attrs, inputs, &[]);
        Some(true)
    }

    /// (`Transpose` [1, 0, 2] ->) `BatchMatMul` -> `Transpose` [1, 0, 2]: `TransposeBatchMatMul`, which reads and writes
    /// its batch in the middle.
    pub(super) fn product_between_transposes(&mut self, id: NodeId) -> Option<bool> {
        let made = self.graph.node(id).input(0)?;
        let product = self.made(made, &["BatchMatMul", "BatchMatMulV2"])?;
        if !self.swaps_first_two(id) {
            return Some(false);
        }
        let turned = ["adj_x1", "adj_x2", "transpose_x1", "transpose_x2"];
        let node = self.graph.node(product);
        let is_turned = turned.iter().any(|name| node.attrs.bool(name) == Some(true));
        let [a, b] = [node.input(0)?, node.input(1)?];
        let before = self.made(a, TRANSPOSES).filter(|&before| self.swaps_first_two(before));
        let x = before.and_then(|before| self.graph.node(before).input(0)).unwrap_or(a);
        let (Some(&[batch, _, k]), Some(&[stack, _, n])) = (self.dims(a), self.dims(b)) else { return Some(false) };
        let stored = [a, b].map(|port| self.precision.stored(self.graph.desc(port).dtype));
        let rows = batch.saturating_mul(k);
        let fits = match stored {
            [DataType::Float, DataType::Float] => rows < LONGEST_ROW,
            [DataType::Float16, DataType::Float16] | [DataType::Bfloat16, DataType::Bfloat16] => {
                k % 128 == 0 && n % 128 == 0 && (rows < LONGEST_ROW || k < LONGEST_ROW)
            }
            _ => false,
        };
        if is_turned || self.graph.node(product).input(2).is_some() || batch != stack || !fits {
            return Some(false);
        }
        let swapped = Attr::Ints(vec![1, 0, 2]);
        let straight = Attr::Ints(vec![0, 1, 2]);
        let mut attrs = Attrs::default();
        attrs.set("perm_x1", if before.is_some() { swapped.clone() } else { straight.clone() });
        attrs.set("perm_x2", straight);
        attrs.set("perm_y", swapped);
        let gone: Vec<NodeId> = [Some(product), before].into_iter().flatten().collect();
        self.become_one(id, "TransposeBatchMatMul", attrs, vec![Some(x), Some(b)], &gone);
        Some(true)
    }

    /// Whether a transpose of three axes swaps the first two.
    fn swaps_first_two(&self, transpose: NodeId) -> bool {
        let order = self.ask(self.graph.node(transpose), |call| movement::permutation(call, 3));
        order.is_ok_and(|order| order.as_deref() == Some(&[1, 0, 2]))
    }

    /// Products whose inner axis has one element -> `Mul`, which repeats a column and a row; of an operand that the product
    /// reads turned over it reads a view.
    pub(super) fn product_of_one_term(&mut self, id: NodeId) -> Option<bool> {
        let [a, b] = self.pair(id)?;
        let sizes = [a, b].map(|port| self.dims(port).map(<[i64]>::to_vec));
        let [Some(column), Some(row)] = sizes else { return Some(false) };
        let turned =
            [0, 1].map(|operand| TURNED[operand].iter().any(|name| self.graph.node(id).attrs.bool(name) == Some(true)));
        let ([.., p, q], [.., r, s]) = (column.as_slice(), row.as_slice()) else { return Some(false) };
        let inner = [if turned[0] { *p } else { *q }, if turned[1] { *s } else { *r }];
        let [left, right] = [a, b].map(|port| self.graph.desc(port).dtype);
        if inner != [1, 1] || left != right || !left.is_float() {
            return Some(false);
        }
        let name = self.graph.node(id).name.clone();
        let mut inputs = [a, b];
        for (operand, mut dims) in [column, row].into_iter().enumerate().filter(|(operand, _)| turned[*operand]) {
            let last = dims.len() - 1;
            dims.swap(last - 1, last);
            let seen = TensorDesc::new(left, Shape::new(dims));
            inputs[operand] = self.view(format!("{name}/turned_{operand}"), inputs[operand], seen)?;
        }
        self.become_one(id, "Mul", Attrs::default(), inputs.map(Some).to_vec(), &[]);
        Some(true)
    }

    /// A tensor cut into halves, of which one goes through `Gelu` and is multiplied by the other -> `GeGluV2`.
    pub(super) fn gated_gelu(&mut self, id: NodeId) -> Option<bool> {
        let (gelu, other) = self.either(id, |this, port| this.made(port, &["Gelu", "GeluV2"]))?;
        let activated = self.graph.node(gelu).input(0)?;
        let cut = activated.node;
        let node = self.graph.node(cut);
        let halves = cut == other.node && activated.output != other.output && node.outputs.len() == 2;
        if !halves || !SPLITS.contains(&node.op_type.as_str()) || !self.is_live(cut) {
            return Some(false);
        }
        self.follow(cut);
        let sizes = [activated, other].map(|port| self.dims(port).map(<[i64]>::to_vec));
        let [Some(left), Some(right)] = sizes else { return Some(false) };
        let inputs = self.graph.node(cut).inputs.clone();
        let whole =
            inputs.into_iter().flatten().find(|&port| self.dims(port).is_some_and(|d| d.len() == left.len()))?;
        let x = self.dims(whole)?.to_vec();
        let axis = (0..x.len()).find(|&axis| x[axis] != left[axis])?;
        let is_cut = left == right && (0..x.len()).all(|at| x[at] == if at == axis { 2 * left[at] } else { left[at] });
        let alone = [activated, other].iter().all(|&port| self.has_one_reader(port));
        if !is_cut || !alone || x[axis] <= LEAST_GATED {
            return Some(false);
        }
        let mut attrs = Attrs::default();
        attrs.set("dim", Attr::Int(axis as i64));
        attrs.set("approximate", Attr::Int(1));
        attrs.set("activate_left", Attr::Bool(activated.output == 0));
        self.become_one(id, "GeGluV2", attrs, vec![Some(whole)], &[gelu, cut]);
        Some(true)
    }
}
