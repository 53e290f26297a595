//! The groups of counters (`aic_metrics`), and their columns as CANN's profiler has them.

use crate::soc::Arch;

/// A group of counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metrics {
    /// Time of each pipe.
    PipeUtilization,
    /// Arithmetic by type.
    ArithmeticUtilization,
    /// Bandwidths of L1, UB, L2 and device memory.
    Memory,
    /// Bandwidths of L0.
    MemoryL0,
    /// Bandwidths of the unified buffer.
    MemoryUB,
    /// Conflicts in the vector unit.
    ResourceConflictRatio,
    /// Requests that L2 serves.
    L2Cache,
    /// Bytes on each path.
    MemoryAccess,
}

use Metrics::{ArithmeticUtilization, L2Cache, Memory, MemoryAccess, MemoryL0, MemoryUB, PipeUtilization};

/// What the vector unit waits for.
const CONFLICTS: [&str; 3] = ["vec_bankgroup_cflt_ratio", "vec_bank_cflt_ratio", "vec_resc_cflt_ratio"];
const L2: [&str; 6] = [
    "write_cache_hit",
    "write_cache_miss_allocate",
    "r0_read_cache_hit",
    "r0_read_cache_miss_allocate",
    "r1_read_cache_hit",
    "r1_read_cache_miss_allocate",
];
/// Bytes on each path, in KB.
const ACCESS: [&str; 7] = [
    "read_main_memory_datas",
    "write_main_memory_datas",
    "GM_to_L1_datas",
    "L0C_to_L1_datas",
    "L0C_to_GM_datas",
    "GM_to_UB_datas",
    "UB_to_GM_datas",
];

fn owned<const N: usize>(counters: [&str; N]) -> Vec<String> {
    counters.map(str::to_owned).to_vec()
}

/// Time and share of each pipe, and how often the core misses its instructions.
fn pipes(names: &[&str]) -> Vec<String> {
    let of_pipe = |pipe: &&str| [format!("{pipe}_time(us)"), format!("{pipe}_ratio")];
    names.iter().flat_map(of_pipe).chain(["icache_miss_rate".to_owned()]).collect()
}

/// Bandwidths by their names, in which `*` stands for the direction.
fn bandwidths(names: &[&str]) -> Vec<String> {
    let both = |name: &&str| ["read", "write"].map(|way| format!("{}(GB/s)", name.replace('*', way)));
    names.iter().flat_map(both).collect()
}

impl Metrics {
    /// The groups by CANN's names; the last two are short for them.
    pub const NAMES: &'static [(&'static str, Metrics)] = &[
        ("PipeUtilization", PipeUtilization),
        ("ArithmeticUtilization", ArithmeticUtilization),
        ("Memory", Memory),
        ("MemoryL0", MemoryL0),
        ("MemoryUB", MemoryUB),
        ("ResourceConflictRatio", Metrics::ResourceConflictRatio),
        ("L2Cache", L2Cache),
        ("MemoryAccess", MemoryAccess),
        ("L0", MemoryL0),
        ("UB", MemoryUB),
    ];

    /// The group of this name.
    pub fn from_name(name: &str) -> Option<Metrics> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, metrics)| *metrics)
    }

    /// Counters of cube cores and of vector cores, where these are separate.
    pub(super) fn split(self) -> [Vec<String>; 2] {
        match self {
            PipeUtilization => {
                [pipes(&["mac", "scalar", "mte1", "mte2", "fixpipe"]), pipes(&["vec", "scalar", "mte2", "mte3"])]
            }
            ArithmeticUtilization => [
                owned(["mac_fp16_ratio", "mac_int8_ratio", "cube_fops"]),
                owned(["vec_fp32_ratio", "vec_fp16_ratio", "vec_int32_ratio", "vec_misc_ratio", "vector_fops"]),
            ],
            Memory => [["l1_*_bw", "main_mem_*_bw", "l2_*_bw"], ["ub_*_bw", "main_mem_*_bw", "l2_*_bw"]]
                .map(|names| bandwidths(&names)),
            MemoryL0 => [bandwidths(&["l0a_*_bw", "l0b_*_bw", "l0c_*_bw_cube"]), bandwidths(&["l0c_*_bw"])],
            MemoryUB => [bandwidths(&["ub_*_bw_scalar"]), bandwidths(&["ub_*_bw_vector", "ub_*_bw_scalar"])],
            Metrics::ResourceConflictRatio => [Vec::new(), owned(CONFLICTS)],
            L2Cache | MemoryAccess => [self.joined(), self.joined()],
        }
    }

    /// Counters of cores that do both.
    pub(super) fn joined(self) -> Vec<String> {
        match self {
            PipeUtilization => {
                let pipes = pipes(&["vec", "mac", "scalar", "mte1", "mte2", "mte3"]);
                pipes.into_iter().chain(["memory_bound".to_owned()]).collect()
            }
            Memory => bandwidths(&["ub_*_bw", "l1_*_bw", "l2_*_bw", "main_mem_*_bw"]),
            MemoryL0 => bandwidths(&["l0a_*_bw", "l0b_*_bw", "l0c_*_bw", "l0c_*_bw_cube"]),
            MemoryUB => bandwidths(&["ub_*_bw_vector", "ub_*_bw_scalar"]),
            ArithmeticUtilization | Metrics::ResourceConflictRatio => self.split().concat(),
            L2Cache => owned(L2),
            MemoryAccess => ACCESS.map(|path| format!("{path}(KB)")).to_vec(),
        }
    }

    /// The columns of the group on this kind of part.
    pub fn columns(self, arch: Arch) -> Vec<String> {
        let mut columns = Vec::new();
        if arch.is_split() {
            for (core, counters) in ["aic", "aiv"].into_iter().zip(self.split()) {
                let time = if core == "aic" { "aicore_time(us)" } else { "aiv_time(us)" };
                columns.extend([time.to_owned(), format!("{core}_total_cycles")]);
                columns.extend(counters.into_iter().map(|counter| format!("{core}_{counter}")));
            }
        } else {
            columns.extend(["aicore_time(us)", "total_cycles"].map(str::to_owned));
            columns.extend(self.joined());
        }
        if self == PipeUtilization {
            columns.push("cube_utilization(%)".to_owned());
        }
        columns
    }
}
