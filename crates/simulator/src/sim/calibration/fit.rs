//! Few monotone corrections from measured kernels.
//!
//! A correction is `factor * t + constant`, drawn towards no correction by how few problems it comes from. It is fitted
//! to the sum of absolute logarithms of measured over corrected time, so a stray row counts no more than any other. All
//! is arithmetic in a fixed order: the same points give the same numbers.

use super::Correction;

/// Fewest problems of a class that a correction is fitted to.
pub const FEWEST: usize = 4;
/// Problems that count as much as the belief that the model is right: with so many, half of what they say is taken.
const BELIEF: f64 = 2.0;
/// Fewest problems from which a constant is told from a factor.
const FEWEST_FOR_CONSTANT: usize = 6;
/// Parts that problems are split into for a verdict.
const FOLDS: usize = 5;
/// Share of its error by which a correction must better what it was not fitted to, else it may be luck.
const LEAST_GAIN: f64 = 0.05;
/// Standard errors that the gain has to be above nothing: of what is no gain, one in twenty seems to be one.
const SURE: f64 = 1.64;

/// One distinct problem: what the model says it takes and what was measured, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Predicted.
    pub model_us: f64,
    /// Measured.
    pub measured_us: f64,
}

/// The correction that these problems ask for; its form is the one that predicts held-out ones of them better.
pub fn fit(points: &[Point]) -> Correction {
    let factor = |points: &[Point]| shrunk(points, scale(points, 0.0), 0.0);
    if points.len() < FEWEST_FOR_CONSTANT {
        return factor(points);
    }
    let errors = [held_out(points, factor).after, held_out(points, line).after];
    if errors[1] < errors[0] { line(points) } else { factor(points) }
}

/// What a correction is worth on problems that it was not fitted to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Mean absolute error before.
    pub before: f64,
    /// And after.
    pub after: f64,
    /// Standard error of the difference, from problem to problem.
    pub doubt: f64,
}

impl Verdict {
    /// Whether the error falls, by more than chance would have it.
    pub fn is_gain(&self) -> bool {
        is_better(self.before, self.after) && self.before - self.after > SURE * self.doubt
    }
}

/// Whether an error falls by a twentieth.
pub fn is_better(before: f64, after: f64) -> bool {
    after < before * (1.0 - LEAST_GAIN)
}

/// Mean absolute error on problems that were not fitted to, before and after correction by `fit` on the others.
pub fn held_out(points: &[Point], fit: impl Fn(&[Point]) -> Correction) -> Verdict {
    let mut sorted = points.to_vec();
    // Each part has problems of all sizes.
    sorted.sort_by(|a, b| a.model_us.total_cmp(&b.model_us).then(a.measured_us.total_cmp(&b.measured_us)));
    let folds = FOLDS.min(sorted.len());
    let side = |fold: usize, held: bool| -> Vec<Point> {
        sorted.iter().enumerate().filter(|(i, _)| (i % folds == fold) == held).map(|(_, p)| *p).collect()
    };
    // Error before, after, and the square of what it fell by.
    let mut sums = [0.0; 3];
    for fold in 0..folds {
        let (held, correction) = (side(fold, true), fit(&side(fold, false)));
        for point in &held {
            let [before, after] =
                [point.model_us, correction.time_us(point.model_us)].map(|us| (us / point.measured_us - 1.0).abs());
            sums = [sums[0] + before, sums[1] + after, sums[2] + (before - after).powi(2)];
        }
    }
    let count = sorted.len().max(1) as f64;
    let [before, after, squares] = sums.map(|sum| sum / count);
    let spread = (squares - (before - after).powi(2)).max(0.0);
    Verdict { before, after, doubt: (spread / (count - 1.0).max(1.0)).sqrt() }
}

/// The median factor between times with this constant and measured ones.
fn scale(points: &[Point], constant_us: f64) -> f64 {
    let above = |p: &Point| ((p.measured_us - constant_us) / p.model_us).max(f64::MIN_POSITIVE);
    let mut ratios: Vec<f64> = points.iter().map(above).collect();
    ratios.sort_by(f64::total_cmp);
    let (low, high) = (ratios[(ratios.len() - 1) / 2], ratios[ratios.len() / 2]);
    (low * high).sqrt()
}

/// Factor and constant: the best factor for each of a row of constants up to the shortest kernel's time.
fn line(points: &[Point]) -> Correction {
    const STEPS: u32 = 40;
    let shortest = points.iter().map(|p| p.measured_us).fold(f64::INFINITY, f64::min);
    let off = |(factor, constant): &(f64, f64)| -> f64 {
        points.iter().map(|p| ((factor * p.model_us + constant) / p.measured_us).ln().abs()).sum()
    };
    let tried = (0..STEPS).map(|step| {
        let constant = shortest * f64::from(step) / f64::from(STEPS);
        (scale(points, constant), constant)
    });
    let best = tried.min_by(|a, b| off(a).total_cmp(&off(b)));
    let (factor, constant) = best.unwrap_or((1.0, 0.0));
    shrunk(points, factor, constant)
}

fn shrunk(points: &[Point], factor: f64, constant_us: f64) -> Correction {
    let problems = points.len() as f64;
    // Without a constant all times get one factor.
    let shortest = points.iter().map(|p| p.model_us).fold(f64::INFINITY, f64::min);
    let from_us = if constant_us > 0.0 { shortest } else { 0.0 };
    Correction { factor, constant_us, weight: problems / (problems + BELIEF), from_us }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: impl Fn(f64, usize) -> f64, count: usize) -> Vec<Point> {
        let time = |i: usize| 2.0 * 1.3_f64.powi(i as i32);
        (0..count).map(|i| Point { model_us: time(i), measured_us: of(time(i), i) }).collect()
    }

    #[test]
    fn a_factor_and_a_constant_are_found_again() {
        let correction = fit(&points(|t, _| 1.5 * t + 4.0, 20));
        assert!((correction.factor - 1.5).abs() < 0.1 && (correction.constant_us - 4.0).abs() < 0.4, "{correction:?}");
        let correction = fit(&points(|t, _| 0.5 * t, 20));
        assert!((correction.factor - 0.5).abs() < 0.01 && correction.constant_us < 0.1, "{correction:?}");
    }

    #[test]
    fn a_stray_row_counts_no_more_than_any_other() {
        let mut rows = points(|t, _| 1.5 * t, 15);
        rows[7].measured_us *= 1000.0;
        assert!((fit(&rows).factor - 1.5).abs() < 0.1);
    }

    #[test]
    fn the_fewer_problems_the_nearer_to_the_model() {
        let [few, many] = [FEWEST, 40].map(|count| fit(&points(|t, _| 2.0 * t, count)).time_us(10.0));
        assert!(10.0 < few && few < many && many < 20.0, "{few} {many}");
    }

    #[test]
    fn rows_that_contradict_each_other_show_no_gain_on_those_held_out() {
        let rows = points(|t, i| if i % 2 == 0 { t * 3.0 } else { t / 3.0 }, 24);
        let verdict = held_out(&rows, fit);
        assert!(!verdict.is_gain(), "{verdict:?}");
        assert!(held_out(&points(|t, i| if i % 2 == 0 { t * 3.0 } else { t * 2.0 }, 24), fit).is_gain());
    }

    #[test]
    fn one_stray_row_is_no_gain() {
        // What a correction takes from one row that is far off, and nothing else, may be luck.
        let verdict = Verdict { before: 0.30, after: 0.25, doubt: 0.05 };
        assert!(!verdict.is_gain() && Verdict { doubt: 0.01, ..verdict }.is_gain());
    }

    #[test]
    fn what_is_right_stays_as_it_is() {
        let correction = fit(&points(|t, _| t, 12));
        for time in [0.1, 1.0, 50.0, 1e5] {
            assert!((correction.time_us(time) / time - 1.0).abs() < 1e-9, "{correction:?}");
        }
    }
}
