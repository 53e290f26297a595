//! Mapping rules: TensorFlow's operators to Ascend operator types.
//!
//! Inputs stay where they are, for Ascend's types take TensorFlow's order; attributes are carried over by name,
//! with those of a row renamed. Layouts are TensorFlow's: NHWC unless `data_format` says otherwise.

use super::tensor::Reason;
use crate::graph::{Attr, Attrs, DataType, Node};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// One row: TensorFlow's operators, the Ascend type (empty: the same name), and what is done to the attributes.
struct Rule(&'static [&'static str], &'static str, &'static [Fix]);

/// What is done to the attributes of a node.
enum Fix {
    /// One goes by another name.
    Rename(&'static str, &'static str),
    /// One that is absent has this value.
    Int(&'static str, i64),
    Bool(&'static str, bool),
    Text(&'static str, &'static str),
    Type(&'static str, DataType),
    /// Always these axes.
    Axes(&'static [i64]),
    /// Paddings of a window that the file states (`explicit_paddings`).
    Pads,
    /// One that TensorFlow gives no default.
    Need(&'static str),
    /// Strides of convolutions, which pass no image and no channel over.
    Strides,
}

use Fix::{Axes, Bool, Int, Need, Pads, Rename, Strides, Text, Type};

const NHWC: Fix = Text("data_format", "NHWC");
const NDHWC: Fix = Text("data_format", "NDHWC");

#[rustfmt::skip] // one row, one line
static RULES: &[Rule] = &[
    Rule(&["Conv2D"], "", &[NHWC, Need("padding"), Strides, Pads, Int("groups", 1)]),
    Rule(&["Conv3D"], "", &[NDHWC, Need("padding"), Strides, Pads, Int("groups", 1)]),
    Rule(&["DepthwiseConv2dNative"], "DepthwiseConv2D", &[NHWC, Need("padding"), Strides, Pads]),
    Rule(&["Conv2DBackpropInput"], "", &[NHWC, Need("padding"), Strides, Pads, Int("groups", 1)]),
    Rule(&["MatMul"], "MatMulV2", &[Rename("transpose_a", "transpose_x1"), Rename("transpose_b", "transpose_x2")]),
    Rule(&["BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"], "BatchMatMulV2", &[Rename("adj_x", "adj_x1"), Rename("adj_y", "adj_x2")]),
    Rule(&["Einsum"], "", &[]),
    Rule(&["BiasAdd"], "", &[NHWC]),
    Rule(&["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"], "BatchNorm", &[NHWC, Bool("is_training", true)]),
    Rule(&["MaxPool", "AvgPool"], "", &[NHWC, Need("ksize"), Need("strides"), Need("padding"), Pads]),
    Rule(&["MaxPool3D", "AvgPool3D"], "", &[NDHWC, Need("ksize"), Need("strides"), Need("padding"), Pads]),
    Rule(&["LRN"], "", &[NHWC, Int("depth_radius", 5)]),
    Rule(&["Relu", "Relu6", "Elu", "Selu", "Sigmoid", "Tanh", "Softplus", "Softsign"], "", &[]),
    Rule(&["LeakyRelu"], "", &[Rename("alpha", "negative_slope")]),
    Rule(&["Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Rint", "Exp", "Expm1", "Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Inv", "Square", "Erf", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh"], "", &[]),
    Rule(&["IsNan", "IsInf", "IsFinite", "LogicalNot", "ClipByValue", "ZerosLike", "OnesLike", "L2Loss"], "", &[]),
    Rule(&["Add", "AddV2"], "Add", &[]),
    Rule(&["Sub", "Mul", "RealDiv", "Div", "DivNoNan", "FloorDiv", "FloorMod", "Mod", "Pow", "Maximum", "Minimum", "SquaredDifference", "AddN", "AccumulateNV2", "Atan2", "Xdivy", "Xlogy"], "", &[]),
    Rule(&["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr", "Select", "SelectV2"], "", &[]),
    Rule(&["Mean"], "ReduceMean", &[Bool("keep_dims", false)]),
    Rule(&["Sum"], "ReduceSum", &[Bool("keep_dims", false)]),
    Rule(&["Max"], "ReduceMax", &[Bool("keep_dims", false)]),
    Rule(&["Min"], "ReduceMin", &[Bool("keep_dims", false)]),
    Rule(&["Prod"], "ReduceProd", &[Bool("keep_dims", false)]),
    Rule(&["All"], "ReduceAll", &[Bool("keep_dims", false)]),
    Rule(&["Any"], "ReduceAny", &[Bool("keep_dims", false)]),
    Rule(&["Softmax"], "SoftmaxV2", &[Axes(&[-1])]),
    Rule(&["LogSoftmax"], "LogSoftmaxV2", &[Axes(&[-1])]),
    Rule(&["ArgMax"], "ArgMaxV2", &[Rename("output_type", "dtype")]),
    Rule(&["ArgMin"], "", &[Rename("output_type", "dtype")]),
    Rule(&["TopKV2"], "TopK", &[]),
    Rule(&["Cumsum", "OneHot", "Fill", "Range", "BroadcastTo"], "", &[]),
    Rule(&["Shape", "ShapeN", "Size"], "", &[Rename("out_type", "dtype"), Type("dtype", DataType::Int32)]),
    Rule(&["Rank"], "", &[Type("dtype", DataType::Int32)]),
    Rule(&["Variable", "VariableV2", "VarHandleOp", "ReadVariableOp"], "", &[]),
    Rule(&["Enter", "Exit", "Switch", "Merge", "NextIteration", "LoopCond", "RefEnter", "RefExit", "RefSwitch", "RefMerge", "RefNextIteration"], "", &[]),
    Rule(&["Reshape", "Squeeze", "ExpandDims", "Identity", "StopGradient", "PreventGradient", "CheckNumerics", "Snapshot", "IdentityN"], "", &[]),
    Rule(&["ConcatV2", "Concat", "Pack", "Unpack", "Split", "SplitV", "Slice", "StridedSlice", "Transpose", "Pad", "PadV2", "MirrorPad", "Tile"], "", &[]),
    Rule(&["Gather", "GatherV2", "GatherNd", "ScatterNd", "ReverseV2", "ReverseSequence"], "", &[]),
    Rule(&["TensorScatterUpdate"], "", &[]),
    Rule(&["Cast"], "", &[Rename("DstT", "dst_type")]),
    Rule(&["DepthToSpace", "SpaceToDepth"], "", &[NHWC]),
    Rule(&["SpaceToBatchND", "BatchToSpaceND"], "", &[]),
    Rule(&["ResizeBilinear"], "ResizeBilinearV2", &[NHWC]),
    Rule(&["ResizeNearestNeighbor"], "ResizeNearestNeighborV2", &[NHWC]),
];

static TABLE: LazyLock<FxHashMap<&'static str, &'static Rule>> =
    LazyLock::new(|| RULES.iter().flat_map(|rule| rule.0.iter().map(move |op| (*op, rule))).collect());

/// Makes a node of its operator's Ascend type, its attributes being those of the file; one that no rule knows stays
/// what it is and is marked as unmapped.
pub fn apply(node: &mut Node) -> Result<(), Reason> {
    let Some(Rule(_, op_type, fixes)) = TABLE.get(node.origin_type.as_str()) else {
        node.mapped = false;
        return Ok(());
    };
    if !op_type.is_empty() {
        (*op_type).clone_into(&mut node.op_type);
    }
    for fix in *fixes {
        match fix {
            Rename(from, to) => {
                if let Some(value) = node.attrs.remove(from) {
                    node.attrs.set(*to, value);
                }
            }
            Int(name, value) => default(&mut node.attrs, name, Attr::Int(*value)),
            Bool(name, value) => default(&mut node.attrs, name, Attr::Bool(*value)),
            Text(name, value) => {
                default(&mut node.attrs, name, Attr::Str((*value).to_owned()));
                known_layout(&node.attrs)?;
            }
            Type(name, value) => default(&mut node.attrs, name, Attr::Type(*value)),
            Axes(axes) => node.attrs.set("axes", Attr::Ints(axes.to_vec())),
            Pads => explicit_pads(&mut node.attrs)?,
            Need(name) if node.attrs.get(name).is_none() => return Err(format!("it has no attribute `{name}`")),
            Need(_) => {}
            Strides => spatial_strides(&node.attrs)?,
        }
    }
    Ok(())
}

fn default(attrs: &mut Attrs, name: &str, value: Attr) {
    if attrs.get(name).is_none() {
        attrs.set(name, value);
    }
}

/// The layouts that TensorFlow has: any other would be read as one of them.
fn known_layout(attrs: &Attrs) -> Result<(), Reason> {
    let Some(layout) = attrs.str("data_format") else { return Ok(()) };
    match layout {
        "NHWC" | "NCHW" | "NDHWC" | "NCDHW" => Ok(()),
        other => Err(format!("`data_format` is `{other}`, and NHWC, NCHW, NDHWC and NCDHW are read")),
    }
}

/// Strides are there, and 1 along images and channels.
fn spatial_strides(attrs: &Attrs) -> Result<(), Reason> {
    let Some(strides) = attrs.ints("strides") else { return Err("it has no attribute `strides`".into()) };
    let channels_last = attrs.str("data_format").is_none_or(|format| format.ends_with('C'));
    let channels = if channels_last { strides.last() } else { strides.get(1) };
    if strides.len() >= 4 && [strides.first(), channels].into_iter().flatten().any(|&stride| stride != 1) {
        return Err(format!("its strides {strides:?} pass images or channels over"));
    }
    Ok(())
}

/// `explicit_paddings` names all axes in the order of `data_format`; `pads` the spatial ones.
fn explicit_pads(attrs: &mut Attrs) -> Result<(), Reason> {
    let given = attrs.remove("explicit_paddings");
    if attrs.str("padding") != Some("EXPLICIT") {
        return Ok(());
    }
    let channels_last = attrs.str("data_format").is_none_or(|format| format.ends_with('C'));
    let Some(Attr::Ints(list)) = given.filter(|given| matches!(given, Attr::Ints(l) if matches!(l.len(), 8 | 10)))
    else {
        return Err("padding EXPLICIT needs `explicit_paddings` of two numbers for each axis".into());
    };
    let spatial = if channels_last { 2..list.len() - 2 } else { 4..list.len() };
    if list.iter().enumerate().any(|(i, &pad)| pad != 0 && !spatial.contains(&i)) {
        return Err(format!("`explicit_paddings` {list:?} pad batch or channels"));
    }
    attrs.set("pads", Attr::Ints(list[spatial].to_vec()));
    Ok(())
}

/// Number of outputs that an operator has by its attributes; those that are read may ask for more.
pub fn outputs(node: &Node) -> i64 {
    match node.origin_type.as_str() {
        "Split" | "SplitV" => node.attrs.int("num_split").unwrap_or(1),
        "Unpack" => node.attrs.int("num").unwrap_or(1),
        "FusedBatchNorm" | "FusedBatchNormV2" => 5,
        "FusedBatchNormV3" => 6,
        "TopKV2" | "Switch" | "RefSwitch" | "Merge" | "RefMerge" => 2,
        "IdentityN" | "ShapeN" => node.inputs.len() as i64,
        _ => 1,
    }
}
