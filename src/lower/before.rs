//! What a graph's kernels were before conversions came between them: they do the same work, so that it is not found out
//! again.

use super::{Kernel, Lowered, Settings, kernel_of};
use crate::graph::infer::Values;
use crate::graph::{Graph, NodeId};
use crate::soc::Soc;
use crate::status::Result;

/// What is known of a node.
#[derive(Debug, Clone, Copy)]
enum Was {
    /// It was not there.
    New,
    /// It ran no kernel.
    Silent,
    /// It ran the kernel of this number.
    Kernel(u32),
}

/// The kernels of a graph before, by the nodes that the graph has now.
pub(super) struct Before {
    kernels: Vec<Option<Kernel>>,
    nodes: Vec<Was>,
}

impl Before {
    /// The kernels of a graph whose nodes have moved to these places in one of so many nodes.
    pub fn new(lowered: Lowered, places: &[NodeId], nodes: usize) -> Before {
        let mut was = vec![Was::New; nodes];
        for place in places {
            was[place.index()] = Was::Silent;
        }
        for (kernel, number) in lowered.kernels.iter().zip(0..) {
            was[places[kernel.node.index()].index()] = Was::Kernel(number);
        }
        Before { kernels: lowered.kernels.into_iter().map(Some).collect(), nodes: was }
    }

    /// Takes out the nodes that do not stay.
    pub fn retain(&mut self, keep: &[bool]) {
        let mut keep = keep.iter();
        self.nodes.retain(|_| keep.next() == Some(&true));
    }

    /// [`super::lower`] of the graph as it is now.
    pub fn lower(mut self, graph: &Graph, soc: &Soc, settings: &Settings) -> Result<Lowered> {
        let values = Values::default();
        let mut lowered = Lowered::default();
        for id in graph.validated_order()? {
            let kernel = match self.nodes[id.index()] {
                Was::Silent => continue,
                Was::New => match kernel_of(graph, id, soc, *settings, &values)? {
                    Some(new) => new,
                    None => continue,
                },
                Was::Kernel(number) => {
                    let Some(kernel) = self.kernels[number as usize].take() else { continue };
                    Kernel { node: id, ..kernel }
                }
            };
            lowered.add(kernel);
        }
        debug_assert!(super::lower(graph, soc, settings).is_ok_and(|again| same(&again, &lowered)), "{}", graph.name);
        Ok(lowered)
    }
}

/// Whether both are the same kernels.
fn same(one: &Lowered, other: &Lowered) -> bool {
    let is = |(a, b): (&Kernel, &Kernel)| a.node == b.node && a.workload == b.workload && a.priced == b.priced;
    one.kernels.len() == other.kernels.len()
        && one.kernels.iter().zip(&other.kernels).all(is)
        && one.unmapped == other.unmapped
}
