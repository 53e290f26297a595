//! Rules of products that devices compute together: rows gathered before, shared or exchanged after. Inputs stand at the
//! places of their interface ([`crate::op::prototype`]).
//!
//! Sources: the operators' public descriptions in CANN's operator headers.

use super::dim::{self, Reason, UNKNOWN};
use super::language::{computed_type, matrix};
use super::matmul::Product;
use super::{Call, Inference, Inferred};
use crate::{Shape, TensorDesc};

/// The product of one matrix by another: these kernels take no stacks.
fn matrices(call: &Call<'_>) -> Result<Option<Product>, Reason> {
    match (matrix(call, 0)?, matrix(call, 1)?) {
        (Some(_), Some(_)) => Product::of(call),
        _ => Ok(None),
    }
}

/// Rows of every device are gathered before the product: (x1, x2, bias) to the product and the gathered rows.
pub(crate) fn gathered_product(call: &Call<'_>) -> Inference {
    let x = call.need(0)?;
    let Some(product) = gathered(call)? else {
        return Inferred::all(vec![TensorDesc::new(x.dtype, Shape::unknown_rank()); call.results()]);
    };
    let outputs = [(computed_type(call), product.n), (x.dtype, product.k)]
        .map(|(dtype, width)| TensorDesc::new(dtype, Shape::new([product.m, width])));
    Inferred::all(outputs.into_iter().take(call.results()).collect())
}

/// The product of all devices' rows.
pub(super) fn gathered(call: &Call<'_>) -> Result<Option<Product>, Reason> {
    let ranks = call.int(&["rank_size"]).filter(|&ranks| ranks > 0);
    let (Some(mut product), Some(ranks)) = (matrices(call)?, ranks) else { return Ok(None) };
    product.m = dim::times(product.m, ranks)?;
    Ok(Some(product))
}

/// Rows of the product are shared among the devices.
pub(crate) fn scattered_product(call: &Call<'_>) -> Inference {
    let dtype = computed_type(call);
    let ranks = call.int(&["rank_size"]).filter(|&ranks| ranks > 0);
    let (Some(product), Some(ranks)) = (matrices(call)?, ranks) else { return Inferred::unknown(dtype) };
    Inferred::dims(dtype, [part(product.m, ranks)?, product.n])
}

/// One of the equal parts of a size that devices share.
fn part(size: i64, devices: i64) -> Result<i64, Reason> {
    match size {
        size if size < 0 => Ok(UNKNOWN),
        size if size % devices == 0 => Ok(size / devices),
        _ => Err(format!("{size} cannot be shared among {devices} devices")),
    }
}

/// Devices that a product is exchanged with.
fn devices(call: &Call<'_>) -> Option<i64> {
    call.int(&["world_size"]).filter(|&devices| devices > 0)
}

/// `AlltoAllMatmul` (x1, x2, bias): rows go to their devices and come with the columns of all before the product, which is
/// then made of them: the product, and the rows.
pub(crate) fn exchanged_before(call: &Call<'_>) -> Inference {
    let (x, dtype) = (call.need(0)?, computed_type(call));
    let Some(product) = exchanged(call)? else { return Inferred::unknown(dtype) };
    let outputs = [(dtype, product.output()), (x.dtype, vec![product.m, product.k])];
    let outputs = outputs.into_iter().map(|(dtype, dims)| TensorDesc::new(dtype, Shape::new(dims)));
    Inferred::all(outputs.take(call.results()).collect())
}

/// The product of the rows that a device gets, each with the columns of all.
pub(super) fn exchanged(call: &Call<'_>) -> Result<Option<Product>, Reason> {
    let (Some((rows, inner)), Some(weight), Some(devices)) = (matrix(call, 0)?, call.dims(1)?, devices(call)) else {
        return Ok(None);
    };
    let got = [part(rows, devices)?, dim::times(inner, devices)?];
    Product::of_dims(&got, weight, false, call.flag(&["transpose_x2"], false)).map(Some)
}

/// `MatmulAlltoAll` (x1, x2, bias): each device gets its columns of the product, and the rows of all.
pub(crate) fn exchanged_after(call: &Call<'_>) -> Inference {
    let dtype = computed_type(call);
    let (Some(product), Some(devices)) = (matrices(call)?, devices(call)) else { return Inferred::unknown(dtype) };
    Inferred::dims(dtype, [dim::times(product.m, devices)?, part(product.n, devices)?])
}

/// How many devices share the experts of a stack, and its columns.
fn stack_devices(call: &Call<'_>) -> Option<[i64; 2]> {
    let count = |name: &'static str| call.int(&[name]).filter(|&devices| devices > 0);
    Some([count("ep_world_size")?, count("tp_world_size")?])
}

/// `AlltoAllAllGatherBatchMatMul` (x, weight, bias): each device gets the rows of its experts from all, gathers their
/// columns, or with `x_shard_type` 1 their rows, and computes its columns.
pub(crate) fn exchanged_stack_before(call: &Call<'_>) -> Inference {
    let dtype = call.need(0)?.dtype;
    match gathered_stack(call)? {
        Some(product) => Inferred::dims(dtype, product.output()),
        None => Inferred::unknown(dtype),
    }
}

/// The products of an `AlltoAllAllGatherBatchMatMul`.
pub(super) fn gathered_stack(call: &Call<'_>) -> Result<Option<Product>, Reason> {
    let (Some(&[experts, rows, inner]), Some(weight @ &[own, _, _]), Some([expert_devices, tensor_devices])) =
        (call.dims(0)?, call.dims(1)?, stack_devices(call))
    else {
        return Ok(None);
    };
    let by_rows = call.int(&["x_shard_type"]).unwrap_or(0) == 1;
    let gathered = |is_gathered: bool, size: i64| dim::times(size, if is_gathered { tensor_devices } else { 1 });
    let experts = dim::unify(part(experts, expert_devices)?, own)?;
    let x = [experts, gathered(by_rows, dim::times(rows, expert_devices)?)?, gathered(!by_rows, inner)?];
    Product::of_dims(&x, weight, false, call.flag(&["transpose_weight"], false)).map(Some)
}

/// `BatchMatMulReduceScatterAlltoAll` (x, weight, bias): each device's part of the sums, its columns or with `y_shard_type` 1
/// its rows, goes back to the devices that the rows are from.
pub(crate) fn exchanged_stack_after(call: &Call<'_>) -> Inference {
    let dtype = call.need(0)?.dtype;
    let (Some(&[experts, _, _]), Some(&[own, _, _]), Some([expert_devices, tensor_devices])) =
        (call.dims(0)?, call.dims(1)?, stack_devices(call))
    else {
        return Inferred::unknown(dtype);
    };
    let Some(Product { m, n, .. }) = Product::of(call)? else { return Inferred::unknown(dtype) };
    let experts = dim::times(dim::unify(experts, own)?, expert_devices)?;
    let rows = part(m, expert_devices)?;
    if call.int(&["y_shard_type"]).unwrap_or(0) == 1 {
        return Inferred::dims(dtype, [experts, part(rows, tensor_devices)?, n]);
    }
    Inferred::dims(dtype, [experts, rows, part(n, tensor_devices)?])
}
