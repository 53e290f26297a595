//! Typed reading of an `info_dict`; each error names the field.

use crate::bank::json;
use crate::graph::{DataType, Format};
use crate::workload::Operand;
use serde_json::{Map, Value};

/// The fields of an object.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub &'a Map<String, Value>);

impl<'a> Fields<'a> {
    pub fn value(self, name: &str) -> Result<&'a Value, String> {
        json::field(self.0, name)
    }

    /// What a field's value becomes; an error where it becomes nothing.
    fn read<T>(self, name: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T, String> {
        let value = self.value(name)?;
        read(value).ok_or_else(|| format!("`{name}` cannot be {}", json::cut(&value.to_string())))
    }

    /// A size or count.
    pub fn size(self, name: &str) -> Result<u64, String> {
        self.read(name, size)
    }

    /// A size that cannot be 0.
    pub fn extent(self, name: &str) -> Result<u64, String> {
        self.read(name, |value| size(value).filter(|&size| size > 0))
    }

    /// A pad, which may be negative in CANN's keys and is none then.
    pub fn pad(self, name: &str) -> Result<u64, String> {
        self.read(name, |value| json::integer(value).map(|pad| u64::try_from(pad).unwrap_or(0)))
    }

    /// A truth value, or the number 0 or 1.
    pub fn flag(self, name: &str) -> Result<bool, String> {
        self.read(name, |value| value.as_bool().or_else(|| json::integer(value).map(|number| number != 0)))
    }

    pub fn text(self, name: &str) -> Result<&'a str, String> {
        self.read(name, Value::as_str)
    }

    pub fn list<const N: usize>(self, name: &str) -> Result<[u64; N], String> {
        self.read(name, |value| value.as_array()?.iter().map(size).collect::<Option<Vec<_>>>()?.try_into().ok())
    }

    /// A type by name.
    pub fn dtype(self, name: &str) -> Result<DataType, String> {
        self.read(name, |value| DataType::from_name(value.as_str()?))
    }

    /// A type by its number in `ge::DataType`.
    pub fn ge_dtype(self, name: &str) -> Result<DataType, String> {
        self.read(name, |value| DataType::from_ge(i32::try_from(json::integer(value)?).ok()?))
    }

    /// A format by name.
    pub fn format(self, name: &str) -> Result<Format, String> {
        self.read(name, |value| Format::from_name(value.as_str()?))
    }

    /// A format by its number in `ge::Format`.
    pub fn ge_format(self, name: &str) -> Result<Format, String> {
        self.read(name, |value| Format::from_ge(i32::try_from(json::integer(value)?).ok()?))
    }

    /// Operands, each `[shape, type, format]`.
    pub fn operands(self, name: &str) -> Result<Vec<Operand>, String> {
        self.read(name, |value| value.as_array()?.iter().map(operand).collect())
    }

    /// Objects.
    pub fn objects(self, name: &str) -> Result<Vec<&'a Map<String, Value>>, String> {
        self.read(name, |value| value.as_array()?.iter().map(Value::as_object).collect())
    }
}

fn size(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| json::integer(value).and_then(|number| u64::try_from(number).ok()))
}

fn operand(value: &Value) -> Option<Operand> {
    let [shape, dtype, format] = value.as_array()?.as_slice() else { return None };
    Some(Operand {
        shape: shape.as_array()?.iter().map(size).collect::<Option<_>>()?,
        dtype: DataType::from_name(dtype.as_str()?)?,
        format: Format::from_name(format.as_str()?)?,
    })
}
