//! What vector kernels compute: instructions for each element, by operator.
//!
//! Operators fall into a few classes. A class counts the instructions of the plain algorithm at three prices:
//! simple ones (add, multiply, compare, convert, select), divisions, and roots or exponentials. Prices are
//! per generation. [`table`] names the operators of each class.

mod table;

use aoe_graph::op;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// What an operator does to each element, and what it does besides.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about an operator")]
pub(super) struct Recipe {
    /// Simple instructions for each element.
    pub simple: f64,
    pub divide: f64,
    pub root: f64,
    /// Cycles of the scalar unit for each element, where the vector unit has no instruction for it.
    pub scalar: f64,
    /// Cycles beyond the instructions of a long row that is reduced along the last axis, on split parts.
    pub row: f64,
    /// Simple instructions for each element of such a row in fp32, beyond those of the first generation's kernels.
    pub row_simple: f64,
    /// Simple instructions more on the first generation, which has no instruction for a logarithm in fp32.
    pub series: f64,
    /// Microseconds before the first tile of a kernel whose code and parameters come from device memory (lists of
    /// tensors, compiled tilings, tables), on the 910B and on the 950.
    pub setup_us: [f64; 2],
    /// Computed in fp32 whatever the operands are.
    pub wide: bool,
    /// The same from the 910B on, whose operators convert operands of 16 bits before what fp16 is too coarse for.
    pub wide_later: bool,
    /// Copies what was produced just before.
    pub copies: bool,
    /// Each row of the last axis stays on one core, which sorts or ranks it.
    pub by_row: bool,
    /// Whether the model knows the operator; else it is priced as data movement.
    pub known: bool,
}

const fn of(simple: f64, divide: f64, root: f64) -> Recipe {
    Recipe {
        simple,
        divide,
        root,
        scalar: 0.0,
        row: 15.0,
        series: 0.0,
        row_simple: 0.0,
        setup_us: [0.0, 0.0],
        wide: false,
        wide_later: false,
        copies: false,
        by_row: false,
        known: true,
    }
}

/// Microseconds before the first tile of kernels that do more than go through their operands once in a plain loop (norms,
/// losses, optimisers, quantisers, parts taken or put together), where nobody measured the operator itself: about the
/// median of those classes that were measured (of all but one it is 4 to 6 on the 910B, whichever is left out). What such a
/// type loses by it is at the end of what `make accuracy` prints.
const STRUCTURED_US: [f64; 2] = [4.0, 1.0];

const fn structured(recipe: Recipe) -> Recipe {
    Recipe { setup_us: STRUCTURED_US, ..recipe }
}

const fn wide(simple: f64, divide: f64, root: f64) -> Recipe {
    Recipe { wide: true, ..of(simple, divide, root) }
}

const fn wide_later(simple: f64, divide: f64, root: f64) -> Recipe {
    Recipe { wide_later: true, ..of(simple, divide, root) }
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
    /// The largest of a window and a bit for each tap that says where it was; for each tap.
    POOL_ARG = structured(of(13.0, 0.0, 0.0));
    /// The gradient spread to where the bits say; for each tap.
    POOL_ARG_GRADIENT = structured(of(28.0, 0.0, 0.0));
    /// Batch normalisation, in fp32.
    BATCH_NORM = structured(wide(3.0, 0.0, 0.0));
    /// Batch normalisation's two sums, or their gradient, in fp32.
    BATCH_NORM_SUMS = structured(wide(5.0, 0.0, 0.0));
    /// The gradient of batch normalisation's scale and shift, in fp32.
    BATCH_NORM_UPDATE_GRADIENT = structured(wide(9.0, 0.0, 0.0));
    /// Division by the root mean square of a row, in fp32; rotation of pairs takes as much.
    RMS_NORM = structured(wide(7.5, 0.0, 0.0));
    /// The same behind a sum of two operands that is kept, in fp32.
    ADD_RMS_NORM = structured(wide(16.0, 0.0, 0.0));
    /// Mean, variance and scale of a row.
    LAYER_NORM = structured(wide_later(18.0, 0.0, 0.0));
    /// Gradients of row normalisation, in fp32.
    NORM_GRADIENT = structured(wide(28.0, 0.0, 0.0));
    /// A quotient.
    DIVIDE = wide_later(0.0, 1.0, 0.0);
    /// A square root, an exponential, a logarithm.
    ROOT = wide_later(0.0, 0.0, 1.0);
    /// The same with a base, a scale and a shift that are attributes: compiled where it runs.
    SCALED_ROOT = Recipe { setup_us: [10.0, 0.0], ..wide_later(0.0, 0.0, 1.0) };
    /// A quotient and a root.
    RECIPROCAL_ROOT = wide_later(0.0, 1.0, 1.0);
    /// An exponential with what is selected and scaled around it.
    EXPONENTIAL = wide_later(5.0, 0.0, 1.0);
    /// Maximum, difference, exponential, sum, scale; of long rows both reductions wait for their last lanes, and the
    /// results are spread over the row again.
    SOFTMAX = Recipe { row: 400.0, row_simple: 8.0, wide_later: false, ..EXPONENTIAL };
    /// Softmax, logarithm and the loss's gradient, in fp32.
    CROSS_ENTROPY = structured(wide(10.0, 1.0, 2.0));
    /// An exponential and a quotient, and two instructions of one operand.
    SIGMOID = wide_later(1.0, 1.0, 1.0);
    /// The same with a product, or a difference, of two operands.
    SWISH = wide_later(2.0, 1.0, 1.0);
    /// `x exp(0.851 (x - |x|)) / (1 + exp(-1.702 |x|))`: two exponentials, a quotient, a product, five instructions of one operand.
    FAST_GELU = wide_later(3.5, 1.0, 2.0);
    /// An exponential and a logarithm with what is selected around them.
    POWER = wide_later(5.0, 0.0, 2.0);
    /// A quotient with what is multiplied, rounded or added beside it.
    DIVIDED = wide_later(3.0, 1.0, 0.0);
    /// Four neighbours of a point that lies between them, weighted, each with an address of its own: one a cycle.
    SAMPLE = Recipe { scalar: 4.0, ..structured(of(16.0, 0.0, 0.0)) };
    /// The same on a regular grid, whose rows are loaded whole: four weights, three sums, and what is converted.
    BILINEAR = structured(wide_later(8.0, 0.0, 0.0));
    /// A sigmoid of one half times the other, in fp32, for each element of both.
    GATED = Recipe { setup_us: [7.0, 0.0], ..wide(2.0, 0.5, 0.5) };
    /// Its gradient, in fp32.
    GATED_GRADIENT = structured(wide(6.0, 1.0, 1.0));
    /// A polynomial, an exponential and a quotient.
    GELU = wide_later(13.0, 1.0, 1.0);
    /// Its gradient.
    GELU_GRADIENT = wide_later(22.0, 2.0, 2.0);
    /// Two moments, their root and quotient.
    ADAM = structured(of(10.0, 1.0, 1.0));
    /// The same with bias corrections and a trust ratio.
    LAMB = structured(of(12.0, 3.0, 2.0));
    /// Sine, tangent and their inverses: reduced angles and long polynomials.
    SERIES = wide_later(36.0, 0.0, 0.0);
    /// Sorting networks, blocks of 32 and merges: four cycles for each element of a row.
    SORT = Recipe { by_row: true, row: 100.0, setup_us: [6.0, 1.0], ..wide(130.0, 0.0, 0.0) };
    /// The largest value and where it lies: compared, and both selected.
    ARG_EXTREME = Recipe { row: 900.0, setup_us: [3.0, 1.0], ..wide(7.5, 0.0, 0.0) };
    /// The largest magnitude of a row, its scale, and values divided, rounded and narrowed.
    QUANTISE = Recipe { row: 60.0, ..structured(wide(8.0, 0.0, 0.0)) };
    /// Euclid's algorithm, one element after the other. Its time is that of the numbers: from under 2 to 1400 cycles for
    /// elements of one type and kernels of one size, so that this is what they take at least.
    EUCLID = Recipe { scalar: 1.5, ..of(1.0, 0.0, 0.0) };
    /// Overlaps of boxes: those of a row against one after the other.
    OVERLAP = Recipe { scalar: 10.0, ..structured(of(12.0, 1.0, 0.0)) };
    /// Logarithms of probabilities; the first generation sums up series for them.
    LOG_LOSS = Recipe { series: 460.0, ..structured(wide(10.0, 1.0, 2.0)) };
    /// Rows of tokens moved between tokens and experts.
    ROUTE = Recipe { setup_us: [4.0, 2.0], ..COPY };
    /// Axes that change places.
    TRANSPOSE = Recipe { setup_us: [4.0, 0.0], ..COPY };
    /// Mean, variance, scale and gate of a group of channels.
    GROUP_NORM = Recipe { row: 600.0, setup_us: [3.0, 1.0], ..wide(3.0, 0.0, 0.0) };
    /// Lists of tensors, each with its own address: what the kernels of optimisers do to all parameters at once.
    LISTED = Recipe { setup_us: [12.0, 4.0], ..of(2.0, 0.0, 0.0) };
    /// A multiplication, a division and a sum on lists of tensors.
    LISTED_QUOTIENT = Recipe { setup_us: [12.0, 4.0], ..wide(2.0, 1.0, 0.0) };
}

/// Copies what was made just before, or writes what L2 takes in.
const COPIES: Recipe = Recipe { copies: true, ..COPY };

/// Microseconds that a kernel of this type takes before its first tile beyond any other, and what one would of which only
/// is known that it does more than go through its operands once; on the 910B and on the 950.
pub(super) fn setups(op_type: &str) -> [[f64; 2]; 2] {
    [recipe(op_type).setup_us, STRUCTURED_US]
}

/// What a movement does besides: a kernel that takes or puts together parts has more before its first tile than a copy.
pub(super) fn movement(op_type: &str) -> Recipe {
    let found = recipe(op_type);
    let plain = found.copies || found.setup_us != [0.0, 0.0];
    Recipe { copies: found.copies, setup_us: if plain { found.setup_us } else { STRUCTURED_US }, ..COPY }
}

/// The recipe of an operator. One that no pattern knows counts as one simple instruction.
pub(super) fn recipe(op_type: &str) -> Recipe {
    KNOWN.get(op_type).copied().unwrap_or_else(|| by_words(op_type))
}

/// The recipes of the operators that the registry has: a search prices each very often.
static KNOWN: LazyLock<FxHashMap<&'static str, Recipe>> =
    LazyLock::new(|| op::known_types().map(|op_type| (op_type, by_words(op_type))).collect());

/// The recipe of the first pattern whose words a name has.
fn by_words(op_type: &str) -> Recipe {
    let found = table::TABLE.iter().find(|(pattern, _)| has_words(op_type, pattern)).map(|(_, recipe)| *recipe);
    found.unwrap_or(Recipe { known: false, ..structured(ONE) })
}

/// Whether a name holds these words: `Sin` is one of `SinGrad` and none of `Single`.
fn has_words(name: &str, words: &str) -> bool {
    name.match_indices(words).any(|(at, _)| !name[at + words.len()..].starts_with(|c: char| c.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::table::TABLE;
    use super::{Recipe, has_words, recipe};

    #[test]
    fn no_pattern_hides_behind_an_earlier_one() {
        for (i, (pattern, _)) in TABLE.iter().enumerate() {
            let earlier = TABLE[..i].iter().find(|(other, _)| has_words(pattern, other));
            assert_eq!(earlier, None, "{pattern} is never reached");
        }
    }

    #[test]
    fn a_word_is_not_the_beginning_of_another() {
        assert!(has_words("SinGrad", "Sin") && has_words("FusedSin", "Sin") && !has_words("Single", "Sin"));
        assert!(!recipe("Single").known && recipe("Sin").simple > 30.0);
    }

    #[test]
    fn operators_of_a_family_cost_alike() {
        for family in [&["Sin", "Cos", "Atan", "Tan", "Asin"][..], &["Sigmoid", "Silu", "Tanh"], &["TopKV2", "Sort"]] {
            for op_type in family {
                let instructions = |r: Recipe| r.simple + r.divide + r.root;
                let (one, first) = (recipe(op_type), recipe(family[0]));
                let ratio = instructions(one) / instructions(first);
                assert!(one.known && 0.5 < ratio && ratio < 2.0, "{op_type}: {ratio}");
            }
        }
    }

    #[test]
    fn images_are_resized_without_a_quotient_or_a_root() {
        for op_type in ["ResizeBilinearV2", "ResizeBilinear", "ResizeNearestNeighborV2", "Resize", "UpsampleBilinear2d"]
        {
            let recipe = recipe(op_type);
            assert!(recipe.known && recipe.divide + recipe.root == 0.0 && recipe.simple <= 8.0, "{op_type}");
        }
    }

    #[test]
    fn constants_and_classes_stay_far_fewer_than_the_kernels_they_explain() {
        assert!(crate::sim::Constants::ALL.len() + super::CLASSES.len() < 130);
    }

    #[test]
    fn gradients_cost_more_than_the_forward_operator() {
        for (forward, gradient) in [("Gelu", "GeluGrad"), ("LayerNorm", "LayerNormXBackpropV2"), ("Swish", "SwishGrad")]
        {
            assert!(recipe(gradient).simple > recipe(forward).simple, "{gradient}");
        }
    }
}
