//! Operators of training graphs.

use super::{In, ints, list, one, refused, shapes, t, text};
use crate::{Attr, DataType};

#[test]
fn batch_norm_steps() {
    let (x, c) = (t([8, 64, 56, 56]), t([64]));
    assert_eq!(shapes("BNTrainingReduce", std::slice::from_ref(&x), &[], 2).unwrap(), "[64] [64]");
    let update = [x.clone(), c.clone(), c.clone(), c.clone(), c.clone(), c.clone(), c.clone()];
    assert_eq!(shapes("BNTrainingUpdate", &update, &[], 5).unwrap(), "[8,64,56,56] [64] [64] [64] [64]");
    let gradient = [x.clone(), x.clone(), c.clone(), c.clone()];
    assert_eq!(shapes("BNTrainingUpdateGrad", &gradient, &[], 2).unwrap(), "[64] [64]");
    one("BNTrainingReduceGrad", &[x.clone(), x, c.clone(), c], &[], "[8,64,56,56]");
}

#[test]
fn gradients_have_the_shape_of_what_they_are_of() {
    one("ReluGradV2", &[t([4, 5]), In::Typed(DataType::Uint1, vec![4, 5])], &[], "[4,5]");
    one("BiasAddGrad", &[t([8, 64, 7, 7])], &[("data_format", text("NCHW"))], "[64]");
    one("BiasAddGrad", &[t([8, 7, 7, 64])], &[("data_format", text("NHWC"))], "[64]");
    let norm = [t([2, 5, 8]), t([2, 5, 8]), t([2, 5, 1]), t([2, 5, 1]), t([8])];
    assert_eq!(shapes("LayerNormGrad", &norm, &[], 3).unwrap(), "[2,5,8] [8] [8]");
    let shape = ("shape_gamma", list(&[8]));
    assert_eq!(shapes("LayerNormBetaGammaBackpropV2", &norm[..2], &[shape], 2).unwrap(), "[8] [8]");
    one("AvgPoolGrad", &[ints([1, 8, 16, 16]), t([1, 8, 8, 8])], &[], "[1,8,16,16]");
    one("StridedSliceGradD", &[t([2])], &[("shape", list(&[8]))], "[8]");
    one(
        "EmbeddingDenseGrad",
        &[t([4, 128, 768]), In::Typed(DataType::Int32, vec![4, 128])],
        &[("num_weights", Attr::Int(100))],
        "[100,768]",
    );
    one("UnsortedSegmentSum", &[t([10, 4]), In::Typed(DataType::Int32, vec![10]), In::Int(3)], &[], "[3,4]");
}

#[test]
fn losses_and_steps() {
    assert_eq!(shapes("SoftmaxCrossEntropyWithLogits", &[t([8, 10]), t([8, 10])], &[], 2).unwrap(), "[8] [8,10]");
    assert_eq!(shapes("ApplyMomentum", &[t([64, 3]), t([64, 3]), t([]), t([64, 3]), t([])], &[], 1).unwrap(), "[64,3]");
    assert_eq!(
        shapes("AdamApplyOne", &[t([4, 5]), t([4, 5]), t([4, 5]), t([1])], &[], 3).unwrap(),
        "[4,5] [4,5] [4,5]"
    );
    one("DropOutGenMask", &[ints([10, 100]), t([])], &[], "[128]");
}

#[test]
fn exchange_between_devices() {
    let ranks = ("rank_size", Attr::Int(4));
    one("HcomAllReduce", &[t([8, 3])], &[], "[8,3]");
    one("HcomAllGather", &[t([8, 3])], std::slice::from_ref(&ranks), "[32,3]");
    one("HcomReduceScatter", &[t([8, 3])], std::slice::from_ref(&ranks), "[2,3]");
    refused("HcomReduceScatter", &[t([7, 3])], &[ranks], "7 rows do not divide among 4");
}
