//! The searches that callers drive themselves: their table, and what can be asked of each.
//!
//! They need no initialisation. Handles are slot-map keys with a mark, so that neither a session's id nor an
//! address is one by chance.

use super::options::{OptionMap, restrict};
use super::process::{Use, Uses};
use crate::search::space::{Named, Space};
use crate::search::{Algorithm, Domain, Outcome, Search, Settings, StopReason};
use crate::status::{Error, Result};
use crate::sync::{Global, Mutex, MutexGuard};
use serde::Serialize;
use slotmap::{Key, KeyData, SlotMap};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Names of the options that a search knows.
pub const OPTIONS: [&str; 5] = ["seed", "algorithm", "search_algorithm", "max_tuning_count", "tuning_time_limit"];

/// Makes a slot-map key a handle and the other way round.
const MARK: u64 = 0x5ea2_c400_0000_0000;

slotmap::new_key_type! { struct SearchKey; }

type Table = SlotMap<SearchKey, Arc<Mutex<Driven>>>;

static TABLE: Global<Mutex<Table>> = Global::new(Mutex::default);

/// Uses of the table, one for each search that lives.
static SEARCHES: Global<Uses> = Global::new(Uses::new);

/// A search and what its report says about it.
struct Driven {
    search: Search<Space>,
    algorithm: &'static str,
    seed: u64,
    /// Told trials, and those of them that failed.
    told: usize,
    failed: usize,
    _use: Use,
}

/// The table, for the length of a use.
fn table(_: &Use) -> MutexGuard<'static, Table> {
    TABLE.get().lock().unwrap_or_else(PoisonError::into_inner)
}

fn key(handle: u64) -> SearchKey {
    SearchKey::from(KeyData::from_ffi(handle ^ MARK))
}

/// The search behind a handle.
fn find(handle: u64) -> Result<Arc<Mutex<Driven>>> {
    let in_use = SEARCHES.get().begin()?;
    let table = table(&in_use);
    let key = key(handle);
    // from_ffi rounds foreign numbers to keys; only an exact one is a handle.
    let exact = key.data().as_ffi() == handle ^ MARK;
    table.get(key).filter(|_| exact).cloned().ok_or(Error::InvalidSearch { handle })
}

fn enter(search: &Mutex<Driven>) -> MutexGuard<'_, Driven> {
    search.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often the table is used, to be told.
#[cfg(aoe_interleavings)]
pub fn in_use() -> String {
    format!("{:?}", SEARCHES.get())
}

/// Starts a search in a space and returns its handle, which is never 0.
///
/// Fails with [`Error::Space`] for a space that is none, and with [`Error::Option`] for an option that a search
/// does not know.
pub fn create(space_json: &str, options: &OptionMap) -> Result<u64> {
    // Before the work: a child has nothing to gain from it.
    let in_use = SEARCHES.get().begin()?;
    restrict(options, &OPTIONS, "a search")?;
    let get = |key: &str| options.get(key).map(String::as_str).filter(|value| !value.is_empty());
    // The forms were checked when the options were gathered.
    let number = |key: &str| get(key).and_then(|value| value.parse::<u64>().ok());
    let name = get("algorithm").or_else(|| get("search_algorithm"));
    let defaults = Settings::default();
    let settings = Settings {
        algorithm: name.and_then(Algorithm::named).unwrap_or(defaults.algorithm),
        seed: number("seed").unwrap_or(defaults.seed),
        max_trials: number("max_tuning_count").map_or(defaults.max_trials, |count| count as usize),
        time_limit: number("tuning_time_limit").map(Duration::from_secs),
        ..defaults
    };
    let (seed, algorithm) = (settings.seed, settings.algorithm.name());
    let search = Search::new(Space::from_json(space_json)?, settings)?;
    let driven = Driven { search, algorithm, seed, told: 0, failed: 0, _use: SEARCHES.get().begin()? };
    let key = table(&in_use).insert(Arc::new(Mutex::new(driven)));
    Ok(key.data().as_ffi() ^ MARK)
}

/// Ends a search. Calls under way in other threads finish first or find it gone.
pub fn destroy(handle: u64) -> Result<()> {
    find(handle)?;
    let in_use = SEARCHES.get().begin()?;
    let removed = table(&in_use).remove(key(handle));
    // Outside the lock: a large legal set takes a moment.
    removed.map(drop).ok_or(Error::InvalidSearch { handle })
}

/// Hands out a configuration to measure, as places in the lists of values that were given, and its trial.
///
/// Fails with [`Error::Exhausted`], which says why, when the search is over; with [`Error::Param`] when
/// `indices` does not hold one entry for each parameter, and then nothing is handed out.
pub fn ask(handle: u64, parameter_count: usize, mut write: impl FnMut(usize, u32)) -> Result<u64> {
    let driven = find(handle)?;
    let search = &mut enter(&driven).search;
    check_count(search.domain(), parameter_count)?;
    let Some(trial) = search.ask() else {
        let reason = match search.stop_reason() {
            Some(StopReason::Budget) => "so many trials as max_tuning_count allows have been handed out",
            Some(StopReason::TimeLimit) => "the time of tuning_time_limit has passed",
            Some(StopReason::Converged) => "the algorithm expects no further gain",
            _ => "every legal configuration of the space has been handed out",
        };
        return Err(Error::Exhausted { reason });
    };
    given(search.domain(), &trial.configuration).enumerate().for_each(|(i, index)| write(i, index));
    Ok(trial.id)
}

/// Reports how a trial ended.
///
/// Fails with [`Error::Param`] for a trial that was not handed out or is told already, and for a cost that is
/// not a finite number from 0.
pub fn tell(handle: u64, trial: u64, outcome: Outcome) -> Result<()> {
    let driven = find(handle)?;
    let mut driven = enter(&driven);
    if let Outcome::Cost(cost) = outcome
        && !(cost.is_finite() && cost >= 0.0)
    {
        let reason = format!("{cost} of trial {trial} is not a finite number from 0; tell a failure as outcome 1");
        return Err(Error::param("cost", reason));
    }
    driven.search.tell(trial, outcome)?;
    driven.told += 1;
    driven.failed += usize::from(outcome == Outcome::Failed);
    Ok(())
}

/// The best configuration told so far, and its cost.
///
/// Fails with [`Error::NotFound`] while none was measured, and with [`Error::Param`] as [`ask`] does.
pub fn best(handle: u64, parameter_count: usize, mut write: impl FnMut(usize, u32)) -> Result<f64> {
    let driven = find(handle)?;
    let search = &enter(&driven).search;
    check_count(search.domain(), parameter_count)?;
    let none = || Error::NotFound { what: "the best configuration of a search that was told no cost".into() };
    let (configuration, cost) = search.best().ok_or_else(none)?;
    given(search.domain(), configuration).enumerate().for_each(|(i, index)| write(i, index));
    Ok(cost)
}

/// What a search has come to, as JSON; docs/c-api.md describes it.
pub fn report(handle: u64) -> Result<String> {
    let driven = find(handle)?;
    let driven = enter(&driven);
    let space = driven.search.domain();
    let best = driven.search.best();
    let report = Report {
        algorithm: driven.algorithm,
        seed: driven.seed,
        parameters: space.sizes().len(),
        // JSON readers keep no more than 53 bits; a larger number is as good as none.
        legal: space.count().and_then(|count| u64::try_from(count).ok()).filter(|&count| count < 1 << 53),
        asked: driven.search.asked(),
        told: driven.told,
        failed: driven.failed,
        stop: driven.search.stop_reason().map(StopReason::name),
        best: best.map(|(configuration, cost)| Best { cost, configuration: Named(space, configuration) }),
    };
    serde_json::to_string(&report)
        .map_err(|error| Error::Internal { place: "AoeSearchGetReport".into(), message: error.to_string() })
}

#[derive(Serialize)]
struct Report<'a> {
    algorithm: &'static str,
    seed: u64,
    parameters: usize,
    legal: Option<u64>,
    asked: usize,
    told: usize,
    failed: usize,
    stop: Option<&'static str>,
    best: Option<Best<'a>>,
}

#[derive(Serialize)]
struct Best<'a> {
    cost: f64,
    configuration: Named<'a>,
}

/// A configuration as places in the lists of values that were given.
fn given<'a>(space: &'a Space, configuration: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    space.parameters().iter().zip(configuration).map(|(parameter, &index)| parameter.given_index(index))
}

fn check_count(space: &Space, given: usize) -> Result<()> {
    let needed = space.sizes().len();
    if given == needed {
        return Ok(());
    }
    Err(Error::param("parameter_count", format!("is {given}, and the space has {needed} parameters")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(options: &[(&str, &str)]) -> u64 {
        let json = r#"{"parameters":[{"name":"a","values":[4,1,2]},{"name":"b","values":["x","y"]}],
            "constraints":["a > 1 or b == 'x'"]}"#;
        create(json, &super::super::options::gather(options.iter().copied()).unwrap()).unwrap()
    }

    fn asked(handle: u64) -> Result<(u64, Vec<u32>)> {
        let mut indices = vec![u32::MAX; 2];
        ask(handle, 2, |i, index| indices[i] = index).map(|trial| (trial, indices))
    }

    #[test]
    fn header_and_documents_name_every_algorithm() {
        let named = format!("`algorithm` ({})", Algorithm::NAMES.join(", "));
        assert!(include_str!("../../include/aoe.h").contains(&named), "AoeSearchCreate in include/aoe.h: {named}");
        for name in Algorithm::NAMES {
            let row = format!("\n| `{name}` |");
            assert!(include_str!("../../docs/search.md").contains(&row), "docs/search.md has no row of `{name}`");
        }
    }

    #[test]
    fn indices_are_places_in_the_lists_given() {
        let handle = created(&[("seed", "5"), ("algorithm", "random")]);
        let mut seen = Vec::new();
        while let Ok((trial, indices)) = asked(handle) {
            // Costs as the lists have it: 4, 1, 2.
            let cost = [4.0, 1.0, 2.0][indices[0] as usize];
            tell(handle, trial, Outcome::Cost(cost)).unwrap();
            seen.push(indices);
        }
        seen.sort();
        assert_eq!(seen, [[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]]);
        let mut indices = [9, 9];
        assert!((best(handle, 2, |i, index| indices[i] = index).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(indices, [1, 0]);
        let report: serde_json::Value = serde_json::from_str(&report(handle).unwrap()).unwrap();
        assert_eq!(report["stop"], "exhausted");
        assert_eq!((&report["legal"], &report["told"]), (&5.into(), &5.into()));
        assert_eq!(report["best"]["configuration"], serde_json::json!({"a": 1, "b": "x"}));
        destroy(handle).unwrap();
        assert!(matches!(asked(handle), Err(Error::InvalidSearch { .. })));
    }

    #[test]
    fn only_a_living_handle_is_one() {
        let (dead, live) = (created(&[]), created(&[]));
        destroy(dead).unwrap();
        for wrong in [0, dead, !0, live ^ 1, live + 1, live ^ MARK, live + (2 << 32), live ^ (1 << 32)] {
            assert!(matches!(asked(wrong), Err(Error::InvalidSearch { handle }) if handle == wrong), "{wrong:#x}");
            assert!(destroy(wrong).is_err());
        }
        destroy(live).unwrap();
    }

    #[test]
    fn options_of_tuning_are_refused() {
        let options = super::super::options::gather([("job_type", "2")]).unwrap();
        let error = create("{}", &options).unwrap_err();
        assert!(matches!(&error, Error::Option { option, .. } if option == "job_type"), "{error}");
    }
}
