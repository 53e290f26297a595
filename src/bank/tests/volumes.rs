//! Every tiling of the space is a record that can be written, and the default is one of them.

use crate::bank::Writable;
use crate::graph::Format;
use crate::search::Domain;
use crate::soc::Soc;
use crate::space::{OperatorSpace, carried_over, default_origin, default_policy};
use crate::workload::{Conv, ConvKind, DefaultOrigin, Depth, MatMul, Workload, check};
use proptest::prelude::*;

fn b2() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

/// Volumes with all sizes kept by a cubic kernel.
fn volume([batch, cin, cout]: [u64; 3], [d, h, w]: [u64; 3], kernel: u64, stride: u64, bias: bool) -> Conv {
    let out = |size: u64| size.div_ceil(stride);
    let depth = Depth { input: d, output: out(d), kernel, stride, pads: [kernel / 2, kernel / 2], dilation: 1 };
    Conv {
        hi: h,
        wi: w,
        ho: out(h),
        wo: out(w),
        stride: [stride; 2],
        bias,
        format: Format::Ndc1hwc0,
        depth: Some(depth),
        ..Conv::image(ConvKind::Forward, batch * depth.output, [cin * kernel, cout], h, kernel)
    }
}

#[test]
fn the_default_is_cann_s_own_and_one_of_the_space() {
    for w in [
        volume([1, 64, 64], [8, 28, 28], 3, 1, true),
        volume([2, 32, 64], [16, 56, 56], 3, 2, false),
        volume([1, 3, 64], [16, 112, 112], 3, 1, true),
        volume([4, 256, 512], [4, 14, 14], 1, 1, false),
    ] {
        let w = Workload::Conv(w);
        assert_eq!(default_origin(&w, &b2()), DefaultOrigin::Public, "{w}");
        let space = OperatorSpace::new(&w, &b2()).unwrap();
        let configuration = space.configuration(space.default_schedule());
        assert!(configuration.is_some(), "{w}: {:?}", space.default_schedule());
        assert_eq!(space.schedule(&configuration.unwrap()).as_ref(), Some(space.default_schedule()));
    }
}

#[test]
fn groups_and_other_parts_have_an_estimate() {
    let grouped = Conv { groups: 4, ..volume([1, 64, 64], [8, 28, 28], 3, 1, true) };
    assert_eq!(default_origin(&Workload::Conv(grouped), &b2()), DefaultOrigin::Estimated);
    let w = Workload::Conv(volume([1, 64, 64], [8, 28, 28], 3, 1, true));
    assert_eq!(default_origin(&w, &Soc::find("Ascend310P3").unwrap()), DefaultOrigin::Estimated);
}

#[test]
fn a_neighbour_s_tiling_becomes_a_legal_one() {
    let near = Workload::Conv(volume([1, 64, 64], [8, 28, 28], 3, 1, true));
    let here = Workload::Conv(volume([2, 96, 48], [7, 30, 26], 3, 1, true));
    let schedule = default_policy(&near, &b2()).unwrap();
    let carried = carried_over(&schedule, &here, &b2()).expect("one is near");
    Writable::of(&here, &b2()).check(&carried).unwrap();
}

fn any_volume() -> impl Strategy<Value = Conv> {
    let sizes = ([1u64..9, 1u64..300, 1u64..300], [1u64..20, 1u64..80, 1u64..80]);
    (sizes, 1u64..4, 1u64..3, any::<bool>())
        .prop_map(|((channels, sizes), kernel, stride, bias)| volume(channels, sizes, kernel, stride, bias))
}

proptest! {
    #![proptest_config(aoe_testing::cases(24))]

    #[test]
    fn every_sample_is_a_record_that_runs_and_is_found_again(w in any_volume(), seed: u64) {
        let (soc, w) = (b2(), Workload::Conv(w));
        let space = OperatorSpace::new(&w, &soc).unwrap();
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut found = 0;
        for _ in 0..40 {
            let Some(configuration) = space.sample_within(&mut rng, &mut 2000) else { continue };
            let schedule = space.schedule(&configuration).expect("a sample is legal");
            check(&w, &schedule, &soc).unwrap();
            Writable::of(&w, &soc).check(&schedule).unwrap();
            prop_assert_eq!(space.configuration(&schedule), Some(configuration));
            found += 1;
        }
        prop_assert!(found > 0, "{}: no way down the parameters ends", w);
    }

    #[test]
    fn the_default_is_legal_whatever_the_volume(w in any_volume()) {
        let w = Workload::Conv(w);
        let schedule = default_policy(&w, &b2()).unwrap();
        check(&w, &schedule, &b2()).unwrap();
    }
}

/// Nobody asks about a schedule where all can be recorded.
#[test]
fn where_all_schedules_can_be_recorded_none_is_refused() {
    let product = Workload::MatMul(MatMul { trans_b: true, ..MatMul::new(384, 1000, 512) });
    let (soc, mut rng) = (b2(), fastrand::Rng::with_seed(3));
    let writable = Writable::of(&product, &soc);
    assert!(writable.is_everything());
    let space = OperatorSpace::new(&product, &soc).unwrap();
    let found: Vec<_> = (0..60).filter_map(|_| space.sample_within(&mut rng, &mut 2000)).collect();
    assert!(found.len() > 30, "{} of 60", found.len());
    for configuration in found {
        writable.check(&space.schedule(&configuration).unwrap()).unwrap();
    }
    let volume = Workload::Conv(volume([1, 16, 16], [4, 8, 8], 3, 1, false));
    assert!(!Writable::of(&volume, &soc).is_everything());
}
