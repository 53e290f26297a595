//! The operators that ask the unified bank, and what is not proven of their records.

use super::{conv, product, python::Dict};
use crate::soc::{Arch, Soc};
use crate::workload::{Conv, ConvKind, MatMul, MatMulKernel, Workload};

/// An operator of TBE's that asks the unified bank when it is compiled for a static shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `MatMulV2`, `BatchMatMulV2`.
    MatMul,
    /// `Conv2D`, alone or with its result activated on the way out.
    Conv2d,
    /// `Conv2DBackpropInput`, `Conv2DTranspose`, `Deconvolution`.
    BackpropInput,
    /// `Conv2DBackpropFilter`.
    BackpropFilter,
}

/// The cube work that one of these operators does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work<'w> {
    Product(&'w MatMul),
    /// A convolution, and whether its result is activated on the way out.
    Conv(&'w Conv, bool),
}

impl<'w> Work<'w> {
    /// The work of a kernel with nothing in it that these records cannot say.
    pub fn of(workload: &'w Workload) -> Option<Work<'w>> {
        match workload {
            Workload::MatMul(w) => Some(Work::Product(w)),
            Workload::Conv(w) => Some(Work::Conv(w, false)),
            Workload::Fused(parts) => match parts.as_slice() {
                [Workload::Conv(w), Workload::Vector(v)] if v.op_type == "Relu" && v.inputs.len() == 1 => {
                    Some(Work::Conv(w, true))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Everything that TBE may ask for it under.
    pub fn info_dicts(self) -> Result<Vec<Dict>, product::Reason> {
        match self {
            Work::Product(w) => product::info_dicts(w),
            Work::Conv(w, relu) => conv::info_dicts(w, relu),
        }
    }
}

impl Operator {
    /// Every operator.
    pub const ALL: [Operator; 4] =
        [Operator::MatMul, Operator::Conv2d, Operator::BackpropInput, Operator::BackpropFilter];

    /// The operator of a workload that asks this bank on a part, and for which its question is known: TBE's kernels
    /// where the part has a fixpipe unit and TBE still compiles them (910B, `910_93`, 310B).
    pub fn of(workload: &Workload, soc: &Soc) -> Option<Operator> {
        if !matches!(soc.arch, Arch::C220 | Arch::M300) {
            return None;
        }
        let work = Work::of(workload)?;
        let operator = match work {
            Work::Product(w) if w.kernel == MatMulKernel::Tbe => Operator::MatMul,
            Work::Product(_) => return None,
            Work::Conv(w, _) => match w.kind {
                ConvKind::Forward => Operator::Conv2d,
                ConvKind::BackpropInput => Operator::BackpropInput,
                ConvKind::BackpropFilter => Operator::BackpropFilter,
            },
        };
        work.info_dicts().is_ok().then_some(operator)
    }

    /// The operator type in TBE's terms, which the bank's file is named after.
    pub const fn op_type(self) -> &'static str {
        match self {
            Operator::MatMul => "matmul",
            Operator::Conv2d => "conv2d",
            Operator::BackpropInput => "conv2d_backprop_input",
            Operator::BackpropFilter => "conv2d_backprop_filter",
        }
    }

    /// The operator of a type in TBE's terms.
    pub fn find(op_type: &str) -> Option<Operator> {
        Operator::ALL.into_iter().find(|operator| operator.op_type() == op_type)
    }

    /// What of its records no public file or text proves, by the names of the fields: whoever has a device sees in
    /// `KBHit` of the kernel's build JSON whether TBE finds them.
    pub const fn unproven(self) -> &'static [&'static str] {
        match self {
            Operator::MatMul => &["batch_type", "bias_dtype", "fixpipe_flag"],
            Operator::Conv2d => &[
                "file name",
                "bias_dtype",
                "fused_channel_wise",
                "out_fm_memory_type",
                "fixpipe_fused_type",
                "fused_coefficient",
            ],
            Operator::BackpropInput => &["file name", "C_shape and pads of stride 1"],
            Operator::BackpropFilter => &["file name"],
        }
    }
}
