//! What two banks of one form do not share.

use super::entries::{Entry, entries};
use super::source::Source;
use crate::bank::kind::Kind;
use crate::status::{Error, Result};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Map, Value};

/// A field that says different things in the two banks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Its name, `knowledge.baseM` for one inside.
    pub field: String,
    /// What the first bank says; `None` where the field is absent there.
    pub a: Option<Value>,
    /// What the second says.
    pub b: Option<Value>,
}

/// One difference. `label` says in words what the entry is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// The entry stands in the first bank only.
    OnlyA(Entry),
    /// The entry stands in the second bank only.
    OnlyB(Entry),
    /// It stands in both and says different things.
    Differs {
        /// As in the first.
        a: Entry,
        /// As in the second.
        b: Entry,
        /// The fields that differ; never none.
        changes: Vec<Change>,
    },
}

/// Compares two banks entry by entry: in the order of the first, then what only the second has in its own order.
/// Of entries that a bank holds twice the first counts. Answers how many are equal.
///
/// Fails with [`Error::Bank`] for banks of different forms, and where a file cannot be read.
pub fn diff(a: &mut Source, b: &mut Source, tell: &mut dyn FnMut(Difference) -> Result<()>) -> Result<usize> {
    check_alike(a, b)?;
    let mut theirs: Vec<Option<Entry>> = Vec::new();
    let mut places: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
    entries(b, &mut |entry| {
        if !places.contains_key(&entry.identity) {
            places.insert(entry.identity.clone(), theirs.len());
            theirs.push(Some(entry));
        }
        Ok(())
    })?;
    let mut equal = 0;
    let mut seen: rustc_hash::FxHashSet<Vec<u8>> = rustc_hash::FxHashSet::default();
    entries(a, &mut |entry| {
        if !seen.insert(entry.identity.clone()) {
            return Ok(());
        }
        let other = places.get(&entry.identity).and_then(|&place| theirs[place].take());
        let Some(other) = other else { return tell(Difference::OnlyA(entry)) };
        let mut changes = Vec::new();
        compare("", &entry.content, &other.content, &mut changes);
        if changes.is_empty() {
            equal += 1;
            return Ok(());
        }
        tell(Difference::Differs { a: entry, b: other, changes })
    })?;
    theirs.into_iter().flatten().try_for_each(|entry| tell(Difference::OnlyB(entry)))?;
    Ok(equal)
}

fn check_alike(a: &Source, b: &Source) -> Result<()> {
    let alike = a.kind() == b.kind() || [a.kind(), b.kind()].contains(&Kind::Empty);
    if alike {
        return Ok(());
    }
    let reason = format!("{}, but {} is {}", a.kind().name(), b.path().display(), b.kind().name());
    Err(Error::Bank { path: a.path().to_owned(), line: None, reason })
}

/// Notes the fields that differ, those of objects one by one.
fn compare(prefix: &str, a: &Map<String, Value>, b: &Map<String, Value>, changes: &mut Vec<Change>) {
    let added = b.keys().filter(|name| !a.contains_key(*name));
    for name in a.keys().chain(added) {
        let field = format!("{prefix}{name}");
        match (a.get(name), b.get(name)) {
            (Some(Value::Object(a)), Some(Value::Object(b))) => compare(&format!("{field}."), a, b, changes),
            (a, b) if same(a, b) => {}
            (a, b) => changes.push(Change { field, a: a.cloned(), b: b.cloned() }),
        }
    }
}

/// Whether two values are equal; a whole number may be written with a point.
fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => {
            a == b || a.as_f64() == b.as_f64() && (a.is_f64() || b.is_f64())
        }
        (a, b) => a == b,
    }
}
