//! The table of rules: shipped forms pass, and each rule refuses its violation.

use super::super::{Broken, Tiling, accepts, check, runs, templates_for};
use super::{base, fp32, part};
use crate::workload::MatMul;
use aoe_graph::Format;

fn product() -> MatMul {
    MatMul::new(1024, 1024, 1024)
}

fn broken(t: &Tiling, w: &MatMul) -> Broken {
    check(t, w, &part("Ascend910B2")).unwrap_err()
}

/// Forms that CANN's own records have.
#[test]
fn forms_of_shipped_records_pass() {
    let p = part("Ascend910B2");
    let b_t = |m, k, n| MatMul { trans_b: true, ..fp32(m, k, n) };
    let a_t = |m, k, n| MatMul { trans_a: true, ..MatMul::new(m, k, n) };
    let accepted = |w: &MatMul, values: [u32; 23]| accepts(&Tiling::from_values(values), w, &p).unwrap();
    // More cores than tasks.
    accepted(&product(), [24, 128, 256, 1024, 128, 256, 64, 16, 8, 1, 1, 0, 8, 4, 2, 2, 1, 1, 1, 8, 4, 0, 0]);
    // Base blocks of 60 rows; multi-core split-K in one round, with one L2 tile said as 1 x 1.
    accepted(&b_t(60, 7680, 256), [24, 60, 128, 640, 60, 128, 64, 10, 10, 1, 1, 0, 5, 5, 2, 2, 2, 1, 1, 1, 1, 0, 4]);
    // Four L1 buffers.
    accepted(&product(), [24, 64, 64, 1024, 64, 64, 64, 8, 8, 1, 1, 0, 2, 2, 2, 2, 2, 1, 1, 16, 16, 0, 0]);
    // Two L0C buffers that do not fit, in single-core split-K without L2 tiles.
    let split = [24, 128, 2304, 256, 128, 256, 64, 4, 4, 1, 1, 1, 2, 2, 2, 2, 2, 0, 0, 0, 0, 1, 2];
    accepted(&a_t(1536, 26_528, 4608), split);
    // Deterministic, with blocks that the kernel derives.
    let fixed = [24, 384, 1152, 384, 128, 128, 128, 9, 6, 3, 1, 1, 3, 3, 2, 2, 2, 1, 1, 0, 0, 1, 3];
    accepted(&a_t(4608, 34_816, 1152), fixed);
    // K shift.
    let nz = MatMul { b_format: Format::FractalNz, ..MatMul::new(192, 6144, 8192) };
    accepted(&nz, [24, 192, 128, 6144, 192, 128, 64, 8, 8, 1, 1, 0, 4, 4, 2, 2, 1, 1, 1, 1, 1, 0, 10_000]);
}

#[test]
fn digits_beyond_what_they_count_name_no_template() {
    for enable in [7, 9, 30, 100, 3000, 20_000, u32::MAX] {
        let found = broken(&Tiling { tiling_enable: enable, ..base(8, 4) }, &product());
        assert_eq!(found, Broken::NoTemplate { enable });
        assert!(found.to_string().contains("names no template"));
    }
}

/// Each rule says its numbers.
#[test]
fn what_is_broken_is_told_with_its_numbers() {
    for (broken, words) in [
        (
            Broken::NoKernel { enable: 12, why: "it is for floats" },
            "tilingEnable = 12 has no kernel for this product: it is for floats",
        ),
        (Broken::OnlyDefault { enable: 5 }, "tilingEnable = 5 is a template of CANN's own defaults"),
        (Broken::Zero { field: "baseK" }, "baseK is 0"),
        (Broken::Cores { used: 25, cores: 24 }, "usedCoreNum = 25, but the part has 24 cores"),
        (Broken::Block { axis: 'M', single: 256, base: 128 }, "singleCoreM = 256 exceeds baseM = 128"),
        (Broken::WholeK { single: 512, k: 1024 }, "singleCoreK = 512 is less than K = 1024"),
        (Broken::L2Count { axis: 'N' }, "l2NTileCnt = 0"),
        (
            Broken::L2Blocks { axis: 'M', tiles: 2, block: 3, tasks: 8 },
            "2 L2 tiles of 3 tasks along M do not hold its 8 tasks",
        ),
        (Broken::KPieces { pieces: 3, used: 24 }, "24 cores, but K has only 3"),
        (Broken::Rounds { tasks: 32, cores: 24 }, "32 tasks, but one round of 24 cores"),
        (Broken::Buffer { name: "L1", needed: 9, size: 8 }, "L1 needs 9 bytes, the part has 8"),
    ] {
        assert!(broken.to_string().contains(words), "{broken} does not say {words}");
    }
}

/// A digit just beyond what it counts, and a record's last digit beyond the kernels of records.
#[test]
fn each_digit_has_its_last_value() {
    let p = part("Ascend910B2");
    for (enable, named) in [(2, true), (12, true), (20, true), (1020, true), (2003, true), (10_000, true)] {
        let found = check(&Tiling { tiling_enable: enable, single_core_k: 1024, ..base(8, 4) }, &product(), &p);
        assert_eq!(!matches!(found, Err(Broken::NoTemplate { .. })), named, "{enable}: {found:?}");
    }
    for enable in [5 + 10, 6 + 20, 7, 30, 100, 3000, 20_000] {
        let t = Tiling { tiling_enable: enable, ..base(8, 4) };
        assert_eq!(broken(&t, &product()), Broken::NoTemplate { enable });
    }
    for enable in [7, 30, 100, 3000, 20_000] {
        let t = Tiling { tiling_enable: enable, ..base(8, 4) };
        assert_eq!(runs(&t, &product(), &p), Err(Broken::NoTemplate { enable }));
    }
    for enable in [22, 2002] {
        let t = Tiling { tiling_enable: enable, ..base(8, 4) };
        assert!(matches!(runs(&t, &product(), &p), Err(Broken::NoKernel { .. })), "{enable}");
    }
}

#[test]
fn k_is_whole_where_the_kernel_sums_in_one_task() {
    let w = product();
    check(&Tiling { single_core_k: 1024, ..base(8, 4) }, &w, &part("Ascend910B2")).unwrap();
    let short = Tiling { single_core_k: 1023, ..base(8, 4) };
    assert_eq!(broken(&short, &w), Broken::WholeK { single: 1023, k: 1024 });
    let last = Tiling { single_core_n: 512, l2_n_tile_block: 2, ..base(8, 2) };
    assert_eq!(broken(&last, &w), Broken::Block { axis: 'N', single: 512, base: 256 });
}

#[test]
fn five_and_six_are_defaults_only() {
    let p = part("Ascend910B2");
    for enable in [5, 6] {
        let t = Tiling { tiling_enable: enable, ..base(8, 4) };
        assert_eq!(broken(&t, &product()), Broken::OnlyDefault { enable });
        runs(&t, &product(), &p).unwrap();
    }
}

#[test]
fn templates_without_a_kernel_are_refused() {
    for enable in [13, 22, 1000, 2000, 1002, 4020, 10_010] {
        let t = Tiling { tiling_enable: enable, ..base(8, 4) };
        let found = broken(&t, &product());
        assert!(matches!(found, Broken::NoKernel { .. } | Broken::NoTemplate { .. }), "{enable}: {found}");
    }
    // For float32 only, and for 16-bit types only.
    for (enable, w) in [(10, product()), (2020, product()), (4, product()), (12, fp32(1024, 1024, 1024))] {
        let t = Tiling { tiling_enable: enable, ..base(8, 4) };
        assert!(matches!(broken(&t, &w), Broken::NoKernel { .. }), "{enable}");
    }
}

#[test]
fn templates_follow_the_operands() {
    let p = part("Ascend910B2");
    let of = |w: &MatMul| templates_for(w, &p).collect::<Vec<_>>();
    assert_eq!(of(&product()), [0, 20, 1020, 2, 12, 3, 2003, 10_000]);
    assert_eq!(of(&MatMul { trans_b: true, ..fp32(64, 64, 64) }), [0, 10, 20, 1020, 2020, 2, 3, 2003, 4, 10_000]);
    let nz = MatMul { a_format: Format::FractalNz, b_format: Format::FractalNz, ..product() };
    assert_eq!(of(&nz), [0, 2000]);
    assert_eq!(templates_for(&product(), &part("Ascend310P3")).collect::<Vec<_>>(), [0]);
}

#[test]
fn a_task_of_several_blocks_is_refused_where_the_kernel_computes_one() {
    let t = Tiling { single_core_m: 256, l2_m_tile_block: 4, ..base(8, 4) };
    assert_eq!(broken(&t, &product()), Broken::Block { axis: 'M', single: 256, base: 128 });
    let b_in_l1 = Tiling { tiling_enable: 20, ..t };
    check(&b_in_l1, &product(), &part("Ascend910B2")).unwrap();
}

#[test]
fn l2_tiles_must_hold_the_tasks() {
    let w = product();
    let p = part("Ascend910B2");
    assert_eq!(broken(&Tiling { l2_m_tile_cnt: 0, ..base(8, 4) }, &w), Broken::L2Count { axis: 'M' });
    let lost = Tiling { l2_m_tile_cnt: 2, ..base(3, 4) };
    assert_eq!(broken(&lost, &w), Broken::L2Blocks { axis: 'M', tiles: 2, block: 3, tasks: 8 });
    let empty = Tiling { l2_m_tile_cnt: 3, ..base(4, 4) };
    assert!(matches!(broken(&empty, &w), Broken::L2Blocks { .. }));
    check(&Tiling { l2_m_tile_cnt: 2, ..base(4, 4) }, &w, &p).unwrap();
    check(&Tiling { l2_m_tile_cnt: 2, ..base(0, 0) }, &w, &p).unwrap();
    assert!(check(&Tiling { l2_m_tile_cnt: 2, ..base(4, 0) }, &w, &p).is_err());
    check(&Tiling { l2_m_tile_cnt: 0, tiling_enable: 2, ..base(0, 0) }, &w, &p).unwrap();
}

#[test]
fn cores_that_sum_need_a_piece_of_k_each() {
    let t = Tiling { tiling_enable: 3, single_core_k: 384, ..base(8, 4) };
    assert_eq!(broken(&t, &product()), Broken::KPieces { pieces: 3, used: 24 });
    check(&Tiling { used_core_num: 3, ..t }, &product(), &part("Ascend910B2")).unwrap();
}

#[test]
fn multi_core_split_k_has_one_round() {
    let w = MatMul { trans_b: true, ..fp32(256, 4096, 256) };
    let t = Tiling { tiling_enable: 4, single_core_k: 1024, base_k: 32, depth_a1: 4, step_ka: 2, ..base(2, 1) };
    check(&t, &w, &part("Ascend910B2")).unwrap();
    let t = Tiling { single_core_k: 256, ..t };
    assert_eq!(broken(&t, &w), Broken::Rounds { tasks: 32, cores: 24 });
}

#[test]
fn fields_of_zero_and_cores_that_are_not_there_are_refused() {
    assert_eq!(broken(&Tiling { base_k: 0, ..base(8, 4) }, &product()), Broken::Zero { field: "baseK" });
    assert_eq!(broken(&Tiling { used_core_num: 25, ..base(8, 4) }, &product()), Broken::Cores { used: 25, cores: 24 });
    assert!(check(&Tiling::from_values([0; 23]), &product(), &part("Ascend910B2")).is_err());
}

#[test]
fn buffers_hold_what_the_tiling_says() {
    let p = part("Ascend910B2");
    let needs = |t: Tiling, name: &str| {
        let found = accepts(&t, &product(), &p).unwrap_err();
        assert!(matches!(found, Broken::Buffer { name: n, .. } if n == name), "{found}");
        check(&t, &product(), &p).unwrap();
    };
    let full = |t: Tiling| accepts(&t, &product(), &p).unwrap();
    full(base(8, 4));
    full(Tiling { base_m: 256, single_core_m: 128, base_n: 128, single_core_n: 128, depth_a1: 8, ..base(8, 8) });
    full(Tiling { base_k: 128, db_l0a: 1, db_l0b: 1, depth_a1: 8, depth_b1: 4, ..base(8, 4) });
    full(Tiling { db_l0a: 0, db_l0b: 0, db_l0c: 0, ..base(8, 4) });
    full(Tiling { tiling_enable: 3, db_l0c: 2, single_core_k: 32, ..base(8, 4) });
    needs(Tiling { base_m: 272, base_n: 16, single_core_n: 16, depth_a1: 2, depth_b1: 2, ..base(8, 64) }, "L0A");
    needs(Tiling { depth_a1: 17, ..base(8, 4) }, "L1");
    needs(Tiling { depth_b1: 9, ..base(8, 4) }, "L1");
    needs(Tiling { base_k: 80, ..base(8, 4) }, "L0B");
    needs(Tiling { db_l0c: 2, ..base(8, 4) }, "L0C");
}

#[test]
fn a_task_that_spans_its_product_is_legal_for_all_of_the_key() {
    let (whole, part_of) = (MatMul::new(64, 1024, 1024), MatMul::new(50, 1024, 1024));
    let p = part("Ascend910B2");
    let t = Tiling { single_core_m: 50, base_m: 64, ..base(1, 4) };
    check(&t, &part_of, &p).unwrap();
    check(&t.widened(&part_of), &whole, &p).unwrap();
    check(&t.widened(&part_of).narrowed(&part_of), &part_of, &p).unwrap();
}

#[test]
fn an_operand_that_is_kept_whole_lies_in_l1_beside_the_panels_of_the_other() {
    let p = part("Ascend910B2");
    let b_t = |m, k, n| MatMul { trans_b: true, ..fp32(m, k, n) };
    let kept = |enable: u32, single: [u32; 3]| {
        let [single_core_m, single_core_n, single_core_k] = single;
        let block = Tiling { base_m: 16, base_n: 16, base_k: 64, ..base(8, 4) };
        let panels = Tiling { depth_a1: 2, depth_b1: 2, step_ka: 1, step_kb: 1, ..block };
        Tiling { tiling_enable: enable, single_core_m, single_core_n, single_core_k, ..panels }
    };
    let needed = |t: &Tiling, w: &MatMul| match accepts(t, w, &p) {
        Ok(()) => 0,
        Err(Broken::Whole { needed, .. }) => needed,
        Err(other) => panic!("{other}"),
    };
    // One megabyte, be it a task's, with 2 x 16 x 64 of A, or twice a task's; and half of one.
    let tall = |n| MatMul { trans_b: true, ..MatMul::new(384, 512, n) };
    let one_tile = |t: Tiling, m, n| Tiling { l2_m_tile_block: m, l2_n_tile_block: n, ..t };
    for (enable, w) in [(20, tall(1024)), (1020, tall(1024)), (2020, b_t(384, 512, 512))] {
        let n = w.n as u32;
        let panels = 2 * 16 * 64 * w.dtype.bytes();
        assert_eq!(needed(&one_tile(kept(enable, [16, n, 512]), 24, 1), &w), (1 << 20) + panels, "{enable}");
        assert_eq!(needed(&one_tile(kept(enable, [16, n / 2, 512]), 24, 2), &w), 1 << 20, "{enable}");
    }
    // K is rounded up to fractals.
    let ragged = MatMul { trans_b: true, ..MatMul::new(384, 504, 1024) };
    assert_eq!(needed(&one_tile(kept(20, [16, 1024, 504]), 24, 1), &ragged), (1 << 20) + 2 * 16 * 64 * 2);
    let half = one_tile(kept(20, [16, 512, 512]), 24, 1);
    assert_eq!(needed(&half, &tall(512)), (512 << 10) + 2 * 16 * 64 * 2);
    assert_eq!(needed(&one_tile(kept(20, [16, 496, 512]), 24, 1), &tall(496)), 0);
    let said = accepts(&half, &tall(512), &p).unwrap_err().to_string();
    assert!(said.contains("copies all of B to L1") && said.contains("524288"), "{said}");
    // A, sixteen rows of float32.
    let few = |k| b_t(16, k, 384);
    let of_a = |k: u32| one_tile(kept(10, [16, 16, k]), 1, 24);
    assert_eq!(needed(&of_a(16_384), &few(16_384)), (1 << 20) + 2 * 16 * 64 * 4);
    assert_eq!(needed(&of_a(8064), &few(8064)), 0);
}
