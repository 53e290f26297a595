//! Elementwise work: TBE's run-time tiling on the first 910 and the 910B, `AscendC`'s on the 950.

use super::{Choice, Rule, Rules};
use crate::soc::Arch;
use crate::tiling::Platform;
use crate::workload::Operand;

/// An elementwise kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elementwise {
    /// Elements of the result.
    pub elements: u64,
    /// Bits of a result's element.
    pub out_bits: u64,
    /// Bits of the widest element.
    pub widest_bits: u64,
    /// Tensors of which UB holds a tile each, in widest elements: those read and written, and temporaries.
    pub tensors: u64,
    /// Whether the vector unit does it as one instruction, so that there are no temporaries.
    pub one_instruction: bool,
}

impl Elementwise {
    /// The kernel of an operator by its operands, those of one element aside; `None` without a result. One that is not
    /// a single instruction keeps a copy in fp32 besides.
    pub fn of(op_type: &str, inputs: &[Operand], outputs: &[Operand]) -> Option<Elementwise> {
        let result = outputs.iter().max_by_key(|o| o.elements())?;
        let all = || inputs.iter().chain(outputs);
        let bits = |o: &Operand| u64::from(o.dtype.bits()).max(1);
        let widest_bits = all().map(bits).max().unwrap_or(8);
        let operands = all().filter(|o| o.elements() > 1).count().max(1) as u64;
        let one_instruction = is_one_instruction(op_type);
        let copy = if one_instruction { 0 } else { 32u64.div_ceil(widest_bits) };
        Some(Elementwise {
            elements: result.elements(),
            out_bits: bits(result),
            widest_bits,
            tensors: operands.saturating_add(copy),
            one_instruction,
        })
    }
}

/// Whether an operand is repeated to the size of the result. Such kernels keep their axes and have a tiling of their
/// own; what is one element does not count.
pub fn broadcasts(inputs: &[Operand], outputs: &[Operand]) -> bool {
    let whole = outputs.iter().map(Operand::elements).max().unwrap_or(0);
    inputs.iter().chain(outputs).any(|o| o.elements() > 1 && o.elements() != whole)
}

/// Elements that a part of a core is a multiple of.
const UNIT: u64 = 128;
/// The same for results of one bit.
const UNIT_BITS: u64 = 256;
/// Bits that a core of a 910B or a 950 gets at least: 4 KB.
const LEAST_BITS: u64 = 32_768;
/// Bits of the result that a core of a first 910 gets at least: 2 KB.
const LEAST_RESULT_BITS: u64 = 16_384;
/// The narrowest type that the vector unit of a 910B computes in.
const NARROWEST: u64 = 16;
/// Bits of a block of memory.
const BLOCK_BITS: u64 = 256;
/// Blocks of the result for each vector core from which the public copy uses more than one core.
const BLOCKS_OF_A_CORE: u64 = 2;
/// Elements that a part of a core of a 950 is a multiple of.
const UNIT_950: u64 = 512;

/// The default tiling by the public rules. On the first 910 and the 910B these are a copy of 2021, which launches of
/// today's kernels contradict for small tensors: there it is an estimate, and [`launched`] has what is seen.
pub fn elementwise(w: &Elementwise, p: &Platform) -> Choice {
    let choice = match p.arch {
        Arch::C310 => ascend_c(w, p),
        Arch::C100 | Arch::C220 => {
            let (page, seen) = (copy_of_2021(w, p), seen(w, p));
            let choice = tbe(w, p, page);
            if page == seen { choice } else { Choice { public: false, ..choice }.because(Rule::OtherLaunches) }
        }
        _ => tbe(w, p, copy_of_2021(w, p)).estimated(),
    };
    choice.because(Rule::UbCounted)
}

/// The tiling with the blocks that launches of a first 910 and a 910B show; `None` for other parts, and where it is
/// [`elementwise`]'s.
pub fn launched(w: &Elementwise, p: &Platform) -> Option<Choice> {
    let known = matches!(p.arch, Arch::C100 | Arch::C220);
    let seen = seen(w, p);
    (known && seen != copy_of_2021(w, p)).then(|| tbe(w, p, seen).because(Rule::UbCounted))
}

/// A core's part by the public copy of 2021: all elements for one core below two blocks of results for each, else even
/// parts, whatever their size.
fn copy_of_2021(w: &Elementwise, p: &Platform) -> u64 {
    let (n, cores) = (w.elements.max(1), p.vector_cores.max(1));
    let of_a_core = BLOCKS_OF_A_CORE * BLOCK_BITS / w.out_bits.clamp(1, BLOCK_BITS);
    if n < cores.saturating_mul(of_a_core) {
        return n;
    }
    n.div_ceil(cores).next_multiple_of(if w.out_bits == 1 { UNIT_BITS } else { UNIT })
}

/// A core's part as profiles show it. Of 134 launches on a 910B1 and a 910B4 each has a core for 4 KB begun of the widest
/// element, and of 639 on a first 910, whose kernels are compiled for their shapes, 636 have one for 2 KB begun of the
/// result, in whole blocks.
fn seen(w: &Elementwise, p: &Platform) -> u64 {
    let least = match p.arch {
        Arch::C220 => w.elements.saturating_mul(w.widest_bits.max(NARROWEST)).div_ceil(LEAST_BITS),
        _ => w.elements.saturating_mul(w.out_bits).div_ceil(LEAST_RESULT_BITS),
    };
    let unit = match (w.out_bits, p.arch) {
        (1, _) => UNIT_BITS,
        (_, Arch::C220) => UNIT,
        (bits, _) => BLOCK_BITS / bits.clamp(1, BLOCK_BITS),
    };
    let (n, cores) = (w.elements.max(1), least.clamp(1, p.vector_cores.max(1)));
    if cores > 1 { n.div_ceil(cores).next_multiple_of(unit) } else { n }
}

/// The tiling of parts of so many elements.
fn tbe(w: &Elementwise, p: &Platform, block: u64) -> Choice {
    let n = w.elements.max(1);
    let mut rules = Rules::default().and(if block < n { Rule::EvenElements } else { Rule::OneCore });
    // What one tensor may take of UB, and what one instruction reaches.
    let limit = p.ub * 8 / (w.tensors.max(1) * w.widest_bits.max(1)) / UNIT * UNIT;
    let reach = match w.widest_bits {
        ..=16 => 32_767,
        17..=32 => 16_383,
        _ => 8_191,
    };
    let double = block > limit.min(reach);
    rules.add(if double { Rule::DoubleBuffer } else { Rule::WholeBlock });
    let tile = if double {
        let half = (limit / 2 / UNIT * UNIT).max(UNIT);
        block.div_ceil(block.div_ceil(half)).next_multiple_of(UNIT)
    } else {
        block
    };
    let choice = Choice::new("Elementwise", n.div_ceil(block), rules)
        .with("blockFactor", block)
        .with("ubFactor", tile)
        .with("needDoubleBuffer", double.into())
        .tile(tile, double);
    // How many temporaries a longer kernel has is closed; with half the room the answer would be another one.
    let turns_on_room = !w.one_instruction && block > limit.min(reach) / 2;
    if turns_on_room { choice.by_room() } else { choice }
}

fn ascend_c(w: &Elementwise, p: &Platform) -> Choice {
    let n = w.elements.max(1);
    let most = n.saturating_mul(w.widest_bits.max(1)).div_ceil(LEAST_BITS).min(p.vector_cores).max(1);
    let block = n.div_ceil(most).next_multiple_of(UNIT_950).min(n.max(1));
    // Every tensor has two buffers.
    let divisor = 2 * w.tensors.max(1) * w.widest_bits.max(1);
    let unit = (256 * 8 / w.widest_bits.max(1)).max(1);
    let tile = (p.ub * 8 / divisor / unit * unit).max(unit);
    Choice::new("Elementwise", n.div_ceil(block), Rules::default().and(Rule::FourKilobytes).and(Rule::DoubleBuffer))
        .with("blockFormer", block)
        .with("ubFormer", tile.min(block.next_multiple_of(unit)))
        .tile(tile.min(block.next_multiple_of(unit)), true)
}

/// Operators that the vector unit runs as one instruction on the tile.
pub fn is_one_instruction(op_type: &str) -> bool {
    matches!(
        op_type,
        "Add"
            | "AddN"
            | "Sub"
            | "Mul"
            | "Div"
            | "RealDiv"
            | "Maximum"
            | "Minimum"
            | "Relu"
            | "LeakyRelu"
            | "Abs"
            | "Neg"
            | "Exp"
            | "Log"
            | "Sqrt"
            | "Rsqrt"
            | "Reciprocal"
            | "Cast"
            | "Adds"
            | "Muls"
            | "LogicalAnd"
            | "LogicalOr"
            | "LogicalNot"
            | "Equal"
            | "Greater"
            | "Less"
    )
}
