//! CANN's default of products of int8 operands, where its fields are known.

use super::super::cube::Tiling;
use super::batch::with_single;
use crate::soc::{Arch, Soc};
use crate::tiling::Platform;
use crate::tiling::batch_matmul_v3::Template;
use crate::tiling::quant_batch_matmul_v3::{self, Problem};
use crate::workload::{Extents, MatMul, MatMulKernel};

/// The default of a quantised product; `None` where its fields are not known.
pub(super) fn tiling(w: &MatMul, soc: &Soc) -> Option<Tiling> {
    if !w.is_quantised() || w.batch > 1 || soc.arch != Arch::C220 {
        return None;
    }
    let choice = quant_batch_matmul_v3::default(&Problem::from(w), &Platform::of(soc))?;
    if let Some(cached) = choice.cached {
        return Tiling::fields(&cached.schedule(w).ok()?);
    }
    let t = choice.basic?;
    let cut = |whole: u64, single: u32| {
        let single = u64::from(single.max(1));
        single.max((whole >> 31).div_ceil(single) * single).min(whole)
    };
    let single = Extents { batch: 1, m: cut(w.m, t.single_core_m), n: cut(w.n, t.single_core_n), k: w.k };
    Some(with_single(&t, single, Template::Base))
}

/// Whether [`tiling`] is what public rules choose.
pub(super) fn is_public(w: &MatMul, soc: &Soc) -> bool {
    // V4's rules are its own, and what its kernel does is nearest to this one's.
    if w.kernel != MatMulKernel::AscendC || tiling(w, soc).is_none() {
        return false;
    }
    quant_batch_matmul_v3::default(&Problem::from(w), &Platform::of(soc)).is_some_and(|choice| choice.public)
}
