//! `aoe bank evaluate`.

use super::*;

#[test]
fn each_record_is_priced_beside_canns_default_and_ours() {
    let place = Place::new();
    place.file(NAME, lines(&[record(), changed(&[("knowledge/usedCoreNum", json!(99))]), of_m(4096)]));
    let answer = place.run(&["evaluate", NAME, "--budget=100", "--json"]).says(0, &[]);
    let out = answer.json();
    assert_eq!(out.len(), 4, "{answer:#?}");
    for line in &out[..3] {
        let (default, ours) = (line["default_us"].as_f64().unwrap(), line["ours_us"].as_f64().unwrap());
        assert!(0.0 < ours && ours <= default, "{line}");
        assert_eq!(line["soc"], "Ascend910B2");
    }
    assert!(out[0]["recorded_us"].as_f64().unwrap() > 0.0);
    assert!(out[1].get("recorded_us").is_none() && out[1]["reason"].as_str().unwrap().contains("used_cores = 99"));
    let summary = &out[3]["summary"];
    assert_eq!((&summary["records"], &summary["illegal"]), (&json!(3), &json!(1)));
    assert!(summary["recorded_over_default"].is_number() && summary["ours_over_recorded"].is_number());
    let text = place.run(&["evaluate", NAME, "--budget=100"]).says(0, &["median of times", "best or equal"]);
    assert!(text.stdout.contains("line 2: MatMulV3 128x1024x4096 float16 tB B:NZ: "), "{text:#?}");
}

#[test]
fn the_same_lines_come_out_whatever_the_number_of_threads() {
    let place = Place::new();
    let records: Vec<_> = (1..=9).map(|m| of_m(96 * m)).collect();
    place.file(NAME, lines(&records));
    let run = |parallel: &str| {
        place.run(&["evaluate", NAME, "--budget=60", "--json", "--seed=7", "--parallel", parallel]).says(0, &[]).stdout
    };
    assert_eq!(run("1"), run("4"));
}

#[test]
fn a_bank_that_names_no_soc_asks_for_one() {
    let place = Place::new();
    place.file("bank.json", lines(&[record(), json!("nonsense")]));
    place.run(&["evaluate", "bank.json"]).says(2, &["bank.json:1", "--soc_version"]);
    let answer = place.run(&["evaluate", "bank.json", "--soc_version=Ascend910B4", "--budget=20"]);
    answer.says(0, &["1 records priced", "1 lines hold no record"]);
    place.run(&["evaluate", "bank.json", "--budget=0"]).says(2, &["--budget"]);
}

#[test]
fn a_file_without_records_has_nothing_to_price() {
    let place = Place::new();
    place.file("empty.json", "");
    place.run(&["evaluate", "empty.json"]).says(0, &["0 records priced"]);
}

#[test]
fn tilings_of_older_generations_are_priced_too() {
    let place = Place::new();
    let name = "Ascend910B1_25_AiCore_matmul.json";
    place.file(name, forms::unified(1.5));
    let out = place.run(&["evaluate", name, "--budget=50", "--json"]).says(0, &[]).json();
    assert!(out[0]["recorded_us"].as_f64().unwrap() > 0.0, "{out:?}");
    assert_eq!(out[1]["summary"]["records"], 1);
}

/// With `LIBAOE_DATA` naming a directory of published records, each is priced on its own part.
#[test]
fn published_records_are_worth_something() {
    let Some(data) = std::env::var_os("LIBAOE_DATA") else { return };
    let path = Path::new(&data).join("bank_matmulv3.jsonl");
    let answer = Place::new().run(&["evaluate", "--json", "--budget=20", path.to_str().unwrap()]).says(0, &[]);
    let summary = answer.json().pop().unwrap();
    assert!(summary["summary"]["records"].as_u64().unwrap() > 300, "{summary}");
    assert_eq!(summary["unpriced"], 0);
}
