//! Single-core split-K: a core owns singleM x singleN of C, brings a strip's chunk of one operand once for each piece
//! of k, streams the other's over it, and adds every piece to partial sums of fp32 in a workspace that stays in L2.

use super::super::plan::Reload;
use super::super::plan::{Passes, Plan, Tiles};
use super::super::{Problem, loads, up};
use super::passes::Pass;
use super::{Product, SUM_BYTES, Template, drain, l2, prepass};
use crate::workload::{CubeSchedule, L1Tile, LoopOrder};

/// Columns of the workspace are a multiple of this.
const WORKSPACE_COLUMNS: f64 = 64.0;
/// Columns of a result of 16 bits that can be cast strip by strip are a multiple of this.
const CAST_COLUMNS: f64 = 128.0;

pub(super) fn plan(p: &Problem, w: &Product, s: &CubeSchedule) -> Plan {
    let tiles = tiles(p, s);
    let rewritten = prepass::run(p, w.rewrites.usual(), s.used_cores);
    let (a, b) = loads::kept(p, s, &tiles, rewritten.sides);
    // The strip is the group of tiles whose chunk stays while the other operand's pass.
    let keeps_a = s.order == LoopOrder::NFirst;
    let (own, along) = if keeps_a { (&a, tiles.along_m) } else { (&b, tiles.along_n) };
    let strips = if own.reload == Reload::Pair { tiles.count() } else { (along / own.tiles_in_panel).ceil() };
    let drain = drain(p, w, s, &tiles, SUM_BYTES, w.rows);
    let sums = p.m * up(p.n, WORKSPACE_COLUMNS) * SUM_BYTES;
    let pieces = (p.k / tiles.k).ceil();
    let misses = l2::Misses::new(p, &rewritten);
    let again = misses.streamed(if keeps_a { [0.0, strips] } else { [strips, 0.0] }, sums / strips);
    let sums_missed = if pieces > 1.0 || !w.wide_result { misses.sums(sums, sums / strips, pieces) } else { 0.0 };
    let memory = p.machine.missed_us(misses.first() + again + sums_missed);
    let mut passes = Passes::default();
    passes.before(&rewritten.pass);
    if !w.wide_result {
        let runs = [p.m * (p.n / tiles.n).ceil(); 2];
        let cast = Pass::new(p, tiles.active, [sums, p.m * p.n * p.out_bytes], runs, 1.0);
        if p.n % CAST_COLUMNS == 0.0 {
            passes.behind(&cast, strips * (tiles.products / pieces).max(1.0));
        } else {
            passes.after(&cast, p.machine.barrier_us(tiles.active));
        }
    }
    Plan { tiles, a, b, drain, passes, memory, cold: rewritten.cold }
}

/// Cores split m and n only; pieces of k follow each other on one core, each leaving L0C by itself.
fn tiles(p: &Problem, s: &CubeSchedule) -> Tiles {
    let all = Tiles::new(p, s);
    let tasks = all.tasks / (p.k / all.k).ceil();
    // With A's chunk in L1 it is the chunk that leaves, whatever singleK is.
    let chunk = match (Template::of(s), s.l1_a) {
        (Template::SingleCoreFullA, L1Tile::Panel(panel)) => f64::from(panel.k).min(all.k),
        _ => all.k,
    };
    let pieces = (p.k / chunk).ceil();
    let used = f64::from(s.used_cores);
    Tiles {
        k: chunk,
        products: (tasks / used).ceil() * pieces,
        tasks,
        pieces: tasks * pieces,
        active: tasks.min(used),
        ..all
    }
}
