//! Elementwise work and reductions.

use super::stored::reduce_along;
use super::{Scene, collapse, tensors};
use crate::graph::TensorDesc;
use crate::graph::infer::pool::Pooling;
use crate::graph::infer::{norm, reduce};
use crate::graph::op::Kind;
use crate::status::Result;
use crate::tiling::vector::axes;
use crate::workload::{Collective, CollectiveKind, Move, Operand, Reduce, Vector, Workload};

/// Operators whose operands may trade places: the same work whichever comes first.
fn is_commutative(op_type: &str) -> bool {
    let arithmetic = matches!(op_type, "Add" | "AddV2" | "AddN" | "AccumulateNV2" | "Mul" | "SquaredDifference");
    arithmetic || matches!(op_type, "Maximum" | "Minimum" | "Equal" | "NotEqual" | "LogicalAnd" | "LogicalOr")
}

impl Scene<'_> {
    /// Elementwise work; operands keep what they do not broadcast.
    pub(super) fn elementwise(&self) -> Result<Option<Workload>> {
        self.results()?;
        let stored = |desc: &TensorDesc, read: bool| tensors::stored(self.node(), desc, read, self.settings.precision);
        if matches!(self.node().op_type.as_str(), "Cast" | "CastLike") {
            let from = self.call.get(0).map(|d| stored(d, true));
            if from == self.node().outputs.first().map(|d| stored(d, false)) {
                return Ok(None);
            }
        }
        if self.node().op_type.starts_with("BatchNorm") && self.call.flag(&["is_training"], true) {
            return self.reduction();
        }
        let whole = self.output_dims()?;
        let inputs = self.elementwise_inputs(&whole)?;
        let results: Vec<&TensorDesc> = self.node().outputs.iter().filter(|d| d.shape.known().is_some()).collect();
        let shapes = inputs.iter().chain(&results).map(|d| self.aligned(d, &whole)).collect::<Result<Vec<_>>>()?;
        let merged = match collapse::elementwise(&shapes, &whole) {
            Some(merged) => merged,
            // Operands that do not broadcast (regions, grids, optimiser scalars) are read as they lie.
            None => shapes.iter().map(|s| self.product_of(s).map(|n| vec![n])).collect::<Result<_>>()?,
        };
        let types = inputs.iter().map(|d| stored(d, true)).chain(results.iter().map(|d| stored(d, false)));
        let mut operands: Vec<_> = merged.into_iter().zip(types).map(|(shape, t)| Operand::new(shape, t)).collect();
        let outputs = operands.split_off(inputs.len());
        if is_commutative(&self.node().op_type) {
            operands.sort_by_key(|o| std::cmp::Reverse(o.elements()));
        }
        Ok(Some(Workload::Vector(Vector { op_type: self.op_type(), inputs: operands, outputs })))
    }

    /// What the kernel reads: constants that do not broadcast (scales, sizes) are its parameters.
    fn elementwise_inputs(&self, whole: &[u64]) -> Result<Vec<&TensorDesc>> {
        let mut inputs = Vec::with_capacity(self.call.arity());
        for (is_constant, desc) in self.data_inputs() {
            if !is_constant || collapse::elementwise(&[self.aligned(desc, whole)?], whole).is_some() {
                inputs.push(desc);
            }
        }
        Ok(inputs)
    }

    /// Sizes of an operand; a vector of channels lies along the channel axis of the result.
    fn aligned(&self, desc: &TensorDesc, whole: &[u64]) -> Result<Vec<u64>> {
        let dims = self.dims(desc)?;
        let (&[count], Kind::PerChannel, 3..) = (dims.as_slice(), self.kind, whole.len()) else { return Ok(dims) };
        let channel = if self.channels_last(whole.len()) { whole.len() - 1 } else { 1 };
        if whole[channel] != count || count == 1 {
            return Ok(dims);
        }
        let mut along = vec![1; whole.len() - channel];
        along[0] = count;
        Ok(along)
    }

    /// Whether the channels of the first input, an image of this many axes, are its last.
    fn channels_last(&self, rank: usize) -> bool {
        self.call.channels_last(self.call.format(0), rank)
    }

    /// Work along an axis.
    pub(super) fn reduction(&self) -> Result<Option<Workload>> {
        let reduced = self.reduced_axes()?;
        let [outer, axis, inner] = match &reduced {
            Some(of) => axes::rows(of.iter().copied()).ok_or_else(|| self.overflow())?,
            None => self.rows()?,
        };
        let (inputs, outputs) = (self.flat_inputs()?, self.results()?);
        if outer == 0 || axis == 0 || inner == 0 {
            return Ok(Some(self.fill(outputs)));
        }
        // A reduction that names no axes of its tensor copies.
        if reduced.as_ref().is_some_and(|of| !of.is_empty() && of.iter().all(|axis| !axis.1)) {
            return Ok(Some(Workload::Move(Move { op_type: self.op_type(), run_bytes: 0, inputs, outputs })));
        }
        let mut w = Reduce { op_type: self.op_type(), outer, axis, inner, inputs, outputs };
        if let Some(of) = reduced {
            reduce_along(&mut w, &of);
        }
        Ok(Some(Workload::Reduce(w)))
    }

    /// Sizes of what a reduction reads, and which of them are reduced; `None` of other work, and where the axes are not
    /// constant.
    fn reduced_axes(&self) -> Result<Option<Vec<(u64, bool)>>> {
        if self.kind != Kind::ReduceAxes {
            return Ok(None);
        }
        let dims = self.input_dims(0)?;
        let reduced = reduce::reduced(&self.call, dims.len()).map_err(|r| self.error(r))?;
        Ok(reduced.map(|reduced| dims.into_iter().zip(reduced).collect()))
    }

    /// A result that depends on no element: it is only written.
    pub(super) fn fill(&self, outputs: Vec<Operand>) -> Workload {
        Workload::Move(Move { op_type: self.op_type(), run_bytes: 0, inputs: Vec::new(), outputs })
    }

    /// Rows, reduced elements and lanes of a reduction.
    fn rows(&self) -> Result<[u64; 3]> {
        let dims = self.input_dims(0)?;
        let whole = self.product_of(&dims)?;
        match self.kind {
            Kind::ReduceAll => Ok([1, whole, 1]),
            Kind::ReduceAxes => self.flagged_rows(&dims, None),
            Kind::AlongAxis if dims.is_empty() => Ok([1, 1, 1]),
            Kind::AlongAxis => {
                let axes = reduce::along(&self.call, dims.len()).map_err(|r| self.error(r))?;
                self.flagged_rows(&dims, axes)
            }
            Kind::LayerNorm => self.norm_rows(&dims, whole),
            Kind::Pool => self.pool_rows(&dims),
            _ => self.channel_rows(&dims, whole),
        }
    }

    fn flagged_rows(&self, dims: &[u64], reduced: Option<Vec<bool>>) -> Result<[u64; 3]> {
        if let Some(reduced) = reduced {
            return axes::rows(dims.iter().copied().zip(reduced)).ok_or_else(|| self.overflow());
        }
        // The axes are not constant: only how much smaller the result is tells something.
        let (whole, kept) = (self.product_of(dims)?, self.product_of(&self.output_dims()?)?);
        Ok([kept, whole.checked_div(kept).unwrap_or(0).max(1), 1])
    }

    fn norm_rows(&self, dims: &[u64], whole: u64) -> Result<[u64; 3]> {
        let name = self.node().op_type.as_str();
        let gamma = |input: usize| self.input_dims(input).and_then(|d| self.product_of(&d));
        if name.starts_with("LayerNormBetaGamma") {
            let lanes = self.product_of(&self.output_dims()?)?;
            return Ok([1, whole.checked_div(lanes).unwrap_or(0), lanes]);
        }
        let axis = match name {
            "RmsNormGrad" => gamma(3)?,
            _ if name.starts_with("LayerNorm") && (name.contains("Grad") || name.contains("Backprop")) => gamma(4)?,
            _ => {
                let begin = norm::begin_axis(&self.call, dims.len().max(1)).map_err(|r| self.error(r))?;
                self.product_of(dims.get(begin..).unwrap_or_default())?
            }
        };
        Ok([whole.checked_div(axis).unwrap_or(0), axis, 1])
    }

    /// Rows of kernels that treat each channel on its own. The image formats have the channels
    /// innermost, so channels are lanes.
    fn channel_rows(&self, dims: &[u64], whole: u64) -> Result<[u64; 3]> {
        let [batch, .., _] = dims else { return Ok([1, whole, 1]) };
        let channel = if self.channels_last(dims.len()) { dims.len() - 1 } else { 1 };
        let (batch, channels) = (*batch, dims[channel]);
        let space = whole.checked_div(batch.checked_mul(channels).ok_or_else(|| self.overflow())?).unwrap_or(0);
        Ok(match self.kind {
            Kind::InstanceNorm => [batch * channels, space, 1],
            Kind::GroupNorm => {
                let groups = u64::try_from(self.call.int(&["num_groups"]).unwrap_or(1)).unwrap_or(1).max(1);
                let rows = self.product_of(&[batch, groups])?;
                [rows, whole.checked_div(rows).unwrap_or(0), 1]
            }
            Kind::ChannelWindow => {
                let radius = self.call.int(&["depth_radius"]).unwrap_or(2).clamp(0, i64::from(u32::MAX));
                let window = self.call.int(&["local_size"]).filter(|&n| n > 0).unwrap_or(2 * radius + 1);
                [self.product_of(&[batch, space])?, window.unsigned_abs(), channels]
            }
            Kind::GlobalPool => [batch, space, channels],
            _ => [1, self.product_of(&[batch, space])?, channels],
        })
    }

    fn pool_rows(&self, dims: &[u64]) -> Result<[u64; 3]> {
        // Pooling to a given size has no window of its own, gradients of average pooling no image.
        let sized = self.node().op_type.starts_with("Adaptive")
            || self.node().op_type.contains("AvgPool") && { self.node().op_type.contains("Grad") };
        if sized {
            let (a, b) = (self.product_of(dims)?, self.product_of(&self.output_dims()?)?);
            let (small, large) = (a.min(b), a.max(b));
            return Ok([small, large.checked_div(small).unwrap_or(0).max(1), 1]);
        }
        let pooling = Pooling::of(&self.call).map_err(|r| self.error(r))?;
        let pooling = pooling.ok_or_else(|| self.error("its input has no known rank"))?;
        let (mut pixels, mut window) = (self.size(pooling.batch)?, 1);
        for axis in &pooling.axes {
            pixels = self.product_of(&[pixels, self.size(axis.output)?])?;
            window = self.product_of(&[window, self.size(axis.kernel)?])?;
        }
        let channels = self.size(pooling.channels)?;
        self.product_of(&[pixels, window, channels])?;
        Ok([pixels, window, channels])
    }

    /// Exchange between devices.
    pub(super) fn collective(&self) -> Result<Option<Workload>> {
        let name = self.node().op_type.to_ascii_lowercase();
        let kind = match name.as_str() {
            _ if name.contains("gather") => CollectiveKind::AllGather,
            _ if name.contains("scatter") => CollectiveKind::ReduceScatter,
            _ if name.contains("alltoall") => CollectiveKind::AllToAll,
            _ if name.contains("broadcast") => CollectiveKind::Broadcast,
            _ => CollectiveKind::AllReduce,
        };
        // One call may exchange several tensors; what it sends is what counts. Devices exchange what the graph states:
        // the precision is that of operators.
        let mut bytes = 0u64;
        for (_, desc) in self.data_inputs() {
            let sum = bytes.checked_add(self.flat_of(desc, desc.dtype)?.bytes());
            bytes = sum.ok_or_else(|| self.overflow())?;
        }
        Ok(Some(Workload::Collective(Collective { kind, bytes })))
    }
}
