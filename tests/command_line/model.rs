//! `aoe model`, as users call it.

use std::path::Path;
use std::process::{Command, Output};

fn check(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_aoe")).args(["model", "check"]).args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// The gradient of a pool without its attributes, as text.
fn bad(directory: &Path) -> String {
    let output = r#"output_desc { name: "y" dtype: DT_FLOAT16 shape { dim: 1 dim: 16 dim: 8 dim: 8 } layout: "NCHW" }"#;
    let pool = r#"name: "pool" type: "MaxPoolGrad" input: "x:0" input: "x:0" input: "x:0""#;
    let text =
        format!(r#"name: "g" graph {{ name: "g" op {{ name: "x" type: "Data" {output} }} op {{ {pool} {output} }} }}"#);
    let file = directory.join("bad.txt");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// A small network, written as a tuned one is.
fn written(path: &Path) {
    let graph = aoe::frontend::load_file(
        Path::new("fuzz/seeds/load_memory/conv.onnx"),
        None,
        &aoe::frontend::ModelOptions::default(),
    )
    .unwrap();
    aoe::frontend::save_file(&graph, path).unwrap();
}

#[test]
fn a_graph_that_ge_compiles_passes_and_one_that_it_does_not_is_told_of_by_node_and_rule() {
    let dir = tempfile::tempdir().unwrap();
    let good = dir.path().join("good.air");
    written(&good);
    let good = good.to_str().unwrap();
    let (status, stdout, stderr) = check(&[good]);
    assert_eq!(status, Some(0), "{stdout}{stderr}");
    assert!(stdout.contains("would compile") && stderr.is_empty(), "{stdout}{stderr}");
    let bert = "examples/training/bert_base.air";
    let (status, stdout, _) = check(&[good, &bad(dir.path())]);
    assert_eq!(status, Some(1), "{stdout}");
    assert!(stdout.contains("attribute: `pool` (MaxPoolGrad)"), "{stdout}");
    assert!(stdout.contains("findings: would not compile"), "{stdout}");
    assert_eq!(check(&[bert, "examples/training/resnet50.air"]).0, Some(0));
}

#[test]
fn json_has_a_line_for_each_finding_and_one_for_each_file() {
    let dir = tempfile::tempdir().unwrap();
    let (status, stdout, _) = check(&["--json", &bad(dir.path())]);
    assert_eq!(status, Some(1));
    let lines: Vec<serde_json::Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (whole, findings) = lines.split_last().unwrap();
    assert_eq!((whole["compiles"].as_bool(), whole["findings"].as_u64()), (Some(false), Some(findings.len() as u64)));
    let blocking: Vec<_> = findings.iter().filter(|finding| finding["blocks"] == true).collect();
    assert_eq!((blocking[0]["node"].as_str(), blocking[0]["rule"].as_str()), (Some("pool"), Some("attribute")));
}

#[test]
fn a_file_that_is_not_there_or_not_ges_ends_with_2_and_hides_no_other() {
    let (status, stdout, stderr) =
        check(&["no_such.air", "examples/models/resnet50.onnx", "examples/training/bert_base.air"]);
    assert_eq!(status, Some(2));
    assert!(stdout.contains("bert_base.air"), "{stdout}");
    assert!(stderr.contains("no_such.air") && stderr.contains("ONNX"), "{stderr}");
    assert_eq!(check(&[]).0, Some(2));
    assert_eq!(check(&["--framework=9", "examples/training/bert_base.air"]).0, Some(2));
}
