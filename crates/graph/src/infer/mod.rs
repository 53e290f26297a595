//! Shape inference over Ascend operator types.
//!
//! One walk in topological order. The registry ([`super::op`]) names a rule for every operator type; a
//! rule sees a [`Call`] (the node, the descriptions of its inputs, their values where these are small
//! and known) and answers with the outputs. Rules live in one file per family of operators, `fold`
//! follows the integer arithmetic that decides shapes.

mod advice;
mod arithmetic;
pub mod attention;
mod border;
pub(crate) mod boxes;
mod call;
pub(crate) mod channel;
pub mod conv;
pub(crate) mod declared;
pub(crate) mod detection;
pub mod dim;
pub mod einsum;
pub(crate) mod elementwise;
mod entry;
pub(crate) mod exchange;
pub(crate) mod experts;
mod fold;
mod found;
pub mod groups;
pub(crate) mod image;
pub mod language;
pub mod matmul;
pub mod movement;
pub mod norm;
mod onnx;
pub(crate) mod pick;
pub mod pool;
pub mod recurrent;
pub mod reduce;
pub(crate) mod shape;
pub mod slice;
pub(crate) mod sparse;
mod stated;
#[cfg(test)]
mod tests;
pub(crate) mod tokens;
pub(crate) mod torch;
pub(crate) mod training;
mod value;
mod walk;
pub mod window;
mod within;

pub use border::{Cause, LeftOut, Static, in_words, nothing_left, split_static};
pub use call::{Call, Params};
pub(crate) use call::{Inference, Inferred, Rule};
pub use entry::shape_wanted;
pub use found::note_found;
pub use onnx::tells_onnx;
pub use value::Values;
pub use walk::{Answer, SoFar, describe, dynamic, has_rule, infer, infer_asking, require_static};
pub use window::Axis;
pub use within::product_within;

/// Attribute of a `Data` node: the symbols of its dimensions ([`super::Attr::Strs`], one for each
/// dimension, empty where the dimension has none).
pub const DIM_NAMES: &str = "_dim_names";

/// Attribute of a node of an unknown operator: for each output the input whose shape it has, -1 where that is not known
/// ([`super::Attr::Ints`]).
pub const SHAPES_OF_INPUTS: &str = "_aoe_shapes_of_inputs";

/// Attribute of a node of an unknown operator: the Ascend operator type whose shape rule tells its results' sizes from its
/// inputs and attributes ([`super::Attr::Str`]), or an operator of ONNX behind [`OF_ONNX`]; their types are what the node
/// says, where it says them.
pub const SHAPED_AS: &str = "_aoe_shaped_as";

/// What stands before the name of an operator of ONNX in [`SHAPED_AS`].
pub const OF_ONNX: &str = "onnx::";

/// Attribute of a node: the outputs whose shapes its file states as GE inferred them ([`super::Attr::Ints`]), as far as
/// no rule has told the same.
pub const STATED_SHAPES: &str = "_aoe_stated_shapes";

/// Attribute of a node: those of its outputs ([`super::Attr::Ints`]) whose stated shapes its rule contradicts.
pub const BELIEVED_SHAPES: &str = "_aoe_believed_shapes";
