//! `op_tuning/<Op>_<dtype>.json`: the operators of each type, with their tilings and searches.

use super::counts::to_text;
use super::figures::gain;
use super::kernel::{Kernel, kernel};
use crate::graph::DataType;
use crate::soc::Soc;
use crate::status::Result;
use crate::tune::{BankStatus, CaseOutcome, OpatOutcome};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most characters of an operator type in a file name; names of files end at 255.
const MAX_NAME: usize = 128;

/// Operators of one type on one element type; the first one's, where a file name cannot tell two types apart. Times are microseconds of all their launches, not rounded.
#[derive(Debug, Serialize)]
struct Group<'a> {
    after_us: f64,
    before_us: f64,
    dtype: &'static str,
    graph: &'a str,
    improvement: String,
    kernels: Vec<Kernel<'a>>,
    op_type: &'a str,
}

/// What tells such a file from another's.
#[derive(Deserialize)]
struct Identity {
    dtype: String,
    op_type: String,
}

/// Name and content of each file, by name. Operators that are no tuning problem are left out.
pub fn op_tuning(outcome: &OpatOutcome, soc: Option<&Soc>) -> Result<Vec<(String, String)>> {
    let mut groups: BTreeMap<String, Vec<&CaseOutcome>> = BTreeMap::new();
    let is_problem = |case: &&CaseOutcome| case.status.is_tuned() || matches!(case.status, BankStatus::Failed(_));
    for case in outcome.cases.iter().filter(is_problem) {
        groups.entry(file_name(case.op_type(), dtype(case))).or_default().push(case);
    }
    let text = |cases: &[&CaseOutcome]| {
        let sum = |us: fn(&CaseOutcome) -> f64| cases.iter().map(|case| us(case) * case.count() as f64).sum();
        let (before_us, after_us): (f64, f64) = (sum(|case| case.before_us), sum(|case| case.after_us));
        to_text(&Group {
            after_us,
            before_us,
            dtype: dtype(cases[0]),
            graph: &outcome.tuning.graph,
            improvement: gain(before_us, after_us),
            kernels: cases.iter().map(|case| kernel(case, soc)).collect(),
            op_type: cases[0].op_type(),
        })
    };
    groups.into_iter().map(|(name, cases)| Ok((name, text(&cases)?))).collect()
}

/// Whether a file of this name and content is one that [`op_tuning`] made.
pub fn is_ours(name: &str, content: &[u8]) -> bool {
    let identity: serde_json::Result<Identity> = serde_json::from_slice(content);
    identity.is_ok_and(|file| name == file_name(&file.op_type, &file.dtype))
}

/// `MatMulV3_fp16.json`. What a file name should not hold becomes `-`.
fn file_name(op_type: &str, dtype: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let op_type: String = op_type.chars().map(plain).take(MAX_NAME).collect();
    format!("{op_type}_{dtype}.json")
}

/// The element type by the short name that file names have.
fn dtype(case: &CaseOutcome) -> &'static str {
    match case.workload.dtype() {
        None => "none",
        Some(DataType::Float) => "fp32",
        Some(DataType::Float16) => "fp16",
        Some(DataType::Bfloat16) => "bf16",
        Some(DataType::Double) => "fp64",
        Some(other) => other.name(),
    }
}
