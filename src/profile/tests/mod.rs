//! Properties of profiles, on a small network that is tuned for real.

mod runs;
mod tables;
mod traces;

use super::{Form, Moment, Run, Scene, Timed};
use crate::backend::simulator::Simulator;
use crate::bank::subgraph::SubgraphBank;
use crate::bank::{BankPaths, OperatorBank};
use crate::graph::{Constant, DataType, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::{Settings, lower};
use crate::search::Algorithm;
use crate::soc::Soc;
use crate::tune::sgat::{Sgat, SgatJob, SgatSettings, State, sgat};
use crate::tune::{OpFilter, OpatJob, OpatOutcome, OpatSettings, Variant, opat};
use crate::workload::Workload;
use std::path::Path;
use std::sync::atomic::AtomicBool;

pub(super) fn soc(name: &str) -> Soc {
    Soc::find(name).unwrap()
}

/// Products with elementwise work behind them, twice over, and a softmax.
pub(super) fn variant(batch: i64, soc: &Soc) -> Variant {
    let mut graph = Graph::new("net");
    let tensor = |dims: &[i64]| TensorDesc::new(DataType::Float, Shape::new(dims));
    let mut x = graph.add_input("x", tensor(&[batch, 1024])).unwrap();
    for layer in 0..2 {
        let weight = graph.add_const(format!("w{layer}"), tensor(&[1024, 1024]), Constant::Opaque).unwrap();
        let product = Node::new(format!("dense{layer}/MatMul"), "MatMulV2").with_inputs([x, weight]);
        let product = Port::first(graph.add(product).unwrap());
        let relu = Node::new(format!("dense{layer}/Relu"), "Relu").with_inputs([product]);
        x = Port::first(graph.add(relu).unwrap());
        let sum = Node::new(format!("dense{layer}/Add"), "Add").with_inputs([x, x]);
        x = Port::first(graph.add(sum).unwrap());
    }
    let softmax = graph.add(Node::new("softmax", "SoftmaxV2").with_inputs([x])).unwrap();
    graph.add_output(Port::first(softmax));
    infer::infer(&mut graph).unwrap();
    let lowered = lower(&graph, soc, &Settings::default()).unwrap();
    Variant { label: String::new(), graph, lowered }
}

pub(super) fn scene(soc: &Soc) -> Scene<'_> {
    Scene { network: "net", soc, precision: Settings::default().precision }
}

pub(super) fn forms(variants: &[Variant]) -> Vec<Form<'_>> {
    variants.iter().map(Form::from).collect()
}

/// Operator tuning of these variants.
pub(super) fn operators(variants: &[Variant], soc: &Soc, directory: &Path) -> OpatOutcome {
    let settings = OpatSettings {
        seed: 1,
        algorithm: Algorithm::Auto,
        max_trials: 100,
        parallel: 1,
        repeat_tune: false,
        filter: OpFilter::default(),
        deadline: None,
        pause: OpatSettings::PAUSE,
    };
    let paths = BankPaths { custom: directory.join("op"), also_read: Vec::new() };
    let mut job = OpatJob {
        rescue: None,
        to_measure: None,
        name: "net",
        variants,
        backend: &Simulator::new(soc.clone()),
        bank: &mut OperatorBank::open(paths, soc),
        base: None,
        settings: &settings,
        cancel: &AtomicBool::new(false),
    };
    opat(&mut job, &mut ()).unwrap()
}

/// Subgraph tuning of these variants.
pub(super) fn subgraphs(variants: &[Variant], soc: &Soc, directory: &Path) -> Sgat {
    let paths = BankPaths { custom: directory.join("graph"), also_read: Vec::new() };
    let mut job = SgatJob {
        name: "net",
        variants,
        lowering: &Settings::default(),
        soc,
        bank: &mut SubgraphBank::open(&paths, soc),
        state: &mut State::new(&directory.join("state"), soc, &SgatSettings::default()),
        settings: &SgatSettings::default(),
        cancel: &AtomicBool::new(false),
    };
    sgat(&mut job, &mut ()).unwrap()
}

/// The network as subgraph tuning leaves it.
pub(super) fn fused(batch: i64, soc: &str) -> Run {
    let soc = super::tests::soc(soc);
    let directory = tempfile::tempdir().unwrap();
    let mut variants = [variant(batch, &soc)];
    let found = subgraphs(&variants, &soc, directory.path());
    variants.iter_mut().zip(found.lowered).for_each(|(variant, lowered)| variant.lowered = lowered);
    Timed::of_subgraphs(forms(&variants), None, scene(&soc)).unwrap().run()
}

/// The network on the 910B2, its first product with a GELU behind it in one kernel, on both kinds of cores.
pub(super) fn mixed() -> Run {
    let soc = soc("Ascend910B2");
    let mut variants = [variant(1 << 14, &soc)];
    let kernels = &mut variants[0].lowered.kernels;
    let relu = kernels.remove(1);
    let Workload::Vector(mut gelu) = relu.workload else { panic!("{:?}", relu.workload) };
    gelu.op_type = "Gelu".into();
    kernels[0].workload = Workload::Fused(vec![kernels[0].workload.clone(), Workload::Vector(gelu)]);
    kernels[0].fused.push(relu.node);
    Timed::of_subgraphs(forms(&variants), None, scene(&soc)).unwrap().run()
}

/// The network's operators before and after, on the 910B2.
pub(super) fn sample() -> [Run; 2] {
    let soc = soc("Ascend910B2");
    let directory = tempfile::tempdir().unwrap();
    let variants = [variant(512, &soc)];
    let outcome = operators(&variants, &soc, directory.path());
    [Moment::Before, Moment::After]
        .map(|moment| Timed::of_operators(forms(&variants), &outcome, moment, scene(&soc)).run())
}
