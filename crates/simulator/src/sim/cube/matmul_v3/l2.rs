//! What of a kernel's traffic L2 does not hold: the order of its tasks, in L2 tiles or not, decides how much is read
//! again from device memory.

use super::super::Problem;
use super::super::plan::Tiles;
use super::prepass::Rewritten;
use crate::workload::{CubeSchedule, LoopOrder};

/// Bytes of A, B and C of one kernel.
pub(super) struct Misses<'a> {
    p: &'a Problem,
    a: f64,
    b: f64,
    /// C's bytes that take room in L2: a result larger than L2 bypasses it.
    c: f64,
    bypassed: f64,
}

impl<'a> Misses<'a> {
    pub fn new(p: &'a Problem, rewritten: &Rewritten) -> Misses<'a> {
        let [a, b] = rewritten.bytes;
        let c = p.m * p.n * p.out_bytes;
        let (c, bypassed) = if c > p.machine.l2_bytes { (0.0, c) } else { (c, 0.0) };
        Misses { p, a, b, c, bypassed }
    }

    /// Bytes that come or go once: what L2 does not hold when the kernel starts, where only its size tells, and a
    /// result that bypasses it. What is known to be cold counts apart.
    pub fn first(&self) -> f64 {
        let operands = if self.p.cold.is_some() { 0.0 } else { self.p.machine.missed(self.a + self.b + self.c) };
        operands + self.bypassed
    }

    /// Share of so many bytes that is gone when they are used again.
    fn gone(&self, bytes: f64) -> f64 {
        self.p.machine.missed_share(bytes)
    }

    /// All that a kernel misses whose tasks are blocks of C with all their k, in their L2 tiles.
    pub fn of_blocks(&self, s: &CubeSchedule, t: &Tiles) -> f64 {
        self.first() + if self.gone(self.a + self.b + self.c) > 0.0 { self.blocks_again(s, t) } else { 0.0 }
    }

    /// Bytes of A and B that are read again.
    fn blocks_again(&self, s: &CubeSchedule, t: &Tiles) -> f64 {
        let (blocks_m, blocks_n) = ((self.p.m / t.m).ceil(), (self.p.n / t.n).ceil());
        let axis = |tiles: u32, block: u32, blocks: f64| {
            let tiles = f64::from(tiles.max(1)).min(blocks);
            let block = if block > 0 { f64::from(block).min(blocks) } else { (blocks / tiles).ceil() };
            ((blocks / block).ceil(), block)
        };
        let (tiles_m, own_m) = axis(s.l2.m_tiles, s.l2.m_block, blocks_m);
        let (tiles_n, own_n) = axis(s.l2.n_tiles, s.l2.n_block, blocks_n);
        // Bytes of one block's panels, and of one L2 tile's.
        let (panel_a, panel_b) = (self.a / blocks_m, self.b / blocks_n);
        let (a, b) = (own_m * panel_a, own_n * panel_b);
        let tile = a + b + self.c / (tiles_m * tiles_n);
        // A round's tasks: along the diagonal each core has a row and a column of its own, else rows are shared.
        let rounds = (own_m * own_n / t.active).ceil();
        let (rows, columns) = match s.l2.order {
            LoopOrder::MFirst => (t.active.min(own_m), t.active.min(own_n)),
            LoopOrder::NFirst => ((t.active / own_n).ceil().min(own_m), t.active.min(own_n)),
        };
        let worst = (rounds * (rows * panel_a + columns * panel_b)).max(a + b);
        let inside = self.gone(tile) * (worst - a - b);
        // Along n the tile's A is used again, and at the turn its B; a whole row of tiles may keep all of B.
        let a_again = (tiles_n - 1.0) * a * self.gone(tile + b);
        let turn = b * (1.0 - self.gone(tile + a));
        let b_again = (self.b - turn) * self.gone(self.b + a + self.c / tiles_m);
        tiles_m * tiles_n * inside + tiles_m * a_again + (tiles_m - 1.0) * b_again
    }

    /// Bytes read again of operands that pass so many times, A and B, where each pass takes all of them and `beside`
    /// bytes of L2.
    pub fn streamed(&self, passes: [f64; 2], beside: f64) -> f64 {
        let again = |bytes: f64, passes: f64| (passes - 1.0).max(0.0) * bytes * self.gone(bytes + beside);
        again(self.a, passes[0]) + again(self.b, passes[1])
    }

    /// Device memory's traffic of partial sums: none while their workspace fits L2. Beyond, what is done leaves it
    /// once, and what is still added to is read and written for each piece as far as `live` bytes do not fit.
    pub fn sums(&self, workspace: f64, live: f64, pieces: f64) -> f64 {
        let l2 = self.p.machine.l2_bytes;
        if workspace <= l2 {
            return 0.0;
        }
        workspace - l2 + self.gone(live) * 2.0 * workspace * (pieces - 1.0).max(0.0)
    }
}
