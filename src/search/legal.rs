//! Sampling, repair and enumeration in a legal set that may be too large to list.

use super::Domain;
use super::history::History;

/// A legal set is listed when a walk over so many prefixes meets all of it.
const LISTING_STEPS: usize = 20_000;
/// Prefixes that listing a legal set may visit for each configuration of the limit.
const VISITS_PER_CONFIGURATION: usize = 16;
/// Random walks that may end at known configurations or dead ends before the set is walked in order.
const WALKS: usize = 100;
/// Prefixes that one ask may visit in search of a configuration that was not handed out.
const ENUMERATION_STEPS: usize = 1 << 22;
/// Values that one repair may try.
const REPAIR_STEPS: usize = 400;
/// Values that an earlier parameter tries to make way for a later one.
const MAKE_WAY: u32 = 8;

/// The legal set of a domain.
#[derive(Debug)]
pub(super) enum Legal {
    /// Small: all configurations, one after the other, in an order of which the first `drawn` are done.
    Listed { all: Vec<Vec<u32>>, drawn: usize },
    /// Large: walks, and an enumeration for the day that walks find nothing new.
    Lazy { rest: Option<Enumeration> },
}

impl Legal {
    pub fn new(domain: &impl Domain) -> Legal {
        let mut enumeration = Enumeration::new(domain.sizes().len(), 0);
        let mut steps = LISTING_STEPS;
        let mut all = Vec::new();
        loop {
            match enumeration.next(domain, &mut steps) {
                Step::Found(configuration) => all.push(configuration),
                Step::Done => return Legal::Listed { all, drawn: 0 },
                Step::OutOfSteps => return Legal::Lazy { rest: None },
            }
        }
    }

    /// A random legal configuration that the history does not hold. `None` when every one was handed out, or
    /// when the rest is too far between to be found.
    pub fn unseen(&mut self, domain: &impl Domain, history: &History, rng: &mut fastrand::Rng) -> Option<Vec<u32>> {
        match self {
            Legal::Listed { all, drawn } => {
                while *drawn < all.len() {
                    let pick = rng.usize(*drawn..all.len());
                    all.swap(*drawn, pick);
                    *drawn += 1;
                    if !history.contains(&all[*drawn - 1]) {
                        return Some(all[*drawn - 1].clone());
                    }
                }
                None
            }
            Legal::Lazy { rest: None } => {
                let new = (0..WALKS).find_map(|_| walk(domain, rng).filter(|c| !history.contains(c)));
                if new.is_some() {
                    return new;
                }
                *self = Legal::Lazy { rest: Some(Enumeration::new(domain.sizes().len(), rng.u32(..))) };
                self.unseen(domain, history, rng)
            }
            Legal::Lazy { rest: Some(enumeration) } => {
                let mut steps = ENUMERATION_STEPS;
                loop {
                    match enumeration.next(domain, &mut steps) {
                        Step::Found(configuration) if history.contains(&configuration) => {}
                        Step::Found(configuration) => return Some(configuration),
                        Step::Done | Step::OutOfSteps => return None,
                    }
                }
            }
        }
    }
}

/// All legal configurations, one after the other in lexicographic order, or `None` where there are more
/// than `limit` or where too many prefixes lead nowhere.
pub(super) fn enumerate<D: Domain + ?Sized>(domain: &D, limit: usize) -> Option<Vec<u32>> {
    let mut enumeration = Enumeration::new(domain.sizes().len(), 0);
    let mut steps = limit.saturating_mul(VISITS_PER_CONFIGURATION).saturating_add(LISTING_STEPS);
    let (mut all, mut count) = (Vec::new(), 0);
    loop {
        match enumeration.next(domain, &mut steps) {
            Step::Found(configuration) => {
                count += 1;
                if count > limit {
                    return None;
                }
                all.extend_from_slice(&configuration);
            }
            Step::Done => return Some(all),
            Step::OutOfSteps => return None,
        }
    }
}

/// Walks down the parameters with a random open value at each; `None` at a dead end.
fn walk(domain: &impl Domain, rng: &mut fastrand::Rng) -> Option<Vec<u32>> {
    let sizes = domain.sizes();
    let mut prefix = Vec::with_capacity(sizes.len());
    for &size in sizes {
        if size == 0 {
            return None;
        }
        let mut open = |value: u32| {
            prefix.push(value);
            let open = domain.may_extend(&prefix);
            if !open {
                prefix.pop();
            }
            open
        };
        // Draws are fair; the scan that follows them is for lists with few open values.
        let drawn = (0..size).any(|_| open(rng.u32(0..size)));
        let start = rng.u32(0..size);
        if !drawn && !(start..size).chain(0..start).any(open) {
            return None;
        }
    }
    domain.completes(&prefix).then_some(prefix)
}

/// A legal configuration near `target`: going down the parameters each keeps its value or moves as little
/// as it must, and where one is stuck, an earlier one makes way. `legal` is any legal configuration: the
/// more of its first values the target shares, the faster this is. `fixed` holds one parameter at the
/// target's value whatever the others must do.
pub(super) fn repair(
    domain: &impl Domain,
    target: &[u32],
    legal: &[u32],
    fixed: Option<usize>,
    rng: &mut fastrand::Rng,
) -> Option<Vec<u32>> {
    let common = target.iter().zip(legal).take_while(|(t, l)| t == l).count();
    let mut repair = Repair { domain, target, fixed, up_first: rng.bool(), steps: REPAIR_STEPS };
    let mut prefix: Vec<u32> = Vec::with_capacity(target.len());
    prefix.extend_from_slice(&target[..common]);
    repair.forward(&mut prefix);
    while prefix.len() < target.len() {
        prefix = repair.make_way(&prefix)?;
    }
    domain.completes(&prefix).then_some(prefix)
}

struct Repair<'a, D> {
    domain: &'a D,
    target: &'a [u32],
    fixed: Option<usize>,
    up_first: bool,
    /// Values that may still be tried.
    steps: usize,
}

impl<D: Domain> Repair<'_, D> {
    /// Extends a prefix as far as it goes.
    fn forward(&mut self, prefix: &mut Vec<u32>) {
        while prefix.len() < self.target.len() && self.push(prefix, 0, u32::MAX) {}
    }

    /// Adds the nearest open value to a prefix, leaving out the `skip` nearest and looking at no more than
    /// `tries`.
    fn push(&mut self, prefix: &mut Vec<u32>, skip: u32, tries: u32) -> bool {
        let level = prefix.len();
        let tries = if self.fixed == Some(level) { 1 } else { tries };
        for n in skip..skip.saturating_add(tries) {
            let Some(value) = outward(self.target[level], self.domain.sizes()[level], n, self.up_first) else { break };
            if self.steps == 0 {
                break;
            }
            self.steps -= 1;
            prefix.push(value);
            if self.domain.may_extend(prefix) {
                return true;
            }
            prefix.pop();
        }
        false
    }

    /// A prefix that gets beyond where this one is stuck: one earlier parameter moves away, the latest that
    /// helps, and those between follow.
    fn make_way(&mut self, stuck: &[u32]) -> Option<Vec<u32>> {
        let fixed = self.fixed;
        for level in (0..stuck.len()).rev().filter(|&level| fixed != Some(level)) {
            for skip in 1..=MAKE_WAY {
                let mut prefix = stuck[..level].to_vec();
                if self.push(&mut prefix, skip, 1) {
                    self.forward(&mut prefix);
                    if prefix.len() > stuck.len() {
                        return Some(prefix);
                    }
                }
                if self.steps == 0 {
                    return None;
                }
            }
        }
        None
    }
}

/// The `n`-th nearest value to `centre` among `size`, `None` beyond the last.
fn outward(centre: u32, size: u32, n: u32, up_first: bool) -> Option<u32> {
    if n >= size {
        return None;
    }
    let (below, above) = (centre, size - 1 - centre);
    let both = below.min(above);
    if n > 2 * both {
        // One side is used up.
        let distance = n - both;
        return Some(if above > below { centre + distance } else { centre - distance });
    }
    let distance = n.div_ceil(2);
    let up = (n % 2 == 1) == up_first;
    Some(if up { centre + distance } else { centre - distance })
}

/// A resumable walk over all legal configurations.
#[derive(Debug)]
pub(super) struct Enumeration {
    /// Values of the current prefix, as positions in the rotated lists.
    prefix: Vec<u32>,
    /// Position that the next value of the deepest level has.
    next: u32,
    /// Rotation of every list, so that a partial walk does not favour low values.
    start: u32,
    width: usize,
    done: bool,
}

/// One step of an enumeration.
#[derive(Debug)]
enum Step {
    Found(Vec<u32>),
    Done,
    OutOfSteps,
}

impl Enumeration {
    fn new(width: usize, start: u32) -> Enumeration {
        Enumeration { prefix: Vec::with_capacity(width), next: 0, start, width, done: false }
    }

    fn next<D: Domain + ?Sized>(&mut self, domain: &D, steps: &mut usize) -> Step {
        let sizes = domain.sizes();
        let start = u64::from(self.start);
        let rotate = |position: u32, size: u32| ((u64::from(position) + start) % u64::from(size)) as u32;
        let mut values: Vec<u32> = self.prefix.iter().zip(sizes).map(|(&p, &size)| rotate(p, size)).collect();
        while !self.done {
            let level = self.prefix.len();
            if level == self.width {
                // A full configuration was found, or there are no parameters at all.
                let legal = domain.completes(&values);
                let found = legal.then(|| values.clone());
                self.back(&mut values);
                if let Some(configuration) = found {
                    return Step::Found(configuration);
                }
                continue;
            }
            if *steps == 0 {
                return Step::OutOfSteps;
            }
            *steps -= 1;
            if self.next >= sizes[level] {
                self.back(&mut values);
                continue;
            }
            values.push(rotate(self.next, sizes[level]));
            if domain.may_extend(&values) {
                self.prefix.push(self.next);
                self.next = 0;
            } else {
                values.pop();
                self.next += 1;
            }
        }
        Step::Done
    }

    /// Leaves the deepest level for the next value of the one above.
    fn back(&mut self, values: &mut Vec<u32>) {
        values.pop();
        match self.prefix.pop() {
            Some(position) => self.next = position + 1,
            None => self.done = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::outward;

    #[test]
    fn outward_visits_every_value_once_by_distance() {
        for size in 1..9 {
            for centre in 0..size {
                for up_first in [false, true] {
                    let order: Vec<u32> = (0..size).map(|n| outward(centre, size, n, up_first).unwrap()).collect();
                    assert!(order.windows(2).all(|w| w[0].abs_diff(centre) <= w[1].abs_diff(centre)), "{order:?}");
                    let mut sorted = order.clone();
                    sorted.sort_unstable();
                    assert_eq!(sorted, (0..size).collect::<Vec<_>>());
                    assert_eq!(outward(centre, size, size, up_first), None);
                }
            }
        }
    }
}
