use super::default_policy;
use crate::graph::DataType;
use crate::soc::Soc;
use crate::space::samples::{self, workload};
use crate::status::Error;
use crate::workload::{CubeSchedule, L1Tile, MatMul, Operand, Schedule, SplitK, Vector, Workload, check};
use proptest::prelude::*;

fn cube(matmul: MatMul, soc: &str) -> CubeSchedule {
    match default_policy(&Workload::MatMul(matmul), &Soc::find(soc).unwrap()).unwrap() {
        Schedule::Cube(schedule) => schedule,
        Schedule::Vector(_) => panic!("a product got a vector schedule"),
    }
}

proptest! {
    #![proptest_config(crate::testing::cases(256))]
    #[test]
    fn the_default_is_legal_for_every_workload_on_every_soc(workload in workload()) {
        for soc in samples::socs() {
            let schedule = default_policy(&workload, &soc).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert!(check(&workload, &schedule, &soc).is_ok());
        }
    }
}

#[test]
fn a_kernel_of_more_tensors_than_the_buffer_holds_is_refused_in_a_few_words() {
    let operand = Operand::new([64], DataType::Float16);
    let work = Vector { op_type: "AddN".into(), inputs: vec![operand.clone(); 20_000], outputs: vec![operand] };
    let message = default_policy(&Workload::Vector(work), &Soc::find("Ascend910B2").unwrap()).unwrap_err().to_string();
    assert!(message.contains("AddN") && message.contains("so many tensors"), "{message}");
    assert!(message.len() < 400 && !message.contains("ub_tile_bytes"), "{message}");
}

#[test]
fn a_large_product_runs_the_published_block_with_l2_tiles() {
    let schedule = cube(MatMul { trans_b: true, ..MatMul::new(118_272, 3072, 9216) }, "Ascend910B2");
    assert_eq!((schedule.l0.m, schedule.l0.n, schedule.l0.k_a), (256, 128, 64));
    assert_eq!((schedule.l1_a, schedule.l1_b), (L1Tile::panel(256, 1), L1Tile::panel(256, 1)));
    assert_eq!(schedule.used_cores, 24);
    assert!(schedule.l2.m_tiles > 1, "{:?}", schedule.l2);
}

#[test]
fn short_products_are_balanced_over_all_cores() {
    let schedule = cube(MatMul::new(128, 1024, 4096), "Ascend910B2");
    assert_eq!((schedule.used_cores, schedule.cores.tasks()), (24, 24));
    let schedule = cube(MatMul::new(1024, 1024, 1024), "Ascend910B2");
    assert!(schedule.cores.tasks() > 40, "the second round is nearly full: {schedule:?}");
}

#[test]
fn small_products_with_long_k_split_it_in_a_fixed_order() {
    let schedule = cube(MatMul { trans_a: true, ..MatMul::new(384, 16384, 384) }, "Ascend910B3");
    assert_eq!(schedule.split_k, SplitK::Deterministic);
    assert!(schedule.cores.k > 1 && schedule.cores.tasks() <= 20, "{schedule:?}");
}

#[test]
fn tall_products_with_a_small_right_side_keep_it_in_l1() {
    let schedule = cube(MatMul::new(24 * 4000, 128, 64), "Ascend910B2");
    assert_eq!(schedule.l1_b, L1Tile::FULL);
    assert_eq!(schedule.used_cores, 24);
}

/// 480 products of 64 x 64 x 64 are 20 for each of 24 cores, whole.
#[test]
fn a_task_of_small_batched_products_has_several() {
    let schedule = cube(MatMul { batch: 480, ..MatMul::new(64, 64, 64) }, "Ascend910B2");
    assert_eq!((schedule.cores.batch, schedule.single.batch, schedule.used_cores), (24, 20, 24));
    assert_eq!((schedule.single.m, schedule.single.n, schedule.l0.n), (64, 64, 64));
}

/// One B for 16 products of 8 rows: a block holds the rows of all.
#[test]
fn rows_of_products_with_one_b_are_dealt_together() {
    let decode = MatMul { batch: 16, b_shared: true, trans_b: true, ..MatMul::new(8, 1024, 4096) };
    let schedule = cube(decode, "Ascend910B2");
    assert_eq!((schedule.cores.batch, schedule.single.batch, schedule.single.m), (1, 16, 8));
}

#[test]
fn large_int8_products_have_the_block_of_the_basic_tiling() {
    let w = MatMul { dtype: DataType::Int8, trans_b: true, ..MatMul::new(4096, 4096, 4096) };
    let schedule = cube(w, "Ascend910B2");
    assert_eq!((schedule.l0.m, schedule.l0.n, schedule.l0.k_a), (128, 256, 128));
}

#[test]
fn extents_of_zero_have_no_default() {
    let workload = Workload::MatMul(MatMul::new(0, 16, 16));
    let error = default_policy(&workload, &Soc::find("Ascend910B2").unwrap()).unwrap_err();
    assert!(matches!(error, Error::Workload { .. }), "{error}");
}

#[test]
fn absurdly_large_extents_still_have_a_default() {
    let soc = Soc::find("Ascend910B2").unwrap();
    for matmul in [MatMul::new(1 << 45, 64, 1 << 20), MatMul { batch: 1 << 40, ..MatMul::new(7, 1 << 44, 3) }] {
        let workload = Workload::MatMul(matmul);
        let schedule = default_policy(&workload, &soc).unwrap();
        assert!(check(&workload, &schedule, &soc).is_ok());
    }
}
