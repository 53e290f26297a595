//! What a profiler saw, tuned: the engine of `aoe --profile`.

use super::price::start_beside;
use super::records::{self, Banks, Problem, Reach, Tuned};
use crate::cases::Parts;
use crate::kernels::{Profile, Seen, calibrate_profile, is_product};
use crate::sim::calibration::Calibration as OfPart;
use crate::simulate;
use crate::soc::{CorrectedBy, Soc};
use crate::status::{Error, Result};
use crate::tune::evaluate::Settings;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// A kernel of a profile, measured beside predicted.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The operator's type.
    pub op: String,
    /// It as a case of the simulator.
    pub case: Value,
    /// Launches.
    pub count: u64,
    /// Share of the profile's time.
    pub share: f64,
    /// Mean microseconds of a launch as measured.
    pub measured_us: f64,
    /// As predicted; `None` where the simulator cannot price it, for `reason`.
    pub predicted_us: Option<f64>,
    /// Microseconds of its start in the network that the prediction lacks.
    #[serde(skip)]
    start_us: f64,
    /// The prediction as the calibration that the profile gives has it; `None` where it gives none.
    pub calibrated_us: Option<f64>,
    /// Why it could not be priced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The product tuned; `None` for what is no product.
    pub tuned: Option<Tuned>,
    /// Microseconds that the record gains over all launches, counted on measured time; 0 where none comes to run.
    pub gain_us: f64,
    /// The same of a tiling that may not be better.
    pub may_gain_us: f64,
}

/// What the simulator is off by, for one operator type.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Calibration {
    /// Median of measured over predicted time.
    pub factor: f64,
    /// Distinct kernels that it comes from.
    pub kernels: usize,
    /// Median distance from the factor, as a share.
    pub spread: f64,
}

/// A profile, tuned.
#[derive(Debug, Clone, Serialize)]
pub struct Profiled {
    /// The part.
    pub soc: String,
    /// The calibration that corrected the predictions, where one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected_by: Option<CorrectedBy>,
    /// The profile's files.
    pub profile: Vec<PathBuf>,
    /// Microseconds of all its kernels.
    pub total_us: f64,
    /// Of those whose operands it does not tell.
    pub without_operands_us: f64,
    /// What is to be said of launches whose times count nowhere; `None` where there are none.
    pub left_out: Option<String>,
    /// Microseconds that records gain, counted on measured time.
    pub gain_us: f64,
    /// Bank files that were changed.
    pub files: Vec<PathBuf>,
    /// Those of the bank to measure.
    pub to_measure: Vec<PathBuf>,
    /// What the profile teaches of the part, as `aoe calibrate` learns it.
    #[serde(skip)]
    pub learned: Option<OfPart>,
    /// Its mean absolute error on what was held out, before and after.
    pub learned_error: Option<[f64; 2]>,
    /// Why it teaches nothing.
    pub not_learned: Option<String>,
    /// The simulator beside it, by operator type.
    pub calibration: BTreeMap<String, Calibration>,
    /// Kernels, those that take longest together first.
    pub kernels: Vec<Row>,
}

/// Tunes the products of a profile and writes records of what gains.
///
/// Fails with [`Error::Cancelled`] where `cancel` was set (records found until then are written), and as the bank does.
pub fn profiled(
    profile: &Profile,
    soc: &Soc,
    mut banks: Banks<'_>,
    settings: &Settings,
    cancel: &AtomicBool,
) -> Result<Profiled> {
    let (learned, not_learned) = learn(profile, soc);
    let mut parts = Parts::only(soc.clone());
    let mut calibrated = learned.as_ref().map(|learned| corrected(learned, soc)).transpose()?;
    let mut problems = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    for seen in &profile.kernels {
        let (mut row, problem) = row(seen, profile.total_us, soc, &mut parts);
        let case = row.case.to_string();
        row.calibrated_us = calibrated.as_mut().and_then(|parts| Some(priced(&case, &row.op, parts).ok()?.0));
        problems.extend(problem);
        rows.push(row);
    }
    banks.bank.check_writable(problems.iter().filter(|p| p.reach(soc) == Reach::Bank).map(Problem::workload))?;
    let mut tuned = records::tune(problems, soc, banks.bank, settings, cancel)?;
    let [files, to_measure] = records::write(&mut tuned, soc, &mut banks)?;
    if records::stopped(cancel) {
        return Err(Error::Cancelled);
    }
    let by_case: BTreeMap<String, Tuned> = tuned.into_iter().map(|tuned| (tuned.case.clone(), tuned)).collect();
    for row in &mut rows {
        row.tuned = by_case.get(&row.case.to_string()).cloned();
        let reached = row.tuned.as_ref().filter(|tuned| tuned.reach == Reach::Bank);
        // What was measured holds the start, which no tiling shortens.
        let start_us = row.start_us;
        let share = |tuned: &Tuned, us: f64| 1.0 - (us + start_us) / (tuned.before_us + start_us);
        let gain_us = |tuned: &Tuned, us: f64| row.measured_us * row.count as f64 * share(tuned, us);
        row.gain_us = reached.map_or(0.0, |tuned| gain_us(tuned, tuned.after_us));
        row.may_gain_us = reached.and_then(|tuned| Some(gain_us(tuned, tuned.unsure_us?))).unwrap_or_default();
    }
    let said = profile.said();
    Ok(Profiled {
        soc: soc.name.clone(),
        corrected_by: soc.corrections.as_ref().map(|corrections| corrections.named()),
        profile: profile.files.clone(),
        total_us: profile.total_us,
        without_operands_us: profile.without_operands_us,
        left_out: (!said.is_empty()).then(|| said.join("; ")),
        // The sum of nothing is -0.
        gain_us: rows.iter().map(|row| row.gain_us).sum::<f64>() + 0.0,
        files,
        to_measure,
        learned_error: learned.as_ref().map(|learned| [learned.error_before, learned.error_after]),
        learned,
        not_learned,
        calibration: calibration(&rows),
        kernels: rows,
    })
}

/// What a profile teaches of the part, or why it teaches nothing.
fn learn(profile: &Profile, soc: &Soc) -> (Option<OfPart>, Option<String>) {
    if let Some(corrections) = &soc.corrections {
        let given = corrections.named();
        return (None, Some(format!("a calibration is given, and corrects the predictions here: {given}")));
    }
    match calibrate_profile(profile, soc) {
        Ok(learned) => (Some(learned), None),
        Err(reason) => (None, Some(reason)),
    }
}

/// The part as a calibration corrects it.
fn corrected(learned: &OfPart, soc: &Soc) -> Result<Parts> {
    let corrections = learned.corrections(PathBuf::from("the profile"), soc)?;
    Ok(Parts::only(Soc { corrections: Some(corrections), ..soc.clone() }))
}

/// Microseconds of a case, and of its start that are not among them; or why it has none.
fn priced(case: &str, op: &str, parts: &mut Parts) -> Result<(f64, f64), String> {
    let answer = simulate::price(case, parts).map_err(|e| e.to_string())?;
    let answer = serde_json::from_str::<Value>(&answer).map_err(|e| e.to_string())?;
    let us = answer["time_us"].as_f64().ok_or_else(|| format!("no time in {answer}"))?;
    Ok((us, start_beside(&answer, op)))
}

/// A kernel with its price, and the product to tune where it is one.
fn row(seen: &Seen, total_us: f64, soc: &Soc, parts: &mut Parts) -> (Row, Option<Problem>) {
    let case = seen.case.clone();
    let text = case.to_string();
    let (predicted_us, start_us, reason) = match priced(&text, &seen.op, parts) {
        Ok((us, start_us)) => (Some(us), start_us, None),
        Err(reason) => (None, 0.0, Some(reason)),
    };
    let is_product = is_product(&seen.op) && predicted_us.is_some();
    let problem = is_product.then(|| Problem::of(&seen.op, "profile", &text, soc).ok()).flatten();
    let measured_us = seen.us / seen.count.max(1) as f64;
    let (op, count, share) = (seen.op.clone(), seen.count, seen.us / total_us);
    let row = Row {
        op,
        case,
        count,
        share,
        measured_us,
        predicted_us,
        start_us,
        calibrated_us: None,
        reason,
        tuned: None,
        gain_us: 0.0,
        may_gain_us: 0.0,
    };
    (row, problem)
}

fn calibration(rows: &[Row]) -> BTreeMap<String, Calibration> {
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.measured_us > 0.0) {
        if let Some(predicted) = row.predicted_us {
            ratios.entry(&row.op).or_default().push(row.measured_us / predicted);
        }
    }
    let of = |(op, mut ratios): (&str, Vec<f64>)| {
        let factor = median(&mut ratios);
        let mut distances: Vec<f64> = ratios.iter().map(|ratio| (ratio / factor - 1.0).abs()).collect();
        (op.to_owned(), Calibration { factor, kernels: ratios.len(), spread: median(&mut distances) })
    };
    ratios.into_iter().map(of).collect()
}

/// The middle of numbers, of which there is one at least.
fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    if numbers.len() % 2 == 1 { numbers[middle] } else { f64::midpoint(numbers[middle - 1], numbers[middle]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank::{BankPaths, OperatorBank};
    use crate::kernels::in_network;
    use crate::search::Algorithm;
    use serde_json::json;

    fn operand(shape: &[u64]) -> Value {
        json!({"shape": shape, "dtype": "float16", "format": "ND"})
    }

    fn seen(op: &str, inputs: &[&[u64]], output: &[u64], count: u64, us: f64) -> Seen {
        let inputs: Vec<_> = inputs.iter().map(|shape| operand(shape)).collect();
        Seen {
            op: op.to_owned(),
            case: json!({"op": op, "inputs": inputs, "outputs": [operand(output)]}),
            count,
            us,
            seconds: count / 2,
            second_us: us / count as f64 * (count / 2) as f64,
            spread: 1.0,
        }
    }

    #[test]
    fn what_a_profile_teaches_holds_for_the_profile_itself() {
        // Products of a decoded step, which take what the model has for weights from device memory.
        let soc = Soc::find("Ascend910_9382").unwrap();
        let mut parts = Parts::only(soc.clone());
        let sizes = [[5120, 9496], [5120, 3200], [1600, 5120], [5120, 512], [512, 5120]];
        let kernels: Vec<Seen> = sizes
            .iter()
            .map(|&[k, n]| {
                let unseen = seen("MatMulV2", &[&[16, k], &[k, n]], &[16, n], 10, 0.0);
                let case = in_network(unseen.case, soc.l2_size);
                let us = priced(&case.to_string(), "MatMulV2", &mut parts).unwrap().0 * 1.3;
                Seen { case, ..seen("MatMulV2", &[&[16, k], &[k, n]], &[16, n], 10, us * 10.0) }
            })
            .collect();
        let profile = Profile { kernels, ..Profile::default() };
        let (learned, why) = learn(&profile, &soc);
        let learned = learned.unwrap_or_else(|| panic!("{why:?}"));
        let mut calibrated = corrected(&learned, &soc).unwrap();
        for kernel in &profile.kernels {
            let (us, start_us) = priced(&kernel.case.to_string(), &kernel.op, &mut calibrated).unwrap();
            assert_eq!(start_us, 0.0, "what was measured holds the start");
            let measured = kernel.us / kernel.count as f64;
            assert!((us / measured - 1.0).abs() < 0.1, "{}: {us}, measured {measured}", kernel.case);
        }
    }

    #[test]
    fn gains_are_counted_on_measured_time_and_only_where_a_record_comes_to_run() {
        let product = |op: &str, m: u64| seen(op, &[&[m, 3000], &[3000, 1111]], &[m, 1111], 10, 1000.0);
        let kernels = vec![
            product("MatMulV3", 1000),
            product("MatMulV2", 999),
            seen("SwiGlu", &[&[64, 4096]], &[64, 2048], 4, 20.0),
            seen("MatMulV3", &[&[4, 4], &[5, 5]], &[4, 5], 1, 1.0),
        ];
        let profile = Profile { kernels, total_us: 2021.0, ..Profile::default() };
        let folder = tempfile::tempdir().unwrap();
        let soc = Soc::find("Ascend910B2").unwrap();
        let paths = BankPaths { custom: folder.path().to_owned(), also_read: Vec::new() };
        let settings = Settings { max_trials: 200, seed: 0, algorithm: Algorithm::Auto, parallel: 1 };
        let [mut bank, mut to_measure] = [(); 2].map(|()| OperatorBank::open(paths.clone(), &soc));
        let banks = Banks { bank: &mut bank, to_measure: &mut to_measure };
        let report = profiled(&profile, &soc, banks, &settings, &AtomicBool::new(false)).unwrap();
        let [v3, v2, gate, wrong] = report.kernels.as_slice() else { panic!("{:?}", report.kernels) };
        let tuned = v3.tuned.as_ref().unwrap();
        assert!(tuned.reach == Reach::Bank && (v3.measured_us - 100.0).abs() < 1e-9);
        // The start in a network is part of what was measured, and no tiling shortens it.
        let start_us = crate::sim::served_start_us("MatMulV3");
        let gain_us = |us: f64| 1000.0 * (1.0 - (us + start_us) / (tuned.before_us + start_us));
        assert!((v3.gain_us - gain_us(tuned.after_us)).abs() < 1e-9);
        let found_us = tuned.unsure_us.unwrap_or(tuned.after_us);
        assert!(found_us < tuned.before_us && (v3.gain_us.max(v3.may_gain_us) - gain_us(found_us)).abs() < 1e-9);
        assert_eq!(tuned.recorded, !report.files.is_empty());
        assert!(v2.tuned.as_ref().unwrap().reach == Reach::NoBank && v2.gain_us == 0.0);
        assert!(gate.tuned.is_none() && gate.predicted_us.is_some());
        assert!(wrong.predicted_us.is_none() && wrong.reason.as_ref().unwrap().contains("does not give"));
        assert!((report.gain_us - v3.gain_us).abs() < 1e-9);
        let swiglu = report.calibration["SwiGlu"];
        assert!(swiglu.kernels == 1 && (swiglu.factor - 5.0 / gate.predicted_us.unwrap()).abs() < 1e-9);
    }
}
