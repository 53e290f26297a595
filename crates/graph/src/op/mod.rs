//! Ascend operator types: what kind of work each is, how its shapes follow, whether it is tuned.

pub mod prototype;
#[cfg(test)]
mod served;
mod shaped;
mod table;
mod tunable;
pub(crate) mod work;

pub use tunable::tunable;
pub use work::{Beside, ConvPass, Kind, OpClass, Reading, Within};

use super::infer::Rule;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::LazyLock;

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

/// Whether each element of an operator's results follows from those at its place in what it reads, of which smaller tensors
/// are repeated: then the shapes of its inputs are all that its own may be.
pub fn is_by_element(op_type: &str) -> bool {
    BY_ELEMENT.contains(op_type)
}

static BY_ELEMENT: LazyLock<FxHashSet<&'static str>> =
    LazyLock::new(|| table::by_element().flat_map(|family| family.types).copied().collect());

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
        || matches!(op_type, "Compress" | "ImageDecoder" | "NonZero" | "Where" | "StringSplit" | "StringNormalizer")
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
        "ReFormat", "ReduceAllSum", "Reorg", "ResizeBilinear", "ResizeBilinearGrad", "ResizeNearestNeighbor", "Reverse",
        "RoiAlign", "Silu", "Softmax", "SoftmaxV2Grad", "TransposeV2", "Unstack", "UpsampleBilinear2d",
        "UpsampleNearest2d", "VariableV2", "WeightQuantBatchMatmul",
        // What only GE's compiler makes.
        "EndGraph", "LabelGoto", "LabelGotoEx", "LabelSet", "LabelSwitch", "LabelSwitchByIndex", "MemcpyAddrAsync", "ModelExit",
        "Recv", "RecvMem", "Send", "SendMem", "StreamActive", "StreamMerge", "StreamSwitch", "StreamSwitchN",
    ];

    #[test]
    fn every_member_of_the_tables_has_an_interface_or_a_reason() {
        let mut without: BTreeSet<&str> = WITHOUT_INTERFACE.iter().copied().collect();
        let members = table::families().flat_map(|family| family.types).copied().chain(tunable::documented());
        for op_type in members.filter(|op_type| prototype::prototype(op_type).is_none()) {
            assert!(
                without.contains(op_type),
                "{op_type} has no line in prototypes.txt; where CANN declares none, name it in WITHOUT_INTERFACE"
            );
        }
        without.retain(|op_type| prototype::prototype(op_type).is_some());
        assert!(without.is_empty(), "these have an interface: take them out of WITHOUT_INTERFACE: {without:?}");
    }

    #[test]
    fn what_works_by_element_is_told_from_what_only_has_vector_work() {
        for op_type in ["Relu", "Add", "Equal", "LogicalNot", "SelectV2", "Cast"] {
            assert!(super::is_by_element(op_type), "{op_type}");
        }
        for op_type in ["ReluV2", "Resize", "OneHot", "SmoothL1LossV2", "ApplyAdamD", "SoftmaxV2", "Range"] {
            assert!(!super::is_by_element(op_type), "{op_type}");
        }
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
