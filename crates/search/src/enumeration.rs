//! Walks over a legal set: in order, and at random.

use super::Domain;

/// Prefixes that listing a legal set may visit whatever its limit.
const LISTING_STEPS: usize = 20_000;
/// Prefixes that listing a legal set may visit for each configuration of the limit.
const VISITS_PER_CONFIGURATION: usize = 16;

/// All legal configurations, one after the other in lexicographic order, or `None` where there are more
/// than `limit` or where too many prefixes lead nowhere.
pub fn enumerate<D: Domain + ?Sized>(domain: &D, limit: usize) -> Option<Vec<u32>> {
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

/// Walks down the parameters with a random open value at each, which takes one of `steps` for each value tried;
/// `None` at a dead end and where they do not suffice.
pub fn walk<D: Domain + ?Sized>(domain: &D, rng: &mut fastrand::Rng, steps: &mut usize) -> Option<Vec<u32>> {
    let sizes = domain.sizes();
    let mut prefix = Vec::with_capacity(sizes.len());
    for &size in sizes {
        if size == 0 {
            return None;
        }
        let mut open = |value: u32| {
            let left = steps.checked_sub(1);
            *steps = left.unwrap_or(0);
            prefix.push(value);
            let open = left.is_some() && domain.may_extend(&prefix);
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
pub(super) enum Step {
    Found(Vec<u32>),
    Done,
    OutOfSteps,
}

impl Enumeration {
    pub fn new(width: usize, start: u32) -> Enumeration {
        Enumeration { prefix: Vec::with_capacity(width), next: 0, start, width, done: false }
    }

    pub fn next<D: Domain + ?Sized>(&mut self, domain: &D, steps: &mut usize) -> Step {
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
