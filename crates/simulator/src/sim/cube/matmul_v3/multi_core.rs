//! Multi-core split-K: vector cores clear C while each cube core computes one task in L0C; after a barrier all add
//! their parts to C atomically.

use super::super::plan::{Passes, Plan, Tiles};
use super::super::{Problem, loads};
use super::passes::Pass;
use super::{Product, SUM_BYTES, drain, l2, prepass};
use crate::workload::CubeSchedule;

pub(super) fn plan(p: &Problem, w: &Product, s: &CubeSchedule) -> Plan {
    let tiles = Tiles::new(p, s);
    let rewritten = prepass::run(p, w.rewrites.usual(), s.used_cores);
    let (a, b) = loads::anew(p, s, &tiles, rewritten.sides);
    let drain = drain(p, w, s, &tiles, SUM_BYTES, w.rows);
    let memory = p.machine.missed_us(l2::Misses::new(p, &rewritten).of_blocks(s, &tiles));
    let mut passes = Passes::default();
    passes.before(&rewritten.pass);
    let clear = Pass::new(p, tiles.active, [0.0, p.m * p.n * SUM_BYTES], [0.0; 2], 1.0);
    passes.beside(&clear);
    passes.tail += p.machine.barrier_us(tiles.active);
    Plan { tiles, a, b, drain, passes, memory, cold: rewritten.cold }
}
