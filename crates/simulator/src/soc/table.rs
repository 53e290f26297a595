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

/// First 910 (AIC-C-100). Rates as documented: l2 110, L1->L0A 512, L1->L0B 256, L0C->UB 256, UB->GM 64. GM->L1 is a fit on
/// kernels of the 30-core part, where 70 to 95 do as well.
const F910: Family = Family {
    arch: Arch::C100,
    short_name: "Ascend910",
    l1: MIB,
    l0_c: 256 * KIB,
    ub: 256 * KIB,
    bt: 0,
    rates: [110.0, 75.0, 110.0, 512.0, 256.0, 256.0, 64.0],
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
/// The same silicon under the names of the A3 servers.
const F910_93: Family = Family { short_name: "Ascend910_93", ..F910B };
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
/// 310 (AIC-M-100), built as the first 910: fused cores without fixpipe. Rates as documented: l2 128, L1->L0A 512,
/// L1->L0B 256, L0C->UB 256; GM->UB 67. UB->GM 35, measured: a kernel that only writes reaches 48 GB/s on two cores;
/// documented is 64.
const F310: Family = Family {
    arch: Arch::C100,
    short_name: "Ascend310",
    l1: MIB,
    l0_c: 256 * KIB,
    ub: 248 * KIB,
    bt: 0,
    rates: [128.0, 67.0, 67.0, 512.0, 256.0, 256.0, 35.0],
    vec: 256.0,
};
/// 610 (AIC-M-200), as documented: the 310P's structure.
const F610: Family = Family { short_name: "Ascend610", ..F310P };
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

/// One line of the member table: name, cube cores, vector cores, MHz of the cube, device memory, L2, GB/s of
/// device memory.
struct Member(&'static str, &'static Family, u32, u32, f64, u64, u64, f64);

/// GB/s of a part whose cores each have a documented share of device memory, in bytes a cycle.
const fn share(rate: u32, cores: u32, mhz: u32) -> f64 {
    (rate * cores * mhz) as f64 / 1e3
}

/// Clock of the extra vector cores of a 310P, documented for the whole family.
const VEC_MHZ_310P: f64 = 1000.0;

/// GB/s of device memory that one die of an A3 has while a network is served: decode products read their weights at
/// 1.17 TB/s there, where a 910B2 with its 1.6 TB/s reaches 1.4.
const HBM_A3: f64 = 1330.0;

/// The members, by family. Device memory bandwidth: 910 1.2 TB/s (product data), 910B 1.6 TB/s with 64 GiB
/// and 0.8 TB/s with 32 GiB (measured write 798 and 1869 GB/s on the two classes), 310P 204.8 GB/s LPDDR4X,
/// the others the documented share of each core. `super::source` tells it field by field.
#[rustfmt::skip]
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
    Member("Ascend910_9391", &F910_93, 24, 48, 1850.0, 64 * GIB, 192 * MIB, HBM_A3),
    Member("Ascend910_9392", &F910_93, 24, 48, 1850.0, 64 * GIB, 192 * MIB, HBM_A3),
    Member("Ascend910_9381", &F910_93, 24, 48, 1800.0, 64 * GIB, 192 * MIB, HBM_A3),
    Member("Ascend910_9382", &F910_93, 24, 48, 1800.0, 64 * GIB, 192 * MIB, HBM_A3),
    Member("Ascend910_9372", &F910_93, 20, 40, 1800.0, 64 * GIB, 192 * MIB, HBM_A3),
    Member("Ascend910_9363", &F910_93, 20, 40, 1650.0, 32 * GIB, 168 * MIB, 800.0),
    Member("Ascend910_9362", &F910_93, 20, 40, 1650.0, 64 * GIB, 168 * MIB, 1600.0),
    Member("Ascend310P1", &F310P, 10, 18, 1060.0, 24_000_000_000, 16 * MIB, 204.8),
    Member("Ascend310P3", &F310P, 8, 15, 1060.0, 24_000_000_000, 16 * MIB, 204.8),
    Member("Ascend310P5", &F310P, 8, 15, 800.0, 24_000_000_000, 16 * MIB, 204.8),
    Member("Ascend310P7", &F310P, 8, 15, 550.0, 24_000_000_000, 16 * MIB, 204.8),
    // 51.2 GB/s: LPDDR4X of 128 bits at 3200 MT/s; a kernel that only writes reaches 48.
    Member("Ascend310", &F310, 2, 2, 680.0, 8 * GIB, 8 * MIB, 51.2),
    Member("Ascend610", &F610, 10, 18, 960.0, 0, 16 * MIB, share(17, 10, 960)),
    Member("Ascend310B1", &F310B, 1, 1, 1224.0, 32 * GIB, 4 * MIB, share(17, 1, 1224)),
    Member("Ascend310B2", &F310B, 1, 1, 1224.0, 0, 4 * MIB, share(17, 1, 1224)),
    Member("Ascend310B3", &F310B, 1, 1, 1224.0, 0, 4 * MIB, share(17, 1, 1224)),
    // Not the 4 GB/s that the core's share gives at its lowered clock: memory has a clock of its own.
    Member("Ascend310B4", &F310B, 1, 1, 500.0, 0, 4 * MIB, 25.6),
    Member("Ascend910_95", &F950, 32, 64, 1650.0, 128 * GIB, 128 * MIB, share(31, 32, 1650)),
    Member("Ascend950PR_9589", &F950, 32, 64, 1650.0, 128 * GIB, 128 * MIB, share(31, 32, 1650)),
    Member("Ascend950PR_958b", &F950, 32, 64, 1650.0, 112 * GIB, 112 * MIB, share(27, 32, 1650)),
    Member("Ascend950PR_9579", &F950, 28, 56, 1650.0, 128 * GIB, 128 * MIB, share(31, 28, 1650)),
    Member("Ascend950PR_957b", &F950, 28, 56, 1650.0, 112 * GIB, 112 * MIB, share(27, 28, 1650)),
    Member("Ascend950PR_957bx", &F950, 28, 56, 1650.0, 112 * GIB, 112 * MIB, share(27, 28, 1650)),
    Member("Ascend950PR_957c", &F950, 28, 56, 1650.0, 84 * GIB, 112 * MIB, share(27, 28, 1650)),
    Member("Ascend950PR_957d", &F950, 28, 56, 1650.0, 96 * GIB, 96 * MIB, share(23, 28, 1650)),
    Member("Ascend950PR_9599", &F950, 36, 72, 1800.0, 128 * GIB, 128 * MIB, share(31, 36, 1800)),
    Member("Ascend950PR_950z", &F950, 4, 8, 1650.0, 24 * GIB, 16 * MIB, share(4, 4, 1650)),
    Member("Ascend950DT_9571", &F950, 28, 56, 1650.0, 144 * GIB, 128 * MIB, share(80, 28, 1650)),
    Member("Ascend950DT_9572", &F950, 28, 56, 1650.0, 96 * GIB, 128 * MIB, share(80, 28, 1650)),
    Member("Ascend950DT_9573", &F950, 28, 56, 1650.0, 126 * GIB, 112 * MIB, share(70, 28, 1650)),
    Member("Ascend950DT_9574", &F950, 28, 56, 1650.0, 84 * GIB, 112 * MIB, share(70, 28, 1650)),
    Member("Ascend950DT_9575", &F950, 28, 56, 1650.0, 96 * GIB, 128 * MIB, share(61, 28, 1650)),
    Member("Ascend950DT_9576", &F950, 28, 56, 1650.0, 64 * GIB, 128 * MIB, share(61, 28, 1650)),
    Member("Ascend950DT_9577", &F950, 28, 56, 1650.0, 84 * GIB, 112 * MIB, share(54, 28, 1650)),
    Member("Ascend950DT_9578", &F950, 28, 56, 1650.0, 56 * GIB, 112 * MIB, share(54, 28, 1650)),
    Member("Ascend950DT_9581", &F950, 32, 64, 1650.0, 144 * GIB, 128 * MIB, share(80, 32, 1650)),
    Member("Ascend950DT_9581x", &F950, 32, 64, 1650.0, 144 * GIB, 128 * MIB, share(80, 32, 1650)),
    Member("Ascend950DT_9582", &F950, 32, 64, 1650.0, 96 * GIB, 128 * MIB, share(80, 32, 1650)),
    Member("Ascend950DT_9582x", &F950, 32, 64, 1650.0, 96 * GIB, 128 * MIB, share(80, 32, 1650)),
    Member("Ascend950DT_9583", &F950, 32, 64, 1650.0, 126 * GIB, 112 * MIB, share(70, 32, 1650)),
    Member("Ascend950DT_9584", &F950, 32, 64, 1650.0, 84 * GIB, 112 * MIB, share(70, 32, 1650)),
    Member("Ascend950DT_9585", &F950, 32, 64, 1650.0, 96 * GIB, 128 * MIB, share(61, 32, 1650)),
    Member("Ascend950DT_9586", &F950, 32, 64, 1650.0, 64 * GIB, 128 * MIB, share(61, 32, 1650)),
    Member("Ascend950DT_9587", &F950, 32, 64, 1650.0, 84 * GIB, 112 * MIB, share(54, 32, 1650)),
    Member("Ascend950DT_9588", &F950, 32, 64, 1650.0, 56 * GIB, 112 * MIB, share(54, 32, 1650)),
    Member("Ascend950DT_9591", &F950, 36, 72, 1800.0, 144 * GIB, 128 * MIB, share(80, 36, 1800)),
    Member("Ascend950DT_95A1", &F950, 36, 72, 1800.0, 144 * GIB, 128 * MIB, share(80, 36, 1800)),
    Member("Ascend950DT_9592", &F950, 36, 72, 1800.0, 96 * GIB, 128 * MIB, share(80, 36, 1800)),
    Member("Ascend950DT_95A2", &F950, 36, 72, 1800.0, 96 * GIB, 128 * MIB, share(80, 36, 1800)),
    Member("Ascend950DT_9595", &F950, 36, 72, 1800.0, 96 * GIB, 128 * MIB, share(61, 36, 1800)),
    Member("Ascend950DT_9596", &F950, 36, 72, 1800.0, 64 * GIB, 128 * MIB, share(61, 36, 1800)),
    Member("Ascend950DT_950x", &F950, 8, 16, 1650.0, 24 * GIB, 32 * MIB, share(19, 8, 1650)),
    Member("Ascend950DT_950y", &F950, 8, 16, 1650.0, 16 * GIB, 32 * MIB, share(14, 8, 1650)),
    Member("Ascend350_355e", &F950, 16, 32, 1650.0, 64 * GIB, 64 * MIB, share(31, 16, 1650)),
    Member("Ascend350_354f", &F950, 14, 28, 1650.0, 56 * GIB, 56 * MIB, share(27, 14, 1650)),
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
        vec_freq_mhz: if matches!(family.arch, Arch::M200) { VEC_MHZ_310P } else { mhz },
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
        // The smaller part writes UB out at half the family's rate.
        ub_to_gm_rate: if name == "Ascend310B4" { ub_gm / 2.0 } else { ub_gm },
        vec_bytes_per_cycle: family.vec,
        cube_m_size: 16,
        cube_k_size: 16,
        cube_n_size: 16,
        corrections: None,
    }
}

pub(super) fn find(name: &str) -> Option<Soc> {
    MEMBERS.iter().find(|m| m.0.eq_ignore_ascii_case(name)).map(build)
}

/// A member of a generation, from which a toolkit's file changes what it states.
pub(super) fn template(arch: Arch) -> Soc {
    let name = match arch {
        Arch::C100 => "Ascend910A",
        Arch::C220 => "Ascend910B1",
        Arch::M200 => "Ascend310P1",
        Arch::M300 => "Ascend310B1",
        Arch::C310 => "Ascend950PR_9589",
    };
    // A test holds each of them to its family.
    MEMBERS.iter().find(|m| m.0 == name).map_or_else(|| build(&MEMBERS[0]), build)
}

pub(super) fn names() -> Vec<String> {
    MEMBERS.iter().map(|m| m.0.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use crate::soc::Soc;

    /// Names, cube cores and vector cores, fp16 TFLOP/s as published: cores x 8192 x documented clock.
    const PEAKS: &[(&str, u32, u32, f64)] = &[
        ("Ascend910A", 32, 32, 262.1),
        ("Ascend910ProA", 32, 32, 288.4),
        ("Ascend910PremiumA", 32, 32, 319.8),
        ("Ascend910B", 30, 30, 221.2),
        ("Ascend910ProB", 30, 30, 282.6),
        ("Ascend910B1 Ascend910_9391 Ascend910_9392", 24, 48, 363.7),
        ("Ascend910B2 Ascend910B2C Ascend910_9381 Ascend910_9382", 24, 48, 353.9),
        ("Ascend910B3 Ascend910_9372", 20, 40, 294.9),
        ("Ascend910B4 Ascend910B4-1 Ascend910_9363 Ascend910_9362", 20, 40, 245.8),
        // 310P: 10 or 8 fused cores and 8 or 7 vector cores besides.
        ("Ascend310P1", 10, 18, 86.8),
        ("Ascend310P3", 8, 15, 69.5),
        ("Ascend310P5", 8, 15, 52.4),
        ("Ascend310P7", 8, 15, 36.0),
        ("Ascend310", 2, 2, 11.1),
        ("Ascend610", 10, 18, 78.6),
        ("Ascend310B1 Ascend310B2 Ascend310B3", 1, 1, 10.0),
        ("Ascend310B4", 1, 1, 4.1),
        ("Ascend910_95 Ascend950PR_9589 Ascend950PR_958b", 32, 64, 432.5),
        ("Ascend950DT_9581 Ascend950DT_9582 Ascend950DT_9583 Ascend950DT_9584", 32, 64, 432.5),
        ("Ascend950DT_9585 Ascend950DT_9586 Ascend950DT_9587 Ascend950DT_9588", 32, 64, 432.5),
        ("Ascend950DT_9581x Ascend950DT_9582x", 32, 64, 432.5),
        ("Ascend950PR_9579 Ascend950PR_957b Ascend950PR_957bx Ascend950PR_957c Ascend950PR_957d", 28, 56, 378.5),
        ("Ascend950DT_9571 Ascend950DT_9572 Ascend950DT_9573 Ascend950DT_9574", 28, 56, 378.5),
        ("Ascend950DT_9575 Ascend950DT_9576 Ascend950DT_9577 Ascend950DT_9578", 28, 56, 378.5),
        ("Ascend950PR_9599 Ascend950DT_9591 Ascend950DT_9592 Ascend950DT_95A1 Ascend950DT_95A2", 36, 72, 530.8),
        ("Ascend950DT_9595 Ascend950DT_9596", 36, 72, 530.8),
        ("Ascend950PR_950z", 4, 8, 54.1),
        ("Ascend950DT_950x Ascend950DT_950y", 8, 16, 108.1),
        ("Ascend350_355e", 16, 32, 216.3),
        ("Ascend350_354f", 14, 28, 189.2),
    ];

    #[test]
    fn cores_and_clocks_give_the_published_peaks_of_every_part() {
        let mut seen = 0;
        for (names, cores, vector_cores, tflops) in PEAKS {
            for name in names.split(' ') {
                let soc = Soc::find(name).unwrap();
                let documented = super::super::source::documented_mhz(name).unwrap_or(soc.cube_freq_mhz);
                let peak = f64::from(soc.ai_core_cnt) * 8192.0 * documented / 1e6;
                assert!((peak - tflops).abs() < 0.06, "{name}: {peak} against {tflops}");
                assert_eq!((soc.ai_core_cnt, soc.vector_core_cnt), (*cores, *vector_cores), "{name}");
                seen += 1;
            }
        }
        assert_eq!(seen, Soc::names().len(), "a part is not in the published table");
    }

    #[test]
    fn members_differ_where_they_are_known_to() {
        let gib = |name: &str| Soc::find(name).unwrap().memory_size >> 30;
        let mib = |name: &str| Soc::find(name).unwrap().l2_size >> 20;
        let gb_s = |name: &str| Soc::find(name).unwrap().hbm_gb_s;
        assert_eq!(["Ascend910_9363", "Ascend910_9362", "Ascend950DT_9578"].map(gib), [32, 64, 56]);
        assert_eq!(["Ascend910B4", "Ascend910B4-1", "Ascend310P7", "Ascend950PR_950z"].map(mib), [96, 168, 16, 16]);
        // Public figures of the two 950 classes: 1.64 and 4.2 TB/s.
        assert!((gb_s("Ascend950PR_9589") - 1640.0).abs() < 10.0 && (gb_s("Ascend950DT_9581") - 4200.0).abs() < 30.0);
        assert!(Soc::find("Ascend310B4").unwrap().ub_to_gm_rate < Soc::find("Ascend310B1").unwrap().ub_to_gm_rate);
    }

    #[test]
    fn each_generation_has_a_template_of_its_own() {
        use super::{Arch, template};
        for arch in [Arch::C100, Arch::C220, Arch::M200, Arch::M300, Arch::C310] {
            assert_eq!(template(arch).arch, arch);
        }
    }

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
