//! Our side file: what each record of a bank file cost when it was measured.
//!
//! JSON lines in the hidden directory `.aoe` beside the bank, so that nothing of ours stands in a file
//! of CANN's. It also tells the records written here from what other programs made of them.
//! Every line carries a sum over itself; a line that does not add up is as good as absent. One that adds up and says what
//! nothing here knows is a later version's: it stays as it stands.

use super::form::Form;
use super::key::Key;
use super::knowledge::Knowledge;
use super::lines::{Finding, Use, by_parts};
use super::measurement::Measurement;
use super::record::Record;
use super::standing::Standing;
use super::transaction::OWN_DIRECTORY;
use super::{hash, json};
use crate::soc::Soc;
use crate::status::Result;
use crate::workload::DefaultOrigin;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The side file of one bank file.
#[derive(Debug, Clone, Default)]
pub struct Side {
    by_key: FxHashMap<u64, Vec<Measurement>>,
    keys_by_id: FxHashMap<u32, Vec<u64>>,
    /// Lines that could not be read, counted from 1, and what becomes of them.
    unread: Vec<(usize, Use)>,
    /// Lines of later versions that say nothing that is known here.
    later: BTreeSet<String>,
}

/// What a line is.
#[expect(clippy::large_enum_variant, reason = "nearly every line is a measurement")]
enum Line {
    Measured(Measurement),
    Later(String),
    Damaged,
}

/// The fields that are read and written here, but for the sum.
const FIELDS: [&str; 12] = [
    "after_us",
    "backend",
    "before_us",
    "date",
    "default",
    "id",
    "key",
    "knowledge",
    "soc",
    "soc_fields",
    "space",
    "unproven",
];

/// What the side file says of a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict<'a> {
    /// It is what was written here.
    Vouched(&'a Measurement),
    /// Nothing is known of it.
    Unknown,
    /// A record of the same key was written here, but with another tiling.
    Changed,
}

impl Side {
    /// Reads a side file. Never fails: lines that do not add up are left out and named in the findings.
    pub fn parse(form: Form, content: &[u8]) -> Side {
        let mut side = Side::default();
        let lines: Vec<_> = content.split(|&b| b == b'\n').collect();
        let parts = by_parts(&lines, |lines| lines.iter().map(|line| parse_line(form, line)).collect::<Vec<_>>());
        for (index, (line, parsed)) in lines.iter().zip(parts.into_iter().flatten()).enumerate() {
            match parsed {
                Line::Measured(measurement) => side.insert(measurement),
                Line::Later(line) => {
                    side.unread.push((index + 1, Use::Kept));
                    side.later.insert(line);
                }
                Line::Damaged if line.trim_ascii().is_empty() => {}
                Line::Damaged => side.unread.push((index + 1, Use::Noted)),
            }
        }
        side
    }

    /// What there is to tell of the file that it was read from.
    pub fn findings(&self) -> impl ExactSizeIterator<Item = Finding> {
        let reason = |in_use| match in_use {
            Use::Kept => "a later version's line: what its record cost counts as not known",
            Use::Lost | Use::Noted => "no measurement, or a damaged one: what its record cost counts as not known",
        };
        let finding =
            move |&(line, in_use): &_| Finding { line, in_use, reason: reason(in_use).to_owned(), record: None };
        self.unread.iter().map(finding)
    }

    /// Whether nothing is known of any record.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Adds a measurement; a second one of the same record replaces the first.
    pub fn insert(&mut self, measurement: Measurement) {
        let keys = self.keys_by_id.entry(measurement.id).or_default();
        if !keys.contains(&measurement.key) {
            keys.push(measurement.key);
        }
        let known = self.by_key.entry(measurement.key).or_default();
        known.retain(|m| m.knowledge != measurement.knowledge);
        known.push(measurement);
    }

    /// Adds all that another side file says.
    pub fn absorb(&mut self, other: Side) {
        other.by_key.into_values().flatten().for_each(|measurement| self.insert(measurement));
        self.later.extend(other.later);
    }

    /// Adds the lines of another side file that only a later version reads.
    pub fn take_later(&mut self, other: &Side) {
        self.later.extend(other.later.iter().cloned());
    }

    /// Adds what another side file says of these records, where nothing is known of them or something worse: the order in
    /// which side files are taken in never matters. `soc_fields` is the digest of the part as it is described today.
    pub fn take_in<'a>(&mut self, other: &Side, records: impl Iterator<Item = &'a Record>, soc_fields: Option<u64>) {
        for Record { key, knowledge } in records {
            if let Verdict::Vouched(theirs) = other.verdict(key, knowledge) {
                self.take_better(theirs, soc_fields);
            }
        }
    }

    /// The same of all that another side file says.
    pub fn take_all(&mut self, other: &Side, soc_fields: Option<u64>) {
        for theirs in other.by_key.values().flatten() {
            self.take_better(theirs, soc_fields);
        }
    }

    /// Adds a measurement where none is known of its record, or a worse one.
    fn take_better(&mut self, theirs: &Measurement, soc_fields: Option<u64>) {
        let known = self.by_key.get(&theirs.key).map_or(&[][..], Vec::as_slice);
        let ours = known.iter().find(|m| m.knowledge == theirs.knowledge);
        let standing = |m| Standing::measured(m, soc_fields);
        if ours.is_none_or(|ours| standing(theirs).outranks(&standing(ours))) {
            self.insert(theirs.clone());
        }
    }

    /// Keeps the measurements of these records.
    pub fn retain_recorded<'a>(&mut self, records: impl Iterator<Item = &'a Record>) {
        let mut recorded: FxHashMap<u64, Vec<&Knowledge>> = FxHashMap::default();
        for record in records {
            recorded.entry(record.key.digest()).or_default().push(&record.knowledge);
        }
        for (key, known) in &mut self.by_key {
            known.retain(|m| recorded.get(key).is_some_and(|r| r.contains(&&m.knowledge)));
        }
    }

    /// The keys that were written here under this id.
    pub fn keys_of_id(&self, id: u32) -> &[u64] {
        self.keys_by_id.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The measurements of records of a key.
    pub fn of_key(&self, key: &Key) -> &[Measurement] {
        self.by_key.get(&key.digest()).map_or(&[], Vec::as_slice)
    }

    /// Judges a record.
    pub fn verdict(&self, key: &Key, knowledge: &Knowledge) -> Verdict<'_> {
        let known = self.of_key(key);
        match known.iter().find(|m| m.knowledge == *knowledge) {
            Some(measurement) => Verdict::Vouched(measurement),
            None if known.is_empty() => Verdict::Unknown,
            None => Verdict::Changed,
        }
    }

    /// Whether libaoe wrote a record, and nobody changed it since.
    pub fn wrote(&self, key: &Key, knowledge: &Knowledge) -> bool {
        matches!(self.verdict(key, knowledge), Verdict::Vouched(_))
    }

    /// The file, in an order that depends on nothing but its content.
    pub fn render(&self) -> Result<Vec<u8>> {
        let measurements: Vec<_> = self.by_key.values().flatten().collect();
        let parts =
            by_parts(&measurements, |part| part.iter().map(|m| Ok((m.id, to_line(m)?))).collect::<Result<Vec<_>>>());
        let mut lines = parts.into_iter().collect::<Result<Vec<_>>>()?.concat();
        lines.sort_unstable();
        let later = self.later.iter().cloned();
        let lines = lines.into_iter().map(|(_, line)| line).chain(later);
        Ok(lines.flat_map(|line| (line + "\n").into_bytes()).collect())
    }
}

/// Where the side file of a bank's file lies.
pub fn side_path(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(OWN_DIRECTORY).join(format!("{name}.side.jsonl"))
}

/// What the times of a measurement depend on besides the backend.
pub fn soc_digest(soc: &Soc) -> u64 {
    // Debug text shows every field, floats exactly. Times of before there were corrections stay comparable.
    hash::digest(format!("{soc:?}").replace(", corrections: None", "").as_bytes())
}

fn to_line(m: &Measurement) -> Result<String> {
    if let Some(line) = &m.line {
        return Ok(line.to_string());
    }
    let mut fields = Map::new();
    fields.insert("after_us".into(), m.after_us.into());
    fields.insert("backend".into(), m.backend.as_str().into());
    fields.insert("before_us".into(), m.before_us.into());
    fields.insert("default".into(), m.default.name().into());
    fields.insert("date".into(), m.date.as_str().into());
    fields.insert("id".into(), m.id.into());
    fields.insert("key".into(), hexadecimal(m.key).into());
    fields.insert("knowledge".into(), m.knowledge.to_fields()?.into());
    fields.insert("soc".into(), m.soc.as_str().into());
    fields.insert("soc_fields".into(), hexadecimal(m.soc_fields).into());
    fields.insert("space".into(), m.space.into());
    if !m.knowledge.unproven().is_empty() {
        fields.insert("unproven".into(), m.knowledge.unproven().into());
    }
    let sum = hash::digest(json::to_sorted_text(&Value::Object(fields.clone())).as_bytes());
    fields.insert("sum".into(), hexadecimal(sum).into());
    Ok(json::to_sorted_text(&Value::Object(fields)))
}

fn parse_line(form: Form, line: &[u8]) -> Line {
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(line) else { return Line::Damaged };
    let Some(sum) = fields.remove("sum").as_ref().and_then(number) else { return Line::Damaged };
    let is_more = fields.keys().any(|name| !FIELDS.contains(&name.as_str()))
        || fields.get("default").is_some_and(|name| name.as_str().and_then(DefaultOrigin::named).is_none());
    let fields = Value::Object(fields);
    if hash::digest(json::to_sorted_text(&fields).as_bytes()) != sum {
        return Line::Damaged;
    }
    let text = || String::from_utf8_lossy(line.trim_ascii()).into_owned();
    match measurement(form, &fields) {
        Some(measured) => Line::Measured(Measurement { line: is_more.then(|| text().into()), ..measured }),
        None => Line::Later(text()),
    }
}

/// What the fields of a line say.
fn measurement(form: Form, fields: &Value) -> Option<Measurement> {
    let time = |name: &str| fields[name].as_f64().filter(|us| us.is_finite() && *us >= 0.0);
    let text = |name: &str| fields[name].as_str().map(str::to_owned);
    Some(Measurement {
        key: number(&fields["key"])?,
        id: u32::try_from(fields["id"].as_u64()?).ok()?,
        knowledge: form.knowledge(&fields["knowledge"]).ok()?,
        before_us: time("before_us")?,
        after_us: time("after_us")?,
        backend: text("backend")?,
        soc: text("soc")?,
        soc_fields: number(&fields["soc_fields"])?,
        date: text("date")?,
        // Lines of before there were versions have none.
        space: fields["space"].as_u64().and_then(|v| u32::try_from(v).ok()).unwrap_or(0),
        // Nor do those of before it was known which defaults are CANN's own.
        default: fields["default"].as_str().and_then(DefaultOrigin::named).unwrap_or_default(),
        line: None,
    })
}

fn hexadecimal(number: u64) -> String {
    format!("{number:016x}")
}

fn number(text: &Value) -> Option<u64> {
    u64::from_str_radix(text.as_str()?, 16).ok()
}
