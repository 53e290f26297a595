//! Tables say the same as the run, column by column.

use super::*;
use crate::profile::table::UNKNOWN;
use crate::profile::{Engine, File, Metrics, Options, Run, files};
use crate::sim::Bound;
use std::collections::BTreeMap;

/// A table as its readers see it: a value for each column's name.
type Rows = Vec<BTreeMap<String, String>>;

fn content<'a>(files: &'a [File], name: &str) -> Option<&'a [u8]> {
    let named = |file: &&File| file.path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(name));
    files.iter().find(named).and_then(|file| file.content.as_deref())
}

fn rows(files: &[File], name: &str) -> Rows {
    let mut reader = csv::Reader::from_reader(content(files, name).unwrap_or_else(|| panic!("no {name}")));
    reader.deserialize().map(|row| row.unwrap()).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    let text = row.get(column).unwrap_or_else(|| panic!("no column {column}: {row:?}"));
    text.trim_end_matches('\t').parse().unwrap_or_else(|_| panic!("{column} is {text:?}"))
}

fn all(metrics: Metrics) -> Options {
    let options = Options { l2: true, runtime_api: true, ..Options::default() };
    Options { metrics: Some(metrics), ..options }
}

fn written(run: &Run, metrics: Metrics) -> Vec<File> {
    files(run, &all(metrics), "20260101000000").unwrap()
}

#[test]
fn op_summary_has_a_row_for_each_task_and_its_times_are_the_networks() {
    for run in sample() {
        let rows = rows(&written(&run, Metrics::PipeUtilization), "op_summary");
        assert_eq!(rows.len(), run.tasks.len());
        let sum: f64 = rows.iter().map(|row| number(row, "Task Duration(us)")).sum();
        assert!((sum - run.total_us()).abs() < 1e-3 * rows.len() as f64, "{sum} {}", run.total_us());
        for (row, task) in rows.iter().zip(&run.tasks) {
            let kernel = run.kernel(task);
            assert_eq!((&row["Op Name"], &row["OP Type"]), (&kernel.name, &kernel.op_type));
            assert_eq!((row["Device_id"].as_str(), row["Context ID"].as_str()), ("0", UNKNOWN));
            assert!(row["Task Start Time(us)"].ends_with('\t'));
            assert!(number(row, "Block Dim") > 0.0 && number(row, "Task Wait Time(us)") == 0.0);
        }
        assert_eq!(rows[0]["Input Shapes"], "\"512,1024;1024,1024\"");
        assert_eq!(rows[0]["Input Data Types"], "FLOAT16;FLOAT16");
        assert_eq!((rows[0]["Task Type"].as_str(), rows[0]["OP State"].as_str()), ("AI_CORE", "static"));
    }
}

#[test]
fn ratios_are_times_over_the_total_and_what_is_not_counted_is_unknown() {
    let [before, _] = sample();
    let rows = rows(&written(&before, Metrics::PipeUtilization), "op_summary");
    for (row, task) in rows.iter().zip(&before.tasks) {
        let engine = before.kernel(task).engine;
        let (core, total, pipes): (_, _, &[&str]) = match engine {
            Engine::AiCore => ("aic", "aicore_time(us)", &["mac", "mte1", "mte2", "fixpipe"]),
            _ => ("aiv", "aiv_time(us)", &["vec", "mte2", "mte3"]),
        };
        let busy = |pipe: &str| number(row, &format!("{core}_{pipe}_ratio"));
        for pipe in pipes {
            let time = number(row, &format!("{core}_{pipe}_time(us)"));
            assert!((time - busy(pipe) * number(row, total)).abs() <= 0.0005 * (number(row, total) + 2.0), "{row:?}");
            assert!((0.0..=1.0).contains(&busy(pipe)));
        }
        assert!(pipes.iter().any(|pipe| busy(pipe) > 0.0));
        assert_eq!(row[&format!("{core}_icache_miss_rate")], UNKNOWN);
        assert_eq!(row[&format!("{core}_scalar_ratio")], UNKNOWN);
        let other = if core == "aic" { "aiv_vec_ratio" } else { "aic_mac_ratio" };
        assert_eq!(row[other], "0", "the other cores do nothing");
        assert!((0.0..=100.0).contains(&number(row, "cube_utilization(%)")));
    }
}

#[test]
fn every_group_of_counters_has_a_value_for_each_column_on_every_kind_of_part() {
    for name in ["Ascend910B2", "Ascend310P3", "Ascend910A"] {
        let soc = soc(name);
        let variants = [variant(512, &soc)];
        let run = Timed::of_subgraphs(forms(&variants), None, scene(&soc)).unwrap().run();
        for (_, metrics) in Metrics::NAMES {
            let rows = rows(&written(&run, *metrics), "op_summary");
            let columns = metrics.columns(soc.arch);
            for row in &rows {
                for column in &columns {
                    let value = &row[column];
                    assert!(value == UNKNOWN || value.parse::<f64>().is_ok_and(|v| v >= 0.0), "{column}: {value}");
                }
            }
            let is_counted = !matches!(metrics, Metrics::ResourceConflictRatio | Metrics::L2Cache | Metrics::MemoryUB);
            let counted = |column: &&String| !column.ends_with("total_cycles") && !column.ends_with("_time(us)");
            let known = columns.iter().filter(counted).filter(|column| rows[0][*column] != UNKNOWN);
            let own = known.filter(|column| rows[0][*column] != "0").count();
            assert_eq!(own > 0, is_counted, "{name} {metrics:?}");
        }
    }
}

#[test]
fn a_product_moves_its_operands_and_result_at_least_once() {
    let [_, after] = sample();
    let row = &rows(&written(&after, Metrics::MemoryAccess), "op_summary")[0];
    let kilobytes = |elements: f64| elements * 2.0 / 1024.0;
    let operands = kilobytes(512.0 * 1024.0 + 1024.0 * 1024.0);
    assert!(number(row, "aic_GM_to_L1_datas(KB)") >= operands, "{row:?}");
    assert!((number(row, "aic_L0C_to_GM_datas(KB)") - kilobytes(512.0 * 1024.0)).abs() < 0.3 * operands, "{row:?}");
    assert_eq!(row["aic_L0C_to_L1_datas(KB)"], UNKNOWN);
}

#[test]
fn nothing_is_told_of_the_pipes_where_a_device_measured() {
    let [mut run, _] = sample();
    run.kernels.iter_mut().for_each(|kernel| kernel.is_simulated = false);
    run.kernels[2].duration_us = None;
    let files = written(&run, Metrics::PipeUtilization);
    let rows = rows(&files, "op_summary");
    for row in &rows {
        assert!(Metrics::PipeUtilization.columns(run.soc.arch).iter().all(|column| row[column] == UNKNOWN));
    }
    assert_eq!(rows[2]["Task Duration(us)"], UNKNOWN);
    let rules: serde_json::Value = serde_json::from_slice(content(&files, "prof_rule_0").unwrap()).unwrap();
    assert_eq!(rules["data"]["Model Summary"][0]["result"], serde_json::json!([]));
}

#[test]
fn op_statistic_sums_the_tasks_of_each_type_the_longest_first() {
    let [before, _] = sample();
    let files = written(&before, Metrics::PipeUtilization);
    let (tasks, sums) = (rows(&files, "op_summary"), rows(&files, "op_statistic"));
    assert_eq!(sums.iter().map(|row| number(row, "Count") as usize).sum::<usize>(), tasks.len());
    let share: f64 = sums.iter().map(|row| number(row, "Ratio(%)")).sum();
    assert!((share - 100.0).abs() < 0.01, "{share}");
    assert!(sums.windows(2).all(|pair| number(&pair[0], "Total Time(us)") >= number(&pair[1], "Total Time(us)")));
    for row in &sums {
        let of = tasks.iter().filter(|task| task["OP Type"] == row["OP Type"]);
        let total: f64 = of.map(|task| number(task, "Task Duration(us)")).sum();
        assert!((total - number(row, "Total Time(us)")).abs() < 0.01);
        let mean = number(row, "Total Time(us)") / number(row, "Count");
        assert!((number(row, "Avg Time(us)") - mean).abs() < 0.002);
    }
}

#[test]
fn task_time_and_step_trace_agree_with_the_run() {
    let [before, _] = sample();
    let files = written(&before, Metrics::PipeUtilization);
    for (row, task) in rows(&files, "task_time").iter().zip(&before.tasks) {
        let [start, end] = before.span(task);
        assert!((number(row, "task_start(us)") - start).abs() < 0.001);
        assert!((number(row, "task_stop(us)") - end).abs() < 0.001);
        assert!(row["kernel_type"].starts_with("KERNEL_AI"));
    }
    let steps = rows(&files, "step_trace");
    assert_eq!(steps.len(), 1);
    assert!((number(&steps[0], "Iteration Time(us)") - before.total_us()).abs() < 0.001);
    for column in ["FP Start(us)", "BP End(us)", "FP to BP Time(us)", "Iteration Refresh(us)", "Data Aug Bound(us)"] {
        assert_eq!(steps[0][column], UNKNOWN, "a network without gradients has no {column}");
    }
}

#[test]
fn the_points_that_are_named_cut_the_iteration() {
    let [before, _] = sample();
    let named = |node: &str| Some(node.to_owned());
    let options = Options { fp_point: named("dense0/Relu"), bp_point: named("dense1/MatMul"), ..Options::default() };
    let files = files(&before, &options, "20260101000000").unwrap();
    let (row, tasks) = (&rows(&files, "step_trace")[0], rows(&files, "op_summary"));
    let at = |name: &str| tasks.iter().find(|task| task["Op Name"] == name).unwrap();
    let (first, last) = (at("dense0/Relu"), at("dense1/MatMul"));
    let end = number(last, "Task Start Time(us)") + number(last, "Task Duration(us)");
    assert!((number(row, "FP Start(us)") - number(first, "Task Start Time(us)")).abs() < 0.001);
    assert!((number(row, "BP End(us)") - end).abs() < 0.002);
    assert!((number(row, "FP to BP Time(us)") - (end - number(row, "FP Start(us)"))).abs() < 0.002);
    assert!((number(row, "Iteration Refresh(us)") - (before.total_us() - end)).abs() < 0.002);
}

#[test]
fn points_that_run_no_kernel_are_refused_with_the_nearest_name() {
    let soc = soc("Ascend910B2");
    let variants = [variant(64, &soc)];
    let check = |fp: &str| {
        let options = Options { fp_point: Some(fp.to_owned()), ..Options::default() };
        crate::profile::check_points(&options, &forms(&variants)).map_err(|error| error.to_string())
    };
    assert_eq!(check("dense1/Relu"), Ok(()));
    let message = check("dense1/Rleu").unwrap_err();
    assert!(message.contains("fp_point") && message.contains("`dense1/Relu`"), "{message}");
    let message = check("w0").unwrap_err();
    assert!(message.contains("`w0` runs no kernel"), "{message}");
}

#[test]
fn a_backward_pass_that_ends_before_the_forward_pass_begins_is_refused() {
    let soc = soc("Ascend910B2");
    let mut variants = [variant(64, &soc)];
    let check = |variants: &[Variant], fp: &str, bp: Option<&str>| {
        let options = Options { fp_point: Some(fp.to_owned()), bp_point: bp.map(str::to_owned), ..Options::default() };
        crate::profile::check_points(&options, &forms(variants)).map_err(|error| error.to_string())
    };
    assert_eq!(check(&variants, "dense1/MatMul", Some("dense1/MatMul")), Ok(()));
    let message = check(&variants, "dense1/MatMul", Some("dense0/Relu")).unwrap_err();
    let words = ["profiling_options", "`bp_point` `dense0/Relu`", "`fp_point` `dense1/MatMul`"];
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
    // The end that is found by itself is no earlier either.
    let relu = variants[0].graph.find("dense0/Relu").unwrap();
    variants[0].graph.node_mut(relu).op_type = "ReluGrad".into();
    assert_eq!(check(&variants, "dense0/MatMul", None), Ok(()));
    let message = check(&variants, "dense1/MatMul", None).unwrap_err();
    assert!(message.contains("`dense1/MatMul`") && message.contains("`dense0/Relu`"), "{message}");
}

#[test]
fn what_l2_serves_within_a_network_is_not_known() {
    for soc in ["Ascend910B2", "Ascend310P3", "Ascend910A"].map(soc) {
        let variants = [variant(64, &soc)];
        let run = Timed::of_subgraphs(forms(&variants), None, scene(&soc)).unwrap().run();
        let rates = rows(&written(&run, Metrics::PipeUtilization), "l2_cache");
        assert_eq!(rates.len(), run.tasks.len());
        assert!(rates.iter().all(|row| row["Hit Rate"] == UNKNOWN && row["Victim Rate"] == UNKNOWN));
        for metrics in [Metrics::Memory, Metrics::MemoryAccess] {
            for row in rows(&written(&run, metrics), "op_summary") {
                let of_memory = row.iter().filter(|(column, _)| column.contains("main_mem"));
                let known: Vec<_> = of_memory.filter(|(_, value)| *value != UNKNOWN && *value != "0").collect();
                assert!(known.is_empty(), "{known:?}");
            }
        }
    }
}

#[test]
fn no_kernel_is_told_to_use_more_cores_than_there_are() {
    for name in ["Ascend910B2", "Ascend310P3", "Ascend910A"] {
        let soc = soc(name);
        let variants = [variant(1 << 14, &soc)];
        let run = Timed::of_subgraphs(forms(&variants), None, scene(&soc)).unwrap().run();
        let files = written(&run, Metrics::PipeUtilization);
        let info: serde_json::Value = serde_json::from_slice(content(&files, "info.json.0").unwrap()).unwrap();
        let device = &info["DeviceInfo"][0];
        let rows = rows(&files, "op_summary");
        for row in &rows {
            let cores = if row["Task Type"] == "AI_VECTOR_CORE" { "aiv_num" } else { "ai_core_num" };
            assert!(number(row, "Block Dim") <= device[cores].as_f64().unwrap(), "{name}: {row:?}");
            assert!(number(row, "cube_utilization(%)") <= 100.0, "{name}: {row:?}");
        }
        let most = rows.iter().map(|row| row["Block Dim"].parse::<u32>().unwrap()).max();
        assert_eq!(most, Some(soc.vector_core_cnt.max(soc.ai_core_cnt)), "{name}");
    }
}

#[test]
fn what_is_not_known_of_a_kernel_on_both_kinds_of_cores_is_neither_told_nor_used() {
    let run = mixed();
    let mixed = |row: &BTreeMap<String, String>| row["Task Type"] == "MIX_AIC";
    let files = written(&run, Metrics::PipeUtilization);
    let tasks = rows(&files, "op_summary");
    assert!(tasks.iter().any(|row| mixed(row) && number(row, "aiv_vec_ratio") > 0.0));
    for row in tasks.iter().filter(|row| mixed(row)) {
        for pipe in ["aic_mte2", "aiv_mte2", "aiv_mte3"] {
            assert_eq!(row[&format!("{pipe}_ratio")], UNKNOWN, "{pipe}");
            assert_eq!(row[&format!("{pipe}_time(us)")], UNKNOWN, "{pipe}");
        }
    }
    for (metrics, column) in
        [(Metrics::Memory, "aiv_l2_write_bw(GB/s)"), (Metrics::MemoryAccess, "aiv_UB_to_GM_datas(KB)")]
    {
        let rows = rows(&written(&run, metrics), "op_summary");
        assert!(rows.iter().filter(|row| mixed(row)).all(|row| row[column] == UNKNOWN), "{column}");
    }
    let rules: serde_json::Value = serde_json::from_slice(content(&files, "prof_rule_0").unwrap()).unwrap();
    let memory = rules["data"]["Op Summary"][1]["result"].to_string();
    assert!(tasks.iter().filter(|row| mixed(row)).all(|row| !memory.contains(&row["Op Name"])), "{memory}");
}

#[test]
fn the_advice_says_what_the_report_says_of_what_bounds_the_kernels() {
    for run in [sample().into_iter().next_back().unwrap(), fused(64, "Ascend310P3"), mixed()] {
        let files = written(&run, Metrics::PipeUtilization);
        let rules: serde_json::Value = serde_json::from_slice(content(&files, "prof_rule_0").unwrap()).unwrap();
        assert_eq!(rules["status"], 0);
        let us = |such: &dyn Fn(Bound) -> bool| -> f64 {
            let of = run.tasks.iter().map(|task| run.kernel(task));
            of.filter(|kernel| such(kernel.prediction.unwrap().bound)).fold(0.0, |sum, kernel| sum + kernel.us())
        };
        let summary = &rules["data"]["Model Summary"][0];
        assert_eq!(
            (summary["Rule Type"].as_str(), summary["result"].as_array().unwrap().len()),
            (Some("Model Bottleneck Analysis"), 1)
        );
        let advice = &summary["result"][0];
        assert_eq!(advice["Rule Subtype"], "");
        let told = |unit: &str, such: &dyn Fn(Bound) -> bool| {
            let told = advice["Tuning Data"][format!("{unit} Utilization")].as_f64().unwrap();
            assert!((told - us(such)).abs() < 0.01, "{unit}: {advice}");
        };
        told("Cube", &|bound| bound == Bound::Cube);
        told("Vector", &|bound| bound == Bound::Vector);
        told("MTE", &|bound| !matches!(bound, Bound::Cube | Bound::Vector | Bound::Latency));
        let text = advice["Rule Suggestion"].as_str().unwrap();
        let share = format!(
            "start and fill of the kernel {:.0} %",
            us(&|bound| bound == Bound::Latency) / run.total_us() * 100.0
        );
        assert!(text.contains(&share) && text.contains("dense") && text.contains("Look first at"), "{share}: {text}");
        let sections = rules["data"]["Op Summary"].as_array().unwrap().iter();
        let results: Vec<_> = sections.flat_map(|section| section["result"].as_array().unwrap()).collect();
        for result in &results {
            assert!(
                ["", "Cube", "Vector", "Scalar", "Memory"].contains(&result["Rule Subtype"].as_str().unwrap()),
                "{result}"
            );
            assert!(result["Tuning Data"].as_array().is_some_and(|names| !names.is_empty()), "{result}");
        }
        let is_short = |result: &&&serde_json::Value| result["Rule Suggestion"].as_str().unwrap().contains("too short");
        for name in
            results.iter().find(is_short).into_iter().flat_map(|result| result["Tuning Data"].as_array().unwrap())
        {
            let kernel = run.kernels.iter().find(|kernel| *name == kernel.name.as_str()).unwrap();
            assert_eq!(kernel.prediction.unwrap().bound, Bound::Latency, "{name}");
        }
    }
}

#[test]
fn operators_that_leave_the_vector_unit_idle_are_named() {
    let [_, after] = sample();
    let files = written(&after, Metrics::PipeUtilization);
    let rules: serde_json::Value = serde_json::from_slice(content(&files, "prof_rule_0").unwrap()).unwrap();
    let vector = &rules["data"]["Op Summary"][0]["result"];
    let of_vector = vector.as_array().unwrap().iter().find(|rule| rule["Rule Subtype"] == "Vector").unwrap();
    assert!(of_vector["Tuning Data"].as_array().unwrap().iter().any(|name| name == "dense0/Relu"));
}

#[test]
fn a_fused_kernel_is_told_with_its_parts_and_memory() {
    let run = fused(4096, "Ascend310P3");
    let rows = rows(&written(&run, Metrics::PipeUtilization), "fusion_op");
    assert!(rows[0]["Original Ops"].starts_with("dense0/MatMul;dense0/Relu"), "{:?}", rows[0]);
    assert!((number(&rows[0], "Memory Weight(KB)") - 2048.0).abs() < 0.001);
    assert_eq!((rows[0]["Memory Workspace(KB)"].as_str(), rows[0]["Device_id"].as_str()), (UNKNOWN, "host"));
}

#[test]
fn the_options_decide_which_files_there_are() {
    let [before, _] = sample();
    let names = |text: &str| -> Vec<String> {
        let files = files(&before, &Options::parse(text).unwrap(), "20260101000000").unwrap();
        let names = files.iter().filter_map(|file| file.path.strip_prefix("mindstudio_profiler_output").ok());
        names.map(|name| name.to_string_lossy().replace("_20260101000000", "")).collect()
    };
    let always = ["README.txt", "msprof.json", "ge.json"];
    assert_eq!(names(r#"{"task_trace":"off"}"#), always);
    assert_eq!(names(r#"{"task_trace":"l0"}"#), [&always[..], &["task_time.csv", "task_time.json"]].concat());
    let tasks = ["task_time.csv", "task_time.json", "op_summary.csv", "op_statistic.csv", "prof_rule_0.json"];
    assert_eq!(names("{}"), [&always[..], &tasks].concat());
    let asked = names(r#"{"training_trace":"on","l2":"on","runtime_api":"on","hccl":"on"}"#);
    let more = ["step_trace.csv", "step_trace.json", "l2_cache.csv", "thread_group.json"];
    assert_eq!(asked, [&always[..], &tasks, &more].concat());
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let [a, b] = [sample(), sample()];
    for (a, b) in a.iter().zip(&b) {
        assert_eq!(written(a, Metrics::Memory), written(b, Metrics::Memory));
    }
}
