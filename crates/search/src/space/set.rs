//! The legal set of a space: how large it is, what is in it, its samples and neighbours.

use super::Space;
use super::group::{Group, Set};
use super::program::State;
use crate::{Domain, Scale};
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
    /// Number of legal configurations; `None` where a group of parameters is walked, and where the number is
    /// beyond 128 bits.
    pub fn count(&self) -> Option<u128> {
        self.groups.iter().try_fold(1_u128, |count, group| {
            let part = group.all()?;
            count.checked_mul(group.count(&part))
        })
    }

    /// The legal configuration at a place in lexicographic order; `None` beyond the last, and where
    /// [`Space::count`] has no answer.
    pub fn configuration(&self, index: u128) -> Option<Vec<u32>> {
        let mut count = self.count()?;
        if index >= count {
            return None;
        }
        let mut index = index;
        let mut parts: Vec<Part> = self.groups.iter().map(Group::all).collect::<Option<_>>()?;
        let mut configuration = Vec::with_capacity(self.places.len());
        for &(g, level) in &self.places {
            let group = &self.groups[g];
            // For each combination of this group, so many configurations of all others.
            let others = count / group.count(&parts[g]);
            let (value, before, part) = group.at(&parts[g], level, index / others);
            index -= before * others;
            count = group.count(&part) * others;
            parts[g] = part;
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
        let mut parts: Vec<Part> = self.groups.iter().map(Group::all).collect::<Option<_>>()?;
        for (&(g, level), &value) in self.places.iter().zip(configuration) {
            let group = &self.groups[g];
            let others = count / group.count(&parts[g]);
            let (before, part) = group.narrowed(&parts[g], level, value)?;
            index += before * others;
            count = group.count(&part) * others;
            parts[g] = part;
        }
        Some(index)
    }

    /// A random legal configuration. All are equally likely, except where a group of parameters is walked and
    /// fewer than about one in a thousand of its combinations is legal. `None` where such a group hides them too
    /// well.
    pub fn sample(&self, rng: &mut fastrand::Rng) -> Option<Vec<u32>> {
        self.sample_within(rng, &mut { usize::MAX })
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
}

/// The combinations of a group that begin with some values.
enum Part {
    /// Of a listed set.
    Run(Range<usize>),
    /// Of a merged one.
    Node(u32),
}

impl Group {
    /// All combinations; `None` for a walked set.
    fn all(&self) -> Option<Part> {
        match &self.set {
            Set::Listed(rows) => Some(Part::Run(0..rows.len())),
            Set::Merged(diagram) => Some(Part::Node(diagram.root())),
            Set::Walked(_) => None,
        }
    }

    fn count(&self, part: &Part) -> u128 {
        match (&self.set, part) {
            (_, Part::Run(run)) => run.len() as u128,
            (Set::Merged(diagram), Part::Node(node)) => diagram.count(*node),
            (_, Part::Node(_)) => 0,
        }
    }

    /// The combinations of a part that have a value at a level, and how many of the part come before them.
    fn narrowed(&self, part: &Part, level: usize, value: u32) -> Option<(u128, Part)> {
        match (&self.set, part) {
            (Set::Listed(rows), Part::Run(run)) => {
                let narrowed = rows.narrowed(run, level, value);
                (!narrowed.is_empty()).then(|| ((narrowed.start - run.start) as u128, Part::Run(narrowed)))
            }
            (Set::Merged(diagram), Part::Node(node)) => {
                let mut before = 0;
                for &(other, next) in diagram.edges(*node) {
                    if other == value {
                        return Some((before, Part::Node(next)));
                    }
                    before += diagram.count(next);
                }
                None
            }
            _ => None,
        }
    }

    /// The value that a part's combination of a rank has at a level, how many come before those that share it,
    /// and these. The rank is below the part's count.
    fn at(&self, part: &Part, level: usize, rank: u128) -> (u32, u128, Part) {
        match (&self.set, part) {
            (Set::Listed(rows), Part::Run(run)) => {
                let value = rows.value(run.start + rank as usize, level);
                let narrowed = rows.narrowed(run, level, value);
                (value, (narrowed.start - run.start) as u128, Part::Run(narrowed))
            }
            (Set::Merged(diagram), Part::Node(node)) => {
                let mut before = 0;
                for &(value, next) in diagram.edges(*node) {
                    let count = diagram.count(next);
                    if rank < before + count {
                        return (value, before, Part::Node(next));
                    }
                    before += count;
                }
                unreachable!("the rank is below the number of paths")
            }
            _ => unreachable!("a part belongs to the set of its group"),
        }
    }
}

/// A random combination of a group, with so many steps as [`Domain::sample_within`] says.
fn sampled(group: &Group, rng: &mut fastrand::Rng, steps: &mut usize) -> Option<Vec<u32>> {
    if let Some(mut part) = group.all() {
        *steps = steps.checked_sub(group.members.len())?;
        let mut rank = rng.u128(0..group.count(&part));
        let mut combination = Vec::with_capacity(group.members.len());
        for level in 0..group.members.len() {
            let (value, before, narrowed) = group.at(&part, level, rank);
            rank -= before;
            part = narrowed;
            combination.push(value);
        }
        return Some(combination);
    }
    let Set::Walked(program) = &group.set else { return None };
    let width = program.width();
    let mut state = program.start();
    let mut bind = |state: &mut State, level: usize, choice: usize| {
        *steps = steps.checked_sub(1)?;
        Some(program.bind(state, level, choice))
    };
    // Draws that are kept only when legal are fair.
    for _ in 0..DRAWS {
        let mut level = 0;
        while level < width && bind(&mut state, level, rng.usize(0..program.choices(level).len()))? {
            level += 1;
        }
        if level == width {
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
            Some(choice) if !bind(&mut state, level, choice)? => {}
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

    fn sample_within(&self, rng: &mut fastrand::Rng, steps: &mut usize) -> Option<Vec<u32>> {
        let mut configuration = vec![0; self.places.len()];
        for group in &self.groups {
            let combination = sampled(group, rng, steps)?;
            for (&member, value) in group.members.iter().zip(combination) {
                configuration[member as usize] = value;
            }
        }
        Some(configuration)
    }

    fn enumerate(&self, limit: usize) -> Option<Vec<u32>> {
        let count = self.count().filter(|&count| count <= limit as u128)? as usize;
        let width = self.places.len();
        let mut flat = Vec::with_capacity(count.checked_mul(width)?);
        let whole = |group: &Group| match &group.set {
            Set::Listed(rows) => Some(0..rows.len()),
            Set::Merged(_) | Set::Walked(_) => None,
        };
        let mut runs: Vec<Range<usize>> = self.groups.iter().map(whole).collect::<Option<_>>()?;
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
