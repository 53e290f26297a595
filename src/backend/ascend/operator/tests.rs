//! Operators as a device runs them: their results are foretold, and what is out of place shows.

use super::product::{KEEP_TYPE, USE_HF32};
use super::tensor::from_float16;
use super::*;
use crate::graph::Format;
use crate::workload::{Conv, ConvKind, Depth, MatMulKernel};

fn soc(name: &str) -> Soc {
    Soc::find(name).unwrap()
}

fn of(w: MatMul) -> Operator {
    Operator::of(&Workload::MatMul(w), &soc("Ascend910B2")).unwrap()
}

fn product(operator: &Operator) -> Product {
    let Some(Expected::Product(product)) = operator.expected else { panic!("{operator:?}") };
    product
}

/// Multiplies the operands' content as CANN does; the rows of all products lie one below the other.
fn multiplied(operator: &Operator) -> Vec<Vec<f64>> {
    let Product { batch, m, k, n, .. } = product(operator);
    let contents: Vec<_> = operator.inputs.iter().map(|tensor| tensor.decode(&tensor.content())).collect();
    let read = |which: usize, at: u64, row: u64, column: u64| {
        let tensor = &operator.inputs[which];
        let (row, column) = if tensor.transposed { (column, row) } else { (row, column) };
        let matrices = if operator.inputs[which].shape.len() == 3 { tensor.shape[0] } else { 1 };
        let values = &contents[which][contents[which].len() / matrices as usize * (at % matrices) as usize..];
        let [.., rows, columns] = tensor.shape[..] else { panic!() };
        let place = if tensor.format == Format::FractalNz {
            let c0 = 32 / tensor.dtype.bytes();
            (column / c0 * rows.next_multiple_of(16) + row) * c0 + column % c0
        } else {
            row * columns + column
        };
        values[place as usize]
    };
    let bias = operator.inputs.get(2).map(|bias| bias.decode(&bias.content()));
    let element = |at, i, j| {
        let sum: f64 = (0..k).map(|l| read(0, at, i, l) * read(1, at, l, j)).sum();
        sum + bias.as_ref().map_or(0.0, |bias| bias[j as usize])
    };
    (0..batch * m).map(|row| (0..n).map(|j| element(row / m, row % m, j)).collect()).collect()
}

#[test]
fn the_result_of_a_product_is_foretold_whatever_types_formats_and_transpositions() {
    for dtype in [DataType::Float16, DataType::Bfloat16, DataType::Float] {
        for flags in 0..16u32 {
            let format = if flags & 8 == 0 { Format::Nd } else { Format::FractalNz };
            let w = MatMul {
                dtype,
                out_dtype: dtype,
                trans_a: flags & 1 != 0,
                trans_b: flags & 2 != 0,
                bias: flags & 4 != 0,
                b_format: format,
                ..MatMul::new(5, 7, 19)
            };
            let operator = of(w);
            for (i, row) in (0..).zip(multiplied(&operator)) {
                product(&operator).check_row(i, &row, dtype).unwrap();
            }
        }
    }
}

#[test]
fn a_column_in_the_wrong_place_is_a_wrong_result() {
    let operator = of(MatMul::new(3, 64, 40));
    let mut row = multiplied(&operator).swap_remove(1);
    let other = (1..40).find(|&j| pattern(j as u64) != pattern(0)).unwrap();
    row.swap(0, other);
    let reason = product(&operator).check_row(1, &row, DataType::Float16).unwrap_err();
    assert!(reason.contains("[1, 0]"), "{reason}");
    assert!(product(&operator).check_row(0, &[f64::NAN], DataType::Float16).is_err());
}

#[test]
fn only_plain_products_of_parts_with_separate_cores_go_through_aclnn() {
    let w = MatMul::new(64, 64, 64);
    assert_eq!(of(w.clone()).entry, Entry::AclnnMatmul(KEEP_TYPE));
    let float = MatMul { dtype: DataType::Float, out_dtype: DataType::Float, hf32: true, ..w.clone() };
    assert_eq!(of(float).entry, Entry::AclnnMatmul(USE_HF32));
    let on_310p = Operator::of(&Workload::MatMul(w.clone()), &soc("Ascend310P3")).unwrap();
    assert_eq!(on_310p.entry, Entry::Aclop);
    let biased = of(MatMul { bias: true, trans_b: true, ..w });
    assert_eq!(biased.entry, Entry::Aclop);
    assert_eq!(biased.attributes, [("transpose_x2".to_owned(), Attribute::Flag(true))]);
    assert_eq!(biased.inputs.len(), 3);
}

#[test]
fn what_cann_reads_no_tiling_of_is_refused_by_name() {
    let batched = Workload::MatMul(MatMul { batch: 4, ..MatMul::new(64, 64, 64) });
    let reason = Operator::of(&batched, &soc("Ascend910B2")).unwrap_err();
    assert!(reason.contains("BatchMatMulV3") && reason.contains("Ascend910B2"), "{reason}");
    let quantised = MatMul { dtype: DataType::Int8, ..MatMul::new(64, 64, 64) };
    assert!(Operator::of(&Workload::MatMul(quantised), &soc("Ascend310P3")).is_err());
}

#[test]
fn long_sums_stay_within_float16() {
    for k in [1, 2, 1000, 1 << 20] {
        let product = product(&of(MatMul::new(16, k, 16)));
        assert!(product.element(0, 0) < 8192.0 && product.element(0, 0) >= 1.0, "{k}");
    }
}

#[test]
fn rows_to_check_are_distinct_and_hold_both_ends() {
    for m in [1, 2, 9, 10, 1000] {
        let rows = lines(m);
        assert_eq!((rows[0], rows[rows.len() - 1]), (0, m - 1));
        assert!(rows.len() <= 17 && rows.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

#[test]
fn a_block_that_is_missing_of_each_task_does_not_lie_between_the_rows_to_check() {
    for m in [768, 1024, 4097, 8192, 30_720] {
        let rows = lines(m);
        for block in [16, 32, 64, 96, 128, 256] {
            assert!(rows.iter().any(|row| row % (2 * block) >= block), "{m} rows, blocks of {block}: {rows:?}");
        }
    }
}

#[test]
fn float16_is_decoded_as_it_is_defined() {
    let known = [(0x3C00, 1.0), (0xC000, -2.0), (0x7BFF, 65504.0), (1, 2f64.powi(-24)), (0x7C00, f64::INFINITY)];
    for (bits, value) in known {
        assert_eq!(from_float16(bits).to_bits(), f64::to_bits(value), "{bits:x}");
    }
    assert!(from_float16(0x5A5A) > 0.0 && from_float16(0x7E00).is_nan());
}

#[test]
fn batched_products_are_measured_as_cann_runs_them_and_each_is_told_apart() {
    let soc = soc("Ascend910B2");
    for (trans_a, trans_b, shared) in [
        (false, false, [false; 2]),
        (true, false, [false; 2]),
        (false, true, [true, false]),
        (true, true, [false, true]),
    ] {
        let [a_shared, b_shared] = shared;
        let w = MatMul { batch: 3, trans_a, trans_b, a_shared, b_shared, ..MatMul::new(5, 7, 19) };
        let operator = Operator::as_cann_runs_it(&Workload::MatMul(w), &soc).unwrap();
        assert_eq!((operator.op_type.as_str(), operator.entry), ("BatchMatMulV3", Entry::Aclop));
        assert!(operator.attributes.iter().all(|(name, _)| name.starts_with("adj_x")));
        let rows = multiplied(&operator);
        for (i, row) in (0..).zip(&rows) {
            product(&operator).check_row(i, row, DataType::Float16).unwrap();
        }
        // The results of two products that change places.
        let swapped =
            (0..5).any(|i| product(&operator).check_row(i, &rows[i as usize + 5], DataType::Float16).is_err());
        assert!(swapped);
    }
    let biased = MatMul { batch: 3, bias: true, ..MatMul::new(5, 7, 19) };
    assert_eq!(Operator::as_cann_runs_it(&Workload::MatMul(biased), &soc), None);
    let tbe = MatMul { batch: 3, kernel: MatMulKernel::Tbe, ..MatMul::new(5, 7, 19) };
    assert_eq!(Operator::as_cann_runs_it(&Workload::MatMul(tbe), &soc).unwrap().op_type, "BatchMatMulV2");
}

/// A convolution of volumes with odd sizes, a stride and pads.
fn volume(bias: bool) -> Conv {
    let depth = Depth { input: 5, output: 3, kernel: 3, stride: 2, pads: [1, 1], dilation: 1 };
    Conv {
        hi: 6,
        wi: 7,
        kw: 2,
        pads: [1, 1, 0, 0],
        bias,
        format: Format::Ndc1hwc0,
        depth: Some(depth),
        ..Conv::image(ConvKind::Forward, 2 * 3, [20 * 3, 18], 6, 3)
    }
}

/// Convolves the operands' content as CANN does, block of channels by block.
fn convolved(operator: &Operator) -> Vec<f64> {
    let Some(Expected::Volume(v)) = operator.expected else { panic!("{operator:?}") };
    let [x, filter] = [0, 1].map(|at| operator.inputs[at].decode(&operator.inputs[at].content()));
    let bias = operator.inputs.get(2).map(|bias| bias.decode(&bias.content()));
    let (ci, co) = (v.cin.div_ceil(16), v.cout.div_ceil(16));
    let [kd, kh, kw] = v.kernel;
    let mut result = vec![0.0; operator.output.stored_shape().iter().product::<u64>() as usize];
    for (at, value) in result.iter_mut().enumerate() {
        let mut left = at as u64;
        let mut digit = |size: u64| {
            let digit = left % size;
            left /= size;
            digit
        };
        let [lane, ox, oy, block, oz, image] =
            [16, v.output[2], v.output[1], co, v.output[0], v.images].map(&mut digit);
        let channel = block * 16 + lane;
        if channel >= v.cout {
            continue;
        }
        for (dz, dy, dx) in (0..kd).flat_map(|z| (0..kh).flat_map(move |y| (0..kw).map(move |x| (z, y, x)))) {
            let place = [(oz, dz), (oy, dy), (ox, dx)];
            let place = [0, 1, 2].map(|i| {
                (place[i].0 * v.stride[i] + place[i].1 * v.dilation[i])
                    .checked_sub(v.before[i])
                    .filter(|&p| p < v.input[i])
            });
            let [Some(z), Some(y), Some(x_at)] = place else { continue };
            for c in 0..ci * 16 {
                let pixel = (((image * v.input[0] + z) * ci + c / 16) * v.input[1] + y) * v.input[2] + x_at;
                let tap = ((dz * ci + c / 16) * kh + dy) * kw + dx;
                let weight = (tap * co * 16 + channel) * 16 + c % 16;
                *value += x[(pixel * 16 + c % 16) as usize] * filter[weight as usize];
            }
        }
        *value += bias.as_ref().map_or(0.0, |bias| bias[channel as usize]);
    }
    result
}

#[test]
fn the_result_of_a_convolution_of_volumes_is_foretold() {
    for bias in [false, true] {
        let operator = Operator::of(&Workload::Conv(volume(bias)), &soc("Ascend910B2")).unwrap();
        assert_eq!((operator.op_type.as_str(), operator.inputs.len()), ("Conv3DV2", 2 + usize::from(bias)));
        assert_eq!(operator.inputs[0].stored_shape(), [2, 5, 2, 6, 7, 16]);
        assert_eq!(operator.inputs[1].stored_shape(), [36, 2, 16, 16]);
        for tensor in &operator.inputs {
            assert_eq!(tensor.content().len() as u64, tensor.bytes());
        }
        let mut result = convolved(&operator);
        let expected = operator.expected.unwrap();
        let runs = expected.runs();
        assert_eq!(runs.iter().map(|run| run.line).collect::<std::collections::BTreeSet<_>>().len(), 17);
        let check = |run: &Run, result: &[f64]| {
            let values = &result[run.from as usize..][..run.count as usize];
            expected.check(*run, values, DataType::Float16)
        };
        for run in &runs {
            check(run, &result).unwrap();
        }
        let wrong = runs[runs.len() - 1].from as usize + 1;
        result[wrong] *= 1.5;
        let reason = check(&runs[runs.len() - 1], &result).unwrap_err();
        assert!(reason.contains("wrong result: element [1, 17, 2, 5, 0]"), "{reason}");
    }
}

#[test]
fn the_attributes_of_a_convolution_are_those_of_its_node() {
    let operator = Operator::of(&Workload::Conv(volume(false)), &soc("Ascend910B2")).unwrap();
    let of = |name: &str| operator.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone()).unwrap();
    assert_eq!(of("strides"), Attribute::Numbers(vec![1, 1, 2, 1, 1]));
    assert_eq!(of("pads"), Attribute::Numbers(vec![1, 1, 1, 1, 0, 0]));
    assert_eq!(of("data_format"), Attribute::Text("NCDHW".into()));
    let grouped = Conv { groups: 2, ..volume(false) };
    let reason = Operator::of(&Workload::Conv(grouped), &soc("Ascend910B2")).unwrap_err();
    assert!(reason.contains("bShapeC"), "{reason}");
}

#[test]
fn what_is_said_to_be_measured_alone_is_what_there_is_an_operator_for() {
    let product = |change: fn(&mut MatMul)| {
        let mut w = MatMul { dtype: DataType::Float16, ..MatMul::new(512, 256, 128) };
        change(&mut w);
        Workload::MatMul(w)
    };
    let image = |kind| Conv { depth: None, ..Conv { kind, format: Format::Nc1hwc0, ..volume(false) } };
    let all = [
        product(|_| {}),
        product(|w| w.batch = 4),
        product(|w| w.bias = true),
        product(|w| w.dtype = DataType::Int8),
        product(|w| w.kernel = MatMulKernel::Tbe),
        product(|w| (w.kernel, w.m) = (MatMulKernel::Tbe, 500)),
        product(|w| (w.a_format, w.b_format) = (Format::FractalNz, Format::FractalNz)),
        Workload::Conv(volume(true)),
        Workload::Conv(Conv { groups: 2, ..volume(false) }),
        Workload::Conv(Conv { dtype: DataType::Float, ..volume(false) }),
        Workload::Conv(image(ConvKind::Forward)),
        Workload::Conv(image(ConvKind::BackpropInput)),
    ];
    let mut counts = [0; 2];
    for name in ["Ascend910B2", "Ascend310P3", "Ascend910A", "Ascend310B4", "Ascend950PR_9589"] {
        let soc = soc(name);
        for workload in &all {
            let is_said = Writable::of(workload, &soc).is_measured_alone();
            assert_eq!(is_said, Operator::of(workload, &soc).is_ok(), "{workload:?} on {name}");
            counts[usize::from(is_said)] += 1;
        }
    }
    assert!(counts.iter().all(|&count| count > 5), "{counts:?}");
}

/// A convolution of images of odd sizes.
fn image(kind: ConvKind) -> Conv {
    let out_dtype = if kind == ConvKind::BackpropFilter { DataType::Float } else { DataType::Float16 };
    let plane = Conv { batch: 2, cin: 20, depth: None, format: Format::Nc1hwc0, out_dtype, ..volume(false) };
    Conv { kind, ..plane }
}

#[test]
fn a_gradient_is_compiled_with_the_sizes_of_its_result_as_constants() {
    let shapes = |kind| {
        let operator = Operator::to_compile(&Workload::Conv(image(kind)), &soc("Ascend910B2")).unwrap();
        let stored: Vec<_> = operator.inputs.iter().chain([&operator.output]).map(Tensor::stored_shape).collect();
        let constants: Vec<_> = operator.inputs.iter().filter_map(|tensor| tensor.constant.clone()).collect();
        for tensor in &operator.inputs {
            assert_eq!(tensor.content().len() as u64, tensor.bytes());
        }
        (operator.op_type, stored, constants)
    };
    let (x, y) = (vec![2, 2, 6, 7, 16], vec![2, 2, 6, 6, 16]);
    // 20 channels are two blocks, with 3 x 2 positions each; 18 filters are two blocks, of float32 as well.
    let (filter, sizes) = (vec![12, 2, 16, 16], vec![4]);
    let of_input = vec![sizes.clone(), filter.clone(), y.clone(), x.clone()];
    assert_eq!(shapes(ConvKind::BackpropInput), ("Conv2DBackpropInput".to_owned(), of_input, vec![vec![2, 20, 6, 7]]));
    let of_filter = vec![x.clone(), sizes, y.clone(), filter.clone()];
    assert_eq!(
        shapes(ConvKind::BackpropFilter),
        ("Conv2DBackpropFilter".to_owned(), of_filter, vec![vec![18, 20, 3, 2]])
    );
    assert_eq!(shapes(ConvKind::Forward), ("Conv2D".to_owned(), vec![x, filter, y], vec![]));
    let grouped = Workload::Conv(Conv { groups: 2, ..image(ConvKind::Forward) });
    assert!(Operator::to_compile(&grouped, &soc("Ascend910B2")).unwrap_err().contains("2 groups"));
}
