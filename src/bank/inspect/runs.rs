//! Whether a part runs a record, and what is said and done where it does not.

use super::entries::label;
use super::items::of_element;
use super::judgement::{Remark, Status};
use super::part::Part;
use super::record::Record;
use crate::bank::disk::DISK;
use crate::bank::file::BankFile;
use crate::bank::file_name::FileName;
use crate::bank::form::Form;
use crate::bank::key::Key;
use crate::bank::knowledge::{Knowledge, Unfit};
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

/// What is said of a record that a part does not run, and by what it is taken out; `ours` tells whether libaoe wrote it.
pub(super) fn remark(unfit: Unfit, soc: &Soc, ours: impl FnOnce() -> bool) -> Remark {
    let whose = || {
        if ours() {
            "libaoe wrote it: `aoe bank repair` takes it out"
        } else {
            "libaoe did not write it: `aoe bank repair --all` takes it out"
        }
    };
    let (status, reason) = match unfit {
        Unfit::Refused(rule) => (Status::Refused, format!("on {}: {rule} ({})", soc.name, whose())),
        Unfit::WouldNotCompute(rule) => (Status::WouldNotCompute, format!("on {}: {rule} ({})", soc.name, whose())),
        Unfit::Illegal(rule) => (Status::Illegal, format!("on {}: {rule}", soc.name)),
        Unfit::NotJudged(why) => (Status::NotJudged, why),
    };
    Remark { status, reason }
}

/// The rule for which a repair takes a record out: that at which CANN stops, or by which its kernel does not compute the
/// result. A limit of the hardware is none: the part may be described otherwise than it is.
fn stopping(unfit: Unfit) -> Option<String> {
    match unfit {
        Unfit::Refused(rule) | Unfit::WouldNotCompute(rule) => Some(rule),
        Unfit::Illegal(_) | Unfit::NotJudged(_) => None,
    }
}

/// The rule for which a merge does not take a record over: any that it breaks.
fn refused(unfit: Unfit) -> Option<String> {
    match unfit {
        Unfit::NotJudged(_) => None,
        broken => Some(broken.rule()),
    }
}

/// What an element of a unified bank is for, in words, and the rule at which TBE's compilation stops when it meets it, or
/// with which no kernel computes; `None` for one that it takes and for what cannot be judged.
pub fn stopping_rule(key: &str, element: Element<'_>, part: &Part, soc: &Soc) -> Option<(String, String)> {
    let item = of_element(0, key, element, Some(part));
    let rule = stopping(item.unfit(soc)?)?;
    Some((format!("{} {}", item.op, item.shapes), rule))
}

/// The rule for which a merge does not take an element of a unified bank over; `None` for one that it takes.
pub fn kept_out_element(key: &str, element: Element<'_>, part: &Part, soc: &Soc) -> Option<String> {
    refused(of_element(0, key, element, Some(part)).unfit(soc)?)
}

/// The rule that a record's line breaks, in one sentence, where CANN's operator would stop at the tiling, or take it and
/// its kernel not compute the result with it; `None` for a record that runs and for a line that cannot be judged.
pub fn broken_rule(line: &[u8], soc: &Soc) -> Option<String> {
    stopping(unfit(&Record::parse(line).ok()?, soc)?)
}

fn unfit(record: &Record, soc: &Soc) -> Option<Unfit> {
    let (knowledge, workload) = (record.tiling().ok()?, record.workload().ok()?);
    knowledge.fit(&workload, soc).err()
}

/// The rule for which a merge does not take a record over. One that lacks fields is carried along as it is: it may be of
/// another version, whose fields this library does not know.
pub fn kept_out(record: &Record, soc: &Soc) -> Option<String> {
    if record.missing_fields().is_empty() { refused(unfit(record, soc)?) } else { None }
}

/// Whether a merge does not take a record's line over.
pub fn is_kept_out(line: &[u8], soc: &Soc) -> bool {
    Record::parse(line).is_ok_and(|record| kept_out(&record, soc).is_some())
}

/// The rule for which a merge does not take a record's line over, and what it is for; `None` for one that it takes.
pub fn kept_out_line(line: &[u8], soc: &Soc) -> Option<(String, String)> {
    let record = Record::parse(line).ok()?;
    kept_out(&record, soc).map(|rule| (rule, label(&record)))
}
