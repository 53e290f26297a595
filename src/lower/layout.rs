//! Layouts on the device: which shapes are free views of one another in each, and which operators can work in it.

use crate::graph::infer::dim::Reason;
use crate::graph::infer::window::Layout as ImageLayout;
use crate::graph::infer::{Call, norm, reduce};
use crate::graph::op::Kind;
use crate::graph::{DataType, Format, TensorDesc};

mod sizes;
#[cfg(test)]
mod tests;

pub use sizes::stored_groups;

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
