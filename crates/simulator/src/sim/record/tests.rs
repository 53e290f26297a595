//! Directions in which the price of a record may not go, and what it may not pass.

use super::price;
use crate::soc::Soc;
use crate::workload::{Conv, ConvKind, ConvRecord, ConvTiling, Depth, Place};
use aoe_graph::Format;
use proptest::prelude::*;
use proptest::sample::select;

const PARTS: [&str; 4] = ["Ascend910A", "Ascend310P3", "Ascend310", "Ascend610"];

/// A vector whose L0 tile has so many fractals along m, n and k, on so many blocks over batch, m and n.
fn tiling([m, n, k]: [u32; 3], [by_batch, by_m, by_n]: [u32; 3], buffers: u32) -> ConvTiling {
    let mut places = vec![Place::Number(1); 50];
    for (at, value) in [(2, by_batch), (3, by_m), (16, by_n), (37, m), (38, n), (28, k), (27, m), (32, k), (33, n)] {
        places[at] = Place::Number(value);
    }
    for at in [0, 14, 26, 31, 36, 41] {
        places[at] = Place::Number(buffers);
    }
    (places[5], places[17]) = (Place::Full, Place::Full);
    ConvTiling::new(places).unwrap()
}

fn image(kind: ConvKind, batch: u64, [cin, cout]: [u64; 2], side: u64, taps: u64, stride: u64) -> ConvRecord {
    let results = (side - 1) / stride + 1;
    let image = Conv::image(kind, batch, [cin, cout], side, taps);
    let conv = Conv { ho: results, wo: results, stride: [stride; 2], format: Format::Nc1hwc0, ..image };
    ConvRecord { conv, depthwise: false, fused_operands: 0.0, tiling: tiling([4, 2, 1], [1, 2, 1], 2) }
}

fn us(record: &ConvRecord, part: &str) -> f64 {
    price(record, &Soc::find(part).unwrap()).unwrap().time_us
}

prop_compose! {
    fn record()(
        kind in select(vec![ConvKind::Forward, ConvKind::BackpropInput, ConvKind::BackpropFilter]),
        batch in 1u64..9, blocks in [1u64..17, 1u64..17], side in 4u64..60, taps in select(vec![1u64, 3, 5]),
        stride in 1u64..6, tile in [1u32..9, 1u32..9, 1u32..5], by in [1u32..3, 1u32..3, 1u32..3], buffers in 1u32..3,
    ) -> ConvRecord {
        let plain = image(kind, batch, blocks.map(|blocks| blocks * 16), side, taps, stride);
        ConvRecord { tiling: tiling(tile, by, buffers), ..plain }
    }
}

proptest! {
    #[test]
    fn more_images_are_never_faster(record in record(), part in select(PARTS.to_vec())) {
        let more = ConvRecord { conv: Conv { batch: 2 * record.conv.batch, ..record.conv.clone() }, ..record.clone() };
        prop_assert!(us(&more, part) >= us(&record, part) * (1.0 - 1e-9), "{} on {part}", record.conv);
    }

    #[test]
    fn a_second_buffer_and_a_faster_clock_are_never_slower(record in record(), part in select(PARTS.to_vec())) {
        let soc = Soc::find(part).unwrap();
        let faster = Soc { cube_freq_mhz: 1.5 * soc.cube_freq_mhz, hbm_gb_s: 1.5 * soc.hbm_gb_s, ..soc.clone() };
        let [one, two] = [&soc, &faster].map(|soc| price(&record, soc).unwrap().time_us);
        prop_assert!(two <= one * (1.0 + 1e-9));
        let tile = record.tiling.l0().map(|n| n as u32);
        let [single, double] = [1, 2].map(|n| ConvRecord { tiling: tiling(tile, [1, 2, 1], n), ..record.clone() });
        prop_assert!(us(&double, part) <= us(&single, part) * (1.0 + 1e-9), "{} on {part}", record.conv);
    }

    #[test]
    fn a_fused_operand_and_a_bias_never_save_time(record in record(), part in select(PARTS.to_vec())) {
        let biased = ConvRecord { conv: Conv { bias: true, ..record.conv.clone() }, ..record.clone() };
        let fused = ConvRecord { fused_operands: 2.0, ..record.clone() };
        let plain = us(&record, part);
        prop_assert!(us(&biased, part) >= plain && us(&fused, part) >= plain, "{} on {part}", record.conv);
    }
}

proptest! {
    #[test]
    fn nothing_is_faster_than_the_cube(record in record(), part in select(PARTS.to_vec())) {
        let soc = Soc::find(part).unwrap();
        let c = &record.conv;
        // The images that are read; each of their pixels meets the filter at most once in so many strides.
        let pixels = (c.batch * c.ho * c.wo * c.cout * c.cin * c.kh * c.kw) as f64;
        let cycles = pixels / 4096.0 / f64::from(soc.ai_core_cnt);
        prop_assert!(us(&record, part) >= super::unit(&soc) * cycles / soc.cube_freq_mhz, "{} on {part}", record.conv);
    }
}

#[test]
fn a_kernel_may_take_longer_than_repositories_measured() {
    let record = image(ConvKind::Forward, 64, [4096, 4096], 512, 3, 1);
    for part in PARTS {
        assert!(us(&record, part) > 2e6, "{part}: {}", us(&record, part));
    }
}

#[test]
fn rows_and_planes_that_no_window_meets_are_not_read() {
    // 56 rows of results from one tap each, of 56 rows and of every fourth of 224; device memory bounds both.
    let of = |rows: u64| {
        let mut record = image(ConvKind::Forward, 64, [256, 16], 56, 1, 1);
        (record.conv.hi, record.conv.stride[0]) = (rows, rows / 56);
        record
    };
    for part in ["Ascend910A", "Ascend310P3"] {
        let [whole, fourth] = [of(56), of(224)].map(|record| us(&record, part));
        assert!(fourth < 1.5 * whole, "{part}: {fourth} {whole}");
        // The same of planes of a volume.
        let [all, some] = [1, 4].map(|stride| {
            let mut record = of(56);
            let input = 16 * stride;
            record.conv.depth = Some(Depth { input, output: 16, kernel: 1, stride, pads: [0; 2], dilation: 1 });
            us(&record, part)
        });
        assert!(some < 1.5 * all, "{part}: {some} {all}");
    }
}

#[test]
fn pixels_at_an_odd_distance_are_taken_one_by_one() {
    // The same results and the same channels, from images whose pixels are 2 and 3 apart.
    let of = |stride: u64| {
        let mut record = image(ConvKind::Forward, 8, [64, 16], 56 * stride, 3, stride);
        record.conv.hi = 56;
        record.conv.ho = 56;
        record.conv.stride[0] = 1;
        us(&record, "Ascend310P3")
    };
    assert!(of(3) > 2.0 * of(2), "{} {}", of(3), of(2));
}

#[test]
fn parts_with_fixpipe_take_no_such_record() {
    let record = image(ConvKind::Forward, 1, [16, 16], 14, 3, 1);
    let refused = price(&record, &Soc::find("Ascend910B2").unwrap()).unwrap_err().to_string();
    assert!(refused.contains("310P"), "{refused}");
}

#[test]
fn a_vector_of_another_length_is_refused() {
    for length in [0, 49, 52] {
        assert!(ConvTiling::new(vec![Place::Absent; length]).unwrap_err().contains(&length.to_string()));
    }
}
