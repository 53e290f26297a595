//! Names and numbers as the page shows them.

pub use crate::report::figures::{digits, time};

use crate::spelling::is_shown;
use std::borrow::Cow;

/// Text from a report at no more than so many characters, its middle left out where there were more. Characters that a
/// page cannot show, or that turn what stands around them, are replaced.
pub fn cleaned(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most && text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if is_shown(c) { c } else { char::REPLACEMENT_CHARACTER };
    Cow::Owned(shortened(text, most).chars().map(shown).collect())
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
        let name = cleaned(&long, 96);
        assert_eq!(name.chars().count(), 96);
        assert!(name.starts_with("head") && name.ends_with("xtail"), "{name}");
        assert_eq!(cleaned("a\0b\u{202e}c\n", 96), "a\u{fffd}b\u{fffd}c\u{fffd}");
        assert_eq!(shortened("ö", 8), "ö");
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
