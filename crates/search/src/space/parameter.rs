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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_equal_within_their_kind_and_however_a_number_is_written() {
        let values = [
            Value::Integer(1),
            Value::Integer(0),
            Value::Real(0.5),
            Value::Real(-0.5),
            Value::Text("1".into()),
            Value::Text("row".into()),
            Value::Boolean(true),
            Value::Boolean(false),
            Value::Real(1e300),
        ];
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                assert_eq!(a.equals(b), i == j, "{a:?} {b:?}");
            }
        }
        assert!(Value::Real(1.0).equals(&values[0]) && values[1].equals(&Value::Real(-0.0)));
        // The nearest real number to a large integer is another one.
        assert!(!Value::Integer((1 << 53) + 1).equals(&Value::Real(9_007_199_254_740_992.0)));
        assert!(!Value::Integer(i64::MAX).equals(&Value::Real(9_223_372_036_854_775_808.0)));
    }

    #[test]
    fn a_parameter_has_a_name_and_values_of_one_kind_each_once() {
        let integers = |count: usize| (0..count as i64).map(Value::Integer).collect::<Vec<_>>();
        let name = |name: &str| Parameter::new(name, integers(2)).map(|_| ()).map_err(|e| e.to_string());
        assert_eq!(name(&"n".repeat(MAX_NAME_BYTES)), Ok(()));
        for (wrong, reason) in
            [("", "empty"), (&*"n".repeat(MAX_NAME_BYTES + 1), "257 bytes"), ("a=b", "`=`"), ("a\n", "control")]
        {
            let error = name(wrong).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        let values = |values: Vec<Value>| Parameter::new("p", values).map(|_| ()).map_err(|e| e.to_string());
        assert_eq!(values(integers(MAX_VALUES)), Ok(()));
        let text = || Value::Text("1".into());
        for (wrong, reason) in [
            (vec![], "no values"),
            (integers(MAX_VALUES + 1), "more than 1048576"),
            (vec![Value::Integer(1), Value::Real(1.0)], "values[1], the number 1.0, repeats values[0]"),
            (vec![Value::Integer(1), text()], "values[1] is the text \"1\" and values[0] is the number 1"),
            (vec![Value::Boolean(true), Value::Integer(0)], "values[0] is the truth value true"),
            (vec![Value::Real(f64::INFINITY)], "values[0] is not a finite number"),
        ] {
            let error = values(wrong).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn numbers_are_kept_ascending_and_their_places_are_known() {
        let given = vec![Value::Integer(3), Value::Real(0.5), Value::Integer(-1)];
        let parameter = Parameter::new("p", given.clone()).unwrap();
        assert_eq!(parameter.values(), [Value::Integer(-1), Value::Real(0.5), Value::Integer(3)]);
        assert_eq!([0, 1, 2].map(|index| parameter.given_index(index)), [2, 1, 0]);
        assert_eq!(parameter.indices_of_given(), [2, 1, 0]);
        let found: Vec<_> = given.iter().map(|value| parameter.index_of(value)).collect();
        assert_eq!(found, [Some(2), Some(1), Some(0)]);
        assert_eq!(parameter.index_of(&Value::Integer(2)), None);
        let texts = Parameter::new("p", vec![Value::Text("b".into()), Value::Text("a".into())]).unwrap();
        assert_eq!((texts.indices_of_given(), texts.kind()), (vec![0, 1], ValueKind::Texts));
    }

    #[test]
    fn a_space_has_parameters_of_different_names_and_not_too_many() {
        let of = |count: usize| {
            let one = |i: usize| Parameter::new(format!("p{i}"), vec![Value::Integer(0)]).unwrap();
            (0..count).map(one).collect::<Vec<_>>()
        };
        assert!(check_all(&of(MAX_PARAMETERS)).is_ok());
        assert!(check_all(&of(MAX_PARAMETERS + 1)).unwrap_err().to_string().contains("4097 are too many"));
        assert!(check_all(&[]).is_err());
        let twice = [of(2), of(1)].concat();
        let error = check_all(&twice).unwrap_err().to_string();
        assert!(error.contains("parameters[0] and parameters[2]"), "{error}");
    }
}
