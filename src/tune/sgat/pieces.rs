//! Pieces of steps in groups that grow: what they cost, asked again only when the group around them matters.

use super::network::Network;
use super::residency::Run;
use crate::lower::{Read, Source};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// What pieces cost on one number of parts, for all that matters of the groups around them.
#[derive(Debug, Default)]
pub struct Costs {
    known: FxHashMap<(u32, u32, Around), Option<f64>>,
}

/// All that a piece's cost depends on of the group that it is in: how many of its makers and of its last readers
/// are in the group, and whether the group's weights stay in L2.
type Around = (usize, usize, bool);

/// A piece of a step in a group.
#[derive(Debug)]
pub struct Piece {
    kernels: Range<u32>,
    /// Earlier kernels that it reads, ascending.
    makers: Vec<u32>,
    /// The last readers of its results, ascending.
    last_users: Vec<u32>,
    /// What it cost last, and where.
    latest: Option<(Around, Option<f64>)>,
}

impl Piece {
    /// A piece of these kernels.
    pub fn new(network: &Network<'_>, kernels: Range<u32>) -> Piece {
        let reads = kernels.clone().flat_map(|at| &network.stage(at).reads);
        let maker = |read: &Read| if let Source::Kernel(from) = read.source { Some(from) } else { None };
        let mut makers: Vec<u32> = reads.filter_map(maker).filter(|from| *from < kernels.start).collect();
        let last_users = kernels.clone().filter_map(|at| network.stage(at).users.last().copied());
        let mut last_users: Vec<u32> = last_users.filter(|to| *to >= kernels.end).collect();
        makers.sort_unstable();
        last_users.sort_unstable();
        Piece { kernels, makers, last_users, latest: None }
    }

    /// Its kernels.
    pub const fn kernels(&self) -> &Range<u32> {
        &self.kernels
    }

    /// Microseconds of it in a group that runs so, which `price` is asked for when it is not known; `None` where
    /// it cannot run so.
    pub fn us(
        &mut self,
        run: Run,
        costs: &mut Costs,
        price: &mut dyn FnMut(&Range<u32>) -> Option<f64>,
    ) -> Option<f64> {
        let before = self.makers.partition_point(|&maker| maker < run.from);
        let inside = self.last_users.partition_point(|&user| user < run.to);
        let around = (before, inside, run.keeps_weights);
        if let Some((known, us)) = self.latest
            && known == around
        {
            return us;
        }
        let key = (self.kernels.start, self.kernels.end, around);
        let us = *costs.known.entry(key).or_insert_with(|| price(&self.kernels));
        self.latest = Some((around, us));
        us
    }
}
