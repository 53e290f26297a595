//! Ascend SoCs as data: cores, clocks, buffers, rates.
//!
//! Field names are CANN's `platform_config` names, with a unit where CANN's has none.

mod correction;
mod load;
mod source;
mod table;
#[cfg(test)]
mod tests;

pub use correction::{Applied, CorrectedBy, Correction, Corrections, Group, Near, Own};
pub use source::Origin;

use aoe_base::spelling::edit_distance;
use aoe_base::status::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Description of one SoC. Sizes are bytes, rates bytes per cycle and core unless the name says
/// otherwise; see [`Soc::find`] for the ones built in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Soc {
    /// CANN's `SoC_version`, for example `Ascend910B2`.
    pub name: String,
    /// CANN's `Short_SoC_version`, for example `Ascend910B`; banks of older generations use it.
    pub short_name: String,
    /// Structure of the AI Core.
    pub arch: Arch,
    /// Cube cores (fused cores on parts without a split).
    pub ai_core_cnt: u32,
    /// Vector cores; equal to `ai_core_cnt` on parts where the two are one, plus the extra ones on 310P.
    pub vector_core_cnt: u32,
    /// Clock of the cube cores in MHz.
    pub cube_freq_mhz: f64,
    /// Clock of the vector cores in MHz.
    pub vec_freq_mhz: f64,
    /// Device memory in bytes; 0 where unknown.
    pub memory_size: u64,
    /// L2 size.
    pub l2_size: u64,
    /// L1 size of one core.
    pub l1_size: u64,
    /// L0A size.
    pub l0_a_size: u64,
    /// L0B size.
    pub l0_b_size: u64,
    /// L0C size.
    pub l0_c_size: u64,
    /// Unified buffer of one (vector) core.
    pub ub_size: u64,
    /// Bias table; 0 where there is none.
    pub bt_size: u64,
    /// Device memory bandwidth of the whole part, GB/s (10^9).
    pub hbm_gb_s: f64,
    /// L2 bandwidth of the whole part, bytes per cycle of the cube clock and core, all cores active.
    pub l2_rate: f64,
    /// GM (L2) to L1 of one core alone, bytes per cycle.
    pub gm_to_l1_rate: f64,
    /// GM (L2) to UB of one core alone.
    pub gm_to_ub_rate: f64,
    /// L1 to L0A.
    pub l1_to_l0_a_rate: f64,
    /// L1 to L0B.
    pub l1_to_l0_b_rate: f64,
    /// L0C to GM (fixpipe), or L0C to UB where the vector pipe drains L0C.
    pub l0_c_out_rate: f64,
    /// UB to GM.
    pub ub_to_gm_rate: f64,
    /// Bytes that the vector unit works on per cycle for a one-cycle instruction.
    pub vec_bytes_per_cycle: f64,
    /// Rows, depth for 16-bit types, and columns of one cube step.
    pub cube_m_size: u32,
    /// Depth of one cube step for 16-bit types.
    pub cube_k_size: u32,
    /// Columns of one cube step.
    pub cube_n_size: u32,
    /// What a user's device taught of predicted times; no file of a SoC has it.
    #[serde(skip)]
    pub corrections: Option<Arc<Corrections>>,
}

/// Structure of the AI Core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Arch {
    /// 910, first generation: one core holds cube and vector (AIC-C-100).
    C100,
    /// 310P: fused core plus extra vector cores (AIC-M-200).
    M200,
    /// 910B, `910_93`: separate cube and vector cores (AIC-C-220).
    C220,
    /// 310B: fused or split by configuration (AIC-M-300).
    M300,
    /// 950: separate cores with direct exchange (AIC-C-310).
    C310,
}

impl Arch {
    /// The structure that an `AIC_version` of a `platform_config` file names, when it is modelled.
    pub fn from_aic_version(version: &str) -> Option<Arch> {
        Some(match version {
            "AIC-C-100" | "AIC-M-100" => Arch::C100,
            "AIC-M-200" => Arch::M200,
            "AIC-C-220" => Arch::C220,
            "AIC-M-300" => Arch::M300,
            "AIC-C-310" => Arch::C310,
            _ => return None,
        })
    }

    /// Whether a network's products can become `MatMulV3` and `BatchMatMulV3` here: by CANN's graph fusion, or by the choice of
    /// the operators' host code. On 910, 310P and 310B they stay `MatMulV2` and `BatchMatMulV2`; 310P has kernels of the third
    /// version, and nothing takes them.
    pub const fn has_third_products(self) -> bool {
        matches!(self, Arch::C220 | Arch::C310)
    }

    /// Whether cube and vector cores are separate and exchange through L2.
    pub const fn is_split(self) -> bool {
        matches!(self, Arch::C220 | Arch::C310)
    }
}

impl Soc {
    /// The built-in SoC of this name (CANN's `soc_version`, in any case).
    ///
    /// Fails with [`Error::UnknownSoc`] that lists the names near it, or all where none is.
    pub fn find(name: &str) -> Result<Soc> {
        table::find(name).ok_or_else(|| unknown(name))
    }

    /// The SoC that an option `soc_version` names: a built-in one, or a file as [`Soc::load`] reads it. A path
    /// has a slash or a suffix that descriptions have; a name has neither.
    ///
    /// Fails as [`Soc::find`] and [`Soc::load`] do.
    pub fn named(version: &str) -> Result<Soc> {
        let path = Path::new(version);
        let is_path =
            version.contains('/') || path.extension().is_some_and(|suffix| suffix == "json" || suffix == "ini");
        if is_path { Soc::load(path) } else { Soc::find(version) }
    }

    /// Names of all built-in SoCs.
    pub fn names() -> Vec<String> {
        table::names()
    }

    /// Leaves only this many AI Cores, with their share of the vector cores.
    ///
    /// Fails with [`Error::Option`] for none or for more than there are.
    pub fn limit_cores(&mut self, cores: u32) -> Result<()> {
        if !(1..=self.ai_core_cnt).contains(&cores) {
            let reason = format!("{cores} is not from 1 to the {} of {}", self.ai_core_cnt, self.name);
            return Err(Error::option("aicore_num", reason));
        }
        self.vector_core_cnt = self.vector_core_cnt * cores / self.ai_core_cnt;
        self.ai_core_cnt = cores;
        Ok(())
    }

    /// Whether it is a small part of the first generation, as the 310 is, which has two cores.
    pub fn has_two_cores(&self) -> bool {
        self.arch == Arch::C100 && self.ai_core_cnt <= 2
    }

    /// Cycles of the cube clock in one microsecond.
    pub fn cube_cycles_per_us(&self) -> f64 {
        self.cube_freq_mhz
    }
}

/// The error for a name that no table has.
fn unknown(name: &str) -> Error {
    // Whatever stands there, of any length: a name has fewer letters.
    let name: String = name.chars().take(60).collect();
    let plain = |s: &str| s.to_ascii_lowercase().trim_start_matches("ascend").replace(['-', '_', ' '], "");
    let given = plain(&name);
    // By what tells parts apart or, where "Ascend" itself is mistyped, by all.
    let whole = name.to_ascii_lowercase();
    let distance = |n: &str| edit_distance(&given, &plain(n)).min(edit_distance(&whole, &n.to_ascii_lowercase()));
    let mut names: Vec<_> = Soc::names().into_iter().map(|n| (distance(&n), n)).collect();
    names.sort();
    let near = names.iter().filter(|(distance, _)| *distance <= 2 && 2 * distance < given.len()).take(8);
    let near: Vec<_> = near.map(|(_, name)| name.as_str()).collect();
    let known = if near.is_empty() {
        format!("known are {}", Soc::names().join(", "))
    } else {
        format!("near it are {}; `aoe soc` lists all", near.join(", "))
    };
    Error::UnknownSoc { name, known }
}
