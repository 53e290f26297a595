//! Where a network may be taken apart: steps that no fusion crosses, and subgraphs of several steps.

use super::network::{Network, Role};
use super::scope::{Follower, MOST_MEMBERS};
use crate::lower::Source;
use crate::soc::Arch;
use std::cmp::Reverse;
use std::ops::Range;

/// Most kernels in one step; a longer one is cut where the fewest fusions are lost.
const MOST_IN_STEP: usize = 48;
/// Fewest kernels in a subgraph with another one behind it.
const FEWEST: u32 = 32;
/// Kernels within which a subgraph ends, where a step does.
const MOST: u32 = 96;
/// Kernels of a subgraph within which groups may begin and end anywhere.
const SMALL: usize = 12;
/// Kernels by which places of equal merit are told apart.
const CONTEXT: usize = 16;

/// One tuning problem: consecutive kernels of one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subgraph {
    /// Its kernels.
    pub kernels: Range<u32>,
    /// The steps that it consists of.
    pub steps: Vec<Range<u32>>,
    /// Where groups may begin and end, ascending: before its first kernel, behind its last, and between.
    pub borders: Vec<u32>,
}

/// Takes a network apart. The parts cover every kernel once, in order; kernels of other engines stand in
/// subgraphs of their own. Linear in the size of the network.
///
/// A subgraph ends where the fewest bytes are waiting to be read further on, among the steps that end 32 to
/// 96 kernels from its beginning: between blocks, not within them. This looks at nothing but what the kernels
/// around are, so that the borders within blocks that repeat are the same in each.
pub fn partition(network: &Network<'_>, arch: Arch) -> Vec<Subgraph> {
    let (steps, lost) = steps(network, arch);
    let waiting = waiting(network);
    let is_border = |step: &Range<u32>| network.stage(step.start).role == Role::Border;
    let mut subgraphs = Vec::new();
    for stretch in steps.chunk_by(|a, b| !is_border(a) && !is_border(b)) {
        let mut rest = stretch;
        while !rest.is_empty() {
            let (steps, behind) = rest.split_at(length(network, &waiting, rest));
            let kernels = steps.first().map_or(0, |first| first.start)..steps.last().map_or(0, |last| last.end);
            let borders = borders(network, &lost, &kernels, steps);
            subgraphs.push(Subgraph { kernels, steps: steps.to_vec(), borders });
            rest = behind;
        }
    }
    subgraphs
}

/// Where groups of a subgraph may begin and end: with its steps, and within one where a single tensor that fusion
/// could keep passes by and more do before and behind, as along a skip; in a small subgraph anywhere.
fn borders(network: &Network<'_>, lost: &[i32], kernels: &Range<u32>, steps: &[Range<u32>]) -> Vec<u32> {
    let is_small = kernels.len() <= SMALL && !network.cuts().is_empty();
    let is_skip = |end: u32, step: &Range<u32>| {
        let is_more = |mut at: Range<u32>, back: bool| {
            let other = |&at: &u32| lost[at as usize] != 1;
            let found = if back { at.rfind(other) } else { at.find(other) };
            found.is_some_and(|at| lost[at as usize] > 1)
        };
        lost[end as usize - 1] == 1 && is_more(step.start..end - 1, true) && is_more(end..step.end, false)
    };
    let mut borders = vec![kernels.start];
    for step in steps {
        let inner = step.start + 1..step.end;
        borders.extend(inner.filter(|&end| is_small || !network.cuts().is_empty() && is_skip(end, step)));
        borders.push(step.end);
    }
    borders
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

/// The steps: the network cut wherever no tensor that fusion could keep inside a kernel passes. With them the
/// fusions that a cut behind each kernel would break.
fn steps(network: &Network<'_>, arch: Arch) -> (Vec<Range<u32>>, Vec<i32>) {
    let count = network.stages().len();
    // As differences from kernel to kernel: all fusions, and those of a result that nobody else reads.
    let [mut all, mut only] = [vec![0i32; count], vec![0i32; count]];
    for at in 0..count as u32 {
        let follower = Follower::new(network, arch, at);
        for read in &network.stage(at).reads {
            if let Source::Kernel(from) = read.source
                && follower.follows(from)
            {
                let maker = network.stage(from);
                let is_only = maker.users.len() == 1 && !maker.leaves;
                for (change, by) in [(&mut all, 1), (&mut only, i32::from(is_only))] {
                    change[from as usize] += by;
                    change[at as usize] -= by;
                }
            }
        }
    }
    let broken = |change: Vec<i32>| -> Vec<i32> {
        let sum = |sum: &mut i32, change: i32| {
            *sum += change;
            Some(*sum)
        };
        change.into_iter().scan(0, sum).collect()
    };
    let (lost, sure) = (broken(all), broken(only));
    let mut steps = Vec::new();
    let mut start = 0;
    for at in 0..count as u32 {
        if lost[at as usize] == 0 {
            split(start..at + 1, [&sure, &lost], &mut steps);
            start = at + 1;
        }
    }
    (steps, lost)
}

/// Cuts a step that is too long where the fewest fusions are lost, in its second half: first of all those that CANN
/// makes by itself, of a result and its only reader. Of equal places it takes the last one with full scopes before it,
/// so that the cut costs a chain no launch.
fn split(step: Range<u32>, lost: [&[i32]; 2], steps: &mut Vec<Range<u32>>) {
    let mut rest = step;
    while rest.len() > MOST_IN_STEP {
        let begin = rest.start;
        let within = begin + MOST_IN_STEP as u32 / 2..=begin + MOST_IN_STEP as u32;
        let merit = |&end: &u32| {
            let is_full = (end - begin).is_multiple_of(MOST_MEMBERS as u32);
            (lost.map(|lost| lost[end as usize - 1]), !is_full, Reverse(end))
        };
        let end = within.min_by_key(merit).unwrap_or(begin + 1);
        steps.push(begin..end);
        rest.start = end;
    }
    steps.push(rest);
}
