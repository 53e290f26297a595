//! What a group holds in L2.

use super::{Plan, Sketch, sketches, with_network};
use crate::lower::Source;
use crate::soc::Soc;
use crate::tune::sgat::chains::chained_to;
use crate::tune::sgat::network::Network;
use crate::tune::sgat::price::Pricer;
use crate::tune::sgat::solve;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// The last kernels of the chains of a group that run as one, each with its chain.
fn chains(network: &Network<'_>, group: &Range<u32>) -> Vec<(u32, Vec<u32>)> {
    let mut chains: Vec<(u32, Vec<u32>)> = Vec::new();
    for at in group.clone() {
        let before = chained_to(network, at).and_then(|maker| chains.iter().position(|(last, _)| *last == maker));
        let (_, mut chain) = before.map_or_else(Default::default, |index| chains.remove(index));
        chain.push(at);
        chains.push((at, chain));
    }
    chains
}

/// Bytes that a group holds while the chain that ends with one of its kernels runs on one part of the batch, by
/// definition: what was made in the group and is read here or later in it, what is made here, and what comes from
/// outside for this chain.
fn held(network: &Network<'_>, group: &Range<u32>, parts: u64, at: u32) -> u64 {
    let chains = chains(network, group);
    let runs_at = |kernel: u32| chains.iter().find(|(_, chain)| chain.contains(&kernel)).map(|(last, _)| *last);
    let waits = |maker: u32| network.stage(maker).users.iter().filter_map(|&user| runs_at(user)).any(|user| user >= at);
    let made = chains.iter().map(|(last, _)| *last).filter(|&maker| maker == at || maker < at && waits(maker));
    let made: u64 = made.map(|maker| network.stage(maker).written / parts).sum();
    let chain = chains.iter().find(|(last, _)| *last == at).map_or(&[][..], |(_, chain)| chain);
    let mut seen = Vec::new();
    let mut outside = 0;
    for read in chain.iter().flat_map(|&member| &network.stage(member).reads) {
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
    // 8 rows of 1 MiB: cut into 8, one tensor is 1 MiB. Where the fifth of the chain is made, the four before it wait.
    // The four sums are one kernel, which reads all five and makes one more.
    with_network(&skips(5, 4, 1 << 19), &soc.clone(), |_, _, network| {
        let all = 0..network.stages().len() as u32;
        assert_eq!([3, 4, 8].map(|at| held(network, &all, 8, at) >> 20), [4, 5, 6]);
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
                let traffic = group.scopes.iter().map(|members| pricer.traffic(members, group.run, None).unwrap());
                from_memory += traffic.map(|traffic| traffic.from_memory).sum::<f64>();
            }
        }
        // A kernel finds in L2 a little of what it reads from memory.
        let least = 0.9 * f64::from(8 * 2 * (64 << 20));
        assert!(from_memory > least, "{from_memory} of {least} bytes");
    });
}

proptest! {
    #![proptest_config(aoe_testing::cases(48))]

    #[test]
    fn no_cut_group_holds_more_than_l2(sketch in sketches(14), mixed: bool) {
        let soc = Soc::find("Ascend310P3").unwrap();
        with_network(&sketch, &soc, |_, _, network| {
            for group in solve(network, &soc, mixed).unwrap().iter().flat_map(|case| &case.after.groups) {
                let run = group.run;
                if run.parts > 1 {
                    let chains = chains(network, &group.kernels);
                    let held = |at: u32| held(network, &group.kernels, run.parts, at);
                    let most = chains.iter().map(|(last, _)| held(*last)).max().unwrap();
                    prop_assert!(most <= soc.l2_size, "{most} bytes in {group:?}");
                    let weights = |chain: &[u32]| -> u64 {
                        let reads = chain.iter().flat_map(|&at| &network.stage(at).reads);
                        let weights = reads.filter(|read| read.source == Source::Constant);
                        weights.map(|read| (read.origin, read.bytes)).collect::<BTreeMap<_, _>>().values().sum()
                    };
                    let all: u64 = chains.iter().map(|(_, chain)| weights(chain)).sum();
                    let beside = chains.iter().map(|(last, chain)| held(*last) - weights(chain)).max().unwrap();
                    prop_assert_eq!(run.keeps_weights, all + beside <= soc.l2_size);
                }
            }
            Ok(())
        })?;
    }
}
