//! A network has one price before tuning, whichever job asks, and `aoe kernels` tells the same. Larger networks are in
//! `tests/networks/one_price.rs`.

use super::{Place, Value};
use std::path::Path;

/// Microseconds before and after tuning by a job.
fn tuned(network: &str, soc: &str, job: &str) -> [f64; 2] {
    let place = Place::new();
    let soc = format!("--soc_version={soc}");
    let arguments = ["--model", network, "--job_type", job, &soc, "--backend=simulator", "--max_tuning_count=1"];
    place.run(&[&arguments[..], &["--output=out/"]].concat()).expect(0, &[]);
    let report: Value = serde_json::from_slice(&std::fs::read(place.path("out/report.json")).unwrap()).unwrap();
    ["before_us", "after_us"].map(|name| report[name].as_f64().unwrap())
}

#[test]
fn a_network_has_one_price_before_whichever_job_asks_and_in_the_list_of_its_kernels() {
    let networks =
        ["tests/command_line/stand_ins/product.onnx", "python/tests/small.onnx", "fuzz/seeds/load_memory/conv.onnx"];
    for network in networks.map(|file| Path::new(env!("CARGO_MANIFEST_DIR")).join(file)) {
        let network = network.to_str().unwrap();
        for soc in ["Ascend910B2", "Ascend310P3", "Ascend910A"] {
            let listed = Place::new().run(&["kernels", network, "--json", &format!("--soc_version={soc}")]);
            let listed: Value = serde_json::from_str(&listed.expect(0, &[]).stdout).unwrap();
            let listed = listed["kernels"]["total_us"].as_f64().unwrap();
            for job in ["1", "2", "1,2"] {
                let [before, after] = tuned(network, soc, job);
                // Reports tell nanoseconds.
                assert!(
                    (before - listed).abs() < 1e-3,
                    "{network} on {soc}: {before} by job {job}, {listed} us listed"
                );
                assert!(after <= before, "{network} on {soc}: {before} -> {after} by job {job}");
            }
        }
    }
}
