//! Convolutions of operands as networks have them.

use crate::cases::Case;
use crate::soc::Soc;
use crate::workload::{Conv, ConvKind, Workload};
use serde_json::{Value, json};

/// A 3 x 3 convolution of stride 2, as a network has it.
fn case() -> Value {
    json!({"soc": "Ascend910B2", "op": "Conv2D", "format": "NCHW",
        "inputs": [{"shape": [2, 48, 57, 57], "dtype": "float16"}, {"shape": [96, 24, 3, 3], "dtype": "float16"}],
        "outputs": [{"shape": [2, 96, 29, 29], "dtype": "float16"}],
        "attrs": {"strides": [1, 1, 2, 2], "pads": [1, 1, 1, 1], "dilations": [1, 1, 1, 1], "groups": 2}})
}

fn read(case: &Value) -> Result<Conv, String> {
    let soc = Soc::find("Ascend910B2").unwrap();
    let case = Case::parse(&case.to_string()).map_err(|error| error.to_string())?;
    match case.workload(&soc).map_err(|error| error.to_string())? {
        Workload::Conv(conv) => Ok(conv),
        other => Err(other.to_string()),
    }
}

fn with(pointer: &str, value: Value) -> Value {
    let mut case = case();
    *case.pointer_mut(pointer).unwrap() = value;
    case
}

#[test]
fn a_convolution_is_read_from_a_networks_operands() {
    let conv = read(&case()).unwrap();
    assert_eq!([conv.batch, conv.cin, conv.cout, conv.groups, conv.kh, conv.kw], [2, 48, 96, 2, 3, 3]);
    assert_eq!((conv.stride, conv.pads, conv.dilation), ([2; 2], [1; 4], [1; 2]));
    assert!(!conv.bias);
    let mut biased = case();
    biased["inputs"].as_array_mut().unwrap().push(json!({"shape": [96], "dtype": "float16"}));
    assert!(read(&biased).unwrap().bias);
}

#[test]
fn what_the_attributes_do_not_say_is_read_off_the_sizes() {
    let mut bare = case();
    bare.as_object_mut().unwrap().remove("attrs");
    assert_eq!(read(&bare), read(&case()));
}

#[test]
fn formats_say_which_axis_is_which() {
    let mut other = case();
    other["inputs"] = json!([{"shape": [2, 57, 57, 48], "dtype": "float16", "format": "NHWC"},
        {"shape": [3, 3, 24, 96], "dtype": "float16", "format": "HWCN"}]);
    other["outputs"] = json!([{"shape": [2, 29, 29, 96], "dtype": "float16", "format": "NHWC"}]);
    other["attrs"]["strides"] = json!([1, 2, 2, 1]);
    let (other, same) = (read(&other).unwrap(), read(&case()).unwrap());
    assert_eq!(Conv { format: same.format, ..other }, same);
}

#[test]
fn gradients_take_their_operands_in_the_order_of_canns_prototypes() {
    let x = json!({"shape": [2, 48, 57, 57], "dtype": "float16"});
    let filter = json!({"shape": [96, 24, 3, 3], "dtype": "float16"});
    let y = json!({"shape": [2, 96, 29, 29], "dtype": "float16"});
    for (op, inputs, output, kind) in [
        ("Conv2DBackpropInputD", [&filter, &y], &x, ConvKind::BackpropInput),
        ("Conv2DTransposeD", [&y, &filter], &x, ConvKind::BackpropInput),
        ("Conv2DBackpropFilterD", [&x, &y], &filter, ConvKind::BackpropFilter),
    ] {
        let mut gradient = case();
        gradient["op"] = json!(op);
        (gradient["inputs"], gradient["outputs"]) = (json!(inputs), json!([output]));
        assert_eq!(read(&gradient).unwrap(), Conv { kind, ..read(&case()).unwrap() }, "{op}");
    }
}

#[test]
fn the_kernels_own_formats_take_filters_of_any_sides_and_a_bias() {
    let mut blocks = case();
    blocks["inputs"] = json!([{"shape": [1, 4, 17, 17, 16], "dtype": "float16", "format": "NC1HWC0"},
        {"shape": [28, 4, 16, 16], "dtype": "float16", "format": "FRACTAL_Z"}, {"shape": [64], "dtype": "float16"}]);
    blocks["outputs"] = json!([{"shape": [1, 4, 17, 17, 16], "dtype": "float16", "format": "NC1HWC0"}]);
    for (pads, sides) in [([3, 3, 0, 0], [7, 1]), ([0, 0, 3, 3], [1, 7])] {
        blocks["attrs"] = json!({"strides": [1, 1, 1, 1], "pads": pads, "dilations": [1, 1, 1, 1]});
        let conv = read(&blocks).unwrap();
        assert_eq!(([conv.kh, conv.kw], conv.bias), (sides, true));
    }
    blocks["attrs"]["groups"] = json!(7);
    assert!(read(&blocks).unwrap_err().contains("`attrs.groups`"));
}

#[test]
fn strides_are_read_off_where_padding_alone_is_known_and_where_none_is_needed() {
    let of = |from: u64, taps: u64, to: u64, attrs: Value| {
        let mut small = case();
        small["inputs"] = json!([{"shape": [1, 16, from, from], "dtype": "float16"},
            {"shape": [16, 16, taps, taps], "dtype": "float16"}]);
        small["outputs"] = json!([{"shape": [1, 16, to, to], "dtype": "float16"}]);
        small["attrs"] = attrs;
        read(&small).map(|conv| (conv.stride[0], conv.pads[0] + conv.pads[1]))
    };
    for (from, taps, to, stride, padding) in
        [(12, 5, 8, 1, 0), (14, 7, 8, 1, 0), (6, 3, 4, 1, 0), (56, 3, 56, 1, 2), (56, 3, 28, 2, 1), (224, 7, 112, 2, 5)]
    {
        assert_eq!(of(from, taps, to, json!({})), Ok((stride, padding)), "{from} {taps} {to}");
    }
    assert_eq!(of(16, 9, 8, json!({"pads": [0, 0, 0, 0]})), Ok((1, 0)));
    assert_eq!(of(224, 7, 112, json!({"pads": [3, 3, 3, 3]})), Ok((2, 6)));
}

#[test]
fn what_is_not_read_as_a_convolution_is_no_movement_of_its_data() {
    for op in ["Conv3D", "Conv3DTransposeD", "QuantConv2D", "Conv2DRelu", "ConvTranspose", "Conv2DD"] {
        let mut other = case();
        other["op"] = json!(op);
        assert!(read(&other).unwrap_err().contains("FusionOp_Conv2D_Relu"), "{op}");
    }
}

#[test]
fn depthwise_filters_have_one_group_for_each_channel_in_any_format() {
    let of = |format: &str, filter: [u64; 4], channels: u64| {
        let mut case = json!({"soc": "Ascend910B2", "op": "DepthwiseConv2D", "format": "NCHW",
            "inputs": [{"shape": [1, 32, 8, 8], "dtype": "float16"}], "outputs": [{"shape": [1, channels, 8, 8], "dtype": "float16"}]});
        let filter = json!({"shape": filter, "dtype": "float16", "format": format});
        case["inputs"].as_array_mut().unwrap().push(filter);
        read(&case).map(|conv| conv.groups)
    };
    for (format, filter, channels) in [
        ("NCHW", [32, 1, 3, 3], 32),
        ("NCHW", [1, 32, 3, 3], 32),
        ("NCHW", [2, 32, 3, 3], 64),
        ("HWCN", [3, 3, 32, 1], 32),
        ("HWCN", [3, 3, 1, 32], 32),
    ] {
        assert_eq!(of(format, filter, channels), Ok(32), "{format} {filter:?}");
    }
    assert!(of("NCHW", [64, 32, 3, 3], 64).is_err());
}

#[test]
fn each_mistake_is_named() {
    for (pointer, value, said) in [
        ("/attrs/pads", json!([0, 0, 0, 0]), "gives 28, not 29"),
        ("/attrs/strides", json!([1, 1, 3, 3]), "gives 19, not 29"),
        ("/attrs/strides", json!([0, 0]), "`attrs.strides`"),
        ("/attrs/strides", json!([1, 2, 3]), "`attrs.strides`"),
        ("/attrs/pads", json!("SAME"), "`attrs.pads`"),
        ("/attrs/groups", json!(3), "`attrs.groups`"),
        ("/attrs/strides", json!([2, 1, 2, 2]), "`attrs.strides`"),
        ("/inputs/1/dtype", json!("float32"), "does not multiply"),
        ("/inputs/1/shape", json!([96, 23, 3, 3]), "does not make 96 channels of 48"),
        ("/inputs/1/shape", json!([95, 24, 3, 3]), "does not make 96 channels of 48"),
        ("/outputs/0/shape", json!([3, 96, 29, 29]), "2 and 3 images"),
        ("/outputs/0/shape", json!([2, 96, 60, 29]), "at most 59, not 60"),
        ("/format", json!("ND"), "NCHW or NHWC"),
    ] {
        let error = read(&with(pointer, value)).unwrap_err();
        assert!(error.contains(said), "{pointer}: {error}");
    }
}
