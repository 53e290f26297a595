//! What is told of a network is the price of its kernels in order, whoever asks.

use super::job::tuned_on;
use super::{Plan, Sketch, sketches};
use crate::lower::{Kernel, Lowered, Settings, as_stored, lower};
use crate::sim::Model;
use crate::soc::Soc;
use crate::space::default_policy;
use crate::tune::sgat::{Network, Sgat, fused, solve};
use crate::tune::{BankStatus, Variant};
use proptest::prelude::*;

/// Microseconds of kernels as they stand, each by the model and CANN's default tiling.
fn in_order_us(lowered: &Lowered, soc: &Soc) -> f64 {
    let of = |kernel: &Kernel| {
        let model = Model::new(&kernel.workload, soc).unwrap();
        let model = kernel.missed.map_or(model.clone(), |bytes| model.with_missed(bytes));
        let us = model.predict(&default_policy(&kernel.workload, soc).unwrap()).unwrap().time_us;
        us * f64::from(kernel.launches)
    };
    lowered.launched().map(of).sum()
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs()
}

/// The network tuned, beside what operator tuning begins with, and whether something that the search found was not kept.
fn check(sketch: &Sketch, soc: &Soc, mixed: bool) -> Result<(), TestCaseError> {
    let graph = sketch.graph();
    let mut lowered = lower(&graph, soc, &Settings::default()).unwrap();
    as_stored(&graph, &mut lowered, soc, &Settings::default());
    let default = fused(&graph, &lowered, soc, &Settings::default()).unwrap();
    let variants = [Variant { label: String::new(), graph, lowered }];
    let Sgat { outcome, lowered, before, taken, .. } = tuned_on(&variants, soc, mixed);
    // The bank was empty: CANN reads nothing of what was found.
    prop_assert_eq!(format!("{:?}", before[0].kernels), format!("{:?}", taken[0].kernels));
    prop_assert!(outcome.subgraphs.iter().all(|subgraph| is_near(subgraph.taken_us, subgraph.before.us)));
    prop_assert_eq!(format!("{:?}", before[0].kernels), format!("{:?}", default.kernels));
    let (told, network) = (outcome.before_us(), in_order_us(&default, soc));
    prop_assert!(is_near(told, network), "{} before, {}", told, network);
    let (told, network) = (outcome.after_us(), in_order_us(&lowered[0], soc));
    prop_assert!(is_near(told, network), "{} after, {}", told, network);
    prop_assert!(told <= outcome.before_us() * (1.0 + 1e-9), "{} after {}", told, outcome.before_us());
    for subgraph in &outcome.subgraphs {
        let gains = subgraph.after.us < subgraph.before.us;
        prop_assert!(gains || subgraph.status != BankStatus::Added, "{subgraph:?}");
    }
    Ok(())
}

/// Products one behind the other. Where the two tensors of each exceed L2 and one does not, its size says that a cut saves
/// what is fetched, and the order of the kernels that there is little to save.
fn products(count: usize, columns: i64, batch: i64) -> Sketch {
    Sketch {
        batch,
        columns,
        plans: (0..count).map(|at| Plan { op: 4, reads: [at, at] }).collect(),
        outputs: vec![count],
    }
}

#[test]
fn what_the_search_finds_better_and_the_network_does_not_is_not_kept() {
    let soc = Soc::find("Ascend310P3").unwrap();
    let mut stepped_back = 0;
    for (count, columns, batch) in [(2, 512, 6912), (3, 512, 6912), (3, 1024, 3072), (3, 1024, 3456), (3, 1024, 3584)] {
        let sketch = products(count, columns, batch);
        check(&sketch, &soc, false).unwrap();
        let graph = sketch.graph();
        let mut lowered = lower(&graph, &soc, &Settings::default()).unwrap();
        as_stored(&graph, &mut lowered, &soc, &Settings::default());
        let network = Network::new(&graph, &lowered, &soc, &Settings::default()).unwrap();
        let found = solve(&network, &soc, false).unwrap();
        let variants = [Variant { label: String::new(), graph: graph.clone(), lowered: lowered.clone() }];
        let Sgat { outcome, lowered, before, .. } = tuned_on(&variants, &soc, false);
        if found[0].after.us < found[0].before.us && outcome.subgraphs[0].status == BankStatus::Unsatisfied {
            assert_eq!(outcome.subgraphs[0].after, outcome.subgraphs[0].before);
            assert_eq!(format!("{:?}", lowered[0].kernels), format!("{:?}", before[0].kernels));
            stepped_back += 1;
        }
    }
    assert!(stepped_back > 0, "every cut pays");
}

proptest! {
    #![proptest_config(aoe_testing::cases(48))]

    #[test]
    fn a_network_has_one_price_before_and_after_and_nothing_is_kept_that_is_no_gain_there(
        sketch in sketches(14), part in 0..3usize, mixed: bool,
    ) {
        let soc = Soc::find(["Ascend310P3", "Ascend910A", "Ascend910B2"][part]).unwrap();
        check(&sketch, &soc, mixed)?;
    }
}
