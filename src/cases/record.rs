//! Convolutions as tiling repositories hold them: operands `a`, `b`, `c`, attributes by the repository's names, and the
//! tiling as a vector.

use super::{Case, wrong};
use crate::graph::{DataType, Format};
use crate::status::Result;
use crate::workload::{Conv, ConvKind, ConvRecord, ConvTiling, Depth, Place};
use serde_json::Value;

/// Longest vector that is looked at.
const MOST_VALUES: usize = 64;
/// Channels of a result's block.
const BLOCK: u64 = 16;
/// Most operands that may be fused to a result.
const MOST_FUSED: f64 = 64.0;

/// What an operator's name tells.
struct Name {
    kind: ConvKind,
    volume: bool,
    depthwise: bool,
}

impl Name {
    /// By the words of repositories: `conv2d_bp_input`, `conv3d_forward`, `depthwise_conv2d`.
    fn of(op: &str) -> Option<Name> {
        let depthwise = op.starts_with("depthwise");
        let volume = op.starts_with("conv3d") || op.starts_with("convolution_3d");
        if !depthwise && !volume && !op.starts_with("conv2d") && !op.starts_with("convolution_2d") {
            return None;
        }
        let kind = match op {
            _ if op.ends_with("bp_input") || op.ends_with("backprop_input") => ConvKind::BackpropInput,
            _ if op.ends_with("bp_filter") || op.ends_with("backprop_filter") => ConvKind::BackpropFilter,
            _ => ConvKind::Forward,
        };
        Some(Name { kind, volume, depthwise })
    }
}

/// A feature map `[n, (d,) c1, h, w, c0]`.
struct Map {
    images: u64,
    planes: u64,
    blocks: u64,
    height: u64,
    width: u64,
    lanes: u64,
}

impl Map {
    fn of(field: &str, shape: &[u64], volume: bool) -> Result<Map> {
        match *shape {
            [images, planes, blocks, height, width, lanes] if volume => {
                Ok(Map { images, planes, blocks, height, width, lanes })
            }
            [images, blocks, height, width, lanes] if !volume => {
                Ok(Map { images, planes: 1, blocks, height, width, lanes })
            }
            _ => Err(wrong(format!(
                "`{field}.shape`: {shape:?} is not [n,{} c1, h, w, c0]",
                if volume { " d," } else { "" }
            ))),
        }
    }

    fn channels(&self) -> u64 {
        self.blocks.saturating_mul(self.lanes)
    }
}

/// Attributes of both axes of an image, and of depth.
struct Attrs {
    stride: [u64; 3],
    expand: [u64; 2],
    dilation: [u64; 2],
    /// Top, bottom, left, right, head, tail.
    pads: [u64; 6],
    bias: bool,
    fused: f64,
}

impl Attrs {
    fn of(case: &Case) -> Result<Attrs> {
        let value = |name: &str| case.attrs.as_ref().and_then(|attrs| attrs.get(name));
        let number = |name: &str| match value(name) {
            None | Some(Value::Null | Value::Bool(false)) => Ok(0.0),
            Some(Value::Bool(true)) => Ok(1.0),
            Some(value) => value
                .as_f64()
                .filter(|n| (0.0..=super::MAX_EXTENT as f64).contains(n))
                .ok_or_else(|| wrong(format!("`attrs.{name}`: it is no number from 0 on"))),
        };
        let whole = |name: &str| number(name).map(|n| n as u64);
        let some = |name: &str| whole(name).map(|n| n.max(1));
        Ok(Attrs {
            stride: [some("strideD")?, some("strideH")?, some("strideW")?],
            expand: [some("strideH_expand")?, some("strideW_expand")?],
            dilation: [some("dilationH")?, some("dilationW")?],
            pads: [whole("padu")?, whole("padd")?, whole("padl")?, whole("padr")?, whole("padf")?, whole("padb")?],
            bias: number("bias_flag")? > 0.0,
            fused: number("fused_double_operand_num")?.min(MOST_FUSED),
        })
    }
}

impl Case {
    /// The convolution and its record; `None` for a case of another form.
    ///
    /// Fails where an operand is missing or does not fit, and where the vector cannot be read.
    pub(crate) fn conv_record(&self) -> Result<Option<ConvRecord>> {
        let Some(vector) = &self.tiling else { return Ok(None) };
        let name = Name::of(&self.op).ok_or_else(|| {
            wrong(format!("`tiling`: a vector belongs to a convolution (`conv2d_bp_input`, ...), not to {}", self.op))
        })?;
        let tiling = ConvTiling::new(places(vector)?).map_err(|reason| wrong(format!("`tiling`: {reason}")))?;
        let attrs = Attrs::of(self)?;
        let (a, dtype) = self.a.as_ref().ok_or_else(|| wrong("`a` is missing"))?.plain("a")?;
        let (b, _) = self.b.as_ref().ok_or_else(|| wrong("`b` is missing"))?.plain("b")?;
        let c = self.c.as_ref().map(|c| c.plain("c")).transpose()?;
        if dtype.bytes() == 0 || dtype.bytes() > 4 {
            return Err(wrong(format!("`a.dtype`: the cube does not multiply {}", dtype.name())));
        }
        let c_shape = c.as_ref().map(|(shape, _)| *shape);
        let conv = match name.kind {
            ConvKind::Forward => forward(&name, &attrs, a, b)?,
            ConvKind::BackpropInput => input(&name, &attrs, [a, b], c_shape)?,
            ConvKind::BackpropFilter => filter(&name, &attrs, [a, b], c_shape)?,
        };
        let out_dtype = match (name.kind, c) {
            (ConvKind::BackpropFilter, _) => DataType::Float,
            (_, Some((_, made))) => made,
            // Integers leave scaled, in 16 bits.
            (ConvKind::BackpropInput, None) => DataType::Float16,
            (ConvKind::Forward, None) => dtype,
        };
        let conv = Conv { dtype, out_dtype, bias: attrs.bias, ..conv };
        if [conv.cin, conv.cout, conv.hi, conv.wi, conv.ho, conv.wo].contains(&0) {
            return Err(wrong("its window is larger than its image"));
        }
        Ok(Some(ConvRecord { conv, depthwise: name.depthwise, fused_operands: attrs.fused, tiling }))
    }
}

fn places(vector: &Value) -> Result<Vec<Place>> {
    let values = vector.as_array().ok_or_else(|| wrong("`tiling`: it is no list"))?;
    if values.len() > MOST_VALUES {
        return Err(wrong(format!("`tiling`: {} values are more than any has", values.len())));
    }
    let place = |(at, value): (usize, &Value)| match value {
        Value::Null | Value::Bool(false) => Ok(Place::Absent),
        Value::Bool(true) => Ok(Place::Number(1)),
        Value::Array(all) if all.is_empty() => Ok(Place::Full),
        other => other
            .as_u64()
            .and_then(|n| u32::try_from(n).ok())
            .map(Place::Number)
            .ok_or_else(|| wrong(format!("`tiling[{at}]`: it is neither a whole number, [], null nor false"))),
    };
    values.iter().enumerate().map(place).collect()
}

/// Results along an axis of a forward pass.
fn results(size: u64, pads: [u64; 2], taps: u64, dilation: u64, stride: u64) -> u64 {
    let reach = taps.saturating_sub(1).saturating_mul(dilation) + 1;
    (size + pads[0] + pads[1]).checked_sub(reach).map_or(0, |room| room / stride + 1)
}

/// A filter `[co, (kd,) c1, kh, kw, c0]`: depth taps, blocks of channels, height and width.
fn filter_of(shape: &[u64], volume: bool) -> Result<[u64; 5]> {
    match *shape {
        [out, kd, blocks, kh, kw, _] if volume => Ok([out, kd, blocks, kh, kw]),
        [out, blocks, kh, kw, _] if !volume => Ok([out, 1, blocks, kh, kw]),
        _ => Err(wrong(format!("`b.shape`: {shape:?} is no filter"))),
    }
}

fn depth(attrs: &Attrs, volume: bool, [input, output]: [u64; 2], kernel: u64) -> Option<Depth> {
    let pads = [attrs.pads[4], attrs.pads[5]];
    volume.then_some(Depth { input, output, kernel, stride: attrs.stride[0], pads, dilation: 1 })
}

/// The fields that all kinds have alike.
fn conv(kind: ConvKind, attrs: &Attrs, depth: Option<Depth>) -> Conv {
    let Attrs { stride, dilation, pads, .. } = attrs;
    Conv {
        stride: [stride[1], stride[2]],
        pads: [pads[0], pads[1], pads[2], pads[3]],
        dilation: *dilation,
        format: if depth.is_some() { Format::Ndc1hwc0 } else { Format::Nc1hwc0 },
        depth,
        ..Conv::image(kind, 1, [1, 1], 1, 1)
    }
}

fn forward(name: &Name, attrs: &Attrs, a: &[u64], b: &[u64]) -> Result<Conv> {
    let x = Map::of("a", a, name.volume)?;
    let [out, kd, blocks, kh, kw] = filter_of(b, name.volume)?;
    let Attrs { stride, dilation, pads, .. } = attrs;
    let ho = results(x.height, [pads[0], pads[1]], kh, dilation[0], stride[1]);
    let wo = results(x.width, [pads[2], pads[3]], kw, dilation[1], stride[2]);
    let planes = if name.volume { results(x.planes, [pads[4], pads[5]], kd, 1, stride[0]) } else { 1 };
    if planes == 0 {
        return Err(wrong("its window is larger than its volume"));
    }
    let cin = if name.depthwise { x.channels() } else { blocks.saturating_mul(x.lanes) };
    Ok(Conv {
        batch: x.images.saturating_mul(planes),
        cin: cin.saturating_mul(kd),
        hi: x.height,
        wi: x.width,
        cout: if name.depthwise { x.channels() } else { out },
        ho,
        wo,
        kh,
        kw,
        groups: if name.depthwise { x.blocks } else { 1 },
        ..conv(ConvKind::Forward, attrs, depth(attrs, name.volume, [x.planes, planes], kd))
    })
}

fn input(name: &Name, attrs: &Attrs, [a, b]: [&[u64]; 2], c: Option<&[u64]>) -> Result<Conv> {
    let y = Map::of("a", a, name.volume)?;
    let [_, kd, blocks, kh, kw] = filter_of(b, name.volume)?;
    let Attrs { expand, dilation, pads, .. } = attrs;
    let [planes, hi, wi, cin] = match c {
        // A volume's result is [n, d, h, w, c], whatever its format says.
        Some(&[_, d, h, w, _]) if name.volume => [d, h, w, blocks.saturating_mul(BLOCK)],
        Some(&[_, _, h, w] | &[_, _, h, w, _]) if !name.volume => [1, h, w, blocks.saturating_mul(BLOCK)],
        Some(shape) => return Err(wrong(format!("`c.shape`: {shape:?} is no image"))),
        None if name.volume => return Err(wrong("`c` is missing: it tells the depth of the result")),
        None => {
            // The pads are those of the convolution that runs over the spread gradient.
            let side = |size: u64, spread: u64, pads: [u64; 2], taps: u64, dilation: u64| {
                results((size - 1).saturating_mul(spread) + 1, pads, taps, dilation, 1)
            };
            let h = side(y.height, expand[0], [pads[0], pads[1]], kh, dilation[0]);
            [1, h, side(y.width, expand[1], [pads[2], pads[3]], kw, dilation[1]), blocks.saturating_mul(BLOCK)]
        }
    };
    Ok(Conv {
        batch: y.images.saturating_mul(y.planes),
        cin: cin.saturating_mul(kd),
        hi,
        wi,
        cout: y.channels(),
        ho: y.height,
        wo: y.width,
        kh,
        kw,
        stride: *expand,
        groups: if name.depthwise { y.blocks } else { 1 },
        ..conv(ConvKind::BackpropInput, attrs, depth(attrs, name.volume, [planes, y.planes], kd))
    })
}

fn filter(name: &Name, attrs: &Attrs, [a, b]: [&[u64]; 2], c: Option<&[u64]>) -> Result<Conv> {
    let (y, x) = (Map::of("a", a, name.volume)?, Map::of("b", b, name.volume)?);
    let [kd, kh, kw] = match c {
        // A volume's filter is [co, kd, kh, kw, ci], an image's [co, c1, kh, kw(, c0)].
        Some(&[_, kd, kh, kw, _]) if name.volume => [kd, kh, kw],
        Some(&[_, _, kh, kw] | &[_, _, kh, kw, _]) if !name.volume => [1, kh, kw],
        Some(shape) => return Err(wrong(format!("`c.shape`: {shape:?} is no filter"))),
        None => return Err(wrong("`c` is missing: it tells the size of the filter")),
    };
    Ok(Conv {
        batch: y.images.saturating_mul(y.planes),
        cin: x.channels().saturating_mul(kd),
        hi: x.height,
        wi: x.width,
        cout: y.channels(),
        ho: y.height,
        wo: y.width,
        kh,
        kw,
        groups: if name.depthwise { x.blocks } else { 1 },
        ..conv(ConvKind::BackpropFilter, attrs, depth(attrs, name.volume, [x.planes, y.planes], kd))
    })
}
