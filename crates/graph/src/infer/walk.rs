//! The walk over a graph in topological order that gives every output its description.

use super::call::{Call, Inference, Inferred};
use super::dim::Reason;
use super::entry::{comes_from_outside, shape_wanted};
use super::value::{Value, Values};
use super::{DIM_NAMES, OF_ONNX, SHAPED_AS, SHAPES_OF_INPUTS, advice, fold, found, language, onnx, stated};
use crate::{Constant, DataType, Format, Graph, Node, NodeId, Port, Shape, TensorDesc, UNKNOWN_DIM, WHY_UNMAPPED, op};
use aoe_base::spelling::{shortened, with_short_names};
use aoe_base::status::{Error, Result};
use rustc_hash::FxHashSet;

/// More dimensions than any tensor on the device may have.
const MAX_RANK: usize = 64;

/// Fills in the description of every output of every node, folding the integer constants that decide
/// shapes on the way.
///
/// A description that a node already has (from `value_info`, from an earlier run) fills in what its
/// rule cannot tell and gives way where the two differ, unless GE inferred it ([`STATED_SHAPES`](super::STATED_SHAPES)): then what GE says is
/// believed, and the node noted ([`BELIEVED_SHAPES`](super::BELIEVED_SHAPES)). `auto_pad` is resolved into `pads`. A node whose
/// result is the same every time, because its inputs are constants or only their shapes matter, gets
/// that [`Constant`] as its `value`: it runs no kernel.
///
/// What stays unknown is left unknown; [`split_static`](super::split_static) cuts it off, [`require_static`] makes it an error. Fails with
/// [`Error::Graph`] that names a node whose inputs contradict each other.
pub fn infer(graph: &mut Graph) -> Result<()> {
    infer_asking(graph, &mut |_, _| None)
}

/// What somebody else tells of a node's outputs: a description for each, and the value where it is known.
pub type Answer = Vec<(TensorDesc, Option<Constant>)>;

/// The same, where `ask` may know what a node of an unknown operator gives: it gets the graph, of which everything is inferred
/// that the node reads. What it does not answer is unknown.
pub fn infer_asking(graph: &mut Graph, ask: &mut dyn FnMut(&Graph, NodeId) -> Option<Answer>) -> Result<()> {
    let mut values = Values::default();
    for id in graph.validated_order()? {
        let answer = if graph.node(id).mapped { None } else { ask(graph, id) };
        let step = match answer {
            Some(answer) => Step::told(answer),
            None => Step::of(graph, id, &values).map_err(|reason| refuse(graph, id, &reason))?,
        };
        step.apply(graph, id, &mut values);
        check_outputs(graph, id)?;
    }
    Ok(())
}

/// What follows of a graph that is still being built, each of whose nodes reads what was added before it.
///
/// It is inferred up to the last node whenever somebody asks, and never twice.
#[derive(Debug, Default)]
pub struct SoFar {
    known: Graph,
    values: Values,
}

impl SoFar {
    /// What is known of the tensor at a port of the graph, which only grows from one call to the next. Where inputs
    /// contradict each other, nothing is known of what follows: that is told when the whole is inferred.
    pub fn desc(&mut self, built: &Graph, port: Port) -> &TensorDesc {
        while self.known.len() < built.len() {
            let id = self.known.share(built);
            let is_right = match Step::of(&self.known, id, &self.values) {
                Ok(step) => {
                    step.apply(&mut self.known, id, &mut self.values);
                    check_outputs(&self.known, id).is_ok()
                }
                Err(_) => false,
            };
            if !is_right {
                self.known.node_mut(id).outputs.fill(TensorDesc::unknown());
            }
        }
        self.known.desc(port)
    }
}

/// Fails with [`Error::Dynamic`] that names the first tensor (in topological order) whose shape is not
/// fully known. Outputs that nothing reads do not count, except the first of a node whose operator is known.
pub fn require_static(graph: &Graph) -> Result<()> {
    let order = graph.validated_order()?;
    let read: FxHashSet<Port> = graph.iter().flat_map(|(_, node)| node.inputs.iter().flatten()).copied().collect();
    let leaves: FxHashSet<Port> = graph.outputs().iter().copied().collect();
    for id in order {
        let node = graph.node(id);
        for (index, desc) in node.outputs.iter().enumerate() {
            let port = Port { node: id, output: index as u32 };
            let counts = read.contains(&port) || has_rule(node) && (index == 0 || leaves.contains(&port));
            if desc.shape.known().is_none() && counts && node.op_type != "NetOutput" {
                return Err(dynamic(graph, port));
            }
        }
    }
    Ok(())
}

/// What the rule of a node's operator says of its outputs from the descriptions of its inputs and from constants; nothing
/// where there is no rule, or where it refuses its inputs.
pub fn describe(graph: &Graph, id: NodeId) -> Vec<TensorDesc> {
    let node = graph.node(id);
    let Some(rule) = op::shape_rule(&node.op_type).filter(|_| node.mapped) else { return Vec::new() };
    let inferred = rule(&Call::new(graph, node, &Values::default()));
    inferred.map_or_else(|_| Vec::new(), |inferred| inferred.outputs)
}

/// Whether there is a rule for a node's operator.
pub fn has_rule(node: &Node) -> bool {
    node.mapped && op::family(&node.op_type).is_some()
}

/// Whether what a node's rule leaves open hangs on values, which only a run has: rules of fused products may also lack the
/// names of inputs, or how many devices there are.
pub(super) fn follows_from_values(node: &Node) -> bool {
    let has_onnx_rule = || node.attrs.str(SHAPED_AS).is_some_and(|like| !node.mapped && like.starts_with(OF_ONNX));
    has_rule(node) && !matches!(op::kind(&node.op_type), op::Kind::Within(_)) || has_onnx_rule()
}

/// The error that a tensor has no static shape.
pub fn dynamic(graph: &Graph, port: Port) -> Error {
    let node = graph.node(port.node);
    let advice = if node.op_type == crate::DATA {
        advice::sizes_wanted(graph)
    } else if comes_from_outside(node) {
        format!("{}, or cut the network before what reads it with out_nodes", shape_wanted(&node.op_type))
    } else if follows_from_values(node) || op::gives_what_it_finds(&node.op_type) {
        "only a run tells it; cut the network before the node with out_nodes".to_owned()
    } else {
        "state the shape in the model, if its format can, or cut the network before the node with out_nodes".to_owned()
    };
    let reason = with_short_names(why_unknown(node, graph.desc(port)));
    Error::Dynamic { tensor: shortened(&graph.tensor_name(port)).into_owned(), reason, advice }
}

fn why_unknown(node: &Node, desc: &TensorDesc) -> String {
    let known = format!("{} {}", desc.dtype.name(), desc.shape);
    if let (Some(crate::Attr::Strs(names)), Some(dims)) = (node.attrs.get(DIM_NAMES), desc.shape.dims()) {
        let open = names.iter().zip(dims).enumerate().filter(|(_, (name, dim))| !name.is_empty() && **dim < 0);
        let symbols = open.map(|(axis, (name, _))| format!(", dimension {axis} is `{name}`"));
        return symbols.fold(known, |text, symbol| text + &symbol);
    }
    if let Some(why) = node.attrs.str(WHY_UNMAPPED).filter(|_| !node.mapped) {
        return format!("{known}; node `{}` ({}) gives it: {why}", node.name, node.op_type);
    }
    if !has_rule(node) {
        return format!(
            "{known}; node `{}` is of type `{}`, for which there is no shape rule{}",
            node.name,
            node.op_type,
            meant(node)
        );
    }
    if !follows_from_values(node) {
        return format!(
            "{known}; the names of inputs and the attributes that node `{}` ({}) has do not tell it",
            node.name, node.op_type
        );
    }
    known
}

/// The operator that one may have meant whose type CANN does not declare.
fn meant(node: &Node) -> String {
    let is_declared = !node.mapped || op::prototype::prototype(&node.op_type).is_some();
    let near = if is_declared { None } else { op::prototype::nearest(&node.op_type) };
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// What one step of the walk found out.
struct Step {
    inferred: Inferred,
    values: Vec<(u32, Value)>,
    constant: Option<Constant>,
}

impl Step {
    fn of(graph: &Graph, id: NodeId, values: &Values) -> Result<Step, Reason> {
        let node = graph.node(id);
        let call = Call::new(graph, node, values);
        let Some(rule) = op::shape_rule(&node.op_type).filter(|_| node.mapped) else {
            if let Some(inferred) = shaped_as(&call) {
                return Ok(Step { inferred: inferred?, values: Vec::new(), constant: None });
            }
            let told = if node.mapped { language::by_interface(&call) } else { found::found(graph, node) };
            let inferred = told.unwrap_or_else(|| stated(&call));
            return Ok(Step { inferred, values: Vec::new(), constant: None });
        };
        call.check_types()?;
        let inferred = rule(&call)?;
        let values = fold::fold(&call, &inferred.outputs, values);
        let constant = fold_to(&call, op::kind(&node.op_type), &values);
        Ok(Step { inferred, values, constant })
    }

    /// What somebody else tells.
    fn told(answer: Answer) -> Step {
        let is_one = answer.len() == 1;
        let (outputs, values): (_, Vec<_>) = answer.into_iter().unzip();
        let constant = values.into_iter().next().flatten().filter(|_| is_one);
        Step { inferred: Inferred { outputs, attrs: Vec::new() }, values: Vec::new(), constant }
    }

    fn apply(self, graph: &mut Graph, id: NodeId, values: &mut Values) {
        let Step { inferred, values: found, constant } = self;
        // Of a node that reads something, the value is none but what follows from that.
        let is_made = graph.node(id).inputs.iter().any(Option::is_some);
        let is_certain = !found.is_empty();
        graph.update(id, |node| Self::put(node, inferred, constant, is_made, is_certain));
        for (output, value) in found {
            values.insert(Port { node: id, output }, value);
        }
    }

    fn put(node: &mut Node, inferred: Inferred, constant: Option<Constant>, is_made: bool, is_certain: bool) {
        // What follows from values is certain.
        let stated = stated::take(node).filter(|_| !is_certain).unwrap_or_default();
        let mut kept = stated::Outputs::default();
        for (index, (old, new)) in (0..).zip(node.outputs.iter_mut().zip(inferred.outputs)) {
            let is_kept = stated.contains(index) && kept.weigh(index, &old.shape, &new.shape);
            let was = is_kept.then(|| old.shape.clone());
            merge(old, new);
            if let Some(was) = was {
                old.shape = was;
            }
        }
        kept.note(node);
        for (name, attr) in inferred.attrs {
            node.attrs.set(name, attr);
        }
        if is_made || node.value.is_none() {
            node.value = constant;
        }
    }
}

/// What a node of an unknown operator says of its outputs ([`SHAPES_OF_INPUTS`]): sizes, and types where it has none.
fn stated(call: &Call<'_>) -> Inferred {
    let inputs = call.node.attrs.ints(SHAPES_OF_INPUTS).unwrap_or_default();
    let like = |(input, output): (&i64, &TensorDesc)| {
        let Some(read) = usize::try_from(*input).ok().and_then(|input| call.get(input)) else {
            return TensorDesc::unknown();
        };
        let dtype = if output.dtype == DataType::Undefined { read.dtype } else { output.dtype };
        TensorDesc { dtype, ..read.clone() }
    };
    Inferred { outputs: inputs.iter().zip(&call.node.outputs).map(like).collect(), attrs: Vec::new() }
}

/// What another operator's rule says of a node of an unknown operator ([`SHAPED_AS`]).
fn shaped_as(call: &Call<'_>) -> Option<Inference> {
    let like = call.node.attrs.str(SHAPED_AS).filter(|_| !call.node.mapped)?;
    let rule = like.strip_prefix(OF_ONNX).map_or_else(|| op::shape_rule(like), onnx::rule)?;
    let mut inferred = rule(call);
    for (output, stated) in inferred.iter_mut().flat_map(|inferred| &mut inferred.outputs).zip(&call.node.outputs) {
        if stated.dtype != DataType::Undefined {
            output.dtype = stated.dtype;
        }
    }
    Some(inferred)
}

/// The constant that a node is, if it is one: its values are known, or its inputs are constants and
/// CANN would compute it ahead of time (it does not for cube work).
fn fold_to(call: &Call<'_>, kind: op::Kind, values: &[(u32, Value)]) -> Option<Constant> {
    let known: Vec<_> = values.iter().filter_map(|(_, value)| value.to_constant()).collect();
    if !known.is_empty() && known.len() == call.results() {
        return known.into_iter().next();
    }
    let foldable = !matches!(kind.class(), op::OpClass::MatMul | op::OpClass::Conv | op::OpClass::Collective)
        && !op::is_random(&call.node.op_type)
        && call.connected().next().is_some();
    (foldable && call.inputs_are_constant()).then_some(Constant::Opaque)
}

/// Puts what a rule found over what was there; the old fills in what the rule left open.
fn merge(old: &mut TensorDesc, mut new: TensorDesc) {
    if new.dtype == DataType::Undefined {
        new.dtype = old.dtype;
    }
    if new.format == Format::Nd {
        new.format = old.format;
    }
    new.shape = match (new.shape.dims(), old.shape.dims()) {
        (None, _) => old.shape.clone(),
        (Some(n), Some(o)) if n.len() == o.len() => {
            Shape::new(n.iter().zip(o).map(|(&n, &o)| if n < 0 { o } else { n }).collect::<Vec<_>>())
        }
        _ => new.shape,
    };
    *old = new;
}

/// No tensor may have a negative size, too many axes, or more elements than can be counted.
fn check_outputs(graph: &Graph, id: NodeId) -> Result<()> {
    let node = graph.node(id);
    for desc in &node.outputs {
        let Some(dims) = desc.shape.dims() else { continue };
        let reason = if dims.len() > MAX_RANK {
            format!("a tensor has {} dimensions, at most {MAX_RANK} are possible", dims.len())
        } else if let Some(d) = dims.iter().find(|&&d| d < UNKNOWN_DIM) {
            format!("a tensor has a dimension of {d}")
        } else if desc.shape.known().is_some() && desc.bytes().is_none() {
            format!("a tensor of shape {} has more bytes than 64 bits can count", desc.shape)
        } else {
            continue;
        };
        return Err(Error::graph(place(node), reason));
    }
    check_constant(node)
}

/// A constant has as many values as its shape says.
fn check_constant(node: &Node) -> Result<()> {
    let len = match &node.value {
        Some(Constant::Ints(v)) => v.len(),
        Some(Constant::Floats(v)) => v.len(),
        Some(Constant::Stored(_) | Constant::Opaque) | None => return Ok(()),
    };
    match node.outputs.first().and_then(|d| d.shape.elements()) {
        Some(elements) if elements != len as u64 => {
            Err(Error::graph(place(node), format!("it has {len} values for {elements} elements")))
        }
        _ => Ok(()),
    }
}

fn place(node: &Node) -> String {
    format!("node `{}` ({})", node.name, node.op_type)
}

/// The error of a rule that refused its inputs.
fn refuse(graph: &Graph, id: NodeId, reason: &str) -> Error {
    let node = graph.node(id);
    let shape = |port: &Option<Port>| port.map_or_else(|| "none".to_owned(), |p| graph.desc(p).shape.to_string());
    // Nodes may have thousands of inputs; the first tell enough.
    let mut shapes: Vec<_> = node.inputs.iter().take(8).map(shape).collect();
    if node.inputs.len() > shapes.len() {
        shapes.push("...".to_owned());
    }
    Error::graph(place(node), format!("{reason}; its inputs have shapes {}", shapes.join(" ")))
}
