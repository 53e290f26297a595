//! Whole networks: what a device measures, what it leaves to nobody, and what to the simulator.

use crate::host;
use crate::stand_in::Machine;
use aoe::frontend::{self, ModelOptions};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Few measurements: what is tested is who makes them.
const QUICK: [(&str, &str); 3] = [("algorithm", "random"), ("max_tuning_count", "1"), ("tuned_model", "off")];

fn bert() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models/bert_base.onnx")
}

/// The same network as GE saves it.
fn as_air(machine: &Machine) -> PathBuf {
    let graph = frontend::load_file(&bert(), None, &ModelOptions::default()).unwrap();
    let path = machine.path("bert.air");
    frontend::save_file(&graph, &path).unwrap();
    path
}

/// Each operator type with the statuses, reasons and backends that its operators have in the report.
fn dealt_with(machine: &Machine) -> BTreeMap<String, Vec<(String, String)>> {
    let mut types: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for kernel in machine.kernels() {
        let text = |key: &str| kernel[key].as_str().unwrap_or_default().to_owned();
        types.entry(text("op_type")).or_default().push((text("status"), text("backend")));
    }
    types
}

fn is_measured(kernel: &Value) -> bool {
    ["added", "unsatisfied", "not_sure"].contains(&kernel["status"].as_str().unwrap())
}

/// Whether a kernel is one product by itself, of which CANN reads a tiling.
fn tiled(kernel: &Value) -> bool {
    ["MatMulV3", "MatMulV2", "BatchMatMulV2"].contains(&kernel["op_type"].as_str().unwrap())
        && !kernel["workload"].as_str().unwrap().contains('+')
}

#[test]
fn of_a_network_the_device_measures_the_products_and_the_rest_counts_with_its_default() {
    let Some(machine) = Machine::new() else { return };
    for model in [bert(), as_air(&machine)] {
        let machine = Machine::new().unwrap().with(host::MODEL, model.to_str().unwrap());
        machine.tune(&[&QUICK[..], &[("backend", "ascend")]].concat()).expect(0, &["from its runtime bank"]);
        let kernels = machine.kernels();
        for kernel in &kernels {
            let measured = is_measured(kernel);
            assert_eq!(measured, tiled(kernel), "{kernel}");
            let who = if measured { "ascend" } else { "simulator" };
            assert_eq!(kernel["backend"], who, "whose time it counts with");
            assert_eq!(kernel["failure"].is_string(), !measured, "and the report says why");
        }
        assert_eq!(dealt_with(&machine)["MatMulV3"].len(), 1, "the pooler: of rank 3 all are TBE's");
        assert!(dealt_with(&machine)["BatchMatMulV2"].len() > 1);
        let report = machine.report();
        let sum = kernels.iter().map(|k| k["before_us"].as_f64().unwrap() * k["count"].as_f64().unwrap()).sum::<f64>();
        assert!((report["before_us"].as_f64().unwrap() - sum).abs() < 1e-3, "to the nanosecond");
        let tuned = kernels.iter().filter(|kernel| is_measured(kernel)).count();
        assert_eq!(report["aoe_result"][1]["OPAT"]["repo_summary"]["total_num"], json!(tuned));
    }
}

#[test]
fn of_a_network_auto_leaves_to_the_simulator_what_the_device_cannot_measure() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with(host::MODEL, bert().to_str().unwrap());
    machine.tune(&QUICK).expect(0, &["what it cannot measure is simulated"]);
    for kernel in machine.kernels() {
        let who = if tiled(&kernel) { "ascend" } else { "simulator" };
        assert_eq!(kernel["backend"], who, "{}", kernel["op_type"]);
        assert!(kernel["before_us"].as_f64().unwrap() > 0.0, "{}", kernel["op_type"]);
    }
}

#[test]
fn the_command_line_tunes_a_network_on_a_device_and_says_what_was_not_measured() {
    let Some(machine) = Machine::new() else { return };
    let model = format!("--model={}", as_air(&machine).display());
    let arguments = [&model, "--framework=1", "--job_type=2", "--backend=ascend", "--progress_bar=off"];
    let output =
        machine.aoe(&[&arguments[..], &["--algorithm=random", "--max_tuning_count=1"]].concat()).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    for part in ["Measured by  ascend", "Aoe process finished", "not measured, they count with CANN's default"] {
        assert!(said.contains(part), "`{part}` is missing in:\n{said}");
    }
}
