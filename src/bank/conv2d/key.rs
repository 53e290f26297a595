//! The key of a `Conv2DV2` record, built from a workload as CANN does.

use crate::graph::{DataType, Format};
use crate::workload::{Conv, ConvKind};
use serde_json::{Map, Value};

/// Whether CANN's `Conv2DV2` would query the runtime bank for a convolution: a forward one of images as the
/// network has them.
pub fn has_key(w: &Conv) -> bool {
    let sizes = extents(w);
    w.kind == ConvKind::Forward
        && matches!(w.format, Format::Nchw | Format::Nhwc)
        && bias_dtype(w).is_some()
        && w.groups > 0
        && w.cin.is_multiple_of(w.groups)
        && sizes.iter().all(|&size| i64::try_from(size).is_ok())
}

/// Type of the bias. A convolution without one has CANN's default, float16. `None` for operands that
/// `Conv2DV2` does not take.
fn bias_dtype(w: &Conv) -> Option<DataType> {
    let own = match w.dtype {
        DataType::Float | DataType::Float16 | DataType::Bfloat16 => w.dtype,
        DataType::Int8 => DataType::Int32,
        DataType::Hifloat8 | DataType::Float8E4m3fn => DataType::Float,
        _ => return None,
    };
    Some(if w.bias { own } else { DataType::Float16 })
}

/// Fields of a key that say how large a convolution is.
pub const EXTENTS: [&str; 18] = [
    "aShapeN",
    "aShapeH",
    "aShapeW",
    "bShapeN",
    "bShapeC",
    "bShapeH",
    "bShapeW",
    "cShapeH",
    "cShapeW",
    "groups",
    "strideH",
    "strideW",
    "dilationH",
    "dilationW",
    "padTop",
    "padBottom",
    "padLeft",
    "padRight",
];

/// The values of [`EXTENTS`].
fn extents(w: &Conv) -> [u64; 18] {
    let ([stride_h, stride_w], [dilation_h, dilation_w], [top, bottom, left, right]) = (w.stride, w.dilation, w.pads);
    let channels = w.cin / w.groups.max(1);
    [
        w.batch, w.hi, w.wi, w.cout, channels, w.kh, w.kw, w.ho, w.wo, w.groups, stride_h, stride_w, dilation_h,
        dilation_w, top, bottom, left, right,
    ]
}

/// A convolution like `w` with these values of [`EXTENTS`].
pub fn of_extents(w: &Conv, extents: &[u64]) -> Option<Conv> {
    let &[
        batch,
        hi,
        wi,
        cout,
        channels,
        kh,
        kw,
        ho,
        wo,
        groups,
        stride_h,
        stride_w,
        dilation_h,
        dilation_w,
        top,
        bottom,
        left,
        right,
    ] = extents
    else {
        return None;
    };
    Some(Conv {
        batch,
        cin: channels.checked_mul(groups)?,
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
        ..w.clone()
    })
}

/// The `info_dict` that CANN builds for a convolution. Call only where [`has_key`] holds.
pub fn info_dict(w: &Conv) -> Map<String, Value> {
    let filter = if w.format == Format::Nhwc { Format::Hwcn } else { Format::Nchw };
    let numbers = [
        ("aDtype", w.dtype.ge_number()),
        ("bDtype", w.dtype.ge_number()),
        ("cDtype", w.out_dtype.ge_number()),
        ("biasDtype", bias_dtype(w).unwrap_or(DataType::Float16).ge_number()),
        ("aFormat", w.format.ge_number()),
        ("bFormat", filter.ge_number()),
        ("cFormat", w.format.ge_number()),
        // Set by convolutions that quantise or activate their result as well.
        ("reserverdParam1", 0),
        ("reserverdParam2", 0),
        ("reserverdParam3", 0),
    ];
    let floats = ["reserverdParam4", "reserverdParam5", "reserverdParam6"];
    let numbers = numbers.into_iter().map(|(name, number)| (name, Value::from(number)));
    let sizes = EXTENTS.into_iter().zip(extents(w)).map(|(name, size)| (name, Value::from(size)));
    let flags = [("biasFlag", w.bias), ("hf32Flag", w.hf32)].map(|(name, flag)| (name, Value::from(flag)));
    let fields = numbers.chain(sizes).chain(flags).chain(floats.map(|name| (name, Value::from(0.0))));
    fields.map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_convolution_is_made_again_of_its_extents() {
        let all: Vec<u64> = (2..20).collect();
        let like = Conv { bias: true, hf32: true, ..Conv::image(ConvKind::Forward, 1, [1, 1], 1, 1) };
        let made = of_extents(&like, &all).unwrap();
        assert_eq!(extents(&made).to_vec(), all);
        assert!(made.bias && made.hf32);
        assert_eq!(of_extents(&like, &all[1..]), None);
        let sizes = [made.batch, made.hi, made.wi, made.cout, made.kh, made.kw, made.ho, made.wo, made.groups];
        assert_eq!(sizes, [2, 3, 4, 5, 7, 8, 9, 10, 11]);
        assert_eq!((made.cin, made.stride, made.dilation, made.pads), (6 * 11, [12, 13], [14, 15], [16, 17, 18, 19]));
    }
}
