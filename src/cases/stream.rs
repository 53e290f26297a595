//! Cases from a stream, one a line.

use super::wrong;
use crate::lines;
use crate::status::{Error, Result};
use serde::Serialize;
use serde_json::Value;
use std::io::{BufRead, Write};

/// Longest line that is read; longer ones get an error answer.
pub(crate) const MAX_LINE_BYTES: usize = 4 << 20;

/// How many lines had cases, and how many of these got errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Cases, one answer each.
    pub cases: u64,
    /// Answers that are errors.
    pub failed: u64,
}

/// Where a case stands.
pub(crate) struct Place<'a> {
    number: u64,
    line: &'a [u8],
}

impl Place<'_> {
    /// An error, with its line.
    pub fn words(&self, error: &Error) -> String {
        format!("line {}: {error}", self.number)
    }

    /// The answer to a case that cannot be answered.
    fn failure(&self, error: &Error) -> String {
        let id = std::str::from_utf8(self.line).map_or(Value::Null, super::id_of);
        failure(&id, &self.words(error))
    }
}

/// The answer to a case that cannot be answered.
pub(crate) fn failure(id: &Value, error: &str) -> String {
    #[derive(Serialize)]
    struct Failure<'a> {
        id: &'a Value,
        error: &'a str,
    }
    serde_json::to_string(&Failure { id, error }).unwrap_or_default()
}

/// Works on every line of `cases` in order but the empty ones. `work` says whether the case was answered.
///
/// Fails only when reading or `work` does.
pub(crate) fn each(
    cases: &mut dyn BufRead,
    mut work: impl FnMut(Result<&str>, &Place) -> std::io::Result<bool>,
) -> std::io::Result<Count> {
    let mut line = Vec::new();
    let mut count = Count::default();
    let mut number: u64 = 0;
    while let Some(kind) = lines::next(cases, &mut line, MAX_LINE_BYTES)? {
        number += 1;
        let case = match text(&line, &kind, number) {
            Ok("") => continue,
            case => case,
        };
        count.cases += 1;
        count.failed += u64::from(!work(case, &Place { number, line: &line })?);
    }
    Ok(count)
}

/// Writes one line, the answer or what is wrong with the case; answers whether it was the former.
pub(crate) fn write_answer(answers: &mut dyn Write, answer: Result<String>, place: &Place) -> std::io::Result<bool> {
    let answered = answer.is_ok();
    let mut answer = answer.unwrap_or_else(|error| place.failure(&error));
    answer.push('\n');
    answers.write_all(answer.as_bytes())?;
    Ok(answered)
}

/// The text of a line, without blanks around it.
fn text<'a>(line: &'a [u8], kind: &lines::Line, number: u64) -> Result<&'a str> {
    if let lines::Line::TooLong(bytes) = kind {
        return Err(wrong(format!("{bytes} bytes are more than the {MAX_LINE_BYTES} that a case may have")));
    }
    if number == 1 && line.starts_with(&[0x1f, 0x8b]) {
        return Err(wrong("the input is compressed by gzip; pass it through `gzip -dc`"));
    }
    let line = if number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
    let text =
        std::str::from_utf8(line).map_err(|e| wrong(format!("it is not UTF-8 text (byte {})", e.valid_up_to() + 1)))?;
    Ok(text.trim_ascii())
}
