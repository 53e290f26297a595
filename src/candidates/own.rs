//! The best tilings of CANN's own kernel for a case.

use super::{Answer, best, priced};
use crate::cases::Parts;
use crate::search::{Outcome, Search, Settings};
use crate::simulate::Job;
use crate::space::OperatorSpace;
use crate::status::Result;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// Tilings that are tried.
const TRIALS: usize = 500;

/// The best tilings that a search finds, CANN's default among those that it tries.
pub(super) fn best_of(job: &Job, case: &str, most: usize, parts: &mut Parts) -> Result<Answer> {
    let soc = parts.of(None)?.0.clone();
    let space = OperatorSpace::new(&job.workload, &soc)?;
    let initial = space.nearest(space.default_schedule()).into_iter().collect();
    // A price takes less than the choice of a model would.
    let evaluation = Some(Duration::from_micros(50));
    let settings = Settings { max_trials: TRIALS, initial, evaluation, ..Settings::default() };
    let mut search = Search::new(space, settings)?;
    let mut found = BTreeMap::new();
    while let Some(trial) = search.ask() {
        let schedule = search.domain().schedule(&trial.configuration);
        let candidate = schedule.map(|schedule| priced(case, json!(schedule), None, parts));
        match candidate {
            Some(Ok(candidate)) => {
                search.tell(trial.id, Outcome::Cost(candidate.time_us))?;
                found.insert(trial.configuration.clone(), candidate);
            }
            _ => search.tell(trial.id, Outcome::Failed)?,
        }
    }
    Ok(best(found.into_values().collect(), Vec::new(), most))
}
