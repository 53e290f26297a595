//! Why operators of ONNX stay as they are: what Ascend's operators have not got.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Operators and why a node of theirs that is not mapped is not.
static ROWS: &[(&[&str], &str)] = &[
    (
        &["QLinearMatMul"],
        "CANN's scales lie along one axis of the result, those of the columns, and types must be known",
    ),
    (&["QLinearConv"], "the types of its operands decide what is beside the product, and are not known"),
    (
        &["MatMulInteger", "ConvInteger"],
        "the types of its operands decide what is beside the product, and are not known",
    ),
    (&["MaxPool"], "CANN counts places within a channel, ONNX over the whole tensor, and these places are read"),
    (&["LpPool"], "CANN's averages have no dilations"),
    (&["Col2Im"], "CANN's Col2im takes two axes and one padding for both sides"),
    (&["Dropout"], "its mask is read, and no operator of CANN's gives that mask"),
    (&["Trilu"], "its diagonal is computed, and is an attribute of CANN's operator"),
    (&["EyeLike"], "CANN's Eye takes its sizes from attributes, and they are open"),
    (&["ScatterND"], "CANN has no scatter that multiplies"),
    (&["CastLike"], "the type that it casts to is not known"),
    (&["Hardmax"], "before opset 13 it joins axes, and its rank is not known"),
    (
        &["com.microsoft::QGemm", "com.microsoft::QLinearConcat", "com.microsoft::QLinearWhere"],
        "CANN's scales lie along one axis of a result, and types must be known",
    ),
    (
        &["com.microsoft::QLinearAveragePool", "com.microsoft::QLinearGlobalAveragePool"],
        "its scales lie by channel, or its rank is not known where channels are last",
    ),
    (&["com.microsoft::QLinearReduceMean"], "its scales lie by channel"),
    (
        &["com.microsoft::Attention", "com.microsoft::QAttention"],
        "its masks, earlier states and turned positions are forms of ONNX Runtime's own",
    ),
    (
        &["com.microsoft::MatMulNBits", "com.microsoft::GatherBlockQuantized", "com.microsoft::QMoE"],
        "its weights are packed in blocks that CANN's products read in another order",
    ),
    (
        &[
            "com.microsoft::DynamicQuantizeLSTM",
            "com.microsoft::QEmbedLayerNormalization",
            "com.microsoft::QuantizeWithOrder",
        ],
        "CANN has no such operator of int8",
    ),
    (
        &["Unique", "Compress"],
        "its work is not modelled; unless its operands are constants, only a run tells how much it finds",
    ),
    (&["ImageDecoder"], "only a run tells how large its image is"),
    (&["RMSNormalization"], "CANN's RmsNorm has a factor for each element of what it norms, and not as many are known"),
    (
        &["Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"],
        "it draws random numbers, which are not modelled",
    ),
    (
        &["BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix", "DFT", "STFT"],
        "the work of signals and their spectra is not modelled",
    ),
    (&["AffineGrid", "CenterCropPad", "DeformConv"], "no operator of CANN's is known to do the same"),
    (&["Attention"], "its masks, earlier states and scores are ONNX's own form of attention"),
    (&["RotaryEmbedding", "TensorScatter"], "its positions are ONNX's own form"),
    (&["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"], "losses of training are not modelled"),
    (&["RNN"], "CANN's recurrent kernels have gates"),
    (
        &["RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"],
        "it works on text, which no AI Core does",
    ),
    (
        &[
            "ConcatFromSequence",
            "Optional",
            "SequenceAt",
            "SequenceConstruct",
            "SequenceEmpty",
            "SequenceErase",
            "SequenceInsert",
            "SequenceLength",
            "SequenceMap",
            "SplitToSequence",
        ],
        "it works on sequences or optionals, which are no tensors",
    ),
    (&["If"], "which of its graphs runs is not known"),
    (&["Loop", "Scan"], "what is within its graph is left out"),
];

/// The rows by operator.
static REASONS: LazyLock<FxHashMap<&str, &str>> =
    LazyLock::new(|| ROWS.iter().flat_map(|(types, why)| types.iter().map(|op_type| (*op_type, *why))).collect());

/// Why a node of this operator is not mapped; `None` where nothing but its absence from the tables is known.
pub fn why(op_type: &str) -> Option<&'static str> {
    REASONS.get(op_type).copied()
}
