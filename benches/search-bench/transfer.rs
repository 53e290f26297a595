//! Trials from another device of the same kernel.

use crate::replay::Replay;
use crate::report::interval;
use crate::run::curve;
use aoe::search::{Algorithm, Domain, Outcome, Search, Settings};
use std::fmt::Write as _;

/// Measurements that a new device is given.
const BUDGET: usize = 25;
/// Trials that another device's bank holds: those of one search there.
const BANK: usize = 200;

/// Seeds at most: there are many pairs.
const SEEDS: u64 = 5;

/// Tunes every space with the trials of a search on each other space of its kernel that has the same
/// parameters and values.
pub fn print(spaces: &[Replay], seeds: u64) {
    let pairs: Vec<(&Replay, &Replay)> = spaces
        .iter()
        .flat_map(|to| spaces.iter().map(move |from| (from, to)))
        .filter(|(from, to)| from.name != to.name && from.family() == to.family())
        .collect();
    if pairs.is_empty() {
        return;
    }
    let seeds = seeds.min(SEEDS);
    let banks: Vec<Vec<Bank>> = spaces.iter().map(|space| (0..seeds).map(|seed| bank(space, seed)).collect()).collect();
    println!(
        "\n== transfer: fraction at 5, 10 and 25 knowing {BANK} trials, or all, of another device of the same kernel; \
         {seeds} seeds"
    );
    let mut at_end = [Vec::new(), Vec::new()];
    for (from, to) in pairs {
        let place = spaces.iter().position(|space| space.name == from.name).unwrap_or(0);
        let all = whole(from);
        let mut line = format!("  {:<34} -> {:<34}", from.name, to.name);
        for (known, at_end) in at_end.iter_mut().enumerate() {
            let mut sums = [Vec::new(), Vec::new(), Vec::new()];
            for seed in 0..seeds {
                let prior = if known == 0 { banks[place][seed as usize].clone() } else { all.clone() };
                let (curve, _) = curve(to, Settings { seed, max_trials: BUDGET, prior, ..Settings::default() });
                for (sum, mark) in sums.iter_mut().zip([5, 10, BUDGET]) {
                    sum.push(curve.get(mark - 1).or(curve.last()).copied().unwrap_or(0.0));
                }
            }
            let [five, ten, end] = sums.map(|values| interval(&values).0);
            let _ = write!(line, "  {five:.3} {ten:.3} {end:.3}");
            at_end.push(end);
        }
        println!("{line}");
    }
    for (what, at_end) in [("trials of one search", &at_end[0]), ("all", &at_end[1])] {
        let reached = at_end.iter().filter(|&&end| end >= 0.95).count();
        let (mean, _) = interval(at_end);
        println!("  knowing {what}: mean at {BUDGET} {mean:.3}, 0.95 on average in {reached} of {}", at_end.len());
    }
}

/// Trials with their costs, infinite where they failed.
type Bank = Vec<(Vec<u32>, f64)>;

/// Everything that was recorded.
fn whole(space: &Replay) -> Bank {
    let flat = space.domain.enumerate(usize::MAX >> 8).unwrap_or_default();
    let all = flat.chunks_exact(space.domain.sizes().len());
    all.map(|c| (c.to_vec(), space.measure(c).unwrap_or(f64::INFINITY))).collect()
}

/// The trials of a search.
fn bank(space: &Replay, seed: u64) -> Bank {
    let settings =
        Settings { algorithm: Algorithm::Auto, seed: seed ^ 0xB_A4C, max_trials: BANK, ..Settings::default() };
    let mut search = Search::new(&space.domain, settings).expect("the benchmark's settings are sound");
    let mut trials = Vec::with_capacity(BANK);
    while let Some(trial) = search.ask() {
        let time = space.measure(&trial.configuration);
        search.tell(trial.id, time.map_or(Outcome::Failed, Outcome::Cost)).expect("the trial is out");
        trials.push((trial.configuration, time.unwrap_or(f64::INFINITY)));
    }
    debug_assert!(trials.iter().all(|(configuration, _)| space.domain.is_legal(configuration)));
    trials
}
