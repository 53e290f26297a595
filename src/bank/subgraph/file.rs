//! The file of the subgraph bank: a line with the version, then one record a line.

use super::record::{Feature, Record, Strategy};
use crate::bank::key::Unusable;
use crate::bank::lines::{Judged, Lines, Use};
use crate::bank::whole::Content;
use crate::bank::{hash, json};
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};
use std::path::Path;

/// The version of the format that is understood.
const VERSION: &str = "2.1";
/// Field of our own records: a sum over all others.
const SUM: &str = "sum";

/// Whose numbers the records of a file are kept under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// CANN's; how they are made is not public, so that a file cannot be checked against them.
    Cann,
    /// Ours, see [`Feature::graph_id`], each record with a sum: what was changed since is damaged.
    Ours,
}

impl Kind {
    /// Whose numbers a file's records are kept under: its name tells, or that a record has a sum.
    pub fn of(path: &Path, content: &[u8]) -> Kind {
        let has_sum = |line: &[u8]| {
            serde_json::from_slice::<Map<String, Value>>(line).is_ok_and(|fields| fields.contains_key(SUM))
        };
        let by_content = || if Lines::<Record>::split(content).skip(1).any(has_sum) { Kind::Ours } else { Kind::Cann };
        Kind::named(path).unwrap_or_else(by_content)
    }

    /// Whose numbers the name of a file says it holds.
    pub fn named(path: &Path) -> Option<Kind> {
        let name = path.file_name()?.to_str()?;
        let ends = [("_l2cache.json", Kind::Cann), ("_l2cache_aoe.json", Kind::Ours)];
        ends.into_iter().find(|(end, _)| name.ends_with(end)).map(|(_, kind)| kind)
    }
}

/// A subgraph bank file.
#[derive(Debug)]
pub struct Bank {
    kind: Kind,
    /// The first line, where it is one.
    version_line: Option<String>,
    is_understood: bool,
    lines: Lines<Record>,
    /// The line that each record was read from, 0 for one that was not read.
    numbers: Vec<usize>,
    /// Where the records of a number and a feature stand, the latter by its digest.
    by_id: FxHashMap<(u64, u64), Vec<usize>>,
}

impl Bank {
    /// Reads a file. Never fails: what cannot be used is named in its findings.
    pub fn parse(kind: Kind, content: &[u8]) -> Bank {
        let mut bank = Bank {
            kind,
            version_line: None,
            is_understood: true,
            lines: Lines::default(),
            numbers: Vec::new(),
            by_id: FxHashMap::default(),
        };
        for (index, line) in Lines::<Record>::split(content).enumerate() {
            if index > 0 || !bank.take_version(line) {
                bank.take(index + 1, line);
            }
        }
        bank
    }

    /// Whose numbers its records are kept under.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Takes in the first line; whether it says the version.
    fn take_version(&mut self, line: &[u8]) -> bool {
        let value: Option<Value> = serde_json::from_slice(line).ok();
        let version = value.as_ref().and_then(|v| v.get("version")).and_then(Value::as_str);
        if let (Some(version), Ok(text)) = (version, std::str::from_utf8(line)) {
            self.version_line = Some(text.to_owned());
            self.is_understood = version == VERSION;
        } else {
            self.lines.damage(1, Use::Noted, format!("no line that says the version; taken as {VERSION}"));
        }
        version.is_some()
    }

    fn take(&mut self, number: usize, line: &[u8]) {
        let judged = self.judge(line);
        let key = judged.as_ref().ok().map(|record| (record.graph_id, digest(&record.feature)));
        let place = self.lines.take(number, Bytes::copy_from_slice(line), judged.map(Judged::from));
        if let Some((key, place)) = key.zip(place) {
            self.numbers.push(number);
            self.by_id.entry(key).or_default().push(place);
        }
    }

    fn judge(&self, line: &[u8]) -> Result<Record, Unusable> {
        let mut fields: Map<String, Value> =
            serde_json::from_slice(line).map_err(|e| Unusable::Damaged(e.to_string()))?;
        if !self.is_understood {
            return Err(Unusable::Foreign(format!("the file is not of version {VERSION}")));
        }
        if self.kind == Kind::Ours {
            let sum = fields.remove(SUM);
            if sum.as_ref().and_then(Value::as_str) != Some(&sum_of(&fields)) {
                return Err(Unusable::Damaged(format!("`{SUM}` is not that of the record")));
            }
        }
        let record = Record::of(fields).map_err(Unusable::Damaged)?;
        if self.kind == Kind::Ours && record.feature.graph_id().ok() != Some(record.graph_id) {
            return Err(Unusable::Damaged(format!("graphID {} is not that of the feature", record.graph_id)));
        }
        match self.get(record.graph_id, &record.feature) {
            Some(_) => Err(Unusable::Damaged("an earlier line has the same feature; the first is used".into())),
            None => Ok(record),
        }
    }

    /// What is recorded under a number for a network: both have to be the same.
    pub fn get(&self, graph_id: u64, feature: &Feature) -> Option<&Strategy> {
        self.place(graph_id, feature).and_then(|place| self.lines.record(place)).map(|record| &record.strategy)
    }

    fn place(&self, graph_id: u64, feature: &Feature) -> Option<usize> {
        let places = self.by_id.get(&(graph_id, digest(feature)))?;
        places.iter().copied().find(|&place| self.lines.record(place).is_some_and(|r| r.feature == *feature))
    }

    /// What is recorded for a network, under whatever number: a look at every record.
    pub fn find(&self, feature: &Feature) -> Option<&Record> {
        self.records().find(|record| record.feature == *feature)
    }

    /// All usable records, in file order.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.lines.records()
    }

    /// The lines that the records begin on, in their order and counted from 1; 0 for one that was not read.
    pub fn lines(&self) -> impl Iterator<Item = usize> {
        self.numbers.iter().copied()
    }

    /// Writes a record: in place of the one with its number and feature, else at the end.
    ///
    /// Fails with [`Error::Param`] for a record whose lists do not fit each other, or that is kept under another
    /// number than ours in a file of ours; with [`Error::Unsupported`] in a file of another version.
    pub fn put(&mut self, record: Record) -> Result<()> {
        record.check()?;
        if !self.is_understood {
            return Err(Error::Unsupported {
                what: format!("the subgraph bank's version {}", self.version_line.as_deref().unwrap_or_default()),
                reason: format!("records are written in files of version {VERSION} alone"),
            });
        }
        if self.kind == Kind::Ours && record.feature.graph_id()? != record.graph_id {
            return Err(Error::param("record", "graphID is not that of the feature".to_owned()));
        }
        let mut fields = record.fields()?;
        if self.kind == Kind::Ours {
            fields.insert(SUM.into(), sum_of(&fields).into());
        }
        let text = json::to_sorted_text(&Value::Object(fields)).into_bytes();
        let place = self.place(record.graph_id, &record.feature);
        let key = (record.graph_id, digest(&record.feature));
        let at = self.lines.put(place, text, record);
        if place.is_none() {
            self.numbers.push(0);
            self.by_id.entry(key).or_default().push(at);
        }
        Ok(())
    }
}

/// Tells features apart, so that records of one number need not be looked through.
fn digest(feature: &Feature) -> u64 {
    feature.graph_id().unwrap_or_default()
}

fn sum_of(fields: &Map<String, Value>) -> String {
    let mut fields = fields.clone();
    fields.remove(SUM);
    format!("{:016x}", hash::digest(json::to_sorted_text(&Value::Object(fields)).as_bytes()))
}

impl Content for Bank {
    type Entry = Record;

    fn lines(&self) -> &Lines<Record> {
        &self.lines
    }

    /// What was not changed stands as it was read; a file without a line for the version gets one.
    fn render(&self) -> Vec<u8> {
        let version = format!("{{\"version\": \"{VERSION}\"}}");
        let first = self.version_line.as_deref().unwrap_or(&version);
        [first.as_bytes(), b"\n", self.lines.render().as_slice()].concat()
    }
}
