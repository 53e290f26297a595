//! Rules of convolutions: forward, transposed, and the two backward kernels.

use super::dim::{self, Reason, UNKNOWN};
use super::window::{self, Axis, Layout, Padding};
use super::{Call, Inference, Inferred, Params};
use crate::op::work::ConvPass;
use crate::{DataType, Format, Shape, TensorDesc};

/// Sizes of a convolution in the view of its forward pass; -1 where one is not known.
///
/// For a transposed convolution and for the gradient of x, the input of this view is what the operator
/// writes and the output is what it reads.
#[derive(Debug, Clone)]
pub struct Convolution {
    /// Order of the axes of the feature map.
    pub layout: Layout,
    /// Images.
    pub batch: i64,
    /// Input channels, all groups together.
    pub cin: i64,
    /// Output channels, all groups together.
    pub cout: i64,
    /// Groups.
    pub groups: i64,
    /// Windows by spatial axis.
    pub axes: Vec<Axis>,
    padding: Padding,
}

/// Filter sizes independent of their layout.
struct Filter {
    /// Output channels (input channels of a transposed convolution).
    outer: i64,
    /// Input channels of one group.
    inner: i64,
    space: Vec<i64>,
}

/// Positions of the operands, which differ between the forms of an operator.
struct Operands {
    image: usize,
    filter: Option<usize>,
}

impl Filter {
    /// The filter at an input.
    fn of(call: &Call<'_>, input: usize, layout: Layout) -> Result<Option<Filter>, Reason> {
        let filter = call.need(input)?;
        let Some(dims) = filter.shape.dims() else { return Ok(None) };
        if filter.format.hides_sizes() {
            return Err(format!(
                "a filter in {} does not tell its sizes without an origin_shape",
                filter.format.name()
            ));
        }
        Filter::from_dims(call, dims, call.format(input), layout).map(Some)
    }

    fn from_dims(call: &Call<'_>, dims: &[i64], format: Format, layout: Layout) -> Result<Filter, Reason> {
        if dims.len() != layout.spatial + 2 {
            return Err(format!("a filter of {} axes does not go with {} spatial axes", dims.len(), layout.spatial));
        }
        let n = layout.spatial;
        let spatial_first = match format {
            Format::Hwcn | Format::Dhwcn => true,
            Format::Nchw | Format::Ncdhw | Format::Nhwc | Format::Ndhwc => false,
            _ => layout.channels_last,
        };
        let (outer, inner, space) = if spatial_first {
            (dims[n + 1], dims[n], &dims[..n])
        } else if matches!(format, Format::Nhwc | Format::Ndhwc) {
            (dims[0], dims[n + 1], &dims[1..=n])
        } else {
            (dims[0], dims[1], &dims[2..])
        };
        if call.node.op_type.starts_with("Depthwise") && spatial_first {
            // H, W, C, M: every one of C channels has M filters of its own.
            return Ok(Filter { outer: dim::times(outer, inner)?, inner: 1, space: space.to_vec() });
        }
        Ok(Filter { outer, inner, space: space.to_vec() })
    }
}

/// Where the operands are. The forms with inputs have the size of the result first, which may be left
/// out; the `D` forms have it as an attribute.
fn operands(call: &Call<'_>, pass: ConvPass) -> Operands {
    let is_size = |i: usize| call.get(i).is_none_or(|d| d.shape.rank() == Some(1) && !d.dtype.is_float());
    let shift = usize::from(is_size(0));
    match pass {
        ConvPass::Forward => Operands { image: 0, filter: Some(1) },
        ConvPass::Transposed => Operands { image: shift, filter: Some(shift + 1) },
        ConvPass::BackpropInput => Operands { image: shift + 1, filter: Some(shift) },
        ConvPass::BackpropFilter => Operands { image: 0, filter: None },
    }
}

impl Convolution {
    /// Reads a node that is this kernel; `None` while the rank of an operand is not known.
    pub fn of(call: &Call<'_>, pass: ConvPass) -> Result<Option<Convolution>, Reason> {
        let at = operands(call, pass);
        let image = call.need(at.image)?;
        let Some(dims) = image.shape.dims() else { return Ok(None) };
        let format = call.format(at.image);
        let layout = Layout::of_windows(call, format, dims.len(), &["strides", "stride", "dilations", "dilation"])?;
        let found = Convolution::of_layout(call, pass, &at, dims, layout);
        match found {
            // The default of a prototype that no program set: what fits the filter counts.
            Err(_) if layout.is_by_default(call, format) => {
                Convolution::of_layout(call, pass, &at, dims, layout.turned()).or(found)
            }
            found => found,
        }
        .or_else(|reason| Convolution::of_implied_groups(call, pass, &at, dims, layout).unwrap_or(Err(reason)))
    }

    /// The groups of a forward convolution that states none and whose image has more channels than its filter takes.
    pub fn implied_groups(call: &Call<'_>) -> Option<i64> {
        let is_depthwise = call.node.op_type.starts_with("Depthwise");
        if is_depthwise || call.int(&["groups", "group"]).is_some_and(|groups| groups != 1) {
            return None;
        }
        Convolution::of(call, ConvPass::Forward).ok()?.map(|read| read.groups).filter(|&groups| groups > 1)
    }

    /// As GE compiles a convolution that states no groups: so many as the image has channels for the filter's. It comes
    /// after every reading with the stated groups, which a layout by default could else hide.
    fn of_implied_groups(
        call: &Call<'_>,
        pass: ConvPass,
        at: &Operands,
        dims: &[i64],
        layout: Layout,
    ) -> Option<Result<Option<Convolution>, Reason>> {
        let is_stated = call.int(&["groups", "group"]).is_some_and(|groups| groups != 1);
        if pass != ConvPass::Forward || is_stated {
            return None;
        }
        let filter = Filter::of(call, at.filter?, layout).ok()??;
        let channels = dims[layout.channel()];
        let divides = |whole: i64, part: i64| part > 0 && whole > 0 && whole % part == 0;
        let groups = divides(channels, filter.inner).then(|| channels / filter.inner)?;
        divides(filter.outer, groups).then(|| forward_view(call, layout, dims, &filter, groups).map(Some))
    }

    fn of_layout(
        call: &Call<'_>,
        pass: ConvPass,
        at: &Operands,
        dims: &[i64],
        layout: Layout,
    ) -> Result<Option<Convolution>, Reason> {
        let filter = match at.filter {
            Some(i) => Filter::of(call, i, layout)?,
            None => match call.params(filter_size_input(call), &["filter_size"]) {
                Params::Known(size) => {
                    let format = call.node.outputs.first().map_or(Format::Nd, |filter| filter.format);
                    Some(Filter::from_dims(call, &size, format, layout)?)
                }
                _ => None,
            },
        };
        let Some(filter) = filter else { return Ok(None) };
        let channels = dims[layout.channel()];
        let groups = groups(call, &filter, channels)?;
        match pass {
            ConvPass::Forward | ConvPass::BackpropFilter => forward_view(call, layout, dims, &filter, groups),
            ConvPass::Transposed | ConvPass::BackpropInput => transposed_view(call, at, layout, dims, &filter, groups),
        }
        .map(Some)
    }
}

fn groups(call: &Call<'_>, filter: &Filter, channels: i64) -> Result<i64, Reason> {
    let groups = if call.node.op_type.starts_with("Depthwise") && filter.inner == 1 {
        // The image of a backward kernel is dy, whose channels may be a multiple of the groups.
        call.int(&["groups"]).filter(|&g| g > 1).unwrap_or(if channels > 0 { channels } else { 1 })
    } else {
        call.int(&["groups", "group"]).unwrap_or(1)
    };
    if groups < 1 {
        return Err(format!("`groups` is {groups}"));
    }
    if filter.outer > 0 && filter.outer % groups != 0 {
        return Err(format!("{} filters do not divide into {groups} groups", filter.outer));
    }
    Ok(groups)
}

fn windows(
    call: &Call<'_>,
    layout: Layout,
    filter: &Filter,
    space: &[i64],
) -> Result<impl Iterator<Item = Axis> + use<>, Reason> {
    let strides = layout.per_axis(call, &["strides", "stride"], 1)?;
    let dilations = layout.per_axis(call, &["dilations", "dilation"], 1)?;
    let pads = window::pads(call, layout.spatial, &["pads", "pad"])?;
    let (kernels, space) = (filter.space.clone(), space.to_vec());
    Ok((0..layout.spatial).map(move |i| Axis {
        input: space[i],
        kernel: kernels[i],
        stride: strides[i],
        dilation: dilations[i],
        pads: pads[i],
        output: UNKNOWN,
    }))
}

fn forward_view(
    call: &Call<'_>,
    layout: Layout,
    dims: &[i64],
    filter: &Filter,
    groups: i64,
) -> Result<Convolution, Reason> {
    let padding = Padding::of(call)?;
    let wanted = dim::times(filter.inner, groups)?;
    let cin = dim::unify(dims[layout.channel()], wanted)
        .map_err(|_| format!("the image has {} channels, the filter takes {wanted}", dims[layout.channel()]))?;
    let axes = windows(call, layout, filter, layout.space(dims))?;
    let axes = axes.map(|axis| axis.slide(padding, false)).collect::<Result<_, _>>()?;
    Ok(Convolution { layout, batch: dims[0], cin, cout: filter.outer, groups, axes, padding })
}

fn transposed_view(
    call: &Call<'_>,
    at: &Operands,
    layout: Layout,
    dims: &[i64],
    filter: &Filter,
    groups: i64,
) -> Result<Convolution, Reason> {
    let padding = Padding::of(call)?;
    let cout = dim::unify(dims[layout.channel()], filter.outer)
        .map_err(|_| format!("the image has {} channels, the filter takes {}", dims[layout.channel()], filter.outer))?;
    let extra = layout.per_axis(call, &["output_padding"], 0)?;
    let wanted = wanted_space(call, at, layout)?;
    let axes = windows(call, layout, filter, layout.space(dims))?.enumerate().map(|(i, axis)| {
        let spread = axis.spread(padding, extra[i], wanted.as_ref().map(|w| w[i]))?;
        Ok(Axis { input: spread.output, output: spread.input, ..spread })
    });
    let axes = axes.collect::<Result<_, Reason>>()?;
    Ok(Convolution { layout, batch: dims[0], cin: dim::times(filter.inner, groups)?, cout, groups, axes, padding })
}

/// The spatial sizes that `input_size` (input 0 or attribute) or `output_shape` ask for.
fn wanted_space(call: &Call<'_>, at: &Operands, layout: Layout) -> Result<Option<Vec<i64>>, Reason> {
    let size_input = (at.image.min(at.filter.unwrap_or(at.image)) > 0).then_some(0);
    let Params::Known(list) = call.params(size_input, &["input_size", "output_shape"]) else { return Ok(None) };
    // All zeros ask for nothing.
    if list.iter().all(|&d| d <= 0) {
        return Ok(None);
    }
    match list.len() {
        len if len == layout.spatial => Ok(Some(list)),
        len if len == layout.spatial + 2 => Ok(Some(layout.space(&list).to_vec())),
        len => Err(format!("the wanted size has {len} numbers for {} spatial axes", layout.spatial)),
    }
}

/// Integer products accumulate in int32.
fn result_type(dtype: DataType) -> DataType {
    if matches!(dtype, DataType::Int8 | DataType::Int4 | DataType::Uint8) { DataType::Int32 } else { dtype }
}

fn image(layout: Layout, dtype: DataType, batch: i64, channels: i64, space: impl Iterator<Item = i64>) -> TensorDesc {
    let shape = Shape::new(layout.join(batch, channels, &space.collect::<Vec<_>>()));
    TensorDesc { dtype, shape, format: layout.format() }
}

/// `Conv2D`, `Conv3D`, `DepthwiseConv2D` (x, filter, bias): also on three axes.
pub(crate) fn forward(call: &Call<'_>) -> Inference {
    let dtype = call.type_attr("dtype").unwrap_or(result_type(call.dtype(0)));
    let Some(conv) = Convolution::of(call, ConvPass::Forward)? else { return Inferred::unknown(dtype) };
    check_bias(call, 2, conv.cout)?;
    let y = image(conv.layout, dtype, conv.batch, conv.cout, conv.axes.iter().map(|a| a.output));
    let inferred = window::note_pads(Inferred { outputs: vec![y], attrs: Vec::new() }, conv.padding, &conv.axes);
    Ok(window::note_layout(inferred, call, 0, conv.layout))
}

fn check_bias(call: &Call<'_>, input: usize, cout: i64) -> Result<(), Reason> {
    let bias = call.get(input).and_then(|b| b.shape.elements());
    match bias {
        Some(n) if cout >= 0 && n != cout as u64 => Err(format!("a bias of {n} elements for {cout} output channels")),
        _ => Ok(()),
    }
}

/// Transposed convolutions: (x, filter, bias), with `input_size` before them in the form with inputs.
pub(crate) fn transposed(call: &Call<'_>) -> Inference {
    let at = operands(call, ConvPass::Transposed);
    let dtype = result_type(call.dtype(at.image));
    let Some(conv) = Convolution::of(call, ConvPass::Transposed)? else { return Inferred::unknown(dtype) };
    check_bias(call, at.image + 2, conv.cin)?;
    let y = image(conv.layout, dtype, conv.batch, conv.cin, conv.axes.iter().map(|a| a.input));
    let inferred = window::note_pads(Inferred { outputs: vec![y], attrs: Vec::new() }, conv.padding, &conv.axes);
    Ok(window::note_layout(inferred, call, at.image, conv.layout))
}

/// The gradient of x: (`input_size`, filter, dy), or attribute `input_size`.
pub(crate) fn backprop_input(call: &Call<'_>) -> Inference {
    let dy = operands(call, ConvPass::BackpropInput).image;
    let dtype = call.dtype(dy);
    let Some(conv) = Convolution::of(call, ConvPass::BackpropInput)? else { return Inferred::unknown(dtype) };
    let dx = image(conv.layout, dtype, conv.batch, conv.cin, conv.axes.iter().map(|a| a.input));
    let inferred = window::note_pads(Inferred { outputs: vec![dx], attrs: Vec::new() }, conv.padding, &conv.axes);
    Ok(window::note_layout(inferred, call, dy, conv.layout))
}

/// The gradient of the filter: (x, `filter_size`, dy), or attribute `filter_size`; float32.
pub(crate) fn backprop_filter(call: &Call<'_>) -> Inference {
    let Params::Known(size) = call.params(filter_size_input(call), &["filter_size"]) else {
        return Inferred::unknown(DataType::Float);
    };
    Inferred::dims(DataType::Float, size)
}

fn filter_size_input(call: &Call<'_>) -> Option<usize> {
    call.get(1).is_some_and(|d| d.shape.rank() == Some(1)).then_some(1)
}

/// `DeformableConv2D` (x, filter, offsets, bias).
pub(crate) fn deformable(call: &Call<'_>) -> Inference {
    let dtype = call.dtype(0);
    let Some(conv) = Convolution::of(call, ConvPass::Forward)? else { return Inferred::unknown(dtype) };
    Inferred::all(vec![image(conv.layout, dtype, conv.batch, conv.cout, conv.axes.iter().map(|a| a.output))])
}

/// `DeformableOffsets` (x, offsets): one tap after the other, so space grows by the window.
pub(crate) fn deformable_offsets(call: &Call<'_>) -> Inference {
    let (x, offsets) = (call.need(0)?, call.need(1)?);
    let (Some(dims), Some(taps)) = (x.shape.dims(), offsets.shape.dims()) else { return Inferred::unknown(x.dtype) };
    let layout = Layout::of(call, call.format(0), dims.len())?;
    if taps.len() != dims.len() {
        return Err("offsets and image differ in rank".into());
    }
    let kernels = layout.per_axis(call, &["ksize"], 1)?;
    let space = layout.space(taps).iter().zip(&kernels).map(|(&d, &k)| dim::times(d, k));
    let space = space.collect::<Result<Vec<_>, _>>()?;
    Inferred::all(vec![image(layout, x.dtype, dims[0], dims[layout.channel()], space.into_iter())])
}
