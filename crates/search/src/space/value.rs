//! Values of parameters, and the numbers that expressions compute with.

use serde::{Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;

/// A value that a parameter can take.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Real(f64),
    /// A text.
    Text(String),
    /// A truth value; 1 and 0 in arithmetic.
    Boolean(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => write!(f, "{value}"),
            // As `Debug` has it, a real number never looks like an integer.
            Value::Real(value) => write!(f, "{value:?}"),
            Value::Text(text) => f.write_str(text),
            Value::Boolean(value) => write!(f, "{value}"),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Integer(value) => serializer.serialize_i64(*value),
            Value::Real(value) => serializer.serialize_f64(*value),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Boolean(value) => serializer.serialize_bool(*value),
        }
    }
}

impl Value {
    /// The value as a number; `None` for a text.
    pub fn number(&self) -> Option<Number> {
        match *self {
            Value::Integer(value) => Some(Integer(value)),
            Value::Real(value) => Some(Real(value)),
            Value::Boolean(value) => Some(Number::from(value)),
            Value::Text(_) => None,
        }
    }

    /// Reads a value as a file of measurements has it: an integer, else a finite real number, else a text.
    pub fn parse(text: &str) -> Value {
        if let Ok(value) = text.parse() {
            return Value::Integer(value);
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Value::Real(value),
            _ => Value::Text(text.to_owned()),
        }
    }
}

/// What an expression is worth under some values of the parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A whole number, a truth value as 0 or 1, or the rank of a text among those of the space.
    Integer(i64),
    /// A finite number.
    Real(f64),
    /// No value: something was divided by zero, or a result is beyond 64 bits.
    Undefined,
}

use Number::{Integer, Real, Undefined};

impl From<bool> for Number {
    fn from(truth: bool) -> Number {
        Integer(i64::from(truth))
    }
}

impl From<Option<i64>> for Number {
    fn from(result: Option<i64>) -> Number {
        result.map_or(Undefined, Integer)
    }
}

impl From<f64> for Number {
    fn from(result: f64) -> Number {
        if result.is_finite() { Real(result) } else { Undefined }
    }
}

impl Number {
    /// Whether the number counts as true; `None` where it has no value.
    #[inline]
    pub fn truth(self) -> Option<bool> {
        match self {
            Integer(value) => Some(value != 0),
            Real(value) => Some(value != 0.0),
            Undefined => None,
        }
    }

    /// The nearest real number; `None` where it has no value.
    pub fn real(self) -> Option<f64> {
        match self {
            Integer(value) => Some(value as f64),
            Real(value) => Some(value),
            Undefined => None,
        }
    }

    fn reals(self, other: Number, apply: impl FnOnce(f64, f64) -> f64) -> Number {
        match (self.real(), other.real()) {
            (Some(a), Some(b)) => Number::from(apply(a, b)),
            _ => Undefined,
        }
    }

    /// Integers by `integers`, anything else by `reals`.
    #[inline]
    fn either(
        self,
        other: Number,
        integers: impl FnOnce(i64, i64) -> Option<i64>,
        reals: impl FnOnce(f64, f64) -> f64,
    ) -> Number {
        match (self, other) {
            (Integer(a), Integer(b)) => Number::from(integers(a, b)),
            _ => self.reals(other, reals),
        }
    }

    /// The sum.
    #[inline]
    pub fn add(self, other: Number) -> Number {
        self.either(other, i64::checked_add, |a, b| a + b)
    }

    /// The difference.
    #[inline]
    pub fn subtract(self, other: Number) -> Number {
        self.either(other, i64::checked_sub, |a, b| a - b)
    }

    /// The product.
    #[inline]
    pub fn multiply(self, other: Number) -> Number {
        self.either(other, i64::checked_mul, |a, b| a * b)
    }

    /// The quotient: an integer where it is one, else real.
    #[inline]
    pub fn divide(self, other: Number) -> Number {
        match (self, other) {
            (_, Integer(0)) => Undefined,
            (Integer(a), Integer(b)) if a.checked_rem(b) == Some(0) => Integer(a / b),
            _ => self.reals(other, |a, b| a / b),
        }
    }

    /// The quotient rounded down.
    #[inline]
    pub fn divide_down(self, other: Number) -> Number {
        let integers = |a: i64, b: i64| {
            let quotient = a.checked_div(b)?;
            Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
        };
        self.either(other, integers, |a, b| (a / b).floor())
    }

    /// What a quotient rounded down leaves: it has the divisor's sign.
    #[inline]
    pub fn remainder(self, other: Number) -> Number {
        let integers = |a: i64, b: i64| {
            let rest = a.checked_rem(b)?;
            Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        };
        let reals = |a: f64, b: f64| {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        };
        self.either(other, integers, reals)
    }

    /// The power: an integer for integers with an exponent of 0 or more, else real.
    pub fn power(self, other: Number) -> Number {
        match (self, other) {
            (Integer(a), Integer(b)) if b >= 0 => Number::from(integer_power(a, b)),
            _ => self.reals(other, f64::powf),
        }
    }

    /// The number with the other sign.
    #[inline]
    pub fn negate(self) -> Number {
        match self {
            Integer(value) => Number::from(value.checked_neg()),
            Real(value) => Real(-value),
            Undefined => Undefined,
        }
    }

    /// The number without its sign.
    pub fn magnitude(self) -> Number {
        match self {
            Integer(value) => Number::from(value.checked_abs()),
            Real(value) => Real(value.abs()),
            Undefined => Undefined,
        }
    }

    /// Which number is larger, exactly, also between integers and reals; `None` where one has no value.
    #[inline]
    pub fn compare(self, other: Number) -> Option<Ordering> {
        match (self, other) {
            (Integer(a), Integer(b)) => Some(a.cmp(&b)),
            (Real(a), Real(b)) => a.partial_cmp(&b),
            (Integer(a), Real(b)) => compare_mixed(a, b),
            (Real(a), Integer(b)) => compare_mixed(b, a).map(Ordering::reverse),
            _ => None,
        }
    }
}

fn integer_power(base: i64, exponent: i64) -> Option<i64> {
    match base {
        // These never grow, whatever the exponent.
        0 | 1 => Some(if exponent == 0 { 1 } else { base }),
        -1 => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        _ => base.checked_pow(u32::try_from(exponent).ok()?),
    }
}

/// An integer against a real number, without rounding the integer.
fn compare_mixed(a: i64, b: f64) -> Option<Ordering> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if b >= BEYOND {
        return Some(Ordering::Less);
    }
    if b < -BEYOND {
        return Some(Ordering::Greater);
    }
    let whole = b.trunc();
    Some(a.cmp(&(whole as i64)).then(0.0.partial_cmp(&(b - whole))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_divide_as_in_python() {
        for (a, b, down, rest) in [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, 3, 2, 0)] {
            assert_eq!(Integer(a).divide_down(Integer(b)), Integer(down), "{a} // {b}");
            assert_eq!(Integer(a).remainder(Integer(b)), Integer(rest), "{a} % {b}");
        }
        assert_eq!(Real(-7.5).remainder(Integer(2)), Real(0.5));
        assert_eq!(Integer(7).divide(Integer(2)), Real(3.5));
        assert_eq!(Integer(8).divide(Integer(2)), Integer(4));
    }

    #[test]
    fn what_has_no_value_is_undefined() {
        for number in [
            Integer(1).divide(Integer(0)),
            Integer(1).divide_down(Integer(0)),
            Integer(1).remainder(Integer(0)),
            Real(1.0).divide(Real(0.0)),
            Real(1.0).remainder(Real(0.0)),
            Integer(i64::MAX).add(Integer(1)),
            Integer(i64::MIN).negate(),
            Integer(i64::MIN).magnitude(),
            Integer(i64::MIN).divide_down(Integer(-1)),
            Integer(i64::MIN).remainder(Integer(-1)),
            Integer(10).power(Integer(40)),
            Integer(0).power(Integer(-1)),
            Integer(-8).power(Real(0.5)),
            Real(1e300).multiply(Real(1e300)),
            Undefined.add(Integer(1)),
        ] {
            assert_eq!(number, Undefined);
        }
        assert_eq!(Integer(2).power(Integer(-1)), Real(0.5));
        assert_eq!(Integer(-1).power(Integer(i64::MAX)), Integer(-1));
        assert_eq!(Integer(0).power(Integer(0)), Integer(1));
        assert_eq!(Integer(i64::MIN).divide(Integer(-1)), Real(9.223_372_036_854_776e18));
    }

    #[test]
    fn integers_and_reals_compare_exactly() {
        let large = (1_i64 << 53) + 1;
        assert_eq!(Integer(large).compare(Real(9_007_199_254_740_992.0)), Some(Ordering::Greater));
        assert_eq!(Real(9_007_199_254_740_992.0).compare(Integer(large)), Some(Ordering::Less));
        assert_eq!(Integer(i64::MAX).compare(Real(9.3e18)), Some(Ordering::Less));
        assert_eq!(Integer(i64::MIN).compare(Real(-9.3e18)), Some(Ordering::Greater));
        assert_eq!(Integer(-2).compare(Real(-2.5)), Some(Ordering::Greater));
        assert_eq!(Integer(2).compare(Real(2.0)), Some(Ordering::Equal));
        assert_eq!(Integer(2).compare(Undefined), None);
    }

    #[test]
    fn a_value_is_read_as_the_narrowest_kind() {
        assert_eq!(Value::parse("-16"), Value::Integer(-16));
        assert_eq!(Value::parse("0.5"), Value::Real(0.5));
        assert_eq!(Value::parse("nan"), Value::Text("nan".into()));
        assert_eq!(Value::parse("row_major"), Value::Text("row_major".into()));
        assert_eq!(Value::Real(2.0).to_string(), "2.0");
    }
}
