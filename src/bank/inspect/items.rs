//! What any bank file records, item by item.

use super::entries::{Entry, entries};
use super::gains::Gains;
use super::item::{Item, rule};
use super::part::Part;
use super::record::Record;
use super::source::{Line, Source};
use crate::bank::form::Form;
use crate::bank::key::Key;
use crate::bank::kind::Kind;
use crate::bank::knowledge::Knowledge;
use crate::bank::lines::trim;
use crate::bank::{gradient, json, subgraph, unified};
use crate::status::Result;
use crate::workload::{Schedule, Workload};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

/// Reads the records of a file one after the other until `take` answers false; answers how many lines or entries
/// hold none that is understood. Fails where the file cannot be read or is no bank.
pub fn items(source: &mut Source, take: &mut dyn FnMut(Item) -> Result<bool>) -> Result<usize> {
    source.check_known()?;
    let (part, kind) = (source.part(), source.kind());
    let (mut bad, mut is_wanted) = (0, true);
    match kind {
        Kind::Unified => {
            let bank = unified::Bank::parse(&source.content()?);
            let mut gains = Gains::of(source);
            for (line, entry) in bank.lines().zip(bank.entries()) {
                let Some(element) = entry.best() else { continue };
                let item = of_element(line, entry.key(), element, part.as_ref());
                let key = Key::new(element.info_dict().dumps().into_bytes());
                let times = item.knowledge.as_ref().and_then(|knowledge| match knowledge {
                    Knowledge::Unified(operator, _) => gains.times_of(Form::Unified(*operator), &key, knowledge),
                    _ => None,
                });
                if !take(Item { times, ..item })? {
                    break;
                }
            }
            bad += crate::bank::Content::findings(&bank).len() + crate::bank::Content::unlisted(&bank);
        }
        Kind::Gradient => {
            let bank = gradient::Bank::parse(&source.content()?);
            for (line, (hash, gradients)) in bank.lines().zip(bank.entries()) {
                if !take(of_gradients(line, hash, gradients))? {
                    break;
                }
            }
            bad += crate::bank::Content::findings(&bank).len() + crate::bank::Content::unlisted(&bank);
        }
        Kind::Rl | Kind::OpCost => entries(source, &mut |entry| {
            match of_unread(kind, entry) {
                Some(_) if !is_wanted => {}
                Some(item) => is_wanted = take(item)?,
                None => bad += 1,
            }
            Ok(())
        })?,
        _ => {
            let mut gains = Gains::of(source);
            while let Some((number, line)) = source.next_line()? {
                let item = match line {
                    Line::TooLong(_) => None,
                    Line::Bytes(bytes) if trim(bytes).is_empty() => continue,
                    Line::Bytes(bytes) => match kind {
                        Kind::Repository => of_row(bytes),
                        Kind::Subgraph if is_version(number, bytes) => continue,
                        Kind::Subgraph => of_subgraph(bytes),
                        _ => Record::parse(bytes).ok().map(|record| of_record(record, &mut gains)),
                    },
                };
                let Some(item) = item else {
                    bad += 1;
                    continue;
                };
                let part = item.part.clone().or_else(|| part.clone());
                if !take(Item { line: number, part, ..item })? {
                    break;
                }
            }
        }
    }
    Ok(bad)
}

/// Whether this is the first line of a subgraph bank.
pub(super) fn is_version(number: usize, line: &[u8]) -> bool {
    number == 1 && serde_json::from_slice::<Value>(trim(line)).is_ok_and(|value| value.get("version").is_some())
}

fn of_record(record: Record, gains: &mut Gains) -> Item {
    let workload = record.workload().map_err(|e| e.to_string());
    let knowledge = record.tiling().map_err(|why| why.to_string());
    let schedule = workload.clone().and_then(|w| knowledge.clone()?.schedule(&w).map_err(rule));
    let (times, cost_us) = (gains.times(&record), record.cost_us());
    let (part, id, form) = (record.part(), record.key.id().into(), Some(record.form));
    let mut fields = record.others;
    fields.insert("stored_id".into(), record.id.into());
    fields.insert("info_dict".into(), record.info.into());
    fields.insert("knowledge".into(), record.knowledge.into());
    let item = Item::new(record.op, id, workload, schedule, fields);
    Item { part, times, cost_us, knowledge: knowledge.ok(), form, ..item }
}

/// Python's value as JSON; a whole number beyond 64 bits becomes a text.
fn to_json(value: &unified::Value) -> Value {
    serde_json::from_str(&value.dumps()).unwrap_or_else(|_| value.dumps().into())
}

/// The item of one element of the entry of a key.
pub(super) fn of_element(line: usize, key: &str, element: unified::Element<'_>, part: Option<&Part>) -> Item {
    let workload = unified::workload(element.info_dict());
    let schedule = match &workload {
        Ok(workload) => unified::schedule(element.knowledge(), workload).map(Schedule::Cube).map_err(rule),
        Err(why) => Err(why.to_string()),
    };
    let workload = workload.map_err(|e| e.to_string());
    let op = unified::op_type(element.info_dict()).unwrap_or("?").to_owned();
    let knowledge = unified::Operator::find(&op).map(|op| Knowledge::Unified(op, element.knowledge().dumps()));
    let mut fields = Map::new();
    for (name, dict) in [("info_dict", element.info_dict()), ("knowledge", element.knowledge())] {
        fields.insert(name.into(), to_json(&unified::Value::Dict(dict.clone())));
    }
    if let Some(origin) = element.origin() {
        fields.insert("origin".into(), to_json(origin));
    }
    let item = Item::new(op, key.into(), workload, schedule, fields);
    Item { line, part: part.cloned(), cost_us: element.cost_us(), knowledge, ..item }
}

fn of_row(line: &[u8]) -> Option<Item> {
    let repository = unified::Repository::parse(line);
    let row = repository.rows().next()?;
    let (workload, schedule) = (Ok(Workload::MatMul(row.workload.clone())), Ok(Schedule::Cube(row.schedule.clone())));
    let fields = serde_json::from_slice(trim(line)).unwrap_or_default();
    Some(Item {
        cost_us: row.cost_us,
        ..Item::new("matmul".into(), row.kernel.clone().into(), workload, schedule, fields)
    })
}

/// An item of a whole network, which has no work or tiling of one operator.
fn of_network(op: String, id: u64, shapes: String, tiling: String, fields: Map<String, Value>) -> Item {
    let reason = || "it is of a whole network".to_owned();
    let (workload, schedule) = (Err(reason()), Err(reason()));
    // The files have these numbers as texts, since they are beyond what JSON's numbers are good for.
    let id = id.to_string().into();
    Item { shapes, tiling, is_network: true, ..Item::new(op, id, workload, schedule, fields) }
}

fn of_subgraph(line: &[u8]) -> Option<Item> {
    let fields: Map<String, Value> = serde_json::from_slice(trim(line)).ok()?;
    let record = |kind| {
        let content = [b"{\"version\": \"2.1\"}\n", trim(line)].concat();
        subgraph::Bank::parse(kind, &content).records().next().cloned()
    };
    let record = record(kind_of(&fields))?;
    let nodes: usize = record.feature.parts.iter().map(|part| part.nodes.len()).sum();
    let scopes: usize = record.strategy.groups.iter().map(fused_scopes).sum();
    let cuts = record.strategy.groups.iter().flat_map(|group| &group.cut).copied().max().unwrap_or(1);
    let name = record.strategy.model_name.clone().unwrap_or_else(|| "network".into());
    let shapes = format!("{} parts, {nodes} nodes", record.feature.parts.len());
    let tiling = format!("{scopes} fused scopes, cut in up to {cuts}");
    let cost_us = Some(record.strategy.end2_end_time as f64 / 1e3).filter(|us| *us > 0.0);
    Some(Item { cost_us, ..of_network(name, record.graph_id, shapes, tiling, fields) })
}

/// Our own records have a sum.
fn kind_of(fields: &Map<String, Value>) -> subgraph::Kind {
    if fields.contains_key("sum") { subgraph::Kind::Ours } else { subgraph::Kind::Cann }
}

/// Scopes of more than one node.
fn fused_scopes(group: &subgraph::Group) -> usize {
    let mut sizes: FxHashMap<i64, usize> = FxHashMap::default();
    group.scope_id.iter().filter(|id| **id > 0).for_each(|id| *sizes.entry(*id).or_default() += 1);
    sizes.values().filter(|size| **size > 1).count()
}

/// An item of a form whose records nobody outside CANN can read; `None` for what is none.
fn of_unread(kind: Kind, entry: Entry) -> Option<Item> {
    if unread_fault(kind, &entry).is_some() {
        return None;
    }
    let reason = format!("what the records of an {} say is not public", kind.name());
    let (workload, schedule) = (Err(reason.clone()), Err(reason));
    let id = String::from_utf8_lossy(&entry.identity).into_owned().into();
    Some(Item { line: entry.number, ..Item::new(kind.name().to_owned(), id, workload, schedule, entry.content) })
}

/// What is wrong with a record of a form that nobody outside CANN can read, as far as can be told.
pub(super) fn unread_fault(kind: Kind, entry: &Entry) -> Option<String> {
    if entry.content.is_empty() || entry.identity.is_empty() {
        return Some(entry.label.clone());
    }
    let text = |name: &str| entry.content.get(name).and_then(Value::as_str);
    match kind {
        Kind::OpCost => {
            let is_number = |text: &str| text.parse::<u64>().is_ok();
            let hash = std::str::from_utf8(&entry.identity).is_ok_and(is_number);
            let wrong = if hash { "cost_time" } else { "hash_str" };
            (!hash || !text(wrong).is_some_and(is_number))
                .then(|| format!("{}: `{wrong}` is no whole number in a text", entry.label))
        }
        _ => text("value").is_none().then(|| format!("{}: its schedule is no text", json::cut(&entry.label))),
    }
}

fn of_gradients(line: usize, hash: u64, gradients: &gradient::Gradients) -> Item {
    let bytes = gradients.size.iter().fold(0u64, |sum, size| sum.saturating_add(*size));
    let (shapes, tiling) = if gradients.is_placeholder() {
        ("not profiled".to_owned(), "-".to_owned())
    } else {
        let time = gradients.time.iter().fold(0u64, |sum, time| sum.saturating_add(*time));
        (format!("{} gradients, {bytes} bytes", gradients.size.len()), format!("{:.1} us in all", time as f64 / 1e3))
    };
    let fields = serde_json::json!({"gradientTime": gradients.time, "gradientSize": gradients.size});
    let fields = fields.as_object().cloned().unwrap_or_default();
    Item { line, ..of_network("network".into(), hash, shapes, tiling, fields) }
}
