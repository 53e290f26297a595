//! JSON as CANN writes it: keys sorted, no blanks, floats with a point.

pub use crate::tiling::integer;
use serde_json::{Map, Value};

/// The text of a value with the keys of every object sorted, whatever order the map keeps them in.
pub fn to_sorted_text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Recurses no deeper than the value; parsed ones are at most 128 levels deep.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (i, (key, value)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// The fields of an object, or what it is instead.
pub fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{what} is no JSON object"))
}

/// A field that must be there.
pub fn field<'a>(map: &'a Map<String, Value>, name: &str) -> Result<&'a Value, String> {
    map.get(name).ok_or_else(|| format!("`{name}` is missing"))
}
/// A text of any length as a message quotes it.
pub fn cut(text: &str) -> String {
    const LETTERS: usize = 60;
    match text.char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// A 64-bit number as CANN writes one in a text: decimal digits, no sign, no zero before them.
pub fn decimal(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::{cut, decimal, integer, to_sorted_text};
    use serde_json::{Value, json};

    #[test]
    fn text_is_sorted_dense_and_keeps_the_point_of_floats() {
        let value: Value =
            serde_json::from_str(r#"{"b": 1.0, "a": [0.0, true, null, "\"ä\n"], "B": {"z":1,"y":2}}"#).unwrap();
        assert_eq!(to_sorted_text(&value), r#"{"B":{"y":2,"z":1},"a":[0.0,true,null,"\"ä\n"],"b":1.0}"#);
    }

    #[test]
    fn only_whole_numbers_are_integers() {
        let got: Vec<_> =
            [json!(3), json!(3.0), json!(3.5), json!(true), json!("3"), json!(1e300)].iter().map(integer).collect();
        assert_eq!(got, [Some(3), Some(3), None, None, None, None]);
    }

    #[test]
    fn a_long_text_is_cut_between_letters_and_says_so() {
        assert_eq!(cut(&"ä".repeat(60)), "ä".repeat(60));
        assert_eq!(cut(&"ä".repeat(61)), "ä".repeat(60) + "...");
    }

    #[test]
    fn a_number_in_a_text_has_digits_only_and_no_zero_before_them() {
        let got = ["0", "18446744073709551615", "18446744073709551616", "007", "+7", "-1", "1.0", ""].map(decimal);
        assert_eq!(got, [Some(0), Some(u64::MAX), None, None, None, None, None, None]);
    }
}
