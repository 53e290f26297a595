//! When two pieces of a network are the same problem: repeated blocks are solved once.

use super::network::Network;
use super::residency::Run;
use crate::graph::Port;
use crate::lower::Source;
use crate::workload::Workload;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Tells pieces of a network apart by what decides their cost.
#[derive(Debug, Default)]
pub struct Signatures {
    workloads: FxHashMap<Workload, u64>,
}

impl Signatures {
    /// A text of numbers that is equal for two pieces exactly if every scope in one costs what it costs in
    /// the other: workloads, tensors between kernels by relative place, and for tensors of others which of
    /// them are one, what made them and whether they are in L2.
    pub fn of(&mut self, network: &Network<'_>, kernels: &Range<u32>, run: &Run) -> Vec<u64> {
        let mut signature = vec![run.parts, u64::from(run.keeps_weights)];
        let mut outside: FxHashMap<Port, u64> = FxHashMap::default();
        for at in kernels.clone() {
            let stage = network.stage(at);
            let next = self.workloads.len() as u64;
            signature.push(match self.workloads.get(stage.workload) {
                Some(&number) => number,
                None => *self.workloads.entry(stage.workload.clone()).or_insert(next),
            });
            signature.extend([stage.role as u64 | u64::from(stage.runs) << 8, stage.domain, stage.reads.len() as u64]);
            for read in &stage.reads {
                let mut number = || place_of(&mut outside, read.origin);
                let (kind, place) = match read.source {
                    Source::Constant => (0, number()),
                    Source::Kernel(from) if kernels.contains(&from) => (2, u64::from(at - from)),
                    // For the whole batch who made a tensor does not matter.
                    Source::Kernel(from) if run.parts > 1 && from >= run.from => (3, number()),
                    Source::Kernel(_) | Source::Input => (1, number()),
                };
                let is = u64::from(network.carries(read)) | u64::from(read.converted) << 1;
                signature.extend([kind, place, read.elements, read.bytes, is]);
            }
            let behind = |from: u32| stage.users.last().is_some_and(|&user| user >= from);
            let leaves = stage.leaves || run.parts > 1 && behind(run.to);
            let goes_on = stage.users.is_empty() || behind(kernels.end);
            signature.push(u64::from(leaves) | u64::from(goes_on) << 1);
        }
        signature
    }
}

/// Which of the tensors from outside a tensor is, in the order in which they are first read.
fn place_of(outside: &mut FxHashMap<Port, u64>, origin: Port) -> u64 {
    let next = outside.len() as u64;
    *outside.entry(origin).or_insert(next)
}
