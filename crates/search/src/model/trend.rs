//! What trials from elsewhere say of a configuration.

use super::features::Features;
use super::hyper::{Hyper, centred};
use super::kernel::Kernel;
use super::linear::{Lower, dot};

/// Trials that a trend is made of at most.
const TRIALS: usize = 256;
/// Steps of its fit.
const FIT_STEPS: usize = 16;
/// Kernel of a trend: what holds elsewhere too is the smooth part.
const KERNEL: Kernel = Kernel::Matern;

/// A process fitted once to logarithmic costs from elsewhere.
#[derive(Debug)]
pub struct Trend {
    codes: Vec<u8>,
    alpha: Vec<f64>,
    weights: Vec<f32>,
    mean: f64,
}

impl Trend {
    /// The trend of these trials, cheapest first; `None` of too few.
    pub fn new(features: &Features, trials: &[(&[u32], f64)]) -> Option<Trend> {
        if trials.len() < 4 || features.len() == 0 {
            return None;
        }
        // All of few; of many the best, and even steps through the rest.
        let best = trials.len().min(TRIALS / 2);
        let step = (trials.len() - best).div_ceil(TRIALS / 2).max(1);
        let chosen = || trials[..best].iter().chain(trials[best..].iter().step_by(step));
        let mut codes = Vec::new();
        chosen().for_each(|(configuration, _)| features.encode(configuration, &mut codes));
        let y: Vec<f64> = chosen().map(|trial| trial.1).collect();
        let mut hyper = Hyper::new(features);
        hyper.fit(features, KERNEL, &codes, &y, FIT_STEPS);
        let weights = hyper.weights();
        let mut factor = Lower::default();
        let width = features.len();
        for trial in codes.chunks_exact(width) {
            let before = factor.size() * width;
            let row = correlations(features, &weights, &codes[..before], trial);
            factor.extend(&row.chain([1.0 + hyper.noise()]).collect::<Vec<_>>());
        }
        let (z, mean) = centred(&factor, &y);
        let alpha = factor.inverse_columns().iter().enumerate().map(|(j, column)| dot(column, &z[j..])).collect();
        Some(Trend { codes, alpha, weights, mean })
    }

    /// The expected logarithmic cost elsewhere.
    pub fn at(&self, features: &Features, codes: &[u8]) -> f64 {
        let alike = correlations(features, &self.weights, &self.codes, codes);
        self.mean + alike.zip(&self.alpha).map(|(alike, alpha)| alike * alpha).sum::<f64>()
    }
}

fn correlations<'a>(
    features: &'a Features,
    weights: &'a [f32],
    trials: &'a [u8],
    codes: &'a [u8],
) -> impl Iterator<Item = f64> + 'a {
    trials.chunks_exact(features.len()).map(move |other| {
        let parts = (0..features.len()).map(|q| weights[q] * features.part(KERNEL, q, codes[q], other[q]));
        f64::from(KERNEL.correlation(parts.sum()))
    })
}
