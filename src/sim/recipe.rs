//! What vector kernels compute: instructions for each element, by operator.
//!
//! Counts are those of the plain algorithm, in instructions of three prices: simple ones (add, multiply,
//! compare, convert, select), divisions, and roots or exponentials. Prices are per generation.

/// Instructions for each element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Recipe {
    pub simple: f64,
    pub divide: f64,
    pub root: f64,
    /// Computed in fp32 whatever the operands are.
    pub wide: bool,
    /// Copies what was produced just before.
    pub copies: bool,
    /// Whether the model knows the operator; else it is priced as data movement.
    pub known: bool,
}

const fn of(simple: f64, divide: f64, root: f64) -> Recipe {
    Recipe { simple, divide, root, wide: false, copies: false, known: true }
}

const fn wide(simple: f64, divide: f64, root: f64) -> Recipe {
    Recipe { wide: true, ..of(simple, divide, root) }
}

/// Moves data only.
pub(super) const COPY: Recipe = of(0.0, 0.0, 0.0);

/// Patterns in order; the first whose text the operator's name contains decides.
const TABLE: &[(&str, Recipe)] = &[
    // Optimisers: moments, bias correction, trust ratio.
    ("LambApplyOptimizer", of(12.0, 3.0, 2.0)),
    ("LambNextMV", of(12.0, 3.0, 2.0)),
    ("LambApplyWeight", of(3.0, 0.0, 0.0)),
    ("Adam", of(10.0, 1.0, 1.0)),
    ("Momentum", of(3.0, 0.0, 0.0)),
    ("RMSProp", of(8.0, 1.0, 1.0)),
    // Normalisation. Gradients before the forward operators that their names contain.
    ("LayerNormBetaGamma", wide(2.0, 0.0, 0.0)),
    ("LayerNormX", wide(28.0, 0.0, 0.0)),
    ("LayerNormGrad", wide(30.0, 0.0, 0.0)),
    ("LayerNorm", of(18.0, 0.0, 0.0)),
    ("RmsNormGrad", wide(18.0, 0.0, 0.0)),
    ("RmsNorm", wide(7.5, 0.0, 0.0)),
    ("GroupNorm", wide(12.0, 0.0, 0.0)),
    ("InstanceNorm", wide(12.0, 0.0, 0.0)),
    ("BNTrainingUpdateGrad", wide(9.0, 0.0, 0.0)),
    ("BNTrainingReduceGrad", wide(5.0, 0.0, 0.0)),
    ("BNTrainingUpdate", wide(3.0, 0.0, 0.0)),
    ("BNTrainingReduce", wide(3.0, 0.0, 0.0)),
    ("BatchNorm", wide(4.0, 0.0, 0.0)),
    // Softmax and losses.
    ("SoftmaxCrossEntropy", wide(10.0, 1.0, 2.0)),
    ("SigmoidCrossEntropy", of(8.0, 1.0, 2.0)),
    ("SoftmaxGrad", of(4.0, 0.0, 0.0)),
    ("LogSoftmax", of(5.0, 0.0, 1.0)),
    ("Softmax", of(5.0, 0.0, 1.0)),
    // Activations.
    ("FastGeluGrad", of(14.0, 1.0, 1.0)),
    ("FastGelu", of(5.0, 1.0, 1.0)),
    ("GeluGrad", of(22.0, 2.0, 2.0)),
    ("GeLUGrad", of(22.0, 2.0, 2.0)),
    ("Gelu", of(13.0, 1.0, 1.0)),
    ("GeLU", of(13.0, 1.0, 1.0)),
    ("SigmoidGrad", of(3.0, 0.0, 0.0)),
    ("TanhGrad", of(3.0, 0.0, 0.0)),
    ("SwishGrad", of(8.0, 1.0, 1.0)),
    ("SiluGrad", of(8.0, 1.0, 1.0)),
    ("SwiGluGrad", wide(6.0, 1.0, 1.0)),
    ("SwiGlu", wide(2.0, 0.5, 0.5)),
    ("Swi", of(4.0, 1.0, 1.0)),
    ("Silu", of(4.0, 1.0, 1.0)),
    ("Mish", of(6.0, 1.0, 2.0)),
    ("HardS", of(4.0, 0.0, 0.0)),
    ("Erf", of(14.0, 1.0, 0.0)),
    ("Sigmoid", of(3.0, 1.0, 1.0)),
    ("Tanh", of(4.0, 1.0, 1.0)),
    ("Elu", of(4.0, 0.0, 1.0)),
    ("Softplus", of(3.0, 0.0, 2.0)),
    ("ReluGradV2", of(6.0, 0.0, 0.0)),
    ("ReLUV2", of(3.0, 0.0, 0.0)),
    ("DropoutDoMask", of(6.0, 0.0, 0.0)),
    ("DropOutDoMask", of(6.0, 0.0, 0.0)),
    ("DropOutGenMask", of(8.0, 0.0, 0.0)),
    ("MaximumGrad", of(16.0, 0.0, 0.0)),
    ("MinimumGrad", of(16.0, 0.0, 0.0)),
    ("RotaryMul", wide(6.0, 0.0, 0.0)),
    ("RotaryPosition", wide(6.0, 0.0, 0.0)),
    // Roots, quotients, powers.
    ("Rsqrt", of(0.0, 1.0, 1.0)),
    ("Sqrt", of(0.0, 0.0, 1.0)),
    ("Exp", of(0.0, 0.0, 1.0)),
    ("Logical", of(1.0, 0.0, 0.0)),
    ("Log", of(1.0, 0.0, 1.0)),
    ("Pow", of(4.0, 0.0, 2.0)),
    ("Sin", of(36.0, 0.0, 0.0)),
    ("Cos", of(36.0, 0.0, 0.0)),
    ("Div", of(0.0, 1.0, 0.0)),
    ("Reciprocal", of(0.0, 1.0, 0.0)),
    ("Mod", of(4.0, 1.0, 0.0)),
    // Sums and pooling.
    ("MaxPoolGrad", of(8.0, 0.0, 0.0)),
    ("Pool", of(1.0, 0.0, 0.0)),
    ("SquareSum", of(2.0, 0.0, 0.0)),
    ("BiasAddGrad", of(2.0, 0.0, 0.0)),
    ("Reduce", of(1.0, 0.0, 0.0)),
    ("ArgMax", of(4.0, 0.0, 0.0)),
    ("ArgMin", of(4.0, 0.0, 0.0)),
    ("CumSum", of(4.0, 0.0, 0.0)),
    ("TopK", of(24.0, 0.0, 0.0)),
    ("Sort", of(32.0, 0.0, 0.0)),
    // One or two instructions.
    ("AddN", of(2.0, 0.0, 0.0)),
    ("FusedMulAdd", of(2.0, 0.0, 0.0)),
    ("MulAdd", of(2.0, 0.0, 0.0)),
    ("Select", of(2.0, 0.0, 0.0)),
    ("Where", of(2.0, 0.0, 0.0)),
    ("Clip", of(2.0, 0.0, 0.0)),
    ("Square", of(1.0, 0.0, 0.0)),
    ("Mul", of(1.0, 0.0, 0.0)),
    ("Add", of(1.0, 0.0, 0.0)),
    ("Sub", of(1.0, 0.0, 0.0)),
    ("Cast", of(1.0, 0.0, 0.0)),
    ("Neg", of(1.0, 0.0, 0.0)),
    ("Abs", of(1.0, 0.0, 0.0)),
    ("Relu", of(1.0, 0.0, 0.0)),
    ("ReLU", of(1.0, 0.0, 0.0)),
    ("Max", of(1.0, 0.0, 0.0)),
    ("Min", of(1.0, 0.0, 0.0)),
    ("Equal", of(2.0, 0.0, 0.0)),
    ("Greater", of(2.0, 0.0, 0.0)),
    ("Less", of(2.0, 0.0, 0.0)),
    ("Floor", of(1.0, 0.0, 0.0)),
    ("Ceil", of(1.0, 0.0, 0.0)),
    ("Round", of(1.0, 0.0, 0.0)),
    ("Bias", of(1.0, 0.0, 0.0)),
    ("Scale", of(2.0, 0.0, 0.0)),
    ("Quant", of(4.0, 0.0, 0.0)),
    ("TransData", Recipe { copies: true, ..COPY }),
    ("TensorMove", Recipe { copies: true, ..COPY }),
    ("Assign", Recipe { copies: true, ..COPY }),
    ("Clean", COPY),
    ("Identity", COPY),
    ("ZerosLike", COPY),
    ("OnesLike", COPY),
    ("Fill", COPY),
    ("Sum", of(1.0, 0.0, 0.0)),
    ("Mean", of(1.0, 0.0, 0.0)),
    ("LpNorm", of(3.0, 0.0, 0.0)),
    ("Norm", of(8.0, 0.0, 0.0)),
];

/// The recipe of an operator. One that no pattern knows counts as one simple instruction.
pub(super) fn recipe(op_type: &str) -> Recipe {
    let found = TABLE.iter().find(|(pattern, _)| op_type.contains(pattern)).map(|(_, recipe)| *recipe);
    found.unwrap_or(Recipe { known: false, ..of(1.0, 0.0, 0.0) })
}

#[cfg(test)]
mod tests {
    use super::{TABLE, recipe};

    #[test]
    fn no_pattern_hides_behind_an_earlier_one() {
        for (i, (pattern, _)) in TABLE.iter().enumerate() {
            let earlier = TABLE[..i].iter().find(|(other, _)| pattern.contains(other));
            assert_eq!(earlier, None, "{pattern} is never reached");
        }
    }

    #[test]
    fn gradients_cost_more_than_the_forward_operator() {
        for (forward, gradient) in [("Gelu", "GeluGrad"), ("LayerNorm", "LayerNormXBackpropV2"), ("Swish", "SwishGrad")]
        {
            assert!(recipe(gradient).simple > recipe(forward).simple, "{gradient}");
        }
    }
}
