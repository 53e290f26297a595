//! The bundled training graphs: what the generator writes, read again and tuned.

use aoe::frontend::{self, Framework, ModelOptions};
use aoe::graph::Graph;
use aoe::lower::{Settings, lower};
use aoe::soc::Soc;
use aoe::tune::gdat::{Backward, Cluster, Plan, Training, best, hccl_default};
use std::path::{Path, PathBuf};

#[path = "../../examples/training/bert_base.rs"]
mod bert_base;
#[path = "../../examples/training/net.rs"]
mod net;
#[path = "../../examples/training/resnet50.rs"]
mod resnet50;

fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/training").join(format!("{name}.air"))
}

fn read(name: &str) -> Graph {
    frontend::load_file(&bundled(name), Some(Framework::Air), &ModelOptions::default()).unwrap()
}

/// The gradients, where each kernel takes as long as it has multiplications, and each other one a little.
fn training(graph: &Graph) -> Training {
    let soc = Soc::find("Ascend910B2").unwrap();
    let lowered = lower(graph, &soc, &Settings::default()).unwrap();
    assert_eq!(lowered.unmapped, [], "every operator is known");
    let price = |workload: &aoe::workload::Workload| workload.macs().map_or(1.0, |macs| 1.0 + macs as f64 / 1e8);
    let backward = Backward::of(graph, &lowered).unwrap();
    backward.training(&backward.times(|workload| (price(workload), true))).unwrap()
}

fn bytes(training: &Training) -> u64 {
    training.gradients.iter().map(|gradient| gradient.bytes).sum()
}

#[test]
fn the_bundled_files_are_what_the_generator_writes() {
    let directory = tempfile::tempdir().unwrap();
    for graph in [resnet50::graph(32).unwrap(), bert_base::graph(32, 128).unwrap()] {
        let file = directory.path().join(format!("{}.air", graph.name));
        frontend::save_file(&graph, &file).unwrap();
        let same = std::fs::read(&file).unwrap() == std::fs::read(bundled(&graph.name)).unwrap();
        assert!(same, "{}: cargo run --example training -- examples/training", graph.name);
    }
}

#[test]
fn resnet50_has_the_gradients_of_its_weights() {
    let training = training(&read("resnet50"));
    assert_eq!((training.gradients.len(), bytes(&training)), (161, 102_236_324));
    // 161 gradients of float32: the name that CANN has for them.
    assert_eq!(training.hash, 15_294_858_920_613_849_201);
    let names = |at: usize| training.gradients[at].all_reduce.as_str();
    assert_eq!([names(0), names(160)], ["fc/weights/allreduce", "conv1/weights/allreduce"]);
}

#[test]
fn bert_base_has_the_gradients_of_its_weights() {
    let training = training(&read("bert_base"));
    let layer = 4 * (768 * 768 + 768) + 2 * 768 + (768 * 3072 + 3072) + (3072 * 768 + 768) + 2 * 768;
    let embeddings = (30_522 + 512 + 2) * 768 + 2 * 768;
    let head = 768 * 768 + 768 + 768 * 2 + 2;
    assert_eq!((training.gradients.len(), bytes(&training)), (201, 4 * (12 * layer + embeddings + head)));
    assert_eq!(training.gradients[200].all_reduce, "embeddings/word/weights/allreduce");
}

#[test]
fn their_best_splits_trail_less_than_the_default_whatever_the_cluster() {
    let soc = Soc::find("Ascend910B2").unwrap();
    for name in ["resnet50", "bert_base"] {
        let step = training(&read(name)).step();
        for devices in [2, 8, 16, 512] {
            let cluster = Cluster::of_devices(devices);
            let (cost, contention) = (cluster.exchanges()[0].cost, cluster.contention_on(&soc));
            let found = best(&step, cost, contention, 8).unwrap();
            let default = Plan::new(&step, cost, contention, &hccl_default(&step));
            assert!(found.end_us < default.end_us, "{name} on {devices}: {} {}", found.end_us, default.end_us);
        }
    }
}
