//! `aoe bank key`.

use super::*;

#[test]
fn known_info_dicts_get_their_known_ids_line_by_line() {
    let place = Place::new();
    let mut third = info();
    for (name, value) in [("m", 3200), ("k", 20496), ("n", 6400), ("b_format", 2)] {
        third[name] = json!(value);
    }
    for (name, value) in [("trans_a_flag", true), ("trans_b_flag", false), ("k_align_flag", false)] {
        third[name] = json!(value);
    }
    let input = lines(&[info(), record(), third]);
    let answer = place.feed(&["key", "--op", "MatMulV3", "--info", "-"], input.as_bytes()).says(0, &[]);
    assert_eq!(answer.stdout, "2605295905\n2605295905\n1254529286\n");
    place.file("info dicts.jsonl", format!("\u{feff}{input}\r\n\n"));
    let again = place.run(&["key", "--op=matmulv3", "--info=info dicts.jsonl"]).says(0, &[]);
    assert_eq!(again.stdout, answer.stdout);
}

#[test]
fn a_bad_line_is_named_and_the_rest_goes_on() {
    let place = Place::new();
    let lacking = json!({"m": 1});
    let wrong = changed(&[("info_dict/m", json!("many"))]);
    let input = format!("{}\nnonsense\n{lacking}\n\n{wrong}\n\u{1}\u{2}\n{}", info(), record());
    let answer = place.feed(&["key", "--op=MatMulV3", "--info=-"], input.as_bytes());
    let answer =
        answer.says(1, &["input:2: ", "input:3: ", "`k` is missing", "input:5: ", "`m` cannot be", "input:6: "]);
    assert_eq!(answer.stdout, format!("{KNOWN_ID}\n{KNOWN_ID}\n"));
}

#[test]
fn whole_records_name_their_operator_and_bare_ones_need_it() {
    let place = Place::new();
    let own = json!({"kind": "vector", "op_type": "Gelu", "inputs": [[[8, 1024], "float16", "ND"]],
        "outputs": [[[8, 1024], "float16", "ND"]]});
    let answer = place.feed(&["key", "--info=-"], lines(&[record(), own, info()]).as_bytes());
    let answer = answer.says(1, &["input:3: ", "operator"]);
    // The id of the record that docs/banks.md shows.
    assert_eq!(answer.stdout, format!("{KNOWN_ID}\n1003744094\n"));
    let other = place.feed(&["key", "--op=Conv2DV2", "--info=-"], lines(&[record()]).as_bytes());
    other.says(1, &["MatMulV3, not of Conv2DV2"]);
    place.run(&["key", "--op=MatMullV3", "--info=-"]).says(2, &["did you mean `MatMulV3`?", "Conv2DV2"]);
    place.run(&["key", "--op=MatMulV3"]).says(2, &["--info"]);
}

#[test]
fn a_line_without_end_is_named_and_passed_over() {
    let place = Place::new();
    let mut input = vec![b'x'; 20 << 20];
    input.extend_from_slice(format!("\n{}\n", record()).as_bytes());
    let answer = place.feed(&["key", "--info=-"], &input).says(1, &["input:1: 20971520 bytes"]);
    assert_eq!(answer.stdout, format!("{KNOWN_ID}\n"));
}

/// With `LIBAOE_DATA` naming a directory of published records: the ids that are not stale come out.
#[test]
fn published_ids_are_reproduced_by_the_command() {
    let Some(data) = std::env::var_os("LIBAOE_DATA") else { return };
    let path = Path::new(&data).join("bank_matmulv3.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let stored = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].to_string());
    let answer = Place::new().run(&["key", "--op=MatMulV3", "--info", path.to_str().unwrap()]).says(0, &[]);
    let pairs: Vec<_> = answer.stdout.lines().zip(stored).collect();
    let same = pairs.iter().filter(|(made, stored)| made == stored).count();
    assert!(pairs.len() == text.lines().count() && same * 100 >= pairs.len() * 85, "{same} of {}", pairs.len());
}
