//! Kernels of the first generation, which TBE generates for fused cores.

use super::{Model, Prediction};
use crate::soc::Soc;
use crate::space::default_policy;
use crate::workload::{Conv, ConvKind, MatMul, MatMulKernel, Operand, Vector, Workload};
use aoe_graph::{DataType, Format};

const PART: &str = "Ascend910A";

/// A kernel with its default tiling.
fn predicted(workload: &Workload, soc: &Soc) -> Prediction {
    let schedule = default_policy(workload, soc).unwrap();
    Model::new(workload, soc).unwrap().predict(&schedule).unwrap()
}

fn time_us(workload: &Workload) -> f64 {
    predicted(workload, &Soc::find(PART).unwrap()).time_us
}

/// The gradient of so many images of 56 x 56 by 3 x 3 filters, at this stride.
fn gradient(batch: u64, stride: u64) -> Conv {
    let sides = 56 / stride;
    let image = Conv::image(ConvKind::BackpropInput, batch, [128, 128], 56, 3);
    Conv { stride: [stride; 2], ho: sides, wo: sides, ..image }
}

#[test]
fn images_whose_gradient_is_spread_out_by_a_stride_are_dealt_whole() {
    let cores = u64::from(Soc::find(PART).unwrap().ai_core_cnt);
    let price = |batch, stride| time_us(&Workload::Conv(gradient(batch, stride)));
    let one_more = price(cores + 1, 2) / price(cores, 2);
    assert!(one_more > 1.8, "an image more than cores is a round more: {one_more}");
    let dealt = price(cores + 1, 1) / price(cores, 1);
    assert!(dealt < 1.5, "without a stride rows are dealt: {dealt}");
    // Half as many images as cores take a round as well; fewer are cut.
    let (half, whole) = (price(cores / 2, 2), price(cores, 2));
    assert!((half / whole - 1.0).abs() < 0.05, "{half} us against {whole}");
    let (few, more) = (price(cores / 8, 2), price(cores / 4, 2));
    assert!(few < 0.6 * more, "{few} us against {more}");
}

#[test]
fn sums_of_many_small_planes_take_longer_than_those_of_few_large_ones() {
    let fused = |channels: u64, side: u64| {
        let conv = Conv {
            format: Format::Nc1hwc0,
            ..Conv::image(ConvKind::Forward, 32, [256 * 256 / channels, channels], side, 1)
        };
        let map =
            Operand { format: Format::Nc1hwc0, ..Operand::new([32, channels / 16, side, side, 16], DataType::Float16) };
        let sums = Vector { op_type: "BNTrainingReduce".into(), inputs: vec![map.clone()], outputs: vec![map] };
        let alone = time_us(&Workload::Conv(conv.clone()));
        time_us(&Workload::Fused(vec![Workload::Conv(conv), Workload::Vector(sums)])) / alone
    };
    let (few, many) = (fused(256, 28), fused(2048, 7));
    assert!(many > 1.1 * few, "{many} times the convolution against {few}");
}

#[test]
fn a_product_s_pipes_hide_each_other_in_part_alone() {
    let product = MatMul {
        kernel: MatMulKernel::Tbe,
        a_format: Format::FractalNz,
        b_format: Format::FractalNz,
        ..MatMul::new(4096, 1024, 1024)
    };
    let predicted = predicted(&Workload::MatMul(product), &Soc::find(PART).unwrap());
    let pipes = predicted.pipes;
    let sum = pipes.mac + pipes.mte1 + pipes.mte2 + pipes.vec + pipes.mte3;
    assert!(pipes.busiest() < 0.9 && sum > 1.0, "{predicted:?}");
}

#[test]
fn twice_the_images_take_no_more_than_twice_as_long_and_no_less() {
    let times: Vec<f64> = (1..=64).map(|batch| time_us(&Workload::Conv(gradient(batch, 2)))).collect();
    for batch in 1..=32 {
        let (once, twice) = (times[batch - 1], times[2 * batch - 1]);
        assert!(twice < 2.1 * once + 2.0, "{batch} images {once} us, twice as many {twice}");
        assert!(twice > 0.95 * once, "{batch} images {once} us, twice as many {twice}");
    }
}

#[test]
fn a_timeline_goes_through_all_rounds_of_images() {
    let soc = Soc::find(PART).unwrap();
    for batch in [7, 17, 32, 33, 50] {
        let workload = Workload::Conv(gradient(batch, 2));
        let schedule = default_policy(&workload, &soc).unwrap();
        let timeline = Model::new(&workload, &soc).unwrap().timeline(&schedule).unwrap();
        let ratio = timeline.total_us / timeline.prediction.time_us;
        assert!((0.7..1.4).contains(&ratio), "{batch} images: {ratio}");
    }
}

/// Bytes that a convolution with an addition behind it reads and writes, and the time of both.
fn with_addition(soc: &Soc, batch: u64) -> (f64, f64) {
    let conv = Conv { format: Format::Nc1hwc0, ..Conv::image(ConvKind::Forward, batch, [64, 256], 56, 1) };
    let map = Operand { format: Format::Nc1hwc0, ..Operand::new([batch, 16, 56, 56, 16], DataType::Float16) };
    let bytes = map.bytes() as f64 * 2.25;
    let add = Vector { op_type: "Add".into(), inputs: vec![map.clone(), map.clone()], outputs: vec![map] };
    let workload = Workload::Fused(vec![Workload::Conv(conv), Workload::Vector(add)]);
    (bytes, predicted(&workload, soc).time_us)
}

#[test]
fn what_two_pieces_of_a_kernel_move_passes_one_memory() {
    for part in [PART, "Ascend310P3", "Ascend910B2"] {
        let soc = Soc::find(part).unwrap();
        for batch in [64, 256] {
            let (bytes, us) = with_addition(&soc, batch);
            // L2 may hold as much of what is read, and of what is written, as fits.
            let least = (bytes - 2.0 * soc.l2_size as f64) / (soc.hbm_gb_s * 1e3);
            assert!(us > least, "{part}, {batch} images: {us} us, and device memory needs {least}");
        }
    }
}
