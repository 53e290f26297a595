//! The products of all steps, tuned once each; and what of it a bank can bring to the network.

use super::Deployment;
use super::expand::{Step, kernels};
use super::kernel::{Class as Kind, Kernel};
use super::model::Model;
use super::price::cold_case;
use crate::backend::Backend;
use crate::backend::simulator::Simulator;
use crate::bank::{Form, Measured, OperatorBank};
use crate::simulate;
use crate::soc::{Arch, Soc};
use crate::space::{default_origin, version};
use crate::status::{Error, Result};
use crate::tune::Finding;
use crate::tune::evaluate::{Evaluation, Recorded, Settings, evaluate};
use crate::workload::{Schedule, Workload};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// A gain that shows in a report.
const LEAST_GAIN: f64 = 1e-3;

/// Whether a tiling that was found comes to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The operator's host code queries the bank.
    Bank,
    /// It does not.
    NoBank,
}

/// A product of the network, tuned.
#[derive(Debug, Clone, Serialize)]
pub struct Tuned {
    /// The launched operator.
    pub op: String,
    /// Parts of the model that launch it.
    pub roles: BTreeSet<&'static str>,
    /// What it does.
    pub work: String,
    /// Whether a record comes to run.
    pub reach: Reach,
    /// What does, where none can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lever: Option<&'static str>,
    /// Microseconds of a launch with CANN's default tiling.
    pub before_us: f64,
    /// Microseconds with what the bank had before, where it had a tiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub banked_us: Option<f64>,
    /// Microseconds with the best tiling that is sure to be one; with the bank's or the default, where none is.
    pub after_us: f64,
    /// Microseconds of a tiling that seems better and may not be: a time of it and of the default on the device would
    /// decide. The bank gets no record of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsure_us: Option<f64>,
    /// What the tiling that was found gains over what runs today; `None` where nothing better was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// Whether a record of it was written.
    pub recorded: bool,
    /// Whether one of what may not be better was written into the bank to measure: only the estimate of CANN's default is
    /// in doubt.
    pub to_measure: bool,
    /// The tiling found.
    pub schedule: Schedule,
    /// The case that it was priced as.
    #[serde(skip)]
    pub case: String,
    #[serde(skip)]
    workload: Workload,
    /// What becomes of it, where it is better than what runs today.
    #[serde(skip)]
    finding: Option<Finding>,
}

/// Microseconds of a launch that a tiling gains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gain {
    /// By the model.
    pub us: f64,
    /// Nine of ten true gains lie between; a record is written where all of it is above 0.
    pub interval_us: [f64; 2],
}

/// What the records of a run give.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Given {
    /// Records written.
    pub written: usize,
    /// Products whose operator asks a bank.
    pub asking: usize,
    /// The one of them with the largest gain of a launch; `None` where nothing better was found for any.
    pub largest: Option<Largest>,
}

/// The largest gain of a launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Largest {
    /// The launched operator.
    pub op: String,
    /// What it does.
    pub work: String,
    /// Microseconds of a launch today.
    pub before_us: f64,
    /// What it gains.
    #[serde(flatten)]
    pub gain: Gain,
}

impl Given {
    /// Of tuned products.
    pub(super) fn of(products: &[Tuned]) -> Given {
        let asking: Vec<&Tuned> = products.iter().filter(|product| product.reach == Reach::Bank).collect();
        let gains = asking.iter().filter_map(|product| Some((product, product.gain?)));
        let largest = gains.max_by(|(_, a), (_, b)| a.us.total_cmp(&b.us)).map(|(product, gain)| Largest {
            op: product.op.clone(),
            work: product.work.clone(),
            before_us: product.banked_us.unwrap_or(product.before_us),
            gain,
        });
        Given { written: products.iter().filter(|product| product.recorded).count(), asking: asking.len(), largest }
    }
}

/// What to do about an operator whose host code asks no bank.
pub fn lever(op: &str, arch: Arch) -> &'static str {
    match op {
        "MatMulV2" | "BatchMatMulV2" if !arch.has_third_products() => {
            "none by record: its host code asks no bank in public sources, and MatMulV3, which does, is not launched on this part"
        }
        "MatMulV2" | "BatchMatMulV2" => {
            "none by record: its host code asks no bank in public sources; compile the shape statically, or reshape it so that MatMulV3 takes it"
        }
        "GroupedMatmul" => "`tuning_config` of npu_grouped_matmul (rows of an expert)",
        "QuantBatchMatmulV3" => "weights in FRACTAL_NZ, which it has no tiling choice beside",
        "WeightQuantBatchMatmulV2" => "w8a8 in its place from batches on that the cube bounds",
        "TransposeBatchMatMul" => "none by record; fused kernels of the serving stack (mla_preprocess)",
        _ => "none known",
    }
}

/// Where records go.
pub struct Banks<'a> {
    /// What surely gains; also read.
    pub bank: &'a mut OperatorBank,
    /// What a measurement is to decide about; only written.
    pub to_measure: &'a mut OperatorBank,
}

/// A product before it is tuned.
pub(super) struct Problem {
    op: String,
    roles: BTreeSet<&'static str>,
    workload: Workload,
    missed: Option<f64>,
    case: String,
    default: Schedule,
}

impl Problem {
    /// The product of a case. Fails as [`simulate::read`] does.
    pub fn of(op: &str, role: &'static str, case: &str, soc: &Soc) -> Result<Problem> {
        let job = simulate::read(case, soc)?;
        let (workload, missed, default) = (job.workload, job.missed, job.schedule);
        Ok(Problem { op: op.to_owned(), roles: [role].into(), workload, missed, case: case.to_owned(), default })
    }

    /// Whether a record comes to run.
    pub fn reach(&self, soc: &Soc) -> Reach {
        reach(&self.op, &self.workload, soc)
    }

    /// What tells its record from others in a bank: the operator's type and the key.
    ///
    /// Fails with [`Error::Workload`] for a workload that has no key.
    pub fn record(&self, soc: &Soc) -> Result<(String, Vec<u8>)> {
        let form = Form::of(&self.workload, soc);
        Ok((form.op_type(&self.workload).to_owned(), form.key_of(&self.workload)?.bytes().to_vec()))
    }

    /// What is to be done.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }
}

/// The distinct products of these steps, in the order in which they first occur. Fails as [`simulate::read`] does.
pub(super) fn problems(model: &Model, deployment: &Deployment, steps: &[Step], soc: &Soc) -> Result<Vec<Problem>> {
    let mut problems: Vec<Problem> = Vec::new();
    let mut places: FxHashMap<(String, String), usize> = FxHashMap::default();
    for step in steps {
        let products = kernels(model, deployment, *step, soc.arch).into_iter().filter(is_product);
        for kernel in products {
            let case = cold_case(&kernel, soc.l2_size).to_string();
            let key = (kernel.op_type().to_owned(), case);
            if let Some(&place) = places.get(&key) {
                problems[place].roles.insert(kernel.role);
                continue;
            }
            problems.push(Problem::of(&key.0, kernel.role, &key.1, soc)?);
            places.insert(key, problems.len() - 1);
        }
    }
    Ok(problems)
}

pub(super) fn is_product(kernel: &Kernel) -> bool {
    matches!(kernel.class, Kind::Product | Kind::Grouped)
}

/// Whether the bank of a launched operator is asked for a workload.
fn reach(op: &str, workload: &Workload, soc: &Soc) -> Reach {
    let asks =
        matches!(Form::of(workload, soc), Form::Runtime(layout) if layout.op_type() == op || op == "BatchMatMulV3");
    if asks { Reach::Bank } else { Reach::NoBank }
}

/// Searches the best tiling of each problem; what was not searched when `cancel` was set is left out.
///
/// Fails with [`Error::Tuning`] for a problem that cannot be priced, and as the bank does where it cannot be read.
pub(super) fn tune(
    problems: Vec<Problem>,
    soc: &Soc,
    bank: &OperatorBank,
    settings: &Settings,
    cancel: &AtomicBool,
) -> Result<Vec<Tuned>> {
    let banked = |problem: &Problem| -> Result<Option<Schedule>> {
        Ok(match reach(&problem.op, &problem.workload, soc) {
            Reach::Bank => {
                bank.lookup(&problem.workload)?.filter(|entry| entry.is_read_by_cann).map(|entry| entry.schedule)
            }
            Reach::NoBank => None,
        })
    };
    let banked = problems.iter().map(banked).collect::<Result<Vec<_>>>()?;
    let records: Vec<Recorded> =
        problems.iter().zip(&banked).map(|(problem, banked)| problem.recorded(banked.as_ref(), soc)).collect();
    let answers = evaluate(&records, settings, cancel);
    let tuned = problems.into_iter().zip(banked).zip(answers).filter_map(|(problem, answer)| Some((problem, answer?)));
    tuned.map(|((problem, banked), answer)| problem.tuned(banked.is_some(), answer, soc)).collect()
}

impl Problem {
    /// The tiling that runs today, to be priced.
    fn recorded(&self, banked: Option<&Schedule>, soc: &Soc) -> Recorded {
        let schedule = Ok(banked.unwrap_or(&self.default).clone());
        let (workload, missed, soc) = (self.workload.clone(), self.missed, soc.clone());
        Recorded { workload, schedule, missed, soc }
    }

    /// What an evaluation comes to.
    fn tuned(self, in_bank: bool, answer: Result<Evaluation, String>, soc: &Soc) -> Result<Tuned> {
        let reason = |reason: String| Error::Workload { workload: self.workload.to_string(), reason };
        let Evaluation { recorded_us, default_us, ours_us, ours } = answer.map_err(reason)?;
        let today_us = recorded_us.map_err(reason)?;
        let reach = reach(&self.op, &self.workload, soc);
        let simulator = Simulator::new(soc.clone());
        // What the bank has is a tiling that is known.
        let over = if in_bank { simulator.doubt(&self.workload) } else { simulator.doubt_over_default(&self.workload) };
        let finding = Finding::predicted([today_us, ours_us], over, reach == Reach::Bank);
        let is_better = ours_us < today_us * (1.0 - LEAST_GAIN);
        let finding = is_better.then_some(finding);
        let interval_us = [over.low, over.high].map(|end| today_us - ours_us / end);
        let gain = is_better.then_some(Gain { us: today_us - ours_us, interval_us });
        Ok(Tuned {
            lever: (reach == Reach::NoBank).then(|| lever(&self.op, soc.arch)),
            work: without_type(&self.workload),
            reach,
            before_us: if in_bank { default_us } else { today_us },
            banked_us: in_bank.then_some(today_us),
            after_us: if finding == Some(Finding::Sure) { ours_us } else { today_us },
            unsure_us: finding.filter(|finding| *finding != Finding::Sure).map(|_| ours_us),
            gain,
            recorded: false,
            to_measure: false,
            schedule: ours,
            finding,
            op: self.op,
            roles: self.roles,
            case: self.case,
            workload: self.workload,
        })
    }
}

/// A workload without the type that its kind goes by, beside which stands that of the launched operator.
fn without_type(workload: &Workload) -> String {
    let text = workload.to_string();
    text.strip_prefix(workload.op_type()).map_or(text.as_str(), str::trim_start).to_owned()
}

impl Tuned {
    /// What became of it, in a word or two.
    pub fn outcome(&self) -> &'static str {
        match self {
            Tuned { recorded: true, .. } => "recorded",
            Tuned { to_measure: true, .. } => "to measure",
            Tuned { reach: Reach::NoBank, .. } => "no bank",
            Tuned { unsure_us: Some(_), .. } => "not sure",
            Tuned { banked_us: Some(_), .. } => "already in the bank",
            _ => "as good",
        }
    }

    fn gains(&self) -> bool {
        self.after_us < self.before_us
    }
}

/// Writes records of what gained and what a bank is asked for, those that a measurement is to decide about into a bank of
/// their own; answers the files changed of both. After a cancel too: what was found is kept.
///
/// Fails as [`OperatorBank::record`] and [`OperatorBank::save`] do.
pub(super) fn write(tuned: &mut [Tuned], soc: &Soc, banks: &mut Banks<'_>) -> Result<[Vec<PathBuf>; 2]> {
    for product in tuned.iter_mut().filter(|product| product.reach == Reach::Bank) {
        let (bank, is_written) = match product.finding {
            Some(Finding::Sure) => (&mut *banks.bank, &mut product.recorded),
            Some(Finding::ToMeasure) => (&mut *banks.to_measure, &mut product.to_measure),
            Some(Finding::NotSure) | None => continue,
        };
        let workload = &product.workload;
        let measured = Measured {
            before_us: product.before_us,
            after_us: product.unsure_us.unwrap_or(product.after_us),
            backend: Simulator::NAME.to_owned(),
            space: version(workload),
            default: default_origin(workload, soc),
        };
        bank.record(workload, &product.schedule, &measured)?;
        *is_written = true;
    }
    Ok([banks.bank.save()?, banks.to_measure.save()?])
}

/// Microseconds of the cases that records decide.
pub(super) fn times(tuned: &[Tuned]) -> FxHashMap<String, f64> {
    let reached = tuned.iter().filter(|product| product.reach == Reach::Bank && product.gains());
    reached.map(|product| (product.case.clone(), product.after_us)).collect()
}

/// Whether a caller asked to stop.
pub(super) fn stopped(cancel: &AtomicBool) -> bool {
    cancel.load(Ordering::Acquire)
}
