//! The best split of several sets is the best, by enumeration.

use super::{all_splits, contentions, costs, near, simulated, steps};
use crate::sim::collective::AllReduce;
use crate::tune::gdat::{Contention, Plan, Step, best, best_of_sets};
use proptest::prelude::*;

/// A step whose gradients are of up to three sets.
fn mixed(most: usize) -> impl Strategy<Value = Step> {
    (steps(most), prop::collection::vec(0usize..3, most)).prop_map(|(step, which)| {
        let of = |set: usize| (0..step.bytes.len()).filter(|&at| which[at] == set).collect::<Vec<_>>();
        let sets = (0..3).map(of).filter(|members| !members.is_empty()).collect();
        Step { sets, ..step }
    })
}

/// Every way to cut each set into at most `most` segments.
fn all_of_sets(step: &Step, most: usize) -> Vec<Vec<Vec<usize>>> {
    step.sets.iter().fold(vec![Vec::new()], |known, members| {
        let splits = all_splits(members.len(), most);
        let with = |ends: &Vec<Vec<usize>>| -> Vec<_> {
            splits.iter().map(|split| ends.iter().chain([split]).cloned().collect()).collect()
        };
        known.iter().flat_map(with).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_split_of_several_sets_ends_before_the_one_that_is_found(
        step in mixed(11), cost in costs(), contention in contentions(), most in 1usize..6,
    ) {
        let found = best_of_sets(&step, cost, contention, most, &[], &|| false).unwrap();
        prop_assert!(found.is_optimum);
        let end = Plan::of(&step, cost, contention, &found.ends).end_us;
        prop_assert!(near(end, found.end_us), "{end} {}", found.end_us);
        for (ends, members) in found.ends.iter().zip(&step.sets) {
            prop_assert!(ends.len() <= most && ends.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(ends.last(), Some(&members.len()));
        }
        for ends in all_of_sets(&step, most) {
            let end = Plan::of(&step, cost, contention, &ends).end_us;
            prop_assert!(found.end_us <= end + 1e-6 * end.max(1.0), "{:?} {} against {ends:?} {end}", found.ends, found.end_us);
        }
    }

    #[test]
    fn plans_of_several_sets_end_when_a_simulation_in_plain_time_does(
        step in mixed(9), cost in costs(), contention in contentions(), cut in any::<u32>(),
    ) {
        let splits = all_of_sets(&step, 9);
        let ends = &splits[cut as usize % splits.len()];
        let plan = Plan::of(&step, cost, contention, ends);
        let plain = simulated(&step, cost, contention, ends);
        prop_assert!(near(plan.end_us, plain), "{} against {plain}", plan.end_us);
        for pair in plan.segments.windows(2) {
            prop_assert!(pair[0].end_us <= pair[1].start_us + 1e-9, "one segment at a time");
            prop_assert!(pair[0].ready_us <= pair[1].ready_us + 1e-9, "in the order in which they are ready");
        }
    }

    #[test]
    fn two_sets_never_end_before_one_that_may_be_fused_throughout(
        step in mixed(60), cost in costs(), contention in contentions(), most in 2usize..5,
    ) {
        let found = best_of_sets(&step, cost, contention, most, &[], &|| false).unwrap();
        let one = best(&step, cost, contention, most * step.sets.len()).unwrap();
        prop_assert!(one.end_us <= found.end_us + 1e-6 * found.end_us.max(1.0));
    }

}

proptest! {
    // Each takes long: with so many sets not all ways can be followed.
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn a_known_split_is_never_undercut_however_many_sets_there_are(
        step in steps(40), cost in costs(), contention in contentions(), sets in 4usize..9, cut in any::<u32>(),
    ) {
        let members = |set: usize| (0..step.bytes.len()).filter(|at| at % sets == set).collect::<Vec<_>>();
        let step = Step { sets: (0..sets).map(members).filter(|members| !members.is_empty()).collect(), ..step.clone() };
        let any_of = |members: &Vec<usize>| {
            let splits = all_splits(members.len(), 8);
            splits[cut as usize % splits.len()].clone()
        };
        let known: Vec<Vec<usize>> = step.sets.iter().map(any_of).collect();
        let end = Plan::of(&step, cost, contention, &known).end_us;
        let found = best_of_sets(&step, cost, contention, 8, &[known], &|| false).unwrap();
        prop_assert!(found.end_us <= end);
    }
}

#[test]
fn one_set_is_split_as_by_itself_and_none_without_gradients() {
    let step = Step::new((1..=10).map(f64::from).collect(), vec![1000; 10], 10.0);
    let cost = AllReduce { start_us: 0.5, us_per_byte: 1e-3 };
    let alone = best(&step, cost, Contention::default(), 8).unwrap();
    let found = best_of_sets(&step, cost, Contention::default(), 8, &[], &|| false).unwrap();
    assert_eq!(
        (found.ends, found.end_us.to_bits(), found.is_optimum),
        (vec![alone.ends], alone.end_us.to_bits(), true)
    );
    assert_eq!(best_of_sets(&step, cost, Contention::default(), 0, &[], &|| false), None);
}

#[test]
fn segments_of_two_sets_make_way_for_each_other() {
    // Eight gradients a microsecond apart, of two sets by turns, each a microsecond to exchange and half a one to begin.
    let sets = [0, 1].map(|set| (0..8).filter(|at| at % 2 == set).collect()).to_vec();
    let step = Step { sets, ..Step::new((1..=8).map(f64::from).collect(), vec![1000; 8], 8.0) };
    let cost = AllReduce { start_us: 0.5, us_per_byte: 1e-3 };
    let end = |ends: &[Vec<usize>]| Plan::of(&step, cost, Contention::default(), ends).end_us;
    let found = best_of_sets(&step, cost, Contention::default(), 8, &[], &|| false).unwrap();
    let least = all_of_sets(&step, 8).iter().map(|ends| end(ends)).fold(f64::INFINITY, f64::min);
    assert!(near(found.end_us, least));
    // Each set's own best forgets that the other needs the links too.
    let alone: Vec<_> =
        step.parts().iter().map(|part| best(part, cost, Contention::default(), 8).unwrap().ends).collect();
    assert!(found.end_us < end(&alone) - 0.1, "{} {}", found.end_us, end(&alone));
}

#[test]
fn no_set_has_more_segments_than_it_may_whatever_is_known() {
    let sets = [0, 1].map(|set| (0..8).filter(|at| at % 2 == set).collect()).to_vec();
    let step = Step { sets, ..Step::new((1..=8).map(f64::from).collect(), vec![1000; 8], 8.0) };
    let cost = AllReduce { start_us: 0.1, us_per_byte: 1e-3 };
    let known = vec![vec![2, 4]; 2];
    for most in 1..=3 {
        let found =
            best_of_sets(&step, cost, Contention::default(), most, std::slice::from_ref(&known), &|| false).unwrap();
        assert!(found.ends.iter().all(|ends| ends.len() <= most), "{most}: {:?}", found.ends);
    }
}

#[test]
fn a_search_that_is_ended_or_has_very_many_sets_answers_with_a_split_and_says_so() {
    let many = |sets: usize| {
        let members = (0..sets).map(|set| (0..10 * sets).filter(|at| at % sets == set).collect()).collect();
        let times = (1..=10 * sets).map(|at| at as f64).collect();
        Step { sets: members, ..Step::new(times, vec![1000; 10 * sets], 10.0 * sets as f64) }
    };
    let cost = AllReduce { start_us: 0.5, us_per_byte: 1e-3 };
    for (sets, is_over) in [(2, true), (64, false)] {
        let step = many(sets);
        let found = best_of_sets(&step, cost, Contention::default(), 8, &[], &|| is_over).unwrap();
        assert!(!found.is_optimum);
        let end_us = Plan::of(&step, cost, Contention::default(), &found.ends).end_us;
        assert_eq!(found.end_us.to_bits(), end_us.to_bits());
    }
}
