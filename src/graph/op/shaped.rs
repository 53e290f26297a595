//! Operator types whose results follow from public descriptions and whose kernels have no price yet: their shapes are
//! known, and they are priced, and named in reports, as operators that nobody knows.

use crate::graph::infer::{Rule, language};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// One row: a rule and the operator types that it is for.
type Row = (Rule, &'static [&'static str]);

static ROWS: &[Row] = &[
    (language::product, &["MatmulAllReduce", "QuantBatchMatmulV4", "MatmulAllReduceAddRmsNorm"]),
    (language::transposed_product, &["TransposeBatchMatMul"]),
    (language::gathered_product, &["AllGatherMatmul"]),
    (language::scattered_product, &["MatmulReduceScatter"]),
    (language::grouped_product, &["GroupedMatmul"]),
    (language::feed_forward, &["FFN"]),
    (language::init_routing, &["MoeInitRouting"]),
    (language::init_routing_v2, &["MoeInitRoutingV2"]),
    (language::gating, &["MoeGatingTopKSoftmax", "MoeGatingTopKSoftmaxV2", "MoeGatingTopK"]),
    (language::expert_tokens, &["MoeComputeExpertTokens"]),
    (language::finalize_routing, &["MoeFinalizeRouting"]),
    (language::finalize_routing_v2, &["MoeFinalizeRoutingV2"]),
    (language::rms_norm_rope_cache, &["KvRmsNormRopeCache"]),
    (language::mla_prolog, &["MlaProlog"]),
    (language::dynamic_quant, &["DynamicQuantV2"]),
    (language::gated_quant, &["SwiGluQuant", "DequantSwigluQuant"]),
    (language::add_rms_norm_cast, &["AddRmsNormCast"]),
    (language::add_rms_norm_quant, &["AddRmsNormQuant"]),
    (language::add_rms_norm_dynamic_quant, &["AddRmsNormDynamicQuant"]),
    (language::like_first, &["InterleaveRope", "MaskedScatter"]),
];

static RULES: LazyLock<FxHashMap<&'static str, Rule>> = LazyLock::new(|| {
    ROWS.iter().flat_map(|(rule, types)| types.iter().map(move |op_type| (*op_type, *rule))).collect()
});

/// The rule of such an operator type.
pub(super) fn rule(op_type: &str) -> Option<Rule> {
    RULES.get(op_type).copied()
}

#[cfg(test)]
mod tests {
    use super::ROWS;
    use crate::graph::op;

    #[test]
    fn what_has_a_rule_here_has_an_interface_and_no_family() {
        for op_type in ROWS.iter().flat_map(|(_, types)| types.iter()) {
            assert!(op::prototype::prototype(op_type).is_some(), "{op_type} is declared nowhere");
            assert!(op::family(op_type).is_none(), "{op_type} has a rule in its family");
        }
    }
}
