//! Parameters that constraints tie together, and the legal combinations of their values.
//!
//! Groups do not depend on each other: the legal set of a space is the product of its groups' sets.

use super::constraint::Constraint;
use super::diagram::{Built, Diagram, Limits};
use super::program::{Choices, Ended, Program, State};
use super::rows::Rows;

/// Value indices that the listed set of one group may hold; a larger set is walked instead.
const LISTED_VALUES: usize = 1 << 24;
/// Values that listing may try; a set that takes more is walked instead.
const LISTING_STEPS: u64 = 1 << 25;
/// Combinations from which on a group is first tried to be merged.
const LARGE: f64 = 1e9;
/// Limits of that try, which takes a few tenths of a second and some 40 MB at most.
const FIRST_TRY: Limits = Limits { edges: 1 << 20, tries: 1 << 20, results: 1 << 21 };
/// Limits of the try after listing has failed.
const LAST_TRY: Limits = Limits { edges: 1 << 22, tries: 1 << 22, results: 1 << 23 };
/// Random dives that tell whether listing is hopeless, and values that they may try together.
const DIVES: (usize, u64) = (64, 1 << 18);
/// Listing is hopeless when it is expected to take so many times what it may. The expectation is right on
/// average, so that a set that could be listed after all is taken for hopeless once in so many times at most.
const HOPELESS: f64 = 100.0;
/// Values that may be tried to see whether a prefix of a walked set leads anywhere.
const LOOKAHEAD: u64 = 128;

/// Parameters that depend on each other, or one that depends on none.
#[derive(Debug, Clone)]
pub struct Group {
    /// The parameters, ascending.
    pub members: Vec<u32>,
    /// Their legal combinations.
    pub set: Set,
}

/// Legal combinations, in the order of the group's members.
#[derive(Debug, Clone)]
pub enum Set {
    /// All of them.
    Listed(Rows),
    /// Too many to list, but prefixes that can go on alike are shared.
    Merged(Diagram),
    /// Too many for both: what is legal is decided when it is asked.
    Walked(Program),
}

/// What listing a group's set came to.
#[derive(Debug)]
pub enum Found {
    /// The group, with one legal combination at least.
    Group(Group),
    /// No combination is legal.
    Nothing,
    /// No legal combination is among the first so many values tried.
    Unknown(u64),
}

impl Group {
    /// Finds the legal combinations of some parameters, ascending, and of all constraints that depend on them;
    /// `choices` is by parameter.
    pub fn find(members: Vec<u32>, choices: &[Choices], constraints: &[&Constraint]) -> Found {
        if let ([parameter], []) = (&members[..], constraints) {
            let values: Vec<u32> = choices[*parameter as usize].iter().map(|&(index, _)| index).collect();
            let empty = values.is_empty();
            let group = Group { members, set: Set::Listed(Rows::of_values(values)) };
            return if empty { Found::Nothing } else { Found::Group(group) };
        }
        let product: f64 = members.iter().map(|&member| choices[member as usize].len() as f64).product();
        let program = Program::new(&members, choices, constraints.iter().copied());
        let merged = |limits| match Diagram::build(&program, limits) {
            Built::Diagram(diagram) => {
                // A list answers faster, and can be had as a whole.
                let listable = diagram.count(diagram.root()) <= (LISTED_VALUES / members.len()) as u128;
                let rows = || Set::Listed(Rows::new(members.len(), &diagram.combinations(members.len())));
                let set = if listable { rows() } else { Set::Merged(diagram) };
                Some(Found::Group(Group { members: members.clone(), set }))
            }
            Built::Nothing => Some(Found::Nothing),
            Built::TooLarge => None,
        };
        // Listing a set is faster than merging it, unless it is far too large.
        let early = if product > LARGE { merged(FIRST_TRY) } else { None };
        if let Some(found) = early {
            return found;
        }
        let (found, rows) = listed(&members, choices, constraints);
        match rows {
            Some(_) if !found => Found::Nothing,
            Some(rows) => Found::Group(Group { members, set: Set::Listed(rows) }),
            None => merged(LAST_TRY).unwrap_or_else(|| {
                if found {
                    Found::Group(Group { members: members.clone(), set: Set::Walked(program.clone()) })
                } else {
                    Found::Unknown(LISTING_STEPS)
                }
            }),
        }
    }

    /// Whether some legal combination begins with these values, one for each of the first members. A walked
    /// set may answer true too often, but not for a whole combination.
    pub fn may_begin(&self, prefix: impl ExactSizeIterator<Item = u32>) -> bool {
        match &self.set {
            Set::Listed(rows) => !rows.with_prefix(prefix).is_empty(),
            Set::Merged(diagram) => follow(diagram, prefix),
            Set::Walked(program) => {
                let length = prefix.len();
                let mut state = program.start();
                if !bind_all(program, &mut state, prefix) {
                    return false;
                }
                let mut steps = LOOKAHEAD;
                let mut found = false;
                let ended = program.walk(&mut state, length, &mut steps, |_| {
                    found = true;
                    false
                });
                found || ended == Ended::OutOfSteps
            }
        }
    }

    /// Whether a whole combination is legal.
    pub fn contains(&self, combination: impl Iterator<Item = u32>) -> bool {
        match &self.set {
            Set::Listed(rows) => !rows.with_prefix(combination).is_empty(),
            Set::Merged(diagram) => follow(diagram, combination),
            Set::Walked(program) => bind_all(program, &mut program.start(), combination),
        }
    }
}

fn follow(diagram: &Diagram, mut values: impl Iterator<Item = u32>) -> bool {
    values.try_fold(diagram.root(), |node, value| diagram.next(node, value)).is_some()
}

/// Lists the legal combinations: whether there is one, and all of them where they are not too many.
fn listed(members: &[u32], choices: &[Choices], constraints: &[&Constraint]) -> (bool, Option<Rows>) {
    let bits: Vec<u32> = members.iter().map(|&member| bits_of(&choices[member as usize])).collect();
    let packable = bits.iter().sum::<u32>() <= u128::BITS;
    let order = if packable { good_order(members, choices, constraints) } else { members.to_vec() };
    let program = Program::new(&order, choices, constraints.iter().copied());
    if is_hopeless(&program) {
        return (true, None);
    }
    let mut steps = LISTING_STEPS;
    if packable {
        let shifts = shifts(&order, members, &bits);
        let limit = LISTED_VALUES / members.len();
        let mut packed = Vec::new();
        let ended = program.walk(&mut program.start(), 0, &mut steps, |bound| {
            packed.push(bound.iter().zip(&shifts).fold(0, |row, (&value, shift)| row | u128::from(value) << shift));
            packed.len() <= limit
        });
        return (!packed.is_empty(), (ended == Ended::Complete).then(|| Rows::from_packed(packed, &bits)));
    }
    let mut flat = Vec::new();
    let ended = program.walk(&mut program.start(), 0, &mut steps, |bound| {
        flat.extend_from_slice(bound);
        flat.len() <= LISTED_VALUES
    });
    (!flat.is_empty(), (ended == Ended::Complete).then(|| Rows::new(members.len(), &flat)))
}

/// Whether listing would certainly take too long, and some combination is legal. Dives that go on with a random
/// one of the values that are open, and count those, tell how many prefixes there are (Knuth 1975).
pub fn is_hopeless(program: &Program) -> bool {
    let mut rng = fastrand::Rng::with_seed(0);
    let mut state = program.start();
    let (mut left, mut found) = (DIVES.1, false);
    let (mut tried, mut legal) = (0.0, 0.0);
    for _ in 0..DIVES.0 {
        // Prefixes that this one stands for.
        let mut weight = 1.0;
        for level in 0..program.width() {
            let choices = program.choices(level).len();
            let Some(rest) = left.checked_sub(choices as u64) else { return false };
            left = rest;
            tried += weight * choices as f64;
            let open: Vec<usize> = (0..choices).filter(|&choice| program.bind(&mut state, level, choice)).collect();
            weight *= open.len() as f64;
            let Some(&choice) = rng.choice(&open) else { break };
            program.bind(&mut state, level, choice);
        }
        found |= weight > 0.0;
        legal += weight;
    }
    let beyond = |sum: f64, limit: f64| sum / DIVES.0 as f64 > HOPELESS * limit;
    found && (beyond(tried, LISTING_STEPS as f64) || beyond(legal, (LISTED_VALUES / program.width()) as f64))
}

fn bind_all(program: &Program, state: &mut State, values: impl Iterator<Item = u32>) -> bool {
    values.enumerate().all(|(level, index)| program.bind_index(state, level, index))
}

/// Bits that hold every value index of a parameter.
fn bits_of(choices: &Choices) -> u32 {
    let largest = choices.last().map_or(0, |&(index, _)| index);
    u32::BITS - largest.leading_zeros()
}

/// How far left each value of an order stands in a packed row of the members' order.
fn shifts(order: &[u32], members: &[u32], bits: &[u32]) -> Vec<u32> {
    let after = |parameter: &u32| {
        let place = members.iter().position(|member| member == parameter).unwrap_or(0);
        bits[place + 1..].iter().sum()
    };
    order.iter().map(after).collect()
}

/// An order in which constraints are decided early: next come the parameters of the constraint that needs the
/// fewest further combinations.
pub fn good_order(members: &[u32], choices: &[Choices], constraints: &[&Constraint]) -> Vec<u32> {
    let mut order: Vec<u32> = Vec::with_capacity(members.len());
    let mut open: Vec<&Constraint> = constraints.to_vec();
    loop {
        open.retain(|constraint| !constraint.parameters.iter().all(|p| order.contains(p)));
        let further = |constraint: &&&Constraint| -> f64 {
            let unbound = constraint.parameters.iter().filter(|p| !order.contains(p));
            unbound.map(|&p| choices[p as usize].len() as f64).product()
        };
        // The earliest of equals, so that the order does not depend on anything else.
        let Some(next) = open.iter().min_by(|a, b| further(a).total_cmp(&further(b))) else { break };
        let unbound: Vec<u32> = next.parameters.iter().copied().filter(|p| !order.contains(p)).collect();
        order.extend(unbound);
    }
    order.extend(members.iter().filter(|member| !constraints.iter().any(|c| c.parameters.contains(member))));
    order
}

#[cfg(test)]
impl Group {
    /// Bytes that the listed set takes.
    pub fn bytes(&self) -> usize {
        match &self.set {
            Set::Listed(rows) => rows.bytes(),
            Set::Merged(_) | Set::Walked(_) => 0,
        }
    }
}
