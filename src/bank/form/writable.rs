//! What a bank's records of a workload can say, and who reads them.

use super::{Form, Terms};
use crate::bank::key::Unusable;
use crate::bank::record_reader::RecordReader;
use crate::bank::{conv3d, unified};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{Schedule, Workload};
use serde_json::Value;

/// Which schedules of one workload a bank's records can say, for those who choose among schedules.
#[derive(Debug, Clone, Copy)]
pub struct Writable<'a> {
    form: Form,
    workload: &'a Workload,
    soc: &'a Soc,
}

impl<'a> Writable<'a> {
    /// The schedules that can be recorded for a workload on a SoC.
    pub fn of(workload: &'a Workload, soc: &'a Soc) -> Writable<'a> {
        Writable { form: Form::of(workload, soc), workload, soc }
    }

    /// Why the records are of our own form, see [`Form::why_own`].
    pub fn why_own(&self) -> Option<String> {
        Form::why_own(self.workload, self.soc)
    }

    /// Who reads the records.
    pub fn reader(&self) -> RecordReader {
        match self.form {
            Form::Runtime(_) => RecordReader::RuntimeBank,
            Form::Unified(_) => RecordReader::UnifiedBank,
            Form::Unknown | Form::Canonical => RecordReader::OwnForm,
        }
    }

    /// Whether CANN's operator reads the records when it is launched, so that a recorded tiling is one that it runs.
    /// Those of the unified bank are read when TBE compiles.
    pub fn is_read_by_cann(&self) -> bool {
        matches!(self.form, Form::Runtime(_))
    }

    /// Whether TBE reads the records when it compiles the operator for a static shape, from its unified bank.
    pub fn is_read_when_compiled(&self) -> bool {
        matches!(self.form, Form::Unified(_))
    }

    /// Whether a device can time the operator by itself with a tiling of ours: not what TBE compiles with what is fused into
    /// it, nor what takes no tiling from a record.
    pub fn is_measured_alone(&self) -> bool {
        match self.workload {
            Workload::MatMul(w) => w.dtype.is_float() && self.reader().is_cann(),
            Workload::Conv(w) => w.is_volume() && self.is_read_by_cann(),
            _ => false,
        }
    }

    /// What of the records no public file or text proves, by the names of the fields.
    pub fn unproven(&self) -> &'static [&'static str] {
        match self.form {
            Form::Unified(operator) => operator.unproven(),
            Form::Runtime(layout) => match Terms::of(layout) {
                Terms::Conv3d => conv3d::UNPROVEN,
                Terms::MatMul | Terms::Quant | Terms::Conv2d | Terms::Opaque => &[],
            },
            Form::Unknown | Form::Canonical => &[],
        }
    }

    /// Whether every legal schedule can be recorded, so that none need be asked about.
    pub fn is_everything(&self) -> bool {
        match self.form {
            Form::Runtime(layout) => Terms::of(layout) == Terms::MatMul,
            Form::Unknown | Form::Unified(_) => false,
            Form::Canonical => true,
        }
    }

    /// The schedule that a record's `knowledge` says. Fails with [`Error::IllegalSchedule`] for one that says none.
    pub fn read(&self, knowledge: &Value) -> Result<Schedule> {
        if let Form::Unified(_) = self.form {
            let parsed = unified::Value::parse(&knowledge.to_string()).ok();
            let dict = parsed.and_then(|value| value.as_dict().cloned());
            let none = || Error::IllegalSchedule { rule: "bank record: it is no object".into() };
            let dict = dict.ok_or_else(none)?;
            unified::accepts(&dict, self.workload, self.soc)?;
            return unified::schedule(&dict, self.workload).map(Schedule::Cube);
        }
        let unusable = |why: Unusable| Error::IllegalSchedule { rule: format!("bank record: {why}") };
        let knowledge = self.form.knowledge(knowledge).map_err(unusable)?;
        knowledge.check_accepted(self.workload, self.soc)?;
        knowledge.schedule(self.workload)
    }

    /// Fails with [`Error::IllegalSchedule`] for a schedule that the record cannot say, at which CANN would stop, or
    /// with which its kernel would not compute the result.
    pub fn check(&self, schedule: &Schedule) -> Result<()> {
        if let (Form::Unified(_), Schedule::Cube(cube)) = (self.form, schedule) {
            return unified::check(cube, self.workload, self.soc);
        }
        self.form.record_of(schedule, self.workload, self.soc).map(drop)
    }
}
