//! What the records of `Conv2DV2` and `Conv3DV2` have in common.

use super::fields::inexpressible;
use crate::workload::{Buffers, Conv, CubeSchedule, L2Tiling, OutputPath, SplitK};
use aoe_base::status::Result;

/// The buffers that `pBufferFlag` says: where a bit is set, there are two.
pub fn buffers(flag: u32) -> Buffers {
    let of = |bit: u32| if flag >> bit & 1 == 1 { 2 } else { 1 };
    Buffers { l0_a: of(0), l0_b: of(1), l0_c: of(2), l1_a: of(3), l1_b: of(4) }
}

/// The `pBufferFlag` of these buffers.
pub fn buffer_flag(b: Buffers) -> u32 {
    let bit = |count: u8, bit: u32| u32::from(count > 1) << bit;
    bit(b.l0_a, 0) | bit(b.l0_b, 1) | bit(b.l0_c, 2) | bit(b.l1_a, 3) | bit(b.l1_b, 4)
}

/// Fails where a schedule has what the kernels have not.
pub fn check_form(op_type: &str, s: &CubeSchedule, w: &Conv) -> Result<()> {
    let b = s.buffers;
    let (shape, groups) = (w.cube(), w.groups.max(1));
    let rules = [
        (shape.batch == groups, "how the kernel joins groups of less than a block of channels is not known"),
        (s.l0.k_a == s.l0.k_b, "L0A and L0B hold different depths"),
        (u64::from(s.used_cores) == s.cores.tasks(), "a core has several tasks"),
        (s.cores.k == 1 && s.split_k == SplitK::None && s.single.k == shape.k, "k is split"),
        (s.single.batch == groups.div_ceil(s.cores.batch.max(1).into()), "the groups are not dealt evenly"),
        (s.l2 == L2Tiling::default(), "core tasks are grouped for L2"),
        (s.output == OutputPath::Direct, "the result leaves the core in a way of its own"),
        ([b.l1_a, b.l1_b, b.l0_a, b.l0_b, b.l0_c].iter().all(|n| (1..=2).contains(n)), "neither 1 nor 2 buffers"),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        Some((_, broken)) => Err(inexpressible(op_type, broken)),
        None => Ok(()),
    }
}
