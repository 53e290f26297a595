//! Operators by the words of their names.

#[allow(clippy::wildcard_imports, reason = "every class of the room above stands in the table")]
use super::*;

/// Patterns in order; the first whose words the operator's name has decides.
#[rustfmt::skip] // one row for each pattern, short ones side by side
pub(super) const TABLE: &[(&str, Recipe)] = &[
    ("AddrClean", COPIES), ("MemSet", COPIES),
    // Lists of tensors.
    ("ForeachAddcdiv", LISTED_QUOTIENT), ("ForeachDiv", LISTED_QUOTIENT), ("ForeachSqrt", LISTED_QUOTIENT),
    ("ForeachExp", LISTED_QUOTIENT), ("ForeachLog", LISTED_QUOTIENT), ("ForeachSigmoid", LISTED_QUOTIENT),
    ("ForeachPow", LISTED_QUOTIENT), ("ForeachTanh", LISTED_QUOTIENT), ("ForeachReciprocal", LISTED_QUOTIENT),
    ("Foreach", LISTED),
    // Optimisers.
    ("LambApplyOptimizer", LAMB), ("LambNextMV", LAMB), ("LambApplyWeight", THREE),
    ("Adam", ADAM), ("AdaMax", ADAM), ("Adagrad", ADAM), ("Adadelta", ADAM), ("Ftrl", ADAM),
    ("Momentum", THREE), ("RMSProp", ADAM), ("GradientDescent", TWO), ("SGD", THREE), ("LarsV2", THREE),
    ("LambNextRight", ADAM), ("LambUpdateWithLr", THREE),
    // Normalisation. Gradients before the forward operators that their names contain.
    ("LayerNormBetaGamma", BATCH_NORM), ("LayerNormX", NORM_GRADIENT), ("LayerNormGrad", NORM_GRADIENT),
    ("LayerNorm", LAYER_NORM), ("RmsNormGrad", NORM_GRADIENT), ("RmsNormDynamicQuant", NORM_GRADIENT),
    ("AddRmsNorm", ADD_RMS_NORM), ("RmsNorm", RMS_NORM), ("DeepNorm", LAYER_NORM), ("GroupNormGrad", NORM_GRADIENT), ("GroupNorm", GROUP_NORM),
    ("InstanceNorm", LAYER_NORM), ("MVN", LAYER_NORM), ("L2Normalize", RMS_NORM), ("Normalize", LAYER_NORM),
    ("TrainingUpdateGrad", BATCH_NORM_UPDATE_GRADIENT), ("TrainingReduceGrad", BATCH_NORM_SUMS),
    ("TrainingUpdate", BATCH_NORM), ("TrainingReduce", BATCH_NORM_SUMS), ("Renorm", RMS_NORM),
    ("BatchNormGrad", BATCH_NORM_UPDATE_GRADIENT), ("BatchNorm", BATCH_NORM), ("BNInfer", BATCH_NORM), ("BNInference", BATCH_NORM),
    // Routing and sorting, whose names tell what else they do.
    ("InTopK", TWO), ("UniqueConsecutive", FEW), ("MoeInitRouting", ROUTE),
    ("TopK", SORT), ("Sort", SORT), ("NonMaxSuppression", SORT), ("Unique", SORT),
    ("Routing", ROUTE), ("TokenPermute", ROUTE), ("TokenUnpermute", ROUTE), ("Transpose", TRANSPOSE),
    // Softmax and losses.
    ("SoftmaxCrossEntropy", CROSS_ENTROPY), ("SigmoidCrossEntropy", CROSS_ENTROPY), ("BinaryCrossEntropy", LOG_LOSS), ("CrossEntropy", CROSS_ENTROPY),
    ("SoftmaxGrad", FEW), ("LogSoftmax", SOFTMAX), ("Softmax", SOFTMAX), ("LogSumExp", EXPONENTIAL),
    ("NLLLoss", FEW), ("PoissonNllLoss", POWER), ("MarginLoss", POWER), ("MseLoss", THREE), ("SmoothL1Loss", MASK), ("L1Loss", THREE), ("L2Loss", FEW), ("KLDiv", EXPONENTIAL),
    // Activations.
    ("FastGeluGrad", GELU), ("FastGeluV2Grad", GELU), ("FastGelu", FAST_GELU), ("QuickGelu", SWISH),
    ("GeluGrad", GELU_GRADIENT), ("GeLUGrad", GELU_GRADIENT), ("GeGlu", GELU), ("Gelu", GELU), ("GeLU", GELU),
    ("LogSigmoidGrad", SIGMOID), ("SigmoidGrad", THREE), ("TanhGrad", THREE),
    ("SwishGrad", GATED_GRADIENT), ("SiluGrad", GATED_GRADIENT), ("SwiGluGrad", GATED_GRADIENT),
    ("SwigluQuant", NORM_GRADIENT), ("SwiGluQuant", NORM_GRADIENT),
    ("SwiGlu", GATED), ("Swiglu", GATED), ("GLU", GATED), ("HardSwish", FEW), ("Swish", SWISH), ("Silu", SWISH),
    ("MishGrad", GELU), ("Mish", EXPONENTIAL), ("HardSigmoid", FEW), ("HardShrink", FEW), ("SoftShrink", FEW), ("Shrink", FEW),
    ("Erf", GELU), ("Erfc", GELU), ("Erfinv", GELU_GRADIENT), ("Lgamma", SERIES), ("Digamma", SERIES),
    ("LogSigmoid", POWER), ("Logit", RECIPROCAL_ROOT), ("Sigmoid", SIGMOID), ("Tanh", SWISH), ("Elu", EXPONENTIAL), ("Selu", EXPONENTIAL),
    ("Celu", EXPONENTIAL), ("SoftplusGrad", SIGMOID), ("SoftplusV2Grad", SIGMOID), ("Softplus", POWER), ("Softsign", DIVIDE),
    ("ReluGradV2", MASK), ("ReLUV2", TWO), ("ReluV2", TWO), ("PRelu", TWO),
    ("DropoutDoMask", MASK), ("DropOutDoMask", MASK), ("DropOutGenMask", MASK), ("Bernoulli", MASK),
    ("Random", GELU), ("Normal", GELU), ("Uniform", GELU), ("MaximumGrad", MASK), ("MinimumGrad", MASK),
    ("RotaryMul", RMS_NORM), ("RotaryPosition", RMS_NORM), ("RotaryPos", RMS_NORM), ("Rotary", RMS_NORM), ("Rope", RMS_NORM),
    // Quantisation.
    ("DynamicQuant", QUANTISE), ("DynamicMxQuant", QUANTISE), ("DynamicBlockQuant", QUANTISE), ("Quantize", FEW), ("FakeQuant", MASK),
    ("Dequantize", FEW), ("Quant", FEW), ("Dequant", FEW), ("Requant", FEW),
    // Roots, quotients, powers.
    ("Rsqrt", RECIPROCAL_ROOT), ("Sqrt", ROOT), ("Exp", SCALED_ROOT), ("Logical", ONE),
    ("Expm1", ROOT), ("Log1p", ROOT), ("Log", SCALED_ROOT), ("Power", POWER), ("Pow", POWER), ("Pows", POWER), ("Xlogy", EXPONENTIAL), ("Xlog1py", EXPONENTIAL),
    ("Sin", SERIES), ("Cos", SERIES), ("Tan", SERIES), ("Atan", SERIES), ("Asin", SERIES), ("Acos", SERIES),
    ("Sinh", GELU), ("Cosh", GELU), ("Asinh", GELU), ("Acosh", GELU), ("Atanh", GELU),
    ("Iou", OVERLAP), ("IoU", OVERLAP), ("Gcd", EUCLID), ("Lcm", EUCLID),
    ("Div", DIVIDE), ("Reciprocal", DIVIDE), ("Mod", DIVIDED), ("Hypot", RECIPROCAL_ROOT), ("Addcdiv", DIVIDED),
    ("Inv", DIVIDE), ("Xdivy", DIVIDE), ("Sinc", SERIES), ("LRN", EXPONENTIAL),
    // Sums and pooling.
    ("MaxPoolGradWithArgmax", POOL_ARG_GRADIENT), ("MaxPoolWithArgmax", POOL_ARG), ("MaxPoolGrad", MASK), ("MaxPool3D", TWO), ("Pool", ONE), ("Pooling", ONE), ("SquareSum", TWO), ("BiasAddGrad", TWO),
    ("ReduceStd", MASK), ("ReduceVar", MASK), ("ReduceProd", TWO), ("Reduce", ONE), ("Reduction", ONE),
    ("EuclideanNorm", TWO), ("ArgMax", ARG_EXTREME), ("ArgMin", ARG_EXTREME), ("Hardmax", ARG_EXTREME),
    ("CumSum", FEW), ("Cumsum", FEW), ("Cumprod", FEW), ("Cummax", MASK), ("Cummin", MASK), ("Cumulative", EXPONENTIAL),
    // One or two instructions.
    ("AddN", TWO), ("AccumulateNV2", TWO), ("Eltwise", TWO), ("OneHot", ONE), ("IsClose", FEW), ("LpLoss", TWO),
    ("FusedMulAdd", TWO), ("MulAdd", TWO), ("Addcmul", TWO), ("Axpy", TWO), ("Lerp", TWO),
    ("Select", TWO), ("Where", TWO), ("MaskedFill", TWO), ("MaskedScale", TWO), ("ResizeNearestNeighbor", ONE), ("Resize", BILINEAR), ("UpsampleBilinear", BILINEAR), ("UpsampleTrilinear", SAMPLE), ("UpsampleBicubic", SERIES), ("Upsample", FEW),
    ("GridSample", SAMPLE), ("GridSampler2D", SAMPLE), ("GridSampler3D", SAMPLE), ("ROIAlign", SAMPLE), ("RoiAlign", SAMPLE), ("AffineGrid", THREE), ("Hardtanh", TWO), ("Tril", TWO), ("Triu", TWO),
    ("Clip", TWO), ("NanToNum", FEW), ("IsNan", TWO), ("IsInf", TWO), ("IsPosInf", TWO), ("IsNegInf", TWO), ("Heaviside", TWO), ("Signbit", ONE), ("Trilu", TWO), ("IsFinite", TWO),
    ("SquaredDifference", TWO), ("Square", ONE), ("Mul", ONE), ("Muls", ONE), ("Add", ONE), ("Adds", ONE), ("Sub", ONE),
    ("Cast", ONE), ("Neg", ONE), ("Abs", ONE), ("Sign", TWO), ("Relu", ONE), ("ReLU", ONE),
    ("Threshold", TWO), ("Bitwise", ONE), ("Invert", ONE), ("Shift", ONE),
    ("Max", ONE), ("Min", ONE), ("Maximum", ONE), ("Minimum", ONE), ("Maxs", ONE), ("Mins", ONE),
    ("Equal", MASK), ("Greater", MASK), ("Less", MASK), ("Floor", ONE), ("Ceil", ONE), ("Round", ONE), ("Rint", ONE),
    ("Trunc", ONE), ("Bias", ONE), ("Scale", TWO),
    ("Identity", COPY), ("BroadcastTo", COPY), ("Expand", COPY), ("Roll", COPY), ("Reverse", COPY), ("RepeatInterleave", COPY),
    ("DepthToSpace", TRANSPOSE), ("SpaceToDepth", TRANSPOSE), ("PixelShuffle", TRANSPOSE), ("PixelUnshuffle", TRANSPOSE),
    ("SpaceToBatch", TRANSPOSE), ("BatchToSpace", TRANSPOSE), ("ShuffleChannel", TRANSPOSE), ("Permute", TRANSPOSE), ("ZerosLike", COPIES), ("OnesLike", COPIES), ("Fill", COPIES), ("Eye", COPIES),
    ("TransData", COPIES), ("TensorMove", COPIES), ("Assign", COPIES), ("Copy", COPIES), 
    ("Sum", ONE), ("Mean", ONE), ("LpNorm", THREE), ("Norm", MASK),
];
