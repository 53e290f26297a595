//! What TBE compiles with static shapes: its convolutions and its products. The tiling that their kernels choose by
//! themselves is closed; what a recorded one must satisfy is here, one table for each kind.
//!
//! An illegal record is worse than a slow one: TBE takes what the bank says, and where it does not fit together the
//! compilation of the network stops. So there are two strengths of rules. [`Strength::Accepted`] holds what CANN stops
//! at or the hardware cannot hold, and judges records of anybody. [`Strength::Written`] is for records made here: it
//! leaves out whatever we do not know TBE's kernels to do right, such as channels that do not divide evenly.

pub mod conv2d;
pub mod matmul;

pub use crate::workload::tbe::TbeTiling;

/// How much a rule table asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// What CANN and the hardware ask of any record.
    Accepted,
    /// What is asked of a record that is written here.
    Written,
}

/// Rows and columns of a fractal.
const F: u64 = 16;

/// Bytes of an accumulator in L0C.
const ACCUMULATOR: u64 = 4;

/// A broken rule in one sentence, or none. Searches ask of very many tilings, most of which break none: the sentence is
/// made where it is needed.
type Judged = Result<(), String>;

/// Fails with the rule where it does not hold.
fn demand(holds: bool, rule: impl FnOnce() -> String) -> Judged {
    if holds { Ok(()) } else { Err(rule()) }
}

/// The limits of L0 and of the cores, which all kinds share. `bias` and `element` (bytes) are those of the operands.
fn shared_rules(t: &TbeTiling, element: u64, bias: bool, p: &super::Platform) -> Judged {
    let (l0, b) = (t.l0, t.buffers);
    let bytes = |rows: u32, columns: u32, element: u64, buffers: u8| {
        u64::from(rows).saturating_mul(columns.into()).saturating_mul(element).saturating_mul(buffers.into())
    };
    let fits = |name: &str, needed: u64, size: u64| {
        demand(needed <= size, || format!("{name} needs {needed} bytes of the {size} that a core has"))
    };
    let counts = [b.l1_a, b.l1_b, b.l0_a, b.l0_b, b.l0_c];
    let blocks = t.cores.tasks();
    demand(counts.iter().all(|n| (1..=2).contains(n)), || {
        "manual_pingpong_buffer holds a count that is neither 1 nor 2".into()
    })?;
    demand((1..=p.cores).contains(&blocks), || {
        format!("block_dim asks for {blocks} cores, the part has {}: each block needs one", p.cores)
    })?;
    demand([l0.m, l0.n, l0.k_a, l0.k_b].iter().all(|&n| n > 0), || "an L0 matrix is empty".into())?;
    fits("AL0_matrix", bytes(l0.m, l0.k_a, element, b.l0_a), p.l0_a)?;
    fits("BL0_matrix", bytes(l0.n, l0.k_b, element, b.l0_b), p.l0_b)?;
    fits("CL0_matrix", bytes(l0.m, l0.n, ACCUMULATOR, b.l0_c), p.l0_c)?;
    demand(!bias || p.bt == 0 || u64::from(l0.n).saturating_mul(ACCUMULATOR) <= p.bt, || {
        format!("the bias of {} columns exceeds the bias table of {} bytes", l0.n, p.bt)
    })
}
