//! A network as its strategies have it run: the kernels that operator tuning then works on.

use super::price::Pricer;
use super::record::{self, Mark};
use super::rules::Pass;
use super::scope;
use super::strategy::{Case, Strategy};
use super::{Network, steps::Subgraph};
use crate::lower::{Kernel, Lowered};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::Workload;
use std::ops::Range;

/// The kernels of the network under the strategies found.
pub fn tuned(network: &Network<'_>, soc: &Soc, cases: &[Case]) -> Lowered {
    Ordered::of(network, soc, cases.iter().map(|case| (case.subgraphs.as_slice(), &case.after))).lowered
}

/// A network as it runs with a strategy for each of its subgraphs: what all times of networks are told of.
#[derive(Debug)]
pub struct Ordered {
    /// The kernels in an order in which they can run, each told what it finds in device memory: each scope is one kernel,
    /// launched once for each part of its group's batch.
    pub lowered: Lowered,
    /// The kernels of each subgraph, those of subgraphs that are alike together, in the order in which these were given.
    pub places: Vec<Vec<Range<usize>>>,
}

/// What the subgraphs that are alike take and fetch together.
#[derive(Debug, Clone, Default)]
pub struct Price {
    /// Microseconds.
    pub us: f64,
    /// Bytes that one launch of each kernel of theirs finds in device memory, on average; `None` where its own size tells.
    pub missed: Vec<Option<f64>>,
}

impl Ordered {
    /// The kernels of the network with each strategy on the subgraphs that are alike.
    ///
    /// What a kernel finds in L2 is settled by the order of all kernels, which a strategy that is searched on one subgraph
    /// for all that are alike cannot know. A group whose batch is cut knows the part that it decides itself.
    pub fn of<'c>(
        network: &Network<'_>,
        soc: &Soc,
        plans: impl Iterator<Item = (&'c [Subgraph], &'c Strategy)>,
    ) -> Ordered {
        let mut pricer = Pricer::new(network, soc);
        let solved: Vec<_> = plans.map(|(subgraphs, strategy)| (subgraphs, pieces(&mut pricer, strategy))).collect();
        let mut placed: Vec<(&Subgraph, usize)> = Vec::new();
        for (alike, (subgraphs, _)) in solved.iter().enumerate() {
            placed.extend(subgraphs.iter().map(|subgraph| (subgraph, alike)));
        }
        placed.sort_by_key(|(subgraph, _)| subgraph.kernels.start);
        let mut kernels = Vec::with_capacity(network.stages().len());
        let mut places = vec![Vec::new(); solved.len()];
        let mut cut: Vec<Range<usize>> = Vec::new();
        for (subgraph, alike) in placed {
            let (subgraphs, pieces) = &solved[alike];
            let solved = subgraphs[0].kernels.start;
            let stage = |at: &u32| network.stage(at - solved + subgraph.kernels.start);
            let begin = kernels.len();
            for group in pieces.chunk_by(|a, b| a.group == b.group) {
                let from = kernels.len();
                kernels.extend(group.iter().map(|piece| Kernel {
                    node: stage(&piece.members[0]).node,
                    fused: piece.members[1..].iter().map(|at| stage(at).node).collect(),
                    workload: piece.workload.clone(),
                    launches: piece.launches,
                    missed: piece.missed,
                    pass: piece.pass,
                    priced: stage(&piece.members[0]).priced,
                }));
                cut.extend(group[0].is_cut.then_some(from..kernels.len()));
            }
            places[alike].push(begin..kernels.len());
        }
        let mut lowered = Lowered { kernels, unmapped: network.unmapped().to_vec() };
        network.settle(&mut lowered, &cut);
        Ordered { lowered, places }
    }

    /// What the subgraphs take, those that are alike together, by the simulator with CANN's default tilings.
    ///
    /// Fails with [`Error::Workload`] for a kernel that cannot run on the part at all.
    pub fn prices(&self, pricer: &mut Pricer<'_>) -> Result<Vec<Price>> {
        self.places.iter().map(|places| self.price(pricer, places)).collect()
    }

    fn price(&self, pricer: &mut Pricer<'_>, places: &[Range<usize>]) -> Result<Price> {
        pricer.bound();
        let soc = pricer.soc();
        let kernels = |place: &Range<usize>| &self.lowered.kernels[place.clone()];
        let mut price = Price { us: 0.0, missed: vec![None; places.first().map_or(0, Range::len)] };
        for place in places {
            for (kernel, mean) in kernels(place).iter().zip(&mut price.missed) {
                let refused = || Error::Workload {
                    workload: kernel.workload.to_string(),
                    reason: format!("it cannot run on {}", soc.name),
                };
                price.us += pricer.kernel_us(kernel).ok_or_else(refused)?;
                if let Some(missed) = kernel.missed {
                    *mean.get_or_insert(0.0) += missed / places.len() as f64;
                }
            }
        }
        Ok(price)
    }
}

/// A scope of the subgraph that was solved.
struct Piece<'a> {
    members: &'a [u32],
    workload: Workload,
    launches: u32,
    missed: Option<f64>,
    pass: Option<&'static str>,
    /// The group that it belongs to, and whether that runs on parts of the batch.
    group: usize,
    is_cut: bool,
}

/// The scopes of a strategy, in the order in which they run.
fn pieces<'c>(pricer: &mut Pricer<'_>, strategy: &'c Strategy) -> Vec<Piece<'c>> {
    let network = pricer.network();
    let mut pieces = Vec::new();
    for (number, group) in strategy.groups.iter().enumerate() {
        pieces.extend(group.scopes.iter().filter(|members| !members.is_empty()).filter_map(|members| {
            let workload = scope::workload(network, members, group.run.parts)?.into_owned();
            let runs = members.iter().any(|&at| network.stage(at).runs);
            let launches = if runs { u32::try_from(group.run.parts).ok()? } else { 0 };
            let pass = if members.len() > 1 { scope::pass(network, pricer.soc().arch, members) } else { None };
            let missed = pricer.missed(members, group.run);
            let (pass, is_cut) = (pass.map(Pass::name), group.run.parts > 1);
            Some(Piece { members, workload, launches, missed, pass, group: number, is_cut })
        }));
    }
    pieces
}

/// The marks of all kernels of a network, its scopes numbered throughout.
pub fn marks(network: &Network<'_>, soc: &Soc, cases: &[Case]) -> Vec<Mark> {
    let mut marks = Vec::with_capacity(network.stages().len());
    let mut numbered = 0;
    for case in cases {
        let solved = record::marks(network, soc.arch, &case.after);
        let scopes = solved.iter().map(|mark| mark.scope.abs()).max().unwrap_or(0);
        for subgraph in &case.subgraphs {
            let (from, to) = (case.subgraphs[0].kernels.start, subgraph.kernels.start);
            let moved = |mark: &Mark| Mark {
                at: mark.at - from + to,
                scope: mark.scope + numbered * mark.scope.signum(),
                ..*mark
            };
            marks.extend(solved.iter().map(moved));
            numbered += scopes;
        }
    }
    marks.sort_unstable_by_key(|mark| mark.at);
    marks
}
