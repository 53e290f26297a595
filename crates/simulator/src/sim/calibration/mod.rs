//! What a user's own device taught: corrections of predicted times, class by class of kernel.

mod fit;
mod source;

pub use fit::{FEWEST, Point, Verdict, fit, held_out, is_better};
pub use source::{BESIDE_BANK, Source};

use super::interval::Class;
use crate::soc::{Applied, Corrections, Own, Soc};
pub use crate::soc::{Correction, Group, Near};
use crate::workload::{Workload, canonical_json};
use aoe_base::input_file;
use aoe_base::status::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The version of the file's form that is written and read.
pub const VERSION: u32 = 1;

/// The group of a class; `None` for exchanges between devices, whose times hold others' waiting.
pub const fn group_of(class: Class) -> Option<Group> {
    Some(match class {
        Class::Product | Class::TbeProduct | Class::Cube | Class::Record | Class::FusedCube => Group::Cube,
        Class::Attention => Group::Attention,
        Class::Elementwise | Class::Rows => Group::Vector,
        Class::Movement | Class::Indexed => Group::Movement,
        Class::Approximated => Group::Approximated,
        Class::Collective => return None,
    })
}

/// What was learned of one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    /// Distinct problems that it comes from.
    pub problems: usize,
    /// Launches of them.
    pub rows: u64,
    /// Mean absolute error, as a share of the measured time, of problems held out: before.
    pub error_before: f64,
    /// And with a correction that was fitted to the others; none where too few were there to hold some out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_after: Option<f64>,
    /// The shortest and the longest predicted time among them, in microseconds: what it is good for.
    pub model_us: [f64; 2],
    /// The correction; none where it was refused, for `refused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<Correction>,
    /// Why there is no correction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A kernel that the profiles hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// What it computes, as records of the bank have it.
    pub workload: serde_json::Value,
    /// Launches of it.
    pub launches: u64,
    /// The correction of its time; weight 0 of one that the model has right.
    pub correction: Correction,
    /// Bytes of its operands that lay in device memory, as far as the profile's network tells; none where its kind tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed_bytes: Option<f64>,
    /// Blocks that it ran in, where the profile tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_dim: Option<u64>,
}

/// What was learned of single kernels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Kernels that were launched more than once, which tell how far launches agree.
    pub repeated: usize,
    /// Mean absolute error of the model on half of their launches.
    pub error_before: f64,
    /// And of what the other half taught.
    pub error_after: f64,
    /// The kernels, in the order of their workloads.
    pub problems: Vec<Problem>,
}

impl Known {
    /// Kernels whose times are corrected; the model has the others right.
    pub fn corrected(&self) -> usize {
        self.problems.iter().filter(|problem| problem.correction.weight > 0.0).count()
    }
}

/// What was learned of operator types: kernels say something of others of their type that take about as long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Types {
    /// Kernels whose type has another one, which tell whether types agree with themselves.
    pub compared: usize,
    /// Mean absolute error on them of what their class's correction makes.
    pub error_before: f64,
    /// And of what the others of their type taught.
    pub error_after: f64,
    /// The kernels, by class and type, in the order of their times.
    pub of: BTreeMap<Group, BTreeMap<String, Vec<Near>>>,
}

/// A calibration as its file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// [`VERSION`].
    pub version: u32,
    /// Day on which it was made, UTC.
    pub date: String,
    /// The part, by name.
    pub part: String,
    /// Its AI cores.
    pub cores: u32,
    /// CANN's version, where it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cann_version: Option<String>,
    /// The profiles that it was learned from.
    pub profiles: Vec<PathBuf>,
    /// Launches read, and those of which nothing was learned.
    pub rows: [u64; 2],
    /// In a sentence.
    pub good_for: String,
    /// Mean absolute error over all groups with a correction, of problems held out: before.
    pub error_before: f64,
    /// And after.
    pub error_after: f64,
    /// What is doubtful about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// Group by group.
    pub classes: BTreeMap<Group, Learned>,
    /// Kernel by kernel, where the profiles show that launches of one agree better than the model with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Known>,
    /// Type by type, where kernels of one agree better with each other than with the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<Types>,
}

impl Calibration {
    /// Reads a calibration file.
    ///
    /// Fails with [`Error::File`] where it cannot be read, is of another version, or holds what no fit gives.
    pub fn read(path: &Path) -> Result<Calibration> {
        let failed = |reason: String| Error::file("read", path, reason);
        let text = input_file::read_text(path)?;
        let wrong = |e: serde_json::Error| failed(format!("is no calibration as `aoe calibrate` writes it: {e}"));
        let value: serde_json::Value = serde_json::from_str(&text).map_err(wrong)?;
        if let Some(version) = value.get("version").filter(|version| **version != VERSION) {
            return Err(failed(format!("is of version {version}, not {VERSION}: make it again with `aoe calibrate`")));
        }
        let calibration: Calibration = serde_json::from_value(value).map_err(wrong)?;
        for (group, learned) in &calibration.classes {
            if learned.correction.is_some_and(|correction| !correction.is_sound()) {
                let fault = "factor above 0, constant_us from 0 and weight from 0 to 1 are expected";
                return Err(failed(format!("its correction of `{}` is none: {fault}", group.name())));
            }
        }
        let problems = calibration.known.iter().flat_map(|known| &known.problems);
        if let Some(problem) = problems.into_iter().find(|problem| !problem.correction.is_sound()) {
            return Err(failed(format!("its correction of {} is none", problem.workload)));
        }
        let types = calibration.types.iter().flat_map(|types| types.of.values()).flatten();
        if let Some((op_type, _)) = types.into_iter().find(|(_, near)| !near.iter().all(Near::is_sound)) {
            let [low, high] = [-Near::FARTHEST, Near::FARTHEST].map(f64::exp);
            let fault = format!("model_us above 0 and a factor from {low:.3} to {high:.3} are expected");
            return Err(failed(format!("a kernel of its type `{op_type}` is none: {fault}")));
        }
        Ok(calibration)
    }

    /// Fails with [`Error::Option`] where it was made for another part than this.
    pub fn check(&self, soc: &Soc) -> Result<()> {
        if self.part == soc.name && self.cores == soc.ai_core_cnt {
            return Ok(());
        }
        let Calibration { part, cores, .. } = self;
        let reason = format!(
            "it was made on {part} with {cores} cores and says nothing of {} with {}; leave it out, or name that part",
            soc.name, soc.ai_core_cnt
        );
        Err(Error::option("calibration", reason))
    }

    /// What predictions for this part are corrected by; `file` is where the calibration was read. Fails as
    /// [`Calibration::check`] does.
    pub fn corrections(&self, file: PathBuf, soc: &Soc) -> Result<Arc<Corrections>> {
        self.check(soc)?;
        let groups = self.classes.iter().filter_map(|(group, learned)| Some((*group, learned.correction?)));
        let problems = self.known.iter().flat_map(|known| &known.problems);
        let own = |&Problem { correction, missed_bytes, block_dim, .. }: &Problem| Own {
            correction,
            missed_bytes,
            block_dim,
        };
        let problems = problems.map(|problem| (problem.workload.to_string(), own(problem))).collect();
        let (part, date) = (self.part.clone(), self.date.clone());
        let of_type = |(name, near): (&String, &Vec<Near>)| (name.clone(), near.as_slice().into());
        let types = self.types.iter().flat_map(|types| &types.of);
        let types = types.map(|(group, of)| (*group, of.iter().map(of_type).collect())).collect();
        Ok(Arc::new(Corrections { file, part, date, groups: groups.collect(), types, problems }))
    }
}

/// What corrects this kernel on a part: its own correction where the calibration knows the kernel, else that of its class and
/// what others of its type say.
pub fn applied(soc: &Soc, workload: &Workload) -> Applied {
    if soc.corrections.is_none() {
        return Applied::default();
    }
    match own(soc, workload) {
        Some(own) => Some(own.correction).into(),
        None => Applied { whole: correction(soc, Class::of(workload)), near: near(soc, workload) },
    }
}

/// The kernels of its type that the calibration holds.
pub fn near(soc: &Soc, workload: &Workload) -> Option<Arc<[Near]>> {
    let of = soc.corrections.as_ref()?.types.get(&group_of(Class::of(workload))?)?;
    of.get(&type_of(workload)).cloned()
}

/// The operator's type; of a fused kernel those of its parts.
pub fn type_of(workload: &Workload) -> String {
    workload.parts().iter().map(Workload::op_type).collect::<Vec<_>>().join("+")
}

/// The correction of this very kernel.
pub fn own(soc: &Soc, workload: &Workload) -> Option<Own> {
    let problems = &soc.corrections.as_ref()?.problems;
    if problems.is_empty() { None } else { problems.get(&canonical_json(workload).to_string()).copied() }
}

/// The correction of kernels of this class on a part.
pub fn correction(soc: &Soc, class: Class) -> Option<Correction> {
    soc.corrections.as_ref()?.groups.get(&group_of(class)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Model;
    use crate::workload::MatMul;

    #[test]
    fn whatever_is_priced_for_a_corrected_part_is_corrected_and_tells_the_time_before() {
        let correction = Correction { factor: 3.0, constant_us: 1.0, weight: 1.0, from_us: 0.0 };
        let product = Workload::MatMul(MatMul::new(512, 512, 512));
        let corrections = |own: Option<Correction>| Corrections {
            file: "own.json".into(),
            part: "Ascend910B2".into(),
            date: "2026-01-02".into(),
            groups: [(Group::Cube, correction)].into(),
            types: BTreeMap::new(),
            problems: own
                .map(|correction| {
                    (canonical_json(&product).to_string(), Own { correction, missed_bytes: None, block_dim: None })
                })
                .into_iter()
                .collect(),
        };
        let price = |corrections: Option<Corrections>| {
            let mut soc = Soc::find("Ascend910B2").unwrap();
            soc.corrections = corrections.map(Arc::new);
            let schedule = crate::space::default_policy(&product, &soc).unwrap();
            Model::new(&product, &soc).unwrap().predict(&schedule).unwrap()
        };
        let (plain, corrected) = (price(None), price(Some(corrections(None))));
        assert!((corrected.time_us - (3.0 * plain.time_us + 1.0)).abs() < 1e-9 * corrected.time_us);
        assert_eq!((corrected.model_us, plain.model_us), (plain.time_us, plain.time_us));
        let other = Corrections { groups: [(Group::Vector, correction)].into(), ..corrections(None) };
        assert_eq!(price(Some(other)).time_us, plain.time_us, "it says nothing of products");
        let both =
            price(Some(corrections(Some(Correction { factor: 5.0, constant_us: 0.0, weight: 1.0, from_us: 0.0 }))));
        assert!((both.time_us - 5.0 * plain.time_us).abs() < 1e-9 * both.time_us, "its own counts before its class's");
    }
}
