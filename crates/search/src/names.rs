//! How algorithms and stop reasons are called by users, in options and in reports.

use super::{Algorithm, StopReason};

impl Algorithm {
    /// The names of all algorithms; the first is the default.
    pub const NAMES: &'static [&'static str] = &["auto", "random", "genetic", "annealing", "bayesian"];

    /// The algorithm of a name of [`Algorithm::NAMES`].
    pub fn named(name: &str) -> Option<Algorithm> {
        Some(match name {
            "auto" => Algorithm::Auto,
            "random" => Algorithm::Random,
            "genetic" => Algorithm::Genetic,
            "annealing" => Algorithm::Annealing,
            "bayesian" => Algorithm::Bayesian,
            _ => return None,
        })
    }
}

impl StopReason {
    /// The reason in one word.
    pub const fn name(self) -> &'static str {
        match self {
            StopReason::Budget => "budget",
            StopReason::TimeLimit => "time_limit",
            StopReason::Exhausted => "exhausted",
            StopReason::Converged => "converged",
            StopReason::Cancelled => "cancelled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Algorithm;

    #[test]
    fn every_name_is_an_algorithm_and_the_first_is_the_default() {
        let all: Vec<_> = Algorithm::NAMES.iter().map(|name| Algorithm::named(name).unwrap()).collect();
        assert_eq!(all[0], Algorithm::default());
        assert!((1..all.len()).all(|i| !all[..i].contains(&all[i])));
        assert_eq!(Algorithm::named("Auto"), None);
    }
}
