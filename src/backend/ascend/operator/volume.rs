//! Convolutions of volumes on a device, and what their results must be.
//!
//! The image's elements vary from pixel to pixel, the filters' from one to the next: a result is then one sum over the
//! taps of its window, the same for all channels but for the filter's own power of two.

use super::{Attribute, Entry, Expected, Operator, Run, Tensor, exponent, is_close, lines, pattern};
use crate::graph::{DataType, Format};
use crate::tiling::conv3d_v2;
use crate::workload::Conv;
use serde::{Deserialize, Serialize};

/// Channels of a block of 16-bit types.
const C0: u64 = 16;

/// A convolution whose operands hold [`pattern`]s: each element of the result is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Images.
    pub images: u64,
    /// Depth, height and width of an image.
    pub input: [u64; 3],
    /// Those of its result.
    pub output: [u64; 3],
    /// Those of a filter.
    pub kernel: [u64; 3],
    /// Strides along them.
    pub stride: [u64; 3],
    /// Dilations along them.
    pub dilation: [u64; 3],
    /// Padding before them.
    pub before: [u64; 3],
    /// Channels of an image.
    pub cin: u64,
    /// Filters.
    pub cout: u64,
    /// Exponent of the filters' smaller elements.
    pub exponent: i32,
    /// Whether a bias is added.
    pub bias: bool,
}

/// A convolution of volumes as a device runs it. Fails for one without volumes.
pub fn operator(w: &Conv) -> Result<Operator, String> {
    let depth = w.depth.filter(|depth| depth.output > 0 && depth.kernel > 0);
    let depth = depth.ok_or_else(|| format!("{w} has no depth"))?;
    let volume = Volume {
        images: w.batch / depth.output,
        input: [depth.input, w.hi, w.wi],
        output: [depth.output, w.ho, w.wo],
        kernel: [depth.kernel, w.kh, w.kw],
        stride: [depth.stride, w.stride[0], w.stride[1]],
        dilation: [depth.dilation, w.dilation[0], w.dilation[1]],
        before: [depth.pads[0], w.pads[0], w.pads[2]],
        cin: w.cin / depth.kernel,
        cout: w.cout,
        exponent: exponent(w.cin.saturating_mul(w.kh).saturating_mul(w.kw)),
        bias: w.bias,
    };
    let tensor = |dtype, shape: [&[u64]; 2], format, fill| Tensor {
        dtype,
        shape: shape.concat(),
        format,
        transposed: false,
        fill,
        constant: None,
    };
    let (images, pads) = (Format::Ndc1hwc0, [depth.pads, [w.pads[0], w.pads[1]], [w.pads[2], w.pads[3]]].concat());
    let mut inputs = vec![
        tensor(w.dtype, [&[volume.images, volume.cin], &volume.input], images, Some((0, 0))),
        tensor(w.dtype, [&[w.cout, volume.cin], &volume.kernel], Format::FractalZ3d, Some((0, volume.exponent))),
    ];
    if w.bias {
        // The public record with a bias has one of float32 beside bf16.
        let dtype = if w.dtype == DataType::Bfloat16 { DataType::Float } else { w.dtype };
        inputs.push(tensor(dtype, [&[w.cout], &[]], Format::Nd, Some((0, 0))));
    }
    let numbers = |all: &[u64]| Attribute::Numbers(all.iter().map(|&n| n as i64).collect());
    let along = |space: [u64; 3]| numbers(&[&[1, 1], &space[..]].concat());
    let attributes = [
        ("strides", along(volume.stride)),
        ("pads", numbers(&pads)),
        ("dilations", along(volume.dilation)),
        ("groups", Attribute::Number(w.groups.max(1) as i64)),
        ("data_format", Attribute::Text(Format::Ncdhw.name().to_owned())),
    ];
    Ok(Operator {
        op_type: conv3d_v2::OP_TYPE.to_owned(),
        entry: Entry::Aclop,
        inputs,
        output: tensor(w.out_dtype, [&[volume.images, w.cout], &volume.output], images, None),
        attributes: attributes.map(|(name, value)| (name.to_owned(), value)).into(),
        expected: Some(Expected::Volume(volume)),
    })
}

impl Volume {
    /// Lines of pixels to look at, with all blocks of channels.
    pub(super) fn runs(&self) -> Vec<Run> {
        let ([depth, height, width], blocks) = (self.output, self.cout.div_ceil(C0));
        let of_line = |line: u64| {
            let (plane, y) = (line / height.max(1), line % height.max(1));
            (0..blocks).map(move |block| {
                let from = ((plane * blocks + block) * height + y) * width * C0;
                Run { line, block, from, count: width * C0 }
            })
        };
        lines(self.images * depth * height).into_iter().flat_map(of_line).collect()
    }

    /// What is wrong with the pixels of a line in a block of channels.
    pub(super) fn check(&self, run: Run, values: &[f64], dtype: DataType) -> Result<(), String> {
        let [depth, height, _] = self.output;
        let (plane, y) = (run.line / height.max(1), run.line % height.max(1));
        let (image, z) = (plane / depth.max(1), plane % depth.max(1));
        for (pixel, x) in values.chunks(C0 as usize).zip(0u64..) {
            let sum = self.cin as f64 * self.taps(image, [z, y, x]);
            for (&found, channel) in pixel.iter().zip(run.block * C0..self.cout) {
                let expected = self.element(sum, channel);
                if !is_close(found, expected, dtype) {
                    return Err(format!(
                        "wrong result: element [{image}, {channel}, {z}, {y}, {x}] is {found} instead of {expected}"
                    ));
                }
            }
        }
        Ok(())
    }

    fn element(&self, sum: f64, channel: u64) -> f64 {
        let power = |exponent: i32| 2f64.powi(exponent);
        let product = sum * power(pattern(channel) + self.exponent);
        if self.bias { product + power(pattern(channel)) } else { product }
    }

    /// The sum over the window of a pixel of the result, for one channel.
    pub fn taps(&self, image: u64, at: [u64; 3]) -> f64 {
        let place = |axis: usize, tap: u64| {
            let from_pad = at[axis] * self.stride[axis] + tap * self.dilation[axis];
            from_pad.checked_sub(self.before[axis]).filter(|&place| place < self.input[axis])
        };
        let [depth, height, width] = self.input;
        let mut sum = 0.0;
        for z in (0..self.kernel[0]).filter_map(|tap| place(0, tap)) {
            for y in (0..self.kernel[1]).filter_map(|tap| place(1, tap)) {
                for x in (0..self.kernel[2]).filter_map(|tap| place(2, tap)) {
                    let pixel = ((image * depth + z) * height + y) * width + x;
                    sum += 2f64.powi(pattern(pixel));
                }
            }
        }
        sum
    }
}
