//! Local search: neighbours of the leaders, nearest first.

use super::repair::repair;
use super::{Domain, Scale, Search};
use rustc_hash::FxHashMap;

/// Leaders whose neighbours are tried.
const LEADERS: usize = 6;
/// Distances of neighbours, in values of one parameter.
const DISTANCES: [u32; 5] = [1, 2, 4, 8, 16];

/// Share of random changes that go to a neighbouring value, where values have an order; the rest goes
/// anywhere.
const NEIGHBOUR: f64 = 0.7;
/// Share of those that go one step; the rest goes two.
const ONE_STEP: f64 = 0.7;

/// Which neighbours of which trials were tried.
#[derive(Debug)]
pub(super) struct Moves {
    /// Parameters with more than one value.
    active: Vec<usize>,
    sizes: Vec<u32>,
    /// Parameters whose values have an order.
    ordered: Vec<bool>,
    /// Moves done from each trial.
    done: FxHashMap<u64, usize>,
}

impl Moves {
    pub fn new(domain: &impl Domain) -> Moves {
        let sizes = domain.sizes().to_vec();
        let active = (0..sizes.len()).filter(|&parameter| sizes[parameter] > 1).collect();
        let ordered = (0..sizes.len()).map(|parameter| domain.scale(parameter) != Scale::Categorical).collect();
        Moves { active, sizes, ordered, done: FxHashMap::default() }
    }

    pub fn random_parameter(&self, rng: &mut fastrand::Rng) -> Option<usize> {
        rng.choice(&self.active).copied()
    }

    /// Another value of a parameter that has more than one.
    pub fn other_value(&self, parameter: usize, value: u32, rng: &mut fastrand::Rng) -> u32 {
        let size = self.sizes[parameter];
        if self.ordered[parameter] && rng.f64() < NEIGHBOUR {
            let step = if rng.f64() < ONE_STEP { 1 } else { 2 };
            let up = if value == 0 { true } else { value + 1 < size && rng.bool() };
            if up { (value + step).min(size - 1) } else { value.saturating_sub(step) }
        } else {
            // Any value but the present one.
            ((u64::from(value) + u64::from(rng.u32(1..size))) % u64::from(size)) as u32
        }
    }

    /// The next move from a trial: a parameter, how far, and whether up.
    pub fn next(&mut self, id: u64) -> Option<(usize, u32, bool)> {
        let done = self.done.entry(id).or_insert(0);
        let both_ways = 2 * self.active.len();
        let distance = *DISTANCES.get(done.checked_div(both_ways)?)?;
        // Each trial starts at another parameter.
        let step = (*done + 2 * id as usize) % both_ways;
        *done += 1;
        Some((self.active[step / 2], distance, step.is_multiple_of(2)))
    }
}

/// Shows the legal configurations that differ from this one in one parameter; of long lists of values
/// those at distances 1, 2, 4 and so on.
pub(super) fn neighbours(domain: &impl Domain, configuration: &[u32], mut visit: impl FnMut(&[u32])) {
    /// Lists up to this long are tried whole.
    const WHOLE: u32 = 64;
    let mut neighbour = configuration.to_vec();
    for (parameter, &size) in domain.sizes().iter().enumerate() {
        let here = configuration[parameter];
        let mut show = |value: u32| {
            neighbour[parameter] = value;
            if domain.is_legal(&neighbour) {
                visit(&neighbour);
            }
            neighbour[parameter] = here;
        };
        if size <= WHOLE {
            (0..size).filter(|&value| value != here).for_each(&mut show);
        } else {
            let steps = (0..u32::BITS).map(|power| 1 << power);
            steps.clone().map_while(|step: u32| here.checked_sub(step)).for_each(&mut show);
            steps.map_while(|step| here.checked_add(step).filter(|&value| value < size)).for_each(&mut show);
        }
    }
}

impl<D: Domain> Search<D> {
    /// A new neighbour of one of the leaders; `None` when all were tried.
    pub(super) fn propose_neighbour(&mut self) -> Option<Vec<u32>> {
        for rank in 0..LEADERS {
            let id = self.population.id(rank)?;
            while let Some((parameter, distance, up)) = self.moves.next(id) {
                let leader = self.history.configuration(id);
                let value = leader[parameter];
                let moved = if up { value.checked_add(distance) } else { value.checked_sub(distance) };
                let Some(moved) = moved.filter(|&moved| moved < self.domain.sizes()[parameter]) else { continue };
                let mut target = leader.to_vec();
                target[parameter] = moved;
                let neighbour = repair(&self.domain, &target, leader, Some(parameter), &mut self.rng);
                if let Some(neighbour) = neighbour.filter(|c| !self.history.contains(c)) {
                    return Some(neighbour);
                }
            }
        }
        None
    }
}
