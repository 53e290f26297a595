//! Operator types that OPAT tunes.

use super::{Kind, kind};
use rustc_hash::FxHashSet;
use std::sync::LazyLock;

/// Vector operators that CANN's OPAT tunes, as its AOE guide (8.0) lists them.
const VECTOR: &[&str] = &[
    "Abs",
    "AccumulateNV2",
    "Add",
    "AddN",
    "Adds",
    "BatchNorm3D",
    "BiasAdd",
    "BiasAddGrad",
    "BNInfer",
    "BNTrainingReduce",
    "BNTrainingReduceGrad",
    "BNTrainingUpdate",
    "BNTrainingUpdateGrad",
    "BNTrainingUpdateV2",
    "BNTrainingUpdateV3",
    "ClipByNormNoDivSum",
    "ClipByValue",
    "DiagPartD",
    "Div",
    "DivNoNan",
    "DynamicRNN",
    "Elu",
    "EluGrad",
    "Exp",
    "ExpandD",
    "Floor",
    "FloorDiv",
    "Gelu",
    "InstanceNorm",
    "L2Loss",
    "LambUpdateWithLrV2",
    "LayerNormBetaGammaBackpropV2",
    "LeakyRelu",
    "Log",
    "Log1p",
    "LpNorm",
    "Maximum",
    "MaxPool",
    "MaxPool3D",
    "MaxPoolV3",
    "Minimum",
    "Mul",
    "Muls",
    "Neg",
    "Pow",
    "PRelu",
    "RealDiv",
    "ReduceAllD",
    "ReduceMaxD",
    "ReduceMeanD",
    "ReduceMinD",
    "ReduceSumD",
    "Relu",
    "ReluV2",
    "ReluGradV2",
    "Round",
    "Rsqrt",
    "RsqrtGrad",
    "Sigmoid",
    "Sign",
    "SoftmaxCrossEntropyWithLogits",
    "Softplus",
    "SplitVD",
    "SqrtGrad",
    "Square",
    "SquaredDifference",
    "SquareSumV1",
    "SquareSumV2",
    "StridedSliceD",
    "Sub",
    "Tanh",
    "TileD",
    "Unpack",
];

/// Cube and other operators of the same list.
const CUBE_AND_OTHERS: &[&str] = &[
    "AvgPool",
    "AvgPoolV2",
    "AvgPool3D",
    "AvgPool3DGrad",
    "BatchMatMul",
    "BatchMatMulV2",
    "BatchMatMulV3",
    "Conv1D",
    "Conv2D",
    "Conv2DBackpropFilter",
    "Conv2DBackpropInput",
    "Conv2DCompress",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DBackpropFilter",
    "Conv3DBackpropInput",
    "Conv3DTranspose",
    "Deconvolution",
    "DeformableConv2D",
    "DepthwiseConv2D",
    "DepthwiseConv2DBackpropFilter",
    "DepthwiseConv2DBackpropInput",
    "FullyConnection",
    "FullyConnectionCompress",
    "GatherV2",
    "GEMM",
    "MatMul",
    "MatMulV2",
    "MatMulV2Compress",
    "MatMulV3",
    "Pooling",
];

/// The documented list.
pub(super) fn documented() -> impl Iterator<Item = &'static str> {
    VECTOR.iter().chain(CUBE_AND_OTHERS).copied()
}

static TUNED: LazyLock<FxHashSet<&'static str>> = LazyLock::new(|| {
    let with_inputs = documented().filter_map(|op_type| op_type.strip_suffix('D'));
    documented().chain(with_inputs).collect()
});

/// Whether OPAT tunes operators of this type: the documented list, every member of the matrix-product
/// and convolution families, and the form with inputs of an operator whose `D` form is listed (which
/// is what it is before CANN turns constant inputs into attributes).
pub fn tunable(op_type: &str) -> bool {
    matches!(kind(op_type), Kind::MatMul | Kind::Conv(_)) || TUNED.contains(op_type)
}
