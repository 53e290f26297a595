//! `RmsNorm` and `AddLayerNorm` of `AscendC`.

use super::{Choice, Rule, Rules};
use crate::soc::Arch;
use crate::tiling::Platform;
use crate::workload::Operand;
use aoe_graph::DataType;

/// Rows to be normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Norm {
    /// Rows.
    pub rows: u64,
    /// Elements of a row.
    pub columns: u64,
    /// Bytes of an element.
    pub es: u64,
    /// Bytes of an element of the scale.
    pub scale_es: u64,
    /// Everything is float16.
    pub half: bool,
    /// A bias is added before.
    pub bias: bool,
}

/// Operands of `AddLayerNorm` without a bias: two that are added, scale and offset.
const WITHOUT_BIAS: usize = 4;

impl Norm {
    /// So many rows and columns of the operand `x`, of all that an operator reads.
    pub fn of([rows, columns]: [u64; 2], x: &Operand, scale: &Operand, inputs: &[Operand]) -> Norm {
        let bytes = |o: &Operand| o.dtype.bytes().max(1);
        let half = inputs.iter().all(|o| o.dtype == DataType::Float16);
        Norm { rows, columns, es: bytes(x), scale_es: bytes(scale), half, bias: inputs.len() > WITHOUT_BIAS }
    }
}

/// Columns, padded to 32 bytes, up to which several rows are worked on at once.
const MERGED_COLUMNS: u64 = 2000;
/// Columns beyond which a row passes in slices: 16-bit types, fp32.
const WHOLE_COLUMNS: [u64; 2] = [12_288, 10_240];
/// Rows whose statistics are kept together.
const STATISTICS_ROWS: u64 = 64;

/// As few cores as the rows of the busiest allow, and those rows.
fn deal(rows: u64, cores: u64) -> (u64, u64) {
    let each = rows.div_ceil(cores.max(1)).max(1);
    (rows.div_ceil(each).max(1), each)
}

/// The default tiling of `RmsNorm`.
pub fn rms_norm(w: &Norm, p: &Platform) -> Choice {
    let (cores, each) = deal(w.rows, p.vector_cores);
    let columns = w.columns.next_multiple_of(32 / w.es.clamp(1, 32));
    let ub = p.ub.saturating_sub(1024);
    let rules = Rules::default().and(Rule::EvenRows);
    let most = WHOLE_COLUMNS[usize::from(w.es > 2)];
    let (template, row_factor, ub_factor, rule) = if columns <= MERGED_COLUMNS {
        ("MergeN", (ub / (16 * columns + 260)).max(1), columns, Rule::SeveralRows)
    } else if w.columns > most {
        let parts = w.columns.div_ceil(most);
        ("SplitD", 1, w.columns.div_ceil(parts).next_multiple_of(16), Rule::Slices)
    } else {
        ("Normal", STATISTICS_ROWS, columns, Rule::OneRow)
    };
    let choice = Choice::new(template, cores, rules.and(rule))
        .with("blockFactor", each)
        .with("rowFactor", row_factor)
        .with("ubFactor", ub_factor)
        .tile(if template == "MergeN" { row_factor.saturating_mul(columns) } else { ub_factor }, false);
    // A scale of fp32 with 16-bit rows has byte budgets of its own, which are not known.
    if w.scale_es > w.es || p.arch != Arch::C220 { choice.estimated() } else { choice }
}

/// Columns below which at most [`MOST_ROWS`] rows are worked on at once.
const FEW_COLUMNS: u64 = 500;
/// Most rows then.
const MOST_ROWS: u64 = 255;
/// Columns up to which the kernel of float16 alone has a cheaper reduction.
const CHEAP_COLUMNS: u64 = 2040;
/// How much more of UB than is counted a row may take in kernels whose budgets are not known: the answer for rows that
/// fit all the same does not turn on them.
const MARGIN: u64 = 2;
/// Columns of a slice at least.
const LEAST_SLICE: u64 = 2048;

/// The default tiling of `AddLayerNorm`.
pub fn add_layer_norm(w: &Norm, p: &Platform) -> Choice {
    let (cores, each) = deal(w.rows, p.vector_cores);
    let columns = w.columns.next_multiple_of(32 / w.es.clamp(1, 32));
    let ub = p.ub;
    // x1, x2 and y in their type and three temporaries of fp32 for each row; scale and shift once.
    let [row, shared, scale] = [3 * w.es + 12, w.es + 12, 2 * w.scale_es].map(|bytes| columns.saturating_mul(bytes));
    let several = ub.saturating_sub(scale) / row.max(1);
    let slice = (ub.saturating_sub(scale) / (3 * w.es + 12)) / 16 * 16;
    let (template, rows, piece, rule) = if several > 1 {
        ("Normal", several, columns, Rule::SeveralRows)
    } else if several == 1 {
        ("SingleRow", 1, columns, Rule::OneRow)
    } else if shared.saturating_add(scale) <= ub {
        ("SingleRowShared", 1, columns, Rule::SharedBuffers)
    } else if slice > LEAST_SLICE {
        ("SliceX", 1, slice, Rule::WholeScale)
    } else {
        let slice = ub / (3 * w.es + 12 + 2 * w.scale_es) / 16 * 16;
        ("Slice", 1, slice.max(16), Rule::Slices)
    };
    let mut rules = Rules::default().and(Rule::EvenRows).and(rule).and(Rule::UbCounted);
    let mut rows = rows.min(each);
    if w.columns < FEW_COLUMNS {
        rules.add(Rule::Rows255);
        rows = rows.min(MOST_ROWS);
    }
    let choice = Choice::new(template, cores, rules)
        .with("firstDimPerCore", each)
        .with("firstDimPerTime", rows)
        .with("lastDimPerTime", piece)
        .with("colMoveCnt", columns.div_ceil(piece.max(1)))
        .tile(rows.saturating_mul(piece), false);
    // These have kernels with buffers of their own, whose budgets are not known.
    let cheap = w.half && w.columns <= CHEAP_COLUMNS;
    let own = cheap || w.es != 2 || w.scale_es != w.es || w.bias;
    // So few short rows that UB holds them all at once whatever the budget.
    let whatever = ub.saturating_sub(MARGIN * scale) / (MARGIN * row).max(1);
    let at_once = if w.columns < FEW_COLUMNS { each.min(MOST_ROWS) } else { each };
    let settled = whatever > 1 && at_once <= whatever;
    if p.arch == Arch::C220 && (!own || settled) { choice } else { choice.estimated() }
}
