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
        // Gradually: the border of L2 is no cliff.
        let bypassed = p.machine.missed(c);
        Misses { p, a, b, c: c - bypassed, bypassed }
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
        let grid = Grid::new(self.p, s, t);
        let ([blocks_m, blocks_n], [tiles_m, tiles_n], [own_m, own_n]) = (grid.blocks, grid.tiles, grid.own);
        // Bytes of one block's panels, and of one L2 tile's.
        let (panel_a, panel_b, block_c) = (self.a / blocks_m, self.b / blocks_n, self.c / (blocks_m * blocks_n));
        let (a, b) = (own_m * panel_a, own_n * panel_b);
        let [rows, columns] = grid.of_a_tile(s.l2.order, t.active);
        // What passes L2 until a panel of A, or of B, is used again: along the diagonal all rows of the tile come before one
        // comes again, else the next column is the next task's.
        let (until_a, until_b) = match s.l2.order {
            LoopOrder::MFirst => (
                a + own_n.min(own_m.max(t.active)) * panel_b + own_m.max(t.active) * block_c,
                b + own_m.min(own_n.max(t.active)) * panel_a + own_n.max(t.active) * block_c,
            ),
            LoopOrder::NFirst => {
                let round = rows * panel_a + columns * panel_b + t.active * block_c;
                (round, round.max(b + rows * panel_a + own_n.max(t.active) * block_c))
            }
        };
        let rounds = (own_m * own_n / t.active).ceil();
        let inside = self.gone(until_a) * (rounds * rows * panel_a - a).max(0.0)
            + self.gone(until_b) * (rounds * columns * panel_b - b).max(0.0);
        // Along n the tile's A is used again, and at the turn its B; a whole row of tiles may keep all of B.
        let next = match s.l2.order {
            LoopOrder::MFirst => until_a,
            LoopOrder::NFirst => a + b + own_m * own_n * block_c,
        };
        let a_again = (tiles_n - 1.0) * a * self.gone(next);
        let turn = b * (1.0 - self.gone(until_b + a));
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

/// Blocks of C in their L2 tiles, along m and n.
pub(super) struct Grid {
    blocks: [f64; 2],
    tiles: [f64; 2],
    /// Blocks of one tile.
    own: [f64; 2],
}

impl Grid {
    pub fn new(p: &Problem, s: &CubeSchedule, t: &Tiles) -> Grid {
        let blocks = [(p.m / t.m).ceil(), (p.n / t.n).ceil()];
        let axis = |tiles: u32, block: u32, blocks: f64| {
            let tiles = f64::from(tiles.max(1)).min(blocks);
            if block > 0 { f64::from(block).min(blocks) } else { (blocks / tiles).ceil() }
        };
        let own = [axis(s.l2.m_tiles, s.l2.m_block, blocks[0]), axis(s.l2.n_tiles, s.l2.n_block, blocks[1])];
        Grid { blocks, tiles: [0, 1].map(|i| (blocks[i] / own[i]).ceil()), own }
    }

    /// Rows and columns of a tile that so many cores work on at the same time: along the diagonal each core has a row and
    /// a column of its own, else rows are shared.
    fn of_a_tile(&self, order: LoopOrder, active: f64) -> [f64; 2] {
        let [own_m, own_n] = self.own;
        match order {
            LoopOrder::MFirst => [active.min(own_m), active.min(own_n)],
            LoopOrder::NFirst => [(active / own_n).ceil().min(own_m), active.min(own_n)],
        }
    }

    /// Cores that read one panel of A, and of B, at the same time.
    pub fn readers(&self, order: LoopOrder, active: f64) -> [f64; 2] {
        self.at_once(order, active).map(|distinct| (active / distinct).max(1.0))
    }

    /// Rows and columns of C that so many cores work on at the same time. Where a tile has fewer blocks than there are
    /// cores, the next tiles along n begin beside it.
    fn at_once(&self, order: LoopOrder, active: f64) -> [f64; 2] {
        let [own_m, own_n] = self.own;
        let tiles = (active / (own_m * own_n)).ceil();
        if tiles <= 1.0 {
            return self.of_a_tile(order, active);
        }
        let rows_of_tiles = (tiles / self.tiles[1]).ceil();
        [(own_m * rows_of_tiles).min(self.blocks[0]), (own_n * tiles.min(self.tiles[1])).min(self.blocks[1])]
    }
}
