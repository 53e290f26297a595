//! Steps of any number of tokens: which numbers to tune where only so many records are to be kept.
//!
//! A record serves the numbers of tokens that round to its key. A serving stack that pads a step up to one of the chosen
//! numbers lets it serve all that lie below, too. Both are weighed: each step runs as it is with CANN's default tilings,
//! or padded to the next chosen number with the tuned ones, whichever takes less.

use serde::Serialize;

/// A number of tokens that was looked at, for all between the last one and it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// Tokens of a step: the rows of its products.
    pub tokens: u64,
    /// Numbers of tokens that it stands for.
    pub weight: f64,
    /// Microseconds of all products in a step with default tilings.
    pub default_us: f64,
    /// Microseconds with tuned ones.
    pub tuned_us: f64,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// The numbers of tokens to tune, smallest first.
    pub tokens: Vec<u64>,
    /// Mean microseconds of a step's products over the whole range without records.
    pub default_us: f64,
    /// With records for the chosen numbers.
    pub chosen_us: f64,
    /// With records for every number that was looked at.
    pub every_us: f64,
    /// What the choice takes longer than that, as a share.
    pub loss: f64,
}

/// The numbers of tokens to look at up to `most`: multiples of 16, to which keys are rounded, close at first and then in
/// equal steps of a logarithm; no more than `count`.
pub fn sampled_tokens(most: u64, count: usize) -> Vec<u64> {
    const KEY: f64 = 16.0;
    let last = (most.max(1) as f64 / KEY).ceil().max(1.0);
    let at = |i: usize| (last.powf((i + 1) as f64 / count.max(1) as f64)).round().clamp(1.0, last);
    let mut tokens: Vec<u64> = (0..count).map(|i| (at(i) * KEY) as u64).collect();
    tokens.dedup();
    tokens
}

/// The at most `count` samples whose records serve all best; `samples` lie in order of their tokens.
///
/// Exact, by dynamic programming: what lies behind a chosen number does not depend on what was chosen before it.
pub fn choose(samples: &[Sample], count: usize) -> Choice {
    let n = samples.len();
    // costs[from][to]: samples after `from` up to `to`, where `to` is the next chosen number.
    let cost = |from: usize, to: Option<usize>| -> f64 {
        let end = to.map_or(n, |to| to + 1);
        let padded = to.map_or(f64::INFINITY, |to| samples[to].tuned_us);
        samples[from..end].iter().map(|s| s.weight * s.default_us.min(padded)).sum()
    };
    // best[c][i]: least cost of the first i samples where the last of them is chosen and c in all are; chosen before it.
    let mut best = vec![vec![(f64::INFINITY, 0usize); n + 1]; count.min(n) + 1];
    best[0][0] = (0.0, 0);
    for c in 1..best.len() {
        for i in 1..=n {
            let before =
                (0..i).filter(|&j| best[c - 1][j].0.is_finite()).map(|j| (best[c - 1][j].0 + cost(j, Some(i - 1)), j));
            best[c][i] = before.fold((f64::INFINITY, 0), |least, next| if next.0 < least.0 { next } else { least });
        }
    }
    let ends = (0..best.len()).flat_map(|c| (0..=n).map(move |i| (c, i)));
    let whole = ends.map(|(c, i)| (best[c][i].0 + cost(i, None), c, i));
    let (mut total, mut c, mut i) = (f64::INFINITY, 0, 0);
    for candidate in whole {
        // Fewer records for the same time are better.
        if candidate.0 < total * (1.0 - 1e-12) {
            (total, c, i) = candidate;
        }
    }
    let mut tokens = Vec::new();
    while c > 0 {
        tokens.push(samples[i - 1].tokens);
        i = best[c][i].1;
        c -= 1;
    }
    tokens.reverse();
    let weight: f64 = samples.iter().map(|s| s.weight).sum::<f64>().max(f64::MIN_POSITIVE);
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(|s| s.weight * of(s)).sum::<f64>() / weight;
    let (default_us, every_us) = (mean(&|s| s.default_us), mean(&|s| s.tuned_us.min(s.default_us)));
    let chosen_us = if samples.is_empty() { 0.0 } else { total / weight };
    let loss = if every_us > 0.0 { (chosen_us / every_us - 1.0).max(0.0) } else { 0.0 };
    Choice { tokens, default_us, chosen_us, every_us, loss }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(times: &[(f64, f64)]) -> Vec<Sample> {
        let of = |(i, &(default_us, tuned_us)): (usize, &(f64, f64))| Sample {
            tokens: 16 * (i as u64 + 1),
            weight: 1.0 + i as f64,
            default_us,
            tuned_us,
        };
        times.iter().enumerate().map(of).collect()
    }

    /// Every subset, tried.
    fn by_trying(samples: &[Sample], count: usize) -> f64 {
        let costs = (0u32..1 << samples.len()).filter(|set| set.count_ones() as usize <= count).map(|set| {
            let cost = |i: usize| {
                let next =
                    (i..samples.len()).find(|j| set >> j & 1 == 1).map_or(f64::INFINITY, |j| samples[j].tuned_us);
                samples[i].weight * samples[i].default_us.min(next)
            };
            (0..samples.len()).map(cost).sum::<f64>()
        });
        costs.fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn no_other_choice_of_so_many_is_better() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let n = rng.usize(1..9);
            let times: Vec<_> = (0..n)
                .map(|i| {
                    let default = (i + 1) as f64 * 10.0 * (0.8 + 0.4 * rng.f64());
                    (default, default * (0.5 + 0.5 * rng.f64()))
                })
                .collect();
            let samples = samples(&times);
            let weight: f64 = samples.iter().map(|s| s.weight).sum();
            for count in 0..=n {
                let choice = choose(&samples, count);
                assert!(choice.tokens.len() <= count);
                let least = by_trying(&samples, count) / weight;
                assert!((choice.chosen_us - least).abs() < 1e-9 * least, "{} {least} {times:?}", choice.chosen_us);
            }
        }
    }

    #[test]
    fn without_records_all_runs_as_it_is_and_with_all_nothing_is_lost() {
        let samples = samples(&[(10.0, 8.0), (20.0, 15.0), (30.0, 30.0)]);
        let none = choose(&samples, 0);
        assert!(none.tokens.is_empty() && (none.chosen_us - none.default_us).abs() < 1e-9 && none.loss > 0.0);
        let all = choose(&samples, 3);
        assert_eq!((all.tokens, all.loss), (vec![16, 32], 0.0));
    }

    #[test]
    fn samples_are_keys_in_order_and_end_with_the_largest() {
        for (most, count) in [(1, 5), (16, 1), (8192, 24), (100, 64)] {
            let tokens = sampled_tokens(most, count);
            assert!(tokens.len() <= count && tokens.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(tokens.iter().all(|t| t % 16 == 0) && *tokens.last().unwrap() >= most);
        }
    }
}
