//! A kernel has one price: in a network, and given to `aoe simulate` as a case. A network has one, whichever job asks.

use aoe::backend::simulator::Simulator;
use aoe::bank::subgraph::SubgraphBank;
use aoe::bank::{BankPaths, OperatorBank};
use aoe::frontend::{ModelOptions, load_file};
use aoe::lower::{Kernel, Lowered, Settings, Switches, graph_fusion, with_conversions};
use aoe::profile::{Form, Scene, Timed};
use aoe::search::Algorithm;
use aoe::sim::Model;
use aoe::simulate::{Parts, answer, case};
use aoe::soc::Soc;
use aoe::space::default_policy;
use aoe::tune::sgat::{Sgat, SgatJob, SgatSettings, State, fused, sgat};
use aoe::tune::{OpFilter, OpatJob, OpatSettings, Variant, opat};
use aoe::workload::Workload;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

fn time_us(case: &Value, soc: &Soc) -> f64 {
    let answer: Value = serde_json::from_str(&answer(&case.to_string(), &mut Parts::only(soc.clone()))).unwrap();
    answer["time_us"].as_f64().unwrap_or_else(|| panic!("{case}: {answer}"))
}

/// What a kernel takes by default in its network, with so many bytes in device memory.
fn in_network_us(workload: &Workload, missed: Option<f64>, soc: &Soc) -> f64 {
    let schedule = default_policy(workload, soc).unwrap();
    let model = Model::new(workload, soc).unwrap();
    let model = missed.map_or(model.clone(), |bytes| model.with_missed(bytes));
    model.predict(&schedule).unwrap().time_us
}

fn models() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples");
    let folders = ["models", "training"].map(|folder| root.join(folder));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()));
    let is_model =
        |file: &PathBuf| file.extension().is_some_and(|name| ["onnx", "air", "om"].iter().any(|n| name == *n));
    files.filter(is_model).collect()
}

#[test]
fn every_kernel_of_every_bundled_network_has_its_price_as_a_case_to_the_last_bit() {
    let models = models();
    assert!(models.len() >= 4, "{models:?}");
    for model in models {
        let graph = load_file(&model, None, &ModelOptions::default()).unwrap();
        for soc in ["Ascend910B2", "Ascend310P3", "Ascend910A", "Ascend950PR_9589"] {
            let soc = Soc::find(soc).unwrap();
            let settings = Settings::default();
            let (graph, _) = graph_fusion(graph.clone(), &soc, &settings, &Switches::default()).unwrap();
            let kernels = with_conversions(graph, &soc, &settings).unwrap().1.kernels;
            let mut seen = std::collections::HashSet::new();
            for kernel in kernels.iter().filter(|kernel| seen.insert(kernel.workload.clone())) {
                let cold = Kernel { missed: Some(1e6), ..kernel.clone() };
                for kernel in [kernel, &cold] {
                    let (case, network) = (
                        case(&json!(1), &kernel.workload, kernel.missed, None),
                        in_network_us(&kernel.workload, kernel.missed, &soc),
                    );
                    let own = time_us(&case, &soc);
                    assert_eq!(
                        own.to_bits(),
                        network.to_bits(),
                        "{model:?} {}: {own} and {network} us",
                        kernel.workload
                    );
                }
            }
        }
    }
}

/// Microseconds of a network before operator tuning, which here looks at none of them.
fn before_operators_us(variants: &[Variant], soc: &Soc) -> f64 {
    let nowhere = tempfile::tempdir().unwrap();
    let paths = BankPaths { custom: nowhere.path().to_owned(), also_read: Vec::new() };
    let settings = OpatSettings {
        seed: 0,
        algorithm: Algorithm::Auto,
        max_trials: 1,
        parallel: 1,
        repeat_tune: false,
        filter: OpFilter::default(),
        deadline: Some(Instant::now()),
        pause: OpatSettings::PAUSE,
    };
    let mut job = OpatJob {
        name: "net",
        variants,
        backend: &Simulator::new(soc.clone()),
        bank: &mut OperatorBank::open(paths, soc),
        base: None,
        rescue: None,
        to_measure: None,
        settings: &settings,
        cancel: &AtomicBool::new(false),
    };
    opat(&mut job, &mut ()).unwrap().before_us()
}

/// The same network tuned by subgraphs.
fn tuned_by_subgraphs(variants: &[Variant], soc: &Soc) -> Sgat {
    let (nowhere, settings) = (tempfile::tempdir().unwrap(), SgatSettings::default());
    let paths = BankPaths { custom: nowhere.path().to_owned(), also_read: Vec::new() };
    let mut job = SgatJob {
        name: "net",
        variants,
        lowering: &Settings::default(),
        soc,
        bank: &mut SubgraphBank::open(&paths, soc),
        state: &mut State::new(&nowhere.path().join("state"), soc, &settings),
        settings: &settings,
        cancel: &AtomicBool::new(false),
    };
    sgat(&mut job, &mut ()).unwrap()
}

#[test]
fn every_bundled_network_has_one_price_before_and_after_whichever_job_asks() {
    for model in models() {
        let graph = load_file(&model, None, &ModelOptions::default()).unwrap();
        // Steps of training have thousands of kernels: of those one part is enough.
        let parts = ["Ascend910B2", "Ascend310P3", "Ascend910A"];
        let parts = if model.extension().is_some_and(|name| name == "air") { &parts[2..] } else { &parts[..] };
        for soc in parts.iter().map(|soc| Soc::find(soc).unwrap()) {
            let settings = Settings::default();
            let (graph, _) = graph_fusion(graph.clone(), &soc, &settings, &Switches::default()).unwrap();
            let (graph, lowered) = with_conversions(graph, &soc, &settings).unwrap();
            let variants = [Variant { label: String::new(), graph, lowered }];
            let graph = &variants[0].graph;
            let runs_as =
                |lowered: &Lowered| [Variant { label: String::new(), graph: graph.clone(), lowered: lowered.clone() }];
            let listed = |lowered: &Lowered| {
                let scene = Scene { network: "net", soc: &soc, precision: settings.precision };
                Timed::of_subgraphs(vec![Form { label: "", graph, lowered }], None, scene).unwrap().run().total_us()
            };
            let place = format!("{} on {}", model.display(), soc.name);
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * a, "{place}: {a} and {b} us");
            // What `-j 2` begins with and `aoe kernels` lists; then what `-j 1` says of it, and `-j 1,2`, whose operators
            // begin with what the subgraphs left.
            let default = fused(graph, &variants[0].lowered, &soc, &settings).unwrap();
            let Sgat { outcome, lowered: after, .. } = tuned_by_subgraphs(&variants, &soc);
            near(listed(&default), before_operators_us(&runs_as(&default), &soc));
            near(listed(&default), outcome.before_us());
            near(outcome.after_us(), before_operators_us(&runs_as(&after[0]), &soc));
            near(outcome.after_us(), listed(&after[0]));
            assert!(outcome.after_us() <= outcome.before_us(), "{place}");
        }
    }
}

#[test]
fn a_transpose_given_by_its_operands_and_axes_is_the_networks() {
    use aoe::graph::DataType;
    use aoe::lower::transposed;
    for soc in ["Ascend910B2", "Ascend310P3", "Ascend910A"] {
        let soc = Soc::find(soc).unwrap();
        for (dims, perm) in [
            (vec![1, 128, 12, 64], vec![0, 2, 3, 1]),
            (vec![1, 12, 128, 64], vec![0, 2, 1, 3]),
            (vec![768, 768], vec![1, 0]),
        ] {
            let order: Vec<usize> = perm.clone();
            let made: Vec<u64> = order.iter().map(|&axis| dims[axis]).collect();
            let tensor = |shape: &[u64]| json!({"shape": shape, "dtype": "float16", "format": "ND"});
            let axes = json!({"shape": [dims.len()], "dtype": "int64"});
            let case = json!({"op": "Transpose", "inputs": [tensor(&dims), axes], "outputs": [tensor(&made)],
                "attrs": {"perm": perm}});
            let kernel = Workload::Move(transposed("Transpose", &dims, &order, DataType::Float16, &soc));
            assert_eq!(time_us(&case, &soc).to_bits(), in_network_us(&kernel, None, &soc).to_bits(), "{case}");
        }
    }
}

#[test]
fn transposes_of_last_axes_take_what_hardware_takes() {
    let soc = Soc::find("Ascend910B2").unwrap();
    // Published times with nothing in L2, which costs some 4 us beside what is modelled.
    for (shape, dtype, measured) in [
        ([2049, 513], "float16", 22.66),
        ([1537, 769], "bfloat16", 25.3),
        ([1009, 1021], "float32", 33.08),
        ([2048, 2048], "float32", 40.32),
        ([4096, 4096], "bfloat16", 70.64),
    ] {
        let tensor = |shape: [u64; 2]| json!({"shape": shape, "dtype": dtype, "format": "ND"});
        let [rows, columns] = shape;
        let bytes = rows * columns * if dtype == "float32" { 8 } else { 4 };
        let case = json!({"op": "Transpose", "inputs": [tensor(shape)], "outputs": [tensor([columns, rows])],
            "attrs": {"perm": [1, 0]}, "missed_bytes": bytes});
        let us = time_us(&case, &soc);
        assert!((0.5..1.5).contains(&(us / measured)), "{shape:?} {dtype}: {us} us, measured {measured}");
    }
}
