//! A cube tiling in the terms of CANN's tiling structures, and its way to the canonical schedule.

use crate::rounding::round_up;
use crate::soc::{Arch, Soc};
use crate::workload::{Buffers, Cores, CubeSchedule, CubeShape, Extents, L0Tile, L1Tile, L2Tiling};
use crate::workload::{LoopOrder, MatMul, MatMulKernel, OutputPath, SplitK, Workload, bias_bytes};
use aoe_graph::DataType;

#[cfg(test)]
mod tests;

/// Bytes of an accumulator in L0C.
const ACCUMULATOR: u64 = 4;
/// Rows or columns of a fractal.
pub(in crate::space) const F: u64 = 16;
/// L0A and L0B are always double buffered, as in every public tiling.
const L0_BUFFERS: u64 = 2;

/// What a cube tiling has to respect: one SoC's buffers, seen with one workload's element sizes.
#[derive(Debug, Clone, Copy)]
pub(in crate::space) struct Limits {
    /// Bytes of an element of A and B.
    pub es: u64,
    /// Extent of a fractal along k.
    pub k0: u64,
    /// Cube cores.
    pub cores: u64,
    /// L0A bytes of one of its two buffers.
    pub l0_a: u64,
    /// L0B bytes of one of its two buffers.
    pub l0_b: u64,
    /// L0C bytes.
    pub l0_c: u64,
    /// L1 bytes, less what a bias takes.
    pub l1: u64,
    /// Largest baseN that the bias table allows.
    pub bias_n: u64,
    /// A task of several products holds whole operands in L1, of which there are no more than the product has.
    whole_products: bool,
}

impl Limits {
    /// The limits of a workload's kernel, whose cube work has this shape.
    pub fn of(workload: &Workload, shape: &CubeShape, soc: &Soc) -> Limits {
        let whole_products = matches!(workload, Workload::MatMul(w) if is_batch_matmul_v3(w, soc));
        Limits { whole_products, ..Limits::new(shape, soc) }
    }

    /// The limits of cube work of this shape.
    pub fn new(shape: &CubeShape, soc: &Soc) -> Limits {
        Limits {
            es: shape.dtype.bytes().max(1),
            k0: shape.k0(),
            cores: u64::from(soc.ai_core_cnt.max(1)),
            l0_a: soc.l0_a_size / L0_BUFFERS,
            l0_b: soc.l0_b_size / L0_BUFFERS,
            l0_c: soc.l0_c_size,
            l1: soc.l1_size.saturating_sub(bias_bytes(shape, soc)),
            bias_n: if shape.bias && soc.bt_size > 0 { soc.bt_size / ACCUMULATOR } else { u64::MAX },
            whole_products: false,
        }
    }

    /// Whether an L0 tile fits into L0A, L0B, L0C (with this many buffers) and the bias table.
    pub fn base_fits(&self, m: u64, n: u64, k: u64, l0_c_buffers: u64) -> bool {
        m * k * self.es <= self.l0_a
            && n * k * self.es <= self.l0_b
            && m * n * ACCUMULATOR * l0_c_buffers <= self.l0_c
            && n <= self.bias_n
    }
}

/// A cube tiling; fields carry CANN's meaning (`TCubeTiling`), sizes are elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::space) struct Tiling {
    pub used_cores: u32,
    pub single: Extents,
    pub base_m: u32,
    pub base_n: u32,
    pub base_k: u32,
    /// Ignored where the operand is fully loaded, like the other fields of its side.
    pub step_m: u32,
    pub step_n: u32,
    pub step_ka: u32,
    pub step_kb: u32,
    pub full_a: bool,
    pub full_b: bool,
    pub db_l1_a: u8,
    pub db_l1_b: u8,
    pub db_l0_c: u8,
    pub order: LoopOrder,
    pub l2_m_tiles: u32,
    pub l2_n_tiles: u32,
    pub l2_order: LoopOrder,
    pub split_k: SplitK,
    pub output: OutputPath,
}

impl Tiling {
    /// The canonical schedule of this tiling.
    pub fn schedule(&self, shape: &CubeShape) -> CubeSchedule {
        let cores = core_tasks(shape, &self.single);
        let side = |full: bool, step_k: u32, steps: u32, buffers: u8| {
            if full { (L1Tile::FULL, 1) } else { (L1Tile::panel(self.base_k * step_k, steps), buffers) }
        };
        let (l1_a, buffers_a) = side(self.full_a, self.step_ka, self.step_m, self.db_l1_a);
        let (l1_b, buffers_b) = side(self.full_b, self.step_kb, self.step_n, self.db_l1_b);
        CubeSchedule {
            used_cores: self.used_cores,
            cores,
            single: self.single,
            l0: L0Tile { m: self.base_m, n: self.base_n, k_a: self.base_k, k_b: self.base_k },
            l1_a,
            l1_b,
            buffers: Buffers { l1_a: buffers_a, l1_b: buffers_b, l0_a: 2, l0_b: 2, l0_c: self.db_l0_c },
            order: self.order,
            l2: l2_tiling(cores, self.l2_m_tiles, self.l2_n_tiles, self.l2_order),
            split_k: self.split_k,
            output: self.output,
            unmodelled: std::collections::BTreeMap::new(),
        }
    }

    /// The tiling of a canonical schedule; `None` when no tiling of this form gives exactly it.
    pub fn from_schedule(schedule: &CubeSchedule, shape: &CubeShape) -> Option<Tiling> {
        let tiling = Tiling::fields(schedule)?;
        let covers = [schedule.single.batch, schedule.single.m, schedule.single.n, schedule.single.k];
        (!covers.contains(&0) && tiling.schedule(shape) == *schedule).then_some(tiling)
    }

    /// The fields of a schedule, of whatever shape; some schedules have more than these say. `None` where L0
    /// holds nothing.
    pub fn fields(schedule: &CubeSchedule) -> Option<Tiling> {
        let side = |tile: L1Tile| match tile {
            L1Tile::Full(_) => Some((true, 1, 1)),
            L1Tile::Panel(p) => Some((false, p.k.checked_div(schedule.l0.k_a)?, p.tiles)),
        };
        let (a, b) = (side(schedule.l1_a)?, side(schedule.l1_b)?);
        Some(Tiling {
            used_cores: schedule.used_cores,
            single: schedule.single,
            base_m: schedule.l0.m,
            base_n: schedule.l0.n,
            base_k: schedule.l0.k_a,
            step_m: a.2,
            step_n: b.2,
            step_ka: a.1,
            step_kb: b.1,
            full_a: a.0,
            full_b: b.0,
            db_l1_a: schedule.buffers.l1_a,
            db_l1_b: schedule.buffers.l1_b,
            db_l0_c: schedule.buffers.l0_c,
            order: schedule.order,
            l2_m_tiles: schedule.l2.m_tiles.max(1),
            l2_n_tiles: schedule.l2.n_tiles.max(1),
            l2_order: schedule.l2.order,
            split_k: schedule.split_k,
            output: schedule.output,
        })
    }

    /// Bytes that the panels take in L1.
    pub fn l1_bytes(&self, limits: &Limits) -> u64 {
        let side = |full: bool, extent: u64, base: u32, step_k: u32, steps: u32, buffers: u8| {
            let (base, step_k) = (u64::from(base), u64::from(step_k));
            if full {
                round_up(extent, base).saturating_mul(round_up(self.single.k, limits.k0))
            } else if limits.whole_products && self.single.batch > 1 {
                let width = (base * u64::from(steps)).min(round_up(extent, F));
                let depth = (step_k * u64::from(self.base_k)).min(round_up(self.single.k, F));
                width * depth * u64::from(buffers)
            } else {
                base * u64::from(steps) * step_k * u64::from(self.base_k) * u64::from(buffers)
            }
        };
        let a = side(self.full_a, self.single.m, self.base_m, self.step_ka, self.step_m, self.db_l1_a);
        let b = side(self.full_b, self.single.n, self.base_n, self.step_kb, self.step_n, self.db_l1_b);
        a.saturating_add(b).saturating_mul(limits.es)
    }
}

impl Tiling {
    /// Whether every buffer holds what the tiling puts there.
    pub fn fits(&self, limits: &Limits) -> bool {
        let (m, n, k) = (u64::from(self.base_m), u64::from(self.base_n), u64::from(self.base_k));
        limits.base_fits(m, n, k, u64::from(self.db_l0_c)) && self.l1_bytes(limits) <= limits.l1
    }

    /// Takes one step towards fitting; false when nothing is left to shrink.
    pub fn shrink(&mut self, limits: &Limits) -> bool {
        let (m, n, k) = (u64::from(self.base_m), u64::from(self.base_n), u64::from(self.base_k));
        let least_k = limits.k0 as u32;
        if limits.base_fits(m, n, k, u64::from(self.db_l0_c)) && self.shrink_panels() {
            return true;
        }
        if self.db_l0_c > 1 && !limits.base_fits(m, n, limits.k0, 2) {
            self.db_l0_c = 1;
        } else if self.base_k > least_k {
            self.base_k = round_up(k / 2, limits.k0) as u32;
        } else if n >= m && n > F {
            self.base_n = round_up(n / 2, F) as u32;
        } else if m > F {
            self.base_m = round_up(m / 2, F) as u32;
        } else {
            return false;
        }
        true
    }

    /// Makes the panels in L1 smaller: none fully loaded, fewer steps of the larger, one buffer.
    fn shrink_panels(&mut self) -> bool {
        let size = |base: u32, steps: u32, step_k: u32| u64::from(base) * u64::from(steps) * u64::from(step_k);
        let a = size(self.base_m, self.step_m, self.step_ka);
        let b = size(self.base_n, self.step_n, self.step_kb);
        let (steps_a, steps_b) = (self.step_m * self.step_ka, self.step_n * self.step_kb);
        if self.full_a || self.full_b {
            (self.full_a, self.full_b) = (false, false);
        } else if steps_a > 1 && (a >= b || steps_b == 1) {
            halve(&mut self.step_m, &mut self.step_ka);
        } else if steps_b > 1 {
            halve(&mut self.step_n, &mut self.step_kb);
        } else if self.db_l1_a > 1 || self.db_l1_b > 1 {
            (self.db_l1_a, self.db_l1_b) = (1, 1);
        } else {
            return false;
        }
        self.align_steps();
        true
    }

    /// Rewrites what has several spellings into the one that the space knows: nothing reaches beyond the
    /// shape or its core task, and what cannot matter is left at its default.
    pub fn make_canonical(&mut self, shape: &CubeShape, limits: &Limits) {
        let clip = |base: u32, extent: u64, step: u64| u64::from(base).min(round_up(extent, step)) as u32;
        let single = &mut self.single;
        single.batch = single.batch.clamp(1, shape.batch);
        single.m = single.m.clamp(1, shape.m);
        single.n = single.n.clamp(1, shape.n);
        single.k = single.k.clamp(1, shape.k);
        self.base_m = clip(self.base_m, single.m, F);
        self.base_n = clip(self.base_n, single.n, F);
        self.base_k = clip(self.base_k, single.k, limits.k0);
        if single.m < shape.m {
            self.base_m = even_base(single.m, self.base_m.into()) as u32;
        }
        if single.n < shape.n {
            self.base_n = even_base(single.n, self.base_n.into()) as u32;
        }
        let tiles = |extent: u64, base: u32| u32::try_from(extent.div_ceil(u64::from(base))).unwrap_or(u32::MAX);
        let (m_tiles, n_tiles) = (tiles(single.m, self.base_m), tiles(single.n, self.base_n));
        let k_tiles = tiles(single.k, self.base_k);
        (self.step_m, self.step_n) = (self.step_m.min(m_tiles), self.step_n.min(n_tiles));
        (self.step_ka, self.step_kb) = (self.step_ka.min(k_tiles), self.step_kb.min(k_tiles));
        let whole =
            |steps: u32, tiles: u32, step_k: u32, buffers: u8| steps == tiles && step_k == k_tiles && buffers == 1;
        self.full_a |= whole(self.step_m, m_tiles, self.step_ka, self.db_l1_a);
        self.full_b |= whole(self.step_n, n_tiles, self.step_kb, self.db_l1_b);
        if self.full_a {
            (self.step_m, self.step_ka, self.db_l1_a) = (1, 1, 1);
        }
        if self.full_b {
            (self.step_n, self.step_kb, self.db_l1_b) = (1, 1, 1);
        }
        if !self.full_a && !self.full_b {
            self.align_steps();
        }
        if m_tiles == 1 || n_tiles == 1 {
            self.order = LoopOrder::MFirst;
        }
        self.deal(shape, limits);
    }

    fn align_steps(&mut self) {
        let mut steps = [self.step_ka, self.step_kb];
        align_steps(&mut steps);
        [self.step_ka, self.step_kb] = steps;
    }

    /// Core count and L2 tiles that follow from the core tasks.
    fn deal(&mut self, shape: &CubeShape, limits: &Limits) {
        let cores = core_tasks(shape, &self.single);
        if cores.k == 1 {
            self.split_k = SplitK::None;
        }
        let tasks = self.tasks(shape);
        self.used_cores = limits.cores.min(tasks) as u32;
        let even = |count: u32, tiles: u32| count.div_ceil(count.div_ceil(tiles.clamp(1, count)));
        (self.l2_m_tiles, self.l2_n_tiles) = (even(cores.m, self.l2_m_tiles), even(cores.n, self.l2_n_tiles));
        if self.l2_m_tiles == 1 && self.l2_n_tiles == 1 {
            self.l2_order = LoopOrder::MFirst;
        }
    }

    /// Core tasks that can run side by side: pieces of K that one core adds up count once.
    pub fn tasks(&self, shape: &CubeShape) -> u64 {
        let mut cores = core_tasks(shape, &self.single);
        if self.split_k == SplitK::SingleCore {
            cores.k = 1;
        }
        [cores.m, cores.n, cores.k].iter().fold(u64::from(cores.batch), |n, &c| n.saturating_mul(u64::from(c)))
    }
}

/// Halves the outer steps first, then those along K.
fn halve(steps: &mut u32, step_k: &mut u32) {
    if *steps > 1 {
        *steps = steps.div_ceil(2).min(*steps - 1);
    } else {
        *step_k = (*step_k / 2).max(1);
    }
}

/// Makes the larger K step a multiple of the smaller.
pub(in crate::space) fn align_steps(steps: &mut [u32; 2]) {
    let [a, b] = *steps;
    if a >= b {
        steps[0] -= a % b.max(1);
    } else {
        steps[1] -= b % a.max(1);
    }
}

/// Number of core tasks that cover a shape with tasks of this extent.
pub(in crate::space) fn core_tasks(shape: &CubeShape, single: &Extents) -> Cores {
    let count = |whole: u64, extent: u64| u32::try_from(whole.div_ceil(extent.max(1))).unwrap_or(u32::MAX);
    Cores {
        batch: count(shape.batch, single.batch),
        m: count(shape.m, single.m),
        n: count(shape.n, single.n),
        k: count(shape.k, single.k),
    }
}

/// Groups core tasks into this many L2 tiles along each axis; one tile is no grouping.
fn l2_tiling(cores: Cores, m_tiles: u32, n_tiles: u32, order: LoopOrder) -> L2Tiling {
    if m_tiles <= 1 && n_tiles <= 1 {
        return L2Tiling::default();
    }
    let (m_tiles, n_tiles) = (m_tiles.max(1), n_tiles.max(1));
    L2Tiling { m_tiles, n_tiles, m_block: cores.m.div_ceil(m_tiles), n_block: cores.n.div_ceil(n_tiles), order }
}

/// The smallest L0 tile that cuts a core task into as many blocks as `base` does.
pub(in crate::space) fn even_base(single: u64, base: u64) -> u64 {
    let blocks = single.div_ceil(base).max(1);
    round_up(single.div_ceil(blocks), F)
}

/// Whether `BatchMatMulV3` of a part whose kernels are known computes a product.
pub(in crate::space) fn is_batch_matmul_v3(w: &MatMul, soc: &Soc) -> bool {
    let float = |t: DataType| matches!(t, DataType::Float | DataType::Float16 | DataType::Bfloat16);
    let ascend_c = w.kernel == MatMulKernel::AscendC;
    ascend_c && w.batch > 1 && float(w.dtype) && float(w.out_dtype) && soc.arch == Arch::C220
}
