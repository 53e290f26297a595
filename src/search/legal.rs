//! The legal set: listed where it is small enough, else sampled.

use super::Domain;
use super::enumeration::{Enumeration, Step};
use super::history::History;
use std::ops::ControlFlow;

/// Random walks that may end at known configurations or dead ends before the set is walked in order.
const WALKS: usize = 100;
/// Prefixes that one ask may visit in search of a configuration that was not handed out.
const ENUMERATION_STEPS: usize = 1 << 22;

/// The legal set of a domain.
#[derive(Debug)]
pub(super) enum Legal {
    /// All configurations, one after the other, and an order of them of which the first `drawn` are done.
    Listed { width: usize, flat: Vec<u32>, order: Vec<u32>, drawn: usize },
    /// Too many to list: walks, and an enumeration for the day that walks find nothing new.
    Lazy { rest: Option<Enumeration> },
}

impl Legal {
    /// Lists the legal set of a domain with up to `limit` configurations.
    pub fn new(domain: &impl Domain, limit: usize) -> Legal {
        let width = domain.sizes().len();
        match domain.enumerate(limit.min(u32::MAX as usize)) {
            // A space without parameters has one configuration at most, which no list can show.
            Some(flat) if width > 0 => {
                let order = (0..(flat.len() / width) as u32).collect();
                Legal::Listed { width, flat, order, drawn: 0 }
            }
            _ => Legal::Lazy { rest: None },
        }
    }

    /// A random legal configuration that the history does not hold. `None` when every one was handed out, or
    /// when the rest is too far between to be found.
    pub fn unseen(&mut self, domain: &impl Domain, history: &History, rng: &mut fastrand::Rng) -> Option<Vec<u32>> {
        match self {
            Legal::Listed { width, flat, order, drawn } => {
                while *drawn < order.len() {
                    let pick = rng.usize(*drawn..order.len());
                    order.swap(*drawn, pick);
                    let at = order[*drawn] as usize * *width;
                    *drawn += 1;
                    if !history.contains(&flat[at..at + *width]) {
                        return Some(flat[at..at + *width].to_vec());
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

    /// Shows random legal configurations, some perhaps twice, until `tries` were drawn or `visit` breaks.
    /// A short list is shown whole.
    pub fn sample(
        &self,
        domain: &impl Domain,
        rng: &mut fastrand::Rng,
        tries: usize,
        mut visit: impl FnMut(&[u32]) -> ControlFlow<()>,
    ) {
        let drawn = match self {
            Legal::Listed { width, flat, order, .. } if order.len() <= tries => {
                flat.chunks_exact(*width).try_for_each(&mut visit)
            }
            Legal::Listed { width, flat, order, .. } => (0..tries).try_for_each(|_| {
                let at = rng.usize(0..order.len()) * width;
                visit(&flat[at..at + width])
            }),
            Legal::Lazy { .. } => (0..tries).try_for_each(|_| match walk(domain, rng) {
                Some(configuration) => visit(&configuration),
                None => ControlFlow::Continue(()),
            }),
        };
        // Whether all were shown or the visitor had enough is the visitor's to know.
        let (ControlFlow::Continue(()) | ControlFlow::Break(())) = drawn;
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
