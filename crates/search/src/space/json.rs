//! The JSON form of a space:
//! `{"parameters":[{"name":"MWG","values":[16,32]}],"constraints":["MWG % 16 == 0"],"configurations":[[0],[1]]}`.

use super::{Parameter, Space, Value};
use aoe_base::status::{Error, Result};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    parameters: Vec<Described>,
    #[serde(default)]
    constraints: Vec<String>,
    configurations: Option<Vec<Vec<u32>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    name: String,
    values: Vec<serde_json::Value>,
}

impl Space {
    /// Reads a space; docs/spaces.md describes the form.
    ///
    /// Fails with [`Error::Space`], which names the place at fault.
    pub fn from_json(text: &str) -> Result<Space> {
        let document: Document = serde_json::from_str(text).map_err(|error| {
            let place = format!("JSON, line {} column {}", error.line(), error.column());
            Error::space(place, without_place(&error.to_string()))
        })?;
        let parameters = document.parameters.into_iter().enumerate().map(parameter).collect::<Result<Vec<_>>>()?;
        let Some(rows) = document.configurations else { return Space::new(parameters, &document.constraints) };
        let indices: Vec<Vec<u32>> = parameters.iter().map(Parameter::indices_of_given).collect();
        let mut flat = Vec::with_capacity(rows.len().saturating_mul(parameters.len()));
        for (r, row) in rows.iter().enumerate() {
            if row.len() != parameters.len() {
                let reason = format!("it has {} indices, and there are {} parameters", row.len(), parameters.len());
                return Err(Error::space(format!("configurations[{r}]"), reason));
            }
            // An index beyond the list is named, with all else about rows, where they are checked.
            flat.extend(
                row.iter().zip(&indices).map(|(&given, own)| own.get(given as usize).copied().unwrap_or(given)),
            );
        }
        Space::listed(parameters, &document.constraints, &flat)
    }
}

fn parameter((i, described): (usize, Described)) -> Result<Parameter> {
    let bad = |v: usize, reason: &str| {
        Error::space(format!("parameters[{i}] `{}`", described.name), format!("values[{v}] {reason}"))
    };
    let mut values = Vec::with_capacity(described.values.len());
    for (v, value) in described.values.iter().enumerate() {
        values.push(match value {
            serde_json::Value::Bool(truth) => Value::Boolean(*truth),
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(integer), _) => Value::Integer(integer),
                _ if number.is_u64() => return Err(bad(v, "is beyond 64-bit signed integers")),
                (_, Some(real)) => Value::Real(real),
                _ => return Err(bad(v, "is no finite number")),
            },
            _ => return Err(bad(v, "is neither a number nor a text nor a truth value")),
        });
    }
    Parameter::new(described.name, values)
}

/// The JSON reader's message without the place, which is told apart.
fn without_place(message: &str) -> &str {
    message.rfind(" at line ").map_or(message, |end| &message[..end])
}
