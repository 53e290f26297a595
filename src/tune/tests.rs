//! Properties of the loop, on the simulator and on backends that misbehave.

mod earlier;
mod job;
mod near;
mod recordable;
mod to_measure;
mod together;
mod watched;

use super::*;
use crate::backend::simulator::Simulator;
use crate::backend::{Backend, Description, Measure, Measurement};
use crate::bank::{BankEnvironment, BankPaths, OperatorBank};
use crate::graph::{Attr, DataType, Graph, Node, NodeId, Port, Shape, TensorDesc, infer};
use crate::lower::{self, lower};
use crate::search::{Algorithm, StopReason};
use crate::soc::Soc;
use crate::status::{Error, Result, Status};
use crate::workload::{DefaultOrigin, Schedule, Workload};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Two equal matrix products, another one, and a Relu.
fn network() -> Variant {
    chain(&[("a", 1024), ("b", 1024), ("c", 4096)])
}

/// Matrix products one after the other, named and with this many columns, and a Relu.
fn chain(products: &[(&str, i64)]) -> Variant {
    chain_of("MatMulV3", products)
}

/// The same of products of this type.
fn chain_of(op_type: &str, products: &[(&str, i64)]) -> Variant {
    let mut g = Graph::new("net");
    let tensor = |dims: &[i64]| TensorDesc::new(DataType::Float16, Shape::new(dims));
    let mut x = g.add_input("x", tensor(&[512, 1024])).unwrap();
    let mut k = 1024;
    for &(name, n) in products {
        let w = g.add_const(format!("{name}.w"), tensor(&[k, n]), crate::graph::Constant::Opaque).unwrap();
        x = Port::first(g.add(Node::new(name, op_type).with_inputs([x, w])).unwrap());
        k = n;
    }
    let relu = g.add(Node::new("relu", "Relu").with_inputs([x])).unwrap();
    g.add_output(Port::first(relu));
    infer::infer(&mut g).unwrap();
    let lowered = lower(&g, &soc(), &lower::Settings::default()).unwrap();
    Variant { label: String::new(), graph: g, lowered }
}

fn settings() -> OpatSettings {
    OpatSettings {
        seed: 7,
        algorithm: Algorithm::Auto,
        max_trials: 200,
        parallel: 1,
        repeat_tune: false,
        filter: OpFilter::default(),
        deadline: None,
        pause: OpatSettings::PAUSE,
    }
}

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

/// The simulator, taken at its word: its doubts keep it from recording what gains little.
struct Sure(Simulator);

impl Sure {
    fn of(soc: Soc) -> Sure {
        Sure(Simulator::new(soc))
    }
}

impl Backend for Sure {
    fn describe(&self) -> Description {
        self.0.describe()
    }

    fn soc(&self) -> &Soc {
        self.0.soc()
    }

    fn measuring_time(&self) -> Option<std::time::Duration> {
        self.0.measuring_time()
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        self.0.prepare(workload)
    }
}

fn bank_in(directory: &std::path::Path) -> OperatorBank {
    let environment = BankEnvironment { tune_bank_path: Some(directory.to_owned()), ..BankEnvironment::default() };
    OperatorBank::open(BankPaths::operator(&environment, &soc()).unwrap(), &soc())
}

/// Counts calls; cancels after some of them when asked.
#[derive(Default)]
struct Watch<'a> {
    calls: usize,
    cancel_after: Option<(usize, &'a AtomicBool)>,
}

impl Observer for Watch<'_> {
    fn progress(&mut self, progress: &Progress, tuned: Tuned<'_>) {
        assert_eq!(progress.done, tuned.operators().unwrap().cases.len());
        self.calls += 1;
        if let Some((calls, flag)) = self.cancel_after
            && self.calls >= calls
        {
            flag.store(true, Ordering::Release);
        }
    }
}

fn run(backend: &dyn Backend, bank: &mut OperatorBank, settings: &OpatSettings) -> Result<OpatOutcome> {
    let cancel = AtomicBool::new(false);
    tune(&[network()], backend, bank, settings, &cancel, &mut Watch::default())
}

/// [`opat`] on these variants of one graph.
fn tune(
    variants: &[Variant],
    backend: &dyn Backend,
    bank: &mut OperatorBank,
    settings: &OpatSettings,
    cancel: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<OpatOutcome> {
    opat(
        &mut OpatJob {
            name: "net",
            variants,
            backend,
            bank,
            base: None,
            rescue: None,
            to_measure: None,
            settings,
            cancel,
        },
        observer,
    )
}

#[test]
fn equal_workloads_are_tuned_once_and_nothing_gets_worse() {
    let dir = tempfile::tempdir().unwrap();
    let outcome = run(&Sure::of(soc()), &mut bank_in(dir.path()), &settings()).unwrap();
    assert!(outcome.tuning.finished);
    let names: Vec<_> =
        outcome.cases.iter().map(|c| c.nodes.iter().map(|n| n.name.as_str()).collect::<Vec<_>>()).collect();
    assert_eq!(names, [vec!["a", "b"], vec!["c"], vec!["relu"]]);
    for case in &outcome.cases {
        assert!(case.after_us <= case.before_us && case.before_us > 0.0);
        assert!(case.stop.is_some() && case.trials > 0, "{case:?}");
        // The way to the best begins with the time before, falls, and ends with the time after.
        let steps = &case.improvements;
        assert!(steps.is_sorted_by(|a, b| a.trial < b.trial && a.us > b.us), "{steps:?}");
        let ends = (steps.first().map(|first| first.us), steps.last().map(|last| last.us));
        assert_eq!(ends, (Some(case.before_us), Some(case.after_us)));
    }
    let sum: f64 = outcome.cases.iter().map(|c| c.after_us * c.count() as f64).sum();
    assert!((outcome.after_us() - sum).abs() < 1e-9);
}

#[test]
fn a_record_is_made_only_where_the_doubt_leaves_a_gain() {
    let dir = tempfile::tempdir().unwrap();
    let outcome = run(&Simulator::new(soc()), &mut bank_in(dir.path()), &settings()).unwrap();
    let in_doubt: Vec<_> = outcome.cases.iter().filter(|case| case.unsure.is_some()).collect();
    assert!(!in_doubt.is_empty(), "small gains are in doubt");
    for case in &outcome.cases {
        let doubt = Simulator::new(soc()).doubt(&case.workload);
        // Over a default that is estimated, more is in doubt than which of two tilings is better.
        let told = case.doubt.unwrap();
        let is_closed = case.default == DefaultOrigin::Estimated && case.workload.is_cube();
        assert_eq!(told.low < doubt.low, is_closed, "{case:?}");
        match &case.unsure {
            Some(found) => {
                assert!(found.us < case.before_us && found.us / told.low >= case.before_us, "{case:?}");
                assert_eq!((&case.after, case.after_us), (&case.before, case.before_us));
                assert!(bank_in(dir.path()).lookup(&case.workload).unwrap().is_none());
            }
            None => assert!(case.status != BankStatus::Added || case.after_us / told.low < case.before_us),
        }
    }
}

#[test]
fn what_cannot_be_measured_counts_with_the_default_as_the_simulator_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let outcome = run(&Refusing(Simulator::new(soc())), &mut bank_in(dir.path()), &settings()).unwrap();
    let priced = run(&Simulator::new(soc()), &mut bank_in(dir.path()), &settings()).unwrap();
    for (case, priced) in outcome.cases.iter().zip(&priced.cases) {
        assert!(matches!(case.status, BankStatus::Failed(_)), "{case:?}");
        assert_eq!((case.before_us, case.after_us), (priced.before_us, priced.before_us));
        assert_eq!(case.backend, Simulator::NAME, "nobody else has this time");
    }
    assert_eq!(outcome.ended().unwrap_err().status(), Status::TuningError);
}

/// Measures nothing.
struct Refusing(Simulator);

impl Backend for Refusing {
    fn describe(&self) -> Description {
        Description { name: "refusing".into(), ..self.0.describe() }
    }

    fn soc(&self) -> &Soc {
        self.0.soc()
    }

    fn prepare<'a>(&'a self, _: &Workload) -> Result<Box<dyn Measure + 'a>> {
        Ok(Box::new(Refusal))
    }
}

struct Refusal;

impl Measure for Refusal {
    fn measure(&mut self, _: &Schedule) -> Measurement {
        Measurement::Failed { reason: "no".into() }
    }
}

#[test]
fn the_number_of_threads_does_not_change_the_result() {
    let of = |parallel| {
        let dir = tempfile::tempdir().unwrap();
        let outcome =
            run(&Simulator::new(soc()), &mut bank_in(dir.path()), &OpatSettings { parallel, ..settings() }).unwrap();
        outcome.cases.iter().map(|c| (c.after.clone(), c.after_us.to_bits(), c.trials)).collect::<Vec<_>>()
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn what_one_tuning_adds_the_next_finds_and_reserves() {
    let dir = tempfile::tempdir().unwrap();
    let simulator = Sure::of(soc());
    let first = run(&simulator, &mut bank_in(dir.path()), &settings()).unwrap();
    let added: Vec<_> = first.cases.iter().filter(|c| c.status == BankStatus::Added).collect();
    assert!(!added.is_empty());
    let second = run(&simulator, &mut bank_in(dir.path()), &settings()).unwrap();
    for case in added {
        let again = &second.cases[case.index];
        assert_eq!(again.status, BankStatus::Reserved);
        let banked = again.banked.as_ref().map(|banked| (&banked.schedule, banked.us));
        assert_eq!((again.trials, banked), (0, Some((&case.after, case.after_us))), "what the bank had");
        let default = (&case.before, case.before_us);
        assert_eq!((&again.before, again.before_us), default, "before is CANN's default, whatever the bank has");
        assert_eq!((&again.after, again.after_us), (&case.after, case.after_us), "the same gain");
    }
    let repeat = OpatSettings { repeat_tune: true, seed: 8, ..settings() };
    let third = run(&simulator, &mut bank_in(dir.path()), &repeat).unwrap();
    assert!(third.cases.iter().all(|c| c.trials > 0 && c.after_us <= c.before_us));
}

#[test]
fn a_filter_leaves_the_rest_at_its_baseline() {
    let dir = tempfile::tempdir().unwrap();
    let filter = OpFilter { names: vec!["c".into()], types: vec![] };
    let outcome =
        run(&Simulator::new(soc()), &mut bank_in(dir.path()), &OpatSettings { filter, ..settings() }).unwrap();
    for case in &outcome.cases {
        assert_eq!(case.status == BankStatus::NotTuned, case.nodes[0].name != "c");
    }
}

#[test]
fn nothing_tunable_is_said_so() {
    let mut bank = bank_in(tempfile::tempdir().unwrap().path());
    let filter = OpFilter { names: vec!["no such node".into()], types: vec![] };
    let result = run(&Simulator::new(soc()), &mut bank, &OpatSettings { filter, ..settings() });
    assert!(matches!(result, Err(Error::NothingToTune { .. })));
}

#[test]
fn where_nothing_is_tuned_because_of_operators_left_out_these_are_named() {
    let mut graph = Graph::new("pick");
    let x = graph.add_input("x", TensorDesc::new(DataType::Float, Shape::new([16, 16]))).unwrap();
    for number in 0..5 {
        let mut node = Node::new(format!("if{number}"), "If").with_inputs([x]);
        node.outputs = vec![TensorDesc::new(DataType::Float, Shape::new([16, 16]))];
        (node.mapped, node.origin_type) = (false, "If".to_owned());
        node.attrs.set(crate::graph::WHY_UNMAPPED, Attr::Str("only a run tells".to_owned()));
        graph.add(node).unwrap();
    }
    let lowered = lower(&graph, &soc(), &lower::Settings::default()).unwrap();
    let variants = [Variant { label: String::new(), graph, lowered }];
    let mut bank = bank_in(tempfile::tempdir().unwrap().path());
    let cancel = AtomicBool::new(false);
    let mut watch = Watch { calls: 0, cancel_after: None };
    let error = tune(&variants, &Simulator::new(soc()), &mut bank, &settings(), &cancel, &mut watch).unwrap_err();
    let message = error.to_string();
    let parts = ["covers; node `if0` (If): only a run tells; node `if1`", "`if2`", "and 2 more like these"];
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
}

#[test]
fn a_passed_deadline_leaves_the_baseline_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let late = OpatSettings { deadline: Some(std::time::Instant::now()), ..settings() };
    let outcome = run(&Simulator::new(soc()), &mut bank_in(dir.path()), &late).unwrap();
    assert!(outcome.cases.iter().all(|c| c.stop == Some(StopReason::TimeLimit) && c.trials == 0));
}

#[test]
fn a_cancel_keeps_what_was_found_and_says_unfinished() {
    let dir = tempfile::tempdir().unwrap();
    let cancel = AtomicBool::new(false);
    let (variants, simulator, settings) = ([network()], Simulator::new(soc()), settings());
    let mut bank = bank_in(dir.path());
    let mut watch = Watch { calls: 0, cancel_after: Some((2, &cancel)) };
    let outcome = tune(&variants, &simulator, &mut bank, &settings, &cancel, &mut watch).unwrap();
    assert!(!outcome.tuning.finished);
    let found = bank_in(dir.path()).lookup(&outcome.cases[0].workload).unwrap();
    assert_eq!(found.is_some(), outcome.cases[0].status == BankStatus::Added);
}

/// Fails every n-th measurement, or every one of a kind of workload.
struct Faulty {
    inner: Simulator,
    calls: AtomicUsize,
    every: usize,
}

impl Backend for Faulty {
    fn describe(&self) -> Description {
        self.inner.describe()
    }

    fn soc(&self) -> &Soc {
        self.inner.soc()
    }

    fn measuring_time(&self) -> Option<std::time::Duration> {
        self.inner.measuring_time()
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        Ok(Box::new(FaultyMeasure { inner: self.inner.prepare(workload)?, owner: self }))
    }
}

struct FaultyMeasure<'a> {
    inner: Box<dyn Measure + 'a>,
    owner: &'a Faulty,
}

impl Measure for FaultyMeasure<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Measurement {
        let call = self.owner.calls.fetch_add(1, Ordering::Relaxed);
        if call % self.owner.every == self.owner.every - 1 {
            return Measurement::Failed { reason: "planted".into() };
        }
        self.inner.measure(schedule)
    }
}

#[test]
fn failed_candidates_are_outcomes_and_never_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let backend = Faulty { inner: Simulator::new(soc()), calls: AtomicUsize::new(0), every: 3 };
    let outcome = run(&backend, &mut bank_in(dir.path()), &settings()).unwrap();
    assert!(outcome.tuning.finished);
    assert!(outcome.cases.iter().map(|c| c.failed_trials).sum::<usize>() > 0);
}

#[test]
fn a_baseline_that_cannot_run_fails_its_case_only() {
    let dir = tempfile::tempdir().unwrap();
    let backend = Faulty { inner: Simulator::new(soc()), calls: AtomicUsize::new(0), every: 1 };
    let outcome = run(&backend, &mut bank_in(dir.path()), &settings()).unwrap();
    assert!(outcome.cases.iter().all(|c| matches!(&c.status, BankStatus::Failed(why) if why.contains("planted"))));
}

#[test]
fn a_tuning_fails_where_no_operator_could_be_measured_and_only_there() {
    let run = |every| {
        let dir = tempfile::tempdir().unwrap();
        let backend = Faulty { inner: Simulator::new(soc()), calls: AtomicUsize::new(0), every };
        run(&backend, &mut bank_in(dir.path()), &settings()).unwrap()
    };
    let error = run(1).ended().unwrap_err();
    assert_eq!(error.status(), Status::TuningError);
    assert_eq!(
        error.to_string(),
        "tuning failed: no operator could be measured; the first of 3, `a`: the baseline cannot be measured: planted"
    );
    let mut some = run(usize::MAX);
    some.cases[0].status = BankStatus::Failed("planted".into());
    assert!(some.ended().is_ok());
    some.tuning.finished = false;
    assert!(matches!(some.ended(), Err(Error::Cancelled)));
    // What is not tuned is no success either.
    for case in &mut some.cases[1..] {
        case.status = BankStatus::NotTuned;
    }
    some.tuning.finished = true;
    assert!(matches!(some.ended(), Err(Error::Tuning { .. })));
}

#[test]
fn there_is_nothing_to_tune_where_the_backend_can_measure_no_operator() {
    let dir = tempfile::tempdir().unwrap();
    let mut outcome = run(&Simulator::new(soc()), &mut bank_in(dir.path()), &settings()).unwrap();
    let not_measured = |reason: &str| BankStatus::NotMeasured(reason.to_owned());
    for case in &mut outcome.cases[1..] {
        case.status = not_measured("no such entry");
    }
    assert!(outcome.ended().is_ok(), "one was measured");
    outcome.cases[0].status = BankStatus::NotTuned;
    let error = outcome.ended().unwrap_err();
    assert_eq!(error.status(), Status::NonOptimizeGraph);
    let (count, name) = (outcome.cases.len() - 1, &outcome.cases[1].nodes[0].name);
    let told = format!(
        "can measure no operator of graph `{}`; the first of {count}, `{name}`: no such entry",
        outcome.tuning.graph
    );
    assert!(error.to_string().contains(&told), "{error}");
    outcome.cases[0].status = BankStatus::Failed("planted".into());
    assert!(matches!(outcome.ended(), Err(Error::Tuning { .. })), "what fails is told first");
}

#[test]
fn operators_that_nobody_knows_are_named_and_count_no_time() {
    let mut variant = network();
    let id: NodeId = variant.graph.find("relu").unwrap();
    let node = variant.graph.node_mut(id);
    (node.mapped, node.op_type) = (false, "my::Op".into());
    node.attrs.set("x", Attr::Int(1));
    variant.lowered = lower(&variant.graph, &soc(), &lower::Settings::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (variants, simulator, settings) = ([variant], Simulator::new(soc()), settings());
    let mut bank = bank_in(dir.path());
    let cancel = AtomicBool::new(false);
    let outcome = tune(&variants, &simulator, &mut bank, &settings, &cancel, &mut Watch::default()).unwrap();
    assert_eq!(outcome.tuning.unmapped[0].name, "relu");
    let case = outcome.cases.iter().find(|c| c.nodes[0].name == "relu").unwrap();
    assert_eq!((case.status.clone(), case.before_us, case.after_us), (BankStatus::NotModelled, 0.0, 0.0));
    assert!(outcome.before_us() > 0.0 && outcome.ended().is_ok());
}

/// Asks for a cancel after so many measurements.
struct Impatient<'a> {
    inner: Simulator,
    left: AtomicUsize,
    cancel: &'a AtomicBool,
}

impl Backend for Impatient<'_> {
    fn describe(&self) -> Description {
        self.inner.describe()
    }

    fn soc(&self) -> &Soc {
        self.inner.soc()
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        Ok(Box::new(ImpatientMeasure { inner: self.inner.prepare(workload)?, owner: self }))
    }
}

struct ImpatientMeasure<'a> {
    inner: Box<dyn Measure + 'a>,
    owner: &'a Impatient<'a>,
}

impl Measure for ImpatientMeasure<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Measurement {
        if self.owner.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.owner.cancel.store(true, Ordering::Release);
        }
        self.inner.measure(schedule)
    }
}

#[test]
fn a_cancel_keeps_the_best_of_the_operator_under_way() {
    let dir = tempfile::tempdir().unwrap();
    let cancel = AtomicBool::new(false);
    let backend = Impatient { inner: Simulator::new(soc()), left: AtomicUsize::new(100), cancel: &cancel };
    let (variants, settings) = ([network()], settings());
    let mut bank = bank_in(dir.path());
    let outcome = tune(&variants, &backend, &mut bank, &settings, &cancel, &mut Watch::default()).unwrap();
    let case = &outcome.cases[0];
    assert_eq!((outcome.tuning.finished, outcome.cases.len(), case.stop), (false, 1, Some(StopReason::Cancelled)));
    assert!(case.status == BankStatus::Added && case.after_us < case.before_us, "99 candidates hold a better one");
    let kept = bank_in(dir.path()).lookup(&case.workload).unwrap().unwrap();
    assert_eq!(kept.schedule, case.after);
}

/// Looks into the bank's directory when so many operators are done.
struct Peek<'a> {
    bank: &'a std::path::Path,
    seen: bool,
}

impl Observer for Peek<'_> {
    fn progress(&mut self, progress: &Progress, tuned: Tuned<'_>) {
        if progress.done == 9 {
            let outcome = tuned.operators().unwrap();
            let first = outcome.cases.iter().find(|case| case.status == BankStatus::Added).unwrap();
            self.seen = bank_in(self.bank).lookup(&first.workload).unwrap().is_some();
        }
    }
}

#[test]
fn the_bank_follows_while_tuning_runs() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<_> = (0..12).map(|i| format!("p{i}")).collect();
    let products: Vec<_> = names.iter().zip(1..).map(|(name, i)| (name.as_str(), 256 * i)).collect();
    let variants = [chain(&products)];
    let (simulator, settings, cancel) = (Sure::of(soc()), settings(), AtomicBool::new(false));
    let mut bank = bank_in(dir.path());
    let mut peek = Peek { bank: dir.path(), seen: false };
    tune(&variants, &simulator, &mut bank, &settings, &cancel, &mut peek).unwrap();
    assert!(peek.seen);
}

#[test]
fn a_node_is_selected_by_the_name_of_what_was_fused_into_it() {
    let mut variant = network();
    let product = variant.graph.find("c").unwrap();
    let names = Attr::Strs(vec!["c/bias".into(), "c/gelu".into()]);
    variant.graph.node_mut(product).attrs.set(lower::FUSED_NODES, names);
    let tuned = |name: &str| {
        let filter = OpFilter { names: vec![name.into()], types: Vec::new() };
        let cases = distinct(std::slice::from_ref(&variant), &filter);
        cases.into_iter().filter(|case| case.tune).map(|case| case.nodes[0].name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(tuned("c/gelu"), ["c"]);
    assert_eq!(tuned("c"), ["c"]);
    assert!(tuned("bias").is_empty());
}

#[test]
fn a_kernel_is_selected_by_the_name_that_a_profile_gives_it() {
    let mut variant = network();
    let kernels = &mut variant.lowered.kernels;
    let relu = kernels.pop().unwrap();
    let last = kernels.last_mut().unwrap();
    last.fused.push(relu.node);
    let filter = OpFilter { names: vec!["crelu".into()], types: Vec::new() };
    let cases = distinct(std::slice::from_ref(&variant), &filter);
    let tuned: Vec<_> = cases.iter().filter(|case| case.tune).map(|case| case.nodes[0].name.as_str()).collect();
    assert_eq!(tuned, ["crelu"]);
    assert!(cases.iter().all(|case| case.tune == case.asked.contains(&0)));
}

#[test]
fn a_bank_that_cannot_be_written_ends_no_tuning_and_its_records_go_where_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let room = dir.path().join("aoe_bank_unsaved");
    let settings = settings();
    let cancel = AtomicBool::new(false);
    let variants = [network()];
    // Nobody can lock a file below a file, whatever the rights.
    let full = dir.path().join("full");
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join(".aoe"), "").unwrap();
    let mut bank = OperatorBank::open(BankPaths { custom: full, also_read: Vec::new() }, &soc());
    let backend = Sure::of(soc());
    let mut job = OpatJob {
        name: "net",
        variants: &variants,
        backend: &backend,
        bank: &mut bank,
        base: None,
        rescue: Some(room.clone()),
        to_measure: None,
        settings: &settings,
        cancel: &cancel,
    };
    let outcome = opat(&mut job, &mut Watch::default()).unwrap();
    assert!(outcome.tuning.finished);
    assert_eq!(outcome.count(&BankStatus::Added), 0, "the bank has none");
    let unsaved: Vec<_> = outcome.cases.iter().filter(|case| case.status == BankStatus::Unsaved).collect();
    assert!(!unsaved.is_empty());
    let error = outcome.ended().unwrap_err().to_string();
    assert!(error.contains("full") && error.contains("aoe bank merge --into"), "{error}");
    let rescued = OperatorBank::open(BankPaths { custom: room, also_read: Vec::new() }, &soc());
    for case in unsaved {
        assert_eq!(rescued.lookup(&case.workload).unwrap().unwrap().schedule, case.after);
    }
}
