//! Nodes that hold graphs and stay nodes: `If` whose condition is not known, `Loop`, `Scan`.
//!
//! What their graphs take of the tensors around them becomes inputs of the node, as GE has it. Of what the node gives, the
//! sizes are those that its graphs tell, each read by itself with the tensors around it as inputs: of an `If` where both
//! graphs agree, of what a loop hands on where a round leaves the sizes as they are.

use super::branches::unlike_types;
use super::builder::Builder;
use super::graphs::{BODY, BRANCHES, MAX_DEPTH, declared, graphs, names};
use super::proto::{self, Parameters, decode};
use super::within::{Given, Key, Outer, Results, small};
use super::{Surroundings, read_all, settle as settle_graph};
use crate::frontend::{ModelOptions, chooses};
use crate::graph::{Constant, DataType, Graph, Node, Shape, TensorDesc, UNKNOWN_DIM, infer};
use crate::spelling::listed;
use crate::status::Error;
use prost::Message;
use prost::bytes::Bytes;
use rustc_hash::FxHashSet;

/// A node that holds graphs, as it stands in the file.
#[derive(Clone)]
pub struct Held {
    /// The node as it is laid out: behind its own inputs it has what its graphs take from around.
    pub node: proto::Node,
    /// Number of its own inputs.
    pub own: usize,
    /// What its graphs take from around, by the names within, in the order of those inputs.
    pub taken: Vec<String>,
    /// The parameters of functions around it.
    pub given: Parameters,
    /// Version of its operator set.
    pub opset: i64,
    /// Its place among the nodes that are laid out.
    pub at: usize,
}

impl Given {
    fn sized(desc: TensorDesc) -> Given {
        Given { desc, value: None }
    }

    /// The single truth value that it is.
    fn truth(&self) -> Option<bool> {
        match &self.value {
            Some(Constant::Ints(values)) => <&[i64; 1]>::try_from(values.as_slice()).ok().map(|[value]| *value != 0),
            _ => None,
        }
    }
}

/// What a held node gives, as far as its graphs tell it.
pub struct Found {
    /// Its outputs.
    pub outputs: Vec<Given>,
    /// What there is to say of its graphs, in words.
    pub said: String,
}

impl Held {
    /// What its graphs give, where `around` is the graph that the node stands in, with what it reads inferred, and `node` the
    /// node there; `truth` is what decides between its graphs, where that is known.
    pub fn results(&self, around: &Graph, node: &Node, truth: Option<bool>, surroundings: &Surroundings<'_>) -> Found {
        let scene = Scene { held: self, around, node, surroundings };
        let told = match self.node.op_type.as_str() {
            "If" => scene.choice(truth),
            "Loop" => scene.rounds(),
            _ => scene.scan(),
        };
        let untold = || (Vec::new(), ", and what it gives has sizes that it does not tell".to_owned());
        let (mut outputs, said) = told.unwrap_or_else(untold);
        outputs.resize(node.outputs.len(), Given::sized(TensorDesc::unknown()));
        Found { outputs, said: format!("{}{said}", self.contents()) }
    }

    /// What runs within its graphs, in words.
    pub fn contents(&self) -> String {
        let of = |(name, graph): &(String, Bytes)| format!("{name}: {}", types(graph));
        let graphs: Vec<String> = graphs(&self.node).iter().map(of).collect();
        format!("what is within is left out ({})", graphs.join("; "))
    }
}

/// The operators of a graph, each once.
fn types(graph: &Bytes) -> String {
    let graph: proto::Graph = decode(graph.clone(), String::new).unwrap_or_default();
    let mut seen = FxHashSet::default();
    let nodes = graph.node.into_iter().filter_map(|bytes| decode::<proto::Node>(bytes, String::new).ok());
    let types: Vec<String> = nodes.map(|node| node.op_type).filter(|name| seen.insert(name.clone())).collect();
    if types.is_empty() {
        return "nothing".to_owned();
    }
    listed(&types.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What there is to say of a loop that never runs.
const IDLE: &str = ", which runs 0 times";

/// What a node gives, and what there is to say of it.
type Outputs = (Vec<Given>, String);

/// A held node in its place.
struct Scene<'a> {
    held: &'a Held,
    around: &'a Graph,
    node: &'a Node,
    surroundings: &'a Surroundings<'a>,
}

impl Scene<'_> {
    /// An input of the node.
    fn outer(&self, name: &str, input: usize) -> Option<Outer> {
        let port = self.node.input(input)?;
        let value = self.around.node(port.node).value.clone().filter(|_| port.output == 0);
        Some(Outer { name: name.to_owned(), desc: self.around.desc(port).clone(), value })
    }

    /// What its graphs take from around.
    fn around(&self) -> Option<Vec<Outer>> {
        self.held.taken.iter().enumerate().map(|(at, name)| self.outer(name, self.held.own + at)).collect()
    }

    /// An `If`: what the graph gives that is chosen, else what both of them give alike.
    fn choice(&self, truth: Option<bool>) -> Option<Outputs> {
        let graphs = graphs(&self.held.node);
        let graph = |wanted: &str| graphs.iter().find(|(name, _)| name == wanted).map(|(_, graph)| graph);
        let of = |wanted: &str| self.read(graph(wanted)?.clone(), &self.around()?);
        if let Some(truth) = truth {
            return Some((of(BRANCHES[usize::from(!truth)])?.to_vec(), String::new()));
        }
        let [then, other] = BRANCHES.map(of);
        let (then, other) = (then?, other?);
        let pairs = || then.iter().zip(&*other).map(|(a, b)| (&a.desc, &b.desc));
        // Operators of CANN's count in 32 bits where ONNX's do in 64.
        let is_whole = |dtype: DataType| !dtype.is_float() && dtype != DataType::Bool;
        let is_other = |(a, b): (&TensorDesc, &TensorDesc)| {
            ![a.dtype, b.dtype].contains(&DataType::Undefined)
                && a.dtype != b.dtype
                && !(is_whole(a.dtype) && is_whole(b.dtype))
        };
        // What both say themselves counts before what follows here.
        let said =
            |graph: &Bytes| decode(graph.clone(), String::new).map_or_else(|_| Vec::new(), |graph| declared(&graph));
        let says_all = BRANCHES.map(|name| graph(name).map(said).unwrap_or_default());
        let is_said = |at: usize| says_all.iter().all(|types| types.get(at).is_some_and(|&number| number != 0));
        if let Some((at, (a, b))) = pairs().enumerate().find(|(at, pair)| is_other(*pair) && !is_said(*at)) {
            let reason = unlike_types(at, Some(a.dtype), Some(b.dtype));
            self.surroundings.within.refuse(Error::graph(format!("node `{}` (If)", self.node.name), reason));
        }
        let outputs = pairs().map(|(a, b)| {
            Given::sized(TensorDesc {
                dtype: if a.dtype == b.dtype { a.dtype } else { DataType::Undefined },
                shape: if a.shape == b.shape { a.shape.clone() } else { Shape::unknown_rank() },
                format: a.format,
            })
        });
        let unlike = pairs().find(|(a, b)| a.shape != b.shape);
        let said = unlike.map_or_else(String::new, |(a, b)| {
            format!(", and they give results of other sizes, such as {} and {}", a.shape, b.shape)
        });
        Some((outputs.collect(), said))
    }

    /// A `Loop`, its inputs the number of rounds, whether to begin, and what it hands on.
    fn rounds(&self) -> Option<Outputs> {
        let (_, body) = graphs(&self.held.node).into_iter().find(|(name, _)| name == BODY)?;
        let handed = self.held.own.saturating_sub(2);
        let is_asked = self.held.node.input.get(1).is_none_or(String::is_empty);
        let begins = if is_asked {
            Some(true)
        } else {
            self.node.input(1).and_then(|port| chooses::truth_of(self.around, port))
        };
        let starts = begins == Some(true);
        let mut names = own_inputs(&body).into_iter();
        let mut outer = self.around()?;
        let counter = TensorDesc::new(DataType::Int64, Shape::scalar());
        outer.push(Outer { name: names.next()?, desc: counter, value: None });
        let goes_on = starts.then(|| Constant::Ints(vec![1]));
        outer.push(Outer {
            name: names.next()?,
            desc: TensorDesc::new(DataType::Bool, Shape::scalar()),
            value: goes_on,
        });
        let begun = (0..handed).map(|at| self.state(&names.next()?, 2 + at)).collect::<Option<Vec<_>>>()?;
        let before: Vec<TensorDesc> = begun.iter().map(|outer| outer.desc.clone()).collect();
        outer.extend(begun);
        // As many rounds as are asked for, unless the graph may end them.
        let asked = self.node.input(0).and_then(|port| match &self.around.node(port.node).value {
            Some(Constant::Ints(values)) => values.first().copied(),
            _ => None,
        });
        let is_idle = begins == Some(false) || asked.is_some_and(|count| count <= 0);
        let gave = match (self.read(body, &outer), is_idle) {
            (Some(gave), _) => gave,
            // What never runs hands on what it begins with, whatever it would give.
            (None, true) => return Some((before.into_iter().map(Given::sized).collect(), IDLE.to_owned())),
            (None, false) => return None,
        };
        let (again, made) = gave.split_first()?;
        let rounds = match begins {
            _ if is_idle => Some(0),
            Some(true) => asked.filter(|_| again.truth() == Some(true)),
            _ => None,
        };
        let (mut outputs, collected) = if is_idle {
            (before.iter().cloned().map(Given::sized).collect(), made.get(before.len()..)?)
        } else {
            handed_on(made, &before)?
        };
        let piled = |Given { desc, .. }: &Given| {
            let dims = desc.shape.dims().map(|dims| [&[rounds.unwrap_or(UNKNOWN_DIM)][..], dims].concat());
            Given::sized(TensorDesc { shape: dims.map_or_else(Shape::unknown_rank, Shape::new), ..desc.clone() })
        };
        outputs.extend(collected.iter().map(piled));
        let said = rounds.map_or_else(
            || ", and how often it runs is not known".to_owned(),
            |rounds| if rounds == 0 { IDLE.to_owned() } else { format!(", which runs {rounds} times") },
        );
        Some((outputs, said))
    }

    /// A `Scan`, its inputs what it hands on, and what it takes a part of in each round.
    fn scan(&self) -> Option<Outputs> {
        let (_, body) = graphs(&self.held.node).into_iter().find(|(name, _)| name == BODY)?;
        let attr = |wanted: &str| {
            let attrs = self.held.node.attribute.iter();
            let attrs = attrs.filter_map(|bytes| decode::<proto::Attribute>(bytes.clone(), String::new).ok());
            attrs.into_iter().find(|attr| attr.name == wanted)
        };
        let scanned = usize::try_from(attr("num_scan_inputs")?.i?).ok()?;
        let handed = self.held.own.checked_sub(scanned)?;
        let axes = |wanted: &str| attr(wanted).map(|attr| attr.ints).unwrap_or_default();
        let (axes_in, axes_out) = (axes("scan_input_axes"), axes("scan_output_axes"));
        let mut names = own_inputs(&body).into_iter();
        let mut outer = self.around()?;
        let begun = (0..handed).map(|at| self.state(&names.next()?, at)).collect::<Option<Vec<_>>>()?;
        let before: Vec<TensorDesc> = begun.iter().map(|outer| outer.desc.clone()).collect();
        outer.extend(begun);
        let mut rounds = UNKNOWN_DIM;
        for at in 0..scanned {
            let mut part = self.state(&names.next()?, handed + at)?;
            let mut dims = part.desc.shape.dims()?.to_vec();
            let axis = axis_of(axes_in.get(at).copied().unwrap_or(0), dims.len())?;
            rounds = dims.remove(axis);
            part.desc.shape = Shape::new(dims);
            outer.push(part);
        }
        let gave = self.read(body, &outer)?;
        let (mut outputs, collected) = handed_on(&gave, &before)?;
        for (at, Given { desc, .. }) in collected.iter().enumerate() {
            let mut dims = desc.shape.dims()?.to_vec();
            dims.insert(axis_of(axes_out.get(at).copied().unwrap_or(0), dims.len() + 1)?, rounds);
            outputs.push(Given::sized(TensorDesc { shape: Shape::new(dims), ..desc.clone() }));
        }
        Some((outputs, String::new()))
    }

    /// What a loop hands on: its value is another in each round.
    fn state(&self, name: &str, input: usize) -> Option<Outer> {
        Some(Outer { value: None, ..self.outer(name, input)? })
    }

    /// What a graph gives that is read by itself.
    fn read(&self, graph: Bytes, outer: &[Outer]) -> Results {
        let inputs = ModelOptions::default();
        let surroundings = self.surroundings.within(self.held.opset, &self.held.given, &inputs);
        if surroundings.depth > MAX_DEPTH {
            return None;
        }
        let key = Key::of(graph.clone(), outer, &surroundings);
        if let Some(gave) = surroundings.within.told(&key) {
            return gave;
        }
        let gave = self.read_within(graph, outer, &surroundings);
        surroundings.within.keep(key, gave.clone());
        gave
    }

    fn read_within(&self, graph: Bytes, outer: &[Outer], surroundings: &Surroundings<'_>) -> Results {
        let parts = decode::<proto::Graph>(graph.clone(), String::new).ok()?;
        let count = parts.output.len();
        if !surroundings.within.spend(parts.node.len() + 1 + (graph.len() >> 12)) {
            return None;
        }
        let file = alone(graph, count, &self.node.name, outer);
        let begin = || {
            let mut builder = Builder::new("graph", surroundings.base);
            for Outer { name, desc, value } in outer {
                builder.outer(name, desc.clone(), value.clone())?;
            }
            Ok(builder)
        };
        let read = read_all(&file, begin, surroundings).and_then(|mut read| {
            // Calls within may have made it larger than it looked.
            surroundings.within.spend(read.len());
            settle_graph(&mut read)?;
            infer::infer(&mut read)?;
            Ok(read)
        });
        let read =
            read.inspect_err(|error| log::debug!("a graph of `{}` tells no sizes: {error}", self.node.name)).ok()?;
        let given = read.outputs().iter().map(|&port| {
            let desc = read.desc(port).clone();
            let value = read.node(port.node).value.as_ref().filter(|_| port.output == 0);
            Given { value: small(value, desc.dtype), desc }
        });
        Some(given.collect())
    }
}

/// A graph as the one that an `If` of this name chooses, which gives it names of its own. `count` is the number of its outputs.
fn alone(graph: Bytes, count: usize, name: &str, outer: &[Outer]) -> proto::Graph {
    // Longer than the longest that goes on so.
    let taken = outer.iter().filter_map(|outer| outer.name.strip_prefix(name));
    let longest = taken.map(|rest| rest.len() - rest.trim_start_matches('_').len() + 1).max().unwrap_or(0);
    let prefix = format!("{name}{}", "_".repeat(longest));
    let outputs: Vec<String> = (0..count).map(|at| format!("{prefix}{at}")).collect();
    let attr = proto::Attribute { name: "then_branch".to_owned(), g: Some(graph), ..proto::Attribute::default() };
    let node = proto::Node {
        name: prefix.clone(),
        op_type: "If".to_owned(),
        input: vec![prefix.clone()],
        output: outputs.clone(),
        attribute: vec![attr.encode_to_vec().into()],
        ..proto::Node::default()
    };
    let always = proto::Tensor {
        name: prefix,
        data_type: DataType::Bool.onnx_number(),
        int32_data: vec![1],
        ..proto::Tensor::default()
    };
    let info = |name: String| proto::ValueInfo { name, kind: None }.encode_to_vec().into();
    proto::Graph {
        node: vec![node.encode_to_vec().into()],
        initializer: vec![always.encode_to_vec().into()],
        output: outputs.into_iter().map(info).collect(),
        ..proto::Graph::default()
    }
}

/// The names that a graph gives what it is handed.
fn own_inputs(graph: &Bytes) -> Vec<String> {
    decode::<proto::Graph>(graph.clone(), String::new).map(|graph| names(&graph.input)).unwrap_or_default()
}

/// What a loop hands on in the end, and the outputs of its graph that it collects. `None` where a round changes the sizes
/// of what it hands on: then what was inferred holds for the first round alone.
fn handed_on<'g>(made: &'g [Given], before: &[TensorDesc]) -> Option<(Vec<Given>, &'g [Given])> {
    let (handed, collected) = made.split_at_checked(before.len())?;
    let stays = |(given, before): (&Given, &TensorDesc)| given.desc.shape == before.shape;
    let same = || before.iter().cloned().map(Given::sized).collect();
    handed.iter().zip(before).all(stays).then(|| (same(), collected))
}

/// An axis that may be counted from behind.
fn axis_of(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < rank)
}
