//! Times that scatter, and what repeats are worth then.

use crate::MARKS;
use crate::replay::Replay;
use crate::report::interval;
use aoe::search::{Outcome, Search, Settings};

/// Relative standard deviation of a measurement.
const SCATTER: f64 = 0.03;
/// Seeds at most.
const SEEDS: u64 = 8;

/// How near the best of the returned configurations truly is: without scatter, with it and no repeats, and
/// with repeats, which count as measurements.
pub fn print(spaces: &[Replay], seeds: u64) {
    let seeds = seeds.min(SEEDS);
    println!(
        "\n== scatter of {} %: true fraction of what `auto` returns after {:?} measurements; {seeds} seeds",
        SCATTER * 100.0,
        &MARKS[2..]
    );
    for (what, scatter, noise) in
        [("no scatter", 0.0, false), ("scatter, no repeats", SCATTER, false), ("scatter, repeats", SCATTER, true)]
    {
        let cells = MARKS[2..].iter().map(|&max_trials| {
            let runs = spaces.iter().flat_map(|space| (0..seeds).map(move |seed| (space, seed)));
            let found = runs.map(|(space, seed)| {
                returned(space, Settings { seed, max_trials, noise, ..Settings::default() }, scatter)
            });
            let (mean, half) = interval(&found.collect::<Vec<_>>());
            format!("  {mean:.4}+-{half:.4}")
        });
        println!("  {what:<22}{}", cells.collect::<String>());
    }
}

/// The true fraction of the configuration that a search returns.
fn returned(space: &Replay, settings: Settings, scatter: f64) -> f64 {
    let mut chance = fastrand::Rng::with_seed(settings.seed ^ 0x5EED);
    let mut search = Search::new(&space.domain, settings).expect("the benchmark's settings are sound");
    while let Some(trial) = search.ask() {
        // Box and Muller's normal number.
        let normal = (-2.0 * (1.0 - chance.f64()).ln()).sqrt() * (std::f64::consts::TAU * chance.f64()).cos();
        let time = space.measure(&trial.configuration).map(|time| time * (1.0 + scatter * normal));
        search.tell(trial.id, time.map_or(Outcome::Failed, Outcome::Cost)).expect("the trial is out");
    }
    let time = search.best().and_then(|(best, _)| space.measure(best));
    time.map_or(0.0, |time| space.optimum() / time)
}
