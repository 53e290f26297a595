//! `aoe tiling` as its users meet it: streams, options, exit statuses. What it shares with `aoe simulate` is tested
//! there.

use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

const CASE: &str = r#"{"id":1,"op":"MatMulV3","m":4096,"k":4096,"n":4096,"trans_b":true}"#;

fn feed(arguments: &[&str], cases: &str) -> Output {
    run("tiling", arguments, cases)
}

fn run(command: &str, arguments: &[&str], cases: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_aoe"))
        .arg(command)
        .args(arguments)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A wrong option ends it before it reads.
    let _ = child.stdin.take().unwrap().write_all(cases.as_bytes());
    child.wait_with_output().unwrap()
}

fn answers(output: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn cases_pass_from_stream_to_stream_and_bad_ones_are_counted() {
    let output = feed(&["--soc_version=Ascend910B2"], &format!("{CASE}\nnonsense\n\n{CASE}\n"));
    assert_eq!(output.status.code(), Some(0));
    assert!(said(&output).contains("1 of 3 cases could not be answered"), "{}", said(&output));
    let answers = answers(&output);
    assert!(answers.len() == 3 && answers[0] == answers[2], "{answers:?}");
    assert!(answers[1]["error"].as_str().unwrap().starts_with("line 2: "));
    // A tie of both blocks keeps 128 x 256.
    assert_eq!((&answers[0]["knowledge"]["baseM"], &answers[0]["knowledge"]["baseN"]), (&128.into(), &256.into()));
    assert_eq!(answers[0]["default"], "public");
}

#[test]
fn the_part_decides() {
    let cores = |arguments: &[&str]| answers(&feed(arguments, CASE))[0]["knowledge"]["usedCoreNum"].clone();
    assert_eq!(cores(&["--soc_version=Ascend910B4"]), 20);
    assert_eq!(cores(&["--soc_version=Ascend910B2", "--aicore_num=12"]), 12);
    assert_eq!(cores(&["--soc_version=Ascend910B2", "--soc_set=ai_core_cnt=8"]), 8);
}

/// Reductions whose kept axes lie between, or of which nothing is kept, and transposes of equal sizes.
const VECTOR_CASES: [(&str, &str, &str, &str); 9] = [
    ("ReduceSum", "[380000]", "[1]", r#""axes":[0]"#),
    ("ReduceSum", "[1,393216]", "[1]", r#""axes":[0,1]"#),
    ("ReduceMeanD", "[27,17,180,51]", "[1,1,180,1]", r#""axes":[0,1,3]"#),
    ("ReduceMax", "[54,142,8,1]", "[142,1]", r#""axes":[0,2]"#),
    ("ReduceSum", "[3,92,33,38]", "[1,92,1,38]", r#""axes":[0,2]"#),
    ("ReduceMax", "[10,10,4]", "[10,1,1]", r#""axes":[1,2]"#),
    ("Transpose", "[54,5,5]", "[5,54,5]", r#""perm":[1,0,2]"#),
    ("TransposeV2", "[39,7,23]", "[7,23,39]", r#""perm":[1,2,0]"#),
    ("TransposeV2", "[8,128,12,64]", "[8,12,128,64]", r#""perm":[0,2,1,3]"#),
];

#[test]
fn the_default_that_is_priced_has_the_cores_of_the_default_that_is_told() {
    let mut cases = String::new();
    for dtype in ["float16", "float"] {
        for (op, from, to, attribute) in VECTOR_CASES {
            let operand = |shape| format!(r#"[{{"shape":{shape},"dtype":"{dtype}"}}]"#);
            let (x, y) = (operand(from), operand(to));
            writeln!(cases, r#"{{"op":"{op}","inputs":{x},"outputs":{y},"attrs":{{{attribute}}}}}"#).unwrap();
        }
    }
    let part = ["--soc_version=Ascend910B2"];
    let (told, priced) = (answers(&feed(&part, &cases)), answers(&run("simulate", &part, &cases)));
    assert_eq!((told.len(), priced.len()), (18, 18));
    for (case, (told, priced)) in cases.lines().zip(told.iter().zip(&priced)) {
        assert_eq!(told["default"], "public", "{case}: {told}");
        // More blocks may be launched than there are cores.
        let cores = told["knowledge"]["blockDim"].as_u64().unwrap().min(48);
        assert_eq!(priced["schedule"]["cores"].as_u64(), Some(cores), "{case}: {told} {priced}");
    }
}

#[test]
fn an_explanation_is_text() {
    let output = feed(&["--soc_version=Ascend910B2", "--explain"], CASE);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("1: MatMulV3 base, CANN's default\n") && text.contains("StartLessTraffic: "), "{text}");
}

#[test]
fn wrong_options_and_files_end_it_with_their_status() {
    for (arguments, status, word) in [
        (&["--soc_version=Ascend910B5"][..], 2, "Ascend910B4"),
        (&["--job_type=2"], 2, "job_type"),
        (&["--input=none.jsonl"], 1, "none.jsonl"),
        (&["--output=none/out.jsonl"], 1, "none/out.jsonl"),
    ] {
        let output = feed(arguments, "");
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(word), "{arguments:?}: {}", said(&output));
    }
}

/// Cases of ten operators with fields that an implementation in another language has, written from the rules alone.
#[test]
fn a_second_implementation_of_the_rules_has_the_same_answers() {
    let lines = include_str!("stand_ins/second_tilings.jsonl").lines();
    let expected: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(expected.len() > 200);
    for soc in ["Ascend910A", "Ascend910B2", "Ascend910B3", "Ascend910B4"] {
        let of: Vec<&Value> = expected.iter().filter(|line| line["soc"] == soc).collect();
        let cases = of.iter().map(|line| line["case"].to_string()).collect::<Vec<_>>().join("\n");
        let output = feed(&[&format!("--soc_version={soc}")], &cases);
        let answers = answers(&output);
        assert!(!of.is_empty() && of.len() == answers.len(), "{soc}: {}", said(&output));
        for (line, answer) in of.iter().zip(&answers) {
            for (field, value) in line["knowledge"].as_object().unwrap() {
                assert_eq!(&answer["knowledge"][field], value, "{field} on {soc}: {} is {answer}", line["case"]);
            }
            let template = line.get("template").unwrap_or(&answer["template"]);
            assert_eq!(template, &answer["template"], "{soc}: {}", line["case"]);
        }
    }
}
