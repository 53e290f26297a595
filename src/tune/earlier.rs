//! What earlier tunings measured of a workload, as the search of this one uses it.

use super::outcome::CaseOutcome;
use super::recordable::Recordable;
use super::tuner::{Tuner, ended, measured_as};
use crate::backend::{Measure, Measurement};
use crate::bank::{KnownTrial, KnownTrials};
use crate::search::Outcome;
use crate::space;
use crate::status::Result;
use crate::workload::{Schedule, Workload};
use rustc_hash::FxHashSet;

/// Earlier trials.
pub(super) struct Earlier {
    /// As they are kept, with the name of the search that is to come.
    pub kept: KnownTrials,
    /// Those that exist in the present space.
    pub known: Vec<(Vec<u32>, Outcome)>,
    /// How many of these only the base has.
    of_base: usize,
    /// Whether they are of the very search that is to come.
    pub resumes: bool,
    /// The best of them, once it was measured again.
    confirmed: Option<Schedule>,
}

impl Earlier {
    /// Reads what is kept of a workload: the bank's trials, then those of the base.
    pub fn read(tuner: &Tuner<'_>, workload: &Workload, backend: &str, space: &Recordable<'_>) -> Earlier {
        let settings = tuner.settings;
        let search = format!("space {}, {:?}, seed {}", space::version(workload), settings.algorithm, settings.seed)
            .to_lowercase();
        let stores = tuner.trials.iter().enumerate();
        let mut stores = stores.filter_map(|(place, store)| Some((place, store.read(workload, backend)?)));
        let (first, mut kept) = stores.next().unwrap_or_default();
        let mut seen: FxHashSet<Vec<u32>> = FxHashSet::default();
        let more: Vec<_> = stores.flat_map(|(_, base)| base.trials).collect();
        let from = kept.trials.len();
        kept.trials.extend(more);
        let mut known = Vec::new();
        let (mut at, mut of_base) = (0, 0);
        kept.trials.retain(|trial| {
            let configuration = space.configuration(&trial.schedule);
            at += 1;
            let is_new = configuration.as_ref().is_none_or(|c| seen.insert(c.clone()));
            if let Some(configuration) = configuration.filter(|_| is_new) {
                of_base += usize::from(first > 0 || at > from);
                known.push((configuration, trial.us.map_or(Outcome::Failed, Outcome::Cost)));
            }
            // The base may have what the bank has.
            is_new || at <= from
        });
        let resumes = kept.search == search;
        kept.search = search;
        Earlier { kept, known, of_base, resumes, confirmed: None }
    }

    /// Measures the best earlier trial again. Where a backend that does not scatter now gives another time, it is
    /// no longer what it was, and nothing earlier counts.
    pub fn confirm(
        &mut self,
        outcome: &mut CaseOutcome,
        measure: &mut dyn Measure,
        space: &Recordable<'_>,
        noisy: bool,
        tuner: &Tuner<'_>,
    ) -> Result<()> {
        let cost = |outcome: &Outcome| if let Outcome::Cost(us) = outcome { *us } else { f64::INFINITY };
        let best = self.known.iter_mut().min_by(|a, b| cost(&a.1).total_cmp(&cost(&b.1)));
        let Some((configuration, told)) = best.filter(|_| tuner.interrupt.reason().is_none()) else { return Ok(()) };
        let schedule = space.schedule(configuration);
        let now = if !noisy && schedule.as_ref() == Some(&outcome.before) {
            Outcome::Cost(outcome.before_us)
        } else {
            outcome.trials += 1;
            measured_as(measure, space, configuration, tuner)?
        };
        if !noisy && now != *told {
            log::info!("{}: measured otherwise than before; earlier trials do not count", outcome.workload);
            (self.kept.trials, self.kept.dropped, self.known) = (Vec::new(), 0, Vec::new());
            self.of_base = 0;
            self.resumes = false;
        } else {
            *told = now;
            self.confirmed = schedule;
        }
        (outcome.known_trials, outcome.base_trials) = (self.known.len(), self.of_base);
        Ok(())
    }

    /// The time of the best schedule found, measured by this tuning; `None` where it fails now.
    pub fn time_of_today(
        &self,
        schedule: &Schedule,
        us: f64,
        is_old: bool,
        outcome: &mut CaseOutcome,
        measure: &mut dyn Measure,
        tuner: &Tuner<'_>,
    ) -> Result<Option<f64>> {
        if !is_old || self.confirmed.as_ref() == Some(schedule) {
            return Ok(Some(us));
        }
        outcome.trials += 1;
        match measure.measure(schedule) {
            Measurement::Time { us } if us.is_finite() => Ok(Some(us)),
            Measurement::Ended { reason } => Err(ended(reason, tuner.backend, tuner.interrupt)),
            _ => Ok(None),
        }
    }

    /// Keeps what was known and what was made since. Trials that cannot be written cost the next tuning time,
    /// this one nothing.
    pub fn keep(
        mut self,
        tuner: &Tuner<'_>,
        workload: &Workload,
        backend: &str,
        space: &Recordable<'_>,
        made: &[(Vec<u32>, Outcome)],
    ) {
        let Some(store) = tuner.trials.first().filter(|_| !made.is_empty()) else { return };
        self.kept.trials.extend(made.iter().filter_map(|(configuration, told)| {
            let us = if let Outcome::Cost(us) = told { Some(*us) } else { None };
            Some(KnownTrial { schedule: space.schedule(configuration)?, us })
        }));
        if let Err(error) = store.write(workload, backend, &self.kept) {
            log::warn!("the trials of {workload} are not kept: {error}");
        }
    }
}
