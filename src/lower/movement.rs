//! Data movement: what is read, what is written, and how much of it stays together.

use super::Scene;
use super::layout::DeviceLayout;
use super::tensors::{self, Layouts};
use crate::graph::infer::movement;
use crate::graph::infer::slice::{self, Stride};
use crate::graph::op::Kind;
use crate::graph::{DataType, TensorDesc};
use crate::status::Result;
use crate::workload::{Move, Operand, Workload};

impl Scene<'_> {
    /// Moves elements without computing.
    pub(super) fn movement(&self) -> Result<Option<Workload>> {
        let workload = match self.kind {
            _ if tensors::layouts(self.node()).is_some() => self.converted()?,
            Kind::Transpose => self.transposed()?,
            Kind::Join => self.joined()?,
            Kind::Split => self.split()?,
            Kind::Slice => self.sliced()?,
            Kind::Gather => self.gathered()?,
            _ => self.copied()?,
        };
        Ok(Some(Workload::Move(workload)))
    }

    fn bytes_of(dtype: DataType, elements: u64) -> u64 {
        elements.saturating_mul(u64::from(dtype.bits())).div_ceil(8)
    }

    fn whole(&self, run_bytes: u64, inputs: Vec<Operand>, outputs: Vec<Operand>) -> Move {
        Move { op_type: self.op_type(), run_bytes, inputs, outputs }
    }

    /// A tensor from one layout to another, and where a transpose went into that, with its axes in another order: blocks
    /// are filled up.
    fn converted(&self) -> Result<Move> {
        let layouts = tensors::layouts(self.node()).unwrap_or(Layouts::PLAIN);
        let x = self.call.need(0).map_err(|r| self.error(r))?;
        let y = self.node().outputs.first().unwrap_or(x);
        let dtype = self.stored(x.dtype);
        let operand = |desc: &TensorDesc, layout: DeviceLayout| {
            let elements = layout.padded(desc, dtype).filter(|n| n.checked_mul(u64::from(dtype.bits())).is_some());
            elements.map(|n| Operand::new([n], dtype)).ok_or_else(|| self.overflow())
        };
        // How much of it stays together is read off its operands as they are stored.
        Ok(self.whole(0, vec![operand(x, layouts.works)?], vec![operand(y, layouts.result)?]))
    }

    fn transposed(&self) -> Result<Move> {
        let x = self.call.need(0).map_err(|r| self.error(r))?;
        let dtype = self.stored(x.dtype);
        if self.node().op_type.starts_with("Confusion") {
            return self.confused(dtype);
        }
        let dims = self.dims(x)?;
        let order = movement::permutation(&self.call, dims.len()).map_err(|r| self.error(r))?;
        let Some(order) = order else { return self.copied() };
        Ok(super::transposed(&self.op_type(), &dims, &order, dtype, self.soc))
    }

    /// A transpose and a view.
    fn confused(&self, dtype: DataType) -> Result<Move> {
        let Some((dims, order, _)) = movement::confused(&self.call).map_err(|r| self.error(r))? else {
            return self.copied();
        };
        let is_order = (0..dims.len()).all(|axis| order.iter().filter(|&&at| at == axis).count() == 1);
        if !is_order || dims.len() != order.len() {
            return Err(self.error(format!("{order:?} is no order of {} axes", dims.len())));
        }
        let sizes: Vec<u64> = dims.iter().map(|size| size.unsigned_abs()).collect();
        Ok(super::transposed(&self.op_type(), &sizes, &order, dtype, self.soc))
    }

    /// Whether a transpose moves axes of size 1 only: GE makes a view of it (`Dim1TransposeToSqueeze`).
    pub(super) fn moves_nothing(&self) -> Result<bool> {
        if self.node().op_type.starts_with("Confusion") {
            return Ok(false);
        }
        let dims = self.input_dims(0)?;
        let order = movement::permutation(&self.call, dims.len()).map_err(|r| self.error(r))?;
        Ok(order.is_some_and(|order| super::collapse::transpose(&dims, &order).1.len() <= 1))
    }

    /// A tensor as rows of what it has from `axis` on, or flat where there is only one row.
    fn rows_from(&self, desc: &TensorDesc, axis: usize) -> Result<Operand> {
        let dims = self.dims(desc)?;
        let at = axis.min(dims.len());
        let (rows, row) = (self.product_of(&dims[..at])?, self.product_of(&dims[at..])?);
        let shape = if rows == 1 { vec![row] } else { vec![rows, row] };
        Ok(Operand::new(shape, self.stored(desc.dtype)))
    }

    /// The shortest row of these operands in bytes; 0 where each is one row.
    fn shortest(operands: &[Operand]) -> u64 {
        let rows = operands.iter().filter(|o| o.shape.len() > 1);
        rows.filter_map(|o| o.shape.last().map(|&row| Self::bytes_of(o.dtype, row))).min().unwrap_or(0)
    }

    fn joined(&self) -> Result<Move> {
        let rank = self.output_dims()?.len();
        let (tensors, axis) = match self.node().op_type.as_str() {
            "Pack" | "Stack" => ((0..self.call.arity()).collect(), self.call.int(&["axis"])),
            _ => {
                let (tensors, axis) = movement::joined(&self.call).map_err(|r| self.error(r))?;
                (tensors, axis.scalar(0))
            }
        };
        let axis = self.axis(axis.unwrap_or(0), rank)?;
        let read = tensors.iter().filter_map(|&i| self.call.get(i)).map(|d| self.rows_from(d, axis));
        let read: Vec<_> = read.filter(|o| !o.as_ref().is_ok_and(|o| o.elements() == 0)).collect::<Result<_>>()?;
        let written = self.node().outputs.iter().take(1).map(|d| self.rows_from(d, axis)).collect::<Result<_>>()?;
        Ok(self.whole(Self::shortest(&read), read, written))
    }

    fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        crate::graph::infer::dim::axis(axis, rank.max(1)).map_err(|r| self.error(r))
    }

    fn split(&self) -> Result<Move> {
        let (x, axis) = match self.node().op_type.as_str() {
            "Unpack" | "Unstack" => (self.call.need(0).map_err(|r| self.error(r))?, self.call.int(&["axis"])),
            _ => {
                let plan = movement::SplitPlan::of(&self.call).map_err(|r| self.error(r))?;
                (plan.x, plan.axis)
            }
        };
        let axis = self.axis(axis.unwrap_or(0), self.dims(x)?.len())?;
        let read = vec![self.rows_from(x, axis)?];
        let parts = self.node().outputs.iter().filter(|d| d.shape.known().is_some());
        let written: Vec<_> = parts.map(|d| self.rows_from(d, axis)).collect::<Result<_>>()?;
        let written: Vec<_> = written.into_iter().filter(|o| o.elements() > 0).collect();
        Ok(self.whole(Self::shortest(&written), read, written))
    }

    /// Only the part that is taken is read.
    fn sliced(&self) -> Result<Move> {
        let x = self.call.need(0).map_err(|r| self.error(r))?;
        let dims = x.shape.known().unwrap_or_default();
        let out = self.output_dims()?;
        let strides = if self.node().op_type.starts_with("Strided") {
            slice::strides_of(&self.call, dims).map_err(|r| self.error(r))?
        } else {
            None
        };
        let taken: Vec<(u64, bool)> = match strides {
            Some(strides) => strides.iter().filter(|s| !s.inserted).map(taken).collect(),
            None if out.len() == dims.len() => out.iter().map(|&n| (n, true)).collect(),
            None => return self.copied(),
        };
        let dtype = self.stored(x.dtype);
        let run = contiguous(dims, &taken).map_or(0, |n| Self::bytes_of(dtype, n));
        let part = Operand::new([self.product_of(&out)?], dtype);
        Ok(self.whole(run, vec![part.clone()], vec![part]))
    }

    /// Only the rows that are picked are read, and the indices.
    fn gathered(&self) -> Result<Move> {
        let (x, indices) = (self.call.need(0), self.call.need(1));
        let (x, indices) = (x.map_err(|r| self.error(r))?, indices.map_err(|r| self.error(r))?);
        let dims = self.dims(x)?;
        let below = match self.node().op_type.as_str() {
            "GatherNd" => {
                let depth = self.dims(indices)?.last().copied().unwrap_or(0);
                let batch = self.call.int(&["batch_dims"]).unwrap_or(0).unsigned_abs();
                usize::try_from(depth.saturating_add(batch)).ok()
            }
            "GatherElements" | "GatherD" => Some(dims.len()),
            _ => self.call.axis(2, &["axis"], 0, dims.len()).map_err(|r| self.error(r))?.map(|a| a + 1),
        };
        let row = self.product_of(below.and_then(|b| dims.get(b..)).unwrap_or_default())?;
        let dtype = self.stored(x.dtype);
        let picked = Operand::new([self.product_of(&self.output_dims()?)?], dtype);
        Ok(self.whole(Self::bytes_of(dtype, row), vec![picked.clone(), self.flat(indices)?], vec![picked]))
    }

    /// Anything else: every tensor once. What lies together is what input and output have in common
    /// from the last axis on.
    fn copied(&self) -> Result<Move> {
        let (inputs, outputs) = (self.flat_inputs()?, self.results()?);
        let run = match (self.call.get(0), self.node().outputs.first()) {
            (Some(x), Some(y)) if super::is_known(self.node()) => self.common_run(x, y)?,
            _ => 0,
        };
        Ok(self.whole(run, inputs, outputs))
    }

    fn common_run(&self, x: &TensorDesc, y: &TensorDesc) -> Result<u64> {
        let dtype = self.stored(x.dtype);
        match self.node().op_type.as_str() {
            // A unit of these formats is 32 bytes of channels.
            "TransData" | "TransDataRNN" => return Ok(32),
            "DepthToSpace" | "SpaceToDepth" | "PixelShuffle" | "PixelUnshuffle" | "PassThrough" => {
                let narrow = |d: &TensorDesc| d.shape.known().and_then(|s| s.last().copied()).unwrap_or(1);
                let last_axis = narrow(x).min(narrow(y)).unsigned_abs();
                let channels_last = self.call.channels_last(self.call.format(0), x.shape.rank().unwrap_or(0));
                return Ok(Self::bytes_of(dtype, if channels_last { last_axis } else { 1 }));
            }
            _ => {}
        }
        let (from, to) = (self.dims(x)?, self.dims(y)?);
        if from == to {
            return Ok(0);
        }
        let mut run = 1u64;
        for (&a, &b) in from.iter().rev().zip(to.iter().rev()) {
            run = self.product_of(&[run, a.min(b)])?;
            if a != b {
                break;
            }
        }
        Ok(Self::bytes_of(dtype, run.max(1)))
    }
}

/// Elements taken along an axis, and whether they are neighbours.
fn taken(stride: &Stride) -> (u64, bool) {
    (stride.count.max(0).unsigned_abs(), stride.step == 1 || stride.count == 1)
}

/// Elements of a slice that lie together in the source; `None` when all of it does.
fn contiguous(dims: &[i64], taken: &[(u64, bool)]) -> Option<u64> {
    let mut run = 1u64;
    for (axis, (&size, &(count, neighbours))) in dims.iter().zip(taken).enumerate().rev() {
        if !neighbours {
            return Some(run);
        }
        run = run.saturating_mul(count);
        let single_before = taken[..axis].iter().all(|&(n, _)| n == 1);
        if count != size.unsigned_abs() {
            return if single_before { None } else { Some(run) };
        }
    }
    None
}
