//! Tunings that start from what earlier ones measured.

use super::*;
use crate::bank::KnownTrials;
use crate::space;
use crate::workload::MatMul;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;

/// A simulator that lists what it measures; its times are a multiple of the model's.
struct Listing {
    simulator: Simulator,
    factor: f64,
    measured: Mutex<Vec<(Workload, String)>>,
}

impl Listing {
    fn new(factor: f64) -> Listing {
        Listing { simulator: Simulator::new(soc()), factor, measured: Mutex::default() }
    }

    /// What was measured since the last call.
    fn take(&self) -> Vec<(Workload, String)> {
        std::mem::take(&mut self.measured.lock().unwrap())
    }
}

impl Backend for Listing {
    fn describe(&self) -> Description {
        Description { name: "listing".into(), detail: String::new(), noisy: false, is_simulated: false }
    }

    fn soc(&self) -> &Soc {
        self.simulator.soc()
    }

    fn measuring_time(&self) -> Option<std::time::Duration> {
        self.simulator.measuring_time()
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        let inner = self.simulator.prepare(workload)?;
        Ok(Box::new(ListingMeasure { inner, workload: workload.clone(), backend: self }))
    }
}

struct ListingMeasure<'a> {
    inner: Box<dyn Measure + 'a>,
    workload: Workload,
    backend: &'a Listing,
}

impl Measure for ListingMeasure<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Measurement {
        let text = format!("{schedule:?}");
        self.backend.measured.lock().unwrap().push((self.workload.clone(), text));
        match self.inner.measure(schedule) {
            Measurement::Time { us } => Measurement::Time { us: us * self.backend.factor },
            other => other,
        }
    }
}

fn repeat() -> OpatSettings {
    OpatSettings { repeat_tune: true, ..settings() }
}

/// What a case came to.
fn found(outcome: &OpatOutcome) -> Vec<(Schedule, u64)> {
    outcome.cases.iter().map(|c| (c.after.clone(), c.after_us.to_bits())).collect()
}

#[test]
fn a_repeated_tuning_measures_only_the_baseline_and_the_best_again() {
    let dir = tempfile::tempdir().unwrap();
    let backend = Listing::new(1.0);
    let first = run(&backend, &mut bank_in(dir.path()), &settings()).unwrap();
    let measured = backend.take().len();
    let second = run(&backend, &mut bank_in(dir.path()), &repeat()).unwrap();
    let again = backend.take().len();
    assert!(measured > 400 && again <= 2 * second.cases.len(), "{measured}, then {again}");
    assert_eq!(found(&first), found(&second));
    for (before, after) in first.cases.iter().zip(&second.cases) {
        assert_eq!(after.known_trials, before.trials);
        assert!(matches!(after.status, BankStatus::Reserved | BankStatus::Unsatisfied), "{:?}", after.status);
        assert_eq!(after.stop, before.stop);
    }
}

#[test]
fn what_lies_where_cann_does_not_look_is_found_again_and_written_where_it_does() {
    let dir = tempfile::tempdir().unwrap();
    let cache = |root: &Path| {
        let environment = BankEnvironment { ascend_cache_path: Some(root.to_owned()), ..BankEnvironment::default() };
        BankPaths::operator(&environment, &soc()).unwrap()
    };
    let paths = cache(dir.path());
    let backend = Listing::new(1.0);
    let lone = run(&backend, &mut OperatorBank::open(cache(&dir.path().join("alone")), &soc()), &settings()).unwrap();
    // An earlier libaoe wrote below the variable itself.
    let earlier = BankPaths { custom: paths.also_read[0].clone(), also_read: Vec::new() };
    run(&backend, &mut OperatorBank::open(earlier, &soc()), &settings()).unwrap();
    let again = run(&backend, &mut OperatorBank::open(paths.clone(), &soc()), &settings()).unwrap();
    let added =
        |outcome: &OpatOutcome| outcome.cases.iter().map(|case| case.status == BankStatus::Added).collect::<Vec<_>>();
    assert!(added(&lone).contains(&true), "there is something to find");
    assert_eq!(added(&again), added(&lone), "CANN has none of it yet");
    for (case, alone) in again.cases.iter().zip(&lone.cases) {
        assert!(case.after_us <= alone.after_us && case.before_us == alone.before_us, "{}", case.workload);
    }
    let third = run(&backend, &mut OperatorBank::open(paths, &soc()), &settings()).unwrap();
    assert!(third.cases.iter().all(|case| case.status != BankStatus::Added), "now it has");
}

#[test]
fn a_tuning_with_a_larger_budget_goes_on_where_the_smaller_one_ended() {
    let dir = tempfile::tempdir().unwrap();
    let backend = Listing::new(1.0);
    let small = OpatSettings { max_trials: 50, ..settings() };
    run(&backend, &mut bank_in(dir.path()), &small).unwrap();
    backend.take();
    let second = run(&backend, &mut bank_in(dir.path()), &repeat()).unwrap();
    for case in &second.cases {
        assert_eq!(case.known_trials, 50);
        assert!(case.trials <= 151, "{} more", case.trials);
    }
}

#[test]
fn another_search_or_another_space_knows_the_trials_and_has_its_whole_budget() {
    let dir = tempfile::tempdir().unwrap();
    let backend = Listing::new(1.0);
    let first = run(&backend, &mut bank_in(dir.path()), &settings()).unwrap();
    let known: HashSet<_> = backend.take().into_iter().collect();
    // A trial of a space that is gone, and all the others of an older one.
    let store = bank_in(dir.path()).trials();
    for case in &first.cases {
        let mut trials = store.read(&case.workload, "listing").unwrap();
        trials.search = trials.search.replace(&format!("space {}", space::version(&case.workload)), "space 0");
        store.write(&case.workload, "listing", &trials).unwrap();
    }
    for settings in [repeat(), OpatSettings { seed: 8, ..repeat() }] {
        let outcome = run(&backend, &mut bank_in(dir.path()), &settings).unwrap();
        let new: Vec<_> = backend.take();
        let twice = new.iter().filter(|trial| known.contains(trial)).count();
        assert!(twice <= 2 * outcome.cases.len(), "{twice} of {} were measured before", new.len());
        for (case, first) in outcome.cases.iter().zip(&first.cases) {
            assert!(case.known_trials >= first.trials && case.trials >= 100, "{} {}", case.known_trials, case.trials);
            assert!(case.after_us <= first.after_us);
        }
    }
}

#[test]
fn trials_that_a_deterministic_backend_now_measures_otherwise_do_not_count() {
    let dir = tempfile::tempdir().unwrap();
    run(&Listing::new(1.0), &mut bank_in(dir.path()), &settings()).unwrap();
    let slower = run(&Listing::new(1.5), &mut bank_in(dir.path()), &repeat()).unwrap();
    let fresh = tempfile::tempdir().unwrap();
    let alone = run(&Listing::new(1.5), &mut bank_in(fresh.path()), &settings()).unwrap();
    for (case, alone) in slower.cases.iter().zip(&alone.cases) {
        assert_eq!(case.known_trials, 0);
        assert!(case.after_us >= 0.9 * alone.after_us, "a time of the old model: {} {}", case.after_us, alone.after_us);
    }
}

#[test]
fn a_new_bank_starts_from_another_one_and_comes_to_the_same() {
    let [old, new] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let backend = Listing::new(1.0);
    let first = run(&backend, &mut bank_in(old.path()), &settings()).unwrap();
    backend.take();
    let base = bank_in(old.path());
    let mut bank = bank_in(new.path());
    let cancel = AtomicBool::new(false);
    let variants = [network()];
    let (backend_ref, settings) = (&backend, repeat());
    let mut job = OpatJob {
        rescue: None,
        to_measure: None,
        name: "net",
        variants: &variants,
        backend: backend_ref,
        bank: &mut bank,
        base: Some(&base),
        settings: &settings,
        cancel: &cancel,
    };
    let second = opat(&mut job, &mut Watch::default()).unwrap();
    assert!(backend.take().len() <= 3 * second.cases.len());
    assert_eq!(found(&first), found(&second));
    let status = |outcome: &OpatOutcome| outcome.cases.iter().map(|c| c.status.clone()).collect::<Vec<_>>();
    assert_eq!(status(&first), status(&second), "what the old bank added the new one adds");
    for case in second.cases.iter().filter(|case| case.status == BankStatus::Added) {
        let entry = bank_in(new.path()).lookup(&case.workload).unwrap().unwrap();
        assert_eq!(entry.measured.unwrap().space, space::version(&case.workload));
    }
}

/// The files of trials below a directory.
fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "gz") {
            found.push(path);
        }
    }
    found
}

#[test]
fn damaged_and_foreign_trials_cost_measurements_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let backend = Listing::new(1.0);
    run(&backend, &mut bank_in(dir.path()), &settings()).unwrap();
    let measured = backend.take().len();
    let files = files(dir.path());
    assert_eq!(files.len(), 3);
    for (file, content) in files.iter().zip([&b""[..], b"\x1f\x8b rubbish", b"{}"]) {
        std::fs::write(file, content).unwrap();
    }
    let again = run(&backend, &mut bank_in(dir.path()), &repeat()).unwrap();
    assert!(again.cases.iter().all(|c| c.known_trials == 0));
    assert!(backend.take().len() > measured / 2);
}

#[test]
fn a_known_tiling_goes_into_the_bank_with_the_time_of_today() {
    let dir = tempfile::tempdir().unwrap();
    let product = Workload::MatMul(MatMul::new(512, 1024, 1024));
    let backend = Listing::new(1.0);
    run(&backend, &mut bank_in(dir.path()), &settings()).unwrap();
    let store = bank_in(dir.path()).trials();
    let mut trials: KnownTrials = store.read(&product, "listing").unwrap();
    // A lucky measurement of long ago: no such time can be had.
    let middle = trials.trials.iter().position(|trial| trial.us.is_some_and(|us| us > 20.0)).unwrap();
    trials.trials[middle].us = Some(0.001);
    store.write(&product, "listing", &trials).unwrap();
    let outcome = run(&backend, &mut bank_in(dir.path()), &repeat()).unwrap();
    assert!(outcome.cases[0].after_us > 1.0, "{}", outcome.cases[0].after_us);
}
