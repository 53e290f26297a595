//! `aoe search` as its users meet it.

use super::{Answer, Place};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TABLE: &str = "tile,order,time_ms,status,std_ms\n8,0,4.5,ok,\n8,1,,out of memory,\n16,0,2.25,ok,\n16,1,9,ok,\n";
const SPACE: &str = r#"{"parameters":[{"name":"M","values":[1,2,3,4]},{"name":"N","values":[1,2,3]}],
    "constraints":["M * N <= 6"]}"#;

fn lines(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs with a space of nine legal configurations; the arguments come after `--space`.
fn search(place: &Place, arguments: &[&str]) -> Answer {
    std::fs::write(place.path("space.json"), SPACE).unwrap();
    place.run(&[&["search", "--space=space.json"], arguments].concat())
}

#[test]
fn a_table_is_replayed_to_its_end() {
    let place = Place::new();
    std::fs::write(place.path("table.csv"), TABLE).unwrap();
    for algorithm in ["auto", "random", "genetic", "annealing", "bayesian"] {
        let option = format!("--algorithm={algorithm}");
        let arguments = ["search", "--space=table.csv", "--seed=3", &option];
        let answer = place.run(&arguments).expect(0, &["4 legal of 4 configurations"]);
        let lines = lines(&answer.stdout);
        assert_eq!(lines.len(), 5, "{answer:#?}");
        let failed = lines.iter().find(|line| line["status"] == "failed").unwrap();
        assert_eq!(failed["configuration"], json!({"tile": 8, "order": 1}));
        assert_eq!((&failed["reason"], failed.get("time")), (&json!("out of memory"), None));
        let end = &lines[4];
        assert_eq!((&end["stop"], &end["trials"], &end["failed"]), (&json!("exhausted"), &json!(4), &json!(1)));
        assert_eq!(end["best"]["time"], 2.25);
        assert_eq!(end["best"]["configuration"], json!({"tile": 16, "order": 0}));
        let best = end["best"]["trial"].as_u64().unwrap() as usize;
        assert_eq!((&lines[best]["time"], &lines[best]["best"]), (&json!(2.25), &json!(2.25)));
        let again = place.run(&arguments).expect(0, &[]);
        assert_eq!(again.stdout.lines().take(4).collect::<Vec<_>>(), answer.stdout.lines().take(4).collect::<Vec<_>>());
    }
}

#[test]
fn a_program_measures_and_its_failures_have_reasons() {
    let place = Place::new();
    let script = "case $M$N in\n11) exit 3;; 12) echo wrong >&2; exit 1;; 13) echo nan;; 21) echo nothing;;\n\
                  22) sleep 3600;; 23) echo -1;; *) echo \"$1 $2: time=$((M * 10 + N)) us\";; esac\n";
    std::fs::write(place.path("measure.sh"), script).unwrap();
    let arguments = ["--command=sh measure.sh", "--budget=50", "--timeout=1", "--parallel=3", "--algorithm=random"];
    let answer = search(&place, &arguments).expect(0, &["9 legal of 12"]);
    let all = lines(&answer.stdout);
    let reason = |m: i64, n: i64| {
        let line = all.iter().find(|line| line["configuration"] == json!({"M": m, "N": n})).unwrap();
        line["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason(1, 1), "exit status 3");
    assert_eq!(reason(1, 2), "exit status 1: wrong");
    assert!(reason(1, 3).contains("`nan`") && reason(2, 1).contains("no number") && reason(2, 3).contains("below 0"));
    assert!(reason(2, 2).starts_with("timeout"));
    let end = all.last().unwrap();
    assert_eq!((&end["stop"], &end["failed"]), (&json!("exhausted"), &json!(6)));
    assert_eq!(end["best"]["configuration"], json!({"M": 3, "N": 1}));
    assert_eq!(end["best"]["time"], 31.0);
}

#[test]
fn the_lines_go_to_a_file_and_the_last_one_to_both() {
    let place = Place::new();
    let arguments = ["--command=echo 1 #", "--budget=3", "--output=out.jsonl", "--algorithm=random"];
    let answer = search(&place, &arguments).expect(0, &["3 of 3 trials"]);
    let file = lines(&std::fs::read_to_string(place.path("out.jsonl")).unwrap());
    assert_eq!(file.len(), 4);
    assert_eq!(lines(&answer.stdout), file[3..]);
    assert_eq!(file[3]["stop"], "budget");
}

#[test]
fn what_is_wrong_is_named() {
    let place = Place::new();
    std::fs::write(place.path("bad.json"), SPACE.replace("<= 6", "<= Q")).unwrap();
    std::fs::write(place.path("empty.json"), SPACE.replace("<= 6", "> 99")).unwrap();
    std::fs::write(place.path("bad.csv"), "a,time_ms\n1,2\n1,3\n").unwrap();
    std::fs::write(place.path("table.csv"), TABLE).unwrap();
    let command = "--command=echo 1 #";
    for (arguments, status, said) in [
        (&["search"][..], 2, &["EG0000", "--space"][..]),
        (&["search", "--space=none.json", command], 1, &["EG0011", "none.json"]),
        (&["search", "--space=none.csv"], 1, &["EG0011", "none.csv"]),
        (&["search", "--space=bad.json", command], 2, &["EG0001", "bad.json", "column 10", "`Q`"]),
        (&["search", "--space=empty.json", command], 2, &["empty.json", "`M * N > 99`", "no legal configuration"]),
        (&["search", "--space=bad.csv"], 2, &["EG0001", "bad.csv:3", "line 2"]),
        (&["search", "--space=table.csv", command], 2, &["--command", "replayed"]),
        (&["search", "--space=table.csv", "--algorithm=magic"], 2, &["EG0000", "magic"]),
        (&["search", "--space=table.csv", "--budget=0"], 2, &["EG0000", "0"]),
        (&["search", "--space=table.csv", "--timeout=-1"], 2, &["EG0000", "-1"]),
        (&["search", "--space=table.csv", "--output=no/such/dir"], 1, &["EG0011", "no/such/dir"]),
    ] {
        let answer = place.run(arguments).expect(status, said);
        assert!(answer.stdout.is_empty(), "{answer:#?}");
    }
    search(&place, &[]).expect(2, &["--command"]);
    search(&place, &["--command= "]).expect(2, &["--command is empty"]);
    let answer = search(&place, &["--command=false", "--budget=4"]).expect(1, &["none of 4 trials"]);
    assert_eq!(lines(&answer.stdout).last().unwrap()["best"], Value::Null);
}

#[test]
fn a_time_limit_ends_the_search() {
    let place = Place::new();
    let answer = search(&place, &["--command=echo 1 #", "--time-limit=0.000001"]).expect(1, &["none of 0 trials"]);
    assert_eq!(lines(&answer.stdout)[0]["stop"], "time_limit");
}

/// The program answers once and then hangs; the interrupt comes while it does.
#[test]
fn an_interrupt_kills_the_program_and_prints_the_best() {
    let place = Place::new();
    std::fs::write(place.path("space.json"), SPACE).unwrap();
    let script = "if mkdir once 2>/dev/null; then echo 7; else echo $$ > pid; mv pid started; sleep 3600; fi";
    std::fs::write(place.path("measure.sh"), script).unwrap();
    let mut command =
        place.command(&["search", "--space=space.json", "--command=exec sh measure.sh", "--timeout=3600"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    stdout.read_line(&mut said).unwrap();
    assert_eq!(lines(&said)[0]["best"], 7.0);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    stdout.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    let end = lines(&said).pop().unwrap();
    assert_eq!((&end["stop"], &end["best"]["time"]), (&json!("cancelled"), &json!(7.0)));
    if let Ok(pid) = std::fs::read_to_string(place.path("started")) {
        assert!(has_ended(&pid));
    }
}

/// Waits for the end of a process that was killed, which the system takes a moment to carry out.
fn has_ended(pid: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        // Gone, or a zombie that nobody has reaped yet.
        let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        if state.is_err() || state.is_ok_and(|state| state.contains(") Z ")) {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::yield_now();
    }
}
