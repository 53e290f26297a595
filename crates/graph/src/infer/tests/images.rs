//! Image operators.

use super::{In, ints, list, one, refused, t, text};
use crate::Attr;

#[test]
fn images_are_resized_by_scales_or_to_sizes() {
    let x = t([1, 8, 16, 16]);
    one("Resize", &[x.clone(), In::Absent, In::Floats(vec![1.0, 1.0, 2.0, 2.5])], &[], "[1,8,32,40]");
    one("Resize", &[x.clone(), In::Absent, In::Absent, ints([1, 8, 20, 24])], &[], "[1,8,20,24]");
    one("Resize", &[x.clone(), In::Absent, In::Absent, ints([20, 24])], &[("axes", list(&[2, 3]))], "[1,8,20,24]");
    let keep = [("axes", list(&[2, 3])), ("keep_aspect_ratio_policy", text("not_larger"))];
    one("Resize", &[x.clone(), In::Absent, In::Absent, ints([20, 24])], &keep, "[1,8,20,20]");
    one("ResizeNearestNeighborV2", &[x.clone(), ints([4, 5])], &[("data_format", text("NCHW"))], "[1,8,4,5]");
    one(
        "ResizeBilinearV2D",
        &[t([1, 16, 16, 8])],
        &[("size", list(&[4, 5])), ("data_format", text("NHWC"))],
        "[1,4,5,8]",
    );
    refused("Resize", &[x.clone(), In::Absent, In::Floats(vec![2.0])], &[], "1 scales for 4 axes");
    refused("Resize", &[x, In::Absent, In::Floats(vec![1.0, 1.0, -2.0, 1.0])], &[], "-2");
}

#[test]
fn pixels_and_channels_trade_places() {
    let nchw = ("data_format", text("NCHW"));
    let block = ("block_size", Attr::Int(2));
    one("DepthToSpace", &[t([1, 16, 4, 4])], &[nchw.clone(), block.clone()], "[1,4,8,8]");
    one("SpaceToDepth", &[t([1, 4, 8, 8])], &[nchw.clone(), block.clone()], "[1,16,4,4]");
    refused("DepthToSpace", &[t([1, 6, 4, 4])], &[nchw, block], "6 does not divide");
    one("SpaceToBatchND", &[t([1, 4, 4, 3]), ints([2, 2]), ints([0, 0, 0, 0])], &[], "[4,2,2,3]");
    one("BatchToSpaceND", &[t([4, 2, 2, 3]), ints([2, 2]), ints([0, 0, 0, 1])], &[], "[1,4,3,3]");
}

#[test]
fn regions_become_patches() {
    let attrs = [("pooled_height", Attr::Int(7)), ("pooled_width", Attr::Int(5))];
    one("ROIAlign", &[t([1, 256, 50, 50]), t([100, 4])], &attrs, "[100,256,7,5]");
    one("GridSampler2D", &[t([2, 3, 8, 8]), t([2, 5, 6, 2])], &[], "[2,3,5,6]");
    one("NonMaxSuppressionV6", &[t([1, 100, 4]), t([1, 3, 100])], &[], "[?,3]");
}
