//! Standard output that nobody reads: one way for every command.

use crate::answer::Answer;
use std::fs::{File, OpenOptions};
use std::process::{Command, Stdio};

const CASE: &str = r#"{"op":"MatMulV3","m":1024,"k":512,"n":512,"dtype":"float16"}"#;

/// Commands that print, with what they end with where that cannot be written.
const COMMANDS: &[(&[&str], i32)] = &[
    (&["--version"], 1),
    (&["help"], 1),
    (&["bank", "--help"], 1),
    (&["completions", "bash"], 1),
    (&["soc", "Ascend910B2"], 1),
    (&["tiling", "--soc_version=Ascend910B2"], 1),
    (&["tiling", "--soc_version=Ascend910B2", "--explain"], 1),
    (&["simulate", "--soc_version=Ascend910B2"], 1),
    (&["bank", "show", "bank"], 2),
    (&["bank", "verify", "bank"], 2),
    (&["bank", "diff", "bank", "bank"], 2),
    (&["compare", "results", "results"], 1),
];

fn run(command: &mut Command) -> Answer {
    let place = tempfile::tempdir().unwrap();
    let case = place.path().join("case");
    std::fs::write(&case, CASE).unwrap();
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/versions/0.1.0")).env_clear();
    Answer::of(command.stdin(File::open(case).unwrap()).output().unwrap())
}

#[test]
fn who_closes_standard_output_or_goes_away_has_what_he_wanted() {
    for (arguments, _) in COMMANDS {
        let mut closed = Command::new("/bin/sh");
        closed.args(["-c", "exec \"$@\" >&-", "sh", env!("CARGO_BIN_EXE_aoe")]).args(*arguments);
        run(&mut closed).expect(0, &[]);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        run(Command::new(env!("CARGO_BIN_EXE_aoe")).args(*arguments).stdout(writer)).expect(0, &[]);
    }
}

#[test]
fn results_that_cannot_be_written_fail_every_command() {
    for (arguments, status) in COMMANDS {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let answer = run(Command::new(env!("CARGO_BIN_EXE_aoe")).args(*arguments).stdout(Stdio::from(full)));
        answer.expect(*status, &["EG0011", "cannot write file standard output", "No space left on device"]);
    }
}
