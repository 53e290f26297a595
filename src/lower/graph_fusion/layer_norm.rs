//! Layer normalisation out of its parts, and together with the sum before it.

use super::rewrite::Fusion;
use crate::graph::infer::{norm, reduce};
use crate::graph::{Attr, Attrs, DataType, NodeId, Port, Shape, TensorDesc};

const MEANS: &[&str] = &["ReduceMean", "ReduceMeanD"];
const SUMS: &[&str] = &["Add", "AddV2"];
const NORM: &str = "LayerNorm";

/// What a norm's sum adds up.
struct Summands {
    pair: [Port; 2],
    bias: Option<Port>,
    /// The sum within the sum.
    inner: Option<NodeId>,
}

/// The attributes of a norm over the last axis.
fn of_rows(epsilon: f64) -> Attrs {
    let mut attrs = Attrs::default();
    attrs.set("begin_norm_axis", Attr::Int(-1));
    attrs.set("begin_params_axis", Attr::Int(-1));
    attrs.set("epsilon", Attr::Float(epsilon));
    attrs
}

impl Fusion<'_> {
    /// (x - mean) / sqrt(mean((x - mean)^2) + eps), and behind it a factor and a summand of one axis.
    pub(super) fn layer_norm_of_onnx(&mut self, id: NodeId) -> Option<bool> {
        match self.graph.node(id).op_type.as_str() {
            "Mul" => self.parameter_of_norm(id, 1),
            "Add" | "AddV2" => self.parameter_of_norm(id, 2),
            _ => self.centred_by_deviation(id),
        }
    }

    fn centred_by_deviation(&mut self, id: NodeId) -> Option<bool> {
        let [centred, deviation] = self.pair(id)?;
        let root = self.made(deviation, &["Sqrt"])?;
        let radicand = self.graph.node(root).input(0)?;
        let sum = self.made(radicand, SUMS)?;
        let (epsilon, variance) = self.either(sum, |this, port| this.scalar(port))?;
        let second = self.made(variance, MEANS)?;
        let squares = self.graph.node(second).input(0)?;
        let square = self.made(squares, &["Pow", "Square", "Mul"])?;
        let squared = self.squared(square)?;
        let mut gone = Vec::new();
        for port in if squared == centred { vec![centred] } else { vec![squared, centred] } {
            let difference = self.maker(port, &["Sub"])?;
            let [_, mean] = self.pair(difference)?;
            let first = self.maker(mean, MEANS)?;
            gone.extend([first, difference].into_iter().filter(|id| !gone.contains(id)).collect::<Vec<_>>());
        }
        let first = gone[0];
        let x = self.graph.node(first).input(0)?;
        let same = gone
            .iter()
            .filter(|&&id| self.graph.node(id).op_type == "Sub")
            .all(|&difference| self.pair(difference).is_some_and(|[minuend, _]| minuend == x));
        let rank = self.dims(x)?.len();
        gone.extend([square, second, sum, root]);
        let axes = [first, second].into_iter().all(|mean| self.is_mean_of_rows(mean, rank));
        if !same || !axes || !self.is_read_within(&gone, id) {
            return Some(false);
        }
        self.become_one(id, NORM, of_rows(epsilon), vec![Some(x)], &gone);
        Some(true)
    }

    /// What a node squares.
    fn squared(&mut self, id: NodeId) -> Option<Port> {
        let node = self.graph.node(id);
        if node.op_type == "Square" {
            return node.input(0);
        }
        let [x, other] = self.pair(id)?;
        let is_square = if node.op_type == "Mul" { x == other } else { self.scalar(other) == Some(2.0) };
        is_square.then_some(x)
    }

    /// Whether a mean goes over the last axis and keeps it.
    fn is_mean_of_rows(&self, mean: NodeId, rank: usize) -> bool {
        let gone = self.ask(self.graph.node(mean), |call| reduce::reduced(call, rank));
        let last = |gone: Vec<bool>| gone.iter().zip(1..).all(|(&gone, axis)| gone == (axis == rank));
        let keeps = self.dims(Port::first(mean)).map(<[i64]>::len) == Some(rank);
        rank > 0 && keeps && gone.is_ok_and(|gone| gone.is_some_and(last))
    }

    /// Whether the results of these nodes are read by one another and by `last` only.
    fn is_read_within(&self, nodes: &[NodeId], last: NodeId) -> bool {
        let within = |made: Port| {
            let readers = nodes.iter().chain([&last]);
            readers.flat_map(|&id| self.graph.node(id).inputs.iter().flatten()).filter(|&&port| port == made).count()
        };
        nodes.iter().all(|&id| self.read(Port::first(id)) as usize == within(Port::first(id)))
    }

    /// The factor (input 1) or the summand (input 2) of a norm that came out of its parts and lacks it.
    fn parameter_of_norm(&mut self, id: NodeId, input: usize) -> Option<bool> {
        let (host, parameter) = self.either(id, |this, port| this.made(port, &[NORM]))?;
        let node = self.graph.node(host);
        let columns = self.dims(Port::first(host)).and_then(<[i64]>::last);
        let is_vector = matches!(self.dims(parameter), Some([size]) if Some(size) == columns);
        if node.inputs.len() != input || !is_vector || !self.is_constant(Some(parameter)) {
            return None;
        }
        let (attrs, mut inputs) = (node.attrs.clone(), node.inputs.clone());
        inputs.push(Some(parameter));
        self.become_one(id, NORM, attrs, inputs, &[host]);
        Some(true)
    }

    /// TensorFlow's form: x * r + (beta - mean * r) with r = rsqrt(var + eps), or r times gamma.
    pub(super) fn layer_norm_of_rsqrt(&mut self, id: NodeId) -> Option<bool> {
        let ((shift, beta, mean, factor), scaled) = self.either(id, |this, port| {
            let shift = this.made(port, &["Sub"])?;
            let [beta, product] = this.pair(shift)?;
            let product = this.made(product, &["Mul"])?;
            let (mean, factor) = this.either(product, |this, port| this.maker(port, MEANS))?;
            Some(([product, shift], beta, mean, factor))
        })?;
        let product = self.made(scaled, &["Mul"])?;
        let [a, b] = self.pair(product)?;
        let x = if a == factor { b } else { a };
        let (root, gamma, mut gone) = match self.maker(factor, &["Mul"]) {
            Some(times) => {
                let (root, gamma) = self.either(times, |this, port| this.made(port, &["Rsqrt"]))?;
                (root, Some(gamma), vec![times])
            }
            None => (self.maker(factor, &["Rsqrt"])?, None, Vec::new()),
        };
        let radicand = self.graph.node(root).input(0)?;
        let sum = self.made(radicand, SUMS)?;
        let (epsilon, variance) = self.either(sum, |this, port| this.scalar(port))?;
        let second = self.made(variance, MEANS)?;
        let squares = self.graph.node(second).input(0)?;
        let square = self.made(squares, &["SquaredDifference"])?;
        gone.splice(0..0, [mean, square, second, sum, root]);
        gone.push(product);
        gone.extend(shift);
        let rank = self.dims(x)?.len();
        let columns = self.dims(x)?.last().copied();
        let is_vector = |port: Port| matches!(self.dims(port), Some(&[size]) if Some(size) == columns);
        let vectors = gamma.into_iter().chain([beta]).all(is_vector);
        let same = self.pair(square).is_some_and(|pair| pair.contains(&x) && pair.contains(&Port::first(mean)));
        let of_x = self.graph.node(mean).input(0) == Some(x) && [a, b].contains(&factor);
        let axes = [mean, second].into_iter().all(|mean| self.is_mean_of_rows(mean, rank));
        if !vectors || !same || !of_x || !axes || columns == Some(1) || !self.is_read_within(&gone, id) {
            return Some(false);
        }
        self.become_one(id, NORM, of_rows(epsilon), vec![Some(x), gamma, Some(beta)], &gone);
        Some(true)
    }

    /// `Add -> LayerNorm` over the last axis, where both summands have the same shape: one kernel, which hands out the
    /// sum too where others read it. A summand of one axis before it is its bias.
    ///
    /// Biases of products are the products' by then: so built-in banks of CANN have it.
    pub(super) fn sum_before_norm(&mut self, id: NodeId) -> Option<bool> {
        let &[Some(sum), Some(gamma), Some(beta)] = self.graph.node(id).inputs.as_slice() else { return None };
        let add = self.maker(sum, SUMS)?;
        let [a, b] = self.pair(add)?;
        let dims = self.dims(sum)?.to_vec();
        let begin = self.ask(self.graph.node(id), |call| norm::begin_axis(call, dims.len().max(1)));
        let rows = begin.is_ok_and(|begin| begin + 1 == dims.len());
        let constant = self.is_constant(Some(gamma)) && self.is_constant(Some(beta));
        let summands = self.summands(a, b, &dims).filter(|_| rows && constant && self.only_first_output_read(id));
        let Some(Summands { pair: [a, b], bias, inner }) = summands else { return Some(false) };
        let (statistics, whole) = (self.statistics(sum), self.graph.desc(sum).clone());
        let is_read = self.read(sum) > 1;
        let inputs = [a, b, gamma, beta].into_iter().chain(bias);
        self.set_inputs(id, inputs.map(Some).collect());
        self.take_out(add, id);
        if let Some(inner) = inner {
            self.take_out(inner, id);
        }
        self.replace(add, Port { node: id, output: 3 });
        self.rename(id, "AddLayerNorm");
        let nobody = TensorDesc { shape: Shape::unknown_rank(), ..whole.clone() };
        let node = self.graph.node_mut(id);
        let result = node.outputs.first().cloned().unwrap_or_else(|| whole.clone());
        node.attrs.set("additional_output", Attr::Bool(is_read));
        node.outputs = vec![result, statistics.clone(), statistics, if is_read { whole } else { nobody }];
        Some(true)
    }

    /// What two summands in 16 bits, of which one may be a sum itself, add up: two tensors of the whole's shape, and
    /// perhaps a bias of its last axis.
    fn summands(&mut self, a: Port, b: Port, dims: &[i64]) -> Option<Summands> {
        let narrow = |this: &Self, port: Port| {
            matches!(this.precision.stored(this.graph.desc(port).dtype), DataType::Float16 | DataType::Bfloat16)
        };
        let whole = |this: &Self, port: Port| this.dims(port) == Some(dims) && narrow(this, port);
        let bias = |this: &Self, port: Port| {
            this.dims(port).is_some_and(|of| of.len() == 1 && dims.last() == of.last() && dims.len() > 1)
                && narrow(this, port)
        };
        for [one, other] in [[a, b], [b, a]] {
            let Some(inner) = self.made(one, SUMS) else { continue };
            let [c, d] = self.pair(inner)?;
            for [x, y] in [[c, d], [d, c]] {
                // (x + y) + bias, (x + bias) + other
                let (second, last) = if bias(self, other) { (y, other) } else { (other, y) };
                if whole(self, x) && whole(self, second) && bias(self, last) {
                    return Some(Summands { pair: [x, second], bias: Some(last), inner: Some(inner) });
                }
            }
        }
        (whole(self, a) && whole(self, b)).then_some(Summands { pair: [a, b], bias: None, inner: None })
    }

    /// Mean or deviation of each row.
    fn statistics(&self, x: Port) -> TensorDesc {
        let mut dims = self.dims(x).unwrap_or_default().to_vec();
        if let Some(last) = dims.last_mut() {
            *last = 1;
        }
        TensorDesc::new(DataType::Float, Shape::new(dims))
    }
}
