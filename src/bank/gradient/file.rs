//! The file of the gradient bank: one JSON array, one entry a network.

use crate::bank::json;
use crate::bank::key::Unusable;
use crate::bank::lines::{Judged, LineCounter, Lines, Use, one_value};
use crate::bank::whole::Content;
use prost::bytes::Bytes;
use rustc_hash::FxHashMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What both lists of an entry hold until the network has been profiled.
pub const PLACEHOLDER: [u64; 5] = [0; 5];

/// What is known of the gradients of a network, in the order in which they are exchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gradients {
    /// Nanoseconds from the end of the one before to its start; for the first, when it started.
    pub time: Vec<u64>,
    /// Bytes of each.
    pub size: Vec<u64>,
}

impl Gradients {
    /// What stands for a network that has not been profiled.
    pub fn placeholder() -> Gradients {
        Gradients { time: PLACEHOLDER.to_vec(), size: PLACEHOLDER.to_vec() }
    }

    /// Whether the network has still to be profiled.
    pub fn is_placeholder(&self) -> bool {
        self.time == PLACEHOLDER || self.size == PLACEHOLDER
    }
}

/// What the bank holds for a network.
#[derive(Debug, Clone)]
pub struct Entry {
    hash: u64,
    /// Line of the file that it begins on, counted from 1; 0 for one that was not read.
    line: usize,
    gradients: Gradients,
    /// The whole entry, with the fields that are not known here.
    fields: Map<String, Value>,
}

impl Entry {
    fn new(line: usize, value: &Value) -> Result<Entry, String> {
        let fields = json::object(value, "the entry")?;
        let hash = json::field(fields, "modelhash")?;
        let number = hash.as_str().and_then(json::decimal).ok_or_else(|| format!("`modelhash` cannot be {hash}"))?;
        let lists = json::object(json::field(fields, "modelvalue")?, "`modelvalue`")?;
        let list = |name: &str| {
            let value = json::field(lists, name)?;
            let items = value.as_array().and_then(|items| items.iter().map(Value::as_u64).collect::<Option<Vec<_>>>());
            items.ok_or_else(|| format!("`{name}` is no list of whole numbers"))
        };
        let gradients = Gradients { time: list("gradientTime")?, size: list("gradientSize")? };
        if !gradients.is_placeholder() && gradients.time.len() != gradients.size.len() {
            return Err(format!("{} times, but {} sizes", gradients.time.len(), gradients.size.len()));
        }
        Ok(Entry { hash: number, line, gradients, fields: fields.clone() })
    }

    fn with(mut self, hash: u64, gradients: Gradients) -> Entry {
        let mut lists = match self.fields.remove("modelvalue") {
            Some(Value::Object(lists)) => lists,
            _ => Map::new(),
        };
        lists.insert("gradientTime".into(), gradients.time.clone().into());
        lists.insert("gradientSize".into(), gradients.size.clone().into());
        self.fields.insert("modelvalue".into(), lists.into());
        self.fields.insert("modelhash".into(), hash.to_string().into());
        Entry { hash, gradients, ..self }
    }

    fn text(&self) -> Vec<u8> {
        json::to_sorted_text(&Value::Object(self.fields.clone())).into_bytes()
    }
}

/// A gradient bank file.
#[derive(Debug, Default)]
pub struct Bank {
    lines: Lines<Entry>,
    /// Where the entry of a hash stands.
    by_hash: FxHashMap<u64, usize>,
    /// Entries read so far, with what was none.
    read: usize,
}

impl Bank {
    /// Reads a file. Never fails: what cannot be used is named in its findings.
    pub fn parse(content: &[u8]) -> Bank {
        let mut bank = Bank::default();
        let content = content.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(content);
        if content.trim_ascii().is_empty() {
            return bank;
        }
        match whole(content) {
            Ok(entries) => entries.into_iter().for_each(|(line, text)| bank.take(line, text.as_bytes())),
            Err((line, reason)) => {
                bank.lines.damage(line, Use::Noted, format!("no JSON array, so that CANN cannot read it: {reason}"));
                bank.pieces(content);
            }
        }
        bank
    }

    /// The entries of a damaged file: what stands from the start of one to the start of the next.
    fn pieces(&mut self, content: &[u8]) {
        const START: &[u8] = b"{\"modelhash\"";
        let starts = content.windows(START.len()).enumerate().filter(|(_, window)| *window == START);
        let starts: Vec<_> = starts.map(|(at, _)| at).collect();
        let mut lines = LineCounter::new(content);
        for (index, &start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(content.len());
            let piece = content.get(start..end).unwrap_or_default();
            let mut values = serde_json::Deserializer::from_slice(piece).into_iter::<&RawValue>();
            let read = matches!(values.next(), Some(Ok(_))).then(|| values.byte_offset());
            let (entry, rest) = piece.split_at_checked(read.unwrap_or(piece.len())).unwrap_or((piece, &[]));
            self.take(lines.line_of(start), entry);
            if !rest.iter().all(|b| b" \t\r\n,]".contains(b)) {
                self.lines.damage(lines.line_of(start + entry.len()), Use::Noted, "no entry; not written again".into());
            }
        }
    }

    fn take(&mut self, line: usize, text: &[u8]) {
        self.read += 1;
        let value: Result<Value, String> = serde_json::from_slice(text).map_err(|e| e.to_string());
        // A file has one line more often than not: the entry's place says more.
        let hash = value.as_ref().ok().and_then(|value| value.get("modelhash")?.as_str().map(json::cut));
        let hash = hash.map(|hash| format!(" (modelhash {hash:?})")).unwrap_or_default();
        let named = |reason: String| format!("entry {}{hash}: {reason}", self.read);
        let judged = match value.and_then(|value| Entry::new(line, &value)) {
            Ok(entry) if self.place(entry.hash).is_some() => {
                Err(Unusable::Foreign(named("an earlier entry has this modelhash; the first is used".into())))
            }
            Ok(entry) => Ok(Judged::from(entry)),
            Err(reason) => Err(Unusable::Damaged(named(reason))),
        };
        let hash = judged.as_ref().ok().map(|judged| judged.record.hash);
        let place = self.lines.take(line, Bytes::copy_from_slice(text), judged);
        self.by_hash.extend(hash.zip(place));
    }

    fn place(&self, hash: u64) -> Option<usize> {
        self.by_hash.get(&hash).copied()
    }

    fn places(&self) -> impl Iterator<Item = (usize, &Entry)> {
        (0..self.lines.texts().len()).filter_map(|place| Some((place, self.lines.record(place)?)))
    }

    /// The gradients of every network, and its hash, in file order; the placeholders too.
    pub fn entries(&self) -> impl Iterator<Item = (u64, &Gradients)> {
        self.lines.records().map(|entry| (entry.hash, &entry.gradients))
    }

    /// The lines that the entries begin on, in their order; 0 for one that was not read.
    pub fn lines(&self) -> impl Iterator<Item = usize> {
        self.lines.records().map(|entry| entry.line)
    }

    /// The gradients of a network, where it has been profiled.
    pub fn get(&self, hash: u64) -> Option<&Gradients> {
        self.recorded(hash).filter(|gradients| !gradients.is_placeholder())
    }

    /// What is recorded for a network, be it the placeholder.
    pub fn recorded(&self, hash: u64) -> Option<&Gradients> {
        self.lines.record(self.place(hash)?).map(|entry| &entry.gradients)
    }

    /// Records the gradients of a network, in place of what there is of it.
    pub fn put(&mut self, hash: u64, gradients: Gradients) {
        let place = self.place(hash);
        let old = place.and_then(|place| self.lines.record(place)).cloned();
        self.write(place, old, hash, gradients);
    }

    /// Takes in the entry of a network from another bank, with all its fields, in place of what there is of it.
    pub fn adopt(&mut self, source: &Bank, hash: u64) {
        let Some(new) = source.place(hash).and_then(|place| source.lines.record(place)) else { return };
        let place = self.place(hash);
        let mut old = place.and_then(|place| self.lines.record(place)).cloned().unwrap_or_else(|| new.clone());
        old.fields.extend(new.fields.iter().map(|(name, value)| (name.clone(), value.clone())));
        self.write(place, Some(old), hash, new.gradients.clone());
    }

    /// Gives every placeholder these gradients, as CANN's tuner does; returns how many there were.
    pub fn fill(&mut self, gradients: &Gradients) -> usize {
        let waiting: Vec<_> = self.places().filter(|(_, e)| e.gradients.is_placeholder()).map(|(p, _)| p).collect();
        for &place in &waiting {
            if let Some(entry) = self.lines.record(place).cloned() {
                let hash = entry.hash;
                self.write(Some(place), Some(entry), hash, gradients.clone());
            }
        }
        waiting.len()
    }

    fn write(&mut self, place: Option<usize>, old: Option<Entry>, hash: u64, gradients: Gradients) {
        if let Some(old) = &old {
            self.by_hash.remove(&old.hash);
        }
        let empty = || Entry { hash, line: 0, gradients: Gradients::default(), fields: Map::new() };
        let entry = old.unwrap_or_else(empty).with(hash, gradients);
        let place = self.lines.put(place, entry.text(), entry);
        self.by_hash.insert(hash, place);
    }
}

impl Content for Bank {
    type Entry = Entry;

    fn lines(&self) -> &Lines<Entry> {
        &self.lines
    }

    /// Compact, as CANN writes it; what was not changed stands as it was read.
    fn render(&self) -> Vec<u8> {
        let texts: Vec<_> = self.lines.texts().collect();
        [b"[", texts.join(&b","[..]).as_slice(), b"]"].concat()
    }
}

/// The entries of an array with their lines, or the line and the reason why the text is none.
fn whole(content: &[u8]) -> Result<Vec<(usize, &str)>, (usize, String)> {
    let (mut lines, entries): (_, Vec<&RawValue>) = one_value(content)?;
    Ok(entries.into_iter().map(|raw| (lines.line_of_part(raw.get()), raw.get())).collect())
}
