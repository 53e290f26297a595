//! What a file is, told by how it begins and never by its name.

use crate::bank::fields::FIELDS;
use crate::bank::json;
use crate::bank::lines::trim;
use serde_json::{Map, Value};

/// Bytes of a file's beginning that are looked at; several records of every kind fit in.
pub const PEEKED: usize = 1 << 16;

/// The bank forms that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Operator records, CANN's (`runtime_kb`) or ours: JSON lines.
    Records,
    /// CANN's older operator bank: one object, its keys the md5 of what each record is for.
    Unified,
    /// The tiling repository before that: JSON lines of `shape`, `tiling` and `cost_time`.
    Repository,
    /// Schedules of vector operators: one object of strings.
    Rl,
    /// Subgraph strategies: JSON lines after a line with a version.
    Subgraph,
    /// Gradient times: one list.
    Gradient,
    /// Costs by hash: JSON lines.
    OpCost,
    /// Nothing at all.
    Empty,
    /// Nothing that is known.
    Unknown,
}

impl Kind {
    /// The name in messages and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Records => "operator bank",
            Kind::Unified => "unified bank",
            Kind::Repository => "tiling repository",
            Kind::Rl => "RL bank",
            Kind::Subgraph => "subgraph bank",
            Kind::Gradient => "gradient bank",
            Kind::OpCost => "operator cost bank",
            Kind::Empty => "empty file",
            Kind::Unknown => "no known bank",
        }
    }

    /// The kind of a file that begins with these bytes; [`PEEKED`] of them are enough.
    pub fn of(beginning: &[u8]) -> Kind {
        let text = trim(beginning);
        match text.first() {
            None => Kind::Empty,
            Some(b'[') => Kind::of_list(text),
            Some(b'{') if is_empty_object(text) => Kind::Unified,
            // A damaged line or two must not hide what the others are.
            Some(_) => Kind::of_object(text)
                .or_else(|| text.split(|&b| b == b'\n').find_map(|line| Kind::of_line(trim(line))))
                .unwrap_or(Kind::Unknown),
        }
    }

    fn of_list(text: &[u8]) -> Kind {
        let rest = trim(&text[1..]);
        let is_gradient = rest.first() == Some(&b']') || contains(rest, b"\"modelhash\"");
        if is_gradient { Kind::Gradient } else { Kind::Unknown }
    }

    /// The kind of a line of its own.
    fn of_line(line: &[u8]) -> Option<Kind> {
        let Ok(Value::Object(fields)) = serde_json::from_slice::<Value>(line) else { return None };
        let has = |name: &str| fields.contains_key(name);
        if has("shape") && has("tiling") {
            Some(Kind::Repository)
        } else if has("graphID") || is_version_line(&fields) {
            Some(Kind::Subgraph)
        } else if has("hash_str") {
            Some(Kind::OpCost)
        } else if FIELDS.iter().filter(|name| has(name)).count() >= 2 {
            Some(Kind::Records)
        } else {
            fields.iter().next().and_then(|(key, value)| of_entry(key, value))
        }
    }

    /// The kind of one object that may have many lines, by its first key.
    fn of_object(text: &[u8]) -> Option<Kind> {
        let rest = trim(text.strip_prefix(b"{")?);
        let end = 1 + rest.get(1..)?.iter().position(|&b| b == b'"')?;
        let key: String = serde_json::from_slice(rest.get(..=end)?).ok()?;
        if is_md5(&key) {
            return Some(Kind::Unified);
        }
        key.trim_start().starts_with("[[").then_some(Kind::Rl)
    }
}

/// Whether a text is an object without entries, which is a unified bank without records; a line of operator records that
/// is none has more behind it, or a name that says what the file holds.
pub fn is_empty_object(text: &[u8]) -> bool {
    text.strip_prefix(b"{").is_some_and(|rest| rest.trim_ascii_start() == b"}")
}

/// What a file that is no bank looks like, for a message: what it is by its first bytes, or what its JSON has.
pub fn look(beginning: &[u8]) -> String {
    let text = trim(beginning);
    let magic = SIGNATURES.iter().find(|(signature, _)| beginning.starts_with(signature));
    if let Some((_, name)) = magic {
        return (*name).to_owned();
    }
    // The last line may go on behind what was looked at.
    let first = text.split(|&b| b == b'\n').next().unwrap_or_default();
    match serde_json::from_slice(text).or_else(|_| serde_json::from_slice(trim(first))) {
        Ok(Value::Object(fields)) => {
            let names: Vec<_> = fields.keys().take(4).map(|name| format!("`{}`", json::cut(name))).collect();
            let more = if fields.len() > names.len() { ", .." } else { "" };
            format!("JSON with the fields {}{more}", names.join(", "))
        }
        Ok(Value::Array(_)) => "a JSON list without `modelhash`".to_owned(),
        Ok(value) => format!("the JSON value {}", json::cut(&value.to_string())),
        Err(_)
            if std::str::from_utf8(first).is_ok_and(|line| !line.contains(|c: char| c.is_control() && c != '\t')) =>
        {
            format!("text that begins with {:?}", json::cut(&String::from_utf8_lossy(first)))
        }
        Err(_) => "binary data".to_owned(),
    }
}

/// How other files that lie about begin.
const SIGNATURES: [(&[u8], &str); 6] = [
    (b"\x1f\x8b", "data packed by gzip"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x7fELF", "a program or library (ELF)"),
    (b"\x89PNG", "a PNG picture"),
    (b"IMOD", "an om model"),
    (b"\x08", "a model in protobuf"),
];

/// The kind that an entry of an object tells.
fn of_entry(key: &str, value: &Value) -> Option<Kind> {
    match value {
        Value::Array(_) if is_md5(key) => Some(Kind::Unified),
        Value::String(_) if key.trim_start().starts_with("[[") => Some(Kind::Rl),
        _ => None,
    }
}

fn is_version_line(fields: &Map<String, Value>) -> bool {
    fields.len() == 1 && fields.get("version").is_some_and(Value::is_string)
}

fn is_md5(key: &str) -> bool {
    key.len() == 32 && key.bytes().all(|b| b.is_ascii_hexdigit())
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::{Kind, look};

    #[test]
    fn what_is_no_bank_is_told_by_what_it_looks_like() {
        for (content, said) in [
            (&b"{\"a\":1,\"b\":2}"[..], "JSON with the fields `a`, `b`"),
            (b"{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5}\n{\"a\":", "`d`, .."),
            (b"[1,2]", "a JSON list without `modelhash`"),
            (b"17", "the JSON value 17"),
            (b"m,k,n\n1,2,3\n", "text that begins with \"m,k,n\""),
            (b"\x1f\x8b\x08\0", "gzip"),
            (b"\x01\x02binary", "binary data"),
            (b"\xff\xfe", "binary data"),
        ] {
            assert!(look(content).contains(said), "{}", look(content));
        }
    }

    #[test]
    fn every_form_is_told_by_its_beginning() {
        for (text, kind) in [
            ("", Kind::Empty),
            ("\u{feff}\r\n", Kind::Empty),
            (
                "\u{feff}{\"id\":1,\"info_dict\":{},\"knowledge\":{},\"op\":\"MatMulV3\",\"version\":0}\r\n",
                Kind::Records,
            ),
            ("{\"id\":1,\"info_di\n{\"id\":1,\"info_dict\":{},\"op\":\"X\"}\n", Kind::Records),
            ("{\n\"147a614a52c16e26607b8ac067296555\": [{\"knowledge\": {", Kind::Unified),
            ("{\"147a614a52c16e26607b8ac067296555\": [{\"knowledge\": {}}]}", Kind::Unified),
            ("{\"shape\":{\"op_type\":\"matmul\"},\"tiling\":[1],\"cost_time\":3.5}\n", Kind::Repository),
            ("{\"[[\\\"a\\\", [1], [], 0, []]]\": \"[[0, 1, 2]]\"}", Kind::Rl),
            ("{\"version\": \"2.1\"}\n{\"feature\":", Kind::Subgraph),
            ("{\"version\": \"2.1\"}", Kind::Subgraph),
            ("[ {\"modelhash\":\"1\",\"modelvalue\":{}}]", Kind::Gradient),
            ("[]", Kind::Gradient),
            ("{\"cost_time\":\"12\",\"hash_str\":\"34\"}\n", Kind::OpCost),
            ("{}", Kind::Unified),
            ("\u{feff}{ \r\n}\n", Kind::Unified),
            ("{}\n{}\n", Kind::Unknown),
            ("{\"a\":1}", Kind::Unknown),
            ("{\"a\":[1]}", Kind::Unknown),
            ("{\"a\":[{\n{\"147a614a52c16e26607b8ac067296555\": [{\"knowledge\": {}}]}\n", Kind::Unified),
            ("[1,2]", Kind::Unknown),
            ("\u{1}\u{2}binary", Kind::Unknown),
            ("{\"soc_cores\":\"A_8\",\"id\":1,\"info_dict\":{}}", Kind::Records),
        ] {
            assert_eq!(Kind::of(text.as_bytes()), kind, "{text}");
        }
    }

    #[test]
    fn a_line_with_one_of_the_two_fields_of_a_tiling_repository_is_none_of_it() {
        let kind = |line: &str| Kind::of(line.as_bytes());
        assert_eq!(kind(r#"{"shape":[1],"tiling":{}}"#), Kind::Repository);
        assert_ne!(kind(r#"{"shape":[1]}"#), Kind::Repository);
        assert_ne!(kind(r#"{"tiling":{}}"#), Kind::Repository);
    }
}
