//! The two forms of operator records: CANN's for `MatMulV3`, ours for everything else.
//!
//! Both are JSON lines with the same five fields; they differ in what `info_dict` and `knowledge` hold
//! and in the file's name, so that CANN never opens a file of ours.

use super::key::{Key, Unusable};
use super::{hash, json, matmul, workload_key};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{Schedule, Workload};
use serde_json::{Map, Value};

/// Longest operator type that is spelled out in a file name; a name may have 255 bytes.
const LONGEST_OP_TYPE: usize = 100;

/// Which form a bank file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// CANN's `MatMulV3` runtime bank.
    MatMulV3,
    /// Our form: canonical workload and canonical schedule.
    Canonical,
}

/// `knowledge` as a form understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Knowledge {
    /// `MatMulV3`'s tiling.
    Tiling(matmul::Tiling),
    /// A canonical schedule.
    Schedule(Schedule),
}

impl Form {
    /// The form that holds the records of a workload.
    pub fn of(workload: &Workload) -> Form {
        match workload {
            Workload::MatMul(w) if matmul::has_key(w) => Form::MatMulV3,
            _ => Form::Canonical,
        }
    }

    /// Operator type of the records of a workload.
    pub fn op_type(self, workload: &Workload) -> &str {
        match self {
            Form::MatMulV3 => matmul::OP_TYPE,
            Form::Canonical => workload.op_type(),
        }
    }

    /// Whether records of this version are understood. CANN's are 0 everywhere and CANN does not look;
    /// ours is raised when the canonical workload or schedule changes its meaning.
    pub fn reads_version(self, version: u64) -> bool {
        self == Form::MatMulV3 || version == 0
    }

    /// Name of the bank file of an operator type. Characters that a file name should not hold become
    /// `-` and their hexadecimal code; a very long type is cut and told apart by its digest.
    pub fn file_name(self, op_type: &str, soc: &Soc) -> String {
        let mut op = file_safe(op_type, b"_");
        if op.len() > LONGEST_OP_TYPE {
            op.truncate(LONGEST_OP_TYPE);
            op = format!("{op}-{:016x}", hash::digest(op_type.as_bytes()));
        }
        let form = match self {
            Form::MatMulV3 => "runtime_kb",
            Form::Canonical => "aoe_kb",
        };
        format!("{}_{}_AiCore_{op}_{form}.json", soc_name(soc), soc.ai_core_cnt)
    }

    /// The `info_dict` of a workload.
    pub fn info_dict(self, workload: &Workload) -> Value {
        match (self, workload) {
            (Form::MatMulV3, Workload::MatMul(w)) => Value::Object(matmul::info_dict(w)),
            _ => workload_key::info_dict(workload),
        }
    }

    /// The key of an `info_dict`.
    pub fn key(self, info: &Value) -> Result<Key, Unusable> {
        let bytes = match self {
            Form::MatMulV3 => matmul::pack_key(json::object(info, "info_dict").map_err(Unusable::Damaged)?)?,
            Form::Canonical => {
                json::object(info, "info_dict").map_err(Unusable::Damaged)?;
                json::to_sorted_text(info).into_bytes()
            }
        };
        Ok(Key::new(bytes))
    }

    /// The key of a workload.
    pub fn key_of(self, workload: &Workload) -> Result<Key> {
        self.key(&self.info_dict(workload)).map_err(|why| Error::Workload {
            workload: workload.to_string(),
            reason: format!("has no bank key: {why}"),
        })
    }

    /// Reads a `knowledge` object.
    pub fn knowledge(self, value: &Value) -> Result<Knowledge, Unusable> {
        let map = json::object(value, "knowledge").map_err(Unusable::Damaged)?;
        match self {
            Form::MatMulV3 => matmul::Tiling::from_knowledge(map).map(Knowledge::Tiling).map_err(Unusable::Damaged),
            Form::Canonical => serde_json::from_value(value.clone())
                .map(Knowledge::Schedule)
                .map_err(|e| Unusable::Damaged(format!("knowledge is no schedule: {e}"))),
        }
    }

    /// The knowledge that says a schedule of a workload. Fails with [`Error::IllegalSchedule`] when the
    /// form cannot.
    pub fn knowledge_of(self, schedule: &Schedule, workload: &Workload) -> Result<Knowledge> {
        match (self, schedule, workload) {
            (Form::MatMulV3, Schedule::Cube(s), Workload::MatMul(w)) => {
                Ok(Knowledge::Tiling(matmul::Tiling::from_schedule(s)?.widened(w)))
            }
            (Form::MatMulV3, ..) => {
                Err(Error::IllegalSchedule { rule: "a matrix product needs a cube schedule".into() })
            }
            (Form::Canonical, schedule, _) => Ok(Knowledge::Schedule(schedule.clone())),
        }
    }
}

impl Knowledge {
    /// Fails with [`Error::IllegalSchedule`] where CANN would stop with an error when it meets it.
    pub fn check_accepted(&self, workload: &Workload, soc: &Soc) -> Result<()> {
        match (self, workload) {
            (Knowledge::Tiling(tiling), Workload::MatMul(w)) => tiling.check_split(w, soc.ai_core_cnt),
            _ => Ok(()),
        }
    }

    /// The schedule for a workload. Fails with [`Error::IllegalSchedule`] for a tiling without one.
    pub fn schedule(&self, workload: &Workload) -> Result<Schedule> {
        match (self, workload) {
            (Knowledge::Tiling(tiling), Workload::MatMul(w)) => Ok(Schedule::Cube(tiling.narrowed(w).schedule(w)?)),
            (Knowledge::Tiling(_), _) => Err(Error::Workload {
                workload: workload.to_string(),
                reason: "the record is one of a matrix product".into(),
            }),
            (Knowledge::Schedule(schedule), _) => Ok(schedule.clone()),
        }
    }

    /// The fields as they stand in a record.
    pub fn to_fields(&self) -> Result<Map<String, Value>> {
        let schedule = match self {
            Knowledge::Tiling(tiling) => return Ok(tiling.to_knowledge()),
            Knowledge::Schedule(schedule) => schedule,
        };
        match serde_json::to_value(schedule) {
            Ok(Value::Object(fields)) => Ok(fields),
            other => Err(Error::Internal { place: "bank".into(), message: format!("a schedule became {other:?}") }),
        }
    }
}

/// Name of a part as it stands in paths; the names in users' descriptions may hold anything.
pub fn soc_name(soc: &Soc) -> String {
    file_safe(&soc.name, b"_-.")
}

fn hexadecimal(nibble: u8) -> char {
    char::from_digit(nibble.into(), 16).unwrap_or('0').to_ascii_uppercase()
}

/// Letters, digits and `plain` stay; any other byte becomes `-` and its hexadecimal code.
fn file_safe(text: &str, plain: &[u8]) -> String {
    let mut name = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            name.push(byte.into());
        } else {
            name.extend(['-', hexadecimal(byte >> 4), hexadecimal(byte & 15)]);
        }
    }
    if name.starts_with('.') {
        name.replace_range(..1, "-2E");
    }
    name
}
