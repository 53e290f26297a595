//! A network as a strategy has it run: the kernels that operator tuning then works on.

use super::scope;
use super::strategy::{Case, Strategy};
use super::{Network, steps::Subgraph};
use crate::lower::{Kernel, Lowered};

/// The kernels of the network under the strategies found: each scope is one kernel, launched once for each
/// part of its group's batch, in an order in which they can run.
pub fn tuned(network: &Network<'_>, cases: &[Case]) -> Lowered {
    let mut placed: Vec<(&Subgraph, &Subgraph, &Strategy)> = Vec::new();
    for case in cases {
        placed.extend(case.subgraphs.iter().map(|subgraph| (subgraph, &case.subgraphs[0], &case.after)));
    }
    placed.sort_by_key(|(subgraph, ..)| subgraph.kernels.start);
    let mut kernels = Vec::with_capacity(network.stages().len());
    for (subgraph, solved, strategy) in placed {
        for group in &strategy.groups {
            for members in &group.scopes {
                let here: Vec<u32> =
                    members.iter().map(|at| at - solved.kernels.start + subgraph.kernels.start).collect();
                kernels.extend(kernel(network, &here, group.parts));
            }
        }
    }
    Lowered { kernels, unmapped: network.unmapped().to_vec() }
}

fn kernel(network: &Network<'_>, members: &[u32], parts: u64) -> Option<Kernel> {
    let nodes = |at: &u32| network.stage(*at).node;
    Some(Kernel {
        node: members.first().map(nodes)?,
        fused: members[1..].iter().map(nodes).collect(),
        workload: scope::workload(network, members, parts)?,
        launches: u32::try_from(parts).ok()?,
    })
}
