//! Results that lie beside an input: the same sizes, or some of them.
//!
//! What operators of torch's graphs give of this kind stands in one table, by the places of their interface
//! ([`crate::op::prototype`]). Sources are the descriptions of outputs in CANN's public operator headers and the
//! documentation of the functions in torch and `torch_npu` that become these operators.

use super::{Call, Inference, Inferred};
use crate::op::prototype;
use crate::{DataType, Shape, TensorDesc};
use Of::{Asked, Last, Like, Listed, Matrix, Number, Rows, Stack, Typed, Unknown};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// What a result is, by the inputs of its operator.
#[derive(Debug, Clone, Copy)]
enum Of {
    /// The tensor at this input.
    Like(usize),
    /// One of the same sizes and this type; undefined: the one type that the interface has, if it is one.
    Typed(usize, DataType),
    /// One of the same sizes and the type that an attribute asks for, else this.
    Asked(usize, &'static str, DataType),
    /// A number for each row: all axes but the last.
    Rows(usize, DataType),
    /// As many numbers as the last axis is long.
    Last(usize, DataType),
    /// As many numbers as the first axis is long.
    Number(usize, DataType),
    /// As many rows as the first tensor, as long as those of the second, of whose type it is.
    Matrix(usize, usize),
    /// A number for each matrix: all axes but the last two.
    Stack(usize),
    /// Sizes in an attribute, the type of the tensor.
    Listed(&'static str, usize),
    /// Nothing tells it.
    Unknown,
}

const FLOAT: DataType = DataType::Float;
const INT8: DataType = DataType::Int8;
/// What the interfaces have where a program sets no type.
const FLOAT4: DataType = DataType::Float4E2m1;
const FLOAT8: DataType = DataType::Float8E5m2;
const INTERFACE: DataType = DataType::Undefined;

/// Operator types and what each of their outputs is.
type Row = (&'static [&'static str], &'static [Of]);

#[rustfmt::skip] // one name after another
static TABLE: &[Row] = &[
    (&[
        "AcoshGrad", "AsinhGrad", "BesselI0e", "BesselI1e", "Conj", "Dawsn", "Expint", "Fills", "FillDiagonal",
        "FresnelCos", "FresnelSin", "Ndtri", "Sinc", "SquaredRelu", "Spence", "RollV2", "IndexAdd", "IndexFill",
        "IndexFillD", "MatrixBandPart", "MatrixInverse", "Cholesky", "CholeskyGrad", "Renorm", "Uniform",
        "MaskedFillRange", "RandomShuffle", "TensorScatterSub", "GroupNormRelu", "SiluGrad", "LRNGrad",
        "SmoothL1LossGradV2", "SoftMarginLossGrad", "NLLLossGrad", "HardSwishGradV2", "ThresholdV2", "Logit",
        "LogitGrad", "L2NormalizeGrad", "MaskedSoftmaxWithRelPosBias", "HcomReduce", "FFT", "IFFT",
        "FFT2D", "IFFT2D", "EnsureShape", "SyncBatchNormBackwardElemt", "SyncBNTrainingUpdate", "MatrixSetDiag",
        "MatrixSetDiagD", "MatrixSetDiagV2", "MatrixSetDiagV3", "MaxPoolGradWithArgmaxV3", "MaxPool3DGradWithArgmax",
        "CumulativeLogsumexpD", "PopulationCount", "AngleV2", "BoundingBoxEncode",
    ], &[Like(0)]),
    (&["SwiGluGrad", "GLUGrad", "GeGluGradV2", "KlDivLossGrad", "CTCLossV2Grad", "MatrixSolve", "MatrixTriangularSolve",
       "TridiagonalSolve"], &[Like(1)]),
    (&["ResizeBicubicV2Grad"], &[Like(1)]),
    (&["SortWithIndex", "MoeUpdateExpert"], &[Like(0), Typed(1, INTERFACE)]),
    (&["Cummax", "Cummin"], &[Like(0), Typed(0, INTERFACE)]),
    (&["SyncBatchNormBackwardReduce"], &[Like(0), Like(0)]),
    (&["SyncBatchNormGatherStatsWithCounts"], &[Like(5), Like(5)]),
    (&["DropOutV3"], &[Like(0), Unknown]),
    (&["SparseFlashAttention", "MhcSinkhorn"], &[Like(0), Unknown, Unknown]),
    (&["MaskedCausalConv1d", "MhcPost"], &[Like(0)]),
    (&["FusedCausalConv1d", "InplaceFusedCausalConv1d"], &[Like(2), Like(0)]),
    (&["RecurrentGatedDeltaRule", "ChunkGatedDeltaRule"], &[Like(2), Like(4)]),
    (&["GroupNormGrad", "GroupNormSwishGrad"], &[Like(3), Like(4), Like(4)]),
    (&["RotaryPositionEmbeddingGrad"], &[Like(0), Like(1), Like(2)]),
    (&["GridSampler2DGrad", "GridSampler3DGrad", "MaximumGrad", "MinimumGrad", "RopeWithSinCosCache"], &[Like(1), Like(2)]),
    (&["AddLayerNormGrad"], &[Like(1), Typed(5, INTERFACE), Typed(5, INTERFACE)]),
    (&["DeepNormGrad"], &[Like(1), Like(2), Typed(3, INTERFACE), Typed(3, INTERFACE)]),
    (&["AdaLayerNormGrad"], &[Like(1), Like(4), Like(4), Like(5), Like(6)]),
    (&["RingAttentionUpdate"], &[Like(0), Like(1), Like(2)]),
    (&["DynamicGRUV2Grad"], &[Like(1), Like(2), Last(1, INTERFACE), Last(2, INTERFACE), Like(0), Like(4)]),
    (&["DynamicRNNGrad"], &[Like(1), Like(2), Like(0), Like(4), Like(5)]),
    (&["BatchNorm3DGrad"], &[Like(0), Like(2), Like(2), Like(2), Like(2)]),
    // Types.
    (&["Real", "Imag", "ComplexAbs", "Angle"], &[Asked(0, "Tout", FLOAT)]),
    (&["Complex"], &[Asked(0, "Tout", DataType::Complex64)]),
    (&["Signbit", "IsPosInf", "IsNegInf"], &[Typed(0, DataType::Bool)]),
    (&["StatelessBernoulliV2"], &[Asked(0, "dtype", FLOAT)]),
    (&["FakeQuantAffineCachemask"], &[Like(0), Typed(0, DataType::Bool)]),
    (&["Bucketize"], &[Asked(0, "dtype", DataType::Int32)]),
    (&["SearchSorted"], &[Asked(1, "dtype", DataType::Int64)]),
    (&["LowerBound", "UpperBound"], &[Asked(1, "out_type", DataType::Int32)]),
    (&["TransQuantParamV2"], &[Typed(0, INTERFACE)]),
    (&["AscendWeightQuant", "GroupQuant"], &[Asked(0, "dst_type", INT8)]),
    (&["DequantBias"], &[Asked(0, "output_dtype", DataType::Float16)]),
    // Quantised in blocks; where no row tells the scales, their layout is not described.
    (&["AntiMxQuant"], &[Asked(0, "dst_type", DataType::Bfloat16)]),
    (&["DynamicBlockMxQuant", "RmsNormDynamicMxQuant"], &[Asked(0, "dst_type", FLOAT4), Unknown, Unknown]),
    (&["AddRmsNormDynamicMxQuant"], &[Asked(0, "dst_type", FLOAT4), Like(0), Unknown, Unknown]),
    (&["DynamicDualLevelMxQuant"], &[Typed(0, FLOAT4), Unknown, Unknown]),
    (&["DynamicMxQuantWithDualAxis"], &[Asked(0, "dst_type", FLOAT4), Unknown, Asked(0, "dst_type", FLOAT4), Unknown]),
    (&["GroupedDynamicBlockQuant", "GroupedDynamicMxQuant", "QuantMax"], &[Asked(0, "dst_type", FLOAT8), Unknown]),
    // Quantised, with a scale for each row.
    (&["RmsNormDynamicQuant", "GeluQuant"], &[Asked(0, "dst_type", INT8), Rows(0, FLOAT)]),
    (&["RotateQuant"], &[Asked(0, "y_dtype", INT8), Rows(0, FLOAT)]),
    (&["FlatQuant"], &[Asked(0, "dst_dtype", DataType::Int4), Number(0, FLOAT)]),
    (&["RmsNormQuantV2"], &[Asked(0, "dst_type", INT8), Asked(0, "dst_type", INT8)]),
    (&["RmsNormQuantV3"], &[Asked(0, "dst_type", INT8), Asked(0, "dst_type", INT8), Unknown]),
    (&["AddRmsNormQuantV2"], &[Asked(0, "dst_type", INT8), Asked(0, "dst_type", INT8), Like(0), Like(0)]),
    (&["AddRmsNormDynamicQuantV2"], &[
        Asked(0, "dst_type", INT8), Asked(0, "dst_type", INT8), Typed(0, FLOAT), Like(0), Like(0), Rows(0, FLOAT),
        Rows(0, FLOAT),
    ]),
    (&["AddLayerNormQuant"], &[Typed(0, INT8), Typed(0, INT8), Like(0), Rows(0, FLOAT), Rows(0, FLOAT)]),
    (&["AddLayerNormQuantV2"], &[Typed(0, INT8), Typed(0, INT8), Like(0), Like(0), Rows(0, FLOAT), Rows(0, FLOAT)]),
    (&["GroupNormSiluQuant"], &[Typed(0, INT8), Unknown, Unknown]),
    // Rows and lists.
    (&["TopKTopPSample"], &[Number(0, DataType::Int64), Typed(0, FLOAT)]),
    (&["TopKTopPSampleV2"], &[Number(0, DataType::Int64), Typed(0, FLOAT), Typed(0, DataType::Int64), Typed(0, FLOAT)]),
    (&["MoeDistributeCombine", "MoeDistributeCombineV2"], &[Matrix(1, 0)]),
    (&["MoeDistributeCombineV3"], &[Matrix(2, 1)]),
    (&["MoeDistributeCombineAddRmsNorm"], &[Like(5), Unknown, Like(5)]),
    (&["MoeReRouting"], &[Like(0), Like(2), Number(0, DataType::Int32), Last(1, INTERFACE)]),
    (&["MatrixDeterminant"], &[Stack(0)]),
    (&["Slogdet", "LogMatrixDeterminant"], &[Stack(0), Stack(0)]),
    (&["SelfAdjointEig"], &[Rows(0, INTERFACE), Like(0)]),
    (&["UpsampleNearest1dGrad", "UpsampleNearest3dGrad", "UpsampleTrilinear3dGrad", "UpsampleNearestExact3dGrad"],
     &[Listed("input_size", 0)]),
    (&["AdaptiveAvgPool2dGrad"], &[Listed("orig_input_shape", 0)]),
    (&["ROIAlignGrad"], &[Listed("xdiff_shape", 0)]),
];

static ROWS: LazyLock<FxHashMap<&'static str, &'static [Of]>> = LazyLock::new(|| {
    TABLE.iter().flat_map(|(types, outputs)| types.iter().map(move |op_type| (*op_type, *outputs))).collect()
});

/// Every operator type of the table.
pub(crate) fn types() -> impl Iterator<Item = &'static str> {
    ROWS.keys().copied()
}

/// Results as the table has them.
pub(crate) fn by_table(call: &Call<'_>) -> Inference {
    let outputs = ROWS.get(call.node.op_type.as_str()).copied().unwrap_or_default();
    let outputs = outputs.iter().take(call.results()).enumerate();
    Inferred::all(outputs.map(|(output, of)| of.describe(call, output)).collect())
}

impl Of {
    fn describe(self, call: &Call<'_>, output: usize) -> TensorDesc {
        let (source, dtype) = match self {
            Like(input) | Stack(input) | Listed(_, input) => (input, call.dtype(input)),
            Asked(input, attr, default) => (input, call.type_attr(attr).unwrap_or(default)),
            Typed(input, dtype) | Rows(input, dtype) | Last(input, dtype) | Number(input, dtype) => (input, dtype),
            Matrix(_, input) => (input, call.dtype(input)),
            Unknown => return TensorDesc::unknown(),
        };
        let dtype = if dtype == INTERFACE { only_type(call, output).unwrap_or(call.dtype(source)) } else { dtype };
        let Some(tensor) = call.get(source) else { return TensorDesc::new(dtype, Shape::unknown_rank()) };
        let dims = tensor.shape.dims();
        let shape = match self {
            Rows(..) => dims.and_then(<[i64]>::split_last).map(|(_, rows)| rows.to_vec()),
            Last(..) => dims.and_then(<[i64]>::last).map(|&size| vec![size]),
            Number(..) => dims.and_then(<[i64]>::first).map(|&size| vec![size]),
            Stack(_) => dims.and_then(|dims| dims.len().checked_sub(2).map(|stack| dims[..stack].to_vec())),
            Matrix(rows, _) => {
                let rows = call.get(rows).and_then(|desc| desc.shape.dims()).and_then(<[i64]>::first);
                rows.zip(dims.and_then(<[i64]>::last)).map(|(&rows, &last)| vec![rows, last])
            }
            Listed(attr, _) => call.node.attrs.ints(attr).map(<[i64]>::to_vec),
            Like(_) | Typed(..) | Asked(..) | Unknown => return TensorDesc { dtype, ..tensor.clone() },
        };
        TensorDesc::new(dtype, shape.map_or_else(Shape::unknown_rank, Shape::new))
    }
}

/// The type of an output, where the interface leaves one.
fn only_type(call: &Call<'_>, output: usize) -> Option<DataType> {
    let types = prototype::prototype(&call.node.op_type)?.outputs.get(output)?.types;
    let mut types = types.iter().filter(|dtype| *dtype != DataType::Undefined);
    types.next().filter(|_| types.next().is_none())
}
