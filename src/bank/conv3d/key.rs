//! The key of a record of the bank `Conv3D`, built from a workload as CANN does.

use crate::graph::{DataType, Format};
use crate::workload::{Conv, ConvKind, Depth};
use serde_json::{Map, Value};

/// Why no key can be made of a convolution: CANN asks for none, or its key is not known.
pub fn not_expressible(w: &Conv) -> Option<String> {
    if w.kind != ConvKind::Forward || !w.is_volume() {
        return Some(format!("`{}` asks no runtime bank", w.op_type()));
    }
    if w.groups != 1 {
        return Some(format!("`bShapeC`: whether it counts the channels of all {} groups is not known", w.groups));
    }
    // Elements of other sizes have blocks of other than 16 channels.
    if !matches!(w.dtype, DataType::Float16 | DataType::Bfloat16) || w.out_dtype != w.dtype {
        return Some(format!("`aDtype` = {}: how its channels are blocked is not known", w.dtype.name()));
    }
    match extents(w) {
        Some(sizes) if sizes.iter().all(|&size| i64::try_from(size).is_ok()) => None,
        _ => Some("`aShapeN` or another size is none".into()),
    }
}

/// Fields of a key that say how large a convolution is.
pub const EXTENTS: [&str; 25] = [
    "aShapeN",
    "aShapeD",
    "aShapeH",
    "aShapeW",
    "bShapeN",
    "bShapeC",
    "bShapeD",
    "bShapeH",
    "bShapeW",
    "cShapeD",
    "cShapeH",
    "cShapeW",
    "strideD",
    "strideH",
    "strideW",
    "dilationD",
    "dilationH",
    "dilationW",
    "padHead",
    "padTail",
    "padTop",
    "padBottom",
    "padLeft",
    "padRight",
    "groups",
];

/// The values of [`EXTENTS`]; `None` for sizes of nothing.
fn extents(w: &Conv) -> Option<[u64; 25]> {
    let d = w.depth?;
    let (images, channels) = (w.batch.checked_div(d.output)?, w.cin.checked_div(d.kernel)?);
    let ([stride_h, stride_w], [dilation_h, dilation_w], [top, bottom, left, right]) = (w.stride, w.dilation, w.pads);
    let [head, tail] = d.pads;
    #[rustfmt::skip]
    let all = [
        images, d.input, w.hi, w.wi,
        w.cout, channels, d.kernel, w.kh, w.kw,
        d.output, w.ho, w.wo,
        d.stride, stride_h, stride_w, d.dilation, dilation_h, dilation_w,
        head, tail, top, bottom, left, right,
        w.groups,
    ];
    // Only pads may be 0.
    let sizes = all.iter().enumerate().filter(|(at, _)| !(18..24).contains(at));
    sizes.into_iter().all(|(_, &size)| size > 0).then_some(all)
}

/// A convolution like `w` with these values of [`EXTENTS`].
pub fn of_extents(w: &Conv, extents: &[u64]) -> Option<Conv> {
    #[rustfmt::skip]
    let &[
        images, input, hi, wi,
        cout, channels, kernel, kh, kw,
        output, ho, wo,
        stride, stride_h, stride_w, dilation, dilation_h, dilation_w,
        head, tail, top, bottom, left, right,
        groups,
    ] = extents else { return None };
    Some(Conv {
        batch: images.checked_mul(output)?,
        cin: channels.checked_mul(kernel)?,
        hi,
        wi,
        cout,
        ho,
        wo,
        kh,
        kw,
        stride: [stride_h, stride_w],
        pads: [top, bottom, left, right],
        dilation: [dilation_h, dilation_w],
        groups,
        depth: Some(Depth { input, output, kernel, stride, pads: [head, tail], dilation }),
        ..w.clone()
    })
}

/// Every `info_dict` under which CANN may ask for a convolution, the likeliest first; none where [`not_expressible`] has a
/// reason.
///
/// Formats are those of the device. `biasDtype` of bfloat16 is float in the public record that has a bias; that of
/// float16, and what stands there without a bias, is not public, so there is a record for each of the two.
pub fn info_dicts(w: &Conv) -> Vec<Map<String, Value>> {
    let Some(sizes) = extents(w).filter(|_| not_expressible(w).is_none()) else { return Vec::new() };
    let biases: &[DataType] = match (w.bias, w.dtype) {
        (true, DataType::Bfloat16) => &[DataType::Float],
        (true, _) => &[DataType::Float16, DataType::Float],
        (false, _) => &[DataType::Float, DataType::Float16],
    };
    let with = |bias: &DataType| {
        let types = [("aDtype", w.dtype), ("bDtype", w.dtype), ("cDtype", w.out_dtype), ("biasDtype", *bias)];
        let formats = [("aFormat", Format::Ndc1hwc0), ("bFormat", Format::FractalZ3d), ("cFormat", Format::Ndc1hwc0)];
        let types = types.map(|(name, dtype)| (name.to_owned(), Value::from(dtype.ge_number())));
        let formats = formats.map(|(name, format)| (name.to_owned(), Value::from(format.ge_number())));
        let sizes = EXTENTS.into_iter().zip(sizes).map(|(name, size)| (name.to_owned(), Value::from(size)));
        let flag = ("biasFlag".to_owned(), Value::from(w.bias));
        types.into_iter().chain(formats).chain(sizes).chain([flag]).collect()
    };
    biases.iter().map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_made_again_of_its_extents() {
        let all: Vec<u64> = (2..27).collect();
        let like = Conv {
            dtype: DataType::Bfloat16,
            out_dtype: DataType::Bfloat16,
            bias: true,
            format: Format::Ndc1hwc0,
            ..Conv::image(ConvKind::Forward, 1, [1, 1], 1, 1)
        };
        let made = of_extents(&like, &all).unwrap();
        assert_eq!(extents(&made).unwrap().to_vec(), all);
        assert_eq!(of_extents(&like, &all[1..]), None);
        assert_eq!((made.batch, made.cin), (2 * 11, 7 * 8));
        assert_eq!([made.hi, made.wi, made.cout, made.kh, made.kw, made.ho, made.wo], [4, 5, 6, 9, 10, 12, 13]);
        assert_eq!((made.stride, made.dilation, made.pads, made.groups), ([15, 16], [18, 19], [22, 23, 24, 25], 26));
        let depth = Depth { input: 3, output: 11, kernel: 8, stride: 14, pads: [20, 21], dilation: 17 };
        assert_eq!(made.depth, Some(depth));
        // Pads alone may be nothing.
        for at in 0..all.len() {
            let mut none = all.clone();
            none[at] = 0;
            let known = of_extents(&like, &none).as_ref().and_then(extents);
            assert_eq!(known.is_some(), (18..24).contains(&at), "{}", EXTENTS[at]);
        }
        assert_eq!(extents(&like), None, "an image");
        let too_many = of_extents(&like, &[&[u64::MAX][..], &all[1..]].concat());
        assert_eq!(too_many, None);
    }
}
