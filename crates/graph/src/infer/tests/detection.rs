//! Operators of networks that find things in images.

use super::{graph_of, ints, one, refused, shapes, t, text};
use crate::{Attr, DataType, Format};

fn floats(values: &[f64]) -> Attr {
    Attr::Floats(values.to_vec())
}

fn int(value: i64) -> Attr {
    Attr::Int(value)
}

/// The shapes of the outputs.
#[track_caller]
fn all(op_type: &str, inputs: &[super::In], attrs: &[(&str, Attr)], outputs: usize, expected: &str) {
    assert_eq!(shapes(op_type, inputs, attrs, outputs).as_deref(), Ok(expected), "{op_type} {attrs:?}");
}

#[test]
fn prior_boxes_are_counted_by_their_sizes_and_the_ratios_of_their_sides() {
    let boxes = |ratios: &[f64], flip: bool, largest: &[f64], expected: &str| {
        let attrs = [
            ("min_size", floats(&[30.0])),
            ("max_size", floats(largest)),
            ("aspect_ratio", floats(ratios)),
            ("flip", Attr::Bool(flip)),
        ];
        one("PriorBox", &[t([1, 64, 56, 40]), t([1, 3, 300, 300])], &attrs, expected);
    };
    // 56 x 40 points, 4 coordinates.
    boxes(&[2.0], true, &[60.0], "[1,2,35840,1]");
    boxes(&[2.0], false, &[60.0], "[1,2,26880,1]");
    boxes(&[1.0], true, &[60.0], "[1,2,17920,1]");
    boxes(&[2.0, 0.5, 3.0, 1.0], true, &[], "[1,2,44800,1]");
    one("PriorBox", &[t([1, 64, 56, 40]), t([1, 3, 300, 300])], &[], "[?]");
    let three = t([3, 1, 1, 1]);
    let inputs = [t([1, 64, 8, 4]), t([1, 3, 64, 64]), three.clone(), three.clone(), three.clone(), three];
    one("PriorBoxD", &inputs, &[], "[1,2,96,4]");
    let ratios = [("min_size", floats(&[1.0])), ("aspect_ratio", floats(&[-2.0]))];
    refused("PriorBox", &inputs[..2], &ratios, "`aspect_ratio` has -2");
}

#[test]
fn yolos_boxes_lie_in_whole_blocks() {
    let attrs = [("boxes", int(3)), ("coords", int(4)), ("classes", int(80))];
    // 13 x 13 = 169 points: 338 + 32 bytes in blocks of 32 are 384, and 3 x 169 points 1056.
    all("Yolo", &[t([2, 255, 13, 13])], &attrs, 3, "[2,12,192] [2,528] [2,80,528]");
    all("Yolo", &[t([2, 255, 13, 13])], &[], 1, "[2,12,192]");
    all("Yolo", &[t([2, 255, -1, 13])], &[], 3, "[2,12,?] [2,?] [2,80,?]");
    refused("Yolo", &[t([2, 255, 13, 13])], &[("boxes", int(0))], "`boxes` is 0");
    let heads = [t([2, 20, 192]), t([2, 848]), t([2, 20, 848]), t([2, 4])];
    all("YoloV2DetectionOutput", &heads, &[], 2, "[2,3072] [2,8]");
    all("YoloV3DetectionOutputV2", &heads, &[("post_nms_topn", int(100))], 2, "[2,6,100] [2,8]");
    all("YoloV3DetectionOutputV2", &heads, &[("out_box_dim", int(2))], 2, "[2,3072] [2,8]");
}

#[test]
fn regions_that_are_proposed_become_patches() {
    all("Proposal", &[t([2, 18, 14, 14]), t([2, 36, 14, 14]), t([2, 3])], &[], 2, "[2,5,304] [2,8]");
    let pooled = [("pooled_h", int(7)), ("pooled_w", int(6))];
    one("ROIPooling", &[t([2, 64, 14, 14]), t([2, 5, 304])], &pooled, "[608,64,7,6]");
    one("ROIPooling", &[t([1, 64, 14, 14]), t([300, 5])], &pooled, "[300,64,7,6]");
    let groups = [("group_size", int(7)), ("output_dim", int(21))];
    one("PSROIPooling", &[t([2, 1029, 14, 14]), t([2, 5, 304])], &groups, "[608,21,7,7]");
    all(
        "SSDDetectionOutput",
        &[t([2, 34928]), t([2, 8732]), t([1, 2, 34928, 1])],
        &[("keep_top_k", int(200))],
        2,
        "[2,8] [2,256,8]",
    );
    let heads = [t([2, 5, 2000]), t([608, 84]), t([608, 21]), t([2, 3])];
    all("FSRDetectionOutput", &heads, &[("num_classes", int(21))], 2, "[2,21,8] [2,21,1024,8]");
}

#[test]
fn a_pyramid_of_points_and_blocks_of_pixels_are_channels() {
    one("SPP", &[t([2, 64, 56, 56])], &[("pyramid_height", int(3))], "[2,1344,1,1]");
    refused("SPP", &[t([2, 64, 56, 56])], &[("pyramid_height", int(63))], "no image has so many points");
    let nchw = ("data_format", text("NCHW"));
    one("Reorg", &[t([1, 64, 56, 56])], &[nchw, ("stride", int(2))], "[1,256,28,28]");
}

/// What `Aipp` gives of a camera's image with this configuration, where the network's image is in this format.
fn prepared(config: &str, format: Format) -> String {
    let mut graph = graph_of("Aipp", &[t([1, 480, 640, 3])], &[("aipp_config_path", text(config))], 1);
    let op = graph.find("op").unwrap();
    graph.node_mut(op).outputs[0].format = format;
    crate::infer::infer(&mut graph).unwrap();
    graph.node(op).outputs[0].shape.to_string()
}

#[test]
fn a_camera_s_image_is_cut_resized_and_padded() {
    let cut = r#"{"aipp_mode":"static","crop":true,"crop_size_h":400,"crop_size_w":300,"input_format":"YUV420SP_U8"}"#;
    assert_eq!(prepared(cut, Format::Nchw), "[1,3,400,300]");
    assert_eq!(prepared(cut, Format::Nhwc), "[1,400,300,3]");
    let all = r#"{"crop":true,"crop_size_h":400,"crop_size_w":300,"resize":true,"resize_output_h":220,"resize_output_w":200,
        "padding":true,"top_padding_size":3,"bottom_padding_size":1,"right_padding_size":24}"#;
    assert_eq!(prepared(all, Format::Nchw), "[1,3,224,224]");
    let idle = r#"{"crop":false,"crop_size_h":400,"input_format":"YUV400_U8","src_image_size_h":448}"#;
    assert_eq!(prepared(idle, Format::Nchw), "[1,1,448,640]");
    // A tensor gives it, or GE has not read the file yet: then the image is described as the network reads it.
    assert_eq!(prepared(r#"{"aipp_mode":"dynamic"}"#, Format::Nchw), "[?]");
    assert_eq!(prepared("./aipp.cfg", Format::Nchw), "[1,480,640,3]");
    refused("Aipp", &[t([1, 480, 640, 3])], &[("aipp_config_path", text("{"))], "its configuration");
}

#[test]
fn a_number_of_no_element_type_is_named() {
    let wrong = |value: Attr, reason: &str| refused("Cast", &[t([4])], &[("dst_type", value)], reason);
    wrong(int(999), "attribute `dst_type` is 999, which is no element type");
    wrong(int(-1), "attribute `dst_type` is -1");
    wrong(int(28), "attribute `dst_type` is 28");
    wrong(int(1 << 40), "attribute `dst_type` is 1099511627776");
    wrong(text("float99"), "attribute `dst_type` is `float99`");
    one("Cast", &[t([4])], &[("dst_type", int(9))], "[4]");
    refused("ArgMaxV2", &[t([4, 5]), ints([1])], &[("dtype", int(999))], "attribute `dtype` is 999");
    // Of others, no type is that of what they read.
    one("MatMulV2", &[t([4, 5]), t([5, 6])], &[("dtype", int(-1))], "[4,6]");
}

#[test]
fn what_is_not_known_of_an_image_stays_open() {
    let mut graph = graph_of("PriorBox", &[super::In::Open, t([1, 3, 8, 8])], &[("min_size", floats(&[1.0]))], 1);
    crate::infer::infer(&mut graph).unwrap();
    let output = &graph.node(graph.find("op").unwrap()).outputs[0];
    assert_eq!((output.dtype, output.shape.dims()), (DataType::Float, None));
}
