//! The best split is the best, by enumeration and by an independent simulation.

mod cluster;
mod graph;
mod joint;
mod recording;
mod rule;

use super::*;
use crate::sim::collective::AllReduce;
use proptest::prelude::*;

/// A step of a few gradients: what is ready when, and how large it is.
fn steps(most: usize) -> impl Strategy<Value = Step> {
    // Few distinct values make ties and gradients that are ready at once.
    let gradient = (0u32..12, 0u64..40);
    (prop::collection::vec(gradient, 1..=most), 0u32..20).prop_map(|(gradients, tail)| {
        let mut now = 0.0;
        let ready_us: Vec<f64> = gradients
            .iter()
            .map(|&(pause, _)| {
                now += f64::from(pause);
                now
            })
            .collect();
        Step::new(ready_us, gradients.iter().map(|g| g.1 * 100).collect(), now + f64::from(tail))
    })
}

fn costs() -> impl Strategy<Value = AllReduce> {
    (0u32..20, 0u32..30)
        .prop_map(|(start, byte)| AllReduce { start_us: f64::from(start) / 2.0, us_per_byte: f64::from(byte) / 1000.0 })
}

/// Slowdowns whose product is at most 1.
fn contentions() -> impl Strategy<Value = Contention> {
    prop_oneof![
        Just(Contention::default()),
        (0.0..2.0, 0.0..2.0).prop_map(|(s, x): (f64, f64)| Contention {
            compute_slowdown: s,
            exchange_slowdown: if s * x > 1.0 { 1.0 / s } else { x },
        }),
    ]
}

/// Every way to cut `n` gradients into at most `most` segments.
fn all_splits(n: usize, most: usize) -> Vec<Vec<usize>> {
    let cuts = |mask: u32| (1..n).filter(move |at| mask & (1 << (at - 1)) != 0);
    let masks = (0u32..1 << (n - 1)).filter(|mask| (mask.count_ones() as usize) < most);
    masks.map(|mask| cuts(mask).chain([n]).collect()).collect()
}

/// The end of a step by moving on from event to event in plain time: no clock, no closed form. What is ready first, and
/// of those the one whose last gradient comes first, is exchanged first.
fn simulated(step: &Step, cost: AllReduce, contention: Contention, ends: &[Vec<usize>]) -> f64 {
    let (mut now, mut computed) = (0.0f64, 0.0f64);
    let mut waiting: Vec<Vec<usize>> = Vec::new();
    for (members, ends) in step.sets.iter().zip(ends) {
        let begins = std::iter::once(&0).chain(ends);
        waiting.extend(begins.zip(ends).map(|(&begin, &end)| members[begin..end].to_vec()));
    }
    waiting.sort_by_key(|segment| std::cmp::Reverse(*segment.last().unwrap()));
    let mut work = None;
    loop {
        let ready_us = waiting.last().map(|segment| step.ready_us[*segment.last().unwrap()]);
        // Progress is summed up in floating point: ready is what is ready but for that.
        if work.is_none() && ready_us.is_some_and(|us| computed >= us - 1e-9) {
            let segment = waiting.pop().unwrap();
            work = Some(cost.us(segment.iter().map(|&at| step.bytes[at]).sum::<u64>() as f64));
        }
        let computing = computed < step.backward_us - 1e-9;
        let rates = match (computing, work) {
            (true, Some(_)) => (1.0 / (1.0 + contention.compute_slowdown), 1.0 / (1.0 + contention.exchange_slowdown)),
            _ => (1.0, 1.0),
        };
        let next = waiting.last().map(|segment| step.ready_us[*segment.last().unwrap()]);
        let target = if work.is_none() { next.unwrap_or(step.backward_us) } else { step.backward_us };
        let until_computed = computing.then(|| (target.min(step.backward_us) - computed) / rates.0);
        let until_exchanged = work.map(|left| left / rates.1);
        let Some(passed) = until_computed.into_iter().chain(until_exchanged).reduce(f64::min) else { return now };
        now += passed;
        if computing {
            computed += passed * rates.0;
        }
        if let Some(left) = work {
            let left = left - passed * rates.1;
            work = Some(left).filter(|&left| left > 1e-9);
        }
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(1.0)
}

proptest! {
    #![proptest_config(aoe_testing::cases(96))]

    #[test]
    fn no_split_of_up_to_fourteen_gradients_ends_before_the_one_that_is_found(
        step in steps(14), cost in costs(), contention in contentions(), most in 1usize..10,
    ) {
        let found = best(&step, cost, contention, most).unwrap();
        prop_assert!(found.ends.len() <= most);
        prop_assert!(found.ends.windows(2).all(|pair| pair[0] < pair[1]));
        let plan = Plan::new(&step, cost, contention, &found.ends);
        prop_assert!(near(plan.end_us, found.end_us), "{} {}", plan.end_us, found.end_us);
        for ends in all_splits(step.bytes.len(), most) {
            let end = Plan::new(&step, cost, contention, &ends).end_us;
            prop_assert!(found.end_us <= end + 1e-6 * end.max(1.0), "{:?} {} against {ends:?} {end}", found.ends, found.end_us);
        }
    }

    #[test]
    fn plans_end_when_a_simulation_in_plain_time_does(
        step in steps(10), cost in costs(), contention in contentions(), cut in any::<u32>(),
    ) {
        let splits = all_splits(step.bytes.len(), step.bytes.len());
        let ends = &splits[cut as usize % splits.len()];
        let plan = Plan::new(&step, cost, contention, ends);
        let plain = simulated(&step, cost, contention, std::slice::from_ref(ends));
        prop_assert!(near(plan.end_us, plain), "{} against {plain}", plan.end_us);
        for pair in plan.segments.windows(2) {
            prop_assert!(pair[0].end_us <= pair[1].start_us + 1e-9);
        }
        for segment in &plan.segments {
            prop_assert!(segment.ready_us <= segment.start_us + 1e-9 && segment.start_us <= segment.end_us + 1e-9);
        }
        let ready = ready_times(&step, cost, contention, &plan);
        prop_assert!(ready.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9));
        let lasts = plan.segments.iter().map(|s| (ready[s.gradients.end - 1], s.ready_us));
        // A segment's readiness counts the exchanges before it, which are all there are until then.
        for (a, b) in lasts {
            prop_assert!(near(a, b), "{a} {b}");
        }
    }

    #[test]
    fn the_best_split_of_many_gradients_is_never_worse_than_a_default_or_an_equal_one(
        step in steps(200), cost in costs(), contention in contentions(), most in 2usize..9,
    ) {
        let n = step.bytes.len();
        let found = best(&step, cost, contention, most).unwrap();
        let equal = (1..=most.min(n)).flat_map(|k| [uniform_by_count(n, k), uniform_by_size(&step, k)]);
        for ends in equal.chain([hccl_default(&step)]) {
            prop_assert!(ends.windows(2).all(|pair| pair[0] < pair[1]) && ends.last() == Some(&n), "{ends:?}");
            let end = Plan::new(&step, cost, contention, &ends).end_us;
            prop_assert!(found.end_us <= end + 1e-6 * end.max(1.0), "{ends:?}");
        }
    }

    #[test]
    fn no_share_by_size_is_nothing_however_small_the_segment(bytes in prop::collection::vec(1u64..1 << 40, 1..9)) {
        let step = Step::new(vec![0.0; bytes.len()], bytes.clone(), 0.0);
        let ends: Vec<usize> = (1..=bytes.len()).collect();
        let cost = AllReduce { start_us: 1.0, us_per_byte: 0.0 };
        let shares = Plan::new(&step, cost, Contention::default(), &ends).by_size(0);
        prop_assert!(shares.iter().all(|share| *share > 0.0), "{bytes:?}: {shares:?}");
        prop_assert!(near(shares.iter().sum(), 100.0));
    }

    #[test]
    fn shares_by_size_add_up_to_a_hundred(step in steps(60), cost in costs(), k in 1usize..9) {
        prop_assume!(step.bytes.iter().sum::<u64>() > 0);
        let ends = uniform_by_count(step.bytes.len(), k.min(step.bytes.len()));
        let plan = Plan::new(&step, cost, Contention::default(), &ends);
        prop_assert!(near(plan.by_size(0).iter().sum(), 100.0));
        prop_assert_eq!(plan.by_idx(0).last().copied(), Some(step.bytes.len() - 1));
    }
}

#[test]
fn a_first_segment_hides_behind_the_rest_of_the_backward_pass() {
    // Ten gradients a microsecond apart, each a microsecond to exchange: all at once trails by ten.
    let step = Step::new((1..=10).map(f64::from).collect(), vec![1000; 10], 10.0);
    let cost = AllReduce { start_us: 0.0, us_per_byte: 1e-3 };
    let trailing = |most| {
        let found = best(&step, cost, Contention::default(), most).unwrap();
        Plan::new(&step, cost, Contention::default(), &found.ends).trailing_us()
    };
    assert!(near(trailing(1), 10.0) && near(trailing(2), 5.0) && near(trailing(10), 1.0));
    assert_eq!(best(&step, cost, Contention::default(), 0), None);
}

#[test]
fn fewer_segments_win_where_more_gain_nothing() {
    let step = Step::new(vec![1.0, 2.0, 3.0], vec![10; 3], 1000.0);
    let cost = AllReduce { start_us: 1.0, us_per_byte: 0.1 };
    assert_eq!(best(&step, cost, Contention::default(), 8).unwrap().ends, [3]);
}

#[test]
fn the_default_of_hccl_is_the_cut_nearest_to_its_share() {
    let step = |bytes: &[u64]| Step::new(vec![0.0; bytes.len()], bytes.to_vec(), 0.0);
    assert_eq!(hccl_default(&step(&[9654, 346])), [1, 2]);
    assert_eq!(hccl_default(&step(&[1; 100])), [97, 100]);
    assert_eq!(hccl_default(&step(&[1, 1])), [1, 2]);
    assert_eq!(hccl_default(&step(&[1])), [1]);
    assert_eq!(hccl_default(&step(&[0, 0, 0])).len(), 2);
}
