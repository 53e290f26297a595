//! `aoe bank` as its users meet it: tables, judgements, ids, differences, exit statuses.

use crate::answer::Answer;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

mod convert;
mod evaluate;
mod forms;
mod key;
mod merge;
mod repair;
mod show;
mod verify;
mod versions;

/// Name of a bank file of CANN's.
const NAME: &str = "Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json";

/// A directory with a blank in its name.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::Builder::new().prefix("aoe bank ").tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aoe"));
        command.arg("bank").args(arguments).current_dir(self.0.path()).env_clear().stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        Answer::of(self.command(arguments).output().unwrap())
    }

    fn feed(&self, arguments: &[&str], input: &[u8]) -> Answer {
        let piped = Stdio::piped;
        let mut child = self.command(arguments).stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Answer::of(child.wait_with_output().unwrap())
    }
}

/// The `info_dict` of a published key: 128 x 1024 x 4096 in fp16, B transposed and in `FRACTAL_NZ`.
const KNOWN_ID: u32 = 2_605_295_905;

fn info() -> Value {
    let mut info = json!({
        "m": 128, "k": 1024, "n": 4096, "l1_fused_num": 0.0, "aub_double_num": 1.0, "bub_double_num": 1.0,
        "fused_double_operand_num": 0.0, "a_dtype": 1, "b_dtype": 1, "out_dtype": 1, "a_format": 2, "b_format": 29,
        "out_format": 2, "trans_a_flag": false, "trans_b_flag": true, "bias_flag": false, "reserved_bool": false,
        "m_align_flag": true, "k_align_flag": true, "n_align_flag": true,
    });
    for i in 1..=6 {
        info[format!("reserved_params{i}")] = json!(0);
    }
    for i in 1..=4 {
        info[format!("batch_a{i}")] = json!(1);
        info[format!("batch_b{i}")] = json!(1);
    }
    info
}

/// A tiling that every part of the 910B family can run for that product, and for one of another m: how many tasks an
/// L2 tile has is derived.
fn knowledge() -> Value {
    json!({
        "usedCoreNum": 16, "singleCoreM": 128, "singleCoreN": 256, "singleCoreK": 1024, "baseM": 128, "baseN": 256,
        "baseK": 64, "depthA1": 8, "depthB1": 4, "stepM": 1, "stepN": 1, "iterateOrder": 0, "stepKa": 4, "stepKb": 2,
        "dbL0A": 2, "dbL0B": 2, "dbL0C": 1, "l2MTileCnt": 1, "l2NTileCnt": 1, "l2MTileBlock": 0, "l2NTileBlock": 0,
        "l2IterateOrder": 0, "tilingEnable": 0,
    })
}

fn record() -> Value {
    json!({"id": KNOWN_ID, "info_dict": info(), "knowledge": knowledge(), "op": "MatMulV3", "version": 0})
}

/// The record with fields replaced; `/` leads into objects, and null takes a field away.
fn changed(changes: &[(&str, Value)]) -> Value {
    let mut record = record();
    for (path, value) in changes {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = if parent.is_empty() { String::new() } else { format!("/{parent}") };
        let fields = record.pointer_mut(&parent).unwrap().as_object_mut().unwrap();
        if value.is_null() {
            fields.remove(name);
        } else {
            fields.insert(name.to_owned(), value.clone());
        }
    }
    record
}

/// A record of another m. Its stored id is stale unless `m` is 128.
fn of_m(m: u64) -> Value {
    changed(&[("info_dict/m", json!(m))])
}

fn lines(records: &[Value]) -> String {
    records.iter().fold(String::new(), |mut text, record| {
        let _ = writeln!(text, "{record}");
        text
    })
}

fn command(arguments: &[&str]) -> Answer {
    Place::new().run(arguments)
}

#[test]
fn a_wrong_command_line_says_what_there_is() {
    command(&[]).says(2, &["subcommand"]);
    command(&["shwo", "x"]).says(2, &["`shwo`", "did you mean `show`?", "verify"]);
    command(&["show"]).says(2, &["FILE|DIR"]);
    command(&["show", "--limit=many", "x"]).says(2, &["--limit"]);
    command(&["verify", "--soc_verson=x", "y"]).says(2, &["soc_verson"]);
    command(&["--help"]).says(0, &["evaluate", "Exit status"]);
    command(&["verify", "--help"]).says(0, &["--strict", "Exit status"]);
}

#[test]
fn what_cannot_be_read_is_named_with_status_2() {
    let place = Place::new();
    std::fs::create_dir(place.path("a directory")).unwrap();
    for verb in ["show", "verify", "evaluate"] {
        place.run(&[verb, "none.json"]).says(2, &["none.json"]);
    }
    place.run(&["evaluate", "a directory"]).says(2, &["a directory", "it is a directory"]);
    // Nothing judged is not well judged.
    place.run(&["verify", "a directory"]).says(2, &["a directory", "no bank file"]);
    place.run(&["key", "--info=none.jsonl"]).says(2, &["none.jsonl"]);
    place.run(&["key", "--info=a directory"]).says(2, &["it is a directory"]);
    place.file("a.json", lines(&[record()]));
    place.run(&["diff", "a.json", "none.json"]).says(2, &["none.json"]);
    place.run(&["diff", "a.json", "a directory"]).says(2, &["it is a directory"]);
}

#[test]
fn a_wrong_soc_is_met_with_the_names_near_it() {
    let place = Place::new();
    place.file(NAME, lines(&[record()]));
    for verb in ["verify", "evaluate"] {
        place.run(&[verb, NAME, "--soc_version=Ascend910B5"]).says(2, &["Ascend910B4"]);
        place.run(&[verb, NAME, "--soc_version=Ascend910B2", "--soc_set=cube_freq=1"]).says(2, &["cube_freq_mhz"]);
        place.run(&[verb, NAME, "--soc_set=cube_freq_mhz=1000"]).says(2, &["soc_version"]);
    }
}

#[test]
fn an_argument_that_is_no_text_is_named() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let name = std::ffi::OsStr::from_bytes(b"bank\xff.json");
    Answer::of(place.command(&["show"]).arg(name).output().unwrap()).says(2, &["UTF-8"]);
}

#[test]
fn differences_are_told_by_record_and_field() {
    let place = Place::new();
    let other = changed(&[("knowledge/baseM", json!(64)), ("note", json!("ours"))]);
    place.file("a.json", lines(&[record(), of_m(256)]));
    place.file("b.json", lines(&[of_m(512), other]));
    let answer = place.run(&["diff", "a.json", "b.json"]).says(1, &["1 only in A, 1 only in B, 1 differ, 0 equal"]);
    let found: Vec<_> = answer.stdout.lines().collect();
    assert_eq!(
        found[0],
        "! MatMulV3 128x1024x4096 float16 tB B:NZ: knowledge.baseM 128 -> 64, note absent -> \"ours\""
    );
    assert_eq!(found[1], "< MatMulV3 256x1024x4096 float16 tB B:NZ (line 2)");
    assert_eq!(found[2], "> MatMulV3 512x1024x4096 float16 tB B:NZ (line 1)");
    let answer = place.run(&["diff", "a.json", "b.json", "--json"]).says(1, &[]);
    assert_eq!(answer.json()[0]["fields"][0], json!({"field": "knowledge.baseM", "a": 128, "b": 64}));
}

#[test]
fn banks_that_say_the_same_do_not_differ() {
    let place = Place::new();
    let reordered = format!("\u{feff}{}\r\n{}", of_m(256), record());
    place.file("a.json", lines(&[record(), of_m(256)]));
    place.file("b.json", reordered);
    place.run(&["diff", "a.json", "b.json"]).says(0, &["0 only in A, 0 only in B, 0 differ, 2 equal"]);
    place.file("empty.json", "");
    place.run(&["diff", "a.json", "empty.json"]).says(1, &["2 only in A"]);
    place.file("gradient.json", r#"[{"modelhash":"1","modelvalue":{"gradientTime":[0],"gradientSize":[0]}}]"#);
    place.run(&["diff", "a.json", "gradient.json"]).says(2, &["operator bank", "gradient bank"]);
}

#[test]
fn banks_of_every_form_are_compared_by_what_they_are_for() {
    let place = Place::new();
    let md5 = "147a614a52c16e26607b8ac067296555";
    for (name, a, b, field) in [
        (
            "gradient",
            r#"[{"modelhash":"7","modelvalue":{"gradientTime":[1],"gradientSize":[2]}}]"#.to_owned(),
            r#"[{"modelhash":"7","modelvalue":{"gradientTime":[3],"gradientSize":[2]}}]"#.to_owned(),
            "modelvalue.gradientTime [1] -> [3]",
        ),
        (
            "unified",
            format!("{{\n\"{md5}\": [{{\"cost_time\": 1.5}}]}}"),
            format!("{{\"{md5}\": [{{\"cost_time\": 2.5}}]\n}}"),
            "value [{\"cost_time\":1.5}] -> [{\"cost_time\":2.5}]",
        ),
        (
            "subgraph",
            "{\"version\": \"2.1\"}\n{\"feature\":{},\"graphID\":\"5\",\"strategy\":1}\n".to_owned(),
            "{\"version\": \"2.1\"}\n{\"feature\":{},\"graphID\":\"5\",\"strategy\":2}\n".to_owned(),
            "strategy 1 -> 2",
        ),
        (
            "repository",
            r#"{"shape":{"a":1},"tiling":[1],"cost_time":5}"#.to_owned(),
            r#"{"cost_time":6,"shape":{"a":1},"tiling":[1]}"#.to_owned(),
            "cost_time 5 -> 6",
        ),
    ] {
        place.file("a.json", &a);
        place.file("b.json", &b);
        place.run(&["diff", "a.json", "a.json"]).says(0, &["0 differ"]);
        let answer = place.run(&["diff", "a.json", "b.json"]).says(1, &["1 differ"]);
        assert!(answer.stdout.contains(field), "{name}: {answer:#?}");
    }
    place.file("a.json", format!("{{\n\"{md5}\": [{{\"cost_time\": 1.5}}\n"));
    place.run(&["diff", "a.json", "a.json"]).says(2, &["bank a.json:2: EOF"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new();
    let many: Vec<_> = (1..2000).map(|m| of_m(16 * m)).collect();
    place.file(NAME, lines(&many));
    place.file("other.json", "");
    for arguments in [&["show", NAME][..], &["show", NAME, "--json"], &["key", "--info", NAME]] {
        let mut child = place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let answer = Answer::of(child.wait_with_output().unwrap()).says(0, &[]);
        assert_eq!(answer.stderr, "", "{arguments:?}");
    }
    for (arguments, status) in [(&["verify", NAME, "--json"][..], 0), (&["diff", NAME, "other.json"], 1)] {
        let mut child = place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let answer = Answer::of(child.wait_with_output().unwrap()).says(status, &[]);
        assert_eq!(answer.stderr, "", "{arguments:?}");
    }
}

#[test]
fn a_full_device_is_an_error() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let place = Place::new();
    place.file(NAME, lines(&[record()]));
    let full = std::fs::OpenOptions::new().write(true).open(full).unwrap();
    for arguments in [&["show", NAME][..], &["export", NAME, "--to=canonical"]] {
        let output = place.command(arguments).stdout(full.try_clone().unwrap()).output().unwrap();
        Answer::of(output).says(2, &["standard output", "No space"]);
    }
}
