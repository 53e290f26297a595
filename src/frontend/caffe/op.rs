//! The graph under construction, and one layer of the net as a mapping rule sees it.

use super::net::Layer;
use super::weights::{Weights, agreed};
use crate::frontend::limits::MAX_DIM;
use crate::frontend::names::Names;
use crate::frontend::prototext::Message;
use crate::frontend::prototext::message::Reason;
use crate::graph::infer::SHAPES_OF_INPUTS;
use crate::graph::{Attr, Constant, DataType, Graph, Node, Port, Shape, TensorDesc};
use crate::status::{Error, Result};
use rustc_hash::FxHashMap;

/// A blob: where it comes from, whether a layer reads it, and when it was written.
struct Blob {
    port: Port,
    read: bool,
    written: usize,
}

/// The graph so far and the blobs that layers can read.
pub struct Builder {
    graph: Graph,
    names: Names,
    blobs: FxHashMap<String, Blob>,
    writes: usize,
    weights: Option<Weights>,
}

impl Builder {
    /// An empty graph of this name, for a net with these weights, where they are given.
    pub fn new(name: &str, weights: Option<Weights>) -> Self {
        Builder { graph: Graph::new(name), names: Names::default(), blobs: FxHashMap::default(), writes: 0, weights }
    }

    /// Adds an input of the net, under this name, that writes this blob.
    pub fn input(&mut self, name: &str, blob: &str, shape: Shape) -> Result<()> {
        if self.blobs.contains_key(blob) {
            return Err(Error::graph(format!("input `{blob}`"), "a second input has the same name"));
        }
        let name = self.names.claim(name);
        let port = self.graph.add_input(name, TensorDesc::new(DataType::Float, shape))?;
        self.bind(blob, port);
        Ok(())
    }

    fn bind(&mut self, blob: &str, port: Port) {
        self.writes += 1;
        self.blobs.insert(blob.to_owned(), Blob { port, read: false, written: self.writes });
    }

    /// The finished graph; what no layer reads are its outputs.
    pub fn finish(mut self) -> Graph {
        let mut open: Vec<_> = self.blobs.values().filter(|blob| !blob.read).collect();
        open.sort_by_key(|blob| blob.written);
        self.graph.set_outputs(open.into_iter().map(|blob| blob.port).collect());
        self.graph.set_tensors(self.blobs.into_iter().map(|(name, blob)| (name, blob.port)).collect());
        self.graph
    }
}

/// Parameters of a layer that has none of a kind: all at their defaults.
static NO_PARAMETERS: Message = Message { fields: Vec::new() };

/// A layer being mapped.
pub struct Op<'b> {
    builder: &'b mut Builder,
    layer: &'b Layer<'b>,
    name: String,
    bottoms: Vec<Port>,
    /// Blobs of the layer's weights that have found their place.
    taken: usize,
    mapped: bool,
}

impl<'b> Op<'b> {
    /// Opens a layer; what it reads was written by the layers before it.
    pub fn open(builder: &'b mut Builder, layer: &'b Layer<'b>) -> Result<Self> {
        let name = builder.names.claim(&layer.name);
        let mut op =
            Op { builder, layer, name, bottoms: Vec::with_capacity(layer.bottoms.len()), taken: 0, mapped: true };
        for blob in &layer.bottoms {
            match op.builder.blobs.get_mut(blob) {
                Some(found) => {
                    found.read = true;
                    op.bottoms.push(found.port);
                }
                None => return Err(op.error(format!("no input and no layer before it writes `{blob}`"))),
            }
        }
        for (index, top) in layer.tops.iter().enumerate() {
            let in_place = layer.bottoms.contains(top);
            if (op.builder.blobs.contains_key(top) && !in_place) || layer.tops[..index].contains(top) {
                return Err(op.error(format!("`{top}` is written already")));
            }
        }
        Ok(op)
    }

    /// Type of the layer, as the new form names it.
    pub fn kind(&self) -> &'b str {
        &self.layer.kind
    }

    /// An error at this layer.
    pub fn error(&self, reason: impl Into<Reason>) -> Error {
        Error::graph(format!("layer `{}` ({})", self.name, self.layer.kind), reason)
    }

    /// What a field says, with this layer named where it cannot be used.
    pub fn field<T>(&self, found: Result<T, Reason>) -> Result<T> {
        found.map_err(|reason| self.error(reason))
    }

    /// The parameters in this field (`convolution_param`, ...); the defaults where the layer has none.
    pub fn param(&self, name: &str) -> Result<&'b Message> {
        let layer: &'b Layer<'b> = self.layer;
        Ok(self.field(layer.message.message(name))?.unwrap_or(&NO_PARAMETERS))
    }

    /// A positive integer field.
    pub fn size(&self, param: &Message, name: &str) -> Result<Option<i64>> {
        match self.field(param.int(name))? {
            Some(size) if !(1..=MAX_DIM).contains(&size) => {
                Err(self.error(format!("`{name}` is {size}, not 1 to {MAX_DIM}")))
            }
            size => Ok(size),
        }
    }

    /// The tensors that the layer reads.
    pub fn bottoms(&self) -> &[Port] {
        &self.bottoms
    }

    /// The one tensor that the layer reads.
    pub fn bottom(&self) -> Result<Port> {
        match self.bottoms[..] {
            [bottom] => Ok(bottom),
            _ => Err(self.error(format!("it has {} bottoms, one is expected", self.bottoms.len()))),
        }
    }

    /// The blobs that the layer writes.
    pub fn tops(&self) -> &'b [String] {
        &self.layer.tops
    }

    /// A node of this Ascend type under the layer's name, with an output for each top and no inputs.
    pub fn node(&self, op_type: &str) -> Node {
        let mut node =
            Node::new(&self.name, op_type).with_outputs(vec![TensorDesc::unknown(); self.tops().len().max(1)]);
        node.origin_type.clone_from(&self.layer.kind);
        node
    }

    /// The next blob of the layer's weights, whose role and shape are these as far as the net tells; the stated shape
    /// where no weights are given.
    fn blob(&mut self, role: &str, stated: Shape) -> Result<(Shape, Constant)> {
        let Some(weights) = &self.builder.weights else { return Ok((stated, Constant::Opaque)) };
        let (file, blobs) = (weights.place(), weights.of(&self.layer.name));
        let index = self.taken;
        let Some(blob) = blobs.get(index) else {
            let reason = format!("{file} has {} blobs for it, none of which is its {role}", blobs.len());
            return Err(self.error(reason));
        };
        let shape = agreed(&stated, &blob.dims).ok_or_else(|| {
            let blob = Shape::new(blob.dims.as_slice());
            self.error(format!("its {role} has the shape {stated} in the net, but {blob} in {file}"))
        })?;
        let value = blob.weight.clone().map_or(Constant::Opaque, Constant::Stored);
        self.taken += 1;
        Ok((shape, value))
    }

    /// Ends the layer: all blobs of its weights must have found their place.
    pub fn close(self) -> Result<()> {
        let Some(weights) = self.builder.weights.as_ref().filter(|_| self.mapped) else { return Ok(()) };
        let blobs = weights.of(&self.layer.name).len();
        if blobs == self.taken {
            return Ok(());
        }
        Err(self.error(format!("{} has {blobs} blobs for it, where the net asks for {}", weights.place(), self.taken)))
    }

    /// Adds a weight; -1 stands for a size that follows from what the layer reads.
    pub fn weight(&mut self, role: &str, shape: Shape) -> Result<Port> {
        let (shape, value) = self.blob(role, shape)?;
        let name = self.builder.names.claim(&format!("{}/{role}", self.name));
        self.builder.graph.add_const(name, TensorDesc::new(DataType::Float, shape), value)
    }

    /// Adds a constant list of integers.
    pub fn ints(&mut self, role: &str, values: Vec<i64>) -> Result<Port> {
        let name = self.builder.names.claim(&format!("{}/{role}", self.name));
        let desc = TensorDesc::new(DataType::Int64, Shape::new([values.len() as i64]));
        self.builder.graph.add_const(name, desc, Constant::Ints(values))
    }

    /// Adds the layer's node, whose outputs are the tops.
    pub fn finish(&mut self, node: Node) -> Result<()> {
        let id = self.builder.graph.add(node)?;
        for (output, top) in self.tops().iter().enumerate() {
            self.builder.bind(top, Port { node: id, output: output as u32 });
        }
        Ok(())
    }

    /// Lets every top be the tensor that the layer reads: it runs no kernel.
    pub fn pass_on(&mut self) -> Result<()> {
        let bottom = self.bottom()?;
        self.tops().iter().for_each(|top| self.builder.bind(top, bottom));
        Ok(())
    }

    /// Makes the layer's tops inputs of the net, of these shapes.
    pub fn inputs(&mut self, shapes: &[Shape]) -> Result<()> {
        let tops = self.tops();
        if shapes.len() != tops.len() && shapes.len() > 1 {
            return Err(self.error(format!("{} shapes for {} tops", shapes.len(), tops.len())));
        }
        for (index, top) in tops.iter().enumerate() {
            let shape = shapes.get(index).or(shapes.first()).cloned().unwrap_or(Shape::unknown_rank());
            // The layer's own name is claimed already: a single input bears it.
            let name = if tops.len() == 1 { self.name.clone() } else { self.builder.names.claim(top) };
            let port = self.builder.graph.add_input(name, TensorDesc::new(DataType::Float, shape))?;
            self.builder.bind(top, port);
        }
        Ok(())
    }

    /// Keeps a layer that no rule knows. What it writes in place has the shape of what it reads; of other tops nothing
    /// is known.
    pub fn keep_unmapped(&mut self) -> Result<()> {
        self.mapped = false;
        let mut node = self.node(self.kind()).with_inputs(self.bottoms.iter().copied());
        node.mapped = false;
        let bottoms = &self.layer.bottoms;
        let read = |top: &String| bottoms.iter().position(|bottom| bottom == top).map_or(-1, |input| input as i64);
        let like: Vec<i64> = self.tops().iter().map(read).collect();
        if like.iter().any(|&input| input >= 0) {
            node.attrs.set(SHAPES_OF_INPUTS, Attr::Ints(like));
        }
        self.finish(node)
    }

    /// Where an error inside the layer is.
    pub fn place(&self) -> String {
        format!("layer `{}` ({})", self.name, self.layer.kind)
    }

    /// Copies a number, where the layer gives it, else the default.
    pub fn set_float(&self, node: &mut Node, param: &Message, name: &str, default: f64) -> Result<()> {
        let value = self.field(param.float(name))?.unwrap_or(default);
        node.attrs.set(name, Attr::Float(value));
        Ok(())
    }
}
