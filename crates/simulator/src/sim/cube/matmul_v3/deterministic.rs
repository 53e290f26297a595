//! Deterministic split-K: a core takes consecutive pieces of k, panel by panel of C; its partial panel goes to a
//! workspace of its own, and vector cores add the cores' panels in a fixed order and cast the sum.

use super::super::plan::{Passes, Plan, Tiles};
use super::super::{FRACTAL, Problem, loads, up};
use super::passes::Pass;
use super::{Product, SUM_BYTES, drain, l2, prepass};
use crate::workload::CubeSchedule;

pub(super) fn plan(p: &Problem, w: &Product, s: &CubeSchedule) -> Plan {
    let (tiles, panels) = tiles(p, s);
    let rewritten = prepass::run(p, w.rewrites.deterministic(), s.used_cores);
    let (a, b) = loads::kept(p, s, &tiles, rewritten.sides);
    let drain = drain(p, w, s, &tiles, SUM_BYTES, w.rows);
    let [along_m, along_n] = [(p.m / tiles.m).ceil(), (p.n / tiles.n).ceil()];
    let workspace = tiles.active * tiles.m * tiles.n * SUM_BYTES * panels.min(2.0);
    let misses = l2::Misses::new(p, &rewritten);
    let again = misses.streamed([along_n, along_m], workspace);
    let memory = p.machine.missed_us(misses.first() + again + misses.sums(workspace, workspace, panels));
    let mut passes = Passes::default();
    passes.before(&rewritten.pass);
    let read = tiles.active * p.m * up(p.n, FRACTAL) * SUM_BYTES;
    // Panels lie dense in the workspace; in C their rows are apart.
    let runs = [0.0, if along_n > 1.0 { p.m * along_n } else { 0.0 }];
    let sum = Pass::new(p, tiles.active, [read, p.m * p.n * p.out_bytes], runs, 1.0);
    passes.behind(&sum, panels);
    // Cube and vector cores meet after each panel.
    passes.tail += p.machine.barrier_us(tiles.active) * panels;
    Plan { tiles, a, b, drain, passes, memory, cold: rewritten.cold }
}

/// Cores split k only; panels of C follow each other. Answers the panels too.
fn tiles(p: &Problem, s: &CubeSchedule) -> (Tiles, f64) {
    let all = Tiles::new(p, s);
    let pieces = (p.k / all.k).ceil();
    let panels = (p.m / all.m).ceil() * (p.n / all.n).ceil();
    let used = f64::from(s.used_cores).min(pieces);
    (Tiles { products: (pieces / used).ceil() * panels, tasks: pieces, active: used, ..all }, panels)
}
