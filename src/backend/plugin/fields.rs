//! JSON as a flat list of named values, for plug-ins in C.

use super::table::AoeField;
use serde_json::Value;
use std::ffi::CString;

/// The values of a JSON object, each named by the way to it: keys and positions, by points.
#[derive(Debug, Default)]
pub struct Fields(Vec<(CString, Leaf)>);

#[derive(Debug)]
enum Leaf {
    Text(CString),
    Number(f64),
}

impl Fields {
    /// The leaves of a value in its own order. Nulls are left out, and so are texts with a NUL in them.
    pub fn of(value: &Value) -> Fields {
        let mut fields = Fields::default();
        fields.add(&mut String::new(), value);
        fields
    }

    fn add(&mut self, path: &mut String, value: &Value) {
        match value {
            Value::Null => {}
            Value::Bool(truth) => self.push(path, Leaf::Number(f64::from(u8::from(*truth)))),
            Value::Number(number) => self.push(path, Leaf::Number(number.as_f64().unwrap_or(f64::NAN))),
            Value::String(text) => {
                if let Ok(text) = CString::new(text.as_str()) {
                    self.push(path, Leaf::Text(text));
                }
            }
            Value::Array(elements) => {
                elements.iter().enumerate().for_each(|(at, value)| self.add_below(path, &at.to_string(), value));
            }
            Value::Object(members) => members.iter().for_each(|(key, value)| self.add_below(path, key, value)),
        }
    }

    fn add_below(&mut self, path: &mut String, step: &str, value: &Value) {
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(step);
        self.add(path, value);
        path.truncate(length);
    }

    fn push(&mut self, path: &str, leaf: Leaf) {
        if let Ok(path) = CString::new(path) {
            self.0.push((path, leaf));
        }
    }

    /// As C sees them, for as long as this list lives.
    pub fn as_c(&self) -> Vec<AoeField> {
        let field = |(name, leaf): &(CString, Leaf)| match leaf {
            Leaf::Text(text) => AoeField { name: name.as_ptr(), text: text.as_ptr(), number: 0.0 },
            Leaf::Number(number) => AoeField { name: name.as_ptr(), text: std::ptr::null(), number: *number },
        };
        self.0.iter().map(field).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Fields, Leaf};
    use serde_json::json;

    #[test]
    fn leaves_are_named_by_the_way_to_them() {
        let fields = Fields::of(&json!({
            "m": 16, "trans_a": true, "dtype": "float32", "none": null, "l0": {"k": 0.5},
            "inputs": [[[2, 3], "float16"]], "empty": [],
        }));
        let told: Vec<_> = fields
            .0
            .iter()
            .map(|(name, leaf)| match leaf {
                Leaf::Text(text) => format!("{}={}", name.to_str().unwrap(), text.to_str().unwrap()),
                Leaf::Number(number) => format!("{}={number}", name.to_str().unwrap()),
            })
            .collect();
        let mut expected = [
            "m=16",
            "trans_a=1",
            "dtype=float32",
            "l0.k=0.5",
            "inputs.0.0.0=2",
            "inputs.0.0.1=3",
            "inputs.0.1=float16",
        ];
        let mut told: Vec<_> = told.iter().map(String::as_str).collect();
        told.sort_unstable();
        expected.sort_unstable();
        assert_eq!(told, expected);
    }

    #[test]
    fn a_text_that_c_cannot_hold_is_left_out() {
        assert!(Fields::of(&json!({"a": "x\0y", "b\0": 1})).as_c().is_empty());
    }
}
