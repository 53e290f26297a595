//! The best groups of a subgraph: which consecutive steps run part by part of the batch, so that what passes
//! between them stays in L2.

use super::fusion::{self, Fused};
use super::looks::Looks;
use super::network::Network;
use super::price::{Demand, Pricer, Run};
use super::steps::Subgraph;
use crate::lower::{Read, Source};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Most steps in one group.
const MOST_STEPS: usize = 24;
/// Consecutive steps that run on the parts of a batch one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its steps, as places in the subgraph.
    pub steps: Range<usize>,
    /// Parts of the batch; 1 for all at once.
    pub parts: u64,
    /// The scopes of its steps, in the order in which they run.
    pub scopes: Vec<Vec<u32>>,
    /// Microseconds for the whole batch.
    pub us: f64,
}

/// A group that could be: which steps, and what they cost so.
#[derive(Debug, Clone)]
struct Candidate {
    steps: Range<usize>,
    run: Run,
    us: f64,
}

/// Solves steps, each kind once.
#[derive(Debug)]
pub struct Solver<'a> {
    pricer: Pricer<'a>,
    looks: Looks,
    solved: FxHashMap<Vec<u64>, Option<Fused>>,
}

impl<'a> Solver<'a> {
    /// A solver of the steps of the pricer's network.
    pub fn new(pricer: Pricer<'a>) -> Solver<'a> {
        Solver { pricer, looks: Looks::default(), solved: FxHashMap::default() }
    }

    /// The pricer.
    pub fn pricer(&mut self) -> &mut Pricer<'a> {
        &mut self.pricer
    }

    /// The cheapest groups of a subgraph: by interval over its steps. With `mixed`, groups may differ in
    /// their number of parts (`nonhomo_split`); else all that are cut are cut alike. `None` where a kernel
    /// cannot run at all.
    pub fn groups(&mut self, subgraph: &Subgraph, mixed: bool) -> Option<Vec<Group>> {
        let network = self.pricer.network();
        let mut whole = Vec::with_capacity(subgraph.steps.len());
        for (at, step) in subgraph.steps.iter().enumerate() {
            whole.push(Candidate { steps: at..at + 1, run: Run::WHOLE, us: self.step(step, Run::WHOLE)?.us });
        }
        let reaches: Vec<Reach> = subgraph.steps.iter().map(|step| Reach::of(network, step)).collect();
        let mut cut: Vec<Vec<Candidate>> =
            network.cuts().iter().map(|&parts| self.cut_groups(subgraph, &reaches, parts)).collect();
        if mixed {
            cut = vec![cut.concat()];
        }
        let plain = chain(&whole, &[]);
        let best = cut.iter().map(|cut| chain(&whole, cut)).fold(plain, |best, other| {
            let us = |chain: &[&Candidate]| chain.iter().map(|candidate| candidate.us).sum::<f64>();
            if us(&other) < us(&best) { other } else { best }
        });
        best.into_iter().map(|candidate| self.group(subgraph, candidate)).collect()
    }

    /// A candidate with its scopes.
    fn group(&mut self, subgraph: &Subgraph, candidate: &Candidate) -> Option<Group> {
        let Candidate { steps, run, us } = candidate.clone();
        let mut scopes = Vec::new();
        for step in &subgraph.steps[steps.clone()] {
            scopes.extend(self.step(step, run)?.scopes);
        }
        Some(Group { steps, parts: run.parts, scopes, us })
    }

    /// All groups that can run in so many parts.
    fn cut_groups(&mut self, subgraph: &Subgraph, reaches: &[Reach], parts: u64) -> Vec<Candidate> {
        let network = self.pricer.network();
        let steps = &subgraph.steps;
        let cuttable: Vec<bool> =
            steps.iter().map(|step| step.clone().all(|at| network.slice(at, parts).is_some())).collect();
        // What each step costs, for all that matters of the group around it.
        let mut costs: Vec<Vec<(Around, Option<f64>)>> = vec![Vec::new(); steps.len()];
        let mut groups = Vec::new();
        for begin in 0..steps.len() {
            let mut demand = Demand::default();
            for end in begin + 1..=steps.len().min(begin + MOST_STEPS) {
                if !cuttable[end - 1] {
                    break;
                }
                demand = steps[end - 1].clone().fold(demand, |sum, at| sum.and(network.stage(at)));
                let kernels = steps[begin].start..steps[end - 1].end;
                let run = self.pricer.run_of(&kernels, parts, demand);
                let cost = |at: usize| {
                    let around = reaches[at].around(run);
                    if let Some((_, known)) = costs[at].iter().find(|(known, _)| *known == around) {
                        return *known;
                    }
                    let us = self.step(&steps[at], run).map(|fused| fused.us);
                    costs[at].push((around, us));
                    us
                };
                let Some(us) = (begin..end).map(cost).sum() else { break };
                groups.push(Candidate { steps: begin..end, run, us });
            }
        }
        groups
    }

    /// The cheapest scopes of one step.
    fn step(&mut self, step: &Range<u32>, run: Run) -> Option<Fused> {
        let network = self.pricer.network();
        let look = self.looks.of(network, step, &run);
        let moved = |fused: &Fused, by: u32, back: bool| {
            let to = |at: &u32| if back { at - by } else { at + by };
            Fused { us: fused.us, scopes: fused.scopes.iter().map(|s| s.iter().map(to).collect()).collect() }
        };
        if let Some(known) = self.solved.get(&look) {
            return known.as_ref().map(|fused| moved(fused, step.start, false));
        }
        let (arch, pricer) = (self.pricer.soc().arch, &mut self.pricer);
        let fused = fusion::cheapest(network, arch, step, &mut |members| pricer.scope_us(members, run));
        self.solved.insert(look, fused.as_ref().map(|fused| moved(fused, step.start, true)));
        fused
    }
}

/// What of a step reaches beyond it.
#[derive(Debug)]
struct Reach {
    /// Earlier kernels that it reads, ascending.
    makers: Vec<u32>,
    /// The last readers of its results, ascending.
    last_users: Vec<u32>,
}

/// All that a step's cost depends on of the group that it is in: how many of its makers and of its last users
/// are in the group, and whether the group's weights stay in L2.
type Around = (usize, usize, bool);

impl Reach {
    fn of(network: &Network<'_>, step: &Range<u32>) -> Reach {
        let reads = step.clone().flat_map(|at| &network.stage(at).reads);
        let maker = |read: &Read| if let Source::Kernel(from) = read.source { Some(from) } else { None };
        let mut makers: Vec<u32> = reads.filter_map(maker).filter(|from| *from < step.start).collect();
        let mut last_users: Vec<u32> = step
            .clone()
            .filter_map(|at| network.stage(at).users.last().copied())
            .filter(|to| *to >= step.end)
            .collect();
        makers.sort_unstable();
        last_users.sort_unstable();
        Reach { makers, last_users }
    }

    fn around(&self, run: Run) -> Around {
        let before = self.makers.partition_point(|&maker| maker < run.from);
        let inside = self.last_users.partition_point(|&user| user < run.to);
        (before, inside, run.keeps_weights)
    }
}

/// The cheapest chain of groups that covers all steps: each step by itself, uncut, or in one of `cut`.
fn chain<'c>(whole: &'c [Candidate], cut: &'c [Candidate]) -> Vec<&'c Candidate> {
    let mut ending: Vec<Vec<&Candidate>> = vec![Vec::new(); whole.len() + 1];
    for group in whole.iter().chain(cut) {
        ending[group.steps.end].push(group);
    }
    let mut best: Vec<(f64, Option<&Candidate>)> = vec![(0.0, None)];
    for groups in &ending[1..] {
        let cost = |group: &Candidate| best[group.steps.start].0 + group.us;
        let cheapest = groups.iter().copied().min_by(|a, b| cost(a).total_cmp(&cost(b)));
        best.push((cheapest.map_or(f64::INFINITY, cost), cheapest));
    }
    let mut groups = Vec::new();
    let mut end = whole.len();
    while let Some(group) = best[end].1 {
        groups.push(group);
        end = group.steps.start;
    }
    groups.reverse();
    groups
}
