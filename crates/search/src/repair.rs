//! From any configuration to a legal one near it.

use super::Domain;

/// Values that one repair may try.
const REPAIR_STEPS: usize = 400;
/// Values that an earlier parameter tries to make way for a later one.
const MAKE_WAY: u32 = 8;

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
