//! Layouts on the device: which shapes are free views of one another in each, and which operators can work in it.

use crate::graph::infer::conv::Convolution;
use crate::graph::infer::dim::Reason;
use crate::graph::infer::window::Layout as ImageLayout;
use crate::graph::infer::{Call, norm, reduce};
use crate::graph::op::Kind;
use crate::graph::{DataType, Format, TensorDesc};

/// How a tensor lies on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceLayout {
    /// As the network has it.
    Plain,
    /// An image in blocks of C0 channels: NC1HWC0, with a depth NDC1HWC0. The number is the place of the channels in
    /// the network's view.
    Channels(usize),
    /// Matrices in fractals of 16 x C0: `FRACTAL_NZ`.
    Fractals,
}

/// Edge of a fractal, and C0 of the types of two bytes, in elements.
const EDGE: i64 = 16;

/// Elements in a block: 32 bytes (facts: C0). float32 keeps the blocks of the float16 that the cube works on.
fn block(dtype: DataType) -> i64 {
    if dtype.bits() <= 8 { 2 * EDGE } else { EDGE }
}

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

/// Whether an operator goes from blocks of one size to those of another by itself.
fn is_quantisation(op_type: &str) -> bool {
    matches!(op_type, "AscendQuant" | "AscendDequant" | "AscendRequant")
}

/// Whether all that an operator reads whole lies in blocks of the size that its result has.
fn has_one_block(call: &Call<'_>, result: &TensorDesc) -> bool {
    let is_whole = |desc: &TensorDesc| desc.shape.elements() == result.shape.elements();
    call.connected().all(|(_, desc)| !is_whole(desc) || block(desc.dtype) == block(result.dtype))
}

impl DeviceLayout {
    /// CANN's format of a tensor that lies so, where there is one.
    pub fn format(self, desc: &TensorDesc) -> Format {
        match (self, desc.shape.rank()) {
            (DeviceLayout::Plain, _) => desc.format,
            _ if !self.holds(desc) => desc.format,
            (DeviceLayout::Channels(_), Some(5)) => Format::Ndc1hwc0,
            (DeviceLayout::Channels(_), _) => Format::Nc1hwc0,
            (DeviceLayout::Fractals, _) => Format::FractalNz,
        }
    }

    /// The layout of an image of this rank.
    pub(super) fn image(call: &Call<'_>, desc: &TensorDesc) -> DeviceLayout {
        let layout = desc.shape.rank().and_then(|rank| ImageLayout::of(call, desc.format, rank).ok());
        layout.map_or(DeviceLayout::Plain, |layout| DeviceLayout::Channels(layout.channel()))
    }

    /// The layout of a tensor that is made in this one with sizes `from` and read with sizes `to`; `None` where bytes
    /// have to move.
    pub(super) fn viewed(self, from: &[i64], to: &[i64]) -> Option<DeviceLayout> {
        let keeps = |axis: usize| from.get(axis) == to.get(axis);
        let ends_alike = |count: usize| from.iter().rev().take(count).eq(to.iter().rev().take(count));
        let free = match self {
            DeviceLayout::Plain => true,
            _ if from == to => true,
            // Stacks may be regrouped.
            DeviceLayout::Fractals => from.len() > 1 && ends_alike(2),
            // The space may be; a depth stands before the channels.
            DeviceLayout::Channels(1) => is_image(from, to) && keeps(0) && keeps(1) && (to.len() < 5 || keeps(2)),
            DeviceLayout::Channels(_) => is_image(from, to) && keeps(0) && ends_alike(1) && (to.len() < 5 || keeps(1)),
        };
        free.then(|| match self {
            DeviceLayout::Channels(axis) if axis > 1 => DeviceLayout::Channels(to.len() - 1),
            same => same,
        })
    }

    /// The layout of the result of an operator that works in this one; `None` where it cannot.
    pub(super) fn through(self, call: &Call<'_>, kind: Kind) -> Option<DeviceLayout> {
        let result = call.node.outputs.first()?;
        let works = match kind {
            Kind::Elementwise | Kind::PerChannel => {
                let whole = result.shape.known()?;
                let broadcasts = |desc: &TensorDesc| self.broadcasts(kind, desc, whole, block(result.dtype));
                self.holds(result)
                    && call.connected().all(|(_, desc)| broadcasts(desc))
                    && (is_quantisation(&call.node.op_type) || has_one_block(call, result))
            }
            Kind::ReduceAxes => self.reduces(call, reduce::reduced),
            Kind::AlongAxis => self.reduces(call, reduce::along),
            Kind::LayerNorm => self.reduces(call, |call, rank| {
                let begin = norm::begin_axis(call, rank.max(1))?;
                Ok(Some((0..rank).map(|axis| axis >= begin).collect()))
            }),
            Kind::InstanceNorm | Kind::GroupNorm | Kind::ChannelStats | Kind::ChannelWindow => {
                matches!(self, DeviceLayout::Channels(_)) && self.holds(result)
            }
            Kind::Join | Kind::Split | Kind::Slice | Kind::Move => self.moves(call, result),
            Kind::Transpose => self.turns(call, result),
            _ => false,
        };
        let same_rank = call.get(0).is_some_and(|x| x.shape.rank() == result.shape.rank());
        let keeps = same_rank || matches!(kind, Kind::Elementwise | Kind::Transpose);
        works.then_some(if keeps { self } else { DeviceLayout::Plain })
    }

    /// Whether there is such a tensor in this layout.
    pub(super) fn holds(self, desc: &TensorDesc) -> bool {
        let rank = desc.shape.known().map_or(0, <[i64]>::len);
        match self {
            DeviceLayout::Plain => true,
            DeviceLayout::Channels(axis) => (3..=5).contains(&rank) && axis < rank,
            DeviceLayout::Fractals => rank > 1,
        }
    }

    /// Elements of a tensor with those that fill up its blocks; `None` where 64 bits cannot count them.
    pub(super) fn padded(self, desc: &TensorDesc, stored: DataType) -> Option<u64> {
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
    pub(super) fn along_stored<T: Copy>(self, axes: &[T]) -> Vec<T> {
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

    /// Whether parts along an axis lie one behind the other in the whole: no axis of more than one element stands before
    /// it on the device.
    pub(super) fn comes_first(self, dims: &[i64], axis: usize) -> bool {
        let rank = dims.len();
        let blocks = |axis: usize| (dims[axis] + EDGE - 1) / EDGE;
        let are_one = |axes: std::ops::Range<usize>| axes.into_iter().all(|axis| dims[axis] == 1);
        match self {
            DeviceLayout::Plain => are_one(0..axis),
            // Stacks, columns of blocks, rows.
            DeviceLayout::Fractals if rank < 2 => false,
            DeviceLayout::Fractals if axis + 2 == rank => are_one(0..rank - 2) && blocks(rank - 1) == 1,
            DeviceLayout::Fractals => are_one(0..axis.min(rank - 2)),
            // The batch, a depth, blocks of channels, the rest of the space.
            DeviceLayout::Channels(channels) if axis == channels => {
                are_one(0..1) && (rank < 5 || dims[if channels == 1 { 2 } else { 1 }] == 1)
            }
            DeviceLayout::Channels(_) if axis == 0 => true,
            DeviceLayout::Channels(_) => false,
        }
    }

    /// Whether a part of a tensor ends where its blocks end along an axis.
    pub(super) fn cuts_whole_blocks(self, part: &TensorDesc, axis: usize) -> bool {
        let Some(dims) = part.shape.known() else { return false };
        let unit = if self.blocked(dims.len()).last() == Some(&axis) { block(part.dtype) } else { EDGE };
        !self.blocked(dims.len()).contains(&axis) || dims.get(axis).is_some_and(|size| size % unit == 0)
    }

    /// The axes that are cut into blocks, which are padded.
    fn blocked(self, rank: usize) -> Vec<usize> {
        match self {
            DeviceLayout::Plain => Vec::new(),
            DeviceLayout::Channels(axis) => vec![axis],
            DeviceLayout::Fractals => (rank.saturating_sub(2)..rank).collect(),
        }
    }

    /// Whether an operand can be stretched to the `whole`: what is padded along an axis cannot be repeated along it. A row
    /// of whole blocks may stay plain beside fractals.
    fn broadcasts(self, kind: Kind, desc: &TensorDesc, whole: &[i64], block: i64) -> bool {
        let Some(dims) = desc.shape.known() else { return false };
        if desc.shape.elements() == Some(1) || matches!((self, kind), (DeviceLayout::Channels(_), Kind::PerChannel)) {
            return true;
        }
        let Some(missing) = whole.len().checked_sub(dims.len()) else { return false };
        let size = |axis: usize| axis.checked_sub(missing).map_or(1, |axis| dims[axis]);
        let is_whole = |axis: usize| size(axis) == whole[axis];
        let is_row = self == DeviceLayout::Fractals && dims.last() == whole.last() && size(whole.len() - 2) == 1;
        is_row && whole.last().is_some_and(|n| n % block == 0) || self.blocked(whole.len()).into_iter().all(is_whole)
    }

    /// Whether an elementwise operator that works in this layout reads an operand in it: all of it, or what is repeated along
    /// axes that are not cut into blocks. Numbers, parameters and rows are read as the network has them.
    pub(super) fn reads_in_blocks(self, desc: &TensorDesc, whole: &TensorDesc) -> bool {
        let (Some(dims), Some(whole)) = (desc.shape.known(), whole.shape.known()) else { return false };
        let Some(missing) = whole.len().checked_sub(dims.len()) else { return false };
        let size = |axis: usize| axis.checked_sub(missing).map_or(1, |axis| dims[axis]);
        let same_rank = missing == 0 || self == DeviceLayout::Fractals;
        dims == whole
            || same_rank
                && self.holds(desc)
                && self.blocked(whole.len()).into_iter().all(|axis| size(axis) == whole[axis])
    }

    /// Whether a reduction takes in no padding.
    fn reduces(
        self,
        call: &Call<'_>,
        gone: impl FnOnce(&Call<'_>, usize) -> Result<Option<Vec<bool>>, Reason>,
    ) -> bool {
        let Some(x) = call.get(0).filter(|x| self.holds(x)) else { return false };
        let dims = x.shape.known().unwrap_or_default();
        let Ok(Some(gone)) = gone(call, dims.len()) else { return false };
        self.blocked(dims.len()).into_iter().all(|axis| !gone[axis] || dims[axis] % block(x.dtype) == 0)
    }

    /// Whether a transpose works in this layout: a `ConfusionTransposeD` moves whole fractals, in which what it reads and
    /// what it writes must end.
    pub(super) fn turns(self, call: &Call<'_>, result: &TensorDesc) -> bool {
        let in_fractals = |desc: &TensorDesc| {
            let dims = desc.shape.known().unwrap_or_default();
            let blocked = self.blocked(dims.len());
            self.holds(desc) && blocked.into_iter().all(|axis| dims[axis] % block(desc.dtype) == 0)
        };
        let is_confusion = call.node.op_type.starts_with("ConfusionTranspose");
        self == DeviceLayout::Fractals && is_confusion && call.get(0).is_some_and(in_fractals) && in_fractals(result)
    }

    /// Whether movement leaves the blocks whole.
    fn moves(self, call: &Call<'_>, result: &TensorDesc) -> bool {
        let rank = result.shape.rank();
        let tensors = || call.connected().map(|(_, desc)| desc).filter(|d| d.shape.rank() == rank).chain([result]);
        let along = |axis: usize| tensors().filter_map(move |d| d.shape.known()?.get(axis).copied());
        let stays = |axis: usize| {
            let first = along(axis).next();
            along(axis).all(|size| Some(size) == first) || along(axis).all(|size| size % block(result.dtype) == 0)
        };
        self.holds(result) && tensors().count() > 1 && self.blocked(rank.unwrap_or(0)).into_iter().all(stays)
    }
}

/// Whether both are sizes of images, with or without depth.
fn is_image(from: &[i64], to: &[i64]) -> bool {
    [from, to].iter().all(|dims| (3..=5).contains(&dims.len())) && (from.len() == 5) == (to.len() == 5)
}

#[cfg(test)]
mod tests {
    use super::DeviceLayout::{self, Channels, Fractals, Plain};
    use super::{EDGE, stored_groups};
    use crate::graph::infer::conv::Convolution;
    use crate::graph::infer::{Call, Values};
    use crate::graph::op::ConvPass;
    use crate::graph::{Attr, Constant, DataType, Format, Graph, Node, Shape, TensorDesc};
    use proptest::prelude::*;

    /// The elements of a tensor in the order in which they lie on the device, padding as `None`.
    fn placed(layout: DeviceLayout, dims: &[i64]) -> Vec<Option<i64>> {
        let padded = |n: i64| (n + EDGE - 1) / EDGE * EDGE;
        let element = |at: &[i64]| {
            let inside = at.iter().zip(dims).all(|(at, size)| at < size);
            inside.then(|| at.iter().zip(dims).fold(0, |sum, (at, size)| sum * size + at))
        };
        let mut elements = Vec::new();
        match layout {
            Plain => elements.extend((0..dims.iter().product::<i64>()).map(Some)),
            Channels(axis) => {
                // Batch, depth where there is one, blocks of channels, the rest of the space, channels of a block.
                let space: Vec<usize> = (1..dims.len()).filter(|&a| a != axis).collect();
                let (depth, rest) = space.split_at(usize::from(dims.len() == 5));
                let count = |axes: &[usize]| axes.iter().map(|&a| dims[a]).product::<i64>();
                for place in 0..dims[0] * count(depth) * padded(dims[axis]) * count(rest) {
                    let mut at = vec![0; dims.len()];
                    let (mut left, lane) = (place / EDGE, place % EDGE);
                    let mut take = |size: i64| {
                        let digit = left % size;
                        left /= size;
                        digit
                    };
                    for &a in rest.iter().rev() {
                        at[a] = take(dims[a]);
                    }
                    at[axis] = take(padded(dims[axis]) / EDGE) * EDGE + lane;
                    for &a in depth {
                        at[a] = take(dims[a]);
                    }
                    at[0] = take(dims[0]);
                    elements.push(element(&at));
                }
            }
            Fractals => {
                let [stacks @ .., rows, columns] = dims else { panic!("{dims:?}") };
                let (tall, wide) = (padded(*rows), padded(*columns));
                for place in 0..stacks.iter().product::<i64>() * tall * wide {
                    let (stack, within) = (place / (tall * wide), place % (tall * wide));
                    let (block, within) = (within / (tall * EDGE), within % (tall * EDGE));
                    let (row, column) = (within / EDGE, block * EDGE + within % EDGE);
                    let inside = row < *rows && column < *columns;
                    elements.push(inside.then(|| (stack * rows + row) * columns + column));
                }
            }
        }
        elements
    }

    /// Sizes with the same number of elements: parts of `factors`, in order.
    fn grouped(factors: &[i64], cuts: u32, most: usize) -> Vec<i64> {
        let mut dims = vec![1];
        for (bit, &factor) in factors.iter().enumerate() {
            if bit > 0 && cuts & 1 << bit != 0 && dims.len() < most {
                dims.push(1);
            }
            *dims.last_mut().unwrap() *= factor;
        }
        dims
    }

    proptest! {
        #[test]
        fn what_is_free_moves_no_byte(
            factors in prop::collection::vec(prop::sample::select(vec![1i64, 2, 3, 16]), 2..7),
            cuts in any::<[u32; 2]>(), which in 0..4usize,
        ) {
            let [from, to] = cuts.map(|cuts| grouped(&factors, cuts, 5));
            let layout = match which {
                0 => Plain,
                1 => Channels(1),
                2 => Channels(from.len() - 1),
                _ => Fractals,
            };
            let exists = match layout {
                Plain => true,
                Channels(_) => from.len() >= 3,
                Fractals => from.len() >= 2,
            };
            if exists {
                let desc = TensorDesc::new(DataType::Float16, Shape::new(&from[..]));
                let stored = layout.stored(&desc, DataType::Float16).unwrap();
                prop_assert_eq!(stored.iter().product::<i64>(), placed(layout, &from).len() as i64);
                // Each axis is in the sizes that are said to be of it, filled up where it is blocked.
                let axes: Vec<usize> = (0..from.len()).collect();
                let origins = layout.along_stored(&axes);
                prop_assert_eq!(origins.len(), stored.len());
                for axis in axes {
                    let of = stored.iter().zip(&origins).filter(|(_, origin)| **origin == axis);
                    let fills = if layout.blocked(from.len()).contains(&axis) { EDGE } else { 1 };
                    let size = (from[axis] + fills - 1) / fills * fills;
                    prop_assert_eq!(of.map(|(size, _)| size).product::<i64>(), size, "axis {} of {:?}", axis, from);
                }
            }
            if let Some(seen) = layout.viewed(&from, &to).filter(|_| exists) {
                prop_assert_eq!(placed(layout, &from), placed(seen, &to), "{:?}: {:?} as {:?}", layout, from, to);
            }
        }
    }

    fn desc(format: Format, dims: &[i64]) -> TensorDesc {
        TensorDesc { format, ..TensorDesc::new(DataType::Float16, Shape::new(dims)) }
    }

    #[test]
    fn sizes_are_those_of_canns_formats() {
        let image = desc(Format::Nchw, &[2, 40, 7, 9]);
        assert_eq!(Channels(1).stored(&image, DataType::Float16).unwrap(), [2, 3, 7, 9, 16]);
        assert_eq!(Channels(1).stored(&image, DataType::Int8).unwrap(), [2, 2, 7, 9, 32]);
        let volume = desc(Format::Ndhwc, &[2, 5, 7, 9, 40]);
        assert_eq!(Channels(4).stored(&volume, DataType::Float16).unwrap(), [2, 5, 3, 7, 9, 16]);
        let matrices = desc(Format::Nd, &[4, 20, 100]);
        assert_eq!(Fractals.stored(&matrices, DataType::Float16).unwrap(), [4, 7, 2, 16, 16]);
        let filter =
            |axis, format, dims: &[i64]| Channels(axis).stored_filter(&desc(format, dims), DataType::Float16).unwrap();
        assert_eq!(filter(1, Format::Nchw, &[64, 40, 3, 5]), [45, 4, 16, 16]);
        assert_eq!(filter(1, Format::Dhwcn, &[2, 3, 5, 40, 64]), [90, 4, 16, 16]);
        assert_eq!(filter(1, Format::Nd, &[64, 40, 3, 5]), [45, 4, 16, 16]);
        assert_eq!(filter(3, Format::Nd, &[3, 5, 40, 64]), [45, 4, 16, 16]);
    }

    #[test]
    fn filters_of_groups_share_blocks_until_their_channels_fill_them() {
        // [groups, channels of an image, filters, taps of an axis] as CANN stores them.
        let sizes = |groups: i64, channels: i64, filters: i64, kernel: i64| {
            let mut graph = Graph::new("g");
            let of = |dims: &[i64]| desc(Format::Nchw, dims);
            let x = graph.add_input("x", of(&[1, channels, 8, 8])).unwrap();
            let filter = [filters, channels / groups, kernel, kernel];
            let filter = graph.add_const("f", of(&filter), Constant::Opaque).unwrap();
            let mut node = Node::new("c", "Conv2D").with_inputs([x, filter]);
            let [strides, pads] = [1, 1].map(|n| Attr::Ints(vec![n; 4]));
            let attrs = [("strides", strides), ("pads", pads), ("groups", Attr::Int(groups))];
            for (name, value) in attrs {
                node.attrs.set(name, value);
            }
            let id = graph.add(node).unwrap();
            let values = Values::default();
            let call = Call::new(&graph, graph.node(id), &values);
            let read = Convolution::of(&call, ConvPass::Forward).unwrap().unwrap();
            stored_groups(&read, DataType::Float16).unwrap()
        };
        // Sixteen groups of one channel fill a block; the last of five are eight.
        assert_eq!(sizes(72, 72, 72, 3), [5 * 9, 1, 16, 16]);
        // AlexNet: 48 channels are three blocks, and 128 filters eight.
        assert_eq!(sizes(2, 96, 256, 5), [2 * 3 * 25, 8, 16, 16]);
        // Four groups of 12 channels and 20 filters: 48 and 80.
        assert_eq!(sizes(8, 96, 160, 3), [2 * 3 * 9, 5, 16, 16]);
        // There are no more than three groups: 36 channels of 48, 60 filters of 64.
        assert_eq!(sizes(3, 36, 60, 1), [3, 4, 16, 16]);
    }

    #[test]
    fn views_are_told_apart() {
        let free = |layout: DeviceLayout, from: &[i64], to: &[i64]| layout.viewed(from, to).is_some();
        assert!(free(Channels(1), &[2, 64, 14, 14], &[2, 64, 196, 1]));
        assert!(!free(Channels(1), &[2, 64, 14, 14], &[2, 64 * 196]));
        assert!(!free(Channels(1), &[2, 64, 14, 14], &[1, 128, 14, 14]));
        assert!(!free(Channels(1), &[2, 64, 3, 4, 4], &[2, 64, 12, 4]));
        assert_eq!(Channels(3).viewed(&[2, 14, 14, 64], &[2, 196, 64]), Some(Channels(2)));
        assert!(free(Fractals, &[4, 32, 128], &[2, 2, 32, 128]));
        assert!(!free(Fractals, &[4, 32, 128], &[128, 128]));
        assert!(free(Plain, &[4, 32, 128], &[7]));
    }
}
