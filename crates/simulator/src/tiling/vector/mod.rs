//! Vector operators: elementwise work, reductions, norms and transposes.
//!
//! CANN compiles most of them with TBE, whose run-time tiling is public as a copy of 2021; the norms and some
//! transposes are written in `AscendC`. What UB holds of each tensor is decided when a kernel is compiled. Where that
//! is not known it is counted from the operands, and a rule says so ([`Rule::UbCounted`]).

pub mod axes;
mod elementwise;
mod norm;
mod reduction;
#[cfg(test)]
mod tests;
mod transpose;

pub use elementwise::is_one_instruction;
pub use elementwise::{Elementwise, broadcasts, elementwise, launched};
pub use norm::{Norm, add_layer_norm, rms_norm};
pub use reduction::{Reduction, reduction};
pub use transpose::{transpose, transpose_v2};

use super::rules::rules;

rules! {
    Estimated "CANN's rules for this operator or part are closed: those of a similar one stand in for them.",
    UbCounted "How much of a tensor UB holds is decided when the kernel is compiled; here it is counted from the operands.",
    RoomUnknown "How many temporaries the kernel keeps in UB is closed, and with half the room the tile would be another one.",
    OneCore "There are fewer elements than two blocks of 32 bytes for each core, or one core's part is all: one core does all.",
    OtherLaunches "These are the rules of a public copy of 2021, and launches of CANN's kernels show other parts: at least 4 KB of the widest element on a 910B, at least 2 KB of the result in whole blocks of 32 bytes on a first 910. An estimate; what is priced has the cores of the launches.",
    EvenElements "Elements are dealt evenly to all vector cores, in units of 128 (256 of one bit).",
    FourKilobytes "Each core gets at least 4 KB, in units of 512 elements.",
    WholeBlock "A core's part fits UB at once: no second buffer.",
    DoubleBuffer "A core's part is larger than a tile of UB: two buffers, and the part is cut evenly.",
    SplitReduced "There are few results and many terms: cores share the reduced axis and add up in memory, which the kernel must be compiled for.",
    SplitReducedRows "Leading axes are reduced and the kept row fits UB: cores share the reduced rows and add up in memory, which the kernel must be compiled for.",
    SplitKept "A kept axis has fewer results than there are cores: parts whose store is a block of 32 bytes.",
    WholeBlocks "What is dealt of the last axis is cut to whole blocks of 32 bytes, so that there may be more parts than cores.",
    SplitKeptFull "Cores share a kept axis in the least multiple of the core count whose parts fit UB.",
    NoSplit "No axis can be shared so that every store is a whole block of 32 bytes: one core does all.",
    EvenRows "Rows are dealt evenly to as few cores as that takes.",
    SeveralRows "Columns are few: several rows are worked on at once.",
    OneRow "A row fits UB and is worked on at a time.",
    SharedBuffers "A row fits UB only where operands and results share their buffers.",
    WholeScale "The scale and the shift stay in UB whole, rows pass in slices.",
    Slices "Rows are longer than UB takes: they pass in slices.",
    Rows255 "Below 500 columns at most 255 rows are worked on at once.",
    Batch "Batches are dealt evenly to all vector cores, the first ones get one more.",
    SmallPlane "Each plane is turned over in UB as a whole.",
    LongerAxis "The longer of the two axes that change places is dealt to the cores.",
    StridedCopies "Rows of four blocks of 32 bytes or more are copied with strides.",
    NotLaunched "These are the rules of `TransposeV2`, which the operator interface launches for few orders and sizes: here the kernel is TBE's `Transpose`, with closed tiling.",
    Turned16 "Rows are shorter than four blocks of 32 bytes: squares of 16 x 16 are turned over in UB.",
}

/// Most fields of a tiling.
const MOST: usize = 8;

/// A default tiling: a few numbers with names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// What the kernel does with the data, one word.
    pub template: &'static str,
    /// Cores that work.
    pub cores: u64,
    /// Elements of a tile in UB.
    pub tile: u64,
    /// Whether a tile has two buffers.
    pub double_buffer: bool,
    /// Whether the rules are public.
    pub public: bool,
    /// Whether the tile turns on how much of UB the kernel's temporaries take, which is closed.
    pub room_decides: bool,
    /// The rules that decided.
    pub rules: Rules,
    fields: [(&'static str, u64); MOST],
    count: usize,
}

impl Choice {
    fn new(template: &'static str, cores: u64, rules: Rules) -> Choice {
        let fields = [("blockDim", cores); MOST];
        Choice {
            template,
            cores,
            tile: 0,
            double_buffer: false,
            public: true,
            room_decides: false,
            rules,
            fields,
            count: 1,
        }
    }

    /// The choice with one field more.
    fn with(mut self, name: &'static str, value: u64) -> Choice {
        self.fields[self.count] = (name, value);
        self.count += 1;
        self
    }

    fn tile(mut self, elements: u64, double_buffer: bool) -> Choice {
        self.tile = elements;
        self.double_buffer = double_buffer;
        self
    }

    /// The choice with this many blocks launched, which may be more than there are cores.
    fn launching(mut self, blocks: u64) -> Choice {
        self.fields[0].1 = blocks;
        self
    }

    /// The choice with one rule more.
    fn because(mut self, rule: Rule) -> Choice {
        self.rules.add(rule);
        self
    }

    /// The choice as an estimate: its rules are those of another operator or part.
    #[must_use]
    pub fn estimated(mut self) -> Choice {
        self.public = false;
        self.rules.add(Rule::Estimated);
        self
    }

    /// The choice where the tile turns on what the kernel's temporaries take of UB.
    fn by_room(mut self) -> Choice {
        self.room_decides = true;
        self.rules.add(Rule::RoomUnknown);
        self
    }

    /// Whether every number is what public rules choose.
    pub fn is_exact(&self) -> bool {
        self.public && !self.room_decides
    }

    /// The numbers by name.
    pub fn fields(&self) -> &[(&'static str, u64)] {
        &self.fields[..self.count]
    }
}
