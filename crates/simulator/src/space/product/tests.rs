//! Every tiling of the space makes CANN's kernels compute the product.

use super::template::Template;
use super::{ProductSpace, is_matmul_v3};
use crate::soc::Soc;
use crate::space::OperatorSpace;
use crate::tiling::Platform;
use crate::tiling::matmul_v3::{Tiling, check_written};
use crate::workload::{MatMul, Schedule, Workload};
use aoe_graph::{DataType, Format};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn part() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

/// A walk down the parameters to the first open value from a random place on.
fn walk(space: &ProductSpace, rng: &mut fastrand::Rng) -> Option<Vec<u32>> {
    let mut prefix: Vec<u32> = Vec::new();
    for parameter in space.parameters() {
        let size = parameter.values.len() as u32;
        let start = rng.u32(0..size);
        let open = (0..size).map(|i| (start + i) % size).find(|&value| {
            prefix.push(value);
            let open = space.extends(&prefix);
            prefix.pop();
            open
        })?;
        prefix.push(open);
    }
    Some(prefix)
}

/// Products with every template among them.
pub(in crate::space) fn products() -> impl Strategy<Value = MatMul> {
    let extent =
        prop_oneof![1u64..40, (1u64..300).prop_map(|v| v * 16), 1u64..30_000, (1u64..100).prop_map(|v| v * 128)];
    let extents = [extent.clone().boxed(), extent.clone().boxed(), extent.boxed()];
    let dtype = proptest::sample::select(vec![DataType::Float16, DataType::Bfloat16, DataType::Float]);
    (extents, dtype, any::<[bool; 5]>()).prop_map(|([m, k, n], dtype, [trans_a, trans_b, bias, a_nz, b_nz])| {
        let format = |nz| if nz { Format::FractalNz } else { Format::Nd };
        let (a_format, b_format) = (format(a_nz && b_nz && bias), format(b_nz && a_nz));
        MatMul { dtype, out_dtype: dtype, trans_a, trans_b, bias, a_format, b_format, ..MatMul::new(m, k, n) }
    })
}

proptest! {
    #![proptest_config(aoe_testing::cases(300))]
    #[test]
    fn every_tiling_runs_and_is_found_again(w in products(), seed in any::<u64>(), part in 0usize..3) {
        let soc = Soc::find(["Ascend910B2", "Ascend910B4", "Ascend310P3"][part]).unwrap();
        let space = ProductSpace::new(&w, &soc, std::iter::empty());
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut ended = 0;
        for _ in 0..40 {
            let Some(configuration) = walk(&space, &mut rng) else { continue };
            let schedule = space.schedule(&configuration);
            prop_assert!(schedule.is_some(), "{w}: {:?}", space.values(&configuration));
            let schedule = schedule.unwrap();
            let record = Tiling::from_schedule(&schedule).unwrap().widened(&w);
            prop_assert_eq!(check_written(&record, &w, &Platform::of(&soc)), Ok(()), "{:?}", record);
            prop_assert_eq!(record.narrowed(&w).schedule(&w).unwrap(), schedule.clone());
            prop_assert_eq!(space.configuration(&schedule), Some(configuration), "{:?}", record);
            // The fast way to a random tiling finds only legal ones too.
            let sampled = space.sample(&mut rng, &mut 10_000);
            prop_assert!(sampled.is_none_or(|c| space.is_canonical(&c) && space.schedule(&c).is_some()));
            ended += 1;
        }
        prop_assert!(ended >= 20, "{w}: only {ended} of 40 walks end");
    }

    #[test]
    fn a_tiling_near_any_other_is_legal(w in products(), other in products(), seed in any::<u64>()) {
        let soc = part();
        let from = ProductSpace::new(&other, &soc, std::iter::empty());
        let space = OperatorSpace::new(&Workload::MatMul(w.clone()), &soc).unwrap();
        let mut rng = fastrand::Rng::with_seed(seed);
        let Some(schedule) = walk(&from, &mut rng).and_then(|c| from.schedule(&c)) else { return Ok(()) };
        let near = space.nearest(&Schedule::Cube(schedule));
        prop_assert!(near.is_some_and(|c| space.schedule(&c).is_some()), "{w}");
    }
}

#[test]
fn every_template_is_found_where_its_kernel_is() {
    let soc = part();
    let found = |w: MatMul| {
        assert!(is_matmul_v3(&w, &soc));
        let space = ProductSpace::new(&w, &soc, std::iter::empty());
        let mut rng = fastrand::Rng::with_seed(1);
        let mut templates: BTreeMap<u32, usize> = BTreeMap::new();
        for schedule in (0..2000).filter_map(|_| space.schedule(&walk(&space, &mut rng)?)) {
            *templates.entry(Tiling::from_schedule(&schedule).unwrap().tiling_enable).or_default() += 1;
        }
        templates.into_keys().collect::<Vec<_>>()
    };
    let fp32 = |m, k, n, trans_b| MatMul {
        dtype: DataType::Float,
        out_dtype: DataType::Float,
        trans_b,
        ..MatMul::new(m, k, n)
    };
    assert_eq!(found(MatMul::new(4096, 4096, 4096)), [0, 2, 3]);
    assert_eq!(found(MatMul::new(128, 8192, 8192)), [0, 2, 3, 12]);
    assert_eq!(found(MatMul::new(100_000, 128, 240)), [0, 20, 1020]);
    assert_eq!(found(fp32(16, 2048, 256, true)), [0, 2, 3, 4, 10]);
    assert_eq!(found(fp32(100_000, 128, 112, false)), [0, 20, 1020, 2020]);
    let tbe = MatMul { kernel: crate::workload::MatMulKernel::Tbe, ..MatMul::new(64, 64, 64) };
    assert!(!is_matmul_v3(&tbe, &soc), "TBE's kernel is another");
}

/// What leaves L0C as whole blocks of 256 bytes needs no fractals on the way.
#[test]
fn results_leave_as_fractals_where_their_rows_are_no_whole_blocks() {
    let leaves_as_fractals = |n| {
        let w = MatMul { dtype: DataType::Float, out_dtype: DataType::Float, ..MatMul::new(100_000, 128, n) };
        Template::of(&w, &part()).contains(&Template::FullBNz)
    };
    assert!(leaves_as_fractals(48) && leaves_as_fractals(112) && leaves_as_fractals(191));
    assert!(
        !leaves_as_fractals(64) && !leaves_as_fractals(128) && !leaves_as_fractals(192) && !leaves_as_fractals(208)
    );
}

#[test]
fn a_tiling_of_one_product_says_the_same_for_another() {
    let (soc, small, large) = (part(), MatMul::new(512, 1024, 512), MatMul::new(1024, 1024, 1024));
    let space = ProductSpace::new(&small, &soc, std::iter::empty());
    let larger = ProductSpace::new(&large, &soc, std::iter::empty());
    let mut rng = fastrand::Rng::with_seed(4);
    let (mut same, mut all) = (0, 0);
    for schedule in (0..300).filter_map(|_| space.schedule(&walk(&space, &mut rng)?)) {
        let Some(carried) = larger.nearest(&schedule).and_then(|c| larger.schedule(&c)) else { continue };
        all += 1;
        same += usize::from(carried.l0 == schedule.l0 && carried.split_k == schedule.split_k);
    }
    assert!(all > 100 && 10 * same >= 9 * all, "{same} of {all}");
}
