//! `ModelDef` to a graph.

use super::conform::attributes as conform;
use super::layout::{Layout, Placed, Source, is_control};
use super::proto::{self, Value, decode, encode, kind};
use super::{CONSTANTS, CONTROL_INPUTS, CONTROL_OUTPUTS, INDEX, INPUTS, KEPT_APART};
use super::{ORIGIN_TYPE, SUBGRAPH_NAMES, SUBGRAPHS, UNMAPPED, attr, dump, form, is_frame, names, tensor, tuned};
use crate::frontend::unreadable;
use crate::graph::{
    Attr, Attrs, CONST, Constant, DATA, Format, Graph, Node, NodeId, Port, Shape, TensorDesc, infer, topology,
};
use crate::spelling;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Whether the bytes are a model: a dump as text, or protobuf with a graph that begins with an operator.
pub fn is_model(data: &Bytes) -> bool {
    if dump::is_dump(data) {
        return true;
    }
    let first = || -> Result<bool> {
        let model: proto::Model = decode(data.clone(), String::new)?;
        let Some(bytes) = model.graph.into_iter().next() else { return Ok(false) };
        let graph: proto::Graph = decode(bytes, String::new)?;
        let Some(bytes) = graph.op.into_iter().next() else { return Ok(false) };
        let op: proto::Op = decode(bytes, String::new)?;
        Ok(!op.op_type.is_empty() && !op.name.is_empty())
    };
    first().unwrap_or(false)
}

/// Attribute of a node while a file is read: a layout of its tensors that is no format's name.
const UNKNOWN_LAYOUT: &str = "_aoe_unknown_layout";

/// Attribute of a node that was just read: its inputs that it describes otherwise than who makes them, in words
/// ([`Attr::Strs`]).
pub const DESCRIBED_OTHERWISE: &str = "_aoe_described_otherwise";
/// Operators whose inputs GE describes in other axes than who makes them.
const RESHAPING: [&str; 2] = ["FullyConnection", "FullyConnectionCompress"];

fn note_unknown_layout(node: &mut Node, layout: Option<String>) {
    if let Some(layout) = layout {
        node.attrs.set(UNKNOWN_LAYOUT, Attr::Str(layout));
    }
}

/// Reads a model, in binary form or as text. `name` becomes the graph's name where the file gives none.
///
/// The graph is as the file has it: inputs are not bound and shapes not inferred, except that outputs
/// carry what the file says of them. Weights outside the file are never opened.
pub fn read(data: Bytes, name: &str) -> Result<Graph> {
    if dump::is_text(&data) {
        return read_with_weights(dump::encode_model(&data[..], &format!("model `{name}`"))?, None, name);
    }
    read_with_weights(data, None, name)
}

/// As [`read`], with the weights of an om file, in which constants may have their values.
pub fn read_with_weights(data: Bytes, weights: Option<&Bytes>, name: &str) -> Result<Graph> {
    let place = || format!("model `{name}`");
    let model = prost::Message::decode(data.clone());
    let model: proto::Model = model.map_err(|error| {
        let (wanted, text) = ("a graph of GE's", Some("a graph that CANN dumps"));
        Error::graph(place(), unreadable::reason(&data, wanted, text, error))
    })?;
    drop(data);
    let mut graphs = model.graph.into_iter();
    let Some(root) = graphs.next() else {
        return Err(Error::graph(place(), "is not an AIR model: there is no graph in it"));
    };
    let root: proto::Graph = decode(root, || format!("model `{name}`, its first graph"))?;
    let subgraphs = by_name(graphs)?;
    let stated = [&root.name, &model.name].into_iter().find(|stated| !stated.is_empty());
    let mut graph = Graph::new(stated.map_or(name, String::as_str));
    graph.attrs = attr::read_all(&root.attr, &place)?;
    // Made by the reader alone: a file that has them itself could name what is not there.
    for own in [CONTROL_OUTPUTS, SUBGRAPHS] {
        graph.attrs.remove(own);
    }
    let layout = Layout::of(root, &subgraphs, name)?;
    let graph =
        Reader { layout, subgraphs: &subgraphs, weights, graph, places: Vec::new(), doubts: Vec::new() }.read()?;
    tuned::check(&graph)?;
    Ok(graph)
}

/// The graphs after the first, by name.
fn by_name(graphs: impl Iterator<Item = Bytes>) -> Result<FxHashMap<String, Bytes>> {
    let mut named = FxHashMap::default();
    for (index, bytes) in graphs.enumerate() {
        let graph: proto::Graph = decode(bytes.clone(), || format!("graph {}", index + 1))?;
        if named.insert(graph.name.clone(), bytes).is_some() {
            return Err(Error::graph(format!("graph `{}`", graph.name), "a second graph has the same name"));
        }
    }
    Ok(named)
}

/// The graph while its nodes are added.
struct Reader<'a> {
    layout: Layout,
    subgraphs: &'a FxHashMap<String, Bytes>,
    weights: Option<&'a Bytes>,
    graph: Graph,
    /// Node of each place of the layout.
    places: Vec<NodeId>,
    /// Inputs that may be described otherwise than they are made.
    doubts: Vec<Doubt>,
}

/// An input whose description does not say just what the node says that makes it, as far as that was read.
struct Doubt {
    /// The node's place in the layout.
    place: usize,
    /// Which of its inputs.
    slot: usize,
    /// Which of its descriptions.
    described: usize,
    /// Who makes it.
    port: Port,
}

/// What an operator states of one of its inputs.
struct Input {
    format: Format,
    /// Which of its descriptions it is, and the sizes there.
    described: Option<(usize, Vec<i64>)>,
}

impl Reader<'_> {
    fn read(mut self) -> Result<Graph> {
        let order = order(&self.layout.nodes);
        self.places = vec![NodeId(0); order.len()];
        for (id, &place) in order.iter().enumerate() {
            self.places[place] = NodeId(id as u32);
        }
        for &place in &order {
            let (node, doubts) = self.node(place)?;
            self.graph.add(node)?;
            self.doubts.extend(doubts);
            // A file may have a million nodes; only their inputs are looked at again.
            let placed = &mut self.layout.nodes[place];
            (placed.op.output_desc, placed.attrs) = (Vec::new(), Attrs::default());
        }
        self.complete_constants(&order)?;
        self.complete_results(&order)?;
        self.note_described();
        self.tell_unknown_layouts();
        self.keep_subgraphs()?;
        self.add_outputs()?;
        self.graph.validate()?;
        self.check_control()?;
        Ok(self.graph)
    }

    /// The node at a place of the layout with its edges, and which of its inputs it may describe otherwise.
    fn node(&self, place_of: usize) -> Result<(Node, Vec<Doubt>)> {
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

    /// The inputs of a node whose descriptions are not just what was read of the node that makes them: few, so that their attributes
    /// are looked at once all is read.
    fn doubts_of(&self, place: usize, inputs: &[Option<Port>], stated: &[Input]) -> Vec<Doubt> {
        let doubt = |(slot, (port, stated)): (usize, (&Option<Port>, &Input))| {
            let ((described, own), port) = (stated.described.as_ref()?, (*port)?);
            let made = self.graph.get(port.node).and_then(|node| node.outputs.get(port.output as usize));
            let is_same = made.and_then(|desc| desc.shape.dims()) == Some(own);
            (!is_same).then_some(Doubt { place, slot, described: *described, port })
        };
        inputs.iter().zip(stated).enumerate().filter_map(doubt).collect()
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

    fn port(&self, scope: usize, reference: &str) -> std::result::Result<Option<Port>, String> {
        Ok(match self.layout.resolve(scope, reference)? {
            Source::Output(place, output) => Some(Port { node: self.places[place], output }),
            Source::Nothing => None,
        })
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

    /// Gives constants that neither have a value nor say their shape the one that GE set where they are read, and says that
    /// the file was written without values.
    fn complete_constants(&mut self, order: &[usize]) -> Result<()> {
        let is_open = |node: &Node| {
            node.op_type == CONST
                && node.attrs.get(tensor::VALUE).is_none()
                && node.value == Some(Constant::Opaque)
                && node.outputs.iter().all(|output| output.shape.dims().is_none())
        };
        let open: FxHashSet<NodeId> = self.graph.iter().filter(|(_, node)| is_open(node)).map(|(id, _)| id).collect();
        if open.is_empty() {
            return Ok(());
        }
        self.describe_as_read(&open, order)?;
        let mut names: Vec<&str> = open.iter().map(|&id| self.graph.node(id).name.as_str()).collect();
        names.sort_unstable();
        log::warn!(
            "{} are constants without a value: the file was written without values (DUMP_GE_GRAPH=1 writes them); their \
             shapes are those that GE noted where they are read, and what reads others is left out",
            spelling::listed(&names)
        );
        Ok(())
    }

    /// Gives results of operators without a rule, which say no shape of them, the one that GE set where they are read.
    fn complete_results(&mut self, order: &[usize]) -> Result<()> {
        let is_open = |node: &Node| {
            !infer::has_rule(node)
                && node.inputs.iter().flatten().next().is_some()
                && node.outputs.iter().any(|output| output.shape.dims().is_none())
        };
        let open: FxHashSet<NodeId> = self.graph.iter().filter(|(_, node)| is_open(node)).map(|(id, _)| id).collect();
        if open.is_empty() { Ok(()) } else { self.describe_as_read(&open, order) }
    }

    /// Gives outputs of these nodes that say no shape the one that who reads them states.
    fn describe_as_read(&mut self, open: &FxHashSet<NodeId>, order: &[usize]) -> Result<()> {
        for &place in order {
            let placed = &self.layout.nodes[place];
            let data = placed.op.input.iter().filter(|reference| !is_control(reference));
            for (reference, desc) in data.zip(&placed.op.input_desc).filter(|(reference, _)| !reference.is_empty()) {
                let at = || format!("node `{}` ({})", placed.name, placed.op.op_type);
                let port = self.port(placed.scope, reference).map_err(|reason| Error::graph(at(), reason))?;
                let Some(port) = port.filter(|port| open.contains(&port.node)) else { continue };
                let read = tensor::read(desc.clone(), &at)?;
                let desc = read.desc.filter(|desc| read.is_set && desc.shape.known().is_some());
                let output = self.graph.node_mut(port.node).outputs.get_mut(port.output as usize);
                if let (Some(desc), Some(output)) = (desc, output.filter(|output| output.shape.dims().is_none())) {
                    *output = desc;
                }
            }
        }
        Ok(())
    }

    /// Notes the inputs that are described otherwise than by the node that makes them.
    fn note_described(&mut self) {
        for Doubt { place, slot, described, port } in std::mem::take(&mut self.doubts) {
            let made = self.graph.node(port.node).outputs.get(port.output as usize);
            let Some(made) = made.and_then(|desc| desc.shape.dims()) else { continue };
            let desc = &self.layout.nodes[place].op.input_desc[described];
            let Some(other) = tensor::described_otherwise(desc, made) else { continue };
            // GE's inference gives what these read the axes of an image, and who makes it keeps its own.
            let is_reshaped = other.elements() == Shape::new(made).elements();
            if is_reshaped && RESHAPING.contains(&self.layout.nodes[place].op.op_type.as_str()) {
                continue;
            }
            let (made, maker) = (Shape::new(made), self.graph.tensor_name(port));
            let said = format!("input {slot} as {other}, and `{maker}` gives it as {made}");
            let attrs = &mut self.graph.node_mut(self.places[place]).attrs;
            let mut list = match attrs.remove(DESCRIBED_OTHERWISE) {
                Some(Attr::Strs(list)) => list,
                _ => Vec::new(),
            };
            list.push(said);
            attrs.set(DESCRIBED_OTHERWISE, Attr::Strs(list));
        }
    }

    /// Says which tensors count as ND because nothing tells their format.
    fn tell_unknown_layouts(&mut self) {
        let noted = self.graph.iter().filter(|(_, node)| node.attrs.get(UNKNOWN_LAYOUT).is_some());
        let noted: Vec<NodeId> = noted.map(|(id, _)| id).collect();
        let mut nodes = BTreeMap::<String, Vec<String>>::new();
        for id in noted {
            let node = self.graph.node_mut(id);
            if let Some(Attr::Str(layout)) = node.attrs.remove(UNKNOWN_LAYOUT) {
                nodes.entry(layout).or_default().push(node.name.clone());
            }
        }
        for (layout, names) in nodes {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            log::warn!(
                "layout `{layout}` is no format that is known, and no origin format stands beside it: it counts as ND at {}",
                spelling::listed(&names)
            );
        }
    }

    /// The graphs that nodes choose among, and those that these call, go with the graph.
    fn keep_subgraphs(&mut self) -> Result<()> {
        let mut open: Vec<(String, String)> = Vec::new();
        for (_, node) in self.graph.iter() {
            let Some(Attr::Strs(names)) = node.attrs.get(SUBGRAPH_NAMES) else { continue };
            open.extend(names.iter().map(|name| (name.clone(), format!("node `{}` ({})", node.name, node.op_type))));
        }
        // What comes first is taken first.
        open.reverse();
        let mut kept = Vec::new();
        let mut seen = FxHashSet::default();
        while let Some((name, place)) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let Some(bytes) = self.subgraphs.get(&name) else {
                return Err(Error::graph(place, format!("refers to graph `{name}`, which is not in the file")));
            };
            let graph: proto::Graph = decode(bytes.clone(), || format!("graph `{name}`"))?;
            for (index, op) in graph.op.into_iter().enumerate() {
                let place = format!("graph `{name}`, node {index}");
                let op: proto::Op = decode(op, || place.clone())?;
                open.extend(op.subgraph_name.into_iter().rev().map(|called| (called, place.clone())));
            }
            kept.push(bytes.clone());
        }
        self.tell_uncalled(&seen);
        if !kept.is_empty() {
            let list = proto::ListValue { g: kept, val_type: kind::GRAPH, ..proto::ListValue::default() };
            let value = Value { list: Some(encode(&list)), ..Value::default() };
            self.graph.attrs.set(SUBGRAPHS, Attr::Opaque(encode(&value)));
        }
        Ok(())
    }

    /// Says which graphs of the file nothing calls: of a file with several roots, the first is the network.
    fn tell_uncalled(&self, kept: &FxHashSet<String>) {
        let is_uncalled = |name: &&String| !kept.contains(*name) && !self.layout.called.contains(*name);
        let mut names: Vec<&String> = self.subgraphs.keys().filter(is_uncalled).collect();
        names.sort_unstable();
        if !names.is_empty() {
            log::warn!("{}", form::uncalled(&self.graph.name, &names));
        }
    }

    /// The outputs of the graph, and what its end waits for.
    fn add_outputs(&mut self) -> Result<()> {
        for (index, reference) in self.layout.outputs.iter().enumerate() {
            let place = || format!("graph `{}`, output {index}", self.graph.name);
            let port = self.port(0, reference).map_err(|reason| Error::graph(place(), reason))?;
            let port =
                port.ok_or_else(|| Error::graph(place(), "leads to an input of a call that is not connected"))?;
            self.graph.add_output(port);
        }
        let mut waits = Vec::new();
        for reference in &self.layout.control_outputs {
            let place = || format!("graph `{}`, its control edges", self.graph.name);
            let source = self.layout.control_source(0, reference).map_err(|reason| Error::graph(place(), reason))?;
            waits.extend(source.map(|source| self.layout.nodes[source].name.clone()));
        }
        if !waits.is_empty() {
            self.graph.attrs.set(CONTROL_OUTPUTS, Attr::Strs(waits));
        }
        Ok(())
    }

    /// Control edges close no cycle either.
    fn check_control(&self) -> Result<()> {
        let graph = &self.graph;
        let mut waits: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (id, node) in graph.iter() {
            if let Some(Attr::Strs(names)) = node.attrs.get(CONTROL_INPUTS) {
                waits.insert(id.index(), names.iter().filter_map(|n| graph.find(n)).map(NodeId::index).collect());
            }
        }
        if waits.is_empty() {
            return Ok(());
        }
        let sources = |node: usize, visit: &mut dyn FnMut(usize)| {
            let data = graph.sources(NodeId(node as u32)).map(NodeId::index);
            data.chain(waits.get(&node).into_iter().flatten().copied()).for_each(visit);
        };
        let checked = topology::order(graph.len(), sources);
        let name = |node: usize| &graph.node(NodeId(node as u32)).name;
        checked.map(|_| ()).map_err(|cycle| topology::cycle_error(&cycle, name))
    }
}

/// Places of the nodes in the order in which they are added: the file's, but inputs by their `index`.
fn order(nodes: &[Placed]) -> Vec<usize> {
    let at: Vec<usize> = (0..nodes.len()).filter(|&i| INPUTS.contains(&nodes[i].op.op_type.as_str())).collect();
    let mut sorted = at.clone();
    sorted.sort_by_key(|&i| nodes[i].attrs.int(INDEX).unwrap_or(i64::MAX));
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    for (&place, &input) in at.iter().zip(&sorted) {
        order[place] = input;
    }
    order
}
