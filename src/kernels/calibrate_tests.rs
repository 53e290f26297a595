//! Calibrations from made profiles: the model's own times, distorted as a device could.

use super::{Profile, calibrate, calibrate_profile, in_network};
use crate::sim::calibration::{Calibration, Group, Source};
use crate::simulate::{Parts, price};
use crate::soc::Soc;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SOC: &str = "Ascend910B2";
const HEADER: &str = "Device_id,Name,Type,Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats";

/// Numbers from 0 to 1 that look random and are the same every time.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }
}

/// A kernel without its time: type, and the columns behind the duration.
fn kernels() -> Vec<(&'static str, String)> {
    let mut kernels = Vec::new();
    for i in 1..=24_u64 {
        let (m, k, n) = (128 * i, 256 + 64 * (i % 7), 512 * (1 + i % 5));
        kernels.push(("MatMulV2", format!(r#""{m},{k};{k},{n}",FLOAT16;FLOAT16,ND;ND,"{m},{n}",FLOAT16,ND"#)));
        let rows = 1024 * i + 256 * (i % 3);
        kernels.push(("Add", format!(r#""{rows},256;{rows},256",FLOAT;FLOAT,ND;ND,"{rows},256",FLOAT,ND"#)));
        kernels.push(("Transpose", format!(r#""{rows},128",FLOAT16,ND,"128,{rows}",FLOAT16,ND"#)));
    }
    kernels
}

fn written(folder: &Path, name: &str, rows: &[String]) -> PathBuf {
    let path = folder.join(name);
    let lines: Vec<&str> = std::iter::once(HEADER).chain(rows.iter().map(String::as_str)).collect();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

fn row(device: u32, op: &str, us: f64, operands: &str) -> String {
    format!("{device},{op},{op},{us},{operands}")
}

fn us_of(case: &Value, parts: &mut Parts) -> (f64, Value) {
    let answer: Value = serde_json::from_str(&price(&case.to_string(), parts).unwrap()).unwrap();
    (answer["time_us"].as_f64().unwrap(), answer)
}

fn parts() -> Parts {
    Parts::new(Some(SOC), Vec::new(), None).unwrap()
}

/// All kernels as rows, with their cases: the model's times, distorted by `distort` of type, time and a draw.
fn network(folder: &Path, distort: impl Fn(&str, f64, f64) -> f64) -> Vec<(String, Value, f64)> {
    let mut draws = Draws(7);
    let one = |(op, operands): (&'static str, String)| {
        let alone = written(folder, "one.csv", &[row(0, op, 1.0, &operands)]);
        let case = Profile::read(&alone, &Soc::find(SOC).unwrap()).unwrap().kernels.remove(0).case;
        let us = distort(op, us_of(&case, &mut parts()).0, draws.next());
        (row(0, op, us, &operands), case, us)
    };
    kernels().into_iter().map(one).collect()
}

/// A class's factor and constant, and noise of a tenth either way.
fn device(op: &str, us: f64, draw: f64) -> f64 {
    let (factor, constant) = match op {
        "MatMulV2" => (1.6, 3.0),
        "Add" => (0.7, 2.0),
        _ => (1.9, 1.0),
    };
    (factor * us + constant) * (0.9 + 0.2 * draw)
}

fn learn(rows: &[String]) -> crate::status::Result<Calibration> {
    let folder = tempfile::tempdir().unwrap();
    calibrate(&[written(folder.path(), "kernel_details.csv", rows)], &Soc::find(SOC).unwrap(), Some("8.0"))
}

#[test]
fn twenty_random_rows_of_a_network_take_a_third_of_the_error_from_the_others() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 1..=5 {
        let mut network = network(folder.path(), device);
        let mut draws = Draws(seed);
        let known: Vec<String> =
            (0..20).map(|_| network.swap_remove((draws.next() * network.len() as f64) as usize).0).collect();
        let calibration = learn(&known).unwrap();
        assert_eq!(calibration.rows, [20, 0]);
        let own = Source::Named("own.json".into(), Arc::new(calibration));
        let mut corrected = parts().calibrated(own).unwrap();
        let error = |parts: &mut Parts| -> f64 {
            network.iter().map(|(_, case, us)| (us_of(case, parts).0 / us - 1.0).abs()).sum::<f64>()
        };
        let (before, after) = (error(&mut parts()), error(&mut corrected));
        println!("seed {seed}: {:.3} {:.3}", before / network.len() as f64, after / network.len() as f64);
        assert!(after < before * 2.0 / 3.0, "seed {seed}: {before} {after}");
        let (us, answer) = us_of(&network[0].1, &mut corrected);
        let said = &answer["calibration"];
        assert_eq!(said["file"], "own.json");
        assert_eq!(said["model_us"], us_of(&network[0].1, &mut parts()).0);
        assert!(said["class"].is_null() || us.to_bits() != said["model_us"].as_f64().unwrap().to_bits());
    }
}

/// Times that no factor and no constant of a class explains.
fn scattered(_: &str, us: f64, draw: f64) -> f64 {
    us * (draw * 2.0 - 1.0).exp()
}

/// The rows of so many launches of each kernel, each within a hundredth of the kernel's time but for `noise`.
fn launches(network: &[(String, Value, f64)], count: usize, noise: f64) -> Vec<String> {
    let mut draws = Draws(3);
    let mut one = |row: &String, us: f64| {
        let time = us * (noise * (2.0 * draws.next() - 1.0)).exp();
        row.replacen(&format!(",{us},"), &format!(",{time},"), 1)
    };
    (0..count).flat_map(|_| network).map(|(row, _, us)| one(row, *us)).collect()
}

#[test]
fn kernels_that_the_profile_holds_are_known_where_their_launches_agree() {
    let folder = tempfile::tempdir().unwrap();
    let network = network(folder.path(), scattered);
    let calibration = learn(&launches(&network, 2, 0.01)).unwrap();
    let known = calibration.known.clone().unwrap();
    assert_eq!((known.repeated, known.problems.len()), (network.len(), network.len()));
    assert!(known.error_after < 0.03 && known.error_before > 0.2, "{known:?}");
    // Read back from its file, it counts for these kernels, and no other class or kernel is touched by it.
    let read: Calibration = serde_json::from_str(&serde_json::to_string(&calibration).unwrap()).unwrap();
    let mut corrected = parts().calibrated(Source::Named("own.json".into(), Arc::new(read))).unwrap();
    for (_, case, us) in &network {
        let (time, answer) = us_of(case, &mut corrected);
        assert!((time / us - 1.0).abs() < 0.06, "{case}: {time} for {us}");
        assert_eq!(answer["calibration"]["class"], "known");
    }
    let other = serde_json::json!({"op": "MatMul", "m": 777, "k": 777, "n": 777});
    if calibration.classes[&Group::Cube].correction.is_none() {
        assert_eq!(us_of(&other, &mut corrected).0, us_of(&other, &mut parts()).0);
    }
}

#[test]
fn a_known_kernel_is_answered_as_it_was_measured_unless_the_case_tells_another_state() {
    let soc = Soc::find(SOC).unwrap();
    let operand = |shape: [u64; 2]| serde_json::json!({"shape": shape, "dtype": "float16", "format": "ND"});
    let case = |[m, k, n]: [u64; 3]| serde_json::json!({"op": "MatMulV2", "inputs": [operand([m, k]), operand([k, n])], "outputs": [operand([m, n])]});
    let sizes = [[512, 4096, 8192], [256, 4096, 4096]];
    let mut rows = Vec::new();
    let mut measured = Vec::new();
    for [m, k, n] in sizes {
        let us = 1.5 * us_of(&in_network(case([m, k, n]), soc.l2_size), &mut parts()).0;
        let row = row(0, "MatMulV2", us, &format!(r#""{m},{k};{k},{n}",FLOAT16;FLOAT16,ND;ND,"{m},{n}",FLOAT16,ND"#));
        rows.extend(vec![row; 20]);
        measured.push(us);
    }
    let calibration = learn(&rows).unwrap();
    let read: Calibration = serde_json::from_str(&serde_json::to_string(&calibration).unwrap()).unwrap();
    let mut corrected = parts().calibrated(Source::Named("own.json".into(), Arc::new(read))).unwrap();
    for (size, us) in sizes.into_iter().zip(measured) {
        let (time, answer) = us_of(&case(size), &mut corrected);
        assert!((time / us - 1.0).abs() < 0.01, "{time} for {us}: {answer}");
        assert_eq!(answer["calibration"]["class"], "known");
        assert!(answer["note"].as_str().unwrap().contains("of its operands in device memory"), "{answer}");
        let mut warm = case(size);
        warm["cache"] = "warm".into();
        let (time, answer) = us_of(&warm, &mut corrected);
        assert!(time < 0.9 * us && answer["note"].is_null(), "{answer}");
    }
}

#[test]
fn a_known_kernel_is_priced_in_the_blocks_that_it_ran_in_and_measured_ones_are_compared_so() {
    let folder = tempfile::tempdir().unwrap();
    let header = format!("{HEADER},Block Dim");
    let sizes = [1_u64 << 20, 3 << 19, 1 << 21];
    let case = |rows: u64| serde_json::json!({"op": "Add", "inputs": vec![serde_json::json!({"shape": [rows], "dtype": "float32", "format": "ND"}); 2], "outputs": [{"shape": [rows], "dtype": "float32", "format": "ND"}]});
    let on = |rows: u64, blocks: u64| {
        let mut case = case(rows);
        case["block_dim"] = blocks.into();
        us_of(&case, &mut parts()).0
    };
    let row =
        |rows: u64, us: f64| row(0, "Add", us, &format!(r#""{rows};{rows}",FLOAT;FLOAT,ND;ND,"{rows}",FLOAT,ND"#));
    let profile = |factor: f64| {
        let rows = sizes.iter().flat_map(|&rows| vec![format!("{},6", row(rows, factor * on(rows, 6))); 4]);
        let lines: Vec<String> = std::iter::once(header.clone()).chain(rows).collect();
        let path = folder.path().join("kernel_details.csv");
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        path
    };
    // As the model has it on six cores, and so nothing is to be learned, though on all cores it takes a part of that.
    assert!(on(sizes[0], 48) < 0.5 * on(sizes[0], 6));
    let soc = Soc::find(SOC).unwrap();
    let error = calibrate(&[profile(1.0)], &soc, None).unwrap_err().to_string();
    assert!(error.contains("single kernels: no gain"), "{error}");
    let calibration = calibrate(&[profile(1.4)], &soc, None).unwrap();
    let read: Calibration = serde_json::from_str(&serde_json::to_string(&calibration).unwrap()).unwrap();
    let mut corrected = parts().calibrated(Source::Named("own.json".into(), Arc::new(read))).unwrap();
    for rows in sizes {
        let measured = 1.4 * on(rows, 6);
        let (us, answer) = us_of(&case(rows), &mut corrected);
        assert!((us / measured - 1.0).abs() < 0.02, "{us} for {measured}: {answer}");
        assert!(
            answer["note"].as_str().unwrap().contains("in 6 blocks, and so it is priced; `block_dim` or `schedule`")
        );
        let mut told = case(rows);
        told["block_dim"] = 48.into();
        let (us, answer) = us_of(&told, &mut corrected);
        assert!(us < 0.6 * measured && answer["note"].is_null(), "{answer}");
    }
}

#[test]
fn kernels_say_something_of_others_of_their_type_and_of_no_other_type() {
    // Two types of one class that the model has wrong either way: no factor of the class helps.
    let operands = |rows: u64| format!(r#""{rows},256;{rows},256",FLOAT;FLOAT,ND;ND,"{rows},256",FLOAT,ND"#);
    let case = |op: &str, rows: u64| {
        let operand = serde_json::json!({"shape": [rows, 256], "dtype": "float32", "format": "ND"});
        serde_json::json!({"op": op, "inputs": [operand, operand], "outputs": [operand]})
    };
    let factor = |op: &str| if op == "Add" { 1.5 } else { 1.0 / 1.5 };
    let mut rows = Vec::new();
    for size in (0..8).map(|at| 4096 + 1024 * at) {
        for op in ["Add", "Mul"] {
            rows.push(row(0, op, factor(op) * us_of(&case(op, size), &mut parts()).0, &operands(size)));
        }
    }
    let calibration = learn(&rows).unwrap();
    assert!(calibration.classes[&Group::Vector].correction.is_none() && calibration.known.is_none());
    let types = calibration.types.as_ref().unwrap();
    assert!(types.compared == 16 && types.error_after < 0.5 * types.error_before, "{types:?}");
    let read: Calibration = serde_json::from_str(&serde_json::to_string(&calibration).unwrap()).unwrap();
    let mut corrected = parts().calibrated(Source::Named("own.json".into(), Arc::new(read))).unwrap();
    for op in ["Add", "Mul", "Sub"] {
        let (us, answer) = us_of(&case(op, 7000), &mut corrected);
        let model = us_of(&case(op, 7000), &mut parts()).0;
        if op == "Sub" {
            assert!(us.to_bits() == model.to_bits() && answer["calibration"]["class"].is_null(), "{answer}");
        } else {
            assert!((us / model / factor(op)).ln().abs() < 0.1, "{op}: {us} for {model}");
            assert_eq!(answer["calibration"]["class"], "type");
        }
    }
}

#[test]
fn kernels_that_the_model_has_right_are_known_and_not_corrected() {
    let folder = tempfile::tempdir().unwrap();
    let mut network = network(folder.path(), |_, us, _| us);
    for (at, (row, _, us)) in network.iter_mut().enumerate().filter(|(at, _)| at % 2 == 0) {
        // Of every second kernel twice or half the time: no factor of a class tells that.
        let time = *us * if at % 4 == 0 { 2.0 } else { 0.5 };
        *row = row.replacen(&format!(",{us},"), &format!(",{time},"), 1);
        *us = time;
    }
    let calibration = learn(&launches(&network, 2, 0.02)).unwrap();
    let known = calibration.known.as_ref().unwrap();
    let right = known.problems.iter().filter(|problem| problem.correction.weight == 0.0).count();
    assert_eq!((known.problems.len(), right), (network.len(), network.len() / 2));
    let mut corrected = parts().calibrated(Source::Named("own.json".into(), Arc::new(calibration.clone()))).unwrap();
    for (_, case, _) in network.iter().skip(1).step_by(2) {
        let answer = us_of(case, &mut corrected).1;
        assert_eq!(
            (&answer["calibration"]["class"], &answer["calibration"]["model_us"]),
            (&"known".into(), &answer["time_us"])
        );
    }
}

#[test]
fn launches_that_are_not_seen_count_and_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = network(folder.path(), device).into_iter().map(|(row, ..)| row).collect();
    let soc = Soc::find(SOC).unwrap();
    let mut rows_and_more = rows.clone();
    rows_and_more.push("0,a,hcom_allReduce_,1.0,N/A,N/A,N/A,N/A,N/A,N/A".to_owned());
    let mut profile = Profile::read(&written(folder.path(), "kernel_details.csv", &rows_and_more), &soc).unwrap();
    profile.beyond = 7;
    let calibration = calibrate_profile(&profile, &soc).unwrap();
    assert_eq!(calibration.rows, [72 + 1 + 7, 1 + 7]);
    for said in ["7 launches are of kernels beyond the first 65536", "1 launch has no operands"] {
        assert!(calibration.doubts.iter().any(|doubt| doubt.contains(said)), "{said}: {:?}", calibration.doubts);
    }
}

#[test]
fn launches_of_one_profile_that_contradict_each_other_are_a_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let network = network(folder.path(), device);
    let times = |factors: [f64; 2], kernels: usize| -> Vec<String> {
        let one = |at: usize, (row, _, us): &(String, Value, f64), factor: f64| {
            let time = us * if at < kernels { factor } else { 1.0 };
            row.replacen(&format!(",{us},"), &format!(",{time},"), 1)
        };
        let all = |factor: f64| network.iter().enumerate().map(move |(at, of)| one(at, of, factor));
        factors.into_iter().flat_map(all).collect()
    };
    let calibration = learn(&times([0.5, 3.0], 72)).unwrap();
    let said = "launches of 72 of 72 kernels";
    assert!(calibration.doubts.iter().any(|doubt| doubt.contains(said)), "{:?}", calibration.doubts);
    assert!(calibration.known.is_none(), "neither time is the kernel's");
    // A few are what else the device did, and launches a third apart are what launches are.
    for fine in [times([0.5, 3.0], 5), times([1.0, 1.33], 72)] {
        let doubts = learn(&fine).unwrap().doubts;
        assert!(!doubts.iter().any(|doubt| doubt.contains("launches of")), "{doubts:?}");
    }
}

#[test]
fn launches_of_one_kernel_alone_teach_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let network = network(folder.path(), |_, us, _| 2.0 * us);
    let error = learn(&launches(&network[..1], 40, 0.01)).unwrap_err().to_string();
    assert!(error.contains("no other kernel to hold out"), "{error}");
    assert_eq!(learn(&launches(&network[..2], 20, 0.01)).unwrap().known.unwrap().problems.len(), 2);
}

#[test]
fn weights_are_learned_where_a_network_has_them() {
    // A device as the model is, with weights in device memory: nothing is to be learned of it.
    let soc = Soc::find("Ascend910_9382").unwrap();
    let mut parts = Parts::only(soc.clone());
    let operand = |shape: [u64; 2]| serde_json::json!({"shape": shape, "dtype": "float16", "format": "ND"});
    let mut row = |[k, n]: [u64; 2]| {
        let case = serde_json::json!({"op": "MatMulV2", "inputs": [operand([16, k]), operand([k, n])], "outputs": [operand([16, n])]});
        let us = us_of(&in_network(case, soc.l2_size), &mut parts).0;
        row(0, "MatMulV2", us, &format!(r#""16,{k};{k},{n}",FLOAT16;FLOAT16,ND;ND,"16,{n}",FLOAT16,ND"#))
    };
    let sizes = [[5120, 9496], [5120, 3200], [1600, 5120], [5120, 512], [512, 5120], [2048, 2048], [4096, 1024]];
    let rows: Vec<String> = sizes.into_iter().flat_map(|size| vec![row(size); 3]).collect();
    let folder = tempfile::tempdir().unwrap();
    let error = calibrate(&[written(folder.path(), "kernel_details.csv", &rows)], &soc, None).unwrap_err().to_string();
    assert!(error.contains("cube: no gain") && error.contains("single kernels: no gain"), "{error}");
}

#[test]
fn launches_that_are_left_out_are_a_doubt() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows: Vec<String> = network(folder.path(), device).into_iter().map(|(row, ..)| row).collect();
    let (_, operands) = kernels().remove(0);
    rows.push(row(0, "MatMulV2", 0.0, &operands));
    let doubts = learn(&rows).unwrap().doubts;
    assert!(
        doubts.iter().any(|doubt| doubt.contains("1 launch is left out") && doubt.contains("line 74")),
        "{doubts:?}"
    );
}

#[test]
fn launches_that_do_not_agree_teach_nothing_of_their_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let network = network(folder.path(), |_, us, _| us);
    let error = learn(&launches(&network, 2, 1.5)).map(|calibration| calibration.known);
    assert!(!matches!(error, Ok(Some(_))), "{error:?}");
    // Nor do kernels that were launched once, without any that tells how far launches agree.
    let once: Vec<String> = network.into_iter().map(|(row, ..)| row).collect();
    assert!(learn(&once).is_err());
}

#[test]
fn a_profile_that_agrees_with_the_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = network(folder.path(), |_, us, _| us).into_iter().map(|(row, ..)| row).collect();
    let error = learn(&rows).unwrap_err().to_string();
    assert!(error.contains("no class of kernels gains") && error.contains("cube: no gain"), "{error}");
}

#[test]
fn a_class_whose_rows_contradict_each_other_is_refused_and_the_others_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let odd = |op: &str, us: f64, draw: f64| match op {
        "MatMulV2" if draw < 0.5 => us * 4.0,
        "MatMulV2" => us / 4.0,
        _ => us * 1.8,
    };
    let rows: Vec<String> = network(folder.path(), odd).into_iter().map(|(row, ..)| row).collect();
    let calibration = learn(&rows).unwrap();
    let cube = &calibration.classes[&Group::Cube];
    assert!(cube.correction.is_none() && cube.refused.as_ref().unwrap().contains("no gain"), "{cube:?}");
    let vector = &calibration.classes[&Group::Vector];
    assert!(vector.error_after.unwrap() < vector.error_before / 3.0, "{vector:?}");
    assert!((vector.correction.unwrap().factor - 1.8).abs() < 0.05);
    let (said, soc) = (calibration.good_for.clone(), Soc::find(SOC).unwrap());
    assert!(said.contains("vector") && !said.contains("cube") && calibration.check(&soc).is_ok(), "{said}");
}

#[test]
fn too_few_rows_and_profiles_that_differ_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = network(folder.path(), device).into_iter().map(|(row, ..)| row).collect();
    let error = learn(&rows[..3]).unwrap_err().to_string();
    assert!(error.contains("too few distinct problems: 1 of at least 4"), "{error}");
    let few = learn(&rows[..15]).unwrap();
    assert!(few.doubts.iter().any(|doubt| doubt.contains("distinct problems")), "{:?}", few.doubts);
    let slow: Vec<String> =
        network(folder.path(), |op, us, draw| 2.0 * device(op, us, draw)).into_iter().map(|(row, ..)| row).collect();
    let both = [written(folder.path(), "a.csv", &rows), written(folder.path(), "b.csv", &slow)];
    let calibration = calibrate(&both, &Soc::find(SOC).unwrap(), None).unwrap();
    assert!(calibration.doubts.iter().any(|doubt| doubt.starts_with("72 problems")), "{:?}", calibration.doubts);
}

#[test]
fn what_cannot_be_learned_from_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (_, operands) = kernels().remove(0);
    let devices = learn(&[row(0, "MatMulV2", 1.0, &operands), row(1, "MatMulV2", 1.0, &operands)]);
    assert!(devices.unwrap_err().to_string().contains("2 devices (0, 1)"));
    let foreign = folder.path().join("kernel_details.csv");
    std::fs::write(&foreign, "算子名称,算子类型,耗时\na,Add,1\n").unwrap();
    let error = calibrate(&[foreign], &Soc::find(SOC).unwrap(), None).unwrap_err().to_string();
    assert!(error.contains("another language") && error.contains("`Op Name`"), "{error}");
    let unknown = learn(&["0,a,Add,1.0,N/A,N/A,N/A,N/A,N/A,N/A".to_owned()]).unwrap_err().to_string();
    assert!(unknown.contains("could be priced"), "{unknown}");
}

#[test]
fn a_file_says_the_same_when_read_again_and_counts_for_its_part_only() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = network(folder.path(), device).into_iter().map(|(row, ..)| row).collect();
    let calibration = learn(&rows).unwrap();
    assert_eq!((calibration.part.as_str(), calibration.cann_version.as_deref()), (SOC, Some("8.0")));
    let path = folder.path().join("own.json");
    let write = |value: &Value| std::fs::write(&path, value.to_string()).unwrap();
    let value = serde_json::to_value(&calibration).unwrap();
    write(&value);
    let read = Calibration::read(&path).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), value);
    let other = || Source::named(path.clone()).unwrap();
    let fixed = Parts::new(Some("Ascend910B4"), Vec::new(), None).unwrap().calibrated(other()).unwrap_err();
    assert!(fixed.to_string().contains(SOC) && fixed.to_string().contains("Ascend910B4"), "{fixed}");
    let mut open = Parts::new(None, Vec::new(), None).unwrap().calibrated(other()).unwrap();
    let case = r#"{"op":"MatMul","m":64,"k":64,"n":64,"soc":"Ascend310P3"}"#;
    assert!(price(case, &mut open).unwrap_err().to_string().contains("Ascend310P3"));
    for (place, wrong, word) in [
        ("/version", Value::from(9), "version 9"),
        ("/classes/cube/correction/factor", Value::from(-1.0), "`cube`"),
        ("/classes/cube/correction/weight", Value::from(2.0), "`cube`"),
        ("/classes", Value::from("none"), "is no calibration"),
    ] {
        let mut changed = value.clone();
        *changed.pointer_mut(place).unwrap() = wrong;
        write(&changed);
        let error = Calibration::read(&path).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("own.json"), "{error}");
    }
}
