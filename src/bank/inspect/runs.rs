//! Whether CANN's kernels compute the result with a record.

use super::entries::label;
use super::items::{of_element, rule};
use super::part::Part;
use super::record::Record;
use crate::bank::disk::DISK;
use crate::bank::file::BankFile;
use crate::bank::file_name::FileName;
use crate::bank::form::Form;
use crate::bank::key::Key;
use crate::bank::knowledge::Knowledge;
use crate::bank::side::Side;
use crate::bank::storage::Storage;
use crate::bank::unified::{Element, Operator};
use crate::soc::Soc;
use crate::status::Result;
use std::path::Path;

/// Which elements of a unified bank libaoe wrote, as its side file tells.
#[derive(Debug, Default)]
pub struct Ours {
    side: Side,
    operator: Option<Operator>,
}

impl Ours {
    /// Of the file at a path. Fails where its side file is there and cannot be read.
    pub fn of(path: &Path) -> Result<Ours> {
        match FileName::of_unified(path) {
            Some(FileName { form: form @ Form::Unified(operator), op_type, .. }) => {
                let side = side_at(path, form, op_type.as_deref().unwrap_or_default())?;
                Ok(Ours { side, operator: Some(operator) })
            }
            // No bank of a name that libaoe writes.
            _ => Ok(Ours::default()),
        }
    }

    /// Whether libaoe wrote this.
    pub fn wrote(&self, element: Element<'_>) -> bool {
        let Some(operator) = self.operator else { return false };
        let key = Key::new(element.info_dict().dumps().into_bytes());
        let knowledge = Knowledge::Unified(operator, element.knowledge().dumps());
        self.side.wrote(&key, &knowledge)
    }
}

/// What libaoe wrote of the lines of a runtime bank, as the side file tells. Fails where that is there and cannot be read.
pub(crate) fn written_here(path: &Path) -> Result<Side> {
    match FileName::of(path) {
        Ok(FileName { form: form @ Form::Runtime(_), op_type, .. }) => {
            side_at(path, form, op_type.as_deref().unwrap_or_default())
        }
        _ => Ok(Side::default()),
    }
}

/// What the side file of a bank tells; where the path is a link, the one beside the file that it names tells as well.
fn side_at(path: &Path, form: Form, op_type: &str) -> Result<Side> {
    let mut side = BankFile::at(&DISK, path, form, op_type).side()?;
    // A link that is not followed vouches for nothing.
    if let Ok(target) = DISK.target(path)
        && target != path
    {
        side.absorb(BankFile::at(&DISK, &target, form, op_type).side()?);
    }
    Ok(side)
}

/// By what a record that CANN stumbles at is taken out, in words.
pub(super) const fn taken_out_by(ours: bool) -> &'static str {
    if ours {
        "libaoe wrote it: `aoe bank repair` takes it out"
    } else {
        "libaoe did not write it: `aoe bank repair --all` takes it out"
    }
}

/// What an element of a unified bank is for, in words, and the rule at which TBE's compilation stops when it meets it, or
/// with which no kernel computes; `None` for one that it takes and for what cannot be judged.
pub fn stopping_rule(key: &str, element: Element<'_>, part: &Part, soc: &Soc) -> Option<(String, String)> {
    let item = of_element(0, key, element, Some(part));
    let rule = item.stumbles(soc)?.rule();
    Some((format!("{} {}", item.op, item.shapes), rule))
}

/// The rule that a record's line breaks, in one sentence, where CANN's operator would stop at the tiling, or take it and
/// its kernel not compute the result with it; `None` for a record that runs and for a line that cannot be judged.
pub fn broken_rule(line: &[u8], soc: &Soc) -> Option<String> {
    broken_record(&Record::parse(line).ok()?, soc)
}

/// As [`broken_rule`], of a record that was read.
fn broken_record(record: &Record, soc: &Soc) -> Option<String> {
    let (knowledge, workload) = (record.tiling().ok()?, record.workload().ok()?);
    knowledge.check_accepted(&workload, soc).and_then(|()| knowledge.check_computes(&workload, soc)).err().map(rule)
}

/// As [`broken_record`], where a merge is to take the record over. One that lacks fields is carried along as it is: it may
/// be of another version, whose fields this library does not know.
pub fn kept_out(record: &Record, soc: &Soc) -> Option<String> {
    if record.missing_fields().is_empty() { broken_record(record, soc) } else { None }
}

/// The rule for which a merge does not take a record's line over, and what it is for; `None` for one that it takes.
pub fn kept_out_line(line: &[u8], soc: &Soc) -> Option<(String, String)> {
    let record = Record::parse(line).ok()?;
    kept_out(&record, soc).map(|rule| (rule, label(&record)))
}
