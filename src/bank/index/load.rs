//! Reading a bank file of any size into a table.

use super::fields::ByFields;
use super::table::{Records, Table, memory};
use crate::bank::form::Form;
use crate::bank::json::to_sorted_text;
use crate::bank::key::Unusable;
use crate::bank::lines::{Finding, Judged, Lines, Use, by_parts};
use crate::bank::reader::{Judge, LineReader, Mended, Notes, repeated};
use crate::bank::side::Side;
use crate::bank::{Content as _, unified};
use crate::input_file;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::io::{self, Read};
use std::path::Path;

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

/// Lines that one thread reads.
struct Part {
    records: Records,
    /// Where the record of each line stands, and what was noted of it.
    lines: Vec<Result<(usize, Notes), Unusable>>,
}

/// What a file holds. One that is replaced meanwhile is read to its end. Fails for what is no regular file: a pipe in a
/// bank's place is not waited for.
pub fn read(path: &Path) -> Result<Bytes> {
    let mut file = input_file::open(path)?;
    let failed = |e: io::Error| Error::file("read", path, e);
    let size = usize::try_from(file.metadata().map_err(failed)?.len()).map_err(|e| failed(io::Error::other(e)))?;
    let mut content = memory(size).map_err(failed)?;
    file.read_exact(content.get_mut(..size).unwrap_or_default()).map_err(failed)?;
    Ok(Bytes::from_owner(content).slice(..size))
}

/// Reads a unified bank, which is one JSON value: of each key the fastest tiling. Fails where there is no memory.
pub fn load_unified(content: &[u8]) -> io::Result<Loaded> {
    let bank = unified::Bank::parse(content);
    let (mut records, mut keys) = (Records::default(), Vec::new());
    for (info, knowledge) in unified::records(&bank) {
        let key = info.dumps();
        let place = records.push(key.as_bytes(), knowledge.as_bytes());
        keys.push((key, place));
    }
    let mut table = Table::with_room(keys.len(), records.bytes())?;
    let keys = keys.into_iter().filter(|(_, place)| table.insert(&records, *place)).map(|(key, _)| key).collect();
    let findings = bank.findings().iter().map(Finding::sentence).collect();
    Ok(Loaded { table, by_fields: ByFields::new(keys), findings, unlisted: bank.unlisted() })
}

/// Reads a bank whose lines are records; of two with one key the first counts. Fails where there is no memory.
pub fn load(content: &Bytes, form: Form, op_type: &str, side: &Side) -> io::Result<Loaded> {
    let lines: Vec<_> = Lines::<()>::split(content).collect();
    let parts = by_parts(&lines, |lines| read_part(lines, form, op_type, side));
    let read = || parts.iter().flat_map(|part| part.lines.iter().map(move |line| (part, line)));
    let records = read().filter_map(|(part, line)| part.records.at(line.as_ref().ok()?.0));
    let judge = Judge::new(form, side, records.map(|(key, _)| key));
    let mut table = Table::with_room(lines.len(), parts.iter().map(|part| part.records.bytes()).sum())?;
    // What is not used is told as by every other reader of a file.
    let mut told = Lines::default();
    for (number, (text, (part, line))) in (1..).zip(lines.iter().zip(read())) {
        let judged = line.clone().and_then(|(place, notes)| {
            let remark = judge.judge(&notes)?;
            if table.insert(&part.records, place) { Ok(remark) } else { Err(repeated()) }
        });
        let remark = match judged {
            Ok(None) => continue,
            Ok(Some(remark)) => Ok(Judged { record: (), remark: Some((Use::Noted, remark.to_owned())), mended: None }),
            Err(why) => Err(why),
        };
        told.take(number, content.slice_ref(text), remark);
    }
    let findings = told.findings().iter().map(Finding::sentence).collect();
    Ok(Loaded { table, by_fields: ByFields::default(), findings, unlisted: told.unlisted() })
}

fn read_part(lines: &[&[u8]], form: Form, op_type: &str, side: &Side) -> Part {
    let mut reader = LineReader::new(form, op_type);
    let mut records = Records::default();
    let lines = lines.iter().map(|line| read_line(&mut reader, line, side, &mut records)).collect();
    Part { records, lines }
}

fn read_line(
    reader: &mut LineReader<'_>,
    line: &[u8],
    side: &Side,
    records: &mut Records,
) -> Result<(usize, Notes), Unusable> {
    let reading = reader.read(line)?;
    let (notes, mended) = reading.notes(side)?;
    let Some(Mended { knowledge, .. }) = mended else {
        return Ok((records.push(reading.key, &reading.text()), notes));
    };
    let fields = knowledge.to_fields().map_err(|e| Unusable::Damaged(e.to_string()))?;
    Ok((records.push(reading.key, to_sorted_text(&fields.into()).as_bytes()), notes))
}
