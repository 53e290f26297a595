//! `QuantBatchMatmulV3`'s 28 fields and the canonical schedule say the same.

use super::*;
use crate::bank::quant::{self, Tiling};
use proptest::prelude::*;
use serde_json::json;

/// The product of the published key of this operator.
fn product() -> MatMul {
    int8(4096, 4096, 2048)
}

fn int8(m: u64, k: u64, n: u64) -> MatMul {
    MatMul { dtype: DataType::Int8, trans_b: true, b_format: Format::FractalNz, ..MatMul::new(m, k, n) }
}

fn base() -> Tiling {
    Tiling {
        m_dim: 4,
        n_dim: 2,
        m_al1: 2,
        n_bl1: 1,
        k_al1: 16,
        k_bl1: 8,
        m_l0: 16,
        n_l0: 16,
        k_l0: 4,
        db_al1: 2,
        db_bl1: 2,
        db_l0a: 2,
        db_l0b: 2,
        db_cub: 2,
        n_cub: 8,
        ..Tiling::default()
    }
}

#[test]
fn the_published_key_is_the_one_of_its_product() {
    let form = Form::runtime(quant::OP_TYPE);
    let w = Workload::MatMul(product());
    assert!(quant::has_key(&product()));
    assert_eq!(form.key_of(&w).unwrap().id(), 3_629_255_536);
    let odd = Workload::MatMul(int8(4090, 4080, 2020));
    let info = form.info_dict(&odd);
    let read = ["m", "k", "n", "k_align_flag"].map(|name| &info[name]);
    assert_eq!(read, [&json!(4096), &json!(4096), &json!(2048), &json!(false)]);
    for other in [
        MatMul { trans_a: true, ..product() },
        MatMul { batch: 2, ..product() },
        MatMul { dtype: DataType::Float16, ..product() },
        MatMul { out_dtype: DataType::Bfloat16, ..product() },
    ] {
        assert!(!quant::has_key(&other), "{other}");
    }
}

#[test]
fn fractals_become_elements_and_cores_become_tasks() {
    let s = base().schedule(&product()).unwrap();
    assert_eq!(s.l0, L0Tile { m: 256, n: 256, k_a: 128, k_b: 128 });
    assert_eq!((s.l1_a, s.l1_b), (L1Tile::panel(512, 2), L1Tile::panel(256, 1)));
    assert_eq!(s.single, Extents { batch: 1, m: 1024, n: 1024, k: 4096 });
    assert_eq!((s.used_cores, s.cores), (8, Cores { batch: 1, m: 4, n: 2, k: 1 }));
    assert_eq!(s.unmodelled, [].into(), "all of it is in the schedule, or what a schedule becomes anyway");
    let on = Soc::find("Ascend310P3").unwrap();
    crate::workload::check(&Workload::MatMul(product()), &Schedule::Cube(s), &on).unwrap();
}

#[test]
fn what_a_schedule_does_not_express_is_carried() {
    let tiling = Tiling { n_cub: 4, db_aub: 2, ..base() };
    let s = tiling.schedule(&product()).unwrap();
    assert_eq!(s.unmodelled, [("db_aub".to_owned(), 2), ("n_cub".to_owned(), 4)].into());
    assert_eq!(Tiling::from_schedule(&s, &product()).unwrap(), tiling);
}

#[test]
fn a_panel_that_holds_its_task_once_is_a_full_load_and_the_other_way_round() {
    let full = Tiling { m_al1: 4, k_al1: 128, db_al1: 1, ..base() };
    let s = full.schedule(&product()).unwrap();
    assert_eq!((s.l1_a, s.buffers.l1_a), (L1Tile::FULL, 1));
    assert_eq!(Tiling::from_schedule(&s, &product()).unwrap(), full);
}

#[test]
fn a_split_of_k_over_cores_is_one() {
    let s = Tiling { m_dim: 2, k_dim: 2, ..base() }.schedule(&product()).unwrap();
    assert_eq!((s.split_k, s.cores.k, s.single.k), (SplitK::MultiCore, 2, 2048));
}

#[test]
fn what_tbe_s_kernels_have_not_is_refused() {
    let s = base().schedule(&product()).unwrap();
    let other_order = if s.order == LoopOrder::MFirst { LoopOrder::NFirst } else { LoopOrder::MFirst };
    for (schedule, what) in [
        (CubeSchedule { used_cores: 4, ..s.clone() }, "several tasks"),
        (CubeSchedule { single: Extents { m: 1008, ..s.single }, ..s.clone() }, "even deal"),
        (CubeSchedule { order: other_order, ..s.clone() }, "order"),
        (CubeSchedule { split_k: SplitK::Deterministic, ..s.clone() }, "split"),
        (CubeSchedule { l0: L0Tile { k_b: 64, ..s.l0 }, ..s.clone() }, "depths"),
        (CubeSchedule { l1_a: L1Tile::panel(100, 2), ..s.clone() }, "fractals of 32"),
    ] {
        let error = Tiling::from_schedule(&schedule, &product()).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    assert!(Tiling { k_l0: 0, ..base() }.schedule(&product()).is_err());
}

fn any_tiling() -> impl Strategy<Value = Tiling> {
    let fractals = (1u32..17, 1u32..17, 1u32..9, 1u32..5, 1u32..5, 1u32..5, 1u32..5);
    let buffers = (1u32..3, 1u32..3, 1u32..3, 1u32..3, 1u32..3);
    let ub = (1u32..3, 1u32..3, 1u32..20, 1u32..20, 1u32..20);
    (fractals, buffers, ub, 1u32..9, 1u32..9, 1u32..3).prop_map(|(f, db, ub, m_dim, n_dim, k_dim)| Tiling {
        m_dim,
        n_dim,
        k_dim,
        m_l0: f.0,
        n_l0: f.1,
        k_l0: f.2,
        m_al1: f.3,
        n_bl1: f.4,
        k_al1: f.2 * f.5,
        k_bl1: f.2 * f.6,
        db_al1: db.0,
        db_bl1: db.1,
        db_l0a: db.2,
        db_l0b: db.3,
        db_l0c: db.4,
        db_aub: ub.0,
        db_cub: ub.1,
        n_cub: ub.2,
        m_aub: ub.3,
        k_bub: ub.4,
        ..Tiling::default()
    })
}

proptest! {
    #[test]
    fn a_tiling_survives_the_canonical_schedule(tiling in any_tiling(), m in 1u64..5000, k in 1u64..9000, n in 1u64..5000) {
        let w = int8(m, k, n);
        let schedule = tiling.schedule(&w).unwrap();
        prop_assert_eq!(Tiling::from_schedule(&schedule, &w).unwrap(), tiling);
        let allowed = |name: &String| name.contains("ub");
        // More pieces of k than cores are taken in turn, which the fields of a schedule say in another way.
        let in_turn = tiling.k_dim > 1 && tiling.m_dim * tiling.n_dim * tiling.k_dim > 20;
        prop_assert!(in_turn || schedule.unmodelled.keys().all(allowed), "only UB is not modelled: {:?}", schedule.unmodelled);
        let text = serde_json::to_string(&Schedule::Cube(schedule.clone())).unwrap();
        prop_assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), Schedule::Cube(schedule));
    }

    #[test]
    fn a_knowledge_object_survives_reading_and_writing(tiling in any_tiling()) {
        prop_assert_eq!(Tiling::from_knowledge(&tiling.to_knowledge()), Ok(tiling));
    }

    #[test]
    fn no_tiling_panics(fields in proptest::collection::vec(any::<u32>(), Tiling::NAMES.len()), m: u64, n: u64, k: u64) {
        let map = Tiling::NAMES.iter().zip(&fields).map(|(name, &value)| ((*name).to_owned(), value.into())).collect();
        let tiling = Tiling::from_knowledge(&map).unwrap();
        let w = int8(m, k, n);
        if let Ok(schedule) = tiling.schedule(&w) {
            prop_assert_eq!(Tiling::from_schedule(&schedule, &w).unwrap(), tiling);
            let _ = crate::workload::check(&Workload::MatMul(w), &Schedule::Cube(schedule), &soc());
        }
    }
}
