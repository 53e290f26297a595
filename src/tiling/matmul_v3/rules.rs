//! Which rules decided a default tiling, for those who ask why it is as it is.

/// Declares the rules, each with its sentence.
macro_rules! rules {
    ($($rule:ident $sentence:literal,)*) => {
        /// A rule that took part in a default tiling.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    Estimated "CANN's rules for this part or operator are not known: the rules of a similar one stand in for them.",
    Nd2NzA "Vector cores rewrite A in fractals first, because of how its rows lie.",
    Nd2NzB "Vector cores rewrite B in fractals first, because of how its rows lie.",
    BaseOnly "Only the base template is considered: no fixpipe to memory, both operands in FRACTAL_NZ, or a batched product.",
    StartLargeL0C "The block starts as 256 x 256, which the large L0C holds.",
    StartPlain "Neither operand is transposed: the block starts as 128 x 256.",
    StartBothTransposed "Both operands are transposed: the block starts as 256 x 128.",
    StartBNz "B is in FRACTAL_NZ: the block starts as 128 x 256.",
    StartLessTraffic "M and N are large: the block starts on the side that loads less, 128 x 256 where both load the same.",
    StartLongerAxis "M or N is large, or neither: the block starts with its long side along the longer axis.",
    SmallShape "M or N is below 256, or there are fewer blocks than cores: the block is made smaller.",
    TableM "The block comes from the table for products without transposes, by least load.",
    TableMN "The block comes from the table for products with only B transposed, by least load.",
    Balance "Rows of an operand are no multiples of 256 bytes: the block deals M and N evenly to the cores.",
    CutM "The block's rows are cut so that every core has some.",
    CutN "The block's columns are cut so that every core has some.",
    CutMN "Rows or columns of the block are cut so that every core has some.",
    WithinL0C "A side of the block is lowered so that L0C holds it.",
    ClippedToProblem "On a 310P the block is not larger than the product.",
    Depth310P "On a 310P L1 holds a fixed number of blocks of each operand.",
    WholeNzOperand "Both operands are in FRACTAL_NZ and one fits the block: it is kept in half of L1.",
    HalvedDepth "Both operands at half of L1 each do not leave room for the bias: the deeper one is halved.",
    AlignedSteps "K steps are lowered to whole runs of 512 or 256 bytes.",
    Increment "At most 128 rows of 16-bit elements: the older basic-block search chooses by its cost model.",
    IncrementAFull "The basic-block search keeps all of A in L1.",
    IncrementBFull "The basic-block search keeps all of B in L1.",
    LastRound "On 24 cores rows of the block are lowered until the last round is full.",
    CopyOut "Narrow unaligned N and very many rows: B stays in L1 and vector cores compact the result.",
    CopyOutNz "The result leaves L0C as fractals and vector cores write the rows.",
    FullA "Few rows of float32 and long K: all of A stays in L1.",
    SplitKWithA "Few rows, long K and wide N of 16 bits: each core keeps a piece of A in L1 and adds up over K.",
    FullB "Many rows and little of B: all of B stays in L1.",
    FullBRefused "All of B was to stay in L1 but does not fit: only its steps stay.",
    FullBSpecial "N = K = 512 with rows that leave the last round nearly empty: all of B stays in L1.",
    OneL2Tile "All operands fit the share of L2 that tiling aims at: one L2 tile.",
    L2Tiles "The operands exceed the share of L2 that tiling aims at: the product is cut into L2 tiles.",
    L2Fail "No L2 tile keeps all cores busy within its share of L2: a fixed grid of blocks is taken.",
    SplitK1536 "K = 1536 with one very long axis and one of 384: each core adds up over K in memory.",
    SplitKLong "K is 27,392 or more: each core adds up over K in memory.",
    SplitKL2Fail "L2 tiles were not found and the product is large: each core adds up over K in memory.",
    SplitKStride "A is transposed and an axis is a multiple of 8,192: each core adds up over K in memory.",
    SplitKConflict "K is a multiple of 16,384 and both operands are read along it: each core adds up over K in memory.",
    DeterministicLong "K is very long and there are few blocks: cores share K and partial results are summed in order.",
    DeterministicTiny "M and N of float32 are at most 64 and K is 6,144 or more: cores share K.",
    DeterministicTransposed "M and N are at most 256, A is transposed and K is 1,000 to 4,608: cores share K.",
    DeterministicRest "K is 27,392 or more and no other split fits: cores share K and partial results are summed in order.",
    DeterministicFixpipe "M and N exceed 128 and N is no multiple of 16: partial results leave L0C as fractals.",
    L2Of310P "On a 310P L2 tiles are half the cores of blocks along M and two along N.",
    BiasTable "The bias table holds 256 columns: the block has no more.",
    HalvedSteps "On 24 cores K steps of 8 become 4 for large products of these extents.",
}

/// A set of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rules(u64);

const _: () = assert!(Rule::ALL.len() <= 64, "a set holds 64 rules");

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
