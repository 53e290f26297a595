//! CANN's default fusion, which every gain is measured against.

use super::network::{Network, Role};
use super::scope;
use crate::lower::Source;
use crate::soc::Arch;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Most readers of a result that passes within a scope.
const MOST_READERS: usize = 6;

/// The scopes of a step by default, in an order in which they can run.
///
/// Every kernel joins the scopes that make its inputs, else that of one maker, of the latest first, as long as the
/// passes allow it and the scopes can still run one after the other. What passes within a scope has all its readers there: where
/// some stayed outside, its maker ends its scope.
pub fn scopes(network: &Network<'_>, arch: Arch, step: &Range<u32>) -> Vec<Vec<u32>> {
    let mut ends: FxHashSet<u32> = FxHashSet::default();
    loop {
        let scopes = joined(network, arch, step, &ends);
        let open = scopes.iter().flat_map(|members| members.iter().filter(|&&at| is_split(network, members, at)));
        let known = ends.len();
        ends.extend(open.copied().collect::<Vec<_>>());
        if ends.len() == known {
            return scopes;
        }
    }
}

/// Whether a member's result is read both in its scope and elsewhere.
fn is_split(network: &Network<'_>, members: &[u32], at: u32) -> bool {
    let inside = network.stage(at).users.iter().any(|user| members.contains(user));
    inside && scope::is_result(network, members, at)
}

/// The scopes of a step where nothing follows those in `ends`.
fn joined(network: &Network<'_>, arch: Arch, step: &Range<u32>, ends: &FxHashSet<u32>) -> Vec<Vec<u32>> {
    let mut scopes: Vec<Vec<u32>> = Vec::new();
    for at in step.clone() {
        let mut makers: Vec<u32> =
            makers(network, step, at).filter(|maker| goes_on(network, *maker, at, ends)).collect();
        makers.sort_unstable();
        makers.dedup();
        let home = |maker: &u32, scopes: &[Vec<u32>]| scopes.iter().position(|scope| scope.contains(maker));
        let homes: FxHashSet<usize> = makers.iter().filter_map(|maker| home(maker, &scopes)).collect();
        let alone =
            makers.iter().rev().filter_map(|maker| home(maker, &scopes)).map(|home| FxHashSet::from_iter([home]));
        let tries = std::iter::once(homes.clone()).chain(alone).filter(|homes| !homes.is_empty());
        let with = tries.map(|homes| merged(&scopes, &homes, at)).find(|(members, scopes)| {
            scope::pass(network, arch, members).is_some() && ordered(network, step, scopes.clone()).is_some()
        });
        match with {
            Some((_, joined)) => scopes = joined,
            None => scopes.push(vec![at]),
        }
    }
    ordered(network, step, scopes).unwrap_or_else(|| step.clone().map(|at| vec![at]).collect())
}

/// Scopes with some of them and a kernel made one; that one by itself too.
fn merged(scopes: &[Vec<u32>], homes: &FxHashSet<usize>, at: u32) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut members: Vec<u32> = homes.iter().flat_map(|&home| scopes[home].iter().copied()).chain([at]).collect();
    members.sort_unstable();
    let others = scopes.iter().enumerate().filter(|(index, _)| !homes.contains(index)).map(|(_, scope)| scope.clone());
    let scopes = others.chain([members.clone()]).collect();
    (members, scopes)
}

/// Whether a kernel may take this one's result inside the core by default.
fn goes_on(network: &Network<'_>, maker: u32, at: u32, ends: &FxHashSet<u32>) -> bool {
    let stage = network.stage(maker);
    // CANN's pass for reductions behind elementwise kernels leaves those of its networks alone.
    let reduces = network.stage(at).role == Role::Reducing;
    !reduces && !stage.leaves && stage.users.len() <= MOST_READERS && !ends.contains(&maker)
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
