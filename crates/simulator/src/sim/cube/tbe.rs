//! Kernels that TBE generates, and those whose own loop is not modelled: a core keeps what its order of tiles lets it
//! keep, L0C is free again when a tile has left, pieces of a split k are added in memory.

use super::plan::{Drain, L0cRelease, Passes, Plan, Tiles};
use super::{Problem, loads};
use crate::workload::{CubeSchedule, SplitK};

pub(super) fn plan(p: &Problem, s: &CubeSchedule) -> Plan {
    let tiles = Tiles::new(p, s);
    let (a, b) = loads::kept(p, s, &tiles, [&p.a, &p.b]);
    // Partial results of a split K are added in memory: each is read and written once more.
    let partials = if s.split_k == SplitK::None { 0.0 } else { 2.0 * (f64::from(s.cores.k) - 1.0).max(1.0) };
    let results = p.batch * p.m * p.n * 4.0 * partials;
    let memory = match p.cold {
        None => p.machine.memory_us(p.footprint, results),
        Some(_) => 0.0,
    };
    let drain = drain(p, s, &tiles);
    Plan { tiles, a, b, drain, passes: Passes::default(), memory, cold: p.cold_bytes() }
}

fn drain(p: &Problem, s: &CubeSchedule, t: &Tiles) -> Drain {
    Drain {
        element_bytes: p.out_bytes,
        row_cycles: if p.plain_result { p.row_cycles(s, t) } else { 0.0 },
        release: L0cRelease::Tile,
        l0_c_buffers: s.buffers.l0_c,
    }
}
