//! The built-in SoCs.
//!
//! Source of core counts, clocks, buffer and L2 sizes, memory: CANN's `platform_config` files. Rates
//! are measured ones where a measurement exists (single-core micro-benchmarks of a 910B), because the
//! documented rates of the 910B family are copies of the first generation's.

use super::{Arch, Soc};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// What members of a family share.
struct Family {
    arch: Arch,
    short_name: &'static str,
    l1: u64,
    l0_c: u64,
    ub: u64,
    bt: u64,
    /// Bytes per cycle and core: L2 (all cores), GM->L1, GM->UB, L1->L0A, L1->L0B, L0C out, UB->GM.
    rates: [f64; 7],
    /// Bytes per cycle of a one-cycle vector instruction.
    vec: f64,
}

/// First 910 (AIC-C-100). Rates as documented: l2 110, L1->L0A 512, L1->L0B 256, L0C->UB 256, UB->GM 64.
const F910: Family = Family {
    arch: Arch::C100,
    short_name: "Ascend910",
    l1: MIB,
    l0_c: 256 * KIB,
    ub: 256 * KIB,
    bt: 0,
    rates: [110.0, 48.0, 110.0, 512.0, 256.0, 256.0, 64.0],
    vec: 256.0,
};
/// 910B and `910_93` (AIC-C-220). GM->L1 184 is the slope above 64 KiB of the measured table, GM->UB
/// 113, L1->L0A 256, L1->L0B 128, L0C->GM 128, UB->GM 64: measured. L2: 7 TB/s over 24 cores at
/// 1.8 GHz, `AscendC` guide.
const F910B: Family = Family {
    arch: Arch::C220,
    short_name: "Ascend910B",
    l1: 512 * KIB,
    l0_c: 128 * KIB,
    ub: 192 * KIB,
    bt: KIB,
    rates: [162.0, 184.0, 113.0, 256.0, 128.0, 128.0, 64.0],
    vec: 256.0,
};
/// 310P (AIC-M-200), as documented.
const F310P: Family = Family {
    arch: Arch::M200,
    short_name: "Ascend310P",
    l1: MIB,
    l0_c: 256 * KIB,
    ub: 256 * KIB,
    bt: 0,
    rates: [114.0, 114.0, 114.0, 512.0, 256.0, 512.0, 114.0],
    vec: 256.0,
};
/// 310B (AIC-M-300), as documented.
const F310B: Family = Family {
    arch: Arch::M300,
    short_name: "Ascend310B",
    l1: MIB,
    l0_c: 128 * KIB,
    ub: 248 * KIB,
    bt: KIB,
    rates: [256.0, 256.0, 256.0, 512.0, 256.0, 128.0, 128.0],
    vec: 256.0,
};
/// 950 (AIC-C-310). On-chip rates are its design values; GM->L1 121 and GM->UB 61 from its table.
const F950: Family = Family {
    arch: Arch::C310,
    short_name: "Ascend950",
    l1: 512 * KIB,
    l0_c: 256 * KIB,
    ub: 248 * KIB,
    bt: 4 * KIB,
    rates: [100.0, 121.0, 61.0, 256.0, 256.0, 128.0, 47.0],
    vec: 256.0,
};

/// One line of the member table: name, cube cores, vector cores, MHz, device memory, L2, GB/s of
/// device memory.
struct Member(&'static str, &'static Family, u32, u32, f64, u64, u64, f64);

/// Device memory bandwidth: 910 1.2 TB/s (product data), 910B 1.6 TB/s with 64 GiB and 0.8 TB/s with
/// 32 GiB (measured write 798 and 1869 GB/s on the two classes), 310P 204.8 GB/s LPDDR4X, 950
/// documented rate times cores times clock.
const MEMBERS: &[Member] = &[
    Member("Ascend910A", &F910, 32, 32, 1000.0, 32 * GIB, 32 * MIB, 1200.0),
    Member("Ascend910ProA", &F910, 32, 32, 1100.0, 32 * GIB, 32 * MIB, 1200.0),
    Member("Ascend910PremiumA", &F910, 32, 32, 1220.0, 32 * GIB, 32 * MIB, 1200.0),
    Member("Ascend910B", &F910, 30, 30, 900.0, 32 * GIB, 32 * MIB, 1200.0),
    Member("Ascend910ProB", &F910, 30, 30, 1150.0, 32 * GIB, 32 * MIB, 1200.0),
    Member("Ascend910B1", &F910B, 24, 48, 1850.0, 64 * GIB, 192 * MIB, 1600.0),
    Member("Ascend910B2", &F910B, 24, 48, 1800.0, 64 * GIB, 192 * MIB, 1600.0),
    Member("Ascend910B2C", &F910B, 24, 48, 1800.0, 64 * GIB, 192 * MIB, 1600.0),
    Member("Ascend910B3", &F910B, 20, 40, 1800.0, 64 * GIB, 192 * MIB, 1600.0),
    // 1650 MHz: cycles over time in traces of this class; the documented clock is 1500.
    Member("Ascend910B4", &F910B, 20, 40, 1650.0, 32 * GIB, 96 * MIB, 800.0),
    Member("Ascend910B4-1", &F910B, 20, 40, 1650.0, 32 * GIB, 168 * MIB, 800.0),
    Member("Ascend910_9391", &F910B, 24, 48, 1850.0, 64 * GIB, 192 * MIB, 1600.0),
    Member("Ascend910_9392", &F910B, 24, 48, 1850.0, 64 * GIB, 192 * MIB, 1600.0),
    Member("Ascend910_9381", &F910B, 24, 48, 1800.0, 64 * GIB, 192 * MIB, 1600.0),
    Member("Ascend910_9382", &F910B, 24, 48, 1800.0, 64 * GIB, 192 * MIB, 1600.0),
    Member("Ascend910_9372", &F910B, 20, 40, 1800.0, 64 * GIB, 192 * MIB, 1600.0),
    Member("Ascend910_9362", &F910B, 20, 40, 1650.0, 64 * GIB, 168 * MIB, 1600.0),
    Member("Ascend310P1", &F310P, 10, 18, 1060.0, 24_000_000_000, 16 * MIB, 204.8),
    Member("Ascend310P3", &F310P, 8, 15, 1060.0, 24_000_000_000, 16 * MIB, 204.8),
    Member("Ascend310P5", &F310P, 8, 15, 800.0, 24_000_000_000, 16 * MIB, 204.8),
    Member("Ascend310P7", &F310P, 8, 15, 550.0, 24_000_000_000, 16 * MIB, 204.8),
    Member("Ascend310B1", &F310B, 1, 1, 1224.0, 32 * GIB, 4 * MIB, 20.8),
    Member("Ascend310B4", &F310B, 1, 1, 500.0, 0, 4 * MIB, 4.0),
    Member("Ascend950PR_9589", &F950, 32, 64, 1650.0, 128 * GIB, 128 * MIB, 1640.0),
    Member("Ascend950PR_9599", &F950, 36, 72, 1800.0, 128 * GIB, 128 * MIB, 2010.0),
    Member("Ascend950PR_9579", &F950, 28, 56, 1650.0, 128 * GIB, 128 * MIB, 1430.0),
    Member("Ascend950PR_957b", &F950, 28, 56, 1650.0, 112 * GIB, 112 * MIB, 1250.0),
    Member("Ascend950DT_9581", &F950, 32, 64, 1650.0, 144 * GIB, 128 * MIB, 4220.0),
    Member("Ascend950DT_9591", &F950, 36, 72, 1800.0, 144 * GIB, 128 * MIB, 5180.0),
];

fn build(member: &Member) -> Soc {
    let Member(name, family, cores, vector_cores, mhz, memory, l2, hbm) = *member;
    let [l2_rate, gm_l1, gm_ub, l0a, l0b, l0c, ub_gm] = family.rates;
    Soc {
        name: name.to_owned(),
        short_name: family.short_name.to_owned(),
        arch: family.arch,
        ai_core_cnt: cores,
        vector_core_cnt: vector_cores,
        cube_freq_mhz: mhz,
        vec_freq_mhz: mhz,
        memory_size: memory,
        l2_size: l2,
        l1_size: family.l1,
        l0_a_size: 64 * KIB,
        l0_b_size: 64 * KIB,
        l0_c_size: family.l0_c,
        ub_size: family.ub,
        bt_size: family.bt,
        hbm_gb_s: hbm,
        l2_rate,
        gm_to_l1_rate: gm_l1,
        gm_to_ub_rate: gm_ub,
        l1_to_l0_a_rate: l0a,
        l1_to_l0_b_rate: l0b,
        l0_c_out_rate: l0c,
        ub_to_gm_rate: ub_gm,
        vec_bytes_per_cycle: family.vec,
        cube_m_size: 16,
        cube_k_size: 16,
        cube_n_size: 16,
    }
}

pub(super) fn find(name: &str) -> Option<Soc> {
    MEMBERS.iter().find(|m| m.0.eq_ignore_ascii_case(name)).map(build)
}

/// A member of a generation, from which a toolkit's file changes what it states.
pub(super) fn template(arch: Arch) -> Soc {
    build(match arch {
        Arch::C100 => &MEMBERS[0],
        Arch::C220 => &MEMBERS[5],
        Arch::M200 => &MEMBERS[17],
        Arch::M300 => &MEMBERS[21],
        Arch::C310 => &MEMBERS[23],
    })
}

pub(super) fn names() -> Vec<String> {
    MEMBERS.iter().map(|m| m.0.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use crate::soc::Soc;

    #[test]
    fn peak_of_910b2_is_the_published_one() {
        let soc = Soc::find("ascend910b2").unwrap();
        let tflops = f64::from(soc.ai_core_cnt) * 8192.0 * soc.cube_freq_mhz * 1e6 / 1e12;
        assert!((tflops - 353.9).abs() < 0.1, "{tflops}");
    }

    #[test]
    fn an_unknown_name_gets_those_near_it_or_all() {
        let message = |name: &str| Soc::find(name).unwrap_err().to_string();
        let near = message("910b5");
        assert!(near.contains("910b5") && near.contains("Ascend910B4") && !near.contains("Ascend310P3"), "{near}");
        let all = message("H100");
        assert!(Soc::names().iter().all(|name| all.contains(name.as_str())), "{all}");
    }
}
