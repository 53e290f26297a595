//! The kernels of `MatMulV3` and `BatchMatMulV3` on parts with separate cube and vector cores: each template has its own loop, its own
//! way of the result and its own passes of the vector cores.

mod base;
mod batched;
mod deterministic;
mod full_load;
mod l2;
mod multi_core;
pub(super) mod passes;
mod prepass;
mod single_core;
#[cfg(test)]
mod tests;

use super::Problem;
use super::plan::{Drain, L0cRelease, Plan, Tiles};
use crate::soc::{Arch, Soc};
use crate::workload::{CubeSchedule, L1Tile, MatMul, MatMulKernel, OutputPath, SplitK};
use aoe_graph::Format;
pub(super) use prepass::Rewrites;

/// Which loop a kernel runs: the digits of `tilingEnable`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Template {
    /// A block of C for each task (0, and 10000, which shifts where cores begin along k).
    Base,
    /// One core works through k and adds each piece to partial sums (2, 5, 6).
    SingleCore,
    /// The same with a chunk of A in L1 (12).
    SingleCoreFullA,
    /// Cores split k, vector cores add their panels in order (3).
    Deterministic,
    /// Cores split k and add atomically (4).
    MultiCore,
    /// A stays in L1 for all tasks of a core (10).
    FullA,
    /// B is brought to L1 for each task (20).
    FullB,
    /// The same, and vector cores finish the result (1020, 2020).
    FullBCopyOut,
}

impl Template {
    /// The template of a schedule. Digits that its fields do not express stand in `unmodelled`.
    pub(super) fn of(s: &CubeSchedule) -> Template {
        let written = s.unmodelled.get("tilingEnable");
        let full = (matches!(s.l1_a, L1Tile::Full(_)), matches!(s.l1_b, L1Tile::Full(_)));
        let tens = written.map_or(if full.0 { 1 } else { u64::from(full.1) * 2 }, |digits| digits / 10 % 10);
        match (s.split_k, tens, s.output) {
            (SplitK::SingleCore, 1, _) => Template::SingleCoreFullA,
            (SplitK::SingleCore, ..) => Template::SingleCore,
            (SplitK::Deterministic, ..) => Template::Deterministic,
            (SplitK::MultiCore, ..) => Template::MultiCore,
            (SplitK::None, 1, _) => Template::FullA,
            (SplitK::None, 2, OutputPath::Direct) => Template::FullB,
            (SplitK::None, 2, _) => Template::FullBCopyOut,
            (SplitK::None, ..) => Template::Base,
        }
    }
}

/// What the kernels know of a product beyond its extents.
#[derive(Debug, Clone)]
pub(super) struct Product {
    /// Operands that vector cores rewrite before the cube starts.
    rewrites: Rewrites,
    /// The result is a matrix of rows.
    rows: bool,
    /// The result is wider than 16 bits, so that partial sums of fp32 need no cast.
    wide_result: bool,
    l0_c_size: f64,
}

impl Product {
    /// The product, where one of these kernels computes it.
    pub(super) fn of(w: &MatMul, soc: &Soc) -> Option<Product> {
        if !matches!(w.kernel, MatMulKernel::AscendC | MatMulKernel::Grouped | MatMulKernel::Fused)
            || soc.arch != Arch::C220
            || !w.dtype.is_float()
        {
            return None;
        }
        Some(Product {
            rewrites: Rewrites::of(w, soc),
            rows: w.a_format == Format::Nd || w.b_format == Format::Nd,
            wide_result: w.out_dtype.bytes() >= 4,
            l0_c_size: soc.l0_c_size as f64,
        })
    }
}

/// What the kernel of a schedule does.
pub(super) fn plan(p: &Problem, w: &Product, s: &CubeSchedule) -> Plan {
    if p.batch > 1.0 {
        return batched::plan(p, w, s);
    }
    match Template::of(s) {
        Template::Base => base::plan(p, w, s),
        Template::SingleCore | Template::SingleCoreFullA => single_core::plan(p, w, s),
        Template::Deterministic => deterministic::plan(p, w, s),
        Template::MultiCore => multi_core::plan(p, w, s),
        Template::FullA => full_load::a(p, w, s),
        Template::FullB => full_load::b(p, w, s),
        Template::FullBCopyOut => full_load::b_copy_out(p, w, s),
    }
}

/// Cores that read one panel of A, and of B, at the same time under a schedule of one product, of these kernels or others.
pub(super) fn readers(p: &Problem, s: &CubeSchedule, t: &Tiles) -> [f64; 2] {
    match Template::of(s) {
        _ if p.matmul_v3.is_none() => l2::Grid::new(p, s, t).readers(s.l2.order, t.active),
        Template::Base => l2::Grid::new(p, s, t).readers(s.l2.order, t.active),
        // All cores work through the same chunks of A.
        Template::SingleCoreFullA => [t.active, 1.0],
        // B comes for each task, the same to all.
        Template::FullB | Template::FullBCopyOut => [1.0, t.active],
        // Cores begin at different places, or each has its own piece of k.
        Template::SingleCore | Template::Deterministic => [1.0; 2],
        Template::MultiCore => [(p.n / t.n).ceil(), (p.m / t.m).ceil()],
        // A comes once.
        Template::FullA => [1.0, (p.m / t.m).ceil().min(t.active)],
    }
}

/// The way out of a tile whose elements leave with so many bytes, as rows or as fractals. All these kernels set the
/// unit flag.
fn drain(p: &Problem, w: &Product, s: &CubeSchedule, t: &Tiles, element_bytes: f64, rows: bool) -> Drain {
    // A tiling that claims two buffers which L0C does not hold runs with one.
    let fits = 8.0 * f64::from(s.l0.m) * f64::from(s.l0.n) <= w.l0_c_size;
    Drain {
        element_bytes,
        row_cycles: if rows { p.row_cycles(s, t) } else { 0.0 },
        release: L0cRelease::Fractal,
        l0_c_buffers: if fits { s.buffers.l0_c } else { 1 },
    }
}

/// Bytes of a partial sum.
const SUM_BYTES: f64 = 4.0;
