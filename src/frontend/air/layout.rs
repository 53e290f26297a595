//! The nodes of a file laid out in one graph: the graph of a `PartitionedCall` stands in its place.
//!
//! A reference then leads from a scope (one graph at the place of its call) through calls and their
//! arguments to the node that makes the tensor.

use super::proto::{self, decode};
use super::{CALLS, END, INPUTS, NET_OUTPUT, attr, tensor};
use crate::frontend::ends;
use crate::graph::Attrs;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use rustc_hash::{FxHashMap, FxHashSet};

/// Calls within calls; GE nests a handful.
const MAX_DEPTH: usize = 64;
/// What the nodes of called graphs may take, in bytes of the file and [`NODE_COST`] for each: a short file
/// may call so often that no memory holds the result. The file's own size comes on top, eight times.
const INLINED_BYTES: usize = 16 << 20;
/// What a node takes besides its bytes.
const NODE_COST: usize = 64;
/// Calls and arguments that a reference may lead through.
const MAX_HOPS: usize = 4 * MAX_DEPTH;

/// One node of the file that becomes a node of the graph.
pub struct Placed {
    /// As the file has it, without what stands below.
    pub op: proto::Op,
    /// Its attributes.
    pub attrs: Attrs,
    /// Its name in the whole graph.
    pub name: String,
    /// Where its references are looked up.
    pub scope: usize,
}

/// What a name in a scope stands for.
enum Entry {
    /// The node at this place of [`Layout::nodes`].
    Node(usize),
    /// A call: the scope of what it calls, and its inputs.
    Call { scope: usize, inputs: Vec<String> },
    /// The input of the call with this place.
    Argument(usize),
}

/// One graph at the place of its call.
struct Scope {
    names: FxHashMap<String, Entry>,
    /// References to the tensors that leave it.
    outputs: Vec<String>,
    /// Name of the `NetOutput` that reads them.
    end: Option<String>,
    /// The scope and name of the call; `None` for the root.
    call: Option<(usize, String)>,
}

/// Where a reference leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Output of the node at a place of [`Layout::nodes`].
    Output(usize, u32),
    /// An input of a call that nothing is connected to.
    Nothing,
}

/// All nodes, and what their references mean.
pub struct Layout {
    /// The nodes that become nodes, in the order of the file.
    pub nodes: Vec<Placed>,
    /// References of the root to the tensors that leave it.
    pub outputs: Vec<String>,
    /// References of the root to nodes that its end waits for.
    pub control_outputs: Vec<String>,
    /// Names of the graphs that stand in the place of their calls.
    pub called: FxHashSet<String>,
    scopes: Vec<Scope>,
}

/// Lays out the graphs of a file.
struct Builder<'a> {
    model: &'a str,
    subgraphs: &'a FxHashMap<String, Bytes>,
    /// Names taken, each with the next number to try when it is wished for again.
    names: FxHashMap<String, u32>,
    layout: Layout,
    /// What called graphs may still take.
    budget: usize,
}

impl Layout {
    /// Lays out the root graph; `model` names it in errors.
    pub fn of(root: proto::Graph, subgraphs: &FxHashMap<String, Bytes>, model: &str) -> Result<Layout> {
        let layout = Layout {
            nodes: Vec::new(),
            outputs: Vec::new(),
            control_outputs: Vec::new(),
            called: FxHashSet::default(),
            scopes: Vec::new(),
        };
        let size = subgraphs.values().fold(0, |sum: usize, bytes| sum.saturating_add(bytes.len()));
        let budget = INLINED_BYTES.saturating_add(size.saturating_mul(8));
        let mut builder = Builder { model, subgraphs, names: FxHashMap::default(), layout, budget };
        builder.lay(root, None, 0)?;
        let mut layout = builder.layout;
        let outputs = std::mem::take(&mut layout.scopes[0].outputs);
        (layout.control_outputs, layout.outputs) = outputs.into_iter().partition(|o| is_control(o));
        Ok(layout)
    }

    /// Follows a reference of a scope; the reason why it leads nowhere is the error.
    pub fn resolve(&self, scope: usize, reference: &str) -> std::result::Result<Source, String> {
        let (name, mut output) = split(reference)?;
        let (mut scope, mut name) = (scope, name.to_owned());
        for _ in 0..MAX_HOPS {
            let next = match self.scopes[scope].names.get(&name) {
                None if self.scopes[scope].end.as_ref() == Some(&name) => {
                    return Err(format!("refers to {}", ends::at(&name)));
                }
                None => return Err(format!("refers to `{name}`, which is no node of its graph")),
                Some(Entry::Node(place)) => return Ok(Source::Output(*place, output)),
                Some(Entry::Call { scope: called, .. }) => {
                    let outputs = &self.scopes[*called].outputs;
                    let data = outputs.get(output as usize).filter(|o| !is_control(o));
                    scope = *called;
                    data.ok_or_else(|| format!("refers to output {output} of call `{name}`, which has none such"))?
                }
                Some(Entry::Argument(place)) => {
                    let (caller, call) = self.scopes[scope].call.as_ref().ok_or("refers to an argument of no call")?;
                    let Some(Entry::Call { inputs, .. }) = self.scopes[*caller].names.get(call) else {
                        return Err(format!("refers to an argument of `{call}`, which is no call"));
                    };
                    scope = *caller;
                    inputs.get(*place).ok_or_else(|| format!("call `{call}` has no input {place}"))?
                }
            };
            if next.is_empty() {
                return Ok(Source::Nothing);
            }
            let (to, at) = split(next)?;
            (name, output) = (to.to_owned(), at);
        }
        Err(format!("leads through more than {MAX_HOPS} calls, or in a circle"))
    }

    /// The node that a control edge comes from; `None` for one from a call, which is no node any more.
    pub fn control_source(&self, scope: usize, reference: &str) -> std::result::Result<Option<usize>, String> {
        let name = reference.rsplit_once(':').map_or(reference, |(name, _)| name);
        match self.scopes[scope].names.get(name) {
            None => Err(format!("waits for `{name}`, which is no node of its graph")),
            Some(Entry::Node(place)) => Ok(Some(*place)),
            Some(_) => Ok(None),
        }
    }
}

/// Whether a reference is a control edge.
pub fn is_control(reference: &str) -> bool {
    reference.ends_with(":-1")
}

/// A reference's node and output.
fn split(reference: &str) -> std::result::Result<(&str, u32), String> {
    let parts = reference.rsplit_once(':').and_then(|(name, output)| Some((name, output.parse().ok()?)));
    parts.ok_or_else(|| format!("is `{reference}`, not of the form name:index"))
}

impl Builder<'_> {
    /// Lays out one graph; answers its scope.
    fn lay(&mut self, graph: proto::Graph, call: Option<(usize, String)>, depth: usize) -> Result<usize> {
        let place =
            if graph.name.is_empty() { format!("model `{}`", self.model) } else { format!("graph `{}`", graph.name) };
        let prefix = call.as_ref().map(|(_, call)| call.clone());
        let scope = self.layout.scopes.len();
        self.layout.scopes.push(Scope { names: FxHashMap::default(), outputs: Vec::new(), end: None, call });
        if prefix.is_none() && !self.subgraphs.is_empty() {
            // The root's names are the caller's to see; what is inlined gives way.
            for (index, bytes) in graph.op.iter().enumerate() {
                self.names.insert(named(bytes.clone(), &place, index)?.name, 0);
            }
        }
        if prefix.is_none() {
            self.layout.nodes.reserve_exact(graph.op.len());
        }
        let mut outputs = None;
        let mut ends = Vec::new();
        for (index, bytes) in graph.op.into_iter().enumerate() {
            if prefix.is_some() {
                self.take(bytes.len().saturating_add(NODE_COST), &|| format!("{place}, node {index}"))?;
            }
            let op = named(bytes, &place, index)?;
            match op.op_type.as_str() {
                NET_OUTPUT if outputs.is_some() => {
                    return Err(Error::graph(format!("{place}, node `{}`", op.name), "is a second NetOutput"));
                }
                NET_OUTPUT => {
                    self.layout.scopes[scope].end = Some(op.name.clone());
                    outputs = Some(Self::outputs_of(op, prefix.is_some())?);
                }
                END => ends.extend(op.input.into_iter().filter(|i| !i.is_empty())),
                _ => self.lay_op(op, scope, prefix.as_deref(), depth)?,
            }
        }
        ends.extend(outputs.unwrap_or(if ends.is_empty() { graph.output } else { Vec::new() }));
        self.layout.scopes[scope].outputs = ends;
        Ok(scope)
    }

    /// The tensors that a `NetOutput` reads; in a called graph in the order of the call's outputs.
    fn outputs_of(op: proto::Op, called: bool) -> Result<Vec<String>> {
        if !called {
            return Ok(op.input.into_iter().filter(|input| !input.is_empty()).collect());
        }
        let mut ordered = vec![String::new(); op.input.len()];
        for (index, input) in op.input.into_iter().enumerate().filter(|(_, input)| !is_control(input)) {
            let place = || format!("node `{}`, input {index}", op.name);
            let described = match op.input_desc.get(index) {
                Some(bytes) => tensor::read(bytes.clone(), &place)?,
                None => tensor::Described::default(),
            };
            let at = described.parent_index.map_or(Some(index), |at| usize::try_from(at).ok());
            match at.and_then(|at| ordered.get_mut(at)) {
                Some(slot) if slot.is_empty() => *slot = input,
                _ => return Err(Error::graph(place(), "its output of the call is taken or does not exist")),
            }
        }
        Ok(ordered)
    }

    /// Lays out one operator.
    fn lay_op(&mut self, mut op: proto::Op, scope: usize, prefix: Option<&str>, depth: usize) -> Result<()> {
        let place = || format!("node `{}` ({})", op.name, op.op_type);
        let attrs = attr::read_all(&op.attr, &place)?;
        let is_input = INPUTS.contains(&op.op_type.as_str());
        let name = op.name.clone();
        let entry = if prefix.is_some() && is_input {
            Entry::Argument(argument(&op, &attrs)?)
        } else if CALLS.contains(&op.op_type.as_str()) && !op.subgraph_name.is_empty() {
            self.lay_call(&op, scope, depth)?
        } else {
            let name = prefix.map_or_else(|| std::mem::take(&mut op.name), |prefix| self.claim(prefix, &name));
            // They are read, and a file may have a million nodes.
            op.attr = Vec::new();
            self.layout.nodes.push(Placed { op, attrs, name, scope });
            Entry::Node(self.layout.nodes.len() - 1)
        };
        match self.layout.scopes[scope].names.insert(name.clone(), entry) {
            None => Ok(()),
            Some(_) => Err(Error::graph(format!("node `{name}`"), "a second node has the same name")),
        }
    }

    /// Lays out what an operator calls.
    fn lay_call(&mut self, op: &proto::Op, scope: usize, depth: usize) -> Result<Entry> {
        let place = || format!("node `{}` ({})", op.name, op.op_type);
        if depth >= MAX_DEPTH {
            return Err(Error::graph(place(), format!("calls are nested more than {MAX_DEPTH} deep, or in a circle")));
        }
        let [called] = op.subgraph_name.as_slice() else {
            return Err(Error::graph(place(), format!("calls {} graphs, not one", op.subgraph_name.len())));
        };
        let Some(bytes) = self.subgraphs.get(called) else {
            return Err(Error::graph(place(), format!("calls graph `{called}`, which is not in the file")));
        };
        let graph = decode(bytes.clone(), || format!("graph `{called}`"))?;
        let (data, control): (Vec<_>, Vec<_>) = op.input.iter().cloned().partition(|input| !is_control(input));
        if !control.is_empty() {
            log::warn!("{}: the control edges of a call are not kept", place());
        }
        self.layout.called.insert(called.clone());
        let called = self.lay(graph, Some((scope, op.name.clone())), depth + 1)?;
        Ok(Entry::Call { scope: called, inputs: data })
    }

    /// Takes what a node of a called graph needs from the budget.
    fn take(&mut self, bytes: usize, place: &dyn Fn() -> String) -> Result<()> {
        match self.budget.checked_sub(bytes) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(Error::graph(place(), "graphs are called so often that the whole does not fit into memory")),
        }
    }

    /// A name for a node of a called graph: its own, else with the call's before it, else with a number.
    fn claim(&mut self, call: &str, name: &str) -> String {
        let mut wish = name.to_owned();
        if self.names.contains_key(&wish) {
            wish = format!("{call}/{name}");
        }
        let mut number = self.names.get(&wish).copied().unwrap_or(0);
        let mut claimed = wish.clone();
        while self.names.contains_key(&claimed) {
            number += 1;
            claimed = format!("{wish}_{number}");
        }
        self.names.insert(wish, number);
        self.names.entry(claimed.clone()).or_insert(0);
        claimed
    }
}

/// An operator with its name and type.
fn named(bytes: Bytes, place: &str, index: usize) -> Result<proto::Op> {
    let op: proto::Op = decode(bytes, || format!("{place}, node {index}"))?;
    if op.name.is_empty() {
        return Err(Error::graph(format!("{place}, node {index} ({})", op.op_type), "the name is empty"));
    }
    if op.op_type.is_empty() {
        return Err(Error::graph(format!("{place}, node {index} `{}`", op.name), "the operator type is empty"));
    }
    Ok(op)
}

/// Which input of its call an input of a called graph is.
fn argument(op: &proto::Op, attrs: &Attrs) -> Result<usize> {
    let index = attrs.int(tensor::PARENT_INDEX).or_else(|| attrs.int(super::INDEX));
    index.and_then(|index| usize::try_from(index).ok()).ok_or_else(|| {
        let reason =
            format!("no attribute `{}` or `{}` says which input of the call it is", tensor::PARENT_INDEX, super::INDEX);
        Error::graph(format!("node `{}` ({})", op.name, op.op_type), reason)
    })
}
