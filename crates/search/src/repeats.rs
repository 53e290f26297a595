//! Measuring again: what to trust where costs scatter.

use super::{Domain, Search};

/// Measurements of a leader at most.
const MEASUREMENTS: usize = 4;
/// One trial in so many repeats another at most.
const SHARE: usize = 5;
/// Trials before which nothing is repeated.
const FIRST: usize = 8;
/// Trials among which the leader is looked for.
const CONTENDERS: usize = 8;

impl<D: Domain> Search<D> {
    /// The trial whose configuration is the best by all that is known.
    pub(super) fn leader(&self) -> Option<u64> {
        if !self.settings.noise {
            return self.population.id(0);
        }
        let contenders = self.population.members().iter().take(CONTENDERS);
        let cautious = contenders.filter_map(|&(_, id)| Some((self.history.cautious_cost(id)?, id)));
        cautious.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, id)| id)
    }

    /// The trial that should be measured again, when one should: the one with the least mean, while it was
    /// measured only a few times.
    pub(super) fn worth_repeating(&self) -> Option<u64> {
        let asked = self.history.len();
        if asked < FIRST || (self.history.repeats() + 1) * SHARE > asked {
            return None;
        }
        let least = self.population.id(0)?;
        (self.history.measurements(least) < MEASUREMENTS).then_some(least)
    }
}
