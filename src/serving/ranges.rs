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

impl Sample {
    /// Microseconds of a step that is padded to it and runs with its record: without a gain there is none.
    fn record_us(&self) -> f64 {
        if self.tuned_us < self.default_us { self.tuned_us } else { f64::INFINITY }
    }
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
    /// With records for every number that was looked at and gains by one, padded likewise.
    pub every_us: f64,
    /// What the choice takes longer than that, as a share.
    pub loss: f64,
    /// Numbers that were looked at: keys of records.
    pub looked_at: usize,
    /// Keys of the range, of which these are all where it is not larger.
    pub keys: u64,
}

/// Numbers of tokens that share a key: rows of a product are rounded up to so many.
const KEY: u64 = 16;

/// Keys of records for numbers of tokens up to `most`.
pub fn keys(most: u64) -> u64 {
    most.max(1).div_ceil(KEY)
}

/// The numbers of tokens to look at up to `most`: every key where these are no more than `count`, else so many of them, close
/// at first and then in equal steps of a logarithm.
pub fn looked_at(most: u64, count: usize) -> Vec<u64> {
    let last = keys(most);
    if last <= count as u64 {
        return (1..=last).map(|key| key * KEY).collect();
    }
    let at = |i: usize| (last as f64).powf((i + 1) as f64 / count.max(1) as f64).round().clamp(1.0, last as f64);
    let mut tokens: Vec<u64> = (0..count).map(|i| at(i) as u64 * KEY).collect();
    tokens.dedup();
    tokens
}

/// The at most `count` samples whose records serve all best; `samples` lie in order of their tokens.
///
/// Exact, by dynamic programming: what lies behind a chosen number does not depend on what was chosen before it.
pub fn choose(samples: &[Sample], count: usize) -> Choice {
    let n = samples.len();
    let last = samples.last().map_or(0, |sample| sample.tokens);
    // costs[to][from]: samples from `from` to `to`, where `to` is the next chosen number; in the last row there is none.
    let costs: Vec<Vec<f64>> = (0..=n)
        .map(|to| {
            let padded = samples.get(to).map_or(f64::INFINITY, Sample::record_us);
            let end = (to + 1).min(n);
            let mut of_row = vec![0.0; end + 1];
            for (from, s) in samples[..end].iter().enumerate().rev() {
                of_row[from] = of_row[from + 1] + s.weight * s.default_us.min(padded);
            }
            of_row
        })
        .collect();
    let cost = |from: usize, to: Option<usize>| costs[to.unwrap_or(n)][from];
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
    let default_us = mean(&|s| s.default_us);
    let mut padded = f64::INFINITY;
    let of_all = samples.iter().rev().map(|s| {
        padded = padded.min(s.record_us());
        s.weight * s.default_us.min(padded)
    });
    let every_us = of_all.sum::<f64>() / weight;
    let chosen_us = if samples.is_empty() { 0.0 } else { total / weight };
    let loss = if every_us > 0.0 { (chosen_us / every_us - 1.0).max(0.0) } else { 0.0 };
    Choice { tokens, default_us, chosen_us, every_us, loss, looked_at: n, keys: keys(last) }
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
    fn a_number_without_a_gain_is_not_chosen_though_padding_up_to_it_would_be_faster() {
        let choice = choose(&samples(&[(12.0, 12.0), (10.0, 10.0), (30.0, 30.0)]), 3);
        assert!(choice.tokens.is_empty() && choice.loss == 0.0, "{choice:?}");
        // Padding counts on both sides: no choice is better than records for all.
        let choice = choose(&samples(&[(12.0, 11.0), (10.0, 9.0), (30.0, 30.0)]), 1);
        assert_eq!((choice.tokens, choice.loss), (vec![32], 0.0));
    }

    #[test]
    fn every_key_is_looked_at_in_order_or_so_many_up_to_the_largest() {
        for (most, count) in [(1, 5), (16, 1), (8192, 24), (100, 64), (8192, 512), (1 << 22, 512)] {
            let tokens = looked_at(most, count);
            assert!(tokens.len() <= count && tokens.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(tokens.iter().all(|t| t % 16 == 0) && *tokens.last().unwrap() >= most);
            assert!(keys(most) > count as u64 || tokens.len() as u64 == keys(most), "{most} {count}");
        }
    }
}
