//! What a kernel has to do ([`Workload`]), how it may do it ([`Schedule`]), and when that is legal.
//!
//! A workload is a graph node reduced to what decides its cost: sizes, types, formats. Two nodes with
//! equal workloads are the same tuning problem. Sizes are elements unless a name says otherwise.

mod canonical;
mod conv;
mod conv_tiling;
mod cube;
mod legality;
mod matmul;
mod origin;
mod schedule;
pub mod tbe;
#[cfg(test)]
mod tests;
mod vector;

pub use canonical::canonical_json;
pub use conv::{Conv, ConvKind, Depth, FEW_CHANNELS};
pub use conv_tiling::{ConvRecord, ConvTiling, Place};
pub use cube::{CubeShape, k0};
pub(crate) use legality::bias_bytes;
pub use legality::{Held, check, held};
pub use matmul::{MatMul, MatMulKernel};
pub use origin::DefaultOrigin;
pub use schedule::{Buffers, Cores, CubeSchedule, Extents, L0Tile, L1Tile, L2Tiling, LoopOrder, OutputPath};
pub use schedule::{Panel, Schedule, SplitK, VectorSchedule, VectorTemplate};
pub use vector::{Collective, CollectiveKind, Move, Operand, Reduce, Vector};

use aoe_graph::DataType;

/// One tuning problem.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Workload {
    /// Matrix product, batched or not.
    MatMul(MatMul),
    /// Convolution, forward or one of its two backward kernels.
    Conv(Conv),
    /// Elementwise work on the vector unit.
    Vector(Vector),
    /// Work along an axis that shrinks or normalises it: reductions, softmax, norms, pooling.
    Reduce(Reduce),
    /// Pure data movement: transposes, format conversion, concat, gather, unknown operators.
    Move(Move),
    /// Exchange between devices.
    Collective(Collective),
    /// Several pieces that run as one kernel, in order.
    Fused(Vec<Workload>),
}

/// Whether fixpipe does all of this on the way out: a conversion, then an activation, at most one of each.
pub fn passes_fixpipe(ops: &[&str]) -> bool {
    let converts = |op: &str| matches!(op, "Cast" | "AscendQuant" | "AscendDequant" | "AscendRequant");
    let activates = |op: &str| matches!(op, "Relu" | "LeakyRelu" | "PRelu");
    match ops {
        [one] => converts(one) || activates(one),
        [first, second] => converts(first) && activates(second),
        _ => false,
    }
}

impl Workload {
    /// Ascend operator type that the workload came from (the first piece's, for a fused one).
    pub fn op_type(&self) -> &str {
        match self {
            Workload::MatMul(w) => w.op_type(),
            Workload::Conv(w) => w.op_type(),
            Workload::Vector(w) => &w.op_type,
            Workload::Reduce(w) => &w.op_type,
            Workload::Move(w) => &w.op_type,
            Workload::Collective(w) => w.kind.op_type(),
            Workload::Fused(parts) => parts.first().map_or("Fused", Workload::op_type),
        }
    }

    /// Its pieces in their order: those of a fused kernel, else itself alone.
    pub fn parts(&self) -> &[Workload] {
        match self {
            Workload::Fused(parts) => parts,
            single => std::slice::from_ref(single),
        }
    }

    /// Whose kernel computes the matrix product in it; `None` where there is none.
    pub fn product_kernel(&self) -> Option<MatMulKernel> {
        match self {
            Workload::MatMul(w) => Some(w.kernel),
            Workload::Fused(parts) => parts.iter().find_map(Workload::product_kernel),
            _ => None,
        }
    }

    /// Whether it is cube work whose results fixpipe changes on their way out, and no core else.
    pub fn leaves_by_fixpipe(&self) -> bool {
        let [first, rest @ ..] = self.parts() else { return false };
        first.is_cube() && passes_fixpipe(&rest.iter().map(Workload::op_type).collect::<Vec<_>>())
    }

    /// Element type of what it works on: its first operand's; `None` where it has none.
    pub fn dtype(&self) -> Option<DataType> {
        match self {
            Workload::MatMul(w) => Some(w.dtype),
            Workload::Conv(w) => Some(w.dtype),
            Workload::Collective(_) => None,
            Workload::Fused(parts) => parts.iter().find_map(Workload::dtype),
            Workload::Vector(_) | Workload::Reduce(_) | Workload::Move(_) => {
                let (inputs, outputs) = self.operands()?;
                inputs.first().or(outputs.first()).map(|operand| operand.dtype)
            }
        }
    }

    /// The cube work in it as a matrix product, when it has any.
    pub fn cube(&self) -> Option<CubeShape> {
        match self {
            Workload::MatMul(w) => Some(w.cube()),
            Workload::Conv(w) => Some(w.cube()),
            Workload::Fused(parts) => parts.iter().find_map(Workload::cube),
            _ => None,
        }
    }

    /// Elements that its cube work gives, without what fills blocks; `None` where it has none.
    pub fn cube_results(&self) -> Option<u64> {
        match self {
            Workload::MatMul(w) => Some(w.cube().results()),
            Workload::Conv(w) => Some(w.results()),
            Workload::Fused(parts) => parts.iter().find_map(Workload::cube_results),
            _ => None,
        }
    }

    /// Multiply-add operations of its cube work, without what fills blocks; `None` where it has none.
    pub fn macs(&self) -> Option<u64> {
        match self {
            Workload::MatMul(w) => Some(w.cube().macs()),
            Workload::Conv(w) => Some(w.macs()),
            Workload::Fused(parts) => parts.iter().find_map(Workload::macs),
            _ => None,
        }
    }

    /// The forward convolution in it, when its cube work is one: its left operand is made of images.
    fn image_conv(&self) -> Option<&Conv> {
        match self {
            Workload::Conv(w) if w.kind == ConvKind::Forward => Some(w),
            Workload::Fused(parts) => parts.iter().find(|part| part.is_cube())?.image_conv(),
            _ => None,
        }
    }

    /// What work without a cube reads and writes; `None` for cube work, exchanges and fused kernels.
    pub fn operands(&self) -> Option<(&[Operand], &[Operand])> {
        match self {
            Workload::Vector(w) => Some((&w.inputs, &w.outputs)),
            Workload::Reduce(w) => Some((&w.inputs, &w.outputs)),
            Workload::Move(w) => Some((&w.inputs, &w.outputs)),
            Workload::MatMul(_) | Workload::Conv(_) | Workload::Collective(_) | Workload::Fused(_) => None,
        }
    }

    /// Whether the work runs on the cube unit.
    pub fn is_cube(&self) -> bool {
        self.cube().is_some()
    }
}

impl std::fmt::Display for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Workload::MatMul(w) => w.fmt(f),
            Workload::Conv(w) => w.fmt(f),
            Workload::Vector(w) => w.fmt(f),
            Workload::Reduce(w) => w.fmt(f),
            Workload::Move(w) => w.fmt(f),
            Workload::Collective(w) => w.fmt(f),
            Workload::Fused(parts) => {
                f.write_str("Fused(")?;
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        f.write_str(" + ")?;
                    }
                    part.fmt(f)?;
                }
                f.write_str(")")
            }
        }
    }
}
