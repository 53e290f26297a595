//! What a user's own device taught: corrections of predicted times, class by class of kernel.

mod fit;

pub use fit::{FEWEST, LEAST_GAIN, Point, fit, held_out};

use super::interval::Class;
use crate::input_file;
use crate::soc::Soc;
use crate::status::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The version of the file's form that is written and read.
pub const VERSION: u32 = 1;

/// Classes of kernels that are corrected together: fewer than those of intervals, because few rows must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Products and convolutions, with vector work on their results or without.
    Cube,
    /// Attention as one kernel.
    Attention,
    /// Vector work on each element or along an axis.
    Vector,
    /// Data movement, by index or not.
    Movement,
    /// What the model prices as the movement of its data for want of anything better.
    Approximated,
}

impl Group {
    /// The group of a class; `None` for exchanges between devices, whose times hold others' waiting.
    pub const fn of(class: Class) -> Option<Group> {
        Some(match class {
            Class::Product | Class::TbeProduct | Class::Cube | Class::Record | Class::FusedCube => Group::Cube,
            Class::Attention => Group::Attention,
            Class::Elementwise | Class::Rows => Group::Vector,
            Class::Movement | Class::Indexed => Group::Movement,
            Class::Approximated => Group::Approximated,
            Class::Collective => return None,
        })
    }

    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Cube => "cube",
            Group::Attention => "attention",
            Group::Vector => "vector",
            Group::Movement => "movement",
            Group::Approximated => "approximated",
        }
    }
}

/// A monotone correction: `t^(1 - weight) * (factor * t + constant_us)^weight`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// What predicted times are multiplied by.
    pub factor: f64,
    /// Microseconds that every kernel takes besides, 0 or more.
    pub constant_us: f64,
    /// How much of it counts, 0 to 1: the rest is the model as it was.
    pub weight: f64,
}

impl Correction {
    /// The corrected time of a kernel that is predicted to take `time_us`.
    pub fn time_us(&self, time_us: f64) -> f64 {
        time_us.powf(1.0 - self.weight) * (self.factor * time_us + self.constant_us).powf(self.weight)
    }

    fn is_sound(&self) -> bool {
        let Correction { factor, constant_us, weight } = *self;
        factor.is_finite()
            && factor > 0.0
            && constant_us.is_finite()
            && constant_us >= 0.0
            && (0.0..=1.0).contains(&weight)
    }
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
    /// Launches read, and those that could not be priced.
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

    /// The correction of kernels of this class.
    pub fn of(&self, class: Class) -> Option<Correction> {
        self.classes.get(&Group::of(class)?)?.correction
    }
}
