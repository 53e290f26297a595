//! Subgraph tuning of real networks: the bundled ones, and with `LIBAOE_MODELS` set to a directory every model
//! below it that can be read.

use aoe::frontend::{Gear, ModelOptions, bind_inputs, is_model_file, load_file};
use aoe::graph::Graph;
use aoe::lower::{Batch, Kernel, Layouts, Settings, Switches, graph_fusion, lower};
use aoe::soc::Soc;
use aoe::status::Error;
use aoe::tune::sgat::{Network, solve, tuned};
use std::path::{Path, PathBuf};

/// The bundled models, and every one under the directory that `LIBAOE_MODELS` names.
fn models() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models")];
    open.extend(std::env::var_os("LIBAOE_MODELS").map(PathBuf::from));
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if is_model_file(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A model with its open batch bound, fused as it is tuned; `None` where its format cannot be read.
fn load(path: &Path, batch: Option<i64>, soc: &Soc) -> Option<Graph> {
    let options = ModelOptions { gear: batch.map(Gear::Batch), ..ModelOptions::default() };
    let mut graph = match load_file(path, None, &ModelOptions::default()) {
        Err(Error::Unsupported { .. }) => return None,
        graph => graph.unwrap_or_else(|e| panic!("{}: {e}", path.display())),
    };
    bind_inputs(&mut graph, &options).unwrap();
    Some(graph_fusion(graph, soc, &Settings::default(), &Switches::default()).unwrap().0)
}

fn is_open(path: &Path) -> bool {
    path.to_string_lossy().contains("dyn")
}

#[test]
fn no_network_gets_slower_and_each_kernel_runs_once() {
    for path in models() {
        for batch in if is_open(&path) { vec![Some(1), Some(8)] } else { vec![None] } {
            for soc in ["Ascend310P3", "Ascend910A", "Ascend910B2", "Ascend950PR_9589"] {
                let place = format!("{} on {soc}", path.display());
                let soc = Soc::find(soc).unwrap();
                let Some(graph) = load(&path, batch, &soc) else { continue };
                let lowered = lower(&graph, &soc, &Settings::default()).unwrap();
                let network = Network::new(&graph, &lowered, &soc, &Settings::default()).unwrap();
                for mixed in [false, true] {
                    let cases = solve(&network, &soc, mixed).unwrap();
                    for case in &cases {
                        assert!(case.after.us <= case.before.us && case.before.us > 0.0, "{place}");
                    }
                    let left = tuned(&network, &soc, &cases);
                    let all = |k: &Kernel| std::iter::once(k.node).chain(k.fused.iter().copied()).collect::<Vec<_>>();
                    let mut nodes: Vec<_> = left.kernels.iter().flat_map(all).collect();
                    nodes.sort_unstable();
                    let mut expected: Vec<_> = lowered.kernels.iter().map(|kernel| kernel.node).collect();
                    expected.sort_unstable();
                    assert_eq!(nodes, expected, "{place}");
                }
            }
        }
    }
}

#[test]
fn a_part_of_a_batch_is_worth_the_network_with_the_smaller_batch() {
    let soc = Soc::find("Ascend310P3").unwrap();
    let settings = Settings::default();
    let mut compared = 0;
    for path in models().into_iter().filter(|path| is_open(path)) {
        let Some(whole) = load(&path, Some(8), &soc) else { continue };
        let batch = Batch::of(&whole).unwrap().unwrap();
        for parts in [2, 4, 8] {
            let smaller = load(&path, Some(8 / parts), &soc).unwrap();
            let lowered = lower(&smaller, &soc, &settings).unwrap();
            for kernel in &lowered.kernels {
                if let Some(slice) = batch.slice(&whole, &soc, &settings, (kernel.node, Layouts::PLAIN), parts as u64) {
                    assert_eq!(slice, kernel.workload, "{}: {}", path.display(), smaller.node(kernel.node).name);
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 0 || std::env::var_os("LIBAOE_MODELS").is_none(), "no kernel was compared");
}
