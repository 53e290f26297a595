//! The kernel of quantised products on parts with separate cube and vector cores: a core keeps what its order of tiles
//! lets it keep, and where vector cores scale the result, int32 sums pass to them through L2, tile by tile.

use super::matmul_v3::passes::Pass;
use super::plan::{Drain, L0cRelease, Passes, Plan, Tiles};
use super::{Problem, loads};
use crate::soc::{Arch, Soc};
use crate::workload::{CubeSchedule, MatMul, MatMulKernel};
use aoe_graph::DataType;

/// What the kernel knows of a product beyond its extents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    /// Vector cores scale the result: it is bfloat16, which fixpipe does not make of int32.
    mixed: bool,
}

/// Bytes of a sum.
const SUM_BYTES: f64 = 4.0;

impl Product {
    /// The product, where this kernel computes it.
    pub fn of(w: &MatMul, soc: &Soc) -> Option<Product> {
        if !w.is_quantised() || w.kernel == MatMulKernel::Tbe || soc.arch != Arch::C220 {
            return None;
        }
        Some(Product { mixed: w.out_dtype == DataType::Bfloat16 })
    }
}

pub(super) fn plan(p: &Problem, w: Product, s: &CubeSchedule) -> Plan {
    let tiles = Tiles::new(p, s);
    let (a, b) = loads::kept(p, s, &tiles, [&p.a, &p.b]);
    let c = &p.machine.constants;
    let results = p.batch * p.m * p.n;
    let mut passes = Passes::default();
    if w.mixed {
        let scale = Pass::new(p, tiles.active, [results * SUM_BYTES, results * p.out_bytes], [0.0; 2], c.scale_steps);
        passes.behind(&scale, tiles.products * tiles.count());
    }
    let beyond = (results * p.out_bytes - p.machine.l2_bytes).max(0.0);
    let memory = p.machine.missed_us(if p.cold.is_some() { beyond } else { p.machine.missed(p.footprint) });
    let drain = Drain {
        element_bytes: if w.mixed { SUM_BYTES } else { p.out_bytes },
        row_cycles: p.row_cycles(s, &tiles),
        release: L0cRelease::Fractal,
        l0_c_buffers: s.buffers.l0_c,
    };
    Plan { tiles, a, b, drain, passes, memory, cold: p.cold_bytes() }
}
