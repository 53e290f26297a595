//! The banks of TBE's cube operators: the unified bank, read and written, and the tiling repository before
//! it, read. `docs/banks/unified.md` describes both.
//!
//! `python` is JSON as Python has it, over whose text the keys are summed; `file` the bank itself; `product`
//! and `tiling` what its records say in this library's terms; `repository` the older generation.

mod file;
mod product;
mod python;
mod repository;
mod tiling;

#[cfg(test)]
mod tests;

pub use file::{Bank, Element, Entry, key};
pub use python::{Dict, Value};
pub use repository::{Repository, Row};

use super::form;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{CubeSchedule, MatMul};

/// Name of the bank file of an operator type, as `info_dict` has it: `matmul`.
pub fn file_name(op_type: &str, soc: &Soc) -> String {
    let op = form::file_safe(&op_type.to_lowercase(), b"_");
    format!("{}_{}_AiCore_{op}.json", form::soc_name(soc), soc.ai_core_cnt)
}

/// The product that an `info_dict` stands for. Fails with [`Error::Workload`], which names the field, for one
/// that stands for something else.
pub fn workload(info: &Dict) -> Result<MatMul> {
    product::workload(info).map_err(|reason| Error::Workload { workload: "of a unified bank record".into(), reason })
}

/// The `info_dict` of a plain product: nothing fused, no bias, whole fractals. Fails with
/// [`Error::Workload`], which names the field for which TBE's rule is not known.
pub fn info_dict(workload: &MatMul) -> Result<Dict> {
    let fail = |reason| Error::Workload { workload: workload.to_string(), reason: format!("info_dict: {reason}") };
    product::info_dict(workload).map_err(fail)
}

/// The schedule that a `knowledge` stands for. Fails with [`Error::IllegalSchedule`], which names the field,
/// where it cannot be read; whether the rest is legal is for [`crate::workload::check`].
pub fn schedule(knowledge: &Dict, workload: &MatMul) -> Result<CubeSchedule> {
    tiling::schedule(knowledge, workload).map_err(illegal)
}

/// The `knowledge` that says a schedule. What no part of a schedule stands for, and what says the same
/// already, is as in `base`, the knowledge that it takes the place of; without one, as in records of kernels
/// with nothing fused. Fails with [`Error::IllegalSchedule`], which names the field, for what this form
/// cannot say.
pub fn knowledge(schedule: &CubeSchedule, workload: &MatMul, base: Option<&Dict>) -> Result<Dict> {
    tiling::knowledge(schedule, workload, base).map_err(illegal)
}

fn illegal(mut reason: String) -> Error {
    reason.insert_str(0, "unified bank record: ");
    Error::IllegalSchedule { rule: reason }
}
