//! A file in another form, made of those of any.

use super::convert::{Content, Converted, Target, convert};
use super::item::Item;
use super::items::items;
use super::part::{Part, Socs};
use super::source::Source;
use crate::bank::whole::Content as _;
use crate::bank::{json, unified};
use crate::status::Result;
use rustc_hash::FxHashSet;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// What did not come along of a record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Left {
    /// The file that it stands in.
    pub file: PathBuf,
    /// Its line there.
    pub line: usize,
    /// What it is for.
    pub record: String,
    /// Why it was left out as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// The fields that were not carried over, where the record was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
}

/// A file in another form, made record by record.
#[derive(Debug)]
pub struct Export {
    target: Target,
    /// The part and operator of a runtime bank, which holds no others.
    holds: Option<(Option<Part>, String)>,
    lines: RecordLines,
    bank: unified::Bank,
    /// Records taken in.
    pub count: usize,
    /// What did not come along, in order.
    pub left: Vec<Left>,
}

impl Export {
    /// A file of this form, without records so far.
    pub fn new(target: Target) -> Export {
        let (lines, bank) = (RecordLines::default(), unified::Bank::default());
        Export { target, holds: None, lines, bank, count: 0, left: Vec::new() }
    }

    /// Takes in every record of a file; answers how many lines hold none. Fails where the file cannot be read.
    pub fn take(&mut self, source: &mut Source, socs: &mut Socs) -> Result<usize> {
        let path = source.path().to_owned();
        items(source, &mut |item| {
            let converted = converted(&item, Some(self.target), socs).and_then(|c| self.place(&item, c));
            note(&path, &item, converted, &mut self.left);
            Ok(true)
        })
    }

    /// Puts a record into the file; answers what it lost on the way.
    fn place(&mut self, item: &Item, converted: Converted) -> Result<Vec<String>, String> {
        match converted.content {
            Content::Element { info, knowledge, cost_us } => put_faster(&mut self.bank, &info, &knowledge, cost_us)?,
            Content::Record { fields, .. } => {
                let holds = (item.part.clone(), converted.op);
                if self.target == Target::Runtime && *self.holds.get_or_insert_with(|| holds.clone()) != holds {
                    return Err("a runtime bank is of one part and operator, and the first record is of others".into());
                }
                let part = if self.target == Target::Canonical { item.part.clone() } else { None };
                self.lines.add(&format!("{part:?} {} ", holds.1), fields)?;
            }
        }
        self.count += 1;
        Ok(converted.lost)
    }

    /// The file.
    pub fn content(&self) -> Vec<u8> {
        if self.target == Target::Unified { self.bank.render() } else { self.lines.text.clone() }
    }
}

/// An item in a form; in the one that its operator has in a bank where none is asked for.
pub(super) fn converted(item: &Item, target: Option<Target>, socs: &mut Socs) -> Result<Converted, String> {
    // First: no SoC would help what is no work of an operator.
    item.workload.as_ref().map_err(String::clone)?;
    let soc = socs.of(item.part.as_ref()).map_err(str::to_owned)?;
    match target {
        Some(target) => convert(item, target, soc),
        // What TBE asks for goes into the bank that it asks, where the record has the time that stands there.
        None if item.is_of_unified(soc) => {
            convert(item, Target::Unified, soc).or_else(|_| convert(item, Target::Canonical, soc))
        }
        None => convert(item, Target::Runtime, soc).or_else(|_| convert(item, Target::Canonical, soc)),
    }
}

pub(super) fn note(file: &Path, item: &Item, outcome: Result<Vec<String>, String>, left: &mut Vec<Left>) {
    let (left_out, lost) = match outcome {
        Ok(lost) if lost.is_empty() => return,
        Ok(lost) => (None, lost),
        Err(reason) => (Some(reason), Vec::new()),
    };
    let record = format!("{} {}", item.op, item.shapes);
    left.push(Left { file: file.to_owned(), line: item.line, record, left_out, lost });
}

/// Records one a line, each for something else.
#[derive(Debug, Default)]
pub(super) struct RecordLines {
    /// The lines.
    pub text: Vec<u8>,
    known: FxHashSet<String>,
}

impl RecordLines {
    /// Adds a record of what `whose` names; fails where one is there for the same.
    pub fn add(&mut self, whose: &str, fields: Map<String, Value>) -> Result<(), String> {
        let info = fields.get("info_dict").map(json::to_sorted_text).unwrap_or_default();
        if !self.known.insert(format!("{whose}{info}")) {
            return Err("an earlier record is for the same".into());
        }
        self.text.extend_from_slice(json::to_sorted_text(&Value::Object(fields)).as_bytes());
        self.text.push(b'\n');
        Ok(())
    }
}

/// Puts a tiling into a unified bank that has none for the same which is as fast.
pub(super) fn put_faster(
    bank: &mut unified::Bank,
    info: &unified::Dict,
    knowledge: &unified::Dict,
    cost_us: f64,
) -> Result<(), String> {
    if bank.get(info).is_some_and(|old| old.cost_us().is_some_and(|old| old <= cost_us)) {
        return Err("an earlier record is for the same and as fast".into());
    }
    bank.put(info, knowledge, cost_us).map_err(|e| e.to_string())
}
