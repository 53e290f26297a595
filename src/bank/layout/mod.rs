//! The key structures of CANN's runtime bank: which fields of an `info_dict` identify a record, and how
//! they lie in the bytes that CANN hashes and compares.
//!
//! CANN packs each structure little-endian and without padding. [`Layout::of`] knows the operators whose
//! structure is known; a file of any other operator can be kept but not looked up in.

mod table;

#[cfg(test)]
mod tests;

use super::json;
use super::key::{Key, Unusable};
use serde_json::{Map, Number, Value};

/// Type of one key field, in C's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    /// `int64_t`
    I64,
    /// `uint64_t`
    U64,
    /// `int32_t`
    I32,
    /// `uint32_t`
    U32,
    /// `float`
    F32,
    /// `bool`, one byte that holds 0 or 1
    Bool,
}

impl FieldType {
    /// Bytes in the packed key.
    pub const fn bytes(self) -> usize {
        match self {
            FieldType::I64 | FieldType::U64 => 8,
            FieldType::I32 | FieldType::U32 | FieldType::F32 => 4,
            FieldType::Bool => 1,
        }
    }
}

/// One field of a key structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name in `info_dict`.
    pub name: &'static str,
    /// Its type.
    pub kind: FieldType,
    /// Where it begins in the packed key, in bytes.
    pub offset: usize,
}

impl Field {
    /// Writes a value to its place in a key of the field's layout; `None` for a value of another type or out
    /// of range. As for CANN's parser a whole number may be written with a point, and `true` is 1 where a
    /// field of 4 bytes is asked for.
    pub fn write(&self, value: &Value, key: &mut [u8]) -> Option<()> {
        let place = key.get_mut(self.offset..self.offset + self.kind.bytes())?;
        let signed = || json::integer(value).or_else(|| value.as_bool().map(i64::from));
        match self.kind {
            FieldType::I64 => place.copy_from_slice(&json::integer(value)?.to_le_bytes()),
            FieldType::U64 => {
                let number = value.as_u64().or_else(|| u64::try_from(json::integer(value)?).ok())?;
                place.copy_from_slice(&number.to_le_bytes());
            }
            FieldType::I32 => place.copy_from_slice(&i32::try_from(signed()?).ok()?.to_le_bytes()),
            FieldType::U32 => place.copy_from_slice(&u32::try_from(signed()?).ok()?.to_le_bytes()),
            FieldType::F32 => {
                let number = value.as_f64().or_else(|| value.as_bool().map(|b| f64::from(u8::from(b))))? as f32;
                place.copy_from_slice(&Some(number).filter(|n| n.is_finite())?.to_le_bytes());
            }
            FieldType::Bool => place.fill(u8::from(value.as_bool()?)),
        }
        Some(())
    }

    /// Reads the value in its place; `None` for a key that is too short, and for bytes that JSON cannot say:
    /// a float that is none, a bool other than 0 and 1.
    pub fn read(&self, key: &[u8]) -> Option<Value> {
        let place = key.get(self.offset..self.offset + self.kind.bytes())?;
        Some(match self.kind {
            FieldType::I64 => i64::from_le_bytes(place.try_into().ok()?).into(),
            FieldType::U64 => u64::from_le_bytes(place.try_into().ok()?).into(),
            FieldType::I32 => i32::from_le_bytes(place.try_into().ok()?).into(),
            FieldType::U32 => u32::from_le_bytes(place.try_into().ok()?).into(),
            FieldType::F32 => Number::from_f64(f32::from_le_bytes(place.try_into().ok()?).into())?.into(),
            FieldType::Bool => match place {
                [0] => false.into(),
                [1] => true.into(),
                _ => return None,
            },
        })
    }
}

/// The key structure of one operator type.
///
/// There is one for each operator type, so the type alone tells two apart.
#[derive(Debug)]
pub struct Layout {
    op_type: &'static str,
    fields: &'static [Field],
}

impl PartialEq for Layout {
    fn eq(&self, other: &Layout) -> bool {
        self.op_type == other.op_type
    }
}

impl Eq for Layout {}

impl std::hash::Hash for Layout {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.op_type.hash(state);
    }
}

impl Layout {
    /// The layout of an operator type's records; `None` where it is not known.
    pub fn of(op_type: &str) -> Option<&'static Layout> {
        table::LAYOUTS.iter().find(|layout| layout.op_type == op_type)
    }

    /// Every layout that is known.
    pub fn all() -> &'static [Layout] {
        table::LAYOUTS
    }

    /// The operator type, as in the bank file's name and in `op`.
    pub const fn op_type(&self) -> &'static str {
        self.op_type
    }

    /// The fields in the order of their bytes. There are never more than 64.
    pub const fn fields(&self) -> &'static [Field] {
        self.fields
    }

    /// Bytes of a packed key.
    pub fn bytes(&self) -> usize {
        self.fields.last().map_or(0, |last| last.offset + last.kind.bytes())
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Packs an `info_dict`. Fields that the structure does not have are ignored, as CANN does.
    ///
    /// # Errors
    ///
    /// [`Unusable::Foreign`] where a field is missing: CANN does not use such a record either, and it is
    /// kept. [`Unusable::Damaged`] where one has another type or does not fit.
    pub fn pack(&self, info: &Map<String, Value>) -> Result<Key, Unusable> {
        let mut key = vec![0; self.bytes()];
        for field in self.fields {
            let name = field.name;
            let value = info.get(name).ok_or_else(|| Unusable::Foreign(format!("info_dict: `{name}` is missing")))?;
            field
                .write(value, &mut key)
                .ok_or_else(|| Unusable::Damaged(format!("info_dict: `{name}` cannot be {value}")))?;
        }
        Ok(Key::new(key))
    }

    /// The `info_dict` behind packed bytes: [`Layout::pack`] of it gives the same bytes.
    ///
    /// # Errors
    ///
    /// [`Unusable::Damaged`] for bytes of another length and for those that JSON cannot say, see
    /// [`Field::read`].
    #[cfg(test)]
    pub fn unpack(&self, key: &[u8]) -> Result<Map<String, Value>, Unusable> {
        if key.len() != self.bytes() {
            return Err(Unusable::Damaged(format!(
                "a key of {} has {} bytes, not {}",
                self.op_type,
                self.bytes(),
                key.len()
            )));
        }
        let unreadable =
            |field: &Field| Unusable::Damaged(format!("packed key: bytes of `{}` are no value", field.name));
        let value = |field: &Field| Ok((field.name.to_owned(), field.read(key).ok_or_else(|| unreadable(field))?));
        self.fields.iter().map(value).collect()
    }

    /// A packed key with these fields emptied, for telling which records differ in nothing else; `None` for
    /// bytes of another length or a name that the structure does not have.
    pub fn without<'n>(&self, key: &[u8], names: impl IntoIterator<Item = &'n str>) -> Option<Vec<u8>> {
        let mut rest = (key.len() == self.bytes()).then(|| key.to_vec())?;
        for name in names {
            let field = self.field(name)?;
            rest.get_mut(field.offset..field.offset + field.kind.bytes())?.fill(0);
        }
        Some(rest)
    }
}
