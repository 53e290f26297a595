//! The acceptance test, on machines good and bad.

use crate::stand_in::{Machine, Tuned};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The steps that have TBE compile a kernel with a record.
const COMPILED: [&str; 6] = [
    "unified bank",
    "unified bank of BatchMatMulV2",
    "unified bank of Conv2D",
    "unified bank of Conv2D with Relu",
    "unified bank of Conv2DBackpropInput",
    "unified bank of Conv2DBackpropFilter",
];

fn checked(machine: &Machine, arguments: &[&str]) -> Tuned {
    let arguments: Vec<&str> = ["device", "check"].iter().chain(arguments).copied().collect();
    Tuned::of(machine.aoe(&arguments).output().unwrap())
}

/// The report's steps, by name.
fn verdict(report: &Value, name: &str) -> String {
    let steps = report["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["name"] == name).unwrap_or_else(|| panic!("no step `{name}`: {report}"));
    step["verdict"].as_str().unwrap().to_owned()
}

fn report(machine: &Machine) -> Value {
    serde_json::from_str(&std::fs::read_to_string(machine.path("check.json")).unwrap()).unwrap()
}

#[test]
fn a_machine_that_does_what_it_should_passes_every_step() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("STAND_IN_NOISE", "0.01");
    checked(&machine, &["--output=check.json"]).expect(0, &["record", "template 20", "passed: "]);
    let report = report(&machine);
    for step in report["steps"].as_array().unwrap() {
        assert_eq!(step["verdict"], "passed", "{step}");
    }
    let templates = [0, 2, 3, 4, 10, 12, 20, 1020, 2003, 2020, 10_000];
    assert!(templates.iter().all(|enable| verdict(&report, &format!("template {enable}")) == "passed"));
    for held in ["both whole", "image whole", "weights whole", "parts"] {
        assert_eq!(verdict(&report, &format!("Conv3DV2 {held}")), "passed");
    }
    assert_eq!(verdict(&report, "BatchMatMulV3 small"), "passed");
    assert!(COMPILED.iter().all(|name| verdict(&report, name) == "passed"));
    let simulator = report["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(simulator["figures"]["kernels"].as_array().unwrap().len(), 30);
    assert_eq!((&report["soc"], &report["ai_cores"]), (&"Ascend910B2".into(), &24.into()));
    assert!(machine.left_behind().is_empty(), "{:?}", machine.left_behind());
}

#[test]
fn a_machine_that_opens_no_bank_is_found_out_by_time_and_by_its_profiler() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("STAND_IN_BANK", "ignored");
    checked(&machine, &["--output=check.json"]).expect(1, &["CANN did not take it", "to do:"]);
    let report = report(&machine);
    for name in ["record", "record of Conv3DV2", "profiler"].into_iter().chain(COMPILED) {
        assert_eq!(verdict(&report, name), "failed", "{name}");
    }
    // CANN's own tiling computed the right result there: that says nothing about our records.
    let steps = report["steps"].as_array().unwrap();
    let is_form = |name: &str| name.starts_with("template ") || name.starts_with("Conv3DV2 ");
    let forms: Vec<_> = steps.iter().filter(|step| is_form(step["name"].as_str().unwrap())).collect();
    assert_eq!(forms.len(), 15);
    for step in forms {
        assert_eq!(step["verdict"], "not_possible", "{step}");
        assert!(step["finding"].as_str().unwrap().contains("step `record"), "{step}");
        assert!(step["advice"].as_str().unwrap().contains("again"), "{step}");
    }
    assert_eq!(verdict(&report, "BatchMatMulV3 small"), "passed", "it has no record of ours");
    assert_eq!(report["verdict"], "failed");
}

#[test]
fn a_machine_whose_tuned_kernels_compute_rubbish_fails_each_template() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("STAND_IN_FAULTS", "candidate:kernel=wrong");
    checked(&machine, &["--output=check.json"]).expect(1, &["wrong result"]);
    assert_eq!(verdict(&report(&machine), "template 12"), "failed");
    assert_eq!(verdict(&report(&machine), "Conv3DV2 parts"), "failed");
    assert_eq!(verdict(&report(&machine), "BatchMatMulV3 small"), "passed", "no record of ours reaches it");
    assert_eq!(verdict(&report(&machine), "scatter"), "passed");
}

#[test]
fn without_a_device_no_step_is_possible_and_it_says_what_to_do() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("ASCEND_HOME_PATH", "/nowhere");
    checked(&machine, &["--soc_version=Nope"]).expect(2, &["soc_version", "Nope"]);
    checked(&machine, &["--output=check.json"]).expect(1, &["not possible", "set_env.sh"]);
    for name in ["device", "record", "record of Conv3DV2", "templates", "scatter"].into_iter().chain(COMPILED) {
        assert_eq!(verdict(&report(&machine), name), "not_possible", "{name}");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_known_before_anything_is_tried() {
    let Some(machine) = Machine::new() else { return };
    checked(&machine, &["--output=/nowhere/check.json"]).expect(1, &["/nowhere"]);
    assert!(!machine.path("state/runs").exists());
    checked(&machine, &["--device=9"]).expect(2, &["device 9 does not exist"]);
    checked(&machine, &["--job_type=2"]).expect(2, &["job_type"]);
}

/// Starts the check, waits for a line of what it says, and interrupts it; with the options of a report or without.
fn interrupted(machine: &Machine, output: &[&str], until: &str) -> Tuned {
    let mut command = machine.aoe(&[&["device", "check", "--measuring_timeout=3600"], output].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with(until) {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before `{until}`");
    }
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    Tuned::of(child.wait_with_output().unwrap())
}

/// The report of the steps up to the last that has a kernel compiled, in which these words stand.
fn compiled(machine: &Machine, words: &[&str]) -> Value {
    interrupted(machine, &["--output=check.json"], &format!("{} ", COMPILED[5])).expect(130, &[]);
    let report = report(machine);
    let text = report.to_string();
    assert!(words.iter().all(|part| text.contains(part)), "{text}");
    report
}

#[test]
fn an_interrupt_leaves_a_report_of_the_steps_that_were_done() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("STAND_IN_FAULTS", "aclnnMatmul=hang");
    for output in [&["--output=check.json"][..], &[]] {
        let words = if output.is_empty() { "ending the check" } else { "writing what was tried so far" };
        interrupted(&machine, output, "device ").expect(130, &[words]);
        assert!(machine.left_behind().is_empty(), "{:?}", machine.left_behind());
    }
    let report = report(&machine);
    assert_eq!((&report["finished"], &report["verdict"]), (&false.into(), &"not_possible".into()));
    assert_eq!((verdict(&report, "device").as_str(), &report["soc"]), ("passed", &"Ascend910B2".into()));
}

#[test]
fn an_interrupt_while_a_kernel_is_compiled_keeps_what_was_compiled_before() {
    for (kernel, done) in [("te_conv2d", 2), ("te_conv2d_relu", 3)] {
        let Some(machine) = Machine::new() else { return };
        let machine = machine.with("STAND_IN_FAULTS", &format!("{kernel}=hang"));
        interrupted(&machine, &["--output=check.json"], &format!("{} ", COMPILED[done - 1])).expect(130, &[]);
        let report = report(&machine);
        let steps: Vec<_> = report["steps"].as_array().unwrap().iter().map(|step| &step["name"]).collect();
        assert_eq!(steps[5..], COMPILED[..done], "{kernel}");
        assert!(COMPILED[..done].iter().all(|name| verdict(&report, name) == "passed"), "{report}");
        assert_eq!(report["finished"], false);
        assert!(machine.left_behind().is_empty() && machine.processes().is_empty(), "{:?}", machine.left_behind());
    }
}

#[test]
fn a_report_for_which_there_is_no_room_is_a_named_error() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("ASCEND_HOME_PATH", "/nowhere");
    let words = ["0 failed", "EG0011", "/dev/full", "No space"];
    checked(&machine, &["--output=/dev/full"]).expect(1, &words);
    assert!(machine.left_behind().is_empty(), "{:?}", machine.left_behind());
}

#[test]
fn a_record_at_which_the_compiler_stops_fails_its_step_and_no_other() {
    for kernel in ["te_conv2d_backprop_filter", "te_conv2d_relu"] {
        let Some(machine) = Machine::new() else { return };
        // It compiles where there is no record.
        let machine = machine.with("STAND_IN_FAULTS", &format!("with_record:{kernel}=500002"));
        let words = ["is compiled without our record, and not with it"];
        let report = compiled(&machine, &words);
        let failed: Vec<_> = COMPILED.iter().filter(|name| verdict(&report, name) == "failed").collect();
        let expected = if kernel == "te_conv2d_relu" { COMPILED[3] } else { COMPILED[5] };
        assert_eq!(failed, [&expected]);
    }
}

#[test]
fn a_kernel_that_compiles_in_no_case_says_nothing_about_its_record() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("STAND_IN_FAULTS", "te_conv2d_backprop_input=500002");
    let report = compiled(&machine, &["aclopCompile", "500002", "kernel_meta/*.json by hand"]);
    assert_eq!(verdict(&report, "unified bank of Conv2DBackpropInput"), "not_possible");
}

#[test]
fn without_a_folder_for_temporary_files_the_advice_names_it() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("TMPDIR", "/nowhere/at/all");
    checked(&machine, &["--output=check.json"]).expect(1, &["/nowhere/at/all", "TMPDIR"]);
    let text = std::fs::read_to_string(machine.path("check.json")).unwrap();
    assert!(!text.contains("set_env.sh"), "{text}");
}
