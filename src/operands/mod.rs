//! What the operands of a vector kernel or a movement say of its work, as they lie on the device: how many rows there are,
//! what stays together, what is dealt to the cores.
//!
//! A network's kernels and a profile's rows are read here alike, so that a kernel has one price. A profile has no
//! attributes: what it does not state is read off shapes and formats.

mod indexed;
mod movement;
mod rows;

use crate::graph::Format;
use crate::soc::{Arch, Soc};
use crate::workload::{Move, Operand, Reduce, Vector, Workload};

/// Bytes that one core clears of the buffers that an `AtomicAddrClean` names; it clears only the part
/// that is added to, which the case does not tell.
const CLEANED_BYTES_PER_CORE: u64 = 48 << 10;

/// What is known of a kernel beside its operands.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stated<'a> {
    /// Blocks that it runs in.
    pub block_dim: Option<u64>,
    /// The axes along which it works.
    pub axes: Option<&'a [i64]>,
    /// Taps of the window that slides over an image.
    pub window: Option<u64>,
    /// Whether the part runs the kernels that TBE generates for fused cores.
    pub first: bool,
}

impl Stated<'_> {
    /// What a part says by itself.
    pub fn on(soc: &Soc) -> Self {
        Stated { first: matches!(soc.arch, Arch::C100 | Arch::M200), ..Stated::default() }
    }
}

/// Vector work or movement of these operands, all of which are there.
pub(crate) fn vector(op: &str, mut inputs: Vec<Operand>, mut outputs: Vec<Operand>, stated: Stated<'_>) -> Workload {
    let op_type = op.to_owned();
    if op == "AtomicAddrClean" {
        let cleared = cleared(&inputs, stated.block_dim);
        return Workload::Move(Move { op_type, run_bytes: 0, inputs: Vec::new(), outputs: cleared });
    }
    if ["ZerosLike", "OnesLike", "Fill", "Range"].contains(&op) {
        return Workload::Move(Move { op_type, run_bytes: 0, inputs: Vec::new(), outputs });
    }
    // Rows are those of what it is given, caches among it.
    let rows = rows::of(op, [&inputs, &outputs], stated);
    if op.contains("Cache") || op.contains("cache") {
        indexed::leave_in_place(&mut inputs, &mut outputs);
    }
    if op == "Assign" && inputs.len() == 2 {
        // The first operand is only written.
        inputs.remove(0);
    }
    if let Some(movement) = movement::movement(op, &inputs, &outputs, stated.first) {
        return Workload::Move(movement);
    }
    match rows {
        Some([outer, axis, inner]) => Workload::Reduce(Reduce { op_type, outer, axis, inner, inputs, outputs }),
        None => Workload::Vector(Vector { op_type, inputs, outputs }),
    }
}

fn cleared(inputs: &[Operand], block_dim: Option<u64>) -> Vec<Operand> {
    let bytes = inputs.iter().map(Operand::bytes).fold(0, u64::saturating_add);
    let most = block_dim.filter(|&b| b < 25).map_or(u64::MAX, |b| b.saturating_mul(CLEANED_BYTES_PER_CORE));
    vec![Operand::new([bytes.min(most).div_ceil(4).max(1)], crate::graph::DataType::Float)]
}

/// Whether a layout has the axes in the order of the shape, nothing in blocks.
fn is_plain(format: Format) -> bool {
    matches!(format, Format::Nd | Format::Nchw | Format::Nhwc | Format::Ncdhw | Format::Ncl)
}
