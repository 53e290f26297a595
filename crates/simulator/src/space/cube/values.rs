//! The value lists of cube parameters.

use super::batched::MOST_BLOCKS;
use super::tiling::{F, Limits};
use super::{Kernels, P};
use crate::rounding::round_up;
use crate::soc::Soc;
use crate::workload::CubeShape;

/// L2 tiles are offered where the operands take more than this share of L2.
const L2_SHARE: u64 = 4;
/// Steps along k that hold whole blocks of channels are offered up to this many.
const MOST_STEPS: u64 = 512;
/// Shortest piece of a split K in bytes.
const SHORTEST_K: u64 = 256;

/// Candidate values of one parameter; sorted and freed of repeats by the caller.
pub(super) fn list(p: P, shape: &CubeShape, limits: &Limits, kernels: &Kernels, soc: &Soc) -> Vec<u64> {
    match p {
        P::SplitK if shape.k * limits.es <= 2 * SHORTEST_K => vec![0],
        P::SplitK => kernels.split_k.to_vec(),
        P::BaseM => bases(shape.m),
        P::BaseN => bases(shape.n),
        P::BaseK => base_k(shape, limits),
        // Products of a task come in twos.
        P::SingleBatch if kernels.batched.is_some() => {
            singles(shape.batch, 1, &[1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64], limits.cores)
        }
        P::SingleBatch => singles(shape.batch, 1, &[1, 2, 4, 8], limits.cores),
        P::SingleM => {
            let mut values = singles(shape.m, F, &bases(shape.m), limits.cores);
            values.extend(kernels.images.iter().flat_map(|&(count, pixels)| images(count, pixels, limits.cores)));
            values
        }
        P::SingleN => singles(shape.n, F, &bases(shape.n), limits.cores),
        P::SingleK => single_k(shape, limits, kernels),
        P::FullLoad => kernels.full_load.to_vec(),
        P::StepM | P::StepN if kernels.batched.is_some() => (1..=MOST_BLOCKS).collect(),
        P::StepM | P::StepN => vec![1, 2, 3, 4, 6, 8],
        P::StepKa | P::StepKb => {
            let mut values = vec![1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64];
            if kernels.tbe.is_some() || kernels.batched.is_some() {
                // All of k at once, however deep the L0 tile.
                let whole = base_k(shape, limits).into_iter().map(|base| shape.k.div_ceil(base.max(1)));
                values.extend(whole.filter(|&steps| steps <= MOST_STEPS));
                // With a deeper L0 tile fewer steps make a block of channels.
                values.extend((2..=kernels.block.min(MOST_STEPS)).filter(|steps| kernels.block.is_multiple_of(*steps)));
            }
            values.extend(
                [1, 2, 3, 4].map(|blocks| kernels.block.saturating_mul(blocks)).iter().filter(|&&n| n <= MOST_STEPS),
            );
            values
        }
        P::DbL0C | P::DbA1 | P::DbB1 => vec![1, 2],
        P::L2M | P::L2N | P::L2Order if kernels.one_task || kernels.batched.is_some() || fits_l2(shape, soc) => {
            vec![u64::from(p != P::L2Order)]
        }
        P::L2M | P::L2N => vec![1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64],
        P::Order | P::L2Order => vec![0, 1],
    }
}

/// Extents of an L0 tile along m or n: every fractal up to 256, coarser above, and even cuts of a small
/// extent.
fn bases(whole: u64) -> Vec<u64> {
    let most = round_up(whole, F);
    let mut values: Vec<u64> = (1..=16).map(|i| i * F).chain([320, 384, 448, 512]).collect();
    values.extend((1..=8).map(|count| round_up(whole.div_ceil(count), F)));
    values.retain(|&value| value <= most.min(512));
    values
}

/// Depths of an L0 tile: whole fractals by bytes, powers of two and thirds, and all of K.
fn base_k(shape: &CubeShape, limits: &Limits) -> Vec<u64> {
    let most = round_up(shape.k, limits.k0);
    let mut values: Vec<u64> =
        [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64].iter().map(|fractals| fractals * limits.k0).collect();
    values.extend((1..=4).map(|count| round_up(shape.k.div_ceil(count), limits.k0)));
    values.retain(|&value| value <= most && value * F * limits.es <= limits.l0_a);
    values
}

/// Extents of a core task: the whole, even cuts over the cores, and a ladder of multiples of 16.
fn singles(whole: u64, unit: u64, bases: &[u64], cores: u64) -> Vec<u64> {
    let mut values = vec![whole];
    values.extend((1..=2 * cores).map(|count| round_up(whole.div_ceil(count), unit)));
    values.extend_from_slice(bases);
    values.extend((9u32..30).flat_map(|power| [unit << power >> 4, (3 * unit) << power >> 5]));
    values.retain(|&value| value < whole && value >= unit && u32::try_from(whole.div_ceil(value)).is_ok());
    values.push(whole);
    values
}

/// Extents of core tasks that are whole images, or even parts of one image.
fn images(count: u64, pixels: u64, cores: u64) -> Vec<u64> {
    let whole = (1..=cores).map(|parts| count.div_ceil(parts).saturating_mul(pixels));
    let parts = (2..=cores).map(|parts| pixels.div_ceil(parts));
    let tall = (2..=cores).map(|parts| round_up(pixels.div_ceil(parts), F));
    let most = count.saturating_mul(pixels);
    whole.chain(parts).chain(tall).filter(|&extent| extent > 0 && extent <= most).collect()
}

/// Pieces of K: the whole, and, where the kernel can split it, even cuts and a ladder.
fn single_k(shape: &CubeShape, limits: &Limits, kernels: &Kernels) -> Vec<u64> {
    let mut values = vec![shape.k];
    if kernels.split_k.len() > 1 {
        let unit = (128 / limits.es).max(limits.k0);
        values.extend((2..=limits.cores).map(|count| round_up(shape.k.div_ceil(count), unit)));
        values.extend((2u32..12).flat_map(|power| [unit << power, (unit << power) / 4 * 3]));
        values.retain(|&value| value * limits.es >= SHORTEST_K && value < shape.k);
        values.push(shape.k);
    }
    values
}

/// Whether L2 holds all operands with so much to spare that grouping core tasks cannot matter.
fn fits_l2(shape: &CubeShape, soc: &Soc) -> bool {
    let product = |a: u64, b: u64| a.saturating_mul(b).saturating_mul(shape.batch);
    let inputs = product(shape.m, shape.k).saturating_add(product(shape.k, shape.n));
    let output = product(shape.m, shape.n);
    let bytes =
        inputs.saturating_mul(shape.dtype.bytes()).saturating_add(output.saturating_mul(shape.out_dtype.bytes()));
    bytes <= soc.l2_size / L2_SHARE
}
