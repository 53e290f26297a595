//! Convolutions from operand shapes: NC1HWC0 feature maps, `FRACTAL_Z` filters.

use super::operands::Kernel;
use crate::graph::Format;
use crate::soc::Soc;
use crate::status::Result;
use crate::workload::{Conv, ConvKind, Operand, Workload};

/// A feature map.
struct Map {
    batch: u64,
    blocks: u64,
    height: u64,
    width: u64,
}

impl Map {
    fn of(o: &Operand) -> Option<Map> {
        match (o.format, o.shape.as_slice()) {
            (Format::Nc1hwc0, &[batch, blocks, height, width, _]) => Some(Map { batch, blocks, height, width }),
            _ => None,
        }
    }
}

/// The convolution that `op` names, `None` when it names none.
pub(super) fn workload(op: &str, kernel: &Kernel, _soc: &Soc) -> Result<Option<Workload>> {
    let op = op.trim_end_matches('D');
    let kind = match op {
        "Conv2D" | "DepthwiseConv2" | "DepthwiseConv2D" | "Conv2" => ConvKind::Forward,
        "Conv2DBackpropInput" | "DepthwiseConv2DBackpropInput" | "Deconvolution" => ConvKind::BackpropInput,
        "Conv2DBackpropFilter" | "DepthwiseConv2DBackpropFilter" | "FusedDbnDw" => ConvKind::BackpropFilter,
        _ => return Ok(None),
    };
    let maps = |operands: &[Operand]| operands.iter().filter_map(Map::of).collect::<Vec<_>>();
    let filters = |operands: &[Operand]| {
        operands
            .iter()
            .find(|o| matches!(o.format, Format::FractalZ | Format::C1hwncoc0) && o.shape.len() >= 4)
            .cloned()
    };
    let (read, written) = (maps(&kernel.inputs), maps(&kernel.outputs));
    let filter = filters(if kind == ConvKind::BackpropFilter { &kernel.outputs } else { &kernel.inputs })
        .ok_or_else(|| kernel.error("it has no filter in a fractal format"))?;
    // x is the forward pass's input, y its output.
    let (x, y) = match (kind, read.as_slice(), written.as_slice()) {
        (ConvKind::Forward, [x, ..], [y, ..]) | (ConvKind::BackpropInput, [y, ..], [x, ..]) => (x, y),
        (ConvKind::BackpropFilter, pair @ [_, _, ..], _) => {
            let [first, second] = [&pair[0], &pair[1]];
            if op == "FusedDbnDw" { (first, second) } else { (second, first) }
        }
        _ => return Err(kernel.error("it needs feature maps in NC1HWC0")),
    };
    let depthwise = op.starts_with("Depthwise");
    let dtype = kernel.inputs.first().map_or(filter.dtype, |o| o.dtype);
    let out_dtype = kernel.outputs.first().map_or(dtype, |o| o.dtype);
    let blocks = filter.shape.first().copied().unwrap_or(1);
    // [channel blocks x kernel area][output blocks]; a depthwise filter has one block for all of it.
    let area = if let (Format::C1hwncoc0, &[_, kh, kw, ..]) = (filter.format, filter.shape.as_slice()) {
        kh * kw
    } else {
        blocks / x.blocks.max(1)
    };
    let (kh, kw) = kernel_sides(area)
        .ok_or_else(|| kernel.error(format!("{blocks} filter blocks do not cover {} channel blocks", x.blocks)))?;
    let stride = |from: u64, to: u64| (from as f64 / to as f64).round().max(1.0) as u64;
    let stride = [stride(x.height, y.height), stride(x.width, y.width)];
    let pad = |from: u64, to: u64, k: u64, s: u64| ((to - 1) * s + k).saturating_sub(from);
    let (ph, pw) = (pad(x.height, y.height, kh, stride[0]), pad(x.width, y.width, kw, stride[1]));
    Ok(Some(Workload::Conv(Conv {
        kind,
        batch: x.batch,
        cin: x.blocks * 16,
        hi: x.height,
        wi: x.width,
        cout: y.blocks * 16,
        ho: y.height,
        wo: y.width,
        kh,
        kw,
        stride,
        pads: [ph / 2, ph - ph / 2, pw / 2, pw - pw / 2],
        dilation: [1, 1],
        // The cube multiplies a block of sixteen channels by a diagonal filter.
        groups: if depthwise { x.blocks } else { 1 },
        dtype,
        out_dtype,
        bias: false,
        format: Format::Nc1hwc0,
        hf32: false,
    })))
}

/// Height and width of a kernel of this area: square where it can be, else a row.
fn kernel_sides(area: u64) -> Option<(u64, u64)> {
    if area == 0 {
        return None;
    }
    let side = (area as f64).sqrt().round() as u64;
    Some(if side * side == area { (side, side) } else { (1, area) })
}
