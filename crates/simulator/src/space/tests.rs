use super::cube::{Limits, Tiling};
use super::samples::{socs, workload};
use super::{OperatorSpace, carried_over, default_policy};
use crate::soc::Soc;
use crate::workload::{Conv, ConvKind, CubeSchedule, Depth, L1Tile, LoopOrder, MatMul, Schedule, VectorSchedule};
use crate::workload::{VectorTemplate, Workload, check};
use aoe_search::Domain;
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::HashSet;

/// A walk down the parameters that takes the first open value from a random place on, and gives up
/// after so many values.
fn walk(space: &OperatorSpace, rng: &mut fastrand::Rng) -> Option<Vec<u32>> {
    let sizes = space.sizes();
    let mut prefix: Vec<u32> = Vec::new();
    for &size in sizes {
        let start = rng.u32(0..size);
        let open = (0..size).map(|i| (start + i) % size).find(|&value| {
            prefix.push(value);
            let open = space.may_extend(&prefix);
            prefix.pop();
            open
        })?;
        prefix.push(open);
    }
    Some(prefix)
}

proptest! {
    #![proptest_config(aoe_testing::cases(200))]
    #[test]
    fn the_default_is_in_the_space_or_near_a_tiling_that_is(workload in workload(), soc in any::<Index>()) {
        let socs: Vec<Soc> = socs().collect();
        let soc = &socs[soc.index(socs.len())];
        let space = OperatorSpace::new(&workload, soc).unwrap();
        let default = default_policy(&workload, soc).unwrap();
        let configuration = space.nearest(&default);
        prop_assert!(configuration.is_some(), "{default:?}");
        let schedule = space.schedule(&configuration.unwrap());
        let is_matmul_v3 = matches!(&workload, Workload::MatMul(w) if super::product::is_matmul_v3(w, soc));
        prop_assert!(schedule.is_some());
        prop_assert!(is_matmul_v3 || schedule == Some(default));
    }

    #[test]
    fn configurations_and_schedules_are_inverse(workload in workload(), soc in any::<Index>(), seed in any::<u64>()) {
        let socs: Vec<Soc> = socs().collect();
        let soc = &socs[soc.index(socs.len())];
        let space = OperatorSpace::new(&workload, soc).unwrap();
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..20 {
            let Some(configuration) = walk(&space, &mut rng) else { continue };
            let Some(schedule) = space.schedule(&configuration) else { continue };
            prop_assert!(check(&workload, &schedule, soc).is_ok());
            prop_assert_eq!(space.configuration(&schedule), Some(configuration), "{:?}", schedule);
        }
    }

    #[test]
    fn open_prefixes_lead_to_legal_configurations_only(workload in workload(), soc in any::<Index>(), seed in any::<u64>()) {
        let socs: Vec<Soc> = socs().collect();
        let space = OperatorSpace::new(&workload, &socs[soc.index(socs.len())]).unwrap();
        let mut rng = fastrand::Rng::with_seed(seed);
        for configuration in (0..50).filter_map(|_| walk(&space, &mut rng)) {
            prop_assert!(space.is_legal(&configuration));
        }
    }

    #[test]
    fn two_walks_of_five_end_at_a_legal_configuration(workload in workload(), soc in any::<Index>(), seed in any::<u64>()) {
        let socs: Vec<Soc> = socs().collect();
        let space = OperatorSpace::new(&workload, &socs[soc.index(socs.len())]).unwrap();
        let mut rng = fastrand::Rng::with_seed(seed);
        let reached = (0..100).filter(|_| walk(&space, &mut rng).is_some()).count();
        // Of a product of one k and very many columns about half do.
        prop_assert!(reached >= 40, "{reached} of 100");
    }

    #[test]
    fn no_legal_configuration_hides_behind_a_closed_prefix(workload in workload(), soc in any::<Index>(), seed in any::<u64>()) {
        let socs: Vec<Soc> = socs().collect();
        let space = OperatorSpace::new(&workload, &socs[soc.index(socs.len())]).unwrap();
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..50 {
            let Some(mut configuration) = walk(&space, &mut rng) else { continue };
            let changed = rng.usize(0..configuration.len());
            configuration[changed] = rng.u32(0..space.sizes()[changed]);
            let open = (0..=configuration.len()).all(|length| space.may_extend(&configuration[..length]));
            prop_assert!(open || !space.is_legal(&configuration));
        }
    }
}

#[test]
fn different_configurations_are_different_schedules() {
    let space =
        OperatorSpace::new(&Workload::MatMul(MatMul::new(300, 500, 200)), &Soc::find("Ascend910B2").unwrap()).unwrap();
    let mut rng = fastrand::Rng::with_seed(1);
    let configurations: HashSet<Vec<u32>> =
        (0..5000).filter_map(|_| walk(&space, &mut rng)).filter(|c| space.is_legal(c)).collect();
    let schedules: HashSet<_> = configurations.iter().filter_map(|c| space.schedule(c)).collect();
    assert!(configurations.len() > 1000);
    assert_eq!(configurations.len(), schedules.len());
}

#[test]
fn lengths_and_indices_out_of_range_are_no_schedules() {
    let space =
        OperatorSpace::new(&Workload::MatMul(MatMul::new(64, 64, 64)), &Soc::find("Ascend310P3").unwrap()).unwrap();
    let default = space.nearest(space.default_schedule()).unwrap();
    assert!(space.schedule(&default[1..]).is_none());
    let mut beyond = default;
    beyond[1] = space.sizes()[1];
    assert!(space.schedule(&beyond).is_none());
}

proptest! {
    #![proptest_config(aoe_testing::cases(300))]
    #[test]
    fn what_is_carried_over_is_legal_and_in_the_space(
        here in workload(), there in workload(), socs_of in any::<[Index; 2]>(), seed in any::<u64>()
    ) {
        let socs: Vec<Soc> = socs().collect();
        let [soc, other] = socs_of.map(|i| &socs[i.index(socs.len())]);
        let space = OperatorSpace::new(&there, other).unwrap();
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..10 {
            let Some(schedule) = walk(&space, &mut rng).and_then(|c| space.schedule(&c)) else { continue };
            if let Some(carried) = carried_over(&schedule, &here, soc) {
                prop_assert!(check(&here, &carried, soc).is_ok());
                let wider = OperatorSpace::including(&here, soc, std::slice::from_ref(&carried)).unwrap();
                prop_assert!(wider.configuration(&carried).is_some());
            }
        }
    }

    #[test]
    fn most_tilings_can_be_carried_to_twice_the_extents(workload in workload(), seed in any::<u64>()) {
        let soc = Soc::find("Ascend910B2").unwrap();
        let larger = match &workload {
            Workload::MatMul(w) => Workload::MatMul(MatMul { m: 2 * w.m, n: 2 * w.n, ..w.clone() }),
            Workload::Conv(w) => Workload::Conv(Conv { batch: 2 * w.batch, ..w.clone() }),
            other => other.clone(),
        };
        let space = OperatorSpace::new(&workload, &soc).unwrap();
        let mut rng = fastrand::Rng::with_seed(seed);
        let tilings: Vec<_> = (0..60).filter_map(|_| space.schedule(&walk(&space, &mut rng)?)).collect();
        let carried = tilings.iter().filter(|tiling| carried_over(tiling, &larger, &soc).is_some()).count();
        prop_assert!(2 * carried >= tilings.len(), "{carried} of {}", tilings.len());
    }
}

#[test]
fn a_tiling_is_carried_to_its_own_shape_unchanged() {
    let (soc, mut rng) = (Soc::find("Ascend910B2").unwrap(), fastrand::Rng::with_seed(3));
    let workload = Workload::MatMul(MatMul::new(1024, 2048, 4096));
    let space = OperatorSpace::new(&workload, &soc).unwrap();
    let (mut same, mut all) = (0, 0);
    for schedule in (0..200).filter_map(|_| space.schedule(&walk(&space, &mut rng)?)) {
        all += 1;
        same += usize::from(carried_over(&schedule, &workload, &soc).as_ref() == Some(&schedule));
    }
    // A core task of uneven size is dealt out anew.
    assert!(all > 100 && 10 * same >= 4 * all, "{same} of {all}");
}

/// A block that is a whole product needs room for two of each of its panels, or it is an operand that stays.
#[test]
fn a_block_that_is_a_whole_product_leaves_room_for_two_of_each_panel() {
    let workload = Workload::MatMul(MatMul::new(128, 128, 128));
    let whole = [("tilingEnable", 0), ("baseK", 128), ("singleCoreK", 128), ("fullLoad", 0), ("baseM", 128)];
    let whole = [&whole[..], &[("baseN", 128), ("singleCoreM", 128), ("singleCoreN", 128)]].concat();
    let is_open = |l1_size: u64| {
        let soc = Soc { l1_size, ..Soc::find("Ascend950PR_9589").unwrap() };
        let space = OperatorSpace::new(&workload, &soc).unwrap();
        let index = |(parameter, (name, value)): (&super::Parameter, &(&str, u64))| {
            assert_eq!(parameter.name, *name);
            parameter.values.iter().position(|v| v == value).unwrap() as u32
        };
        let prefix: Vec<u32> = space.parameters().iter().zip(&whole).map(index).collect();
        (1..=prefix.len()).all(|length| space.may_extend(&prefix[..length]))
    };
    // Two panels of 32 KiB, twice.
    assert!(is_open(128 << 10) && !is_open((128 << 10) - 1));
}

/// Without L2 tiles there is no order of them, and one way to write that.
#[test]
fn an_order_of_l2_tiles_is_there_where_they_are() {
    let soc = Soc::find("Ascend950PR_9589").unwrap();
    let matmul = MatMul::new(2048, 512, 2048);
    let (shape, limits) = (matmul.cube(), Limits::new(&matmul.cube(), &soc));
    let Schedule::Cube(default) = default_policy(&Workload::MatMul(matmul), &soc).unwrap() else { panic!("a product") };
    let order = |m_tiles, n_tiles| {
        let mut tiling = Tiling::from_schedule(&default, &shape).unwrap();
        (tiling.l2_m_tiles, tiling.l2_n_tiles, tiling.l2_order) = (m_tiles, n_tiles, LoopOrder::NFirst);
        tiling.make_canonical(&shape, &limits);
        tiling.l2_order
    };
    assert_eq!((order(1, 1), order(2, 2)), (LoopOrder::MFirst, LoopOrder::NFirst));
}

#[test]
fn a_tiling_of_a_volume_is_the_nearest_to_itself() {
    let volume = Conv {
        batch: 2 * 8,
        cin: 64 * 3,
        format: aoe_graph::Format::Ndc1hwc0,
        depth: Some(Depth { input: 8, output: 8, kernel: 3, stride: 1, pads: [1, 1], dilation: 1 }),
        ..Conv::image(ConvKind::Forward, 2, [64, 128], 28, 3)
    };
    let (workload, soc) = (Workload::Conv(volume), Soc::find("Ascend910B2").unwrap());
    let space = OperatorSpace::new(&workload, &soc).unwrap();
    let mut rng = fastrand::Rng::with_seed(5);
    let walked: Vec<_> = (0..40).filter_map(|_| walk(&space, &mut rng)).collect();
    assert!(walked.len() > 20, "{} of 40 walks end", walked.len());
    for configuration in walked {
        assert_eq!(space.nearest(&space.schedule(&configuration).unwrap()), Some(configuration));
    }
}

#[test]
fn blocks_that_no_buffer_holds_are_not_carried_over() {
    let (soc, workload) = (Soc::find("Ascend910B2").unwrap(), Workload::MatMul(MatMul::new(512, 512, 512)));
    let Schedule::Cube(good) = default_policy(&workload, &soc).unwrap() else { panic!("a product has a cube tiling") };
    let broken: [fn(&mut CubeSchedule); 6] = [
        |s| s.l0.m = 0,
        |s| (s.l0.k_a, s.l0.k_b) = (0, 0),
        |s| s.l0.n = u32::MAX,
        |s| s.buffers.l0_c = 0,
        |s| s.l1_a = L1Tile::panel(u32::MAX, u32::MAX),
        |s| s.l1_b = L1Tile::panel(64, 0),
    ];
    assert!(carried_over(&Schedule::Cube(good.clone()), &workload, &soc).is_some());
    for (i, breaks) in broken.into_iter().enumerate() {
        let mut schedule = good.clone();
        breaks(&mut schedule);
        assert_eq!(carried_over(&Schedule::Cube(schedule), &workload, &soc), None, "{i}");
    }
    let vector = VectorSchedule { cores: 1, ub_tile_bytes: 32, double_buffer: false, template: VectorTemplate::Flat };
    assert_eq!(carried_over(&Schedule::Vector(vector), &workload, &soc), None);
}

#[test]
fn a_kernel_whose_result_has_no_known_size_shares_out_what_it_reads() {
    use crate::workload::{Move, Operand};
    use aoe_graph::DataType;
    let soc = Soc::find("Ascend910B2").unwrap();
    let x = Operand::new([1 << 22], DataType::Float16);
    let moved = |outputs: Vec<Operand>| {
        let workload = Move { op_type: "NoSuchOperator".into(), run_bytes: 0, inputs: vec![x.clone()], outputs };
        default_policy(&Workload::Move(workload), &soc).unwrap()
    };
    assert_eq!(moved(Vec::new()), moved(vec![x.clone()]));
}

/// Listed are all that are legal, in order, where that is worth its time.
#[test]
fn a_small_space_is_listed_whole() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let gelu = crate::workload::Operand::new([64, 100], aoe_graph::DataType::Float16);
    let gelu = crate::workload::Vector { op_type: "Gelu".into(), inputs: vec![gelu.clone()], outputs: vec![gelu] };
    let tiny = |m, k, n| Workload::MatMul(MatMul::new(m, k, n));
    for workload in [Workload::Vector(gelu), tiny(16, 16, 16), tiny(32, 16, 48)] {
        let space = OperatorSpace::new(&workload, &soc).unwrap();
        let flat = space.enumerate(1 << 20).unwrap_or_else(|| panic!("{workload} has few tilings"));
        let listed: Vec<&[u32]> = flat.chunks_exact(space.sizes().len()).collect();
        assert!(listed.is_sorted_by(|a, b| a < b) && !listed.is_empty());
        assert!(listed.iter().all(|configuration| space.schedule(configuration).is_some()));
        let listed: HashSet<&[u32]> = listed.into_iter().collect();
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..500 {
            let drawn = space.sample_within(&mut rng, &mut { 10_000 });
            assert!(drawn.is_none_or(|drawn| listed.contains(&drawn[..])), "{workload}");
        }
        assert_eq!(space.enumerate(listed.len() - 1), None, "there are more");
    }
    let large = OperatorSpace::new(&tiny(4096, 4096, 4096), &soc).unwrap();
    assert_eq!(large.enumerate(usize::MAX), None, "it takes too long");
}

#[test]
fn kernels_of_one_family_have_one_version() {
    use super::{BATCHES, CONVOLUTIONS, PRODUCTS, VECTOR_KERNELS, VOLUMES, version};
    let product = MatMul::new(16, 16, 16);
    let batch = MatMul { batch: 2, ..product.clone() };
    let image = Conv::image(ConvKind::Forward, 1, [16, 16], 8, 1);
    let depth = Depth { input: 1, output: 1, kernel: 1, stride: 1, pads: [0; 2], dilation: 1 };
    let volume = Conv { depth: Some(depth), ..image.clone() };
    let operand = crate::workload::Operand::new([64], aoe_graph::DataType::Float16);
    let relu =
        crate::workload::Vector { op_type: "Relu".into(), inputs: vec![operand.clone()], outputs: vec![operand] };
    let relu = Workload::Vector(relu);
    assert_eq!(version(&Workload::MatMul(product)), PRODUCTS);
    assert_eq!(version(&Workload::MatMul(batch)), BATCHES);
    assert_eq!(version(&Workload::Conv(volume.clone())), VOLUMES);
    assert_eq!(version(&Workload::Conv(image.clone())), CONVOLUTIONS);
    assert_eq!(version(&relu), VECTOR_KERNELS);
    // The cube piece of a fused kernel decides.
    assert_eq!(version(&Workload::Fused(vec![relu.clone(), Workload::Conv(image)])), CONVOLUTIONS);
    assert_eq!(version(&Workload::Fused(vec![relu])), VECTOR_KERNELS);
}

#[test]
fn an_index_beyond_a_list_is_no_tiling_and_no_panic() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let operand = crate::workload::Operand::new([64, 100], aoe_graph::DataType::Float16);
    let gelu =
        crate::workload::Vector { op_type: "Gelu".into(), inputs: vec![operand.clone()], outputs: vec![operand] };
    let image = Conv { format: aoe_graph::Format::Nc1hwc0, ..Conv::image(ConvKind::Forward, 2, [64, 64], 28, 3) };
    let product = MatMul::new(64, 64, 64);
    for workload in [
        Workload::Vector(gelu),
        Workload::Conv(image),
        Workload::MatMul(MatMul { batch: 3, ..product.clone() }),
        Workload::MatMul(product),
    ] {
        let space = OperatorSpace::new(&workload, &soc).unwrap();
        let beyond: Vec<u32> = space.sizes().to_vec();
        assert!(!space.is_legal(&beyond) && space.schedule(&beyond).is_none(), "{workload}");
        for length in 0..=beyond.len() {
            // Whatever the answer is.
            let _ = space.may_extend(&beyond[..length]);
        }
    }
}
