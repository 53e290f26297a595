//! A network as CANN runs it by itself.

use super::apply;
use super::network::Network;
use super::price::Pricer;
use super::strategy::{self, default_strategy};
use crate::graph::Graph;
use crate::lower::{self, Lowered};
use crate::soc::Soc;
use crate::status::Result;

/// The kernels of a lowered graph as CANN runs them by itself: each group of its fusion is one. This is what any job
/// begins with.
///
/// Fails with [`crate::status::Error::Workload`] for a kernel that cannot run on the part at all.
pub fn fused(graph: &Graph, lowered: &Lowered, soc: &Soc, settings: &lower::Settings) -> Result<Lowered> {
    let network = Network::new(graph, lowered, soc, settings)?;
    let mut pricer = Pricer::new(&network, soc);
    let alike = strategy::alike(&network, soc).into_iter();
    let plans = alike.map(|subgraphs| Ok((default_strategy(&mut pricer, &subgraphs[0])?, subgraphs)));
    let plans: Vec<_> = plans.collect::<Result<_>>()?;
    let plans = plans.iter().map(|(strategy, subgraphs)| (subgraphs.as_slice(), strategy));
    let mut lowered = apply::kernels(&network, soc, plans);
    // No batch is cut: what L2 holds is for the order of the kernels to tell, which strategies that are searched on one
    // subgraph for all that are alike cannot know.
    for kernel in &mut lowered.kernels {
        kernel.missed = None;
    }
    network.settle(&mut lowered);
    Ok(lowered)
}
