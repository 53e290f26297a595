//! Everything the command line prints: results on stdout, all else on stderr.
//!
//! A closed stdout (`aoe ... | head`) ends the printing, not the work; any other failure to write is kept
//! and fails the run at its end. Names come out of model files, so control characters never reach the terminal.

use aoe::status::{Error, Result};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The two output streams.
#[derive(Debug, Default)]
pub struct Console {
    /// Why stdout takes no more; nothing is written once it is set.
    closed: Mutex<Option<io::Error>>,
}

impl Console {
    /// Prints one line of results.
    pub fn line(&self, line: &str) {
        self.write(&format!("{}\n", printable(line)));
    }

    /// Prints a text of ours that ends its own lines.
    pub fn text(&self, text: &str) {
        self.write(text);
    }

    /// Reports an error with CANN's error id.
    pub fn error(&self, error: &Error) {
        let id = error.id().map(|id| format!("{id}: ")).unwrap_or_default();
        self.notice("ERROR", &format!("{id}{error}"));
    }

    /// One line on stderr; a failure to write it has nowhere to be told.
    pub fn notice(&self, level: &str, text: &str) {
        let _ = writeln!(io::stderr(), "[{level}] {}", printable(text));
    }

    /// Fails when results could not be printed, unless the reader just went away.
    pub fn finish(&self) -> Result<()> {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        match closed.take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::file("write", Path::new("standard output"), error))
            }
            _ => Ok(()),
        }
    }

    fn write(&self, text: &str) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if closed.is_none() {
            let mut stdout = io::stdout().lock();
            *closed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).err();
        }
    }
}

/// The text on one line, its control characters written as escapes.
fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() {
            let _ = write!(clean, "{}", c.escape_default());
        } else {
            clean.push(c);
        }
    }
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn control_characters_are_escaped_and_letters_kept() {
        assert_eq!(printable("conv\u{1b}[2J\n卷积é"), "conv\\u{1b}[2J\\n卷积é");
        assert_eq!(printable("conv1"), "conv1");
    }
}
