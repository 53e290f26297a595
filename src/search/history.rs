//! The trials of a search, and the best of them.

use super::Outcome;
use crate::status::{Error, Result};
use rustc_hash::FxHashSet;

/// Every trial: its configuration, and whether its outcome is known.
#[derive(Debug)]
pub(super) struct History {
    width: usize,
    /// All configurations, one after the other.
    configurations: Vec<u32>,
    told: Vec<bool>,
    told_count: usize,
    seen: FxHashSet<Box<[u32]>>,
}

impl History {
    pub fn new(width: usize) -> History {
        History { width, configurations: Vec::new(), told: Vec::new(), told_count: 0, seen: FxHashSet::default() }
    }

    /// Number of trials handed out.
    pub fn len(&self) -> usize {
        self.told.len()
    }

    /// Number of trials whose outcome is known.
    pub fn told(&self) -> usize {
        self.told_count
    }

    pub fn contains(&self, configuration: &[u32]) -> bool {
        self.seen.contains(configuration)
    }

    /// The configuration of a trial that was handed out.
    pub fn configuration(&self, id: u64) -> &[u32] {
        let start = id as usize * self.width;
        &self.configurations[start..start + self.width]
    }

    pub fn ask(&mut self, configuration: &[u32]) -> u64 {
        self.configurations.extend_from_slice(configuration);
        self.seen.insert(configuration.into());
        self.told.push(false);
        self.told.len() as u64 - 1
    }

    pub fn tell(&mut self, id: u64, outcome: Outcome) -> Result<()> {
        let slot = usize::try_from(id).ok().and_then(|i| self.told.get_mut(i));
        match slot {
            None => Err(Error::param("trial", format!("{id} was never handed out ({outcome:?})"))),
            Some(true) => Err(Error::param("trial", format!("{id} has been told already"))),
            Some(told) => {
                *told = true;
                self.told_count += 1;
                Ok(())
            }
        }
    }
}

/// The best trials, cheapest first. Of trials with exactly the same cost only the earliest is kept: in a
/// deterministic model they differ in what does not matter, and would crowd out all else.
#[derive(Debug)]
pub(super) struct Population {
    members: Vec<(f64, u64)>,
    capacity: usize,
}

impl Population {
    pub fn new(capacity: usize) -> Population {
        Population { members: Vec::with_capacity(capacity + 1), capacity: capacity.max(1) }
    }

    pub fn insert(&mut self, cost: f64, id: u64) {
        let at = self.members.partition_point(|member| member.0 < cost);
        match self.members.get_mut(at) {
            #[expect(clippy::float_cmp, reason = "exactly equal costs are what is meant")]
            Some(member) if member.0 == cost => member.1 = member.1.min(id),
            _ => {
                self.members.insert(at, (cost, id));
                self.members.truncate(self.capacity);
            }
        }
    }

    pub fn best(&self) -> Option<(f64, u64)> {
        self.members.first().copied()
    }

    pub fn id(&self, rank: usize) -> Option<u64> {
        self.members.get(rank).map(|member| member.1)
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }
}
