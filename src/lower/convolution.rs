//! Convolutions: the work of the three kernels, in the view of the forward pass.

use super::Scene;
use crate::graph::infer::Axis;
use crate::graph::infer::conv::Convolution;
use crate::graph::op::ConvPass;
use crate::graph::{DataType, Format};
use crate::soc::Arch;
use crate::status::Result;
use crate::workload::{Conv, ConvKind, Depth, Workload};

impl Scene<'_> {
    /// A convolution in the view of its forward pass.
    pub(super) fn convolution(&self, pass: ConvPass) -> Result<Option<Workload>> {
        let read = Convolution::of(&self.call, pass).map_err(|r| self.error(r))?;
        let read = read.ok_or_else(|| self.error("an operand has no known rank, or the filter's size is not known"))?;
        let kind = match pass {
            ConvPass::Forward => ConvKind::Forward,
            ConvPass::Transposed | ConvPass::BackpropInput => ConvKind::BackpropInput,
            ConvPass::BackpropFilter => ConvKind::BackpropFilter,
        };
        let dtype = self.cube_operand(self.image_type())?;
        let result = self.node().outputs.first().map_or(dtype, |d| d.dtype);
        let out_dtype = match kind {
            // Gradients of filters are summed up in float32 and stay so.
            ConvKind::BackpropFilter => DataType::Float,
            _ => self.settings.precision.cube_result(result, dtype),
        };
        let conv =
            Conv { dtype, out_dtype, bias: self.has_bias(pass), hf32: self.hf32(dtype), ..self.sizes(&read, kind)? };
        self.check_conv(&conv)?;
        if conv.cin == 0 {
            return Ok(Some(self.fill(self.results()?)));
        }
        Ok(Some(Workload::Conv(conv)))
    }

    /// Element type of the images: the first floating-point or quantised input that is one.
    pub(super) fn image_type(&self) -> DataType {
        let image = self.call.connected().find(|(_, d)| d.shape.rank() >= Some(3));
        image.map_or(DataType::Float16, |(_, d)| d.dtype)
    }

    /// The bias is the one vector among the inputs, apart from a leading `input_size`.
    fn has_bias(&self, pass: ConvPass) -> bool {
        let mut vectors = self.call.connected().filter(|(_, d)| d.shape.rank() == Some(1));
        match pass {
            ConvPass::Forward => vectors.next().is_some(),
            ConvPass::Transposed => vectors.any(|(_, d)| d.dtype.is_float()),
            ConvPass::BackpropInput | ConvPass::BackpropFilter => false,
        }
    }

    /// Height and width; one spatial axis is a width, a depth goes into channels and images.
    fn sizes(&self, read: &Convolution, kind: ConvKind) -> Result<Conv> {
        let axes = &read.axes;
        let at = |back: usize| axes.len().checked_sub(back).and_then(|i| axes.get(i));
        let of =
            |axis: Option<&Axis>, pick: fn(&Axis) -> i64, absent: u64| axis.map_or(Ok(absent), |a| self.size(pick(a)));
        let (width, height, depth) = (at(1), at(2), at(3));
        let batch = self.product_of(&[self.size(read.batch)?, of(depth, |a| a.output, 1)?])?;
        let cin = self.product_of(&[self.size(read.cin)?, of(depth, |a| a.kernel, 1)?])?;
        // A layout of its own exists for images on the cube; 950 reads them as the network has them. That of volumes
        // tells their convolutions, which other operators do, from those of images.
        let blocks = if depth.is_some() { Format::Ndc1hwc0 } else { Format::Nc1hwc0 };
        let format = if self.soc.arch == Arch::C310 { read.layout.image_format() } else { blocks };
        Ok(Conv {
            kind,
            batch,
            cin,
            hi: of(height, |a| a.input, 1)?,
            wi: of(width, |a| a.input, 1)?,
            cout: self.size(read.cout)?,
            ho: of(height, |a| a.output, 1)?,
            wo: of(width, |a| a.output, 1)?,
            kh: of(height, |a| a.kernel, 1)?,
            kw: of(width, |a| a.kernel, 1)?,
            stride: [of(height, |a| a.stride, 1)?, of(width, |a| a.stride, 1)?],
            pads: [
                of(height, |a| a.pads[0], 0)?,
                of(height, |a| a.pads[1], 0)?,
                of(width, |a| a.pads[0], 0)?,
                of(width, |a| a.pads[1], 0)?,
            ],
            dilation: [of(height, |a| a.dilation, 1)?, of(width, |a| a.dilation, 1)?],
            groups: self.size(read.groups)?.max(1),
            dtype: DataType::Float16,
            out_dtype: DataType::Float16,
            bias: false,
            format,
            hf32: false,
            depth: depth.map(|axis| self.depth(axis)).transpose()?,
        })
    }

    /// The axis that goes into channels and images.
    fn depth(&self, axis: &Axis) -> Result<Depth> {
        Ok(Depth {
            input: self.size(axis.input)?,
            output: self.size(axis.output)?,
            kernel: self.size(axis.kernel)?,
            stride: self.size(axis.stride)?,
            pads: [self.size(axis.pads[0])?, self.size(axis.pads[1])?],
            dilation: self.size(axis.dilation)?,
        })
    }

    /// The work of all three kernels can be counted.
    fn check_conv(&self, c: &Conv) -> Result<()> {
        self.product_of(&[c.batch, c.cin, c.hi, c.wi])?;
        self.product_of(&[c.batch, c.cout, c.ho, c.wo, c.cin, c.kh, c.kw])?;
        self.product_of(&[c.batch, c.cin, c.hi, c.wi, c.cout, c.kh, c.kw]).map(|_| ())
    }
}
