//! What a shape rule sees of the node it works for.

use super::dim::{self, Reason};
use super::value::{Value, Values};
use crate::control::goes_back;
use crate::{Attr, DataType, Format, Graph, Node, Port, Shape, TensorDesc};
use std::borrow::Cow;

/// Outputs of a node as a rule derives them.
#[derive(Debug, Default)]
pub(crate) struct Inferred {
    /// Descriptions by output index; fewer than the node has leaves the rest as they are.
    pub outputs: Vec<TensorDesc>,
    /// Attributes that the rule resolved.
    pub attrs: Vec<(&'static str, Attr)>,
}

/// What a rule answers.
pub(crate) type Inference = Result<Inferred, Reason>;

/// Attributes that are element types or their numbers in `ge::DataType`.
const TYPES: [&str; 10] = [
    "dst_type",
    "dtype",
    "out_type",
    "Tout",
    "y_dtype",
    "dst_dtype",
    "out_dtype",
    "output_dtype",
    "indices_dtype",
    "output_type",
];

/// Derives the outputs of a node from its inputs.
pub(crate) type Rule = fn(&Call<'_>) -> Inference;

#[expect(clippy::unnecessary_wraps, reason = "rules end with one of these")]
impl Inferred {
    /// One output of this type and these sizes.
    pub fn dims(dtype: DataType, dims: impl Into<Vec<i64>>) -> Inference {
        Ok(Inferred { outputs: vec![TensorDesc::new(dtype, Shape::new(dims))], attrs: Vec::new() })
    }

    /// One output of this shape.
    pub fn shape(dtype: DataType, shape: Shape) -> Inference {
        Ok(Inferred { outputs: vec![TensorDesc::new(dtype, shape)], attrs: Vec::new() })
    }

    /// One output of which only the type is known.
    pub fn unknown(dtype: DataType) -> Inference {
        Inferred::shape(dtype, Shape::unknown_rank())
    }

    /// These outputs.
    pub fn all(outputs: Vec<TensorDesc>) -> Inference {
        Ok(Inferred { outputs, attrs: Vec::new() })
    }
}

/// A parameter of an operator that may come as a constant input or as an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Params {
    /// Neither input nor attribute is there.
    Absent,
    /// An input whose value is not known.
    Unknown,
    /// The value.
    Known(Vec<i64>),
}

impl Params {
    /// The value, if it is there and known.
    pub fn known(&self) -> Option<&[i64]> {
        if let Params::Known(v) = self { Some(v) } else { None }
    }

    /// A single number; `None` when it is not known, `default` when it is absent.
    pub fn scalar(&self, default: i64) -> Option<i64> {
        match self {
            Params::Absent => Some(default),
            Params::Unknown => None,
            Params::Known(v) => Some(v.first().copied().unwrap_or(default)),
        }
    }
}

/// A node with its inputs.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The node.
    pub node: &'a Node,
    graph: &'a Graph,
    values: &'a Values,
}

impl<'a> Call<'a> {
    /// The view of one node; its edges exist.
    pub fn new(graph: &'a Graph, node: &'a Node, values: &'a Values) -> Self {
        Call { node, graph, values }
    }

    /// Number of input slots.
    pub fn arity(&self) -> usize {
        self.node.inputs.len()
    }

    /// Number of outputs.
    pub fn results(&self) -> usize {
        self.node.outputs.len()
    }

    /// The tensor at an input, when it is connected.
    pub fn get(&self, input: usize) -> Option<&'a TensorDesc> {
        self.node.input(input).map(|port| self.graph.desc(port))
    }

    /// The tensor at an input that must be there.
    pub fn need(&self, input: usize) -> Result<&'a TensorDesc, Reason> {
        self.get(input).ok_or_else(|| format!("input {input} is missing"))
    }

    /// Sizes of an input that must be there; `None` when its rank is not known.
    pub fn dims(&self, input: usize) -> Result<Option<&'a [i64]>, Reason> {
        Ok(self.need(input)?.shape.dims())
    }

    /// Element type of an input; undefined when it is missing.
    pub fn dtype(&self, input: usize) -> DataType {
        self.get(input).map_or(DataType::Undefined, |d| d.dtype)
    }

    /// Format of an input: the one that the node states of it, else the tensor's own. ND where neither says anything.
    pub fn format(&self, input: usize) -> Format {
        match self.node.stated_format(input) {
            Format::Nd => self.get(input).map_or(Format::Nd, |desc| desc.format),
            stated => stated,
        }
    }

    /// Whether the channels of an image of this many axes are its last axis rather than the second. What its format
    /// says counts; attribute `data_format` does where that says nothing, because programs leave the attribute at the
    /// default of its prototype.
    pub fn channels_last(&self, format: Format, rank: usize) -> bool {
        let by_name = || self.str("data_format").is_some_and(|name| name.len() > 2 && name.ends_with('C'));
        format.channels_last(rank).unwrap_or_else(by_name)
    }

    /// Connected inputs in order.
    pub fn connected(&self) -> impl Iterator<Item = (Port, &'a TensorDesc)> + use<'a> {
        let graph = self.graph;
        self.node.inputs.iter().flatten().map(move |&port| (port, graph.desc(port)))
    }

    /// Whether the node is the head of a loop, which reads from the loop's end.
    pub fn goes_on(&self) -> bool {
        self.node.inputs.iter().flatten().any(|port| goes_back(self.graph.node(port.node), self.node))
    }

    /// Whether every connected input is a constant.
    pub fn inputs_are_constant(&self) -> bool {
        self.node.inputs.iter().flatten().all(|port| self.graph.node(port.node).value.is_some())
    }

    /// The value of an input, when it is connected, small and at least partly known.
    pub(crate) fn value(&self, input: usize) -> Option<Cow<'a, Value>> {
        let port = self.node.input(input)?;
        if let Some(value) = self.values.get(port) {
            return Some(Cow::Borrowed(value));
        }
        let source = self.graph.node(port.node);
        if port.output != 0 {
            return None;
        }
        Value::of_constant(source.value.as_ref()?, &source.outputs.first()?.shape).map(Cow::Owned)
    }

    /// Whether [`Call::value`] has an answer, without making it.
    pub fn has_value(&self, input: usize) -> bool {
        let Some(port) = self.node.input(input) else { return false };
        self.values.get(port).is_some()
            || (port.output == 0 && self.graph.node(port.node).value.as_ref().is_some_and(Value::is_readable))
    }

    /// An integer parameter list: the value of an input when that is connected, else the first of these
    /// attributes that is there.
    pub fn params(&self, input: impl Into<Option<usize>>, attrs: &[&str]) -> Params {
        if let Some(input) = input.into().filter(|&i| self.node.input(i).is_some()) {
            return self.value(input).and_then(|v| v.ints()).map_or(Params::Unknown, Params::Known);
        }
        let found = attrs.iter().find_map(|name| self.node.attrs.ints(name));
        found.map_or(Params::Absent, |v| Params::Known(v.to_vec()))
    }

    /// An axis parameter, counted from the front; `None` when its value is not known.
    pub fn axis(
        &self,
        input: impl Into<Option<usize>>,
        attrs: &[&str],
        default: i64,
        rank: usize,
    ) -> Result<Option<usize>, Reason> {
        self.params(input, attrs).scalar(default).map(|a| dim::axis(a, rank)).transpose()
    }

    /// The first of these attributes that is an integer.
    pub fn int(&self, attrs: &[&str]) -> Option<i64> {
        attrs.iter().find_map(|name| self.node.attrs.int(name))
    }

    /// The first of these attributes that is a truth value.
    pub fn flag(&self, attrs: &[&str], default: bool) -> bool {
        attrs.iter().find_map(|name| self.node.attrs.bool(name)).unwrap_or(default)
    }

    /// A string attribute.
    pub fn str(&self, attr: &str) -> Option<&'a str> {
        self.node.attrs.str(attr)
    }

    /// Fails where an attribute that names an element type has a number that none has: a result would count as something else.
    /// Many operators have a negative number for the type of what they read; what converts has to have one.
    pub(super) fn check_types(&self) -> Result<(), Reason> {
        let converts = self.node.op_type == "Cast";
        for name in TYPES {
            let Some(value) = self.node.attrs.get(name) else { continue };
            let known = self.type_attr(name);
            let is_missing = known.is_none_or(|dtype| dtype == DataType::Undefined);
            let is_wrong = match value {
                _ if converts && name == "dst_type" => is_missing,
                Attr::Int(number) => *number >= 0 && known.is_none(),
                _ => false,
            };
            if is_wrong {
                let is = match value {
                    Attr::Int(number) => number.to_string(),
                    Attr::Str(text) => format!("`{}`", text.escape_debug()),
                    _ => "a value of another kind".to_owned(),
                };
                return Err(format!("attribute `{name}` is {is}, which is no element type (numbers of ge::DataType)"));
            }
        }
        Ok(())
    }

    /// An element type attribute, as a type or as its `ge::DataType` number.
    pub fn type_attr(&self, attr: &str) -> Option<DataType> {
        match self.node.attrs.get(attr)? {
            Attr::Type(t) => Some(*t),
            Attr::Int(number) => DataType::from_ge(i32::try_from(*number).ok()?),
            Attr::Str(name) => DataType::from_name(name),
            _ => None,
        }
    }
}
