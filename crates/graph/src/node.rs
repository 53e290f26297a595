//! Nodes and what identifies them.

use super::{Attrs, Constant, Format, TensorDesc};

/// Index of a node in its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The index as `usize`.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One output of one node: the source end of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Port {
    /// The producing node.
    pub node: NodeId,
    /// Index of the output.
    pub output: u32,
}

impl Port {
    /// Output 0 of a node.
    pub const fn first(node: NodeId) -> Self {
        Port { node, output: 0 }
    }
}

/// Attribute of a node that is not mapped: why it is no operator of Ascend's, where the reader of its file knows. Of an
/// input, why it is no tensor.
pub const WHY_UNMAPPED: &str = "_aoe_why_unmapped";

/// One operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Unique name within the graph.
    pub name: String,
    /// Ascend operator type, or the framework's where no mapping exists (then `mapped` is false).
    pub op_type: String,
    /// What the framework called the operator.
    pub origin_type: String,
    /// Whether `op_type` is an Ascend operator type. An unmapped operator counts no time and is named in
    /// the report.
    pub mapped: bool,
    /// Data inputs by position; `None` is an optional input left out.
    pub inputs: Vec<Option<Port>>,
    /// Formats that the node itself states of its inputs, by position; [`Format::Nd`], or no entry, where it states
    /// none. GE's operators go by these before anything else.
    pub formats: Vec<Format>,
    /// Descriptions of the outputs.
    pub outputs: Vec<TensorDesc>,
    /// Attributes under their Ascend names.
    pub attrs: Attrs,
    /// Value of a `Const` node, or of a node that shape inference folded into one: it runs no kernel.
    pub value: Option<Constant>,
}

impl Node {
    /// A node of an Ascend operator type, with one output of unknown description.
    pub fn new(name: impl Into<String>, op_type: impl Into<String>) -> Self {
        let op_type = op_type.into();
        Node {
            name: name.into(),
            origin_type: op_type.clone(),
            op_type,
            mapped: true,
            inputs: Vec::new(),
            formats: Vec::new(),
            outputs: vec![TensorDesc::unknown()],
            attrs: Attrs::default(),
            value: None,
        }
    }

    /// The same node with these outputs.
    #[must_use]
    pub fn with_outputs(mut self, outputs: Vec<TensorDesc>) -> Self {
        self.outputs = outputs;
        self
    }

    /// The same node with these inputs.
    #[must_use]
    pub fn with_inputs(mut self, inputs: impl IntoIterator<Item = Port>) -> Self {
        self.inputs = inputs.into_iter().map(Some).collect();
        self
    }

    /// The input at this position, when it is connected.
    pub fn input(&self, index: usize) -> Option<Port> {
        self.inputs.get(index).copied().flatten()
    }

    /// The format that the node states of the input at this position; ND where it states none.
    pub fn stated_format(&self, index: usize) -> Format {
        self.formats.get(index).copied().unwrap_or(Format::Nd)
    }
}
