//! Kernels that TBE generates, and those whose own loop is not modelled: a core keeps what its order of tiles lets it
//! keep, L0C is free again when a tile has left, pieces of a split k are added in memory.

use super::plan::{Drain, L0cRelease, Passes, Plan, Tiles};
use super::{Problem, loads};
use crate::workload::{CubeSchedule, SplitK};

/// Bytes of a partial result.
const SUM_BYTES: f64 = 4.0;

pub(super) fn plan(p: &Problem, s: &CubeSchedule) -> Plan {
    let tiles = Tiles::new(p, s);
    let (a, b) = loads::kept(p, s, &tiles, [&p.a, &p.b]);
    // Partial results of a split K are added in memory: each is read and written once more, as far as L2 does not hold them.
    let partials = if s.split_k == SplitK::None { 0.0 } else { 2.0 * (f64::from(s.cores.k) - 1.0).max(1.0) };
    let sums = p.batch * p.m * p.n * SUM_BYTES;
    let missed = if p.cold.is_some() { 0.0 } else { p.machine.missed(p.footprint) };
    let memory = p.machine.missed_us(missed + partials * p.machine.missed(sums));
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
