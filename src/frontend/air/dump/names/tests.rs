//! Which dumps of a folder are taken.

use super::{Choice, choose};
use std::path::{Path, PathBuf};

fn chosen(files: &[&str]) -> Choice {
    choose(files.iter().map(PathBuf::from).collect())
}

fn taken(choice: &Choice) -> Vec<&str> {
    choice.taken.iter().map(|(path, _)| path.to_str().unwrap()).collect()
}

fn why<'a>(choice: &'a Choice, file: &str) -> &'a str {
    &choice.left.iter().find(|(path, _)| path == Path::new(file)).unwrap_or_else(|| panic!("{file} is not left")).1
}

#[test]
fn of_the_stages_of_a_graph_the_one_before_compilation_is_taken() {
    let choice = chosen(&[
        "d/ge_onnx_00000000_graph_0_PreRunBegin.pbtxt",
        "d/ge_proto_00000000_graph_0_PreRunBegin.txt",
        "d/ge_proto_00000007_graph_0_afterUBMatch.txt",
        "d/ge_proto_00000012_graph_0_Build.txt",
        "d/ge_proto_00000013_graph_1_PreRunBegin.txt",
        "d/net.onnx",
    ]);
    let all =
        ["d/ge_proto_00000000_graph_0_PreRunBegin.txt", "d/ge_proto_00000013_graph_1_PreRunBegin.txt", "d/net.onnx"];
    assert_eq!(taken(&choice), all);
    assert!(choice.taken[0].1.as_deref().unwrap().contains("PreRunBegin of graph 0"));
    assert_eq!(choice.left.len(), 3);
    assert!(why(&choice, "d/ge_proto_00000012_graph_0_Build.txt").contains("stage of graph 0"));
    assert!(why(&choice, "d/ge_onnx_00000000_graph_0_PreRunBegin.pbtxt").contains("form of graph 0"));
}

#[test]
fn without_that_stage_the_earliest_is_taken_and_said() {
    let flow =
        chosen(&["ge_proto_00000000_graph_0_FlowGraphPreRunBegin.txt", "ge_proto_00000002_graph_0_PreRunBegin.txt"]);
    assert_eq!(taken(&flow), ["ge_proto_00000002_graph_0_PreRunBegin.txt"]);
    let files = ["ge_proto_00000020_graph_3_Build.txt", "ge_onnx_00000011_graph_3_AfterX.pbtxt"];
    let choice = chosen(&files);
    assert_eq!(taken(&choice), [files[1]]);
    assert!(choice.taken[0].1.as_deref().unwrap().contains("stage AfterX, the earliest"));
}

#[test]
fn a_graph_that_is_begun_anew_and_one_of_another_process_are_others() {
    let choice = chosen(&[
        "pid_1_deviceid_0/ge_proto_00000000_graph_0_PreRunBegin.txt",
        "pid_1_deviceid_0/ge_proto_00000004_graph_0_Build.txt",
        "pid_1_deviceid_0/ge_proto_00000005_graph_0_PreRunBegin.txt",
        "pid_2_deviceid_1/ge_proto_00000000_graph_0_PreRunBegin.txt",
    ]);
    assert_eq!((choice.taken.len(), choice.left.len()), (3, 1));
}

#[test]
fn stages_of_a_graph_that_is_not_named_are_one_graph_without_its_parts() {
    let choice = chosen(&[
        "d/ge_proto_00000000_RunCustomPassBegin.txt",
        "d/ge_proto_00000001_PreRunBegin.txt",
        "d/ge_proto_00000012_partition0_rank1_new_sub_graph1_SecondPartitioning.txt",
        "d/ge_proto_00000031_PreRunAfterBuild.txt",
        "d/ge_proto_00001_MatMulV2.txt",
    ]);
    assert_eq!(taken(&choice), ["d/ge_proto_00000001_PreRunBegin.txt", "d/ge_proto_00001_MatMulV2.txt"]);
    assert!(choice.taken[0].1.as_deref().unwrap().contains("stage PreRunBegin of the graph"));
    let part = "d/ge_proto_00000012_partition0_rank1_new_sub_graph1_SecondPartitioning.txt";
    assert!(why(&choice, part).contains("a part of a graph"));
    assert_eq!(choice.left.len(), 3);
    let named = chosen(&["ge_proto_00000000_graph_1_PreRunBegin.txt", &part[2..]]);
    assert_eq!(taken(&named), ["ge_proto_00000000_graph_1_PreRunBegin.txt"]);
    assert!(why(&named, &part[2..]).contains("a part of a graph"));
    assert_eq!(chosen(&[part]).taken.len(), 1);
}

#[test]
fn of_a_dump_that_is_cut_off_and_its_whole_view_the_view_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let view = write("ge_onnx_00000000_graph_0_PreRunBegin.pbtxt", "graph {\n}\n");
    let cut = write("ge_proto_00000000_graph_0_PreRunBegin.txt", "graph {\n  op {\n    name: \"");
    let choice = choose(vec![view.clone(), cut.clone()]);
    assert_eq!(choice.taken.iter().map(|(path, _)| path).collect::<Vec<_>>(), [&view]);
    assert!(choice.left[0].1.contains("cut off"), "{choice:?}");
    // Whole, or alone, it is taken.
    assert_eq!(choose(vec![cut]).left, []);
    let whole = write("ge_proto_00000000_graph_0_PreRunBegin.txt", "graph {\n  op {\n  }\n}\n");
    assert_eq!(choose(vec![view, whole.clone()]).taken[0].0, whole);
}

#[test]
fn every_operator_is_taken_once() {
    let choice = chosen(&[
        "ge_onnx_00000_MatMulV2.pbtxt",
        "ge_proto_00000_MatMulV2.txt",
        "ge_proto_00001_MatMulV2.txt",
        "ge_proto_00002_graph_op.txt",
        "ge_proto_x.txt",
    ]);
    let all =
        ["ge_proto_00000_MatMulV2.txt", "ge_proto_00001_MatMulV2.txt", "ge_proto_00002_graph_op.txt", "ge_proto_x.txt"];
    assert_eq!(taken(&choice), all);
    assert!(why(&choice, "ge_onnx_00000_MatMulV2.pbtxt").contains("ge_proto_00000_MatMulV2.txt"));
}
