//! Rules one by one; numbers are worked out by hand for 48 vector cores and 196,352 bytes of UB.

use super::*;
use crate::soc::Soc;
use crate::tiling::Platform;
use aoe_graph::DataType;
use proptest::prelude::*;

fn part(name: &str) -> Platform {
    Platform::of(&Soc::find(name).unwrap())
}

fn b2() -> Platform {
    part("Ascend910B2")
}

fn fp16(elements: u64, tensors: u64) -> Elementwise {
    Elementwise { elements, out_bits: 16, widest_bits: 16, tensors, one_instruction: true }
}

fn field(choice: &Choice, name: &str) -> u64 {
    choice.fields().iter().find(|f| f.0 == name).unwrap_or_else(|| panic!("{name}")).1
}

/// Launches in a profile of this part: elements, bits of the result and of the widest tensor, cores. The public rules are
/// called so only where they say the same.
fn launches(soc: &str, launches: &[[u64; 4]]) {
    for &[elements, out_bits, widest_bits, cores] in launches {
        let w = Elementwise { elements, out_bits, widest_bits, ..fp16(elements, 2) };
        let rules = elementwise(&w, &part(soc));
        assert_eq!(launched(&w, &part(soc)).unwrap_or(rules).cores, cores, "{w:?} on {soc}");
        assert!(!rules.public || rules.cores == cores, "{w:?} on {soc}");
    }
}

#[test]
fn as_many_cores_are_launched_as_profiles_show() {
    launches(
        "Ascend910B1",
        &[[4096, 32, 32, 4], [4096, 8, 8, 2], [4096, 8, 32, 4], [4096, 64, 64, 8], [4100, 32, 64, 9]],
    );
    launches("Ascend910B1", &[[4608, 32, 32, 5], [6144, 16, 32, 6], [12_288, 32, 32, 12], [16_386, 32, 64, 33]]);
    launches("Ascend910B1", &[[12_582_912, 16, 16, 48]]);
    launches("Ascend910B4", &[[1024, 32, 32, 1], [4096, 32, 32, 4], [4096, 32, 64, 8], [4_194_304, 16, 16, 40]]);
    // A first 910.
    launches(
        "Ascend910B",
        &[[512, 32, 32, 1], [640, 32, 32, 2], [1536, 32, 32, 3], [3072, 16, 32, 3], [3072, 32, 32, 6]],
    );
    launches("Ascend910B", &[[4096, 16, 16, 4], [5120, 32, 32, 10], [24_576, 16, 32, 24], [21_128, 32, 32, 30]]);
    launches("Ascend910B", &[[32_768, 32, 32, 30]]);
}

#[test]
fn the_public_copy_deals_even_parts_from_two_blocks_for_each_core_on() {
    // 2 blocks of 8 fp32 for each of 48 cores are 768; a part is 128 at least.
    let of = |elements| elementwise(&Elementwise { out_bits: 32, widest_bits: 32, ..fp16(elements, 2) }, &b2());
    assert!(of(767).cores == 1 && of(767).rules.has(Rule::OneCore) && of(767).public);
    assert_eq!((of(768).cores, field(&of(768), "blockFactor")), (6, 128));
    assert_eq!((of(3000).cores, field(&of(3000), "blockFactor")), (24, 128));
    // 100,000 / 48 rounds up to 2,084, in 128s 2,176: 46 cores, the last with 2,080 elements.
    let odd = elementwise(&fp16(100_000, 2), &b2());
    assert_eq!((odd.cores, field(&odd, "blockFactor")), (46, 2176));
    assert!(odd.rules.has(Rule::EvenElements) && odd.public);
    // Bits are dealt in 256s.
    let bits = elementwise(&Elementwise { out_bits: 1, ..fp16(1 << 20, 2) }, &b2());
    assert_eq!(field(&bits, "blockFactor") % 256, 0);
    // On a first 910 as well: 21,128 / 30 rounds up to 705, in 128s 768.
    let first = elementwise(&Elementwise { out_bits: 32, widest_bits: 32, ..fp16(21_128, 2) }, &part("Ascend910B"));
    assert_eq!((first.cores, field(&first, "blockFactor")), (28, 768));
}

#[test]
fn what_launches_contradict_is_an_estimate_and_their_cores_are_priced() {
    // 10,000 elements are 19.5 KB: five cores of 2,000, in 128s 2,048. The public copy has 40 of 256.
    let (page, seen) = (elementwise(&fp16(10_000, 2), &b2()), launched(&fp16(10_000, 2), &b2()).unwrap());
    assert!(page.cores == 40 && !page.public && page.rules.has(Rule::OtherLaunches));
    assert_eq!((seen.cores, field(&seen, "blockFactor")), (5, 2048));
    // Both have one core, or all.
    for elements in [1000, 1 << 20] {
        assert!(elementwise(&fp16(elements, 2), &b2()).public, "{elements}");
        assert_eq!(launched(&fp16(elements, 2), &b2()), None, "{elements}");
    }
    // A 950 has rules of its own; of a 310P nothing was seen.
    assert_eq!(launched(&fp16(10_000, 2), &part("Ascend950PR_9589")), None);
    assert_eq!(launched(&fp16(10_000, 2), &part("Ascend310P3")), None);
}

#[test]
fn two_buffers_come_with_a_block_that_ub_does_not_hold_and_cut_it_evenly() {
    // Relu of 2^20: a block of 21,888 is below 32,767 and below 196,352 / 4 bytes.
    let whole = elementwise(&fp16(1 << 20, 2), &b2());
    assert_eq!((whole.double_buffer, field(&whole, "ubFactor")), (false, 21_888));
    // 2^22: a block of 87,424. Of 49,024 elements half are 24,448 in 128s: 4 tiles of 21,856, in 128s 21,888.
    let cut = elementwise(&fp16(1 << 22, 2), &b2());
    assert_eq!((cut.double_buffer, field(&cut, "blockFactor"), field(&cut, "ubFactor")), (true, 87_424, 21_888));
}

#[test]
fn a_950_gives_each_core_4_kilobytes_in_512s() {
    let p = part("Ascend950PR_9589");
    // 4,096 fp16 elements are 8 KB: two cores.
    let few = elementwise(&fp16(4096, 2), &p);
    assert_eq!((few.cores, field(&few, "blockFormer")), (2, 2048));
    let many = elementwise(&fp16(1 << 24, 3), &p);
    assert!(many.cores == p.vector_cores && field(&many, "blockFormer").is_multiple_of(512) && many.public);
}

fn sum(axes: &[(u64, bool)]) -> Choice {
    reduction(&Reduction { axes, es: 4, atomic: true, widened: false }, &b2())
}

fn max(axes: &[(u64, bool)]) -> Choice {
    reduction(&Reduction { axes, es: 4, atomic: false, widened: false }, &b2())
}

#[test]
fn fp32_sums_below_192_results_share_the_reduced_axis() {
    // 48 cores and 8 elements of 32 bytes: out < 192.
    for (rows, split) in [(12, true), (191, true), (192, false)] {
        let choice = sum(&[(rows, false), (4096, true)]);
        assert_eq!(choice.rules.has(Rule::SplitReduced), split, "{rows}");
    }
    // 6144 terms over 48 cores: 128 each.
    let choice = sum(&[(12, false), (6144, true)]);
    assert_eq!((choice.cores, field(&choice, "blockTilingFactor")), (48, 128));
    // Few terms, or no more than 1024 of all, are not worth it; nor can other operators add up in memory.
    assert!(!sum(&[(100, false), (24, true)]).rules.has(Rule::SplitReduced));
    assert!(!sum(&[(2, false), (512, true)]).rules.has(Rule::SplitReduced));
    assert!(!max(&[(12, false), (4096, true)]).rules.has(Rule::SplitReduced));
}

#[test]
fn leading_reduced_rows_are_shared_where_the_kept_row_fits() {
    let choice = sum(&[(4096, true), (1024, false)]);
    assert!(choice.rules.has(Rule::SplitReducedRows));
    assert_eq!((choice.cores, field(&choice, "blockTilingAxis"), field(&choice, "blockTilingFactor")), (48, 0, 86));
    // Fewer rows than cores, or a row that UB does not hold.
    assert!(!sum(&[(47, true), (1024, false)]).rules.has(Rule::SplitReducedRows));
    assert!(!sum(&[(4096, true), (30_000, false)]).rules.has(Rule::SplitReducedRows));
}

/// A profile of a 910B1 has 52 blocks for the sum of 4,096 fp32: 4,096 / 48 rounds up to 86, in blocks of 8 elements 80.
#[test]
fn what_is_dealt_of_the_last_axis_is_whole_blocks_of_32_bytes() {
    let choice =
        reduction(&Reduction { axes: &[(4096, true)], es: 4, atomic: true, widened: false }, &part("Ascend910B1"));
    assert_eq!((field(&choice, "blockDim"), field(&choice, "blockTilingFactor"), choice.cores), (52, 80, 48));
    assert!(choice.rules.has(Rule::WholeBlocks));
    // 4,608 terms are 96 each: nothing to cut. Nor is an axis cut that others follow.
    for axes in [[(1, true), (4608, true)], [(4096, false), (6400, true)]] {
        let choice = sum(&axes);
        assert!(field(&choice, "blockDim") == 48 && !choice.rules.has(Rule::WholeBlocks), "{axes:?}");
    }
}

#[test]
fn kept_rows_are_shared_in_whole_stores_of_32_bytes() {
    // 40 rows are fewer than the cores: 8 fp32 results are 32 bytes.
    let few = max(&[(40, false), (64, true)]);
    assert_eq!((few.cores, field(&few, "blockTilingFactor")), (5, 8));
    assert!(few.rules.has(Rule::SplitKept));
    // 100 rows: 48 parts would be of 3; parts of 8 and 9 leave a last one of 4 and 1, those of 10 a whole one.
    let more = max(&[(100, false), (64, true)]);
    assert_eq!((more.cores, field(&more, "blockTilingFactor")), (10, 10));
    assert!(more.rules.has(Rule::SplitKeptFull));
    // 4,096 rows: 48 parts of 86, the last of 54.
    let many = max(&[(4096, false), (64, true)]);
    assert_eq!((many.cores, field(&many, "blockTilingFactor")), (48, 86));
    // Fewer results than a store: one core.
    assert_eq!(max(&[(7, false), (16, true)]).cores, 1);
    // 16,384 rows of which 124 fit UB: 133 parts at least, in 48s 144, of 114 rows.
    let parts = max(&[(16_384, false), (7, true), (197, false)]);
    assert_eq!((parts.cores, field(&parts, "blockTilingFactor"), field(&parts, "blockDim")), (48, 114, 144));
}

#[test]
fn axes_of_one_element_and_neighbours_of_a_kind_do_not_count() {
    let plain = sum(&[(4096, false), (1024, true)]);
    assert_eq!(sum(&[(64, false), (64, false), (1, true), (32, true), (32, true)]), plain);
}

fn rows(rows: u64, columns: u64, es: u64) -> Norm {
    Norm { rows, columns, es, scale_es: es, half: false, bias: false }
}

#[test]
fn rms_norm_merges_short_rows_and_slices_long_ones() {
    // 2,048 rows: 43 for each core. 1,024 columns: (196,352 - 1,024) / (16 * 1,024 + 260) = 11 rows at once.
    let short = rms_norm(&rows(2048, 1024, 2), &b2());
    assert_eq!(
        (short.template, short.cores, field(&short, "blockFactor"), field(&short, "rowFactor")),
        ("MergeN", 48, 43, 11)
    );
    // 2,000 columns are the last that merge; padded ones count.
    assert_eq!(rms_norm(&rows(2048, 2000, 2), &b2()).template, "MergeN");
    assert_eq!(rms_norm(&rows(2048, 2001, 2), &b2()).template, "Normal");
    let middle = rms_norm(&rows(2048, 4096, 2), &b2());
    assert_eq!((middle.template, field(&middle, "rowFactor"), field(&middle, "ubFactor")), ("Normal", 64, 4096));
    // 16,384 columns: two parts of 8,192; fp32 is cut from 10,241 on.
    let long = rms_norm(&rows(2048, 16_384, 2), &b2());
    assert_eq!((long.template, field(&long, "ubFactor")), ("SplitD", 8192));
    assert_eq!(rms_norm(&rows(8, 12_288, 2), &b2()).template, "Normal");
    assert_eq!(rms_norm(&rows(8, 10_241, 4), &b2()).template, "SplitD");
    // A wider scale has budgets that are not known.
    assert!(short.public && !rms_norm(&Norm { scale_es: 4, ..rows(8, 64, 2) }, &b2()).public);
}

#[test]
fn add_layer_norm_takes_what_ub_holds_and_at_most_255_short_rows() {
    let several = add_layer_norm(&rows(2048, 768, 2), &b2());
    // 768 columns: (196,352 - 2 * 2 * 768) / (768 * 18) = 13 rows.
    assert_eq!((several.template, field(&several, "firstDimPerTime")), ("Normal", 13));
    let short = add_layer_norm(&rows(1 << 20, 16, 2), &b2());
    assert!(short.rules.has(Rule::Rows255) && field(&short, "firstDimPerTime") == 255);
    assert_eq!(add_layer_norm(&rows(48, 8192, 2), &b2()).template, "SingleRow");
    assert_eq!(add_layer_norm(&rows(48, 10_000, 2), &b2()).template, "SingleRowShared");
    assert_eq!(add_layer_norm(&rows(48, 20_000, 2), &b2()).template, "SliceX");
    assert_eq!(add_layer_norm(&rows(48, 40_000, 2), &b2()).template, "Slice");
}

#[test]
fn transposes_are_told_by_what_stays_together() {
    let p = b2();
    // [batch, heads] and [tokens] change places: 0-2-1-3 with 32 batches.
    let heads = transpose(&[32, 128, 12, 64], &[0, 2, 1, 3], DataType::Float16, &p).unwrap();
    assert_eq!((heads.template, heads.cores), ("Transpose0213", 32));
    assert!(heads.rules.has(Rule::StridedCopies), "64 elements of 2 bytes are four blocks");
    let short = transpose(&[128, 12, 63], &[1, 0, 2], DataType::Float16, &p).unwrap();
    assert!(short.template == "Transpose102" && short.rules.has(Rule::Turned16) && short.cores == 48);
    assert_eq!((field(&short, "dealtPerCore"), field(&short, "dealtRemainder")), (2, 32));
    // An axis of one element is none; neighbours that stay together are one.
    assert_eq!(transpose(&[1, 128, 12, 3, 21], &[0, 2, 1, 3, 4], DataType::Float16, &p), Some(short));
    // 100 planes of 50 x 64: 64 rows when padded, two more for each of the first four cores.
    let planes = transpose(&[100, 50, 64], &[0, 2, 1], DataType::Float16, &p).unwrap();
    assert_eq!((planes.template, planes.cores, field(&planes, "hOnce")), ("Transpose021", 48, 64));
    assert_eq!((field(&planes, "batchPerCore"), field(&planes, "batchRemainder")), (2, 4));
    // Columns that are no 32 bytes: 16 blocks of 32 bytes at once.
    assert_eq!(field(&transpose(&[100, 50, 60], &[0, 2, 1], DataType::Float16, &p).unwrap(), "hOnce"), 256);
    // Closed: larger planes, other orders, no order, other parts.
    assert_eq!(transpose(&[256, 256], &[1, 0], DataType::Float16, &p), None);
    assert_eq!(transpose(&[4, 5, 6], &[2, 1, 0], DataType::Float16, &p), None);
    assert_eq!(transpose(&[4, 5], &[0, 1], DataType::Float16, &p), None);
    assert_eq!(transpose(&[4, 5], &[0], DataType::Float16, &p), None);
    assert_eq!(transpose(&[40, 50], &[1, 0], DataType::Float16, &part("Ascend310P3")), None);
}

#[test]
fn a_transpose_that_is_not_launched_as_its_second_version_is_an_estimate() {
    let public = |shape: &[u64], order: &[usize], dtype| transpose(shape, order, dtype, &b2()).unwrap().public;
    let (half, float) = (DataType::Float16, DataType::Float);
    // Heads of a few sentences, and launches of `Transpose` on 48 cores of a 910B1.
    assert!(!public(&[8, 128, 12, 64], &[0, 2, 1, 3], half));
    assert!(!public(&[4, 1024, 12288], &[1, 0, 2], half) && !public(&[12, 1024, 512], &[1, 0, 2], half));
    assert!(!public(&[1024, 4], &[1, 0], float));
    assert!(public(&[1024, 128, 12, 64], &[0, 2, 1, 3], half) && !public(&[2049, 128, 12, 64], &[0, 2, 1, 3], half));
    assert!(!public(&[1024, 65, 65, 64], &[0, 2, 1, 3], half) && !public(&[1024, 128, 12, 60], &[0, 2, 1, 3], half));
    assert!(public(&[900, 800, 63], &[1, 0, 2], half) && !public(&[900, 800, 63], &[1, 0, 2], float));
    assert!(public(&[900, 64, 256], &[1, 0, 2], half) && !public(&[900, 64, 257], &[1, 0, 2], half));
    assert!(public(&[9, 128, 128], &[0, 2, 1], half) && !public(&[9, 64, 129], &[0, 2, 1], half));
    assert!(!public(&[9, 64, 64], &[0, 2, 1], DataType::Int32));
    // The second version itself has its rules whoever launches it, and the same numbers.
    let own = transpose_v2(&[8, 128, 12, 64], &[0, 2, 1, 3], half, &b2()).unwrap();
    assert!(own.public && !own.rules.has(Rule::NotLaunched));
    assert_eq!(own.fields, transpose(&[8, 128, 12, 64], &[0, 2, 1, 3], half, &b2()).unwrap().fields);
}

#[test]
fn a_part_or_operator_without_rules_is_an_estimate() {
    let choice = elementwise(&fp16(1 << 20, 2), &part("Ascend310P3"));
    assert!(!choice.public && choice.rules.has(Rule::Estimated));
    assert!(elementwise(&fp16(1 << 20, 2), &part("Ascend910A")).public);
}

proptest! {
    #![proptest_config(aoe_testing::cases(256))]

    #[test]
    fn every_element_is_dealt_and_no_more_cores_than_there_are(
        elements in 1u64..1 << 40, bits in prop::sample::select(vec![1u64, 8, 16, 32, 64]), tensors in 1u64..2000,
        soc in prop::sample::select(vec!["Ascend910A", "Ascend910B2", "Ascend950PR_9589", "Ascend310P3"]),
    ) {
        let p = part(soc);
        let choice = elementwise(&Elementwise { elements, out_bits: bits, widest_bits: bits.max(8), tensors, one_instruction: true }, &p);
        let block = choice.fields()[1].1;
        prop_assert!(choice.cores >= 1 && choice.cores <= p.vector_cores);
        prop_assert!(choice.cores * block >= elements && (choice.cores - 1) * block < elements);
    }

    #[test]
    fn any_reduction_has_cores_and_a_tile(
        axes in prop::collection::vec((1u64..1 << 20, any::<bool>()), 0..17), es in 1u64..9, atomic in any::<bool>(),
    ) {
        let choice = reduction(&Reduction { axes: &axes, es, atomic, widened: !atomic }, &b2());
        prop_assert!((1..=48).contains(&choice.cores), "{choice:?}");
        prop_assert!(choice.fields().iter().all(|f| f.0.ends_with("Axis") || f.1 > 0), "{choice:?}");
    }
}

#[test]
fn norms_with_buffers_of_their_own_are_estimates() {
    let public = |w: Norm| add_layer_norm(&w, &b2()).public;
    let plain = rows(4096, 1024, 2);
    assert!(public(plain) && public(Norm { half: true, ..rows(4096, 4096, 2) }));
    let owns =
        [Norm { half: true, ..plain }, Norm { bias: true, ..plain }, Norm { scale_es: 4, ..plain }, rows(4096, 512, 4)];
    for own in owns {
        assert!(!public(own), "{own:?}");
    }
}

/// 768 columns of fp16 are counted as 18 bytes each beside 3,072 of scale and shift: 13 rows, and 6 of twice that.
#[test]
fn few_short_rows_are_public_whatever_their_kernel_s_buffers() {
    let of = |rows_of_a_core, half| add_layer_norm(&Norm { half, ..rows(48 * rows_of_a_core, 768, 2) }, &b2());
    for each in [1, 6] {
        let few = of(each, true);
        assert!(few.public && few.template == "Normal", "{each}");
        assert_eq!((few.cores, field(&few, "firstDimPerTime")), (48, each));
    }
    assert!(!of(7, true).public && of(7, false).public);
    // Below 500 columns 255 rows are the most at once, which twice the room of 16 columns allows.
    let narrow = add_layer_norm(&Norm { half: true, ..rows(48 * 1000, 16, 2) }, &b2());
    assert!(narrow.public && field(&narrow, "firstDimPerTime") == 255);
    // Where two rows may not fit, which kernel takes one is open.
    assert!(!add_layer_norm(&rows(8, 2500, 4), &b2()).public);
}
