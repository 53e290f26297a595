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
    let script = "case $AOE_PARAM_M$AOE_PARAM_N in\n11) exit 3;; 12) echo wrong >&2; exit 1;; 13) echo nan;; 21) echo nothing;;\n\
                  22) sleep 3600;; 23) echo -1;; *) echo \"$1 $2: time=$((AOE_PARAM_M * 10 + AOE_PARAM_N)) us\";; esac\n";
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

/// A thousand configurations, whose measurements leave a line each in `runs`.
fn counted(place: &Place) -> Command {
    let values: Vec<String> = (0..1000).map(|value| value.to_string()).collect();
    let space = format!(r#"{{"parameters":[{{"name":"a","values":[{}]}}]}}"#, values.join(","));
    std::fs::write(place.path("large.json"), space).unwrap();
    place.command(&["search", "--space=large.json", "--command=echo >> runs; echo 3 #", "--budget=1000"])
}

fn runs(place: &Place) -> usize {
    std::fs::read_to_string(place.path("runs")).unwrap().lines().count()
}

#[test]
fn a_full_disk_ends_the_search_and_what_was_found_is_told() {
    let place = Place::new();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let answer = Answer::of(counted(&place).arg("--output=/dev/full").output().unwrap());
    let answer = answer.expect(1, &["EG0011", "/dev/full"]);
    let end = lines(&answer.stdout);
    assert_eq!((end.len(), &end[0]["best"]["time"]), (1, &json!(3.0)));
    assert!(runs(&place) < 100);
    let child = counted(&place).stdout(full()).stderr(Stdio::piped()).spawn().unwrap();
    Answer::of(child.wait_with_output().unwrap()).expect(1, &["EG0011", "standard output"]);
    assert!(runs(&place) < 200);
}

#[test]
fn a_limit_of_file_sizes_is_an_error_with_the_name_of_the_file() {
    let place = Place::new();
    counted(&place);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 2; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_aoe"), "search", "--space=large.json"]);
    command.args(["--command=echo 3 #", "--output=out.jsonl"]).current_dir(place.path("."));
    let answer = Answer::of(command.output().unwrap()).expect(1, &["EG0011", "out.jsonl"]);
    assert_eq!(lines(&answer.stdout)[0]["best"]["time"], 3.0);
}

#[test]
fn a_reader_that_goes_away_ends_the_search_quietly() {
    let place = Place::new();
    let mut child = counted(&place).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(lines(&line)[0]["trial"], 0);
    let answer = Answer::of(child.wait_with_output().unwrap()).expect(0, &[]);
    assert!(!answer.stderr.contains("ERROR") && !answer.stderr.contains("WARNING"), "{answer:#?}");
    assert!(runs(&place) < 1000);
}

#[test]
fn rows_of_a_table_that_are_left_out_are_told() {
    let place = Place::new();
    let rows: Vec<String> = (0..200).map(|row| format!("{row},{}\n", row + 1)).collect();
    std::fs::write(place.path("table.csv.gz"), format!("a,time_us\n{},7\n", rows.concat())).unwrap();
    let answer = place.run(&["search", "--space=table.csv.gz", "--budget=500"]);
    let answer = answer.expect(0, &["200 legal", "WARNING", "1 of 201 rows", "line 202: column `a` is empty"]);
    assert_eq!(lines(&answer.stdout).last().unwrap()["best"]["time"], 0.001);
}

#[test]
fn a_time_limit_ends_the_search() {
    let place = Place::new();
    let answer = search(&place, &["--command=echo 1 #", "--time-limit=0.000001"]).expect(1, &["none of 0 trials"]);
    assert_eq!(lines(&answer.stdout)[0]["stop"], "time_limit");
}

#[test]
fn the_space_is_not_written_over() {
    let place = Place::new();
    std::fs::write(place.path("table.csv"), TABLE).unwrap();
    std::os::unix::fs::symlink("table.csv", place.path("link")).unwrap();
    for output in ["table.csv", "work/../table.csv", "link"] {
        let option = format!("--output={output}");
        place.run(&["search", "--space=table.csv", &option]).expect(2, &["table.csv is the space too"]);
        assert_eq!(std::fs::read_to_string(place.path("table.csv")).unwrap(), TABLE);
    }
}

#[test]
fn an_interrupt_a_kill_and_a_closed_terminal_kill_the_program_and_print_the_best() {
    for signal in ["INT", "TERM", "HUP"] {
        ends_well_with(signal);
    }
}

/// The program answers once and then hangs; the signal comes while it does.
fn ends_well_with(signal: &str) {
    let place = Place::new();
    std::fs::write(place.path("space.json"), SPACE).unwrap();
    let script = "if mkdir once 2>/dev/null; then echo 7; else echo $$ > pid; mv pid started; sleep 3600; fi";
    std::fs::write(place.path("measure.sh"), script).unwrap();
    // These tests themselves may run under nohup.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_aoe"), "search", "--space=space.json"]);
    command.args(["--command=exec sh measure.sh", "--timeout=3600"]).current_dir(place.path("."));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    stdout.read_line(&mut said).unwrap();
    assert_eq!(lines(&said)[0]["best"], 7.0);
    let killed = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    stdout.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    let end = lines(&said).pop().unwrap();
    assert_eq!((&end["stop"], &end["best"]["time"]), (&json!("cancelled"), &json!(7.0)));
    if let Ok(pid) = std::fs::read_to_string(place.path("started")) {
        assert!(has_ended(&pid));
    }
}

#[test]
fn what_nohup_started_goes_on_when_the_terminal_closes() {
    let place = Place::new();
    std::fs::write(place.path("space.json"), SPACE).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_aoe"), "search", "--space=space.json"]);
    command.args(["--command=kill -HUP $PPID; echo 1 #", "--algorithm=random"]).current_dir(place.path("."));
    let answer = Answer::of(command.output().unwrap()).expect(0, &["9 legal"]);
    assert_eq!(lines(&answer.stdout).last().unwrap()["stop"], "exhausted");
}

/// Daemons in sessions of their own, which would run for an hour: those of programs that hang at the same
/// time, and one that has wiped out its environment.
#[test]
fn nothing_that_a_program_started_outlives_the_search() {
    let place = Place::new();
    let daemon = "echo $$ > \"$1\".new; mv \"$1\".new \"$1\"; exec sleep 3600\n";
    std::fs::write(place.path("daemon.sh"), daemon).unwrap();
    let daemon = "setsid sh daemon.sh \"$AOE_PARAM_M$AOE_PARAM_N.pid\" > /dev/null 2>&1 &";
    let hang = format!("({daemon})\nuntil [ -e \"$AOE_PARAM_M$AOE_PARAM_N.pid\" ]; do :; done; sleep 3600\n");
    let bare = format!(
        "(exec env -i AOE_PARAM_M=$AOE_PARAM_M AOE_PARAM_N=$AOE_PARAM_N PATH=\"$PATH\" sh -c '{daemon}')\nuntil [ -e $AOE_PARAM_M$AOE_PARAM_N.pid ]; do :; done; echo 1\n"
    );
    for (script, parallel, failed) in [(hang, "--parallel=3", 3), (bare, "--parallel=1", 0)] {
        std::fs::write(place.path("measure.sh"), script).unwrap();
        let arguments = ["--command=sh measure.sh", "--budget=3", "--timeout=2", "--algorithm=random", parallel];
        let answer = search(&place, &arguments);
        let end = lines(&answer.stdout).pop().unwrap();
        assert_eq!((&end["trials"], &end["failed"]), (&json!(3), &json!(failed)), "{answer:#?}");
        let files = std::fs::read_dir(place.path(".")).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "pid")).collect();
        assert_eq!(files.len(), 3);
        for file in files {
            assert!(has_ended(&std::fs::read_to_string(&file).unwrap()), "{answer:#?}");
            std::fs::remove_file(file).unwrap();
        }
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
