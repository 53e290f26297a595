//! What `BatchMatMulV3` asks of a tiling, parameter by parameter, so that a search meets few that no kernel of the
//! operator runs. The rules are those of [`crate::tiling::batch_matmul_v3::legality`]; here they only point the way.

use super::tiling::{F, Tiling, is_batch_matmul_v3};
use super::{FULL_A, FULL_B, P};
use crate::rounding::round_up;
use crate::soc::Soc;
use crate::tiling::Platform;
use crate::tiling::batch_matmul_v3::legality::Kernels;
use crate::workload::{MatMul, SplitK};

/// Most blocks of a product along m or n that a task of whole products is offered in.
pub(super) const MOST_BLOCKS: u64 = 16;

/// A batch of products and the kernels that it has.
#[derive(Debug, Clone, Copy)]
pub(in crate::space) struct Batched {
    batch: u64,
    m: u64,
    n: u64,
    k: u64,
    es: u64,
    l1: u64,
    kernels: Kernels,
}

/// What a task is, as far as its extents along m and n say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Block,
    Whole,
    /// A whole product that is one block.
    Either,
    None,
}

impl Batched {
    /// The batch, where the operator's kernels compute it and their rules are known.
    pub fn of(w: &MatMul, soc: &Soc) -> Option<Batched> {
        is_batch_matmul_v3(w, soc).then(|| Batched {
            batch: w.batch,
            m: w.m,
            n: w.n,
            k: w.k,
            es: w.dtype.bytes().max(1),
            l1: soc.l1_size.saturating_sub(if w.bias { 1024 } else { 0 }),
            kernels: Kernels::of(w, &Platform::of(soc)),
        })
    }

    /// Whether a task of several whole products exists: then L1 holds what the task brings.
    pub fn is_several(&self, p: P, value: impl Fn(P) -> u64) -> bool {
        let known = |q: P| (q as usize) <= (p as usize);
        let of_batch = known(P::SingleBatch) && value(P::SingleBatch) > 1;
        let tall = known(P::SingleM) && value(P::SingleM) > value(P::BaseM);
        let wide = known(P::SingleN) && value(P::SingleN) > value(P::BaseN);
        value(P::FullLoad) == 0 && self.has_several() && (of_batch || tall || wide)
    }

    /// Whether parameter `p` may have its value, given those before it.
    pub fn holds(&self, p: P, value: impl Fn(P) -> u64) -> bool {
        let now = value(p);
        match p {
            P::FullLoad => match now {
                0 => true,
                FULL_A => self.kernels.keeps_a,
                FULL_B => self.kernels.keeps_b,
                _ => false,
            },
            P::SingleM => match value(P::FullLoad) {
                0 => self.along(now, value(P::BaseM), self.m) != Task::None,
                FULL_A => now == self.m,
                _ => self.beside(now, value(P::BaseM), self.m, self.n, value(P::BaseK)),
            },
            P::SingleN => match value(P::FullLoad) {
                0 => self.task(&value) != Task::None,
                FULL_A => self.beside(now, value(P::BaseN), self.n, self.m, value(P::BaseK)),
                _ => now == self.n,
            },
            P::SingleBatch => match (value(P::FullLoad), self.task(&value)) {
                (0, Task::Whole) => self.is_number(now),
                (0, Task::Either) => now == 1 || self.is_number(now),
                _ => now == 1,
            },
            P::StepM | P::StepN if value(P::FullLoad) == 0 => {
                let (single, base) = if p == P::StepM { (P::SingleM, P::BaseM) } else { (P::SingleN, P::BaseN) };
                now == if value(P::SingleBatch) > 1 { value(single).div_ceil(value(base)) } else { 1 }
            }
            P::StepM | P::StepN => now == 1,
            P::StepKa | P::StepKb => {
                let whole = now.saturating_mul(value(P::BaseK)) >= self.k;
                let (full, single, base) =
                    if p == P::StepKa { (FULL_A, P::SingleM, P::BaseM) } else { (FULL_B, P::SingleN, P::BaseN) };
                let needs_whole = match value(P::FullLoad) {
                    0 => value(P::SingleBatch) > 1,
                    kept => kept != full && value(single) > value(base),
                };
                whole || !needs_whole
            }
            P::DbA1 | P::DbB1 => value(P::SingleBatch) <= 1 || now == 2,
            _ => true,
        }
    }

    /// Makes a tiling, such as another product's, one that a kernel of this batch may run: whole products where a task
    /// has several, else one block of one.
    pub fn conform(&self, t: &mut Tiling) {
        (t.full_a, t.full_b) = (t.full_a && self.kernels.keeps_a, t.full_b && self.kernels.keeps_b);
        let block = |whole: u64, base: u32| whole.min(base.max(1).into());
        t.single.k = self.k;
        t.split_k = SplitK::None;
        if t.full_a || t.full_b {
            t.single.batch = 1;
            (t.step_m, t.step_n) = (1, 1);
            t.single.m = if t.full_a { self.m } else { block(self.m, t.base_m) };
            t.single.n = if t.full_b { self.n } else { block(self.n, t.base_n) };
            return;
        }
        let blocks = |whole: u64, base: u32| whole.div_ceil(base.max(1).into());
        let (along_m, along_n) = (blocks(self.m, t.base_m), blocks(self.n, t.base_n));
        let several = t.single.batch > 1 && self.has_several() && along_m.max(along_n) <= MOST_BLOCKS;
        if !several {
            t.single.batch = 1;
            (t.single.m, t.single.n) = (block(self.m, t.base_m), block(self.n, t.base_n));
            (t.step_m, t.step_n) = (1, 1);
            return;
        }
        let most = self.kernels.held.min(self.batch) / 2 * 2;
        t.single.batch = (t.single.batch / 2 * 2).clamp(2, most.max(2));
        (t.single.m, t.single.n) = (self.m, self.n);
        (t.step_m, t.step_n) = (along_m as u32, along_n as u32);
        let all = blocks(self.k, t.base_k).min(u64::from(u32::MAX)) as u32;
        (t.step_ka, t.step_kb, t.db_l1_a, t.db_l1_b) = (all, all, 2, 2);
    }

    const fn has_several(&self) -> bool {
        self.kernels.held >= 2 && self.batch >= 2 && !self.kernels.folds
    }

    fn is_number(&self, products: u64) -> bool {
        self.has_several() && products.is_multiple_of(2) && (2..=self.kernels.held).contains(&products)
    }

    /// What a task can be whose extent along one axis is this.
    fn along(&self, single: u64, base: u64, whole: u64) -> Task {
        let block = single <= base;
        let complete = single == whole && self.has_several() && single.div_ceil(base.max(1)) <= MOST_BLOCKS;
        match (block, complete) {
            (true, true) => Task::Either,
            (true, false) => Task::Block,
            (false, true) => Task::Whole,
            (false, false) => Task::None,
        }
    }

    fn task(&self, value: &impl Fn(P) -> u64) -> Task {
        let m = self.along(value(P::SingleM), value(P::BaseM), self.m);
        let n = self.along(value(P::SingleN), value(P::BaseN), self.n);
        match (m, n) {
            (Task::Either, other) | (other, Task::Either) => other,
            (m, n) if m == n => m,
            _ => Task::None,
        }
    }

    /// Whether a task beside an operand that stays has one block, or two with all of k in L1.
    fn beside(&self, single: u64, base: u64, whole: u64, kept: u64, base_k: u64) -> bool {
        let k = round_up(self.k, base_k);
        let panel = round_up(kept, F).saturating_mul(round_up(self.k, F)).saturating_add(base.saturating_mul(k));
        let two = single == whole && single <= 2 * base && panel.saturating_mul(self.es) <= self.l1;
        single <= base || single == 2 * base && panel.saturating_mul(self.es) <= self.l1 || two
    }
}
