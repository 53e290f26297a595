//! CANN's default fusion, which every gain is measured against.

use super::network::Network;
use super::scope;
use crate::lower::Source;
use crate::soc::Arch;
use std::ops::Range;

/// The scopes of a step by default: every kernel joins the scope of the latest maker of its inputs, as long
/// as the passes allow it and the scopes can still run one after the other. In an order in which they can.
pub fn scopes(network: &Network<'_>, arch: Arch, step: &Range<u32>) -> Vec<Vec<u32>> {
    let mut scopes: Vec<Vec<u32>> = Vec::new();
    for at in step.clone() {
        let maker = makers(network, step, at).max();
        let home = maker.and_then(|maker| scopes.iter().position(|scope| scope.contains(&maker)));
        let Some(home) = home else {
            scopes.push(vec![at]);
            continue;
        };
        scopes[home].push(at);
        if scope::pass(network, arch, &scopes[home]).is_none() || ordered(network, step, scopes.clone()).is_none() {
            scopes[home].pop();
            scopes.push(vec![at]);
        }
    }
    ordered(network, step, scopes).unwrap_or_else(|| step.clone().map(|at| vec![at]).collect())
}

/// Kernels of the step whose results a kernel reads.
fn makers<'n>(network: &'n Network<'_>, step: &Range<u32>, at: u32) -> impl Iterator<Item = u32> + use<'n> {
    let step = step.clone();
    network.stage(at).reads.iter().filter_map(move |read| match read.source {
        Source::Kernel(from) if step.contains(&from) => Some(from),
        _ => None,
    })
}

/// The scopes in an order in which each runs behind what it reads; `None` where two wait for each other.
pub fn ordered(network: &Network<'_>, step: &Range<u32>, scopes: Vec<Vec<u32>>) -> Option<Vec<Vec<u32>>> {
    let mut home = vec![0; step.len()];
    for (index, scope) in scopes.iter().enumerate() {
        for &at in scope {
            home[(at - step.start) as usize] = index;
        }
    }
    let sources = |index: usize, visit: &mut dyn FnMut(usize)| {
        for maker in scopes[index].iter().flat_map(|&at| makers(network, step, at)) {
            let source = home[(maker - step.start) as usize];
            if source != index {
                visit(source);
            }
        }
    };
    // Kernels that were not placed yet are in no scope.
    let order = crate::graph::topology::order(scopes.len(), sources).ok()?;
    let mut scopes = scopes;
    Some(order.into_iter().map(|index| std::mem::take(&mut scopes[index as usize])).collect())
}
