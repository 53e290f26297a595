//! The banks of TBE's cube operators: the unified bank, read and written, and the tiling repository before
//! it, read. `docs/banks/unified.md` describes both.
//!
//! `python` is JSON as Python has it, over whose text the keys are summed; `file` the bank itself, `entry` what it holds under a key; `operator` who
//! asks it, `product` and `conv` what they ask for, `tiling` what they are answered; `repository` the older
//! generation. What a tiling must satisfy is in [`crate::tiling::tbe`].

mod conv;
mod entry;
mod file;
mod operator;
mod product;
mod python;
mod repository;
mod tiling;

#[cfg(test)]
mod tests;

pub use entry::{Element, Entry, key};
pub use file::Bank;
pub use operator::Operator;
pub use python::{Dict, Value};
pub use repository::{Repository, Row};

use super::names;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tiling::Platform;
use crate::tiling::tbe::{Strength, TbeTiling, conv2d, matmul};
use crate::workload::{CubeSchedule, CubeShape, MatMulKernel, Workload};
use operator::Work;
use tiling::Unread;

/// Name of the bank file of an operator type, as `info_dict` has it: `matmul`.
pub fn file_name(op_type: &str, soc: &Soc) -> String {
    let op = names::file_safe(&op_type.to_lowercase(), b"_");
    format!("{}_{}_AiCore_{op}.json", names::soc_name(soc), soc.ai_core_cnt)
}

/// The operator type of an `info_dict`; that of a forward convolution does not say it.
pub fn op_type(info: &Dict) -> Option<&str> {
    match info.get("op_type") {
        Some(op) => op.as_str(),
        None => info.get("fm_shape").map(|_| Operator::Conv2d.op_type()),
    }
}

/// The work that an `info_dict` stands for. Fails with [`Error::Workload`], which names the field, for one
/// that stands for something else.
pub fn workload(info: &Dict) -> Result<Workload> {
    let is_product = op_type(info).is_none_or(|op| op == Operator::MatMul.op_type());
    let read = if is_product { product::workload(info).map(Workload::MatMul) } else { conv::workload(info) };
    read.map_err(|reason| Error::Workload { workload: "of a unified bank record".into(), reason })
}

/// Every `info_dict` under which TBE may ask for a workload, the likeliest first: plain products of whole fractals,
/// and convolutions. Fails with [`Error::Workload`], which names the field for which TBE's rule is not known.
pub fn info_dicts(workload: &Workload) -> Result<Vec<Dict>> {
    let fail = |reason| Error::Workload { workload: workload.to_string(), reason: format!("info_dict: {reason}") };
    let work =
        Work::of(workload).ok_or_else(|| fail("no work of an operator that asks the unified bank".to_owned()))?;
    work.info_dicts().map_err(fail)
}

/// Why nothing is known under which TBE would ask for a workload; `None` where something is, and for work of `AscendC`'s
/// kernels, which do not ask.
pub fn why_not(workload: &Workload) -> Option<String> {
    match Work::of(workload) {
        Some(Work::Product(w)) if w.kernel != MatMulKernel::Tbe => None,
        Some(work) => work.info_dicts().err(),
        None => Some("`fixpipe_fused_type`: how TBE names what is fused into it is not known".into()),
    }
}

/// The first of [`info_dicts`].
pub fn info_dict(workload: &Workload) -> Result<Dict> {
    info_dicts(workload)?
        .into_iter()
        .next()
        .ok_or_else(|| Error::Workload { workload: workload.to_string(), reason: "nothing asks for it".into() })
}

/// The schedule that a `knowledge` stands for. Fails with [`Error::IllegalSchedule`], which names the field,
/// where it lacks something or contradicts itself, and with [`Error::Unsupported`] where it says what is not understood;
/// whether the rest is legal is for [`accepts`] and [`crate::workload::check`].
pub fn schedule(knowledge: &Dict, workload: &Workload) -> Result<CubeSchedule> {
    let (work, shape) = work(workload)?;
    let tiling = tiling::read(knowledge, &shape).map_err(|unread| match unread {
        Unread::Wrong(reason) => illegal(reason),
        Unread::NotUnderstood(reason) => Error::Unsupported { what: "this tiling of the unified bank".into(), reason },
    })?;
    match work {
        Work::Product(_) => tiling.schedule(&shape),
        Work::Conv(w, _) => conv2d::schedule(&tiling, w),
    }
    .map_err(illegal)
}

/// The `knowledge` that says a schedule. What no part of a schedule stands for, and what says the same
/// already, is as in `base`, the knowledge that it takes the place of; without one, as in records of kernels
/// with nothing fused. Fails with [`Error::IllegalSchedule`], which names the field, for what this form
/// cannot say.
pub fn knowledge(schedule: &CubeSchedule, workload: &Workload, base: Option<&Dict>) -> Result<Dict> {
    let (work, shape) = work(workload)?;
    let tiling = of_schedule(schedule, work)?;
    let mut said = tiling::knowledge(&tiling, &shape, base).map_err(illegal)?;
    if matches!(work, Work::Conv(..)) {
        tiling::copy_out(&mut said);
    }
    Ok(said)
}

/// The tiling of TBE's that says a schedule. Fails as [`check`] does.
pub fn tiling(schedule: &CubeSchedule, workload: &Workload, soc: &Soc) -> Result<TbeTiling> {
    let work = work(workload)?.0;
    let tiling = of_schedule(schedule, work)?;
    judge(&tiling, work, soc, Strength::Written).map(|()| tiling)
}

/// Fails with [`Error::IllegalSchedule`] for a schedule that this form cannot say, or whose record we do not know
/// TBE's kernels to compute right: none of those is written.
pub fn check(schedule: &CubeSchedule, workload: &Workload, soc: &Soc) -> Result<()> {
    tiling(schedule, workload, soc).map(drop)
}

/// Fails with [`Error::IllegalSchedule`] for a record at which TBE's compilation would stop, or that the part cannot
/// hold.
pub fn accepts(knowledge: &Dict, workload: &Workload, soc: &Soc) -> Result<()> {
    let (work, shape) = work(workload)?;
    // At what TBE stops for a product is not known.
    if let Work::Conv(..) = work {
        let tiling = tiling::read(knowledge, &shape).map_err(|unread| illegal(unread.reason()))?;
        tiling::check_copy_out(knowledge).map_err(illegal)?;
        judge(&tiling, work, soc, Strength::Accepted)?;
    }
    Ok(())
}

/// The records of a bank: each `info_dict` with the text of the fastest tiling for it. A key is summed over the text of
/// the first.
pub fn records(bank: &Bank) -> impl Iterator<Item = (&Dict, String)> {
    bank.entries().filter_map(Entry::best).map(|element| (element.info_dict(), element.knowledge().dumps()))
}

/// Records the tiling of a text for the `info_dict` of a text. Fails as [`Bank::put`] does, and for texts that are no
/// objects.
pub(super) fn put(bank: &mut Bank, info: &str, knowledge: &str, cost_us: f64) -> Result<()> {
    let dict = |text: &str| Value::parse(text).ok().and_then(|value| value.as_dict().cloned());
    let none = || illegal("it is no record of this bank".to_owned());
    let (info, knowledge) = dict(info).zip(dict(knowledge)).ok_or_else(none)?;
    bank.put(&info, &knowledge, cost_us)
}

fn of_schedule(schedule: &CubeSchedule, work: Work<'_>) -> Result<TbeTiling> {
    match work {
        Work::Product(w) => TbeTiling::of(schedule, &w.cube()),
        Work::Conv(w, _) => conv2d::of_schedule(schedule, w),
    }
    .map_err(illegal)
}

fn judge(tiling: &TbeTiling, work: Work<'_>, soc: &Soc, strength: Strength) -> Result<()> {
    let platform = Platform::of(soc);
    match work {
        Work::Product(w) => matmul::check(tiling, w, &platform, strength),
        Work::Conv(w, _) => conv2d::check(tiling, w, &platform, strength),
    }
    .map_err(illegal)
}

fn work(workload: &Workload) -> Result<(Work<'_>, CubeShape)> {
    let none = || illegal(format!("{workload} is no work of an operator that asks this bank"));
    let work = Work::of(workload).ok_or_else(none)?;
    let shape = match work {
        Work::Product(w) => w.cube(),
        Work::Conv(w, _) => w.cube(),
    };
    Ok((work, shape))
}

fn illegal(mut reason: String) -> Error {
    reason.insert_str(0, "unified bank record: ");
    Error::IllegalSchedule { rule: reason }
}
