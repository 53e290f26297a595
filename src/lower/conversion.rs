//! Conversions that CANN's compiler puts between kernels, each a kernel of its own: a `Cast` where the caller's float32
//! meets a network that runs in 16 bits, a `TransData` where a tensor lies otherwise than its reader wants it. Several
//! readers share one; what a constant would need is done when the network is compiled.

use super::before::Before;
use super::layout::DeviceLayout;
use super::merged::merge_movers;
use super::precision::is_float_alone;
use super::tensors::{EDGE, INPUT, LAYOUTS, Layouts, OUTPUT, Read, Source, number};
use super::{Flows, Lowered, Precision, Settings, flows, in_place, lower, stored};
use crate::graph::{Attr, Graph, Node, NodeId, Port};
use crate::soc::Soc;
use crate::status::Result;
use rustc_hash::FxHashMap;

#[cfg(test)]
mod tests;

/// A graph whose shapes are known with the conversions that it needs on this part, and its kernels. They are called
/// `trans_Cast_0`, `trans_TransData_1` and so on, and stand before what first reads them.
///
/// Fails as [`lower`] does.
pub fn with_conversions(graph: Graph, soc: &Soc, settings: &Settings) -> Result<(Graph, Lowered)> {
    let lowered = lower(&graph, soc, settings)?;
    let flows = flows(&graph, &lowered, soc, settings);
    let in_blocks = flows.layouts.iter().any(|layouts| *layouts != Layouts::PLAIN);
    let (graph, mut lowered) = if needs_any(&graph, settings.precision, &flows) {
        let (mut graph, places) = Converted::new(graph, settings.precision, &lowered, &flows).run()?;
        let mut before = Before::new(lowered, &places, graph.len());
        if !settings.ge_closed
            && let Some(keep) = merge_movers(&mut graph)
        {
            before.retain(&keep);
        }
        let lowered = before.lower(&graph, soc, settings)?;
        (graph, lowered)
    } else {
        (graph, lowered)
    };
    let joins = !settings.ge_closed && in_place::any(&graph, &lowered);
    if joins || in_blocks {
        let flows = super::flows(&graph, &lowered, soc, settings);
        stored::in_layouts(&graph, &mut lowered, &flows.layouts, soc, settings);
        if joins {
            in_place::write_in_place(&graph, &mut lowered, &flows, settings);
        }
    }
    Ok((graph, lowered))
}

/// Whether there is anything that may have to be converted. Large networks without are not taken apart for it.
fn needs_any(graph: &Graph, precision: Precision, flows: &Flows) -> bool {
    let is_narrowed = |port: Port| precision.stored(graph.desc(port).dtype) != graph.desc(port).dtype;
    let is_read = |read: &Read| read.converted || read.source == Source::Input && is_narrowed(read.origin);
    let leaves = |(&port, &(source, origin)): (&Port, &(Source, Port))| match source {
        Source::Kernel(at) => {
            flows.layouts[at as usize].of(graph.desc(origin)) != DeviceLayout::Plain || is_narrowed(port)
        }
        Source::Input | Source::Constant => false,
    };
    flows.reads.iter().flatten().any(is_read) || graph.outputs().iter().zip(&flows.outputs).any(leaves)
}

/// At which inputs each tensor is read; a node may have a hundred thousand.
fn places_of(inputs: &[Option<Port>]) -> FxHashMap<Port, Vec<usize>> {
    let mut places: FxHashMap<Port, Vec<usize>> = FxHashMap::default();
    for (place, port) in inputs.iter().enumerate() {
        if let Some(port) = port {
            places.entry(*port).or_default().push(place);
        }
    }
    places
}

/// A graph on its way into one with conversions. The nodes of the old one move to the new one, in topological order.
struct Converted<'a> {
    old: Graph,
    new: Graph,
    precision: Precision,
    flows: &'a Flows,
    /// Kernels by their nodes.
    kernels: FxHashMap<NodeId, u32>,
    /// Where the nodes of the old graph are in the new one.
    places: Vec<NodeId>,
    /// Conversions by what they read and what they make of it.
    made: FxHashMap<(Port, Conversion), Port>,
    /// Views of conversions, by the views of what these read.
    views: FxHashMap<(NodeId, Port), NodeId>,
    names: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Conversion {
    Narrowed,
    Widened,
    Moved(DeviceLayout, DeviceLayout),
}

impl<'a> Converted<'a> {
    fn new(old: Graph, precision: Precision, lowered: &Lowered, flows: &'a Flows) -> Converted<'a> {
        let mut new = Graph::new(old.name.clone());
        new.attrs = old.attrs.clone();
        Converted {
            places: vec![NodeId(0); old.len()],
            kernels: lowered.kernels.iter().zip(0..).map(|(kernel, at)| (kernel.node, at)).collect(),
            old,
            new,
            precision,
            flows,
            made: FxHashMap::default(),
            views: FxHashMap::default(),
            names: 0,
        }
    }

    /// The graph with its conversions, and where the nodes of the old one are in it.
    fn run(self) -> Result<(Graph, Vec<NodeId>)> {
        self.run_counted().map(|(graph, places, _)| (graph, places))
    }

    /// The same, and how often an input was looked at to see whether a tensor is read there.
    fn run_counted(mut self) -> Result<(Graph, Vec<NodeId>, usize)> {
        let mut looked = 0;
        for id in self.old.validated_order()? {
            let mut node = std::mem::replace(self.old.node_mut(id), Node::new("", ""));
            let stated = node.inputs.clone();
            node.inputs = stated.iter().map(|port| port.map(|port| self.place(port))).collect();
            if let Some(&at) = self.kernels.get(&id) {
                let flows = self.flows;
                let mut places = places_of(&stated);
                for read in &flows.reads[at as usize] {
                    // A tensor that is read at several places is read as often; the first time tells.
                    let Some(places) = places.remove(&read.port) else { continue };
                    looked += places.len();
                    let is_kept = |&place: &usize| is_float_alone(&node, place, true);
                    let keeps = node.op_type == "Cast" || places.iter().all(is_kept);
                    let handed = self.handed(read, flows.layouts[at as usize].works, keeps)?;
                    for place in places {
                        node.inputs[place] = Some(handed);
                    }
                }
            }
            self.places[id.index()] = self.new.add(node)?;
        }
        let outputs = self.outputs()?;
        self.new.set_outputs(outputs);
        Ok((self.new, self.places, looked))
    }

    /// A tensor of the old graph in the new one.
    fn place(&self, port: Port) -> Port {
        Port { node: self.places[port.node.index()], output: port.output }
    }

    fn is_narrowed(&self, port: Port) -> bool {
        let dtype = self.new.desc(port).dtype;
        self.precision.stored(dtype) != dtype
    }

    /// Whether a tensor has the elements of another: of what runs no kernel, sizes of tensors and the like have not.
    fn is_view(&self, seen: Port, origin: Port) -> bool {
        let [seen, origin] = [seen, origin].map(|port| self.new.desc(port));
        seen.shape.elements() == origin.shape.elements() && seen.dtype.is_float() == origin.dtype.is_float()
    }

    /// What a kernel that works in a layout reads instead of a tensor; `keeps` says that it takes the type that the caller
    /// gives.
    fn handed(&mut self, read: &Read, works: DeviceLayout, keeps: bool) -> Result<Port> {
        let (origin, seen) = (self.place(read.origin), self.place(read.port));
        if !self.is_view(seen, origin) {
            return Ok(seen);
        }
        let mut root = origin;
        // The network's own cast reads what the caller gives.
        if read.source == Source::Input && !keeps && self.is_narrowed(origin) {
            root = self.converted(origin, Conversion::Narrowed)?;
        }
        let from = self.made_in(read.source, read.origin);
        if !read.converted {
            return self.seen(seen, origin, root);
        }
        let plain = self.plain(seen, origin, root, from)?;
        if works == DeviceLayout::Plain || !works.holds(self.new.desc(plain)) {
            return Ok(plain);
        }
        self.converted(plain, Conversion::Moved(DeviceLayout::Plain, works))
    }

    fn made_in(&self, source: Source, origin: Port) -> DeviceLayout {
        match source {
            Source::Kernel(at) => self.flows.layouts[at as usize].of(self.new.desc(self.place(origin))),
            Source::Input | Source::Constant => DeviceLayout::Plain,
        }
    }

    /// A view of a tensor that lies in some layout, as it lies in the network's.
    fn plain(&mut self, seen: Port, origin: Port, root: Port, from: DeviceLayout) -> Result<Port> {
        if from == DeviceLayout::Plain {
            return self.seen(seen, origin, root);
        }
        let moved = self.converted(root, Conversion::Moved(from, DeviceLayout::Plain))?;
        self.seen(seen, origin, moved)
    }

    /// What a view of `origin` sees where `root` stands for that.
    fn seen(&mut self, view: Port, origin: Port, root: Port) -> Result<Port> {
        let mut chain = Vec::new();
        let mut at = view;
        while at != origin && root != origin {
            chain.push(at);
            let Some(earlier) = self.new.node(at.node).input(0) else { return Ok(view) };
            at = earlier;
        }
        if root == origin {
            return Ok(view);
        }
        let mut seen = root;
        for port in chain.into_iter().rev() {
            let known = self.views.get(&(port.node, seen)).copied();
            let node = known.map_or_else(|| self.view(port.node, seen), Ok)?;
            seen = Port { node, output: port.output };
        }
        Ok(seen)
    }

    /// A second view like this one, of something else.
    fn view(&mut self, like: NodeId, of: Port) -> Result<NodeId> {
        let mut node = self.new.node(like).clone();
        node.name = self.name(&node.name.clone());
        node.inputs[0] = Some(of);
        let id = self.new.add(node)?;
        self.views.insert((like, of), id);
        Ok(id)
    }

    /// A conversion of a tensor, the same for all who ask.
    fn converted(&mut self, of: Port, what: Conversion) -> Result<Port> {
        if let Some(&known) = self.made.get(&(of, what)) {
            return Ok(known);
        }
        let mut desc = self.new.desc(of).clone();
        let (edge, works, result) = match what {
            Conversion::Narrowed => (Some(INPUT), DeviceLayout::Plain, DeviceLayout::Plain),
            Conversion::Widened => (Some(OUTPUT), DeviceLayout::Plain, DeviceLayout::Plain),
            Conversion::Moved(from, to) => (None, from, to),
        };
        let op_type = if edge.is_some() { "Cast" } else { "TransData" };
        let mut node = Node::new(self.name(&format!("trans_{op_type}")), op_type).with_inputs([of]);
        node.attrs.set(LAYOUTS, Attr::Ints(vec![number(works), number(result)]));
        if let Some(edge) = edge {
            if what == Conversion::Narrowed {
                desc.dtype = self.precision.stored(desc.dtype);
            }
            node.attrs.set("dst_type", Attr::Type(desc.dtype));
            node.attrs.set(EDGE, Attr::Str(edge.to_owned()));
        } else {
            node.attrs.set("src_format", Attr::Str(works.format(&desc).name().to_owned()));
            node.attrs.set("dst_format", Attr::Str(result.format(&desc).name().to_owned()));
        }
        let made = Port::first(self.new.add(node.with_outputs(vec![desc]))?);
        self.made.insert((of, what), made);
        Ok(made)
    }

    /// A name that no node has.
    fn name(&mut self, base: &str) -> String {
        loop {
            let name = format!("{base}_{}", self.names);
            self.names += 1;
            if self.old.find(&name).is_none() && self.new.find(&name).is_none() {
                return name;
            }
        }
    }

    /// The outputs of the graph, plain and in the types that the network states.
    fn outputs(&mut self) -> Result<Vec<Port>> {
        let stated = self.old.outputs().to_vec();
        let made: Vec<_> = self.flows.outputs.clone();
        stated.into_iter().zip(made).map(|(port, (source, origin))| self.output(port, source, origin)).collect()
    }

    fn output(&mut self, port: Port, source: Source, origin: Port) -> Result<Port> {
        let seen = self.place(port);
        // Where the sizes end, so does what can be converted.
        let is_known = self.new.desc(seen).shape.known().is_some();
        if !is_known || !matches!(source, Source::Kernel(_)) {
            return Ok(seen);
        }
        let from = self.made_in(source, origin);
        let sizes = |port: Port| self.new.desc(self.place(port)).shape.known().unwrap_or_default();
        let is_plain = from.viewed(sizes(origin), sizes(port)) == Some(DeviceLayout::Plain);
        let origin = self.place(origin);
        if !self.is_view(seen, origin) {
            return Ok(seen);
        }
        let plain = if is_plain { seen } else { self.plain(seen, origin, origin, from)? };
        if self.is_narrowed(plain) { self.converted(plain, Conversion::Widened) } else { Ok(plain) }
    }
}
