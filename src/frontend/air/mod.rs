//! GE's IR files (`.air`): `ModelDef` bytes to a [`Graph`](crate::graph::Graph) and back.
//!
//! | file | holds |
//! |---|---|
//! | `proto` | the messages |
//! | `attr`, `tensor` | attributes, descriptions and constants, both ways |
//! | `names` | the names of an operator's inputs and outputs, and their order |
//! | `dump` | the text that CANN dumps, to the bytes of the same file |
//! | `layout` | the nodes of a file laid out in one graph, called graphs in place of their calls |
//! | `read` | those nodes with edges, outputs and values |
//! | `form` | what a file says beyond its graph: whether inputs are described and named |
//! | `conform` | a graph in the form that GE compiles |
//! | `write` | the way back, the same bytes each time |
//! | `tuned` | the attributes of a tuned graph, and whether they make sense |
//!
//! A graph holds the framework's view (`origin_shape`, `origin_format`) of each tensor. What is for the
//! compiler alone (streams, memory, attribute groups, ranges of shapes) is not kept; attributes that
//! tuning does not read go through unread.

mod attr;
pub(in crate::frontend) mod conform;
pub mod dump;
pub mod form;
mod layout;
mod names;
mod proto;
mod read;
mod tensor;
#[cfg(test)]
pub(in crate::frontend) mod tests;
pub mod tuned;
mod write;

pub use read::{DESCRIBED_OTHERWISE, is_model, read, read_with_weights};
pub use tensor::VALUE;
#[cfg(test)]
pub use write::encode_apart;
pub use write::{MAX_MESSAGE, content, content_apart, encode_model};

/// Operators that stand for an input of the network; `PlaceHolder` is what a cut leaves of one.
const INPUTS: [&str; 6] = ["Data", "RefData", "AippData", "AnnData", "PlaceHolder", "Placeholder"];
/// Operators that are constants with their value inside.
const CONSTANTS: [&str; 2] = ["Const", "Constant"];
/// Constants whose value lies elsewhere: in a file of its own, or in memory that torchair has already given the device.
const KEPT_APART: [&str; 2] = ["FileConstant", "ConstPlaceHolder"];
/// The operator whose inputs are the outputs of the network.
pub const NET_OUTPUT: &str = "NetOutput";
/// What a cut leaves of an output.
const END: &str = "End";
/// Calls of one graph that are the same as the graph in their place.
const CALLS: [&str; 2] = ["PartitionedCall", "StatefulPartitionedCall"];

/// Whether an operator type is part of the frame of a graph, and nothing that a device runs: an input, a constant, an end,
/// a call.
pub fn is_frame(op_type: &str) -> bool {
    let groups: [&[&str]; 3] = [&INPUTS, &CONSTANTS, &CALLS];
    groups.concat().contains(&op_type) || KEPT_APART.contains(&op_type) || [NET_OUTPUT, END].contains(&op_type)
}

/// Attribute of an input: its place among the inputs.
pub const INDEX: &str = "index";
/// Attribute of a node: names of the nodes it waits for without reading them.
pub const CONTROL_INPUTS: &str = "_aoe_control_inputs";
/// Attribute of the graph: names of the nodes that its end waits for without reading them.
pub const CONTROL_OUTPUTS: &str = "_aoe_control_outputs";
/// Attribute of a node that chooses among graphs: their names.
pub const SUBGRAPH_NAMES: &str = "_aoe_subgraph_names";
/// Attribute of the graph: the graphs that nodes choose among, and those that these call.
pub const SUBGRAPHS: &str = "_aoe_subgraphs";
/// Attribute of a node whose operator type is the framework's, not Ascend's.
pub const UNMAPPED: &str = "_aoe_unmapped";
/// Attribute of a node that another framework called otherwise: that name.
pub const ORIGIN_TYPE: &str = "_aoe_origin_type";
