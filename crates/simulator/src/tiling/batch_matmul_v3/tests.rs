use super::{Bias, Choice, Problem, Rule, Template, default};
use crate::soc::Soc;
use crate::tiling::Platform;
use crate::workload::MatMul;
use aoe_graph::DataType;
use proptest::prelude::*;

fn part() -> Platform {
    Platform::of(&Soc::find("Ascend910B2").unwrap())
}

fn batched(batch: u64, m: u64, k: u64, n: u64) -> MatMul {
    MatMul { batch, ..MatMul::new(m, k, n) }
}

fn chosen(w: &MatMul) -> Choice {
    default(&Problem::from(w), &part())
}

fn base(c: &Choice) -> (u32, u32, u32) {
    (c.tiling.base_m, c.tiling.base_n, c.tiling.base_k)
}

fn single(c: &Choice) -> (u32, u32, u32) {
    (c.tiling.single_core_m, c.tiling.single_core_n, c.tiling.single_core_k)
}

/// L1 holds 524,288 / ((64 x 64 + 64 x 64) x 2) = 32 pairs; a batch of 480 gives 20 to each of 24 cores.
#[test]
fn a_task_has_as_many_products_as_l1_holds_and_as_the_cores_leave() {
    let few = chosen(&batched(480, 64, 64, 64));
    assert_eq!((few.template, few.iter_batch, few.tiling.used_core_num), (Template::SeveralProducts, 20, 24));
    assert_eq!((base(&few), single(&few)), ((64, 64, 64), (64, 64, 64)));
    let many = chosen(&batched(4800, 64, 64, 64));
    assert_eq!((many.iter_batch, many.tiling.used_core_num), (32, 24));
    let odd = chosen(&batched(24 * 7 + 5, 64, 64, 64));
    assert_eq!((odd.iter_batch, odd.tiling.used_core_num), (6, 24), "7 a core, made even");
    let one = chosen(&batched(47, 64, 64, 64));
    assert_eq!((one.template, one.iter_batch), (Template::Base, 1), "one for each core");
}

/// 1,024 rows and columns of 2 bytes: block 1,024 x 16 would pass L0C's 32,768 results, as 1,024 x 32 does exactly.
/// N = 100: 128 pads it to 128, 64 too, and the larger stays.
#[test]
fn the_block_of_several_products_divides_n_where_it_can() {
    let wide = chosen(&batched(4800, 32, 32, 96));
    assert_eq!(base(&wide), (32, 128, 32), "128 x 32 results are below 32,768 / 2 after one try");
    let tall = chosen(&batched(4800, 256, 32, 96));
    assert_eq!(base(&tall), (256, 32, 32), "256 x 64 results are 32,768 / 2, so that 64 is halved once more");
    let divided = chosen(&batched(4800, 512, 32, 96));
    assert_eq!(base(&divided), (512, 32, 32), "32 divides 96");
}

#[test]
fn results_leave_together_where_l0c_holds_several() {
    let many = chosen(&batched(4800, 64, 64, 64));
    assert_eq!(many.l0c_batch, 8, "131,072 bytes hold 8 results of 64 x 64");
    assert_eq!(chosen(&batched(960, 64, 64, 64)).l0c_batch, 1, "not for a batch of at most 1,000");
}

/// A shared B makes rows of one product: 8 x 512 = 4,096 of them, whose record is asked for.
#[test]
fn one_b_for_all_folds_the_batch_into_rows() {
    let w = MatMul { b_shared: true, ..batched(8, 512, 1024, 1024) };
    let choice = chosen(&w);
    assert_eq!((choice.queried.m, choice.queried.batch, choice.batch), (4096, 1, 1));
    assert!(choice.rules.has(Rule::FoldedBatch));
    for other in [
        Problem::from(&MatMul { trans_a: true, ..w.clone() }),
        Problem { bias: Bias::Batched, ..Problem::from(&w) },
        Problem::from(&MatMul { b_shared: false, ..w.clone() }),
        Problem { batch_a: [1, 1, 1, 1 << 23], ..Problem::from(&w) },
    ] {
        assert_eq!(default(&other, &part()).queried.m, 512, "{other:?}");
    }
}

/// M 100 in 512 rows of 1,024 bytes is one block of 112; N 200: 256 pads to 256, 128 too.
/// K 300: 32,768 / 2 / 256 = 64.
#[test]
fn a_small_product_has_a_block_of_its_own() {
    let choice = chosen(&batched(30, 100, 300, 200));
    assert_eq!(base(&choice), (112, 256, 64));
    assert_eq!(single(&choice), (100, 200, 300));
    // Half of L1 holds 18 steps of A, 16 in fours, and 8 of B.
    assert_eq!((choice.tiling.step_ka, choice.tiling.step_kb), (8, 4));
    assert_eq!((choice.tiling.depth_a1, choice.tiling.depth_b1), (16, 8));
    assert!(choice.rules.has(Rule::OwnBlock) && choice.public);
}

/// 2,048 x 2,048 has blocks of 128 x 256 for all cores: the block stays that of `MatMulV3`.
#[test]
fn a_large_product_keeps_the_block_of_matmul() {
    let choice = chosen(&batched(16, 2048, 512, 2048));
    assert!(!choice.rules.has(Rule::OwnBlock));
    assert_eq!(base(&choice), (128, 256, 64));
    assert_eq!(choice.tiling.used_core_num, 24);
}

#[test]
fn a_long_inner_axis_stops_the_rules() {
    let choice = chosen(&batched(4, 64, 70_000, 64));
    assert!(choice.rules.has(Rule::LongInner) && !choice.rules.has(Rule::BatchL1));
    assert_eq!((choice.tiling.single_core_m, choice.tiling.single_core_n), (64, 64));
}

/// A of 128 x 128 fp16 serves 96 = 4 x 24 products: 32 KiB that stay in L1, in one step of M.
#[test]
fn an_operand_without_a_batch_stays_in_l1() {
    let shared = MatMul { a_shared: true, ..batched(96, 128, 128, 512) };
    let choice = chosen(&shared);
    assert_eq!((choice.template, choice.tiling.tiling_enable), (Template::FullA, 10));
    assert_eq!(choice.tiling.single_core_m, 128);
    assert_eq!(choice.tiling.depth_a1, choice.tiling.step_m * choice.tiling.step_ka);
    assert_eq!(chosen(&MatMul { batch: 95, ..shared }).template, Template::Base, "95 are too few");
}

/// One B for all: rows of one product. Where they are dealt in one column of blocks, or rows of a single block, no order
/// has to be found; else the side of the groups decides, which is not known.
#[test]
fn folded_products_are_an_estimate_only_where_the_order_of_blocks_decides() {
    let of = |batch, m, n| chosen(&MatMul { b_shared: true, ..batched(batch, m, 1024, n) });
    for (batch, m, n) in [(8, 512, 128), (8, 16, 4096), (64, 512, 4096)] {
        let choice = of(batch, m, n);
        assert!(choice.public && choice.batch == 1 && !choice.rules.has(Rule::Diagonal), "{batch} x {m} x {n}");
    }
    let diagonal = of(8, 512, 4096);
    assert!(!diagonal.public && diagonal.rules.has(Rule::Diagonal));
}

#[test]
fn small_float_vectors_have_no_cube() {
    let w = MatMul { dtype: DataType::Float, out_dtype: DataType::Float, trans_b: true, ..batched(100, 1, 8, 8) };
    assert_eq!(chosen(&w).template, Template::Vector);
    assert_ne!(chosen(&MatMul { k: 9, ..w.clone() }).template, Template::Vector);
    assert_ne!(chosen(&MatMul { trans_b: false, ..w }).template, Template::Vector);
}

proptest! {
    #[test]
    fn every_block_fits_l0_and_l1(
        sizes in prop::array::uniform3(1u64..70_000), batch in 1u64..5000, flags: [bool; 6], float: bool, cores in 1u64..64,
    ) {
        let [trans_a, trans_b, a_shared, b_shared, bias, batched_bias] = flags;
        let [m, k, n] = sizes;
        let dtype = if float { DataType::Float } else { DataType::Float16 };
        let w = MatMul { trans_a, trans_b, a_shared, b_shared, bias, dtype, out_dtype: dtype, ..batched(batch, m, k, n) };
        let mut p = Problem::from(&w);
        if bias && batched_bias {
            p.bias = Bias::Batched;
        }
        let part = Platform { cores, ..part() };
        let choice = default(&p, &part);
        prop_assert_eq!(&default(&p, &part), &choice);
        let t = choice.tiling;
        let es = dtype.bytes();
        let [bm, bn, bk] = [t.base_m, t.base_n, t.base_k].map(u64::from);
        prop_assert!(bm * bn * 4 <= part.l0_c && bm * bk * es * 2 <= part.l0_a && bn * bk * es * 2 <= part.l0_b, "{:?}", t);
        let held = (u64::from(t.depth_a1) * bm + u64::from(t.depth_b1) * bn) * bk * es;
        if choice.template != Template::SeveralProducts && !choice.rules.has(Rule::LongInner) {
            prop_assert!(held <= part.l1, "{held} bytes: {t:?} {:?}", choice.rules.iter().collect::<Vec<_>>());
        }
        prop_assert!(u64::from(t.used_core_num) <= cores && t.used_core_num > 0);
        prop_assert!(t.single_core_m > 0 && t.single_core_n > 0 && t.step_ka > 0 && t.step_kb > 0);
    }

    #[test]
    fn no_size_is_too_large(sizes in prop::array::uniform3(any::<u64>()), a: [u64; 4], b: [u64; 4], trans: [bool; 2], cores: u8) {
        let [m, k, n] = sizes;
        let product = MatMul { trans_a: trans[0], trans_b: trans[1], ..MatMul::new(m, k, n) };
        let part = Platform { cores: cores.into(), ..part() };
        default(&Problem { product, batch_a: a, batch_b: b, bias: Bias::None }, &part);
    }
}
