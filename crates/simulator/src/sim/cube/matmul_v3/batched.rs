//! `BatchMatMulV3`: a block of one product for each task, several whole products, or one operand that serves all of
//! them and stays in L1. The blocks leave as those of `MatMulV3`.

use super::super::plan::{Passes, Plan, Tiles};
use super::super::{Problem, loads};
use super::{Product, Template, drain, prepass};
use crate::workload::CubeSchedule;

pub(super) fn plan(p: &Problem, w: &Product, s: &CubeSchedule) -> Plan {
    let tiles = Tiles::new(p, s);
    let several = s.single.batch > 1;
    let rewrites = if several { w.rewrites.several() } else { w.rewrites.usual() };
    let rewritten = prepass::run(p, rewrites, s.used_cores);
    let (a, b) = match Template::of(s) {
        Template::FullA => {
            let (a, b) = loads::kept(p, s, &tiles, rewritten.sides);
            (a.once(&tiles), b)
        }
        Template::FullB => loads::kept(p, s, &tiles, rewritten.sides),
        _ if several => loads::kept(p, s, &tiles, rewritten.sides),
        // A block's panels come anew for each task.
        _ => loads::anew(p, s, &tiles, rewritten.sides),
    };
    let drain = drain(p, w, s, &tiles, p.out_bytes, w.rows);
    let [bytes_a, bytes_b] = rewritten.bytes;
    let missed = p.machine.missed(bytes_a + bytes_b + p.batch * p.m * p.n * p.out_bytes);
    // What is known to be cold counts apart.
    let apart: f64 = p.cold_bytes().iter().sum();
    let mut passes = Passes::default();
    passes.before(&rewritten.pass);
    let memory = p.machine.missed_us((missed - apart).max(0.0));
    Plan { tiles, a, b, drain, passes, memory, cold: rewritten.cold }
}
