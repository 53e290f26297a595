//! What the tilings of CANN's operators have in common: their fields as they stand in a record, and the
//! part of them that a canonical schedule does not express.

use crate::workload::LoopOrder;
use aoe_base::status::{Error, Result};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The fields of a record that a schedule does not express, by CANN's names.
pub type Unmodelled = BTreeMap<String, u64>;

/// Declares the tiling structure of an operator once: its fields, their names in a record, and what CANN
/// takes where one is missing if not 0.
macro_rules! tiling {
    ($op:expr; $($field:ident $name:literal $(= $default:literal)?),* $(,)?) => {
        /// The tiling of a record, in CANN's terms.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the fields are CANN's")]
        pub struct Tiling { $(pub $field: u32,)* }

        impl Default for Tiling {
            /// Every field as CANN takes it where it is missing.
            fn default() -> Tiling {
                Tiling { $($field: [$($default,)? 0][0],)* }
            }
        }

        impl Tiling {
            /// Names of the fields in a record.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];

            /// Reads a `knowledge` object. As in CANN, a missing field keeps its default and an unknown one
            /// is ignored.
            pub fn from_knowledge(
                knowledge: &serde_json::Map<String, serde_json::Value>,
            ) -> std::result::Result<Self, String> {
                let mut tiling = Tiling::default();
                $($crate::tiling::fields::read(knowledge, $name, &mut tiling.$field)?;)*
                Ok(tiling)
            }

            /// The tiling with these values, in the order of [`Tiling::NAMES`].
            pub const fn from_values(values: [u32; Self::NAMES.len()]) -> Self {
                let [$($field),*] = values;
                Tiling { $($field),* }
            }

            /// The values, in the order of [`Tiling::NAMES`].
            pub const fn values(&self) -> [u32; Self::NAMES.len()] {
                [$(self.$field),*]
            }

            /// The tiling as `knowledge`.
            pub fn to_knowledge(self) -> serde_json::Map<String, serde_json::Value> {
                [$(($name.to_owned(), serde_json::Value::from(self.$field)),)*].into_iter().collect()
            }

            /// The fields that are not as in `other`.
            fn beyond(&self, other: &Tiling) -> $crate::tiling::fields::Unmodelled {
                let fields = [$(($name, self.$field, other.$field),)*];
                fields.into_iter().filter(|f| f.1 != f.2).map(|f| (f.0.to_owned(), f.1.into())).collect()
            }

            /// The tiling with these fields in place of its own. Fails with
            /// [`Error::IllegalSchedule`](aoe_base::status::Error::IllegalSchedule) for one that it does not have.
            fn with(mut self, fields: &$crate::tiling::fields::Unmodelled) -> aoe_base::status::Result<Tiling> {
                for (name, &value) in fields {
                    let field = match name.as_str() {
                        $($name => &mut self.$field,)*
                        _ => return Err($crate::tiling::fields::inexpressible($op, format!("it has no `{name}`"))),
                    };
                    *field = $crate::tiling::fields::narrow($op, name, value)?;
                }
                Ok(self)
            }
        }
    };
}
pub(in crate::tiling) use tiling;

/// Reads one field where it is there.
pub fn read(knowledge: &Map<String, Value>, name: &str, field: &mut u32) -> Result<(), String> {
    if let Some(value) = knowledge.get(name) {
        let number = integer(value).and_then(|v| u32::try_from(v).ok());
        *field = number.ok_or_else(|| format!("knowledge: `{name}` cannot be {value}"))?;
    }
    Ok(())
}

/// A whole number, however JSON writes it.
pub fn integer(value: &Value) -> Option<i64> {
    let whole = |f: &f64| f.fract() == 0.0 && f.abs() < 9e15;
    value.as_i64().or_else(|| value.as_f64().filter(whole).map(|f| f as i64))
}

/// The error for what a record of this operator does not say.
pub fn inexpressible(op_type: &str, rule: impl std::fmt::Display) -> Error {
    Error::IllegalSchedule { rule: format!("{op_type} bank record: {rule}") }
}

/// A number as a field holds it.
pub fn narrow(op_type: &str, name: &str, value: u64) -> Result<u32> {
    u32::try_from(value).map_err(|_| inexpressible(op_type, format!("{name} = {value} exceeds 32 bits")))
}

/// The number of a loop order in a record.
pub const fn order_number(order: LoopOrder) -> u32 {
    match order {
        LoopOrder::MFirst => 0,
        LoopOrder::NFirst => 1,
    }
}

/// The loop order of a number.
pub fn order(op_type: &str, name: &str, number: u32) -> Result<LoopOrder> {
    match number {
        0 => Ok(LoopOrder::MFirst),
        1 => Ok(LoopOrder::NFirst),
        _ => Err(inexpressible(op_type, format!("{name} = {number} is neither 0 nor 1"))),
    }
}

/// The buffers of a number.
pub fn buffer_count(op_type: &str, name: &str, number: u32) -> Result<u8> {
    u8::try_from(number).map_err(|_| inexpressible(op_type, format!("{name} = {number} buffers")))
}
