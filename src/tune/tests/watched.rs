//! What is told from within the search for one operator.

use super::{bank_in, chain, settings, soc, tune};
use crate::backend::simulator::Simulator;
use crate::backend::{Backend, Description, Measure};
use crate::graph::{DataType, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::{self, lower};
use crate::soc::Soc;
use crate::status::Result;
use crate::tune::{Observer, OpatOutcome, OpatSettings, Progress, Tuned, Variant};
use crate::workload::Workload;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The simulator as a backend that says of itself how long it takes to measure.
struct Timed {
    simulator: Simulator,
    measuring: Option<Duration>,
}

impl Backend for Timed {
    fn describe(&self) -> Description {
        self.simulator.describe()
    }

    fn soc(&self) -> &Soc {
        self.simulator.soc()
    }

    fn measuring_time(&self) -> Option<Duration> {
        self.measuring
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        self.simulator.prepare(workload)
    }
}

/// Keeps every call from within a search; cancels at one of them.
#[derive(Default)]
struct Within<'a> {
    calls: Vec<Progress>,
    cancel_at: Option<(usize, &'a AtomicBool)>,
}

impl Observer for Within<'_> {
    fn progress(&mut self, progress: &Progress, _: Tuned<'_>) {
        if progress.searching == 0 {
            return;
        }
        self.calls.push(progress.clone());
        if let Some((call, flag)) = self.cancel_at
            && self.calls.len() >= call
        {
            flag.store(true, Ordering::Release);
        }
    }
}

/// Tunes one product, with this pause between calls.
fn watched(
    measuring: Option<Duration>,
    pause: Duration,
    cancel: (Option<usize>, &AtomicBool),
) -> (Within<'_>, OpatOutcome) {
    let directory = tempfile::tempdir().unwrap();
    let backend = Timed { simulator: Simulator::new(soc()), measuring };
    let settings = OpatSettings { pause, max_trials: 40, ..settings() };
    let mut within = Within { cancel_at: cancel.0.map(|call| (call, cancel.1)), ..Within::default() };
    let variants = [chain(&[("product", 1024)])];
    let outcome = tune(&variants, &backend, &mut bank_in(directory.path()), &settings, cancel.1, &mut within).unwrap();
    (within, outcome)
}

#[test]
fn each_measurement_of_a_search_is_told_where_no_pause_is_wanted() {
    let cancel = AtomicBool::new(false);
    let (within, outcome) = watched(None, Duration::ZERO, (None, &cancel));
    assert!(outcome.tuning.finished);
    let product: Vec<_> = within.calls.iter().filter(|call| call.node == "product").collect();
    assert!(product.len() >= outcome.cases[0].trials, "{} of {}", product.len(), outcome.cases[0].trials);
    for (number, call) in (1..).zip(&product) {
        assert_eq!((call.searching, call.trials, call.done, call.total), (number, number, 0, 2));
        assert!(call.network_us > 0.0 && call.network_us <= call.baseline_us, "{call:?}");
        assert!(call.remaining_s.is_some(), "the search itself gives a pace");
    }
    assert!(product.windows(2).all(|pair| pair[1].network_us <= pair[0].network_us), "the best so far");
    let last = product.last().unwrap();
    assert!((last.baseline_us - outcome.cases[0].before_us).abs() < 1e-9);
    assert!((last.network_us - outcome.cases[0].after_us).abs() < 1e-9);
}

#[test]
fn pauses_are_kept_and_what_measures_fast_is_not_interrupted() {
    let cancel = AtomicBool::new(false);
    let hour = Duration::from_secs(3600);
    for (measuring, pause) in [(None, hour), (Some(Duration::from_micros(1)), Duration::ZERO)] {
        let (within, outcome) = watched(measuring, pause, (None, &cancel));
        assert!(outcome.tuning.finished && within.calls.is_empty(), "{measuring:?} {pause:?}");
    }
}

#[test]
fn a_cancel_from_within_a_search_ends_it() {
    let cancel = AtomicBool::new(false);
    let (within, outcome) = watched(None, Duration::ZERO, (Some(3), &cancel));
    assert!(!outcome.tuning.finished && within.calls.len() >= 3);
}

/// Keeps what was told last.
#[derive(Default)]
struct Last(Progress);

impl Observer for Last {
    fn progress(&mut self, progress: &Progress, _: Tuned<'_>) {
        self.0 = progress.clone();
    }
}

#[test]
fn what_cann_does_not_take_is_no_gain_on_the_way() {
    let mut g = Graph::new("net");
    let tensor = |dims: &[i64]| TensorDesc::new(DataType::Float16, Shape::new(dims));
    let x = g.add_input("x", tensor(&[3, 777, 777])).unwrap();
    let w = g.add_input("w", tensor(&[3, 777, 777])).unwrap();
    let product = g.add(Node::new("product", "BatchMatMulV2").with_inputs([x, w])).unwrap();
    g.add_output(Port::first(product));
    infer::infer(&mut g).unwrap();
    let lowered = lower(&g, &soc(), &lower::Settings::default()).unwrap();
    let variants = [Variant { label: String::new(), graph: g, lowered }];
    let directory = tempfile::tempdir().unwrap();
    let mut last = Last::default();
    let cancel = AtomicBool::new(false);
    let backend = Timed { simulator: Simulator::new(soc()), measuring: None };
    let settings = OpatSettings { pause: Duration::ZERO, max_trials: 100, ..settings() };
    let outcome = tune(&variants, &backend, &mut bank_in(directory.path()), &settings, &cancel, &mut last).unwrap();
    assert!(outcome.after_us() < outcome.before_us() * 0.9 && !outcome.cases[0].is_taken(), "our form has it");
    assert!((last.0.network_us - last.0.baseline_us).abs() < 1e-9, "{:?}", last.0);
}
