//! What a measurement is to decide about lies apart.

use super::*;
use crate::sim::interval::Interval;
use crate::space::default_origin;
use std::path::Path;

/// Two tilings compare exactly; what stands for an estimated default may be twice too slow.
struct Doubtful(Simulator);

impl Backend for Doubtful {
    fn describe(&self) -> Description {
        self.0.describe()
    }

    fn soc(&self) -> &Soc {
        self.0.soc()
    }

    fn measuring_time(&self) -> Option<std::time::Duration> {
        self.0.measuring_time()
    }

    fn doubt_over_default(&self, workload: &Workload) -> Interval {
        match default_origin(workload, self.soc()) {
            DefaultOrigin::Public => Interval::EXACT,
            DefaultOrigin::Estimated => Interval { low: 0.5, high: 2.0 },
        }
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        self.0.prepare(workload)
    }
}

#[test]
fn what_only_the_estimate_of_the_default_leaves_in_doubt_is_recorded_apart_and_found_again_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let [live, apart] = ["live", "apart"].map(|name| dir.path().join(name));
    for root in [&live, &apart] {
        std::fs::create_dir(root).unwrap();
    }
    let (backend, settings, variants, cancel) = (
        Doubtful(Simulator::new(soc())),
        settings(),
        [chain_of("MatMulV2", &[("a", 1024), ("b", 4096)])],
        AtomicBool::new(false),
    );
    let tune_with = |bank: &Path, to_measure: Option<ToMeasure<'_>>| {
        let mut job = OpatJob {
            name: "net",
            variants: &variants,
            backend: &backend,
            bank: &mut bank_in(bank),
            base: None,
            rescue: None,
            to_measure,
            settings: &settings,
            cancel: &cancel,
        };
        opat(&mut job, &mut Watch::default()).unwrap()
    };
    let tune = |to_measure: Option<ToMeasure<'_>>| tune_with(&live, to_measure);
    let apart_too = || {
        let bank = &mut bank_in(&apart);
        tune(Some(ToMeasure { bank, root: Some(apart.clone()) }))
    };
    let [first, second] = [apart_too(), apart_too()];
    let with = tune_with(&apart, None);
    let doubtful: Vec<_> = first.cases.iter().filter(|case| case.status == BankStatus::ToMeasure).collect();
    assert!(!doubtful.is_empty(), "{first:?}");
    for case in doubtful {
        let found = case.unsure.as_ref().unwrap();
        assert!(found.us < case.before_us && found.us / 0.5 >= case.before_us, "{case:?}");
        assert!(bank_in(&live).lookup(&case.workload).unwrap().is_none(), "CANN's bank has none of it");
        assert_eq!(bank_in(&apart).lookup(&case.workload).unwrap().unwrap().schedule, found.schedule);
        let again = &second.cases[case.index];
        assert_eq!((&again.status, &again.unsure), (&case.status, &case.unsure), "a second run says the same");
        let with = &with.cases[case.index];
        assert_eq!(
            (&with.status, with.after_us),
            (&BankStatus::NotSure, case.before_us),
            "who runs it has no gain yet"
        );
        assert_eq!(with.banked.as_ref().map(|banked| banked.us), Some(found.us), "and is told its time");
    }
    let alone = tune(None);
    assert!(alone.cases.iter().all(|case| case.status != BankStatus::ToMeasure), "there is no record of it");
}
