//! Defaults worked out by hand from the rules, each for the rule that its name says.

use super::super::{Choice, Rule, Tiling, default, nd2nz, prepass};
use super::{fp32, part};
use crate::workload::MatMul;
use aoe_graph::{DataType, Format};

fn on(name: &str, w: &MatMul) -> Choice {
    default(w, &part(name))
}

fn fields(w: &MatMul, values: [u32; 23]) -> Choice {
    fields_on("Ascend910B2", w, values)
}

fn fields_on(name: &str, w: &MatMul, values: [u32; 23]) -> Choice {
    let choice = on(name, w);
    assert_eq!(choice.tiling, Tiling::from_values(values), "{w}: {:?}", choice.rules.iter().collect::<Vec<_>>());
    assert_eq!(choice.template, values[22]);
    choice
}

#[test]
fn a_tie_of_both_blocks_keeps_the_wide_one() {
    let w = MatMul { trans_b: true, ..MatMul::new(4096, 4096, 4096) };
    let c = fields(&w, [24, 128, 256, 4096, 128, 256, 64, 16, 8, 1, 1, 0, 8, 4, 2, 2, 1, 1, 1, 32, 16, 0, 0]);
    assert!(c.rules.has(Rule::StartLessTraffic) && c.rules.has(Rule::OneL2Tile) && c.public);
}

#[test]
fn a_large_aligned_product_has_short_steps_and_l2_tiles() {
    let w = MatMul { trans_b: true, ..MatMul::new(4096, 5120, 4096) };
    let c = fields(&w, [24, 128, 256, 5120, 128, 256, 64, 8, 8, 1, 1, 0, 4, 4, 2, 2, 1, 2, 1, 16, 16, 0, 0]);
    assert!(c.rules.has(Rule::HalvedSteps) && c.rules.has(Rule::L2Tiles));
    let steps = |name: &str, w: &MatMul| on(name, w).tiling.step_ka;
    assert_eq!(steps("Ascend910B3", &w), 8, "only 24 cores");
    assert_eq!(steps("Ascend910B2", &MatMul { m: 4096, k: 4096, n: 5120, ..w }), 8, "a power of 2 along K");
}

#[test]
fn a_table_chooses_the_block_of_a_small_product() {
    let c = fields(
        &fp32(128, 1024, 4096),
        [24, 128, 256, 1024, 128, 256, 32, 16, 8, 1, 1, 0, 8, 4, 2, 2, 1, 1, 1, 1, 16, 0, 0],
    );
    assert!(c.rules.has(Rule::SmallShape) && c.rules.has(Rule::TableM) && !c.rules.has(Rule::Balance));
}

#[test]
fn the_last_round_is_filled_on_24_cores() {
    let w = MatMul { trans_b: true, ..MatMul::new(400, 1024, 1536) };
    let c = fields(&w, [24, 112, 256, 1024, 112, 256, 64, 16, 8, 1, 1, 0, 8, 4, 2, 2, 1, 1, 1, 4, 6, 0, 0]);
    assert!(c.rules.has(Rule::LastRound));
}

#[test]
fn few_rows_of_float32_stay_in_l1() {
    let w = MatMul { trans_b: true, ..fp32(16, 4096, 128) };
    let values = [24, 16, 16, 4096, 16, 16, 256, 16, 2, 1, 1, 1, 16, 1, 2, 2, 2, 1, 1, 1, 8, 0, 10];
    assert!(fields(&w, values).rules.has(Rule::FullA));
    for other in [MatMul { m: 17, ..w.clone() }, MatMul { n: 385, ..w.clone() }, MatMul { trans_b: false, ..w }] {
        assert_ne!(on("Ascend910B2", &other).template, 10, "{other}");
    }
}

#[test]
fn unaligned_narrow_results_are_copied_out_by_vector_cores() {
    let w = MatMul::new(12_288, 64, 100);
    assert_eq!(nd2nz(&w, &part("Ascend910B2")), [false, true]);
    let c = fields(&w, [24, 256, 112, 64, 256, 112, 64, 1, 1, 1, 1, 0, 1, 1, 2, 2, 1, 1, 1, 1, 1, 0, 1020]);
    assert!(!c.nd2nz_b, "B stays in L1 as it is");
    assert_ne!(on("Ascend910B2", &MatMul { m: 12_287, ..w.clone() }).template, 1020);
    assert_ne!(on("Ascend910B2", &MatMul { n: 64, ..w }).template, 1020, "64 divides a line of 128");
    let as_fractals = on("Ascend910B2", &fp32(12_288, 64, 100));
    assert_eq!(as_fractals.template, 2020);
    assert!(as_fractals.rules.has(Rule::L2AsAtFirst), "the page names no L2 tiles here");
}

#[test]
fn a_tall_product_keeps_b_for_two_blocks_of_rows() {
    let c = fields(
        &MatMul::new(96_000, 64, 128),
        // singleM is twice baseM; the rest of L1 is not filled.
        [24, 256, 128, 64, 128, 128, 64, 2, 1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 375, 1, 0, 20],
    );
    assert!(c.rules.has(Rule::FullB));
}

#[test]
fn long_k_of_a_large_product_is_split_inside_the_cores() {
    let w = MatMul { trans_a: true, ..MatMul::new(5120, 32_768, 3584) };
    let c = fields(&w, [24, 640, 1280, 384, 128, 128, 128, 9, 6, 3, 1, 1, 3, 3, 2, 2, 2, 10, 3, 4, 6, 0, 6]);
    assert!(c.rules.has(Rule::SplitKLong) && c.rules.has(Rule::L2Fail));
    let c = on("Ascend910B2", &MatMul { n: 3500, ..w });
    assert_eq!(c.template, 2, "columns that are no multiple of 128 end with a pass over all");
}

#[test]
fn a_failed_search_for_l2_tiles_is_a_reason_to_split_k() {
    let w = MatMul { trans_a: true, ..MatMul::new(6144, 26_528, 1536) };
    let c = on("Ascend910B2", &w);
    assert_eq!(c.template, 6);
    assert!(c.rules.has(Rule::SplitKL2Fail));
}

#[test]
fn cores_share_the_k_of_a_small_transposed_product() {
    let w = MatMul { trans_a: true, ..MatMul::new(256, 2048, 256) };
    let c = fields(&w, [6, 384, 256, 384, 128, 128, 128, 9, 6, 3, 1, 1, 3, 3, 2, 2, 2, 1, 1, 2, 1, 0, 3]);
    assert!(c.rules.has(Rule::DeterministicTransposed));
    assert_eq!(on("Ascend910B2", &MatMul { n: 250, ..w }).template, 2003, "partial results leave as fractals");
}

#[test]
fn few_rows_with_long_k_keep_a_piece_of_a() {
    let c = fields(
        &MatMul::new(128, 8192, 8192),
        [24, 128, 384, 8192, 128, 128, 128, 14, 2, 1, 1, 0, 14, 1, 2, 2, 1, 1, 1, 1, 1, 0, 12],
    );
    assert!(c.rules.has(Rule::SplitKWithA));
    let nz = MatMul { b_format: Format::FractalNz, ..MatMul::new(128, 8192, 8192) };
    assert_ne!(on("Ascend910B2", &nz).template, 12);
}

#[test]
fn a_310p_has_fixed_depths_and_l2_tiles() {
    let c = fields_on(
        "Ascend310P3",
        &MatMul::new(1024, 1024, 1024),
        [8, 256, 256, 1024, 256, 256, 64, 6, 6, 1, 1, 0, 3, 3, 2, 2, 1, 1, 2, 4, 2, 0, 0],
    );
    assert!(c.public && c.rules.has(Rule::Depth310P));
    let nz = MatMul { a_format: Format::FractalNz, b_format: Format::FractalNz, ..MatMul::new(128, 1024, 1024) };
    let t = on("Ascend310P3", &nz).tiling;
    assert_eq!((t.base_m, t.step_ka, t.depth_a1), (128, 1024_u32.div_ceil(t.base_k), t.step_ka), "A stays whole");
}

#[test]
fn a_310p_cuts_its_block_to_the_product_as_it_is() {
    // CANN's tuned records for 128 rows have 256; the rules choose 128 before they cut.
    for m in [1, 100, 127, 128, 129] {
        let t = on("Ascend310P3", &MatMul { trans_b: true, ..MatMul::new(m, 1024, 4096) }).tiling;
        assert_eq!((u64::from(t.base_m), t.base_n, t.single_core_m), (m, 256, t.base_m));
    }
}

#[test]
fn hf32_counts_as_fp32_where_a_rule_does_not_say_plain() {
    let hf32 = |n| MatMul { hf32: true, trans_b: true, ..fp32(4096, 32_768, n) };
    // Few columns by a long K. Below 256 bytes of columns HF32 has no split of K inside cores.
    assert_eq!(on("Ascend910B2", &hf32(64)).template, 5);
    assert_eq!(on("Ascend910B2", &hf32(48)).template, 3);
    assert_eq!(on("Ascend910B2", &MatMul { hf32: false, ..hf32(48) }).template, 5);
}

#[test]
fn the_decode_search_uses_its_own_deal_of_cores() {
    let linear = |m, k, n| MatMul { trans_b: true, ..MatMul::new(m, k, n) };
    let c = on("Ascend910B2", &linear(16, 4096, 4096));
    assert!(c.rules.has(Rule::Increment));
    assert!(c.tiling.base_m == 16 && c.tiling.used_core_num <= 24, "{:?}", c.tiling);
    for w in [
        linear(129, 4096, 4096),
        MatMul { bias: true, ..linear(16, 4096, 4096) },
        MatMul::new(16, 4096, 4096),
        MatMul { out_dtype: DataType::Float, ..linear(16, 4096, 4096) },
        linear(16, 4100, 4096),
    ] {
        assert!(!on("Ascend910B2", &w).rules.has(Rule::Increment), "{w}");
    }
}

#[test]
fn base_tilings_use_every_core_and_are_not_clipped() {
    let w = MatMul { trans_b: true, ..fp32(1, 64, 16) };
    let t = on("Ascend910B2", &w).tiling;
    assert_eq!(t.used_core_num, 24);
    assert!(t.base_m >= 16 && t.single_core_m == t.base_m, "{t:?}");
}

#[test]
fn a_bias_limits_the_columns() {
    let w = MatMul { bias: true, ..MatMul::new(64, 1024, 16_384) };
    let t = on("Ascend910B2", &w).tiling;
    assert!(t.base_n <= 256 && t.single_core_n == t.base_n, "{t:?}");
    super::super::runs(&t, &w, &part("Ascend910B2")).unwrap();
}

#[test]
fn awkward_rows_are_rewritten_first() {
    let p = part("Ascend910B2");
    let flags = |w: &MatMul| nd2nz(w, &p);
    assert_eq!(flags(&MatMul::new(512, 147, 512)), [true, false], "294 bytes");
    assert_eq!(flags(&MatMul::new(512, 96, 512)), [false; 2], "192 bytes are read as they lie");
    assert_eq!(flags(&fp32(512, 147, 1000)), [false; 2], "float32 is");
    assert_eq!(flags(&MatMul { hf32: true, ..fp32(512, 100, 1000) }), [false, true], "400 bytes of HF32 are");
    assert_eq!(flags(&MatMul { a_format: Format::FractalNz, ..MatMul::new(512, 147, 512) }), [false; 2]);
    assert_eq!(flags(&fp32(9000, 7, 512)), [true, false], "many narrow rows");
    assert_eq!(flags(&MatMul::new(8192, 7168, 16_384)), [false, true], "rows a power of 2 apart");
    assert_eq!(nd2nz(&MatMul::new(512, 147, 512), &part("Ascend310P3")), [false; 2]);
}

#[test]
fn the_prepass_deals_rows_to_two_vector_cores_a_core() {
    let p = part("Ascend910B2");
    let w = MatMul::new(4800, 147, 512);
    let [a, b] = prepass(&default(&w, &p).tiling, &w, &p);
    // 4,800 rows over 48 vector cores; 100 rows of 160 elements fit half of UB at once.
    assert_eq!(a.map(|tile| (tile.rows, tile.width)), Some((100, 160)));
    assert_eq!(b, None);
}

#[test]
fn parts_without_public_rules_are_marked() {
    let c = on("Ascend950PR_9599", &MatMul::new(1024, 1024, 1024));
    assert!(!c.public && c.rules.has(Rule::Estimated));
}

#[test]
fn every_rule_has_a_sentence_and_its_own_name() {
    let mut names: Vec<_> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    names.dedup();
    assert_eq!(names.len(), Rule::ALL.len());
    assert!(Rule::ALL.iter().all(|rule| rule.describe().ends_with('.')));
}
