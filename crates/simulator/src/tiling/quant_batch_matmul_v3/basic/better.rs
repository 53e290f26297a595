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

/// What the rules say of a candidate beside the best so far.
#[derive(Debug, Clone, Copy)]
struct Verdict {
    /// The rule by which it is taken.
    taken: Option<&'static str>,
    /// Whether nothing that is not known decided.
    sure: bool,
}

impl Verdict {
    fn sure(taken: Option<&'static str>) -> Verdict {
        Verdict { taken, sure: true }
    }
}

/// The search: the best block so far and the least load of all.
pub(super) struct Search<'a> {
    p: &'a Problem,
    cores: u64,
    /// Few tasks by operands whose k is inner: as many tasks as there are cores for.
    spread: bool,
    best: Cost,
    /// What may be the best instead, as what decided is not all known.
    others: Vec<Cost>,
    least: f64,
    rule: &'static str,
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
            others: Vec::new(),
            least: best.load,
            rule: "qbmm.block.start",
        }
    }

    /// Takes a block where it is better than the best so far.
    pub fn meet(&mut self, block: Block) {
        let candidate = cost(self.p, self.cores, block);
        let verdict = if self.spread { self.most_tasks(&candidate) } else { self.better(&candidate, &self.best) };
        let best = if verdict.taken.is_some() { candidate } else { self.best };
        if !verdict.sure || !self.others.is_empty() {
            self.others = self.instead(candidate, verdict.sure, best);
        }
        self.least = self.least.min(candidate.load);
        if let Some(rule) = verdict.taken {
            (self.best, self.rule) = (candidate, rule);
        }
    }

    /// What may be the best instead of `best` after this candidate: each that might have been before, where the candidate
    /// is not surely taken, and the candidate, where it may be.
    fn instead(&self, candidate: Cost, sure: bool, best: Cost) -> Vec<Cost> {
        let (mut may_stay, mut may_be_taken) = (Vec::new(), !sure);
        if !sure {
            may_stay.push(self.best);
        }
        for &other in &self.others {
            let verdict = self.better(&candidate, &other);
            if verdict.taken.is_none() || !verdict.sure {
                may_stay.push(other);
            }
            may_be_taken |= verdict.taken.is_some() || !verdict.sure;
        }
        if may_be_taken {
            may_stay.push(candidate);
        }
        may_stay.retain(|cost| cost.block != best.block);
        may_stay
    }

    pub fn found(&self) -> Found {
        Found { block: self.best.block, rule: self.rule, exact: self.others.is_empty() }
    }

    /// Few tasks: the most of one round, then the wider block.
    fn most_tasks(&self, c: &Cost) -> Verdict {
        let (here, best) = ((c.tasks, c.block.n), (self.best.tasks, self.best.block.n));
        Verdict::sure((c.tasks <= self.cores && here > best).then_some("qbmm.block.most-tasks"))
    }

    /// The rule by which the candidate is taken, tried in CANN's order.
    fn better(&self, c: &Cost, best: &Cost) -> Verdict {
        if 0.9 * c.load > self.least {
            return Verdict::sure(None);
        }
        let even = c.rounds >= 5 && c.block.m.min(c.block.n) >= 128 && 0.95 * best.load > c.load;
        if 0.9 * self.least > c.load || even {
            return Verdict::sure(Some("qbmm.block.least-load"));
        }
        if self.inner_axis(c, best) {
            return Verdict::sure(Some("qbmm.block.inner-axis"));
        }
        if 0.9 * best.work > c.work {
            return Verdict::sure(Some("qbmm.block.least-work"));
        }
        if c.work > best.work {
            return Verdict::sure(None);
        }
        let ratio = |b: Block| (b.m * b.n) as f64 / (b.m + b.n) as f64;
        if c.rounds >= 5 && ratio(c.block) > ratio(best.block) {
            return Verdict::sure(Some("qbmm.block.compute-per-load"));
        }
        if c.block.m + c.block.n == best.block.m + best.block.n {
            return self.mirrored(c, best);
        }
        Verdict::sure(None)
    }

    /// Blocks whose inner axis makes full bursts. With A alone transposed CANN looks at a constant 256, so any
    /// block is taken.
    fn inner_axis(&self, c: &Cost, best: &Cost) -> bool {
        let burst = |base: u64| base == 256 || (base == 512 && c.load < best.load);
        match (self.p.trans_a, self.p.trans_b) {
            (true, false) => true,
            (true, true) => burst(c.block.m),
            (false, false) => !self.p.b_nz && burst(c.block.n),
            (false, true) => false,
        }
    }

    /// Between blocks of the same circumference: less L2 traffic in the first round with no more clashes, or the
    /// wider one of a nearly square product.
    fn mirrored(&self, c: &Cost, best: &Cost) -> Verdict {
        const RULE: &str = "qbmm.block.mirrored";
        let (m, n) = (self.p.m as f64, self.p.n as f64);
        if (m - n).abs() < 0.1 * n && c.block.m < c.block.n {
            return Verdict::sure(Some(RULE));
        }
        // Where the cube scales, traffic counts for fewer columns than k alone.
        if c.block == best.block || !(self.p.mix || self.p.n < self.p.k) {
            return Verdict::sure(None);
        }
        let (weight, most) = if self.p.mix { (0.75, 8.0) } else { (0.85, 6.0) };
        let least_gain = f64::max(1.3, weight * c.clash / best.clash);
        let calm = c.clash <= most && c.clash <= 2.0 * best.clash;
        // How the first round is dealt and what a clash is are known only roughly.
        Verdict { taken: (calm && best.first > least_gain * c.first).then_some(RULE), sure: false }
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
