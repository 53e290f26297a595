//! The trials of a search, and the best of them.

use super::Outcome;
use super::model::Point;
use aoe_base::status::{Error, Result};
use rustc_hash::FxHashSet;

/// What has become of a trial.
#[derive(Debug, Clone, Copy)]
enum State {
    /// Nothing yet.
    Out,
    /// It failed.
    Failed,
    /// So many measurements of its configuration by now, their mean, and the sum of the squared distances
    /// from it.
    Measured { count: u32, mean: f64, squares: f64 },
    /// It measured an earlier trial's configuration again.
    Repeated,
}

/// Every trial: its configuration and its outcome.
#[derive(Debug)]
pub(super) struct History {
    width: usize,
    /// All configurations, one after the other.
    configurations: Vec<u32>,
    told: Vec<State>,
    /// The trials that others repeat, by the number of those.
    repeated: Vec<(u64, u64)>,
    /// Trials told, in the order of learning: those told between two asks in the order of their numbers.
    known: Vec<u64>,
    /// Told since the last ask.
    fresh: Vec<u64>,
    seen: FxHashSet<Box<[u32]>>,
}

impl History {
    pub fn new(width: usize) -> History {
        History {
            width,
            configurations: Vec::new(),
            told: Vec::new(),
            repeated: Vec::new(),
            known: Vec::new(),
            fresh: Vec::new(),
            seen: FxHashSet::default(),
        }
    }

    /// Number of trials handed out.
    pub fn len(&self) -> usize {
        self.told.len()
    }

    pub fn contains(&self, configuration: &[u32]) -> bool {
        self.seen.contains(configuration)
    }

    /// The configuration of a trial that was handed out.
    pub fn configuration(&self, id: u64) -> &[u32] {
        let start = id as usize * self.width;
        &self.configurations[start..start + self.width]
    }

    /// Hands out a configuration; `repeats` is the trial that it measures again.
    pub fn ask(&mut self, configuration: &[u32], repeats: Option<u64>) -> u64 {
        let id = self.told.len() as u64;
        self.configurations.extend_from_slice(configuration);
        self.told.push(State::Out);
        match repeats {
            Some(original) => self.repeated.push((id, original)),
            None => drop(self.seen.insert(configuration.into())),
        }
        id
    }

    /// Takes an outcome. Answers the trial whose cost it settles and that cost: with repeats the mean.
    pub fn tell(&mut self, id: u64, outcome: Outcome) -> Result<Option<(u64, f64)>> {
        match usize::try_from(id).ok().and_then(|i| self.told.get(i)) {
            None => return Err(Error::param("trial", format!("{id} was never handed out ({outcome:?})"))),
            Some(State::Out) => {}
            Some(_) => return Err(Error::param("trial", format!("{id} has been told already"))),
        }
        let original = self.repeated.iter().find(|repeat| repeat.0 == id).map(|repeat| repeat.1);
        self.told[id as usize] = match (original, outcome) {
            (Some(_), _) => State::Repeated,
            (None, Outcome::Failed) => State::Failed,
            (None, Outcome::Cost(cost)) => State::Measured { count: 1, mean: cost, squares: 0.0 },
        };
        self.fresh.push(id);
        let Outcome::Cost(cost) = outcome else { return Ok(None) };
        let Some(original) = original else { return Ok(Some((id, cost))) };
        // A repeat that fails says nothing of the cost; one that succeeds moves the mean.
        if let State::Measured { count, mean, squares } = &mut self.told[original as usize] {
            *count += 1;
            let distance = cost - *mean;
            *mean += distance / f64::from(*count);
            *squares += distance * (cost - *mean);
            return Ok(Some((original, *mean)));
        }
        Ok(None)
    }

    /// Learns what was told since the last time, in the order of the trials' numbers, so that the order of
    /// telling does not matter.
    pub fn learn(&mut self) {
        self.fresh.sort_unstable();
        self.known.append(&mut self.fresh);
    }

    /// Trials told when [`History::learn`] was last called, in the order of learning.
    pub fn known(&self) -> &[u64] {
        &self.known
    }

    /// Trials not told yet.
    pub fn out(&self) -> impl Iterator<Item = u64> {
        (0..self.told.len()).filter(|&i| matches!(self.told[i], State::Out)).map(|i| i as u64)
    }

    /// Mean cost of a trial's configuration; `None` while it is not measured.
    pub fn cost(&self, id: u64) -> Option<f64> {
        match self.told[id as usize] {
            State::Measured { mean, .. } => Some(mean),
            _ => None,
        }
    }

    /// Measurements of a trial's configuration, those that are out included.
    pub fn measurements(&self, id: u64) -> usize {
        1 + self.repeated.iter().filter(|repeat| repeat.1 == id).count()
    }

    /// Trials that measure known configurations again.
    pub fn repeats(&self) -> usize {
        self.repeated.len()
    }

    /// Mean cost of a trial's configuration plus what its scatter may hide: one standard error, taken from
    /// the relative scatter of all repeats.
    pub fn cautious_cost(&self, id: u64) -> Option<f64> {
        let State::Measured { count, mean, .. } = self.told[id as usize] else { return None };
        Some(mean + mean.abs() * self.scatter() / f64::from(count).sqrt())
    }

    /// Relative standard deviation of one measurement, from all repeats.
    fn scatter(&self) -> f64 {
        let mut originals: Vec<u64> = self.repeated.iter().map(|repeat| repeat.1).collect();
        originals.sort_unstable();
        originals.dedup();
        let (mut freedom, mut sum) = (0.0, 0.0);
        for id in originals {
            if let State::Measured { count, mean, squares } = self.told[id as usize]
                && mean != 0.0
            {
                freedom += f64::from(count - 1);
                sum += squares / (mean * mean);
            }
        }
        if freedom > 0.0 { (sum / freedom).sqrt() } else { 0.0 }
    }

    /// What a model needs of a told trial; `None` for those not told and for repeats.
    pub fn point(&self, id: u64, scale: LogScale) -> Option<Point<'_>> {
        let log_cost = match self.told[id as usize] {
            State::Measured { mean, .. } => Some(scale.of(mean)),
            State::Failed => None,
            State::Out | State::Repeated => return None,
        };
        Some(Point { id, configuration: self.configuration(id), log_cost })
    }
}

/// How costs become what a model fits: their logarithms, where all are positive; else the costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogScale {
    Logarithm,
    Plain,
}

impl LogScale {
    /// The scale of costs of which this one is the least.
    pub fn for_costs_from(least: f64) -> LogScale {
        if least > 0.0 { LogScale::Logarithm } else { LogScale::Plain }
    }

    pub fn of(self, cost: f64) -> f64 {
        match self {
            LogScale::Logarithm => cost.ln(),
            LogScale::Plain => cost,
        }
    }
}

/// The best trials, cheapest first. Of trials with exactly the same cost only the earliest is kept: in a
/// deterministic model they differ in what does not matter, and would crowd out all else. Where costs are
/// noisy all are kept: a repeat may move one of them, and the others must not be lost with it.
#[derive(Debug)]
pub(super) struct Population {
    members: Vec<(f64, u64)>,
    capacity: usize,
    noise: bool,
}

impl Population {
    pub fn new(capacity: usize, noise: bool) -> Population {
        Population { members: Vec::with_capacity(capacity + 1), capacity: capacity.max(1), noise }
    }

    /// Takes in a trial, at its new cost where it was in before.
    #[expect(clippy::float_cmp, reason = "exactly equal costs are what is meant")]
    pub fn insert(&mut self, cost: f64, id: u64) {
        self.members.retain(|member| member.1 != id);
        let at =
            self.members.partition_point(|member| member.0 < cost || (self.noise && member.0 == cost && member.1 < id));
        match self.members.get_mut(at) {
            Some(member) if member.0 == cost && !self.noise => member.1 = member.1.min(id),
            _ => {
                self.members.insert(at, (cost, id));
                self.members.truncate(self.capacity);
            }
        }
    }

    pub fn best(&self) -> Option<(f64, u64)> {
        self.members.first().copied()
    }

    pub fn members(&self) -> &[(f64, u64)] {
        &self.members
    }

    pub fn id(&self, rank: usize) -> Option<u64> {
        self.members.get(rank).map(|member| member.1)
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }
}
