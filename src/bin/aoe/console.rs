//! Everything the command line prints: results on stdout, all else on stderr.
//!
//! A closed stdout (`aoe ... | head`) ends the printing, not the work; any other failure to write is kept
//! and fails the run at its end. Names come out of model files, so control characters never reach the terminal.

pub use aoe::spelling::printable;

use aoe::session::logging;
use aoe::status::{Error, Result};
use indicatif::ProgressBar;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The variable by which a program that runs this one asks for the status of an error, which the exit status does not tell.
const STATUS_LINE: &str = "AOE_STATUS_LINE";

/// The two output streams, and the progress bar that gives way to them.
#[derive(Debug, Default)]
pub struct Console {
    streams: Mutex<Streams>,
}

#[derive(Debug, Default)]
struct Streams {
    /// Why stdout takes no more; nothing is written once it is set.
    closed: Option<io::Error>,
    bar: Option<ProgressBar>,
}

impl Streams {
    /// Writes while no bar is in the way.
    fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

impl Console {
    /// Prints one line of results.
    pub fn line(&self, line: &str) {
        self.text(&format!("{}\n", printable(line)));
    }

    /// Prints a text of ours that ends its own lines.
    pub fn text(&self, text: &str) {
        let mut streams = self.streams();
        if streams.closed.is_none() {
            streams.closed = streams.aside(|| {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).err()
            });
        }
    }

    /// Reports an error with CANN's error id, and with its status where a program asks for it.
    pub fn error(&self, error: &Error) {
        self.notice("ERROR", &format!("{}{error}", id(error)));
        if std::env::var_os(STATUS_LINE).is_some_and(|value| value == "1") {
            self.notice("STATUS", &format!("{} {}", error.status() as i32, error.status().name()));
        }
    }

    /// One line on stderr; a failure to write it has nowhere to be told.
    pub fn notice(&self, level: &str, text: &str) {
        self.streams().aside(|| {
            let _ = writeln!(io::stderr(), "[{level}] {}", printable(text));
        });
    }

    /// Shows or takes away the bar that printed lines go around.
    pub fn set_bar(&self, bar: Option<ProgressBar>) {
        self.streams().bar = bar;
    }

    /// Whether nobody reads on, or stdout takes no more for another reason.
    pub fn is_closed(&self) -> bool {
        self.streams().closed.is_some()
    }

    /// Fails when results could not be printed, unless the reader just went away.
    pub fn finish(&self) -> Result<()> {
        match self.streams().closed.take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::file("write", Path::new("standard output"), error))
            }
            _ => Ok(()),
        }
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// CANN's error id with a colon, where the error has one.
fn id(error: &Error) -> String {
    error.id().map(|id| format!("{id}: ")).unwrap_or_default()
}

/// Where the library's log messages go: to stdout where CANN's switch for that is on, else to stderr.
pub fn log_sink(console: &Arc<Console>) -> Arc<logging::Sink> {
    let console = Arc::clone(console);
    let on_stdout = log_on_stdout();
    Arc::new(move |level, message| {
        if on_stdout {
            console.line(&format!("[{level}] {message}"));
        } else {
            console.notice(level.as_str(), message);
        }
    })
}

/// Whether `ASCEND_SLOG_PRINT_TO_STDOUT` asks for log messages on stdout.
pub fn log_on_stdout() -> bool {
    std::env::var_os("ASCEND_SLOG_PRINT_TO_STDOUT").is_some_and(|value| value == "1")
}
