//! The launches of a run, in their order and grouped.

use crate::profile::{Kernel, Run, shapes, types_and_formats};
use crate::soc::CorrectedBy;
use crate::tune::UNKNOWN;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a network launches on one part.
#[derive(Debug, Serialize)]
pub struct Listing {
    /// The network.
    pub network: String,
    /// The part.
    pub soc: String,
    /// The calibration that corrected the times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<CorrectedBy>,
    /// Launches in one run.
    pub count: usize,
    /// Predicted microseconds of all of them.
    pub total_us: f64,
    /// Launches among them of which no time is told, because it is not known how they work.
    pub untimed: usize,
    /// The nodes that launch those, and why it is not known.
    pub unknown: Vec<Unknown>,
    /// Groups of CANN's fusion among them, by pass.
    pub ub_fusion: BTreeMap<&'static str, u64>,
    /// Every launch, in order.
    pub kernels: Vec<Launch>,
    /// Launches that are alike, in the order in which they first occur.
    pub groups: Vec<Alike>,
}

/// A node of which it is not known how its operator works.
#[derive(Debug, Clone, Serialize)]
pub struct Unknown {
    /// Its name.
    pub name: String,
    /// What the framework calls the operator.
    #[serde(rename = "type")]
    pub op_type: String,
    /// Why, where the reader of the model knew.
    pub reason: Option<String>,
}

impl Unknown {
    /// Why it is not known, in words.
    pub fn why(&self) -> &str {
        self.reason.as_deref().unwrap_or(UNKNOWN)
    }
}

/// What a kernel is, as a profile tells it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Signature {
    /// CANN's operator type.
    #[serde(rename = "type")]
    pub op_type: String,
    /// What runs it: CANN's task type.
    pub task_type: &'static str,
    /// Shapes of what it reads: axes by commas, tensors by semicolons.
    pub input_shapes: String,
    /// Their types.
    pub input_types: String,
    /// Their formats.
    pub input_formats: String,
    /// Shapes of what it writes.
    pub output_shapes: String,
    /// Their types.
    pub output_types: String,
    /// Their formats.
    pub output_formats: String,
}

/// One launch.
#[derive(Debug, Serialize)]
pub struct Launch {
    /// Its name, those of all nodes fused into it one behind the other, as CANN makes it.
    pub name: String,
    /// What it is.
    #[serde(flatten)]
    pub signature: Signature,
    /// Blocks that it runs in on the cores that lead, as a profile has them; 0 where nothing runs in blocks.
    pub blocks: u32,
    /// Predicted microseconds; 0 where no time is told.
    pub us: f64,
    /// Whether a time is told.
    pub timed: bool,
}

/// Launches that do the same.
#[derive(Debug, Serialize)]
pub struct Alike {
    /// What they are.
    #[serde(flatten)]
    pub signature: Signature,
    /// How many they are.
    pub count: u64,
    /// Predicted microseconds of one, on average of those that have a time.
    pub us: f64,
    /// Of all of them.
    pub total_us: f64,
    /// How many of them have no time.
    pub untimed: u64,
}

impl Listing {
    /// The launches of a run, with what is unknown of its network.
    pub fn of(run: &Run, ub_fusion: BTreeMap<&'static str, u64>, unknown: Vec<Unknown>) -> Listing {
        let signatures: Vec<Signature> = run.kernels.iter().map(signature).collect();
        let launch = |kernel: usize| Launch {
            name: run.kernels[kernel].launched.clone(),
            signature: signatures[kernel].clone(),
            blocks: run.kernels[kernel].blocks(),
            us: run.kernels[kernel].us(),
            timed: run.kernels[kernel].duration_us.is_some(),
        };
        let kernels: Vec<Launch> = run.tasks.iter().map(|task| launch(task.kernel)).collect();
        Listing {
            network: run.network.clone(),
            soc: run.soc.name.clone(),
            calibration: run.soc.corrections.as_ref().map(|corrections| corrections.named()),
            count: kernels.len(),
            total_us: run.total_us(),
            untimed: run.tasks.iter().filter(|task| run.kernels[task.kernel].duration_us.is_none()).count(),
            unknown,
            ub_fusion,
            groups: groups(&kernels),
            kernels,
        }
    }
}

pub(super) fn signature(kernel: &Kernel) -> Signature {
    let text = |tensors| {
        let [types, formats] = types_and_formats(tensors);
        [shapes(tensors).trim_matches('"').to_owned(), types, formats]
    };
    let [input_shapes, input_types, input_formats] = text(&kernel.inputs);
    let [output_shapes, output_types, output_formats] = text(&kernel.outputs);
    let (op_type, task_type) = (kernel.op_type.clone(), kernel.engine.task_type());
    Signature {
        op_type,
        task_type,
        input_shapes,
        input_types,
        input_formats,
        output_shapes,
        output_types,
        output_formats,
    }
}

fn groups(kernels: &[Launch]) -> Vec<Alike> {
    let mut places: FxHashMap<&Signature, usize> = FxHashMap::default();
    let mut groups: Vec<Alike> = Vec::new();
    for kernel in kernels {
        let next = groups.len();
        let place = *places.entry(&kernel.signature).or_insert(next);
        if place == next {
            groups.push(Alike { signature: kernel.signature.clone(), count: 0, us: 0.0, total_us: 0.0, untimed: 0 });
        }
        groups[place].count += 1;
        groups[place].total_us += kernel.us;
        groups[place].untimed += u64::from(!kernel.timed);
    }
    for group in &mut groups {
        group.us = group.total_us / (group.count - group.untimed).max(1) as f64;
    }
    groups
}
