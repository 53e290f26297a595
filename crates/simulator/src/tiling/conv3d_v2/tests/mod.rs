//! Rules one by one; numbers are worked out by hand for the 24 cores of a 910B2.

mod legality;

use super::*;
use crate::soc::Soc;
use proptest::prelude::*;

fn b2() -> Platform {
    Platform::of(&Soc::find("Ascend910B2").unwrap())
}

/// 3 x 3 x 3 with all sizes kept.
fn problem(batch: u64, cin: u64, cout: u64, size: [u64; 3]) -> Problem {
    Problem {
        batch,
        groups: 1,
        cin,
        cout,
        input: size,
        output: size,
        kernel: [3; 3],
        stride: [1; 3],
        dilation: [1; 3],
        es: 2,
        bias: false,
    }
}

#[test]
fn batches_are_dealt_first_where_costs_are_equal() {
    // 48 images on 24 cores: any even deal of them costs the same products; images also share no weights.
    let choice = default(&problem(48, 16, 16, [1, 16, 16]), &b2()).unwrap();
    assert_eq!(choice.tiling.batch_dim * choice.tiling.m_dim * choice.tiling.n_dim, 24, "{choice:?}");
    assert!(choice.rules.has(Rule::LeastCost) && choice.public);
}

#[test]
fn a_split_of_the_depth_with_an_idle_core_is_not_kept() {
    for depth in 1..=6 {
        let choice = default(&problem(1, 64, 64, [depth, 32, 32]), &b2()).unwrap().tiling;
        let each = depth.div_ceil(choice.do_dim);
        assert_eq!(depth.div_ceil(each), choice.do_dim, "{depth}: {choice:?}");
    }
}

#[test]
fn the_l0_tile_grows_by_its_shorter_side() {
    // Many pixels and channels: 256 x 128 accumulators of fp32 fill L0C; rows go first where both are equal.
    let t = default(&problem(1, 64, 1024, [1, 512, 512]), &b2()).unwrap().tiling;
    assert_eq!((t.m_l0, t.n_l0), (256, 128));
    assert_eq!(t.p_buffer_flag & 4, 0, "L0C holds one such tile");
    // A bias of 256 channels fills its table.
    let biased = Problem { bias: true, ..problem(1, 64, 1024, [1, 4, 4]) };
    assert!(default(&biased, &b2()).unwrap().tiling.n_l0 <= 256);
}

#[test]
fn small_work_stays_in_l1_with_single_buffers() {
    let choice = default(&problem(1, 16, 16, [1, 8, 8]), &b2()).unwrap();
    let t = choice.tiling;
    assert!(choice.rules.has(Rule::BothWhole));
    assert_eq!((t.al1_full_load, t.bl1_full_load, t.p_buffer_flag & 0b1_1000, t.iterate_mn_order), (1, 1, 0, 0));
    // 16 channels at three depths of 3 x 3 taps.
    assert_eq!((t.k_al1, t.k_bl1), (432, 432));
}

#[test]
fn the_smaller_side_stays_where_both_do_not_fit() {
    let wide = default(&problem(1, 64, 128, [8, 56, 56]), &b2()).unwrap();
    assert!(wide.rules.has(Rule::WeightsWhole), "{wide:?}");
    assert_eq!((wide.tiling.bl1_full_load, wide.tiling.iterate_mn_order), (1, 0));
    let deep = default(&problem(1, 128, 4096, [1, 8, 8]), &b2()).unwrap();
    assert!(deep.tiling.bl1_full_load == 0, "{deep:?}");
}

#[test]
fn groups_and_other_parts_are_estimates() {
    let grouped = Problem { groups: 4, ..problem(1, 64, 64, [4, 16, 16]) };
    let choice = default(&grouped, &b2()).unwrap();
    assert!(!choice.public && choice.rules.has(Rule::Estimated));
    let old = Platform::of(&Soc::find("Ascend310P3").unwrap());
    assert!(!default(&problem(1, 64, 64, [4, 16, 16]), &old).unwrap().public);
}

#[test]
fn nothing_has_no_tiling() {
    assert_eq!(default(&problem(0, 16, 16, [1, 8, 8]), &b2()), None);
    assert_eq!(default(&problem(1, 16, 16, [1, 0, 8]), &b2()), None);
}

proptest! {
    #![proptest_config(aoe_testing::cases(128))]

    #[test]
    fn every_tile_fits_its_buffer_and_no_core_is_dealt_twice(
        batch in 1u64..64, cin in 1u64..600, cout in 1u64..600, d in 1u64..20, h in 1u64..100, w in 1u64..100,
        kernel in 1u64..6, bias in any::<bool>(),
    ) {
        let p = b2();
        let work = Problem { kernel: [kernel.min(d), kernel, kernel], bias, ..problem(batch, cin, cout, [d, h, w]) };
        let Some(Choice { tiling: t, .. }) = default(&work, &p) else { return Ok(()) };
        prop_assert!(t.batch_dim * t.n_dim * t.m_dim * t.do_dim * t.group_dim <= 24, "{t:?}");
        let twice = |bit: u64| 1 + (t.p_buffer_flag >> bit & 1);
        prop_assert!(t.m_l0 * t.k_l0 * 2 * twice(0) <= p.l0_a && t.n_l0 * t.k_l0 * 2 * twice(1) <= p.l0_b, "{t:?}");
        prop_assert!(t.m_l0 * t.n_l0 * 4 * twice(2) <= p.l0_c, "{t:?}");
        prop_assert!(t.k_al1 % t.k_l0 == 0 && t.k_bl1 % t.k_l0 == 0, "{t:?}");
        let unit = work.k_unit();
        let image = work.image_bytes(t.m_al1, t.k_al1 / unit) * twice(3);
        prop_assert!(image + work.weight_bytes(t.n_bl1, t.k_bl1 / unit) * twice(4) <= p.l1, "{t:?}");
    }
}

#[test]
fn only_a_panel_that_stays_whole_is_no_multiple_of_the_tile_that_is_cut_from_it() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut odd = [0; 2];
    for _ in 0..1000 {
        let size = [rng.u64(1..16), rng.u64(4..80), rng.u64(4..80)];
        let work = problem(rng.u64(1..8), rng.u64(1..300), rng.u64(1..300), size);
        let Some(Choice { tiling: t, .. }) = default(&work, &b2()) else { continue };
        let image = (t.m_al1, t.m_l0, t.single_core_m, t.al1_full_load);
        let weights = (t.n_bl1, t.n_l0, t.single_core_co, t.bl1_full_load);
        for (odd, (panel, tile, single, stays)) in odd.iter_mut().zip([image, weights]) {
            if panel % tile != 0 {
                *odd += 1;
                assert!(panel == single && stays == 1, "{t:?}");
            }
        }
    }
    assert!(odd[0] > 0 && odd[1] > 0, "CANN's default has such panels: {odd:?}");
}
