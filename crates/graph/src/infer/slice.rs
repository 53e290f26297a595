//! Rules of slices: TensorFlow's masks and ONNX's axes.

use super::dim::{self, Reason, UNKNOWN};
use super::{Call, Inference, Inferred, Params};
use crate::Shape;

/// `Slice(x, offsets, size)`; a size of -1 takes the rest.
pub(crate) fn slice(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let offsets = call.params(1, &["offsets", "begin"]);
    let Some(sizes) = call.params(2, &["size"]).known().map(<[i64]>::to_vec) else {
        return Inferred::shape(x.dtype, dim::of_rank(dims.len()));
    };
    if sizes.len() != dims.len() || offsets.known().is_some_and(|o| o.len() != dims.len()) {
        return Err(format!("offsets and sizes do not have {} numbers", dims.len()));
    }
    let part = |i: usize| {
        let offset = offsets.known().map_or(UNKNOWN, |o| o[i]);
        match sizes[i] {
            -1 if offset < 0 || dims[i] < 0 => Ok(UNKNOWN),
            -1 if offset <= dims[i] => Ok(dims[i] - offset),
            size if size >= 0 && (dims[i] < 0 || offset.max(0).saturating_add(size) <= dims[i]) => Ok(size),
            size => Err(format!("{size} elements from {offset} on do not lie in an axis of {}", dims[i])),
        }
    };
    Inferred::dims(x.dtype, (0..dims.len()).map(part).collect::<Result<Vec<_>, _>>()?)
}

/// One axis of a strided slice, resolved: first element, step, number of elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stride {
    /// First element; meaningful where the count is known.
    pub start: i64,
    /// Step, negative for backwards.
    pub step: i64,
    /// Number of elements; -1 where it is not known.
    pub count: i64,
    /// The axis is dropped (`shrink_axis_mask`).
    pub dropped: bool,
    /// A new axis of size 1 that x does not have.
    pub inserted: bool,
}

/// Begin, end and step along an axis of `size`, clamped as ONNX and TensorFlow do.
fn stride(size: i64, begin: Option<i64>, end: Option<i64>, step: Option<i64>) -> Result<Stride, Reason> {
    if step == Some(0) {
        return Err("a step is 0".into());
    }
    let open = Stride { start: 0, step: step.unwrap_or(1), count: UNKNOWN, dropped: false, inserted: false };
    let (Some(begin), Some(end), Some(step), true) = (begin, end, step, size >= 0) else { return Ok(open) };
    let wrap = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
    let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let (start, limit) = (wrap(begin).clamp(low, high), wrap(end).clamp(low, high));
    let distance = if step > 0 { limit - start } else { start - limit };
    let pace = step.unsigned_abs().min(i64::MAX as u64) as i64;
    let count = if distance <= 0 { 0 } else { (distance - 1) / pace + 1 };
    Ok(Stride { start, count, ..open })
}

/// Every axis of the slice that the node takes, in the order of the result; `None` when not even the
/// axes are known.
pub fn strides_of(call: &Call<'_>, dims: &[i64]) -> Result<Option<Vec<Stride>>, Reason> {
    let list = |input: usize, attrs: &[&str]| -> Option<Vec<Option<i64>>> {
        if call.get(input).is_some() {
            return call.value(input).map(|v| v.partial_ints());
        }
        attrs.iter().find_map(|a| call.node.attrs.ints(a)).map(|v| v.iter().copied().map(Some).collect())
    };
    let named_axes = matches!(call.node.op_type.as_str(), "StridedSliceV2" | "StridedSliceV3");
    let (begin, end) = (list(1, &["begin"]), list(2, &["end"]));
    let pace_input = if named_axes { 4 } else { 3 };
    let steps = list(pace_input, &["strides", "steps"]);
    let unit_steps = steps.is_none() && call.get(pace_input).is_none();
    let axes = match call.params(named_axes.then_some(3), &["axes"]) {
        Params::Unknown => return Ok(None),
        Params::Known(axes) => Some(axes),
        Params::Absent => None,
    };
    let Some(count) = [&begin, &end].into_iter().flatten().map(Vec::len).max() else { return Ok(None) };
    let spec = SliceSpec { call, begin, end, steps, unit_steps, count };
    match axes {
        Some(axes) => spec.by_axes(dims, &axes).map(Some),
        None => spec.by_masks(dims).map(Some),
    }
}

struct SliceSpec<'c, 'a> {
    call: &'c Call<'a>,
    begin: Option<Vec<Option<i64>>>,
    end: Option<Vec<Option<i64>>>,
    steps: Option<Vec<Option<i64>>>,
    /// No steps are given at all.
    unit_steps: bool,
    count: usize,
}

fn whole_axis(size: i64) -> Stride {
    Stride { start: 0, step: 1, count: size, dropped: false, inserted: false }
}

impl SliceSpec<'_, '_> {
    fn at(list: Option<&Vec<Option<i64>>>, i: usize) -> Option<i64> {
        list.and_then(|l| l.get(i).copied().flatten())
    }

    /// The step of entry `i`, when it is known.
    fn step(&self, i: usize) -> Option<i64> {
        if self.unit_steps { Some(1) } else { Self::at(self.steps.as_ref(), i) }
    }

    /// ONNX: entry `i` is for axis `named[i]`.
    fn by_axes(&self, dims: &[i64], named: &[i64]) -> Result<Vec<Stride>, Reason> {
        let mut result: Vec<_> = dims.iter().map(|&d| whole_axis(d)).collect();
        for (i, &axis) in named.iter().enumerate() {
            let axis = dim::axis(axis, dims.len())?;
            let (begin, end) = (Self::at(self.begin.as_ref(), i), Self::at(self.end.as_ref(), i));
            result[axis] = stride(dims[axis], begin, end, self.step(i))?;
        }
        Ok(result)
    }

    /// TensorFlow: entries follow the axes, five bit masks change their meaning.
    fn by_masks(&self, dims: &[i64]) -> Result<Vec<Stride>, Reason> {
        let mask = |name: &str| self.call.int(&[name]).unwrap_or(0);
        let (begin_mask, end_mask) = (mask("begin_mask"), mask("end_mask"));
        let (ellipsis, new_axis, shrink) = (mask("ellipsis_mask"), mask("new_axis_mask"), mask("shrink_axis_mask"));
        let bit = |mask: i64, i: usize| i < 63 && mask >> i & 1 == 1;
        let taken = (0..self.count).filter(|&i| !bit(ellipsis, i) && !bit(new_axis, i)).count();
        let mut rest = dims.iter();
        let mut result = Vec::with_capacity(dims.len());
        for i in 0..self.count {
            if bit(ellipsis, i) {
                let skipped = dims.len().checked_sub(taken).ok_or("more slices than axes")?;
                result.extend(rest.by_ref().take(skipped).map(|&d| whole_axis(d)));
                continue;
            }
            if bit(new_axis, i) {
                result.push(Stride { inserted: true, ..whole_axis(1) });
                continue;
            }
            let size = *rest.next().ok_or("more slices than axes")?;
            result.push(self.entry(i, size, [bit(begin_mask, i), bit(end_mask, i), bit(shrink, i)])?);
        }
        result.extend(rest.map(|&d| whole_axis(d)));
        Ok(result)
    }

    fn entry(&self, i: usize, size: i64, [begin_open, end_open, shrink]: [bool; 3]) -> Result<Stride, Reason> {
        let step = self.step(i);
        let (begin, end) = (Self::at(self.begin.as_ref(), i), Self::at(self.end.as_ref(), i));
        if shrink {
            let start = begin.map_or(0, |b| if b < 0 { b.saturating_add(size.max(0)) } else { b });
            if begin.is_some() && size >= 0 && !(0..size).contains(&start) {
                return Err(format!("element {start} does not lie in an axis of {size}"));
            }
            return Ok(Stride { start, step: 1, count: 1, dropped: true, inserted: false });
        }
        let (first, last) = if step.is_none_or(|s| s > 0) { (0, i64::MAX) } else { (i64::MAX, i64::MIN) };
        stride(size, if begin_open { Some(first) } else { begin }, if end_open { Some(last) } else { end }, step)
    }
}

/// `StridedSlice` with five masks, `StridedSliceV2` with axes.
pub(crate) fn strided_slice(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(dims) = x.shape.dims() else { return Inferred::unknown(x.dtype) };
    let Some(strides) = strides_of(call, dims)? else {
        let keeps_rank = call.int(&["shrink_axis_mask", "new_axis_mask"]).unwrap_or(0) == 0;
        return Inferred::shape(x.dtype, if keeps_rank { dim::of_rank(dims.len()) } else { Shape::unknown_rank() });
    };
    Inferred::dims(x.dtype, strides.iter().filter(|s| !s.dropped).map(|s| s.count).collect::<Vec<_>>())
}
