//! The default mix: initial design, genetic search, and more and more local search around the leaders.

use super::{Domain, Search};

impl<D: Domain> Search<D> {
    pub(super) fn propose_auto(&mut self) -> Option<Vec<u32>> {
        let progress = self.history.len() as f64 / self.settings.max_trials.max(1) as f64;
        let local = self.history.told() > 0 && self.rng.f64() < 0.2 + 0.6 * progress;
        let neighbour = if local { self.propose_neighbour() } else { None };
        neighbour.or_else(|| self.propose_genetic())
    }
}
