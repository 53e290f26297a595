//! Convolutions by their operands and attributes.

use super::{Knowledge, Rule, Tiling, check, estimate};
use crate::cases::{Case, wrong};
use crate::graph::Format;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tiling::{Platform, conv3d_v2};
use crate::workload::{Conv, ConvKind, Operand, Workload};

/// Says that paddings are read off the sizes.
const PADS_FROM_SIZES: &str = "`attrs.pads` is missing: the padding is what the sizes need, evenly at both ends (tail, bottom and right take the odd one)";

/// A convolution of two or three dimensions: [depth, height, width].
struct Read {
    batch: u64,
    cin: u64,
    cout: u64,
    groups: u64,
    input: [u64; 3],
    output: [u64; 3],
    kernel: [u64; 3],
    stride: [u64; 3],
    dilation: [u64; 3],
    pads: [u64; 6],
    bias: bool,
}

/// Three sizes of a tensor with channels first or last: batch, channels, [depth, height, width].
fn sizes(place: &str, o: &Operand) -> Result<(u64, u64, [u64; 3])> {
    Ok(match (o.format, o.shape.as_slice()) {
        (Format::Ncdhw | Format::Nd, &[n, c, d, h, w]) | (Format::Ndhwc, &[n, d, h, w, c]) => (n, c, [d, h, w]),
        (Format::Ndc1hwc0, &[n, d, c1, h, w, c0]) => (n, c1.saturating_mul(c0), [d, h, w]),
        (Format::Dhwcn, &[d, h, w, c, n]) => (n, c, [d, h, w]),
        (Format::Nchw | Format::Nd, &[n, c, h, w]) | (Format::Nhwc, &[n, h, w, c]) | (Format::Hwcn, &[h, w, c, n]) => {
            (n, c, [1, h, w])
        }
        (format, shape) => {
            let reason = format!("`{place}`: {shape:?} in {} is no image or filter of a convolution", format.name());
            return Err(wrong(reason));
        }
    })
}

/// Numbers of an attribute for depth, height and width: one for all, three, or five with batch and channels.
fn along(case: &Case, name: &str, channels_last: bool) -> Result<[u64; 3]> {
    let Some(numbers) = case.integers(&[name])? else { return Ok([1; 3]) };
    let spatial: Vec<i64> = match (numbers.as_slice(), channels_last) {
        (&[one], _) => vec![one; 3],
        (&[h, w], _) | (&[_, _, h, w], false) | (&[_, h, w, _], true) => vec![1, h, w],
        (&[d, h, w], _) | (&[_, _, d, h, w], false) | (&[_, d, h, w, _], true) => vec![d, h, w],
        _ => Vec::new(),
    };
    let positive: Vec<u64> = spatial.iter().filter_map(|&n| u64::try_from(n).ok().filter(|&n| n > 0)).collect();
    positive.try_into().map_err(|_| wrong(format!("`attrs.{name}`: {numbers:?} are no positive numbers of its axes")))
}

fn read(case: &Case) -> Result<Read> {
    let (inputs, outputs) =
        case.operands()?.ok_or_else(|| wrong(format!("{} needs `inputs` and `outputs`", case.op)))?;
    let (Some(x), Some(filter), Some(y)) = (inputs.first(), inputs.get(1), outputs.first()) else {
        return Err(wrong(format!("{} needs an image, a filter and a result", case.op)));
    };
    let (batch, channels, input) = sizes("inputs[0]", x)?;
    let (out_batch, cout, output) = sizes("outputs[0]", y)?;
    let (filters, filter_channels, kernel) = sizes("inputs[1]", filter)?;
    let last = matches!(x.format, Format::Ndhwc | Format::Nhwc);
    let (stride, dilation) = (along(case, "strides", last)?, along(case, "dilations", last)?);
    let groups = match case.integers(&["groups", "group"])?.as_deref() {
        None => 1,
        Some(&[n]) if n > 0 => n.unsigned_abs(),
        Some(_) => return Err(wrong("`attrs.groups`: it is no positive number")),
    };
    if out_batch != batch || cout.div_ceil(16) != filters.div_ceil(16) {
        return Err(wrong(format!(
            "`outputs[0].shape`: {:?} is not what {filters} filters make of {batch} images",
            y.shape
        )));
    }
    let cin = filter_channels.saturating_mul(groups);
    if cin.div_ceil(16) != channels.div_ceil(16) || !cin.is_multiple_of(groups) || !filters.is_multiple_of(groups) {
        return Err(wrong(format!(
            "`inputs[1].shape`: filters of {filter_channels} channels in {groups} groups do not fit {channels} channels"
        )));
    }
    let pads = pads(case, &input, &output, &kernel, &stride, &dilation)?;
    Ok(Read {
        batch,
        cin,
        cout: filters,
        groups,
        input,
        output,
        kernel,
        stride,
        dilation,
        pads,
        bias: inputs.len() > 2,
    })
}

/// Head, tail, top, bottom, left, right: what the case says, held to the sizes, or what they need.
fn pads(
    case: &Case,
    input: &[u64; 3],
    output: &[u64; 3],
    kernel: &[u64; 3],
    stride: &[u64; 3],
    dilation: &[u64; 3],
) -> Result<[u64; 6]> {
    let taps = |axis: usize| (kernel[axis] - 1).saturating_mul(dilation[axis]).saturating_add(1);
    let need = |axis: usize| {
        (output[axis] - 1).saturating_mul(stride[axis]).saturating_add(taps(axis)).saturating_sub(input[axis])
    };
    let mut all = [0; 6];
    for axis in 0..3 {
        (all[2 * axis], all[2 * axis + 1]) = (need(axis) / 2, need(axis) - need(axis) / 2);
    }
    let Some(given) = case.integers(&["pads", "padding"])? else {
        // No padding of CANN's is as wide as the filter.
        if let Some(axis) = (0..3).find(|&axis| need(axis).div_ceil(2) >= taps(axis).max(1)) {
            return Err(wrong(format!(
                "`outputs[0].shape`: the {} is {}, which needs a padding of {} by a filter of {}",
                ["depth", "height", "width"][axis],
                output[axis],
                need(axis),
                taps(axis)
            )));
        }
        return Ok(all);
    };
    let numbers: Vec<u64> = given.iter().filter_map(|&n| u64::try_from(n).ok().filter(|&n| n < 1 << 31)).collect();
    let given = match *numbers.as_slice() {
        [one] => [one; 6],
        [h, w] => [0, 0, h, h, w, w],
        [d, h, w] => [d, d, h, h, w, w],
        [top, bottom, left, right] => [0, 0, top, bottom, left, right],
        [head, tail, top, bottom, left, right] => [head, tail, top, bottom, left, right],
        _ => return Err(wrong(format!("`attrs.pads`: {given:?} are no padding"))),
    };
    for axis in 0..3 {
        let padded = input[axis].saturating_add(given[2 * axis]).saturating_add(given[2 * axis + 1]);
        let made = padded.checked_sub(taps(axis)).map(|room| room / stride[axis] + 1);
        if made != Some(output[axis]) {
            let axis_name = ["depth", "height", "width"][axis];
            let made = made.map_or_else(|| "none".to_owned(), |n| n.to_string());
            return Err(wrong(format!(
                "`outputs[0].shape`: the {axis_name} is {}, the attributes make {made}",
                output[axis]
            )));
        }
    }
    Ok(given)
}

/// A convolution as the two-dimensional work that stands for it: depth counts as images and channels.
fn workload(case: &Case, w: &Read) -> Result<Workload> {
    let (inputs, outputs) = case.operands()?.unwrap_or_default();
    let [dtype, out_dtype] = [inputs.first(), outputs.first()].map(|o| o.map(|o| o.dtype));
    let (Some(dtype), Some(out_dtype)) = (dtype, out_dtype) else { return Err(wrong("`outputs`: there is none")) };
    Ok(Workload::Conv(Conv {
        kind: ConvKind::Forward,
        batch: w.batch.saturating_mul(w.output[0]),
        cin: w.cin.saturating_mul(w.kernel[0]),
        hi: w.input[1],
        wi: w.input[2],
        cout: w.cout,
        ho: w.output[1],
        wo: w.output[2],
        kh: w.kernel[1],
        kw: w.kernel[2],
        stride: [w.stride[1], w.stride[2]],
        pads: [w.pads[2], w.pads[3], w.pads[4], w.pads[5]],
        dilation: [w.dilation[1], w.dilation[2]],
        groups: w.groups,
        dtype,
        out_dtype,
        bias: w.bias,
        format: Format::Nchw,
        hf32: false,
        depth: None,
    }))
}

/// `Conv3DV2`, whose rules are public on the 910B.
pub(super) fn conv3d(case: &Case, soc: &Soc) -> Result<Tiling> {
    case.check_operands(soc)?;
    let w = read(case)?;
    let work = workload(case, &w)?;
    check(&work, soc)?;
    let es = work.dtype().map_or(2, |dtype| dtype.bytes().max(1));
    let problem = conv3d_v2::Problem {
        batch: w.batch,
        groups: w.groups,
        cin: w.cin,
        cout: w.cout,
        input: w.input,
        output: w.output,
        kernel: w.kernel,
        stride: w.stride,
        dilation: w.dilation,
        es,
        bias: w.bias,
    };
    let too_large = || Error::Workload {
        workload: work.to_string(),
        reason: format!("L1 of {} does not hold the smallest tile of its image and weights", soc.name),
    };
    let choice = conv3d_v2::default(&problem, &Platform::of(soc)).ok_or_else(too_large)?;
    let mut knowledge: serde_json::Map<_, _> =
        choice.tiling.fields().iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
    knowledge.extend(own_fields(&w));
    let rules: Vec<Rule> = choice.rules.iter().map(|rule| (rule.name(), rule.describe())).collect();
    let (op, template) = (conv3d_v2::OP_TYPE.to_owned(), "base".to_owned());
    let is_padded = w.pads.iter().any(|&pad| pad > 0);
    let note = (is_padded && case.integers(&["pads", "padding"])?.is_none()).then_some(PADS_FROM_SIZES);
    let knowledge = Knowledge::Fields(knowledge);
    Ok(Tiling { op, template, knowledge, nd2nz: None, public: choice.public, rules, note })
}

/// The fields of CANN's structure that repeat the node's own numbers.
fn own_fields(w: &Read) -> impl Iterator<Item = (String, serde_json::Value)> {
    let [d, h, k] = [w.input, w.output, w.kernel];
    [
        ("groups", w.groups),
        ("orgCi", w.cin),
        ("orgDi", d[0]),
        ("orgHi", d[1]),
        ("orgWi", d[2]),
        ("orgCo", w.cout),
        ("orgDo", h[0]),
        ("orgHo", h[1]),
        ("orgWo", h[2]),
        ("kernelD", k[0]),
        ("kernelH", k[1]),
        ("kernelW", k[2]),
        ("strideD", w.stride[0]),
        ("strideH", w.stride[1]),
        ("strideW", w.stride[2]),
        ("dilationD", w.dilation[0]),
        ("dilationH", w.dilation[1]),
        ("dilationW", w.dilation[2]),
        ("padHead", w.pads[0]),
        ("padTail", w.pads[1]),
        ("padTop", w.pads[2]),
        ("padBottom", w.pads[3]),
        ("padLeft", w.pads[4]),
        ("padRight", w.pads[5]),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.into()))
}

/// A convolution of two dimensions: closed on all parts whose rules are known here.
pub(super) fn conv2d(case: &Case, soc: &Soc) -> Result<Tiling> {
    // In the formats of a device, or of another pass, as a profile shows it.
    let is_plain = |o: &Operand| matches!(o.format, Format::Nchw | Format::Nhwc | Format::Nd) && o.shape.len() == 4;
    let plain = case.operands()?.is_some_and(|(inputs, _)| inputs.first().is_some_and(is_plain));
    if !plain || !["Conv2D", "Conv2DV2"].contains(&case.op.as_str()) {
        return estimate::workload(case, soc);
    }
    let tiling = estimate::of(&workload(case, &read(case)?)?, soc)?;
    Ok(Tiling { op: case.op.clone(), ..tiling })
}
