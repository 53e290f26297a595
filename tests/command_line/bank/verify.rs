//! `aoe bank verify`.

use super::*;

#[test]
fn a_good_bank_is_judged_well() {
    let place = Place::new();
    place.file(NAME, lines(&[record()]));
    let answer = place.run(&["verify", NAME]).says(0, &[]);
    assert_eq!(answer.stdout, format!("{NAME}: operator bank, 1 judged: 1 ok\n"));
    let answer = place.run(&["verify", "--json", NAME]).says(0, &[]);
    assert_eq!(answer.json()[0]["status"], "ok");
    assert_eq!(answer.json()[1], json!({"file": NAME, "kind": "operator bank", "lines": 1, "ok": 1, "findings": {}}));
}

/// What is said of a record alone in a file, and the exit status.
fn judged(line: &str) -> (String, i32) {
    let place = Place::new();
    place.file(NAME, format!("{line}\n"));
    let answer = place.run(&["verify", NAME]);
    (answer.stdout, answer.status.unwrap())
}

#[test]
fn what_cann_passes_over_is_told_and_no_failure() {
    for (changes, said) in [
        (&[("id", json!(5))][..], "stale id: id is 5, that of its info_dict is 2605295905"),
        (&[("note", json!(1)), ("knowledge/later", json!(2))], "unknown fields: nobody reads note, knowledge.later"),
        (&[("info_dict/color", json!(2))], "nobody reads info_dict.color"),
        (&[("knowledge/l2IterateOrder", Value::Null)], "missing fields: knowledge lacks l2IterateOrder"),
        (&[("op", json!("Gelu"))], "foreign: the key of operator \"Gelu\" is not known"),
        (&[("op", json!("Mc2MatMulV3"))], "foreign: `op` is \"Mc2MatMulV3\", the file's name says \"MatMulV3\""),
        (&[("knowledge/usedCoreNum", json!(25))], "illegal: on Ascend910B2: used_cores = 25, the SoC has 24"),
    ] {
        let (stdout, status) = judged(&changed(changes).to_string());
        assert!(stdout.contains(said), "{said}: {stdout}");
        assert_eq!(status, 0, "{stdout}");
    }
}

#[test]
fn what_cann_stumbles_over_fails() {
    for (line, said) in [
        ("{\"id\":1,".to_owned(), "1: damaged: EOF"),
        ("{}".to_owned(), "1: damaged: `id` is missing"),
        ("[1]".to_owned(), "damaged: the line is no JSON object"),
        (changed(&[("id", json!(-1))]).to_string(), "damaged: `id` cannot be -1"),
        (changed(&[("version", Value::Null)]).to_string(), "damaged: `version` is missing"),
        (changed(&[("knowledge", json!([1]))]).to_string(), "damaged: `knowledge` is no JSON object"),
        (changed(&[("knowledge/baseM", json!("x"))]).to_string(), "damaged: knowledge: `baseM` cannot be"),
        (changed(&[("info_dict/m", json!("x"))]).to_string(), "damaged: info_dict: `m` cannot be"),
        (changed(&[("info_dict/m", Value::Null)]).to_string(), "unusable: info_dict: `m` is missing"),
        (format!("{}\n", record()), "2: blank line: CANN's loader stops"),
        (format!("{}\n{}", record(), changed(&[("id", json!(7))])), "2: duplicate: line 1 has the same info_dict"),
        (changed(&[("knowledge/tilingEnable", json!(4))]).to_string(), "refused: on Ascend910B2: "),
        (changed(&[("knowledge/tilingEnable", json!(9))]).to_string(), "tilingEnable = 9 names no template"),
        (changed(&[("knowledge/baseK", json!(1024))]).to_string(), "would not compute: on Ascend910B2: L0A needs"),
        (
            changed(&[("knowledge/singleCoreK", json!(100))]).to_string(),
            "would not compute: on Ascend910B2: singleCoreK = 100",
        ),
        ("\u{1}\u{2}binary\u{0}".to_owned(), "damaged: expected value"),
    ] {
        let (stdout, status) = judged(&line);
        assert!(stdout.contains(said), "{said}: {stdout}");
        assert_eq!(status, 1, "{stdout}");
    }
}

#[test]
fn strict_counts_every_finding() {
    let place = Place::new();
    place.file(NAME, lines(&[changed(&[("id", json!(5))])]));
    place.run(&["verify", NAME]).says(0, &["1 stale id"]);
    place.run(&["verify", NAME, "--strict"]).says(1, &["1 stale id"]);
}

#[test]
fn the_soc_is_that_of_the_option_the_record_or_the_file() {
    let place = Place::new();
    let many = changed(&[("knowledge/usedCoreNum", json!(16))]);
    place.file("bank.json", lines(std::slice::from_ref(&many)));
    place.run(&["verify", "bank.json"]).says(0, &["not judged", "which SoC"]);
    place.run(&["verify", "bank.json", "--soc_version=ascend910b2"]).says(0, &["1 ok"]);
    place.run(&["verify", "bank.json", "--soc_version=Ascend910B2", "--aicore_num=8"]).says(0, &["the SoC has 8"]);
    let of = |part: &str| {
        let mut record = many.clone();
        record["soc_cores"] = json!(part);
        record
    };
    place.file("bank.json", lines(&[of("Ascend910B2_24"), of("Ascend910B4_20"), of("Ascend910B2_8"), of("FUSE_8")]));
    let answer = place.run(&["verify", "bank.json"]).says(0, &["3: illegal: on Ascend910B2", "unknown SoC `FUSE`"]);
    assert!(answer.stdout.contains("2 ok") && !answer.stdout.contains("duplicate"), "{answer:#?}");
}

#[test]
fn an_unreadable_file_does_not_hide_the_next() {
    let place = Place::new();
    place.file(NAME, lines(&[record()]));
    place.run(&["verify", "none.json", NAME]).says(2, &["none.json", "1 ok"]);
    place.file("empty.json", "");
    place.run(&["verify", "empty.json"]).says(0, &["empty.json: holds nothing"]);
}

#[test]
fn a_line_without_end_takes_no_memory() {
    let place = Place::new();
    let path = place.file(NAME, lines(&[record()]));
    let file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    // A hole: as long as that, and no room on the disk.
    file.set_len(256 << 20).unwrap();
    let limited = "ulimit -v 200000; exec \"$0\" bank verify \"$1\"";
    let output = Command::new("/bin/sh").args(["-c", limited, env!("CARGO_BIN_EXE_aoe")]).arg(&path).output();
    Answer::of(output.unwrap()).says(1, &["2: damaged: a line of 26843", "1 ok, 1 damaged"]);
}

#[test]
fn many_findings_are_counted_and_not_all_printed() {
    let place = Place::new();
    let stale: Vec<_> = (1..=400).map(|m| changed(&[("info_dict/m", json!(16 * m)), ("id", json!(m))])).collect();
    place.file("bank.json", lines(&stale));
    let answer =
        place.run(&["verify", "bank.json", "--soc_version=Ascend910B2"]).says(0, &["350 more lines", "400 stale id"]);
    assert!(answer.stdout.lines().count() < 60, "{answer:#?}");
}

/// With `LIBAOE_DATA` naming a directory of published records: most are well, and none stops CANN's loader.
#[test]
fn published_records_are_judged_sensibly() {
    let Some(data) = std::env::var_os("LIBAOE_DATA") else { return };
    let path = Path::new(&data).join("bank_matmulv3.jsonl");
    let answer = Place::new().run(&["verify", "--json", path.to_str().unwrap()]).says(0, &[]);
    let summary = answer.json().pop().unwrap();
    let count = |name: &str| summary[name].as_u64().unwrap();
    assert!(count("ok") * 100 >= count("lines") * 85, "{summary}");
}

#[test]
fn a_bank_that_is_damaged_all_through_is_judged_in_its_directory_too() {
    let place = Place::new();
    place.file(NAME, [0u8, 159, 146, 150, 10, 7].repeat(40));
    place.file("notes.json", "not a bank\n");
    let answer = place.run(&["verify", "."]).says(1, &["damaged", NAME]);
    assert!(!answer.stdout.contains("notes.json"), "{answer:#?}");
}
