//! Simulated annealing: a walk over neighbours that takes worse ones too, ever more seldom.

use super::repair::repair;
use super::{Domain, Search};

/// Temperature at the start and at the end of the budget, in parts of a cost: a neighbour that is worse by
/// so much is taken about once in three times.
const TEMPERATURE: (f64, f64) = (0.5, 0.005);
/// Neighbours that may turn out to be known before a random configuration is taken instead.
const TRIES: usize = 24;
/// Probability that a step changes yet another parameter.
const FURTHER: f64 = 0.3;

/// Where the walk is.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The trial it stands on.
    at: Option<u64>,
    /// Told trials that it has decided about.
    decided: usize,
}

impl<D: Domain> Search<D> {
    /// A new neighbour of where the walk stands; `None` before anything is told and when the neighbours drawn
    /// are known.
    pub(super) fn propose_step(&mut self) -> Option<Vec<u32>> {
        self.decide();
        let at = self.walk.at?;
        (0..TRIES).find_map(|_| {
            let here = self.history.configuration(at);
            let mut target = here.to_vec();
            let fixed = self.moves.random_parameter(&mut self.rng)?;
            let mut parameter = fixed;
            loop {
                target[parameter] = self.moves.other_value(parameter, target[parameter], &mut self.rng);
                if self.rng.f64() >= FURTHER {
                    break;
                }
                parameter = self.moves.random_parameter(&mut self.rng)?;
            }
            let step = repair(&self.domain, &target, here, Some(fixed), &mut self.rng)?;
            (!self.history.contains(&step)).then_some(step)
        })
    }

    /// Goes through what was told since the last time.
    fn decide(&mut self) {
        let progress = self.counted() as f64 / self.settings.max_trials.max(1) as f64;
        let temperature = TEMPERATURE.0 * (TEMPERATURE.1 / TEMPERATURE.0).powf(progress.min(1.0));
        let known = self.history.known();
        for &id in &known[self.walk.decided..] {
            let Some(cost) = self.history.cost(id) else { continue };
            let here = self.walk.at.and_then(|at| self.history.cost(at));
            let worse = here.map_or(0.0, |here| (cost - here) / here.abs().max(f64::MIN_POSITIVE));
            if worse <= 0.0 || self.rng.f64() < (-worse / temperature).exp() {
                self.walk.at = Some(id);
            }
        }
        self.walk.decided = known.len();
    }
}
