//! How many tensors ONNX's operators read and write, as the operator sets 9 to 21 declare it.

use crate::frontend::onnx::op::Op;
use crate::status::Result;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Any number.
const MANY: usize = usize::MAX;

/// What these operators have in common.
struct Arity {
    /// Inputs from the first on that every version requires.
    required: usize,
    /// Most inputs.
    inputs: usize,
    /// Most outputs.
    outputs: usize,
    /// Names, by spaces.
    of: &'static str,
}

#[rustfmt::skip] // names fill their lines
static ARITIES: &[Arity] = &[
    Arity { required: 0, inputs: 0, outputs: 1, of: "Constant RandomNormal RandomUniform SequenceEmpty" },
    Arity { required: 0, inputs: 1, outputs: 1, of: "Optional OptionalHasElement" },
    Arity { required: 0, inputs: MANY, outputs: 1, of: "Concat Einsum Max Mean Min SequenceConstruct Sum" },
    Arity { required: 0, inputs: MANY, outputs: MANY, of: "Loop Scan" },
    Arity { required: 1, inputs: 1, outputs: 1, of: "\
        Abs Acos Acosh ArgMax ArgMin Asin Asinh Atan Atanh AveragePool Bernoulli BitwiseNot BlackmanWindow Cast Ceil \
        Celu Clip ConcatFromSequence ConstantOfShape Cos Cosh DepthToSpace Det Elu Erf Exp EyeLike Flatten Floor Gelu \
        GlobalAveragePool GlobalLpPool GlobalMaxPool HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity \
        ImageDecoder IsInf IsNaN LRN LeakyRelu Log LogSoftmax LpNormalization LpPool MeanVarianceNormalization Mish \
        Multinomial Neg NonZero Not OptionalGetElement Pad RandomNormalLike RandomUniformLike Reciprocal ReduceL1 \
        ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare \
        RegexFullMatch Relu Round Selu SequenceLength Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus \
        Softsign SpaceToDepth Sqrt Squeeze StringNormalizer Tan Tanh TfIdfVectorizer ThresholdedRelu Transpose Unsqueeze" },
    Arity { required: 1, inputs: 1, outputs: 2, of: "Dropout MaxPool StringSplit TopK" },
    Arity { required: 1, inputs: 1, outputs: 3, of: "DynamicQuantizeLinear" },
    Arity { required: 1, inputs: 1, outputs: 4, of: "Unique" },
    Arity { required: 1, inputs: 1, outputs: MANY, of: "Split" },
    Arity { required: 1, inputs: 2, outputs: 1, of: "DFT Resize SequenceErase SplitToSequence Trilu" },
    Arity { required: 1, inputs: MANY, outputs: MANY, of: "SequenceMap" },
    Arity { required: 2, inputs: 2, outputs: 1, of: "\
        Add AffineGrid And BitShift BitwiseAnd BitwiseOr BitwiseXor CastLike CenterCropPad Compress CumSum Div Equal \
        Expand Gather GatherElements GatherND Greater GreaterOrEqual GridSample Less LessOrEqual MatMul MaxRoiPool Mod \
        Mul Or PRelu Pow Reshape ReverseSequence SequenceAt StringConcat Sub Tile Upsample Xor" },
    Arity { required: 2, inputs: 3, outputs: 1, of: "Conv ConvTranspose DequantizeLinear Gemm MaxUnpool NegativeLogLikelihoodLoss QuantizeLinear SequenceInsert" },
    Arity { required: 2, inputs: 3, outputs: 2, of: "SoftmaxCrossEntropyLoss" },
    Arity { required: 2, inputs: 3, outputs: 3, of: "LayerNormalization" },
    Arity { required: 2, inputs: 4, outputs: 1, of: "ConvInteger MatMulInteger STFT" },
    Arity { required: 2, inputs: 5, outputs: 1, of: "NonMaxSuppression" },
    Arity { required: 3, inputs: 3, outputs: 1, of: "Col2Im GroupNormalization InstanceNormalization OneHot Range RoiAlign Scatter ScatterElements ScatterND Where" },
    Arity { required: 3, inputs: 5, outputs: 1, of: "DeformConv" },
    Arity { required: 3, inputs: 6, outputs: 2, of: "GRU RNN" },
    Arity { required: 3, inputs: 8, outputs: 3, of: "LSTM" },
    Arity { required: 5, inputs: 5, outputs: 1, of: "MelWeightMatrix" },
    Arity { required: 5, inputs: 5, outputs: 5, of: "BatchNormalization" },
    Arity { required: 8, inputs: 8, outputs: 1, of: "QLinearMatMul" },
    Arity { required: 8, inputs: 9, outputs: 1, of: "QLinearConv" },
];

/// Operators whose most inputs and outputs a later version changed, and since which.
#[rustfmt::skip] // one row, one line
static CHANGED: &[(&str, i64, usize, usize)] = &[
    ("BatchNormalization", 14, 5, 3),
    ("Clip", 11, 3, 1),
    ("DFT", 20, 3, 1),
    ("Dropout", 12, 3, 2),
    ("Pad", 11, 3, 1),
    ("Pad", 18, 4, 1),
    ("ReduceL1", 18, 2, 1),
    ("ReduceL2", 18, 2, 1),
    ("ReduceLogSum", 18, 2, 1),
    ("ReduceLogSumExp", 18, 2, 1),
    ("ReduceMax", 18, 2, 1),
    ("ReduceMean", 18, 2, 1),
    ("ReduceMin", 18, 2, 1),
    ("ReduceProd", 18, 2, 1),
    ("ReduceSum", 13, 2, 1),
    ("ReduceSumSquare", 18, 2, 1),
    ("Resize", 11, 4, 1),
    ("Slice", 10, 5, 1),
    ("Split", 13, 2, MANY),
    ("Squeeze", 13, 2, 1),
    ("TopK", 10, 2, 2),
    ("Unsqueeze", 13, 2, 1),
];

/// Operators by name.
static BY_NAME: LazyLock<FxHashMap<&str, &Arity>> =
    LazyLock::new(|| ARITIES.iter().flat_map(|arity| arity.of.split(' ').map(move |name| (name, arity))).collect());

/// Fails where a node of one of ONNX's operators reads fewer or more tensors than the operator has, or writes more.
pub fn check(op: &Op, op_type: &str) -> Result<()> {
    let Some(arity) = BY_NAME.get(op_type) else { return Ok(()) };
    (0..arity.required).try_for_each(|place| op.required(place).map(drop))?;
    let changed = CHANGED.iter().rev().find(|(name, since, ..)| *name == op_type && *since <= op.opset);
    let (inputs, outputs) = changed.map_or((arity.inputs, arity.outputs), |&(_, _, inputs, outputs)| (inputs, outputs));
    for (what, given, most) in [("inputs", op.input_count(), inputs), ("outputs", op.output_count(), outputs)] {
        if given > most {
            return Err(op.error(format!(
                "has {given} {what}, and {op_type} of opset {} has {most}: is the model's opset that of its operators?",
                op.opset
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ARITIES, BY_NAME, CHANGED};

    #[test]
    fn each_operator_stands_once_and_changes_in_the_order_of_versions() {
        let names: usize = ARITIES.iter().map(|arity| arity.of.split(' ').count()).sum();
        assert_eq!(BY_NAME.len(), names);
        assert!(BY_NAME.keys().all(|name| name.chars().all(|c| c.is_ascii_alphanumeric()) && !name.is_empty()));
        assert!(CHANGED.is_sorted_by_key(|&(name, since, ..)| (name, since)));
        assert!(CHANGED.iter().all(|(name, ..)| BY_NAME.contains_key(name)));
    }
}
