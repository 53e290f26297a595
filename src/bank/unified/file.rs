//! The file of the unified bank: one JSON object, in it one entry a line, each under the sum of its
//! `info_dict`.

use super::entry::{Element, Entry, key};
use super::python::{Dict, Fields, Value};
use crate::bank::key::Unusable;
use crate::bank::lines::{Finding, Lines, Use, one_value};
use crate::bank::whole::Content;
use crate::status::{Error, Result};
use rustc_hash::FxHashMap;

/// A unified bank file.
#[derive(Debug, Default)]
pub struct Bank {
    lines: Lines<Entry>,
    /// The line that each usable entry was read from, 0 for one that was not read.
    numbers: Vec<usize>,
    by_key: FxHashMap<String, usize>,
    /// The damaged lines, which are not written again.
    dropped: Vec<usize>,
}

/// An entry as it stands in a file.
struct Found {
    line: usize,
    key: String,
    text: Vec<u8>,
    value: Result<Value, String>,
}

impl Bank {
    /// Reads a file. Never fails: what cannot be used is named in its findings.
    ///
    /// A file that is no JSON object as a whole is read line by line, and counts as damaged.
    pub fn parse(content: &[u8]) -> Bank {
        let mut bank = Bank::default();
        let content = content.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(content);
        if content.trim_ascii().is_empty() {
            return bank;
        }
        let found = match whole(content) {
            Ok(found) => found,
            Err((line, reason)) => {
                bank.lines.damage(line, Use::Noted, format!("no JSON object, so that CANN cannot read it: {reason}"));
                bank.by_line(content)
            }
        };
        let last: FxHashMap<String, usize> = found.iter().enumerate().map(|(i, f)| (f.key.clone(), i)).collect();
        for (index, Found { line, key, text, value }) in found.into_iter().enumerate() {
            let judged = match value {
                // JSON parsers, CANN's among them, keep the last of equal keys.
                _ if last.get(&key) != Some(&index) => {
                    Err(Unusable::Foreign(format!("a later entry has the same key `{key}`")))
                }
                Ok(value) => Entry::new(&key, &value),
                Err(reason) => Err(Unusable::Foreign(format!("`{key}`: {reason}"))),
            };
            let place = bank.lines.take(line, text.into(), judged);
            bank.numbers.extend(place.map(|_| line));
            bank.by_key.extend(place.map(|place| (key, place)));
        }
        bank
    }

    /// The entries of a damaged file: those lines that hold nothing but entries.
    fn by_line(&mut self, content: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        for (index, line) in Lines::<Entry>::split(content).enumerate() {
            if matches!(line, b"" | b"{" | b"}") {
                continue;
            }
            if let Some(entries) = entries_of(line) {
                found.extend(entries.into_iter().map(|entry| Found { line: index + 1, ..entry }));
            } else {
                self.dropped.push(index + 1);
                self.lines.damage(index + 1, Use::Lost, "no entry of a bank".into());
            }
        }
        found
    }

    /// All usable entries, in file order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.lines.records()
    }

    /// The lines that the entries begin on, in their order and counted from 1; 0 for one that was not read.
    pub fn lines(&self) -> impl Iterator<Item = usize> {
        self.numbers.iter().copied()
    }

    /// The entries with the lines that they begin on, 0 for one that was not read, and what there is to tell of each.
    pub fn judged(&self) -> impl Iterator<Item = (usize, &Entry, Vec<&Finding>)> {
        let mut of_record: FxHashMap<usize, Vec<&Finding>> = FxHashMap::default();
        for (place, finding) in self.lines.findings().iter().filter_map(|finding| Some((finding.record?, finding))) {
            of_record.entry(place).or_default().push(finding);
        }
        let places = self.lines.iter().enumerate().filter_map(|(place, (_, entry))| Some((place, entry?)));
        let lines = self.lines();
        places.zip(lines).map(move |((place, entry), line)| (line, entry, of_record.remove(&place).unwrap_or_default()))
    }

    /// The lines of a damaged file in which no entry can be read, counted from 1. They are not written again.
    pub fn dropped(&self) -> &[usize] {
        &self.dropped
    }

    /// What is recorded for an `info_dict`: the fastest, where there are several.
    pub fn get(&self, info: &Dict) -> Option<Element<'_>> {
        self.lines.record(*self.by_key.get(&key(info))?)?.best()
    }

    /// Records a tiling and its microseconds. It takes the place of the fastest one for this `info_dict`,
    /// whose unknown fields stay, and comes first in its list. Fails with [`Error::Param`] for a time that is
    /// none.
    pub fn put(&mut self, info: &Dict, knowledge: &Dict, cost_us: f64) -> Result<()> {
        if !cost_us.is_finite() || cost_us < 0.0 {
            return Err(Error::param("cost_us", format!("{cost_us} microseconds cannot be")));
        }
        let mut fields = Dict::default();
        fields.set("knowledge", Value::Dict(knowledge.clone()));
        fields.set("info_dict", Value::Dict(info.clone()));
        fields.set("cost_time", Value::Float(cost_us));
        self.put_fields(&key(info), &fields);
        Ok(())
    }

    /// Takes in an element of another bank as [`Bank::put`] does, with all its fields.
    pub fn adopt(&mut self, element: Element<'_>) {
        self.put_fields(&key(element.info_dict()), element.0);
    }

    /// The file without the elements that `goes` names: of their entries only what is left, and no entry of which nothing
    /// is. What stays stands as it was read.
    pub fn without(&self, mut goes: impl FnMut(Element<'_>) -> bool) -> Vec<u8> {
        let texts = self.lines.iter().filter_map(|(text, entry)| {
            let Some(entry) = entry else { return Some(text.to_vec()) };
            let gone: Vec<usize> = entry.places().filter(|(_, element)| goes(*element)).map(|(at, _)| at).collect();
            if gone.is_empty() {
                return Some(text.to_vec());
            }
            let stays = entry.list.iter().enumerate().filter(|(at, _)| !gone.contains(at));
            let list: Vec<Value> = stays.map(|(_, value)| value.clone()).collect();
            let rest = Entry { key: entry.key.clone(), list, usable: Vec::new() };
            (!rest.list.is_empty()).then(|| rest.text())
        });
        object(texts)
    }

    fn put_fields(&mut self, key: &str, new: &Dict) {
        let place = self.by_key.get(key).copied();
        let old = place.and_then(|place| self.lines.record(place));
        let (mut list, mut fields) = (Vec::new(), Dict::default());
        if let Some(entry) = old {
            list.clone_from(&entry.list);
            if let Some((index, element)) = entry.best_place() {
                fields = element.0.clone();
                list.remove(index);
            }
        }
        for (name, value) in new.iter() {
            fields.set(name, value.clone());
        }
        list.insert(0, Value::Dict(fields));
        let usable = list.iter().enumerate().filter(|(_, value)| Element::new(value, key).is_ok());
        let entry = Entry { usable: usable.map(|(i, _)| i).collect(), key: key.to_owned(), list };
        if place.is_none() {
            self.numbers.push(0);
        }
        let place = self.lines.put(place, entry.text(), entry);
        self.by_key.insert(key.to_owned(), place);
    }
}

impl Content for Bank {
    type Entry = Entry;

    fn lines(&self) -> &Lines<Entry> {
        &self.lines
    }

    /// What was not changed stands as it was read.
    fn render(&self) -> Vec<u8> {
        object(self.lines.texts())
    }
}

/// A file of these entries.
fn object<T: AsRef<[u8]>>(texts: impl Iterator<Item = T>) -> Vec<u8> {
    let mut content = b"{\n".to_vec();
    let mut count = 0;
    for text in texts {
        if count > 0 {
            content.extend_from_slice(b",\n");
        }
        content.extend_from_slice(text.as_ref());
        count += 1;
    }
    content.extend_from_slice(if count == 0 { b"}" } else { b"\n}" });
    content
}

/// The entries of an object, or the line and the reason why the text is none.
fn whole(content: &[u8]) -> Result<Vec<Found>, (usize, String)> {
    let (mut lines, Fields(fields)) = one_value(content)?;
    Ok(fields.into_iter().map(|(key, raw)| Found::new(lines.line_of_part(raw.get()), key, raw)).collect())
}

/// The entries of one line of a damaged file, when it holds nothing else.
fn entries_of(line: &[u8]) -> Option<Vec<Found>> {
    let line = std::str::from_utf8(line).ok()?;
    let line = line.strip_prefix('{').unwrap_or(line).trim_end_matches(',');
    let parse = |line: &str| {
        let text = format!("{{{line}}}");
        let Fields(fields) = serde_json::from_str(&text).ok()?;
        Some(fields.into_iter().map(|(key, raw)| Found::new(0, key, raw)).collect::<Vec<_>>())
    };
    let found = parse(line).or_else(|| parse(line.strip_suffix('}')?))?;
    // Any field of a record that a line feed cut off would do otherwise.
    let is_key = |key: &str| key.len() == 32 && key.bytes().all(|b| b.is_ascii_hexdigit());
    found.iter().all(|f| is_key(&f.key) && matches!(f.value, Ok(Value::List(_)))).then_some(found)
}

impl Found {
    fn new(line: usize, key: String, raw: &serde_json::value::RawValue) -> Found {
        let value = Value::of_raw(raw, 0);
        let text = match &value {
            // In the bank's layout an entry has a line for itself.
            Ok(value) if raw.get().contains('\n') => value.dumps(),
            _ => raw.get().to_owned(),
        };
        let text = format!("{}: {text}", Value::from(key.as_str())).into_bytes();
        Found { line, key, text, value }
    }
}
