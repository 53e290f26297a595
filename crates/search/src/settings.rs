//! What a search is told, and what it answers.

use std::time::Duration;

/// How a measurement ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// Measured, with this cost (smaller is better).
    Cost(f64),
    /// Could not be measured.
    Failed,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The budget of measurements is used up.
    Budget,
    /// The time limit has passed.
    TimeLimit,
    /// Every legal configuration was handed out (with an empty legal set, at once), or some million
    /// prefixes led to no further one.
    Exhausted,
    /// The algorithm expects no further gain: as many trials as [`Settings::patience`] says followed the
    /// best one without a better.
    Converged,
    /// The caller asked to stop.
    Cancelled,
}

/// Which optimiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// The best mix known: two models by turns, and the neighbours of the best; where an evaluation takes
    /// less time than a model needs ([`Settings::evaluation`]), genetic and local search.
    #[default]
    Auto,
    /// Uniform sampling without repeats.
    Random,
    /// Genetic search.
    Genetic,
    /// Simulated annealing over neighbours.
    Annealing,
    /// A model of the costs told so far, and the configuration that it expects most of.
    Bayesian,
}

/// What a search is told at the start.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The optimiser.
    pub algorithm: Algorithm,
    /// Seed of every random choice.
    pub seed: u64,
    /// Most trials handed out; failures count.
    pub max_trials: usize,
    /// Most time from [`Search::new`](super::Search::new) on. A search with a time limit may end differently each time.
    pub time_limit: Option<Duration>,
    /// Trials after the best one without a better that end the search. `None`: never for
    /// [`Algorithm::Random`], else half of `max_trials` but no fewer than 512.
    pub patience: Option<usize>,
    /// Configurations to try first, in this order, such as the default policy's or a bank's.
    pub initial: Vec<Vec<u32>>,
    /// Trials known from elsewhere: another device, a near shape, a simulator. Their costs need be
    /// comparable among each other only; `f64::INFINITY` is one that failed there. They count against no
    /// budget, and [`Search::best`](super::Search::best) does not answer with them; they need not be legal here.
    pub prior: Vec<(Vec<u32>, f64)>,
    /// Trials of this very space and cost, measured before, in that order. They are as if handed out and told:
    /// none is handed out again, and the best may be one of them.
    pub known: Vec<(Vec<u32>, Outcome)>,
    /// Whether the known trials are of the search that goes on: then they count in `max_trials` and in
    /// `patience`. Otherwise both begin anew.
    pub resumes: bool,
    /// Whether costs scatter from one measurement of a configuration to the next. Then a part of the budget
    /// (a fifth at most) goes into measuring the leader again, up to four times: such a trial names the one it repeats in
    /// [`Trial::repeats`], and a configuration's cost is the mean of its measurements. Without noise no
    /// configuration is asked twice.
    pub noise: bool,
    /// About how long one measurement takes, where that is known. Below half a millisecond
    /// [`Algorithm::Auto`] uses no model, which would take longer than what it saves, and the legal set is
    /// listed only when it is small. Unknown is long.
    pub evaluation: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            algorithm: Algorithm::Auto,
            seed: 0,
            max_trials: 1000,
            time_limit: None,
            patience: None,
            initial: Vec::new(),
            prior: Vec::new(),
            known: Vec::new(),
            resumes: false,
            noise: false,
            evaluation: None,
        }
    }
}

/// A configuration to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// What to tell the outcome under; counts from the number of [`Settings::known`] trials in the order of
    /// asking.
    pub id: u64,
    /// One value index for each parameter.
    pub configuration: Vec<u32>,
    /// The earlier trial of the same configuration that this one measures again; always `None` without
    /// [`Settings::noise`].
    pub repeats: Option<u64>,
}
