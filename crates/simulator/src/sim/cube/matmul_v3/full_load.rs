//! Templates that keep one operand in L1: A once for each core, B once for each task.

use super::super::plan::{Passes, Plan, Tiles};
use super::super::{FRACTAL, Problem, loads, up};
use super::passes::Pass;
use super::{Product, base, drain, l2, prepass};
use crate::workload::{CubeSchedule, OutputPath};

/// Alignment of the rows that 1020 leaves in the workspace.
const ALIGNED: f64 = 512.0;

/// A is copied to L1 once, then a core works through consecutive tasks.
pub(super) fn a(p: &Problem, w: &Product, s: &CubeSchedule) -> Plan {
    let plan = base::plan(p, w, s);
    let rewritten = prepass::run(p, w.rewrites.usual(), s.used_cores);
    let (a, b) = loads::kept(p, s, &plan.tiles, rewritten.sides);
    let a = a.once(&plan.tiles);
    Plan { a, b, ..plan }
}

/// B is copied for every task of singleM rows and stays while A's tiles pass.
pub(super) fn b(p: &Problem, w: &Product, s: &CubeSchedule) -> Plan {
    let plan = base::plan(p, w, s);
    let rewritten = prepass::run(p, w.rewrites.usual(), s.used_cores);
    let (a, b) = loads::kept(p, s, &plan.tiles, rewritten.sides);
    Plan { a, b, ..plan }
}

/// As [`b`], but C leaves to a workspace, in rows of whole 512 bytes (1020) or in fractals (2020), and vector cores
/// bring it into C's own form behind the cube.
pub(super) fn b_copy_out(p: &Problem, w: &Product, s: &CubeSchedule) -> Plan {
    let tiles = Tiles::new(p, s);
    let rewritten = prepass::run(p, w.rewrites.copy_out(), s.used_cores);
    let (a, b) = loads::kept(p, s, &tiles, rewritten.sides);
    let fractals = s.output == OutputPath::VectorNzToNd;
    let drain = drain(p, w, s, &tiles, p.out_bytes, w.rows && !fractals);
    let row = p.n * p.out_bytes;
    let left = p.m * if fractals { row } else { up(row, ALIGNED) };
    let columns = if fractals { up(p.n, FRACTAL) / FRACTAL } else { 1.0 };
    let pass = Pass::new(p, tiles.active, [left, p.m * row], [p.m / f64::from(s.l0.m).min(p.m) * columns, 0.0], 1.0);
    let memory = p.machine.missed_us(l2::Misses::new(p, &rewritten).of_blocks(s, &tiles));
    let mut passes = Passes::default();
    passes.before(&rewritten.pass);
    passes.behind(&pass, tiles.products * tiles.count());
    Plan { tiles, a, b, drain, passes, memory, cold: rewritten.cold }
}
