//! Reading a bank file of any size: several threads, each a piece of the file at a time.

use super::fields::ByFields;
use super::packed::{Kept, Packed};
use super::table::Table;
use super::template::Template;
use crate::bank::form::Form;
use crate::bank::json::to_sorted_text;
use crate::bank::key::Unusable;
use crate::bank::lines::{Finding, trim};
use crate::bank::reader::{Judge, LineReader, Mended, Notes, repeated};
use crate::bank::side::Side;
use crate::bank::{Content as _, unified};
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bytes of a piece: large enough that its own costs vanish, small enough to stay in the cache.
const PIECE: u64 = 2 << 20;
/// Bytes read at once behind a piece, for the rest of its last line.
const MORE: u64 = 64 << 10;
/// Templates that a file has at most; the records of further ones are kept as texts.
const MOST_TEMPLATES: usize = 1000;
/// Bad lines that are kept of a piece, and of the whole file; what is beyond is counted.
const MOST_KEPT: usize = 1000;
/// Threads beyond which memory is the limit.
const MOST_THREADS: usize = 16;

/// What one piece of a file holds.
#[derive(Debug, Default)]
struct Piece {
    /// Lines that begin in it.
    lines: usize,
    packed: Packed,
    /// For each packed record, the line and what was noted of it.
    notes: Vec<(u32, Notes)>,
    /// Lines without a usable record.
    unusable: Vec<(u32, Unusable)>,
    /// Further ones of them.
    unlisted: usize,
}

/// A file as it is looked up in.
#[derive(Debug)]
pub struct Loaded {
    pub table: Table,
    /// The keys of a unified bank.
    pub by_fields: ByFields,
    /// What there is to tell of lines, which are counted from 1.
    pub findings: Vec<(usize, String)>,
    /// How much more there is to tell.
    pub unlisted: usize,
}

/// Reads a bank file. What it holds while it is read counts; one that is replaced meanwhile is read to its end.
pub fn load(file: &File, form: Form, op_type: &str, side: &Side) -> io::Result<Loaded> {
    load_by(PIECE, file, form, op_type, side)
}

/// Reads a unified bank, which is one JSON value: of each key the fastest tiling.
pub fn load_unified(mut file: File) -> io::Result<Loaded> {
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    let bank = unified::Bank::parse(&content);
    let mut packed = Packed::default();
    let mut keys = Vec::new();
    for (info, knowledge) in unified::records(&bank) {
        let key = info.dumps();
        packed.push_text(key.as_bytes(), knowledge.as_bytes());
        keys.push(key);
    }
    let mut table = Table::with_room(std::iter::once(&packed), Vec::new())?;
    for record in packed.iter() {
        table.insert(&record);
    }
    table.finish();
    let told = bank.findings().iter().map(Finding::sentence);
    let findings: Vec<_> = told.take(MOST_KEPT).collect();
    let unlisted = bank.findings().len() - findings.len();
    Ok(Loaded { table, by_fields: ByFields::new(keys), findings, unlisted })
}

/// As [`load`], in pieces of so many bytes.
pub fn load_by(piece: u64, file: &File, form: Form, op_type: &str, side: &Side) -> io::Result<Loaded> {
    let bytes = file.metadata()?.len();
    let templates = Templates::default();
    let pieces = read_pieces(piece, file, bytes, || Worker::new(form, op_type, side, &templates))?;
    let templates = templates.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut table = Table::with_room(pieces.iter().map(|piece| &piece.packed), templates)?;
    let keys = pieces.iter().flat_map(|piece| piece.packed.iter().map(|record| record.key));
    let judge = Judge::new(form, side, keys);
    let (mut findings, mut unlisted) = (Vec::new(), 0);
    let mut line = 1;
    for piece in pieces {
        let lines = piece.lines;
        unlisted += piece.unlisted;
        for (at, reason) in take(piece, &judge, &mut table) {
            if findings.len() < MOST_KEPT {
                findings.push((line + at as usize, reason));
            } else {
                unlisted += 1;
            }
        }
        line += lines;
    }
    table.finish();
    Ok(Loaded { table, by_fields: ByFields::default(), findings, unlisted })
}

/// Adds the records of a piece in their order, so that of two with one key the first counts; gives what there is
/// to tell of its lines.
fn take(piece: Piece, judge: &Judge<'_>, table: &mut Table) -> Vec<(u32, String)> {
    let not_used = |why| match why {
        Unusable::Foreign(reason) => format!("not used: {reason}"),
        Unusable::Damaged(reason) => format!("damaged record, not used: {reason}"),
    };
    let mut told: Vec<_> = piece.unusable.into_iter().map(|(line, why)| (line, not_used(why))).collect();
    for (record, (line, notes)) in piece.packed.iter().zip(&piece.notes) {
        match judge.judge(notes) {
            Ok(remark) => {
                let is_first = table.insert(&record);
                let remark = if is_first { remark.map(str::to_owned) } else { Some(not_used(repeated())) };
                told.extend(remark.map(|remark| (*line, remark)));
            }
            Err(why) => told.push((*line, not_used(why))),
        }
    }
    told.sort_by_key(|(line, _)| *line);
    told
}

/// Reads all pieces with several workers; gives them in order.
fn read_pieces<'w>(
    size: u64,
    file: &File,
    bytes: u64,
    worker: impl Fn() -> Worker<'w> + Sync,
) -> io::Result<Vec<Piece>> {
    let count = bytes.div_ceil(size) as usize;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(count);
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<Vec<(usize, Piece)>> {
        let mut worker = worker();
        let mut buffer = Vec::new();
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return Ok(done);
            }
            let start = index as u64 * size;
            // What another thread has still to read is not needed after a failure.
            let lines = read_range(file, start..(start + size).min(bytes), bytes, &mut buffer)
                .inspect_err(|_| next.store(count, Ordering::Relaxed))?;
            done.push((
                index,
                lines.map_or_else(Piece::default, |lines| worker.read(buffer.get(lines).unwrap_or_default())),
            ));
        }
    };
    let mut pieces = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut pieces = work()?;
        for other in others {
            pieces.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok::<_, io::Error>(pieces)
    })?;
    pieces.sort_by_key(|(index, _)| *index);
    Ok(pieces.into_iter().map(|(_, piece)| piece).collect())
}

/// Reads what is needed for the lines that begin in a range of a file; gives where in the buffer they are, without
/// the end of the last one, or `None` where no line begins.
fn read_range(file: &File, range: Range<u64>, bytes: u64, buffer: &mut Vec<u8>) -> io::Result<Option<Range<usize>>> {
    // The byte before tells whether a line begins at the first one.
    let from = range.start.saturating_sub(1);
    buffer.clear();
    read_more(file, from, (range.end - from) as usize, buffer)?;
    let start = match memchr::memchr(b'\n', buffer) {
        _ if range.start == 0 => 0,
        Some(end) => end + 1,
        None => return Ok(None),
    };
    // A file that is one line end alone has no line, as one that is empty.
    if start >= buffer.len() || (bytes == 1 && start == 0 && *buffer == b"\n") {
        return Ok(None);
    }
    // The last line that begins here may end later.
    let mut searched = buffer.len() - 1;
    loop {
        if let Some(end) = buffer.get(searched..).and_then(|rest| memchr::memchr(b'\n', rest)) {
            return Ok(Some(start..searched + end));
        }
        searched = buffer.len();
        let rest = bytes.saturating_sub(from + searched as u64).min(MORE) as usize;
        if rest == 0 || read_more(file, from + searched as u64, rest, buffer)? == 0 {
            return Ok(Some(start..searched));
        }
    }
}

/// Reads bytes behind what a buffer holds; fewer where the file ends before.
fn read_more(file: &File, from: u64, count: usize, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let held = buffer.len();
    buffer.resize(held + count, 0);
    let mut done = 0;
    while let Some(free) = buffer.get_mut(held + done..).filter(|free| !free.is_empty()) {
        match file.read_at(free, from + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    buffer.truncate(held + done);
    Ok(done)
}

/// The templates of a file, by their numbers.
#[derive(Debug, Default)]
struct Templates(Mutex<Vec<Template>>);

impl Templates {
    /// The number of a template; `None` where there are too many for it to be worth one.
    fn number(&self, template: Template) -> Option<Kept> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|other| *other == template).unwrap_or(known.len());
        if place == known.len() {
            if place >= MOST_TEMPLATES {
                return None;
            }
            known.push(template);
        }
        u16::try_from(place).ok().map(Kept)
    }
}

/// One thread that reads pieces.
struct Worker<'w> {
    reader: LineReader<'w>,
    side: &'w Side,
    templates: &'w Templates,
    /// The template of the last skeleton.
    last: (u64, Option<Kept>),
}

impl<'w> Worker<'w> {
    fn new(form: Form, op_type: &'w str, side: &'w Side, templates: &'w Templates) -> Worker<'w> {
        // Skeletons are counted from 1.
        Worker { reader: LineReader::new(form, op_type), side, templates, last: (0, None) }
    }

    /// Reads the lines of a piece, of which the last one has no line end.
    fn read(&mut self, content: &[u8]) -> Piece {
        let mut piece = Piece::default();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', content).chain([content.len()]) {
            let line = trim(content.get(start..end).unwrap_or_default());
            start = end + 1;
            let number = piece.lines as u32;
            piece.lines += 1;
            match self.read_line(line, &mut piece.packed) {
                Ok(notes) => piece.notes.push((number, notes)),
                Err(why) if piece.unusable.len() < MOST_KEPT => piece.unusable.push((number, why)),
                Err(_) => piece.unlisted += 1,
            }
        }
        piece
    }

    fn read_line(&mut self, line: &[u8], packed: &mut Packed) -> Result<Notes, Unusable> {
        let reading = self.reader.read(line)?;
        let (notes, mended) = reading.notes(self.side)?;
        if let Some(Mended { knowledge, .. }) = mended {
            let fields = knowledge.to_fields().map_err(|e| Unusable::Damaged(e.to_string()))?;
            packed.push_text(reading.key, to_sorted_text(&fields.into()).as_bytes());
            return Ok(notes);
        }
        if let Some((skeleton, tokens)) = reading.tokens() {
            if skeleton.number != self.last.0 {
                self.last = (skeleton.number, self.templates.number(Template::new(&skeleton.knowledge_texts())));
            }
            if self.last.1.is_some_and(|template| packed.push_tokens(reading.key, template, tokens)) {
                return Ok(notes);
            }
        }
        packed.push_text(reading.key, &reading.text());
        Ok(notes)
    }
}
