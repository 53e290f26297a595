//! Local search: neighbours of the leaders, nearest first.

use super::legal::repair;
use super::{Domain, Search};
use rustc_hash::FxHashMap;

/// Leaders whose neighbours are tried.
const LEADERS: usize = 6;
/// Distances of neighbours, in values of one parameter.
const DISTANCES: [u32; 5] = [1, 2, 4, 8, 16];

/// Which neighbours of which trials were tried.
#[derive(Debug)]
pub(super) struct Moves {
    /// Parameters with more than one value.
    active: Vec<usize>,
    /// Moves done from each trial.
    done: FxHashMap<u64, usize>,
}

impl Moves {
    pub fn new(sizes: &[u32]) -> Moves {
        let active = (0..sizes.len()).filter(|&parameter| sizes[parameter] > 1).collect();
        Moves { active, done: FxHashMap::default() }
    }

    pub fn random_parameter(&self, rng: &mut fastrand::Rng) -> Option<usize> {
        rng.choice(&self.active).copied()
    }

    /// The next move from a trial: a parameter, how far, and whether up.
    fn next(&mut self, id: u64) -> Option<(usize, u32, bool)> {
        let done = self.done.entry(id).or_insert(0);
        let both_ways = 2 * self.active.len();
        let distance = *DISTANCES.get(done.checked_div(both_ways)?)?;
        // Each trial starts at another parameter.
        let step = (*done + 2 * id as usize) % both_ways;
        *done += 1;
        Some((self.active[step / 2], distance, step.is_multiple_of(2)))
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
