//! Where a network may be taken apart: steps that no fusion crosses, and subgraphs of several steps.

use super::network::{Network, Role};
use super::scope::may_follow;
use crate::lower::Source;
use crate::soc::Arch;
use std::ops::Range;

/// Most kernels in one step; a longer one is cut where the fewest fusions are lost.
const MOST_IN_STEP: usize = 48;
/// Fewest kernels in a subgraph with another one behind it.
const FEWEST: u32 = 32;
/// Kernels within which a subgraph ends, where a step does.
const MOST: u32 = 96;
/// Kernels by which places of equal merit are told apart.
const CONTEXT: usize = 16;

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
///
/// A subgraph ends where the fewest bytes are waiting to be read further on, among the steps that end 32 to
/// 96 kernels from its beginning: between blocks, not within them. This looks at nothing but what the kernels
/// around are, so that the borders within blocks that repeat are the same in each.
pub fn partition(network: &Network<'_>, arch: Arch) -> Vec<Subgraph> {
    let steps = steps(network, arch);
    let waiting = waiting(network);
    let is_border = |step: &Range<u32>| network.stage(step.start).role == Role::Border;
    let mut subgraphs = Vec::new();
    for stretch in steps.chunk_by(|a, b| !is_border(a) && !is_border(b)) {
        let mut rest = stretch;
        while !rest.is_empty() {
            let (steps, behind) = rest.split_at(length(network, &waiting, rest));
            let kernels = steps.first().map_or(0, |first| first.start)..steps.last().map_or(0, |last| last.end);
            subgraphs.push(Subgraph { kernels, steps: steps.to_vec() });
            rest = behind;
        }
    }
    subgraphs
}

/// How many of these steps are the first subgraph.
fn length(network: &Network<'_>, waiting: &[u128], steps: &[Range<u32>]) -> usize {
    let begin = steps[0].start;
    let stages = network.stages();
    // Of equals the one before the larger kernels: which is the same one in each of several alike blocks.
    let context = |end: u32| {
        let behind = (end as usize..stages.len()).zip(end..).take(CONTEXT);
        behind.map(|(at, kernel)| {
            let stage = &stages[at];
            (stage.elements, stage.written, stage.domain, stage.reads.len(), network.op_type(kernel))
        })
    };
    let better =
        |a: u32, b: u32| waiting[a as usize].cmp(&waiting[b as usize]).then_with(|| context(b).cmp(context(a)));
    let ends = (1..steps.len()).map(|count| (count, steps[count].start));
    let within = ends.skip_while(|(_, end)| end - begin < FEWEST).take_while(|(_, end)| end - begin <= MOST);
    within.min_by(|&(_, a), &(_, b)| better(a, b)).map_or(steps.len(), |(count, _)| count)
}

/// For the place before each kernel the bytes that were made earlier and are read there or further on.
fn waiting(network: &Network<'_>) -> Vec<u128> {
    let mut change = vec![(0u128, 0u128); network.stages().len() + 1];
    for (at, stage) in network.stages().iter().enumerate() {
        if let Some(&last) = stage.users.last() {
            change[at + 1].0 += u128::from(stage.written);
            change[last as usize + 1].1 += u128::from(stage.written);
        }
    }
    let sums = change.iter().scan(0, |sum: &mut u128, (made, read)| {
        *sum = *sum + made - read;
        Some(*sum)
    });
    sums.collect()
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
