//! What the bank keeps of a strategy is all of it.

use super::{sketches, with_network};
use crate::soc::Soc;
use crate::tune::sgat::price::Pricer;
use crate::tune::sgat::{record, solve};
use proptest::prelude::*;

proptest! {
    #![proptest_config(aoe_testing::cases(24))]

    #[test]
    fn a_strategy_comes_back_from_the_bank_as_it_went_in(sketch in sketches(16), mixed: bool) {
        let soc = Soc::find("Ascend310P3").unwrap();
        with_network(&sketch, &soc, |_, _, network| {
            let mut pricer = Pricer::new(network, &soc);
            for case in solve(network, &soc, mixed).unwrap() {
                for strategy in [&case.after, &case.before] {
                    let kept = record::to_bank(network, soc.arch, "net", strategy);
                    // Every subgraph that is alike can use it.
                    for subgraph in &case.subgraphs {
                        let back = record::from_bank(&mut pricer, subgraph, &kept);
                        prop_assert!(back.is_some());
                        let back = back.unwrap();
                        prop_assert!((back.us - strategy.us).abs() <= 1e-9 * strategy.us);
                        prop_assert_eq!(record::to_bank(network, soc.arch, "net", &back), kept.clone());
                        if *subgraph == case.subgraphs[0] {
                            let groups = |s: &crate::tune::sgat::Strategy| -> Vec<_> {
                                s.groups.iter().map(|g| (g.kernels.clone(), g.run, g.scopes.clone())).collect()
                            };
                            prop_assert_eq!(groups(&back), groups(strategy));
                        }
                    }
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn no_strategy_that_was_changed_is_taken_unless_it_can_run(
        sketch in sketches(12),
        at in any::<prop::sample::Index>(),
        cut in prop::sample::select(vec![-1i64, 0, 1, 2, 3, 7, i64::MAX]),
        scope in -3i64..6,
        list in 0..4,
    ) {
        let soc = Soc::find("Ascend310P3").unwrap();
        with_network(&sketch, &soc, |_, _, network| {
            let mut pricer = Pricer::new(network, &soc);
            for case in solve(network, &soc, true).unwrap() {
                let mut kept = record::to_bank(network, soc.arch, "net", &case.after);
                let group = &mut kept.groups[0];
                let place = at.index(group.cut.len());
                match list {
                    0 => group.cut[place] = cut,
                    1 => group.scope_id[place] = scope,
                    2 => group.fusion_type[place] ^= true,
                    _ => drop(group.cut.pop()),
                }
                if let Some(taken) = record::from_bank(&mut pricer, &case.subgraphs[0], &kept) {
                    prop_assert!(taken.us.is_finite() && taken.us > 0.0);
                    let mut covered: Vec<u32> = taken.groups.iter().flat_map(|g| g.scopes.concat()).collect();
                    covered.sort_unstable();
                    prop_assert_eq!(covered, case.subgraphs[0].kernels.clone().collect::<Vec<_>>());
                }
            }
            Ok(())
        })?;
    }
}
