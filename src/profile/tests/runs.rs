//! Runs say what the reports say, and can be.

use super::*;
use crate::bank::RecordReader;
use crate::profile::{Engine, Kernel};
use crate::tune::BankStatus;
use crate::workload::{Collective, CollectiveKind, MatMul, Operand, Vector};

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[test]
fn durations_sum_up_to_the_times_of_the_reports() {
    for soc in ["Ascend910B2", "Ascend310P3"].map(soc) {
        let directory = tempfile::tempdir().unwrap();
        let mut variants = [variant(1 << 14, &soc), variant(96, &soc)];
        let plain: Vec<Variant> = variants.to_vec();
        let Sgat { outcome: subgraphs, lowered, before, .. } = subgraphs(&variants, &soc, directory.path());
        for (variant, lowered) in variants.iter_mut().zip(lowered) {
            variant.lowered = lowered;
        }
        let forms_before: Vec<Form<'_>> =
            plain.iter().zip(&before).map(|(variant, lowered)| Form { lowered, ..Form::from(variant) }).collect();
        let scene = scene(&soc);
        let first = Timed::of_subgraphs(forms_before, None, scene).unwrap().run();
        assert!(is_near(first.total_us(), subgraphs.before_us()), "{} {}", first.total_us(), subgraphs.before_us());
        let fused = Timed::of_subgraphs(forms(&variants), None, scene).unwrap().run();
        assert!(is_near(fused.total_us(), subgraphs.after_us()), "{} {}", fused.total_us(), subgraphs.after_us());
        let operators = operators(&variants, &soc, directory.path());
        let last = Timed::of_operators(forms(&variants), &operators, Moment::After, scene).run();
        assert!(is_near(last.total_us(), operators.taken_us()), "{} {}", last.total_us(), operators.taken_us());
        let between = Timed::of_operators(forms(&variants), &operators, Moment::Before, scene).run();
        assert!(is_near(between.total_us(), operators.before_us()));
    }
}

#[test]
fn the_run_after_has_the_tilings_that_cann_takes_and_no_others() {
    let soc = soc("Ascend910B2");
    let directory = tempfile::tempdir().unwrap();
    let variants = [variant(512, &soc)];
    let mut outcome = operators(&variants, &soc, directory.path());
    let total = |outcome: &OpatOutcome| {
        Timed::of_operators(forms(&variants), outcome, Moment::After, scene(&soc)).run().total_us()
    };
    let case = &mut outcome.cases[0];
    (case.status, case.reader, case.after_us) = (BankStatus::Added, RecordReader::RuntimeBank, case.before_us / 2.0);
    let saved = case.before_us / 2.0 * case.count() as f64;
    let taken = total(&outcome);
    outcome.cases[0].reader = RecordReader::OwnForm;
    assert!(is_near(total(&outcome), taken + saved), "{} {taken} {saved}", total(&outcome));
}

#[test]
fn tasks_follow_each_other_and_each_launch_is_one() {
    let soc = soc("Ascend310P3");
    let mut variants = [variant(96, &soc)];
    // As where a group of three kernels runs on four parts of the batch, one after the other.
    for kernel in &mut variants[0].lowered.kernels[1..4] {
        (kernel.launches, kernel.missed) = (4, Some(1024.0));
    }
    let run = Timed::of_subgraphs(forms(&variants), None, scene(&soc)).unwrap().run();
    let order: Vec<usize> = run.tasks.iter().map(|task| task.kernel).collect();
    assert_eq!(order, [0, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 4, 5, 6]);
    for pair in run.tasks.windows(2) {
        assert!((run.span(&pair[0])[1] - pair[1].start_us).abs() < 1e-9);
    }
    let nodes: Vec<&str> = run.kernels.iter().flat_map(Kernel::nodes).collect();
    assert_eq!(nodes.len(), 7, "each node runs in one kernel: {nodes:?}");
}

#[test]
fn a_kernel_names_its_tensors_in_the_types_that_it_runs_in() {
    let [before, _] = sample();
    let product = &before.kernels[0];
    let shapes = |tensors: &[crate::profile::Tensor]| -> Vec<(String, &'static str, bool)> {
        tensors.iter().map(|t| (t.desc.shape.to_string(), t.desc.dtype.name(), t.is_weight)).collect()
    };
    let expected = [("[512,1024]".to_owned(), "float16", false), ("[1024,1024]".to_owned(), "float16", true)];
    assert_eq!(shapes(&product.inputs), expected);
    assert_eq!(shapes(&product.outputs), [("[512,1024]".to_owned(), "float16", false)]);
    assert_eq!((product.engine, before.kernels[1].engine), (Engine::AiCore, Engine::AiVectorCore));
    assert!(product.prediction.is_some() && product.is_simulated);
}

#[test]
fn a_fused_kernel_reads_from_outside_and_leaves_what_others_read() {
    let run = fused(4096, "Ascend310P3");
    let first = &run.kernels[0];
    assert_eq!((first.name.as_str(), first.fused.first().map(String::as_str)), ("dense0/MatMul", Some("dense0/Relu")));
    assert_eq!(first.inputs.iter().filter(|tensor| tensor.is_weight).count(), 1);
    assert_eq!(first.inputs.len() - 1, 1, "what it makes itself it does not read: {:?}", first.inputs);
    assert!(!first.outputs.is_empty() && first.engine == Engine::AiCore);
}

#[test]
fn a_view_between_the_parts_of_a_kernel_is_neither_read_nor_left() {
    let soc = soc("Ascend910B2");
    let tensor = |dims: &[i64]| TensorDesc::new(DataType::Float16, Shape::new(dims));
    let mut graph = Graph::new("net");
    let x = graph.add_input("x", tensor(&[64, 128])).unwrap();
    let relu = graph.add(Node::new("relu", "Relu").with_inputs([x])).unwrap();
    let view = graph.add(Node::new("view", "Identity").with_inputs([Port::first(relu)])).unwrap();
    let abs = graph.add(Node::new("abs", "Abs").with_inputs([Port::first(view)])).unwrap();
    graph.add_output(Port::first(abs));
    infer::infer(&mut graph).unwrap();
    let lowered = lower(&graph, &soc, &Settings::default()).unwrap();
    let mut variants = [Variant { label: String::new(), graph, lowered }];
    let kernels = &mut variants[0].lowered.kernels;
    assert_eq!(kernels.len(), 2, "the view runs nothing");
    let second = kernels.remove(1);
    kernels[0].workload = Workload::Fused(vec![kernels[0].workload.clone(), second.workload]);
    kernels[0].fused.push(second.node);
    let run = Timed::of_subgraphs(forms(&variants), None, scene(&soc)).unwrap().run();
    assert_eq!((run.kernels[0].inputs.len(), run.kernels[0].outputs.len()), (1, 1), "{:?}", run.kernels[0]);
}

#[test]
fn the_engine_follows_from_the_work_and_the_cores() {
    let product = || Workload::MatMul(MatMul::new(64, 64, 64));
    let operand = || Operand::new([64 * 64], DataType::Float16);
    let vector =
        |op: &str| Workload::Vector(Vector { op_type: op.into(), inputs: vec![operand()], outputs: vec![operand()] });
    let relu = || vector("Relu");
    let reduce = Workload::Collective(Collective { kind: CollectiveKind::AllReduce, bytes: 1 << 20 });
    let fused = Workload::Fused(vec![product(), vector("Gelu")]);
    let on = |soc: &str| [&product(), &relu(), &fused, &reduce].map(|work| Engine::of(work, &super::soc(soc)));
    assert_eq!(on("Ascend910B2"), [Engine::AiCore, Engine::AiVectorCore, Engine::MixAic, Engine::Communication]);
    assert_eq!(on("Ascend910A"), [Engine::AiCore, Engine::AiCore, Engine::AiCore, Engine::Communication]);
    let by_fixpipe = Workload::Fused(vec![product(), vector("Cast"), relu()]);
    assert_eq!(Engine::of(&by_fixpipe, &soc("Ascend910B2")), Engine::AiCore);
    // Vector cores beside those that do both.
    assert_eq!(on("Ascend310P3"), [Engine::AiCore, Engine::AiVectorCore, Engine::AiCore, Engine::Communication]);
}
