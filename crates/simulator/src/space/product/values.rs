//! The value lists of a product's parameters. 0 is what follows from the rest.

use super::rules::LONGEST;
use super::template::Template;
use super::{Bounds, P};
use crate::rounding::round_up;
use crate::soc::Soc;
use crate::space::cube::F;
use crate::workload::MatMul;

/// L2 tiles are offered where the operands take more than this share of L2.
const L2_SHARE: u64 = 4;
/// Shortest piece of a split K in bytes.
const SHORTEST_K: u64 = 256;

/// Candidate values of one parameter; sorted and freed of repeats by the caller.
pub(super) fn list(p: P, b: &Bounds, w: &MatMul, templates: &[Template], soc: &Soc) -> Vec<u64> {
    match p {
        P::Template => {
            let short = b.k * b.es <= 2 * SHORTEST_K;
            let splits = |t: Template| matches!(t as u64 % 10, 2..=4);
            templates.iter().filter(|&&t| !(short && splits(t))).map(|&t| t as u64).collect()
        }
        P::BaseM => with_0(bases(b.m)),
        P::BaseN => with_0(bases(b.n)),
        P::BaseK => with_0(base_k(b)),
        P::SingleM => with_0(blocks(b.m, b.cores)),
        P::SingleN => with_0(blocks(b.n, b.cores).into_iter().chain(blocks(b.m, b.cores)).collect()),
        P::KTasks if templates.contains(&Template::MultiCore) => with_0((2..=b.cores).collect()),
        P::KTasks => vec![0],
        P::StepM => vec![0, 1, 2, 3],
        P::StepN => vec![0, 1, 2, 4],
        P::StepKa | P::StepKb => vec![0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64],
        P::DbL0C | P::DbA1 | P::DbB1 => vec![0, 1, 2],
        P::L2M | P::L2N if fits_l2(w, soc) => vec![0, 1],
        P::L2M | P::L2N => vec![0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64],
    }
}

fn with_0(mut values: Vec<u64>) -> Vec<u64> {
    values.push(0);
    values
}

/// Extents of a block along m or n: every fractal up to 256, coarser above, and even cuts of a small extent.
fn bases(whole: u64) -> Vec<u64> {
    let most = round_up(whole, F).min(LONGEST);
    let mut values: Vec<u64> = (1..=16).map(|i| i * F).chain([320, 384, 448, 512]).collect();
    values.extend((1..=8).map(|count| round_up(whole.div_ceil(count), F)));
    values.retain(|&value| value <= most);
    values
}

/// Depths of a block: powers of two and thirds, and all of k.
fn base_k(b: &Bounds) -> Vec<u64> {
    let most = round_up(b.k, F);
    let mut values: Vec<u64> = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64].iter().map(|count| count * F).collect();
    values.extend((1..=4).map(|count| round_up(b.k.div_ceil(count), F)));
    values.retain(|&value| value <= most && value * F * b.es <= b.l0_a);
    values
}

/// Numbers of blocks of a core task: few, and what cuts the extent evenly over the cores.
fn blocks(whole: u64, cores: u64) -> Vec<u64> {
    let mut values: Vec<u64> = (1..=8).collect();
    for base in [64, 128, 192, 256, 384, 512] {
        values.extend((1..=cores).map(|count| whole.div_ceil(count).div_ceil(base)));
    }
    // All of it, whatever the block.
    values.extend((1..=LONGEST / F).map(|fractals| whole.div_ceil(fractals * F)));
    values
}

/// Whether L2 holds all operands with so much to spare that grouping core tasks cannot matter.
fn fits_l2(w: &MatMul, soc: &Soc) -> bool {
    let inputs = w.m.saturating_mul(w.k).saturating_add(w.k.saturating_mul(w.n)).saturating_mul(w.dtype.bytes());
    let output = w.m.saturating_mul(w.n).saturating_mul(w.out_dtype.bytes());
    inputs.saturating_add(output) <= soc.l2_size / L2_SHARE
}
