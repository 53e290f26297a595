//! A file of records, one a line: every line is kept as it stands unless it is replaced or damaged.
//!
//! What a line means is for the format; this keeps the lines, and what there is to tell of them.

use super::key::Unusable;
use crate::status::Error;
use prost::bytes::Bytes;
use serde::Deserialize;
use std::path::Path;

#[cfg(test)]
mod tests;

/// UTF-8 byte order mark; CANN's parser skips one at the start of a line.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Lines that are worth a thread.
const LINES_A_THREAD: usize = 1000;

/// Findings that are kept of a file; what is beyond is counted. A bank of a million bad lines is bad in few ways.
const MOST_KEPT: usize = 10_000;
/// Findings of a file that a tuning tells one by one.
const MOST_LISTED: usize = 100;

/// Whether a line with a finding is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It stays in the file, and nothing uses it.
    Kept,
    /// It is damaged: nothing uses it, and it is not written again.
    Lost,
    /// The reason says it.
    Noted,
}

/// Something to tell about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Line counted from 1.
    pub line: usize,
    /// What becomes of it.
    pub in_use: Use,
    /// What is wrong with it.
    pub reason: String,
    /// The place of the record it concerns among the lines that stay, where that can be used all the same.
    pub record: Option<usize>,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.in_use {
            Use::Kept => write!(f, "kept but not used: {}", self.reason),
            Use::Lost => write!(f, "damaged record, not used: {}", self.reason),
            Use::Noted => f.write_str(&self.reason),
        }
    }
}

impl Finding {
    /// Line and sentence.
    pub fn sentence(&self) -> (usize, String) {
        (self.line, self.to_string())
    }
}

/// Findings as sentences with file and line: the first one by one, and how many there are beyond.
pub fn sentences(
    path: &Path,
    findings: impl ExactSizeIterator<Item = (usize, String)>,
    unlisted: usize,
) -> Vec<String> {
    let said = |line, reason: String| Error::Bank { path: path.to_owned(), line, reason }.to_string();
    let beyond = findings.len().saturating_sub(MOST_LISTED) + unlisted;
    let mut sentences: Vec<_> = findings.take(MOST_LISTED).map(|(line, reason)| said(Some(line), reason)).collect();
    if beyond > 0 {
        sentences.push(said(None, format!("{beyond} more lines are as bad")));
    }
    sentences
}

/// A record that may be used.
#[derive(Debug)]
pub struct Judged<R> {
    /// The record.
    pub record: R,
    /// What there is to tell of it all the same: what becomes of it or a part of it, and why.
    pub remark: Option<(Use, String)>,
    /// The whole line, where the one at hand is a damaged form of it.
    pub mended: Option<Vec<u8>>,
}

impl<R> From<R> for Judged<R> {
    fn from(record: R) -> Judged<R> {
        Judged { record, remark: None, mended: None }
    }
}

/// A line that stays.
#[derive(Debug)]
struct Line<R> {
    /// Of a line as it was read a part of the whole content, which is there once.
    text: Bytes,
    record: Option<R>,
}

/// The lines of a file.
#[derive(Debug)]
pub struct Lines<R> {
    kept: Vec<Line<R>>,
    findings: Vec<Finding>,
    /// Further ones.
    unlisted: usize,
    is_damaged: bool,
}

impl<R> Default for Lines<R> {
    fn default() -> Self {
        Lines { kept: Vec::new(), findings: Vec::new(), unlisted: 0, is_damaged: false }
    }
}

impl<R> Lines<R> {
    /// The lines of a file's content, each without byte order mark, carriage return and blanks around it.
    pub fn split(content: &[u8]) -> impl Iterator<Item = &[u8]> {
        let content = content.strip_suffix(b"\n").unwrap_or(content);
        // An empty file has no line, where splitting would give an empty one.
        let count = if content.is_empty() { 0 } else { usize::MAX };
        let mut start = 0;
        let line = move |end| trim(content.get(std::mem::replace(&mut start, end + 1)..end).unwrap_or_default());
        memchr::memchr_iter(b'\n', content).chain([content.len()]).take(count).map(line)
    }

    /// Takes in the line of this number as it was judged; returns where its record stands, if it has one.
    ///
    /// A foreign line stays without being used; a damaged one is not written again, so that the file must
    /// be set aside first.
    pub fn take(&mut self, number: usize, mut text: Bytes, judged: Result<Judged<R>, Unusable>) -> Option<usize> {
        let (record, finding) = match judged {
            Ok(Judged { record, remark, mended }) => {
                self.is_damaged |= mended.is_some();
                text = mended.map_or(text, Bytes::from);
                (Some(record), remark)
            }
            Err(Unusable::Foreign(reason)) => (None, Some((Use::Kept, reason))),
            Err(Unusable::Damaged(_)) if text.is_empty() => {
                self.find(number, None, Use::Noted, "blank line; CANN's loader would stop here".into());
                return None;
            }
            Err(Unusable::Damaged(reason)) => {
                self.damage(number, Use::Lost, reason);
                return None;
            }
        };
        let place = record.is_some().then_some(self.kept.len());
        self.kept.push(Line { text, record });
        if let Some((in_use, reason)) = finding {
            self.find(number, place, in_use, reason);
        }
        place
    }

    /// Notes that something of the file is not written again.
    pub fn damage(&mut self, number: usize, in_use: Use, reason: String) {
        self.is_damaged = true;
        self.find(number, None, in_use, reason);
    }

    fn find(&mut self, line: usize, record: Option<usize>, in_use: Use, reason: String) {
        if self.findings.len() < MOST_KEPT {
            self.findings.push(Finding { line, in_use, reason, record });
        } else {
            self.unlisted += 1;
        }
    }

    /// What there is to tell, in order of the lines, as far as it is kept.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// How much more there is to tell.
    pub fn unlisted(&self) -> usize {
        self.unlisted
    }

    /// Whether some line will not be written again, or not as it is.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// The record at a place.
    pub fn record(&self, index: usize) -> Option<&R> {
        self.kept.get(index)?.record.as_ref()
    }

    /// The text at a place.
    pub fn text(&self, index: usize) -> Option<&Bytes> {
        self.kept.get(index).map(|line| &line.text)
    }

    /// All usable records, in file order.
    pub fn records(&self) -> impl Iterator<Item = &R> {
        self.kept.iter().filter_map(|line| line.record.as_ref())
    }

    /// All lines that stay, each with its record where it has a usable one, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&Bytes, Option<&R>)> {
        self.kept.iter().map(|line| (&line.text, line.record.as_ref()))
    }

    /// Adds a line that nothing here reads.
    pub fn push_foreign(&mut self, text: Bytes) {
        self.kept.push(Line { text, record: None });
    }

    /// The texts of all lines that stay.
    pub fn texts(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.kept.iter().map(|line| &*line.text)
    }

    /// Writes a record at a place, else at the end; returns where.
    pub fn put(&mut self, index: Option<usize>, text: impl Into<Bytes>, record: R) -> usize {
        let line = Line { text: text.into(), record: Some(record) };
        if let Some((index, old)) = index.and_then(|i| Some((i, self.kept.get_mut(i)?))) {
            *old = line;
            index
        } else {
            self.kept.push(line);
            self.kept.len() - 1
        }
    }

    /// The pieces, one behind the other, of the file as it is written: one line a record, each ended by a line feed.
    pub fn pieces(&self) -> Vec<&[u8]> {
        self.texts().flat_map(|text| [text, b"\n"]).collect()
    }

    /// The file as it is written.
    pub fn render(&self) -> Vec<u8> {
        self.pieces().concat()
    }
}

/// Works on lines, on those of a large file with several threads; gives the results for parts of them, in order.
pub fn by_parts<T: Sync, R: Send>(lines: &[T], work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(lines.len() / LINES_A_THREAD);
    if threads < 2 {
        return vec![work(lines)];
    }
    std::thread::scope(|scope| {
        let work = &work;
        let parts = lines.chunks(lines.len().div_ceil(threads));
        let workers: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let joined = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        joined.collect()
    })
}

/// Counts the lines of a content on the way through it.
pub struct LineCounter<'a> {
    content: &'a [u8],
    counted: usize,
    line: usize,
}

impl<'a> LineCounter<'a> {
    /// At the start of a content.
    pub fn new(content: &'a [u8]) -> Self {
        LineCounter { content, counted: 0, line: 1 }
    }

    /// The line, counted from 1, of the byte at an offset, which is none before the last one asked for.
    pub fn line_of(&mut self, offset: usize) -> usize {
        let passed = self.content.get(self.counted..offset).unwrap_or_default();
        self.line += passed.split(|&b| b == b'\n').count() - 1;
        self.counted = self.counted.max(offset);
        self.line
    }

    /// The line where a text starts that is part of the content.
    pub fn line_of_part(&mut self, part: &str) -> usize {
        self.line_of(part.as_ptr().addr().saturating_sub(self.content.as_ptr().addr()))
    }
}

/// A content that is one JSON value, and the lines to count in it; the line and the reason where it is none.
pub fn one_value<'a, T: Deserialize<'a>>(content: &'a [u8]) -> Result<(LineCounter<'a>, T), (usize, String)> {
    let mut lines = LineCounter::new(content);
    let text = std::str::from_utf8(content).map_err(|e| (lines.line_of(e.valid_up_to()), e.to_string()))?;
    let value = serde_json::from_str(text).map_err(|e| (e.line(), e.to_string()))?;
    Ok((lines, value))
}

/// A line without byte order mark, carriage return and blanks around it.
pub fn trim(line: &[u8]) -> &[u8] {
    line.strip_prefix(BOM).unwrap_or(line).trim_ascii()
}
