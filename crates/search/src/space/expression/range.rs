//! What an expression can be worth while some parameters are open: every value it can have lies between two
//! bounds. The bounds may be too wide, never too narrow.

use super::super::value::Number;
use super::{Binary, Unary};

/// Numbers between two bounds, or none at all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    low: f64,
    high: f64,
}

/// Integers of this size and more have neighbours that are no `f64`.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Range {
    /// No number: the expression has no value whatever the open parameters are.
    pub const NONE: Range = Range { low: f64::INFINITY, high: f64::NEG_INFINITY };
    /// Any number.
    pub const ALL: Range = Range { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// The range of one number.
    #[inline]
    pub fn point(number: Number) -> Range {
        number.real().map_or(Range::NONE, |value| Range::rounded(value, value))
    }

    /// The smallest range that holds both.
    pub fn hull(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Whether some number in the range counts as true.
    #[inline]
    pub fn may_hold(self) -> bool {
        !(self.is_none() || self.low == 0.0 && self.high == 0.0)
    }

    fn may_fail(self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }

    fn is_none(self) -> bool {
        self.low > self.high
    }

    /// Whether nothing but this one number is in the range.
    #[expect(clippy::float_cmp, reason = "bounds that are the same number are what is meant")]
    fn is(self, number: f64) -> bool {
        self.low == number && self.high == number
    }

    /// Bounds that were computed in `f64` for numbers that may be large integers.
    #[inline]
    fn rounded(low: f64, high: f64) -> Range {
        let low = if low.abs() < EXACT { low } else { low.next_down() };
        let high = if high.abs() < EXACT { high } else { high.next_up() };
        if low.is_nan() || high.is_nan() { Range::ALL } else { Range { low, high } }
    }

    #[inline]
    fn of(values: [f64; 4]) -> Range {
        // An indefinite corner (infinity times zero) says nothing.
        if values.iter().any(|v| v.is_nan()) {
            return Range::ALL;
        }
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        Range::rounded(low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }

    fn truths(may_hold: bool, may_fail: bool) -> Range {
        match (may_hold, may_fail) {
            (true, true) => Range { low: 0.0, high: 1.0 },
            (true, false) => Range { low: 1.0, high: 1.0 },
            (false, true) => Range { low: 0.0, high: 0.0 },
            (false, false) => Range::NONE,
        }
    }

    /// The range of an operation's results.
    pub fn unary(unary: Unary, a: Range) -> Range {
        if a.is_none() {
            return Range::NONE;
        }
        match unary {
            Unary::Negate => Range { low: -a.high, high: -a.low },
            Unary::Magnitude if a.low >= 0.0 => a,
            Unary::Magnitude if a.high <= 0.0 => Range { low: -a.high, high: -a.low },
            Unary::Magnitude => Range { low: 0.0, high: a.high.max(-a.low) },
            Unary::Not => Range::truths(a.may_fail(), a.may_hold()),
        }
    }

    /// The range of an operation's results.
    #[inline]
    pub fn binary(binary: Binary, a: Range, b: Range) -> Range {
        match binary {
            // The right side of these counts only where the left one leaves the answer open.
            Binary::And => {
                return Range::truths(
                    a.may_hold() && b.may_hold(),
                    !a.is_none() && a.may_fail() || a.may_hold() && b.may_fail(),
                );
            }
            Binary::Or => {
                return Range::truths(
                    a.may_hold() || !a.is_none() && a.may_fail() && b.may_hold(),
                    a.may_fail() && b.may_fail(),
                );
            }
            _ if a.is_none() || b.is_none() => return Range::NONE,
            _ => {}
        }
        match binary {
            Binary::Add => Range::rounded(a.low + b.low, a.high + b.high),
            Binary::Subtract => Range::rounded(a.low - b.high, a.high - b.low),
            Binary::Multiply => Range::of([a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]),
            Binary::Divide => a.quotient(b),
            Binary::DivideDown => {
                let quotient = a.quotient(b);
                // A quotient of large numbers may have been rounded across an integer.
                let exact = [a.low, a.high, b.low, b.high].iter().all(|bound| bound.abs() < EXACT);
                let slack = if exact { 0.0 } else { 1.0 };
                Range { low: quotient.low.floor() - slack, high: quotient.high.floor() + slack }
            }
            Binary::Remainder => a.rest(b),
            Binary::Power => a.power(b),
            Binary::Minimum => Range { low: a.low.min(b.low), high: a.high.min(b.high) },
            Binary::Maximum => Range { low: a.low.max(b.low), high: a.high.max(b.high) },
            Binary::Less => Range::truths(a.low < b.high, a.high >= b.low),
            Binary::LessOrEqual => Range::truths(a.low <= b.high, a.high > b.low),
            Binary::Equal => Range::truths(a.meets(b), !(a.is(b.low) && b.is(a.low))),
            Binary::NotEqual => Range::truths(!(a.is(b.low) && b.is(a.low)), a.meets(b)),
            Binary::And | Binary::Or => Range::ALL,
        }
    }

    fn meets(self, other: Range) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    fn quotient(self, divisor: Range) -> Range {
        if divisor.is(0.0) {
            return Range::NONE;
        }
        if divisor.may_fail() {
            return Range::ALL;
        }
        Range::of([self.low / divisor.low, self.low / divisor.high, self.high / divisor.low, self.high / divisor.high])
    }

    fn rest(self, divisor: Range) -> Range {
        if divisor.is(0.0) {
            return Range::NONE;
        }
        if divisor.low > 0.0 {
            if self.low >= 0.0 && self.high < divisor.low {
                return self;
            }
            let most = if self.low >= 0.0 { self.high.min(divisor.high) } else { divisor.high };
            return Range { low: 0.0, high: most };
        }
        Range { low: divisor.low.min(0.0), high: divisor.high.max(0.0) }
    }

    fn power(self, exponent: Range) -> Range {
        if self.low < 1.0 || exponent.low < 0.0 {
            return Range::ALL;
        }
        // powf may be off by the last digit.
        let (low, high) = (self.low.powf(exponent.low), self.high.powf(exponent.high));
        Range::rounded(low * (1.0 - 1e-15), high * (1.0 + 1e-15))
    }
}
