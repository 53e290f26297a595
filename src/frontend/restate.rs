//! What follows where a caller gives inputs other sizes than the model states.
//!
//! What the model says of tensors behind such an input was said of other sizes: it is forgotten, and inference tells
//! it anew. What an operator that no rule knows makes of the sizes is open then. Constants stay, and may contradict.

use crate::graph::infer::{self, DIM_NAMES};
use crate::graph::{Attr, Graph, Node, NodeId, Shape, UNKNOWN_DIM};
use crate::spelling;
use crate::status::{Error, Result};

/// An input whose shape is another than the model's.
pub(super) struct Change {
    /// The `Data` node.
    pub input: NodeId,
    /// Its shape as it was.
    pub was: Shape,
    /// Its shape as it is to be.
    pub is: Shape,
    /// Whether only dimensions that bear a symbol differ: the model itself leaves them open.
    pub symbolic: bool,
}

/// Inputs that were given other sizes, and what hung on the old ones.
#[derive(Default)]
pub(super) struct Restated {
    /// The changes in words; empty where there are none.
    changes: String,
    /// Nodes of type `Reshape` behind the changes, with the first size of what each read.
    reshapes: Vec<(NodeId, i64)>,
}

impl Restated {
    /// Forgets what the model says of the tensors behind these inputs, whose shapes are still the old ones.
    pub fn forget(graph: &mut Graph, changes: &[Change]) -> Result<Restated> {
        if changes.is_empty() {
            return Ok(Restated::default());
        }
        let behind = behind(graph, changes)?;
        // To know what the model made of its own sizes. Where they contradict it, the new ones may be the right ones.
        let as_it_was = infer::infer(graph);
        let first = |id: NodeId| {
            let read = graph.node(id).input(0).filter(|_| graph.node(id).op_type == "Reshape")?;
            Some((id, *graph.desc(read).shape.dims()?.first()?))
        };
        let symbolic = changes.iter().all(|change| change.symbolic);
        let stated = if as_it_was.is_ok() && !symbolic { behind.as_slice() } else { &[] };
        let reshapes = stated.iter().filter_map(|&id| first(id)).collect();
        for id in behind {
            forget_outputs(graph.node_mut(id), symbolic);
        }
        let words = changes.iter().map(|Change { input, was, is, .. }| {
            format!("input `{}` is given as {is}, the model states {was}", graph.node(*input).name)
        });
        let words: Vec<String> = words.collect();
        let changes = spelling::listed(&words.iter().map(String::as_str).collect::<Vec<_>>());
        Ok(Restated { changes, reshapes })
    }

    /// Makes the outcome of inference with the new sizes tell what is at fault: the changes, or a constant that the
    /// sizes cannot pass. `batches` are the first sizes of the inputs that are open there.
    pub fn explain(&self, graph: &Graph, inferred: Result<()>, batches: &[i64]) -> Result<()> {
        let pinned = self.reshapes.iter().find_map(|&(id, was)| Pinned::of(graph, id).filter(|pin| pin.size == was));
        if let Some(pin) = pinned {
            return Err(pin.error(&self.changes));
        }
        let Err(Error::Graph { location, reason }) = inferred else { return inferred };
        let pin = |(id, _)| Pinned::of(graph, id).filter(|pin| batches.contains(&pin.read[0]));
        if let Some(pin) = graph.iter().find_map(pin) {
            return Err(pin.error(&format!("{location} fails: {reason}")));
        }
        let changes = if self.changes.is_empty() { String::new() } else { format!(" ({})", self.changes) };
        Err(Error::graph(location, reason + &changes))
    }
}

/// The nodes that work on what these inputs bring, each after those it reads.
fn behind(graph: &Graph, changes: &[Change]) -> Result<Vec<NodeId>> {
    let mut reached = vec![false; graph.len()];
    for change in changes {
        reached[change.input.index()] = true;
    }
    let mut behind = Vec::new();
    for id in graph.validated_order()? {
        if graph.node(id).inputs.iter().flatten().any(|port| reached[port.node.index()]) {
            reached[id.index()] = true;
            behind.push(id);
        }
    }
    Ok(behind)
}

/// Forgets the shapes of a node's outputs; types and layouts stay. What the file says of an unmapped node by the
/// symbols of its sizes holds for other values of these symbols.
fn forget_outputs(node: &mut Node, symbolic: bool) {
    for noted in [infer::STATED_SHAPES, infer::BELIEVED_SHAPES] {
        node.attrs.remove(noted);
    }
    let names = match node.attrs.get(DIM_NAMES) {
        Some(Attr::Strs(names)) if symbolic && !node.mapped => names.clone(),
        _ => {
            node.outputs.iter_mut().for_each(|output| output.shape = Shape::unknown_rank());
            return;
        }
    };
    let mut names = names.iter();
    for output in &mut node.outputs {
        let Some(dims) = output.shape.dims() else { continue };
        let open = dims.iter().zip(names.by_ref()).map(|(&dim, name)| if name.is_empty() { dim } else { UNKNOWN_DIM });
        output.shape = Shape::new(open.collect::<Vec<_>>());
    }
}

/// A `Reshape` whose target states the first size and leaves another to what is there: other first sizes of what it
/// reads end up where they do not belong, in its -1.
struct Pinned<'a> {
    node: &'a Node,
    target: &'a [i64],
    /// The first size that the target states.
    size: i64,
    /// Sizes of what it reads.
    read: &'a [i64],
}

impl Pinned<'_> {
    fn of(graph: &Graph, id: NodeId) -> Option<Pinned<'_>> {
        let node = graph.node(id);
        let read = graph.desc(node.input(0).filter(|_| node.op_type == "Reshape")?).shape.known()?;
        let target = match node.input(1) {
            Some(port) => graph.node(port.node).value.as_ref()?.ints()?,
            None => node.attrs.ints("shape")?,
        };
        let (&size, &first) = (target.first()?, read.first()?);
        (size > 0 && first != size && target.contains(&UNKNOWN_DIM)).then_some(Pinned { node, target, size, read })
    }

    fn error(&self, because: &str) -> Error {
        let (target, read) = (self.target.iter().map(i64::to_string).collect::<Vec<_>>().join(","), self.read);
        let reason = format!(
            "its target [{target}] states {} as the first size of what is {} there, so that the sizes given end up in \
             another dimension ({because}); export the model with an open first dimension",
            self.size,
            Shape::new(read)
        );
        Error::graph(format!("node `{}` ({})", self.node.name, self.node.op_type), reason)
    }
}
