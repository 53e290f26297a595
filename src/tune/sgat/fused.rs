//! A network as CANN runs it by itself.

use super::apply::Ordered;
use super::network::Network;
use super::price::Pricer;
use super::steps::Subgraph;
use super::strategy::{self, Strategy, default_strategy};
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
    let alike = strategy::alike(&network, soc);
    let defaults = defaults(&network, soc, &alike)?;
    Ok(untuned(&network, soc, &alike, &defaults).lowered)
}

/// CANN's default for each kind of subgraph that the network has.
pub fn defaults(network: &Network<'_>, soc: &Soc, alike: &[Vec<Subgraph>]) -> Result<Vec<Strategy>> {
    let mut pricer = Pricer::new(network, soc);
    let default = |subgraphs: &Vec<Subgraph>| {
        pricer.bound();
        default_strategy(&mut pricer, &subgraphs[0])
    };
    alike.iter().map(default).collect()
}

/// The network as it runs with CANN's defaults.
pub fn untuned(network: &Network<'_>, soc: &Soc, alike: &[Vec<Subgraph>], defaults: &[Strategy]) -> Ordered {
    Ordered::of(network, soc, alike.iter().map(Vec::as_slice).zip(defaults))
}
