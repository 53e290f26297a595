//! What vector kernels compute: instructions for each element, by operator.
//!
//! Operators fall into a few classes. A class counts the instructions of the plain algorithm at three prices:
//! simple ones (add, multiply, compare, convert, select), divisions, and roots or exponentials. Prices are
//! per generation.

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

/// Declares the classes once: name and recipe.
macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $recipe:expr;)*) => {
        $($(#[$doc])* pub(super) const $name: Recipe = $recipe;)*
        /// Every class, for counting.
        #[cfg(test)]
        pub(super) const CLASSES: &[Recipe] = &[$($name,)*];
    };
}

classes! {
    /// Moves data only.
    COPY = of(0.0, 0.0, 0.0);
    /// One instruction: add, multiply, compare, convert, the sum along an axis.
    ONE = of(1.0, 0.0, 0.0);
    /// Two: multiply and add, compare and select, square and sum.
    TWO = of(2.0, 0.0, 0.0);
    /// Three: a momentum step, the gradient of a sigmoid.
    THREE = of(3.0, 0.0, 0.0);
    /// Four: clipped or scanned values, the gradient of a softmax.
    FEW = of(4.0, 0.0, 0.0);
    /// Six: bits of a mask made or applied, windows searched.
    MASK = of(6.0, 0.0, 0.0);
    /// Batch normalisation and its sums, in fp32.
    BATCH_NORM = wide(3.0, 0.0, 0.0);
    /// The gradient of batch normalisation's sums, in fp32.
    BATCH_NORM_REDUCE_GRADIENT = wide(5.0, 0.0, 0.0);
    /// The gradient of batch normalisation's scale and shift, in fp32.
    BATCH_NORM_UPDATE_GRADIENT = wide(9.0, 0.0, 0.0);
    /// Division by the root mean square of a row, in fp32; rotation of pairs takes as much.
    RMS_NORM = wide(7.5, 0.0, 0.0);
    /// Mean, variance and scale of a row.
    LAYER_NORM = of(18.0, 0.0, 0.0);
    /// Gradients of row normalisation, in fp32.
    NORM_GRADIENT = wide(28.0, 0.0, 0.0);
    /// A quotient.
    DIVIDE = of(0.0, 1.0, 0.0);
    /// A square root, an exponential, a logarithm.
    ROOT = of(0.0, 0.0, 1.0);
    /// A quotient and a root.
    RECIPROCAL_ROOT = of(0.0, 1.0, 1.0);
    /// Maximum, difference, exponential, sum, scale.
    SOFTMAX = of(5.0, 0.0, 1.0);
    /// Softmax, logarithm and the loss's gradient, in fp32.
    CROSS_ENTROPY = wide(10.0, 1.0, 2.0);
    /// An exponential and a quotient with what leads to them.
    SIGMOID = of(4.0, 1.0, 1.0);
    /// A sigmoid of one half times the other, in fp32, for each element of both.
    GATED = wide(2.0, 0.5, 0.5);
    /// Its gradient, in fp32.
    GATED_GRADIENT = wide(6.0, 1.0, 1.0);
    /// A polynomial, an exponential and a quotient.
    GELU = of(13.0, 1.0, 1.0);
    /// Its gradient.
    GELU_GRADIENT = of(22.0, 2.0, 2.0);
    /// Two moments, their root and quotient.
    ADAM = of(10.0, 1.0, 1.0);
    /// The same with bias corrections and a trust ratio.
    LAMB = of(12.0, 3.0, 2.0);
    /// Sine and cosine: reduced angles and long polynomials; sorting networks.
    SERIES = of(36.0, 0.0, 0.0);
}

/// Copies what was made just before, or writes what L2 takes in.
const COPIES: Recipe = Recipe { copies: true, ..COPY };

/// Patterns in order; the first whose text the operator's name contains decides.
const TABLE: &[(&str, Recipe)] = &[
    ("AddrClean", COPIES),
    // Optimisers.
    ("LambApplyOptimizer", LAMB),
    ("LambNextMV", LAMB),
    ("LambApplyWeight", THREE),
    ("Adam", ADAM),
    ("Momentum", THREE),
    ("RMSProp", ADAM),
    // Normalisation. Gradients before the forward operators that their names contain.
    ("LayerNormBetaGamma", BATCH_NORM),
    ("LayerNormX", NORM_GRADIENT),
    ("LayerNormGrad", NORM_GRADIENT),
    ("LayerNorm", LAYER_NORM),
    ("RmsNormGrad", NORM_GRADIENT),
    ("RmsNorm", RMS_NORM),
    ("GroupNorm", LAYER_NORM),
    ("InstanceNorm", LAYER_NORM),
    ("BNTrainingUpdateGrad", BATCH_NORM_UPDATE_GRADIENT),
    ("BNTrainingReduceGrad", BATCH_NORM_REDUCE_GRADIENT),
    ("BNTrainingUpdate", BATCH_NORM),
    ("BNTrainingReduce", BATCH_NORM),
    ("BatchNorm", BATCH_NORM),
    // Softmax and losses.
    ("SoftmaxCrossEntropy", CROSS_ENTROPY),
    ("SigmoidCrossEntropy", CROSS_ENTROPY),
    ("SoftmaxGrad", FEW),
    ("LogSoftmax", SOFTMAX),
    ("Softmax", SOFTMAX),
    // Activations.
    ("FastGeluGrad", GELU),
    ("FastGelu", SIGMOID),
    ("GeluGrad", GELU_GRADIENT),
    ("GeLUGrad", GELU_GRADIENT),
    ("Gelu", GELU),
    ("GeLU", GELU),
    ("SigmoidGrad", THREE),
    ("TanhGrad", THREE),
    ("SwishGrad", GATED_GRADIENT),
    ("SiluGrad", GATED_GRADIENT),
    ("SwiGluGrad", GATED_GRADIENT),
    ("SwiGlu", GATED),
    ("Swi", SIGMOID),
    ("Silu", SIGMOID),
    ("Mish", GELU),
    ("HardS", FEW),
    ("Erf", GELU),
    ("Sigmoid", SIGMOID),
    ("Tanh", SIGMOID),
    ("Elu", SOFTMAX),
    ("Softplus", SOFTMAX),
    ("ReluGradV2", MASK),
    ("ReLUV2", THREE),
    ("DropoutDoMask", MASK),
    ("DropOutDoMask", MASK),
    ("DropOutGenMask", MASK),
    ("MaximumGrad", MASK),
    ("MinimumGrad", MASK),
    ("RotaryMul", RMS_NORM),
    ("RotaryPosition", RMS_NORM),
    // Roots, quotients, powers.
    ("Rsqrt", RECIPROCAL_ROOT),
    ("Sqrt", ROOT),
    ("Exp", ROOT),
    ("Logical", ONE),
    ("Log", ROOT),
    ("Pow", SOFTMAX),
    ("Sin", SERIES),
    ("Cos", SERIES),
    ("Div", DIVIDE),
    ("Reciprocal", DIVIDE),
    ("Mod", DIVIDE),
    // Sums and pooling.
    ("MaxPoolGrad", MASK),
    ("Pool", ONE),
    ("SquareSum", TWO),
    ("BiasAddGrad", TWO),
    ("Reduce", ONE),
    ("ArgMax", FEW),
    ("ArgMin", FEW),
    ("CumSum", FEW),
    ("TopK", SERIES),
    ("Sort", SERIES),
    // One or two instructions.
    ("AddN", TWO),
    ("FusedMulAdd", TWO),
    ("MulAdd", TWO),
    ("Select", TWO),
    ("Where", TWO),
    ("Clip", TWO),
    ("Square", ONE),
    ("Mul", ONE),
    ("Add", ONE),
    ("Sub", ONE),
    ("Cast", ONE),
    ("Neg", ONE),
    ("Abs", ONE),
    ("Relu", ONE),
    ("ReLU", ONE),
    ("Max", ONE),
    ("Min", ONE),
    ("Equal", TWO),
    ("Greater", TWO),
    ("Less", TWO),
    ("Floor", ONE),
    ("Ceil", ONE),
    ("Round", ONE),
    ("Bias", ONE),
    ("Scale", TWO),
    ("Quant", FEW),
    ("Identity", COPY),
    ("ZerosLike", COPIES),
    ("OnesLike", COPIES),
    ("Fill", COPIES),
    ("TransData", COPIES),
    ("TensorMove", COPIES),
    ("Assign", COPIES),
    ("Sum", ONE),
    ("Mean", ONE),
    ("LpNorm", THREE),
    ("Norm", MASK),
];

/// The recipe of an operator. One that no pattern knows counts as one simple instruction.
pub(super) fn recipe(op_type: &str) -> Recipe {
    let found = TABLE.iter().find(|(pattern, _)| op_type.contains(pattern)).map(|(_, recipe)| *recipe);
    found.unwrap_or(Recipe { known: false, ..ONE })
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
    fn constants_and_classes_stay_far_fewer_than_the_kernels_they_explain() {
        assert!(crate::sim::Constants::ALL.len() + super::CLASSES.len() < 64);
    }

    #[test]
    fn gradients_cost_more_than_the_forward_operator() {
        for (forward, gradient) in [("Gelu", "GeluGrad"), ("LayerNorm", "LayerNormXBackpropV2"), ("Swish", "SwishGrad")]
        {
            assert!(recipe(gradient).simple > recipe(forward).simple, "{gradient}");
        }
    }
}
