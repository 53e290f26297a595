//! Node attributes.

use super::DataType;
use prost::bytes::Bytes;
use std::sync::Arc;

/// Value of one attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Attr {
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A string.
    Str(String),
    /// A data type.
    Type(DataType),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A list of floating-point numbers.
    Floats(Vec<f64>),
    /// A list of truth values.
    Bools(Vec<bool>),
    /// A list of strings.
    Strs(Vec<String>),
    /// A list of lists of integers.
    IntLists(Vec<Vec<i64>>),
    /// A value of another kind (tensors, graphs, text that is not UTF-8, ...), as the bytes of GE's
    /// `AttrDef` message: tuning reads none of these, and what an AIR file had, an AIR file gets back.
    Opaque(Bytes),
}

/// Attributes of one node, by name; ordered, so that every walk over them is deterministic.
///
/// Copies share them until one is changed: graphs of a million nodes are copied, and most attributes never change.
#[derive(Debug, Clone, Default)]
pub struct Attrs(Option<Arc<List>>);

/// Attributes in the order of their names.
type List = Vec<(Box<str>, Attr)>;

impl PartialEq for Attrs {
    fn eq(&self, other: &Attrs) -> bool {
        self.list() == other.list()
    }
}

impl Attrs {
    fn list(&self) -> &[(Box<str>, Attr)] {
        self.0.as_ref().map_or(&[], |list| list.as_slice())
    }

    /// The place of a name, or that where it belongs.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.list().binary_search_by(|(own, _)| (**own).cmp(name))
    }

    /// These attributes, the last of each name.
    pub fn of(mut attrs: Vec<(Box<str>, Attr)>) -> Attrs {
        // Reversed, so that of equals the last comes first.
        attrs.reverse();
        attrs.sort_by(|(a, _), (b, _)| a.cmp(b));
        attrs.dedup_by(|(a, _), (b, _)| a == b);
        attrs.shrink_to_fit();
        Attrs((!attrs.is_empty()).then(|| Arc::new(attrs)))
    }

    /// Sets an attribute, replacing what was there.
    pub fn set(&mut self, name: impl AsRef<str>, value: Attr) {
        let (name, place) = (name.as_ref(), self.place(name.as_ref()));
        let list = Arc::make_mut(self.0.get_or_insert_default());
        match place {
            Ok(place) => list[place].1 = value,
            Err(place) => {
                // Most nodes have a handful, and room for more of each of a million counts.
                list.reserve_exact(1);
                list.insert(place, (name.into(), value));
            }
        }
    }

    /// The attribute of this name.
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.place(name).ok().map(|place| &self.list()[place].1)
    }

    /// Removes an attribute and returns it.
    pub fn remove(&mut self, name: &str) -> Option<Attr> {
        let place = self.place(name).ok()?;
        Some(Arc::make_mut(self.0.as_mut()?).remove(place).1)
    }

    /// An integer attribute; a boolean counts as 0 or 1.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            Attr::Int(v) => Some(*v),
            Attr::Bool(b) => Some(i64::from(*b)),
            _ => None,
        }
    }

    /// A boolean attribute; an integer counts as false when 0.
    pub fn bool(&self, name: &str) -> Option<bool> {
        self.int(name).map(|v| v != 0)
    }

    /// A floating-point attribute; an integer is converted.
    pub fn float(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Attr::Float(v) => Some(*v),
            Attr::Int(v) => Some(*v as f64),
            _ => None,
        }
    }

    /// A string attribute.
    pub fn str(&self, name: &str) -> Option<&str> {
        if let Attr::Str(s) = self.get(name)? { Some(s) } else { None }
    }

    /// A list of integers; a single integer counts as a list of one.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.get(name)? {
            Attr::Ints(v) => Some(v),
            Attr::Int(v) => Some(std::slice::from_ref(v)),
            _ => None,
        }
    }

    /// All attributes in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Attr)> {
        self.list().iter().map(|(name, value)| (&**name, value))
    }
}
