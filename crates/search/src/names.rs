//! How algorithms and stop reasons are called by users, in options and in reports.

use super::{Algorithm, StopReason};

impl Algorithm {
    /// Every algorithm; the first is the default.
    pub const ALL: [Algorithm; 5] =
        [Algorithm::Auto, Algorithm::Random, Algorithm::Genetic, Algorithm::Annealing, Algorithm::Bayesian];

    /// Their names.
    pub const NAMES: &'static [&'static str] = &{
        let mut names = [""; Algorithm::ALL.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = Algorithm::ALL[at].name();
            at += 1;
        }
        names
    };

    /// Its name in options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Auto => "auto",
            Algorithm::Random => "random",
            Algorithm::Genetic => "genetic",
            Algorithm::Annealing => "annealing",
            Algorithm::Bayesian => "bayesian",
        }
    }

    /// The algorithm of a name of [`Algorithm::NAMES`].
    pub fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
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
        let named = Algorithm::NAMES.iter().map(|name| Algorithm::named(name).unwrap());
        assert!(named.eq(Algorithm::ALL), "two algorithms have one name");
        assert_eq!(Algorithm::ALL[0], Algorithm::default());
        assert_eq!(Algorithm::named("Auto"), None);
    }
}
