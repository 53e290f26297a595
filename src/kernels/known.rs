//! What profiles teach of the very kernels that they hold: launches of one kernel agree better with each other than with
//! any model.

use super::problem::{CONTRADICTION, Problem, percent};
use crate::sim::calibration::{self, Correction, Known, is_better};
use std::collections::BTreeMap;

/// Fewest kernels of which anything is learned: what launches of one say of each other is no problem held out.
const FEWEST: usize = 2;
/// Launches that count as much as the belief that the model is right: those of one kernel differ by about a twentieth
/// where the model errs by a fifth, so one of them says far more.
const BELIEF: f64 = 0.1;
/// Share of its time within which the model has a kernel right, however alike its launches are: what a profile does not tell of
/// it, such as an activation that is fused into it, makes as much.
const AGREES: f64 = 0.02;

/// A kernel whose time stays the model's, whatever its class gets.
const RIGHT: Correction = Correction { factor: 1.0, constant_us: 0.0, weight: 0.0, from_us: 0.0 };

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
    if !is_better(error_before, error_after) {
        let [before, after] = [error_before, error_after].map(percent);
        return Err(format!("no gain on half of their launches ({before} before, {after} after)"));
    }
    if error_before < AGREES {
        let before = percent(error_before);
        return Err(format!("the model has half of their launches right as it is ({before} off)"));
    }
    let problems: Vec<calibration::Problem> = alone().filter(|problem| is_steady(problem)).map(own).collect();
    if problems.is_empty() {
        return Err(format!("launches of each are more than a factor {CONTRADICTION} apart"));
    }
    if problems.iter().all(|problem| problem.correction == RIGHT) {
        return Err("the model has each right within what its launches differ by".to_owned());
    }
    Ok(Known { repeated: repeated.len(), error_before, error_after, problems })
}

fn is_steady(problem: &Problem) -> bool {
    !problem.is_scattered() && !problem.contradicts()
}

/// Whether the model is as far from the launches as they are from each other, by one standard deviation, or as launches are.
fn is_right(problem: &Problem) -> bool {
    let scatter = problem.spread.sqrt().max(1.0 + AGREES);
    (problem.point().measured_us / problem.model_us).ln().abs() <= scatter.ln()
}

fn own(problem: &Problem) -> calibration::Problem {
    let launches = problem.launches as f64;
    let correction = if is_right(problem) {
        RIGHT
    } else {
        let factor = problem.point().measured_us / problem.model_us;
        Correction { factor, constant_us: 0.0, weight: launches / (launches + BELIEF), from_us: 0.0 }
    };
    let workload = serde_json::from_str(&problem.workload).unwrap_or_default();
    let Problem { launches, missed_bytes, block_dim, .. } = *problem;
    calibration::Problem { workload, launches, correction, missed_bytes, block_dim }
}
