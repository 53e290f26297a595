//! Whether a gain is one: where times scatter, the best candidate is measured beside what it has to beat.

use super::baseline::Reference;
use super::outcome::CaseOutcome;
use super::trials::{Tuner, ended};
use crate::backend::{Measure, Measurement};
use crate::status::{Error, Result};
use crate::workload::Schedule;

/// The least gain that counts, as a part of the time before.
const LEAST_GAIN: f64 = 0.01;
/// Combined standard errors that a gain must exceed.
const SIGMAS: f64 = 2.0;
/// Rounds at least, and at most where the scatter hides whether there is a gain.
const ROUNDS: (usize, usize) = (3, 8);
/// A round counts when the reference's times before and after it differ by no more than this part.
const DRIFT: f64 = 0.1;
/// Rounds that may be lost to drift.
const LOST: usize = 4;

/// A gain that exceeds the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gain {
    /// Microseconds of the reference, beside the candidate.
    pub before_us: f64,
    /// Microseconds of the candidate.
    pub after_us: f64,
}

/// Measures a candidate and its reference by turns and answers the gain, `None` where there is none to be seen
/// or the caller cancelled. A time limit does not keep what was found from being confirmed.
///
/// Fails where the backend can measure nothing more.
pub(super) fn confirm(
    candidate: &Schedule,
    reference: &Reference,
    measure: &mut dyn Measure,
    outcome: &mut CaseOutcome,
    tuner: &Tuner<'_>,
) -> Result<Option<Gain>> {
    let mut time = |measurement: Measurement| {
        outcome.trials += 1;
        match measurement {
            Measurement::Time { us } if us.is_finite() && us > 0.0 => Ok(Some(us)),
            Measurement::Ended { reason } => match ended(reason, tuner) {
                Error::Cancelled => Ok(None),
                error => Err(error),
            },
            _ => Ok(None),
        }
    };
    let Some(mut before) = time(reference.measure(measure))? else { return Ok(None) };
    let (mut rounds, mut lost) = (Rounds::default(), 0);
    loop {
        let Some(candidate) = time(measure.measure(candidate))? else { return Ok(None) };
        let Some(after) = time(reference.measure(measure))? else { return Ok(None) };
        if (after - before).abs() > DRIFT * before.min(after) && lost < LOST {
            lost += 1;
        } else {
            rounds.add(candidate, f64::midpoint(before, after));
        }
        before = after;
        match rounds.verdict() {
            Verdict::Gain(gain) => return Ok(Some(gain)),
            Verdict::None => return Ok(None),
            Verdict::Open => {}
        }
    }
}

/// What a few rounds say.
#[derive(Debug, PartialEq)]
enum Verdict {
    Gain(Gain),
    None,
    /// More rounds will tell.
    Open,
}

/// Times of a candidate, and of its reference around each.
#[derive(Debug, Default)]
struct Rounds {
    candidate: Vec<f64>,
    reference: Vec<f64>,
}

impl Rounds {
    fn add(&mut self, candidate: f64, reference: f64) {
        self.candidate.push(candidate);
        self.reference.push(reference);
    }

    fn verdict(&self) -> Verdict {
        let count = self.candidate.len();
        if count < ROUNDS.0 {
            return Verdict::Open;
        }
        let (after, after_error) = mean_and_error(&self.candidate);
        let (before, before_error) = mean_and_error(&self.reference);
        let gain = before - after;
        let error = after_error.hypot(before_error);
        if gain > (LEAST_GAIN * before).max(SIGMAS * error) {
            return Verdict::Gain(Gain { before_us: before, after_us: after });
        }
        // Where even a lucky error leaves too little, more rounds would change nothing.
        let may_be = gain + SIGMAS * error > LEAST_GAIN * before;
        if may_be && gain > 0.0 && count < ROUNDS.1 { Verdict::Open } else { Verdict::None }
    }
}

/// The mean of some times and its standard error.
fn mean_and_error(times: &[f64]) -> (f64, f64) {
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0).max(1.0) / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(rounds: &[(f64, f64)]) -> Verdict {
        let mut all = Rounds::default();
        for &(candidate, reference) in rounds {
            all.add(candidate, reference);
        }
        all.verdict()
    }

    #[test]
    fn a_gain_counts_from_one_per_cent_and_two_combined_errors_on() {
        assert!(matches!(verdict(&[(98.0, 100.0); 3]), Verdict::Gain(_)));
        assert_eq!(verdict(&[(99.5, 100.0); 3]), Verdict::None, "half a per cent is none");
        assert_eq!(verdict(&[(101.0, 100.0); 3]), Verdict::None);
        assert_eq!(verdict(&[(98.0, 100.0); 2]), Verdict::Open, "two rounds are too few");
    }

    #[test]
    fn scatter_asks_for_more_rounds_and_not_for_ever() {
        let scattered = [(90.0, 100.0), (106.0, 99.0), (95.0, 101.0)];
        assert_eq!(verdict(&scattered), Verdict::Open);
        let many: Vec<_> = scattered.iter().copied().cycle().take(ROUNDS.1).collect();
        assert!(verdict(&many) != Verdict::Open);
    }
}
