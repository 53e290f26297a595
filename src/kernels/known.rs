//! What profiles teach of the very kernels that they hold: launches of one kernel agree better with each other than with
//! any model.

use super::calibrate::percent;
use super::problem::Problem;
use crate::sim::calibration::{self, Correction, Known, LEAST_GAIN};
use std::collections::BTreeMap;

/// Fewest kernels of which anything is learned: what launches of one say of each other is no problem held out.
const FEWEST: usize = 2;
/// Launches that count as much as the belief that the model is right: those of one kernel differ by about a twentieth
/// where the model errs by a fifth, so one of them says far more.
const BELIEF: f64 = 0.1;
/// Launches of one kernel that are farther apart than this factor say nothing of it.
const APART: f64 = 1.5;

/// The corrections of single kernels; the reason where too few were launched more than once, or half of their launches predicts
/// the others no better than the model does.
pub(super) fn learn<'a>(problems: impl Iterator<Item = &'a Problem>) -> Result<Known, String> {
    let mut workloads: BTreeMap<&str, Vec<&Problem>> = BTreeMap::new();
    for problem in problems {
        workloads.entry(&problem.workload).or_default().push(problem);
    }
    // Kernels that differ in what a workload does not hold are not one.
    let alone = || workloads.values().filter_map(|of| if let [one] = of.as_slice() { Some(*one) } else { None });
    let repeated: Vec<(f64, [f64; 2])> =
        alone().filter_map(|problem| Some((problem.model_us, problem.halves?))).collect();
    let mean = |predicted: fn(f64, f64) -> f64| {
        let off = |&(model, [first, second]): &(f64, [f64; 2])| (predicted(model, first) / second - 1.0).abs();
        repeated.iter().map(off).sum::<f64>() / repeated.len().max(1) as f64
    };
    let (error_before, error_after) = (mean(|model, _| model), mean(|_, first| first));
    if workloads.len() < FEWEST {
        return Err("there is no other kernel to hold out".to_owned());
    }
    if repeated.is_empty() {
        return Err("none was launched more than once".to_owned());
    }
    if error_after >= error_before * (1.0 - LEAST_GAIN) {
        let [before, after] = [error_before, error_after].map(percent);
        return Err(format!("no gain on half of their launches ({before} before, {after} after)"));
    }
    let problems: Vec<calibration::Problem> = alone().filter(|problem| is_steady(problem)).map(own).collect();
    if problems.is_empty() {
        return Err(format!("launches of each are more than a factor {APART} apart"));
    }
    Ok(Known { repeated: repeated.len(), error_before, error_after, problems })
}

fn is_steady(problem: &Problem) -> bool {
    let halves = problem.halves.is_none_or(|[first, second]| first.max(second) <= APART * first.min(second));
    halves && !problem.contradicts()
}

fn own(problem: &Problem) -> calibration::Problem {
    let launches = problem.launches as f64;
    let correction = Correction {
        factor: problem.point().measured_us / problem.model_us,
        constant_us: 0.0,
        weight: launches / (launches + BELIEF),
    };
    let workload = serde_json::from_str(&problem.workload).unwrap_or_default();
    calibration::Problem { workload, launches: problem.launches, correction }
}
