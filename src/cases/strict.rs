//! JSON in which no object names a field twice: of two values one would be ignored in silence.

use aoe_base::json::Unique;
use serde_json::Value;

/// What Python's `json` writes for numbers that JSON does not have.
const NO_NUMBERS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];

/// One line of JSON without repeated fields. `NaN` and infinities as Python writes them are read as their names, so
/// that attributes may have them and a field that has to be a number says what it got.
pub fn json(line: &str) -> serde_json::Result<Value> {
    let read = |text: &str| serde_json::from_str(text).map(|Unique(value)| value);
    read(line).or_else(|error| {
        let names = NO_NUMBERS.iter().any(|name| line.contains(name));
        if names { read(&named(line)).map_err(|_| error) } else { Err(error) }
    })
}

/// The text with those words in quotes where they stand outside of strings.
fn named(line: &str) -> String {
    let mut text = String::with_capacity(line.len() + 16);
    let mut rest = line;
    let mut in_string = false;
    while let Some(letter) = rest.chars().next() {
        let word = NO_NUMBERS.iter().find(|word| !in_string && rest.starts_with(**word));
        let taken = match word {
            Some(word) => {
                text.extend(["\"", word, "\""]);
                word.len()
            }
            // An escaped letter inside of a string ends nothing.
            None if in_string && letter == '\\' => {
                let pair = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                text.push_str(&rest[..pair]);
                pair
            }
            None => {
                in_string ^= letter == '"';
                text.push(letter);
                letter.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::json;
    use serde_json::Value;

    #[test]
    fn numbers_that_json_lacks_are_read_as_their_names() {
        let value = json(r#"{"a":[NaN,-Infinity,Infinity,1],"NaN":"NaN \\","b":"\"NaN"}"#).unwrap();
        let text = r#"{"NaN":"NaN \\","a":["NaN","-Infinity","Infinity",1],"b":"\"NaN"}"#;
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
        for text in ["NaN NaN", "{\"a\":NaN", "[1,,NaN]"] {
            assert!(json(text).is_err(), "{text}");
        }
        assert!(json(r#"{"a":NaN,"a":1}"#).is_err());
    }
}
