//! The registry's rows: one per family of operator types.
//!
//! The types are those that CANN's ONNX, TensorFlow and Caffe parsers produce, their `D` forms (axes and
//! sizes as attributes instead of inputs), what GE itself inserts, and what training graphs hold.

use super::Beside::{
    AllGather, AllReduce, Epilogue, Gate, Norm, ReduceScatter, SecondProduct, SendResult, SendRows, Sum,
};
use super::ConvPass::{BackpropFilter, BackpropInput, Forward, Transposed};
use super::{Beside, Family, Kind, Reading, Within};
use crate::infer::Rule;
use crate::infer::{
    attention, boxes, channel, conv, einsum, elementwise, exchange, groups, image, language, matmul, movement, norm,
    pick, pool,
};
use crate::infer::{recurrent, reduce, shape, slice, torch, training};

const fn row(kind: Kind, rule: Rule, types: &'static [&'static str]) -> Family {
    Family { kind, rule, types }
}

/// The families whose results have an element for each element of what they read, of which smaller ones are repeated.
pub(super) fn by_element() -> impl Iterator<Item = &'static Family> {
    let rules: [Rule; 6] = [
        elementwise::same,
        elementwise::broadcast,
        elementwise::compare,
        elementwise::to_bool,
        elementwise::select,
        elementwise::cast,
    ];
    ELEMENTWISE.iter().filter(move |family| rules.iter().any(|rule| std::ptr::fn_addr_eq(*rule, family.rule)))
}

/// Every family.
pub(super) fn families() -> impl Iterator<Item = &'static Family> {
    let groups: [&'static [Family]; 7] = [STRUCTURE, CUBE, WITHIN, ELEMENTWISE, REDUCE, MOVEMENT, TRAINING];
    groups.into_iter().flatten()
}

static STRUCTURE: &[Family] = &[
    row(Kind::None, shape::kept, &["Data", "RefData", "AippData", "AnnData", "Const", "Constant"]),
    row(Kind::None, torch::by_attributes, &["FileConstant", "ConstPlaceHolder"]),
    row(Kind::None, shape::variable, &["Variable", "VariableV2", "VarHandleOp"]),
    row(Kind::None, shape::kept, &["Placeholder", "PlaceHolder"]),
    // Control flow of TensorFlow 1.
    row(Kind::None, elementwise::same, &["Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration"]),
    row(Kind::None, elementwise::same, &["LoopCond", "Switch", "RefSwitch"]),
    row(Kind::None, shape::merge, &["Merge", "RefMerge"]),
    row(Kind::None, elementwise::mirror, &["NetOutput", "IdentityN", "End", "NoOp", "ControlTrigger"]),
    // What GE's compiler adds to a graph to order its streams: tasks of the runtime, and no kernels.
    row(
        Kind::None,
        elementwise::mirror,
        &[
            "Send",
            "Recv",
            "SendMem",
            "RecvMem",
            "StreamActive",
            "StreamSwitch",
            "StreamSwitchN",
            "StreamMerge",
            "LabelSet",
            "LabelGoto",
            "LabelGotoEx",
            "LabelSwitch",
            "LabelSwitchByIndex",
            "EndGraph",
            "ModelExit",
        ],
    ),
    row(Kind::None, elementwise::same, &["Identity", "StopGradient", "PreventGradient", "Dropout", "ReadVariableOp"]),
    row(Kind::None, elementwise::same, &["Snapshot", "CheckNumerics", "PlaceholderWithDefault", "ReFormat"]),
    row(Kind::None, shape::reshape, &["Reshape"]),
    row(Kind::None, shape::flatten, &["Flatten", "FlattenV2"]),
    row(Kind::None, shape::squeeze, &["Squeeze", "SqueezeV2", "SqueezeV3"]),
    row(Kind::None, shape::unsqueeze, &["Unsqueeze", "UnsqueezeV2", "UnsqueezeV3", "ExpandDims"]),
    row(Kind::None, shape::shape, &["Shape", "ShapeN"]),
    row(Kind::None, shape::size, &["Size", "Rank"]),
];

static CUBE: &[Family] = &[
    row(Kind::MatMul, matmul::matmul, &["MatMul", "MatMulV2", "MatMulV3", "GEMM", "MatMulV2Compress"]),
    row(Kind::MatMul, matmul::matmul, &["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "QuantBatchMatmul"]),
    row(Kind::MatMul, matmul::matmul, &["QuantBatchMatmulV3", "WeightQuantBatchMatmul", "WeightQuantBatchMatmulV2"]),
    row(Kind::MatMul, language::product, &["QuantBatchMatmulV4"]),
    row(Kind::MatMul, language::transposed_product, &["TransposeBatchMatMul"]),
    row(Kind::MatMul, matmul::fully_connection, &["FullyConnection", "FullyConnectionCompress", "InnerProduct"]),
    row(Kind::Einsum, einsum::einsum, &["Einsum"]),
    row(Kind::Attention, attention::flash_attention, &["FlashAttentionScore"]),
    row(Kind::Attention, language::infer_attention, &["PromptFlashAttention", "IncreFlashAttention"]),
    row(Kind::Attention, language::infer_attention, &["FusedInferAttentionScore"]),
    row(Kind::Recurrent, recurrent::common, &["CommonLSTM", "CommonGRU", "CommonRNN"]),
    row(Kind::Recurrent, recurrent::dynamic, &["DynamicRNN", "DynamicRNNV2", "DynamicGRUV2", "DynamicGRU"]),
    row(Kind::Recurrent, recurrent::dynamic, &["DynamicLSTMV2", "DynamicRNNV3", "LSTM", "RNN", "BasicLSTMCell"]),
    row(Kind::Conv(Forward), conv::forward, &["Conv1D", "Conv2D", "Conv2DV2", "Conv2DCompress", "QuantConv2D"]),
    row(Kind::Conv(Forward), conv::forward, &["Conv3D", "Conv3DV2", "DepthwiseConv2D", "DepthwiseConv2dNative"]),
    row(Kind::Conv(Forward), conv::deformable, &["DeformableConv2D"]),
    row(Kind::Conv(Transposed), conv::transposed, &["Conv2DTranspose", "Conv2DTransposeD", "Conv3DTranspose"]),
    row(Kind::Conv(Transposed), conv::transposed, &["Conv3DTransposeD", "Deconvolution"]),
    row(Kind::Conv(BackpropInput), conv::backprop_input, &["Conv2DBackpropInput", "Conv2DBackpropInputD"]),
    row(Kind::Conv(BackpropInput), conv::backprop_input, &["Conv3DBackpropInput", "Conv3DBackpropInputD"]),
    row(Kind::Conv(BackpropInput), conv::backprop_input, &["Conv2DBackpropInputV2", "Conv3DBackpropInputV2"]),
    row(Kind::Conv(BackpropInput), conv::backprop_input, &["DepthwiseConv2DBackpropInput"]),
    row(Kind::Conv(BackpropInput), conv::backprop_input, &["DepthwiseConv2DBackpropInputD"]),
    row(Kind::Conv(BackpropFilter), conv::backprop_filter, &["Conv2DBackpropFilter", "Conv2DBackpropFilterD"]),
    row(Kind::Conv(BackpropFilter), conv::backprop_filter, &["Conv3DBackpropFilter", "Conv3DBackpropFilterD"]),
    row(Kind::Conv(BackpropFilter), conv::backprop_filter, &["Conv2DBackpropFilterV2", "Conv3DBackpropFilterV2"]),
    row(Kind::Conv(BackpropFilter), conv::backprop_filter, &["DepthwiseConv2DBackpropFilter"]),
    row(Kind::Conv(BackpropFilter), conv::backprop_filter, &["DepthwiseConv2DBackpropFilterD"]),
];

/// Products whose kernel does more.
const fn within(reading: Reading, besides: &'static [Beside]) -> Kind {
    Kind::Within(Within { reading, typed_by: 0, besides })
}

const GROUPS: Reading = Reading::Groups { transposed: false };

/// Products of rows that the kernel quantises, by weights that lie transposed.
const QUANTISED: Kind =
    Kind::Within(Within { reading: Reading::Groups { transposed: true }, typed_by: 1, besides: &[] });

#[rustfmt::skip] // one row, one line
static WITHIN: &[Family] = &[
    row(within(Reading::Operands, &[AllReduce]), language::product, &["MatmulAllReduce"]),
    row(within(Reading::Operands, &[AllReduce, Norm]), language::product_and_norm, &["MatmulAllReduceAddRmsNorm"]),
    row(within(Reading::Operands, &[AllReduce, Norm]), language::product_and_norm, &["InplaceMatmulAllReduceAddRmsNorm"]),
    row(within(Reading::Gathered, &[AllGather]), exchange::gathered_product, &["AllGatherMatmul", "AllGatherMatmulV2"]),
    row(within(Reading::Operands, &[ReduceScatter]), exchange::scattered_product, &["MatmulReduceScatter", "MatmulReduceScatterV2"]),
    row(within(Reading::Exchanged, &[SendRows]), exchange::exchanged_before, &["AlltoAllMatmul"]),
    row(within(Reading::Operands, &[SendResult]), exchange::exchanged_after, &["MatmulAlltoAll"]),
    row(within(Reading::Stack, &[SendRows, AllGather]), exchange::exchanged_stack_before, &["AlltoAllAllGatherBatchMatMul"]),
    row(within(Reading::Operands, &[ReduceScatter, SendResult]), exchange::exchanged_stack_after, &["BatchMatMulReduceScatterAlltoAll"]),
    row(within(GROUPS, &[]), groups::grouped_product, &["GroupedMatmul"]),
    row(within(GROUPS, &[Gate]), groups::grouped_gated_quant, &["GroupedMatmulSwigluQuant", "GroupedMatmulSwigluQuantV2"]),
    row(within(GROUPS, &[Sum]), groups::grouped_finalize, &["GroupedMatmulFinalizeRouting"]),
    row(QUANTISED, groups::grouped_dequant, &["QuantGroupedMatmulDequant", "QuantMatmulDequant"]),
    row(within(Reading::FeedForward, &[SecondProduct]), groups::feed_forward, &["FFN"]),
    row(within(Reading::Operands, &[Epilogue]), language::product, &["FusedMatMul", "FusedQuantMatMul"]),
    row(within(Reading::Turned, &[]), language::transposed_product, &["TransposeQuantBatchMatMul"]),
    row(within(Reading::Operands, &[Sum]), torch::summed_product, &["QuantMatmulReduceSum"]),
];

#[rustfmt::skip] // one name after another reads better than one name per line
static ELEMENTWISE: &[Family] = &[
    row(Kind::Elementwise, elementwise::same, &[
        "Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Rint", "Trunc", "Exp", "Expm1", "Log", "Log1p", "Sqrt", "Rsqrt",
        "Reciprocal", "Inv", "Square", "Erf", "Erfc", "Erfinv", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh",
        "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Lgamma", "Digamma", "Sigmoid", "HardSigmoid", "HardSwish", "Swish",
        "Silu", "Mish", "Softplus", "SoftplusV2", "Softsign", "Relu", "Relu6", "Relu6D", "LeakyRelu", "Threshold",
        "ThresholdV2D", "ThresholdedRelu", "Elu", "Selu", "Celu", "CeluV2", "Gelu", "GeluV2", "FastGelu", "FastGeluV2",
        "QuickGelu", "LogSigmoid", "Shrink", "HardShrink", "SoftShrink", "HardtanhV2", "BNLL", "Adds", "Muls", "Maxs",
        "Mins", "Power", "ClipByValue", "ClipByValueV2", "Invert", "BitwiseNot", "ZerosLike", "OnesLike", "Assign",
        "NanToNum", "Exp2", "Cross",
    ]),
    row(Kind::PerChannel, channel::prelu, &["PRelu"]),
    row(Kind::PerChannel, channel::bias_add, &["BiasAdd"]),
    row(Kind::PerChannel, channel::along_axes, &["Bias", "Scale"]),
    row(Kind::Elementwise, elementwise::relu_v2, &["ReluV2"]),
    row(Kind::Elementwise, elementwise::to_bool, &["LogicalNot", "IsNan", "IsInf", "IsFinite"]),
    row(Kind::Elementwise, elementwise::broadcast, &[
        "Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "DivNoNan", "MulNoNan", "FloorDiv", "TruncateDiv", "Mod",
        "FloorMod", "TruncateMod", "Pow", "Maximum", "Minimum", "SquaredDifference", "Atan2", "Xlogy", "Xdivy", "Hypot",
        "BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift", "AddN", "AccumulateNV2", "Eltwise", "Axpy",
        "AxpyV2", "Addcmul", "Addcdiv", "FusedMulAdd", "FusedMulAddN", "FusedMulAddAdd", "Lerp", "MaskedFill", "MaskedScale",
        "ForeachAddScalar", "ForeachMulScalar",
    ]),
    row(Kind::Elementwise, elementwise::compare, &[
        "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr", "LogicalXor",
        "ApproximateEqual",
    ]),
    row(Kind::Elementwise, elementwise::select, &["SelectV2", "Select"]),
    row(Kind::Elementwise, elementwise::cast, &["Cast", "CastLike", "Bitcast"]),
    row(Kind::Elementwise, elementwise::glu, &["SwiGlu", "GLU", "GeGluV2"]),
    row(Kind::Elementwise, elementwise::quantize, &["AscendQuant", "AscendQuantV2", "Quantize", "DynamicQuant"]),
    row(Kind::PerChannel, elementwise::dequantize, &["AscendDequant", "AscendAntiQuant", "AscendAntiQuantV2", "Dequantize"]),
    row(Kind::PerChannel, elementwise::quantize, &["AscendRequant", "AscendRequantS16"]),
    row(Kind::Elementwise, shape::fill, &["Fill", "FillD", "FillV2D"]),
    row(Kind::Elementwise, shape::range, &["Range", "RangeD", "Arange"]),
    row(Kind::Elementwise, movement::one_hot, &["OneHot", "OneHotD"]),
    row(Kind::Elementwise, elementwise::same, &["Tril", "Triu", "Trilu"]),
    row(Kind::Elementwise, image::resize, &["Resize", "ResizeD", "Upsample"]),
    row(Kind::Elementwise, image::resize_to_size, &[
        "ResizeNearestNeighborV2", "ResizeNearestNeighborV2D", "ResizeNearestNeighbor", "ResizeBilinearV2",
        "ResizeBilinearV2D", "ResizeBilinear", "ResizeBicubic", "UpsampleNearest2d", "UpsampleBilinear2d",
    ]),
    row(Kind::Elementwise, image::grid_sample, &["GridSample", "GridSampler2D", "GridSampler3D"]),
    row(Kind::Elementwise, image::roi, &["ROIAlign", "RoiAlign", "ROIPooling", "PSROIPooling", "PSROIPoolingV2"]),
    row(Kind::Elementwise, image::crop_and_resize, &["CropAndResize", "CropAndResizeV2", "CropAndResizeD"]),
    row(Kind::Elementwise, boxes::non_max_suppression, &[
        "NonMaxSuppression", "NonMaxSuppressionV3", "NonMaxSuppressionV3D", "NonMaxSuppressionV6", "NonMaxSuppressionV7",
    ]),
    row(Kind::PerChannel, norm::batch_norm_inference, &["BNInfer", "BNInference", "BNInferenceD", "BatchNormInference"]),
    row(Kind::Elementwise, shape::random, &["RandomUniform", "RandomStandardNormal", "RandomUniformInt", "TruncatedNormal"]),
    row(Kind::Elementwise, elementwise::same, &["RandomUniformLike", "RandomNormalLike", "Bernoulli"]),
    row(Kind::Elementwise, elementwise::rotary, &["RotaryMul", "RotaryPositionEmbedding", "ApplyRotaryPosEmb", "RotaryMulGrad"]),
];

#[rustfmt::skip] // as above
static REDUCE: &[Family] = &[
    row(Kind::ReduceAxes, reduce::reduce, &[
        "ReduceSum", "ReduceSumD", "ReduceMean", "ReduceMeanD", "ReduceMax", "ReduceMaxD", "ReduceMin", "ReduceMinD",
        "ReduceProd", "ReduceProdD", "ReduceLogSumExp", "ReduceLogSum", "EuclideanNorm", "EuclideanNormD", "LpNorm",
        "LpNormV2", "LpNormReduce", "LpNormReduceV2", "SquareSumV1", "SquareSumV2", "ReduceStd", "ReduceStdV2",
        "ReduceVar", "ReduceMeanVariance", "Reduction",
    ]),
    row(Kind::ReduceAxes, elementwise::same, &["MVNV2"]),
    row(Kind::ReduceAxes, reduce::reduce_bool, &["ReduceAll", "ReduceAllD", "ReduceAny", "ReduceAnyD"]),
    row(Kind::ReduceAll, reduce::to_scalar, &["L2Loss", "SquareSumAll", "ReduceAllSum"]),
    row(Kind::AlongAxis, reduce::softmax, &[
        "SoftmaxV2", "Softmax", "LogSoftmaxV2", "LogSoftmax", "SoftmaxGrad", "SoftmaxV2Grad", "LogSoftmaxGrad", "SoftmaxGradExt",
        "ConfusionSoftmaxGrad", "ScaledMaskedSoftmax", "ScaledMaskedSoftmaxGrad", "HardMax",
    ]),
    row(Kind::AlongAxis, elementwise::same, &["Cumsum", "CumsumD", "Cumprod", "CumprodD", "CumulativeLogsumexp", "L2Normalize"]),
    row(Kind::AlongAxis, reduce::arg_extreme, &["ArgMax", "ArgMaxV2", "ArgMaxD", "ArgMin", "ArgMinD"]),
    row(Kind::AlongAxis, reduce::arg_with_value, &["ArgMaxWithValue", "ArgMinWithValue", "MaxN"]),
    row(Kind::AlongAxis, pick::top_k, &["TopK", "TopKD", "TopKV2", "TopKV2D", "ArgMaxWithK"]),
    row(Kind::AlongAxis, pick::sort, &["Sort", "SortV2"]),
    row(Kind::LayerNorm, norm::layer_norm, &["LayerNorm", "LayerNormV3", "LayerNormV4"]),
    row(Kind::LayerNorm, norm::rms_norm, &["RmsNorm"]),
    row(Kind::LayerNorm, norm::add_norm, &["AddRmsNorm", "AddLayerNorm", "DeepNorm", "InplaceAddRmsNorm"]),
    row(Kind::PerChannel, norm::batch_norm, &["BatchNorm", "BatchNormV3", "BatchNorm3D", "BatchNormExt2"]),
    row(Kind::InstanceNorm, norm::instance_norm, &["InstanceNorm", "InstanceNormV2", "InstanceNormV3", "MVN", "Normalize"]),
    row(Kind::GroupNorm, norm::instance_norm, &["GroupNorm", "GroupNormV2", "GroupNormSilu", "GroupNormSwish"]),
    row(Kind::ChannelWindow, elementwise::same, &["LRN"]),
    row(Kind::Pool, pool::pool, &[
        "MaxPool", "MaxPoolV2", "MaxPoolV3", "MaxPool3D", "AvgPool", "AvgPoolV2", "AvgPool3D", "AvgPool3DD", "Pooling",
        "AvgPool1D", "AvgPool1DD", "MaxPoolWithArgmax", "MaxPoolWithArgmaxV1", "MaxPoolWithArgmaxV2", "MaxPoolWithArgmaxV3", "LpPool",
    ]),
    row(Kind::GlobalPool, pool::global, &["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]),
    row(Kind::Pool, pool::adaptive, &["AdaptiveAvgPool2d", "AdaptiveMaxPool2d", "AdaptiveAvgPool3d"]),
];

#[rustfmt::skip] // as above
static MOVEMENT: &[Family] = &[
    row(Kind::Transpose, movement::transpose, &["Transpose", "TransposeD", "TransposeV2", "Permute"]),
    row(Kind::Transpose, movement::confusion_transpose, &["ConfusionTranspose", "ConfusionTransposeD"]),
    row(Kind::Join, movement::concat, &["Concat", "ConcatD", "ConcatV2", "ConcatV2D"]),
    row(Kind::Join, movement::pack, &["Pack", "Stack"]),
    row(Kind::Split, movement::split, &["Split", "SplitD", "SplitV", "SplitVD"]),
    row(Kind::Split, movement::unpack, &["Unpack", "Unstack"]),
    row(Kind::Slice, slice::slice, &["Slice", "SliceD", "SliceDV2"]),
    row(Kind::Slice, slice::strided_slice, &["StridedSlice", "StridedSliceD", "StridedSliceV2", "StridedSliceV3"]),
    row(Kind::Slice, movement::crop, &["Crop"]),
    row(Kind::Gather, pick::gather, &["Gather", "GatherV2", "GatherV2D", "GatherV3", "EmbeddingLookup"]),
    row(Kind::Gather, pick::gather_nd, &["GatherNd"]),
    row(Kind::Gather, pick::gather_elements, &["GatherElements"]),
    row(Kind::Gather, movement::like_second, &["GatherD"]),
    row(Kind::Move, elementwise::same, &[
        "ScatterUpdate", "ScatterAdd", "ScatterElements", "ScatterElementsV2", "ReverseSequence", "Reverse",
        "ReverseV2", "ReverseV2D", "Roll", "ShuffleChannel", "MemcpyAsync", "MemcpyAddrAsync", "TensorMove", "ViewCopy", "Copy",
        "IndexPut", "IndexPutV2", "InplaceUpdate", "InplaceAdd", "InplaceIndexAdd", "InplaceScatterAdd",
    ]),
    row(Kind::Move, pick::scatter_update, &[
        "ScatterNdUpdate", "ScatterNdAdd", "TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMax",
        "TensorScatterMin",
    ]),
    row(Kind::Move, pick::scatter_nd, &["ScatterNd", "ScatterNdD"]),
    row(Kind::Move, movement::as_strided, &["AsStrided"]),
    row(Kind::Move, movement::tile, &["Tile", "TileD"]),
    row(Kind::Move, movement::tile_with_axis, &["TileWithAxis"]),
    row(Kind::Move, shape::expand, &["Expand", "ExpandD", "BroadcastTo", "BroadcastToD"]),
    row(Kind::Move, movement::pad, &["Pad", "PadD", "PadV2", "PadV2D", "PadV3", "PadV3D", "MirrorPad", "MirrorPadD"]),
    row(Kind::Move, image::depth_to_space, &["DepthToSpace", "PixelShuffle"]),
    row(Kind::Move, image::space_to_depth, &["SpaceToDepth", "PixelUnshuffle"]),
    row(Kind::Move, image::pass_through, &["PassThrough", "Reorg"]),
    row(Kind::Move, image::space_to_batch, &["SpaceToBatchND", "SpaceToBatchNDD"]),
    row(Kind::Move, image::batch_to_space, &["BatchToSpaceND", "BatchToSpaceNDD"]),
    row(Kind::Move, shape::trans_data, &["TransData", "TransDataRNN", "FixPipe", "NpuFixPipe"]),
    row(Kind::Move, elementwise::mirror, &["MemSet", "AtomicAddrClean", "DynamicAtomicAddrClean"]),
    row(Kind::Move, pick::non_zero, &["NonZero", "Where"]),
    row(Kind::Move, shape::eye, &["EyeLike"]),
    row(Kind::Elementwise, shape::sized_eye, &["Eye"]),
    row(Kind::Move, movement::diag_part, &["DiagPart", "DiagPartD"]),
    row(Kind::Move, conv::deformable_offsets, &["DeformableOffsets"]),
];

#[rustfmt::skip] // as above
static TRAINING: &[Family] = &[
    row(Kind::Elementwise, elementwise::broadcast, &[
        "ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "EluGradV2", "SeluGrad", "SigmoidGrad", "TanhGrad", "SoftplusGrad",
        "SoftplusV2Grad", "SoftsignGrad", "GeluGrad", "GeluGradV2", "FastGeluGrad", "HardSigmoidGrad", "HardSwishGrad",
        "SwishGrad", "MishGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad", "AbsGrad", "LogSigmoidGrad",
        "ThresholdGradV2D", "HardShrinkGrad", "SoftShrinkGrad", "HardtanhGrad", "AtanGrad", "AsinGrad", "AcosGrad",
        "ConfusionMulGrad", "ClipByNormNoDivSum", "SigmoidCrossEntropyWithLogits", "SigmoidCrossEntropyWithLogitsV2",
        "SigmoidCrossEntropyWithLogitsGrad", "SmoothL1Loss", "SmoothL1LossV2", "SmoothL1LossGrad", "MseLoss", "MseLossGrad", "L1LossGrad",
        "BinaryCrossEntropy", "BinaryCrossEntropyGrad", "KLDiv", "DropOutDoMask", "DropOutDoMaskV3", "DropOutDoMaskV3D",
    ]),
    row(Kind::Elementwise, elementwise::same, &["ReluGradV2"]),
    row(Kind::PerChannel, training::first_then_third, &["PReluGrad"]),
    row(Kind::Elementwise, elementwise::mirror, &[
        "ApplyMomentum", "ApplyMomentumD", "ApplyKerasMomentum", "ApplyKerasMomentumD", "ApplyAdam", "ApplyAdamD", "ApplyAdamV2",
        "ApplyAdamW", "ApplyAdamWV2", "ApplyAdaMax", "ApplyAdaMaxD", "ApplyAdagrad", "ApplyAdagradD", "ApplyAdagradV2",
        "ApplyAdagradV2D", "ApplyAdadelta", "ApplyAdadeltaD", "ApplyRMSProp", "ApplyRMSPropD", "ApplyCenteredRMSProp",
        "ApplyCenteredRMSPropD", "ApplyGradientDescent", "ApplyFtrl", "ApplyFtrlD", "ApplyFtrlV2", "ApplyFtrlV2D", "ApplyAddSign",
        "ApplyPowerSign", "ApplyProximalAdagrad", "ApplyProximalGradientDescent", "SGD", "FusedMulApplyMomentum",
        "FusedMulApplyMomentumExtern", "FusedMulApplyKerasMomentum", "ApplyFusedAdam", "ApplyAdamWithAmsgrad", "AssignAdd", "AssignSub",
        "NpuAllocFloatStatus", "NpuGetFloatStatus", "NpuClearFloatStatus", "NPUClearFloatStatus", "NPUGetFloatStatus",
    ]),
    row(Kind::Elementwise, training::optimizer_steps, &[
        "LambNextMV", "LambNextMVWithDecay", "LambNextRight", "LambUpdateWithLr", "LambUpdateWithLrV2", "LambApplyOptimizerAssign",
        "LambApplyWeightAssign", "AdamApplyOne", "AdamApplyOneAssign", "AdamApplyOneWithDecay", "AdamApplyOneWithDecayAssign",
        "LarsV2", "LarsV2Update",
    ]),
    row(Kind::Elementwise, training::drop_mask, &["DropOutGenMask", "DropOutGenMaskV3", "DropOutGenMaskV4", "StatelessDropOutGenMask"]),
    row(Kind::ChannelStats, training::channel_stats, &["BNTrainingReduce", "BN3DTrainingReduce"]),
    row(Kind::PerChannel, training::first_then_second, &["BNTrainingUpdate", "BNTrainingUpdateV2", "BNTrainingUpdateV3", "BN3DTrainingUpdate"]),
    row(Kind::PerChannel, elementwise::same, &["BNTrainingReduceGrad", "BN3DTrainingReduceGrad", "BNInferGrad"]),
    row(Kind::ChannelStats, training::stats_like_third, &["BNTrainingUpdateGrad", "BN3DTrainingUpdateGrad"]),
    row(Kind::ChannelStats, training::first_then_third, &["BatchNormGrad", "BatchNormGradV3", "BatchNormGradExt2"]),
    row(Kind::ChannelStats, training::bias_grad, &["BiasAddGrad"]),
    row(Kind::LayerNorm, training::layer_norm_grad, &["LayerNormGrad", "LayerNormGradV3"]),
    row(Kind::LayerNorm, elementwise::same, &["LayerNormXBackprop", "LayerNormXBackpropV2", "LayerNormXBackpropV3"]),
    row(Kind::LayerNorm, training::gamma_beta, &["LayerNormBetaGammaBackprop", "LayerNormBetaGammaBackpropV2"]),
    row(Kind::LayerNorm, training::rms_norm_grad, &["RmsNormGrad"]),
    row(Kind::InstanceNorm, elementwise::same, &["InstanceNormGrad", "INTrainingReduceV2", "INTrainingUpdateV2"]),
    row(Kind::AlongAxis, training::softmax_cross_entropy, &[
        "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits",
    ]),
    row(Kind::AlongAxis, training::loss_of_rows, &["NLLLoss"]),
    row(Kind::Attention, training::attention_grad, &["FlashAttentionScoreGrad"]),
    row(Kind::Pool, elementwise::same, &["MaxPoolGrad", "MaxPoolGradWithArgmax", "MaxPoolGradWithArgmaxV1", "MaxPoolGradWithArgmaxV2", "MaxPool3DGrad", "MaxPoolV3Grad"]),
    row(Kind::Pool, training::avg_pool_grad, &["AvgPoolGrad", "AvgPoolGradD", "AvgPool3DGrad", "AvgPool3DGradD", "AvgPoolV2Grad", "AvgPoolV2GradD"]),
    row(Kind::Elementwise, movement::like_second, &["ResizeBilinearV2Grad", "ResizeBilinearGrad"]),
    row(Kind::Elementwise, image::resize_grad, &["ResizeNearestNeighborV2Grad", "ResizeNearestNeighborV2GradD"]),
    row(Kind::Move, training::shape_from_first, &["StridedSliceGrad", "StridedSliceGradD"]),
    row(Kind::Move, training::segment_sum, &["UnsortedSegmentSum", "UnsortedSegmentSumD", "SegmentSum", "UnsortedSegmentMax"]),
    row(Kind::Move, training::embedding_grad, &["EmbeddingDenseGrad", "EmbeddingDenseGradV2"]),
    row(Kind::Collective, elementwise::mirror, &["HcomAllReduce", "HcomBroadcast", "HorovodAllreduce", "HorovodBroadcast"]),
    row(Kind::Collective, elementwise::same, &["HcomAllToAll"]),
    row(Kind::Collective, training::all_gather, &["HcomAllGather", "HorovodAllgather"]),
    row(Kind::Collective, training::reduce_scatter, &["HcomReduceScatter"]),
];
