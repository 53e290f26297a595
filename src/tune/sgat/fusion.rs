//! The best scopes of one step: every legal way to take it apart is weighed.
//!
//! A way to run a step is a chain of sets of finished kernels, each closed under "made by": between two
//! neighbours of the chain lies one scope. The cheapest chain is found by dynamic programming over these
//! sets, so the result is the optimum; a step with very many of them is solved in its own order, where
//! each scope is a run of neighbours.

use super::network::{Network, Role};
use super::scope;
use crate::lower::Source;
use crate::soc::Arch;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Sets of finished kernels beyond which a step is solved in its own order.
const MOST_SETS: usize = 5_000;
/// The same for scopes that could come next.
const MOST_NEXT: usize = 400;

/// Kernels of a step as bits, the first one lowest.
type Set = u64;

/// Scopes that cover a step, and what they cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused {
    /// Microseconds.
    pub us: f64,
    /// Members of each scope, ascending; the scopes in an order in which they can run.
    pub scopes: Vec<Vec<u32>>,
}

/// The cheapest scopes of a step. `price` gives the microseconds of a legal scope, `None` where it cannot
/// run. `None` where some kernel cannot run at all.
pub fn cheapest(
    network: &Network<'_>,
    arch: Arch,
    step: &Range<u32>,
    price: &mut dyn FnMut(&[u32]) -> Option<f64>,
) -> Option<Fused> {
    let step = Step::new(network, arch, step);
    let mut prices = FxHashMap::default();
    let mut price = |scope: Set, step: &Step<'_>| {
        *prices.entry(scope).or_insert_with(|| {
            let members = step.members(scope);
            let legal = members.len() == 1 || scope::pass(network, arch, &members).is_some();
            if legal { price(&members) } else { None }
        })
    };
    step.over_sets(&mut price).unwrap_or_else(|TooMany| step.in_order(&mut price))
}

/// A step's sets are more than can be weighed.
struct TooMany;

/// What a set of kernels costs as one scope.
type Price<'p> = dyn FnMut(Set, &Step<'_>) -> Option<f64> + 'p;

/// How a set of finished kernels came about most cheaply.
#[derive(Debug, Clone, Copy)]
struct Best {
    us: f64,
    last: Set,
}

struct Step<'a> {
    network: &'a Network<'a>,
    arch: Arch,
    start: u32,
    count: u32,
    /// For each kernel the ones of the step that it reads.
    needs: Vec<Set>,
}

impl<'a> Step<'a> {
    fn new(network: &'a Network<'a>, arch: Arch, range: &Range<u32>) -> Step<'a> {
        let need = |at: u32| {
            network.stage(at).reads.iter().fold(0, |set: Set, read| match read.source {
                Source::Kernel(from) if range.contains(&from) => set | 1 << (from - range.start),
                _ => set,
            })
        };
        let needs = range.clone().map(need).collect();
        Step { network, arch, start: range.start, count: range.len() as u32, needs }
    }

    fn members(&self, set: Set) -> Vec<u32> {
        (0..self.count).filter(|bit| set & 1 << bit != 0).map(|bit| self.start + bit).collect()
    }

    /// Dynamic programming over the sets, the small ones first.
    fn over_sets(&self, price: &mut Price<'_>) -> Result<Option<Fused>, TooMany> {
        let all: Set = if self.count == Set::BITS { Set::MAX } else { (1 << self.count) - 1 };
        let mut best: FxHashMap<Set, Best> = FxHashMap::default();
        best.insert(0, Best { us: 0.0, last: 0 });
        let mut by_size: Vec<Vec<Set>> = vec![Vec::new(); self.count as usize + 1];
        by_size[0].push(0);
        for size in 0..by_size.len() {
            for done in std::mem::take(&mut by_size[size]) {
                let before = best[&done].us;
                for scope in self.next_scopes(done)? {
                    let Some(us) = price(scope, self) else { continue };
                    let set = done | scope;
                    let new = Best { us: before + us, last: scope };
                    match best.get_mut(&set) {
                        // Of equal costs the larger scope, then the one of earlier kernels.
                        Some(known) if (known.us, !known.last) <= (new.us, !new.last) => {}
                        Some(known) => *known = new,
                        None => {
                            best.insert(set, new);
                            by_size[set.count_ones() as usize].push(set);
                            if best.len() > MOST_SETS {
                                return Err(TooMany);
                            }
                        }
                    }
                }
            }
        }
        Ok(best.get(&all).map(|found| {
            let mut scopes = Vec::new();
            let mut set = all;
            while set != 0 {
                let last = best[&set].last;
                scopes.push(self.members(last));
                set &= !last;
            }
            scopes.reverse();
            Fused { us: found.us, scopes }
        }))
    }

    /// Every set of kernels that may run as one scope when `done` are finished.
    fn next_scopes(&self, done: Set) -> Result<Vec<Set>, TooMany> {
        let ready = |bit: u32, with: Set| with & 1 << bit == 0 && self.needs[bit as usize] & !with == 0;
        let mut scopes: Vec<Set> = (0..self.count).filter(|&bit| ready(bit, done)).map(|bit| 1 << bit).collect();
        let mut known = FxHashSet::default();
        let mut next = 0;
        while let Some(&scope) = scopes.get(next) {
            next += 1;
            if scope.count_ones() as usize >= scope::MOST_MEMBERS {
                continue;
            }
            for bit in (0..self.count).filter(|&bit| ready(bit, done | scope)) {
                let larger = scope | 1 << bit;
                if self.may_grow(scope, bit) && known.insert(larger) {
                    scopes.push(larger);
                }
            }
            if scopes.len() > MOST_NEXT {
                return Err(TooMany);
            }
        }
        Ok(scopes)
    }

    /// Whether a scope could take in another kernel, now or when what joins the two has come: a necessary
    /// condition that keeps the sets few.
    fn may_grow(&self, scope: Set, bit: u32) -> bool {
        let at = self.start + bit;
        let follows = |from: u32| scope::may_follow(self.network, self.arch, from, at);
        let inside = self.needs[bit as usize] & scope;
        if inside != 0 {
            return self.members(inside).into_iter().all(follows);
        }
        // A side branch: it must have a user in the step that could take both.
        let users = &self.network.stage(at).users;
        users.iter().any(|&user| user < self.start + self.count && scope::may_follow(self.network, self.arch, at, user))
            && self.network.stage(at).role == Role::Elementwise
    }

    /// Scopes that are runs of neighbours in the order of the step.
    fn in_order(&self, price: &mut Price<'_>) -> Option<Fused> {
        let count = self.count as usize;
        let mut best: Vec<Option<(f64, usize)>> = vec![None; count + 1];
        best[0] = Some((0.0, 0));
        for end in 1..=count {
            for begin in end.saturating_sub(scope::MOST_MEMBERS)..end {
                let scope = (begin..end).fold(0, |set: Set, bit| set | 1 << bit);
                let (Some((before, _)), Some(us)) = (best[begin], price(scope, self)) else { continue };
                if best[end].is_none_or(|(known, _)| before + us < known) {
                    best[end] = Some((before + us, begin));
                }
            }
        }
        let (us, _) = best[count]?;
        let mut scopes = Vec::new();
        let mut end = count;
        while end > 0 {
            let (_, begin) = best[end]?;
            scopes.push((begin..end).map(|bit| self.start + bit as u32).collect());
            end = begin;
        }
        scopes.reverse();
        Some(Fused { us, scopes })
    }
}
