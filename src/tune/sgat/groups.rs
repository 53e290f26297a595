//! The best groups of a subgraph: which consecutive kernels run part by part of the batch, so that what passes
//! between them stays in L2.

use super::fusion::{self, Fused};
use super::pieces::{Costs, Piece};
use super::price::Pricer;
use super::residency::Residency;
use super::residency::Run;
use super::signatures::Signatures;
use super::steps::Subgraph;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Consecutive kernels that run on the parts of a batch one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its kernels. Neighbours that run on the whole batch are one group.
    pub kernels: Range<u32>,
    /// On how many parts of the batch they run, and what they find in L2.
    pub run: Run,
    /// The scopes of its kernels, in the order in which they run.
    pub scopes: Vec<Vec<u32>>,
    /// Microseconds for the whole batch.
    pub us: f64,
}

/// A group that could be, as places among the borders of the subgraph, and what it costs.
#[derive(Debug, Clone)]
struct Candidate {
    borders: Range<usize>,
    run: Run,
    us: f64,
}

/// Pieces beyond which a solver forgets what it solved, before it begins with another subgraph.
const MOST_SOLVED: usize = 1024;

/// Solves pieces of steps, each kind once as long as it remembers them.
#[derive(Debug)]
pub struct Solver<'a> {
    pricer: Pricer<'a>,
    signatures: Signatures,
    solved: FxHashMap<Vec<u64>, Option<Fused>>,
}

impl<'a> Solver<'a> {
    /// A solver of the steps of the pricer's network.
    pub fn new(pricer: Pricer<'a>) -> Solver<'a> {
        Solver { pricer, signatures: Signatures::default(), solved: FxHashMap::default() }
    }

    /// The pricer.
    pub fn pricer(&mut self) -> &mut Pricer<'a> {
        &mut self.pricer
    }

    /// The cheapest groups of a subgraph, by interval over its borders. With `mixed`, groups may differ in
    /// their number of parts (`nonhomo_split`); else all that are cut are cut alike. `None` where a kernel
    /// cannot run at all.
    pub fn groups(&mut self, subgraph: &Subgraph, mixed: bool) -> Option<Vec<Group>> {
        let network = self.pricer.network();
        self.bound();
        let whole = self.uncut(subgraph)?;
        let mut cut: Vec<Vec<Candidate>> =
            network.cuts().iter().map(|&parts| self.cut_groups(subgraph, parts)).collect();
        if mixed {
            cut = vec![cut.concat()];
        }
        let last = subgraph.borders.len() - 1;
        let plain = chain(last, &whole, &[]);
        let best = cut.iter().map(|cut| chain(last, &whole, cut)).fold(plain, |best, other| {
            let us = |chain: &[&Candidate]| chain.iter().map(|candidate| candidate.us).sum::<f64>();
            if us(&other) < us(&best) { other } else { best }
        });
        let mut groups: Vec<Group> = Vec::new();
        for candidate in best {
            let group = self.group(subgraph, candidate)?;
            match groups.last_mut().filter(|before| before.run.parts == 1 && group.run.parts == 1) {
                Some(before) => {
                    before.kernels.end = group.kernels.end;
                    before.scopes.extend(group.scopes);
                    before.us += group.us;
                }
                None => groups.push(group),
            }
        }
        Some(groups)
    }

    /// Forgets what was solved for earlier subgraphs where that has become much.
    fn bound(&mut self) {
        if self.solved.len() > MOST_SOLVED {
            // Places of workloads are part of the keys.
            self.solved = FxHashMap::default();
            self.signatures = Signatures::default();
        }
    }

    /// A candidate with its scopes.
    fn group(&mut self, subgraph: &Subgraph, candidate: &Candidate) -> Option<Group> {
        let Candidate { borders, run, us } = candidate.clone();
        let kernels = subgraph.borders[borders.start]..subgraph.borders[borders.end];
        let mut scopes = Vec::new();
        for step in &subgraph.steps {
            let piece = step.start.max(kernels.start)..step.end.min(kernels.end);
            if !piece.is_empty() {
                scopes.extend(self.piece(&piece, run)?.scopes);
            }
        }
        Some(Group { kernels, run, scopes, us })
    }

    /// Every piece of a step on the whole batch. `None` where a step cannot run at all.
    fn uncut(&mut self, subgraph: &Subgraph) -> Option<Vec<Candidate>> {
        let mut candidates = Vec::with_capacity(subgraph.steps.len());
        let mut first = 0;
        for step in &subgraph.steps {
            let last = first + subgraph.borders[first..].partition_point(|&border| border < step.end);
            for (begin, end) in (first..last).flat_map(|begin| (begin + 1..=last).map(move |end| (begin, end))) {
                let piece = subgraph.borders[begin]..subgraph.borders[end];
                let us = self.piece(&piece, Run::WHOLE)?.us;
                candidates.push(Candidate { borders: begin..end, run: Run::WHOLE, us });
            }
            first = last;
        }
        Some(candidates)
    }

    /// All groups that can run in so many parts.
    fn cut_groups(&mut self, subgraph: &Subgraph, parts: u64) -> Vec<Candidate> {
        let network = self.pricer.network();
        let borders = &subgraph.borders;
        let mut costs = Costs::default();
        let mut groups = Vec::new();
        for begin in 0..borders.len() - 1 {
            let mut residency = Residency::new(network, borders[begin], parts);
            let mut pieces: Vec<Piece> = Vec::new();
            let mut step = subgraph.steps.partition_point(|step| step.end <= borders[begin]);
            for end in begin + 1..borders.len() {
                let new = borders[end - 1]..borders[end];
                if !new.clone().all(|at| network.slice(at, parts).is_some()) {
                    break;
                }
                new.clone().for_each(|_| residency.push());
                if let Some(open) = pieces.last_mut().filter(|_| new.start < subgraph.steps[step].end) {
                    *open = Piece::new(network, open.kernels().start..new.end);
                } else {
                    step += usize::from(!pieces.is_empty());
                    pieces.push(Piece::new(network, new));
                }
                let Some(run) = residency.run(self.pricer.soc()) else {
                    if residency.is_hopeless(self.pricer.soc()) {
                        break;
                    }
                    continue;
                };
                let us = |piece: &mut Piece| piece.us(run, &mut costs, &mut |piece| Some(self.piece(piece, run)?.us));
                // A piece that cannot run so can in no longer group either.
                let Some(us) = pieces.iter_mut().map(us).sum() else { break };
                groups.push(Candidate { borders: begin..end, run, us });
            }
        }
        groups
    }

    /// The cheapest scopes of a piece of a step.
    fn piece(&mut self, piece: &Range<u32>, run: Run) -> Option<Fused> {
        let network = self.pricer.network();
        let signature = self.signatures.of(network, piece, &run);
        let moved = |fused: &Fused, by: u32, back: bool| {
            let to = |at: &u32| if back { at - by } else { at + by };
            Fused { us: fused.us, scopes: fused.scopes.iter().map(|s| s.iter().map(to).collect()).collect() }
        };
        if let Some(known) = self.solved.get(&signature) {
            return known.as_ref().map(|fused| moved(fused, piece.start, false));
        }
        let (arch, pricer) = (self.pricer.soc().arch, &mut self.pricer);
        pricer.bound();
        let fused = fusion::cheapest(network, arch, piece, &mut |members| pricer.scope_us(members, run));
        self.solved.insert(signature, fused.as_ref().map(|fused| moved(fused, piece.start, true)));
        fused
    }
}

/// The cheapest chain of groups from the first border to the last: pieces uncut, or any of `cut`.
fn chain<'c>(last: usize, whole: &'c [Candidate], cut: &'c [Candidate]) -> Vec<&'c Candidate> {
    let mut ending: Vec<Vec<&Candidate>> = vec![Vec::new(); last + 1];
    for group in whole.iter().chain(cut) {
        ending[group.borders.end].push(group);
    }
    let mut best: Vec<(f64, Option<&Candidate>)> = vec![(0.0, None)];
    for groups in &ending[1..] {
        let cost = |group: &Candidate| best[group.borders.start].0 + group.us;
        let cheapest = groups.iter().copied().min_by(|a, b| cost(a).total_cmp(&cost(b)));
        best.push((cheapest.map_or(f64::INFINITY, cost), cheapest));
    }
    let mut groups = Vec::new();
    let mut end = last;
    while let Some(group) = best[end].1 {
        groups.push(group);
        end = group.borders.start;
    }
    groups.reverse();
    groups
}
