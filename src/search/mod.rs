//! Ask/tell optimisers over value indices. A search knows how many values each parameter has and
//! which combinations are legal, nothing about tensors or operators.
//!
//! ```
//! # use aoe::search::{Domain, Outcome, Search, Settings};
//! struct Grid;
//! impl Domain for Grid {
//!     fn sizes(&self) -> &[u32] {
//!         &[10, 10]
//!     }
//!     fn is_legal(&self, c: &[u32]) -> bool {
//!         c[0] + c[1] < 12
//!     }
//! }
//! let mut search = Search::new(Grid, Settings { max_trials: 50, ..Settings::default() })?;
//! while let Some(trial) = search.ask() {
//!     let [x, y] = [trial.configuration[0], trial.configuration[1]].map(f64::from);
//!     search.tell(trial.id, Outcome::Cost((x - 7.0).powi(2) + (y - 3.0).powi(2)))?;
//! }
//! assert_eq!(search.best(), Some((&[7, 3][..], 0.0)));
//! # Ok::<(), aoe::status::Error>(())
//! ```

mod auto;
mod genetic;
mod history;
mod legal;
mod local;
mod names;
#[cfg(test)]
mod tests;

use crate::status::{Error, Result};
use history::{History, Population};
use legal::Legal;
use std::time::{Duration, Instant};

/// What the values of a parameter are to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale<'a> {
    /// Numbers, finite and ascending: the value of each index.
    Ordinal(&'a [f64]),
    /// In an order worth using, by index; how far apart is not known.
    Ranked,
    /// Names: no value is nearer to another than any other.
    Categorical,
}

/// What a search may know of a space.
pub trait Domain: Sync {
    /// Number of values of each parameter.
    fn sizes(&self) -> &[u32];

    /// What the values of a parameter are to each other.
    fn scale(&self, parameter: usize) -> Scale<'_> {
        let _ = parameter;
        Scale::Ranked
    }

    /// Whether this full configuration (one value index for each parameter) is legal.
    fn is_legal(&self, configuration: &[u32]) -> bool;

    /// Whether some legal configuration may start with these values. May answer true too often, never
    /// false wrongly; the better the answer, the faster sampling is. A search asks for a prefix only when
    /// the answer for the prefix without its last value was true, so that deciding what the last value
    /// decides is enough.
    fn may_extend(&self, prefix: &[u32]) -> bool {
        let _ = prefix;
        true
    }

    /// Whether a full configuration is legal of which [`Domain::may_extend`] has accepted every prefix, the
    /// whole included. A domain whose rules are all decided on the way has nothing left to check here.
    fn completes(&self, configuration: &[u32]) -> bool {
        self.is_legal(configuration)
    }

    /// All legal configurations one after the other, in lexicographic order of their indices; `None` where
    /// there are more than `limit`, or where too many prefixes lead nowhere. (Without parameters there is
    /// nothing to put one after the other, and the list is empty whether that configuration is legal or
    /// not.) A domain that knows a faster way than trying prefixes has it here.
    fn enumerate(&self, limit: usize) -> Option<Vec<u32>> {
        legal::enumerate(self, limit)
    }
}

impl<D: Domain + ?Sized> Domain for &D {
    fn sizes(&self) -> &[u32] {
        (**self).sizes()
    }

    fn scale(&self, parameter: usize) -> Scale<'_> {
        (**self).scale(parameter)
    }

    fn is_legal(&self, configuration: &[u32]) -> bool {
        (**self).is_legal(configuration)
    }

    fn may_extend(&self, prefix: &[u32]) -> bool {
        (**self).may_extend(prefix)
    }

    fn completes(&self, configuration: &[u32]) -> bool {
        (**self).completes(configuration)
    }

    fn enumerate(&self, limit: usize) -> Option<Vec<u32>> {
        (**self).enumerate(limit)
    }
}

impl<D: Domain + Send + ?Sized> Domain for Box<D> {
    fn sizes(&self) -> &[u32] {
        (**self).sizes()
    }

    fn scale(&self, parameter: usize) -> Scale<'_> {
        (**self).scale(parameter)
    }

    fn is_legal(&self, configuration: &[u32]) -> bool {
        (**self).is_legal(configuration)
    }

    fn may_extend(&self, prefix: &[u32]) -> bool {
        (**self).may_extend(prefix)
    }

    fn completes(&self, configuration: &[u32]) -> bool {
        (**self).completes(configuration)
    }

    fn enumerate(&self, limit: usize) -> Option<Vec<u32>> {
        (**self).enumerate(limit)
    }
}

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
    /// Every legal configuration was handed out (with an empty legal set, at once), or some four million
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
    /// The best mix known.
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
    /// Most time from [`Search::new`] on. A search with a time limit may end differently each time.
    pub time_limit: Option<Duration>,
    /// Trials after the best one without a better that end the search. `None`: never for
    /// [`Algorithm::Random`], else half of `max_trials` but no fewer than 512.
    pub patience: Option<usize>,
    /// Configurations to try first, in this order, such as the default policy's or a bank's.
    pub initial: Vec<Vec<u32>>,
    /// Trials known from elsewhere: another device, a near shape, a simulator. Their costs need be
    /// comparable among each other only; `f64::INFINITY` is one that failed there. They count against no
    /// budget, and [`Search::best`] does not answer with them; they need not be legal here.
    pub prior: Vec<(Vec<u32>, f64)>,
    /// Whether costs scatter from one measurement of a configuration to the next. Then a part of the budget
    /// goes into measuring the leaders again: such a trial names the one it repeats in
    /// [`Trial::repeats`], and a configuration's cost is the mean of its measurements. Without noise no
    /// configuration is asked twice.
    pub noise: bool,
    /// About how long one measurement takes, where that is known. [`Algorithm::Auto`] thinks no longer
    /// about a trial than about as long as it takes to measure one; unknown is long.
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
            noise: false,
            evaluation: None,
        }
    }
}

/// A configuration to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// What to tell the outcome under; counts from 0 in the order of asking.
    pub id: u64,
    /// One value index for each parameter.
    pub configuration: Vec<u32>,
    /// The earlier trial of the same configuration that this one measures again; always `None` without
    /// [`Settings::noise`].
    pub repeats: Option<u64>,
}

/// An optimisation under way.
///
/// Any number of trials may be out at once and be told in any order. What an ask answers depends on the
/// seed, on the trials asked before, and on which of them have been told what, not on the order of telling.
/// No configuration is handed out twice.
#[derive(Debug)]
pub struct Search<D> {
    domain: D,
    settings: Settings,
    started: Instant,
    rng: fastrand::Rng,
    legal: Legal,
    history: History,
    population: Population,
    moves: local::Moves,
    initial: std::vec::IntoIter<Vec<u32>>,
    stop: Option<StopReason>,
}

impl<D: Domain> Search<D> {
    /// Starts a search.
    ///
    /// Fails with [`Error::Param`] where an initial configuration is not legal, and where a prior trial is
    /// not of this space or has no cost.
    pub fn new(domain: D, mut settings: Settings) -> Result<Search<D>> {
        let sizes = domain.sizes();
        let in_range = |c: &[u32]| c.len() == sizes.len() && c.iter().zip(sizes).all(|(v, n)| v < n);
        for (i, configuration) in settings.initial.iter().enumerate() {
            if !in_range(configuration) || !domain.is_legal(configuration) {
                return Err(Error::param("initial", format!("configuration {i} {configuration:?} is not legal")));
            }
        }
        for (i, (configuration, cost)) in settings.prior.iter().enumerate() {
            if !in_range(configuration) {
                return Err(Error::param("prior", format!("configuration {i} {configuration:?} is not of this space")));
            }
            if cost.is_nan() || *cost == f64::NEG_INFINITY {
                return Err(Error::param("prior", format!("cost {cost} of configuration {i} is not a number")));
            }
        }
        let initial = std::mem::take(&mut settings.initial).into_iter();
        Ok(Search {
            started: Instant::now(),
            rng: fastrand::Rng::with_seed(settings.seed),
            legal: Legal::new(&domain),
            history: History::new(sizes.len()),
            population: Population::new(genetic::population_size(settings.max_trials)),
            moves: local::Moves::new(sizes),
            initial,
            stop: None,
            domain,
            settings,
        })
    }

    /// The next configuration to measure; `None` when the search is over, and then [`Search::stop_reason`]
    /// says why.
    pub fn ask(&mut self) -> Option<Trial> {
        if self.stop.is_none() {
            self.stop = self.limit();
        }
        if self.stop.is_some() {
            return None;
        }
        let Some(configuration) = self.propose() else {
            self.stop = Some(StopReason::Exhausted);
            return None;
        };
        let id = self.history.ask(&configuration);
        Some(Trial { id, configuration, repeats: None })
    }

    /// Reports how a trial ended. A cost may be any finite number.
    ///
    /// Fails with [`Error::Param`] for a trial that was never asked or is told already, and for a cost that
    /// is not finite; the search is unchanged then.
    pub fn tell(&mut self, id: u64, outcome: Outcome) -> Result<()> {
        if let Outcome::Cost(cost) = outcome
            && !cost.is_finite()
        {
            return Err(Error::param("cost", format!("{cost} of trial {id} is not a finite number")));
        }
        self.history.tell(id, outcome)?;
        if let Outcome::Cost(cost) = outcome {
            self.population.insert(cost, id);
        }
        Ok(())
    }

    /// The best configuration told so far and its cost; the earliest one among equals.
    pub fn best(&self) -> Option<(&[u32], f64)> {
        let (cost, id) = self.population.best()?;
        Some((self.history.configuration(id), cost))
    }

    /// Why the search is over; `None` while it is not.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.stop
    }

    /// Ends the search: no ask answers any more, tells still count.
    pub fn cancel(&mut self) {
        self.stop.get_or_insert(StopReason::Cancelled);
    }

    /// Trials handed out so far.
    pub fn asked(&self) -> usize {
        self.history.len()
    }

    /// The space that is searched.
    pub fn domain(&self) -> &D {
        &self.domain
    }

    fn limit(&self) -> Option<StopReason> {
        let asked = self.history.len();
        let after_best = self.population.best().map_or(0, |(_, id)| asked - 1 - id as usize);
        if asked >= self.settings.max_trials {
            Some(StopReason::Budget)
        } else if self.settings.time_limit.is_some_and(|limit| self.started.elapsed() >= limit) {
            Some(StopReason::TimeLimit)
        } else if self.patience().is_some_and(|patience| after_best >= patience) {
            Some(StopReason::Converged)
        } else {
            None
        }
    }

    fn patience(&self) -> Option<usize> {
        self.settings.patience.or_else(|| {
            let default = (self.settings.max_trials / 2).max(512);
            (self.settings.algorithm != Algorithm::Random).then_some(default)
        })
    }

    fn propose(&mut self) -> Option<Vec<u32>> {
        if let Some(first) = self.initial.find(|c| !self.history.contains(c)) {
            return Some(first);
        }
        let proposal = match self.settings.algorithm {
            Algorithm::Auto | Algorithm::Bayesian => self.propose_auto(),
            Algorithm::Annealing => self.propose_neighbour(),
            Algorithm::Random => None,
            Algorithm::Genetic => self.propose_genetic(),
        };
        proposal.or_else(|| self.sample())
    }

    /// A random legal configuration that was not handed out.
    fn sample(&mut self) -> Option<Vec<u32>> {
        self.legal.unseen(&self.domain, &self.history, &mut self.rng)
    }
}
