//! One search over one space.

use crate::MARKS;
use crate::replay::Replay;
use aoe::search::{Algorithm, Domain, Outcome, Search, Settings};
use std::time::Instant;

/// What one search did.
pub struct Run {
    /// Name of the space.
    pub space: String,
    /// Name of the tuner.
    pub tuner: String,
    /// Its seed.
    pub seed: u64,
    /// Fraction of the optimum at each mark.
    pub marks: [f64; 4],
    /// Fraction of the optimum after each measurement; empty for runs that were read.
    pub curve: Vec<f64>,
    /// Time of the tuner for each measurement, in microseconds.
    pub overhead_us: f64,
}

/// Runs a search of 200 measurements.
pub fn run(space: &Replay, name: &str, algorithm: Algorithm, seed: u64) -> Run {
    let (curve, overhead_us) = curve(space, Settings { algorithm, seed, max_trials: MARKS[3], ..Settings::default() });
    Run { space: space.name.clone(), tuner: name.to_owned(), seed, marks: at_marks(&curve), curve, overhead_us }
}

/// Values of a curve at the marks; a run that ended early keeps its last value.
pub fn at_marks(curve: &[f64]) -> [f64; 4] {
    MARKS.map(|mark| curve.get(mark - 1).or(curve.last()).copied().unwrap_or(0.0))
}

/// Fraction of the optimum after each unique measurement, failures counted, and the optimiser's microseconds
/// for each.
pub fn curve(space: &Replay, settings: Settings) -> (Vec<f64>, f64) {
    let mut curve = Vec::with_capacity(settings.max_trials);
    let mut best = f64::INFINITY;
    let mut search = Search::new(&space.domain, settings).expect("the benchmark's settings are sound");
    let mut spent = 0.0;
    loop {
        let asked = Instant::now();
        let Some(trial) = search.ask() else { break };
        spent += asked.elapsed().as_secs_f64();
        let time = space.measure(&trial.configuration);
        let told = Instant::now();
        search.tell(trial.id, time.map_or(Outcome::Failed, Outcome::Cost)).expect("the trial is out");
        spent += told.elapsed().as_secs_f64();
        best = best.min(time.unwrap_or(f64::INFINITY));
        curve.push(if best.is_finite() { space.optimum() / best } else { 0.0 });
    }
    let overhead = spent * 1e6 / curve.len().max(1) as f64;
    (curve, overhead)
}

/// Bytes that the search keeps for each legal configuration and parameter are measured by the report: this
/// is the number of both.
pub fn cells(space: &Replay) -> usize {
    space.size() * space.domain.sizes().len()
}
