//! Banks of the other forms judged: the findings of their own readers, and whether tilings are legal.

use super::entries::entries;
use super::items::{Item, items, kind_of};
use super::kind::Kind;
use super::part::Socs;
use super::source::Source;
use super::verify::{Judgement, Remark, Status};
use crate::bank::lines::{Finding, Lines, trim};
use crate::bank::{Content, gradient, subgraph, unified};
use crate::status::Result;
use std::collections::BTreeMap;

/// How a reader's finding begins when the line stays although it is not used.
const KEPT: &str = "kept but not used: ";
/// How it begins when the line is lost.
const LOST: &str = "damaged record, not used: ";

/// What there is to say of each line.
type Remarks = BTreeMap<usize, Vec<Remark>>;

/// Judges every entry of a bank that is no operator bank.
pub(super) fn verify(
    source: &mut Source,
    socs: &mut Socs,
    tell: &mut dyn FnMut(Judgement) -> Result<()>,
) -> Result<()> {
    let mut remarks = Remarks::new();
    match source.kind() {
        Kind::Unified => note(unified::Bank::parse(&source.content()?).findings(), &mut remarks),
        Kind::Gradient => note(gradient::Bank::parse(&source.content()?).findings(), &mut remarks),
        Kind::Subgraph => {
            let content = source.content()?;
            note(subgraph::Bank::parse(whose(&content), &content).findings(), &mut remarks);
        }
        Kind::Repository => note(unified::Repository::parse(&source.content()?).findings(), &mut remarks),
        _ => return opaque(source, tell),
    }
    items(source, &mut |item| {
        let said = remarks.entry(item.line).or_default();
        said.extend(illegal(&item, socs));
        Ok(true)
    })?;
    remarks.into_iter().try_for_each(|(line, remarks)| tell(Judgement { line, remarks }))
}

/// Whose numbers a subgraph bank's records are kept under, by the first record that can be read.
fn whose(content: &[u8]) -> subgraph::Kind {
    let mut records = Lines::<()>::split(content).skip(1).filter_map(|line| serde_json::from_slice(trim(line)).ok());
    records.next().map_or(subgraph::Kind::Cann, |fields| kind_of(&fields))
}

fn note(findings: &[Finding], remarks: &mut Remarks) {
    for Finding { line, reason } in findings {
        let (status, reason) = match (reason.strip_prefix(KEPT), reason.strip_prefix(LOST)) {
            (Some(reason), _) => (Status::Foreign, reason),
            (None, Some(reason)) => (Status::Damaged, reason),
            (None, None) => (Status::Damaged, reason.as_str()),
        };
        remarks.entry(*line).or_default().push(Remark { status, reason: reason.to_owned() });
    }
}

/// What is wrong with an item's tiling; a whole network has none.
fn illegal(item: &Item, socs: &mut Socs) -> Option<Remark> {
    let said = |status, reason: String| Some(Remark { status, reason });
    if item.is_network() {
        return None;
    }
    if let Err(reason) = &item.workload {
        return said(Status::NotJudged, reason.clone());
    }
    if let Err(reason) = &item.schedule {
        return said(Status::Illegal, reason.clone());
    }
    match socs.of(item.part.as_ref()) {
        Err(why) => said(Status::NotJudged, why.to_owned()),
        Ok(soc) => {
            item.legal_schedule(soc).err().and_then(|rule| said(Status::Illegal, format!("on {}: {rule}", soc.name)))
        }
    }
}

/// Forms whose records are carried through unread: an entry without identity is damaged.
fn opaque(source: &mut Source, tell: &mut dyn FnMut(Judgement) -> Result<()>) -> Result<()> {
    entries(source, &mut |entry| {
        let broken = entry.content.is_empty().then(|| Remark { status: Status::Damaged, reason: entry.label.clone() });
        tell(Judgement { line: entry.number, remarks: broken.into_iter().collect() })
    })
}
