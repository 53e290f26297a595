//! The five fields of a record, whatever they say.

use super::json;
use serde_json::{Map, Value};

/// Their names.
pub const FIELDS: [&str; 5] = ["id", "info_dict", "knowledge", "op", "version"];

/// The fields of a line. What `info_dict` and `knowledge` are is for the record's form to say.
#[derive(Debug)]
pub struct Fields {
    /// The id as it stands in the file.
    pub id: u64,
    /// What the record is for.
    pub info: Value,
    /// What it says.
    pub knowledge: Value,
    /// Operator type.
    pub op: String,
    /// Version of the record form; CANN's are 0.
    pub version: u64,
    /// The fields beside the five.
    pub others: Map<String, Value>,
}

impl Fields {
    /// Reads a line without byte order mark. Fails with the reason where CANN's loader would stop at it.
    pub fn parse(line: &[u8]) -> Result<Fields, String> {
        let value: Value = serde_json::from_slice(line).map_err(|e| e.to_string())?;
        let Value::Object(mut others) = value else { return Err("the line is no JSON object".into()) };
        let mut take = |name: &str| others.remove(name).ok_or_else(|| format!("`{name}` is missing"));
        let [id, info, knowledge, op, version] = FIELDS.map(&mut take);
        let (id, info, knowledge, op, version) = (id?, info?, knowledge?, op?, version?);
        let unusable = |name: &str, value: &Value| format!("`{name}` cannot be {}", short(value));
        let number = |name: &str, value: &Value| value.as_u64().ok_or_else(|| unusable(name, value));
        let (id, version) = (number("id", &id)?, number("version", &version)?);
        let Value::String(op) = op else { return Err(unusable("op", &op)) };
        Ok(Fields { id, info, knowledge, op, version, others })
    }
}

/// A value in a message, which may be of any length.
pub fn short(value: &Value) -> String {
    json::cut(&value.to_string())
}

#[cfg(test)]
mod tests {
    use super::Fields;

    #[test]
    fn what_a_field_cannot_be_is_shown_up_to_some_letters() {
        let why = |changed: &str, value: &str| {
            let fields = [("id", "7"), ("info_dict", "{}"), ("knowledge", "{}"), ("op", "\"Add\""), ("version", "0")];
            let field = |(name, good): (&str, &str)| format!("{name:?}:{}", if name == changed { value } else { good });
            Fields::parse(format!("{{{}}}", fields.map(field).join(",")).as_bytes()).map(|fields| fields.id)
        };
        assert_eq!(why("", ""), Ok(7));
        assert_eq!(why("id", "\"8\""), Err("`id` cannot be \"8\"".to_owned()));
        assert_eq!(why("op", "[1,2]"), Err("`op` cannot be [1,2]".to_owned()));
        let long = why("version", &format!("\"{}\"", "1".repeat(1000))).unwrap_err();
        assert!(long.starts_with("`version` cannot be \"111") && long.ends_with("1...") && long.len() < 100, "{long}");
    }
}
