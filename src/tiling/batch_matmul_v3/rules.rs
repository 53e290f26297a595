//! Which of the operator's own rules decided, beside those of `MatMulV3`.

/// Declares the rules, each with its sentence.
macro_rules! rules {
    ($($rule:ident $sentence:literal,)*) => {
        /// A rule that took part in the default tiling of a batched product.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Rule { $(#[doc = $sentence] $rule,)* }

        impl Rule {
            /// Every rule, in the order in which they are asked.
            pub const ALL: &'static [Rule] = &[$(Rule::$rule,)*];

            /// What the rule says, one sentence.
            pub const fn describe(self) -> &'static str {
                match self { $(Rule::$rule => $sentence,)* }
            }

            /// Its name, as it stands in results.
            pub const fn name(self) -> &'static str {
                match self { $(Rule::$rule => stringify!($rule),)* }
            }
        }
    };
}

rules! {
    FoldedBatch "One B serves the whole batch: A's products are rows of one product, and its bank record is asked for.",
    LongInner "An inner axis is longer than 65,535: the tiling of one product stays as it is.",
    OwnBlock "The block is cut for single products: whole rows of up to 1,024 or 2,048 bytes along each axis.",
    HalfBlock "The block is cut at half of that, because more cores get work or less is loaded.",
    BatchL1 "L1 holds as many K steps of each operand as half of it does, in fours.",
    FullA "One A serves the whole batch: all of it stays in L1.",
    FullB "One B serves the whole batch: all of it stays in L1.",
    BatchL2 "The operands exceed the share of L2 that tiling aims at and the batch is smaller than the cores: rows of blocks are grouped.",
    Diagonal "Cores would meet in the same rows or columns: blocks are dealt along diagonals.",
    SeveralProducts "L1 holds several products: each task has that many whole ones.",
    SeveralInL0C "L0C holds several results of one block: they leave together.",
    SeveralA "L1 holds exactly one pair of float32 operands: several A's are brought for one B.",
    Vector "Small float32 vectors: vector cores compute the products without a cube.",
}

/// A set of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rules(u16);

const _: () = assert!(Rule::ALL.len() <= 16, "a set holds 16 rules");

impl Rules {
    /// Adds a rule.
    pub const fn add(&mut self, rule: Rule) {
        self.0 |= 1 << rule as u8;
    }

    /// Whether the rule took part.
    pub const fn has(self, rule: Rule) -> bool {
        self.0 >> rule as u8 & 1 == 1
    }

    /// The rules, in the order in which they are asked.
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        Rule::ALL.iter().copied().filter(move |&rule| self.has(rule))
    }
}
