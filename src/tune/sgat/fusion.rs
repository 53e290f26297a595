//! The best scopes of one step: every legal way to take it apart is weighed.
//!
//! A way to run a step is a chain of sets of finished kernels, each closed under "made by": between two
//! neighbours of the chain lies one scope. The cheapest chain is found by dynamic programming over these
//! sets, so the result is the optimum. Parts of a step that are nothing to each other ([`parts`]) are solved
//! one by one; a part with very many sets is solved in an order, where each scope is a run of neighbours.

use super::network::{Network, Role};
use super::parts::{self, Set, bits};
use super::scope::{self, Follower};
use crate::lower::Source;
use crate::soc::Arch;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Sets of finished kernels beyond which a part of a step is solved in an order, and scopes that could come next.
/// More than the 2^12 sets of 12 kernels.
const MOST_SETS: usize = 5_000;
/// The same for scopes that are priced.
const MOST_SCOPES: usize = 10_000;
/// The same for pairs of a set and a scope: more than the 3^12 that 12 kernels have.
const MOST_WAYS: usize = 600_000;

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
    let mut fused = Fused { us: 0.0, scopes: Vec::new() };
    for part in parts::parts(&step.needs, &step.follows) {
        let mut prices = FxHashMap::default();
        let mut price = |scope: Set, limit: usize| {
            if let Some(&known) = prices.get(&scope) {
                return Ok(known);
            }
            if prices.len() >= limit {
                return Err(TooMany);
            }
            let members = step.members(scope);
            let legal = members.len() == 1 || scope::pass(network, arch, &members).is_some();
            let us = if legal { price(&members) } else { None };
            prices.insert(scope, us);
            Ok(us)
        };
        let best = match step.over_sets(part, &mut |scope| price(scope, MOST_SCOPES)) {
            Ok(best) => best,
            Err(TooMany) => step.over_orders(part, &mut |scope| price(scope, usize::MAX).unwrap_or(None)),
        }?;
        fused.us += best.us;
        fused.scopes.extend(best.scopes);
    }
    Some(fused)
}

/// A step's sets are more than can be weighed.
struct TooMany;

/// How a set of finished kernels came about most cheaply.
#[derive(Debug, Clone, Copy)]
struct Best {
    us: f64,
    last: Set,
}

struct Step<'a> {
    network: &'a Network<'a>,
    start: u32,
    /// For each kernel the ones of the step that it reads.
    needs: Vec<Set>,
    /// Those of them that it may follow in a scope.
    follows: Vec<Set>,
    /// For each kernel what could be in a scope behind it, itself included.
    behind: Vec<Set>,
    /// Kernels that lead a scope, with one head.
    cubes: Set,
}

impl<'a> Step<'a> {
    fn new(network: &'a Network<'a>, arch: Arch, range: &Range<u32>) -> Step<'a> {
        let (mut needs, mut follows) = (Vec::new(), Vec::new());
        for at in range.clone() {
            let made = network.stage(at).reads.iter().fold(0, |set: Set, read| match read.source {
                Source::Kernel(from) if range.contains(&from) => set | 1 << (from - range.start),
                _ => set,
            });
            let follower = Follower::new(network, arch, at);
            let may = |&from: &u32| follower.follows(range.start + from);
            follows.push(bits(made).filter(may).fold(0, |set, from| set | 1 << from));
            needs.push(made);
        }
        let mut behind: Vec<Set> = (0..needs.len()).map(|bit| 1 << bit).collect();
        for (at, &makers) in follows.iter().enumerate().rev() {
            bits(makers).for_each(|from| behind[from as usize] |= behind[at]);
        }
        let cubes = range.clone().filter(|&at| network.stage(at).role == Role::Cube);
        let cubes = cubes.fold(0, |set, at| set | 1 << (at - range.start));
        Step { network, start: range.start, needs, follows, behind, cubes }
    }

    fn members(&self, set: Set) -> Vec<u32> {
        bits(set).map(|bit| self.start + bit).collect()
    }

    /// Dynamic programming over the sets of a part, the small ones first.
    fn over_sets(
        &self,
        part: Set,
        price: &mut dyn FnMut(Set) -> Result<Option<f64>, TooMany>,
    ) -> Result<Option<Fused>, TooMany> {
        let mut ways = 0;
        let mut best: FxHashMap<Set, Best> = FxHashMap::default();
        best.insert(0, Best { us: 0.0, last: 0 });
        let mut by_size: Vec<Vec<Set>> = vec![Vec::new(); part.count_ones() as usize + 1];
        by_size[0].push(0);
        for size in 0..by_size.len() {
            for done in std::mem::take(&mut by_size[size]) {
                let before = best[&done].us;
                let next = self.next_scopes(part, done)?;
                ways += next.len();
                if ways > MOST_WAYS {
                    return Err(TooMany);
                }
                for scope in next {
                    let Some(us) = price(scope)? else { continue };
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
        Ok(best.get(&part).map(|found| {
            let mut scopes = Vec::new();
            let mut set = part;
            while set != 0 {
                let last = best[&set].last;
                scopes.push(self.members(last));
                set &= !last;
            }
            scopes.reverse();
            Fused { us: found.us, scopes }
        }))
    }

    /// Every set of kernels of a part that may run as one scope when `done` are finished.
    fn next_scopes(&self, part: Set, done: Set) -> Result<Vec<Set>, TooMany> {
        let ready = |with: Set| bits(part & !with).filter(move |&bit| self.needs[bit as usize] & part & !with == 0);
        let mut scopes: Vec<Set> = ready(done).map(|bit| 1 << bit).collect();
        let mut known = FxHashSet::default();
        let mut next = 0;
        while let Some(&scope) = scopes.get(next) {
            next += 1;
            if scope.count_ones() as usize >= scope::MOST_MEMBERS {
                continue;
            }
            for bit in ready(done | scope) {
                let larger = scope | 1 << bit;
                if self.may_grow(scope, bit) && known.insert(larger) {
                    scopes.push(larger);
                }
            }
            if scopes.len() > MOST_SETS {
                return Err(TooMany);
            }
        }
        Ok(scopes)
    }

    /// Whether a scope could take in another kernel, now or when what joins the two has come: a necessary
    /// condition that keeps the sets few. Whatever is legal comes about so: its heads first, each of which meets
    /// an earlier one further on, then the others.
    fn may_grow(&self, scope: Set, bit: u32) -> bool {
        let inside = self.needs[bit as usize] & scope;
        if inside != 0 {
            return inside & !self.follows[bit as usize] == 0;
        }
        let meets = || bits(scope).any(|other| self.behind[other as usize] & self.behind[bit as usize] != 0);
        let is_side = self.network.stage(self.start + bit).role == Role::Elementwise;
        is_side && scope & self.cubes == 0 && meets()
    }

    /// The cheapest scopes of a part that are runs of neighbours, in the order of the step or in one that stays with
    /// a chain.
    fn over_orders(&self, part: Set, price: &mut dyn FnMut(Set) -> Option<f64>) -> Option<Fused> {
        let orders = [bits(part).collect(), parts::by_chains(part, &self.needs, &self.follows)];
        let fused = orders.iter().filter_map(|order| self.in_order(order, price));
        fused.min_by(|a, b| a.us.total_cmp(&b.us))
    }

    /// The cheapest scopes that are runs of neighbours in an order.
    fn in_order(&self, order: &[u32], price: &mut dyn FnMut(Set) -> Option<f64>) -> Option<Fused> {
        let count = order.len();
        let set = |run: Range<usize>| order[run].iter().fold(0, |set: Set, bit| set | 1 << bit);
        let mut best: Vec<Option<(f64, usize)>> = vec![None; count + 1];
        best[0] = Some((0.0, 0));
        for end in 1..=count {
            for begin in end.saturating_sub(scope::MOST_MEMBERS)..end {
                let (Some((before, _)), Some(us)) = (best[begin], price(set(begin..end))) else { continue };
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
            scopes.push(self.members(set(begin..end)));
            end = begin;
        }
        scopes.reverse();
        Some(Fused { us, scopes })
    }
}
