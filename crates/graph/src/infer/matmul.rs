//! Rules of matrix products.

use super::dim::{self, Reason};
use super::{Call, Inference, Inferred};
use crate::{DataType, Shape};

/// Sizes of a (stack of) matrix products; -1 where one is not known.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "two independent facts about each operand")]
pub struct Product {
    /// Stacking axes of the left operand.
    pub batch_a: Vec<i64>,
    /// Stacking axes of the right operand.
    pub batch_b: Vec<i64>,
    /// Stacking axes of the result.
    pub batch: Vec<i64>,
    /// Rows.
    pub m: i64,
    /// Inner extent.
    pub k: i64,
    /// Columns.
    pub n: i64,
    /// The left operand is stored k x m.
    pub trans_a: bool,
    /// The right operand is stored n x k.
    pub trans_b: bool,
    /// The left operand is a vector: the result has no rows.
    vector_a: bool,
    /// The right operand is a vector: the result has no columns.
    vector_b: bool,
}

impl Product {
    /// Reads the node; `None` while the rank of an operand is not known.
    pub fn of(call: &Call<'_>) -> Result<Option<Product>, Reason> {
        let (Some(a), Some(b)) = (call.dims(0)?, call.dims(1)?) else { return Ok(None) };
        let trans_a =
            call.flag(&["transpose_x1", "adj_x1", "transpose_a", "trans_a", "is_trans_a", "transpose_x"], false);
        let trans_b =
            call.flag(&["transpose_x2", "adj_x2", "transpose_b", "trans_b", "is_trans_b", "transpose_weight"], false);
        Product::of_dims(a, b, trans_a, trans_b).map(Some)
    }

    pub(super) fn of_dims(left: &[i64], right: &[i64], trans_a: bool, trans_b: bool) -> Result<Product, Reason> {
        let (batch_a, m, inner_a) = match left {
            [] => return Err("a scalar cannot be multiplied as a matrix".into()),
            [inner] => (&[][..], 1, *inner),
            [batch @ .., inner, rows] if trans_a => (batch, *rows, *inner),
            [batch @ .., rows, inner] => (batch, *rows, *inner),
        };
        let (batch_b, inner_b, n) = match right {
            [] => return Err("a scalar cannot be multiplied as a matrix".into()),
            [inner] => (&[][..], *inner, 1),
            [batch @ .., columns, inner] if trans_b => (batch, *inner, *columns),
            [batch @ .., inner, columns] => (batch, *inner, *columns),
        };
        let k = dim::unify(inner_a, inner_b).map_err(|_| format!("inner sizes {inner_a} and {inner_b} differ"))?;
        Ok(Product {
            batch: dim::broadcast(batch_a, batch_b)?,
            batch_a: batch_a.to_vec(),
            batch_b: batch_b.to_vec(),
            m,
            k,
            n,
            trans_a: trans_a && left.len() > 1,
            trans_b: trans_b && right.len() > 1,
            vector_a: left.len() == 1,
            vector_b: right.len() == 1,
        })
    }

    /// Sizes of the result.
    pub(super) fn output(&self) -> Vec<i64> {
        let mut dims = self.batch.clone();
        if !self.vector_a {
            dims.push(self.m);
        }
        if !self.vector_b {
            dims.push(self.n);
        }
        dims
    }
}

/// Type of the result: as asked for, else int32 for integers, else that of the operands.
fn result_type(call: &Call<'_>) -> DataType {
    let stated = call.type_attr("dtype").or_else(|| call.type_attr("dst_type"));
    stated.unwrap_or(match call.dtype(0) {
        DataType::Int8 | DataType::Int4 | DataType::Uint8 => DataType::Int32,
        other => other,
    })
}

/// `MatMul`, `BatchMatMul` and their versions: (x1, x2, bias), the leading axes broadcast.
pub(crate) fn matmul(call: &Call<'_>) -> Inference {
    let dtype = result_type(call);
    let Some(product) = Product::of(call)? else { return Inferred::unknown(dtype) };
    let output = product.output();
    if let Some(bias) = call.get(2).and_then(|b| b.shape.dims()) {
        let whole = dim::broadcast(bias, &output)?;
        if whole.len() != output.len() {
            return Err(format!("a bias of shape {} does not go with {}", Shape::new(bias), Shape::new(output)));
        }
    }
    Inferred::dims(dtype, output)
}

/// `FullyConnection` (x, w, bias): x is flattened from `axis` on; w is [outputs, inputs] unless
/// `transpose`. GE gives the result of one image as an image of one point (CANN's public rule of the shape), and the weights
/// as it reads them the axes of its filter: a graph that has either has been inferred.
pub(crate) fn fully_connection(call: &Call<'_>) -> Inference {
    let dtype = result_type(call);
    let Some((rows, product)) = fully_connected(call)? else { return Inferred::unknown(dtype) };
    let stated = call.node.outputs.first().and_then(|output| output.shape.dims());
    let is_inferred = call.dims(1)?.is_some_and(|w| w.len() == 4) || stated == Some(&[1, product.n, 1, 1]);
    let is_image = call.node.op_type == "FullyConnection" && rows == [1] && is_inferred;
    let points: &[i64] = if is_image { &[1, 1] } else { &[] };
    Inferred::dims(dtype, [&rows, &[product.n][..], points].concat())
}

/// The leading axes that stay, and the product of everything as matrices.
pub fn fully_connected(call: &Call<'_>) -> Result<Option<(Vec<i64>, Product)>, Reason> {
    let (Some(x), Some(w)) = (call.dims(0)?, call.dims(1)?) else { return Ok(None) };
    let axis = call.int(&["axis"]).unwrap_or(1);
    let transpose = call.flag(&["transpose"], false);
    let split = if x.len() == 1 { 0 } else { dim::axis(axis, x.len())? };
    let matrix = [dim::product(&x[..split])?, dim::product(&x[split..])?];
    let weights = match w {
        // Stored as the filter of a convolution that covers the image: its outputs come last where it is transposed.
        [image @ .., outputs] if image.len() == 3 && transpose => vec![dim::product(image)?, *outputs],
        [outputs, image @ ..] if image.len() == 3 => vec![*outputs, dim::product(image)?],
        [_, _] => w.to_vec(),
        _ => return Err(format!("weights of {} axes are no matrix", w.len())),
    };
    let product = Product::of_dims(&matrix, &weights, false, !transpose)?;
    Ok(Some((x[..split].to_vec(), product)))
}
