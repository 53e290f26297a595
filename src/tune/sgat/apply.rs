//! A network as its strategies have it run: the kernels that operator tuning then works on.

use super::price::Pricer;
use super::record::{self, Mark};
use super::rules::Pass;
use super::scope;
use super::strategy::{Case, Strategy};
use super::{Network, steps::Subgraph};
use crate::lower::{Kernel, Lowered};
use crate::soc::Soc;
use crate::workload::Workload;

/// The kernels of the network under the strategies found.
pub fn tuned(network: &Network<'_>, soc: &Soc, cases: &[Case]) -> Lowered {
    kernels(network, soc, cases.iter().map(|case| (case.subgraphs.as_slice(), &case.after)))
}

/// The kernels of the network as it ran before.
pub fn untuned(network: &Network<'_>, soc: &Soc, cases: &[Case]) -> Lowered {
    kernels(network, soc, cases.iter().map(|case| (case.subgraphs.as_slice(), &case.before)))
}

/// The kernels of the network with each strategy on the subgraphs that are alike: each scope is one kernel, launched once for each
/// part of its group's batch, in an order in which they can run.
pub fn kernels<'c>(
    network: &Network<'_>,
    soc: &Soc,
    plans: impl Iterator<Item = (&'c [Subgraph], &'c Strategy)>,
) -> Lowered {
    let mut pricer = Pricer::new(network, soc);
    let solved: Vec<_> = plans.map(|(subgraphs, strategy)| (subgraphs, pieces(&mut pricer, strategy))).collect();
    let mut placed: Vec<(&Subgraph, u32, &[Piece<'_>])> = Vec::new();
    for (subgraphs, pieces) in &solved {
        let first = subgraphs[0].kernels.start;
        placed.extend(subgraphs.iter().map(|subgraph| (subgraph, first, pieces.as_slice())));
    }
    placed.sort_by_key(|(subgraph, ..)| subgraph.kernels.start);
    let mut kernels = Vec::with_capacity(network.stages().len());
    for (subgraph, solved, pieces) in placed {
        let node = |at: &u32| network.stage(at - solved + subgraph.kernels.start).node;
        kernels.extend(pieces.iter().map(|piece| Kernel {
            node: node(&piece.members[0]),
            fused: piece.members[1..].iter().map(node).collect(),
            workload: piece.workload.clone(),
            launches: piece.launches,
            missed: piece.missed,
            pass: piece.pass,
            priced: network.stage(piece.members[0] - solved + subgraph.kernels.start).priced,
        }));
    }
    Lowered { kernels, unmapped: network.unmapped().to_vec() }
}

/// A scope of the subgraph that was solved.
struct Piece<'a> {
    members: &'a [u32],
    workload: Workload,
    launches: u32,
    missed: Option<f64>,
    pass: Option<&'static str>,
}

/// The scopes of a strategy, in the order in which they run.
fn pieces<'c>(pricer: &mut Pricer<'_>, strategy: &'c Strategy) -> Vec<Piece<'c>> {
    let network = pricer.network();
    let mut pieces = Vec::new();
    for group in &strategy.groups {
        pieces.extend(group.scopes.iter().filter(|members| !members.is_empty()).filter_map(|members| {
            let workload = scope::workload(network, members, group.run.parts)?.into_owned();
            let runs = members.iter().any(|&at| network.stage(at).runs);
            let launches = if runs { u32::try_from(group.run.parts).ok()? } else { 0 };
            let pass = if members.len() > 1 { scope::pass(network, pricer.soc().arch, members) } else { None };
            let missed = pricer.missed(members, group.run);
            Some(Piece { members, workload, launches, missed, pass: pass.map(Pass::name) })
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
