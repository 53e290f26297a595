//! Chains of kernels that fusion keeps inside the core: each reads what only it needs of the one before.

use super::network::Network;
use super::scope::{self, MOST_MEMBERS};
use crate::lower::Source;
use crate::soc::Arch;

/// The kernel whose result this one takes inside the core, by itself. Those of the network are found when one is
/// first asked for.
pub fn chained_to(network: &Network<'_>, at: u32) -> Option<u32> {
    network.chains().get_or_init(|| find(network, network.soc().arch))[at as usize]
}

/// For each kernel the one whose result it takes without its passing L2: the latest maker of its inputs, where it is
/// the only reader and the passes let the chain up to here run as one scope.
fn find(network: &Network<'_>, arch: Arch) -> Vec<Option<u32>> {
    let mut before: Vec<Option<u32>> = Vec::with_capacity(network.stages().len());
    for at in 0..network.stages().len() as u32 {
        let latest = latest_maker(network, at).filter(|&maker| {
            let stage = network.stage(maker);
            !stage.leaves && stage.users == [at] && scope::Follower::new(network, arch, at).follows(maker)
        });
        before.push(latest.filter(|&maker| {
            let mut chain: Vec<u32> = std::iter::successors(Some(maker), |&of| before[of as usize]).collect();
            chain.reverse();
            chain.push(at);
            chain.len() <= MOST_MEMBERS && scope::pass(network, arch, &chain).is_some()
        }));
    }
    before
}

fn latest_maker(network: &Network<'_>, at: u32) -> Option<u32> {
    let maker = |source| if let Source::Kernel(maker) = source { Some(maker) } else { None };
    network.stage(at).reads.iter().filter_map(|read| maker(read.source)).max()
}
