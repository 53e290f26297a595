//! A measuring process from inside: the job it was given, its turn, and its end when nobody waits for it.

use super::helpers;
use super::job::{self, Job};
use super::measure;
use super::process::{GO, READY};
use super::workshop::BANK;
use crate::status::{Error, Result};
use crossbeam::channel::{Receiver, Sender, bounded};
use rustix::process::{Pid, Signal, getppid, kill_current_process_group};
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
        let parent = getppid();
        let watch = move || {
            listen(&other_end, parent, &sender);
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

/// Hands on each turn until the tuning is gone.
///
/// No signal tells of the parent's death: one that ends this process would do so before its helpers are ended, and
/// one that is blocked or handled would be so in the compilers that it starts, or in CANN's own way with signals.
fn listen(mut line: &UnixStream, parent: Option<Pid>, turn: &Sender<()>) {
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
                if getppid() != parent {
                    return;
                }
            }
            Ok(0) | Err(_) => return,
        }
    }
}
