//! Genetic search: parents by tournament, uniform crossover, mutation to neighbours, repair into the
//! legal set. Steady state: each child competes with all trials told so far.

use super::repair::repair;
use super::{Domain, Search};

/// Competitors for the place of a parent.
const TOURNAMENT: usize = 3;
/// Children that may turn out to be known before a random configuration is taken instead.
const TRIES: usize = 12;
/// Share of children that have two parents.
const CROSSOVER: f64 = 0.7;
/// Probability that a child is changed in yet another parameter.
const FURTHER_MUTATION: f64 = 0.4;
/// Trials that breed: enough for variety, few enough that a small budget sees several generations.
pub(super) fn population_size(max_trials: usize) -> usize {
    (max_trials / 10).clamp(10, 48)
}

impl<D: Domain> Search<D> {
    /// A child of the best trials; `None` while too few are told, or when children turn out to be known.
    pub(super) fn propose_genetic(&mut self) -> Option<Vec<u32>> {
        if self.history.known().len() < population_size(self.settings.max_trials) {
            return None;
        }
        (0..TRIES).find_map(|_| self.child().filter(|child| !self.history.contains(child)))
    }

    fn child(&mut self) -> Option<Vec<u32>> {
        let parent = self.parent()?;
        let mut child = self.history.configuration(parent).to_vec();
        let crossed = self.rng.f64() < CROSSOVER;
        if crossed {
            let other = self.parent()?;
            let other = self.history.configuration(other);
            for (gene, &theirs) in child.iter_mut().zip(other) {
                if self.rng.bool() {
                    *gene = theirs;
                }
            }
        }
        let mut fixed = None;
        let mut chance = if crossed { FURTHER_MUTATION } else { 1.0 };
        while self.rng.f64() < chance {
            let parameter = self.moves.random_parameter(&mut self.rng)?;
            child[parameter] = self.moves.other_value(parameter, child[parameter], &mut self.rng);
            fixed.get_or_insert(parameter);
            chance = FURTHER_MUTATION;
        }
        repair(&self.domain, &child, self.history.configuration(parent), fixed, &mut self.rng)
    }

    fn parent(&mut self) -> Option<u64> {
        let size = self.population.len();
        let rank = (0..TOURNAMENT).map(|_| self.rng.usize(0..size.max(1))).min()?;
        self.population.id(rank)
    }
}
