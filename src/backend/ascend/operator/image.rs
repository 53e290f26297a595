//! Convolutions of images and their gradients, as TBE's compiler is asked for them.

use super::{Attribute, Entry, Operator, Tensor};
use crate::graph::{DataType, Format};
use crate::workload::{Conv, ConvKind};

/// A convolution of images as a device compiles it. It is not run.
///
/// Fails for volumes, and for groups.
pub fn operator(w: &Conv) -> Result<Operator, String> {
    if w.is_volume() {
        return Err(format!("{w} is no convolution of images"));
    }
    if w.groups > 1 {
        return Err(format!("how the filters of {} groups lie in memory is not known", w.groups));
    }
    let x = || tensor(w.dtype, [w.batch, w.cin, w.hi, w.wi], Format::Nc1hwc0);
    let y = || tensor(w.dtype, [w.batch, w.cout, w.ho, w.wo], Format::Nc1hwc0);
    let filter = || tensor(w.dtype, [w.cout, w.cin, w.kh, w.kw], Format::FractalZ);
    let (mut inputs, result) = match w.kind {
        ConvKind::Forward => (vec![x(), filter()], y()),
        ConvKind::BackpropInput => (vec![sizes_of(&x())?, filter(), y()], x()),
        ConvKind::BackpropFilter => (vec![x(), sizes_of(&filter())?, y()], filter()),
    };
    if w.bias {
        // As of volumes: one of float32 beside bf16.
        let dtype = if w.dtype == DataType::Bfloat16 { DataType::Float } else { w.dtype };
        inputs.push(tensor(dtype, [w.cout], Format::Nd));
    }
    let numbers = |all: [u64; 4]| Attribute::Numbers(all.map(|n| n as i64).to_vec());
    let along = |[height, width]: [u64; 2]| numbers([1, 1, height, width]);
    let attributes = [
        ("strides", along(w.stride)),
        ("pads", numbers(w.pads)),
        ("dilations", along(w.dilation)),
        ("groups", Attribute::Number(1)),
        ("data_format", Attribute::Text(Format::Nchw.name().to_owned())),
    ];
    Ok(Operator {
        op_type: w.op_type().to_owned(),
        entry: Entry::Aclop,
        inputs,
        output: Tensor { dtype: w.out_dtype, fill: None, ..result },
        attributes: attributes.map(|(name, value)| (name.to_owned(), value)).into(),
        expected: None,
    })
}

fn tensor<const N: usize>(dtype: DataType, shape: [u64; N], format: Format) -> Tensor {
    Tensor { dtype, shape: shape.to_vec(), format, transposed: false, fill: Some((0, 0)), constant: None }
}

/// The operand of a gradient that holds the sizes of the result.
fn sizes_of(result: &Tensor) -> Result<Tensor, String> {
    let sizes = result.shape.iter().map(|&size| i32::try_from(size).map_err(|_| format!("{size} exceeds 32 bits")));
    let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
    let plain = tensor(DataType::Int32, [sizes.len() as u64], Format::Nd);
    Ok(Tensor { fill: None, constant: Some(sizes), ..plain })
}
