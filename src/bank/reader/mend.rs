//! Lines as they are written here, and damaged ones made into such again.

use crate::bank::form::Form;
use crate::bank::json;
use crate::bank::key::Key;
use crate::bank::knowledge::Knowledge;
use crate::status::Result;
use serde_json::{Map, Value};

/// What was written here where a damaged line stands.
#[derive(Debug)]
pub struct Mended {
    /// What the record says of its key.
    pub knowledge: Knowledge,
    /// The line.
    pub text: Vec<u8>,
}

/// What was written here, where the line at hand differs from that in one byte.
pub fn mend(form: Form, op_type: &str, line: &[u8], key: &Key, knowledge: &Knowledge) -> Option<Mended> {
    let mut value: Value = serde_json::from_slice(line).ok()?;
    let info = value.get_mut("info_dict")?.take();
    let fields = Map::from_iter([("info_dict".to_owned(), info)]);
    let text = written_line(form, op_type, key, knowledge, fields).ok()?;
    differs_in_one_byte(&text, line).then(|| Mended { knowledge: knowledge.clone(), text })
}

/// The line of a record. Of `fields`, `info_dict` and what is not known here stay.
pub fn written_line(
    form: Form,
    op_type: &str,
    key: &Key,
    knowledge: &Knowledge,
    mut fields: Map<String, Value>,
) -> Result<Vec<u8>> {
    let written = knowledge.to_fields()?;
    match (form, fields.get_mut("knowledge")) {
        (Form::Runtime(_), Some(Value::Object(old))) => old.extend(written),
        _ => {
            fields.insert("knowledge".into(), written.into());
        }
    }
    fields.insert("id".into(), key.id().into());
    fields.insert("op".into(), op_type.into());
    fields.insert("version".into(), 0.into());
    Ok(json::to_sorted_text(&Value::Object(fields)).into_bytes())
}

/// Whether one byte of a text was replaced by another, or is missing: no tuner changes so little, a failing
/// disk does.
fn differs_in_one_byte(text: &[u8], line: &[u8]) -> bool {
    let same = text.iter().zip(line).take_while(|(a, b)| a == b).count();
    let replaced = text.len() == line.len() && same < line.len() && text[same + 1..] == line[same + 1..];
    let missing = text.len() == line.len() + 1 && text[same + 1..] == line[same..];
    replaced || missing
}
