//! `aoe bank merge`.

use super::*;

/// The content of every file below a directory.
fn contents(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(contents(&entry));
        } else {
            found.push((entry.clone(), std::fs::read(&entry).unwrap()));
        }
    }
    found.sort();
    found
}

fn place_with_two_banks() -> Place {
    let place = Place::new();
    for name in ["one", "two"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    let other = changed(&[("knowledge/iterateOrder", json!(1)), ("note", json!("kept"))]);
    place.file(&format!("one/{NAME}"), lines(&[other, of_m(256)]));
    place.file(&format!("two/{NAME}"), lines(&[record(), of_m(512)]));
    place
}

#[test]
fn a_merge_says_what_became_of_each_record_and_leaves_the_sources_alone() {
    let place = place_with_two_banks();
    let before = contents(&place.path("one"));
    let answer = place.run(&["merge", "one", "--into", "two"]).says(0, &["1 added, 1 updated, 0 kept", "written"]);
    let line = |word: &str| answer.stdout.lines().find(|line| line.starts_with(word)).unwrap().to_owned();
    assert!(line("added").contains("256x1024x4096 float16 tB B:NZ: the bank had none"), "{answer:#?}");
    assert!(line("updated").contains("128x1024x4096") && line("updated").ends_with(&format!("(one/{NAME}:1)")));
    assert_eq!(contents(&place.path("one")), before);
    let shown = place.run(&["show", "two", "--json"]).json();
    assert_eq!(shown.len(), 3);
    assert_eq!(shown[0]["knowledge"]["iterateOrder"], 1);
    let again = place.run(&["merge", "one", "--into", "two", "--json"]).says(0, &[]).json();
    assert_eq!(again[2]["kept"], 2);
    assert_eq!((&again[0]["fate"], &again[0]["reason"]), (&json!("kept"), &json!("the bank has the same tiling")));
}

#[test]
fn a_results_folder_is_the_bank_in_it_and_what_is_to_be_measured_stays_apart() {
    let place = place_with_two_banks();
    for (from, to) in [("one", "out/aoe_bank"), ("two", "out/aoe_bank_to_measure")] {
        std::fs::create_dir_all(place.path("out")).unwrap();
        std::fs::rename(place.path(from), place.path(to)).unwrap();
    }
    place.run(&["merge", "out", "--into", "all"]).says(0, &["2 added, 0 updated, 0 kept"]);
    assert!(place.path("all").join(NAME).is_file() && !place.path("all/aoe_bank").exists());
}

#[test]
fn a_dry_run_says_the_same_and_changes_nothing() {
    let place = place_with_two_banks();
    let before = contents(place.0.path());
    let rehearsed = place.run(&["merge", "one", "--into", "two", "--dry-run", "--json"]).says(0, &[]).json();
    assert_eq!(contents(place.0.path()), before);
    let done = place.run(&["merge", "one", "--into", "two", "--json"]).says(0, &[]).json();
    assert_eq!(rehearsed[..2], done[..2]);
    assert_eq!((&rehearsed[2]["changed"], &rehearsed[2]["dry_run"]), (&done[2]["changed"], &json!(true)));
    // What a rehearsal that was killed has left goes with the next.
    let temporary = place.path("tmp");
    std::fs::create_dir_all(temporary.join("aoe-merge-dead")).unwrap();
    std::fs::write(temporary.join("aoe-merge-dead/.aoe-owner"), "").unwrap();
    let mut command = place.command(&["merge", "one", "--into", "two", "--dry-run"]);
    assert!(command.env("TMPDIR", &temporary).output().unwrap().status.success());
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    place.run(&["merge", "one", "--into", "three/new", "--dry-run"]).says(0, &["2 would be added", "would be written"]);
    assert!(!place.path("three").exists());
}

#[test]
fn a_file_is_merged_into_a_file() {
    let place = place_with_two_banks();
    std::fs::rename(place.path(&format!("two/{NAME}")), place.path(NAME)).unwrap();
    let source = format!("one/{NAME}");
    place.run(&["merge", &source, "--into", NAME, "--dry-run"]).says(0, &["1 would be added, 1 would be updated"]);
    place.run(&["merge", &source, "--into", NAME]).says(0, &["1 added, 1 updated"]);
    assert_eq!(place.run(&["show", NAME, "--json"]).json().len(), 3);
}

#[test]
fn what_canns_bank_holds_is_refused() {
    let place = place_with_two_banks();
    std::fs::create_dir(place.path("shipped")).unwrap();
    place.file(&format!("shipped/{NAME}"), lines(&[of_m(256)]));
    let answer = place.run(&["merge", "one", "--into=two", "--built_in=shipped"]).says(0, &["0 added", "1 refused"]);
    assert!(
        answer.stdout.contains("refused 256x1024x4096") || answer.stdout.contains("refused MatMulV3 256x1024x4096")
    );
}

#[test]
fn what_would_not_compute_is_refused_whoever_wrote_it_with_its_rule() {
    let place = Place::new();
    for name in ["one", "two"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    let lost = changed(&[("knowledge/singleCoreM", json!(256)), ("knowledge/baseM", json!(128))]);
    // What lacks fields may be of another version, and is carried along as it is.
    let other = changed(&[
        ("info_dict/m", json!(512)),
        ("knowledge/singleCoreM", json!(256)),
        ("knowledge/stepKa", Value::Null),
    ]);
    place.file(&format!("one/{NAME}"), lines(&[lost, of_m(256), other]));
    for (more, counts) in [
        (&["--dry-run"][..], "2 would be added, 0 would be updated, 0 would be kept, 1 would be refused"),
        (&[], "2 added, 0 updated, 0 kept, 1 refused"),
    ] {
        let answer = place.run(&[&["merge", "one", "--into", "two"], more].concat()).says(0, &[counts]);
        assert!(answer.stdout.contains("singleCoreM = 256 exceeds baseM = 128"), "{answer:#?}");
        assert!(answer.stderr.contains("not taken over"), "{answer:#?}");
    }
    assert_eq!(place.run(&["show", "two", "--json"]).json().len(), 2);
}

#[test]
fn what_verify_calls_illegal_is_refused_as_well() {
    let place = Place::new();
    for name in ["one", "two"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    for (field, value, word) in [
        ("dbL0C", 0, "illegal"),
        ("dbL0C", 7, "would not compute"),
        ("usedCoreNum", 25, "illegal"),
        ("dbL0A", 0, "illegal"),
    ] {
        let record = changed(&[(&format!("knowledge/{field}"), json!(value))]);
        place.file(&format!("one/{NAME}"), lines(&[record]));
        let verified = place.run(&["verify", &format!("one/{NAME}")]);
        assert!(verified.stdout.contains(&format!("1 {word}")), "{field} = {value}: {verified:#?}");
        let answer = place.run(&["merge", "one", "--into", "two"]).says(0, &["0 added", "1 refused"]);
        assert!(!place.path(&format!("two/{NAME}")).exists(), "{field} = {value}: {answer:#?}");
    }
}

#[test]
fn banks_that_do_not_belong_together_are_not_merged() {
    let place = place_with_two_banks();
    let before = contents(place.0.path());
    let other = NAME.replace("910B2", "910B3");
    place.run(&["merge", "none", "--into", "two"]).says(2, &["none"]);
    place.run(&["merge", "two", "--into", "two"]).says(2, &["two"]);
    place.run(&["merge", "two", "--into", "two", "--dry-run"]).says(2, &["two"]);
    place.run(&["merge", "one"]).says(2, &["--into"]);
    assert_eq!(contents(place.0.path()), before);
    place.file(&other, lines(&[record()]));
    place.run(&["merge", &other, "--into", "two"]).says(2, &["Ascend910B3"]);
}

#[test]
fn a_bank_is_known_by_whatever_path_it_is_named_and_never_merged_into_itself() {
    let place = place_with_two_banks();
    std::os::unix::fs::symlink("two", place.path("link")).unwrap();
    std::fs::create_dir(place.path("files")).unwrap();
    std::os::unix::fs::symlink(format!("../two/{NAME}"), place.path(&format!("files/{NAME}"))).unwrap();
    let before = contents(&place.path("two"));
    for source in ["two", "link", "files", "one/../two", &format!("two/{NAME}")] {
        for more in [&[][..], &["--dry-run"]] {
            let arguments = [&["merge", source, "--into", "two"], more].concat();
            place.run(&arguments).says(2, &[NAME, "would be merged into"]);
        }
    }
    assert_eq!(contents(&place.path("two")), before);
}

#[test]
fn a_file_takes_in_records_of_its_own_part_only() {
    let place = place_with_two_banks();
    let target = format!("two/{NAME}");
    let before = contents(place.0.path());
    let fewer = NAME.replace("_24_", "_20_");
    place.file(&fewer, lines(&[of_m(256)]));
    place.run(&["merge", &fewer, "--into", &target]).says(2, &["20 cores", "for 24"]);
    place.file("mixed.jsonl", lines(&[of_m(256), changed(&[("soc_cores", json!("Ascend310P3_8"))])]));
    place.run(&["merge", "mixed.jsonl", "--into", &target]).says(2, &["Ascend310P3_8", "bank import"]);
    std::fs::remove_file(place.path(&fewer)).unwrap();
    std::fs::remove_file(place.path("mixed.jsonl")).unwrap();
    let after = contents(place.0.path());
    assert!(before.iter().all(|file| after.contains(file)));
    place.file("own.jsonl", lines(&[changed(&[("info_dict/m", json!(1024)), ("soc_cores", json!("Ascend910B2_24"))])]));
    place.run(&["merge", "own.jsonl", "--into", &target]).says(0, &["1 added"]);
}

#[test]
fn where_nothing_is_taken_no_file_is_made() {
    let place = Place::new();
    place.file(NAME, String::new());
    place.run(&["merge", NAME, "--into", "new"]).says(0, &["0 added, 0 updated, 0 kept"]);
    assert!(!place.path(&format!("new/{NAME}")).exists());
    place.run(&["merge", NAME, "--into", ""]).says(2, &["empty"]);
}

#[test]
fn banks_of_other_forms_are_merged_and_what_is_not_is_named() {
    let place = Place::new();
    for name in ["one", "two"] {
        std::fs::create_dir(place.path(name)).unwrap();
    }
    let (unified, gradient) = ("Ascend910B1_25_AiCore_matmul.json", "Ascend910B1_gradient_fusion.json");
    place.file(&format!("one/{unified}"), forms::unified(1.5));
    place.file(&format!("two/{unified}"), forms::unified(2.5));
    place.file(
        &format!("one/{gradient}"),
        r#"[{"modelhash":"7","modelvalue":{"gradientSize":[2],"gradientTime":[1]}}]"#,
    );
    let before = contents(place.0.path());
    place.run(&["merge", "one", "--into", "two", "--dry-run"]).says(0, &["1 would be added, 1 would be updated"]);
    assert_eq!(contents(place.0.path()), before);
    let answer = place.run(&["merge", "one", "--into", "two"]).says(0, &["1 added, 1 updated, 0 kept"]);
    assert!(
        answer.stdout.contains(&format!("updated {}: 1.50 us stay, 2.50 us go (one/{unified}:2)", forms::UNIFIED_KEY))
    );
    assert!(answer.stdout.contains("added   modelhash 7: the bank had none"), "{answer:#?}");
    assert_eq!(std::fs::read(place.path(&format!("two/{unified}"))).unwrap(), forms::unified(1.5));
    place.file("one/mdat_knowledge_bank.json", "{\"cost_time\":\"12\",\"hash_str\":\"34\"}\n");
    let said = ["0 added, 0 updated, 2 kept", "mdat_knowledge_bank.json", "not merged"];
    place.run(&["merge", "one", "--into", "two"]).says(1, &said);
    let answer = place.run(&["merge", "one", "--into", "two", "--json"]).says(1, &[]).json();
    assert_eq!(answer.last().unwrap()["unmerged"], json!(["one/mdat_knowledge_bank.json"]));
    std::fs::create_dir(place.path("nothing")).unwrap();
    place.run(&["merge", "nothing", "--into", "two"]).says(1, &["no bank lies there", "0 added"]);
    place.run(&["merge", "one/mdat_knowledge_bank.json", "--into", "two"]).says(2, &["not merged"]);
}

#[test]
fn operator_banks_and_others_come_along_together() {
    let place = place_with_two_banks();
    let gradient = "one/Ascend910B2_gradient_fusion.json";
    place.file(gradient, r#"[{"modelhash":"7","modelvalue":{"gradientSize":[2],"gradientTime":[1]}}]"#);
    place
        .run(&["merge", "one", "--into", "two"])
        .says(0, &["2 added, 1 updated, 0 kept", "gradient_fusion.json: written"]);
    // A directory of directories is a root: each goes into the one of its name.
    place.run(&["merge", ".", "--into", "new"]).says(0, &[&format!("new/one/{NAME}: written"), "new/two/"]);
    assert_eq!(contents(&place.path("new/two")).len(), contents(&place.path("two")).len());
    // Where one cannot be merged, none is.
    let before = contents(&place.path("two"));
    place.file("two/Ascend910B2_gradient_fusion.json", "{\"version\": \"2.1\"}\n");
    place.file(&format!("one/{NAME}"), lines(&[of_m(2048)]));
    place.run(&["merge", "one", "--into", "two"]).says(2, &["is a gradient bank", "subgraph bank"]);
    let target = format!("two/{NAME}");
    let old = &before.iter().find(|(path, _)| path.ends_with(&target)).unwrap().1;
    assert_eq!(&std::fs::read(place.path(&target)).unwrap(), old);
}
