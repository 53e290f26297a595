//! Which of two blocks is better.

use super::super::Problem;
use super::Block;
use crate::tiling::Platform;

/// What a block costs.
#[derive(Debug, Clone, Copy)]
struct Cost {
    block: Block,
    tasks: u64,
    rounds: u64,
    /// Elements loaded for each element of k: `M*cd(N,bn) + N*cd(M,bm)`.
    load: f64,
    /// Results that the busiest core computes.
    work: f64,
    /// Elements that the first round brings from L2 for each element of k.
    first: f64,
    /// Cores that read the same panel in the first round.
    clash: f64,
}

/// The block that was found, the rule that decided and whether all that decided is known exactly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub block: Block,
    pub rule: &'static str,
    pub exact: bool,
}

impl Found {
    pub fn known(block: Block, rule: &'static str) -> Found {
        Found { block, rule, exact: true }
    }
}

/// The search: the best block so far and the least load of all.
pub(super) struct Search<'a> {
    p: &'a Problem,
    cores: u64,
    /// Few tasks by operands whose k is inner: as many tasks as there are cores for.
    spread: bool,
    best: Cost,
    least: f64,
    rule: &'static str,
    exact: bool,
}

impl<'a> Search<'a> {
    pub fn new(p: &'a Problem, part: &Platform, start: Block) -> Search<'a> {
        let cores = part.cores.max(1);
        let count = |m: u64, n: u64| p.m.div_ceil(m).saturating_mul(p.n.div_ceil(n));
        let best = cost(p, cores, start);
        Search {
            p,
            cores,
            spread: !p.trans_a
                && p.trans_b
                && p.k >= 512
                && count(128, 256) <= cores / 2
                && count(256, 128) <= cores / 2,
            best,
            least: best.load,
            rule: "qbmm.block.start",
            exact: true,
        }
    }

    /// Takes a block where it is better than the best so far.
    pub fn meet(&mut self, block: Block) {
        let candidate = cost(self.p, self.cores, block);
        let taken = if self.spread {
            let (here, best) = ((candidate.tasks, candidate.block.n), (self.best.tasks, self.best.block.n));
            (candidate.tasks <= self.cores && here > best).then_some("qbmm.block.most-tasks")
        } else {
            self.better(&candidate)
        };
        self.least = self.least.min(candidate.load);
        if let Some(rule) = taken {
            (self.best, self.rule) = (candidate, rule);
        }
    }

    pub fn found(&self) -> Found {
        Found { block: self.best.block, rule: self.rule, exact: self.exact }
    }

    /// The rule by which the candidate is taken, tried in CANN's order.
    fn better(&mut self, c: &Cost) -> Option<&'static str> {
        let best = self.best;
        if 0.9 * c.load > self.least {
            return None;
        }
        let even = c.rounds >= 5 && c.block.m.min(c.block.n) >= 128 && 0.95 * best.load > c.load;
        if 0.9 * self.least > c.load || even {
            return Some("qbmm.block.least-load");
        }
        if self.inner_axis(c) {
            return Some("qbmm.block.inner-axis");
        }
        if 0.9 * best.work > c.work {
            return Some("qbmm.block.least-work");
        }
        if c.work > best.work {
            return None;
        }
        let ratio = |b: Block| (b.m * b.n) as f64 / (b.m + b.n) as f64;
        if c.rounds >= 5 && ratio(c.block) > ratio(best.block) {
            return Some("qbmm.block.compute-per-load");
        }
        (c.block.m + c.block.n == best.block.m + best.block.n && self.mirrored(c)).then_some("qbmm.block.mirrored")
    }

    /// Blocks whose inner axis makes full bursts. With A alone transposed CANN looks at a constant 256, so any
    /// block is taken.
    fn inner_axis(&self, c: &Cost) -> bool {
        let burst = |base: u64| base == 256 || (base == 512 && c.load < self.best.load);
        match (self.p.trans_a, self.p.trans_b) {
            (true, false) => true,
            (true, true) => burst(c.block.m),
            (false, false) => !self.p.b_nz && burst(c.block.n),
            (false, true) => false,
        }
    }

    /// Between blocks of the same circumference: less L2 traffic in the first round with no more clashes, or the
    /// wider one of a nearly square product.
    fn mirrored(&mut self, c: &Cost) -> bool {
        let best = self.best;
        let (m, n) = (self.p.m as f64, self.p.n as f64);
        if (m - n).abs() < 0.1 * n && c.block.m < c.block.n {
            return true;
        }
        let (weight, most) = if self.p.mix { (0.75, 8.0) } else { (0.85, 6.0) };
        let least_gain = f64::max(1.3, weight * c.clash / best.clash);
        let calm = c.clash <= most && c.clash <= 2.0 * best.clash;
        // How the first round is dealt is known only roughly, so that an answer which turns on it is no exact one.
        #[expect(clippy::float_cmp, reason = "the same sums of the same terms are the same to the bit")]
        let same_first = c.first == best.first;
        self.exact &= same_first;
        calm && (self.p.mix || self.p.n < self.p.k) && best.first > least_gain * c.first
    }
}

fn cost(p: &Problem, cores: u64, block: Block) -> Cost {
    let (m_tasks, n_tasks) = (p.m.div_ceil(block.m).max(1), p.n.div_ceil(block.n).max(1));
    let tasks = m_tasks.saturating_mul(n_tasks);
    let rounds = tasks.div_ceil(tasks.min(cores));
    // The first round runs down a diagonal, so it meets as many panels as there are.
    let (m_first, n_first) = (m_tasks.min(cores), n_tasks.min(cores));
    let used = tasks.min(cores);
    Cost {
        block,
        tasks,
        rounds,
        load: p.m as f64 * n_tasks as f64 + p.n as f64 * m_tasks as f64,
        work: (block.m * block.n) as f64 * rounds as f64,
        first: (m_first * block.m + n_first * block.n) as f64,
        clash: used.div_ceil(m_first).max(used.div_ceil(n_first)) as f64,
    }
}
