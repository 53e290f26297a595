//! One measurement by a program.
//!
//! The program runs in a process group of its own, so that a Ctrl-C reaches it through us alone; whatever it
//! starts ends with it.

use super::family::{Families, Family, MARK};
use super::measured::Measured;
use aoe::search::space::{Parameter, Space, Value};
use aoe::spelling::with_last_line;
use aoe::status::{Error, Result};
use crossbeam::channel::{Receiver, after, bounded, select};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use std::collections::VecDeque;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes that are kept of what a program prints: its end.
const KEPT: usize = 64 << 10;
/// Wait for the end of the output of a program that was ended. Longer takes only a process that could not be
/// ended and still holds the output; it is no part of the measurement.
const DRAIN: Duration = Duration::from_secs(2);
/// Begins the name of the environment variable that holds a parameter: no parameter can pass for another variable.
const NAMESPACE: &str = "AOE_PARAM_";
/// Variables that decide how programs are found, loaded and started, or belong to us. Whatever exports parameters under
/// their own names, as many a wrapper does, would hand them on.
const RESERVED: [&str; 10] =
    ["PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "JAVA_TOOL_OPTIONS", MARK];
/// How the names of further ones begin.
const RESERVED_PREFIXES: [&str; 9] =
    ["LD_", "BASH_FUNC_", "PYTHON", "GIT_", "PERL5", "RUBY", "NODE_", "GLIBC_", "GCONV_"];

/// A program that measures.
#[derive(Debug)]
pub struct Program {
    command: String,
    timeout: Duration,
    families: &'static Families,
}

impl Program {
    /// A shell command for the configurations of a space.
    ///
    /// `warn` is told where the system cannot end all that a program may start. Fails with
    /// [`Error::CommandLine`] for an empty command and for a parameter whose name would change how programs are
    /// found.
    pub fn new(space: &Space, command: &str, timeout: Duration, warn: impl Fn(&str)) -> Result<Program> {
        let bad = |reason: String| Err(Error::CommandLine { reason });
        if command.trim().is_empty() {
            return bad("--command is empty".to_owned());
        }
        let reserved =
            |name: &&str| RESERVED.contains(name) || RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if let Some(name) = space.parameters().iter().map(Parameter::name).find(reserved) {
            return bad(format!(
                "a parameter cannot be called `{name}`: as an environment variable it changes how programs start; \
                 choose another name"
            ));
        }
        let families = Families::get();
        if let Some(hindrance) = families.hindrance() {
            warn(&format!("what a program starts outside its process group may outlive it here: {hindrance}"));
        }
        Ok(Program { command: command.to_owned(), timeout, families })
    }

    /// Runs the program for one configuration. `stopped` ends when the user stops the search.
    pub fn measure<'v>(
        &self,
        configuration: impl Iterator<Item = (&'v str, &'v Value)>,
        stopped: &Receiver<()>,
    ) -> Measured {
        let mut family = match self.start(configuration) {
            Ok(family) => family,
            Err(error) => return Measured::Failed(format!("cannot be started: {error}")),
        };
        let output = family.child.stdout.take().map(Tail::follow);
        let complaint = family.child.stderr.take().map(Tail::follow);
        let end = self.wait(&family, stopped);
        family.end();
        let status = family.child.wait();
        let output = output.map(Tail::text).unwrap_or_default();
        let complaint = complaint.map(Tail::text).unwrap_or_default();
        let end = match end {
            Ok(end) => end,
            Err(error) => return Measured::Failed(format!("cannot be waited for: {error}")),
        };
        match (end, status) {
            (End::Stopped, _) => Measured::Interrupted,
            (End::TimedOut, _) => {
                Measured::Failed(format!("timeout: took longer than {} s", self.timeout.as_secs_f64()))
            }
            (End::Exited, Ok(status)) if status.success() => {
                time(&output).map_or_else(Measured::Failed, Measured::Time)
            }
            (End::Exited, Ok(status)) => Measured::Failed(with_last_line(&described(status), &complaint)),
            (End::Exited, Err(error)) => Measured::Failed(format!("cannot be waited for: {error}")),
        }
    }

    fn start<'v>(&self, configuration: impl Iterator<Item = (&'v str, &'v Value)>) -> std::io::Result<Family> {
        let mut command = Command::new("/bin/sh");
        // The shell appends the arguments to the user's text, each as one word.
        command.args(["-c", &format!("{} \"$@\"", self.command), "sh"]);
        for (name, value) in configuration {
            command.arg(format!("--{name}={value}")).env(format!("{NAMESPACE}{name}"), value.to_string());
        }
        self.families.start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Waits for the program's end, or for a reason to end it. Fails where there is no thread to wait.
    fn wait(&self, family: &Family, stopped: &Receiver<()>) -> std::io::Result<End> {
        let (sender, exited) = bounded(1);
        let pid = family.pid();
        // Leaves the child to be reaped, so that its number stays taken until its group is ended.
        let wait = move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(pid), options), Err(rustix::io::Errno::INTR)) {}
            let _ = sender.send(());
        };
        std::thread::Builder::new().name("wait".to_owned()).spawn(wait)?;
        Ok(select! {
            recv(exited) -> _ => End::Exited,
            recv(stopped) -> _ => End::Stopped,
            recv(after(self.timeout)) -> _ => End::TimedOut,
        })
    }
}

/// Why a program is not waited for any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Exited,
    TimedOut,
    Stopped,
}

fn described(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The time that a program printed: the number after the last `time=`, or else the last number.
fn time(output: &str) -> Result<f64, String> {
    let named = output.to_ascii_lowercase().rfind("time=").map(|at| &output[at + "time=".len()..]);
    let number = match named {
        Some(rest) => words(rest).next().map(|word| (word, number(word))),
        None => words(output).filter_map(|word| number(word).map(|n| (word, Some(n)))).last(),
    };
    match number {
        Some((word, Some(time))) if !time.is_finite() => {
            Err(format!("it printed `{word}`, which is not a finite time"))
        }
        Some((word, Some(time))) if time < 0.0 => Err(format!("it printed `{word}`, a time below 0")),
        Some((_, Some(time))) => Ok(time),
        Some((word, None)) => Err(format!("it printed `time={word}`, which is not a number")),
        None => Err("it printed no number on standard output".to_owned()),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "=:,;()[]{}\"'|".contains(c)).filter(|word| !word.is_empty())
}

fn number(word: &str) -> Option<f64> {
    word.parse().ok()
}

/// The end of an output, while it is read by a thread of its own.
struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    ended: Receiver<()>,
}

impl Tail {
    fn follow(mut output: impl Read + Send + 'static) -> Tail {
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let (sender, ended) = bounded::<()>(0);
        let mine = Arc::clone(&kept);
        let read = move || {
            // Dropped at the end, whatever that is.
            let _sender = sender;
            let mut chunk = [0; 8192];
            loop {
                match output.read(&mut chunk) {
                    Ok(0) => return,
                    Ok(length) => keep(&mut mine.lock().unwrap_or_else(PoisonError::into_inner), &chunk[..length]),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        };
        // Without a thread nothing is read, and the trial fails because there is no number.
        let _ = std::thread::Builder::new().name("read".to_owned()).spawn(read);
        Tail { kept, ended }
    }

    /// What was printed, as far as it is kept, once the output has ended.
    fn text(self) -> String {
        let _ = self.ended.recv_timeout(DRAIN);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(kept.make_contiguous()).into_owned()
    }
}

fn keep(kept: &mut VecDeque<u8>, chunk: &[u8]) {
    kept.extend(chunk);
    let surplus = kept.len().saturating_sub(KEPT);
    kept.drain(..surplus);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::measurer::no_stop;
    use std::time::Instant;

    fn measure(command: &str, timeout: Duration) -> Measured {
        let json = r#"{"parameters":[{"name":"tile","values":[16]},{"name":"order","values":["a b'c"]}]}"#;
        let space = Space::from_json(json).unwrap();
        let program = Program::new(&space, command, timeout, |warning| panic!("{warning}")).unwrap();
        program.measure(space.named(&[0, 0]), &no_stop())
    }

    const LONG: Duration = Duration::from_secs(60);

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

    #[test]
    fn the_time_is_what_follows_time_or_the_last_number() {
        for (output, expected) in [
            ("3.5\n", Ok(3.5)),
            ("run 1: 4 ms\nrun 2: 3 ms\n", Ok(3.0)),
            ("time=1e-3 s\n7 checks\n", Ok(1e-3)),
            ("Time=2\ntime= 1.5, 9\n", Ok(1.5)),
            ("{\"time\": 0.25}", Ok(0.25)),
            ("sm_80 v2 3x\n0\n", Ok(0.0)),
            ("", Err("no number")),
            ("done in no time", Err("no number")),
            ("nan", Err("`nan`, which is not a finite")),
            ("5\ninf", Err("`inf`")),
            ("-1", Err("below 0")),
            ("time=fast 3", Err("`time=fast`")),
            ("3 time=", Err("no number")),
        ] {
            match (time(output), expected) {
                (Ok(time), Ok(expected)) => assert!((time - expected).abs() < 1e-12, "{output}"),
                (Err(reason), Err(part)) => assert!(reason.contains(part), "{output}: {reason}"),
                (got, _) => panic!("{output}: {got:?}"),
            }
        }
    }

    #[test]
    fn arguments_and_environment_carry_the_configuration() {
        let Measured::Failed(reason) =
            measure("printf '%s;' >&2 \"$AOE_PARAM_tile\" \"$AOE_PARAM_order\" \"$tile\"; exit 3 #", LONG)
        else {
            panic!()
        };
        assert_eq!(reason, "exit status 3: 16;a b'c;;");
        assert_eq!(
            measure("sh -c '[ \"$2\" = \"--order=a b'\\''c\" ] && echo ${1#--tile=}' sh", LONG),
            Measured::Time(16.0)
        );
    }

    #[test]
    fn a_failure_has_its_reason() {
        for (command, part) in [
            ("exit 7 #", "exit status 7"),
            ("echo broken >&2; exit 1 #", "exit status 1: broken"),
            ("kill -9 $$ #", "signal 9"),
            ("echo none #", "no number"),
            ("no-such-program", "exit status 127"),
        ] {
            let measured = measure(command, LONG);
            assert!(matches!(&measured, Measured::Failed(reason) if reason.contains(part)), "{command}: {measured:?}");
        }
    }

    /// The program and what it started would run for an hour.
    #[test]
    fn a_program_that_hangs_ends_with_all_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pid");
        let command = format!("sleep 3600 & echo $! > '{}'; wait #", file.display());
        let measured = measure(&command, Duration::from_millis(300));
        assert_eq!(measured, Measured::Failed("timeout: took longer than 0.3 s".to_owned()));
        assert!(has_ended(&std::fs::read_to_string(file).unwrap()));
    }

    /// Each would run for an hour: in a session of its own, as a daemon whose parent has ended, and after a
    /// program that has done its work.
    #[test]
    fn what_leaves_the_group_ends_with_the_program() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pid");
        let tell = format!("mv pid.new \"{}\"", file.display());
        let daemon = format!("cd {}; echo $$ > pid.new; {tell}; exec sleep 3600", directory.path().display());
        let started = format!("until [ -e \"{}\" ]; do :; done", file.display());
        for (command, expected) in [
            (format!("setsid sh -c '{daemon}' & wait #"), None),
            (format!("(setsid sh -c '{daemon}' &); sleep 3600 #"), None),
            (format!("(setsid sh -c '{daemon}' &); {started}; echo 5 #"), Some(5.0)),
        ] {
            let timeout = if expected.is_some() { LONG } else { Duration::from_millis(700) };
            let measured = measure(&command, timeout);
            match expected {
                Some(time) => assert_eq!(measured, Measured::Time(time), "{command}"),
                None => assert!(matches!(&measured, Measured::Failed(r) if r.starts_with("timeout")), "{measured:?}"),
            }
            assert!(has_ended(&std::fs::read_to_string(&file).unwrap()), "{command}");
            std::fs::remove_file(&file).unwrap();
        }
    }

    #[test]
    fn much_output_is_no_trouble() {
        assert_eq!(measure("yes | head -c 3000000; yes | head -c 300000 >&2; echo 4 #", LONG), Measured::Time(4.0));
    }

    #[test]
    fn a_name_that_would_break_the_program_is_refused() {
        for name in ["PATH", "LD_PRELOAD", "AOE_MEASUREMENT"] {
            let json = format!(r#"{{"parameters":[{{"name":"{name}","values":[1]}}]}}"#);
            let error = Program::new(&Space::from_json(&json).unwrap(), "true", LONG, |_| {}).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
