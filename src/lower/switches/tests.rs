//! Switch files in both forms, and what is no such file.

use super::{PASSES, Stage, Switches, UbOff, find, stem, ub_passes};
use crate::status::{Error, Result};

fn read(text: &str) -> Result<Switches> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("switches.cfg");
    std::fs::write(&path, text).unwrap();
    Switches::default().read(&path)
}

#[test]
fn by_default_passes_run_as_in_cann() {
    let switches = Switches::default();
    assert!(switches.is_on("GeluONNXFusionPass") && switches.is_on("AutomaticUbFusion"));
    assert!(!switches.is_on("SoftmaxSmallOp") && !switches.is_on("AutoSingleNorm"));
}

#[test]
fn lines_and_json_switch_the_same_passes() {
    let lines = read("# mine\nGeluONNXFusionPass:off\n\nAutomaticUbFusion : off\nSoftmaxSmallOp:on\n").unwrap();
    let json = r#"{"Switch":{"GraphFusion":{"GeluONNXFusionPass":"off","SoftmaxSmallOp":"on"},
        "UBFusion":{"AutomaticUbFusion":"off"}}}"#;
    assert_eq!(read(json).unwrap(), lines);
    assert!(!lines.is_on("GeluONNXFusionPass") && !lines.is_on("AutomaticUbFusion"));
    assert!(lines.is_on("SoftmaxSmallOp") && lines.is_on("GeluFusionPass"));
}

#[test]
fn all_counts_for_its_stage_and_a_name_beats_it() {
    let text = r#"{"Switch":{"GraphFusion":{"ALL":"off","GeluFusionPass":"on"}}}"#;
    let switches = read(text).unwrap();
    assert!(switches.is_on("GeluFusionPass") && switches.is_on("AutomaticUbFusion"));
    assert!(!switches.is_on("MatMulBiasAddFusionPass"));
}

#[test]
fn the_lowest_level_closes_every_pass_and_a_switch_file_only_what_can_be() {
    let closed = Switches::closed();
    for pass in PASSES.iter() {
        assert!(!closed.is_on(pass.name), "{}", pass.name);
    }
    assert!(read("FIXPIPEFUSIONPASS:off").unwrap().is_on("FIXPIPEFUSIONPASS"));
}

#[test]
fn a_pass_is_known_with_and_without_the_word_for_it() {
    for name in ["MatMulBiasAddFusionPass", "MatMulBiasAdd", "MatMulBiasAddPass"] {
        assert_eq!(find(name).map(|pass| pass.name), Some("MatMulBiasAddFusionPass"), "{name}");
    }
    assert_eq!(find("Nothing"), None);
    for (at, pass) in PASSES.iter().enumerate() {
        assert_eq!(find(pass.name).map(|found| found.name), Some(pass.name));
        let twin = PASSES[..at].iter().find(|other| stem(other.name).eq_ignore_ascii_case(stem(pass.name)));
        assert_eq!(twin, None, "{}", pass.name);
    }
}

#[test]
fn a_name_that_no_pass_has_is_an_error_with_those_that_exist() {
    for (text, place) in [
        ("GeluFusionPass:on\nGeluFusionPas:off", "switches.cfg:2"),
        (r#"{"Switch":{"UBFusion":{"GeluFusionPass":"off"}}}"#, "UB fusion pass `GeluFusionPass`"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(place) && error.contains("AutomaticUbFusion"), "{error}");
    }
}

/// What CANN's guides show: of ATC, of TensorFlow and torchair, of the rules themselves, and before a comparison of dumps.
#[test]
fn the_switch_files_of_canns_guides_are_read() {
    let json = r#"{"Switch": {
        "GraphFusion": {"RequantFusionPass": "on", "ConvToFullyConnectionFusionPass": "off", "SoftmaxFusionPass": "on",
            "NotRequantFusionPass": "on", "SplitConvConcatFusionPass": "on", "ConvConcatFusionPass": "on",
            "MatMulBiasAddFusionPass": "on", "PoolingFusionPass": "on", "ZConcatv2dFusionPass": "on",
            "ZConcatExt2FusionPass": "on", "TfMergeSubFusionPass": "on"},
        "UBFusion": {"TbePool2dQuantFusionPass": "on", "FusionVirtualOpSetSwitch": "on"}}}"#;
    let switches = read(json).unwrap();
    assert!(!switches.is_on("ConvToFullyConnectionFusionPass") && switches.is_on("MatMulBiasAddFusionPass"));
    let lines = "V100RequantFusionPass:off                  // dequantisation and quantisation\nConvConcatFusionPass:off\n\
        SplitConvConcatFusionPass:off\nTbeEltwiseQuantFusionPass:off\nTbeConvDequantVaddReluQuantFusionPass:off\n\
        TbeConvDequantVaddReluFusionPass:off\nTbeConvDequantQuantFusionPass:off\nTbeDepthwiseConvDequantFusionPass:off\n\
        TbeFullyconnectionElemwiseDequantFusionPass:off\nTbeConv2DAddMulQuantPass:off\nTbePool2dQuantFusionPass:off\n\
        TbeCommonRules0FusionPass:off\nTbeCommonRules2FusionPass:off\n";
    let switches = read(lines).unwrap();
    assert!(!switches.is_on("TbeFullyconnectionElemwiseDequantFusionPass") && switches.is_on("AutomaticUbFusion"));
    let all = r#"{"Switch":{"GraphFusion":{"ALL":"off","SoftmaxFusionPass":"on"},
        "UBFusion":{"ALL":"off","TbePool2dQuantFusionPass":"on"}}}"#;
    assert!(!read(all).unwrap().is_on("AutomaticUbFusion"));
    // CANN's list of risky rules has this one under UB fusion, its examples among those of the graph.
    read(r#"{"Switch":{"UBFusion":{"TfMergeSubFusionPass":"off"}}}"#).unwrap();
    assert_eq!(find("ATbeMatmulElemwiseFusionPass"), find("ATbeMatMulElemwiseFusionPass"));
}

#[test]
fn what_is_no_switch_file_is_a_named_error() {
    for text in [
        "GeluFusionPass",
        "GeluFusionPass:maybe",
        ":",
        "{",
        "{}",
        r#"{"Switch":1}"#,
        r#"{"Switch":{"Graph":{}}}"#,
        r#"{"Switch":{"GraphFusion":{"GeluFusionPass":true}}}"#,
        r#"{"Switch":{"GraphFusion":{"GeluFusionPass":"ON"}}}"#,
        r#"{"Switch":{"GraphFusion":{"GeluFusionPass":"on","GeluFusionPass":"off"}}}"#,
        r#"{"Switch":{"GraphFusion":{"GeluFusionPass":"on","Gelu":"off"}}}"#,
        "GeluFusionPass:on\nGeluFusionPass:off\n",
        "Gelu:on\nGeluFusionPass:on\n",
        "ALL:on\nALL:off\n",
    ] {
        let error = read(text);
        assert!(matches!(error, Err(Error::Config { .. })), "{text}: {error:?}");
    }
    assert!(matches!(Switches::default().read(std::path::Path::new("/dev/zero")), Err(Error::File { .. })));
}

/// The sources below a folder, without those of switches.
fn sources(folder: &std::path::Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() && !entry.ends_with("switches") {
            sources(&entry, text);
        } else if entry.extension().is_some_and(|suffix| suffix == "rs") {
            text.push_str(&std::fs::read_to_string(&entry).unwrap());
        }
    }
}

#[test]
fn a_pass_that_is_said_to_have_a_counterpart_is_one_that_a_rule_asks_about() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut text = String::new();
    for folder in ["lower", "tune/sgat"] {
        sources(&root.join(folder), &mut text);
    }
    let idle: Vec<&str> = PASSES
        .iter()
        .filter(|pass| pass.modelled && pass.switchable && !text.contains(pass.name))
        .map(|pass| pass.name)
        .collect();
    assert!(idle.is_empty(), "{idle:?}");
}

proptest::proptest! {
    #[test]
    fn no_file_makes_it_panic(text in ".{0,200}") {
        drop(read(&text));
    }
}

#[test]
fn ub_passes_that_are_closed_are_off_and_those_that_no_switch_closes_stay_on() {
    let none = UbOff::of(&Switches::default());
    assert!(PASSES.iter().filter(|pass| pass.stage == Stage::Ub && pass.on).all(|pass| none.is_on(pass.name)));
    let closed = UbOff::of(&Switches::closed());
    assert!(!closed.is_on("AutomaticUbFusion") && !closed.is_on("TbeConvDoubleInFusionPass"));
    assert!(!closed.is_on("TbeConvFixPipeFusionPass"), "the level closes what no switch can");
    let switched = UbOff::of(&read(r#"{"Switch":{"UBFusion":{"ALL":"off"}}}"#).unwrap());
    assert!(switched.is_on("TbeConvFixPipeFusionPass") && !switched.is_on("AutomaticUbFusion"));
    assert!(ub_passes().count() <= 64, "one bit each");
}
