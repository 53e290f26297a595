//! One line of an operator bank taken apart, whatever its operator.

use super::part::Part;
use super::work;
use crate::bank::fields::{Fields, short};
use crate::bank::form::Form;
use crate::bank::json;
use crate::bank::key::{Key, Unusable};
use crate::bank::knowledge::Knowledge;
use crate::bank::lines::trim;
use crate::status::{Error, Result};
use crate::workload::Workload;
use serde_json::{Map, Value};

/// Field of ours beside CANN's five: the part that a record is for, in a file that holds those of several.
pub const PART_FIELD: &str = "soc_cores";

/// Another: the microseconds that it takes, as the unified bank names them.
pub const COST_FIELD: &str = "cost_time";

/// Why a line is no record that CANN could use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// CANN's loader stops at it.
    Damaged(String),
    /// CANN's loader reads it, but its `info_dict` lacks what makes a key.
    Unusable(String),
    /// It is of an operator whose key is not known here.
    Foreign(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Fault::Damaged(reason) | Fault::Unusable(reason) | Fault::Foreign(reason)) = self;
        f.write_str(reason)
    }
}

/// The form of an `info_dict`: ours says which `kind` of work it is, CANN's follows from the operator.
/// [`Form::Unknown`] where neither tells how its key is made.
fn form_of(op: &str, info: &Map<String, Value>) -> Form {
    if info.get("kind").is_some_and(Value::is_string) { Form::Canonical } else { Form::runtime(op) }
}

/// The key of an `info_dict`.
fn key_of(form: Form, info: &Value) -> Result<Key, Fault> {
    form.key(info).map_err(|why| match why {
        Unusable::Damaged(reason) => Fault::Damaged(reason),
        Unusable::Foreign(reason) => Fault::Unusable(reason),
    })
}

/// A record with its five fields, each of the type that CANN's loader asks for.
#[derive(Debug, Clone)]
pub struct Record {
    /// Operator type.
    pub op: String,
    /// The id as it stands in the file.
    pub id: u64,
    /// Version of the record form; CANN's are 0.
    pub version: u64,
    /// What it is for.
    pub info: Map<String, Value>,
    /// What it says.
    pub knowledge: Map<String, Value>,
    /// The fields beside the five.
    pub others: Map<String, Value>,
    /// Whose terms it is in.
    pub(super) form: Form,
    /// What identifies it.
    pub key: Key,
}

impl Record {
    /// Reads a line.
    pub fn parse(line: &[u8]) -> Result<Record, Fault> {
        let damaged = |reason: String| Fault::Damaged(reason);
        let Fields { id, info, knowledge, op, version, others } = Fields::parse(trim(line)).map_err(damaged)?;
        let object = |name: &str, value: Value| match value {
            Value::Object(fields) => Ok(fields),
            other => Err(damaged(format!("`{name}` is no JSON object but {}", short(&other)))),
        };
        let (info, knowledge) = (object("info_dict", info)?, object("knowledge", knowledge)?);
        let form = form_of(&op, &info);
        if form == Form::Unknown {
            return Err(Fault::Foreign(format!("the key of operator {op:?} is not known")));
        }
        let info = Value::Object(info);
        let key = key_of(form, &info)?;
        let Value::Object(info) = info else { return Err(damaged("`info_dict` is no JSON object".into())) };
        Ok(Record { op, id, version, info, knowledge, others, form, key })
    }

    /// Microseconds that the record itself states, as exported ones do.
    pub fn cost_us(&self) -> Option<f64> {
        self.others.get(COST_FIELD).and_then(Value::as_f64).filter(|us| us.is_finite() && *us > 0.0)
    }

    /// The part that the record itself names.
    pub fn part(&self) -> Option<Part> {
        self.others.get(PART_FIELD).and_then(Value::as_str).and_then(Part::parse)
    }

    /// The work that the record is for. A record of CANN's serves all sizes that round to the same; this is the
    /// largest. Fails with [`Error::Workload`].
    pub fn workload(&self) -> Result<Workload> {
        work::workload(self.form, &self.op, &self.info)
            .map_err(|reason| Error::Workload { workload: format!("of {}", self.op), reason })
    }

    /// What the record says, read as its form asks. Fails with [`Unusable`] for values that cannot be.
    pub fn tiling(&self) -> Result<Knowledge, Unusable> {
        self.form.knowledge(&Value::Object(self.knowledge.clone()))
    }

    /// Names of the fields that nobody reads, `info_dict.x` for one inside.
    pub fn unknown_fields(&self) -> Vec<String> {
        let others = self.others.keys().filter(|name| ![PART_FIELD, COST_FIELD].contains(&name.as_str())).cloned();
        let info = self.info.keys().filter(|name| !self.reads(name)).map(|name| format!("info_dict.{name}"));
        // An empty list stands for fields that are not known, or that the form checks itself.
        let names = self.form.knowledge_fields();
        let knowledge = self.knowledge.keys().filter(|name| !names.is_empty() && !names.contains(&name.as_str()));
        others.chain(info).chain(knowledge.map(|name| format!("knowledge.{name}"))).collect()
    }

    /// Whether a field of `info_dict` is part of what the record is for.
    fn reads(&self, name: &str) -> bool {
        match self.form {
            Form::Runtime(layout) => layout.field(name).is_some(),
            Form::Unknown | Form::Canonical | Form::Unified(_) => true,
        }
    }

    /// Names of the tiling's fields that are missing; CANN takes them for 0.
    pub fn missing_fields(&self) -> Vec<&'static str> {
        let names = self.form.knowledge_fields();
        names.iter().copied().filter(|name| !self.knowledge.contains_key(*name)).collect()
    }
}

/// The id of an `info_dict`, or of the one in a whole record. The operator is the one given, else the record's;
/// our own form needs none. Fails with the reason.
pub fn id_of(line: &[u8], op: Option<&str>) -> Result<u32, String> {
    let value: Value = serde_json::from_slice(trim(line)).map_err(|e| e.to_string())?;
    let fields = json::object(&value, "the line")?;
    let own = fields.get("op").and_then(Value::as_str);
    if let (Some(op), Some(own)) = (op, own)
        && op != own
    {
        return Err(format!("the record is one of {}, not of {op}", json::cut(own)));
    }
    let info = fields.get("info_dict").unwrap_or(&value);
    let form = form_of(op.or(own).unwrap_or_default(), json::object(info, "`info_dict`")?);
    if form == Form::Unknown {
        return Err(match op.or(own) {
            Some(op) => format!("the key of operator {:?} is not known", json::cut(op)),
            None => "neither an option nor the line names the operator".to_owned(),
        });
    }
    key_of(form, info).map(|key| key.id()).map_err(|why| why.to_string())
}
