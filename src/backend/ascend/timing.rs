//! How often a kernel is run, and what its times come to.

use serde::{Deserialize, Serialize};

/// How often a kernel is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Runs before the first that counts.
    pub warm_up: u32,
    /// Runs between two events.
    pub repeats: u32,
    /// Pairs of events.
    pub samples: u32,
}

/// The times of one run, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// What ranks a candidate: the middle of the samples, or the mean of the middle two.
    pub median: f64,
    /// The fastest.
    pub min: f64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The slowest.
    pub max: f64,
}

impl Times {
    /// The times of some samples; `None` where there are none or one is no time.
    pub fn of(samples: &[f64]) -> Option<Times> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        if !(min > 0.0 && max.is_finite()) {
            return None;
        }
        let count = sorted.len() as f64;
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) };
        let mean = sorted.iter().sum::<f64>() / count;
        let squares: f64 = sorted.iter().map(|time| (time - mean).powi(2)).sum();
        let deviation = if sorted.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Some(Times { median, min, mean, deviation, max })
    }
}

#[cfg(test)]
mod tests {
    use super::Times;

    #[test]
    fn one_slow_run_moves_the_mean_and_not_the_median() {
        let times = Times::of(&[3.0, 2.0, 4.0, 100.0]).unwrap();
        assert!((times.median - 3.5).abs() < 1e-12 && (times.mean - 27.25).abs() < 1e-12, "{times:?}");
        assert!((times.min - 2.0).abs() < 1e-12 && (times.max - 100.0).abs() < 1e-12);
        assert!(times.deviation > 40.0);
        assert!(Times::of(&[5.0]).unwrap().deviation.abs() < 1e-12);
    }

    #[test]
    fn what_is_no_time_gives_none() {
        for samples in [&[][..], &[0.0], &[1.0, -1.0], &[f64::NAN, 1.0], &[f64::INFINITY]] {
            assert_eq!(Times::of(samples), None, "{samples:?}");
        }
    }
}
