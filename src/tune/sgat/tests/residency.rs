//! What a group holds in L2.

use super::{Plan, Sketch, sketches, with_network};
use crate::lower::Source;
use crate::soc::Soc;
use crate::tune::sgat::network::Network;
use crate::tune::sgat::price::Pricer;
use crate::tune::sgat::solve;
use proptest::prelude::*;
use std::ops::Range;

/// Bytes that a group holds while one of its kernels runs on one part of the batch, by definition: what was made in
/// it and is read here or later in it, what is made here, and what comes from outside for this kernel.
fn held(network: &Network<'_>, group: &Range<u32>, parts: u64, at: u32) -> u64 {
    let waits = |&maker: &u32| {
        maker == at || maker < at && network.stage(maker).users.iter().any(|&user| user >= at && user < group.end)
    };
    let made: u64 = (group.start..=at).filter(waits).map(|maker| network.stage(maker).written / parts).sum();
    let stage = network.stage(at);
    let mut seen = Vec::new();
    let mut outside = 0;
    for read in &stage.reads {
        let is_inside = matches!(read.source, Source::Kernel(maker) if group.contains(&maker));
        if !is_inside && !seen.contains(&read.origin) {
            outside += if network.carries(read) { read.bytes / parts } else { read.bytes };
            seen.push(read.origin);
        }
    }
    made + outside
}

/// A chain of so many kernels that none is fused with, and as many sums that read them from the last to the first.
fn skips(depth: usize, batch: i64, columns: i64) -> Sketch {
    let down = (0..depth).map(|at| Plan { op: 5, reads: [at, at] });
    // The first sum reads the last two of the chain, each later one the sum before it.
    let up = (1..depth).map(|at| Plan { op: 2, reads: [depth + at - 1, depth - at] });
    Sketch { batch, columns, plans: down.chain(up).collect(), outputs: vec![2 * depth - 1] }
}

#[test]
fn a_group_holds_its_skips_until_they_are_read() {
    let mut soc = Soc::find("Ascend310P3").unwrap();
    // 8 rows of 1 MiB: cut into 8, one tensor is 1 MiB. Where the fifth of the chain is made, the four before it wait,
    // and three of them still where the first sum of two is made.
    with_network(&skips(5, 4, 1 << 19), &soc.clone(), |_, _, network| {
        let all = 0..network.stages().len() as u32;
        assert_eq!([4, 5, 6].map(|at| held(network, &all, 8, at) >> 20), [5, 6, 5]);
        for (l2_size, parts, fits) in
            [(6 << 20, 8, true), ((6 << 20) - 1, 8, false), (12 << 20, 4, true), (11 << 20, 4, false)]
        {
            soc.l2_size = l2_size;
            let pricer = Pricer::new(network, &soc);
            assert_eq!(pricer.run(&all, parts).is_some(), fits, "{parts} parts in {l2_size} bytes");
            // No two kernels next to each other hold more than three tensors.
            assert!(pricer.run(&(2..4), parts).is_some());
        }
    });
}

#[test]
fn of_long_skips_what_l2_cannot_hold_comes_from_memory() {
    // Of 64 MiB each a part has 1 MiB at least: L2 holds 16. Where the last of a chain of 24 is made all 24 wait to be
    // read, so that 8 of them go to memory and come back.
    let soc = Soc::find("Ascend310P3").unwrap();
    with_network(&skips(24, 1 << 14, 1 << 10), &soc, |_, _, network| {
        let mut pricer = Pricer::new(network, &soc);
        let mut from_memory = 0.0;
        for case in solve(network, &soc, true).unwrap() {
            for group in case.after.groups {
                let traffic = group.scopes.iter().map(|members| pricer.traffic(members, group.run).unwrap());
                from_memory += traffic.map(|traffic| traffic.from_memory).sum::<f64>();
            }
        }
        // A kernel finds in L2 a little of what it reads from memory.
        let least = 0.9 * f64::from(8 * 2 * (64 << 20));
        assert!(from_memory > least, "{from_memory} of {least} bytes");
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_cut_group_holds_more_than_l2(sketch in sketches(14), mixed: bool) {
        let soc = Soc::find("Ascend310P3").unwrap();
        with_network(&sketch, &soc, |_, _, network| {
            for group in solve(network, &soc, mixed).unwrap().iter().flat_map(|case| &case.after.groups) {
                let run = group.run;
                if run.parts > 1 {
                    let most = group.kernels.clone().map(|at| held(network, &group.kernels, run.parts, at)).max().unwrap();
                    prop_assert!(most <= soc.l2_size, "{most} bytes in {group:?}");
                    let weights: u64 = group.kernels.clone().flat_map(|at| &network.stage(at).reads)
                        .filter(|read| read.source == Source::Constant).map(|read| read.bytes).sum();
                    let beside = group.kernels.clone().map(|at| {
                        let own: u64 = network.stage(at).reads.iter()
                            .filter(|read| read.source == Source::Constant).map(|read| read.bytes).sum();
                        held(network, &group.kernels, run.parts, at) - own
                    });
                    prop_assert_eq!(run.keeps_weights, weights + beside.max().unwrap() <= soc.l2_size);
                }
            }
            Ok(())
        })?;
    }
}
