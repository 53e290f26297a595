//! Processes that a measuring process started and that left its group: compilers keep pools and daemons of their own.

use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Rounds of looking, for helpers that start others while they are ended.
const ROUNDS: usize = 8;

/// Ends every process of this user, besides this one, that was started with this folder, or one in it, as its
/// `TUNE_BANK_PATH`: one candidate's bank is its own, and a tuning's folder too. Where the system does not show its
/// processes, nothing is done.
pub fn end(folder: &Path) {
    for _ in 0..ROUNDS {
        let helpers = marked(folder);
        if helpers.is_empty() {
            return;
        }
        for helper in helpers {
            let _ = kill_process(helper, Signal::KILL);
        }
    }
}

fn marked(folder: &Path) -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.flatten().filter_map(|process| process.file_name().to_str()?.parse::<i32>().ok());
    let others = numbers.filter(|&number| number as u32 != std::process::id());
    let has_mark = |number: &i32| {
        // A process that has ended, and waits for its parent to notice, shows nothing.
        let environment = std::fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        let mut banks = environment.split(|&byte| byte == 0).filter_map(|one| one.strip_prefix(b"TUNE_BANK_PATH="));
        banks.any(|bank| Path::new(OsStr::from_bytes(bank)).starts_with(folder))
    };
    others.filter(has_mark).filter_map(Pid::from_raw).collect()
}
