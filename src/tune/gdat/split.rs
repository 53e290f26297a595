//! The best way to cut the gradients of one set into segments, by dynamic programming. `joint` has the best way for
//! several sets.
//!
//! # The model
//!
//! Computing needs `B` microseconds for the backward pass and has gradient `i` ready after `r[i]` of them, ascending. A
//! segment of consecutive gradients is exchanged once its last one is ready and the segment before it is through; alone
//! it takes `W = a + b * bytes`. While both run, computing takes `1 + s` and the exchange `1 + x` times as long. Segments
//! are ordered, computing waits for nobody, and the step is over when the last segment and the backward pass are.
//!
//! # Without contention
//!
//! Let `F[k][e]` be the earliest end of the first `e` gradients in exactly `k` segments. The last of them, `c..e`, starts
//! at `max(F, r[e-1])` where `F` is the end of those before, and ends `W` later: no later for an earlier `F`. So
//! `F[k][e] = min over c of max(F[k-1][c], r[e-1]) + a + b * (S[e] - S[c])`, with `S` the sums of the bytes, and a table
//! over `k` and `e` has the optimum.
//!
//! `F[k][e] <= F[k][e+1]` wherever `k <= e`: take the best for `e+1` and leave the last gradient out. If its segment had
//! others, that segment is ready no later and smaller. If it was alone, `k-1` segments hold `e >= k` gradients, one of
//! them at least two; cut that one in two. Both parts are ready when the whole was, so it ends at most `a` later, and so
//! does all that follows; the lone segment, which took `a` at least, is gone.
//!
//! So for a given `e` the candidates `c` with `F[k-1][c] <= r[e-1]` are the first ones, and the last of these is the best
//! of them: all start at `r[e-1]`, and it leaves the fewest bytes. The others end at `F[k-1][c] - b * S[c] + a + b * S[e]`,
//! of which the least is wanted over a window whose two ends only move on: a queue of falling candidates has it at its
//! head. Every `c` enters and leaves once, and the table takes time in proportion to its size.
//!
//! # With contention
//!
//! The same table, on another clock. Let `L` be the work that the exchange has done (microseconds that it takes alone).
//! Before the backward pass ends, exchanging `dL` takes `(1 + x) dL` and computing loses `s / (1 + s)` of that: with
//! `d = s (1 + x) / (1 + s)`, computing has done `t - d * L` at time `t`, whatever happened when. Let `g = (1 + x) / (1 +
//! s)` and `u = (t - d * L) / g`. While the exchange works, `u` goes on as fast as `L`: `dt - d dL = (1 + x - d) dL = g
//! dL`. So a segment starts at `max(u, r / g)` and ends `W` later: what was said above, with `r / g` in place of `r`.
//! After the backward pass the exchange works undisturbed, `dt = dL`, and `u` is continued so that it goes on as `t`:
//! all gradients are ready, and again `W` is added.
//!
//! After `k` segments `L` is `k * a + b * S[n]`, wherever the cuts are: costs are a constant and a multiple of the bytes.
//! Time is therefore a function of `u` and `k` alone ([`Clock::time`]), and rises with `u` where `d <= 1`, which is
//! `s * x <= 1`: the least `u` for each `k` is the least time, and the best of all is the best over `k`.

use super::cluster::Contention;
use crate::sim::collective::AllReduce;
use std::collections::VecDeque;

/// A training step as far as the exchange of its gradients is concerned.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// When each gradient is ready, in microseconds of undisturbed computing; ascending.
    pub ready_us: Vec<f64>,
    /// Bytes of each.
    pub bytes: Vec<u64>,
    /// When the backward pass is over, undisturbed; not before the last gradient.
    pub backward_us: f64,
    /// The gradients of each set, ascending: those of one set may be exchanged together, those of two may not.
    pub sets: Vec<Vec<usize>>,
}

impl Step {
    /// A step whose gradients are all of one set.
    pub fn new(ready_us: Vec<f64>, bytes: Vec<u64>, backward_us: f64) -> Step {
        let sets = vec![(0..bytes.len()).collect()];
        Step { ready_us, bytes, backward_us, sets }
    }

    /// Bytes of the first so many gradients, for each number of them.
    pub fn sums(&self) -> Vec<f64> {
        let sums = self.bytes.iter().scan(0.0, |sum, &bytes| {
            *sum += bytes as f64;
            Some(*sum)
        });
        std::iter::once(0.0).chain(sums).collect()
    }

    /// The same step with the gradients of one set only.
    #[must_use]
    pub fn part(&self, members: &[usize]) -> Step {
        let ready_us = members.iter().map(|&at| self.ready_us[at]).collect();
        Step::new(ready_us, members.iter().map(|&at| self.bytes[at]).collect(), self.backward_us)
    }

    /// The step of each set by itself.
    pub fn parts(&self) -> Vec<Step> {
        self.sets.iter().map(|members| self.part(members)).collect()
    }
}

/// Turns the exchange's clock into time.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// `g`: microseconds that pass for computing while the clock goes on by one.
    pace: f64,
    /// `d`: microseconds that computing loses to each of the exchange's work.
    drag: f64,
    /// `B`.
    backward_us: f64,
}

impl Clock {
    /// The clock of a step.
    pub fn new(contention: Contention, backward_us: f64) -> Clock {
        let Contention { compute_slowdown: s, exchange_slowdown: x } = contention;
        Clock { pace: (1.0 + x) / (1.0 + s), drag: s * (1.0 + x) / (1.0 + s), backward_us }
    }

    /// The clock when computing has done so much.
    pub fn at(&self, computed_us: f64) -> f64 {
        computed_us / self.pace
    }

    /// Time when the clock shows `clock` and the exchange has done `work`.
    pub fn time(&self, clock: f64, work: f64) -> f64 {
        let late = clock - self.at(self.backward_us);
        let computed =
            if late <= 0.0 { self.pace * clock } else { (1.0 - self.drag).max(0.0).mul_add(late, self.backward_us) };
        computed + self.drag * work
    }

    /// The clock when that much of the exchange's work is done at time `time`: the other way round of [`Clock::time`].
    /// Infinite where no clock is so late that the time would be later.
    pub fn clock(&self, time: f64, work: f64) -> f64 {
        let computed = time - self.drag * work;
        if computed <= self.backward_us {
            return computed / self.pace;
        }
        let alone = (1.0 - self.drag).max(0.0);
        if alone > 0.0 { self.at(self.backward_us) + (computed - self.backward_us) / alone } else { f64::INFINITY }
    }

    /// The end of the backward pass, where the exchange has done so much by then.
    pub fn backward_end(&self, work: f64) -> f64 {
        self.backward_us + self.drag * work
    }
}

/// The best ends for some number of segments: where each segment ends, the last one at the number of gradients.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// One past the last gradient of each segment.
    pub ends: Vec<usize>,
    /// End of the step.
    pub end_us: f64,
}

/// The split of a step of one set into at most `most` segments that ends first; of several that end as early, that of the fewest
/// segments. `None` where there is no gradient, or `most` is 0.
pub fn best(step: &Step, cost: AllReduce, contention: Contention, most: usize) -> Option<Split> {
    let (n, sums) = (step.bytes.len(), step.sums());
    let clock = Clock::new(contention, step.backward_us);
    let ready: Vec<f64> = step.ready_us.iter().map(|&us| clock.at(us)).collect();
    let mut ends = vec![f64::INFINITY; n + 1];
    ends[0] = 0.0;
    // For each number of segments, where the one before the last ends.
    let mut cuts: Vec<Vec<u32>> = Vec::new();
    let mut found: Option<(usize, f64)> = None;
    for k in 1..=most.min(n) {
        let (next, cut) = one_more(k, &ends, &ready, &sums, cost);
        ends = next;
        cuts.push(cut);
        let work = cost.start_us.mul_add(k as f64, cost.us_per_byte * sums[n]);
        let end_us = clock.time(ends[n], work).max(clock.backward_end(work));
        if found.is_none_or(|(_, best)| end_us < best) {
            found = Some((k, end_us));
        }
    }
    let (k, end_us) = found?;
    let mut at = n;
    let mut ends: Vec<usize> = (0..k)
        .rev()
        .map(|row| {
            let end = at;
            at = cuts[row][at] as usize;
            end
        })
        .collect();
    ends.reverse();
    Some(Split { ends, end_us })
}

/// The row of the table for `k` segments from that for one less, and where the segment before the last one ends.
fn one_more(k: usize, before: &[f64], ready: &[f64], sums: &[f64], cost: AllReduce) -> (Vec<f64>, Vec<u32>) {
    let n = ready.len();
    let left = |c: usize| before[c] - cost.us_per_byte * sums[c];
    let (mut ends, mut cuts) = (vec![f64::INFINITY; n + 1], vec![0u32; n + 1]);
    // The last candidate that is through when the segment is ready; the others, from the best on.
    let mut through: Option<usize> = None;
    let mut waiting: VecDeque<usize> = VecDeque::new();
    let mut first = k - 1;
    for e in k..=n {
        let entering = e - 1;
        while waiting.back().is_some_and(|&c| left(c) >= left(entering)) {
            waiting.pop_back();
        }
        waiting.push_back(entering);
        while first < e && before[first] <= ready[e - 1] {
            through = Some(first);
            first += 1;
        }
        while waiting.front().is_some_and(|&c| c < first) {
            waiting.pop_front();
        }
        let price = |c: usize| before[c].max(ready[e - 1]) + cost.us(sums[e] - sums[c]);
        let candidates = [through, waiting.front().copied()].into_iter().flatten();
        for (end, c) in candidates.map(|c| (price(c), c)) {
            if end < ends[e] {
                (ends[e], cuts[e]) = (end, c as u32);
            }
        }
    }
    (ends, cuts)
}
