//! CANN's rule is followed to the letter, however fast.

use super::super::known::CannCost;
use crate::bank::gradient::Gradients;
use crate::tune::gdat::{Cluster, from_bank};
use proptest::prelude::*;

/// The rule as it is told: from every first segment on, gradient by gradient. `exact` says whether sums are of whole bytes
/// and nanoseconds; else they are summed up in single precision.
fn plain(entry: &Gradients, cluster: &Cluster, exact: bool) -> Option<Vec<usize>> {
    let (n, cost) = (entry.size.len(), CannCost::of(cluster));
    let mut time = entry.time.clone();
    time[0] = 0;
    let add = |list: &[u64], unit: f32| {
        if exact {
            list.iter().map(|&x| u128::from(x)).sum::<u128>() as f32 / unit
        } else {
            list.iter().map(|&x| x as f32 / unit).sum::<f32>()
        }
    };
    let mib = |from: usize, to: usize| add(&entry.size[from..to], 1024.0 * 1024.0);
    let ms = |from: usize, to: usize| add(&time[from..to], 1e6);
    let mut best = (cost.ms(mib(0, n)), None);
    for first in 1..n {
        let mut previous = cost.ms(mib(0, first));
        let mut trailing = previous + ms(0, first);
        let mut ends = vec![first];
        while let Some(&begin) = ends.last().filter(|end| **end < n) {
            let mut end = begin;
            while end < n && ms(begin, end + 1) <= previous + cost.startup_ms {
                end += 1;
            }
            if end == begin {
                end += 1;
                trailing += ms(begin, end) - previous;
            }
            previous = cost.ms(mib(begin, end));
            trailing += previous;
            ends.push(end);
        }
        trailing -= ms(0, n);
        if ends.len() <= 8 && trailing < best.0 {
            best = (trailing, Some(ends));
        }
    }
    best.1
}

fn entries() -> impl Strategy<Value = Gradients> {
    // Few distinct values make ties; zeros, gradients that are ready at once; the largest ones, sums beyond 64 bits.
    let time = prop_oneof![
        4 => 0u64..400_000,
        3 => (0u64..5).prop_map(|n| n * 50_000),
        1 => Just(0u64),
        1 => prop_oneof![1 => Just(u64::MAX), 9 => 0u64..50_000_000],
    ];
    let size = prop_oneof![
        4 => 0u64..8_000_000,
        3 => (0u64..5).prop_map(|n| n << 20),
        1 => prop_oneof![1 => Just(u64::MAX), 9 => 0u64..400_000_000],
    ];
    prop::collection::vec((time, size), 2..120).prop_map(|list| Gradients {
        time: list.iter().map(|g| g.0).collect(),
        size: list.iter().map(|g| g.1).collect(),
    })
}

fn clusters() -> impl Strategy<Value = Cluster> {
    (2u64..70).prop_map(Cluster::of_devices)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn canns_rule_gives_what_it_gives_gradient_by_gradient(entry in entries(), cluster in clusters()) {
        prop_assert_eq!(from_bank(&entry, &cluster), plain(&entry, &cluster, true));
    }
}

#[test]
fn sums_of_whole_numbers_cut_as_sums_in_single_precision_do() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut cut = 0;
    for round in 0..200 {
        let list: Vec<_> = (0..161).map(|_| (random.u64(100..120_000), 4 * random.u64(64..600_000))).collect();
        let entry = Gradients { time: list.iter().map(|g| g.0).collect(), size: list.iter().map(|g| g.1).collect() };
        let cluster = Cluster::of_devices(2 + round % 7);
        let ends = from_bank(&entry, &cluster);
        cut += usize::from(ends.is_some());
        assert_eq!(ends, plain(&entry, &cluster, false), "round {round}");
    }
    assert!(cut > 100, "{cut} of 200 are cut");
}
