//! Every line of an operator bank judged as CANN's loader, CANN's operator and our rule book would.

use super::forms;
use super::item::rule;
use super::judgement::{Judgement, Remark, Status};
use super::part::{Part, Socs};
use super::record::{Fault, Record};
use super::runs::{remark, written_here};
use super::source::{Line, Source};
use crate::bank::form::Form;
use crate::bank::key::Unusable;
use crate::bank::kind::Kind;
use crate::bank::knowledge::Knowledge;
use crate::bank::lines::trim;
use crate::bank::side::Side;
use crate::status::Result;
use rustc_hash::FxHashMap;

/// Judges the lines of one operator bank.
pub struct Judge<'a> {
    socs: &'a mut Socs,
    /// The part and the operator that the file's name tells.
    part: Option<Part>,
    op: Option<String>,
    /// The side file, which tells the records that were written here.
    side: Side,
    /// The line that first had a key, by part, operator and digest of the key.
    first: FxHashMap<(Option<Part>, String, u64), usize>,
}

impl<'a> Judge<'a> {
    /// A judge for one file. Fails where its side file is there and cannot be read.
    pub fn new(source: &Source, socs: &'a mut Socs) -> Result<Judge<'a>> {
        let (part, op) = (source.part(), source.name().and_then(|name| name.op_type));
        let side = written_here(source.path())?;
        Ok(Judge { socs, part, op, side, first: FxHashMap::default() })
    }

    /// Judges a line.
    pub fn judge(&mut self, number: usize, line: Line<'_>) -> Judgement {
        let mut remarks = Vec::new();
        let mut say = |status, reason: String| remarks.push(Remark { status, reason });
        match line {
            Line::TooLong(bytes) => say(Status::Damaged, format!("a line of {bytes} bytes is no record")),
            Line::Bytes(bytes) if trim(bytes).is_empty() => {
                say(Status::Blank, "CANN's loader stops at a blank line".into());
            }
            Line::Bytes(bytes) => match Record::parse(bytes) {
                Ok(record) => self.judge_record(number, &record, &mut say),
                Err(Fault::Damaged(reason)) => say(Status::Damaged, reason),
                Err(Fault::Unusable(reason)) => say(Status::Unusable, reason),
                Err(Fault::Foreign(reason)) => say(Status::Foreign, reason),
            },
        }
        Judgement { line: number, remarks }
    }

    fn judge_record(&mut self, number: usize, record: &Record, say: &mut dyn FnMut(Status, String)) {
        if let Some(op) = self.op.as_ref().filter(|op| **op != record.op) {
            say(Status::Foreign, format!("`op` is {:?}, the file's name says {op:?}", record.op));
        }
        if !record.form.reads_version(record.version) {
            say(Status::Foreign, format!("version {} is later than this library", record.version));
            return;
        }
        let part = record.part().or_else(|| self.part.clone());
        let first = *self.first.entry((part.clone(), record.op.clone(), record.key.digest())).or_insert(number);
        if first != number {
            say(Status::Duplicate, format!("line {first} has the same info_dict"));
        }
        if record.id != u64::from(record.key.id()) {
            judge_id(record, say);
        }
        let unknown = record.unknown_fields();
        if !unknown.is_empty() {
            say(Status::UnknownFields, format!("nobody reads {}", unknown.join(", ")));
        }
        let missing = record.missing_fields();
        if !missing.is_empty() {
            say(Status::MissingFields, format!("knowledge lacks {}, taken for 0", missing.join(", ")));
        }
        self.judge_tiling(record, part.as_ref(), say);
    }

    fn judge_tiling(&mut self, record: &Record, part: Option<&Part>, say: &mut dyn FnMut(Status, String)) {
        let knowledge = match record.tiling() {
            Ok(knowledge) => knowledge,
            Err(Unusable::Damaged(reason)) => return say(Status::Damaged, reason),
            Err(Unusable::Foreign(reason)) => return say(Status::NotJudged, reason),
        };
        if matches!(knowledge, Knowledge::Opaque(_) | Knowledge::Binary(..)) {
            return say(Status::NotJudged, format!("the tiling fields of {} are not decoded", record.op));
        }
        let workload = match record.workload() {
            Ok(workload) => workload,
            Err(why) => return say(Status::NotJudged, why.to_string()),
        };
        let soc = match self.socs.of(part) {
            Ok(soc) => soc,
            // What says no schedule at all is illegal on every part.
            Err(why) => match knowledge.schedule(&workload) {
                Ok(_) => return say(Status::NotJudged, why.to_owned()),
                Err(none) => return say(Status::Illegal, rule(none)),
            },
        };
        if let Err(unfit) = knowledge.fit(&workload, soc) {
            let Remark { status, reason } = remark(unfit, soc, || self.side.wrote(&record.key, &knowledge));
            say(status, reason);
        }
    }
}

/// CANN's files hold stale ids, which its loader does not look at; in our own form one means damage.
fn judge_id(record: &Record, say: &mut dyn FnMut(Status, String)) {
    let reason = format!("id is {}, that of its info_dict is {}", record.id, record.key.id());
    let status = if record.form == Form::Canonical { Status::Damaged } else { Status::StaleId };
    say(status, reason);
}

/// Judges every line or entry of a bank of any form. Fails where the file cannot be read any further.
pub fn verify(source: &mut Source, socs: &mut Socs, tell: &mut dyn FnMut(Judgement) -> Result<()>) -> Result<()> {
    match source.kind() {
        Kind::Records | Kind::Unknown | Kind::Empty => {
            let mut judge = Judge::new(source, socs)?;
            while let Some((number, line)) = source.next_line()? {
                tell(judge.judge(number, line))?;
            }
            Ok(())
        }
        _ => forms::verify(source, socs, tell),
    }
}
