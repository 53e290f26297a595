//! Where a network may be taken apart: steps that no fusion crosses, and subgraphs of several steps.

use super::network::{Network, Role};
use super::scope::may_follow;
use crate::lower::Source;
use crate::soc::Arch;
use std::ops::Range;

/// Most kernels in one step; a longer one is cut where the fewest fusions are lost.
const MOST_IN_STEP: usize = 48;
/// Kernels from which on a subgraph ends with the next step.
const ENOUGH_IN_SUBGRAPH: u32 = 32;

/// One tuning problem: consecutive kernels of one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subgraph {
    /// Its kernels.
    pub kernels: Range<u32>,
    /// The steps that it consists of.
    pub steps: Vec<Range<u32>>,
}

/// Takes a network apart. The parts cover every kernel once, in order; kernels of other engines stand in
/// subgraphs of their own. Linear in the size of the network.
pub fn partition(network: &Network<'_>, arch: Arch) -> Vec<Subgraph> {
    let mut subgraphs: Vec<Subgraph> = Vec::new();
    let mut closed = true;
    for step in steps(network, arch) {
        let border = network.stage(step.start).role == Role::Border;
        let full = subgraphs.last().is_some_and(|s| s.kernels.end - s.kernels.start >= ENOUGH_IN_SUBGRAPH);
        match subgraphs.last_mut().filter(|_| !closed && !border && !full) {
            Some(open) => {
                open.kernels.end = step.end;
                open.steps.push(step);
            }
            None => subgraphs.push(Subgraph { kernels: step.clone(), steps: vec![step] }),
        }
        closed = border;
    }
    subgraphs
}

/// The steps: the network cut wherever no tensor that fusion could keep inside a kernel passes.
fn steps(network: &Network<'_>, arch: Arch) -> Vec<Range<u32>> {
    let count = network.stages().len() as u32;
    // Fusions that a cut behind each kernel would break, as differences.
    let mut change = vec![0i32; count as usize + 1];
    for at in 0..count {
        let stage = network.stage(at);
        for read in &stage.reads {
            if let Source::Kernel(from) = read.source
                && may_follow(network, arch, from, at)
            {
                change[from as usize] += 1;
                change[at as usize] -= 1;
            }
        }
    }
    let mut broken = 0;
    let lost: Vec<i32> = change[..count as usize]
        .iter()
        .map(|change| {
            broken += change;
            broken
        })
        .collect();
    let mut steps = Vec::new();
    let mut start = 0;
    for at in 0..count {
        if lost[at as usize] == 0 {
            split(start..at + 1, &lost, &mut steps);
            start = at + 1;
        }
    }
    steps
}

/// Cuts a step that is too long where the fewest fusions are lost, in its middle half.
fn split(step: Range<u32>, lost: &[i32], steps: &mut Vec<Range<u32>>) {
    let mut rest = step;
    while rest.len() > MOST_IN_STEP {
        let window = rest.start + MOST_IN_STEP as u32 / 2..rest.start + MOST_IN_STEP as u32;
        let cut = window.min_by_key(|&at| lost[at as usize]).unwrap_or(rest.start);
        steps.push(rest.start..cut + 1);
        rest.start = cut + 1;
    }
    steps.push(rest);
}
