//! What a split means in time: when each segment starts and ends, and what is left behind the backward pass.

use super::cluster::Contention;
use super::split::{Clock, Step};
use crate::sim::collective::AllReduce;
use std::ops::Range;

/// A step as it runs with a split. Times are microseconds from where the step's gradients count from.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The segments, in order.
    pub segments: Vec<Segment>,
    /// When the backward pass is over, slowed down by the exchange.
    pub backward_us: f64,
    /// When the step is over: the backward pass and the last segment.
    pub end_us: f64,
}

/// One segment: consecutive gradients that are exchanged at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Its gradients.
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
    /// How a step runs whose segments end at `ends`, the last one at the number of gradients.
    pub fn new(step: &Step, cost: AllReduce, contention: Contention, ends: &[usize]) -> Plan {
        let clock = Clock::new(contention, step.backward_us);
        let mut works = Works::default();
        let (mut begin, mut now) = (0, 0.0f64);
        let mut plan = Plan { segments: Vec::with_capacity(ends.len()), backward_us: 0.0, end_us: 0.0 };
        for &end in ends {
            let gradients = begin..end;
            begin = end;
            let bytes = step.bytes[gradients.clone()].iter().sum();
            let ready = gradients.clone().next_back().map_or(now, |last| clock.at(step.ready_us[last]));
            let (work, start) = (cost.us(bytes as f64), now.max(ready));
            let before = works.all();
            works.0.push((start, work));
            now = start + work;
            plan.segments.push(Segment {
                gradients,
                bytes,
                ready_us: clock.time(ready, works.until(ready)),
                start_us: clock.time(start, before),
                end_us: clock.time(now, works.all()),
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

    /// One past the last gradient of each segment.
    pub fn ends(&self) -> Vec<usize> {
        self.segments.iter().map(|segment| segment.gradients.end).collect()
    }

    /// The split as `set_split_strategy_by_idx` takes it: the last gradient of each segment, counted from 0.
    pub fn by_idx(&self) -> Vec<usize> {
        self.segments.iter().map(|segment| segment.gradients.end.saturating_sub(1)).collect()
    }

    /// The split as `set_split_strategy_by_size` takes it: the share of each segment in per cent, to four decimals; the
    /// shares add up to 100.
    pub fn by_size(&self) -> Vec<f64> {
        const WHOLE: f64 = 1e6;
        let total: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        let (mut sum, mut told) = (0u64, 0.0);
        let share = |segment: &Segment| {
            sum += segment.bytes;
            let until = (sum as f64 / total.max(1) as f64 * WHOLE).round();
            let share = until - told;
            told = until;
            share / (WHOLE / 100.0)
        };
        self.segments.iter().map(share).collect()
    }
}

/// When each segment began by the exchange's clock, and the work in it.
#[derive(Default)]
struct Works(Vec<(f64, f64)>);

impl Works {
    fn all(&self) -> f64 {
        self.0.iter().map(|(_, work)| work).sum()
    }

    /// Work done when the clock shows `clock`.
    fn until(&self, clock: f64) -> f64 {
        self.0.iter().map(|&(start, work)| (clock - start).clamp(0.0, work)).sum()
    }
}

/// When each gradient is ready as the step runs.
pub fn ready_times(step: &Step, cost: AllReduce, contention: Contention, ends: &[usize]) -> Vec<f64> {
    let clock = Clock::new(contention, step.backward_us);
    let mut works = Works::default();
    let (mut begin, mut now) = (0, 0.0f64);
    for &end in ends.iter().filter(|end| **end > 0) {
        let start = now.max(clock.at(step.ready_us[end - 1]));
        let work = cost.us(step.bytes[begin..end].iter().sum::<u64>() as f64);
        works.0.push((start, work));
        (begin, now) = (end, start + work);
    }
    let ready = |&us: &f64| clock.time(clock.at(us), works.until(clock.at(us)));
    step.ready_us.iter().map(ready).collect()
}
