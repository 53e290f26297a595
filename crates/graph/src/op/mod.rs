//! Ascend operator types: what kind of work each is, how its shapes follow, whether it is tuned.

pub mod prototype;
#[cfg(test)]
mod served;
mod shaped;
mod table;
mod tunable;

pub use tunable::tunable;

use super::infer::Rule;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Kind of work an operator is, which decides how it is lowered to a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpClass {
    /// Matrix product (`MatMulV2`, `BatchMatMulV2`, ...).
    MatMul,
    /// Convolution.
    Conv,
    /// Elementwise vector work.
    Elementwise,
    /// Work along an axis: reductions, softmax, norms, pooling.
    Reduce,
    /// Data movement.
    Move,
    /// Exchange between devices.
    Collective,
    /// No kernel: inputs, constants, reshapes.
    None,
}

/// How an operator's sizes become a workload: what [`OpClass`] says, in the detail that lowering needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// No kernel.
    None,
    /// Product of two matrices or stacks of them.
    MatMul,
    /// Products in a kernel that does more.
    Within(Within),
    /// Sum of products given by an `equation`.
    Einsum,
    /// softmax(Q K^T) V in one kernel.
    Attention,
    /// LSTM or GRU over a sequence.
    Recurrent,
    /// One of the kernels of a convolution.
    Conv(ConvPass),
    /// Elementwise; smaller operands broadcast by numpy's rules.
    Elementwise,
    /// Elementwise; one-dimensional operands lie along the channel axis.
    PerChannel,
    /// Reduction over the axes named by input 1 or an attribute (all, where none is).
    ReduceAxes,
    /// Reduction of everything to one number.
    ReduceAll,
    /// Work along one axis that is named by an attribute: softmax, arg-max, top-k, cumulative sums.
    AlongAxis,
    /// Normalisation over `begin_norm_axis` and all axes after it.
    LayerNorm,
    /// Statistics of each channel over all other axes.
    ChannelStats,
    /// Normalisation of each channel of each image.
    InstanceNorm,
    /// Normalisation of `num_groups` channel groups of each image.
    GroupNorm,
    /// Normalisation over a window of neighbouring channels.
    ChannelWindow,
    /// Window that slides over the image.
    Pool,
    /// Window as large as the image.
    GlobalPool,
    /// Reordering of axes.
    Transpose,
    /// Several tensors to one, along an axis.
    Join,
    /// One tensor to several, along an axis.
    Split,
    /// Part of a tensor.
    Slice,
    /// Rows picked by index.
    Gather,
    /// Any other movement: every tensor is read or written once.
    Move,
    /// Exchange between devices.
    Collective,
}

/// Which kernel of a convolution an operator is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConvPass {
    /// y from x and the filter.
    Forward,
    /// The transposed convolution: works as the backward kernel for x.
    Transposed,
    /// The gradient of x.
    BackpropInput,
    /// The gradient of the filter.
    BackpropFilter,
}

impl Kind {
    /// The class this kind belongs to.
    pub const fn class(self) -> OpClass {
        match self {
            Kind::None => OpClass::None,
            Kind::MatMul | Kind::Within(_) | Kind::Einsum | Kind::Attention | Kind::Recurrent => OpClass::MatMul,
            Kind::Conv(_) => OpClass::Conv,
            Kind::Elementwise | Kind::PerChannel => OpClass::Elementwise,
            Kind::ReduceAxes
            | Kind::ReduceAll
            | Kind::AlongAxis
            | Kind::LayerNorm
            | Kind::ChannelStats
            | Kind::InstanceNorm
            | Kind::GroupNorm
            | Kind::ChannelWindow
            | Kind::Pool
            | Kind::GlobalPool => OpClass::Reduce,
            Kind::Transpose | Kind::Join | Kind::Split | Kind::Slice | Kind::Gather | Kind::Move => OpClass::Move,
            Kind::Collective => OpClass::Collective,
        }
    }
}

/// Products in a kernel that does more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Within {
    /// Where their operands are.
    pub reading: Reading,
    /// The input whose type is multiplied: a kernel may quantise rows to the type of the weight.
    pub typed_by: usize,
    /// What the kernel does besides, in order.
    pub besides: &'static [Beside],
}

/// Where the operands of a product are that a kernel does more with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Inputs 0 and 1.
    Operands,
    /// Inputs 0 and 1 in orders of axes of their own.
    Turned,
    /// Inputs 0 and 1, the rows those of all devices (`rank_size`).
    Gathered,
    /// Inputs 0 and 1, the rows shared among the devices and each as long as those of all (`world_size`).
    Exchanged,
    /// Stacks at inputs 0 and 1 that are gathered as the result is.
    Stack,
    /// Rows dealt out to groups, each with a matrix of its own, which is stored transposed where no attribute says.
    Groups {
        /// Whether it is.
        transposed: bool,
    },
    /// Two products with an activation between them (x, weight1, weight2), of all rows or of those of each expert.
    FeedForward,
}

/// What a kernel does besides a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Beside {
    /// The sum of all devices' results.
    AllReduce,
    /// All devices' rows, before the product.
    AllGather,
    /// A part of the sum of all devices' results.
    ReduceScatter,
    /// A part of each device's rows, before the product.
    SendRows,
    /// A part of each device's result.
    SendResult,
    /// A residual added and the root mean square norm of the sum.
    Norm,
    /// Half of the columns through the other half.
    Gate,
    /// The activation that an attribute names, and the product of what it gives.
    SecondProduct,
    /// The elementwise operation that attribute `fused_op_type` names.
    Epilogue,
    /// Sums over what the result has not got.
    Sum,
}

/// Operator types that share a shape rule and a way to be lowered.
#[derive(Debug)]
pub struct Family {
    /// How members are lowered.
    pub kind: Kind,
    /// Shape rule of the members.
    pub(crate) rule: Rule,
    /// The operator types.
    pub types: &'static [&'static str],
}

static REGISTRY: LazyLock<FxHashMap<&'static str, &'static Family>> = LazyLock::new(|| {
    let members = |family: &'static Family| family.types.iter().map(move |&op_type| (op_type, family));
    table::families().flat_map(members).collect()
});

/// The family of an Ascend operator type; `None` when the type is unknown here.
pub fn family(op_type: &str) -> Option<&'static Family> {
    REGISTRY.get(op_type).copied()
}

/// The shape rule of an operator type, be its kernel priced or not.
pub(crate) fn shape_rule(op_type: &str) -> Option<Rule> {
    family(op_type).map(|family| family.rule).or_else(|| shaped::rule(op_type))
}

/// How an operator type is lowered; unknown ones move data.
pub fn kind(op_type: &str) -> Kind {
    family(op_type).map_or(Kind::Move, |f| f.kind)
}

/// Kind of work of an operator type; unknown ones move data.
pub fn class(op_type: &str) -> OpClass {
    kind(op_type).class()
}

/// Every operator type known here, in no particular order.
pub fn known_types() -> impl Iterator<Item = &'static str> {
    REGISTRY.keys().copied()
}

/// Whether an operator gives as much as it finds in its inputs, so that nothing but a run tells the sizes of its result,
/// whoever knows the operator.
pub(crate) fn gives_what_it_finds(op_type: &str) -> bool {
    ["Unique", "MaskedSelect", "NonMaxSuppression"].iter().any(|name| op_type.starts_with(name))
        || matches!(op_type, "Compress" | "NonZero" | "Where" | "StringSplit")
}

/// Whether an operator gives other values each time it runs, so that it cannot be folded away.
pub(crate) fn is_random(op_type: &str) -> bool {
    op_type.contains("Random")
        || op_type.contains("DropOutGenMask")
        || matches!(op_type, "TruncatedNormal" | "Bernoulli")
}

#[cfg(test)]
mod tests {
    use super::{OpClass, class, prototype, table, tunable};
    use std::collections::BTreeSet;

    /// Members of the tables that no declaration of CANN's headers has: kernels that GE's passes make, names of other
    /// frameworks for what GE calls otherwise, and names that only profiles show.
    #[rustfmt::skip] // one name after another
    const WITHOUT_INTERFACE: &[&str] = &[
        "AnnData", "ApplyFusedAdam", "Arange", "ArgMax", "BatchNormInference", "Bernoulli",
        "BitwiseNot", "CommonRNN", "Conv1D", "Conv2DBackpropFilterV2", "Conv2DBackpropInputV2", "DepthwiseConv2dNative",
        "EmbeddingLookup", "Exp2", "EyeLike", "GatherV3", "GlobalMaxPool",
        "HardtanhV2", "Hypot", "InnerProduct", "InplaceScatterAdd", "InstanceNormV3", "LogSoftmax",
        "LogicalXor", "LpPool", "Maxs", "MemcpyAsync", "Mins", "MirrorPadD",
        "NonMaxSuppressionV3D", "NpuAllocFloatStatus", "NpuClearFloatStatus", "NpuFixPipe", "NpuGetFloatStatus", "PixelShuffle",
        "PixelUnshuffle", "Placeholder", "QuantBatchMatmul", "QuickGelu", "RandomNormalLike", "RandomUniformLike",
        "ReFormat", "ReduceAllSum", "ResizeBilinear", "ResizeBilinearGrad", "ResizeNearestNeighbor", "Reverse",
        "RoiAlign", "Silu", "Softmax", "SoftmaxV2Grad", "Unstack", "UpsampleBilinear2d",
        "UpsampleNearest2d", "VariableV2", "WeightQuantBatchMatmul",
    ];

    #[test]
    fn every_member_of_the_tables_has_an_interface_or_a_reason() {
        let mut without: BTreeSet<&str> = WITHOUT_INTERFACE.iter().copied().collect();
        let members = table::families().flat_map(|family| family.types).copied().chain(tunable::documented());
        for op_type in members.filter(|op_type| prototype::prototype(op_type).is_none()) {
            assert!(without.contains(op_type), "no interface of {op_type} is known");
        }
        without.retain(|op_type| prototype::prototype(op_type).is_some());
        assert!(without.is_empty(), "these have an interface: {without:?}");
    }

    #[test]
    fn no_operator_type_has_two_families() {
        let mut seen = BTreeSet::new();
        for op_type in table::families().flat_map(|f| f.types) {
            assert!(seen.insert(op_type), "{op_type} is listed twice");
        }
    }

    #[test]
    fn every_tuned_operator_type_is_known_and_runs_a_kernel() {
        for op_type in tunable::documented() {
            assert!(super::family(op_type).is_some(), "{op_type} is tuned but unknown");
            assert_ne!(class(op_type), OpClass::None, "{op_type} is tuned but runs no kernel");
        }
    }

    #[test]
    fn an_unknown_operator_type_moves_data() {
        assert_eq!(class("NoSuchOperator"), OpClass::Move);
        assert!(!tunable("NoSuchOperator"));
    }

    #[test]
    fn classes_follow_the_operator_map() {
        for (op_type, expected) in [
            ("Conv2D", OpClass::Conv),
            ("Conv2DBackpropFilterD", OpClass::Conv),
            ("BatchMatMulV2", OpClass::MatMul),
            ("SoftmaxV2", OpClass::Reduce),
            ("ReduceMeanD", OpClass::Reduce),
            ("MaxPoolV3", OpClass::Reduce),
            ("RealDiv", OpClass::Elementwise),
            ("Cast", OpClass::Elementwise),
            ("ApplyMomentum", OpClass::Elementwise),
            ("TransData", OpClass::Move),
            ("GatherV2", OpClass::Move),
            ("HcomAllReduce", OpClass::Collective),
            ("Reshape", OpClass::None),
        ] {
            assert_eq!(class(op_type), expected, "{op_type}");
        }
    }
}
