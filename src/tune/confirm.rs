//! Whether a gain is one: where times scatter, the best candidate is measured beside what it has to beat.

use super::baseline::Reference;
use super::outcome::CaseOutcome;
use super::tuner::{Tuner, ended};
use crate::backend::{Measure, Measurement};
use crate::status::{Error, Result};
use crate::workload::Schedule;

/// The least gain that counts, as a part of the time before.
const LEAST_GAIN: f64 = 0.01;
/// Rounds at least, and at most where the scatter hides whether there is a gain.
const ROUNDS: (usize, usize) = (3, 12);
/// Standard errors that a gain must exceed after so many rounds, from the least on: what Student's t of `2 rounds - 1`
/// degrees of freedom exceeds with a probability of 0.5 %.
///
/// So few times say little of their scatter, and each round is another chance for luck: with two standard errors after
/// every round, one in seven candidates that is no faster would count. With these, one in 40 does, as a single look at
/// two standard deviations promises.
const ERRORS: [f64; ROUNDS.1 - ROUNDS.0 + 1] = [4.032, 3.499, 3.250, 3.106, 3.012, 2.947, 2.898, 2.861, 2.831, 2.807];
/// Standard errors of half the 90 % interval of a gain after so many rounds: Student's t of `2 rounds - 1` degrees of
/// freedom, 5 % on each side.
const NINE_OF_TEN: [f64; ROUNDS.1 - ROUNDS.0 + 1] =
    [2.015, 1.895, 1.833, 1.796, 1.771, 1.753, 1.740, 1.729, 1.721, 1.714];
/// Standard errors by which a gain may well be larger than it seems.
const LUCK: f64 = 2.0;
/// A round counts when the reference's times before and after it differ by no more than this part. Noise alone should
/// hardly ever do that, or the rounds that are left would look quieter than the device is.
const DRIFT: f64 = 0.15;
/// Rounds that may be lost to drift.
const LOST: usize = 4;

/// A gain that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gain {
    /// Whether it exceeds the noise.
    pub is_sure: bool,
    /// Microseconds that it may be larger or smaller, in nine of ten cases.
    pub error_us: f64,
    /// Microseconds of the reference, beside the candidate.
    pub before_us: f64,
    /// Microseconds of the candidate.
    pub after_us: f64,
}

/// Measures a candidate and its reference by turns and answers the gain, one that is not sure where all rounds leave it
/// open; `None` where there is none to be seen or the caller cancelled. A time limit does not keep what was found from being confirmed.
///
/// Fails where the backend can measure nothing more.
pub(super) fn confirm(
    candidate: &Schedule,
    reference: &Reference,
    measure: &mut dyn Measure,
    outcome: &mut CaseOutcome,
    tuner: &Tuner<'_>,
) -> Result<Option<Gain>> {
    by_turns(|side| {
        outcome.trials += 1;
        let measurement = match side {
            Side::Candidate => measure.measure(candidate),
            Side::Reference => reference.measure(measure),
        };
        match measurement {
            Measurement::Time { us } => Ok(Some(us)),
            Measurement::Ended { reason } => match ended(reason, tuner.backend, tuner.interrupt) {
                Error::Cancelled => Ok(None),
                error => Err(error),
            },
            Measurement::Failed { .. } => Ok(None),
        }
    })
}

/// Whose time is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Candidate,
    Reference,
}

/// Takes times by turns until they say whether there is a gain; `None` also where there is no time.
fn by_turns(mut time: impl FnMut(Side) -> Result<Option<f64>>) -> Result<Option<Gain>> {
    let Some(mut before) = time(Side::Reference)? else { return Ok(None) };
    let (mut rounds, mut lost) = (Rounds::default(), 0);
    let mut is_counted = false;
    loop {
        let Some(candidate) = time(Side::Candidate)? else { return Ok(None) };
        let Some(after) = time(Side::Reference)? else { return Ok(None) };
        let drifts = (after - before).abs() > DRIFT * before.min(after);
        if drifts && lost < LOST {
            lost += 1;
            is_counted = false;
        } else {
            // Each time counts once, or the times would be less independent than they look.
            rounds.references.extend((!is_counted).then_some(before));
            rounds.references.push(after);
            rounds.candidates.push(candidate);
            is_counted = true;
        }
        before = after;
        match rounds.verdict() {
            Verdict::Compared(gain) => return Ok(Some(gain)),
            Verdict::None => return Ok(None),
            Verdict::Open => {}
        }
    }
}

/// What a few rounds say.
#[derive(Debug, PartialEq)]
enum Verdict {
    /// A gain, or that none is sure after all rounds.
    Compared(Gain),
    None,
    /// More rounds will tell.
    Open,
}

/// Times of a candidate, and of its reference before, between and after them.
#[derive(Debug, Default)]
struct Rounds {
    candidates: Vec<f64>,
    references: Vec<f64>,
}

impl Rounds {
    fn verdict(&self) -> Verdict {
        let count = self.candidates.len();
        let Some(&errors) = count.checked_sub(ROUNDS.0).and_then(|past| ERRORS.get(past)) else { return Verdict::Open };
        let (after, before) = (mean(&self.candidates), mean(&self.references));
        let (gain, error) = (before - after, self.error());
        let error_us = error * NINE_OF_TEN[count - ROUNDS.0];
        let compared = |is_sure| Verdict::Compared(Gain { is_sure, error_us, before_us: before, after_us: after });
        if gain > (LEAST_GAIN * before).max(errors * error) {
            return compared(true);
        }
        // Where even a lucky error leaves too little, more rounds would change nothing.
        let may_be = gain > 0.0 && gain + LUCK * error > LEAST_GAIN * before;
        match may_be {
            true if count < ROUNDS.1 => Verdict::Open,
            true => compared(false),
            false => Verdict::None,
        }
    }

    /// The standard error of the difference of the means: both sides scatter alike, for it is the device that does.
    fn error(&self) -> f64 {
        let sides = [&self.candidates, &self.references];
        let squares: f64 = sides.iter().map(|times| squares(times)).sum();
        let freedom: f64 = sides.iter().map(|times| times.len() as f64 - 1.0).sum();
        let parts: f64 = sides.iter().map(|times| 1.0 / times.len() as f64).sum();
        (squares / freedom * parts).sqrt()
    }
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

/// Sum of the squared deviations from the mean.
fn squares(times: &[f64]) -> f64 {
    let mean = mean(times);
    times.iter().map(|time| (time - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out when the candidate's and the reference's times are these, by turns, and then from the first on.
    fn gain(candidate: &[f64], reference: &[f64]) -> Option<Gain> {
        let (mut candidates, mut references) = (candidate.iter().cycle(), reference.iter().cycle());
        by_turns(|side| {
            Ok(match side {
                Side::Candidate => candidates.next(),
                Side::Reference => references.next(),
            }
            .copied())
        })
        .unwrap()
    }

    /// How often, in parts of one, a gain is seen where times scatter by `noise` and the candidate's is `factor` of
    /// the reference's. Each time has a level of its own, as a process has, and one in 50 is up to 30 % too long.
    fn seen(noise: f64, outliers: f64, factor: f64) -> f64 {
        const TUNINGS: usize = 20_000;
        let mut rng = fastrand::Rng::with_seed(2026);
        let mut factors = || {
            let normal = (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos();
            let outlier = if rng.f64() < outliers { 0.3 * rng.f64() } else { 0.0 };
            (noise * normal + outlier).exp()
        };
        let tuning = |_: &usize| {
            let time = |side| Ok(Some(factors() * if side == Side::Candidate { 50.0 * factor } else { 50.0 }));
            by_turns(time).unwrap().is_some_and(|gain| gain.is_sure)
        };
        (0..TUNINGS).filter(tuning).count() as f64 / TUNINGS as f64
    }

    #[test]
    fn an_equal_candidate_is_taken_for_a_faster_one_as_seldom_as_two_sigma_promise() {
        // 2.3 %, and four standard errors of such a count.
        for noise in [0.01, 0.02, 0.03, 0.05] {
            for outliers in [0.0, 0.02] {
                let rate = seen(noise, outliers, 1.0);
                assert!(rate < 0.027, "{rate} of the tunings at {noise}, {outliers} outliers");
            }
        }
    }

    #[test]
    fn a_slower_candidate_is_hardly_ever_taken_for_a_faster_one() {
        for noise in [0.01, 0.02] {
            let rate = seen(noise, 0.0, 1.01);
            assert!(rate < 0.006, "{rate} of the tunings at {noise}");
        }
    }

    #[test]
    fn what_is_truly_gained_is_seen() {
        for (noise, factor, least) in [(0.01, 0.97, 0.97), (0.02, 0.95, 0.97), (0.02, 0.97, 0.8), (0.02, 0.9, 0.999)] {
            let rate = seen(noise, 0.0, factor);
            assert!(rate > least, "{rate} of the tunings at {noise}, {factor} of the time");
        }
    }

    #[test]
    fn a_gain_counts_from_one_per_cent_on() {
        let sure = Gain { is_sure: true, error_us: 0.0, before_us: 100.0, after_us: 98.0 };
        assert_eq!(gain(&[98.0], &[100.0]), Some(sure));
        assert_eq!(gain(&[99.5], &[100.0]), None, "half a per cent is none");
        assert_eq!(gain(&[101.0], &[100.0]), None);
    }

    #[test]
    fn scatter_asks_for_more_rounds_and_not_for_ever() {
        let mut calls = 0;
        let scattered = [90.0, 100.0, 106.0, 99.0, 95.0, 101.0];
        let told = by_turns(|side| {
            calls += 1;
            Ok(Some(if side == Side::Candidate { scattered[calls % 6] } else { 100.0 }))
        });
        assert!(told.is_ok() && calls > 2 * ROUNDS.0 + 1 && calls <= 2 * ROUNDS.1 + 1, "{calls}");
    }

    #[test]
    fn what_all_rounds_leave_open_is_told_as_not_sure_with_its_error() {
        let open = gain(&[80.0, 110.0, 94.0], &[100.0, 107.0, 96.0]).unwrap();
        assert!(!open.is_sure && open.after_us < open.before_us, "{open:?}");
        assert!(open.error_us > open.before_us - open.after_us, "nothing is ruled out: {open:?}");
    }

    #[test]
    fn a_device_that_changes_all_the_time_comes_to_an_end() {
        let mut calls = 0;
        let told = by_turns(|side| {
            calls += 1;
            Ok(Some(if side == Side::Candidate || calls % 4 == 1 { 100.0 } else { 150.0 }))
        });
        assert!(told.is_ok() && calls <= 2 * (ROUNDS.1 + LOST) + 1, "{calls}");
    }
}
