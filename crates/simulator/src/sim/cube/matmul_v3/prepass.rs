//! The pre-pass: vector cores rewrite an operand whose rows the cube cores read badly in fractals of a workspace,
//! all cores meet, and the kernel runs on the workspace.

use super::super::side::Side;
use super::super::{FRACTAL, Problem, up};
use super::passes::Pass;
use crate::soc::Soc;
use crate::tiling::matmul_v3::{Tiling, prepass};
use crate::tiling::{Platform, batch_matmul_v3};
use crate::workload::MatMul;
use aoe_graph::Format;

/// One operand's rewriting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rewrite {
    /// Matrices of it: one for each product, but where one serves all.
    count: f64,
    /// Rows of one and their elements, as it is stored.
    outer: f64,
    inner: f64,
    /// The tile that a vector core brings to UB.
    rows: f64,
    width: f64,
    /// How the workspace lies.
    side: Side,
}

pub(super) type Pair = [Option<Rewrite>; 2];

/// What is rewritten, by template: some read an operand themselves that others have rewritten. By the number of
/// cores in use, from one on: tiles are cut for these.
#[derive(Debug, Clone)]
pub(in super::super) struct Rewrites {
    usual: Vec<Pair>,
    deterministic: Vec<Pair>,
    copy_out: Vec<Pair>,
    several: Vec<Pair>,
}

impl Rewrites {
    pub(super) fn of(w: &MatMul, soc: &Soc) -> Rewrites {
        let platform = Platform::of(soc);
        let shape = w.cube();
        let on_cores = |digits: u32, used_core_num: u32| {
            let tiling = Tiling { tiling_enable: digits, used_core_num, ..Tiling::default() };
            let [a, b] = prepass(&tiling, w, &platform);
            let stored = |turned: bool, extent: u64, depth: u64| {
                let (outer, inner) = if turned { (depth, extent) } else { (extent, depth) };
                (outer as f64, inner as f64)
            };
            let count = |shared: bool| if shared { 1.0 } else { w.batch as f64 };
            let ways = [
                (a, stored(w.trans_a, w.m, w.k), !w.trans_a, count(w.a_shared)),
                // B is stored k x n: its rows run along n.
                (b, stored(!w.trans_b, w.n, w.k), w.trans_b, count(w.b_shared)),
            ];
            ways.map(|(tile, (outer, inner), along_k, count)| {
                tile.map(|tile| Rewrite {
                    count,
                    outer,
                    inner,
                    rows: (tile.rows as f64).max(1.0),
                    width: (tile.width as f64).max(1.0),
                    side: Side::matrix(Format::FractalNz, along_k, [0, inner as u64], &shape),
                })
            })
        };
        // No template has an operand rewritten that the base template reads itself.
        let any = on_cores(0, 1).iter().any(Option::is_some);
        let most = if any { soc.ai_core_cnt.max(1) } else { 1 };
        let with = |digits: u32| (1..=most).map(|cores| on_cores(digits, cores)).collect();
        let usual: Vec<Pair> = with(0);
        // Batches have kernels of their own.
        if w.batch > 1 {
            let of_several = batch_matmul_v3::rewrites(w, &platform);
            let several = |pair: &Pair| [0, 1].map(|i| pair[i].filter(|_| of_several[i]));
            let several = usual.iter().map(several).collect();
            return Rewrites { usual, deterministic: Vec::new(), copy_out: Vec::new(), several };
        }
        Rewrites { usual, deterministic: with(3), copy_out: with(1020), several: Vec::new() }
    }

    pub(super) fn usual(&self) -> &[Pair] {
        &self.usual
    }

    pub(super) fn deterministic(&self) -> &[Pair] {
        &self.deterministic
    }

    /// Of tasks of several products.
    pub(super) fn several(&self) -> &[Pair] {
        &self.several
    }

    pub(super) fn copy_out(&self) -> &[Pair] {
        &self.copy_out
    }
}

/// The operands as the cube finds them, and what that took.
pub(super) struct Rewritten<'a> {
    pub sides: [&'a Side; 2],
    /// Both operands' passes with the barrier behind them; nothing where none is rewritten.
    pub pass: Pass,
    /// Bytes of A and B that the cube kernel reads: of the workspace where an operand was rewritten.
    pub bytes: [f64; 2],
    /// Bytes of A and B that the cube kernel itself finds in device memory.
    pub cold: [f64; 2],
}

/// The pre-pass of a kernel on so many cores: the vector cores of each take part, be there a task for its cube core
/// or not.
pub(super) fn run<'a>(p: &'a Problem, by_cores: &'a [Pair], used_cores: u32) -> Rewritten<'a> {
    let at = (used_cores as usize).clamp(1, by_cores.len().max(1)) - 1;
    let pair: &[_] = by_cores.get(at).map_or(&[], |pair| pair);
    let cores = f64::from(used_cores);
    let mut done = Rewritten { sides: [&p.a, &p.b], pass: Pass::default(), bytes: p.operands, cold: p.cold_bytes() };
    for (i, rewrite) in pair.iter().enumerate() {
        let Some(r) = rewrite else { continue };
        let read = r.count * r.outer * r.inner * p.in_bytes;
        let written = r.count * up(r.outer, FRACTAL) * up(r.inner, p.k0) * p.in_bytes;
        let missed = p.cold_share(i) * read;
        // Rows come in pieces of the tile's width, and leave as columns of 32 bytes over the tile's rows.
        let runs = [r.outer * (r.inner / r.width).ceil(), (r.inner / p.k0).ceil() * (r.outer / r.rows).ceil()];
        let runs = runs.map(|of_one| r.count * of_one);
        let pass = Pass::new(p, cores, [read, written], runs, 0.0).from_memory(p.machine.missed_us(missed));
        done.pass = done.pass.then(pass);
        done.sides[i] = &r.side;
        done.bytes[i] = written;
        done.cold[i] = 0.0;
    }
    if pair.iter().any(Option::is_some) {
        done.pass.us += p.machine.barrier_us(cores);
    }
    done
}
