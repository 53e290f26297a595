//! Arithmetic on the small tensors that decide shapes.
//!
//! Exporters compute shapes in the graph (`Shape` -> `GatherV2` -> `ConcatD` -> `Reshape`); following
//! that arithmetic is what makes most shapes known. A value that is only partly known is followed as
//! far as it goes.

use super::call::Call;
use super::dim;
use super::value::{
    Elements, MAX_ELEMENTS, Value, Values, as_type, broadcast_value, followable, positions, small, strides,
};
use super::{arithmetic, movement, pick, reduce, shape, slice};
use crate::TensorDesc;

/// Values of the outputs of a node, where they can be told; by output index.
pub(super) fn fold(call: &Call<'_>, outputs: &[TensorDesc], so_far: &Values) -> Vec<(u32, Value)> {
    let Some(first) = outputs.first() else { return Vec::new() };
    let elements = first.shape.elements().and_then(|n| usize::try_from(n).ok());
    if !elements.is_some_and(|n| n <= MAX_ELEMENTS && so_far.has_room(n)) {
        return Vec::new();
    }
    match call.node.op_type.as_str() {
        "Shape" | "ShapeN" => (0..outputs.len()).filter_map(|i| Some((i as u32, shape_of(call, i)?))).collect(),
        "Split" | "SplitD" | "SplitV" | "SplitVD" | "Unpack" => split(call, outputs),
        _ => single(call, first).into_iter().map(|v| (0, v)).collect(),
    }
}

fn single(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let name = call.node.op_type.as_str();
    match name {
        "Size" => count(call, |dims| dim::product(dims).ok()),
        "Rank" => count(call, |dims| Some(dims.len() as i64)),
        "Fill" | "FillD" => fill(call, out),
        "Range" => range(call, out),
        // Only now: what follows needs a value to work on, and most nodes have none.
        _ if !(0..call.arity()).any(|i| call.has_value(i)) => None,
        "Identity" | "Reshape" | "Flatten" | "FlattenV2" | "Squeeze" | "SqueezeV2" | "SqueezeV3" | "Unsqueeze"
        | "UnsqueezeV2" | "UnsqueezeV3" | "ExpandDims" => call.value(0)?.reshaped(out.shape.known()?.to_vec()),
        "Cast" | "CastLike" => cast(call, out),
        "Gather" | "GatherV2" | "GatherV2D" => gather(call, out),
        "Concat" | "ConcatD" | "ConcatV2" | "ConcatV2D" | "Pack" => concat(call, out),
        "Slice" | "SliceD" | "SliceDV2" => plain_slice(call, out),
        "StridedSlice" | "StridedSliceD" | "StridedSliceV2" | "StridedSliceV3" => strided_slice(call, out),
        "Expand" | "ExpandD" | "BroadcastTo" | "BroadcastToD" => {
            let x = call.value(0)?;
            Some(broadcast_value(&x, out.shape.known()?)?)
        }
        "Tile" | "TileD" => tile(call, out),
        "Transpose" | "TransposeD" => transpose(call, out),
        "Select" | "SelectV2" => select(call, out),
        "NonZero" | "Where" => pick::places(call, out),
        "ReduceProd" | "ReduceProdD" | "ReduceSum" | "ReduceSumD" | "ReduceMax" | "ReduceMaxD" | "ReduceMin"
        | "ReduceMinD" => reduction(call, out),
        "Neg" | "Abs" | "Sign" | "Floor" | "Ceil" | "Round" | "Rint" | "Sqrt" | "Reciprocal" | "Square"
        | "LogicalNot" | "Exp" | "Log" | "IsNan" | "IsInf" | "IsFinite" => arithmetic::unary(call, name, out),
        _ => arithmetic::binary(call, name, out),
    }
}

fn shape_of(call: &Call<'_>, input: usize) -> Option<Value> {
    let dims = call.get(input)?.shape.dims()?;
    let part = &dims[shape::shape_range(call, dims.len())];
    let elements = part.iter().map(|&d| (d >= 0).then_some(d)).collect();
    Value::new(vec![part.len() as i64], Elements::Ints(elements))
}

fn count(call: &Call<'_>, of: impl Fn(&[i64]) -> Option<i64>) -> Option<Value> {
    let n = of(call.get(0)?.shape.dims()?).filter(|&n| n >= 0)?;
    Value::new(Vec::new(), Elements::Ints(vec![Some(n)]))
}

fn fill(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let dims = small(out)?;
    let n = followable(dims)?;
    let value = call.value(1);
    let attr = call.node.attrs.float("value");
    let elements = match value.as_deref() {
        Some(v) => match &v.elements {
            Elements::Ints(v) => Elements::Ints(vec![v.first().copied().flatten(); n]),
            Elements::Floats(v) => Elements::Floats(vec![v.first().copied().flatten(); n]),
        },
        None => Elements::Floats(vec![Some(attr?); n]),
    };
    Value::new(dims.to_vec(), as_type(elements, out.dtype))
}

fn range(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let &[n] = small(out)? else { return None };
    let scalar = |i: usize, name: &str| match call.get(i) {
        Some(_) => call.value(i)?.partial_floats().first().copied().flatten(),
        None => call.node.attrs.float(name),
    };
    let (start, delta) = (scalar(0, "start")?, scalar(2, "delta").unwrap_or(1.0));
    let elements = (0..n).map(|i| Some(start + i as f64 * delta)).collect();
    Value::new(vec![n], as_type(Elements::Floats(elements), out.dtype))
}

fn cast(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let x = call.value(0)?.into_owned();
    Value::new(x.dims, as_type(x.elements, out.dtype))
}

fn gather(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let (x, indices) = (call.value(0)?, call.value(1)?);
    if call.int(&["batch_dims"]).unwrap_or(0) != 0 {
        return None;
    }
    let axis = call.axis(2, &["axis"], 0, x.dims.len()).ok()??;
    let size = x.dims[axis];
    let inner = followable(&x.dims[axis + 1..])?;
    let outer = followable(&x.dims[..axis])?;
    let rows: Vec<Option<usize>> = indices
        .partial_ints()
        .into_iter()
        .map(|i| i.map(|i| if i < 0 { i.saturating_add(size) } else { i }).filter(|i| (0..size).contains(i)))
        .map(|i| i.map(|i| i as usize))
        .collect();
    let dims = small(out)?.to_vec();
    let (rows, size) = (&rows, size as usize);
    let at = (0..outer).flat_map(move |o| {
        rows.iter().flat_map(move |row| (0..inner).map(move |i| row.map(|row| (o * size + row) * inner + i)))
    });
    x.pick(dims, at)
}

/// Joins tensors along an axis; `Pack` joins along an axis that is new.
fn concat(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let dims = small(out)?.to_vec();
    let packing = call.node.op_type == "Pack";
    let (tensors, axis) = if packing {
        ((0..call.arity()).collect(), call.params(None, &["axis"]).scalar(0)?)
    } else {
        let (tensors, axis) = movement::joined(call).ok()?;
        (tensors, axis.scalar(0)?)
    };
    let axis = dim::axis(axis, dims.len()).ok()?;
    let outer = followable(&dims[..axis])?;
    let known: Vec<_> = tensors.iter().map(|&i| call.value(i)).collect();
    let floats = known.iter().flatten().any(|v| matches!(v.elements, Elements::Floats(_)));
    // How much of each tensor lies together: what it has below the joining axis.
    let mut pieces = Vec::with_capacity(tensors.len());
    for (&i, value) in tensors.iter().zip(known) {
        let whole = usize::try_from(call.get(i)?.shape.elements()?).ok()?;
        if whole > MAX_ELEMENTS {
            return None;
        }
        pieces.push((value, whole.checked_div(outer).unwrap_or(0)));
    }
    if floats {
        let parts: Vec<_> = pieces.iter().map(|(v, n)| (v.as_ref().map(|v| v.partial_floats()), *n)).collect();
        return Value::new(dims, Elements::Floats(interleave(&parts, outer)));
    }
    let parts: Vec<_> = pieces.iter().map(|(v, n)| (v.as_ref().map(|v| v.partial_ints()), *n)).collect();
    Value::new(dims, Elements::Ints(interleave(&parts, outer)))
}

/// Row by row, the rows of every part behind each other; a part without a value is not known.
fn interleave<T: Copy>(parts: &[(Option<Vec<Option<T>>>, usize)], outer: usize) -> Vec<Option<T>> {
    let mut result = Vec::new();
    for row in 0..outer {
        for (values, len) in parts {
            let from = row * len;
            match values.as_ref().and_then(|v| v.get(from..from + len)) {
                Some(piece) => result.extend_from_slice(piece),
                None => result.resize(result.len() + len, None),
            }
        }
    }
    result
}

fn plain_slice(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let x = call.value(0)?;
    let offsets = call.params(1, &["offsets", "begin"]).known()?.to_vec();
    view(&x, small(out)?, &offsets, &vec![1; offsets.len()])
}

/// The elements from `starts` on, in `steps`, of a tensor that keeps its rank.
fn view(x: &Value, dims: &[i64], starts: &[i64], steps: &[i64]) -> Option<Value> {
    let pace = strides(&x.dims)?;
    if pace.len() != starts.len() || pace.len() != steps.len() || pace.len() != dims.len() {
        return None;
    }
    let offset = |list: &[i64]| list.iter().zip(&pace).try_fold(0i64, |n, (&a, &b)| n.checked_add(a.checked_mul(b)?));
    let paces = steps.iter().zip(&pace).map(|(&a, &b)| a.checked_mul(b)).collect::<Option<Vec<_>>>()?;
    x.pick(dims.to_vec(), positions(dims, offset(starts)?, &paces)?)
}

fn strided_slice(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let x = call.value(0)?;
    let entries = slice::strides_of(call, &x.dims).ok()??;
    let own: Vec<_> = entries.iter().filter(|e| !e.inserted).collect();
    let dims: Vec<_> = own.iter().map(|e| e.count).collect();
    if dims.iter().any(|&d| d < 0) {
        return None;
    }
    let starts: Vec<_> = own.iter().map(|e| e.start).collect();
    let steps: Vec<_> = own.iter().map(|e| e.step).collect();
    view(&x, &dims, &starts, &steps)?.reshaped(small(out)?.to_vec())
}

fn split(call: &Call<'_>, outputs: &[TensorDesc]) -> Vec<(u32, Value)> {
    let attempt = || -> Option<Vec<(u32, Value)>> {
        let plan = movement::SplitPlan::of(call).ok()?;
        let at = (0..2).find(|&i| call.get(i).is_some_and(|d| std::ptr::eq(d, plan.x)))?;
        let x = call.value(at)?;
        let unpacking = call.node.op_type == "Unpack";
        let axis = if unpacking { call.int(&["axis"]).unwrap_or(0) } else { plan.axis? };
        let axis = dim::axis(axis, x.dims.len()).ok()?;
        let mut start = 0;
        let mut parts = Vec::with_capacity(outputs.len());
        for (i, out) in outputs.iter().enumerate() {
            let dims = small(out)?;
            let len = if unpacking { 1 } else { *dims.get(axis)? };
            let mut starts = vec![0; x.dims.len()];
            starts[axis] = start;
            let part = view(&x, &dim::with(&x.dims, axis, len), &starts, &vec![1; x.dims.len()])?;
            parts.push((i as u32, part.reshaped(dims.to_vec())?));
            start += len;
        }
        Some(parts)
    };
    if call.has_value(0) || call.has_value(1) { attempt().unwrap_or_default() } else { Vec::new() }
}

fn transpose(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let x = call.value(0)?;
    let order = movement::permutation(call, x.dims.len()).ok()??;
    let pace = strides(&x.dims)?;
    let steps: Vec<_> = order.iter().map(|&a| pace[a]).collect();
    let dims = small(out)?;
    x.pick(dims.to_vec(), positions(dims, 0, &steps)?)
}

fn tile(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let x = call.value(0)?;
    let dims = small(out)?;
    let pace = strides(dims)?;
    let own = strides(&x.dims)?;
    let missing = dims.len().checked_sub(x.dims.len())?;
    let at = |flat: i64| {
        let along = |i: usize| (flat / pace[missing + i]) % dims[missing + i].max(1) % x.dims[i].max(1) * own[i];
        usize::try_from((0..x.dims.len()).map(along).sum::<i64>()).ok()
    };
    x.pick(dims.to_vec(), (0..dim::product(dims).ok()?).map(at))
}

fn select(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let dims = small(out)?;
    let operand = |i: usize| broadcast_value(call.value(i)?.as_ref(), dims);
    let condition = operand(0)?.partial_ints();
    let (then, other) = (operand(1), operand(2));
    let elements = if out.dtype.is_float() {
        let branch = |v: &Option<Value>| v.as_ref().map(Value::partial_floats);
        Elements::Floats(choose(&condition, branch(&then).as_deref(), branch(&other).as_deref()))
    } else {
        let branch = |v: &Option<Value>| v.as_ref().map(Value::partial_ints);
        Elements::Ints(choose(&condition, branch(&then).as_deref(), branch(&other).as_deref()))
    };
    Value::new(dims.to_vec(), elements)
}

fn choose<T: Copy>(
    condition: &[Option<i64>],
    then: Option<&[Option<T>]>,
    other: Option<&[Option<T>]>,
) -> Vec<Option<T>> {
    let at = |(i, c): (usize, &Option<i64>)| if (*c)? == 0 { *other?.get(i)? } else { *then?.get(i)? };
    condition.iter().enumerate().map(at).collect()
}

fn reduction(call: &Call<'_>, out: &TensorDesc) -> Option<Value> {
    let x = call.value(0)?;
    let Elements::Ints(values) = &x.elements else { return None };
    let gone = reduce::reduced(call, x.dims.len()).ok()??;
    let kept: Vec<_> = x.dims.iter().zip(&gone).map(|(&d, &gone)| if gone { 1 } else { d }).collect();
    let to = strides(&kept)?;
    let steps: Vec<_> = to.iter().zip(&gone).map(|(&s, &gone)| if gone { 0 } else { s }).collect();
    let op: fn(i64, i64) -> Option<i64> = match call.node.op_type.trim_end_matches('D') {
        "ReduceSum" => i64::checked_add,
        "ReduceMax" => |a, b| Some(a.max(b)),
        "ReduceMin" => |a, b| Some(a.min(b)),
        _ => i64::checked_mul,
    };
    let start = match call.node.op_type.trim_end_matches('D') {
        "ReduceSum" => 0,
        "ReduceMax" => i64::MIN,
        "ReduceMin" => i64::MAX,
        _ => 1,
    };
    let mut result = vec![Some(start); followable(&kept)?];
    for (value, at) in values.iter().zip(positions(&x.dims, 0, &steps)?) {
        let slot = result.get_mut(at?)?;
        *slot = slot.zip(*value).and_then(|(a, b)| op(a, b));
    }
    Value::new(small(out)?.to_vec(), Elements::Ints(result))
}
