//! A bank file line by line: every line is kept as it stands unless it is replaced or damaged.

use super::form::{Form, Knowledge};
use super::key::{Key, Unusable};
use super::side::{Side, Verdict};
use super::{json, matmul};
use crate::status::Result;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

/// UTF-8 byte order mark; CANN's parser skips one at the start of a line.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A usable record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What it is for.
    pub key: Key,
    /// What it says.
    pub knowledge: Knowledge,
}

/// Something to tell about a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Line counted from 1.
    pub line: usize,
    /// What is wrong with it and what becomes of it.
    pub reason: String,
}

/// A line that stays.
#[derive(Debug)]
struct Line {
    text: Vec<u8>,
    record: Option<Record>,
}

/// A bank file.
#[derive(Debug)]
pub struct Document {
    form: Form,
    op_type: String,
    lines: Vec<Line>,
    by_key: FxHashMap<Key, usize>,
    /// What there is to tell, in order of the lines.
    pub findings: Vec<Finding>,
    /// Whether some line will not be written again, so that the file must be set aside first.
    pub is_damaged: bool,
}

/// A record with what else matters when it is judged.
struct Parsed {
    record: Record,
    id: u64,
    complete: bool,
}

/// A record that may be used.
struct Judged {
    record: Record,
    /// Whether it is another than the one that was written here.
    is_changed: bool,
}

impl Document {
    /// Reads a file. Never fails: what cannot be used is left out and named in `findings`.
    pub fn parse(form: Form, op_type: &str, content: &[u8], side: &Side) -> Document {
        let mut document = Document {
            form,
            op_type: op_type.to_owned(),
            lines: Vec::new(),
            by_key: FxHashMap::default(),
            findings: Vec::new(),
            is_damaged: false,
        };
        let content = content.strip_suffix(b"\n").unwrap_or(content);
        let lines = if content.is_empty() { Vec::new() } else { content.split(|&b| b == b'\n').collect() };
        let parsed: Vec<_> = lines.iter().map(|line| document.parse_line(line)).collect();
        let present: rustc_hash::FxHashSet<u64> = parsed.iter().flatten().map(|p| p.record.key.digest()).collect();
        for (index, (line, parsed)) in lines.into_iter().zip(parsed).enumerate() {
            let judged = parsed.and_then(|p| document.judge(p, side, &present));
            document.take(index + 1, trim(line), judged);
        }
        document
    }

    fn take(&mut self, number: usize, text: &[u8], judged: Result<Judged, Unusable>) {
        let reason = match judged {
            Ok(Judged { record, is_changed }) => {
                self.by_key.insert(record.key.clone(), self.lines.len());
                self.lines.push(Line { text: text.to_vec(), record: Some(record) });
                if !is_changed {
                    return;
                }
                "changed by another program since it was written here; used, without its measured time".into()
            }
            Err(Unusable::Foreign(reason)) => {
                self.lines.push(Line { text: text.to_vec(), record: None });
                format!("kept but not used: {reason}")
            }
            Err(Unusable::Damaged(_)) if text.is_empty() => "blank line; CANN's loader would stop here".into(),
            Err(Unusable::Damaged(reason)) => {
                self.is_damaged = true;
                format!("damaged record, not used: {reason}")
            }
        };
        self.findings.push(Finding { line: number, reason });
    }

    fn parse_line(&self, line: &[u8]) -> Result<Parsed, Unusable> {
        let damaged = |reason: String| Unusable::Damaged(reason);
        let value: Value = serde_json::from_slice(trim(line)).map_err(|e| damaged(e.to_string()))?;
        let fields = json::object(&value, "the line").map_err(damaged)?;
        let field = |name: &str| json::field(fields, name).map_err(damaged);
        let (id, info, knowledge) = (field("id")?, field("info_dict")?, field("knowledge")?);
        let op = field("op")?.as_str().ok_or_else(|| damaged("`op` is no string".into()))?;
        let id = id.as_u64().ok_or_else(|| damaged(format!("`id` cannot be {id}")))?;
        let version = field("version")?;
        let version = version.as_u64().ok_or_else(|| damaged(format!("`version` cannot be {version}")))?;
        if op != self.op_type {
            return Err(Unusable::Foreign(format!("`op` is {op:?}, the file is one of {}", self.op_type)));
        }
        if !self.form.reads_version(version) {
            return Err(Unusable::Foreign(format!("version {version} is later than this library")));
        }
        let record = Record { key: self.form.key(info)?, knowledge: self.form.knowledge(knowledge)? };
        // A canonical schedule that lacks a field is none; a tiling of CANN's may lack some.
        let complete =
            self.form == Form::Canonical || matmul::Tiling::NAMES.iter().all(|name| knowledge.get(name).is_some());
        Ok(Parsed { record, id, complete })
    }

    /// Checks a record against its id, against what was written here and against the lines before.
    fn judge(&self, parsed: Parsed, side: &Side, present: &rustc_hash::FxHashSet<u64>) -> Result<Judged, Unusable> {
        let Parsed { record, id, complete } = parsed;
        if id != u64::from(record.key.id()) {
            // CANN's files hold stale ids, ours never do.
            let ours = u32::try_from(id).map_or(&[][..], |id| side.keys_of_id(id));
            if self.form == Form::Canonical || ours.iter().any(|key| !present.contains(key)) {
                return Err(Unusable::Damaged(format!("id {id} belongs to another info_dict")));
            }
        }
        let is_changed = side.verdict(&record.key, &record.knowledge) == Verdict::Changed;
        if is_changed && !complete {
            return Err(Unusable::Damaged("it was written here, and now lacks fields".into()));
        }
        if self.by_key.contains_key(&record.key) {
            return Err(Unusable::Damaged("an earlier line has the same info_dict; the first is used".into()));
        }
        Ok(Judged { record, is_changed })
    }

    /// The knowledge recorded for a key.
    pub fn get(&self, key: &Key) -> Option<&Knowledge> {
        self.record(*self.by_key.get(key)?).map(|r| &r.knowledge)
    }

    fn record(&self, index: usize) -> Option<&Record> {
        self.lines.get(index)?.record.as_ref()
    }

    /// All usable records, in file order.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.lines.iter().filter_map(|line| line.record.as_ref())
    }

    /// Writes a record: in place of the one with its key, whose unknown fields stay, else at the end.
    pub fn put(&mut self, key: &Key, info: &Value, knowledge: Knowledge) -> Result<()> {
        let index = self.by_key.get(key).copied();
        let old = index.and_then(|i| self.lines.get(i)).and_then(|line| serde_json::from_slice(&line.text).ok());
        let mut fields: Map<String, Value> = old.unwrap_or_default();
        fields.entry("info_dict").or_insert_with(|| info.clone());
        let written = knowledge.to_fields()?;
        match (self.form, fields.get_mut("knowledge")) {
            (Form::MatMulV3, Some(Value::Object(old))) => old.extend(written),
            _ => {
                fields.insert("knowledge".into(), written.into());
            }
        }
        fields.insert("id".into(), key.id().into());
        fields.insert("op".into(), self.op_type.as_str().into());
        fields.insert("version".into(), 0.into());
        let line = Line {
            text: json::to_sorted_text(&Value::Object(fields)).into_bytes(),
            record: Some(Record { key: key.clone(), knowledge }),
        };
        if let Some(old) = index.and_then(|i| self.lines.get_mut(i)) {
            *old = line;
        } else {
            self.by_key.insert(key.clone(), self.lines.len());
            self.lines.push(line);
        }
        Ok(())
    }

    /// The file as it is written: one line a record, each ended by a line feed.
    pub fn render(&self) -> Vec<u8> {
        let mut content = Vec::with_capacity(self.lines.iter().map(|line| line.text.len() + 1).sum());
        for line in &self.lines {
            content.extend_from_slice(&line.text);
            content.push(b'\n');
        }
        content
    }
}

/// A line without byte order mark, carriage return and blanks around it.
fn trim(line: &[u8]) -> &[u8] {
    line.strip_prefix(BOM).unwrap_or(line).trim_ascii()
}
