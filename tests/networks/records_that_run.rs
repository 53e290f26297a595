//! What a tuning writes into CANN's bank of `MatMulV3` makes CANN's kernels compute the product.
//!
//! The rules stand here a second time, written from what the kernels do and without the library's own table, so that
//! a mistake there is not one here.

use aoe::bank::inspect::{Socs, Source, Status, verify};
use aoe::bank::repair::repair;
use aoe::bank::{BankPaths, Measured, OperatorBank, Writable};
use aoe::frontend::{ModelOptions, load_file};
use aoe::graph::DataType;
use aoe::lower::{Settings, Switches, graph_fusion, lower};
use aoe::search::{Algorithm, Outcome, Search, Settings as SearchSettings};
use aoe::sim::Model;
use aoe::soc::Soc;
use aoe::space::OperatorSpace;
use aoe::tiling::matmul_v3::Tiling;
use aoe::workload::{DefaultOrigin, MatMul, MatMulKernel, Schedule, Workload};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The first rule that a record breaks on a part with so many cores.
fn broken(record: &Value, cores: u64) -> Option<String> {
    let t = |name: &str| record["knowledge"][name].as_u64().unwrap();
    let i = |name: &str| record["info_dict"][name].as_u64().unwrap();
    let flag = |name: &str| record["info_dict"][name].as_bool().unwrap();
    let (fp32, nz) = (i("a_dtype") == 0, |name: &str| i(name) == 29);
    let (tens, ones, thousands) = (t("tilingEnable") / 10 % 10, t("tilingEnable") % 10, t("tilingEnable") / 1000 % 10);
    let both_nz = nz("a_format") && nz("b_format");
    let kernel = match (tens, ones, thousands) {
        (0, 0 | 1, 0) => true,
        (0, 0, 2) => both_nz,
        _ if both_nz || t("tilingEnable") >= 10_000 => false,
        (1, 0, 0) | (2, 0, 2) => fp32,
        (2, 0, 0 | 1) | (0, 2, 0) | (0, 3, 0 | 2) => true,
        (1, 2, 0) => !fp32 && !nz("b_format"),
        (0, 4, 0) => fp32 && !flag("trans_a_flag") && flag("trans_b_flag"),
        _ => false,
    };
    if !kernel {
        return Some(format!("no kernel for {}", t("tilingEnable")));
    }
    if t("usedCoreNum") == 0 || t("usedCoreNum") > cores {
        return Some("cores".into());
    }
    let one_block = tens != 2 && matches!(ones, 0 | 1 | 4);
    if one_block && (t("singleCoreM") > t("baseM") || t("singleCoreN") > t("baseN")) {
        return Some("only the first block of a task is written".into());
    }
    let [m, n, k] = ["m", "n", "k"].map(i);
    let tasks = [m.div_ceil(t("singleCoreM")), n.div_ceil(t("singleCoreN")), k.div_ceil(t("singleCoreK"))];
    if !matches!(ones, 2 | 3) {
        let tiles = [("l2MTileCnt", "l2MTileBlock", tasks[0]), ("l2NTileCnt", "l2NTileBlock", tasks[1])];
        for (count, block, tasks) in tiles {
            let (count, block) = (t(count), t(block));
            if count == 0 || (count - 1) * block >= tasks || tasks > count * block {
                return Some(format!("{count} L2 tiles of {block} for {tasks} tasks"));
            }
        }
    }
    // All products of the key: rows in whole fractals, unless it says that they are.
    let rows_from = if flag("m_align_flag") { m } else { m.saturating_sub(15) };
    let es = if fp32 { 4 } else { 2 };
    let whole = |extent: u64| (extent * es).is_multiple_of(256);
    let keeps_columns = |m: u64| {
        m > n
            && m >= 128
            && flag("n_align_flag")
            && (n * es).is_multiple_of(32)
            && (!whole(n) || whole(m))
            && (whole(m) || n * es > 256)
            && !(m >= 2048 && n == 16)
    };
    match ones {
        2 if tasks[0] * tasks[1] > t("usedCoreNum") => Some("more tasks than cores".into()),
        3 if t("stepN") > 1 && !(rows_from..=m).all(keeps_columns) => Some("a form that CANN does not choose".into()),
        3 if tasks[2] < t("usedCoreNum") => Some("workspace that nobody wrote is added".into()),
        4 if tasks.iter().product::<u64>() > cores => Some("more than one round".into()),
        _ => None,
    }
}

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

fn bank(directory: &Path) -> OperatorBank {
    OperatorBank::open(BankPaths { custom: directory.to_owned(), also_read: Vec::new() }, &soc())
}

/// What a short search finds of a product, and what it writes.
fn tuned(w: &MatMul, seed: u64, bank: &mut OperatorBank) -> Schedule {
    let (workload, soc) = (Workload::MatMul(w.clone()), soc());
    let space = OperatorSpace::new(&workload, &soc).unwrap();
    let model = Model::new(&workload, &soc).unwrap();
    let initial = space.nearest(space.default_schedule()).into_iter().collect();
    let mut search = Search::new(
        space,
        SearchSettings { seed, algorithm: Algorithm::Random, max_trials: 24, initial, ..SearchSettings::default() },
    )
    .unwrap();
    while let Some(trial) = search.ask() {
        let schedule = search.domain().schedule(&trial.configuration).unwrap();
        let cost = model.predict(&schedule).map_or(Outcome::Failed, |p| Outcome::Cost(p.time_us));
        search.tell(trial.id, cost).unwrap();
    }
    let (configuration, us) = search.best().unwrap();
    let schedule = search.domain().schedule(configuration).unwrap();
    let measured = Measured {
        before_us: 2.0 * us,
        after_us: us,
        backend: "simulator".into(),
        space: 1,
        default: DefaultOrigin::Estimated,
    };
    bank.record(&workload, &schedule, &measured).unwrap();
    schedule
}

/// The records of `MatMulV3` that a bank holds.
fn records(directory: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file(directory)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn file(directory: &Path) -> PathBuf {
    directory.join("Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json")
}

/// Products of all templates.
fn random_products(count: usize) -> Vec<MatMul> {
    let mut rng = fastrand::Rng::with_seed(15);
    let extent = |rng: &mut fastrand::Rng| match rng.u32(0..4) {
        0 => rng.u64(1..40),
        1 => 16 * rng.u64(1..300),
        2 => rng.u64(1..20_000),
        _ => 128 * rng.u64(1..100),
    };
    (0..count)
        .map(|_| {
            let dtype = [DataType::Float16, DataType::Bfloat16, DataType::Float][rng.usize(0..3)];
            let [m, k, n] = [extent(&mut rng), extent(&mut rng), extent(&mut rng)];
            let (trans_a, trans_b, bias) = (rng.bool(), rng.bool(), rng.u32(0..4) == 0);
            MatMul { dtype, out_dtype: dtype, trans_a, trans_b, bias, ..MatMul::new(m, k, n) }
        })
        .collect()
}

/// The products of the networks that come with the source.
fn bundled_products() -> Vec<MatMul> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = ["models", "training"].map(|folder| root.join(folder));
    let files = files.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()));
    let is_model = |path: &PathBuf| path.extension().is_some_and(|name| name == "onnx" || name == "air");
    let mut products = Vec::new();
    for model in files.filter(is_model) {
        let graph = load_file(&model, None, &ModelOptions::default()).unwrap();
        let (graph, _) = graph_fusion(graph, &soc(), &Settings::default(), &Switches::default()).unwrap();
        for kernel in lower(&graph, &soc(), &Settings::default()).unwrap().kernels {
            // Whoever implements them there: as AscendC's operator they are in the bank.
            if let Workload::MatMul(w) = kernel.workload {
                products.push(MatMul { batch: 1, kernel: MatMulKernel::AscendC, ..w });
            }
        }
    }
    products.retain(|w| matches!(w.dtype, DataType::Float16 | DataType::Float | DataType::Bfloat16));
    products
}

#[test]
fn every_record_that_a_tuning_writes_runs() {
    let directory = tempfile::tempdir().unwrap();
    let mut bank = bank(directory.path());
    let bundled = bundled_products();
    assert!(bundled.len() > 10, "{}", bundled.len());
    for (seed, w) in bundled.iter().chain(&random_products(1000)).enumerate() {
        tuned(w, seed as u64, &mut bank);
    }
    bank.save().unwrap();
    let records = records(directory.path());
    let mut templates: BTreeMap<u64, usize> = BTreeMap::new();
    for record in &records {
        *templates.entry(record["knowledge"]["tilingEnable"].as_u64().unwrap()).or_default() += 1;
    }
    let bad: Vec<_> = records.iter().filter_map(|record| Some((broken(record, 24)?, record))).collect();
    println!("{} of {} records run; by tilingEnable: {templates:?}", records.len() - bad.len(), records.len());
    assert!(bad.is_empty(), "{bad:?}");
    assert!(records.len() > 900 && templates.len() > 3, "{templates:?}");
}

/// A product, a record of it that runs, and what breaks one rule each.
fn mutations() -> Vec<(MatMul, Tiling, &'static str)> {
    let fp32 =
        |m, k, n| MatMul { dtype: DataType::Float, out_dtype: DataType::Float, trans_b: true, ..MatMul::new(m, k, n) };
    let base = |w: &MatMul| Tiling {
        used_core_num: 24,
        single_core_m: 128,
        single_core_n: 128,
        single_core_k: w.k as u32,
        base_m: 128,
        base_n: 128,
        base_k: 32,
        depth_a1: 4,
        depth_b1: 4,
        step_m: 1,
        step_n: 1,
        step_ka: 2,
        step_kb: 2,
        db_l0a: 2,
        db_l0b: 2,
        db_l0c: 1,
        l2_m_tile_cnt: 1,
        l2_n_tile_cnt: 1,
        l2_m_tile_block: (w.m as u32).div_ceil(128),
        l2_n_tile_block: (w.n as u32).div_ceil(128),
        ..Tiling::default()
    };
    let w = MatMul::new(1024, 4096, 2048);
    let good = base(&w);
    let long = fp32(1024, 4096, 2048);
    vec![
        (w.clone(), good, ""),
        (w.clone(), Tiling { single_core_m: 256, l2_m_tile_block: 4, ..good }, "singleCoreM"),
        (w.clone(), Tiling { single_core_n: 256, l2_n_tile_block: 8, ..good }, "singleCoreN"),
        (w.clone(), Tiling { l2_m_tile_cnt: 0, ..good }, "l2MTileCnt"),
        (w.clone(), Tiling { l2_n_tile_cnt: 0, ..good }, "l2NTileCnt"),
        (w.clone(), Tiling { l2_m_tile_cnt: 2, ..good }, "L2 tiles"),
        (w.clone(), Tiling { l2_n_tile_block: 3, ..good }, "L2 tiles"),
        (w.clone(), Tiling { tiling_enable: 10, ..good }, "float32"),
        (w.clone(), Tiling { tiling_enable: 13, ..good }, "no kernel"),
        (w.clone(), Tiling { tiling_enable: 22, ..good }, "no kernel"),
        (w, Tiling { tiling_enable: 3, single_core_k: 2048, ..good }, "sums the pieces"),
        (long, Tiling { tiling_enable: 4, single_core_k: 2048, ..good }, "tasks"),
    ]
}

#[test]
fn a_record_that_breaks_a_rule_is_not_written() {
    let soc = soc();
    for (w, tiling, word) in mutations() {
        let schedule = Schedule::Cube(tiling.schedule(&w).unwrap());
        let workload = Workload::MatMul(w);
        let answer = Writable::of(&workload, &soc).check(&schedule);
        match answer {
            Ok(()) => assert_eq!(word, "", "{tiling:?}"),
            Err(error) => assert!(!word.is_empty() && error.to_string().contains(word), "{word}: {error}"),
        }
        let directory = tempfile::tempdir().unwrap();
        let measured = Measured {
            before_us: 2.0,
            after_us: 1.0,
            backend: "simulator".into(),
            space: 1,
            default: DefaultOrigin::Estimated,
        };
        assert_eq!(bank(directory.path()).record(&workload, &schedule, &measured).is_ok(), word.is_empty(), "{word}");
    }
}

/// A bank with one good record, as libaoe wrote it, and its line.
fn written(directory: &Path) -> String {
    let mut bank = bank(directory);
    tuned(&MatMul::new(1024, 4096, 2048), 1, &mut bank);
    bank.save().unwrap();
    std::fs::read_to_string(file(directory)).unwrap()
}

fn judged(path: &Path) -> Vec<(Status, String)> {
    let mut found = Vec::new();
    verify(&mut Source::open(path).unwrap(), &mut Socs::new(None), &mut |judgement| {
        found.extend(judgement.remarks.into_iter().map(|remark| (remark.status, remark.reason)));
        Ok(())
    })
    .unwrap();
    found
}

#[test]
fn verify_names_the_rule_and_repair_takes_out_what_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let good = written(directory.path());
    let path = file(directory.path());
    assert_eq!(judged(&path), []);
    for (w, tiling, word) in mutations().into_iter().skip(1).filter(|(w, ..)| w.dtype == DataType::Float16) {
        let mut record: Value = serde_json::from_str(good.trim_end()).unwrap();
        assert_eq!(record["info_dict"]["m"], w.m);
        record["knowledge"] = Value::Object(tiling.to_knowledge());
        let bad = record.to_string() + "\n";
        std::fs::write(&path, &bad).unwrap();
        let remarks = judged(&path);
        let [(Status::WouldNotCompute, reason)] = &remarks[..] else { panic!("{word}: {remarks:?}") };
        assert!(reason.contains(word) && reason.contains("did not write it"), "{reason}");
        let left = repair(&path, false, false).unwrap();
        assert_eq!((left.taken.len(), left.left.len(), left.copy), (0, 1, None), "a stranger's stays");
        let rehearsed = repair(&path, true, true).unwrap();
        assert_eq!((rehearsed.taken.len(), std::fs::read_to_string(&path).unwrap()), (1, bad.clone()));
        let taken = repair(&path, true, false).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
        assert_eq!(std::fs::read_to_string(taken.copy.unwrap()).unwrap(), bad);
        assert_eq!(
            repair(&path, true, false).unwrap(),
            aoe::bank::repair::Repaired::default(),
            "nothing is left to do"
        );
    }
}

#[test]
fn a_bank_that_cann_installed_is_not_repaired() {
    let directory = tempfile::tempdir().unwrap();
    let installed = directory.path().join("opp/built-in/data/op/Ascend910B2/unified_bank");
    std::fs::create_dir_all(&installed).unwrap();
    written(&installed);
    let error = repair(&file(&installed), true, false).unwrap_err();
    assert!(error.to_string().contains("installed"), "{error}");
}

#[test]
fn products_of_the_tbe_operators_are_not_in_the_bank_of_matmulv3() {
    let directory = tempfile::tempdir().unwrap();
    let name = |w: MatMul| bank(directory.path()).record_name(&Workload::MatMul(w)).unwrap();
    let w = MatMul::new(512, 512, 512);
    assert!(name(w.clone()).starts_with("Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json"));
    let tbe = name(MatMul { kernel: MatMulKernel::Tbe, ..w });
    assert!(!tbe.contains("MatMulV3"), "{tbe}");
}
