//! What a form says of a tiling: its `knowledge`, read and written.

use super::{Form, Terms};
use crate::bank::key::Unusable;
use crate::bank::knowledge::{Knowledge, TEXT};
use crate::bank::{binary, conv2d, conv3d, json, matmul, quant, unified};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tiling::{Platform, conv3d_v2, inexpressible, matmul_v3};
use crate::workload::{Schedule, Workload};
use serde_json::Value;

impl Form {
    /// Reads a `knowledge` object. As in CANN a missing field keeps its default and an unknown one is
    /// ignored.
    pub fn knowledge(self, value: &Value) -> Result<Knowledge, Unusable> {
        let map = json::object(value, "knowledge").map_err(Unusable::Damaged)?;
        let layout = match self {
            Form::Runtime(layout) => layout,
            Form::Unknown => return Ok(Knowledge::Opaque(map.clone())),
            Form::Unified(operator) => {
                let text = map.get(TEXT).and_then(Value::as_str).map(str::to_owned);
                let text = text.ok_or_else(|| Unusable::Damaged(format!("knowledge: `{TEXT}` is no text")))?;
                return Ok(Knowledge::Unified(operator, text));
            }
            Form::Canonical => {
                return serde_json::from_value(value.clone())
                    .map(Knowledge::Schedule)
                    .map_err(|e| Unusable::Damaged(format!("knowledge is no schedule: {e}")));
            }
        };
        match Terms::of(layout) {
            Terms::MatMul => matmul::Tiling::from_knowledge(map).map(Knowledge::Tiling),
            Terms::Quant => quant::Tiling::from_knowledge(map).map(Knowledge::Quant),
            Terms::Conv2d => conv2d::Tiling::from_knowledge(map).map(Knowledge::Conv2d),
            Terms::Conv3d => conv3d::Tiling::from_knowledge(map).map(Knowledge::Conv3d),
            Terms::Opaque => Ok(match self.binary() {
                Some(operator) => Knowledge::Binary(operator, map.clone()),
                None => Knowledge::Opaque(map.clone()),
            }),
        }
        .map_err(Unusable::Damaged)
    }

    /// The knowledge with these values, in the order of [`Form::knowledge_fields`]; `None` where that is no
    /// complete list of what it holds.
    pub fn knowledge_with(self, values: &[u32]) -> Option<Knowledge> {
        let Form::Runtime(layout) = self else { return None };
        Some(match Terms::of(layout) {
            Terms::MatMul => Knowledge::Tiling(matmul::Tiling::from_values(values.try_into().ok()?)),
            Terms::Quant => Knowledge::Quant(quant::Tiling::from_values(values.try_into().ok()?)),
            Terms::Conv2d => Knowledge::Conv2d(conv2d::Tiling::from_values(values.try_into().ok()?)),
            Terms::Conv3d => Knowledge::Conv3d(conv3d::Tiling::from_values(values.try_into().ok()?)),
            Terms::Opaque => return None,
        })
    }

    /// The fields without which a `knowledge` written here would be none: those that are written always.
    pub fn knowledge_fields(self) -> &'static [&'static str] {
        // A canonical schedule that lacks a field is none, and what is not understood is not written.
        let Form::Runtime(layout) = self else { return &[] };
        match Terms::of(layout) {
            Terms::MatMul => matmul::Tiling::NAMES,
            Terms::Quant => quant::Tiling::NAMES,
            Terms::Conv2d => conv2d::Tiling::NAMES,
            Terms::Conv3d => conv3d::Tiling::NAMES,
            Terms::Opaque => self.binary().map_or(&[], binary::Operator::knowledge_fields),
        }
    }

    /// The knowledge to be written for a schedule of a workload: every record that libaoe makes is made here. Fails
    /// with [`Error::IllegalSchedule`] when the form cannot say it, and for a tiling at which CANN would stop or
    /// with which its kernel would not compute the result.
    pub fn record_of(self, schedule: &Schedule, workload: &Workload, soc: &Soc) -> Result<Knowledge> {
        let knowledge = self.knowledge_of(schedule, workload)?;
        knowledge.check_accepted(workload, soc)?;
        knowledge.check_computes(workload, soc)?;
        let platform = Platform::of(soc);
        match (&knowledge, workload) {
            (Knowledge::Tiling(tiling), Workload::MatMul(w)) => {
                let broken = matmul_v3::check_written(tiling, w, &platform).map_err(|broken| broken.to_string());
                broken.map_err(|rule| Error::IllegalSchedule { rule })?;
            }
            (Knowledge::Conv3d(tiling), Workload::Conv(w)) => {
                let judged = conv3d_v2::legality::check_written(tiling, w, &platform);
                judged.map_err(|broken| inexpressible(conv3d::OP_TYPE, broken))?;
            }
            _ => {}
        }
        Ok(knowledge)
    }

    /// The knowledge that says a schedule of a workload, whether it may be written or not. Fails with [`Error::IllegalSchedule`] when the
    /// form cannot.
    pub fn knowledge_of(self, schedule: &Schedule, workload: &Workload) -> Result<Knowledge> {
        let layout = match self {
            Form::Runtime(layout) => layout,
            Form::Unknown => return Err(unwritten("an operator of an unknown type")),
            Form::Unified(operator) => {
                let Schedule::Cube(cube) = schedule else { return Err(unwritten(operator.op_type())) };
                return Ok(Knowledge::Unified(operator, unified::knowledge(cube, workload, None)?.dumps()));
            }
            Form::Canonical => return Ok(Knowledge::Schedule(schedule.clone())),
        };
        match (Terms::of(layout), schedule, workload) {
            (Terms::MatMul, Schedule::Cube(s), Workload::MatMul(w)) => {
                Ok(Knowledge::Tiling(matmul::Tiling::from_schedule(s)?.widened(w)))
            }
            (Terms::Quant, Schedule::Cube(s), Workload::MatMul(w)) => {
                Ok(Knowledge::Quant(quant::Tiling::from_schedule(s, w)?))
            }
            (Terms::Conv2d, Schedule::Cube(s), Workload::Conv(w)) => {
                Ok(Knowledge::Conv2d(conv2d::Tiling::from_schedule(s, w)?))
            }
            (Terms::Conv3d, Schedule::Cube(s), Workload::Conv(w)) => {
                Ok(Knowledge::Conv3d(conv3d::Tiling::from_schedule(s, w)?))
            }
            (Terms::Opaque, ..) => Err(unwritten(layout.op_type())),
            (Terms::MatMul | Terms::Quant | Terms::Conv2d | Terms::Conv3d, ..) => Err(Error::IllegalSchedule {
                rule: format!("bank record of {}: {workload} with such a schedule is none", layout.op_type()),
            }),
        }
    }
}

/// The error for a record that this library keeps and does not write.
fn unwritten(op_type: &str) -> Error {
    Error::IllegalSchedule { rule: format!("bank record of {op_type}: its tiling fields are not decoded") }
}
