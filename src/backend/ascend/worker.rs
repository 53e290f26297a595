//! A measuring process from inside: the job it was given, its turn, and its end when nobody waits for it.

use super::helpers;
use super::job::{self, Job};
use super::measure;
use super::process::{GO, READY};
use super::workshop::BANK;
use crate::status::{Error, Result};
use crossbeam::channel::{Receiver, Sender, bounded};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, Signal, getppid, kill_current_process_group, test_kill_process};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often it is looked whether the parent lives, where its end of the line does not tell.
const LOOK: Duration = Duration::from_secs(1);

/// Does the job in a file and writes the answer where the job says.
///
/// Started by a tuning, standard input is a line to it: this process tells it there when it is ready, and ends
/// with all that it started when the other end closes. Started by hand, with anything else there, it waits for
/// nobody.
pub fn work(path: &Path) -> Result<()> {
    let job: Job = job::read(path)?;
    // The answer lies beside the bank, under a path that is as absolute as the one in our environment.
    let line = Line::open(job.answer.with_file_name(BANK))
        .map_err(|error| Error::Tuning { reason: format!("cannot watch standard input: {error}") })?;
    let mut turn = || line.as_ref().map_or(Ok(()), Line::take_turn);
    measure::work(&job, &mut turn, |answer| {
        job::write(&job.answer, answer)?;
        line.as_ref().map_or(Ok(()), Line::finish)
    })
}

/// The line to the tuning process.
struct Line {
    stream: UnixStream,
    /// Gets a message when it is this process's turn.
    turn: Receiver<()>,
}

impl Line {
    /// The line, where standard input is one. From now on this process group ends with the other end of it, and so
    /// does what was started with this bank and left the group.
    fn open(bank: PathBuf) -> std::io::Result<Option<Line>> {
        let stream = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
        if stream.peer_addr().is_err() {
            return Ok(None);
        }
        let (sender, turn) = bounded(1);
        let other_end = stream.try_clone()?;
        other_end.set_read_timeout(Some(LOOK))?;
        let tuning = Tuning::of(&other_end);
        let watch = move || {
            listen(&other_end, &tuning, &sender);
            helpers::end(&bank);
            let _ = kill_current_process_group(Signal::KILL);
        };
        std::thread::Builder::new().name("line".to_owned()).spawn(watch)?;
        Ok(Some(Line { stream, turn }))
    }

    /// Says that the answer is there. What comes now, libraries that tidy up, is not waited for long.
    fn finish(&self) -> Result<()> {
        let failed = |error| Error::Tuning { reason: format!("the tuning is gone: {error}") };
        self.stream.shutdown(std::net::Shutdown::Write).map_err(failed)
    }

    /// Says that all is ready and waits for the turn.
    fn take_turn(&self) -> Result<(), String> {
        let ready = (&self.stream).write_all(&[READY]).map_err(|error| format!("the tuning is gone: {error}"));
        ready.and_then(|()| self.turn.recv().map_err(|_| "the tuning is gone".to_owned()))
    }
}

/// The process that waits for the answer.
struct Tuning {
    /// The parent. It may have died before it was asked for; then it is whoever took this process over.
    parent: Option<Pid>,
    /// Who made the line.
    maker: Option<Pid>,
}

impl Tuning {
    fn of(line: &UnixStream) -> Tuning {
        Tuning { parent: getppid(), maker: socket_peercred(line).ok().map(|peer| peer.pid) }
    }

    /// Whether it is known to have ended.
    fn is_gone(&self) -> bool {
        let is_none = |process| test_kill_process(process) == Err(Errno::SRCH);
        getppid() != self.parent || self.maker.is_some_and(is_none)
    }
}

/// Hands on each turn until the tuning is gone.
///
/// No signal tells of the parent's death: one that ends this process would do so before its helpers are ended, and
/// one that is blocked or handled would be so in the compilers that it starts, or in CANN's own way with signals.
fn listen(mut line: &UnixStream, tuning: &Tuning, turn: &Sender<()>) {
    let mut word = [0];
    loop {
        match line.read(&mut word) {
            Ok(1..) => {
                if word[0] == GO {
                    let _ = turn.try_send(());
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            // Some other child of the parent's may keep its end open when it has died.
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if tuning.is_gone() {
                    return;
                }
            }
            Ok(0) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// A parent that dies while this process starts is never seen: only who made the line tells.
    #[test]
    fn a_tuning_that_died_before_its_measuring_process_looked_is_known_to_be_gone() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let (line, _kept) = UnixStream::pair().unwrap();
        let ours = Tuning::of(&line);
        assert_eq!(ours.maker, Some(rustix::process::getpid()));
        assert!(!ours.is_gone());
        let of_child = Tuning { maker: Some(Pid::from_child(&child)), ..ours };
        assert!(!of_child.is_gone());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(of_child.is_gone());
    }
}
