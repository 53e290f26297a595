//! What CANN's host tiling sees of a part.

use crate::soc::{Arch, Soc};

/// Bytes of L1 and, on a split part, of UB that CANN keeps for itself: its platform interface gives so much less
/// than the part has (524,032 of 524,288 and 196,352 of 196,608 on a 910B).
const RESERVED: u64 = 256;

/// Numbers of a part as CANN's platform interface gives them to a tiling function. Sizes are bytes of one core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Platform {
    /// AI Cores (cube cores of a split part).
    pub cores: u64,
    /// Vector cores.
    pub vector_cores: u64,
    /// The whole of L1. Most rules take it; [`Platform::l1_given`] is what the interface gives.
    pub l1: u64,
    /// Unified buffer, less what CANN keeps for itself on a split part.
    pub ub: u64,
    /// L0A.
    pub l0_a: u64,
    /// L0B.
    pub l0_b: u64,
    /// L0C.
    pub l0_c: u64,
    /// Bias table; 0 where there is none.
    pub bt: u64,
    /// L2 of the whole part.
    pub l2: u64,
    /// Whether fixpipe writes L0C to memory (910B, `910_93`, 310B, 950; neither 310P nor the first 910).
    pub fixpipe: bool,
    /// Structure of the AI Core.
    pub arch: Arch,
    /// Whether CANN's name of the family is `Ascend910B`, for which some rules ask; `910_93` has the same cores.
    pub is_910b: bool,
}

impl Platform {
    /// The numbers of a part.
    pub fn of(soc: &Soc) -> Platform {
        Platform {
            cores: soc.ai_core_cnt.into(),
            vector_cores: soc.vector_core_cnt.max(soc.ai_core_cnt).into(),
            l1: soc.l1_size,
            ub: if soc.arch == Arch::C220 { soc.ub_size.saturating_sub(RESERVED) } else { soc.ub_size },
            l0_a: soc.l0_a_size,
            l0_b: soc.l0_b_size,
            l0_c: soc.l0_c_size,
            bt: soc.bt_size,
            l2: soc.l2_size,
            fixpipe: !matches!(soc.arch, Arch::C100 | Arch::M200),
            arch: soc.arch,
            is_910b: soc.short_name == "Ascend910B",
        }
    }

    /// L1 as CANN's platform interface gives it.
    pub const fn l1_given(&self) -> u64 {
        self.l1.saturating_sub(RESERVED)
    }
}
