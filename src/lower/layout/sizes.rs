//! The sizes in which CANN stores tensors on the device.

use super::{DeviceLayout, EDGE, block};
use crate::graph::infer::conv::Convolution;
use crate::graph::{DataType, Format, TensorDesc};

/// The sizes in which CANN stores the filters of several groups, as `FRACTAL_Z`: as many groups lie beside each other as
/// it takes that their channels fill whole blocks, and what is between them is zero.
pub fn stored_groups(conv: &Convolution, stored: DataType) -> Option<Vec<i64>> {
    let c0 = block(stored);
    let [channels, filters] = [conv.cin, conv.cout].map(|all| all / conv.groups);
    // The least number of times that a size fills blocks of a power of two.
    let fills = |size: i64, of: i64| of >> size.trailing_zeros().min(of.trailing_zeros());
    let beside = fills(channels, c0).max(fills(filters, EDGE)).min(conv.groups);
    let depth = conv.axes.iter().try_fold(blocks(conv.groups, beside), |k, axis| k.checked_mul(axis.kernel))?;
    let depth = depth.checked_mul(blocks(beside.checked_mul(channels)?, c0))?;
    Some(vec![depth, blocks(beside.checked_mul(filters)?, EDGE), EDGE, c0])
}

/// Blocks of so many elements that hold a size.
fn blocks(size: i64, of: i64) -> i64 {
    size / of + i64::from(size % of != 0)
}

impl DeviceLayout {
    /// Elements of a tensor with those that fill up its blocks; `None` where 64 bits cannot count them.
    pub(in crate::lower) fn padded(self, desc: &TensorDesc, stored: DataType) -> Option<u64> {
        let dims = desc.shape.known()?;
        let blocked = if self.holds(desc) { self.blocked(dims.len()) } else { Vec::new() };
        // Rows of fractals come in sixteens whatever the type.
        let unit = |axis: usize| if blocked.last() == Some(&axis) { block(stored) } else { EDGE };
        let sizes = dims.iter().enumerate().map(|(axis, &size)| {
            let (size, unit) = (size.unsigned_abs(), unit(axis).unsigned_abs());
            if blocked.contains(&axis) { size.checked_next_multiple_of(unit) } else { Some(size) }
        });
        sizes.reduce(|product, size| product?.checked_mul(size?)).unwrap_or(Some(1))
    }

    /// The sizes in which CANN stores such a tensor in this type, outermost first; `None` where the network does not know
    /// them.
    pub fn stored(self, desc: &TensorDesc, stored: DataType) -> Option<Vec<i64>> {
        let dims = desc.shape.known()?;
        if self == DeviceLayout::Plain || !self.holds(desc) {
            return Some(dims.to_vec());
        }
        let c0 = block(stored);
        Some(match (self, dims) {
            (DeviceLayout::Fractals, [stack @ .., rows, columns]) => {
                [stack, &[blocks(*columns, c0), blocks(*rows, EDGE), EDGE, c0]].concat()
            }
            (DeviceLayout::Channels(axis), &[images, ..]) => {
                let c1 = blocks(dims[axis], c0);
                let space: Vec<i64> = (1..dims.len()).filter(|&at| at != axis).map(|at| dims[at]).collect();
                match *space {
                    [depth, height, width] => vec![images, depth, c1, height, width, c0],
                    [height, width] => vec![images, c1, height, width, c0],
                    ref width => [&[images, c1, 1], width, &[c0]].concat(),
                }
            }
            _ => dims.to_vec(),
        })
    }

    /// For each of the sizes of [`DeviceLayout::stored`] what is said of the axis of the network's view that it is of.
    pub(in crate::lower) fn along_stored<T: Copy>(self, axes: &[T]) -> Vec<T> {
        match (self, axes) {
            (DeviceLayout::Fractals, [stack @ .., rows, columns]) => {
                [stack, &[*columns, *rows, *rows, *columns]].concat()
            }
            (DeviceLayout::Channels(channels), &[images, ..]) if channels < axes.len() => {
                let space: Vec<T> = (1..axes.len()).filter(|&at| at != channels).map(|at| axes[at]).collect();
                let c = axes[channels];
                match *space {
                    [depth, height, width] => vec![images, depth, c, height, width, c],
                    [height, width] => vec![images, c, height, width, c],
                    // The height of one.
                    [width] => vec![images, c, width, width, c],
                    _ => axes.to_vec(),
                }
            }
            _ => axes.to_vec(),
        }
    }

    /// The sizes in which CANN stores the filter of a convolution of one group that works in this layout, as `FRACTAL_Z`
    /// and `FRACTAL_Z_3D`. A filter that does not say its axes has them as the image has.
    pub fn stored_filter(self, desc: &TensorDesc, stored: DataType) -> Option<Vec<i64>> {
        let channels_last = matches!(self, DeviceLayout::Channels(axis) if axis > 1);
        let (taps, channels, filters) = match (desc.format, desc.shape.known()?) {
            (Format::Nhwc | Format::Ndhwc, [n, taps @ .., c]) => (taps, c, n),
            (Format::Nchw | Format::Ncdhw, [n, c, taps @ ..]) => (taps, c, n),
            (Format::Hwcn | Format::Dhwcn, [taps @ .., c, n]) => (taps, c, n),
            (_, [taps @ .., c, n]) if channels_last => (taps, c, n),
            (_, [n, c, taps @ ..]) => (taps, c, n),
            _ => return None,
        };
        let c0 = block(stored);
        let depth = taps.iter().try_fold(blocks(*channels, c0), |k, &tap| k.checked_mul(tap))?;
        Some(vec![depth, blocks(*filters, EDGE), EDGE, c0])
    }
}
