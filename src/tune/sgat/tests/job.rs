//! The closed loop: what the bank knows is taken, what is better is recorded, what was interrupted goes on.

use super::{Plan, Sketch};
use crate::bank::BankPaths;
use crate::bank::subgraph::SubgraphBank;
use crate::lower::{Settings, as_stored, lower};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tune::sgat::{Sgat, SgatJob, SgatOutcome, SgatSettings, State, sgat};
use crate::tune::{BankStatus, Observer, Progress, Tuned, Variant};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

fn soc() -> Soc {
    Soc::find("Ascend310P3").unwrap()
}

/// Blocks of narrow products and elementwise work, each block unlike the others.
fn variant(batch: i64, blocks: usize) -> Variant {
    let block = |at: usize| {
        let reads = |back: usize| [at, at.saturating_sub(back)];
        let kind = (at / 6) * (at / 6) % 11;
        match at % 6 {
            0 => Plan { op: 4, reads: reads(0) },
            1 => Plan { op: 1, reads: reads(0) },
            2 => Plan { op: 3, reads: reads(1 + kind % 3) },
            3 => Plan { op: 5, reads: reads(0) },
            _ => Plan { op: [0, 1, 3][kind % 3], reads: reads(kind % 2) },
        }
    };
    let plans: Vec<Plan> = (0..6 * blocks).map(block).collect();
    let graph = Sketch { batch, columns: 64, outputs: vec![plans.len()], plans }.graph();
    let mut lowered = lower(&graph, &soc(), &Settings::default()).unwrap();
    as_stored(&graph, &mut lowered, &soc(), &Settings::default());
    Variant { label: String::new(), graph, lowered }
}

#[derive(Default)]
struct Watch<'a> {
    calls: usize,
    cancel_after: Option<(usize, &'a AtomicBool)>,
}

impl Observer for Watch<'_> {
    fn progress(&mut self, progress: &Progress, tuned: Tuned<'_>) {
        assert!(progress.done <= progress.total && tuned.subgraphs().unwrap().subgraphs.len() <= progress.done);
        assert!(progress.network_us <= progress.baseline_us);
        self.calls += 1;
        if let Some((calls, flag)) = self.cancel_after
            && self.calls >= calls
        {
            flag.store(true, Ordering::Release);
        }
    }
}

fn tuned(variants: &[Variant], directory: &Path, settings: &SgatSettings, cancel_after: Option<usize>) -> Result<Sgat> {
    let soc = soc();
    let left = begun(variants, directory, (&soc, settings), cancel_after)?;
    // As a tuning does that has written all it leaves.
    if left.outcome.tuning.finished {
        let state = State::reload(&directory.join("state"), &soc, settings).expect("what follows may end early too");
        state.clear()?;
    }
    Ok(left)
}

/// A network tuned on a part from an empty bank.
pub fn tuned_on(variants: &[Variant], soc: &Soc, mixed: bool) -> Sgat {
    let directory = tempfile::tempdir().unwrap();
    let settings = SgatSettings { mixed, ..SgatSettings::default() };
    begun(variants, directory.path(), (soc, &settings), None).unwrap()
}

fn begun(
    variants: &[Variant],
    directory: &Path,
    (soc, settings): (&Soc, &SgatSettings),
    cancel_after: Option<usize>,
) -> Result<Sgat> {
    let paths = BankPaths { custom: directory.to_owned(), also_read: Vec::new() };
    let cancel = AtomicBool::new(false);
    let mut state = State::new(&directory.join("state"), soc, settings);
    let mut job = SgatJob {
        name: "net",
        variants,
        lowering: &Settings::default(),
        soc,
        bank: &mut SubgraphBank::open(&paths, soc),
        state: &mut state,
        settings,
        cancel: &cancel,
    };
    sgat(&mut job, &mut Watch { calls: 0, cancel_after: cancel_after.map(|calls| (calls, &cancel)) })
}

fn statuses(outcome: &SgatOutcome) -> Vec<BankStatus> {
    outcome.subgraphs.iter().map(|s| s.status.clone()).collect()
}

#[test]
fn a_known_subgraph_is_taken_from_the_bank_and_searched_again_only_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let variants = [variant(1 << 16, 24)];
    let settings = SgatSettings { mixed: true, ..SgatSettings::default() };
    let first = tuned(&variants, directory.path(), &settings, None).unwrap().outcome;
    assert!(first.tuning.finished && first.after_us() < first.before_us());
    assert!(first.count(&BankStatus::Added) > 1, "{:?}", statuses(&first));
    let again = tuned(&variants, directory.path(), &settings, None).unwrap().outcome;
    for (once, twice) in first.subgraphs.iter().zip(&again.subgraphs) {
        assert_eq!((&once.repo_key, &once.after), (&twice.repo_key, &twice.after));
        let expected = if once.status == BankStatus::Added { BankStatus::Reserved } else { BankStatus::Unsatisfied };
        assert_eq!(twice.status, expected);
        // Before is what CANN runs by itself; the bank stands beside it.
        assert_eq!(twice.before, once.before);
        assert_eq!(twice.banked_us, (once.status == BankStatus::Added).then_some(once.after.us));
        assert!(!twice.is_read_by_cann, "the number of the record is our own");
    }
    let repeat = SgatSettings { repeat_tune: true, ..settings };
    let third = tuned(&variants, directory.path(), &repeat, None).unwrap().outcome;
    assert_eq!(statuses(&third), statuses(&again), "nothing better than the best");
    assert!((third.after_us() - first.after_us()).abs() < 1e-6 * first.after_us());
}

#[test]
fn a_record_that_is_worse_than_the_default_is_searched_again_and_updated() {
    let directory = tempfile::tempdir().unwrap();
    let variants = [variant(1 << 16, 4)];
    // Alike cuts are worse than mixed ones, or equal.
    let expired = SgatSettings { deadline: Some(Instant::now()), ..SgatSettings::default() };
    let none = tuned(&variants, directory.path(), &expired, None).unwrap().outcome;
    assert!(none.tuning.finished && none.subgraphs.iter().all(|s| s.before == s.after));
    assert_eq!(none.count(&BankStatus::Added), 0, "nothing was searched");
    let best = tuned(&variants, directory.path(), &SgatSettings::default(), None).unwrap().outcome;
    let file = directory.path().join("ascend310p3_l2cache_aoe.json");
    // The recorded strategies become the worst: every kernel on its own, no cuts.
    let mut bank =
        crate::bank::subgraph::Bank::parse(crate::bank::subgraph::Kind::Ours, &std::fs::read(&file).unwrap());
    let records: Vec<_> = bank.records().cloned().collect();
    for mut record in records {
        let group = &mut record.strategy.groups[0];
        group.cut.fill(1);
        group.fusion_type.fill(false);
        (0..).zip(&mut group.scope_id).for_each(|(at, id)| *id = -1 - at);
        group.ub_pass.clear();
        bank.put(record).unwrap();
    }
    std::fs::write(&file, crate::bank::Content::render(&bank)).unwrap();
    let updated = tuned(&variants, directory.path(), &SgatSettings::default(), None).unwrap().outcome;
    assert!((updated.before_us() - best.before_us()).abs() < 1e-6 * best.before_us(), "CANN's own is what it was");
    let banked: f64 = updated.subgraphs.iter().filter_map(|s| Some(s.banked_us? * s.count() as f64)).sum();
    assert!(banked > 0.0, "what the bank had is told");
    assert!(updated.count(&BankStatus::Updated) > 0, "{:?}", statuses(&updated));
    assert!((updated.after_us() - best.after_us()).abs() < 1e-6 * best.after_us());
}

#[test]
fn an_interrupted_tuning_goes_on_where_it_was() {
    let (whole, parted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let variants = [variant(1 << 16, 24)];
    let settings = SgatSettings { mixed: true, ..SgatSettings::default() };
    let expected = tuned(&variants, whole.path(), &settings, None).unwrap().outcome;
    let begun = tuned(&variants, parted.path(), &settings, Some(3)).unwrap().outcome;
    assert!(!begun.tuning.finished && begun.subgraphs.len() == 2, "{}", begun.subgraphs.len());
    let state = parted.path().join("state/subgraphs.json");
    assert!(state.exists());
    let ended = tuned(&variants, parted.path(), &settings, None).unwrap().outcome;
    assert_eq!(statuses(&ended), statuses(&expected), "added before the interruption is added still");
    assert!((ended.before_us() - expected.before_us()).abs() < 1e-6 * expected.before_us());
    assert!((ended.after_us() - expected.after_us()).abs() < 1e-6 * expected.after_us());
    assert!(!state.parent().unwrap().exists(), "a finished tuning leaves no state");
    let files = |directory: &Path| std::fs::read(directory.join("ascend310p3_l2cache_aoe.json")).unwrap();
    assert_eq!(files(whole.path()), files(parted.path()));
}

#[test]
fn the_state_of_another_network_soc_or_way_to_cut_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    tuned(&[variant(1 << 16, 24)], directory.path(), &SgatSettings::default(), Some(3)).unwrap();
    let state = directory.path().join("state");
    let before = std::fs::read(state.join("subgraphs.json")).unwrap();
    let message = |error: Error| error.to_string();
    for other in [variant(1 << 15, 24), variant(1 << 16, 2)] {
        let error = message(tuned(&[other], directory.path(), &SgatSettings::default(), None).unwrap_err());
        assert!(error.contains("reload") && error.contains("subgraphs.json"), "{error}");
        assert!(error.contains("another network"), "{error}");
    }
    let reload = |soc: &Soc, mixed| State::reload(&state, soc, &SgatSettings { mixed, ..SgatSettings::default() });
    let error = message(reload(&Soc::find("Ascend910A").unwrap(), false).unwrap_err());
    assert!(error.contains("Ascend310P3") && error.contains("Ascend910A"), "{error}");
    let others = [(Soc { ai_core_cnt: 1, ..soc() }, false), (Soc { l2_size: 8 << 20, ..soc() }, false), (soc(), true)];
    for (other, mixed) in others {
        let error = message(reload(&other, mixed).unwrap_err());
        assert!(error.contains("other cores, sizes, rates or cuts") && error.contains("nonhomo_split"), "{error}");
    }
    assert_eq!(std::fs::read(state.join("subgraphs.json")).unwrap(), before);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let told = |parallel: usize| {
        let directory = tempfile::tempdir().unwrap();
        let variants = [variant(1 << 16, 40), variant(1 << 15, 40)];
        let settings = SgatSettings { mixed: true, parallel, ..SgatSettings::default() };
        let found = tuned(&variants, directory.path(), &settings, None).unwrap();
        let bank = std::fs::read(directory.path().join("ascend310p3_l2cache_aoe.json")).unwrap();
        (format!("{:?} {:?} {:?}", found.outcome.subgraphs, found.lowered, found.marks), bank)
    };
    let alone = told(1);
    assert_eq!(told(2), alone);
    assert_eq!(told(7), alone);
}

#[test]
fn every_variant_runs_as_tuned_and_what_they_share_is_tuned_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut variants = [variant(64, 2), variant(64, 2), variant(1 << 16, 2)];
    for (variant, label) in variants.iter_mut().zip(["@batch=64", "@again", "@batch=65536"]) {
        variant.label = label.into();
    }
    let Sgat { outcome, lowered, before, marks, taken } =
        tuned(&variants, directory.path(), &SgatSettings::default(), None).unwrap();
    let alone = tuned(&variants[..1], tempfile::tempdir().unwrap().path(), &SgatSettings::default(), None).unwrap();
    let half: f64 = alone.outcome.after_us();
    let of = |number: usize| -> f64 {
        outcome
            .subgraphs
            .iter()
            .map(|s| s.after.us * s.places.iter().filter(|p| p.variant == number).count() as f64)
            .sum()
    };
    assert!((of(0) - half).abs() < 1e-6 * half && (of(1) - half).abs() < 1e-6 * half);
    assert!(outcome.subgraphs.iter().any(|s| s.places.iter().any(|p| p.first.ends_with("@again"))));
    let runs = [&lowered, &before, &taken];
    for (variant, lowered) in runs.into_iter().flat_map(|run| variants.iter().zip(run)) {
        let nodes: usize = lowered.kernels.iter().map(|k| 1 + k.fused.len()).sum();
        assert_eq!(nodes, variant.lowered.kernels.len(), "each node runs in one kernel");
    }
    assert_eq!(marks.len(), variants.len());
    for (number, marks) in marks.iter().enumerate() {
        assert_eq!(marks.len(), variants[number].lowered.kernels.len());
        let scopes: std::collections::BTreeSet<i64> = marks.iter().map(|m| m.scope).collect();
        assert_eq!(scopes.len(), lowered[number].kernels.len(), "one number for each kernel");
    }
}

#[test]
fn a_network_without_kernels_has_nothing_to_tune() {
    let mut empty = variant(64, 1);
    empty.lowered.kernels.clear();
    let directory = tempfile::tempdir().unwrap();
    let error = tuned(&[empty], directory.path(), &SgatSettings::default(), None).unwrap_err();
    assert!(matches!(error, Error::NothingToTune { .. }), "{error}");
}
