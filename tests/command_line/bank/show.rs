//! `aoe bank show`.

use super::*;

#[test]
fn records_stand_in_a_table_whose_columns_line_up() {
    let place = Place::new();
    place.file(NAME, lines(&[record(), of_m(65536), changed(&[("op", json!("Conv9D"))])]));
    let answer = place.run(&["show", NAME]).says(0, &["1 lines hold no record", "aoe bank verify"]);
    let table: Vec<_> = answer.stdout.lines().collect();
    assert_eq!(table.len(), 3, "{answer:#?}");
    assert!(table[0].starts_with("operator  shapes"), "{answer:#?}");
    assert!(table[1].contains("128x1024x4096 float16 tB B:NZ") && table[1].contains("16 cores 128x256x64 L1 256/128"));
    assert!(table[1].ends_with(&format!("{NAME}:1")) && table[2].ends_with(&format!("{NAME}:2")));
    let column = |line: &str, word: &str| line.find(word).unwrap();
    assert_eq!(column(table[0], "tiling"), column(table[1], "16 cores"));
    assert_eq!(column(table[1], "16 cores"), column(table[2], "16 cores"));
}

#[test]
fn json_lines_hold_the_whole_record() {
    let place = Place::new();
    place.file(NAME, lines(&[record(), of_m(256)]));
    let answer = place.run(&["show", NAME, "--json", "--limit=1"]).says(0, &[]);
    let [row] = &answer.json()[..] else { panic!("{answer:#?}") };
    assert_eq!((&row["id"], &row["line"], &row["part"]), (&json!(KNOWN_ID), &json!(1), &json!("Ascend910B2_24")));
    assert_eq!((&row["info_dict"], &row["knowledge"]), (&info(), &knowledge()));
    assert_eq!(row.get("gain"), None, "nobody measured it");
}

#[test]
fn one_operator_is_picked_and_a_mistyped_one_is_told() {
    let place = Place::new();
    place.file("bank.json", lines(&[record(), changed(&[("op", json!("QuantBatchMatmulV3"))])]));
    let answer = place.run(&["show", "bank.json", "--op=quantbatchmatmulv3"]).says(0, &[]);
    assert_eq!(answer.stdout.lines().count(), 2);
    let answer = place.run(&["show", "bank.json", "--op=MatMulV2"]).says(0, &["did you mean `MatMulV3`?"]);
    assert_eq!(answer.stdout, "");
}

/// A bank of a tuning, with its side file.
pub fn tuned(place: &Place) -> PathBuf {
    for name in ["bank", "home"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models/bert_base.onnx");
    // Few rows and columns, and much to sum over: CANN's default leaves most cores idle.
    let tensor = |shape: [u64; 2]| json!({"format": "ND", "shape": shape, "type": "float16"});
    let product = |m, k, n| json!({"op": "MatMulV3", "input_desc": [tensor([m, k]), tensor([k, n])], "output_desc": [tensor([m, n])]});
    let products = json!([product(128, 8192, 128), product(16, 7168, 512)]);
    std::fs::write(place.path("products.json"), products.to_string()).unwrap();
    for (what, file) in [("--model", model), ("--singleop", place.path("products.json"))] {
        let mut tune = Command::new(env!("CARGO_BIN_EXE_aoe"));
        tune.args(["--job_type=2", "--backend=simulator", "--max_tuning_count=100", "--soc_version=Ascend910B4", what])
            .arg(file);
        tune.env_clear().env("HOME", place.path("home")).env("TUNE_BANK_PATH", place.path("bank"));
        let output = tune.current_dir(place.0.path()).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    // Records of TBE's products, whose default is an estimate, lie apart.
    let [apart, bank] = ["aoe_bank_to_measure", "bank"].map(|root| place.path(root).join("Ascend910B4/unified_bank"));
    for name in ["Ascend910B4_20_AiCore_matmul.json", ".aoe/Ascend910B4_20_AiCore_matmul.json.side.jsonl"] {
        std::fs::copy(apart.join(name), bank.join(name)).unwrap();
    }
    place.path("bank")
}

#[test]
fn a_directory_shows_what_a_tuning_gained_and_verifies() {
    let place = Place::new();
    let bank = tuned(&place);
    let answer = place.run(&["show", "bank"]).says(0, &["matmul", "_matmul.json:2", "MatMulV3", "_runtime_kb.json:1"]);
    assert!(answer.stdout.lines().skip(1).all(|line| line.contains('%')), "{answer:#?}");
    let rows = place.run(&["show", "bank", "--json"]).json();
    let gain = rows[0]["gain"].as_f64().unwrap();
    let [before, after] = ["before_us", "after_us"].map(|name| rows[0]["measured"][name].as_f64().unwrap());
    assert!((gain - (before / after - 1.0)).abs() < 1e-9 && gain > 0.0, "{}", rows[0]);
    let directory = bank.join("Ascend910B4/unified_bank");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.is_file()) {
        let is_unified = file.to_string_lossy().ends_with("_matmul.json");
        let kind = if is_unified { "unified bank" } else { "operator bank" };
        place.run(&["verify", file.to_str().unwrap()]).says(0, &[kind]);
        let answer = place.run(&["evaluate", file.to_str().unwrap(), "--budget=10", "--limit=3"]).says(0, &["median"]);
        assert!(!answer.stdout.contains("illegal:"), "{answer:#?}");
    }
}

#[test]
fn names_that_are_no_text_are_shown_as_far_as_they_are() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let name = std::ffi::OsStr::from_bytes(b"bank\xff\x1b.json");
    if std::fs::write(place.0.path().join(name), lines(&[record()])).is_err() {
        return; // The file system takes no such name.
    }
    let answer = place.run(&["show", "."]).says(0, &["bank\u{fffd}"]);
    assert!(!answer.stdout.contains('\u{1b}'), "{answer:#?}");
    assert_eq!(place.run(&["show", ".", "--json"]).json().len(), 1);
}

#[test]
fn an_empty_directory_and_other_files_are_told() {
    let place = Place::new();
    place.run(&["show", "."]).says(0, &["no bank file"]);
    place.file("other.json", "\u{1}\u{2}");
    place.run(&["show", "."]).says(0, &["other.json: is no bank", "it looks like binary data"]);
    for at in 0..5 {
        place.file(&format!("more{at}.json"), "\u{1}");
    }
    let answer = place.run(&["show", "."]).says(0, &["3 more files are no banks"]);
    assert_eq!(answer.stderr.matches("is no bank").count(), 3, "{answer:#?}");
    (0..5).for_each(|at| std::fs::remove_file(place.path(&format!("more{at}.json"))).unwrap());
    place.file("other.json", "");
    assert_eq!(place.run(&["show", "."]).says(0, &[]).stdout, "");
}
