//! What a tiling takes, and how it is made smaller.

use super::*;
use crate::workload::MatMul;

fn limits() -> Limits {
    Limits::new(&MatMul::new(4096, 1000, 4096).cube(), &Soc::find("Ascend910B2").unwrap())
}

fn tiling() -> Tiling {
    Tiling {
        used_cores: 24,
        single: Extents { batch: 1, m: 300, n: 500, k: 1000 },
        base_m: 128,
        base_n: 256,
        base_k: 64,
        step_m: 2,
        step_n: 1,
        step_ka: 4,
        step_kb: 3,
        full_a: false,
        full_b: false,
        db_l1_a: 2,
        db_l1_b: 1,
        db_l0_c: 1,
        order: LoopOrder::MFirst,
        l2_m_tiles: 1,
        l2_n_tiles: 1,
        l2_order: LoopOrder::MFirst,
        split_k: SplitK::None,
        output: OutputPath::Direct,
    }
}

#[test]
fn l1_holds_both_panels_with_their_buffers_or_a_whole_side() {
    let (a, b) = (128 * 2 * 4 * 64 * 2, 256 * 3 * 64);
    assert_eq!(tiling().l1_bytes(&limits()), (a + b) * 2);
    // A whole side is in whole tiles and fractals, once.
    let (whole_a, whole_b) = (384 * 1008, 512 * 1008);
    assert_eq!(Tiling { full_a: true, ..tiling() }.l1_bytes(&limits()), (whole_a + b) * 2);
    assert_eq!(Tiling { full_b: true, ..tiling() }.l1_bytes(&limits()), (a + whole_b) * 2);
    // Of several products no more than they have is there.
    let several = Limits { whole_products: true, ..limits() };
    assert_eq!(tiling().l1_bytes(&several), (a + b) * 2, "one product");
    let single = Extents { batch: 3, m: 100, n: 500, k: 100 };
    let tiling = Tiling { single, ..tiling() };
    assert_eq!(tiling.l1_bytes(&several), (112 * 112 * 2 + 256 * 112) * 2);
    let shallow = Tiling { step_ka: 1, step_m: 1, base_m: 64, ..tiling };
    assert_eq!(shallow.l1_bytes(&several), (64 * 64 * 2 + 256 * 112) * 2);
}

#[test]
fn a_tiling_fits_up_to_the_last_byte() {
    let exact = Limits { l1: tiling().l1_bytes(&limits()), ..limits() };
    assert!(tiling().fits(&exact) && !tiling().fits(&Limits { l1: exact.l1 - 1, ..exact }));
    assert!(!Tiling { db_l0_c: 2, ..tiling() }.fits(&exact), "two tiles of 128 x 256 are more than L0C");
    let half = Tiling { base_n: 128, db_l0_c: 2, ..tiling() };
    assert!(half.fits(&limits()));
    let limits = limits();
    for (m, n, k, buffers, fits) in [
        (128, 256, 64, 1, true),
        (128, 256, 64, 2, false),
        (128, 128, 64, 2, true),
        (256, 16, 64, 1, true),
        (272, 16, 64, 1, false),
        (16, 256, 64, 1, true),
        (16, 272, 64, 1, false),
    ] {
        assert_eq!(limits.base_fits(m, n, k, buffers), fits, "{m} x {n} x {k}, {buffers}");
    }
    let table = Limits { bias_n: 128, ..limits };
    assert!(table.base_fits(16, 128, 16, 1) && !table.base_fits(16, 144, 16, 1));
}

/// Steps of m, n, k of A and B, buffers of both, and the tile.
fn told(t: &Tiling) -> ([u32; 4], [u8; 2], [u32; 3]) {
    ([t.step_m, t.step_n, t.step_ka, t.step_kb], [t.db_l1_a, t.db_l1_b], [t.base_m, t.base_n, t.base_k])
}

#[test]
fn what_is_too_large_loses_panels_first_and_then_its_tile() {
    let mut tiling = Tiling { full_a: true, step_kb: 2, db_l1_b: 2, ..tiling() };
    let mut next = || {
        let shrunk = tiling.shrink(&limits());
        (shrunk, tiling.full_a || tiling.full_b, told(&tiling))
    };
    let tile = [128, 256, 64];
    assert_eq!(next(), (true, false, ([2, 1, 4, 2], [2, 2], tile)), "nothing is loaded whole");
    assert_eq!(next(), (true, false, ([1, 1, 4, 2], [2, 2], tile)), "A's panel is the larger");
    assert_eq!(next(), (true, false, ([1, 1, 2, 2], [2, 2], tile)), "of equal ones A's goes first");
    assert_eq!(next(), (true, false, ([1, 1, 2, 1], [2, 2], tile)), "B's is the larger");
    assert_eq!(next(), (true, false, ([1, 1, 1, 1], [2, 2], tile)));
    assert_eq!(next(), (true, false, ([1, 1, 1, 1], [1, 1], tile)));
    let smaller = [[128, 256, 32], [128, 256, 16], [128, 128, 16], [128, 64, 16], [64, 64, 16], [64, 32, 16]];
    for tile in smaller.into_iter().chain([[32, 32, 16], [32, 16, 16], [16, 16, 16]]) {
        assert_eq!(next(), (true, false, ([1, 1, 1, 1], [1, 1], tile)));
    }
    assert_eq!(next(), (false, false, ([1, 1, 1, 1], [1, 1], [16, 16, 16])), "nothing is left");
}

#[test]
fn panels_are_left_alone_while_the_tile_itself_does_not_fit() {
    let mut two = Tiling { db_l0_c: 2, ..tiling() };
    assert!(two.shrink(&limits()));
    assert_eq!((two.db_l0_c, told(&two)), (1, told(&tiling())), "L0C does not hold two");
    let mut deep = Tiling { base_k: 256, ..tiling() };
    assert!(deep.shrink(&limits()));
    assert_eq!(told(&deep).2, [128, 256, 128]);
    assert_eq!(told(&deep).0, told(&tiling()).0);
    // The steps of a side that has one only cannot go on.
    let mut narrow = Tiling { base_m: 16, step_m: 1, step_kb: 1, ..tiling() };
    assert!(narrow.shrink(&limits()));
    assert_eq!(told(&narrow).0, [1, 1, 2, 1]);
    let mut one_buffer = Tiling { step_m: 1, step_ka: 1, step_kb: 1, db_l1_a: 1, db_l1_b: 2, ..tiling() };
    assert!(one_buffer.shrink(&limits()));
    assert_eq!(told(&one_buffer).1, [1, 1]);
    // Steps stay multiples of each other.
    let mut steps = Tiling { step_m: 1, step_ka: 6, step_kb: 4, base_n: 128, ..tiling() };
    assert!(steps.shrink(&limits()));
    assert_eq!(told(&steps).0, [1, 1, 3, 3]);
}

#[test]
fn steps_are_halved_one_kind_after_the_other() {
    let halved = |mut steps: u32, mut step_k: u32| {
        halve(&mut steps, &mut step_k);
        (steps, step_k)
    };
    assert_eq!(
        [halved(5, 8), halved(2, 8), halved(1, 8), halved(1, 3), halved(1, 1)],
        [(3, 8), (1, 8), (1, 4), (1, 1), (1, 1)]
    );
    let aligned = |mut steps: [u32; 2]| {
        align_steps(&mut steps);
        steps
    };
    assert_eq!([[7, 3], [3, 7], [4, 4], [8, 4]].map(aligned), [[6, 3], [3, 6], [4, 4], [8, 4]]);
}
