//! Convolutions of images, as TBE's compiler is asked for them.

use super::{Attribute, Operator, volume};
use crate::graph::Format;
use crate::workload::{Conv, ConvKind, Depth};

/// A convolution of images as a device compiles it. An image is a volume of one plane, and lies as that does.
///
/// Fails for a backward pass, whose operands are others.
pub fn operator(w: &Conv) -> Result<Operator, String> {
    if w.kind != ConvKind::Forward || w.is_volume() {
        return Err(format!("{w} is no forward pass over images"));
    }
    let plane = Depth { input: 1, output: 1, kernel: 1, stride: 1, pads: [0; 2], dilation: 1 };
    let mut operator = volume::operator(&Conv { depth: Some(plane), ..w.clone() })?;
    let Operator { inputs, output, .. } = &mut operator;
    for tensor in inputs.iter_mut().chain([output]) {
        tensor.format = match tensor.format {
            Format::Ndc1hwc0 => Format::Nc1hwc0,
            Format::FractalZ3d => Format::FractalZ,
            plain => plain,
        };
        if tensor.shape.len() == 5 {
            tensor.shape.remove(2);
        }
    }
    let numbers = |all: [u64; 4]| Attribute::Numbers(all.map(|n| n as i64).to_vec());
    let along = |[height, width]: [u64; 2]| numbers([1, 1, height, width]);
    let attributes = [
        ("strides", along(w.stride)),
        ("pads", numbers(w.pads)),
        ("dilations", along(w.dilation)),
        ("groups", Attribute::Number(w.groups.max(1) as i64)),
        ("data_format", Attribute::Text(Format::Nchw.name().to_owned())),
    ];
    let attributes = attributes.map(|(name, value)| (name.to_owned(), value)).into();
    Ok(Operator { op_type: w.op_type().to_owned(), attributes, ..operator })
}
