//! One node: its attributes, outputs, inputs and value.

use super::Reader;
use super::described::{DESCRIBED_OTHERWISE, Doubt, Input, UNKNOWN_LAYOUT, note_unknown_layout};
use crate::frontend::air::conform::attributes as conform;
use crate::frontend::air::layout::{Placed, is_control};
use crate::frontend::air::proto::{self, Value, decode, encode};
use crate::frontend::air::{CONSTANTS, CONTROL_INPUTS, INPUTS, KEPT_APART, ORIGIN_TYPE, SUBGRAPH_NAMES, UNMAPPED};
use crate::frontend::air::{is_frame, names, tensor};
use crate::graph::{Attr, CONST, Constant, DATA, Format, Node, Port, TensorDesc, infer};
use crate::status::{Error, Result};

impl Reader<'_> {
    /// The node at a place of the layout with its edges, and which of its inputs it may describe otherwise.
    pub(super) fn node(&self, place_of: usize) -> Result<(Node, Vec<Doubt>)> {
        let placed = &self.layout.nodes[place_of];
        let op = &placed.op;
        let place = || format!("node `{}` ({})", placed.name, op.op_type);
        let mut node = Node::new(&placed.name, &op.op_type);
        node.attrs = placed.attrs.clone();
        let read = [CONTROL_INPUTS, SUBGRAPH_NAMES, UNKNOWN_LAYOUT, DESCRIBED_OTHERWISE];
        for own in read.into_iter().chain([infer::STATED_SHAPES, infer::BELIEVED_SHAPES]) {
            node.attrs.remove(own);
        }
        node.mapped = !node.attrs.bool(UNMAPPED).unwrap_or(false);
        node.attrs.remove(UNMAPPED);
        if let Some(Attr::Str(origin)) = node.attrs.remove(ORIGIN_TYPE) {
            node.origin_type = origin;
        }
        conform::check_words(&node, &place)?;
        Self::read_outputs(op, &mut node, &place)?;
        let inputs = self.inputs(placed, &mut node, &place)?;
        let stated = Self::stated(op, &mut node, &place)?;
        let doubts = self.doubts_of(place_of, &inputs, &stated);
        let inputs = inputs.into_iter().zip(stated);
        let inputs = inputs.map(|(port, stated)| port.map(|port| (port, stated.format))).collect();
        let inputs = names::place_inputs(&op.op_type, &mut node.attrs, inputs);
        node.inputs = inputs.iter().map(|input| input.map(|(port, _)| port)).collect();
        if inputs.iter().flatten().any(|(_, format)| *format != Format::Nd) {
            node.formats = inputs.iter().map(|input| input.map_or(Format::Nd, |(_, format)| format)).collect();
        }
        // A framework's operator that is not known may have a name of GE's.
        let is_one_of = |names: &[&str]| node.mapped && names.contains(&op.op_type.as_str());
        if is_one_of(&INPUTS) {
            DATA.clone_into(&mut node.op_type);
            Self::check_source(&node, &place)?;
            // GE's own has one all the same, for what it is given.
            node.inputs.clear();
        } else if is_one_of(&CONSTANTS) {
            CONST.clone_into(&mut node.op_type);
            Self::check_source(&node, &place)?;
            self.read_value(&mut node, &place)?;
        } else if is_one_of(&KEPT_APART) {
            node.value = Some(Constant::Opaque);
        }
        if !op.subgraph_name.is_empty() {
            node.attrs.set(SUBGRAPH_NAMES, Attr::Strs(op.subgraph_name.clone()));
        }
        Ok((node, doubts))
    }

    /// What the file says of a node's outputs, and of which of them GE itself has inferred it.
    fn read_outputs(op: &proto::Op, node: &mut Node, place: &dyn Fn() -> String) -> Result<()> {
        let mut set = Vec::new();
        node.outputs.clear();
        for (index, bytes) in op.output_desc.iter().enumerate() {
            let read = tensor::read(bytes.clone(), &|| format!("{}, output {index}", place()))?;
            set.extend(read.is_set.then_some(index as i64));
            note_unknown_layout(node, read.unknown_layout);
            node.outputs.push(read.desc.unwrap_or_else(TensorDesc::unknown));
        }
        // TensorFlow's parser leaves what the framework said in an attribute.
        if let Some(Attr::IntLists(stated)) = node.attrs.get(tensor::OUTPUT_SHAPES) {
            let open = node.outputs.iter_mut().zip(stated).filter(|(output, _)| output.shape.dims().is_none());
            for (output, dims) in open {
                output.shape = tensor::stated_shape(dims);
            }
        }
        let is_input = INPUTS.contains(&op.op_type.as_str());
        // A program may describe what an input of the network gets, and leave what it gives to GE.
        if let ([output], Some(bytes)) = (node.outputs.as_mut_slice(), op.input_desc.first().filter(|_| is_input))
            && output.shape.dims().is_none()
        {
            let read = tensor::read(bytes.clone(), &|| format!("{}, input 0", place()))?;
            *output = read.desc.filter(|desc| desc.shape.dims().is_some()).unwrap_or_else(|| output.clone());
        }
        if !set.is_empty() && infer::has_rule(node) && !is_frame(&op.op_type) {
            node.attrs.set(infer::STATED_SHAPES, Attr::Ints(set));
        }
        Ok(())
    }

    /// What an operator states of its inputs, for each entry of `input` that is no control edge; names are noted at the node,
    /// where it has them there alone.
    fn stated(op: &proto::Op, node: &mut Node, place: &dyn Fn() -> String) -> Result<Vec<Input>> {
        let data: Vec<&String> = op.input.iter().filter(|reference| !is_control(reference)).collect();
        // Optional inputs that are left out may have no description.
        let sparse = op.input_desc.len() < data.len();
        let mut described = op.input_desc.iter().enumerate().peekable();
        let mut stated_names = Vec::new();
        let input = |reference: &&String| {
            let Some((index, bytes)) = described.next_if(|_| !sparse || !reference.is_empty()) else {
                return Ok(Input { format: Format::Nd, described: None });
            };
            let stated = tensor::stated(bytes.clone(), &|| format!("{}, input {index}", place()))?;
            note_unknown_layout(node, stated.unknown_layout);
            stated_names.push(stated.name);
            Ok(Input { format: stated.format, described: Some((index, stated.own)) })
        };
        let inputs = data.iter().map(input).collect::<Result<Vec<_>>>()?;
        if stated_names.len() == data.len() {
            names::note_inputs(&op.op_type, &mut node.attrs, stated_names);
        }
        Ok(inputs)
    }

    /// Data inputs; control edges become an attribute.
    fn inputs(&self, placed: &Placed, node: &mut Node, place: &dyn Fn() -> String) -> Result<Vec<Option<Port>>> {
        let mut inputs = Vec::with_capacity(placed.op.input.len());
        let mut control = Vec::new();
        for (slot, reference) in placed.op.input.iter().enumerate() {
            let wrong = |reason: String| Error::graph(format!("{}, input {slot}", place()), reason);
            if reference.is_empty() {
                inputs.push(None);
            } else if is_control(reference) {
                let source = self.layout.control_source(placed.scope, reference).map_err(wrong)?;
                control.extend(source.map(|source| self.layout.nodes[source].name.clone()));
            } else {
                inputs.push(self.port(placed.scope, reference).map_err(wrong)?);
            }
        }
        if !control.is_empty() {
            node.attrs.set(CONTROL_INPUTS, Attr::Strs(control));
        }
        Ok(inputs)
    }

    /// An input or constant has an output and reads nothing.
    fn check_source(node: &Node, place: &dyn Fn() -> String) -> Result<()> {
        if node.outputs.len() != 1 {
            return Err(Error::graph(place(), format!("has {} outputs, not one", node.outputs.len())));
        }
        // Some compilers feed the network's inputs to `Data` nodes; these edges come from nowhere.
        match node.inputs.iter().flatten().next() {
            Some(_) => Err(Error::graph(place(), "reads a tensor, which no input or constant does")),
            None => Ok(()),
        }
    }

    /// The value of a constant. Dumps leave values out, and a tuner needs small ones only; what is large
    /// stays an attribute for the file that may be written.
    fn read_value(&self, node: &mut Node, place: &dyn Fn() -> String) -> Result<()> {
        node.value = Some(Constant::Opaque);
        let Some(Attr::Opaque(bytes)) = node.attrs.get(tensor::VALUE) else { return Ok(()) };
        let value: Value = decode(bytes.clone(), place)?;
        let Some(stored) = value.t else { return Ok(()) };
        let stored = tensor::read_constant(stored, node.outputs.first(), self.weights, place)?;
        if !stored.kept_apart {
            node.attrs.remove(tensor::VALUE);
        } else if let Some(data) = stored.data {
            let own = proto::TensorDef { desc: tensor::write(&stored.desc, tensor::Parts::default()), data };
            node.attrs.set(tensor::VALUE, Attr::Opaque(encode(&Value { t: Some(encode(&own)), ..Value::default() })));
        }
        note_unknown_layout(node, stored.unknown_layout);
        node.outputs = vec![stored.desc];
        node.value = Some(stored.value);
        Ok(())
    }
}
