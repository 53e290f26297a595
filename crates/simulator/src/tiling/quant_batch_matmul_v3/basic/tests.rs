use super::super::{Problem, Which, default};
use super::{Block, DEPTHS};
use crate::soc::Soc;
use crate::tiling::Platform;
use crate::workload::MatMul;
use proptest::prelude::*;

fn part(cores: u64) -> Platform {
    Platform { cores, ..Platform::of(&Soc::find("Ascend910B2").unwrap()) }
}

/// An int8 product with fp16 results, B transposed.
fn int8(m: u64, k: u64, n: u64) -> Problem {
    let problem = Problem::from(&MatMul::new(m, k, n));
    Problem { bits: 8, trans_b: true, ..problem }
}

fn which(p: &Problem, cores: u64) -> Which {
    default(p, &part(cores)).unwrap().which
}

#[test]
fn the_basic_tiling_refuses_what_the_page_lists() {
    let large = int8(4096, 4096, 4096);
    assert_eq!(which(&large, 24), Which::Basic);
    assert_eq!(which(&Problem { a_nz: true, ..large }, 24), Which::Cached);
    assert_eq!(which(&Problem { batch: 2, ..large }, 24), Which::Cached);
    let small = int8(512, 4096, 1024);
    assert_eq!(which(&small, 24), Which::Cached);
    assert_eq!(which(&small, 25), Which::Basic, "other core counts are always basic");
    assert_eq!(which(&Problem { bits: 4, ..small }, 24), Which::Basic);
    let bare = Platform { fixpipe: false, ..part(8) };
    assert_eq!(default(&large, &bare).unwrap().which, Which::Special310P);
}

#[test]
fn few_rows_are_cached_but_for_long_k_and_decode() {
    assert_eq!(which(&int8(256, 4096, 4096), 24), Which::Cached);
    assert_eq!(which(&int8(272, 3584, 4096), 24), Which::Cached, "448 KB stay in L1");
    assert_eq!(which(&int8(272, 3616, 4096), 24), Which::Basic, "452 KB do not");
    assert_eq!(which(&int8(16, 13000, 1500), 24), Which::Basic);
    assert_eq!(which(&int8(16, 12999, 1500), 24), Which::Cached);
    assert_eq!(which(&Problem { mix: true, ..int8(257, 32768, 4096) }, 24), Which::Basic);
    let decode = Problem { trans_b: false, b_nz: true, ..int8(64, 4096, 7168) };
    assert_eq!(which(&decode, 24), Which::BasicDecode);
    assert_eq!(which(&Problem { mix: true, ..decode }, 24), Which::Cached);
    assert_eq!(which(&Problem { k: 4160, ..decode }, 24), Which::Cached, "k is no multiple of 128");
}

/// The rule names the 910B; whether CANN has it on a `910_93` is not known.
#[test]
fn the_rule_of_few_rows_by_a_long_k_is_an_estimate_on_a_910_93() {
    let public = |p: &Problem, soc: &str| default(p, &Platform::of(&Soc::find(soc).unwrap())).unwrap().public;
    let long_k = int8(16, 13000, 1536);
    assert!(public(&long_k, "Ascend910B2") && !public(&long_k, "Ascend910_9391"));
    let large = int8(4096, 4096, 4096);
    assert!(public(&large, "Ascend910B2") && public(&large, "Ascend910_9391"));
}

/// 7168 columns are 28 blocks of 256 and 14 of 512 for 24 cores: neither within 0.8 to 1 of them, so 7168 / 24
/// = 299 columns rounded up to 320. 5120 columns are 20 blocks of 256, 0.83 of the cores.
#[test]
fn decode_takes_all_rows_by_even_columns() {
    let block = |m, n| {
        let p = Problem { trans_b: false, b_nz: true, ..int8(m, 4096, n) };
        let tiling = default(&p, &part(24)).unwrap().basic.unwrap();
        (tiling.base_m, tiling.base_n)
    };
    assert_eq!(block(50, 7168), (64, 320));
    assert_eq!(block(50, 5120), (64, 256));
    assert_eq!(block(16, 5120), (16, 224));
}

/// 1024 x 512 outputs are 16 blocks of 128 x 256: no more than half of 40 cores. 64 x 256 gives 32 tasks, 80 x 192
/// gives 39, the most that is no more than 40.
#[test]
fn few_tasks_of_inner_k_spread_over_the_cores() {
    let found = super::search(&int8(1024, 4096, 512), &part(40));
    assert_eq!((found.block, found.rule), (Block { m: 80, n: 192 }, "qbmm.block.most-tasks"));
}

/// 4096 x 4096 by 24 cores. From 128 x 256 (load 196,608, 512 tasks, 22 rounds): 128 x 192 loads more than
/// 0.9 allows; 256 x 128 has the same load, work and circumference, and as much of L2 in its first round.
#[test]
fn a_large_square_keeps_the_start_block() {
    let choice = default(&int8(4096, 4096, 4096), &part(24)).unwrap();
    let tiling = choice.basic.unwrap();
    assert_eq!((tiling.base_m, tiling.base_n, tiling.base_k), (128, 256, 128));
    // Half of L1 holds 16 steps of 128 rows and 8 of 256; half of each is a step.
    assert_eq!((tiling.step_ka, tiling.step_kb, tiling.depth_a1, tiling.depth_b1), (4, 4, 8, 8));
    assert_eq!(tiling.db_l0c, 1);
    assert_eq!((tiling.l2_m_tile_cnt, tiling.l2_n_tile_cnt), (1, 1), "64 MB stay in L2");
}

proptest! {
    #[test]
    fn every_tiling_fits_its_buffers(
        sizes in prop::array::uniform3(1u64..1 << 22), flags: [bool; 6], int4: bool, out in 1u64..=4, cores in 1u64..64,
    ) {
        let [trans_a, trans_b, b_nz, mix, bias, channel_scale] = flags;
        let [m, k, n] = sizes;
        let bits = if int4 { 4 } else { 8 };
        let p = Problem {
            trans_a, trans_b, b_nz, mix, bias, channel_scale, bits, out_bytes: out, ..int8(m, k, n)
        };
        let part = part(cores);
        let choice = default(&p, &part).unwrap();
        prop_assert_eq!(default(&p, &part), Some(choice));
        if let Some(t) = choice.basic {
            let [bm, bn, bk] = [t.base_m, t.base_n, t.base_k].map(u64::from);
            prop_assert!(bm % 16 == 0 && bn % 16 == 0 && DEPTHS.contains(&bk));
            prop_assert!(bm * bn * 4 <= part.l0_c);
            prop_assert!(2 * bm.max(bn) * bk * bits / 8 <= part.l0_a);
            let held = (u64::from(t.depth_a1) * bm + u64::from(t.depth_b1) * bn) * bk * bits / 8;
            prop_assert!(held <= part.l1, "{held} bytes of L1: {t:?}");
            prop_assert!(u64::from(t.used_core_num) <= cores);
        }
    }

    #[test]
    fn no_size_is_too_large(sizes in prop::array::uniform3(any::<u64>()), trans: [bool; 2], b_nz: bool, cores: u32) {
        let [m, k, n] = sizes;
        let p = Problem { trans_a: trans[0], trans_b: trans[1], b_nz, ..int8(m, k, n) };
        prop_assert_eq!(default(&p, &part(cores.into())).is_none(), [m, k, n].contains(&0));
    }
}

#[test]
fn an_answer_that_rests_on_how_the_walk_of_l2_is_read_says_so_and_is_an_estimate() {
    let of = |size| default(&int8(size, size, size), &part(24)).unwrap();
    let says = |size| of(size).rules.contains(&Some("qbmm.l2.walk"));
    assert!(!says(2048), "12 MB stay in L2");
    assert!(says(16384) && !of(16384).public);
}

/// 128 x 256 and 256 x 128 load and compute the same of 3072 rows by 6144 columns. With k 6144 the cube does not look at
/// the first round; with a longer k it does, and vector cores that scale always do.
#[test]
fn two_blocks_alike_are_an_estimate_only_where_the_first_round_decides() {
    let of = |p: &Problem| default(p, &part(24)).unwrap();
    let says = |p: &Problem| of(p).rules.contains(&Some("qbmm.block.first-round"));
    let even = int8(3072, 6144, 6144);
    assert!(of(&even).public && !says(&even));
    assert_eq!(of(&even).basic.map(|t| (t.base_m, t.base_n)), Some((128, 256)));
    for open in [Problem { k: 6145, ..even }, Problem { mix: true, ..even }] {
        assert!(!of(&open).public && says(&open), "{open:?}");
    }
}

/// B not transposed keeps two steps of k. A's four of 128 rows may become eight, which L1 holds; when that pays is not
/// known. Eight of 128 rows without a scale in L1 are more than may be doubled.
#[test]
fn steps_beside_an_outer_k_are_an_estimate_only_where_they_may_be_doubled() {
    let of = |channel_scale, block| {
        let p = Problem { trans_b: false, channel_scale, ..int8(4096, 4096, 4096) };
        let steps = super::l1::steps(&p, &part(24), block, 128);
        (steps.a, steps.b, steps.exact)
    };
    assert_eq!(of(true, Block { m: 128, n: 256 }), (8, 2, false));
    assert_eq!(of(false, Block { m: 128, n: 256 }), (8, 2, true));
    assert_eq!(of(false, Block { m: 256, n: 128 }), (4, 2, true), "L1 does not hold eight steps of 256 rows");
}

/// 128 MB of results, but 8 MB of either operand: no side is cut, so that there is one way to group tasks.
#[test]
fn operands_that_are_not_cut_leave_one_group_of_tasks() {
    let of = |k| default(&int8(8192, k, 8192), &part(24)).unwrap();
    let whole = of(1024);
    assert!(whole.public && !whole.rules.contains(&Some("qbmm.l2.walk")));
    assert!(!of(1921).public, "more than 15 MB");
}
