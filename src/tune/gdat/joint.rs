//! The best way to cut the gradients of several sets, whose segments share the links.
//!
//! # The model
//!
//! Gradients of two sets are never in one segment, and each set has its own number of segments at most. All else is as
//! in `split`: one stream computes, the links carry one segment at a time, in the order in which they are ready, and
//! the clock `u` turns the exchange's work into time. (With work that has release times, taking what is ready first is
//! the best of all orders, so that the order takes nothing from the optimum.)
//!
//! # How it is found
//!
//! Number the `K` segments of all sets in order, `j` of them left with the one at hand, `O` the bytes that are not
//! exchanged before it. What is left takes `j * a + b * O`, so that all is over at `T` or before if and only if
//! each segment is ready at `T - j * a - b * O` or before. Whether there are such segments is found out from the front:
//! choose a set, and let its segment end as late as that allows. A later end leaves fewer bytes, which lets all that
//! follows end later still; so of two ways that have used the same numbers of segments, one that is nowhere behind
//! the other makes the other needless ([`Front`]). What is left over are the few ways that none other covers, and
//! following all of them decides the question.
//!
//! For each `K` the earliest `T` is then found by halving, to [`NARROW`] of itself. The number of ways grows with the
//! power of the number of sets. Two sets of eight segments stay below what
//! [`MOST_WAYS`] allows; where there are more, those that have the fewest bytes left are followed, and after
//! [`MOST_WORK`] the search ends with the best by then. The result then says that it may not be the optimum.

use super::cluster::Contention;
use super::plan::Plan;
use super::split::{Clock, Step, best};
use crate::sim::collective::AllReduce;
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// The part of the time down to which the optimum is narrowed.
const NARROW: f64 = 1e-8;

/// Steps onward that are looked at for one question at most: for each segment, as many ways as that leaves are followed.
const MOST_WAYS: usize = 20_000;

/// Ways that are looked at in all, times the square of the sets, of which each tells: about a second.
const MOST_WORK: usize = 10_000_000;

/// A split of several sets.
#[derive(Debug, Clone, PartialEq)]
pub struct JointSplit {
    /// One past the last gradient of each segment, for each set.
    pub ends: Vec<Vec<usize>>,
    /// End of the step.
    pub end_us: f64,
    /// Whether no other split ends earlier; else there were too many ways to follow all.
    pub is_optimum: bool,
}

/// The split of a step into at most `most` segments of each set that ends first, and not after any of `known` that has
/// no more. `None` where there is no gradient, or `most` is 0. Once `is_over` says so, the best by then is the answer.
pub fn best_of_sets(
    step: &Step,
    cost: AllReduce,
    contention: Contention,
    most: usize,
    known: &[Vec<Vec<usize>>],
    is_over: &dyn Fn() -> bool,
) -> Option<JointSplit> {
    let alone = step.parts().iter().map(|part| best(part, cost, contention, most)).collect::<Option<Vec<_>>>()?;
    let first: Vec<Vec<usize>> = alone.iter().map(|split| split.ends.clone()).collect();
    if let ([ends], [split]) = (first.as_slice(), alone.as_slice()) {
        return Some(JointSplit { ends: vec![ends.clone()], end_us: split.end_us, is_optimum: true });
    }
    let end_of = |ends: &[Vec<usize>]| Plan::of(step, cost, contention, ends).end_us;
    let mut found = JointSplit { end_us: end_of(&first), ends: first, is_optimum: true };
    for ends in known.iter().filter(|ends| ends.iter().all(|of_set| of_set.len() <= most)) {
        let end_us = end_of(ends);
        if end_us < found.end_us {
            found = JointSplit { ends: ends.clone(), end_us, is_optimum: true };
        }
    }
    let search = Search::new(step, cost, contention, most, is_over);
    let least = step.sets.iter().filter(|members| !members.is_empty()).count();
    for segments in least..=search.most.iter().sum() {
        search.improve(segments, &mut found, &end_of);
    }
    Some(found)
}

/// What is known of the sets, by the exchange's clock.
struct Search<'a> {
    is_over: &'a dyn Fn() -> bool,
    /// Work that is left of [`MOST_WORK`].
    budget: Cell<usize>,
    clock: Clock,
    cost: AllReduce,
    /// For each set when its gradients are ready, and the bytes behind the first so many of them.
    ready: Vec<Vec<f64>>,
    behind: Vec<Vec<f64>>,
    /// Segments of each set at most.
    most: Vec<usize>,
}

/// Where a way has come to: how many gradients of each set are exchanged, and in how many segments.
#[derive(Debug, Clone)]
struct Way {
    closed: Vec<usize>,
    used: Vec<usize>,
    /// Bytes that are left.
    open: f64,
    /// The step that it was before, and the set whose segment was the last.
    from: Option<(usize, usize)>,
}

impl<'a> Search<'a> {
    fn new(
        step: &Step,
        cost: AllReduce,
        contention: Contention,
        most: usize,
        is_over: &'a dyn Fn() -> bool,
    ) -> Search<'a> {
        let clock = Clock::new(contention, step.backward_us);
        let parts = step.parts();
        let behind = |part: &Step| {
            let sums = part.sums();
            let all = sums.last().copied().unwrap_or(0.0);
            sums.iter().map(|sum| all - sum).collect()
        };
        Search {
            is_over,
            budget: Cell::new(MOST_WORK),
            clock,
            cost,
            ready: parts.iter().map(|part| part.ready_us.iter().map(|&us| clock.at(us)).collect()).collect(),
            behind: parts.iter().map(behind).collect(),
            most: parts.iter().map(|part| most.min(part.bytes.len())).collect(),
        }
    }

    /// Puts the best split into so many segments in place of the one that is known, where it ends earlier.
    fn improve(&self, segments: usize, found: &mut JointSplit, end_of: &impl Fn(&[Vec<usize>]) -> f64) {
        let bytes: f64 = self.behind.iter().filter_map(|behind| behind.first()).sum();
        let work = self.cost.start_us.mul_add(segments as f64, self.cost.us_per_byte * bytes);
        // No split ends before the backward pass, nor before all is exchanged without a pause.
        let mut least = self.clock.backward_end(work).max(self.clock.time(work, work));
        let mut wanted = found.end_us * (1.0 - NARROW);
        let mut is_first = true;
        while wanted >= least && (is_first || found.end_us - least > NARROW * found.end_us) {
            let (ends, is_whole) = self.within(self.clock.clock(wanted, work), segments);
            found.is_optimum &= is_whole || ends.is_some();
            match ends.map(|ends| (end_of(&ends), ends)) {
                Some((end_us, ends)) if end_us < found.end_us => (found.end_us, found.ends) = (end_us, ends),
                _ if is_first => return,
                _ => least = wanted,
            }
            is_first = false;
            wanted = f64::midpoint(least, found.end_us);
        }
    }

    /// Segments of which the last ends at `end` by the clock, or before; and whether every way was followed.
    fn within(&self, end: f64, segments: usize) -> (Option<Vec<Vec<usize>>>, bool) {
        let sets = self.ready.len();
        let mut steps: Vec<Way> = vec![Way {
            closed: vec![0; sets],
            used: vec![0; sets],
            open: self.behind.iter().filter_map(|behind| behind.first()).sum(),
            from: None,
        }];
        let (mut ways, mut is_whole) = (0..1, true);
        for left in (1..=segments).rev() {
            let work = ways.len() * sets * sets;
            let budget = self.budget.get();
            self.budget.set(budget.saturating_sub(work));
            if budget < work || (self.is_over)() {
                return (None, false);
            }
            let mut front = Front::default();
            for at in ways {
                let way = &steps[at];
                let limit = end - self.cost.start_us.mul_add(left as f64, self.cost.us_per_byte * way.open);
                for set in 0..sets {
                    if let Some(next) = self.onward(way, at, set, limit) {
                        if next.closed.iter().zip(&self.ready).all(|(closed, ready)| *closed == ready.len()) {
                            steps.push(next);
                            return (Some(ends_of(&steps, sets)), is_whole);
                        }
                        front.add(next);
                    }
                }
            }
            let begin = steps.len();
            is_whole &= front.take((MOST_WAYS / (sets * segments).max(1)).max(1), &mut steps);
            ways = begin..steps.len();
        }
        (None, is_whole)
    }

    /// The way on with a segment of this set, of all that is ready by then.
    fn onward(&self, way: &Way, at: usize, set: usize, limit: f64) -> Option<Way> {
        let (ready, closed) = (&self.ready[set], way.closed[set]);
        if way.used[set] == self.most[set] || ready.get(closed).is_none_or(|first| *first > limit) {
            return None;
        }
        let until = closed + ready[closed..].partition_point(|us| *us <= limit);
        let mut next = Way { from: Some((at, set)), ..way.clone() };
        next.closed[set] = until;
        next.used[set] += 1;
        next.open = next.closed.iter().zip(&self.behind).map(|(closed, behind)| behind[*closed]).sum();
        Some(next)
    }
}

/// The segments' ends on the way that was added last.
fn ends_of(steps: &[Way], sets: usize) -> Vec<Vec<usize>> {
    let mut ends = vec![Vec::new(); sets];
    let mut way = steps.last();
    while let Some((at, set, current)) = way.and_then(|way| way.from.map(|(at, set)| (at, set, way))) {
        ends[set].push(current.closed[set]);
        way = steps.get(at);
    }
    for ends in &mut ends {
        ends.reverse();
    }
    ends
}

/// Ways with equally many segments, none of which is behind another of the same numbers in every set.
#[derive(Default)]
struct Front(FxHashMap<Vec<usize>, Vec<Way>>);

impl Front {
    fn add(&mut self, way: Way) {
        let covers = |one: &Way, other: &Way| one.closed.iter().zip(&other.closed).all(|(a, b)| a >= b);
        let known = self.0.entry(way.used.clone()).or_default();
        if !known.iter().any(|one| covers(one, &way)) {
            known.retain(|one| !covers(&way, one));
            known.push(way);
        }
    }

    /// Moves the ways behind the others, at most so many: those with the fewest bytes left. Returns whether all are.
    fn take(self, most: usize, steps: &mut Vec<Way>) -> bool {
        let mut ways: Vec<Way> = self.0.into_values().flatten().collect();
        let is_whole = ways.len() <= most;
        // The numbers of segments decide between equals: the same ways whatever the order of the table.
        ways.sort_by(|a, b| a.open.total_cmp(&b.open).then_with(|| a.used.cmp(&b.used)));
        ways.truncate(most);
        steps.append(&mut ways);
        is_whole
    }
}
