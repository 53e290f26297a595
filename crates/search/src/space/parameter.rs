//! Named parameters with their values.

use super::value::{Number, Value};
use aoe_base::status::{Error, Result};
use rustc_hash::FxHashMap;

/// Parameters that one space can have; more than any kernel has, few enough to work with.
pub const MAX_PARAMETERS: usize = 4096;
/// Values that one parameter can have.
pub const MAX_VALUES: usize = 1 << 20;
/// Bytes of a parameter's name.
pub const MAX_NAME_BYTES: usize = 256;

/// One thing that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    name: String,
    values: Vec<Value>,
    /// Where each value stood in the list that was given.
    given: Vec<u32>,
}

/// What the values of a parameter are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// Integers or reals.
    Numbers,
    /// Truth values.
    Booleans,
    /// Texts.
    Texts,
}

impl Parameter {
    /// A parameter. Numbers may be given in any order and are kept ascending; texts and truth values keep the
    /// order given.
    ///
    /// Fails with [`Error::Space`] for a name that is empty, too long or holds control characters, and for
    /// values that are none, too many, equal, not finite, or of kinds that do not mix.
    pub fn new(name: impl Into<String>, values: Vec<Value>) -> Result<Parameter> {
        let mut parameter = Parameter { name: name.into(), given: (0..values.len() as u32).collect(), values };
        parameter.check_name()?;
        parameter.check_values().map_err(|reason| Error::space(parameter.place(), reason))?;
        if parameter.kind() == ValueKind::Numbers {
            parameter.sort();
        }
        Ok(parameter)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its values; a configuration holds indices into this list.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// What its values are.
    pub fn kind(&self) -> ValueKind {
        kind(&self.values[0])
    }

    /// The value's index; an integer finds the real number that equals it and the other way round.
    pub fn index_of(&self, value: &Value) -> Option<u32> {
        self.values.iter().position(|own| own.equals(value)).map(|index| index as u32)
    }

    /// Where the value of an index stood in the list that was given.
    pub fn given_index(&self, index: u32) -> u32 {
        self.given[index as usize]
    }

    /// The index of the value at each place of the list that was given.
    pub fn indices_of_given(&self) -> Vec<u32> {
        let mut indices = vec![0; self.given.len()];
        for (index, &given) in (0..).zip(&self.given) {
            indices[given as usize] = index;
        }
        indices
    }

    fn sort(&mut self) {
        let number = |value: &Value| value.number().unwrap_or(Number::Undefined);
        let values = std::mem::take(&mut self.values);
        let mut pairs: Vec<(Value, u32)> = values.into_iter().zip(0..).collect();
        // Numbers always compare: they are finite.
        pairs.sort_by(|(a, _), (b, _)| number(a).compare(number(b)).unwrap_or(std::cmp::Ordering::Equal));
        (self.values, self.given) = pairs.into_iter().unzip();
    }

    fn place(&self) -> String {
        format!("parameter `{}`", self.name)
    }

    fn check_name(&self) -> Result<()> {
        let reason = if self.name.is_empty() {
            "the name is empty".to_owned()
        } else if self.name.len() > MAX_NAME_BYTES {
            format!("the name has {} bytes, more than {MAX_NAME_BYTES}", self.name.len())
        } else if self.name.contains(char::is_control) || self.name.contains('=') {
            "a name can hold neither control characters nor `=`".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::space(format!("parameter {:?}", self.name), reason))
    }

    fn check_values(&self) -> Result<(), String> {
        let first = self.values.first().ok_or("it has no values; give at least one")?;
        if self.values.len() > MAX_VALUES {
            return Err(format!("it has {} values, more than {MAX_VALUES}", self.values.len()));
        }
        let mut seen: FxHashMap<Key, usize> = FxHashMap::default();
        for (i, value) in self.values.iter().enumerate() {
            if kind(value) != kind(first) {
                return Err(format!(
                    "values[{i}] is {} and values[0] is {}; values of one parameter are all numbers, all texts or all \
                     truth values",
                    described(value),
                    described(first)
                ));
            }
            if matches!(value, Value::Real(real) if !real.is_finite()) {
                return Err(format!("values[{i}] is not a finite number"));
            }
            if let Some(earlier) = seen.insert(key(value), i) {
                return Err(format!("values[{i}], {}, repeats values[{earlier}]", described(value)));
            }
        }
        Ok(())
    }
}

/// Checks that names are different and not too many.
///
/// Fails with [`Error::Space`], which names the parameters at fault.
pub(super) fn check_all(parameters: &[Parameter]) -> Result<()> {
    if parameters.is_empty() {
        return Err(Error::space("parameters", "there are none; give at least one"));
    }
    if parameters.len() > MAX_PARAMETERS {
        let reason = format!("{} are too many; a space can have {MAX_PARAMETERS}", parameters.len());
        return Err(Error::space("parameters", reason));
    }
    let mut seen: FxHashMap<&str, usize> = FxHashMap::default();
    for (i, parameter) in parameters.iter().enumerate() {
        if let Some(earlier) = seen.insert(parameter.name(), i) {
            let reason = format!("parameters[{earlier}] and parameters[{i}] have the same name");
            return Err(Error::space(parameter.place(), reason));
        }
    }
    Ok(())
}

fn kind(value: &Value) -> ValueKind {
    match value {
        Value::Integer(_) | Value::Real(_) => ValueKind::Numbers,
        Value::Boolean(_) => ValueKind::Booleans,
        Value::Text(_) => ValueKind::Texts,
    }
}

fn described(value: &Value) -> String {
    match value {
        Value::Integer(_) | Value::Real(_) => format!("the number {value}"),
        Value::Boolean(_) => format!("the truth value {value}"),
        Value::Text(text) => format!("the text {text:?}"),
    }
}

impl Value {
    /// Whether two values are the same; an integer may equal a real number.
    pub fn equals(&self, other: &Value) -> bool {
        key(self) == key(other)
    }
}

/// What two equal values share.
#[derive(PartialEq, Eq, Hash)]
pub enum Key<'a> {
    /// A whole number, however it is written.
    Integer(i64),
    /// The bits of any other.
    Real(u64),
    /// A text.
    Text(&'a str),
    /// A truth value.
    Boolean(bool),
}

/// What a value shares with its equals.
pub fn key(value: &Value) -> Key<'_> {
    match value {
        Value::Integer(value) => Key::Integer(*value),
        Value::Real(real) => {
            let whole = *real as i64;
            if Number::Integer(whole).compare(Number::Real(*real)) == Some(std::cmp::Ordering::Equal) {
                Key::Integer(whole)
            } else {
                Key::Real(real.to_bits())
            }
        }
        Value::Text(text) => Key::Text(text),
        Value::Boolean(value) => Key::Boolean(*value),
    }
}
