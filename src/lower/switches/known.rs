//! The fusion passes of CANN that a switch may name, as far as the public rule reference and the configuration files
//! name them.

use super::Stage::{self, Graph, Ub};
use super::others;
use std::sync::LazyLock;

/// A pass of CANN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name; `FusionPass` and `Pass` at the end may be left out in a switch.
    pub name: &'static str,
    /// What it works on.
    pub stage: Stage,
    /// Whether it is on by default.
    pub on: bool,
    /// Whether it can be switched at all.
    pub switchable: bool,
    /// Whether this library does what it does.
    pub modelled: bool,
}

const fn pass(name: &'static str, stage: Stage) -> Known {
    Known { name, stage, on: true, switchable: true, modelled: true }
}

const fn fixed(name: &'static str, stage: Stage) -> Known {
    Known { switchable: false, ..pass(name, stage) }
}

/// On in CANN, without a counterpart here.
const fn other(name: &'static str, stage: Stage) -> Known {
    Known { modelled: false, ..pass(name, stage) }
}

/// Off by default (the switches of CANN 8.1's configuration).
const fn off(name: &'static str, stage: Stage) -> Known {
    Known { on: false, ..other(name, stage) }
}

/// Every pass that is known, those with a counterpart here first.
pub static PASSES: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let others = [(others::GRAPH, Graph), (others::UB, Ub)];
    let others = others.iter().flat_map(|(names, stage)| names.iter().map(|name| other(name, *stage)));
    MODELLED.iter().chain(CLOSED).copied().chain(others).collect()
});

/// Those that change something here.
#[rustfmt::skip] // one pass after another reads better than one per line
const MODELLED: &[Known] = &[
    pass("AABiasaddConvFusion", Graph), pass("ConvBatchnormFusionPass", Graph), pass("ConvScaleFusionPass", Graph),
    pass("PadConv2dFusionPass", Graph), pass("PadDepthwiseConv2dFusionPass", Graph), pass("AConv2dMulFusion", Graph),
    pass("Globalavgpoolpass", Graph), pass("GroupNormFusionPass", Graph), pass("GeluONNXFusionPass", Graph),
    pass("GeluFusionPass", Graph), pass("LayerNormONNXFusionPass", Graph), pass("LayerNormFusionPass", Graph),
    pass("AddLayerNormFusionPass", Graph), pass("AddRmsNormFusionGraphPass", Graph),
    pass("InplaceAddRmsNormFusionPass", Graph), pass("MatMulBiasAddFusionPass", Graph),
    pass("MatMulReshapeBiasAddFusionPass", Graph), pass("BatchMatMulFusionPass", Graph),
    pass("BatchMatMulTransposeFusionPass", Graph), pass("BatchMatMulV2ReshapeFusionPass", Graph),
    pass("ReshapeTransposeFusionPass", Graph), pass("TransposeReshapeFusionPass", Graph),
    pass("RealDiv2MulsFusionPass", Graph), pass("ZZMatMulToMatmulV3FusionPass", Graph),
    pass("MatMulToMatmulV3FusionPass", Graph), pass("BatchMatMulToBatchMatmulV3FusionPass", Graph),
    fixed("FIXPIPEFUSIONPASS", Graph), fixed("PermuteFusionPass", Graph), fixed("TransposedUpdateFusionPass", Graph),
    pass("ConvToFullyConnectionFusionPass", Graph), pass("BatchMatMul2TransposeBatchMatMulFusionPass", Graph),
    pass("BatchMatMul2MulFusionPass", Graph), pass("GeGluV2FusionPass", Graph), pass("ConstToAttrPass", Graph),
    pass("ConstToAttrStridedSliceFusion", Graph), pass("ConstToAttrStridedSliceV2Fusion", Graph),
    pass("TileConstToAttrFusion", Graph), pass("BatchNormBnInferFusionPass", Graph), pass("ZSplitFusionPass", Graph),
    pass("ZSplitVFusionPass", Graph), pass("ADepthwiseFusionPass", Graph),
    pass("Conv2dToConv2dV2FusionPass", Graph), pass("Conv3dToConv3dV2FusionPass", Graph),
    pass("AutomaticUbFusion", Ub), fixed("TbeConvFixPipeFusionPass", Ub), fixed("TbeMatmulFixPipeFusionPass", Ub),
    pass("TbeConvDoubleInFusionPass", Ub), pass("TbeConvCommonRules0FusionPass", Ub),
    pass("TbeDepthwiseConvElemwiseFusionPass", Ub), pass("TbeBatchMatmulElementWiseFusionPass", Ub),
    pass("ATbeMatMulElemwiseFusionPass", Ub), pass("TbeFullyconnectionElemwiseDequantFusionPass", Ub),
    pass("MatmulConfusiontransposeUbFusion", Ub), pass("BatchMatmulConfusiontransposeUbFusion", Ub),
];

/// Those that are closed by default.
#[rustfmt::skip]
const CLOSED: &[Known] = &[
    off("MulFusionOptimizePass", Graph), off("SplitConvFusionPass", Graph), off("BatchNormBnInferOnlyFusionPass", Graph),
    off("ConcatCOptimizeFusionPass", Graph), off("GatherV2ConcatV2", Graph), off("ReduceMeanDTransnode", Graph),
    off("StridedSliceConcatFusionPass", Graph), off("StridedSliceDToSplitFusionPass", Graph),
    off("MatmulNzInNdOutTransdata", Graph), off("MatmulWeightPrefetchFusionPass", Graph),
    off("MatmulAllReduceAddRmsNormFusionPass", Graph), off("ZConcatExt3FusionPass", Graph),
    off("GridSampler2DFusionPass", Graph), off("SubMulConcat", Graph), off("ConvToSplitConvDequantConcat", Graph),
    off("SoftmaxSmallOpFusionPass", Graph), off("MatmulReshapeFusionPass", Graph),
    off("MatmulToMatMulV3UB", Ub), off("TbeConvDequantSigmoidMulAddFusionPass", Ub), off("AutoSingleNorm", Ub),
    off("AutoSingleReduce", Ub),
];
