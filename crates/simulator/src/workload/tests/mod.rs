//! The rule book: what is just within a limit passes, and each rule names what breaks it.

mod window;

use super::*;
use crate::soc::Soc;
use aoe_base::status::Error;
use std::collections::BTreeMap;

fn b2() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

fn product() -> MatMul {
    MatMul::new(1024, 1024, 1024)
}

/// A block of 128 x 256 a task, of which L0B, L0C and L1 are full: 512 of k of A and 256 of B, in two buffers each.
fn full() -> CubeSchedule {
    CubeSchedule {
        used_cores: 24,
        cores: Cores { batch: 1, m: 8, n: 4, k: 1 },
        single: Extents { batch: 1, m: 128, n: 256, k: 1024 },
        l0: L0Tile { m: 128, n: 256, k_a: 64, k_b: 64 },
        l1_a: L1Tile::panel(512, 1),
        l1_b: L1Tile::panel(256, 1),
        buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 1 },
        order: LoopOrder::MFirst,
        l2: L2Tiling::default(),
        split_k: SplitK::None,
        output: OutputPath::Direct,
        unmodelled: BTreeMap::new(),
    }
}

fn changed(change: impl FnOnce(&mut CubeSchedule)) -> CubeSchedule {
    let mut s = full();
    change(&mut s);
    s
}

fn judged(w: &MatMul, s: CubeSchedule) -> Result<(), String> {
    match check(&Workload::MatMul(w.clone()), &Schedule::Cube(s), &b2()) {
        Ok(()) => Ok(()),
        Err(Error::IllegalSchedule { rule }) => Err(rule),
        Err(other) => panic!("{other}"),
    }
}

/// Each of these is refused, in words that name what is wrong.
fn refused(w: &MatMul, tilings: Vec<(CubeSchedule, &str)>) {
    for (s, words) in tilings {
        let rule = judged(w, s).expect_err(words);
        assert!(rule.contains(words), "{rule} does not say {words}");
    }
}

/// A schedule with an L0 tile, and panels of the least depth.
fn tile(m: u32, n: u32, k: u32) -> CubeSchedule {
    changed(|s| {
        s.l0 = L0Tile { m, n, k_a: k, k_b: k };
        (s.l1_a, s.l1_b) = (L1Tile::panel(k, 1), L1Tile::panel(k, 1));
    })
}

#[test]
fn buffers_are_filled_to_the_last_byte_and_no_further() {
    for fits in [full(), tile(256, 16, 64), tile(16, 256, 64), tile(128, 256, 16)] {
        judged(&product(), fits).unwrap();
    }
    refused(
        &product(),
        vec![
            (tile(257, 16, 64), "L0A needs 65792 bytes"),
            (tile(16, 257, 64), "L0B needs 65792 bytes"),
            (tile(129, 256, 16), "L0C needs 132096 bytes"),
            (changed(|s| s.l1_b = L1Tile::panel(512, 1)), "L1 needs"),
            (changed(|s| s.l1_a = L1Tile::panel(512, 2)), "L1 needs"),
            (changed(|s| s.buffers.l1_a = 3), "L1 needs"),
        ],
    );
    // Two tiles of L0C that do not fit are one; one buffer of L0 is as large as two of half.
    judged(&product(), changed(|s| s.buffers.l0_c = 2)).unwrap();
    let mut single = tile(256, 16, 128);
    single.buffers.l0_a = 1;
    judged(&product(), single).unwrap();
    // All of A's rows in L1, once, are as many bytes as two panels of half.
    judged(&product(), changed(|s| s.l1_a = L1Tile::FULL)).unwrap();
    let of_more_rows = changed(|s| (s.l1_a, s.single.m) = (L1Tile::FULL, 144));
    refused(&product(), vec![(of_more_rows, "L1 needs")]);
}

#[test]
fn a_bias_takes_its_table_and_a_part_of_l1() {
    let biased = MatMul { bias: true, ..product() };
    judged(&biased, tile(16, 256, 16)).unwrap();
    judged(&product(), tile(16, 272, 16)).unwrap();
    refused(&biased, vec![(tile(16, 272, 16), "bias table needs 1088"), (full(), "L1 needs 525312")]);
}

#[test]
fn tiles_are_whole_fractals_but_for_kernels_that_pad_them() {
    let tbe = MatMul { kernel: MatMulKernel::Tbe, ..product() };
    judged(&tbe, full()).unwrap();
    judged(&product(), tile(100, 250, 24)).unwrap();
    refused(
        &tbe,
        vec![(tile(100, 256, 16), "l0.m = 100"), (tile(16, 250, 16), "l0.n = 250"), (tile(16, 16, 24), "l0.k_a = 24")],
    );
    refused(&product(), vec![(tile(0, 256, 16), "l0.m = 0"), (tile(16, 0, 16), "l0.n = 0")]);
    let fused = Workload::Fused(vec![Workload::MatMul(product())]);
    check(&fused, &Schedule::Cube(tile(100, 250, 24)), &b2()).unwrap();
}

#[test]
fn there_are_one_or_two_buffers_of_l0_and_any_number_of_l1() {
    judged(&product(), changed(|s| (s.l1_a, s.buffers.l1_a) = (L1Tile::panel(256, 1), 4))).unwrap();
    refused(
        &product(),
        vec![
            (changed(|s| s.buffers.l1_a = 0), "buffers.l1_a = 0"),
            (changed(|s| s.buffers.l1_b = 0), "buffers.l1_b = 0"),
            (changed(|s| s.buffers.l0_a = 3), "buffers.l0_a = 3"),
            (changed(|s| s.buffers.l0_b = 0), "buffers.l0_b = 0"),
            (changed(|s| s.buffers.l0_c = 3), "buffers.l0_c = 3"),
        ],
    );
}

#[test]
fn panels_are_whole_tiles_that_nest() {
    let panel = |k, tiles, batch| L1Tile::Panel(Panel { k, tiles, batch });
    refused(
        &product(),
        vec![
            (changed(|s| s.l1_a = panel(0, 1, 1)), "l1_a is empty"),
            (changed(|s| s.l1_a = panel(64, 0, 1)), "l1_a is empty"),
            (changed(|s| s.l1_b = panel(64, 1, 0)), "l1_b is empty"),
            (changed(|s| s.l1_a = panel(96, 1, 1)), "l1_a.k = 96"),
            (changed(|s| s.l1_b = panel(96, 1, 1)), "l1_b.k = 96"),
            (changed(|s| s.l1_a = panel(320, 1, 1)), "neither divides"),
        ],
    );
    // What quantised products bring of B need not be whole tiles, but one at least; of A it must be.
    let int8 = MatMul { dtype: DataType::Int8, ..product() };
    judged(&int8, changed(|s| s.l1_b = panel(96, 1, 1))).unwrap();
    refused(
        &int8,
        vec![(changed(|s| s.l1_b = panel(32, 1, 1)), "l1_b.k = 32"), (changed(|s| s.l1_a = panel(96, 1, 1)), "l1_a.k")],
    );
}

#[test]
fn tasks_cover_the_work_and_cores_have_some() {
    let dealt = |batch, m, n, k| changed(|s| s.cores = Cores { batch, m, n, k });
    refused(
        &product(),
        vec![
            (dealt(0, 8, 4, 1), "do not cover batch"),
            (dealt(1, 7, 4, 1), "do not cover m = 1024"),
            (dealt(1, 8, 3, 1), "do not cover n = 1024"),
            (changed(|s| s.single.k = 512), "do not cover k = 1024"),
            (changed(|s| s.single.m = 0), "do not cover m"),
            (changed(|s| s.used_cores = 0), "used_cores = 0"),
            (changed(|s| s.used_cores = 25), "used_cores = 25"),
        ],
    );
    // TBE deals tasks to cores; kernels of AscendC start on cores that have none.
    let few = MatMul::new(128, 1024, 256);
    judged(&few, dealt(1, 1, 1, 1)).unwrap();
    let tbe = MatMul { kernel: MatMulKernel::Tbe, ..few };
    refused(&tbe, vec![(dealt(1, 1, 1, 1), "only 1 core tasks")]);
    judged(&tbe, changed(|s| (s.used_cores, s.cores) = (1, Cores { batch: 1, m: 1, n: 1, k: 1 }))).unwrap();
    // Pieces of k of quantised products take turns.
    let int8 = MatMul { dtype: DataType::Int8, ..product() };
    judged(&int8, changed(|s| (s.used_cores, s.cores.k) = (29, 2))).unwrap();
    refused(&int8, vec![(changed(|s| s.used_cores = 29), "used_cores = 29")]);
    refused(&product(), vec![(changed(|s| (s.used_cores, s.cores.k) = (29, 2)), "used_cores = 29")]);
}

#[test]
fn a_tile_of_vector_work_lies_in_ub_in_blocks_of_32_bytes() {
    let soc = b2();
    let add = Workload::Vector(Vector { op_type: "Add".into(), inputs: Vec::new(), outputs: Vec::new() });
    let rule = |cores, ub_tile_bytes, double_buffer| {
        let s = VectorSchedule { cores, ub_tile_bytes, double_buffer, template: VectorTemplate::Flat };
        check(&add, &Schedule::Vector(s), &soc).map_err(|why| why.to_string())
    };
    let half = (soc.ub_size / 2) as u32;
    assert_eq!(half % 32, 0);
    for (cores, bytes, twice) in [(1, 32, false), (48, half, true), (48, 2 * half, false)] {
        rule(cores, bytes, twice).unwrap();
    }
    for (cores, bytes, twice, words) in [
        (0, 32, false, "cores = 0"),
        (49, 32, false, "cores = 49"),
        (1, 0, false, "ub_tile_bytes = 0"),
        (1, 48, false, "ub_tile_bytes = 48"),
        (1, half + 32, true, "UB needs"),
        (1, 2 * half + 32, false, "UB needs"),
    ] {
        let why = rule(cores, bytes, twice).expect_err(words);
        assert!(why.contains(words), "{why} does not say {words}");
    }
    let s = Schedule::Vector(VectorSchedule {
        cores: 1,
        ub_tile_bytes: 64,
        double_buffer: true,
        template: VectorTemplate::Flat,
    });
    assert_eq!(held(&add, &s, &soc), [Held { buffer: "UB", bytes: 128, size: soc.ub_size }]);
    // Cube work has cube schedules, and vector work vector ones.
    for (w, s) in [(Workload::MatMul(product()), s), (add, Schedule::Cube(full()))] {
        assert!(matches!(check(&w, &s, &soc), Err(Error::Workload { .. })), "{w}");
        assert_eq!(held(&w, &s, &soc), []);
    }
}
