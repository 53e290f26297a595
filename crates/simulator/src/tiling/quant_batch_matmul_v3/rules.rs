//! What the rules say, by their names: first who tiles, then what chose the block.

/// Every rule with its sentence.
const RULES: [(&str, &str); 28] = [
    ("qbmm.310p", "The part has no fixpipe and A lies in ND: the special tiling of int8 takes the product."),
    (
        "qbmm.no-fixpipe",
        "The part has no fixpipe, and A lies in FRACTAL_NZ or there are several products: the cached tiling.",
    ),
    ("qbmm.basic-refused.a-nz", "A lies in FRACTAL_NZ, which the basic tiling does not take: the cached tiling."),
    (
        "qbmm.basic-refused.batch",
        "There are several products, which the basic tiling does not take: the cached tiling.",
    ),
    ("qbmm.basic.other-core-count", "The part has neither 24 nor 20 cores: the basic tiling takes every product."),
    ("qbmm.basic.int4", "The operands are int4: the basic tiling."),
    ("qbmm.basic-refused.small", "The short side is at most 512 and the long one at most 1024: the cached tiling."),
    (
        "qbmm.basic.long-k-decode",
        "At most 16 rows, k from 13000 to 18944, 1500 columns or more and 16-bit results: the basic tiling on a 910B; on a \
         910_93 that is an estimate.",
    ),
    (
        "qbmm.basic-refused.mix-few-rows",
        "Vector cores finish the result (bfloat16, or a scale of each row), and there are at most 256 rows: the cached tiling.",
    ),
    ("qbmm.basic", "Nothing speaks against the basic tiling, which is asked first."),
    (
        "qbmm.basic.decode-nz",
        "At most 64 rows by a B in FRACTAL_NZ whose columns make one even round: the basic tiling with a block of few rows.",
    ),
    ("qbmm.basic-refused.short-k", "k is below 1024 and all bytes take at most 0.8 of L2: the cached tiling."),
    ("qbmm.basic-refused.narrow", "The short side is at most 256: the cached tiling."),
    (
        "qbmm.basic-refused.short-side-stays",
        "The short operand stays in L1 (448 KB), where the basic tiling would load it again: the cached tiling.",
    ),
    ("qbmm.fields-not-public", "What this tiling chooses is not public: a schedule stands in for it."),
    (
        "qbmm.cached.basic-block",
        "The cached tiling's search of basic blocks, whose rules are public for operands in ND of which B alone is transposed.",
    ),
    (
        "qbmm.cached.basic-block-of-linear",
        "The cached tiling's search of basic blocks with the rules of a linear layer, which this product is not: an estimate.",
    ),
    ("qbmm.block.start", "No block is better than the first one, 128 x 256."),
    ("qbmm.block.most-tasks", "Both operands have k inside and tasks are few: the block with most tasks of one round."),
    ("qbmm.block.least-load", "The block loads the least by a tenth, or by a twentieth in five rounds or more."),
    ("qbmm.block.inner-axis", "The block's side along an operand's inner axis makes full bursts."),
    ("qbmm.block.least-work", "The busiest core computes a tenth less with this block."),
    ("qbmm.block.compute-per-load", "In five rounds or more the block computes more for each element that it loads."),
    (
        "qbmm.block.mirrored",
        "Of two blocks of one circumference this one's first round loads less from L2, or fits the sides.",
    ),
    (
        "qbmm.block.first-round",
        "Two blocks of one circumference are alike but for what the first round loads and how cores clash in it. How CANN \
         reckons these is not known: a round down a diagonal is how the rules are read here, and the answer is an estimate.",
    ),
    (
        "qbmm.l1.doubled",
        "An operand's k is its outer axis and keeps at most two steps; the other's at most four may be doubled. When that \
         pays is not known: here, where steps of the first were cut, and the answer is an estimate.",
    ),
    (
        "qbmm.l2.walk",
        "L2 does not hold all operands, so tasks are grouped. In which order CANN walks the groups and how it counts clashes \
         is not known: rows outermost, from large to small, is how the rules are read here, and the answer is an estimate.",
    ),
    ("qbmm.block.decode-nz", "Few rows by a B in FRACTAL_NZ: all rows by an even share of the columns."),
];

/// What a rule of a [`super::Choice`] says, one sentence.
#[must_use]
pub fn describe(rule: &str) -> &'static str {
    RULES.iter().find(|(name, _)| *name == rule).map_or("", |(_, sentence)| sentence)
}

#[cfg(test)]
mod tests {
    use super::super::{Problem, default};
    use super::*;
    use crate::soc::Soc;
    use crate::tiling::Platform;
    use crate::workload::MatMul;
    use aoe_graph::DataType;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_rule_is_written_twice() {
        assert_eq!(RULES.iter().map(|(name, _)| name).collect::<BTreeSet<_>>().len(), RULES.len());
        assert_eq!(RULES.iter().map(|(_, sentence)| sentence).collect::<BTreeSet<_>>().len(), RULES.len());
    }

    proptest! {
        #[test]
        fn every_rule_that_decides_says_why(
            (m, k, n, batch) in (1u64..9000, 1u64..20_000, 1u64..9000, 1u64..3),
            (trans_a, trans_b, int4) in (any::<bool>(), any::<bool>(), any::<bool>()),
            part in prop::sample::select(vec!["Ascend910B2", "Ascend910B4", "Ascend310P3", "Ascend910B1"]),
        ) {
            let part = Platform::of(&Soc::find(part).unwrap());
            let dtype = if int4 { DataType::Int4 } else { DataType::Int8 };
            let w = MatMul { batch, dtype, trans_a, trans_b, ..MatMul::new(m, k, n) };
            let choice = default(&Problem::from(&w), &part).unwrap();
            for rule in choice.rules.into_iter().flatten() {
                prop_assert!(!describe(rule).is_empty(), "{}", rule);
            }
        }
    }
}
