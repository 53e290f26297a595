//! What a split means in time: when each segment starts and ends, and what is left behind the backward pass.

use super::cluster::Contention;
use super::split::{Clock, Step};
use crate::sim::collective::AllReduce;
use std::ops::Range;

/// A step as it runs with a split. Times are microseconds from where the step's gradients count from.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The segments, in the order in which they are exchanged.
    pub segments: Vec<Segment>,
    /// When the backward pass is over, slowed down by the exchange.
    pub backward_us: f64,
    /// When the step is over: the backward pass and the last segment.
    pub end_us: f64,
}

/// One segment: consecutive gradients of a set that are exchanged at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Their set.
    pub set: usize,
    /// Its gradients, by their places in the set.
    pub gradients: Range<usize>,
    /// Their bytes.
    pub bytes: u64,
    /// When the last of them is ready.
    pub ready_us: f64,
    /// When the exchange begins.
    pub start_us: f64,
    /// When it is through.
    pub end_us: f64,
}

impl Plan {
    /// How a step of one set runs whose segments end at `ends`, the last one at the number of gradients.
    pub fn new(step: &Step, cost: AllReduce, contention: Contention, ends: &[usize]) -> Plan {
        Plan::of(step, cost, contention, &[ends])
    }

    /// How a step runs where the segments of each set end at `ends`, the last one at the number of its gradients. The
    /// links carry one segment at a time, in the order in which they are ready.
    pub fn of(step: &Step, cost: AllReduce, contention: Contention, ends: &[impl AsRef<[usize]>]) -> Plan {
        let clock = Clock::new(contention, step.backward_us);
        let mut works = Works::default();
        let mut plan = Plan { segments: Vec::new(), backward_us: 0.0, end_us: 0.0 };
        for (set, gradients, last) in queue(step, ends) {
            let bytes = step.sets[set][gradients.clone()].iter().map(|&at| step.bytes[at]).sum();
            let ready = clock.at(step.ready_us[last]);
            let before = works.all();
            let (start, end) = works.add(ready, cost.us(bytes as f64));
            plan.segments.push(Segment {
                set,
                gradients,
                bytes,
                ready_us: clock.time(ready, works.until(ready)),
                start_us: clock.time(start, before),
                end_us: clock.time(end, works.all()),
            });
        }
        plan.backward_us = clock.backward_end(works.until(clock.at(step.backward_us)));
        plan.end_us = plan.segments.last().map_or(plan.backward_us, |last| last.end_us.max(plan.backward_us));
        plan
    }

    /// The time that the exchange goes on after the last backward operator.
    pub fn trailing_us(&self) -> f64 {
        self.end_us - self.backward_us
    }

    /// The segments of one set, in order.
    pub fn of_set(&self, set: usize) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(move |segment| segment.set == set)
    }

    /// One past the last gradient of each segment of one set.
    pub fn ends(&self, set: usize) -> Vec<usize> {
        self.of_set(set).map(|segment| segment.gradients.end).collect()
    }

    /// The split of one set as `set_split_strategy_by_idx` takes it: the last gradient of each segment, counted from 0.
    pub fn by_idx(&self, set: usize) -> Vec<usize> {
        self.of_set(set).map(|segment| segment.gradients.end.saturating_sub(1)).collect()
    }

    /// The split of one set as `set_split_strategy_by_size` takes it: the share of each segment in per cent, to four
    /// decimals, or to as many as show the smallest; the shares add up to 100.
    pub fn by_size(&self, set: usize) -> Vec<f64> {
        shares(&self.of_set(set).map(|segment| segment.bytes).collect::<Vec<_>>())
    }

    /// The share of each segment in the bytes of all sets, in the same way.
    pub fn shares(&self) -> Vec<f64> {
        shares(&self.segments.iter().map(|segment| segment.bytes).collect::<Vec<_>>())
    }
}

/// Shares of these bytes in per cent, which add up to 100: to four decimals, or to as many as show the smallest.
fn shares(bytes: &[u64]) -> Vec<f64> {
    let total = bytes.iter().sum::<u64>().max(1) as f64;
    let rounded = |whole: f64| -> Vec<f64> {
        let (mut sum, mut told) = (0u64, 0.0);
        let parts = bytes.iter().map(|bytes| {
            sum += bytes;
            let until = (sum as f64 / total * whole).round();
            until - std::mem::replace(&mut told, until)
        });
        parts.map(|part| part / (whole / 100.0)).collect()
    };
    let mut whole = 1e6;
    // Beyond this a double has no digits left.
    while whole < 1e14 && rounded(whole).contains(&0.0) {
        whole *= 10.0;
    }
    rounded(whole)
}

/// The segments in the order in which they are exchanged, with their set, their place in it and their last gradient.
fn queue(step: &Step, ends: &[impl AsRef<[usize]>]) -> Vec<(usize, Range<usize>, usize)> {
    let of_set = |(set, (members, ends)): (usize, (&Vec<usize>, &[usize]))| {
        let mut begin = 0;
        let segments = ends.iter().map(|&end| (set, std::mem::replace(&mut begin, end)..end));
        let named = segments.filter_map(|(set, range)| Some((set, range.clone(), *members.get(range)?.last()?)));
        named.collect::<Vec<_>>()
    };
    let sets = step.sets.iter().zip(ends.iter().map(AsRef::as_ref)).enumerate();
    let mut queue: Vec<_> = sets.flat_map(of_set).collect();
    queue.sort_by_key(|(_, _, last)| *last);
    queue
}

/// When each segment began by the exchange's clock, and the work in it.
#[derive(Default)]
struct Works(Vec<(f64, f64)>);

impl Works {
    /// Exchanges as much as takes `work` alone once it is ready and the one before is through; returns begin and end.
    fn add(&mut self, ready: f64, work: f64) -> (f64, f64) {
        let through = self.0.last().map_or(0.0, |(start, work)| start + work);
        let start = through.max(ready);
        self.0.push((start, work));
        (start, start + work)
    }

    fn all(&self) -> f64 {
        self.0.iter().map(|(_, work)| work).sum()
    }

    /// Work done when the clock shows `clock`.
    fn until(&self, clock: f64) -> f64 {
        self.0.iter().map(|&(start, work)| (clock - start).clamp(0.0, work)).sum()
    }
}

/// When each gradient is ready as the step runs.
pub fn ready_times(step: &Step, cost: AllReduce, contention: Contention, plan: &Plan) -> Vec<f64> {
    moments(step, cost, contention, plan, &step.ready_us)
}

/// When the step, as it runs, has computed so many microseconds' worth of its passes, for each of these.
pub fn moments(step: &Step, cost: AllReduce, contention: Contention, plan: &Plan, computed_us: &[f64]) -> Vec<f64> {
    let clock = Clock::new(contention, step.backward_us);
    let mut works = Works::default();
    for segment in &plan.segments {
        let Some(&last) = step.sets[segment.set][segment.gradients.clone()].last() else { continue };
        works.add(clock.at(step.ready_us[last]), cost.us(segment.bytes as f64));
    }
    let moment = |&us: &f64| clock.time(clock.at(us), works.until(clock.at(us)));
    computed_us.iter().map(moment).collect()
}
