//! An estimate of CANN's default tiling of matrix products, for parts and operators whose rules are not public or
//! not here: batched products, integers, 950. `crate::tiling::matmul_v3` has `MatMulV3`'s own on the others.
//!
//! The start of the block and the trimming of the K steps follow `MatMulV3`'s rules; everything else is what
//! minimises the obvious cost, and the function's comment says so.

use crate::rounding::round_up;
use crate::soc::Soc;
use crate::space::cube::{F, Limits, Tiling, align_steps};
use crate::workload::{CubeShape, Extents, LoopOrder, MatMul, OutputPath, SplitK};
use aoe_graph::{DataType, Format};

/// Bytes of all operands at which L2 tiling starts, on a part with [`L2_REFERENCE`] of L2.
const L2_TILING_BYTES: u64 = 100 << 20;
const L2_REFERENCE: u64 = 192 << 20;

/// An L0 tile in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    m: u64,
    n: u64,
    k: u64,
}

/// What the rules look at.
struct Policy<'a> {
    shape: &'a CubeShape,
    limits: Limits,
    soc: &'a Soc,
    trans_a: bool,
    trans_b: bool,
    b_nz: bool,
}

/// The default tiling; may exceed a buffer of an unusual part, which the caller repairs.
pub(super) fn tiling(matmul: &MatMul, soc: &Soc) -> Tiling {
    let shape = matmul.cube();
    let policy = Policy {
        shape: &shape,
        limits: Limits::new(&shape, soc),
        soc,
        trans_a: matmul.trans_a,
        trans_b: matmul.trans_b,
        b_nz: matmul.b_format == Format::FractalNz,
    };
    policy.template().unwrap_or_else(|| policy.base())
}

impl Policy<'_> {
    /// Base template: every core task is one block over all of K; tasks are dealt to the cores in turn.
    fn base(&self) -> Tiling {
        let block = self.block();
        let mut tiling = self.with_block(block);
        if let Some((m_tiles, n_tiles)) = self.l2_tiles(&tiling) {
            (tiling.l2_m_tiles, tiling.l2_n_tiles) = (m_tiles, n_tiles);
        }
        tiling
    }

    /// Templates other than the base one, in CANN's order of preference.
    fn template(&self) -> Option<Tiling> {
        let CubeShape { batch, m, k, n, dtype, .. } = *self.shape;
        let cores = self.limits.cores;
        if batch > 1 || cores < 2 {
            return None;
        }
        let full_b = (n < 256 && k <= 256 && m >= cores * 512) || (m / 16 > k.max(n) && k <= 256);
        if full_b && let Some(tiling) = self.b_in_l1() {
            return Some(tiling);
        }
        if dtype == DataType::Float
            && m <= 16
            && k >= 4096
            && let Some(tiling) = self.a_in_l1()
        {
            return Some(tiling);
        }
        if k >= 27392 && m >= 128 && n >= 128 && m.saturating_mul(n) >= cores * 128 * 128 {
            return Some(self.single_core_split_k());
        }
        let few_blocks = m.div_ceil(128).saturating_mul(n.div_ceil(128)) < cores / 2;
        if (k >= cores * 384 && few_blocks && !self.trans_b) || (m <= 64 && n <= 64 && k >= 6144) {
            return Some(self.deterministic_split_k());
        }
        None
    }

    /// The L0 block of the base template.
    fn block(&self) -> Block {
        let CubeShape { m, n, .. } = *self.shape;
        let start = self.start_block();
        let mut block = if self.tasks(start.m, start.n) < self.limits.cores || m < 256 || n < 256 {
            self.balanced(self.small_block())
        } else {
            self.full_last_round(start)
        };
        block.m = block.m.min(round_up(m, F));
        block.n = block.n.min(round_up(n, F)).min(self.limits.bias_n);
        self.with_k(block)
    }

    /// 128 x 256 or its transpose, by which operand's traffic weighs more; 256 x 256 where L0C holds it.
    fn start_block(&self) -> Block {
        let CubeShape { m, n, .. } = *self.shape;
        let k = self.k_of(128);
        if self.limits.l0_c >= 256 * 256 * 4 {
            return Block { m: 256, n: 256, k };
        }
        let large = (self.limits.cores / 2) * 256;
        let tall = match (self.trans_a, self.trans_b) {
            (true, true) => true,
            (false, false) => false,
            _ if self.b_nz => false,
            _ => match (m >= large, n >= large) {
                (true, true) => {
                    let traffic = |bm: u64, bn: u64| {
                        m.div_ceil(bm).saturating_mul(n).saturating_add(n.div_ceil(bn).saturating_mul(m))
                    };
                    traffic(256, 128) <= traffic(128, 256)
                }
                (true, false) => true,
                (false, true) => false,
                (false, false) => m > n,
            },
        };
        if tall { Block { m: 256, n: 128, k } } else { Block { m: 128, n: 256, k } }
    }

    /// The block of a short table that moves least data over its rounds.
    fn small_block(&self) -> Block {
        let table = if self.trans_b {
            [(64, 64, 512), (128, 128, 256), (128, 256, 128)]
        } else {
            [(128, 256, 128), (128, 128, 256), (64, 512, 64)]
        };
        let blocks = table.map(|(m, n, k_bytes)| Block { m, n, k: self.k_of(k_bytes) });
        let cost = |b: &Block| (b.m + b.n).saturating_mul(self.tasks(b.m, b.n).div_ceil(self.limits.cores));
        blocks.into_iter().min_by_key(cost).unwrap_or(blocks[0])
    }

    /// Spreads M and N over the cores in as many rounds as `block` needs. How CANN balances is not
    /// public: this takes the split whose slowest core is done first, by cube steps and bytes loaded.
    fn balanced(&self, block: Block) -> Block {
        let CubeShape { batch, m, n, .. } = *self.shape;
        let cores = self.limits.cores;
        let slots = self.tasks(block.m, block.n).div_ceil(cores).saturating_mul(cores) / batch.max(1);
        let mut best = (self.round_cost(block), block);
        for m_count in 1..=slots.min(m.div_ceil(F)).min(1024) {
            let n_count = (slots / m_count).min(n.div_ceil(F)).max(1);
            let tile =
                Block { m: round_up(m.div_ceil(m_count), F), n: round_up(n.div_ceil(n_count), F), k: self.limits.k0 };
            if tile.m <= 512 && tile.n <= 512 && self.limits.base_fits(tile.m, tile.n, tile.k, 1) {
                let cost = self.round_cost(tile);
                if cost < best.0 {
                    best = (cost, tile);
                }
            }
        }
        Block { k: block.k, ..best.1 }
    }

    /// Cycles of one core for all its rounds of a block, per element of K: the larger of cube steps and
    /// transfer. Rows shorter than 256 bytes cost as if they had that.
    fn round_cost(&self, block: Block) -> f64 {
        let rounds = self.tasks(block.m, block.n).div_ceil(self.limits.cores) as f64;
        let row = 256 / self.limits.es;
        let wide = |extent: u64, contiguous: bool| if contiguous { extent.max(row) } else { extent };
        let loaded = wide(block.m, self.trans_a) + wide(block.n, !self.trans_b && !self.b_nz);
        let rate = self.soc.l2_rate.min(self.soc.gm_to_l1_rate);
        let transfer = (loaded * self.limits.es) as f64 / rate;
        let cube = (block.m * block.n) as f64 / (256 * self.limits.k0) as f64;
        // The smaller term still counts a little: it decides between splits that the larger cannot tell.
        rounds * (transfer.max(cube) + 0.05 * transfer.min(cube))
    }

    /// On 24 cores, a 128 x 256 block that needs under four rounds is cut in M so that the last is full.
    fn full_last_round(&self, block: Block) -> Block {
        let cores = self.limits.cores;
        let CubeShape { batch, m, n, .. } = *self.shape;
        let rounds = self.tasks(block.m, block.n).div_ceil(cores);
        if cores != 24 || (block.m, block.n) != (128, 256) || rounds >= 4 {
            return block;
        }
        let m_count = rounds * cores / (n.div_ceil(block.n) * batch).max(1);
        Block { m: round_up(m.div_ceil(m_count.max(1)), F).min(block.m), ..block }
    }

    /// Deepens K while L0A and L0B hold two buffers of it, or shrinks it until they do.
    fn with_k(&self, block: Block) -> Block {
        let (limits, whole) = (&self.limits, round_up(self.shape.k, self.limits.k0));
        let mut k = block.k;
        while k > limits.k0 && !limits.base_fits(block.m, block.n, k, 1) {
            k = round_up(k / 2, limits.k0);
        }
        while k < whole && limits.base_fits(block.m, block.n, k * 2, 1) {
            k *= 2;
        }
        Block { k: k.min(whole), ..block }
    }

    /// Tiling with one block a task, half of L1 for each operand and both double buffered.
    fn with_block(&self, block: Block) -> Tiling {
        let CubeShape { k, .. } = *self.shape;
        let base_tiles = k.div_ceil(block.k).max(1);
        let step = |base: u64| {
            let depth = self.limits.l1 / 2 / (base * block.k * self.limits.es).max(1);
            self.trimmed((depth / 2).max(1), block.k).min(base_tiles)
        };
        let most = if self.is_big_and_aligned() { 4 } else { u64::MAX };
        let mut steps = [step(block.m), step(block.n)].map(|steps| steps.min(most) as u32);
        align_steps(&mut steps);
        let double = self.limits.base_fits(block.m, block.n, block.k, 2);
        // Extents of more than 2^32 blocks would not fit the task counters of any tiling.
        let at_least = |whole: u64, base: u64| base.max(round_up(whole >> 31, base)).min(whole);
        let single = Extents {
            batch: (self.shape.batch >> 31).max(1),
            m: at_least(self.shape.m, block.m),
            n: at_least(self.shape.n, block.n),
            k,
        };
        Tiling {
            used_cores: 0,
            single,
            base_m: block.m as u32,
            base_n: block.n as u32,
            base_k: block.k as u32,
            step_m: 1,
            step_n: 1,
            step_ka: steps[0],
            step_kb: steps[1],
            full_a: false,
            full_b: false,
            db_l1_a: 2,
            db_l1_b: 2,
            db_l0_c: if double { 2 } else { 1 },
            order: LoopOrder::MFirst,
            l2_m_tiles: 1,
            l2_n_tiles: 1,
            l2_order: LoopOrder::MFirst,
            split_k: SplitK::None,
            output: OutputPath::Direct,
        }
    }

    /// Largest step of at most `step` whose K extent is a multiple of 512 bytes, else of 256.
    fn trimmed(&self, step: u64, base_k: u64) -> u64 {
        let bytes = |s: u64| s * base_k * self.limits.es;
        let whole = |unit: u64| (1..=step).rev().find(|&s| bytes(s) % unit == 0);
        whole(512).or_else(|| whole(256)).unwrap_or(step)
    }

    /// CANN halves the K steps of large 16-bit products on 24 cores whose sizes are multiples of 256; the
    /// exact sizes are not public, blocks for four rounds are taken as large.
    fn is_big_and_aligned(&self) -> bool {
        let CubeShape { m, k, n, .. } = *self.shape;
        let aligned = [m, k, n].iter().all(|extent| extent % 256 == 0);
        self.limits.es == 2 && self.limits.cores == 24 && aligned && self.tasks(128, 256) >= 4 * self.limits.cores
    }

    /// L2 tile counts, when the operands together are too large for L2. CANN searches them for few
    /// address conflicts; this takes the counts that move least data among tiles that fit and give every
    /// core a block.
    fn l2_tiles(&self, tiling: &Tiling) -> Option<(u32, u32)> {
        let CubeShape { m, n, .. } = *self.shape;
        let budget = L2_TILING_BYTES * (self.soc.l2_size >> 20) / (L2_REFERENCE >> 20);
        let (base_m, base_n) = (u64::from(tiling.base_m), u64::from(tiling.base_n));
        let (m_count, n_count) = (m.div_ceil(base_m), n.div_ceil(base_n));
        if self.shape.batch > 1 || self.operand_bytes(m, n) <= budget || m_count.saturating_mul(n_count) > 1 << 24 {
            return None;
        }
        let mut best: Option<(u64, u64, u64)> = None;
        for m_tiles in 1..=m_count.min(1024) {
            let m_block = m_count.div_ceil(m_tiles);
            let n_block = self.columns_within(budget, m_block * base_m) / base_n;
            if n_block == 0 {
                continue;
            }
            let n_block = n_block.min(n_count);
            let n_tiles = n_count.div_ceil(n_block);
            let n_block = n_count.div_ceil(n_tiles);
            let traffic = m.saturating_mul(n_tiles).saturating_add(n.saturating_mul(m_tiles));
            if m_block * n_block >= self.limits.cores && best.is_none_or(|(least, ..)| traffic < least) {
                best = Some((traffic, m_count.div_ceil(m_block), n_tiles));
            }
        }
        best.map(|(_, m_tiles, n_tiles)| (m_tiles as u32, n_tiles as u32))
    }

    /// Bytes of both inputs and the result of so many rows and columns.
    fn operand_bytes(&self, m: u64, n: u64) -> u64 {
        let inputs = m.saturating_add(n).saturating_mul(self.shape.k).saturating_mul(self.limits.es);
        inputs.saturating_add(m.saturating_mul(n).saturating_mul(self.shape.out_dtype.bytes()))
    }

    /// The most columns of which the operands take no more than `budget` bytes with so many rows.
    fn columns_within(&self, budget: u64, rows: u64) -> u64 {
        let result = rows.saturating_mul(self.shape.out_dtype.bytes());
        let column = self.shape.k.saturating_mul(self.limits.es).saturating_add(result);
        budget.saturating_sub(self.operand_bytes(rows, 0)) / column.max(1)
    }

    /// All of B stays in L1 while each core walks down its own rows of A.
    fn b_in_l1(&self) -> Option<Tiling> {
        let CubeShape { m, k, n, .. } = *self.shape;
        let b_bytes = round_up(n, F).saturating_mul(round_up(k, self.limits.k0)).saturating_mul(self.limits.es);
        if b_bytes > self.limits.l1 / 2 {
            return None;
        }
        let base_n = round_up(n, F).min(256).min(self.limits.bias_n);
        let base_m = if self.limits.base_fits(256, base_n, self.limits.k0, 2) { 256 } else { 128 };
        let share = m.div_ceil(self.limits.cores);
        let blocks = share.div_ceil(base_m).max(1);
        let base_m = round_up(share.div_ceil(blocks), F);
        let mut tiling = self.with_block(self.with_k(Block { m: base_m, n: base_n, k: self.k_of(128) }));
        tiling.single = Extents { batch: 1, m: (base_m * blocks).min(m), n, k };
        tiling.full_b = true;
        tiling.order = LoopOrder::NFirst;
        Some(tiling)
    }

    /// The few rows of A stay in L1 while each core walks along its own columns of B.
    fn a_in_l1(&self) -> Option<Tiling> {
        let CubeShape { m, k, n, .. } = *self.shape;
        let a_bytes = round_up(m, F).saturating_mul(round_up(k, self.limits.k0)).saturating_mul(self.limits.es);
        if a_bytes > self.limits.l1 / 2 {
            return None;
        }
        let share = n.div_ceil(self.limits.cores);
        let blocks = share.div_ceil(256).max(1);
        let base_n = round_up(share.div_ceil(blocks), F).min(self.limits.bias_n);
        let mut tiling = self.with_block(self.with_k(Block { m: round_up(m, F), n: base_n, k: self.k_of(128) }));
        tiling.single = Extents { batch: 1, m, n: (base_n * blocks).min(n), k };
        tiling.full_a = true;
        Some(tiling)
    }

    /// The block of both split-K templates: 128 x 128 x 256 bytes, three steps of A kept while B streams.
    fn split_k_block(&self) -> Tiling {
        let (m, n) = (round_up(self.shape.m, F).min(128), round_up(self.shape.n, F).min(128));
        let mut tiling = self.with_block(Block { m, n, k: self.k_of(256) });
        (tiling.step_m, tiling.step_ka, tiling.step_kb) = (3, 3, 3);
        tiling.db_l1_a = 1;
        tiling.order = LoopOrder::NFirst;
        tiling
    }

    /// Each core owns a part of C and adds to it in memory, K piece by K piece.
    fn single_core_split_k(&self) -> Tiling {
        let CubeShape { m, n, .. } = *self.shape;
        let mut tiling = self.split_k_block();
        let extent = |whole: u64, count: u64, base: u32| round_up(whole.div_ceil(count), u64::from(base)).min(whole);
        let cost = |m_count: u64| {
            let n_count = (self.limits.cores / m_count).max(1);
            let (em, en) = (extent(m, m_count, tiling.base_m), extent(n, n_count, tiling.base_n));
            (em.saturating_mul(en), em + en, m_count)
        };
        let (_, _, m_count) = (1..=self.limits.cores).map(cost).min().unwrap_or((0, 0, 1));
        let n_count = (self.limits.cores / m_count).max(1);
        tiling.single = Extents {
            batch: 1,
            m: extent(m, m_count, tiling.base_m),
            n: extent(n, n_count, tiling.base_n),
            k: u64::from(tiling.base_k * tiling.step_ka),
        };
        tiling.split_k = SplitK::SingleCore;
        tiling
    }

    /// Cores share K; partial results are summed in a fixed order. One round of tasks.
    fn deterministic_split_k(&self) -> Tiling {
        let CubeShape { m, n, k, .. } = *self.shape;
        let mut tiling = self.split_k_block();
        let single_m = (3 * u64::from(tiling.base_m)).min(m);
        let single_n = n.min(1152);
        let pieces = (self.limits.cores / (m.div_ceil(single_m) * n.div_ceil(single_n))).max(1);
        let unit = u64::from(tiling.base_k * tiling.step_ka);
        tiling.single = Extents { batch: 1, m: single_m, n: single_n, k: round_up(k.div_ceil(pieces), unit).min(k) };
        tiling.split_k = if tiling.single.k < k { SplitK::Deterministic } else { SplitK::None };
        tiling
    }

    /// Core tasks of this block over all batches.
    fn tasks(&self, m: u64, n: u64) -> u64 {
        let CubeShape { batch, m: whole_m, n: whole_n, .. } = *self.shape;
        batch.saturating_mul(whole_m.div_ceil(m)).saturating_mul(whole_n.div_ceil(n))
    }

    /// Elements of K in this many bytes, at least one fractal.
    fn k_of(&self, bytes: u64) -> u64 {
        (bytes / self.limits.es).max(self.limits.k0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cores_share_k_where_it_is_long_and_blocks_are_few_or_the_product_is_one() {
        let soc = Soc::find("Ascend910B2").unwrap();
        let splits = |m, k, n, trans_b| {
            let matmul = MatMul { dtype: DataType::Int8, trans_b, ..MatMul::new(m, k, n) };
            tiling(&matmul, &soc).split_k == SplitK::Deterministic
        };
        // 24 cores: 9,216 of k, and fewer than 12 blocks of 128 x 128.
        assert!(splits(384, 9216, 384, false) && !splits(384, 9215, 384, false));
        assert!(!splits(512, 9216, 384, false) && !splits(384, 9216, 384, true));
        assert!(splits(64, 6144, 64, true) && !splits(64, 6143, 64, true));
        assert!(!splits(65, 6144, 64, true) && !splits(64, 6144, 65, true));
    }

    proptest! {
        #[test]
        fn one_column_more_than_fit_is_too_many(m in 1u64..1 << 40, k in 1u64..1 << 31, rows in 1u64..1 << 40) {
            let shape = MatMul::new(m, k, 4096).cube();
            let soc = Soc::find("Ascend910B2").unwrap();
            let limits = Limits::new(&shape, &soc);
            let policy = Policy { shape: &shape, limits, soc: &soc, trans_a: false, trans_b: false, b_nz: false };
            for budget in [0, 1 << 10, 100 << 20, 1 << 45] {
                let most = policy.columns_within(budget, rows);
                prop_assert!(most == 0 || policy.operand_bytes(rows, most) <= budget);
                prop_assert!(policy.operand_bytes(rows, most + 1) > budget);
            }
        }
    }
}
