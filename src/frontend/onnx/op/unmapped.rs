//! Operators that stay as the framework knows them.

use super::Op;
use crate::frontend::DIM_NAMES;
use crate::frontend::onnx::map::reasons;
use crate::graph::infer::{self, OF_ONNX, SHAPED_AS, SHAPES_OF_INPUTS};
use crate::graph::{Attr, DataType, Node, WHY_UNMAPPED};
use crate::status::Result;

impl Op<'_> {
    /// Keeps the operator as the framework knows it.
    pub fn keep_unmapped(&mut self) -> Result<()> {
        let node = self.unmapped()?;
        self.finish(node)
    }

    /// Keeps the operator as the framework knows it; its first result has this type.
    pub fn keep_typed(&mut self, dtype: DataType) -> Result<()> {
        let mut node = self.unmapped()?;
        if let Some(output) = node.outputs.first_mut().filter(|_| dtype != DataType::Undefined) {
            output.dtype = dtype;
        }
        self.finish(node)
    }

    /// Keeps the operator as the framework knows it; its first result has the shape of input 0, and this type.
    pub fn keep_like_input(&mut self, dtype: DataType) -> Result<()> {
        let node = self.like_input(dtype)?;
        self.finish(node)
    }

    /// The same for a reason of its own.
    pub fn keep_like_input_because(&mut self, dtype: DataType, why: impl Into<String>) -> Result<()> {
        let mut node = self.like_input(dtype)?;
        node.attrs.set(WHY_UNMAPPED, Attr::Str(why.into()));
        self.finish(node)
    }

    fn like_input(&self, dtype: DataType) -> Result<Node> {
        let mut node = self.unmapped()?;
        node.attrs.set(SHAPES_OF_INPUTS, Attr::Ints(vec![0]));
        if let Some(output) = node.outputs.first_mut() {
            output.dtype = dtype;
        }
        Ok(node)
    }

    /// Keeps the operator as the framework knows it; its result has this type, and the shape that the Ascend operator
    /// `like` would give it from the same inputs and attributes.
    pub fn keep_shaped_as(&mut self, like: &str, dtype: DataType) -> Result<()> {
        let node = self.shaped_as(like, dtype)?;
        self.finish(node)
    }

    /// A node as above, to be given the attributes that the Ascend operator has.
    pub fn shaped_as(&self, like: &str, dtype: DataType) -> Result<Node> {
        let mut node = self.unmapped()?;
        node.attrs.set(SHAPED_AS, Attr::Str(like.to_owned()));
        if let Some(output) = node.outputs.first_mut() {
            output.dtype = dtype;
        }
        Ok(node)
    }

    /// A node as the framework knows the operator.
    pub fn unmapped(&self) -> Result<Node> {
        let domain = self.node.domain.as_str();
        let op_type = match domain {
            "" | "ai.onnx" => self.node.op_type.clone(),
            _ => format!("{domain}::{}", self.node.op_type),
        };
        let mut node = self.node(&op_type);
        node.origin_type = op_type;
        node.mapped = false;
        node.inputs.clone_from(&self.inputs);
        self.copy_attrs(&mut node)?;
        if let Some(why) = reasons::why(&node.op_type) {
            node.attrs.set(WHY_UNMAPPED, Attr::Str(why.to_owned()));
        }
        if infer::tells_onnx(&node.op_type) {
            node.attrs.set(SHAPED_AS, Attr::Str(format!("{OF_ONNX}{}", node.op_type)));
        }
        // No rule will tell its shapes: what the file says must do, once its symbols are bound.
        let names: Vec<String> = self.node.output.iter().flat_map(|name| self.builder.hinted(name).symbols).collect();
        if names.iter().any(|name| !name.is_empty()) {
            node.attrs.set(DIM_NAMES, Attr::Strs(names));
        }
        Ok(node)
    }
}
