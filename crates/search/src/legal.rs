//! The legal set: listed where it is small enough, else sampled.

use super::Domain;
use super::enumeration::{Enumeration, Step};
use super::history::History;
use std::ops::ControlFlow;

/// Samples that may be known configurations or none before the set is walked in order.
const SAMPLES: usize = 100;
/// Values that one ask may try in search of a configuration that was not handed out, and those that are left for
/// walking in order when samples have used them up.
const STEPS: (usize, usize) = (1 << 22, 1 << 18);
/// Values that the samples for one choice may try, so that a choice stays fast where legal ones are far between.
const CHOICE_STEPS: usize = 1 << 20;

/// The legal set of a domain.
#[derive(Debug)]
pub(super) enum Legal {
    /// All configurations, one after the other, and an order of them of which the first `drawn` are done.
    Listed { width: usize, flat: Vec<u32>, order: Vec<u32>, drawn: usize },
    /// Too many to list: samples, and an enumeration for the day that they find nothing new. While they are
    /// `scarce`, because legal ones are far between and not because most are known, sampling goes on.
    Lazy { rest: Option<Enumeration>, scarce: bool },
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
            _ => Legal::Lazy { rest: None, scarce: true },
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
            Legal::Lazy { rest, scarce } => {
                let mut steps = STEPS.0;
                if *scarce {
                    let mut known = false;
                    for _ in 0..SAMPLES {
                        let Some(sample) = domain.sample_within(rng, &mut steps) else { continue };
                        if !history.contains(&sample) {
                            return Some(sample);
                        }
                        known = true;
                    }
                    *scarce = !known;
                }
                let enumeration = rest.get_or_insert_with(|| Enumeration::new(domain.sizes().len(), rng.u32(..)));
                steps = steps.max(STEPS.1);
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
            Legal::Lazy { .. } => {
                let mut steps = CHOICE_STEPS;
                (0..tries).try_for_each(|_| match domain.sample_within(rng, &mut steps) {
                    Some(configuration) => visit(&configuration),
                    None if steps == 0 => ControlFlow::Break(()),
                    None => ControlFlow::Continue(()),
                })
            }
        };
        // Whether all were shown or the visitor had enough is the visitor's to know.
        let (ControlFlow::Continue(()) | ControlFlow::Break(())) = drawn;
    }
}
