use super::legal::Legal;
use super::local::Moves;
use super::{Algorithm, Domain, Outcome, Search, Settings, StopReason, uses_model};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Those without a model, when evaluations are cheap.
fn cheap() -> Vec<Algorithm> {
    let uses_none = |algorithm: &Algorithm| !uses_model(&hurried(*algorithm, 0, 0));
    Algorithm::ALL.into_iter().filter(uses_none).collect()
}

/// Those with one, when evaluations are dear.
fn modelling() -> Vec<Algorithm> {
    Algorithm::ALL.into_iter().filter(|algorithm| uses_model(&settings(*algorithm, 0, 0))).collect()
}

/// Value indices whose weighted sum leaves a given remainder, pruned on the way or not.
#[derive(Debug, Clone)]
struct Modular {
    sizes: Vec<u32>,
    modulus: u32,
    remainder: u32,
    prunes: bool,
}

impl Modular {
    fn everything(sizes: &[u32]) -> Modular {
        Modular { sizes: sizes.to_vec(), modulus: 1, remainder: 0, prunes: true }
    }

    fn sum(configuration: &[u32]) -> u32 {
        configuration.iter().zip(1..).map(|(&value, weight): (&u32, u32)| value * weight).sum()
    }

    fn all(&self) -> Vec<Vec<u32>> {
        let product = |all: Vec<Vec<u32>>, &size: &u32| {
            all.iter().flat_map(|c| (0..size).map(|value| [&c[..], &[value]].concat())).collect()
        };
        let all: Vec<Vec<u32>> = self.sizes.iter().fold(vec![Vec::new()], product);
        all.into_iter().filter(|c| self.is_legal(c)).collect()
    }
}

impl Domain for Modular {
    fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    fn is_legal(&self, configuration: &[u32]) -> bool {
        Modular::sum(configuration) % self.modulus == self.remainder
    }

    fn may_extend(&self, prefix: &[u32]) -> bool {
        // With one parameter left, some value must give the remainder.
        let last = self.sizes.len() as u32;
        !self.prunes
            || prefix.len() + 1 != self.sizes.len()
            || (0..self.sizes[prefix.len()]).any(|v| (Modular::sum(prefix) + v * last) % self.modulus == self.remainder)
    }
}

fn modular(values: u32) -> impl Strategy<Value = Modular> {
    (proptest::collection::vec(0..values, 0..5), 1u32..5, any::<bool>()).prop_flat_map(|(sizes, modulus, prunes)| {
        (0..modulus).prop_map(move |remainder| Modular { sizes: sizes.clone(), modulus, remainder, prunes })
    })
}

fn settings(algorithm: Algorithm, seed: u64, max_trials: usize) -> Settings {
    Settings { algorithm, seed, max_trials, patience: Some(usize::MAX), ..Settings::default() }
}

/// The same where evaluations are cheap, so that `Auto` uses no model.
fn hurried(algorithm: Algorithm, seed: u64, max_trials: usize) -> Settings {
    Settings { evaluation: Some(Duration::from_micros(1)), ..settings(algorithm, seed, max_trials) }
}

/// Runs a search to its end, `batch` trials at a time told in the order that `shuffle` gives.
fn run<D: Domain>(
    domain: D,
    settings: Settings,
    batch: usize,
    shuffle: u64,
    cost: impl Fn(&[u32]) -> Outcome,
) -> (Vec<Vec<u32>>, Search<D>) {
    let mut search = Search::new(domain, settings).unwrap();
    let mut asked = Vec::new();
    let mut order = fastrand::Rng::with_seed(shuffle);
    loop {
        let mut out: Vec<_> = std::iter::from_fn(|| search.ask()).take(batch).collect();
        if out.is_empty() {
            return (asked, search);
        }
        asked.extend(out.iter().map(|trial| trial.configuration.clone()));
        order.shuffle(&mut out);
        for trial in out {
            search.tell(trial.id, cost(&trial.configuration)).unwrap();
        }
    }
}

/// A bowl with its bottom at 3/4 of every list and a coupling of neighbours.
fn bowl(sizes: &[u32], configuration: &[u32]) -> f64 {
    let place = |i: usize| f64::from(configuration[i]) - f64::from(sizes[i] * 3 / 4);
    (0..sizes.len()).map(|i| place(i).powi(2) + place(i) * place((i + 1) % sizes.len()) * 0.9).sum()
}

/// Runs a search to exhaustion and holds what it asked against the legal set.
fn exhausts(domain: &Modular, settings: Settings, batch: usize, fail: u32) -> Result<(), TestCaseError> {
    let cost = |c: &[u32]| {
        if fail > 0 && Modular::sum(c) % 4 < fail { Outcome::Failed } else { Outcome::Cost(bowl(&domain.sizes, c)) }
    };
    let seed = settings.seed;
    let (asked, search) = run(domain, settings, batch, seed, cost);
    let distinct: HashSet<_> = asked.iter().cloned().collect();
    prop_assert_eq!(distinct.len(), asked.len());
    prop_assert_eq!(distinct, domain.all().into_iter().collect::<HashSet<_>>());
    prop_assert_eq!(search.stop_reason(), Some(StopReason::Exhausted));
    let costs = asked.iter().filter_map(|c| if let Outcome::Cost(x) = cost(c) { Some(x) } else { None });
    let best = costs.fold(f64::INFINITY, f64::min);
    prop_assert_eq!(search.best().map_or(f64::INFINITY, |(_, cost)| cost).to_bits(), best.to_bits());
    Ok(())
}

proptest! {
    #[test]
    fn every_legal_configuration_is_asked_once_and_then_the_space_is_exhausted(
        domain in modular(6), seed in any::<u64>(), algorithm in select(cheap()), batch in 1usize..20, fail in 0u32..4,
    ) {
        exhausts(&domain, hurried(algorithm, seed, usize::MAX), batch, fail)?;
    }
}

proptest! {
    #![proptest_config(aoe_testing::cases(48))]
    #[test]
    fn models_exhaust_the_legal_set_too(
        domain in modular(4), seed in any::<u64>(), algorithm in select(modelling()), batch in 1usize..20, fail in 0u32..4,
    ) {
        exhausts(&domain, settings(algorithm, seed, usize::MAX), batch, fail)?;
    }
}

/// Runs the same search twice, told in different orders, and once with another seed.
fn depends_on_seed_and_tells_only(
    of: impl Fn(u64) -> Settings,
    seed: u64,
    batch: usize,
    shuffles: (u64, u64),
) -> Result<(), TestCaseError> {
    let domain = Modular { sizes: vec![12; 6], modulus: 5, remainder: 2, prunes: true };
    let cost =
        |c: &[u32]| if c[0] == 4 { Outcome::Failed } else { Outcome::Cost(bowl(&domain.sizes, c).floor() + 200.0) };
    let once = run(&domain, of(seed), batch, shuffles.0, cost).0;
    let again = run(&domain, of(seed), batch, shuffles.1, cost).0;
    prop_assert_eq!(&once, &again);
    let other = run(&domain, of(seed ^ 1), batch, shuffles.1, cost).0;
    prop_assert_ne!(once, other);
    Ok(())
}

proptest! {
    #![proptest_config(aoe_testing::cases(24))]
    #[test]
    fn asks_depend_on_the_seed_and_on_what_is_told_not_on_its_order(
        seed in any::<u64>(), algorithm in select(cheap()), batch in 1usize..30, shuffles in any::<(u64, u64)>(),
    ) {
        depends_on_seed_and_tells_only(|seed| hurried(algorithm, seed, 400), seed, batch, shuffles)?;
    }
}

proptest! {
    #![proptest_config(aoe_testing::cases(4))]
    #[test]
    fn models_depend_on_the_seed_and_on_what_is_told_not_on_its_order(
        seed in any::<u64>(), algorithm in select(modelling()), batch in 1usize..30, shuffles in any::<(u64, u64)>(), noise in any::<bool>(),
    ) {
        let of = |seed| Settings { noise, ..settings(algorithm, seed, 60) };
        depends_on_seed_and_tells_only(of, seed, batch, shuffles)?;
    }
}

proptest! {
    #[test]
    fn enumeration_lists_the_legal_set_in_order_up_to_its_limit(domain in modular(6)) {
        let all = domain.all();
        prop_assert_eq!(domain.enumerate(all.len()), Some(all.concat()));
        let boxed: Box<dyn Domain> = Box::new(domain.clone());
        prop_assert_eq!(boxed.enumerate(1 << 20), Some(all.concat()));
        if !domain.sizes.is_empty() && !all.is_empty() {
            prop_assert_eq!(domain.enumerate(all.len() - 1), None);
        }
    }
}

#[test]
fn a_legal_set_too_costly_to_list_is_not_listed() {
    let dense = Modular::everything(&[1000; 4]);
    let empty = Modular { sizes: vec![100; 20], modulus: 3, remainder: 7, prunes: false };
    assert_eq!((dense.enumerate(1 << 16), empty.enumerate(1 << 16)), (None, None));
}

#[test]
fn a_prior_trial_must_be_of_the_space_and_have_a_cost() {
    for (configuration, cost, ok) in [
        (vec![3, 3], 1.0, true),
        (vec![3, 3], f64::INFINITY, true),
        (vec![3, 4], 1.0, false),
        (vec![3], 1.0, false),
        (vec![0, 0], f64::NAN, false),
    ] {
        let settings = Settings { prior: vec![(configuration, cost)], ..Settings::default() };
        assert_eq!(Search::new(Modular::everything(&[4, 4]), settings).is_ok(), ok);
    }
}

#[test]
fn a_large_legal_set_without_pruning_is_exhausted_too() {
    let domain = Modular { sizes: vec![40, 40, 40], modulus: 1009, remainder: 77, prunes: false };
    for algorithm in cheap() {
        let (asked, search) = run(&domain, hurried(algorithm, 1, usize::MAX), 7, 0, |c| Outcome::Cost(f64::from(c[0])));
        assert_eq!(asked.iter().collect::<HashSet<_>>(), domain.all().iter().collect::<HashSet<_>>(), "{algorithm:?}");
        assert_eq!(search.stop_reason(), Some(StopReason::Exhausted));
    }
}

#[test]
fn guided_algorithms_find_the_bottom_of_a_large_bowl() {
    // 20^8 configurations, one in seven legal; the bottom is among them.
    let mut domain = Modular { sizes: vec![20; 8], modulus: 7, remainder: 0, prunes: true };
    domain.remainder = Modular::sum(&[15; 8]) % 7;
    let cost = |c: &[u32]| Outcome::Cost(bowl(&domain.sizes, c));
    for algorithm in [Algorithm::Auto, Algorithm::Genetic] {
        for seed in 0..5 {
            let (_, search) = run(&domain, hurried(algorithm, seed, 4000), 1, 0, cost);
            let (_, random) = run(&domain, hurried(Algorithm::Random, seed, 4000), 1, 0, cost);
            let (found, chance) = (search.best().unwrap().1, random.best().unwrap().1);
            assert!(found <= 4.0 && found < chance / 10.0, "{algorithm:?} {seed}: {found}, random {chance}");
        }
    }
}

#[test]
fn an_empty_legal_set_is_exhausted_at_once() {
    let contradiction = Modular { sizes: vec![4, 4], modulus: 3, remainder: 7, prunes: false };
    for domain in [contradiction, Modular::everything(&[3, 0, 2])] {
        let mut search = Search::new(&domain, Settings::default()).unwrap();
        assert_eq!(search.ask(), None);
        assert_eq!(search.stop_reason(), Some(StopReason::Exhausted));
        assert_eq!(search.best(), None);
    }
}

#[test]
fn an_empty_legal_set_that_is_too_large_to_walk_ends_too() {
    let domain = Modular { sizes: vec![100; 20], modulus: 3, remainder: 7, prunes: false };
    let mut search = Search::new(&domain, Settings::default()).unwrap();
    assert_eq!(search.ask(), None);
    assert_eq!(search.stop_reason(), Some(StopReason::Exhausted));
}

#[test]
fn a_space_without_parameters_has_one_configuration() {
    let mut search = Search::new(Modular::everything(&[]), Settings::default()).unwrap();
    assert_eq!(search.ask().map(|trial| trial.configuration), Some(vec![]));
    assert_eq!(search.ask(), None);
}

#[test]
fn initial_configurations_come_first_and_once() {
    let initial = vec![vec![2, 3], vec![0, 1], vec![2, 3]];
    let mut search = Search::new(Modular::everything(&[4, 4]), Settings { initial, ..Settings::default() }).unwrap();
    let asked: Vec<_> = std::iter::from_fn(|| search.ask()).map(|trial| trial.configuration).collect();
    assert_eq!(asked[..2], [vec![2, 3], vec![0, 1]]);
    assert_eq!(asked.len(), 16);
    for illegal in [vec![0], vec![0, 4], vec![0, 0, 0]] {
        let settings = Settings { initial: vec![illegal], ..Settings::default() };
        assert!(Search::new(Modular::everything(&[4, 4]), settings).is_err());
    }
}

#[test]
fn every_end_has_its_reason() {
    let domain = Modular::everything(&[50, 50, 50]);
    let flat = |_: &[u32]| Outcome::Cost(1.0);
    let (asked, search) = run(&domain, settings(Algorithm::Auto, 0, 30), 4, 0, flat);
    assert_eq!((asked.len(), search.stop_reason()), (30, Some(StopReason::Budget)));

    let patient = Settings { patience: Some(100), ..settings(Algorithm::Genetic, 0, 10_000) };
    let (asked, search) = run(&domain, patient, 1, 0, flat);
    assert_eq!((asked.len(), search.stop_reason()), (101, Some(StopReason::Converged)));

    let timed = Settings { time_limit: Some(Duration::ZERO), ..Settings::default() };
    let (asked, search) = run(&domain, timed, 1, 0, flat);
    assert_eq!((asked.len(), search.stop_reason()), (0, Some(StopReason::TimeLimit)));

    let mut search = Search::new(&domain, Settings::default()).unwrap();
    let trial = search.ask().unwrap();
    search.cancel();
    search.tell(trial.id, Outcome::Cost(2.0)).unwrap();
    assert_eq!((search.ask(), search.stop_reason()), (None, Some(StopReason::Cancelled)));
    assert_eq!(search.best(), Some((&trial.configuration[..], 2.0)));
}

#[test]
fn wrong_tells_are_errors_and_change_nothing() {
    let mut search = Search::new(Modular::everything(&[5, 5]), Settings::default()).unwrap();
    let trial = search.ask().unwrap();
    for (id, outcome) in
        [(7, Outcome::Cost(1.0)), (trial.id, Outcome::Cost(f64::NAN)), (trial.id, Outcome::Cost(f64::INFINITY))]
    {
        assert!(search.tell(id, outcome).is_err());
    }
    search.tell(trial.id, Outcome::Cost(3.0)).unwrap();
    let error = search.tell(trial.id, Outcome::Cost(1.0)).unwrap_err();
    assert!(error.to_string().contains("already"), "{error}");
    assert_eq!(search.best().map(|(_, cost)| cost), Some(3.0));
}

#[test]
fn the_earliest_of_equals_is_best() {
    let mut search = Search::new(Modular::everything(&[9, 9]), Settings::default()).unwrap();
    let trials: Vec<_> = (0..5).map(|_| search.ask().unwrap()).collect();
    for trial in trials.iter().rev() {
        search.tell(trial.id, Outcome::Cost(1.0)).unwrap();
    }
    assert_eq!(search.best(), Some((&trials[0].configuration[..], 1.0)));
}

/// More than 10^12 legal configurations.
fn huge() -> Modular {
    Modular { sizes: vec![100; 7], modulus: 3, remainder: 1, prunes: true }
}

#[test]
fn spaces_of_any_size_are_searched() {
    let domain = huge();
    for algorithm in Algorithm::ALL {
        let cost = |c: &[u32]| Outcome::Cost(bowl(&domain.sizes, c) + 1e5);
        let (asked, search) = run(&domain, settings(algorithm, 3, 60), 3, 0, cost);
        assert_eq!((asked.len(), search.stop_reason()), (60, Some(StopReason::Budget)), "{algorithm:?}");
        assert!(asked.iter().all(|c| domain.is_legal(c)));
        assert_eq!(asked.iter().collect::<HashSet<_>>().len(), 60);
    }
}

#[test]
fn a_model_finds_in_sixty_trials_what_chance_does_not() {
    let domain = huge();
    let cost = |c: &[u32]| Outcome::Cost(bowl(&domain.sizes, c) + 1e3);
    for algorithm in modelling() {
        let [found, chance] = [algorithm, Algorithm::Random]
            .map(|algorithm| run(&domain, settings(algorithm, 5, 60), 1, 0, cost).1.best().unwrap().1);
        assert!(found < 0.6 * chance, "{algorithm:?}: {found}, random {chance}");
    }
}

type CostOf = dyn Fn(&[u32]) -> Outcome;

#[test]
fn a_search_lives_with_nothing_but_failures_and_with_any_finite_costs() {
    let domain = Modular::everything(&[8, 8, 8]);
    let costs: [&CostOf; 4] = [
        &|_| Outcome::Failed,
        &|c| if c[0] < 6 { Outcome::Failed } else { Outcome::Cost(f64::from(c[1])) },
        &|c| Outcome::Cost(f64::from(c[0]) - 4.0),
        &|c| Outcome::Cost(if c[0] == 3 { 1e300 } else { 1e-300 }),
    ];
    for cost in costs {
        for algorithm in Algorithm::ALL {
            let (asked, _) = run(&domain, settings(algorithm, 9, 50), 2, 1, cost);
            assert_eq!(asked.len(), 50, "{algorithm:?}");
        }
    }
}

/// A domain that counts the samples drawn from it.
struct Counting {
    domain: Modular,
    samples: AtomicUsize,
}

impl Domain for Counting {
    fn sizes(&self) -> &[u32] {
        self.domain.sizes()
    }

    fn is_legal(&self, configuration: &[u32]) -> bool {
        self.domain.is_legal(configuration)
    }

    fn sample_within(&self, rng: &mut fastrand::Rng, steps: &mut usize) -> Option<Vec<u32>> {
        self.samples.fetch_add(1, Ordering::Relaxed);
        self.domain.sample_within(rng, steps)
    }
}

#[test]
fn where_all_fails_a_choice_does_not_cost_ever_more() {
    for algorithm in modelling() {
        let domain = Counting { domain: Modular::everything(&[20; 6]), samples: AtomicUsize::new(0) };
        let mut search = Search::new(&domain, settings(algorithm, 4, 400)).unwrap();
        for ask in 0..400 {
            if ask == 300 {
                domain.samples.store(0, Ordering::Relaxed);
            }
            let trial = search.ask().unwrap();
            search.tell(trial.id, Outcome::Failed).unwrap();
        }
        let samples = domain.samples.load(Ordering::Relaxed);
        assert!(samples <= 110, "{samples} samples for a hundred choices by {algorithm:?}");
    }
}

/// Three points make no model: what they cost has no say in what is tried next, and a fourth has.
#[test]
fn until_four_trials_have_a_cost_no_model_chooses() {
    let asks = |measured: usize| {
        let domain = Modular::everything(&[12; 4]);
        let mut search = Search::new(&domain, settings(Algorithm::Bayesian, 3, 40)).unwrap();
        let mut asked = Vec::new();
        while let Some(trial) = search.ask() {
            let cost = bowl(&domain.sizes, &trial.configuration);
            let outcome = if asked.len() < measured { Outcome::Cost(cost) } else { Outcome::Failed };
            asked.push(trial.configuration);
            search.tell(trial.id, outcome).unwrap();
        }
        asked
    };
    let none = asks(0);
    for measured in 1..4 {
        assert_eq!(asks(measured), none, "{measured} measured");
    }
    assert_ne!(asks(4), none);
}

#[test]
fn more_is_listed_where_a_choice_may_take_its_time() {
    let listed = |settings: Settings, sizes: &[u32]| {
        let search = Search::new(Modular::everything(sizes), settings).unwrap();
        matches!(search.legal, Legal::Listed { .. })
    };
    let (dear, cheap) = (settings(Algorithm::Auto, 1, 10), hurried(Algorithm::Auto, 1, 10));
    assert!(listed(dear.clone(), &[1 << 9, 1 << 8]) && !listed(dear, &[(1 << 17) + 1]));
    assert!(listed(cheap.clone(), &[1 << 5, 1 << 5]) && !listed(cheap, &[(1 << 10) + 1]));
}

/// Of each distance a trial is moved in every parameter that has another value, up and down, once; then of the next.
#[test]
fn from_a_trial_every_move_is_tried_once_and_the_nearest_first() {
    for trial in [0, 1, 2, 5] {
        let mut moves = Moves::new(&Modular::everything(&[40, 1, 40, 40]));
        for distance in [1, 2, 4, 8, 16] {
            let round: HashSet<_> = (0..6).map(|_| moves.next(trial).unwrap()).collect();
            let all = [0, 2, 3].map(|parameter| [true, false].map(|up| (parameter, distance, up)));
            assert_eq!(round, all.concat().into_iter().collect(), "trial {trial}");
        }
        assert_eq!(moves.next(trial), None);
    }
    assert_eq!(Moves::new(&Modular::everything(&[1, 1])).next(0), None);
}

#[test]
fn models_learn_where_measuring_fails() {
    let domain = Modular::everything(&[20; 6]);
    // What fails is no better and no worse than the rest, but for failing.
    let failing = |c: &[u32]| c[0] >= 10;
    let away = |value: u32, from: u32| f64::from(value.abs_diff(from)).powi(2);
    let truth = |c: &[u32]| 50.0 + away(c[1], 12) + away(c[2], 4) + away(c[3], 7) + away(c[4], c[5]);
    let cost = |c: &[u32]| if failing(c) { Outcome::Failed } else { Outcome::Cost(truth(c)) };
    let (asked, _) = run(&domain, settings(Algorithm::Auto, 2, 80), 1, 0, cost);
    let failed = asked[40..].iter().filter(|c| failing(c)).count();
    assert!(failed < 16, "{failed} of 40 failed, of the whole space half does");
}

#[test]
fn trials_from_elsewhere_show_the_way() {
    let domain = Modular { sizes: vec![30; 5], modulus: 1, remainder: 0, prunes: true };
    let cost = |c: &[u32]| bowl(&domain.sizes, c) + 1000.0;
    // Elsewhere all costs are ten times as high, and a third failed.
    let mut rng = fastrand::Rng::with_seed(4);
    let mut draw = || -> Vec<u32> { (0..5).map(|_| rng.u32(0..30)).collect() };
    let trial = |c: Vec<u32>| {
        let elsewhere = if c[4].is_multiple_of(3) { f64::INFINITY } else { cost(&c) * 10.0 };
        (c, elsewhere)
    };
    let prior: Vec<_> = (0..200).map(|_| trial(draw())).collect();
    let best = |prior: &[(Vec<u32>, f64)], algorithm| {
        let settings = Settings { prior: prior.to_vec(), ..settings(algorithm, 6, 20) };
        run(&domain, settings, 1, 0, |c| Outcome::Cost(cost(c))).1.best().unwrap().1
    };
    for algorithm in [Algorithm::Auto, Algorithm::Bayesian, Algorithm::Genetic] {
        let (with, without) = (best(&prior, algorithm), best(&[], algorithm));
        assert!(with < without, "{algorithm:?}: {with} knowing, {without} without");
    }
    assert_eq!(best(&prior, Algorithm::Random).to_bits(), best(&[], Algorithm::Random).to_bits());
}

#[test]
fn noise_is_met_by_repeats_of_the_leader_and_by_nothing_else() {
    let domain = Modular::everything(&[12, 12, 12]);
    let truth = |c: &[u32]| bowl(&domain.sizes, c) + 50.0;
    for algorithm in Algorithm::ALL {
        let mut scatter = fastrand::Rng::with_seed(8);
        let mut search = Search::new(&domain, Settings { noise: true, ..settings(algorithm, 1, 60) }).unwrap();
        let mut first: Vec<Vec<u32>> = Vec::new();
        let mut repeats = 0;
        while let Some(trial) = search.ask() {
            if let Some(original) = trial.repeats {
                repeats += 1;
                assert!(original < trial.id);
                assert_eq!(first[original as usize], trial.configuration);
            } else {
                assert!(!first.contains(&trial.configuration), "{algorithm:?}");
            }
            first.push(trial.configuration.clone());
            let cost = truth(&trial.configuration) * (0.9 + 0.2 * scatter.f64());
            search.tell(trial.id, Outcome::Cost(cost)).unwrap();
        }
        assert_eq!(search.stop_reason(), Some(StopReason::Budget));
        assert!((1..=12).contains(&repeats), "{algorithm:?}: {repeats}");
        let (best, mean) = search.best().map(|(c, mean)| (truth(c), mean)).unwrap();
        assert!((mean / best - 1.0).abs() <= 0.1, "{algorithm:?}: {mean} is no mean of measurements about {best}");
    }
}

#[test]
fn a_repeat_that_moves_the_leader_leaves_its_equals() {
    let domain = Modular::everything(&[40]);
    let mut search = Search::new(&domain, Settings { noise: true, ..settings(Algorithm::Random, 1, 30) }).unwrap();
    let (mut repeated, mut equal) = (0, None);
    while let Some(trial) = search.ask() {
        let cost = match (trial.id, trial.repeats) {
            (_, Some(0)) => 100.0,
            (0 | 1, None) | (_, Some(_)) => 1.0,
            (_, None) => 10.0,
        };
        repeated += usize::from(trial.repeats == Some(0));
        if trial.id == 1 {
            equal = Some(trial.configuration.clone());
        }
        search.tell(trial.id, Outcome::Cost(cost)).unwrap();
    }
    assert!(repeated > 0);
    assert_eq!(search.best(), equal.as_ref().map(|c| (&c[..], 1.0)));
}
