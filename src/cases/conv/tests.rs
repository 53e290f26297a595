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
fn each_mistake_is_named() {
    for (pointer, value, said) in [
        ("/attrs/pads", json!([0, 0, 0, 0]), "gives 28, not 29"),
        ("/attrs/strides", json!([1, 1, 3, 3]), "gives 19, not 29"),
        ("/attrs/strides", json!([0, 0]), "`attrs.strides`"),
        ("/attrs/strides", json!([1, 2, 3]), "`attrs.strides`"),
        ("/attrs/pads", json!("SAME"), "`attrs.pads`"),
        ("/attrs/groups", json!(3), "`attrs.groups`"),
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
