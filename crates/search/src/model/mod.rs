//! A surrogate of the costs: a Gaussian process on logarithmic costs over a pool of candidates, and the
//! candidate from which most is expected.

mod features;
mod hyper;
mod kernel;
mod linear;
mod pool;
mod process;
mod trend;

pub use features::Features;
pub use kernel::Kernel;
pub use pool::Pool;
pub use trend::Trend;

use crate::tunable::tunable;
use hyper::Hyper;
use process::Process;

tunable! {
    /// A process is fitted again after so much more trials, as a part of those it has.
    REFIT: f64 = 0.25;
    /// Power of the probability that a candidate can be measured: what it is estimated from errs on the
    /// hopeful side.
    CAUTION: f32 = 2.0;
    /// Deviations by which a candidate is expected to be worse than the best, beyond which it makes no
    /// difference how many: no normal distribution is to be believed so far out, and the logarithm would fall
    /// with their square, below that of any failure. What can be measured and is not yet known counts then.
    HOPELESS: f32 = 4.0;
}
/// Steps of one fit: at most, and at least. Between, the more trials the fewer: a step costs their cube, and
/// each fit goes on from the last.
const FIT_STEPS: (usize, usize) = (10, 4);
/// Trials up to which a fit has all its steps.
const FIT_TRIALS: usize = 64;
/// Trials that a process takes in at most; of more, the better half and some of the rest.
pub const TRIALS: usize = 192;
/// A trend counts as if it had been right about so many trials.
const TREND_TRUST: f64 = 3.0;

/// One measured or failed trial, as the model sees it.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// Number of the trial.
    pub id: u64,
    /// Its configuration.
    pub configuration: &'a [u32],
    /// Logarithm of its cost; `None` where it failed.
    pub log_cost: Option<f64>,
}

/// A process with its kernel, the trials it knows, and the pool it ranks.
#[derive(Debug)]
pub struct Model {
    kernel: Kernel,
    hyper: Hyper,
    /// The same for what can be measured at all.
    failing: Hyper,
    state: Option<State>,
}

#[derive(Debug)]
struct State {
    process: Process,
    pool: Pool,
    /// What the trend says of each candidate; empty without one.
    trends: Vec<f32>,
    /// The measured trials in the process, in order, and what the trend says of them.
    ids: Vec<u64>,
    trial_trends: Vec<f64>,
    /// Trials that had been told when the process took the last of them.
    told: usize,
    /// Trials told that make it worth fitting again.
    next_fit: usize,
}

impl Model {
    pub fn new(features: &Features, kernel: Kernel) -> Model {
        Model { kernel, hyper: Hyper::new(features), failing: Hyper::new(features), state: None }
    }

    /// Whether the process should be made anew from these many trials.
    pub fn is_due(&self, told: usize) -> bool {
        self.state.as_ref().is_none_or(|state| told >= state.next_fit)
    }

    /// Makes the process anew from chosen trials and a pool. `told` is the number of trials told by now.
    pub fn renew(&mut self, features: &Features, trend: Option<&Trend>, points: &[Point<'_>], pool: Pool, told: usize) {
        let measured = points.iter().filter(|point| point.log_cost.is_some());
        let mut codes = Vec::new();
        measured.clone().for_each(|point| features.encode(point.configuration, &mut codes));
        let mut y: Vec<f64> = measured.filter_map(|point| point.log_cost).collect();
        if let Some(trend) = trend {
            let trends: Vec<f64> = codes.chunks_exact(features.len()).map(|c| trend.at(features, c)).collect();
            remove_trend(&mut y, &trends);
        }
        let steps = (FIT_STEPS.0 * FIT_TRIALS / points.len().max(1)).clamp(FIT_STEPS.1, FIT_STEPS.0);
        self.hyper.fit(features, self.kernel, &codes, &y, steps);
        if points.iter().any(|point| point.log_cost.is_none()) {
            let mut codes = Vec::new();
            for point in points {
                features.encode(point.configuration, &mut codes);
            }
            let labels: Vec<f64> = points.iter().map(|p| f64::from(u8::from(p.log_cost.is_some()))).collect();
            self.failing.fit(features, self.kernel, &codes, &labels, steps);
        }
        let growth = (points.len() as f64 * *REFIT) as usize;
        let mut state = State {
            process: Process::new(features, self.kernel, &self.hyper, &self.failing),
            pool: Pool::default(),
            trends: Vec::new(),
            ids: Vec::new(),
            trial_trends: Vec::new(),
            told,
            next_fit: told + growth.max(1),
        };
        for point in points {
            state.add(features, trend, point);
        }
        state.extend(features, trend, pool);
        self.state = Some(state);
    }

    /// Takes in `points`, the trials told after the first [`Model::known`]; `told` are told by now.
    pub fn learn<'a>(
        &mut self,
        features: &Features,
        trend: Option<&Trend>,
        points: impl Iterator<Item = Point<'a>>,
        told: usize,
    ) {
        if let Some(state) = &mut self.state {
            points.for_each(|point| state.add(features, trend, &point));
            state.told = told;
        }
    }

    /// Adds candidates.
    pub fn extend(&mut self, features: &Features, trend: Option<&Trend>, more: Pool) {
        if let Some(state) = &mut self.state {
            state.extend(features, trend, more);
        }
    }

    /// The pool of candidates.
    pub fn pool(&self) -> Option<&Pool> {
        self.state.as_ref().map(|state| &state.pool)
    }

    /// Trials told that the process knows of.
    pub fn known(&self) -> usize {
        self.state.as_ref().map_or(0, |state| state.told)
    }

    /// How much is expected of each candidate, as a logarithm: its expected improvement over `best`, the
    /// probability that it can be measured, and how far it is from all trials that are still `out`.
    /// `log_cost` gives the present logarithmic cost of a trial.
    pub fn scores(&self, features: &Features, log_cost: impl Fn(u64) -> f64, best: f64, out: &[Vec<u8>]) -> Vec<f32> {
        let Some(state) = &self.state else { return Vec::new() };
        let process = &state.process;
        let mut y: Vec<f64> = state.ids.iter().map(|&id| log_cost(id)).collect();
        let slope = if state.trends.is_empty() { 0.0 } else { remove_trend(&mut y, &state.trial_trends) } as f32;
        let (expected, variance) = process.posterior(&y);
        let best = best as f32;
        let score = |candidate: usize| {
            let trend = state.trends.get(candidate).map_or(0.0, |trend| slope * trend);
            let deviation = (variance * process.open(candidate)).sqrt().max(1e-6);
            let gain = (best - trend - expected[candidate]) / deviation;
            log_improvement(gain.max(-*HOPELESS)) + deviation.ln() + *CAUTION * process.feasibility(candidate).ln()
        };
        let mut scores: Vec<f32> = (0..process.candidates()).map(score).collect();
        for codes in out {
            for (score, alike) in scores.iter_mut().zip(process.alike(features, codes)) {
                *score += (1.0 - alike * alike).max(1e-6).ln();
            }
        }
        scores
    }
}

impl State {
    fn add(&mut self, features: &Features, trend: Option<&Trend>, point: &Point<'_>) {
        let mut codes = Vec::with_capacity(features.len());
        features.encode(point.configuration, &mut codes);
        if point.log_cost.is_some() {
            self.process.measured(features, &codes);
            self.ids.push(point.id);
            self.trial_trends.extend(trend.map(|trend| trend.at(features, &codes)));
        } else {
            self.process.failed(features, &codes);
        }
        debug_assert_eq!(self.process.trials(), self.ids.len());
    }

    fn extend(&mut self, features: &Features, trend: Option<&Trend>, more: Pool) {
        let mut codes = Vec::with_capacity(more.len() * features.len());
        more.iter().for_each(|configuration| features.encode(configuration, &mut codes));
        if let Some(trend) = trend {
            self.trends.extend(codes.chunks_exact(features.len()).map(|c| trend.at(features, c) as f32));
        }
        self.process.extend(features, &codes);
        self.pool.append(more);
    }
}

/// Takes the trend out of values, and answers by what factor it holds: least squares, drawn to one.
fn remove_trend(y: &mut [f64], trends: &[f64]) -> f64 {
    let n = y.len().max(1) as f64;
    let (mean_y, mean_t) = (y.iter().sum::<f64>() / n, trends.iter().sum::<f64>() / n);
    let mut sums = (0.0, 0.0);
    for (y, t) in y.iter().zip(trends) {
        sums.0 += (y - mean_y) * (t - mean_t);
        sums.1 += (t - mean_t).powi(2);
    }
    let trust = TREND_TRUST * (sums.1 / n).max(1e-4);
    let factor = ((sums.0 + trust) / (sums.1 + trust)).clamp(0.0, 1.5);
    for (y, t) in y.iter_mut().zip(trends) {
        *y -= factor * t;
    }
    factor
}

/// Logarithm of the expected improvement in deviations, of a normal value that is expected `gain` deviations
/// below the best.
fn log_improvement(gain: f32) -> f32 {
    const PER_SQRT_TAU: f32 = 0.398_942_3;
    if gain < -2.0 {
        // The tail, within a few parts in a hundred (the first terms of its asymptotic series).
        return -0.5 * gain * gain + (PER_SQRT_TAU / (gain * gain + 2.4)).ln();
    }
    let density = PER_SQRT_TAU * (-0.5 * gain * gain).exp();
    // Page's logistic form of the normal distribution, within 0.00014 of it; where it counts here.
    let below = 1.0 / (1.0 + (-1.5976 * gain - 0.070_566 * gain.powi(3)).exp());
    (density + gain * below).max(1e-9).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Domain;

    struct Line;

    impl Domain for Line {
        fn sizes(&self) -> &[u32] {
            &[41]
        }

        fn is_legal(&self, _: &[u32]) -> bool {
            true
        }
    }

    /// Costs that are known all along the first half, with every value of the second failing but a few.
    #[test]
    fn where_nothing_is_to_be_gained_what_surely_fails_ranks_last() {
        let features = Features::new(&Line, Kernel::Laplace);
        let configurations: Vec<[u32; 1]> = (0..41).map(|value| [value]).collect();
        let log_cost = |id: u64| id as f64 * 0.5;
        let untold = [17, 19, 31, 33];
        let points =
            configurations.iter().enumerate().filter(|(i, _)| !untold.contains(i)).map(|(i, configuration)| Point {
                id: i as u64,
                configuration,
                log_cost: (i <= 20).then(|| log_cost(i as u64)),
            });
        let points: Vec<_> = points.collect();
        for kernel in [Kernel::Matern, Kernel::Laplace] {
            let mut pool = Pool::new(1);
            for value in untold {
                pool.push(&[value as u32]);
            }
            let mut model = Model::new(&features, kernel);
            model.renew(&features, None, &points, pool, points.len());
            let scores = model.scores(&features, log_cost, 0.0, &[]);
            assert!(
                scores[..2].iter().all(|safe| scores[2..].iter().all(|failing| safe > failing)),
                "{kernel:?} {scores:?}"
            );
        }
    }

    #[test]
    fn improvement_grows_with_the_expected_gain() {
        let values: Vec<f32> = (-400..400).map(|i| log_improvement(i as f32 * 0.02)).collect();
        assert!(values.windows(2).all(|w| w[0] < w[1] + 0.01), "{values:?}");
        assert!((log_improvement(0.0) - 0.398_942_3_f32.ln()).abs() < 1e-4);
        assert!((log_improvement(5.0) - 5.0_f32.ln()).abs() < 1e-3);
    }
}
