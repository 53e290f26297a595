//! Ask/tell optimisers over value indices. A search knows how many values each parameter has and
//! which combinations are legal, nothing about tensors or operators.
//!
//! ```
//! # use aoe_search::{Domain, Outcome, Search, Settings};
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
//! # Ok::<(), aoe_base::status::Error>(())
//! ```
#![forbid(unsafe_code)]

mod annealing;
mod auto;
mod bayesian;
mod domain;
mod enumeration;
mod genetic;
mod history;
mod legal;
mod local;
mod model;
mod names;
mod repair;
mod repeats;
#[cfg(test)]
mod seeds;
mod settings;
pub mod space;
#[cfg(test)]
mod tests;
mod tunable;

pub use domain::{Domain, Scale};
pub use enumeration::{enumerate, walk};
pub use settings::{Algorithm, Outcome, Settings, StopReason, Trial};

use aoe_base::status::{Error, Result};
use bayesian::Surrogate;
use history::{History, Population};
use legal::Legal;
use std::time::{Duration, Instant};

/// Evaluations at least so long are worth a model's choice, which takes a good part of that itself.
const WORTH_A_MODEL: Duration = Duration::from_micros(500);
/// Legal configurations that are listed where a choice may take its time, and where it may not.
const LISTED: (usize, usize) = (1 << 17, 1 << 10);
/// The best trials from elsewhere that are tried first.
const PRIOR_FIRST: usize = 3;

/// An optimisation under way.
///
/// Any number of trials may be out at once and be told in any order. What an ask answers depends on the
/// seed, on the trials asked before, and on which of them have been told what, not on the order of telling.
/// No configuration is handed out twice, but for the repeats of [`Settings::noise`].
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
    walk: annealing::Walk,
    /// The model of the algorithms that have one.
    surrogate: Option<Surrogate>,
    initial: std::vec::IntoIter<Vec<u32>>,
    /// Trials that were known before the first was handed out.
    known: usize,
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
        for (i, (configuration, outcome)) in settings.known.iter().enumerate() {
            if !in_range(configuration) || matches!(outcome, Outcome::Cost(cost) if !cost.is_finite()) {
                let reason = format!("trial {i} {configuration:?} is not of this space or has no finite cost");
                return Err(Error::param("known", reason));
            }
        }
        let known = std::mem::take(&mut settings.known);
        let hurried = settings.evaluation.is_some_and(|time| time < WORTH_A_MODEL);
        let mut prior = std::mem::take(&mut settings.prior);
        prior.sort_by(|a, b| a.1.total_cmp(&b.1));
        let surrogate = if uses_model(&settings) { Surrogate::new(&domain, settings.algorithm, &prior) } else { None };
        let mut initial = std::mem::take(&mut settings.initial);
        if settings.algorithm != Algorithm::Random {
            let good = prior.into_iter().filter(|(_, cost)| cost.is_finite()).map(|(configuration, _)| configuration);
            initial.extend(good.filter(|configuration| domain.is_legal(configuration)).take(PRIOR_FIRST));
        }
        let mut search = Search {
            started: Instant::now(),
            rng: fastrand::Rng::with_seed(settings.seed),
            legal: Legal::new(&domain, if hurried { LISTED.1 } else { LISTED.0 }),
            history: History::new(sizes.len()),
            population: Population::new(genetic::population_size(settings.max_trials), settings.noise),
            moves: local::Moves::new(&domain),
            walk: annealing::Walk::default(),
            surrogate,
            initial: initial.into_iter(),
            known: known.len(),
            stop: None,
            domain,
            settings,
        };
        for (configuration, outcome) in known {
            let id = search.history.ask(&configuration, None);
            search.tell(id, outcome)?;
        }
        Ok(search)
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
        self.history.learn();
        let repeats = if self.settings.noise { self.worth_repeating() } else { None };
        let proposal = match repeats {
            Some(id) => Some(self.history.configuration(id).to_vec()),
            None => self.propose(),
        };
        let Some(configuration) = proposal else {
            self.stop = Some(StopReason::Exhausted);
            return None;
        };
        let id = self.history.ask(&configuration, repeats);
        Some(Trial { id, configuration, repeats })
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
        if let Some((id, cost)) = self.history.tell(id, outcome)? {
            self.population.insert(cost, id);
        }
        Ok(())
    }

    /// The best configuration told so far and its cost; the earliest one among equals. With noise a cost is
    /// the mean of its measurements, and the best is the one whose mean plus one standard error is least: a
    /// single lucky measurement does not win.
    pub fn best(&self) -> Option<(&[u32], f64)> {
        let id = self.leader()?;
        Some((self.history.configuration(id), self.history.cost(id)?))
    }

    /// Why the search is over; `None` while it is not.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.stop
    }

    /// Ends the search: no ask answers any more, tells still count.
    pub fn cancel(&mut self) {
        self.stop.get_or_insert(StopReason::Cancelled);
    }

    /// Trials handed out so far; the known ones are not among them.
    pub fn asked(&self) -> usize {
        self.history.len() - self.known
    }

    /// Known trials that do not count.
    fn spared(&self) -> usize {
        if self.settings.resumes { 0 } else { self.known }
    }

    /// Trials that count, those handed out among them.
    fn counted(&self) -> usize {
        self.history.len() - self.spared()
    }

    /// The space that is searched.
    pub fn domain(&self) -> &D {
        &self.domain
    }

    fn limit(&self) -> Option<StopReason> {
        let asked = self.counted();
        let after_best =
            self.population.best().map_or(0, |(_, id)| self.history.len() - self.spared().max(id as usize + 1));
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
            Algorithm::Auto => self.propose_auto(),
            Algorithm::Bayesian => self.propose_expected(false),
            Algorithm::Annealing => self.propose_step(),
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

/// Whether a search has a model of the costs choose.
fn uses_model(settings: &Settings) -> bool {
    match settings.algorithm {
        Algorithm::Bayesian => true,
        Algorithm::Auto => settings.evaluation.is_none_or(|time| time >= WORTH_A_MODEL),
        Algorithm::Random | Algorithm::Genetic | Algorithm::Annealing => false,
    }
}
