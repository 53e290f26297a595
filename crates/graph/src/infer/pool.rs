//! Rules of pooling.

use super::dim::Reason;
use super::window::{self, Axis, Layout, Padding};
use super::{Call, Inference, Inferred};
use crate::{DataType, Shape, TensorDesc};

/// Batch, channels and windows of a pooling operator.
#[derive(Debug, Clone)]
pub struct Pooling {
    /// Order of the axes.
    pub layout: Layout,
    /// Images.
    pub batch: i64,
    /// Channels.
    pub channels: i64,
    /// Windows by spatial axis.
    pub axes: Vec<Axis>,
    padding: Padding,
}

impl Pooling {
    /// Reads the node; `None` when the input's rank is not known.
    pub fn of(call: &Call<'_>) -> Result<Option<Pooling>, Reason> {
        let x = call.need(0)?;
        let Some(dims) = x.shape.dims() else { return Ok(None) };
        let lists = ["ksize", "window", "kernel_size", "kernel_shape", "strides", "stride"];
        let layout = Layout::of_windows(call, call.format(0), dims.len(), &lists)?;
        let caffe = call.node.op_type == "Pooling";
        let padding = Padding::of(call)?;
        let global = call.flag(&["global_pooling", "global"], false);
        let kernels = layout.per_axis(call, &["ksize", "window", "kernel_size", "kernel_shape"], -1)?;
        let strides = layout.per_axis(call, &["strides", "stride"], 1)?;
        let dilations = layout.per_axis(call, &["dilations", "dilation"], 1)?;
        let pads = window::pads(call, layout.spatial, &["pads", "pad"])?;
        // Caffe counts the other way round: 0 rounds up.
        let round_up =
            if caffe { call.int(&["ceil_mode"]).unwrap_or(0) == 0 } else { call.flag(&["ceil_mode"], false) };
        let slide = |i: usize| {
            let input = layout.space(dims)[i];
            let axis = Axis {
                input,
                kernel: kernels[i],
                stride: strides[i],
                dilation: dilations[i],
                pads: pads[i],
                output: 0,
            };
            // A window of -1 (or global pooling) is as large as the image.
            if global || kernels[i] == -1 {
                return Ok(Axis { kernel: input, stride: 1, dilation: 1, pads: [0, 0], output: 1, ..axis });
            }
            axis.slide(padding, round_up)
        };
        let axes = (0..layout.spatial).map(slide).collect::<Result<_, Reason>>()?;
        Ok(Some(Pooling { layout, batch: dims[0], channels: dims[layout.channel()], axes, padding }))
    }

    fn output(&self, dtype: DataType) -> TensorDesc {
        let space: Vec<_> = self.axes.iter().map(|a| a.output).collect();
        let shape = Shape::new(self.layout.join(self.batch, self.channels, &space));
        TensorDesc { dtype, shape, format: self.layout.format() }
    }
}

/// Pooling with a window; a second output holds the positions of the maxima.
pub(crate) fn pool(call: &Call<'_>) -> Inference {
    let dtype = call.dtype(0);
    let Some(pooling) = Pooling::of(call)? else { return Inferred::unknown(dtype) };
    let index_type = if call.node.op_type == "MaxPoolWithArgmaxV1" { DataType::Uint16 } else { DataType::Int32 };
    let outputs = vec![pooling.output(dtype), pooling.output(index_type)];
    let inferred = window::note_pads(Inferred { outputs, attrs: Vec::new() }, pooling.padding, &pooling.axes);
    Ok(window::note_layout(inferred, call, 0, pooling.layout))
}

/// Pooling over the whole image.
pub(crate) fn global(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let layout = Layout::of(call, call.format(0), dims.len())?;
    let sizes = layout.join(dims[0], dims[layout.channel()], &vec![1; layout.spatial]);
    Inferred::all(vec![TensorDesc { dtype: x.dtype, shape: Shape::new(sizes), format: layout.format() }])
}

/// Pooling to the size in attribute `output_size`.
pub(crate) fn adaptive(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let layout = Layout::of(call, call.format(0), dims.len())?;
    let wanted = layout.per_axis(call, &["output_size"], -1)?;
    let space = wanted.iter().zip(layout.space(dims)).map(|(&w, &d)| if w < 0 { d } else { w });
    let sizes = layout.join(dims[0], dims[layout.channel()], &space.collect::<Vec<_>>());
    let desc = TensorDesc { dtype: x.dtype, shape: Shape::new(sizes), format: layout.format() };
    Inferred::all(vec![desc.clone(), TensorDesc { dtype: DataType::Int32, ..desc }])
}
