//! `MatMulV3`'s 23 fields and the canonical schedule say the same.

use super::*;
use crate::bank::matmul::Tiling;
use proptest::prelude::*;

const BASE: Tiling = Tiling {
    used_core_num: 24,
    single_core_m: 256,
    single_core_n: 128,
    single_core_k: 1024,
    base_m: 128,
    base_n: 128,
    base_k: 64,
    depth_a1: 16,
    depth_b1: 16,
    step_m: 2,
    step_n: 1,
    iterate_order: 1,
    step_ka: 4,
    step_kb: 8,
    db_l0a: 2,
    db_l0b: 2,
    db_l0c: 1,
    l2_m_tile_cnt: 3,
    l2_n_tile_cnt: 12,
    l2_m_tile_block: 5,
    l2_n_tile_block: 6,
    l2_iterate_order: 1,
    tiling_enable: 0,
};

fn schedule(tiling: Tiling) -> CubeSchedule {
    tiling.schedule(&MatMul::new(500, 1024, 4096)).unwrap()
}

#[test]
fn each_field_becomes_what_it_means() {
    let s = schedule(BASE);
    assert_eq!(
        (s.cores, s.l1_a, s.l1_b),
        (Cores { batch: 1, m: 2, n: 32, k: 1 }, L1Tile::panel(256, 2), L1Tile::panel(512, 1))
    );
    assert_eq!((s.buffers.l1_a, s.buffers.l1_b, s.order, s.l2.n_block), (2, 2, LoopOrder::NFirst, 6));
}

/// What a record holds beside the schedule.
fn unmodelled(s: &CubeSchedule) -> Option<u64> {
    assert!(s.unmodelled.keys().all(|name| name == "tilingEnable"), "{:?}", s.unmodelled);
    s.unmodelled.get("tilingEnable").copied()
}

#[test]
fn template_digits_become_their_fields_and_the_rest_is_carried() {
    let s = schedule(Tiling { tiling_enable: 12_004, ..BASE });
    let shift = Some(12_004);
    assert_eq!((s.split_k, s.output, unmodelled(&s)), (SplitK::MultiCore, OutputPath::VectorNzToNd, shift));
    let s = schedule(Tiling { tiling_enable: 1, ..BASE });
    assert_eq!(unmodelled(&s), Some(1), "1 means base as 0 does, but stays 1");
    let full = schedule(Tiling { tiling_enable: 10, step_ka: 16, depth_a1: 32, ..BASE });
    assert_eq!((full.l1_a, full.buffers.l1_a, unmodelled(&full)), (L1Tile::FULL, 1, None));
    let odd = schedule(Tiling { tiling_enable: 10, ..BASE });
    assert_eq!(
        (odd.l1_a, unmodelled(&odd)),
        (L1Tile::panel(256, 2), Some(10)),
        "the template's name, not a whole panel"
    );
}

#[test]
fn what_another_operator_s_record_carried_is_refused() {
    let mut foreign = schedule(BASE);
    foreign.unmodelled.insert("n_cub".into(), 1);
    assert!(Tiling::from_schedule(&foreign).unwrap_err().to_string().contains("n_cub"));
    foreign.unmodelled = [("tilingEnable".to_owned(), 1 << 32)].into();
    assert!(Tiling::from_schedule(&foreign).unwrap_err().to_string().contains("32 bits"));
}

#[test]
fn tilings_that_cann_refuses_have_no_schedule() {
    for (tiling, what) in [
        (Tiling { tiling_enable: 7, ..BASE }, "tilingEnable"),
        (Tiling { tiling_enable: 100_000, ..BASE }, "tilingEnable"),
        (Tiling { iterate_order: 2, ..BASE }, "iterateOrder"),
        (Tiling { depth_a1: 15, ..BASE }, "depth 15"),
        (Tiling { step_n: 0, ..BASE }, "depth 16"),
        (Tiling { step_ka: u32::MAX, depth_a1: u32::MAX, step_m: 1, ..BASE }, "32 bits"),
        (Tiling { db_l0c: 300, ..BASE }, "dbL0C"),
    ] {
        let error = tiling.schedule(&MatMul::new(500, 1024, 4096)).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn a_schedule_that_a_record_cannot_say_is_refused() {
    let base = schedule(BASE);
    let deeper = CubeSchedule { l0: L0Tile { k_b: 128, ..base.l0 }, ..base.clone() };
    let ragged = CubeSchedule { l1_a: L1Tile::panel(100, 1), ..base.clone() };
    let huge = CubeSchedule { single: Extents { m: 1 << 40, ..base.single }, ..base };
    for (schedule, what) in [(deeper, "L0B"), (ragged, "baseK"), (huge, "singleCoreM")] {
        let error = Tiling::from_schedule(&schedule).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn operands_that_stay_whole_keep_their_panels() {
    let both = CubeSchedule { l1_a: L1Tile::FULL, l1_b: L1Tile::FULL, ..schedule(BASE) };
    let tiling = Tiling::from_schedule(&both).unwrap();
    assert_eq!((tiling.tiling_enable, tiling.step_ka, tiling.depth_a1), (10, 16, 32));
    assert_eq!((tiling.step_kb, tiling.depth_b1), (16, 16), "B is whole too, though the template names A only");
}

#[test]
fn multi_core_split_k_is_recorded_only_where_cann_runs_it() {
    let split = Tiling { tiling_enable: 4, single_core_m: 512, single_core_n: 4096, single_core_k: 64, ..BASE };
    let float = MatMul { dtype: DataType::Float, trans_b: true, ..MatMul::new(500, 1024, 4096) };
    split.check_split(&float, 16).unwrap();
    for (product, cores, what) in [
        (float.clone(), 15, "16 tasks for 15 cores"),
        (MatMul { dtype: DataType::Float16, ..float.clone() }, 16, "float32"),
        (MatMul { trans_a: true, ..float.clone() }, 16, "transposed"),
        (MatMul { trans_b: false, ..float.clone() }, 16, "transposed"),
    ] {
        let error = split.check_split(&product, cores).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
        Tiling { tiling_enable: 3, ..split }.check_split(&product, cores).unwrap();
    }
}

fn any_tiling() -> impl Strategy<Value = Tiling> {
    let steps = (1u32..9, 1u32..9, 1u32..9, 1u32..9, 1u32..4, 1u32..5);
    let sizes = (1u32..64, 1u32..64, 1u32..2000, 1u32..17, 1u32..17, 1u32..17);
    let l2 = (0u32..200, 0u32..200, 0u32..50, 0u32..50, 0u32..2, 0u32..2);
    let template = (0u32..5, 0u32..3, 0u32..3, 0u32..2);
    (steps, sizes, l2, template, 1u32..49, 1u32..3).prop_map(|(steps, sizes, l2, template, cores, db)| Tiling {
        used_core_num: cores,
        single_core_m: 16 * sizes.0,
        single_core_n: 16 * sizes.1,
        single_core_k: 16 * sizes.2,
        base_m: 16 * sizes.3,
        base_n: 16 * sizes.4,
        base_k: 16 * sizes.5,
        step_m: steps.0,
        step_n: steps.1,
        step_ka: steps.2,
        step_kb: steps.3,
        depth_a1: steps.0 * steps.2 * steps.4,
        depth_b1: steps.1 * steps.3 * steps.5,
        db_l0a: db,
        db_l0b: 2,
        db_l0c: db,
        l2_m_tile_cnt: l2.0,
        l2_n_tile_cnt: l2.1,
        l2_m_tile_block: l2.2,
        l2_n_tile_block: l2.3,
        iterate_order: l2.4,
        l2_iterate_order: l2.5,
        tiling_enable: template.0 + 10 * template.1 + 1000 * template.2 + 10_000 * template.3,
    })
}

proptest! {
    #[test]
    fn a_tiling_survives_the_canonical_schedule(tiling in any_tiling(), m in 1u64..5000, n in 1u64..5000) {
        let schedule = tiling.schedule(&MatMul::new(m, 1024, n)).unwrap();
        prop_assert_eq!(Tiling::from_schedule(&schedule).unwrap(), tiling);
        let json = serde_json::to_string(&Schedule::Cube(schedule.clone())).unwrap();
        prop_assert_eq!(serde_json::from_str::<Schedule>(&json).unwrap(), Schedule::Cube(schedule));
    }

    #[test]
    fn a_knowledge_object_survives_reading_and_writing(tiling in any_tiling()) {
        prop_assert_eq!(Tiling::from_knowledge(&tiling.to_knowledge()), Ok(tiling));
    }

    #[test]
    fn no_tiling_panics(fields in proptest::collection::vec(proptest::num::u32::ANY, 23), m: u64, n: u64, k: u64) {
        let map = Tiling::NAMES.iter().zip(&fields).map(|(name, &value)| ((*name).to_owned(), value.into())).collect();
        let tiling = Tiling::from_knowledge(&map).unwrap();
        if let Ok(schedule) = tiling.schedule(&MatMul::new(m, k, n)) {
            prop_assert_eq!(Tiling::from_schedule(&schedule).unwrap(), tiling);
            let _ = crate::workload::check(&Workload::MatMul(MatMul::new(m, k, n)), &Schedule::Cube(schedule), &soc());
        }
    }
}

#[test]
fn no_record_is_written_that_asks_for_more_cores_than_the_part_has() {
    let written = |cores: u32| {
        let mut soc = soc();
        soc.limit_cores(cores).unwrap();
        matmul_v3().record_of(&tiling(128, 64), &product_of(128), &soc).map(drop)
    };
    written(16).unwrap();
    let error = written(15).unwrap_err().to_string();
    assert!(error.contains("16") && error.contains("15"), "{error}");
}

#[test]
fn sizes_that_a_key_cannot_hold_rounded_are_recorded_in_our_own_form() {
    let form = |m: u64, k: u64, n: u64| Form::of(&Workload::MatMul(MatMul::new(m, k, n)), &soc());
    let last = (1 << 62) - 1;
    assert_eq!([form(last, 1, 1), form(1, last, 1), form(1, 1, last)], [matmul_v3(); 3]);
    for size in [1 << 62, u64::MAX] {
        assert_eq!([form(size, 1, 1), form(1, size, 1), form(1, 1, size)], [Form::Canonical; 3]);
    }
}
