//! Gradient tuning from a recording: what is printed, written and refused.

use super::Place;
use aoe::bank::gradient::Bank;
use aoe::frontend::{self, ModelOptions};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

const GRADIENTS: u64 = 40;

impl Place {
    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    /// A recording of gradients that grow smaller, so many nanoseconds apart.
    fn recording(&self, pause: u64) -> [String; 3] {
        let mut summary = String::from(
            "No,gradient_size(byte),data_type,graph_id,group_name,gradient_node_name,trace_node_name,allreduce_node_name\n",
        );
        let mut profile = String::from("loop,modelName,opName,opType,taskStartTime,taskEndTime\n");
        for i in 0..GRADIENTS {
            let size = 100_000 * (GRADIENTS - i);
            writeln!(summary, "{},{size},float32,3,hccl_world_group,g{i},ar{i}_TensorRedirect,ar{i}", i + 1).unwrap();
        }
        for run in 0..5 {
            for i in 0..GRADIENTS {
                let start = 10_000_000 * run + (pause + 500) * i;
                writeln!(profile, "{run},3,ar{i}_TensorRedirect,TensorRedirect,{start},{}", start + 500).unwrap();
            }
        }
        let summary = self.write("summary.csv", &summary);
        let profile = self.write("profile.csv", &profile);
        [
            format!("--gradient_summary={summary}"),
            format!("--gradient_profile={profile}"),
            "--soc_version=Ascend910A".into(),
        ]
    }
}

#[test]
fn a_recording_becomes_a_bank_entry_a_split_and_a_timeline() {
    let place = Place::new();
    let recording = place.recording(100_000);
    let arguments: Vec<&str> = recording.iter().map(String::as_str).collect();
    let answer = place.run(&[&["--job_type=4"], &arguments[..]].concat()).expect(0, &[]);
    for words in ["3 process finished. Performance improved by ", "Aoe process finished", "set_split_strategy_by_idx(["]
    {
        assert!(answer.stdout.contains(words), "{words}: {answer:#?}");
    }
    let written = std::fs::read(place.path("bank/Ascend910A_gradient_fusion.json")).unwrap();
    let bank = Bank::parse(&written);
    let (_, gradients) = bank.entries().next().unwrap();
    assert_eq!((gradients.time.len() as u64, gradients.size[0], gradients.time[1]), (GRADIENTS, 4_000_000, 100_000));

    let results = place.results();
    let [result] = results.as_slice() else { panic!("{results:#?}") };
    let section = &result[1]["GDAT"];
    let number = |key: &str| section[key].as_f64().unwrap();
    assert!(number("trailing_time_after_tune(ms)") < number("trailing_time_before_tune(ms)"), "{section:#}");
    assert!(number("model_result_performance(ms)") <= number("model_baseline_performance(ms)"));
    let last = |split: &str| section[split]["by_idx"].as_array().unwrap().last().unwrap().as_u64().unwrap();
    for split in ["split_before_tune", "split_after_tune", "split_from_bank"] {
        assert_eq!(last(split), GRADIENTS - 1, "{split}");
    }
    let devices: Vec<_> =
        section["scaling"].as_array().unwrap().iter().map(|s| s["devices"].as_u64().unwrap()).collect();
    assert_eq!(devices, [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]);

    let timeline = std::fs::read_dir(place.path("work")).unwrap().map(|entry| entry.unwrap().path());
    let mut timeline = timeline.filter(|path| path.to_string_lossy().contains("aoe_timeline_gdat_"));
    let events: Value = serde_json::from_slice(&std::fs::read(timeline.next().unwrap()).unwrap()).unwrap();
    assert!(events.as_array().unwrap().iter().any(|e| e["name"] == "hcom_allReduce__0" && e["ph"] == "X"));
}

#[test]
fn gradients_of_two_groups_have_a_split_each_and_one_bank_entry() {
    let place = Place::new();
    let recording = place.recording(100_000);
    let text = std::fs::read_to_string(place.path("summary.csv")).unwrap();
    // Every third gradient is another group's.
    let of = |(row, line): (usize, &str)| if row % 3 == 0 { line.to_owned() } else { line.replace("world", "other") };
    let lines: Vec<_> = text.lines().enumerate().map(of).collect();
    let text = format!("{}\n", lines.join("\n"));
    place.write("summary.csv", &text);
    let arguments: Vec<&str> = recording.iter().map(String::as_str).collect();
    let answer = place.run(&[&["--job_type=4"], &arguments[..]].concat()).expect(0, &[]);
    for group in ["hccl_world_group", "hccl_other_group"] {
        assert!(answer.stdout.contains(&format!("group=\"{group}\")")), "{answer:#?}");
    }
    let bank = Bank::parse(&std::fs::read(place.path("bank/Ascend910A_gradient_fusion.json")).unwrap());
    assert_eq!(bank.entries().map(|(_, gradients)| gradients.size.len() as u64).collect::<Vec<_>>(), [GRADIENTS]);

    let section = &place.results()[0][1]["GDAT"];
    assert_eq!((&section["split_from_bank"], &section["is_optimum"]), (&Value::Null, &Value::Null));
    let sets = section["split_after_tune"]["sets"].as_array().unwrap();
    let numbers = sets.iter().map(|set| set["gradient_num"].as_u64().unwrap());
    assert_eq!(numbers.sum::<u64>(), GRADIENTS);
    for set in sets {
        let (by_idx, number) = (set["by_idx"].as_array().unwrap(), set["gradient_num"].as_u64().unwrap());
        assert_eq!(by_idx.last().unwrap().as_u64(), Some(number - 1), "{set:#}");
    }
    let segments = section["split_after_tune"]["segments"].as_array().unwrap();
    let lasts: Vec<_> = segments.iter().map(|segment| segment["last"].as_u64().unwrap()).collect();
    assert!(lasts.windows(2).all(|pair| pair[0] < pair[1]), "in the order in which they are ready: {lasts:?}");
    assert!(segments.iter().any(|segment| segment["set"] == 1) && segments.iter().any(|segment| segment["set"] == 0));
}

#[test]
fn a_training_graph_is_split_and_the_tuned_one_says_what_belongs_together() {
    let place = Place::new();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/training/resnet50.air");
    let arguments = ["-j", "gradient", "--backend=simulator", "--soc_version=Ascend910B2", "--framework=1", "--model"];
    let answer = place.run(&[&arguments[..], &[model.to_str().unwrap()]].concat()).expect(0, &[]);
    assert!(answer.stdout.contains("over hccl's own default, by what CANN reads"), "{answer:#?}");
    let results = place.results();
    let split = results[0][1]["GDAT"]["split_after_tune"]["by_idx"].as_array().unwrap();
    let summary = std::fs::read_to_string(place.path("work/gradient_summary.csv")).unwrap();
    let exchanges: Vec<_> = summary.lines().skip(1).map(|line| line.rsplit(',').next().unwrap()).collect();
    assert_eq!(exchanges.len(), 161);
    let file = place.path("tuned.air");
    std::fs::write(&file, place.air_of("resnet50")).unwrap();
    let graph = frontend::load_file(&file, None, &ModelOptions::default()).unwrap();
    let attr = |name: &str, key: &str| graph.node(graph.find(name).unwrap()).attrs.int(key).unwrap();
    for (index, exchange) in (0..).zip(&exchanges) {
        let segment = split.iter().position(|last| index <= last.as_u64().unwrap()).unwrap();
        assert_eq!((attr(exchange, "fusion"), attr(exchange, "fusion_id")), (2, segment as i64 + 1), "{exchange}");
    }
}

#[test]
fn a_recording_has_no_profile_and_who_asks_for_one_is_told_why() {
    let place = Place::new();
    let recording = place.recording(100_000);
    let arguments: Vec<&str> = recording.iter().map(String::as_str).chain(["--output=folder/"]).collect();
    let words = ["profiling_mode", "a recording has times of gradients and not of kernels"];
    place.run(&[&arguments[..], &["--profiling_mode=true"]].concat()).expect(2, &words);
    assert!(!place.path("folder").exists());
    place.run(&arguments).expect(0, &[]);
    assert!(place.path("folder/report.html").is_file() && !place.path("folder/profiling").exists());
}

#[test]
fn what_a_bank_has_stays_unless_it_is_to_be_replaced() {
    let place = Place::new();
    let recording = place.recording(100_000);
    let arguments: Vec<&str> = recording.iter().map(String::as_str).collect();
    let bank = || std::fs::read(place.path("bank/Ascend910A_gradient_fusion.json")).unwrap();
    place.run(&arguments).expect(0, &[]);
    let first = bank();
    place.recording(120_000);
    let answer = place.run(&arguments).expect(0, &[]);
    assert!(answer.stdout.contains("stay as the bank has them"), "{answer:#?}");
    assert_eq!(bank(), first);
    let mut again = place.command(&arguments);
    let answer = super::Answer::of(again.env("REPEAT_TUNE", "True").output().unwrap()).expect(0, &[]);
    assert!(answer.stdout.contains("recorded"), "{answer:#?}");
    assert_ne!(bank(), first);
}

#[test]
fn a_bad_recording_is_named_and_leaves_nothing_behind() {
    let place = Place::new();
    let recording = place.recording(100_000);
    let [summary, profile, soc] = recording.each_ref().map(String::as_str);
    let cluster = place.write("cluster.json", r#"{"devices_per_node":8,"nodes":1,"node":{"links":0,"gb_s":1}}"#);
    let cluster = format!("--cluster={cluster}");
    for (arguments, status, said) in [
        (vec![summary, soc], 2, "gradient_profile"),
        (vec![profile, soc], 2, "gradient_summary"),
        (vec![summary, profile, soc, "--job_type=2"], 2, "job_type 4"),
        (vec![summary, profile, soc, "--model=x.onnx"], 2, "exclude each other"),
        (vec![summary, profile, soc, &cluster], 2, "`node.links` is 0"),
        (vec!["--gradient_summary=/nowhere.csv", profile, soc], 1, "/nowhere.csv"),
    ] {
        place.run(&arguments).expect(status, &[said]);
    }
    let text = std::fs::read_to_string(place.path("profile.csv")).unwrap();
    place.write("profile.csv", &text.replacen("TensorRedirect,100500", "TensorRedirect,NaN", 1));
    place.run(&[summary, profile, soc]).expect(2, &["profile.csv:3", "`NaN` is no time"]);
    place.write("profile.csv", &text.replace(',', ";"));
    place.run(&[summary, profile, soc]).expect(1, &["profile.csv", "semicolons"]);
    std::fs::write(place.path("profile.csv"), text.bytes().flat_map(|byte| [byte, 0]).collect::<Vec<_>>()).unwrap();
    place.run(&[summary, profile, soc]).expect(1, &["profile.csv", "iconv -f UTF-16LE"]);
    place.recording(100_000);
    let mut nowhere = place.command(&[summary, profile, soc]);
    let answer = super::Answer::of(nowhere.env("ASCEND_WORK_PATH", place.path("profile.csv")).output().unwrap());
    answer.expect(1, &["profile.csv"]);
    assert_eq!(std::fs::read_dir(place.path("bank")).unwrap().count(), 0);
    assert_eq!(place.results(), [] as [Value; 0]);
}

#[test]
fn a_training_graph_whose_summary_has_no_place_leaves_the_bank_alone() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("out/gradient_summary.csv")).unwrap();
    let model = concat!("--model=", env!("CARGO_MANIFEST_DIR"), "/examples/training/resnet50.air");
    let output = format!("--output={}/", place.path("out").display());
    let arguments = ["-j", "4", "-f", "1", model, "--soc_version=Ascend910A", "--backend=simulator", &output];
    place.run(&arguments).expect(1, &["gradient_summary.csv"]);
    assert_eq!(std::fs::read_dir(place.path("bank")).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(place.path("out")).unwrap().count(), 1);
}

#[test]
fn a_part_on_which_cann_tunes_no_gradients_is_named() {
    let place = Place::new();
    let [summary, profile, _] = place.recording(100_000);
    let said = |soc: &str| {
        let soc = format!("--soc_version={soc}");
        place.run(&[summary.as_str(), &profile, &soc]).expect(0, &[]).stderr.contains("is not known")
    };
    assert!(said("Ascend310P3") && said("Ascend910_9391"));
    assert!(!said("Ascend910B2") && !said("Ascend910A"));
}

#[test]
fn options_without_effect_on_gradients_are_named() {
    let place = Place::new();
    let recording = place.recording(100_000);
    let mut arguments: Vec<&str> = recording.iter().map(String::as_str).collect();
    assert!(!place.run(&arguments).expect(0, &[]).stderr.contains("without effect"));
    arguments.extend(["--Fdeeper_opat", "--input_shape=x:1"]);
    place.run(&arguments).expect(0, &["without effect", "Fdeeper_opat", "input_shape"]);
}

#[test]
fn a_bank_that_keeps_other_gradients_under_the_same_hash_is_named() {
    let place = Place::new();
    let recording = place.recording(100_000);
    let arguments: Vec<&str> = recording.iter().map(String::as_str).collect();
    assert!(!place.run(&arguments).expect(0, &[]).stderr.contains("other gradients"));
    let summary = std::fs::read_to_string(place.path("summary.csv")).unwrap();
    place.write("summary.csv", &summary.replacen(",4000000,", ",4000004,", 1));
    let answer = place.run(&arguments).expect(0, &["other gradients", "REPEAT_TUNE"]);
    assert!(answer.stdout.contains("keeps other gradients"), "{answer:#?}");
}

#[test]
fn a_recording_survives_the_tuning_of_a_graph_beside_it() {
    let place = Place::new();
    let recording = place.recording(100_000);
    let work = place.path("work");
    std::fs::create_dir_all(&work).unwrap();
    std::fs::copy(place.path("summary.csv"), work.join("gradient_summary.csv")).unwrap();
    let model = concat!("--model=", env!("CARGO_MANIFEST_DIR"), "/examples/training/resnet50.air");
    let graph = ["-j", "4", "-f", "1", model, "--soc_version=Ascend910A", "--backend=simulator"];
    place.run(&graph).expect(0, &[]);
    let summary = format!("--gradient_summary={}/gradient_summary.csv", work.display());
    place.run(&[&summary, &recording[1], &recording[2]]).expect(0, &[]);
    place.write("work/gradient_summary.csv", "what I wrote\n");
    place.run(&graph).expect(2, &["gradient_summary.csv", "move what is there away"]);
    assert_eq!(std::fs::read_to_string(work.join("gradient_summary.csv")).unwrap(), "what I wrote\n");
}
