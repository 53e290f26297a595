//! CANN's passes that fuse kernels: what each lets into one, by part.
//!
//! On parts whose cube and vector cores are apart (910B, 910_93) the only way from one to the other inside a kernel is
//! fixpipe, which converts and activates. On the first 910 and the 310P one core has both, and passes name what may
//! follow a cube kernel. Elementwise kernels join each other on both. The 950 fuses nothing so.

use super::network::Network;
use crate::soc::Arch;
use crate::workload::{Conv, MatMul, MatMulKernel, Workload, passes_fixpipe};

/// The pass of CANN that fuses a scope, under the name that subgraph banks and `fusion_result.json` know it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pass {
    /// Elementwise chains, with a reduction at the end.
    AutomaticUbFusion,
    /// What fixpipe does on the way out of a convolution.
    TbeConvFixPipeFusionPass,
    /// What fixpipe does on the way out of a product.
    TbeMatmulFixPipeFusionPass,
    /// One elementwise kernel behind a convolution, or a chain of more than two.
    TbeConvCommonRules0FusionPass,
    /// Two elementwise kernels behind a convolution.
    TbeConvDoubleInFusionPass,
    /// An activation behind a depthwise convolution.
    TbeDepthwiseConvElemwiseFusionPass,
    /// One or two elementwise kernels behind a `FullyConnection`, an activation behind a batched product.
    TbeFullyconnectionElemwiseDequantFusionPass,
    /// Elementwise kernels behind a product.
    ATbeMatMulElemwiseFusionPass,
    /// Scale, mask or activation behind a batched product.
    TbeBatchMatmulElementWiseFusionPass,
    /// Heads taken apart in the store of a product.
    MatmulConfusiontransposeUbFusion,
    /// The same of a batched product.
    BatchMatmulConfusiontransposeUbFusion,
}

impl Pass {
    /// CANN's name.
    pub const fn name(self) -> &'static str {
        match self {
            Pass::AutomaticUbFusion => "AutomaticUbFusion",
            Pass::TbeConvFixPipeFusionPass => "TbeConvFixPipeFusionPass",
            Pass::TbeMatmulFixPipeFusionPass => "TbeMatmulFixPipeFusionPass",
            Pass::TbeConvCommonRules0FusionPass => "TbeConvCommonRules0FusionPass",
            Pass::TbeConvDoubleInFusionPass => "TbeConvDoubleInFusionPass",
            Pass::TbeDepthwiseConvElemwiseFusionPass => "TbeDepthwiseConvElemwiseFusionPass",
            Pass::TbeFullyconnectionElemwiseDequantFusionPass => "TbeFullyconnectionElemwiseDequantFusionPass",
            Pass::ATbeMatMulElemwiseFusionPass => "ATbeMatMulElemwiseFusionPass",
            Pass::TbeBatchMatmulElementWiseFusionPass => "TbeBatchMatmulElementWiseFusionPass",
            Pass::MatmulConfusiontransposeUbFusion => "MatmulConfusiontransposeUbFusion",
            Pass::BatchMatmulConfusiontransposeUbFusion => "BatchMatmulConfusiontransposeUbFusion",
        }
    }
}

/// Most inputs of an `AddN` that joins others.
const MOST_ADDENDS: usize = 6;

/// The pass that hangs these kernels, in their order, onto the cube kernel `leader`; `None` where none does.
pub fn behind_cube(network: &Network<'_>, arch: Arch, leader: u32, rest: &[u32]) -> Option<Pass> {
    let ops: Vec<&str> = rest.iter().map(|&at| network.op_type(at)).collect();
    match network.stage(leader).workload {
        Workload::Conv(conv) => behind_conv(conv, arch, &ops),
        Workload::MatMul(product) => behind_product(product, network.op_type(leader), arch, &ops),
        _ => None,
    }
}

/// Whether a kernel of this type can be the first behind a cube kernel: what [`behind_cube`] says of one alone, or where
/// more must follow.
pub fn follows_cube(network: &Network<'_>, arch: Arch, leader: u32, at: u32) -> bool {
    behind_cube(network, arch, leader, &[at]).is_some()
}

fn behind_conv(conv: &Conv, arch: Arch, ops: &[&str]) -> Option<Pass> {
    match arch {
        Arch::C220 => passes_fixpipe(ops).then_some(Pass::TbeConvFixPipeFusionPass),
        Arch::C310 => None,
        _ if is_depthwise(conv) => {
            matches!(ops, ["Relu" | "ReluV2"]).then_some(Pass::TbeDepthwiseConvElemwiseFusionPass)
        }
        _ if ops.len() == 2 => Some(Pass::TbeConvDoubleInFusionPass),
        _ => Some(Pass::TbeConvCommonRules0FusionPass),
    }
}

fn is_depthwise(conv: &Conv) -> bool {
    conv.groups > 1 && conv.groups == conv.cin
}

fn behind_product(product: &MatMul, op_type: &str, arch: Arch, ops: &[&str]) -> Option<Pass> {
    let is_batched = op_type.starts_with("BatchMatMul");
    match (arch, ops) {
        // MatMulV3 and its batched kin are no kernels of TBE: they fuse with nothing.
        (Arch::C220, _) => {
            let fuses = product.kernel == MatMulKernel::Tbe && !is_batched && passes_fixpipe(ops);
            fuses.then_some(Pass::TbeMatmulFixPipeFusionPass)
        }
        (Arch::C310, _) => None,
        (_, ops) if op_type == "FullyConnection" => {
            (ops.len() <= 2).then_some(Pass::TbeFullyconnectionElemwiseDequantFusionPass)
        }
        (_, ["ConfusionTransposeD"]) if is_batched => Some(Pass::BatchMatmulConfusiontransposeUbFusion),
        (_, ["ConfusionTransposeD"]) => Some(Pass::MatmulConfusiontransposeUbFusion),
        (_, ops) if ops.contains(&"ConfusionTransposeD") => None,
        (_, ops) if is_batched => behind_batched(ops),
        _ => Some(Pass::ATbeMatMulElemwiseFusionPass),
    }
}

/// What the two passes of TBE's batched products let follow, with a bias or without: a public `fusion_result.json` of a text
/// recogniser on a 310P has all 24 residual sums of its biased products under the one and 12 GELU under the other.
fn behind_batched(ops: &[&str]) -> Option<Pass> {
    match ops {
        [first] | [first, "Add" | "Relu" | "FusedMulAdd"] if SUMS.contains(first) => {
            Some(Pass::TbeBatchMatmulElementWiseFusionPass)
        }
        [one] if ACTIVATIONS.contains(one) => Some(Pass::TbeFullyconnectionElemwiseDequantFusionPass),
        _ => None,
    }
}

/// What may follow a batched product by its own pass. A scale is a `Muls` by then.
const SUMS: &[&str] = &["FusedMulAdd", "Add", "Div", "RealDiv", "Muls", "Relu", "ReluGrad"];

/// What may follow a batched product by the pass of `FullyConnection`, whose page leaves out `Add` and `Relu` there, and behind
/// plain products `Mul` and `AddN`.
const ACTIVATIONS: &[&str] = &[
    "Elu",
    "LeakyRelu",
    "Gelu",
    "Softsign",
    "Relu6",
    "Softplus",
    "Sigmoid",
    "Tanh",
    "Selu",
    "FastGelu",
    "FastGeluV2",
    "PRelu",
    "Power",
];

/// Whether elementwise kernels of a part join each other at all, and this one may be among them. Comparisons and
/// selections may not: CANN's operator descriptions give kernels of conditions no pattern that its pass knows.
pub fn joins(network: &Network<'_>, arch: Arch, at: u32) -> bool {
    let stage = network.stage(at);
    arch != Arch::C310 && !stage.decides && (network.op_type(at) != "AddN" || stage.reads.len() <= MOST_ADDENDS)
}

#[cfg(test)]
mod tests {
    use super::Pass;
    use crate::lower::{PASSES, Stage};

    /// A switch that says it is obeyed is asked for by the name of a pass here.
    #[test]
    fn every_pass_on_kernels_that_counts_as_modelled_is_one() {
        let ours = [
            Pass::AutomaticUbFusion,
            Pass::TbeConvFixPipeFusionPass,
            Pass::TbeMatmulFixPipeFusionPass,
            Pass::TbeConvCommonRules0FusionPass,
            Pass::TbeConvDoubleInFusionPass,
            Pass::TbeDepthwiseConvElemwiseFusionPass,
            Pass::TbeFullyconnectionElemwiseDequantFusionPass,
            Pass::ATbeMatMulElemwiseFusionPass,
            Pass::TbeBatchMatmulElementWiseFusionPass,
            Pass::MatmulConfusiontransposeUbFusion,
            Pass::BatchMatmulConfusiontransposeUbFusion,
        ];
        for pass in PASSES.iter().filter(|pass| pass.stage == Stage::Ub) {
            assert_eq!(ours.iter().any(|our| our.name() == pass.name), pass.modelled, "{}", pass.name);
        }
    }
}
