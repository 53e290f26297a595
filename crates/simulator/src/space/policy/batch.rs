//! CANN's default of batched products, as far as a cube schedule can say it.
//!
//! The operator's rules are in [`crate::tiling::batch_matmul_v3`]. What a schedule does not say: results that leave
//! L0C together, several A's for one B, and rows of several products in one block (there each product keeps a block of
//! its own).

use super::super::cube::{F, Tiling};
use crate::rounding::round_up;
use crate::soc::{Arch, Soc};
use crate::tiling::Platform;
use crate::tiling::batch_matmul_v3::{self, Choice, Problem, Template};
use crate::tiling::matmul_v3;
use crate::workload::{Extents, LoopOrder, MatMul, MatMulKernel, OutputPath, SplitK};
use aoe_graph::DataType;

/// The default of a batch of products; `None` where another operator computes it or its rules are not known.
pub(super) fn tiling(w: &MatMul, soc: &Soc) -> Option<Tiling> {
    let choice = choice(w, soc)?;
    Some(with_single(&choice.tiling, extents(w, &choice), choice.template))
}

fn choice(w: &MatMul, soc: &Soc) -> Option<Choice> {
    let floats = matches!(w.dtype, DataType::Float | DataType::Float16 | DataType::Bfloat16);
    let known = matches!(soc.arch, Arch::C220 | Arch::M200);
    if w.batch < 2 || w.kernel != MatMulKernel::AscendC || !floats || !known {
        return None;
    }
    Some(batch_matmul_v3::default(&Problem::from(w), &Platform::of(soc)))
}

/// Whether [`tiling`] is what public rules choose, and a schedule says all of it.
pub(super) fn is_public(w: &MatMul, soc: &Soc) -> bool {
    let Some(choice) = choice(w, soc) else { return false };
    // Rows of several products are one block only where whole products are, or whole blocks.
    let rows = u64::from(choice.tiling.single_core_m).max(1);
    let said = choice.batch > 1 || rows.is_multiple_of(w.m) || w.m.is_multiple_of(rows);
    choice.public && said && choice.template != Template::Vector
}

/// What one core task computes.
fn extents(w: &MatMul, choice: &Choice) -> Extents {
    let t = &choice.tiling;
    let folded = choice.batch == 1;
    let rows = u64::from(t.single_core_m);
    let products = if folded { (rows / w.m).max(1) } else { choice.iter_batch };
    let cut = |whole: u64, single: u32| countable(whole, single.into());
    Extents {
        batch: products.max(w.batch >> 31),
        m: if folded && rows >= w.m { w.m } else { cut(w.m, t.single_core_m) },
        n: cut(w.n, t.single_core_n),
        k: w.k,
    }
}

/// An extent of which there are no more pieces than a task counter holds.
fn countable(whole: u64, single: u64) -> u64 {
    let single = single.max(1);
    single.max(round_up(whole >> 31, single)).min(whole)
}

/// CANN's fields with these extents in place of its own.
pub(super) fn with_single(t: &matmul_v3::Tiling, single: Extents, template: Template) -> Tiling {
    let buffers = |depth: u32, step: u32, step_k: u32| match depth.checked_div(step.saturating_mul(step_k)) {
        Some(0..=1) | None => 1,
        Some(_) => 2,
    };
    let several = template == Template::SeveralProducts;
    let whole = |base: u32| round_up(u64::from(base.clamp(1, 1 << 20)), F) as u32;
    Tiling {
        used_cores: 0,
        single,
        // A 310P's block ends where the product does, which its L0 holds as whole fractals.
        base_m: whole(t.base_m),
        base_n: whole(t.base_n),
        base_k: whole(t.base_k),
        step_m: t.step_m.max(1),
        step_n: t.step_n.max(1),
        step_ka: t.step_ka.max(1),
        step_kb: t.step_kb.max(1),
        full_a: template == Template::FullA,
        full_b: template == Template::FullB,
        // The next products are brought while these are computed.
        db_l1_a: if several { 2 } else { buffers(t.depth_a1, t.step_m, t.step_ka) },
        db_l1_b: if several { 2 } else { buffers(t.depth_b1, t.step_n, t.step_kb) },
        db_l0_c: t.db_l0c.clamp(1, 2) as u8,
        order: if t.iterate_order == 1 { LoopOrder::NFirst } else { LoopOrder::MFirst },
        l2_m_tiles: t.l2_m_tile_cnt.max(1),
        l2_n_tiles: t.l2_n_tile_cnt.max(1),
        l2_order: LoopOrder::MFirst,
        split_k: SplitK::None,
        output: OutputPath::Direct,
    }
}
