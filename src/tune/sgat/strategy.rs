//! The strategies of all subgraphs of a network: CANN's default and the best found.

use super::default;
use super::groups::{Group, Solver};
use super::network::Network;
use super::price::Pricer;
use super::residency::Run;
use super::signatures::Signatures;
use super::steps::{Subgraph, partition};
use crate::sim::Model;
use crate::soc::Soc;
use crate::space::default_policy;
use crate::status::{Error, Result};
use rustc_hash::FxHashMap;

/// How a subgraph runs: groups of scopes, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Strategy {
    /// The groups; they cover every kernel of the subgraph once.
    pub groups: Vec<Group>,
    /// Microseconds for the whole batch.
    pub us: f64,
}

/// Subgraphs that are the same problem, with their strategies.
#[derive(Debug, Clone)]
pub struct Case {
    /// The subgraphs, in graph order; never empty. Strategies speak of the kernels of the first.
    pub subgraphs: Vec<Subgraph>,
    /// What CANN does by default: its fusion, no cuts.
    pub before: Strategy,
    /// The best found.
    pub after: Strategy,
}

/// Takes a network apart and finds the best strategy for each distinct subgraph, in the order in which they
/// first occur.
///
/// Fails with [`Error::Workload`] for a kernel that cannot run on the part at all.
pub fn solve(network: &Network<'_>, soc: &Soc, mixed: bool) -> Result<Vec<Case>> {
    let mut solver = Solver::new(Pricer::new(network, soc));
    let solve = |subgraphs: Vec<Subgraph>| {
        let before = default_strategy(solver.pricer(), &subgraphs[0])?;
        let after = best(&mut solver, &subgraphs[0], mixed, &before);
        Ok(Case { subgraphs, before, after })
    };
    alike(network, soc).into_iter().map(solve).collect()
}

/// The subgraphs of a network, those together that are the same problem, in the order in which they first
/// occur.
pub fn alike(network: &Network<'_>, soc: &Soc) -> Vec<Vec<Subgraph>> {
    let mut signatures = Signatures::default();
    let mut known: FxHashMap<Vec<u64>, usize> = FxHashMap::default();
    let mut alike: Vec<Vec<Subgraph>> = Vec::new();
    for subgraph in partition(network, soc.arch) {
        let next = alike.len();
        match *known.entry(signatures.of(network, &subgraph.kernels, &Run::WHOLE)).or_insert(next) {
            index if index < next => alike[index].push(subgraph),
            _ => alike.push(vec![subgraph]),
        }
    }
    alike
}

/// The best strategy for a subgraph that is better than this one, else this one.
pub fn best(solver: &mut Solver<'_>, subgraph: &Subgraph, mixed: bool, known: &Strategy) -> Strategy {
    let Some(groups) = solver.groups(subgraph, mixed) else { return known.clone() };
    let found = priced(solver.pricer(), groups);
    // The default is among what was weighed; sums in another order may differ in the last digit.
    found.filter(|found| found.us < known.us).unwrap_or_else(|| known.clone())
}

/// These groups as a strategy: their scopes in an order in which they can run, and with times which are the same
/// whether they were found or recorded. `None` where one cannot run.
pub fn priced(pricer: &mut Pricer<'_>, mut groups: Vec<Group>) -> Option<Strategy> {
    let network = pricer.network();
    for group in &mut groups {
        let mut scopes = std::mem::take(&mut group.scopes);
        scopes.sort_unstable();
        group.scopes = default::ordered(network, &group.kernels, scopes)?;
        group.us = group.scopes.iter().map(|members| pricer.scope_us(members, group.run)).sum::<Option<f64>>()?;
    }
    let us = groups.iter().map(|group| group.us).sum();
    Some(Strategy { groups, us })
}

/// CANN's default for a subgraph.
pub fn default_strategy(pricer: &mut Pricer<'_>, subgraph: &Subgraph) -> Result<Strategy> {
    let (network, arch) = (pricer.network(), pricer.soc().arch);
    let mut scopes = Vec::new();
    let mut us = 0.0;
    for scope in subgraph.steps.iter().flat_map(|step| default::scopes(network, arch, step)) {
        if let Some(price) = pricer.scope_us(&scope, Run::WHOLE) {
            us += price;
            scopes.push(scope);
            continue;
        }
        // What does not fit the buffers as one runs kernel by kernel.
        for at in scope {
            us += pricer.scope_us(&[at], Run::WHOLE).ok_or_else(|| refused(network, at, pricer.soc()))?;
            scopes.push(vec![at]);
        }
    }
    scopes.sort_unstable();
    let scopes = default::ordered(network, &subgraph.kernels, scopes).unwrap_or_default();
    let groups = vec![Group { kernels: subgraph.kernels.clone(), run: Run::WHOLE, scopes, us }];
    Ok(Strategy { groups, us })
}

/// Why a kernel cannot run on a part even by itself.
fn refused(network: &Network<'_>, at: u32, soc: &Soc) -> Error {
    let workload = network.stage(at).workload;
    let tried = Model::new(workload, soc).and_then(|model| model.predict(&default_policy(workload, soc)?));
    let why = tried.err().map(|error| format!(": {error}")).unwrap_or_default();
    let reason = format!("node `{}` cannot run on {}{why}", network.name(at), soc.name);
    Error::Workload { workload: workload.to_string(), reason }
}
