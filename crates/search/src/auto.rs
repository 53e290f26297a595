//! The default mix. Where measuring is dear: two models by turns, the neighbours of the leaders more
//! often later. Where it is cheap: genetic search, and more and more local search around the leaders.

use super::tunable::tunable;
use super::{Domain, Search};

tunable! {
    /// Trials before which nothing is limited to neighbours of the leaders.
    LOCAL_AFTER: usize = 40;
    /// Share of later trials that are.
    LOCAL: f64 = 0.4;
}

impl<D: Domain> Search<D> {
    pub(super) fn propose_auto(&mut self) -> Option<Vec<u32>> {
        if self.surrogate.is_some() {
            let local = self.history.len() >= *LOCAL_AFTER && self.rng.f64() < *LOCAL;
            return self.propose_expected(local);
        }
        let progress = self.counted() as f64 / self.settings.max_trials.max(1) as f64;
        let local = !self.history.known().is_empty() && self.rng.f64() < 0.2 + 0.6 * progress;
        let neighbour = if local { self.propose_neighbour() } else { None };
        neighbour.or_else(|| self.propose_genetic())
    }
}
