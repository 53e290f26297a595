//! In which order operators are tuned.

use super::cases::Case;
use crate::backend::simulator::Simulator;
use crate::backend::{Backend, Measurement};
use crate::workload::Schedule;

/// What decides when an operator has its turn.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Weight {
    /// Whether anything is searched for it at all.
    searches: bool,
    /// Microseconds of all its launches.
    share_us: f64,
    /// How far its gain may be off, as a factor.
    doubt: f64,
}

/// The places of operators in the order in which they have their turn where time is limited: those with the largest share
/// of the network first, by the simulator and CANN's defaults, of equal ones those whose times are least sure; those that
/// are not searched last. `problems` are cases with their default and whether they are searched.
pub(super) fn by_share<'a>(
    problems: impl Iterator<Item = (&'a Case, &'a Schedule, bool)>,
    backend: &dyn Backend,
) -> Vec<usize> {
    let simulator = Simulator::new(backend.soc().clone());
    let weigh = |(case, default, searches): (&Case, &Schedule, bool)| {
        let launches: f64 = case.nodes.iter().map(|node| f64::from(node.launches)).sum();
        let us = simulator.prepare_within(&case.workload, &case.standings).map(|mut m| m.measure(default));
        // What cannot be priced is no reason to wait for all others.
        let share_us = if let Ok(Measurement::Time { us }) = us { us * launches } else { 0.0 };
        Weight { searches, share_us, doubt: simulator.doubt_over_default(&case.workload).high }
    };
    sorted(&problems.map(weigh).collect::<Vec<_>>())
}

fn sorted(weights: &[Weight]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    // Stable: those that are alike stay in the order of the network.
    order.sort_by(|&a, &b| {
        let (a, b) = (weights[a], weights[b]);
        b.searches.cmp(&a.searches).then(b.share_us.total_cmp(&a.share_us)).then(b.doubt.total_cmp(&a.doubt))
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_share_comes_first_then_the_widest_doubt_then_the_network_s_order() {
        let weight = |searches, share_us, doubt| Weight { searches, share_us, doubt };
        let weights = [
            weight(true, 5.0, 1.3),
            weight(false, 90.0, 9.0),
            weight(true, 8.0, 1.3),
            weight(true, 5.0, 3.0),
            weight(true, 5.0, 1.3),
        ];
        assert_eq!(sorted(&weights), [2, 3, 0, 4, 1]);
    }
}
