//! What is known of a kernel whose work is to be told: its operands, and what the case says beside them.

use crate::graph::DataType;
use crate::operands;
use crate::status::Error;
use crate::workload::Operand;

/// The operands of one kernel.
pub(super) struct Kernel {
    pub op: String,
    pub inputs: Vec<Operand>,
    pub outputs: Vec<Operand>,
}

impl Kernel {
    pub fn error(&self, reason: impl Into<String>) -> Error {
        Error::Workload { workload: self.op.clone(), reason: reason.into() }
    }

    /// The operand with most elements.
    pub fn largest(&self) -> Option<&Operand> {
        self.inputs.iter().chain(&self.outputs).max_by_key(|o| o.elements())
    }
}

/// Whether it stands for an optional operand that is not there.
pub(super) fn is_absent(operand: &Operand) -> bool {
    operand.dtype == DataType::Undefined && operand.shape.is_empty()
}

/// What a case says beside its operands.
pub(super) struct Stated<'a> {
    /// What vector work and movement need.
    pub work: operands::Stated<'a>,
    /// The order of axes of a transpose.
    pub perm: Option<&'a [i64]>,
    /// Whether A and B of a product are stored transposed.
    pub transposes: [Option<bool>; 2],
    /// The operator's attributes.
    pub attrs: Option<&'a serde_json::Map<String, serde_json::Value>>,
}
