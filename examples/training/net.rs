//! A network that is being built: operators by name, weights, and what becomes of their gradients.

use aoe::graph::{Attr, Constant, DataType, Format, Graph, Node, Port, Shape, TensorDesc, infer};
use aoe::status::Result;

/// A training graph on its way.
pub struct Net {
    graph: Graph,
    /// What the optimiser multiplies gradients and speed by.
    rate: Port,
    mass: Port,
}

impl Net {
    /// An empty network.
    pub fn new(name: &str) -> Result<Net> {
        let mut graph = Graph::new(name);
        let mut number = |name: &str| graph.add_input(name, TensorDesc::new(DataType::Float, Shape::scalar()));
        let (rate, mass) = (number("learning_rate")?, number("momentum")?);
        Ok(Net { graph, rate, mass })
    }

    /// An input of the network; images are NCHW.
    pub fn input(&mut self, name: &str, dtype: DataType, sizes: &[i64]) -> Result<Port> {
        let format = if sizes.len() == 4 { Format::Nchw } else { Format::Nd };
        self.graph.add_input(name, TensorDesc { format, ..TensorDesc::new(dtype, Shape::new(sizes)) })
    }

    /// Weights: float32, as the optimiser keeps them.
    pub fn weights(&mut self, name: &str, sizes: &[i64]) -> Result<Port> {
        let format = if sizes.len() == 4 { Format::Nchw } else { Format::Nd };
        let desc = TensorDesc { format, ..TensorDesc::new(DataType::Float, Shape::new(sizes)) };
        Ok(Port::first(self.graph.add(Node::new(name, "Variable").with_outputs(vec![desc]))?))
    }

    /// A list of whole numbers.
    pub fn numbers(&mut self, name: &str, values: &[i64]) -> Result<Port> {
        let desc = TensorDesc::new(DataType::Int32, Shape::new([values.len() as i64]));
        self.graph.add_const(name, desc, Constant::Ints(values.to_vec()))
    }

    /// An operator with one result.
    pub fn op(&mut self, name: &str, op_type: &str, inputs: &[Port], attrs: &[(&str, Attr)]) -> Result<Port> {
        Ok(self.ops(name, op_type, inputs, attrs, 1)?[0])
    }

    /// An operator with several results.
    pub fn ops(
        &mut self,
        name: &str,
        op_type: &str,
        inputs: &[Port],
        attrs: &[(&str, Attr)],
        results: u32,
    ) -> Result<Vec<Port>> {
        let outputs = (0..results).map(|_| TensorDesc::unknown()).collect();
        let mut node = Node::new(name, op_type).with_inputs(inputs.iter().copied()).with_outputs(outputs);
        for (key, value) in attrs {
            node.attrs.set(*key, value.clone());
        }
        let node = self.graph.add(node)?;
        Ok((0..results).map(|output| Port { node, output }).collect())
    }

    /// The same values in another type.
    pub fn cast(&mut self, name: &str, x: Port, dtype: DataType) -> Result<Port> {
        self.op(name, "Cast", &[x], &[("dst_type", Attr::Int(dtype.ge_number().into()))])
    }

    /// The product of two (stacks of) matrices, either of them transposed first.
    pub fn product(&mut self, name: &str, [a, b]: [Port; 2], [ta, tb]: [bool; 2]) -> Result<Port> {
        let attrs = [("transpose_x1", Attr::Bool(ta)), ("transpose_x2", Attr::Bool(tb))];
        self.op(name, "MatMulV2", &[a, b], &attrs)
    }

    /// [`Net::product`] of stacks.
    pub fn products(&mut self, name: &str, [a, b]: [Port; 2], [ta, tb]: [bool; 2]) -> Result<Port> {
        self.op(name, "BatchMatMulV2", &[a, b], &[("adj_x1", Attr::Bool(ta)), ("adj_x2", Attr::Bool(tb))])
    }

    /// Exchanges a gradient and lets the optimiser make its step with the sum.
    pub fn exchange(&mut self, weights: Port, gradient: Port) -> Result<()> {
        let name = self.graph.node(weights.node).name.clone();
        let attrs = [
            ("reduction", Attr::Str("sum".into())),
            ("group", Attr::Str("hccl_world_group".into())),
            ("fusion", Attr::Int(1)),
            ("fusion_id", Attr::Int(-1)),
        ];
        let sum = self.op(&format!("{name}/allreduce"), "HcomAllReduce", &[gradient], &attrs)?;
        let desc = self.graph.desc(weights).clone();
        let speed = Node::new(format!("{name}/momentum"), "Variable").with_outputs(vec![desc]);
        let speed = Port::first(self.graph.add(speed)?);
        let inputs = [weights, speed, self.rate, sum, self.mass];
        let step = self.op(&format!("{name}/step"), "ApplyMomentum", &inputs, &[])?;
        self.graph.add_output(step);
        Ok(())
    }

    /// The graph with every shape known; `loss` leaves it as well.
    pub fn finish(mut self, loss: Port) -> Result<Graph> {
        self.graph.add_output(loss);
        infer::infer(&mut self.graph)?;
        infer::require_static(&self.graph)?;
        Ok(self.graph)
    }
}
