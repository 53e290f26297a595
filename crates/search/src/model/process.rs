//! A Gaussian process over a pool of candidates, kept up to date trial by trial.
//!
//! With `L` the Cholesky factor of the trials' covariance and `k` the covariance of trials and candidates,
//! the process keeps `V = L^-1 k`, one row for each trial. A new trial adds one row, and the posterior of all
//! candidates is a few sums over `V`: no factor is ever computed anew.

use super::features::Features;
use super::hyper::{Hyper, centred};
use super::kernel::Kernel;
use super::linear::Lower;

/// Evidence of success that every candidate begins with.
const FEASIBLE: f32 = 0.3;

/// What is known of the candidates.
#[derive(Debug)]
pub struct Process {
    kernel: Kernel,
    weights: Vec<f32>,
    noise: f64,
    /// Weights of the features where failures are concerned.
    failing: Vec<f32>,
    /// Codes of the candidates, one column for each feature.
    columns: Vec<Vec<u8>>,
    /// Codes of the measured trials, and of the failed ones, one after the other.
    measured: Vec<u8>,
    failed: Vec<u8>,
    factor: Lower,
    rows: Vec<Vec<f32>>,
    /// Part of each candidate's variance that the trials explain.
    explained: Vec<f32>,
    /// How much success, and how much failure, was seen near each candidate; kept from the first failure on.
    near: [Vec<f32>; 2],
}

impl Process {
    /// A process without trials and candidates; `failing` tells how far failures reach.
    pub fn new(features: &Features, kernel: Kernel, hyper: &Hyper, failing: &Hyper) -> Process {
        Process {
            kernel,
            weights: hyper.weights(),
            noise: hyper.noise(),
            failing: failing.weights(),
            columns: vec![Vec::new(); features.len()],
            measured: Vec::new(),
            failed: Vec::new(),
            factor: Lower::default(),
            rows: Vec::new(),
            explained: Vec::new(),
            near: [Vec::new(), Vec::new()],
        }
    }

    /// Number of candidates.
    pub fn candidates(&self) -> usize {
        self.explained.len()
    }

    /// Number of measured trials.
    pub fn trials(&self) -> usize {
        self.rows.len()
    }

    /// Adds candidates by their codes, one after the other.
    pub fn extend(&mut self, features: &Features, codes: &[u8]) {
        let width = features.len();
        let columns: Vec<Vec<u8>> =
            (0..width).map(|feature| codes.iter().skip(feature).step_by(width).copied().collect()).collect();
        let old = self.candidates();
        let count = codes.len() / width;
        let mut explained = vec![0.0; count];
        let mut near = [vec![0.0; count], vec![0.0; count]];
        let mut new: Vec<Vec<f32>> = Vec::with_capacity(self.rows.len());
        for (i, trial) in self.measured.chunks_exact(width).enumerate() {
            let mut row = self.correlations(features, &self.weights, &columns, trial);
            subtract(&mut row, self.factor.row(i), &new);
            scale(&mut row, self.factor.row(i)[i], &mut explained);
            new.push(row);
        }
        if !self.failed.is_empty() {
            for (near, trials) in near.iter_mut().zip([&self.measured, &self.failed]) {
                for trial in trials.chunks_exact(width) {
                    note(near, &self.correlations(features, &self.failing, &columns, trial));
                }
            }
        }
        for (row, new) in self.rows.iter_mut().zip(&new) {
            row.extend_from_slice(new);
        }
        for (column, new) in self.columns.iter_mut().zip(&columns) {
            column.extend_from_slice(new);
        }
        for (near, new) in self.near.iter_mut().zip(&near) {
            near.extend_from_slice(new);
        }
        self.explained.extend_from_slice(&explained);
        debug_assert_eq!(self.candidates(), old + count);
    }

    /// Adds a trial that was measured; its cost is asked for later.
    pub fn measured(&mut self, features: &Features, trial: &[u8]) {
        let width = features.len();
        let alike = |other: &[u8]| {
            let parts = (0..width).map(|q| self.weights[q] * features.part(self.kernel, q, trial[q], other[q]));
            f64::from(self.kernel.correlation(parts.sum()))
        };
        let row: Vec<f64> = self.measured.chunks_exact(width).map(alike).chain([1.0 + self.noise]).collect();
        self.factor.extend(&row);
        self.measured.extend_from_slice(trial);
        if !self.failed.is_empty() {
            self.note(features, 0, trial);
        }
        let mut row = self.correlations(features, &self.weights, &self.columns, trial);
        let last = self.rows.len();
        subtract(&mut row, self.factor.row(last), &self.rows);
        scale(&mut row, self.factor.row(last)[last], &mut self.explained);
        self.rows.push(row);
    }

    /// Adds a trial that failed.
    pub fn failed(&mut self, features: &Features, trial: &[u8]) {
        if self.failed.is_empty() {
            // Nobody counted what succeeded until now.
            let measured = std::mem::take(&mut self.measured);
            measured.chunks_exact(features.len()).for_each(|trial| self.note(features, 0, trial));
            self.measured = measured;
        }
        self.note(features, 1, trial);
        self.failed.extend_from_slice(trial);
    }

    /// Counts a success (0) or a failure (1) near the candidates.
    fn note(&mut self, features: &Features, which: usize, trial: &[u8]) {
        let row = self.correlations(features, &self.failing, &self.columns, trial);
        note(&mut self.near[which], &row);
    }

    /// Each candidate's expected value and the variance that a deviation of one has, from the values of the
    /// measured trials in the order in which they were added.
    pub fn posterior(&self, y: &[f64]) -> (Vec<f32>, f32) {
        let (z, mean) = centred(&self.factor, y);
        let mut expected = vec![mean as f32; self.candidates()];
        for (row, z) in self.rows.iter().zip(&z) {
            let z = *z as f32;
            for (expected, v) in expected.iter_mut().zip(row) {
                *expected += z * v;
            }
        }
        let variance = z.iter().map(|z| z * z).sum::<f64>() / z.len().max(1) as f64;
        (expected, variance as f32)
    }

    /// The part of a candidate's variance that is left.
    pub fn open(&self, candidate: usize) -> f32 {
        (1.0 - self.explained[candidate]).max(1e-6)
    }

    /// How likely a candidate can be measured.
    pub fn feasibility(&self, candidate: usize) -> f32 {
        let [good, bad] = [&self.near[0], &self.near[1]].map(|near| near[candidate]);
        (good + FEASIBLE) / (good + bad + FEASIBLE)
    }

    /// How alike every candidate is to a configuration.
    pub fn alike(&self, features: &Features, codes: &[u8]) -> Vec<f32> {
        self.correlations(features, &self.weights, &self.columns, codes)
    }

    fn correlations(&self, features: &Features, weights: &[f32], columns: &[Vec<u8>], trial: &[u8]) -> Vec<f32> {
        let mut row = vec![0.0_f32; columns[0].len()];
        for (feature, column) in columns.iter().enumerate() {
            let table = features.table(self.kernel, feature, trial[feature], weights[feature]);
            for (distance, &code) in row.iter_mut().zip(column) {
                *distance += table[usize::from(code)];
            }
        }
        match self.kernel {
            // One loop for each, so that the compiler makes vector code of both.
            Kernel::Matern => row.iter_mut().for_each(|d| *d = Kernel::Matern.correlation(*d)),
            Kernel::Laplace => row.iter_mut().for_each(|d| *d = Kernel::Laplace.correlation(*d)),
        }
        row
    }
}

/// Adds to what was seen near the candidates; the nearer, the more.
fn note(near: &mut [f32], correlations: &[f32]) {
    for (near, &c) in near.iter_mut().zip(correlations) {
        let square = c * c;
        *near += square * square;
    }
}

/// `row -= sum of factors[j] * rows[j]`, four rows at a time.
fn subtract(row: &mut [f32], factors: &[f64], rows: &[Vec<f32>]) {
    let fours = rows.chunks_exact(4);
    for (one, factor) in fours.remainder().iter().zip(&factors[rows.len() / 4 * 4..]) {
        let factor = *factor as f32;
        for (value, v) in row.iter_mut().zip(one) {
            *value -= factor * v;
        }
    }
    for (four, factors) in fours.zip(factors.chunks_exact(4)) {
        let [a, b, c, d] = [factors[0] as f32, factors[1] as f32, factors[2] as f32, factors[3] as f32];
        let others = four[0].iter().zip(&four[1]).zip(four[2].iter().zip(&four[3]));
        for (value, ((v, w), (x, y))) in row.iter_mut().zip(others) {
            *value -= (a * v + b * w) + (c * x + d * y);
        }
    }
}

/// Divides a row by its diagonal and counts what it explains.
fn scale(row: &mut [f32], diagonal: f64, explained: &mut [f32]) {
    let inverse = (1.0 / diagonal) as f32;
    for (value, explained) in row.iter_mut().zip(explained) {
        *value *= inverse;
        *explained += *value * *value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Domain;

    struct Line;

    impl Domain for Line {
        fn sizes(&self) -> &[u32] {
            &[21, 3]
        }

        fn is_legal(&self, _: &[u32]) -> bool {
            true
        }
    }

    fn codes(features: &Features, configurations: &[[u32; 2]]) -> Vec<u8> {
        let mut codes = Vec::new();
        for configuration in configurations {
            features.encode(configuration, &mut codes);
        }
        codes
    }

    #[test]
    fn candidates_may_come_before_or_after_the_trials() {
        let features = Features::new(&Line, Kernel::Laplace);
        let hyper = Hyper::new(&features);
        let candidates = [[0, 0], [4, 1], [5, 1], [6, 2], [20, 0]];
        let trials = [[0, 0], [5, 1], [10, 2], [15, 0], [20, 1], [7, 1]];
        let y = [3.0, 1.0, 2.0, 4.0, 6.0, 1.5];
        for kernel in [Kernel::Matern, Kernel::Laplace] {
            let mut early = Process::new(&features, kernel, &hyper, &hyper);
            early.extend(&features, &codes(&features, &candidates));
            let mut late = Process::new(&features, kernel, &hyper, &hyper);
            for (i, trial) in trials.iter().enumerate() {
                let trial = codes(&features, &[*trial]);
                early.measured(&features, &trial);
                late.measured(&features, &trial);
                if i == 2 {
                    early.failed(&features, &codes(&features, &[[20, 0]]));
                    late.failed(&features, &codes(&features, &[[20, 0]]));
                }
            }
            late.extend(&features, &codes(&features, &candidates));
            let (a, b) = (early.posterior(&y), late.posterior(&y));
            for c in 0..candidates.len() {
                assert!((a.0[c] - b.0[c]).abs() < 1e-3, "{kernel:?}: {a:?} {b:?}");
                assert!((early.open(c) - late.open(c)).abs() < 1e-4);
                assert!((early.feasibility(c) - late.feasibility(c)).abs() < 1e-5);
            }
            // What was measured is known, nearly; what is far from all trials is not.
            assert!((a.0[0] - 3.0).abs() < 0.2 && early.open(0) < 0.05);
            assert!(early.feasibility(4) + 0.05 < early.feasibility(2), "{kernel:?}");
        }
    }
}
