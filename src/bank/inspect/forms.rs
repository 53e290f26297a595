//! Banks of the other forms judged: the findings of their own readers, and whether tilings are legal.

use super::entries::entries;
use super::item::Item;
use super::items::{items, of_element, unread_fault};
use super::judgement::{Judgement, Remark, Status};
use super::part::Socs;
use super::runs::{self, Ours};
use super::source::Source;
use crate::bank::kind::Kind;
use crate::bank::lines::{Finding, Use};
use crate::bank::{Content, gradient, json, subgraph, unified};
use crate::status::Result;
use std::collections::BTreeMap;

/// Judges every entry of a bank that is no operator bank.
pub(super) fn verify(
    source: &mut Source,
    socs: &mut Socs,
    tell: &mut dyn FnMut(Judgement) -> Result<()>,
) -> Result<()> {
    let (mut judgements, unlisted) = match source.kind() {
        Kind::Unified => unified(source, socs)?,
        Kind::Gradient => {
            let bank = gradient::Bank::parse(&source.content()?);
            let good = bank.lines().map(|line| Judgement { line, remarks: Vec::new() });
            (good.chain(bank.findings().iter().map(alone)).collect(), bank.unlisted())
        }
        Kind::Subgraph => {
            let content = source.content()?;
            let kind = subgraph::Kind::of(source.path(), &content);
            let bank = subgraph::Bank::parse(kind, &content);
            (by_line(bank.findings(), source, socs)?, bank.unlisted())
        }
        Kind::Repository => {
            let content = source.content()?;
            let bank = unified::Repository::parse(&content);
            (by_line(bank.findings(), source, socs)?, bank.unlisted())
        }
        _ => return unread(source, tell),
    };
    judgements.sort_by_key(|judgement| judgement.line);
    if unlisted > 0 {
        let line = judgements.last().map_or(1, |judgement| judgement.line);
        let reason = format!("{unlisted} more findings are not listed: mend these first");
        judgements.push(Judgement { line, remarks: vec![Remark { status: Status::Damaged, reason }] });
    }
    judgements.into_iter().try_for_each(tell)
}

/// Judges the entries of a unified bank, of which several may stand on one line.
fn unified(source: &Source, socs: &mut Socs) -> Result<(Vec<Judgement>, usize)> {
    let (bank, part) = (unified::Bank::parse(&source.content()?), source.part());
    let judge = Ours::of(source.path())?;
    let mut judgements = Vec::new();
    for (line, entry, findings) in bank.judged() {
        let mut remarks: Vec<Remark> = findings.into_iter().map(remark).collect();
        for element in entry.elements() {
            remarks.extend(cost_fault(entry, element));
            let item = of_element(line, entry.key(), element, part.as_ref());
            remarks.extend(wrong(&item, socs, || judge.wrote(element)));
        }
        judgements.push(Judgement { line, remarks });
    }
    judgements.extend(bank.findings().iter().filter(|finding| finding.record.is_none()).map(alone));
    Ok((judgements, bank.unlisted()))
}

/// What is wrong with the time that an element states.
fn cost_fault(entry: &unified::Entry, element: unified::Element<'_>) -> Option<Remark> {
    let (status, reason) = match (element.cost(), element.cost_us()) {
        (_, Some(_)) => return None,
        (Some(cost), None) => (Status::Damaged, format!("`cost_time` cannot be {}", json::cut(&cost.to_string()))),
        (None, None) => (Status::MissingFields, "`cost_time` is missing".to_owned()),
    };
    Some(Remark { status, reason: format!("`{}`: {reason}, so that it counts as not measured", entry.key()) })
}

/// Judges a form with a record a line, by the findings of its reader.
fn by_line(findings: &[Finding], source: &mut Source, socs: &mut Socs) -> Result<Vec<Judgement>> {
    let mut remarks: BTreeMap<usize, Vec<Remark>> = BTreeMap::new();
    for finding in findings {
        remarks.entry(finding.line).or_default().push(remark(finding));
    }
    items(source, &mut |item| {
        let said = remarks.entry(item.line).or_default();
        said.extend(wrong(&item, socs, || false));
        Ok(true)
    })?;
    Ok(remarks.into_iter().map(|(line, remarks)| Judgement { line, remarks }).collect())
}

/// A finding that concerns nothing that can be used.
fn alone(finding: &Finding) -> Judgement {
    Judgement { line: finding.line, remarks: vec![remark(finding)] }
}

fn remark(Finding { in_use, reason, .. }: &Finding) -> Remark {
    let status = if *in_use == Use::Kept { Status::Foreign } else { Status::Damaged };
    Remark { status, reason: reason.clone() }
}

/// What is wrong with an item's tiling; a whole network has none. `ours` tells whether libaoe wrote it.
fn wrong(item: &Item, socs: &mut Socs, ours: impl FnOnce() -> bool) -> Option<Remark> {
    let said = |status, reason: String| Some(Remark { status, reason });
    if item.is_network() {
        return None;
    }
    if let Err(reason) = &item.workload {
        return said(Status::NotJudged, reason.clone());
    }
    match (socs.of(item.part.as_ref()), &item.schedule) {
        (Ok(soc), _) => item.unfit(soc).map(|unfit| runs::remark(unfit, soc, ours)),
        // What says no schedule at all is illegal on every part.
        (Err(_), Err(reason)) => said(Status::Illegal, reason.clone()),
        (Err(why), Ok(_)) => said(Status::NotJudged, why.to_owned()),
    }
}

/// Forms whose records nobody outside CANN can read: each is judged by its outer form, and said to be no more than that.
fn unread(source: &mut Source, tell: &mut dyn FnMut(Judgement) -> Result<()>) -> Result<()> {
    let kind = source.kind();
    entries(source, &mut |entry| {
        let remark = match unread_fault(kind, &entry) {
            Some(reason) => Remark { status: Status::Damaged, reason },
            None => Remark {
                status: Status::NotJudged,
                reason: format!("what the records of an {} say is not public", kind.name()),
            },
        };
        tell(Judgement { line: entry.number, remarks: vec![remark] })
    })
}
