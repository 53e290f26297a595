//! Lengths and noise of a Gaussian process, by the marginal likelihood of what was measured.

use super::features::Features;
use super::kernel::Kernel;
use super::linear::{Lower, dot};
use crate::tunable::tunable;

tunable! {
    /// What is believed of a logarithmic length before anything is measured: its mean. A length of 1 is the
    /// whole list of a parameter's values.
    LENGTH: f64 = 0.0;
    /// Its deviation.
    LENGTH_DEVIATION: f64 = 1.0;
    /// The same of the logarithmic noise, relative to the variance of the costs.
    NOISE: f64 = -5.0;
    /// Its deviation.
    NOISE_DEVIATION: f64 = 1.5;
}
/// Bounds that keep the arithmetic sound.
const LENGTH_BOUND: f64 = 4.0;
const NOISE_BOUNDS: (f64, f64) = (-9.0, 0.0);
/// First step along each axis, and the longest.
const STEP: (f64, f64) = (0.3, 1.0);

/// What a process has learnt of its axes; all logarithmic.
#[derive(Debug, Clone)]
pub struct Hyper {
    lengths: Vec<f64>,
    noise: f64,
}

impl Hyper {
    pub fn new(features: &Features) -> Hyper {
        Hyper { lengths: vec![*LENGTH; features.len()], noise: *NOISE }
    }

    /// What to multiply the parts of each feature with.
    pub fn weights(&self) -> Vec<f32> {
        self.lengths.iter().map(|length| (-2.0 * length).exp() as f32).collect()
    }

    /// Variance of the noise, as a part of the costs'.
    pub fn noise(&self) -> f64 {
        self.noise.exp()
    }

    /// Moves uphill in the likelihood of `y` at `codes`, `steps` times, each axis with a step of its own that
    /// grows while the slope keeps its sign and shrinks when it turns (resilient propagation).
    pub fn fit(&mut self, features: &Features, kernel: Kernel, codes: &[u8], y: &[f64], steps: usize) {
        let parts = Parts::new(features, kernel, codes, y.len());
        let axes = self.lengths.len() + 1;
        let (mut step, mut last) = (vec![STEP.0; axes], vec![0.0; axes]);
        let mut best = (f64::INFINITY, self.clone());
        for _ in 0..steps {
            let (value, slopes) = self.likelihood(&parts, kernel, y);
            if !value.is_finite() {
                break;
            }
            if value < best.0 {
                best = (value, self.clone());
            }
            for (axis, &slope) in slopes.iter().enumerate() {
                let turned = slope * last[axis];
                if turned > 0.0 {
                    step[axis] = (step[axis] * 1.3_f64).min(STEP.1);
                } else if turned < 0.0 {
                    step[axis] *= 0.5;
                }
                last[axis] = slope;
                let down = if slope.abs() > 1e-3 { -step[axis] * slope.signum() } else { 0.0 };
                match self.lengths.get_mut(axis) {
                    Some(length) => *length = (*length + down).clamp(-LENGTH_BOUND, LENGTH_BOUND),
                    None => self.noise = (self.noise + down).clamp(NOISE_BOUNDS.0, NOISE_BOUNDS.1),
                }
            }
        }
        *self = best.1;
    }

    /// The negative logarithmic posterior, mean and variance of the process chosen best, and its slope along
    /// each axis, the noise last.
    fn likelihood(&self, parts: &Parts, kernel: Kernel, y: &[f64]) -> (f64, Vec<f64>) {
        let n = y.len();
        let weights = self.weights();
        let mut distances = vec![0.0_f32; parts.pairs()];
        for (part, &weight) in parts.0.iter().zip(&weights) {
            for (distance, part) in distances.iter_mut().zip(part) {
                *distance += weight * part;
            }
        }
        let noise = self.noise();
        let mut factor = Lower::default();
        for i in 0..n {
            let pairs = &distances[i * i.saturating_sub(1) / 2..][..i];
            let row = pairs.iter().map(|&d| f64::from(kernel.correlation(d))).chain([1.0 + noise]);
            factor.extend(&row.collect::<Vec<_>>());
        }
        let (z, _) = centred(&factor, y);
        let variance = (dot(&z, &z) / n as f64).max(1e-12);
        let determinant: f64 = (0..n).map(|i| factor.row(i)[i].ln()).sum();
        let belief = |value: f64, (mean, deviation): (f64, f64)| ((value - mean) / deviation).powi(2) / 2.0;
        let beliefs: f64 = self.lengths.iter().map(|&l| belief(l, (*LENGTH, *LENGTH_DEVIATION))).sum::<f64>()
            + belief(self.noise, (*NOISE, *NOISE_DEVIATION));
        let value = n as f64 / 2.0 * variance.ln() + determinant + beliefs;

        let inverse = factor.inverse_columns();
        let alpha: Vec<f64> = (0..n).map(|j| dot(&inverse[j], &z[j..])).collect();
        let mut pull = Vec::with_capacity(distances.len());
        let mut noise_slope = 0.0;
        for i in 0..n {
            for j in 0..=i {
                let inner = dot(&inverse[i], &inverse[j][i - j..]) - alpha[i] * alpha[j] / variance;
                if i == j {
                    noise_slope += inner * noise / 2.0;
                } else {
                    pull.push(inner as f32 * kernel.slope(distances[pull.len()]));
                }
            }
        }
        let mut slopes: Vec<f64> = (parts.0.iter().zip(&weights).zip(&self.lengths))
            .map(|((part, &weight), &length)| {
                let sum: f32 = pull.iter().zip(part).map(|(a, b)| a * b).sum();
                -2.0 * f64::from(weight * sum) + (length - *LENGTH) / LENGTH_DEVIATION.powi(2)
            })
            .collect();
        slopes.push(noise_slope + (self.noise - *NOISE) / NOISE_DEVIATION.powi(2));
        (value, slopes)
    }
}

/// `L^-1 (y - mean)` with the mean that fits best, and that mean.
pub fn centred(factor: &Lower, y: &[f64]) -> (Vec<f64>, f64) {
    let ones = factor.solve(vec![1.0; y.len()]);
    let mut z = factor.solve(y.to_vec());
    let mean = dot(&ones, &z) / dot(&ones, &ones);
    for (z, one) in z.iter_mut().zip(&ones) {
        *z -= mean * one;
    }
    (z, mean)
}

/// For each feature its part of the distance of every pair, row by row of the lower triangle.
struct Parts(Vec<Vec<f32>>);

impl Parts {
    fn new(features: &Features, kernel: Kernel, codes: &[u8], n: usize) -> Parts {
        let width = features.len();
        let of = |feature: usize| {
            let code = |i: usize| codes[i * width + feature];
            (0..n).flat_map(|i| (0..i).map(move |j| features.part(kernel, feature, code(i), code(j)))).collect()
        };
        Parts((0..width).map(of).collect())
    }

    fn pairs(&self) -> usize {
        self.0.first().map_or(0, Vec::len)
    }
}
