//! Timelines are valid Chrome traces, and tell what the run does.

use super::*;
use crate::profile::{Engine, Options, Run, Task, files};
use crate::workload::{Collective, CollectiveKind};
use serde_json::Value;
use std::collections::BTreeMap;

fn events(run: &Run, name: &str) -> Vec<Value> {
    let options = Options { runtime_api: true, ..Options::default() };
    let files = files(run, &options, "20260101000000").unwrap();
    let named = |path: &Path| {
        path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(name))
            && path.extension().is_some_and(|e| e == "json")
    };
    let file = files.iter().find(|file| named(&file.path)).unwrap_or_else(|| panic!("no {name}"));
    serde_json::from_slice(file.content.as_deref().unwrap()).unwrap()
}

/// Microseconds of an event's begin and end.
fn span(event: &Value) -> [f64; 2] {
    let start: f64 = event["ts"].as_str().unwrap().parse().unwrap();
    [start, start + event["dur"].as_f64().unwrap()]
}

/// Names of processes and rows.
fn names(events: &[Value], kind: &str) -> BTreeMap<(u64, String), String> {
    let of_kind = events.iter().filter(|event| event["name"] == kind);
    let key = |event: &Value| (event["pid"].as_u64().unwrap(), event["tid"].to_string());
    of_kind.map(|event| (key(event), event["args"]["name"].as_str().unwrap().to_owned())).collect()
}

/// The bars of a process.
fn bars<'a>(events: &'a [Value], process: &str) -> Vec<&'a Value> {
    let processes = names(events, "process_name");
    let pid = processes.iter().find(|(_, name)| name.as_str() == process).map(|((pid, _), _)| *pid);
    events.iter().filter(|event| event["ph"] == "X" && event["pid"].as_u64() == pid).collect()
}

/// A run in which an exchange hides behind a task and goes on for a while, with a pause behind it.
fn with_exchange() -> Run {
    let [mut run, _] = sample();
    let mut exchange = run.kernels[1].clone();
    exchange.name = "allreduce".to_owned();
    exchange.launched = exchange.name.clone();
    exchange.op_type = CollectiveKind::AllReduce.op_type().to_owned();
    exchange.engine = Engine::Communication;
    exchange.workload = Workload::Collective(Collective { kind: CollectiveKind::AllReduce, bytes: 4096 });
    exchange.duration_us = Some(100.0);
    run.kernels.push(exchange);
    run.tasks.truncate(2);
    let [start, end] = run.span(&run.tasks[0]);
    run.tasks[1].start_us = end + 200.0;
    run.tasks.insert(1, Task { kernel: run.kernels.len() - 1, stream: 1, start_us: f64::midpoint(start, end) });
    run.models[0].tasks = 0..3;
    run
}

#[test]
fn every_event_is_of_the_trace_event_format_and_has_a_named_row() {
    for run in sample().into_iter().chain([with_exchange()]) {
        for name in ["msprof", "step_trace_20260101000000.json", "ge", "thread_group"] {
            let events = events(&run, name);
            let (processes, rows) = (names(&events, "process_name"), names(&events, "thread_name"));
            assert!(events.iter().any(|event| event["ph"] == "X"), "{name}");
            for event in &events {
                let pid = event["pid"].as_u64().unwrap();
                assert!(processes.keys().any(|(known, _)| *known == pid), "{event}");
                match event["ph"].as_str().unwrap() {
                    "M" => assert!(event["args"].is_object() && event.get("ts").is_none()),
                    "X" => {
                        let [start, end] = span(event);
                        assert!(start >= 0.0 && end >= start, "{event}");
                        let is_named = rows.contains_key(&(pid, event["tid"].to_string()));
                        assert!(is_named || event["tid"].is_string(), "{event}");
                    }
                    other => panic!("phase {other}"),
                }
            }
        }
    }
}

#[test]
fn the_timeline_of_the_tasks_alone_is_that_of_the_whole_one() {
    let [before, _] = sample();
    let (whole, alone) = (events(&before, "msprof"), events(&before, "task_time"));
    let tasks: Vec<_> = bars(&alone, "Ascend Hardware");
    assert_eq!(tasks.len(), before.tasks.len());
    assert!(tasks.iter().all(|task| bars(&whole, "Ascend Hardware").contains(task)));
    assert_eq!(alone.iter().filter(|event| event["ph"] == "X").count(), tasks.len(), "and nothing else");
}

#[test]
fn nothing_overlaps_within_a_row() {
    for run in sample() {
        let events = events(&run, "msprof");
        let mut rows: BTreeMap<(u64, String), Vec<[i64; 2]>> = BTreeMap::new();
        // Iterations have parts, which lie within them.
        for event in events.iter().filter(|event| event["ph"] == "X" && event.get("cat").is_none()) {
            let nanoseconds = span(event).map(|us| (us * 1e3).round() as i64);
            rows.entry((event["pid"].as_u64().unwrap(), event["tid"].to_string())).or_default().push(nanoseconds);
        }
        assert!(rows.len() > 4, "{:?}", rows.keys());
        for (row, mut spans) in rows {
            spans.sort_unstable();
            assert!(spans.windows(2).all(|pair| pair[0][1] <= pair[1][0]), "{row:?}");
        }
    }
}

#[test]
fn operators_stand_in_their_stream_and_pipes_within_their_operators() {
    let [before, _] = sample();
    let events = events(&before, "msprof");
    let tasks: Vec<_> =
        bars(&events, "Ascend Hardware").into_iter().filter(|event| event.get("cat").is_none()).collect();
    assert_eq!(tasks.len(), before.tasks.len());
    for (event, task) in tasks.iter().zip(&before.tasks) {
        assert_eq!(event["name"], before.kernel(task).name.as_str());
        assert_eq!((&event["tid"], &event["args"]["Model Id"]), (&0.into(), &1.into()));
        assert_eq!(event["args"]["Task Type"], before.kernel(task).engine.task_type());
    }
    let pipes = bars(&events, "AI Core Pipes (busiest core)");
    for task in &tasks {
        let [start, end] = span(task);
        let own: Vec<_> = pipes.iter().filter(|bar| bar["args"]["Operator"] == task["name"]).collect();
        assert!(!own.is_empty(), "{task}");
        assert!(own.iter().all(|bar| span(bar)[0] >= start - 0.001 && span(bar)[1] <= end + 0.001), "{task}");
    }
}

#[test]
fn exchanges_have_rows_of_their_own_and_what_hides_them_is_told() {
    let run = with_exchange();
    let events_of_run = events(&run, "msprof");
    let exchanges = bars(&events_of_run, "Communication");
    // The arguments that CANN has of an operation, no task's.
    let known = |args: &Value| [&args["model id"], &args["data_type"], &args["count"]].map(Value::clone);
    assert_eq!(known(&exchanges[0]["args"]), [Value::from(1), "FLOAT16".into(), (512 * 1024).into()]);
    let keys: Vec<_> = exchanges[0]["args"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["alg_type", "count", "data_type", "model id", "rank_size", "relay", "retry"]);
    assert_eq!(exchanges.len(), 1);
    let rows = names(&events_of_run, "thread_name");
    let of = |wanted: &str| -> f64 {
        let row = rows.iter().find(|(_, name)| name.as_str() == wanted).unwrap().0;
        let own = bars(&events_of_run, "Overlap Analysis")
            .into_iter()
            .filter(|bar| bar["tid"].as_u64() == row.1.parse().ok());
        own.map(|bar| span(bar)[1] - span(bar)[0]).sum()
    };
    let half = run.kernel(&run.tasks[0]).us() / 2.0;
    assert!((of("Communication") - 100.0).abs() < 0.01);
    assert!((of("Communication(Not Overlapped)") - (100.0 - half)).abs() < 0.01);
    assert!((of("Free") - (200.0 - (100.0 - half))).abs() < 0.01);
    assert_eq!(events(&run, "hccl").iter().filter(|event| event["ph"] == "X").count(), 1);
    let files = files(&run, &Options::default(), "20260101000000").unwrap();
    let table = |name: &str| {
        let file = files.iter().find(|file| file.path.to_string_lossy().contains(name)).unwrap();
        String::from_utf8(file.content.clone().unwrap()).unwrap()
    };
    assert!(table("communication_statistic").lines().nth(1).unwrap().starts_with("0,HcomAllReduce,1,100.000"));
    let row = table("op_summary").lines().nth(2).unwrap().to_owned();
    assert!(row.starts_with("0,1,N/A,N/A,allreduce,HcomAllReduce,N/A,COMMUNICATION,"), "{row}");
    assert!(
        table("step_trace_20260101000000.csv")
            .lines()
            .next()
            .unwrap()
            .ends_with("Reduce Start(us),Reduce Duration(us)")
    );
}

#[test]
fn a_long_run_is_told_in_fewer_bars() {
    let [mut run, _] = sample();
    let one = run.tasks.clone();
    for at in 0..4000 {
        run.tasks.extend(one.iter().map(|task| Task { start_us: f64::from(at + 1) * 1e4 + task.start_us, ..*task }));
    }
    run.models[0].tasks = 0..run.tasks.len();
    let events = events(&run, "msprof");
    assert!(bars(&events, "AI Core Pipes (busiest core)").len() <= 200_000);
}
