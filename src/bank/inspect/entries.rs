//! What any bank file holds, as entries with an identity and a content, whatever the form.

use super::describe;
use super::record::{PART_FIELD, Record};
use super::source::{Line, Source};
use crate::bank::fields::FIELDS;
use crate::bank::json;
use crate::bank::kind::Kind;
use crate::bank::lines::trim;
use crate::status::{Error, Result};
use serde_json::{Map, Value};

/// One entry of a bank file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What it is for, as bytes that are equal for equal things.
    pub identity: Vec<u8>,
    /// The same in words.
    pub label: String,
    /// Line counted from 1; the place in the file for one that has no lines of its own.
    pub number: usize,
    /// What it says.
    pub content: Map<String, Value>,
}

/// Reads every entry of a file. A line that is none is an entry too, which is itself and says nothing.
///
/// Fails with [`Error::File`] where the file cannot be read, and with [`Error::Bank`] where one that is a single
/// JSON value cannot be parsed, and for one that is no bank.
pub fn entries(source: &mut Source, take: &mut dyn FnMut(Entry) -> Result<()>) -> Result<()> {
    source.check_known()?;
    let kind = source.kind();
    if matches!(kind, Kind::Unified | Kind::Rl | Kind::Gradient) {
        for (index, entry) in whole(source)?.into_iter().enumerate() {
            take(Entry { number: index + 1, ..entry })?;
        }
        return Ok(());
    }
    while let Some((number, line)) = source.next_line()? {
        let entry = match line {
            Line::TooLong(bytes) => opaque(format!("a line of {bytes} bytes").as_bytes()),
            Line::Bytes(bytes) if trim(bytes).is_empty() => continue,
            Line::Bytes(bytes) if kind == Kind::Records => of_record(bytes),
            Line::Bytes(bytes) => of_line(kind, bytes),
        };
        take(Entry { number, ..entry })?;
    }
    Ok(())
}

/// The whole of a file that is one JSON value.
///
/// Fails as [`entries`] does.
pub(super) fn whole_value(source: &Source) -> Result<Value> {
    serde_json::from_slice(trim(&source.content()?)).map_err(|e| Error::Bank {
        path: source.path().to_owned(),
        line: Some(e.line()),
        reason: e.to_string(),
    })
}

fn whole(source: &Source) -> Result<Vec<Entry>> {
    Ok(match whole_value(source)? {
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| entry(key.clone().into_bytes(), key, value)).collect()
        }
        Value::Array(items) => items.into_iter().map(|item| by_field("modelhash", item)).collect(),
        other => vec![opaque(other.to_string().as_bytes())],
    })
}

fn of_record(line: &[u8]) -> Entry {
    let Ok(record) = Record::parse(line) else { return opaque(trim(line)) };
    let part = record.part().map(|part| part.to_string()).unwrap_or_default();
    let identity = [part.as_bytes(), b"\0", record.op.as_bytes(), b"\0", record.key.bytes()].concat();
    let label = label(&record);
    let mut content = record.others;
    content.remove(PART_FIELD);
    let [id, info, knowledge, _, version] = FIELDS;
    content.insert(id.into(), record.id.into());
    content.insert(info.into(), record.info.into());
    content.insert(knowledge.into(), record.knowledge.into());
    content.insert(version.into(), record.version.into());
    Entry { identity, label, number: 0, content }
}

/// A record in few words: the part where it names one, operator and shapes.
pub fn label(record: &Record) -> String {
    let shapes = record.workload().map_or_else(|_| format!("id {}", record.key.id()), |w| describe::shapes(&w));
    let part = record.part().map(|part| format!("{part} ")).unwrap_or_default();
    format!("{part}{} {shapes}", record.op)
}

/// An entry of a form that is told apart by one field.
fn of_line(kind: Kind, line: &[u8]) -> Entry {
    let Ok(value) = serde_json::from_slice::<Value>(trim(line)) else { return opaque(trim(line)) };
    match kind {
        Kind::Repository => by_field("shape", value),
        Kind::Subgraph => by_field("graphID", value),
        Kind::OpCost => by_field("hash_str", value),
        _ => opaque(trim(line)),
    }
}

fn by_field(name: &str, value: Value) -> Entry {
    let Value::Object(mut fields) = value else { return opaque(value.to_string().as_bytes()) };
    let Some(identity) = fields.remove(name) else {
        return entry(Vec::new(), format!("without {name}"), Value::Object(fields));
    };
    let text = identity.as_str().map_or_else(|| json::to_sorted_text(&identity), str::to_owned);
    let label = format!("{name} {}", json::cut(&text));
    entry(text.into_bytes(), label, Value::Object(fields))
}

fn entry(identity: Vec<u8>, label: String, value: Value) -> Entry {
    let content = match value {
        Value::Object(fields) => fields,
        other => Map::from_iter([("value".to_owned(), other)]),
    };
    Entry { identity, label, number: 0, content }
}

/// What is no entry of its form.
fn opaque(bytes: &[u8]) -> Entry {
    let text = String::from_utf8_lossy(bytes);
    Entry {
        identity: bytes.to_vec(),
        label: format!("no record: {}", json::cut(&text)),
        number: 0,
        content: Map::new(),
    }
}
