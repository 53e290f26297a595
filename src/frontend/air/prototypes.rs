//! Names of the inputs and outputs of operators, as GE's operator prototypes have them.

/// Inputs and outputs of an operator in order. A name that ends in `*` stands for any number of them, which are
/// numbered: `x0`, `x1`, ...; a prototype has one such input and one such output at most.
#[derive(Debug, Clone, Copy)]
pub struct Prototype {
    pub inputs: &'static [&'static str],
    pub outputs: &'static [&'static str],
}

/// One row: operator types, their inputs, their outputs.
type Row = (&'static [&'static str], &'static [&'static str], &'static [&'static str]);

/// The prototype of an operator type, where it is known here.
pub fn prototype(op_type: &str) -> Option<Prototype> {
    let row = |rows: &'static [Row]| rows.iter().find(|(types, ..)| types.contains(&op_type));
    let (_, inputs, outputs) = [CUBE, ELEMENTWISE, REDUCING, MOVING, STRUCTURE].into_iter().find_map(row)?;
    Some(Prototype { inputs, outputs })
}

#[rustfmt::skip] // one row, one kind of prototype
static CUBE: &[Row] = &[
    (&["Conv2D", "Conv2DV2", "Conv3D", "Conv3DV2", "DepthwiseConv2D", "Deconvolution"], &["x", "filter", "bias", "offset_w"], &["y"]),
    (&["Conv2DTranspose", "Conv3DTranspose"], &["input_size", "x", "filter", "bias", "offset_w"], &["y"]),
    (&["Conv2DBackpropInput", "Conv3DBackpropInput", "DepthwiseConv2DBackpropInput"], &["input_size", "filter", "out_backprop"], &["y"]),
    (&["Conv2DBackpropFilter", "Conv3DBackpropFilter"], &["x", "filter_size", "out_backprop"], &["y"]),
    (&["MatMulV2", "MatMulV3", "BatchMatMulV2", "BatchMatMulV3"], &["x1", "x2", "bias", "offset_w"], &["y"]),
    (&["MatMul"], &["x1", "x2", "bias"], &["y"]),
    (&["BatchMatMul"], &["x1", "x2"], &["y"]),
    (&["FullyConnection"], &["x", "w", "b", "offset_w"], &["y"]),
    (&["Einsum"], &["x*"], &["y"]),
    (&["CommonLSTM"], &["x", "w", "r", "b", "sequence_lens", "initial_h", "initial_c", "p"], &["y", "y_h", "y_c"]),
    (&["CommonGRU"], &["x", "w", "r", "b", "sequence_lens", "initial_h"], &["y", "y_h"]),
    (&["DynamicRNN"], &["x", "w", "b", "seq_length", "init_h", "init_c", "wci", "wcf", "wco", "mask"], &["y", "output_h", "output_c", "i", "j", "f", "o", "tanhc"]),
];

#[rustfmt::skip] // as above
static ELEMENTWISE: &[Row] = &[
    (&[
        "Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Rint", "Exp", "Expm1", "Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal",
        "Inv", "Square", "Erf", "Erfc", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh",
        "Atanh", "Sigmoid", "HardSwish", "Swish", "Mish", "Softplus", "Softsign", "Relu", "Relu6", "LeakyRelu", "Threshold",
        "Elu", "Selu", "Celu", "Gelu", "GeluV2", "FastGelu", "BNLL", "Adds", "Muls", "Power", "Cast", "LogicalNot", "ZerosLike",
        "OnesLike", "IsNan", "IsInf", "IsFinite", "Tril", "Triu", "AscendQuant", "AscendAntiQuant",
    ], &["x"], &["y"]),
    (&["HardSigmoid"], &["input_x"], &["output_y"]),
    (&["ClipByValue"], &["x", "clip_value_min", "clip_value_max"], &["y"]),
    (&[
        "Add", "Sub", "Mul", "Div", "RealDiv", "DivNoNan", "FloorDiv", "TruncateDiv", "Mod", "FloorMod", "TruncateMod", "Pow",
        "Maximum", "Minimum", "SquaredDifference", "Atan2", "Xlogy", "Xdivy", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal",
        "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr",
    ], &["x1", "x2"], &["y"]),
    (&["AddN", "AccumulateNV2", "Eltwise"], &["x*"], &["y"]),
    (&["Select"], &["condition", "x1", "x2"], &["y"]),
    (&["SelectV2"], &["condition", "then", "else"], &["result"]),
    (&["PRelu"], &["x", "weight"], &["y"]),
    (&["BiasAdd", "Bias"], &["x", "bias"], &["y"]),
    (&["Scale"], &["x", "scale", "bias"], &["y"]),
    (&["BNInference"], &["x", "mean", "variance", "momentum", "scale", "offset"], &["y"]),
    (&["BNInfer"], &["x", "scale", "offset", "mean", "variance"], &["y"]),
    (&["AscendDequant"], &["x", "deq_scale"], &["y"]),
    (&["Resize"], &["x", "roi", "scales", "sizes"], &["y"]),
    (&["ResizeNearestNeighborV2", "ResizeBilinearV2"], &["x", "size"], &["y"]),
    (&["ROIAlign"], &["features", "rois", "rois_n"], &["y"]),
    (&["ROIPooling"], &["x", "rois", "roi_actual_num"], &["y"]),
];

#[rustfmt::skip] // as above
static REDUCING: &[Row] = &[
    (&["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceAll", "ReduceAny"], &["x", "axes"], &["y"]),
    (&["ReduceMeanD", "ReduceSumD", "ReduceMaxD", "ReduceMinD", "ReduceProdD", "ReduceAllD", "ReduceAnyD", "Reduction", "L2Loss"], &["x"], &["y"]),
    (&["SoftmaxV2", "LRN", "MVN", "LpNormV2"], &["x"], &["y"]),
    (&["LogSoftmaxV2"], &["logits"], &["logsoftmax"]),
    (&["Cumsum"], &["x", "axis"], &["y"]),
    (&["ArgMaxV2", "ArgMin"], &["x", "dimension"], &["y"]),
    (&["ArgMaxWithK"], &["x"], &["indices", "values"]),
    (&["TopK"], &["x", "k"], &["values", "indices"]),
    (&["LayerNorm"], &["x", "gamma", "beta"], &["y", "mean", "variance"]),
    (&["InstanceNorm"], &["x", "gamma", "beta"], &["y", "mean", "variance"]),
    (&["RmsNorm"], &["x", "gamma"], &["y", "rstd"]),
    (&["BatchNorm"], &["x", "scale", "offset", "mean", "variance"], &["y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"]),
    (&["MaxPool", "MaxPoolV3", "MaxPool3D", "AvgPool", "AvgPoolV2", "AvgPool3D", "Pooling", "GlobalAveragePool"], &["x"], &["y"]),
];

#[rustfmt::skip] // as above
static MOVING: &[Row] = &[
    (&["Transpose"], &["x", "perm"], &["y"]),
    (&["TransposeD", "Permute", "SliceD", "StridedSliceD", "PadD", "TileD", "TileWithAxis", "DepthToSpace", "SpaceToDepth", "PassThrough", "ShuffleChannel", "Where", "NonZero"], &["x"], &["y"]),
    (&["ConcatD", "Pack"], &["x*"], &["y"]),
    (&["ConcatV2"], &["x*", "concat_dim"], &["y"]),
    (&["Concat"], &["concat_dim", "x*"], &["y"]),
    (&["Split"], &["split_dim", "x"], &["y*"]),
    (&["SplitV"], &["x", "size_splits", "split_dim"], &["y*"]),
    (&["SplitD", "SplitVD", "Unpack"], &["x"], &["y*"]),
    (&["Slice"], &["x", "offsets", "size"], &["y"]),
    (&["StridedSlice"], &["x", "begin", "end", "strides"], &["y"]),
    (&["StridedSliceV2"], &["x", "begin", "end", "axes", "strides"], &["y"]),
    (&["Crop"], &["x", "size"], &["y"]),
    (&["Gather", "GatherNd"], &["x", "indices"], &["y"]),
    (&["GatherV2"], &["x", "indices", "axis"], &["y"]),
    (&["GatherElements"], &["x", "index"], &["y"]),
    (&["ScatterElements"], &["data", "indices", "updates"], &["y"]),
    (&["ScatterNd"], &["indices", "x", "shape"], &["y"]),
    (&["TensorScatterUpdate"], &["x", "indices", "updates"], &["y"]),
    (&["Tile"], &["x", "multiples"], &["y"]),
    (&["Expand", "BroadcastTo"], &["x", "shape"], &["y"]),
    (&["Pad", "MirrorPad"], &["x", "paddings"], &["y"]),
    (&["PadV2", "PadV3"], &["x", "paddings", "constant_values"], &["y"]),
    (&["SpaceToBatchND"], &["x", "block_shape", "paddings"], &["y"]),
    (&["BatchToSpaceND"], &["x", "block_shape", "crops"], &["y"]),
    (&["OneHot"], &["x", "depth", "on_value", "off_value"], &["y"]),
    (&["Fill"], &["dims", "value"], &["y"]),
    (&["Range"], &["start", "limit", "delta"], &["y"]),
    (&["TransData"], &["src"], &["dst"]),
];

#[rustfmt::skip] // as above
static STRUCTURE: &[Row] = &[
    (&["Identity", "StopGradient", "Flatten", "FlattenV2", "Squeeze", "Unsqueeze", "Shape", "Size", "Rank"], &["x"], &["y"]),
    (&["IdentityN", "ShapeN"], &["x*"], &["y*"]),
    (&["Reshape"], &["x", "shape"], &["y"]),
    (&["ExpandDims"], &["x", "axis"], &["y"]),
    (&["SqueezeV3", "UnsqueezeV3"], &["x", "axes"], &["y"]),
];

/// The names of so many inputs or outputs; `None` where a prototype has fewer.
pub fn numbered(names: &[&str], count: usize) -> Option<Vec<String>> {
    let Some(many) = names.iter().position(|name| name.ends_with('*')) else {
        return (count <= names.len()).then(|| names[..count].iter().map(|&name| name.to_owned()).collect());
    };
    let copies = (count + 1).checked_sub(names.len())?;
    let stem = names[many].trim_end_matches('*');
    let before = names[..many].iter().map(|&name| name.to_owned());
    let after = names[many + 1..].iter().map(|&name| name.to_owned());
    Some(before.chain((0..copies).map(|number| format!("{stem}{number}"))).chain(after).collect())
}

#[cfg(test)]
mod tests {
    use super::{CUBE, ELEMENTWISE, MOVING, REDUCING, STRUCTURE, numbered};
    use crate::graph::op;
    use std::collections::BTreeSet;

    #[test]
    fn every_prototype_is_of_an_operator_that_is_known_and_stands_once() {
        let known: BTreeSet<&str> = op::known_types().collect();
        let mut seen = BTreeSet::new();
        for (types, inputs, outputs) in [CUBE, ELEMENTWISE, REDUCING, MOVING, STRUCTURE].into_iter().flatten() {
            assert!([inputs, outputs].iter().all(|names| names.iter().filter(|name| name.ends_with('*')).count() <= 1));
            for op_type in *types {
                assert!(known.contains(op_type), "{op_type} is not known");
                assert!(seen.insert(op_type), "{op_type} stands twice");
            }
        }
    }

    #[test]
    fn names_that_stand_for_many_are_numbered() {
        assert_eq!(numbered(&["x", "filter", "bias"], 2).unwrap(), ["x", "filter"]);
        assert_eq!(numbered(&["x"], 2), None);
        assert_eq!(numbered(&["x*", "concat_dim"], 4).unwrap(), ["x0", "x1", "x2", "concat_dim"]);
        assert_eq!(numbered(&["split_dim", "x"], 2).unwrap(), ["split_dim", "x"]);
        assert_eq!(numbered(&["y*"], 3).unwrap(), ["y0", "y1", "y2"]);
        assert_eq!(numbered(&["concat_dim", "x*"], 1).unwrap(), ["concat_dim"]);
        assert_eq!(numbered(&["concat_dim", "x*"], 0), None);
    }
}
