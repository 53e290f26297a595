//! The base template: each task brings its panels of A and B anew, C of one block accumulates in L0C over all of k.

use super::super::plan::{Passes, Plan, Tiles};
use super::super::{Problem, loads};
use super::{Product, drain, l2, prepass};
use crate::workload::CubeSchedule;

pub(super) fn plan(p: &Problem, w: &Product, s: &CubeSchedule) -> Plan {
    let tiles = Tiles::new(p, s);
    let rewritten = prepass::run(p, w.rewrites.usual(), s.used_cores);
    let (a, b) = loads::anew(p, s, &tiles, rewritten.sides);
    let drain = drain(p, w, s, &tiles, p.out_bytes, w.rows);
    let memory = p.machine.missed_us(l2::Misses::new(p, &rewritten).of_blocks(s, &tiles));
    let mut passes = Passes::default();
    passes.before(&rewritten.pass);
    Plan { tiles, a, b, drain, passes, memory, cold: rewritten.cold }
}
