//! `AttrDef` to [`Attr`] and back.

use super::proto::{self, Value, decode, encode, kind};
use crate::graph::{Attr, Attrs, DataType};
use crate::status::Result;
use prost::bytes::Bytes;

/// Reads a map of attributes; `place` says whose they are.
pub fn read_all(entries: &[Bytes], place: &dyn Fn() -> String) -> Result<Attrs> {
    let mut attrs = Vec::with_capacity(entries.len());
    for bytes in entries {
        let entry: proto::Entry = decode(bytes.clone(), || format!("{}, an attribute", place()))?;
        let value = read(entry.value, &|| format!("{}, attribute `{}`", place(), entry.key))?;
        attrs.push((entry.key.into_boxed_str(), value));
    }
    Ok(Attrs::of(attrs))
}

/// Reads one attribute. What tuning has no use for stays [`Attr::Opaque`].
pub fn read(bytes: Bytes, place: &dyn Fn() -> String) -> Result<Attr> {
    let value: Value = decode(bytes.clone(), place)?;
    let known = match value {
        Value { list: Some(list), .. } => read_list(list, place)?,
        Value { list_list_int: Some(lists), .. } => Some(read_int_lists(lists, place)?),
        Value { s: Some(s), .. } => String::from_utf8(s.into()).ok().map(Attr::Str),
        Value { i: Some(i), .. } => Some(Attr::Int(i)),
        Value { f: Some(f), .. } => Some(Attr::Float(f64::from(f))),
        Value { b: Some(b), .. } => Some(Attr::Bool(b)),
        Value { dt: Some(number), .. } => i32::try_from(number).ok().and_then(DataType::from_ge).map(Attr::Type),
        _ => None,
    };
    Ok(known.unwrap_or(Attr::Opaque(bytes)))
}

/// A list of numbers or texts; `None` for one of anything else.
fn read_list(bytes: Bytes, place: &dyn Fn() -> String) -> Result<Option<Attr>> {
    let list: proto::ListValue = decode(bytes, place)?;
    let filled = || match &list {
        l if !l.s.is_empty() => kind::STRING,
        l if !l.f.is_empty() => kind::FLOAT,
        l if !l.b.is_empty() => kind::BOOL,
        l if [&l.bt, &l.td, &l.t, &l.g, &l.na].iter().any(|f| !f.is_empty()) || !l.dt.is_empty() => -1,
        // Where nothing at all is said, a list of numbers is what reads the same in most places.
        _ => kind::INT,
    };
    let which = if list.val_type == kind::NONE { filled() } else { list.val_type };
    Ok(match which {
        kind::INT => Some(Attr::Ints(list.i)),
        kind::FLOAT => Some(Attr::Floats(list.f.into_iter().map(f64::from).collect())),
        kind::BOOL => Some(Attr::Bools(list.b)),
        kind::STRING => {
            let texts = list.s.into_iter().map(|s| String::from_utf8(s.into()));
            texts.collect::<std::result::Result<_, _>>().ok().map(Attr::Strs)
        }
        _ => None,
    })
}

fn read_int_lists(bytes: Bytes, place: &dyn Fn() -> String) -> Result<Attr> {
    let lists: proto::ListListInt = decode(bytes, place)?;
    let lists = lists.lists.into_iter().map(|list| Ok(decode::<proto::ListInt>(list, place)?.values));
    lists.collect::<Result<_>>().map(Attr::IntLists)
}

/// The entries of a map, in the order of their names.
pub fn write_all<'a>(attrs: impl IntoIterator<Item = (&'a str, &'a Attr)>) -> Vec<Bytes> {
    attrs.into_iter().map(|(name, value)| entry(name, write(value))).collect()
}

/// One entry of a map.
pub fn entry(name: &str, value: Bytes) -> Bytes {
    encode(&proto::Entry { key: name.to_owned(), value })
}

/// The `AttrDef` of an attribute. GE's numbers have 32 bits.
pub fn write(attr: &Attr) -> Bytes {
    let text = |s: &String| Bytes::copy_from_slice(s.as_bytes());
    let list = |list| Value { list: Some(encode(&list)), ..Value::default() };
    let of = |val_type| proto::ListValue { val_type, ..proto::ListValue::default() };
    let value = match attr {
        Attr::Opaque(bytes) => return bytes.clone(),
        Attr::Int(i) => Value { i: Some(*i), ..Value::default() },
        Attr::Float(f) => Value { f: Some(*f as f32), ..Value::default() },
        Attr::Bool(b) => Value { b: Some(*b), ..Value::default() },
        Attr::Str(s) => Value { s: Some(text(s)), ..Value::default() },
        Attr::Type(t) => Value { dt: Some(i64::from(t.ge_number())), ..Value::default() },
        Attr::Ints(v) => list(proto::ListValue { i: v.clone(), ..of(kind::INT) }),
        Attr::Floats(v) => list(proto::ListValue { f: v.iter().map(|&f| f as f32).collect(), ..of(kind::FLOAT) }),
        Attr::Bools(v) => list(proto::ListValue { b: v.clone(), ..of(kind::BOOL) }),
        Attr::Strs(v) => list(proto::ListValue { s: v.iter().map(text).collect(), ..of(kind::STRING) }),
        Attr::IntLists(v) => {
            let lists = v.iter().map(|values| encode(&proto::ListInt { values: values.clone() })).collect();
            Value { list_list_int: Some(encode(&proto::ListListInt { lists })), ..Value::default() }
        }
    };
    encode(&value)
}
