//! Names and numbers as the page shows them.

pub use crate::report::figures::{digits, time};

use crate::spelling::is_shown;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Text from a report of at most `MAX` characters, its middle left out where there were more. Characters that a page
/// cannot show, or that turn what stands around them, are replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Text<const MAX: usize>(String);

/// A name: of a node, of an operator type.
pub type Name = Text<96>;
/// A sentence, a path.
pub type Line = Text<4096>;

impl<const MAX: usize> Text<MAX> {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// At most so many characters of it, the middle left out.
    pub fn short(&self, most: usize) -> String {
        shortened(&self.0, most)
    }
}

impl<const MAX: usize> From<&str> for Text<MAX> {
    fn from(text: &str) -> Self {
        Text(shortened(text, MAX).chars().map(|c| if is_shown(c) { c } else { char::REPLACEMENT_CHARACTER }).collect())
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Text::from(text.as_str()))
    }
}

impl<const MAX: usize> fmt::Display for Text<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<const MAX: usize> maud::Render for Text<MAX> {
    fn render_to(&self, buffer: &mut String) {
        self.0.render_to(buffer);
    }
}

/// At most so many characters of a text, the middle left out.
pub fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().take(most + 1).count();
    if count <= most {
        return text.to_owned();
    }
    // The end tells more than the beginning, which many share.
    let tail = most.saturating_sub(1) * 3 / 5;
    let head: String = text.chars().take(most.saturating_sub(1) - tail).collect();
    let end = text.char_indices().rev().nth(tail.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    format!("{head}…{}", if tail == 0 { "" } else { &text[end..] })
}

/// A power of ten with the letter that stands for it: `100`, `10k`, `1T`.
pub fn power(exponent: i32) -> String {
    let letters = ["", "k", "M", "G", "T", "P", "E"];
    let index = exponent.div_euclid(3);
    match usize::try_from(index).ok().and_then(|index| letters.get(index)) {
        Some(letter) => format!("{}{letter}", 10_u32.pow(exponent.rem_euclid(3) as u32)),
        None if (-4..0).contains(&exponent) => format!("{}", 10_f64.powi(exponent)),
        None => format!("1e{exponent}"),
    }
}

/// A share of a whole in per cent.
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 && part.is_finite() { format!("{:.1} %", part / whole * 100.0) } else { "–".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_ends_and_loses_what_cannot_be_shown() {
        let long = format!("head{}tail", "x".repeat(1 << 20));
        let name = Name::from(long.as_str());
        assert_eq!(name.as_str().chars().count(), 96);
        assert!(name.as_str().starts_with("head") && name.as_str().ends_with("xtail"), "{name}");
        assert_eq!(Name::from("a\0b\u{202e}c\n").as_str(), "a\u{fffd}b\u{fffd}c\u{fffd}");
        assert_eq!(Name::from("ö").short(8), "ö");
        assert_eq!((shortened("abcdef", 3), shortened("abcdef", 1)), ("a…f".to_owned(), "…".to_owned()));
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let texts = [0.0, 0.000_87, 0.87, 36.87, 999.7, 1250.0, 2.5e6].map(time);
        assert_eq!(texts, ["0 µs", "0.87 ns", "870 ns", "36.9 µs", "1.00 ms", "1.25 ms", "2.50 s"]);
        assert_eq!((time(f64::NAN), time(-1.0), time(1e300)), ("–".into(), "-1.00 µs".into(), "1.00e294 s".into()));
    }

    #[test]
    fn powers_of_ten_have_letters() {
        assert_eq!([-6, -1, 0, 2, 4, 12, 30].map(power), ["1e-6", "0.1", "1", "100", "10k", "1T", "1e30"]);
    }
}
