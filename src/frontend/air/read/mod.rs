//! `ModelDef` to a graph.
//!
//! [`node`] reads one node, [`described`] compares what is said of a tensor twice, [`subgraphs`] keeps the graphs that are called.

mod described;
mod node;
mod subgraphs;

pub use described::DESCRIBED_OTHERWISE;

use super::layout::{Layout, Placed, Source};
use super::proto::{self, decode};
use super::{CONTROL_INPUTS, CONTROL_OUTPUTS, INDEX, INPUTS, SUBGRAPHS, attr, dump, tuned};
use crate::frontend::unreadable;
use crate::graph::{Attr, Attrs, Graph, NodeId, Port, topology};
use crate::status::{Error, Result};
use described::Doubt;
use prost::bytes::Bytes;
use rustc_hash::FxHashMap;

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
    let subgraphs = subgraphs::by_name(graphs)?;
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

    fn port(&self, scope: usize, reference: &str) -> std::result::Result<Option<Port>, String> {
        Ok(match self.layout.resolve(scope, reference)? {
            Source::Output(place, output) => Some(Port { node: self.places[place], output }),
            Source::Nothing => None,
        })
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
