//! What goes wrong on a device: a candidate's fault costs that candidate, the machine's ends the tuning.

use crate::stand_in::{Machine, Product, SMALL};
use crate::volumes;
use aoe::backend::ascend::{ACLNN, ASKING, CODES, DEVICE_INFO, MEASURING};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Options of a short tuning that spends no time on choosing.
const QUICK: [(&str, &str); 3] = [("backend", "ascend"), ("algorithm", "random"), ("max_tuning_count", "8")];

fn machine(faults: &str) -> Option<Machine> {
    let machine = Machine::new()?.with("STAND_IN_FAULTS", faults);
    machine.products(&[SMALL]);
    Some(machine)
}

#[test]
fn what_a_candidate_does_wrong_is_its_own_outcome() {
    for faults in [
        "some:aclrtSynchronizeStreamWithTimeout=507015",
        "some:aclrtSynchronizeStreamWithTimeout=507014",
        "some:aclrtMalloc=207018",
        "some:aclrtMalloc=207001",
        "some:aclnnMatmulGetWorkspaceSize=500002",
        "some:aclCreateTensor=null",
        "some:kernel=wrong",
        "some:aclnnMatmul=crash",
    ] {
        let Some(machine) = machine(faults) else { return };
        machine.tune(&QUICK).expect(0, &[]);
        let kernel = &machine.kernels()[0];
        let failed = kernel["failed_trials"].as_u64().unwrap();
        assert!((1..8).contains(&failed), "{faults}: {failed} failed");
        assert!(machine.left_behind().is_empty(), "{faults}");
    }
}

/// CANN's libraries are left when the time is known.
#[test]
fn what_goes_wrong_when_the_device_is_given_back_costs_nothing() {
    for faults in ["aclFinalize=crash", "aclrtResetDevice=507000"] {
        let Some(machine) = machine(faults) else { return };
        machine.tune(&QUICK).expect(0, &["\"failed_trials\": 0"]);
    }
}

#[test]
fn a_candidate_that_hangs_is_given_up_after_its_time() {
    let Some(machine) = machine("some:aclnnMatmul=hang") else { return };
    let tuned = machine.tune(&[&QUICK[..], &[("measuring_timeout", "1"), ("log", "debug")]].concat());
    tuned.expect(0, &["timeout: measuring took longer than 1 s"]);
    assert!(machine.kernels()[0]["failed_trials"].as_u64().unwrap() > 0);
    assert!(machine.processes().is_empty());
}

#[test]
fn a_baseline_that_fails_is_that_operators_failure_with_function_and_code() {
    for (faults, parts) in [
        ("aclrtMalloc=207018", &["aclrtMalloc returned 207018 (out of device memory)", "told to fail"]),
        ("kernel=wrong", &["wrong result: element [0, ", "instead of"]),
        ("aclnnMatmul=crash", &["killed by signal 6", "aclnnMatmul crashes as planted"]),
    ] {
        let Some(machine) = machine(faults) else { return };
        machine.tune(&QUICK).expect(1, parts);
        assert_eq!(machine.kernels()[0]["status"], "failed", "{faults}");
        assert!(machine.records().is_empty());
    }
}

#[test]
fn a_device_without_memory_for_the_operands_is_named() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("STAND_IN_MEMORY_MB", "1");
    machine.products(&[SMALL]);
    // It is the only one.
    machine.tune(&QUICK).expect(1, &["no operator could be measured", "aclrtMalloc returned 207018"]);
}

#[test]
fn what_is_wrong_with_the_machine_ends_the_tuning_by_name() {
    for (faults, id, part) in [
        ("aclInit=507008", "EG0012", "device 0: aclInit returned 507008 (the SoC version cannot be told)"),
        ("aclInit=148049", "EG0012", "aclInit returned 148049 (invalid path of the operator package)"),
        ("aclrtSetDevice=200002", "EG0012", "aclrtSetDevice returned 200002 (invalid device)"),
        ("aclrtGetSocName=null", "EG0012", "aclrtGetSocName returned nothing"),
        // Met only when an operator is to run.
        ("aclrtMalloc=100039", "EG0013", "aclrtMalloc returned 100039 (a stub library for linking, not a runtime)"),
        ("candidate:aclnnMatmul=507008", "EG0013", "aclnnMatmul returned 507008"),
        // Before the operator is met nothing is its fault.
        ("aclrtCreateStream=500003", "EG0013", "aclrtCreateStream returned 500003"),
    ] {
        let Some(machine) = machine(faults) else { return };
        machine.tune(&QUICK).expect(1, &[id, part]);
        assert!(machine.left_behind().is_empty(), "{faults}");
    }
}

#[test]
fn a_device_that_is_lost_midway_ends_the_tuning_and_what_was_found_is_kept() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("STAND_IN_FAULTS", "after25:aclrtSetDevice=507008");
    machine.products(&[SMALL, Product::new(256, 512, 512), Product::new(384, 512, 512), Product::new(640, 512, 512)]);
    let parts =
        ["EG0013", "can measure no more: device 0: aclrtSetDevice returned 507008", "what was found so far is saved"];
    machine.tune(&[&QUICK[..], &[("tuning_parallel_num", "1"), ("algorithm", "annealing")]].concat()).expect(1, &parts);
    let report = machine.report();
    let added = machine.kernels().iter().filter(|kernel| kernel["status"] == "added").count();
    assert!(added > 0 && machine.kernels().len() < 4 && report["finished"] == false, "{report}");
    assert_eq!(machine.records().len(), added);
    assert!(machine.left_behind().is_empty() && machine.processes().is_empty());
}

#[test]
fn auto_turns_to_the_simulator_where_the_device_fails_from_the_start() {
    let Some(machine) = machine("aclInit=507008") else { return };
    let tuned = machine.tune(&[("max_tuning_count", "4")]);
    tuned.expect(0, &["backend simulator", "not measured there", "aclInit returned 507008"]);
}

#[test]
fn a_device_that_hangs_from_the_start_is_given_up() {
    let Some(machine) = machine("aclInit=hang") else { return };
    let tuned = machine.tune(&[("backend", "ascend"), ("measuring_timeout", "1")]);
    tuned.expect(1, &["timeout: getting ready took longer than 1 s"]);
    assert!(machine.processes().is_empty());
}

/// Asked what it is, a runtime takes nobody with it: neither who wants a device nor who would do without.
#[test]
fn a_runtime_that_hangs_or_crashes_when_it_is_asked_is_named() {
    for (faults, words) in [
        ("aclrtGetDeviceCount=hang", "timeout: getting ready took longer than 1 s"),
        ("aclrtGetDeviceCount=crash", "killed by signal 6: aclrtGetDeviceCount crashes as planted"),
        ("aclrtGetSocName=crash", "killed by signal 6: aclrtGetSocName crashes as planted"),
    ] {
        for (backend, status, outcome) in [
            ("ascend", 1, "EG0012"),
            ("auto", 0, "backend simulator (chosen by auto: no usable Ascend runtime"),
            ("simulator", 0, "backend simulator (asked for; no usable Ascend runtime"),
        ] {
            let Some(machine) = machine(faults) else { return };
            let options = [("backend", backend), ("measuring_timeout", "1"), ("max_tuning_count", "4")];
            machine.tune(&options).expect(status, &[outcome, words, "lib64/libascendcl.so (ASCEND_HOME_PATH)"]);
            assert!(machine.processes().is_empty() && machine.left_behind().is_empty(), "{faults}, {backend}");
        }
    }
}

#[test]
fn what_a_runtime_lacks_or_says_wrongly_is_told_through_the_process_that_asks() {
    let Some(machine) = Machine::without(&["aclrtGetDeviceCount"]) else { return };
    machine.products(&[SMALL]);
    machine.tune(&[("backend", "ascend")]).expect(1, &["EG0012", "lacks aclrtGetDeviceCount"]);
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("STAND_IN_SOC", "Ascend999X");
    machine.products(&[SMALL]);
    let name = "unknown SoC `Ascend999X`";
    machine.tune(&[("backend", "ascend")]).expect(1, &["EG0012", name, "the device", "soc_version"]);
    for backend in ["auto", "simulator"] {
        let tuned = machine.tune(&[("backend", backend), ("max_tuning_count", "4")]);
        tuned.expect(0, &["[WARN] ", name, "soc_version", "backend simulator", "SoC Ascend910B2 (default"]);
    }
}

#[test]
fn every_missing_function_of_the_operator_libraries_is_named() {
    let names: Vec<_> = ACLNN.iter().map(|symbol| symbol.name).collect();
    let Some(machine) = Machine::without(&names) else { return };
    machine.products(&[SMALL]);
    machine.tune(&QUICK).expect(1, &names).expect(1, &["libopapi.so", "EG0012"]);
}

#[test]
fn auto_turns_to_the_simulator_where_the_operator_libraries_are_missing() {
    let names: Vec<_> = ACLNN.iter().map(|symbol| symbol.name).collect();
    let Some(machine) = Machine::without(&names) else { return };
    machine.products(&[SMALL]);
    machine.tune(&[("max_tuning_count", "4")]).expect(0, &["what needs it is simulated", "lacks aclCreateTensor"]);
    assert_eq!(machine.kernels()[0]["backend"], "simulator");
}

/// A product that, on a 310P with its operands in `FRACTAL_NZ`, needs every function of the entry that takes any operator.
const OTHER: Product = Product { bias: true, trans_b: true, ..SMALL };

/// Whatever function fails with whatever code, it is called, and the tuning ends and says which, or does without.
fn fails_well(function: &str, code: i32) {
    let Some(mut machine) = machine(&format!("{function}={code}")) else { return };
    let is_other_entry = ["aclop", "TensorDesc", "DataBuffer", "aclSetTensor", "aclSetCompileopt"];
    if ["aclopSetAttrInt", "aclopSetAttrListInt", "aclopSetAttrString"].contains(&function) {
        // Products have flags only.
        machine.operators(&[volumes::text()]);
    } else if is_other_entry.iter().any(|part| function.contains(part)) {
        machine = machine.with("STAND_IN_SOC", "Ascend310P3").with("STAND_IN_CORES", "8");
        machine.products(&[OTHER]);
    }
    let tuned = machine.tune(&[&QUICK[..], &[("max_tuning_count", "1")]].concat());
    let status = tuned.output.status.code();
    assert!(matches!(status, Some(0 | 1)), "{function} = {code}: {status:?}\n{}", tuned.said);
    assert!(machine.path("state/fault").exists() || NEVER_FAIL.contains(&function), "{function} is not called");
    let codes = [code.to_string(), "returned nothing".to_owned()];
    let is_told = tuned.said.contains(function) && codes.iter().any(|code| tuned.said.contains(code));
    // Nothing depends on what cleans up.
    let is_cleaning = ["Free", "Destroy", "Reset", "Finalize"].iter().any(|word| function.contains(word));
    let may_be_silent = is_cleaning || NEVER_FAIL.contains(&function) || NEEDLESS.contains(&function);
    assert!(is_told || may_be_silent, "{function} = {code}:\n{}", tuned.said);
    assert!(machine.left_behind().is_empty() && machine.processes().is_empty(), "{function} = {code}");
}

/// Functions that return nothing, and the one that tells of failures.
const NEVER_FAIL: [&str; 3] = ["aclDestroyTensorDesc", "aclopDestroyAttr", "aclGetRecentErrMsg"];
/// The cores are in our table, too.
const NEEDLESS: [&str; 1] = ["aclrtGetDeviceInfo"];

/// Tries many at a time.
fn each(cases: Vec<(&'static str, i32)>) {
    let cases = Mutex::new(cases.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((function, code)) = { cases.lock().unwrap().next() } {
                    fails_well(function, code);
                }
            });
        }
    });
}

/// Every function that tuning calls.
fn functions() -> BTreeSet<&'static str> {
    let tables = MEASURING.iter().chain(ACLNN).chain([&DEVICE_INFO]);
    tables.map(|symbol| symbol.name).chain(ASKING).collect()
}

#[test]
fn each_function_fails_well() {
    each(functions().into_iter().map(|function| (function, 500_001)).collect());
}

#[test]
fn each_code_is_told() {
    each(CODES.iter().map(|&(code, _)| ("aclrtRecordEvent", code)).collect());
}

#[test]
#[ignore = "long: two thousand tunings"]
fn each_function_fails_well_with_each_code() {
    let cases: Vec<_> =
        functions().into_iter().flat_map(|function| CODES.iter().map(move |&(code, _)| (function, code))).collect();
    println!("{} functions, {} codes: {} tunings", functions().len(), CODES.len(), cases.len());
    each(cases);
}
