//! The legal set of a space: how large it is, what is in it, its samples and neighbours.

use super::Space;
use super::group::{Group, Set};
use crate::search::{Domain, Scale};
use std::ops::Range;

/// Draws that may fall outside a walked set before it is walked at random.
const DRAWS: usize = 1024;
/// Values that one random walk may try.
const WALK_STEPS: usize = 1 << 16;

/// Which configurations are next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbourhood {
    /// One parameter differs.
    Hamming,
    /// One parameter differs, by one step: no legal configuration lies between, and the parameter's values
    /// have an order.
    Adjacent,
}

impl Space {
    /// Number of legal configurations; `None` where a group of parameters has too many to list, or where the
    /// number is beyond 128 bits.
    pub fn count(&self) -> Option<u128> {
        self.groups.iter().try_fold(1_u128, |count, group| count.checked_mul(rows_of(group)? as u128))
    }

    /// The legal configuration at a place in lexicographic order; `None` beyond the last, and where
    /// [`Space::count`] has no answer.
    pub fn configuration(&self, index: u128) -> Option<Vec<u32>> {
        let count = self.count()?;
        if index >= count {
            return None;
        }
        let (mut index, mut count) = (index, count);
        let mut runs = self.whole_runs();
        let mut configuration = Vec::with_capacity(self.places.len());
        for &(group, level) in &self.places {
            let Set::Listed(rows) = &self.groups[group].set else { return None };
            let run = &mut runs[group];
            // For each row of this group, so many configurations of all others.
            let others = count / run.len() as u128;
            let value = rows.value(run.start + (index / others) as usize, level);
            let narrowed = rows.narrowed(run, level, value);
            index -= (narrowed.start - run.start) as u128 * others;
            count = narrowed.len() as u128 * others;
            *run = narrowed;
            configuration.push(value);
        }
        Some(configuration)
    }

    /// The place of a legal configuration in lexicographic order; `None` where it is not legal, and where
    /// [`Space::count`] has no answer.
    pub fn index(&self, configuration: &[u32]) -> Option<u128> {
        let mut count = self.count()?;
        if configuration.len() != self.places.len() {
            return None;
        }
        let mut index = 0;
        let mut runs = self.whole_runs();
        for (&(group, level), &value) in self.places.iter().zip(configuration) {
            let Set::Listed(rows) = &self.groups[group].set else { return None };
            let run = &mut runs[group];
            let others = count / run.len() as u128;
            let narrowed = rows.narrowed(run, level, value);
            if narrowed.is_empty() {
                return None;
            }
            index += (narrowed.start - run.start) as u128 * others;
            count = narrowed.len() as u128 * others;
            *run = narrowed;
        }
        Some(index)
    }

    /// A random legal configuration. All are equally likely, except where a group of parameters has too many
    /// to list and fewer than about one in a thousand of its combinations is legal. `None` where such a group
    /// hides them too well.
    pub fn sample(&self, rng: &mut fastrand::Rng) -> Option<Vec<u32>> {
        let mut configuration = vec![0; self.places.len()];
        for group in &self.groups {
            let combination = sampled(group, rng)?;
            for (&member, value) in group.members.iter().zip(combination) {
                configuration[member as usize] = value;
            }
        }
        Some(configuration)
    }

    /// The legal configurations next to a configuration, which need not be legal itself.
    pub fn neighbours(&self, configuration: &[u32], neighbourhood: Neighbourhood) -> Vec<Vec<u32>> {
        let mut neighbours = Vec::new();
        if !self.in_range(configuration) {
            return neighbours;
        }
        for (parameter, &value) in configuration.iter().enumerate() {
            let legal = |other: u32| {
                let mut neighbour = configuration.to_vec();
                neighbour[parameter] = other;
                self.is_legal(&neighbour).then_some(neighbour)
            };
            let (below, above) = ((0..value).rev(), value + 1..self.sizes[parameter]);
            match neighbourhood {
                Neighbourhood::Hamming => neighbours.extend(below.rev().chain(above).filter_map(legal)),
                Neighbourhood::Adjacent if self.scale(parameter) == Scale::Categorical => {}
                Neighbourhood::Adjacent => {
                    neighbours.extend(below.into_iter().find_map(legal));
                    neighbours.extend(above.into_iter().find_map(legal));
                }
            }
        }
        neighbours
    }

    /// All rows of each group.
    fn whole_runs(&self) -> Vec<Range<usize>> {
        self.groups.iter().map(|group| 0..rows_of(group).unwrap_or(0)).collect()
    }
}

fn rows_of(group: &Group) -> Option<usize> {
    match &group.set {
        Set::Listed(rows) => Some(rows.len()),
        Set::Walked(_) => None,
    }
}

/// A random combination of a group.
fn sampled(group: &Group, rng: &mut fastrand::Rng) -> Option<Vec<u32>> {
    let program = match &group.set {
        Set::Listed(rows) => {
            let row = rng.usize(0..rows.len());
            return Some((0..rows.width()).map(|column| rows.value(row, column)).collect());
        }
        Set::Walked(program) => program,
    };
    let width = program.width();
    let mut state = program.start();
    // Draws that are kept only when legal are fair.
    for _ in 0..DRAWS {
        if (0..width).all(|level| {
            let choice = rng.usize(0..program.choices(level).len());
            program.bind(&mut state, level, choice)
        }) {
            return Some(state.bound);
        }
    }
    // A walk that turns back at dead ends, its values in random order.
    let shuffled = |level: usize, rng: &mut fastrand::Rng| {
        let mut choices: Vec<usize> = (0..program.choices(level).len()).collect();
        rng.shuffle(&mut choices);
        choices
    };
    let mut open = vec![shuffled(0, rng)];
    for _ in 0..WALK_STEPS {
        let level = open.len() - 1;
        match open[level].pop() {
            Some(choice) if !program.bind(&mut state, level, choice) => {}
            Some(_) if level + 1 == width => return Some(state.bound),
            Some(_) => open.push(shuffled(level + 1, rng)),
            None if level == 0 => return None,
            None => drop(open.pop()),
        }
    }
    None
}

impl Domain for Space {
    fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    fn scale(&self, parameter: usize) -> Scale<'_> {
        self.scales[parameter].as_deref().map_or(Scale::Categorical, Scale::Ordinal)
    }

    fn is_legal(&self, configuration: &[u32]) -> bool {
        self.in_range(configuration)
            && self.groups.iter().all(|group| group.contains(group.members.iter().map(|&m| configuration[m as usize])))
    }

    fn may_extend(&self, prefix: &[u32]) -> bool {
        let Some(last) = prefix.len().checked_sub(1) else { return true };
        let (group, level) = self.places[last];
        let group = &self.groups[group];
        group.may_begin(group.members[..=level].iter().map(|&member| prefix[member as usize]))
    }

    /// The last member of each group decides the whole group on the way.
    fn completes(&self, configuration: &[u32]) -> bool {
        debug_assert!(self.is_legal(configuration));
        true
    }

    fn enumerate(&self, limit: usize) -> Option<Vec<u32>> {
        let count = self.count().filter(|&count| count <= limit as u128)? as usize;
        let width = self.places.len();
        let mut flat = Vec::with_capacity(count.checked_mul(width)?);
        let mut runs = self.whole_runs();
        // What is left of a group's run at each level, and the run that each level has narrowed.
        let mut rest: Vec<Range<usize>> = vec![0..0; width];
        let mut outer = rest.clone();
        let mut current = vec![0; width];
        let mut parameter = 0;
        rest[0] = runs[self.places[0].0].clone();
        outer[0] = rest[0].clone();
        loop {
            let (group, level) = self.places[parameter];
            let Set::Listed(rows) = &self.groups[group].set else { return None };
            if rest[parameter].is_empty() {
                runs[group] = outer[parameter].clone();
                if parameter == 0 {
                    return Some(flat);
                }
                parameter -= 1;
                continue;
            }
            let begin = rest[parameter].start;
            let value = rows.value(begin, level);
            let end = rows.end_of(begin, rest[parameter].end, level, value);
            rest[parameter].start = end;
            current[parameter] = value;
            if parameter + 1 == width {
                flat.extend_from_slice(&current);
                continue;
            }
            runs[group] = begin..end;
            parameter += 1;
            let next = self.places[parameter].0;
            outer[parameter] = runs[next].clone();
            rest[parameter] = runs[next].clone();
        }
    }
}
