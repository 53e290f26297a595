//! Each template is priced for what its kernel does.

use super::super::Problem;
use super::{Product, Template, l2, plan, prepass, readers};
use crate::sim::Constants;
use crate::soc::Soc;
use crate::tiling::matmul_v3::Tiling;
use crate::workload::{CubeSchedule, MatMul, MatMulKernel};
use aoe_graph::DataType;

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

fn prepared(w: &MatMul) -> (Problem, Product) {
    let soc = soc();
    (Problem::matmul(w, &soc, &Constants::FITTED).unwrap(), Product::of(w, &soc).unwrap())
}

/// A tiling of blocks of 128 x 128 x 64 with panels of four steps, changed.
fn schedule(w: &MatMul, change: impl FnOnce(&mut Tiling)) -> CubeSchedule {
    let mut t = Tiling {
        used_core_num: 24,
        single_core_m: 128,
        single_core_n: 128,
        single_core_k: w.k as u32,
        base_m: 128,
        base_n: 128,
        base_k: 64,
        depth_a1: 8,
        depth_b1: 8,
        step_m: 1,
        step_n: 1,
        step_ka: 4,
        step_kb: 4,
        db_l0a: 2,
        db_l0b: 2,
        db_l0c: 1,
        l2_m_tile_cnt: 1,
        l2_n_tile_cnt: 1,
        ..Tiling::default()
    };
    change(&mut t);
    t.schedule(w).unwrap()
}

fn price(w: &MatMul, s: &CubeSchedule) -> f64 {
    let time = prepared(w).0.times(s).total;
    assert!(time.is_finite() && time > 0.0, "{w}: {time}");
    time
}

fn memory(w: &MatMul, s: &CubeSchedule) -> f64 {
    let (p, product) = prepared(w);
    plan(&p, &product, s).memory
}

fn single_core(t: &mut Tiling, k: u32) {
    (t.tiling_enable, t.single_core_m, t.single_core_n, t.single_core_k) = (2, 512, 1024, k);
    (t.iterate_order, t.db_l0c) = (1, 2);
}

/// Full-B: N 256 and K 256, so that B is 128 KiB of L1.
fn full_b(t: &mut Tiling) {
    (t.tiling_enable, t.single_core_m, t.single_core_n) = (20, 256, 256);
    (t.step_n, t.depth_b1, t.iterate_order) = (2, 8, 1);
}

#[test]
fn digits_name_the_template() {
    let w = MatMul::new(24 * 256, 256, 256);
    let of = |digits| Template::of(&schedule(&w, |t| t.tiling_enable = digits));
    let expected = [
        (0, Template::Base),
        (10_000, Template::Base),
        (2, Template::SingleCore),
        (12, Template::SingleCoreFullA),
        (3, Template::Deterministic),
        (4, Template::MultiCore),
        (10, Template::FullA),
        (20, Template::FullB),
        (1020, Template::FullBCopyOut),
        (2020, Template::FullBCopyOut),
    ];
    for (digits, template) in expected {
        assert_eq!(of(digits), template, "{digits}");
    }
}

#[test]
fn only_these_kernels_on_split_parts_are_priced_so() {
    let w = MatMul::new(512, 512, 512);
    assert!(Product::of(&w, &soc()).is_some());
    assert!(Product::of(&MatMul { kernel: MatMulKernel::Tbe, ..w.clone() }, &soc()).is_none());
    assert!(Product::of(&MatMul { batch: 2, ..w.clone() }, &soc()).is_some());
    assert!(Product::of(&w, &Soc::find("Ascend310P3").unwrap()).is_none());
}

#[test]
fn full_b_copies_b_for_every_task() {
    let loaded = |m: u64| {
        let w = MatMul::new(m, 256, 256);
        let (p, product) = prepared(&w);
        plan(&p, &product, &schedule(&w, full_b)).b.bytes
    };
    let (one, four) = (loaded(24 * 256), loaded(4 * 24 * 256));
    assert!((four / one - 4.0).abs() < 1e-9, "{four} after {one}");
}

#[test]
fn the_base_template_keeps_nothing_between_blocks() {
    let w = MatMul::new(24 * 512, 256, 128);
    let (p, product) = prepared(&w);
    let bytes = |rows| plan(&p, &product, &schedule(&w, |t| t.single_core_m = rows)).b.bytes;
    assert!((bytes(512) / bytes(128) - 1.0).abs() < 1e-9);
}

#[test]
fn full_a_copies_a_once_for_a_core() {
    let w = MatMul { dtype: DataType::Float, out_dtype: DataType::Float, trans_b: true, ..MatMul::new(16, 4096, 3072) };
    let (p, product) = prepared(&w);
    let a = |n| {
        let s = schedule(&w, |t| {
            (t.tiling_enable, t.single_core_m, t.base_m, t.single_core_n, t.base_n) = (10, 16, 16, n, n);
            (t.step_ka, t.depth_a1) = (64, 64);
        });
        plan(&p, &product, &s).a.bytes
    };
    assert!((a(16) / a(128) - 1.0).abs() < 1e-9, "{} and {}", a(16), a(128));
}

#[test]
fn a_pre_pass_is_charged_exactly_where_vector_cores_rewrite_an_operand() {
    let head = |w: &MatMul| {
        let (p, product) = prepared(w);
        plan(&p, &product, &schedule(w, |_| {})).passes.head
    };
    let odd = MatMul::new(2048, 1000, 2048);
    assert!(head(&odd) > 0.0);
    assert!(head(&MatMul::new(2048, 1024, 2048)) == 0.0);
    // Plain fp32 and narrow rows of whole 32 bytes are read as they lie.
    assert!(head(&MatMul { dtype: DataType::Float, out_dtype: DataType::Float, ..odd.clone() }) == 0.0);
    assert!(head(&MatMul::new(2048, 64, 2048)) == 0.0);
    // Behind it the cube's loads are those of aligned rows.
    let mte2 = |w: &MatMul| {
        let (p, product) = prepared(w);
        plan(&p, &product, &schedule(w, |_| {})).a.cycles
    };
    assert!(mte2(&odd) < 1.05 * mte2(&MatMul::new(2048, 1024, 2048)));
}

#[test]
fn every_core_in_use_rewrites_and_no_other() {
    let w = MatMul::new(48, 1000, 8);
    let (p, product) = prepared(&w);
    let head = |cores| plan(&p, &product, &schedule(&w, |t| t.used_core_num = cores)).passes.head;
    // One task, so that its cube core alone works.
    assert!(head(4) < head(1));
    // Tiles are cut for the cores in use, not for those of the part.
    let fewer = Soc { ai_core_cnt: 20, vector_core_cnt: 40, ..soc() };
    let small = Problem::matmul(&w, &fewer, &Constants::FITTED).unwrap();
    let s = schedule(&w, |t| t.used_core_num = 4);
    let product = Product::of(&w, &fewer).unwrap();
    assert!((plan(&small, &product, &s).passes.head - head(4)).abs() < 1e-12);
}

#[test]
fn deterministic_reads_long_rows_itself() {
    let w = MatMul::new(256, 20_001, 256);
    let (p, product) = prepared(&w);
    let head =
        |digits, k| plan(&p, &product, &schedule(&w, |t| (t.tiling_enable, t.single_core_k) = (digits, k))).passes.head;
    assert!(head(0, 20_001) > 0.0 && head(3, 256) == 0.0);
}

#[test]
fn partial_sums_that_fit_l2_cost_no_device_memory() {
    // 32 MiB of sums beside operands that L2 does not hold.
    let w = MatMul { trans_b: true, ..MatMul::new(2048, 65_536, 4096) };
    let at = |k: u32| memory(&w, &schedule(&w, |t| single_core(t, k)));
    assert!((at(512) / at(4096) - 1.0).abs() < 1e-9);
    // Beyond L2 they leave it, and come back where a strip of them does not fit either.
    let (p, product) = prepared(&w);
    let misses = l2::Misses::new(&p, &prepass::run(&p, product.rewrites.usual(), 24));
    let mib = |n: u32| f64::from(n) * 1024.0 * 1024.0;
    assert!(misses.sums(mib(100), mib(100), 8.0) == 0.0);
    let strips = misses.sums(mib(512), mib(16), 8.0);
    assert!(strips > 0.0 && misses.sums(mib(512), mib(512), 8.0) > strips);
}

#[test]
#[expect(clippy::float_cmp, reason = "a whole number of bytes")]
fn pieces_of_k_leave_as_sums_of_fp32_and_a_result_of_16_bits_is_cast() {
    let w = MatMul::new(1024, 32_768, 1024);
    let (p, product) = prepared(&w);
    let s = schedule(&w, |t| single_core(t, 512));
    let done = plan(&p, &product, &s);
    assert!(done.drain.element_bytes == 4.0 && done.passes.read >= 1024.0 * 1024.0 * 4.0);
    assert!((done.passes.written - 1024.0 * 1024.0 * 2.0).abs() < 1.0);
    // In strips beside the cube where columns allow it, else all of it in the end.
    assert!(done.passes.beside > 0.0);
    let odd = MatMul::new(1024, 32_768, 1040);
    let (p, product) = prepared(&odd);
    let late = plan(&p, &product, &schedule(&odd, |t| single_core(t, 512))).passes;
    assert!(late.beside == 0.0 && late.tail > done.passes.tail);
    let wide = MatMul { dtype: DataType::Float, out_dtype: DataType::Float, ..w };
    let (p, product) = prepared(&wide);
    assert!(plan(&p, &product, &schedule(&wide, |t| single_core(t, 512))).passes.written == 0.0);
}

#[test]
fn cores_of_deterministic_split_k_split_k_only() {
    let w = MatMul::new(256, 24 * 1024, 256);
    let (p, product) = prepared(&w);
    let s = schedule(&w, |t| (t.tiling_enable, t.single_core_k, t.db_l0c) = (3, 512, 2));
    let done = plan(&p, &product, &s);
    // 48 pieces for 24 cores, 4 panels each; all cores' panels are read back.
    assert!((done.tiles.products, done.tiles.active) == (8.0, 24.0));
    assert!((done.passes.read - 24.0 * 256.0 * 256.0 * 4.0).abs() < 1.0 && done.passes.tail > 0.0);
}

#[test]
fn the_unit_flag_drains_one_buffer_beside_the_cube() {
    let w = MatMul::new(24 * 1024, 4096, 128);
    let one = price(&w, &schedule(&w, |t| t.db_l0c = 1));
    let two = price(&w, &schedule(&w, |t| t.db_l0c = 2));
    assert!(one >= two && one / two < 1.01, "{one} and {two}");
    let tbe = MatMul { kernel: MatMulKernel::Tbe, ..w };
    let total = |buffers| {
        let s = schedule(&tbe, |t| t.db_l0c = buffers);
        Problem::matmul(&tbe, &soc(), &Constants::FITTED).unwrap().times(&s).total
    };
    assert!(total(1) > total(2));
}

#[test]
fn l2_tiles_count_only_beyond_l2() {
    let small = MatMul::new(4096, 4096, 4096);
    let tiles = |n: u32| move |t: &mut Tiling| (t.l2_m_tile_cnt, t.l2_n_tile_cnt) = (n, n);
    assert!((memory(&small, &schedule(&small, tiles(1))) - memory(&small, &schedule(&small, tiles(4)))).abs() < 1e-9);
    let large = MatMul::new(24_576, 16_384, 24_576);
    let one = memory(&large, &schedule(&large, tiles(1)));
    let some = memory(&large, &schedule(&large, tiles(8)));
    let many = memory(&large, &schedule(&large, tiles(192)));
    assert!(some < one && some < many, "{one}, {some}, {many}");
}

#[test]
fn more_cores_than_tasks_are_priced_as_the_tasks() {
    let w = MatMul::new(512, 1024, 384);
    for digits in [0, 2, 4] {
        let at = |cores| price(&w, &schedule(&w, |t| (t.tiling_enable, t.used_core_num) = (digits, cores)));
        assert!(at(24).total_cmp(&at(12)).is_eq(), "{digits}");
    }
}

#[test]
fn a_larger_product_never_costs_less() {
    let sizes = [64u64, 256, 1000, 1024, 4096, 8192];
    for digits in [0, 2, 3, 4] {
        for dtype in [DataType::Float16, DataType::Float] {
            for &n in &sizes {
                let prices = [256u64, 1024, 4096, 16_384].map(|m| {
                    let w = MatMul { dtype, out_dtype: dtype, trans_b: true, ..MatMul::new(m, 8192, n) };
                    let k = if digits == 0 { 8192 } else { 512 };
                    price(&w, &schedule(&w, |t| (t.tiling_enable, t.single_core_k) = (digits, k)))
                });
                assert!(prices.is_sorted(), "{digits} {dtype:?} {n}: {prices:?}");
            }
        }
    }
}

#[test]
fn vector_cores_finish_what_full_b_leaves_in_a_workspace() {
    let w = MatMul::new(24 * 512, 256, 200);
    let (p, product) = prepared(&w);
    let passes = |digits| {
        plan(
            &p,
            &product,
            &schedule(&w, |t| {
                full_b(t);
                t.tiling_enable = digits;
            }),
        )
        .passes
    };
    assert!(passes(20).tail == 0.0);
    let rows = (w.m * w.n * 2) as f64;
    for digits in [1020, 2020] {
        assert!((passes(digits).written - rows).abs() < 1.0, "{digits}");
    }
    assert!(passes(1020).read > passes(2020).read);
}

/// A row of 128 columns and one of 256 leave with equal rates, in a batch as in one product.
#[test]
fn a_batch_pays_for_the_bytes_of_its_result_and_not_for_the_rows_of_its_blocks() {
    let w = MatMul { batch: 16, ..MatMul::new(512, 64, 512) };
    let block = |m: u32, n: u32| {
        let mut s = schedule(&w, |t| {
            (t.base_m, t.base_n, t.single_core_m, t.single_core_n) = (m, n, m, n);
            (t.step_ka, t.step_kb, t.depth_a1, t.depth_b1) = (1, 1, 2, 2);
        });
        (s.cores.batch, s.single.batch) = (16, 1);
        price(&w, &s)
    };
    let prices = [block(256, 128), block(128, 256)];
    assert!(prices[0] / prices[1] < 1.1 && prices[1] / prices[0] < 1.1, "{prices:?}");
    let one = MatMul::new(16 * 512, 64, 512);
    let alone = price(
        &one,
        &schedule(&one, |t| {
            (t.base_m, t.base_n, t.single_core_m, t.single_core_n) = (256, 128, 256, 128);
            (t.step_ka, t.step_kb, t.depth_a1, t.depth_b1) = (1, 1, 2, 2);
        }),
    );
    assert!(prices[0] / alone < 1.2 && alone / prices[0] < 1.2, "{} against {alone} of one product", prices[0]);
}

fn readers_of(w: &MatMul, change: impl FnOnce(&mut Tiling)) -> [f64; 2] {
    let (p, product) = prepared(w);
    let s = schedule(w, change);
    readers(&p, &s, &plan(&p, &product, &s).tiles)
}

/// Along the diagonal of 16 x 16 blocks 24 cores have 16 rows and 16 columns; tiles of 4 x 2 blocks, of which three are begun at
/// once, leave two columns to all of them.
#[test]
fn l2_tiles_say_how_many_cores_read_one_panel() {
    let tiles = |m: u32, n: u32| move |t: &mut Tiling| (t.l2_m_tile_block, t.l2_n_tile_block) = (m, n);
    assert_eq!(readers_of(&MatMul::new(2048, 1024, 2048), tiles(16, 16)), [1.5, 1.5]);
    let tall = MatMul::new(128 * 96, 1024, 256);
    assert_eq!(readers_of(&tall, tiles(4, 2)), [2.0, 12.0]);
    assert_eq!(
        readers_of(&tall, |t| (t.l2_m_tile_block, t.l2_n_tile_block, t.l2_iterate_order) = (96, 2, 1)),
        [2.0, 12.0]
    );
    // Cores that split k have panels of their own.
    assert_eq!(
        readers_of(&MatMul::new(512, 16384, 512), |t| (t.tiling_enable, t.single_core_k) = (3, 512)),
        [1.0, 1.0]
    );
}

/// Six cores may read one panel without a wait, and the wait grows without a step.
#[test]
fn cores_that_read_one_panel_wait_for_each_other_beyond_six() {
    let (p, product) = prepared(&MatMul::new(2048, 1024, 2048));
    let s = schedule(&MatMul::new(2048, 1024, 2048), |_| {});
    let cycles = |cores: f64| {
        let mut loads = plan(&p, &product, &s).b;
        loads.shared_by(cores, &p.machine);
        loads.cycles
    };
    assert!(cycles(1.0) == cycles(6.0));
    assert!(cycles(6.1) > cycles(6.0) && cycles(6.1) < 1.02 * cycles(6.0));
    assert!(cycles(24.0) > 1.3 * cycles(6.0) && cycles(24.0) < 4.0 * cycles(6.0));
}

/// The rows of A that there are come to L0A, however tall the block is.
#[test]
fn a_block_taller_than_its_matrix_costs_what_the_matrix_does() {
    let w = MatMul::new(128, 1024, 4096);
    let block = |m: u32| price(&w, &schedule(&w, |t| (t.base_m, t.single_core_m) = (m, m)));
    assert_eq!(block(256), block(128));
}

/// A tile's A is used in every column, so what passes between two uses is some columns of B and not B of two tiles.
#[test]
fn a_tile_whose_a_stays_in_l2_reads_it_once_however_wide_it_is() {
    let w = MatMul::new(512, 27_392, 5120);
    let wide = |block: u32| {
        memory(&w, &schedule(&w, |t| (t.l2_m_tile_block, t.l2_n_tile_block, t.l2_n_tile_cnt) = (4, block, 40 / block)))
    };
    assert_eq!(wide(5), wide(14));
    let all = wide(40);
    assert!(all > wide(14), "{all}: between two uses of A all of B passes");
}

/// Measured times say how often a cold weight is fetched, not which blocks do it: a search must not win by guessing.
#[test]
fn no_tiling_has_a_cold_weight_fetched_less_often_than_another() {
    let w = MatMul::new(384, 4096, 6144);
    let fetched = |change: fn(&mut Tiling)| {
        let (mut p, _) = prepared(&w);
        p.chill([0.0, 4096.0 * 6144.0 * 2.0]);
        p.times(&schedule(&w, change)).shared
    };
    let tall = fetched(|t| (t.l2_m_tile_block, t.l2_n_tile_block) = (3, 48));
    assert!(tall > 0.0);
    assert_eq!(tall, fetched(|t| (t.l2_m_tile_block, t.l2_n_tile_block) = (1, 48)));
    assert_eq!(tall, fetched(|t| (t.base_m, t.single_core_m, t.base_n, t.single_core_n) = (384, 384, 64, 64)));
}
