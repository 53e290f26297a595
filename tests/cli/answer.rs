//! What a run of the command line came to.

use std::process::Output;

#[derive(Debug)]
pub struct Answer {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    /// Fails where the program panicked, whatever it is to answer.
    #[track_caller]
    pub fn of(output: Output) -> Answer {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let answer = Answer { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!answer.stderr.contains("panicked"), "{answer:#?}");
        answer
    }
}
