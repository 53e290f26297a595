//! What a run of the command line came to.

use serde_json::Value;
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

    /// Fails unless the exit status is this one and stderr says all of these.
    #[track_caller]
    pub fn expect(self, status: i32, said: &[&str]) -> Answer {
        assert_eq!(self.status, Some(status), "{self:#?}");
        for words in said {
            assert!(self.stderr.contains(words), "stderr lacks {words}: {self:#?}");
        }
        self
    }

    /// Fails unless the exit status is this one and all of these are said, on stdout or stderr.
    #[track_caller]
    pub fn says(self, status: i32, said: &[&str]) -> Answer {
        assert_eq!(self.status, Some(status), "{self:#?}");
        for words in said {
            assert!(self.stdout.contains(words) || self.stderr.contains(words), "{words} is not said: {self:#?}");
        }
        self
    }

    /// The lines of stdout, each a JSON value.
    #[track_caller]
    pub fn json(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
