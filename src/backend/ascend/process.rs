//! One measuring process: started in a group of its own, given its turn, ended with all that it started.

use super::helpers;
use super::job::{self, Answer, Job, VERSION, Work};
use super::program::COMMAND;
use super::workshop::{Bench, JOB};
use crate::output_file::private;
use crate::spelling::with_last_line;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time that a process has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);
/// How often it is looked whether the caller cancelled; a process that ends is noticed at once.
const LOOK: Duration = Duration::from_millis(20);
/// Bytes of the output's end that a complaint is looked for in.
const TAIL: u64 = 4096;
/// What a process writes to its standard input when it is ready to measure, and reads when it may.
pub const READY: u8 = b'r';
/// See [`READY`].
pub const GO: u8 = b'g';

/// What a measurement depends on besides its job.
pub struct Circumstances<'a> {
    /// The program that measures.
    pub program: &'a Path,
    /// The program that runs it, with its arguments, as a profiler does; empty where none does.
    pub under: &'a [OsString],
    /// Held while a process measures on the device.
    pub turn: &'a Mutex<()>,
    /// Set from any thread to stop.
    pub cancel: &'a AtomicBool,
    /// Time for getting ready, and for measuring.
    pub timeout: Duration,
    /// `TE_PARALLEL_COMPILER` for the process.
    pub parallel_compiler: u32,
}

/// What became of a process.
#[derive(Debug, PartialEq)]
pub enum End {
    /// It answered.
    Answered(Answer),
    /// It ended without an answer, or was ended.
    Lost(String),
    /// It could not be started or told what to do.
    Unstarted(String),
    /// The caller cancelled.
    Cancelled,
}

/// Has something done by a process of its own.
pub fn run(work: Work, bench: &Bench, circumstances: &Circumstances<'_>) -> End {
    if circumstances.cancel.load(Ordering::Acquire) {
        return End::Cancelled;
    }
    let unstarted =
        |reason: String| End::Unstarted(format!("cannot start {}: {reason}", circumstances.program.display()));
    let job = Job { version: VERSION.to_owned(), work, answer: bench.answer() };
    if let Err(error) = job::write(&bench.job(), &job) {
        return unstarted(error.to_string());
    }
    match Process::start(bench, circumstances) {
        Err(error) => unstarted(error.to_string()),
        Ok(mut process) => {
            let (over, turn) = process.follow(circumstances);
            let status = process.end(over == Over::Exited, bench);
            // Only now: until a process is gone, its kernel may occupy the device.
            drop(turn);
            match (over, job::read(&bench.answer())) {
                (Over::Cancelled, _) => End::Cancelled,
                // Also where the time was over then, or its libraries crashed tidying up.
                (_, Ok(answer)) => End::Answered(answer),
                (Over::TimedOut(what), _) => {
                    End::Lost(format!("timeout: {what} took longer than {} s", circumstances.timeout.as_secs_f64()))
                }
                (Over::Exited, _) => End::Lost(complaint(&described(&status), &bench.output())),
            }
        }
    }
}

/// Why a process is not followed any longer.
#[derive(Debug, PartialEq)]
enum Over {
    Exited,
    TimedOut(&'static str),
    Cancelled,
}

/// A process under way.
struct Process {
    child: Child,
    /// The other end is its standard input. When this end closes, by our death at the latest, it ends.
    line: UnixStream,
}

impl Process {
    fn start(bench: &Bench, circumstances: &Circumstances<'_>) -> io::Result<Process> {
        let (line, theirs) = UnixStream::pair()?;
        line.set_read_timeout(Some(LOOK))?;
        let output = private::create(&bench.output())?;
        let mut words = circumstances.under.iter().map(OsString::as_os_str).chain([circumstances.program.as_os_str()]);
        let child = Command::new(words.next().unwrap_or_default())
            .args(words)
            .arg(COMMAND)
            // By its name in its working directory: the whole path may be no text, as arguments are.
            .arg(JOB)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .current_dir(bench.path())
            .env("TUNE_BANK_PATH", bench.bank())
            .env("ASCEND_CACHE_PATH", bench.cache())
            .env("TE_PARALLEL_COMPILER", circumstances.parallel_compiler.to_string())
            .spawn()?;
        Ok(Process { child, line })
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until it is ready, gives it its turn, waits until it has ended; also the turn, where it came to that.
    fn follow<'a>(&mut self, circumstances: &Circumstances<'a>) -> (Over, Option<MutexGuard<'a, ()>>) {
        if let Some(over) = self.listen(circumstances, "getting ready") {
            return (over, None);
        }
        let turn = circumstances.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // A process that is gone does not mind, and is found to be gone.
        let _ = self.line.write_all(&[GO]);
        (self.listen(circumstances, "measuring").unwrap_or(Over::Exited), Some(turn))
    }

    /// Waits for a word from the process; answers why none came.
    fn listen(&mut self, circumstances: &Circumstances<'_>, what: &'static str) -> Option<Over> {
        let deadline = Instant::now() + circumstances.timeout;
        loop {
            let mut word = [0];
            match self.line.read(&mut word) {
                Ok(1) if word[0] == READY => return None,
                // It has answered, or is about to exit without.
                Ok(_) => return Some(self.await_exit(deadline.min(Instant::now() + GRACE), what)),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
                Err(_) => return Some(self.await_exit(deadline, what)),
            }
            if self.has_exited() {
                return Some(Over::Exited);
            }
            if circumstances.cancel.load(Ordering::Acquire) {
                return Some(Over::Cancelled);
            }
            if Instant::now() >= deadline {
                return Some(Over::TimedOut(what));
            }
        }
    }

    fn await_exit(&self, deadline: Instant, what: &'static str) -> Over {
        while !self.has_exited() {
            if Instant::now() >= deadline {
                return Over::TimedOut(what);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Over::Exited
    }

    /// Whether it has ended. It is not reaped, so that its number stays that of its group.
    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(waitid(WaitId::Pid(self.pid()), options), Ok(None) | Err(rustix::io::Errno::INTR))
    }

    /// Ends the process, unless it has ended, and whatever it started.
    fn end(mut self, has_exited: bool, bench: &Bench) -> io::Result<ExitStatus> {
        if !has_exited {
            let _ = kill_process_group(self.pid(), Signal::TERM);
            self.await_exit(Instant::now() + GRACE, "ending");
        }
        let _ = kill_process_group(self.pid(), Signal::KILL);
        helpers::end(&bench.bank());
        if self.await_exit(Instant::now() + GRACE, "ending") != Over::Exited {
            return Err(io::Error::new(ErrorKind::TimedOut, "it hangs in the kernel and cannot be killed"));
        }
        self.child.wait()
    }
}

fn described(status: &io::Result<ExitStatus>) -> String {
    match status.as_ref().map(|status| (status.code(), status.signal())) {
        Ok((_, Some(signal))) => format!("the measuring process was killed by signal {signal}"),
        Ok((Some(code), _)) => format!("the measuring process ended without an answer, exit status {code}"),
        Ok((None, None)) => "the measuring process ended without an answer".to_owned(),
        Err(error) => format!("the measuring process: {error}"),
    }
}

/// A reason with the last line that the process printed.
pub fn complaint(reason: &str, output: &Path) -> String {
    let tail = || -> io::Result<String> {
        let mut file = File::open(output)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let tail = tail().unwrap_or_default();
    with_last_line(reason, &tail)
}
