//! Shape inference and lowering on real networks: the bundled ones, and with `LIBAOE_MODELS` set to a
//! directory every `.onnx` file below it (its `INDEX.csv`, where there is one, says what to expect).

use aoe::frontend::{InputOptions, bind_inputs, load_file, onnx};
use aoe::graph::{CONST, DATA, Graph, NodeId, TensorDesc, infer};
use aoe::lower::{Lowered, Settings, lower};
use aoe::soc::Soc;
use aoe::workload::Workload;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn bundled() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models")
}

fn add_models(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_models(&path, found);
        } else if path.extension().is_some_and(|e| e == "onnx") {
            found.push(path);
        }
    }
}

fn every_model() -> Vec<PathBuf> {
    let mut found = Vec::new();
    add_models(&bundled(), &mut found);
    if let Some(more) = std::env::var_os("LIBAOE_MODELS") {
        add_models(Path::new(&more), &mut found);
    }
    found.sort();
    found
}

/// Batch of models whose batch is open.
const BATCH: i64 = 8;

fn options(path: &Path) -> InputOptions {
    let batch = path.to_string_lossy().contains("dynbatch").then_some(BATCH);
    InputOptions { batch, ..InputOptions::default() }
}

fn lowered(path: &Path) -> (Graph, Lowered) {
    let graph = load_file(path, None, &options(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    infer::require_static(&graph).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let soc = Soc::find("Ascend910B2").unwrap();
    let lowered = lower(&graph, &soc, &Settings::default()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    (graph, lowered)
}

fn macs(lowered: &Lowered) -> u64 {
    lowered.kernels.iter().filter_map(|k| k.workload.cube()).map(|c| c.macs()).sum()
}

#[test]
fn shapes_follow_from_the_inputs_alone_and_agree_with_the_file() {
    for path in every_model() {
        let place = path.display();
        let bytes = std::fs::read(&path).unwrap();
        let mut graph = onnx::read(bytes.into(), "model", path.parent()).unwrap();
        bind_inputs(&mut graph, &options(&path)).unwrap();
        let mut stated = HashMap::new();
        for id in (0..graph.len()).map(|i| NodeId(i as u32)) {
            let node = graph.node_mut(id);
            if node.op_type != DATA && node.op_type != CONST {
                let before = node.outputs.iter_mut().map(|d| std::mem::replace(d, TensorDesc::unknown()));
                stated.insert(id, before.collect::<Vec<_>>());
            }
        }
        infer::infer(&mut graph).unwrap_or_else(|e| panic!("{place}: {e}"));
        infer::require_static(&graph).unwrap_or_else(|e| panic!("{place}: {e}"));
        for (id, descs) in stated {
            let node = graph.node(id);
            for (found, stated) in node.outputs.iter().zip(&descs).filter(|(_, s)| s.shape.known().is_some()) {
                assert_eq!(found.shape, stated.shape, "{place}: {} ({})", node.name, node.op_type);
                assert_eq!(found.dtype, stated.dtype, "{place}: {} ({})", node.name, node.op_type);
            }
        }
    }
}

#[test]
fn inferring_again_changes_nothing() {
    let (mut graph, _) = lowered(&bundled().join("bert_base.onnx"));
    let before = format!("{graph:?}");
    infer::infer(&mut graph).unwrap();
    assert_eq!(format!("{graph:?}"), before);
}

#[test]
fn the_work_of_known_networks_is_known() {
    // Multiply-adds as an independent count over the files gives them.
    assert_eq!(macs(&lowered(&bundled().join("resnet50.onnx")).1), 4_089_184_256);
    assert_eq!(macs(&lowered(&bundled().join("bert_base.onnx")).1), 11_174_215_680);
}

#[test]
fn the_work_of_every_model_at_hand_is_what_its_index_says() {
    let Some(root) = std::env::var_os("LIBAOE_MODELS") else { return };
    let Ok(index) = std::fs::read_to_string(Path::new(&root).join("INDEX.csv")) else { return };
    for path in every_model() {
        let Ok(name) = path.strip_prefix(&root) else { continue };
        let prefix = format!("{},", name.display());
        let Some(row) = index.lines().find(|line| line.starts_with(&prefix)) else { continue };
        let (_, lowered) = lowered(&path);
        let batch = if prefix.contains("dynbatch") { BATCH as u64 } else { 1 };
        let number = (macs(&lowered) / batch).to_string();
        let stated = row.split(',').any(|cell| cell == number);
        assert!(stated, "{prefix} {number} multiply-adds, but its index says {row}");
        assert_eq!(lowered.unmapped, [], "{prefix}");
    }
}

#[test]
fn a_residual_network_becomes_its_kernels_and_nothing_else() {
    let (graph, lowered) = lowered(&bundled().join("resnet50.onnx"));
    let count = |test: fn(&Workload) -> bool| lowered.kernels.iter().filter(|k| test(&k.workload)).count();
    assert_eq!(count(|w| matches!(w, Workload::Conv(_))), 53);
    assert_eq!(count(|w| matches!(w, Workload::MatMul(_))), 1);
    assert_eq!(count(|w| matches!(w, Workload::Vector(_))), 49 + 16);
    assert_eq!(count(|w| matches!(w, Workload::Reduce(_))), 2);
    assert_eq!(count(|w| matches!(w, Workload::Move(_))), 0);
    let order: Vec<_> = lowered.kernels.iter().map(|k| k.node).collect();
    let topological: Vec<_> = graph.topological_order().unwrap().into_iter().filter(|n| order.contains(n)).collect();
    assert_eq!(order, topological);
}
