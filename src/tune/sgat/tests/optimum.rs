//! The strategy found against all that there are, listed without the solver's steps, borders and bounds.

use super::{Plan, SUM, Sketch, sketches_of, with_network};
use crate::lower::Source;
use crate::soc::Soc;
use crate::tune::sgat::network::Network;
use crate::tune::sgat::price::Pricer;
use crate::tune::sgat::residency::Run;
use crate::tune::sgat::{scope, solve};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// A number that the environment may replace: listing takes time that doubles with each node, or more.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// All strategies of a small network: every way to make groups of neighbours, on every number of parts that fits
/// L2, and in each every way to part it into scopes that can run one after the other.
struct Listing<'p, 'a> {
    pricer: &'p mut Pricer<'a>,
    /// Kernels that each kernel reads, as bits.
    needs: Vec<usize>,
    /// Sets of kernels that may be one, with their members.
    legal: Vec<(usize, Vec<u32>)>,
}

impl<'p, 'a> Listing<'p, 'a> {
    fn new(pricer: &'p mut Pricer<'a>) -> Listing<'p, 'a> {
        let (network, arch) = (pricer.network(), pricer.soc().arch);
        let count = network.stages().len() as u32;
        let made = |at: u32| {
            network.stage(at).reads.iter().fold(0, |set, read| match read.source {
                Source::Kernel(from) => set | 1usize << from,
                Source::Input | Source::Constant => set,
            })
        };
        let members = |set: usize| (0..count).filter(|at| set & 1 << at != 0).collect::<Vec<u32>>();
        let is_legal = |members: &[u32]| members.len() == 1 || scope::pass(network, arch, members).is_some();
        let legal = (1usize..1 << count).map(|set| (set, members(set))).filter(|(_, members)| is_legal(members));
        Listing { needs: (0..count).map(made).collect(), legal: legal.collect(), pricer }
    }

    /// Microseconds of the cheapest strategy whose groups are cut into these numbers of parts or not at all.
    fn cheapest(&mut self, cuts: &[u64]) -> f64 {
        let count = self.needs.len();
        let mut cheapest = vec![0.0];
        for end in 1..=count {
            let mut best = f64::INFINITY;
            for (begin, before) in cheapest.iter().enumerate() {
                for &parts in std::iter::once(&1).chain(cuts) {
                    if let Some(run) = self.pricer.run(&(begin as u32..end as u32), parts) {
                        best = best.min(before + self.parted((1 << end) - (1 << begin), run));
                    }
                }
            }
            cheapest.push(best);
        }
        cheapest[count]
    }

    /// Microseconds of the cheapest scopes that cover a group: over all sets of finished kernels and all scopes
    /// that could be next, which are all partings into scopes that can run one after the other.
    fn parted(&mut self, group: usize, run: Run) -> f64 {
        let Listing { pricer, needs, legal } = self;
        let inside = legal.iter().filter(|(set, _)| set & !group == 0);
        let priced: Vec<(usize, usize, f64)> = inside
            .filter_map(|(set, members)| {
                let needed = members.iter().fold(0, |needed, &at| needed | needs[at as usize]);
                Some((*set, needed & group & !set, pricer.scope_us(members, run)?))
            })
            .collect();
        let lowest = group & group.wrapping_neg();
        let mut cheapest = vec![f64::INFINITY; group / lowest + 1];
        cheapest[0] = 0.0;
        for done in 0..cheapest.len() {
            let (before, finished) = (cheapest[done], done * lowest);
            for (set, needed, us) in &priced {
                if before.is_finite() && set & finished == 0 && needed & !finished == 0 {
                    let with = (finished | set) / lowest;
                    cheapest[with] = cheapest[with].min(before + us);
                }
            }
        }
        cheapest[group / lowest]
    }
}

/// By how much the strategy found is worse than the best of all, as a share of that.
fn gap(sketch: &Sketch, soc: &Soc, mixed: bool) -> f64 {
    let gap = |network: &Network<'_>| {
        let found: f64 = solve(network, soc, mixed).unwrap().iter().map(|case| case.after.us).sum();
        let mut pricer = Pricer::new(network, soc);
        let mut listing = Listing::new(&mut pricer);
        let cuts: Vec<&[u64]> =
            if mixed { vec![network.cuts()] } else { network.cuts().chunks(1).chain([&[][..]]).collect() };
        let best = cuts.into_iter().map(|cuts| listing.cheapest(cuts)).fold(f64::INFINITY, f64::min);
        found / best - 1.0
    };
    with_network(sketch, soc, |_, _, network| gap(network))
}

#[test]
fn the_strategy_found_is_the_best_of_all_that_there_are() {
    let (nodes, cases) = (number("LIBAOE_TEST_NODES", 7), number("LIBAOE_TEST_CASES", 60));
    let socs = ["Ascend310P3", "Ascend910A", "Ascend910B2"].map(|name| Soc::find(name).unwrap());
    let mut runner = TestRunner::deterministic();
    let (mut exact, mut worst) = (0, 0.0f64);
    for case in 0..cases {
        let sketch = sketches_of(SUM + 1, nodes).new_tree(&mut runner).unwrap().current();
        let gap = gap(&sketch, &socs[case % socs.len()], case % 2 == 0);
        assert!(gap > -1e-9, "the listing lacks a strategy: {gap}, case {case}, {sketch:?}");
        assert!(gap < 0.01, "{gap} worse than the best, case {case}, {sketch:?}");
        exact += usize::from(gap < 1e-9);
        worst = worst.max(gap);
    }
    println!("{exact} of {cases} are the best there is; worst gap {:.4} %", worst * 100.0);
    assert!(exact * 100 >= cases * 95, "{exact} of {cases} are the best");
}

/// So many sums of two branches each, from the result of the first `heads` nodes: all first branches, then all second
/// ones, then the sums.
fn interleaved(heads: usize, sums: usize) -> Sketch {
    let branch = |op| (0..sums).map(move |_| Plan { op, reads: [heads; 2] });
    let sum = |at| Plan { op: 2, reads: [heads + 1 + at, heads + 1 + sums + at] };
    let before = (0..heads).map(|at| Plan { op: 0, reads: [at; 2] });
    let plans: Vec<Plan> = before.chain(branch(0)).chain(branch(1)).chain((0..sums).map(sum)).collect();
    Sketch { batch: 1, columns: 4096, outputs: vec![plans.len()], plans }
}

fn launches(sketch: &Sketch) -> usize {
    let soc = Soc::find("Ascend310P3").unwrap();
    let scopes = |network: &Network<'_>| {
        let cases = solve(network, &soc, false).unwrap();
        cases.iter().flat_map(|case| &case.after.groups).map(|group| group.scopes.len()).sum()
    };
    with_network(sketch, &soc, |_, _, network| scopes(network))
}

#[test]
fn independent_parts_are_the_best_however_they_interleave() {
    assert_eq!(launches(&interleaved(0, 4)), 4);
    assert_eq!(launches(&interleaved(0, 16)), 16);
}

#[test]
fn what_is_too_wide_to_be_weighed_is_solved_along_its_chains() {
    // One scope takes the head and nine sums; the others have nothing in common.
    assert_eq!(launches(&interleaved(1, 12)), 4);
}
