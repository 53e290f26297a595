//! What the unified bank holds under one key: the tilings recorded for an `info_dict`.

use super::python::{Dict, Value};
use crate::bank::key::Unusable;
use crate::bank::lines::{Judged, Use};
use md5::{Digest, Md5};

/// The key of an `info_dict`: the md5 sum of the text that Python's `json.dumps` gives for it, in lower-case
/// hexadecimal.
pub fn key(info: &Dict) -> String {
    let sum: [u8; 16] = Md5::digest(info.dumps().as_bytes()).into();
    format!("{:032x}", u128::from_be_bytes(sum))
}

/// One recorded tiling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Element<'a>(pub(super) &'a Dict);

impl<'a> Element<'a> {
    /// An element is usable under a key when it has knowledge, and an `info_dict` that has this key.
    pub(super) fn new(value: &'a Value, of: &str) -> Result<Element<'a>, String> {
        let fields = value.as_dict().ok_or("an element of the list is no object")?;
        let dict = |name: &str| {
            let value = fields.get(name).ok_or_else(|| format!("`{name}` is missing"))?;
            value.as_dict().ok_or_else(|| format!("`{name}` is no object"))
        };
        dict("knowledge")?;
        let sum = key(dict("info_dict")?);
        if sum == of { Ok(Element(fields)) } else { Err(format!("its info_dict has the key {sum}")) }
    }

    fn dict(self, name: &str) -> &'a Dict {
        static EMPTY: Dict = Dict::EMPTY;
        // Both are there, or the element would not have been made.
        self.0.get(name).and_then(Value::as_dict).unwrap_or(&EMPTY)
    }

    /// What it is for.
    pub fn info_dict(self) -> &'a Dict {
        self.dict("info_dict")
    }

    /// What it says.
    pub fn knowledge(self) -> &'a Dict {
        self.dict("knowledge")
    }

    /// Microseconds it was measured to take, where it says so.
    pub fn cost_us(self) -> Option<f64> {
        self.cost().and_then(Value::as_f64).filter(|us| us.is_finite() && *us >= 0.0)
    }

    /// What it says of its time, be it a time or not.
    pub fn cost(self) -> Option<&'a Value> {
        self.0.get("cost_time")
    }

    /// Who recorded it, where it says so.
    pub fn origin(self) -> Option<&'a Value> {
        self.0.get("origin")
    }
}

/// What the bank holds under one key.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub(super) key: String,
    /// The whole list, with what cannot be used.
    pub(super) list: Vec<Value>,
    /// Places in the list of what can be used.
    pub(super) usable: Vec<usize>,
}

impl Entry {
    /// The entry of a key. What cannot be used of it stays as it is.
    pub(super) fn new(key: &str, value: &Value) -> Result<Judged<Entry>, Unusable> {
        let list = value.as_list().ok_or_else(|| Unusable::Foreign(format!("`{key}` is no list")))?;
        let mut usable = Vec::new();
        let mut reasons = Vec::new();
        for (index, value) in list.iter().enumerate() {
            match Element::new(value, key) {
                Ok(_) => usable.push(index),
                Err(reason) => reasons.push(format!("`{key}`, element {}: {reason}", index + 1)),
            }
        }
        if usable.is_empty() {
            let nothing = || format!("`{key}` holds nothing");
            return Err(Unusable::Foreign(if list.is_empty() { nothing() } else { reasons.join("; ") }));
        }
        let remark = (!reasons.is_empty()).then(|| (Use::Kept, reasons.join("; ")));
        let record = Entry { key: key.to_owned(), list: list.to_vec(), usable };
        Ok(Judged { record, remark, mended: None })
    }

    /// What it is kept under.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The usable elements, in order.
    pub fn elements(&self) -> impl Iterator<Item = Element<'_>> {
        self.places().map(|(_, element)| element)
    }

    /// The element that took the least time, of equal ones the first.
    pub fn best(&self) -> Option<Element<'_>> {
        self.best_place().map(|(_, element)| element)
    }

    pub(super) fn places(&self) -> impl Iterator<Item = (usize, Element<'_>)> {
        self.usable.iter().filter_map(|&place| Some((place, Element(self.list.get(place)?.as_dict()?))))
    }

    /// The same of those elements that pass a test.
    pub fn best_of(&self, mut passes: impl FnMut(Element<'_>) -> bool) -> Option<Element<'_>> {
        fastest(self.places().filter(|(_, element)| passes(*element))).map(|(_, element)| element)
    }

    pub(super) fn best_place(&self) -> Option<(usize, Element<'_>)> {
        fastest(self.places())
    }

    pub(super) fn text(&self) -> Vec<u8> {
        let key = Value::from(self.key.as_str());
        format!("{key}: {}", Value::List(self.list.clone())).into_bytes()
    }
}

/// The element that took the least time, of equal ones the first; one without a time counts as slowest.
fn fastest<'a>(places: impl Iterator<Item = (usize, Element<'a>)>) -> Option<(usize, Element<'a>)> {
    let time = |(_, element): &(usize, Element<'_>)| element.cost_us().unwrap_or(f64::INFINITY);
    places.min_by(|a, b| time(a).total_cmp(&time(b)))
}
