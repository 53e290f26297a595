//! `--shard`: parts of a list of models, tuned apart and merged.

use super::Place;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The records of every bank file of a SoC, whatever their order.
fn records(bank: &Path) -> BTreeSet<String> {
    // A part without a gain that is sure has no bank.
    let Ok(files) = std::fs::read_dir(bank.join("Ascend910B2/unified_bank")) else { return BTreeSet::new() };
    let files = files.map(|entry| entry.unwrap().path());
    let lines = |file: PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        text.lines().map(|line| format!("{name}: {line}")).collect::<Vec<_>>()
    };
    files.filter(|file| file.extension().is_some_and(|e| e == "json")).flat_map(lines).collect()
}

/// A place with a list of three networks, of which the first is the longest.
fn listed() -> Place {
    let place = Place::new();
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models");
    std::fs::copy(super::SURE, place.path("third.onnx")).unwrap();
    let list =
        format!("# two of the bundled\n{0}/resnet50.onnx\n\n {0}/bert_base.onnx\nthird.onnx\n", models.display());
    std::fs::write(place.path("models.txt"), list).unwrap();
    place
}

const LIST: [&str; 2] = ["--model_path=models.txt", "--soc_version=Ascend910B2"];

/// Searched so that no model profits from what the bank holds of another: a guided search begins from near records.
const ALONE: [&str; 6] =
    [LIST[0], LIST[1], "--algorithm=random", "--max_tuning_count=200", "--job_type=2", "--backend=simulator"];

#[test]
fn parts_that_are_merged_hold_what_one_machine_finds() {
    let whole = listed();
    let finished = whole.run(&ALONE).expect(0, &[]);
    assert_eq!(finished.stdout.matches("Tuning process finished.").count(), 3, "{}", finished.stdout);
    let joined = Place::new();
    let merged = joined.path("bank");
    let mut models = 0;
    for shard in ["--shard=1/2", "--shard=2/2"] {
        let part = listed();
        let answer = part.run(&[&ALONE[..], &[shard]].concat()).expect(0, &["of 3 models"]);
        models += answer.stdout.matches("Tuning process finished.").count();
        let from = part.path("bank/Ascend910B2/unified_bank");
        if records(&part.path("bank")).is_empty() {
            continue;
        }
        let into = format!("--into={}", merged.join("Ascend910B2/unified_bank").display());
        joined.run(&["bank", "merge", from.to_str().unwrap(), &into]).expect(0, &[]);
    }
    assert_eq!(models, 3);
    let found = records(&whole.path("bank"));
    assert!(!found.is_empty(), "nothing was recorded, and nothing is compared");
    assert_eq!(records(&merged), found);
}

#[test]
fn a_part_without_a_model_does_nothing_and_succeeds() {
    let place = listed();
    let answer = place.tune(&[LIST[0], LIST[1], "--shard=4/4"]).expect(0, &["shard 4/4: 0 of 3 models"]);
    assert!(!answer.stdout.contains("Tuning process"), "{}", answer.stdout);
}

#[test]
fn a_part_that_is_none_or_of_no_list_is_a_mistake() {
    let place = listed();
    place.tune(&[LIST[0], LIST[1], "--shard=3/2"]).expect(2, &["EG0003", "`3/2` is not I/N"]);
    place.tune(&["--model=third.onnx", "--shard=1/2"]).expect(2, &["--model_path"]);
}

#[test]
fn a_list_names_models_and_is_none() {
    let place = listed();
    place.tune(&["--model_path=third.onnx"]).expect(2, &["third.onnx is a model", "--model"]);
    std::fs::write(place.path("empty.txt"), "# nothing\n").unwrap();
    place.tune(&["--model_path=empty.txt"]).expect(1, &["empty.txt", "no line of it names a model"]);
    std::fs::write(place.path("wrong.txt"), "third.onnx\nmissing.onnx\nthird.onnx\n").unwrap();
    let answer = place.tune(&["--model_path=wrong.txt", LIST[1]]).expect(1, &["missing.onnx", "1 of 2 models"]);
    assert_eq!(answer.stdout.matches("Tuning process finished.").count(), 1, "{}", answer.stdout);
}
