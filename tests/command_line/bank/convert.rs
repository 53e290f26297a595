//! `aoe bank export` and `aoe bank import`.

use super::*;

fn read(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_runtime_bank_goes_to_our_form_and_back_unchanged() {
    let place = Place::new();
    let second =
        changed(&[("info_dict/m", json!(256)), ("id", json!(3_440_637_313_u32)), ("knowledge/baseK", json!(32))]);
    place.file(NAME, lines(&[record(), second]));
    let answer = place.run(&["export", NAME, "--to=canonical", "--output=ours.jsonl"]).says(0, &["2 records written"]);
    assert!(!answer.stderr.contains("not carried over:"), "{answer:#?}");
    let ours = read(&place.path("ours.jsonl"));
    assert_eq!((&ours[0]["info_dict"]["kind"], &ours[0]["soc_cores"]), (&json!("matmul"), &json!("Ascend910B2_24")));
    place.run(&["verify", "ours.jsonl", "--strict"]).says(0, &["2 ok"]);
    let back = place.run(&["export", "ours.jsonl", "--to=runtime"]).says(0, &["2 records written"]).json();
    assert_eq!((&back[0], &back[1]["knowledge"]["baseK"]), (&record(), &json!(32)));
    std::fs::create_dir(place.path("bank")).unwrap();
    place.run(&["import", "ours.jsonl", "--into=bank", "--dry-run"]).says(0, &["2 would be added"]);
    assert!(!place.path("bank").join(NAME).exists());
    place.run(&["import", "ours.jsonl", "--into=bank"]).says(0, &["2 records offered", "2 added"]);
    assert_eq!(read(&place.path("bank").join(NAME))[0], record());
    place.run(&["diff", NAME, &format!("bank/{NAME}")]).says(1, &["0 only in A, 0 only in B", "id 3440637313 -> "]);
}

#[test]
fn the_unified_bank_goes_to_our_form_and_back_with_its_times() {
    let place = Place::new();
    let name = "Ascend910B1_24_AiCore_matmul.json";
    place.file(name, forms::unified(1.5));
    place.run(&["export", name, "--to=canonical", "--output=ours.jsonl"]).says(0, &["1 records written"]);
    let ours = read(&place.path("ours.jsonl"));
    assert_eq!((&ours[0]["cost_time"], &ours[0]["soc_cores"]), (&json!(1.5), &json!("Ascend910B1_24")));
    let back = place.run(&["export", "ours.jsonl", "--to=unified"]).says(0, &["1 records written, 0 left out"]);
    assert_eq!(back.stdout.as_bytes(), forms::unified(1.5));
    // A faster record takes the other's place, a slower one does not.
    for (cost, said) in [(1.0, "1 updated"), (2.0, "1 kept")] {
        place.file("other.json", forms::unified(cost));
        place.run(&["import", "other.json", "--into", name, "--soc_version=Ascend910B1"]).says(0, &[said]);
        assert_eq!(std::fs::read(place.path(name)).unwrap(), forms::unified(1.0));
    }
}

#[test]
fn a_unified_bank_goes_into_a_directory_as_it_stands_and_the_faster_stays() {
    let place = Place::new();
    let name = "Ascend910B1_24_AiCore_matmul.json";
    std::fs::create_dir(place.path("bank")).unwrap();
    for (cost, said, kept) in [(1.5, "1 added", 1.5), (2.0, "1 kept", 1.5), (1.0, "1 updated", 1.0)] {
        place.file(name, forms::unified(cost));
        place.run(&["import", name, "--into=bank"]).says(0, &["1 records offered", said]);
        assert_eq!(std::fs::read(place.path("bank").join(name)).unwrap(), forms::unified(kept));
    }
    // Of a file whose name does not tell the part it has to be said.
    place.file("other.json", forms::unified(0.5));
    place.run(&["import", "other.json", "--into=bank"]).says(1, &["1 left out"]);
    place.run(&["import", "other.json", "--into=bank", "--soc_version=Ascend910B1"]).says(0, &["1 updated"]);
}

#[test]
fn the_tiling_repository_comes_in_with_its_times() {
    let place = Place::new();
    place.file("repository_Ascend910B2_matmul.json", lines(&[forms::row()]));
    let arguments = ["export", "repository_Ascend910B2_matmul.json", "--to=canonical", "--soc_version=Ascend910B2"];
    let answer = place.run(&arguments).says(0, &["1: not carried over: ", "shape.kernel_name"]);
    let row = &answer.json()[0];
    assert_eq!((&row["cost_time"], &row["info_dict"]["m"]), (&json!(9.5), &json!(320)));
    assert_eq!(row["knowledge"]["l0"], json!({"m": 64, "n": 64, "k_a": 64, "k_b": 64}));
}

#[test]
fn what_is_not_carried_over_is_named_record_by_record() {
    let place = Place::new();
    let unaligned = changed(&[("info_dict/m_align_flag", json!(false)), ("note", json!("mine"))]);
    let opaque = changed(&[("info_dict/m", json!(512)), ("knowledge/tilingEnable", json!(9))]);
    place.file("bank.json", format!("{}nonsense\n", lines(&[record(), unaligned, opaque])));
    let answer = place.run(&["export", "bank.json", "--to=canonical", "--soc_version=Ascend910B2"]);
    answer.says(
        1,
        &[
            "bank.json:2: left out: an earlier record is for the same",
            "bank.json:3: left out: its tiling has no canonical schedule",
            "1 lines hold no record",
            "1 records written, 2 left out",
        ],
    );
    let alone = changed(&[("info_dict/m_align_flag", json!(false)), ("note", json!("mine"))]);
    place.file("bank.json", lines(&[alone]));
    place
        .run(&["export", "bank.json", "--to=canonical", "--soc_version=Ascend910B2"])
        .says(0, &["bank.json:1: not carried over: info_dict.m_align_flag: false, note: \"mine\""]);
    place
        .run(&["export", "bank.json", "--to=unified", "--soc_version=Ascend910B2"])
        .says(1, &["1: left out: it has no time"]);
}

#[test]
fn a_tuned_bank_keeps_its_gains_on_the_way() {
    let place = Place::new();
    let bank = show::tuned(&place).join("Ascend910B4/unified_bank");
    let files = std::fs::read_dir(&bank).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    // TBE's unified bank has a form and a way of its own.
    let files = files.map(|path| path.to_str().unwrap().to_owned()).filter(|path| path.ends_with("_kb.json"));
    let mut files: Vec<_> = files.collect();
    files.sort();
    let before: Vec<Value> = files.iter().flat_map(|file| place.run(&["show", file, "--json"]).json()).collect();
    let arguments: Vec<_> = ["import", "--into=new/bank"].into_iter().chain(files.iter().map(String::as_str)).collect();
    place.run(&arguments).says(0, &[&format!("{} added", before.len())]);
    let after = place.run(&["show", "new/bank", "--json"]).json();
    let gains = |rows: &[Value]| rows.iter().map(|row| row["measured"].clone()).collect::<Vec<_>>();
    assert_eq!(gains(&after), gains(&before));
}

#[test]
fn what_is_of_a_whole_network_asks_for_no_soc() {
    let place = Place::new();
    place.file("gradients.json", r#"[{"modelhash":"5","modelvalue":{"gradientTime":[1],"gradientSize":[3]}}]"#);
    let answer =
        place.run(&["export", "gradients.json", "--to=canonical"]).says(1, &["left out: it is of a whole network"]);
    assert!(!answer.stderr.contains("SoC"), "{answer:#?}");
}

#[test]
fn wrong_arguments_of_conversions_are_named() {
    let place = Place::new();
    place.file(NAME, lines(&[record()]));
    place.run(&["export", NAME]).says(2, &["--to"]);
    place.run(&["export", NAME, "--to=yaml"]).says(2, &["yaml"]);
    place.run(&["export", "none.json", "--to=canonical"]).says(2, &["none.json"]);
    place.run(&["export", NAME, "--to=canonical", "--output", NAME]).says(2, &["is the input too"]);
    place.run(&["import", NAME]).says(2, &["--into"]);
    place.run(&["import", "none.json", "--into=bank.json"]).says(2, &["none.json"]);
    // A bank is for one part.
    let other = NAME.replace("910B2", "910B3");
    place.run(&["import", NAME, "--into", &other]).says(1, &["it belongs into", "0 records offered, 1 left out"]);
}

#[test]
fn records_of_several_parts_go_into_a_file_of_one() {
    let place = Place::new();
    let other = changed(&[("soc_cores", json!("Ascend310P3_8")), ("knowledge/usedCoreNum", json!(8))]);
    let own = changed(&[("soc_cores", json!("Ascend910B2_24"))]);
    place.file("mixed.jsonl", lines(&[other, own]));
    let answer = place.run(&["import", "mixed.jsonl", "--into=bank"]).says(2, &["Ascend310P3, Ascend910B2"]);
    assert!(!answer.stderr.contains("aoe-import-"), "no file is named that is gone: {answer:#?}");
    assert!(!place.path("bank").exists());
    let into = format!("bank/{NAME}");
    place.run(&["import", "mixed.jsonl", "--into", &into]).says(1, &["1 records offered, 1 left out", "1 added"]);
}

#[test]
fn no_file_but_a_bank_of_its_form_is_taken_for_the_bank_to_import_into() {
    let place = Place::new();
    place.file("source.json", forms::unified(1.5));
    for (content, said) in [
        ("[]", "holds a gradient bank"),
        ("{\"version\": \"2.1\"}\n", "holds a subgraph bank"),
        ("{\"a\": 1}", "JSON with the fields `a`"),
        ("some notes\n", "text that begins with \"some notes\""),
    ] {
        for more in [&[][..], &["--dry-run"]] {
            place.file("into.json", content);
            let arguments =
                [&["import", "source.json", "--into=into.json", "--soc_version=Ascend910B1"], more].concat();
            place.run(&arguments).says(2, &["into.json", said]);
            assert_eq!(std::fs::read_to_string(place.path("into.json")).unwrap(), content);
        }
    }
    for content in ["", "{}"] {
        place.file("into.json", content);
        place.run(&["import", "source.json", "--into=into.json", "--soc_version=Ascend910B1"]).says(0, &["1 added"]);
        assert_eq!(std::fs::read(place.path("into.json")).unwrap(), forms::unified(1.5));
    }
}

#[test]
fn what_would_not_compute_goes_into_no_bank_not_even_ours() {
    let place = Place::new();
    let broken = [
        changed(&[("knowledge/singleCoreM", json!(256))]),
        changed(&[("knowledge/l2MTileCnt", json!(0))]),
        changed(&[("knowledge/tilingEnable", json!(22))]),
        changed(&[("knowledge/usedCoreNum", json!(25))]),
    ];
    for (number, record) in broken.into_iter().enumerate() {
        place.file(NAME, lines(&[record]));
        let into = format!("bank{number}");
        std::fs::create_dir(place.path(&into)).unwrap();
        let said = ["left out: on Ascend910B2 it would not run: ", "0 records offered, 1 left out"];
        place.run(&["import", NAME, "--into", &into]).says(1, &said);
        let written = std::fs::read_dir(place.path(&into)).unwrap().map(|entry| entry.unwrap().path());
        assert_eq!(written.filter(|path| path.is_file()).count(), 0);
        place.run(&["import", NAME, "--into", &format!("{into}/{NAME}")]).says(1, &said);
        assert!(!place.path(&into).join(NAME).exists());
    }
}

#[test]
fn a_record_of_cann_goes_into_a_bank_of_its_form_as_it_stands() {
    let place = Place::new();
    // As CANN ships some: a block of 120 rows for products of 113 to 128 of them. Its schedule has tasks of 128.
    let blocks = [("singleCoreM", 120), ("baseM", 120)].map(|(name, value)| (format!("knowledge/{name}"), value));
    let mut changes = vec![("info_dict/m_align_flag", json!(false))];
    changes.extend(blocks.iter().map(|(name, value)| (name.as_str(), json!(value))));
    let shipped = changed(&changes);
    place.file(NAME, lines(std::slice::from_ref(&shipped)));
    std::fs::create_dir(place.path("bank")).unwrap();
    let answer = place.run(&["import", NAME, "--into=bank"]).says(0, &["1 added", "0 not carried over in full"]);
    assert!(!answer.stderr.contains("not carried over:"), "{answer:#?}");
    let written = &read(&place.path("bank").join(NAME))[0];
    assert_eq!((&written["info_dict"], &written["knowledge"]), (&shipped["info_dict"], &shipped["knowledge"]));
    let exported = place.run(&["export", NAME, "--to=runtime"]).says(0, &["1 records written"]).json();
    assert_eq!(&exported[0], written);
}
