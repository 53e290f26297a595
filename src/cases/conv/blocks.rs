//! Convolutions of operands in blocks: NC1HWC0 feature maps, `FRACTAL_Z` filters.

use super::window::{Sizes, Stated};
use super::{ConvKind, Kernel};
use crate::graph::Format;
use crate::status::Result;
use crate::workload::{Conv, FEW_CHANNELS, Operand};
use serde_json::{Map as JsonMap, Value};

/// Taps and channels that one filter block holds then.
const FILTER_BLOCK: u64 = 16;

/// What to write for a convolution whose operands' formats do not say what lies where.
const PLAIN: &str = "its operands' formats do not tell maps and filter; name them, as networks have them (`format` NCHW or \
                     NHWC, of a filter NCHW, HWCN or NHWC) or as the kernel does (maps in NC1HWC0 [images, channel blocks, \
                     height, width, 16], the filter in FRACTAL_Z [channel blocks x taps, output blocks, 16, 16])";

/// A feature map.
#[derive(Clone, Copy)]
struct Map {
    batch: u64,
    blocks: u64,
    height: u64,
    width: u64,
    /// Channels of a block: 16, 32 for 8-bit types, 8 for fp32, 4 for few input channels.
    lanes: u64,
}

impl Map {
    fn of(o: &Operand) -> Option<Map> {
        match (o.format, o.shape.as_slice()) {
            (Format::Nc1hwc0, &[batch, blocks, height, width, lanes]) => {
                Some(Map { batch, blocks, height, width, lanes })
            }
            _ => None,
        }
    }

    fn channels(self) -> u64 {
        self.blocks.saturating_mul(self.lanes)
    }
}

/// The convolution of operands in blocks. Fails where they do not meet.
pub(super) fn conv(op: &str, kind: ConvKind, kernel: &Kernel, attrs: Option<&JsonMap<String, Value>>) -> Result<Conv> {
    let maps = |operands: &[Operand]| operands.iter().filter_map(Map::of).collect::<Vec<_>>();
    let filters = |operands: &[Operand]| {
        operands
            .iter()
            .find(|o| matches!(o.format, Format::FractalZ | Format::C1hwncoc0) && o.shape.len() >= 4)
            .cloned()
    };
    let (read, written) = (maps(&kernel.inputs), maps(&kernel.outputs));
    let filter = filters(if kind == ConvKind::BackpropFilter { &kernel.outputs } else { &kernel.inputs })
        .ok_or_else(|| kernel.error(PLAIN))?;
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
    let sides = taps(&filter, x);
    if sides.is_empty() {
        let reason = format!("a filter {:?} does not cover {} blocks of {} channels", filter.shape, x.blocks, x.lanes);
        return Err(kernel.error(reason));
    }
    if x.batch != y.batch {
        return Err(kernel.error(format!("its feature maps hold {} and {} images", x.batch, y.batch)));
    }
    let groups = groups(&filter, depthwise, x, y)
        .ok_or_else(|| kernel.error(format!("{:?} is no filter for {} output blocks", filter.shape, y.blocks)))?;
    let stated = Stated::of(kernel, attrs, [2, 3])?;
    if let Some(told) = stated.groups.filter(|&told| !depthwise && told != groups) {
        return Err(kernel.error(format!("`attrs.groups`: a filter {:?} has {groups}, not {told}", filter.shape)));
    }
    let of = |[kh, kw]: [u64; 2]| {
        let sizes = Sizes { from: [x.height, x.width], to: [y.height, y.width], taps: [kh, kw] };
        stated.window(kernel, &sizes).map(|window| ([kh, kw], window))
    };
    // The filter's area alone is known: the first sides with which the sizes agree.
    let mut found = of(sides[0]);
    for &other in &sides[1..] {
        found = found.or_else(|error| of(other).map_err(|_| error));
    }
    let ([kh, kw], window) = found?;
    Ok(Conv {
        kind,
        batch: x.batch,
        cin: x.channels(),
        hi: x.height,
        wi: x.width,
        cout: y.channels(),
        ho: y.height,
        wo: y.width,
        kh,
        kw,
        stride: window.stride,
        pads: window.pads,
        dilation: window.dilation,
        groups,
        dtype,
        out_dtype,
        bias: kind != ConvKind::BackpropFilter && kernel.inputs.iter().any(|o| is_bias(o, kind, x, y)),
        format: if x.lanes == FEW_CHANNELS { Format::Nc1hwc0C04 } else { Format::Nc1hwc0 },
        hf32: false,
        depth: None,
    })
}

/// Whether an operand has a value for each channel of the result, which is rounded up to whole blocks.
fn is_bias(o: &Operand, kind: ConvKind, x: &Map, y: &Map) -> bool {
    let result = if kind == ConvKind::BackpropInput { x } else { y };
    let (most, elements) = (result.channels(), o.elements());
    o.shape.len() == 1 && elements <= most && elements + result.lanes > most
}

/// Height and width that the kernel can have, the likeliest first; none where the filter's blocks are not those of the
/// input's channels.
fn taps(filter: &Operand, x: &Map) -> Vec<[u64; 2]> {
    if let (Format::C1hwncoc0, &[_, kh, kw, ..]) = (filter.format, filter.shape.as_slice()) {
        return vec![[kh, kw]];
    }
    // [channel blocks x kernel area][output blocks]
    let Some(&blocks) = filter.shape.first() else { return Vec::new() };
    if x.lanes == FEW_CHANNELS && x.blocks == 1 {
        // Four taps share a block, and the last block is not full: the largest square it can hold.
        let most = blocks.saturating_mul(FILTER_BLOCK / FEW_CHANNELS);
        let side = most.isqrt();
        let fills = side * side + FILTER_BLOCK / FEW_CHANNELS > most;
        return vec![if fills { [side, side] } else { [1, most] }];
    }
    if blocks.is_multiple_of(x.blocks) { kernel_sides(blocks / x.blocks) } else { Vec::new() }
}

/// Groups of channels. A filter has the output blocks of one group; a depthwise one has a single block, for the
/// cube multiplies a block of channels by a diagonal filter.
fn groups(filter: &Operand, depthwise: bool, x: &Map, y: &Map) -> Option<u64> {
    if depthwise {
        return Some(x.blocks);
    }
    let of_one = match (filter.format, filter.shape.as_slice()) {
        (Format::FractalZ, &[_, blocks, rows, _]) => blocks.checked_mul(rows)?,
        _ => return Some(1),
    };
    // Filter and result are each rounded up to whole blocks of their own.
    let (block, all) = (y.lanes.max(FILTER_BLOCK), y.channels());
    if of_one.div_ceil(block) == all.div_ceil(block) {
        return Some(1);
    }
    let groups = all.checked_div(of_one).filter(|groups| groups * of_one == all)?;
    x.channels().is_multiple_of(groups).then_some(groups)
}

/// Longest side of a kernel that is looked for.
const LONGEST_SIDE: u64 = 512;

/// Height and width that a kernel of this area can have: square where it can be, else a row, and then all others.
fn kernel_sides(area: u64) -> Vec<[u64; 2]> {
    let side = area.isqrt();
    let likely = if side * side == area { [side, side] } else { [1, area] };
    let all = (1..=area.min(LONGEST_SIDE)).filter(|height| area.is_multiple_of(*height));
    let others = all.map(|height| [height, area / height]).filter(|sides| *sides != likely);
    if area == 0 { Vec::new() } else { [likely].into_iter().chain(others).collect() }
}
