//! The runtime banks of TBE's operators: what their binary kernels, which are compiled once for all shapes
//! (`jit_compile` off), would ask at run time. Keys and tilings are public; that the shipped library asks is not, so
//! these records are written on request only (`binary_bank`), beside those of the unified bank and out of the same
//! tilings. An operator whose tiling holds a number of the kernel that is not public (`tiling_id`) has none here.

mod backprop_filter;
mod matmul_v2;
#[cfg(test)]
mod tests;

use super::unified;
use crate::soc::{Arch, Soc};
use crate::status::{Error, Result};
use crate::workload::{ConvKind, MatMulKernel, Schedule, Workload};
use serde_json::{Map, Value};

/// An operator of TBE's whose binary kernels may ask a runtime bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `MatMulV2`, under whose name `BatchMatMulV2` asks too.
    MatMulV2,
    /// `Conv2DBackpropFilter`.
    BackpropFilter,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Operator; 2] = [Operator::MatMulV2, Operator::BackpropFilter];

    /// The operator of a workload on a part with a fixpipe unit, whose tilings need no buffers of vector cores.
    pub fn of(workload: &Workload, soc: &Soc) -> Option<Operator> {
        if !matches!(soc.arch, Arch::C220 | Arch::M300) {
            return None;
        }
        match workload {
            Workload::MatMul(w) if w.kernel == MatMulKernel::Tbe && matmul_v2::has_key(w) => Some(Operator::MatMulV2),
            Workload::Conv(w) if w.kind == ConvKind::BackpropFilter && backprop_filter::has_key(w) => {
                Some(Operator::BackpropFilter)
            }
            _ => None,
        }
    }

    /// Its type, as in the bank file's name.
    pub const fn op_type(self) -> &'static str {
        match self {
            Operator::MatMulV2 => "MatMulV2",
            Operator::BackpropFilter => "Conv2DBackpropFilter",
        }
    }

    /// The operator of this type.
    pub fn find(op_type: &str) -> Option<Operator> {
        Operator::ALL.into_iter().find(|operator| operator.op_type() == op_type)
    }

    /// The fields of its tilings, in the order in which they are written.
    pub const fn knowledge_fields(self) -> &'static [&'static str] {
        match self {
            Operator::MatMulV2 => matmul_v2::NAMES,
            Operator::BackpropFilter => backprop_filter::NAMES,
        }
    }

    /// What of its records no public source proves, by the names of the fields.
    pub const fn unproven(self) -> &'static [&'static str] {
        match self {
            Operator::MatMulV2 => &[
                "whether the operator asks",
                "batch_a1 to batch_b4 of stacks that are one product",
                "aub_double_num",
                "bub_double_num",
                "fused_double_operand_num",
                "reserved_params1",
                "n_cub",
            ],
            Operator::BackpropFilter => {
                &["whether the operator asks", "a_dtype and b_dtype of bfloat16", "binary_mode"]
            }
        }
    }

    /// The `info_dict` of a workload of the operator.
    pub fn info_dict(self, workload: &Workload) -> Option<Map<String, Value>> {
        match (self, workload) {
            (Operator::MatMulV2, Workload::MatMul(w)) => Some(matmul_v2::info_dict(w)),
            (Operator::BackpropFilter, Workload::Conv(w)) => Some(backprop_filter::info_dict(w)),
            _ => None,
        }
    }

    /// The `knowledge` that says a schedule of a workload. Fails with [`Error::IllegalSchedule`] for one that the unified
    /// bank could not hold either, or that these fields cannot say.
    pub fn knowledge(self, schedule: &Schedule, workload: &Workload, soc: &Soc) -> Result<Map<String, Value>> {
        let illegal = |rule: String| Error::IllegalSchedule { rule: format!("{} record: {rule}", self.op_type()) };
        let Schedule::Cube(cube) = schedule else { return Err(illegal("no schedule of a cube kernel".into())) };
        let tiling = unified::tiling(cube, workload, soc)?;
        let values = match (self, workload) {
            (Operator::MatMulV2, Workload::MatMul(w)) => matmul_v2::values(&tiling, w).map(Vec::from),
            (Operator::BackpropFilter, Workload::Conv(w)) => backprop_filter::values(&tiling, w).map(Vec::from),
            _ => Err(format!("{workload} is no work of this operator")),
        };
        let values = values.map_err(illegal)?;
        Ok(self
            .knowledge_fields()
            .iter()
            .map(|&name| name.to_owned())
            .zip(values.into_iter().map(Value::from))
            .collect())
    }
}

/// Rows and columns of a fractal, and channels of a block of 16-bit elements.
const F: u64 = 16;

/// So many whole blocks; an error names the field of an extent that ends within one.
fn blocks(name: &str, extent: u64, block: u64) -> std::result::Result<u32, String> {
    if block == 0 || !extent.is_multiple_of(block) {
        return Err(format!("`{name}`: {extent} is no multiple of {block}"));
    }
    u32::try_from(extent / block).map_err(|_| format!("`{name}`: {extent} is too large"))
}
