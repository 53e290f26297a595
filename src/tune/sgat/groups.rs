//! The best groups of a subgraph: which consecutive steps run part by part of the batch, so that what passes
//! between them stays in L2.

use super::fusion::{self, Fused};
use super::looks::Looks;
use super::price::{Pricer, Run};
use super::steps::Subgraph;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Most steps in one group.
const MOST_STEPS: usize = 24;
/// Most parts that a batch is cut into.
const MOST_PARTS: u64 = 64;

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
        let batch = self.pricer.network().batch();
        let cuts: Vec<u64> = (2..=batch.min(MOST_PARTS)).filter(|parts| batch.is_multiple_of(*parts)).collect();
        let whole: Vec<Fused> = subgraph.steps.iter().map(|step| self.step(step, Run::WHOLE)).collect::<Option<_>>()?;
        let plain = chain(&whole, &[]);
        if cuts.is_empty() {
            return Some(plain);
        }
        let cut: Vec<Vec<Group>> = cuts.iter().map(|&parts| self.cut_groups(subgraph, parts)).collect();
        if mixed {
            return Some(chain(&whole, &cut.concat()));
        }
        let alike = cut.iter().map(|groups| chain(&whole, groups));
        let us = |groups: &[Group]| groups.iter().map(|g| g.us).sum::<f64>();
        Some(alike.fold(plain, |best, other| if us(&other) < us(&best) { other } else { best }))
    }

    /// All groups that can run in so many parts.
    fn cut_groups(&mut self, subgraph: &Subgraph, parts: u64) -> Vec<Group> {
        let network = self.pricer.network();
        let steps = &subgraph.steps;
        let cuttable: Vec<bool> =
            steps.iter().map(|step| step.clone().all(|at| network.slice(at, parts).is_some())).collect();
        let mut groups = Vec::new();
        for begin in 0..steps.len() {
            for end in begin + 1..=steps.len().min(begin + MOST_STEPS) {
                if !cuttable[end - 1] {
                    break;
                }
                let kernels = steps[begin].start..steps[end - 1].end;
                let run = self.pricer.run(&kernels, parts);
                let fused: Option<Vec<Fused>> = steps[begin..end].iter().map(|step| self.step(step, run)).collect();
                let Some(fused) = fused else { break };
                let us = fused.iter().map(|f| f.us).sum();
                let scopes = fused.into_iter().flat_map(|f| f.scopes).collect();
                groups.push(Group { steps: begin..end, parts, scopes, us });
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

/// The cheapest chain of groups that covers all steps: each step by itself, uncut, or in one of `cut`.
fn chain(whole: &[Fused], cut: &[Group]) -> Vec<Group> {
    let alone = |(at, fused): (usize, &Fused)| Group {
        steps: at..at + 1,
        parts: 1,
        scopes: fused.scopes.clone(),
        us: fused.us,
    };
    let alone: Vec<Group> = whole.iter().enumerate().map(alone).collect();
    let mut ending: Vec<Vec<&Group>> = vec![Vec::new(); whole.len() + 1];
    for group in alone.iter().chain(cut) {
        ending[group.steps.end].push(group);
    }
    let mut best: Vec<(f64, Option<&Group>)> = vec![(0.0, None)];
    for groups in &ending[1..] {
        let cost = |group: &Group| best[group.steps.start].0 + group.us;
        let cheapest = groups.iter().copied().min_by(|a, b| cost(a).total_cmp(&cost(b)));
        best.push((cheapest.map_or(f64::INFINITY, cost), cheapest));
    }
    let mut groups = Vec::new();
    let mut end = whole.len();
    while let Some(group) = best[end].1 {
        groups.push(group.clone());
        end = group.steps.start;
    }
    groups.reverse();
    groups
}
