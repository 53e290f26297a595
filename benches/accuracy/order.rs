//! Whether the model orders tilings of one problem as devices do: measured pairs, and records that CANN ships because
//! they beat the operator's default on a device.

use super::Priced;
use super::data::{Assumed, Row, fold, lines_of};
use super::table::Cells;
use aoe::sim::Constants;
use aoe::simulate::read;
use aoe::soc::Soc;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Times nearer to each other than this are no order.
const APART: f64 = 1.1;

/// Sets with several tilings of one problem, what the table calls them, and the goal of each in percent.
const PAIRS: [(&str, &str, &str); 2] = [
    ("matmul_310p3", "order of two tilings of one product, over 10 % apart, 310P: right (*)", "80"),
    ("matmul_310", "the same, 310", ""),
];
/// Sets of records, likewise.
const TUNED: [(&str, &str, &str); 2] = [
    ("bank_matmulv3", "device-tuned records priced no slower than the default: MatMulV3", "85"),
    ("tuned_quantbatchmatmulv3", "the same: QuantBatchMatmulV3", "80"),
];

/// By part, the share of pairs of tilings of one problem whose order is predicted, where the measured times are clearly
/// apart.
pub fn of_pairs(rows: &[(&Row, Option<Priced>)]) -> Vec<Cells> {
    // Measured and predicted times, by set, half and problem.
    let mut problems = BTreeMap::<_, Vec<(f64, f64)>>::new();
    for (row, priced) in rows {
        let (Some((_, prediction)), true) = (priced, row.case["schedule"].is_object()) else { continue };
        let names = ["batch", "m", "k", "n", "dtype", "out_dtype", "bias", "a_format", "b_format", "raw"];
        let problem = names.map(|name| row.case[name].to_string()).join(" ");
        let key = (row.set.as_str(), row.held_out, problem);
        problems.entry(key).or_default().push((row.measured_us, prediction.time_us));
    }
    let mut sets: BTreeMap<(&str, bool), [usize; 2]> = BTreeMap::new();
    for ((set, held_out, _), times) in &problems {
        let count = sets.entry((set, *held_out)).or_default();
        for (at, a) in times.iter().enumerate() {
            for b in times[..at].iter().filter(|b| a.0 > APART * b.0 || b.0 > APART * a.0) {
                // Tilings that are priced alike are in no order.
                count[0] += usize::from((a.0 - b.0) * (a.1 - b.1) > 0.0);
                count[1] += 1;
            }
        }
    }
    let cell = |set: &str, held_out: bool| match sets.get(&(set, held_out)) {
        Some([right, all]) if *all > 0 => {
            format!("{:.0} ({right} of {all})", 100.0 * *right as f64 / *all as f64)
        }
        _ => String::new(),
    };
    let named = PAIRS.iter().filter(|(set, ..)| [true, false].iter().any(|side| !cell(set, *side).is_empty()));
    named.map(|(set, what, goal)| [(*what).to_owned(), (*goal).to_owned(), cell(set, true), cell(set, false)]).collect()
}

/// By operator, how many of CANN's device-tuned records are priced no slower than CANN's default tiling; prints why others are not
/// priced.
pub fn of_tuned(folder: &Path, assumed: &Assumed) -> Result<Vec<Cells>, String> {
    let mut lines = Vec::new();
    for (set, what, goal) in TUNED {
        let mut sides: BTreeMap<bool, Vec<f64>> = BTreeMap::new();
        let mut refused: BTreeMap<String, usize> = BTreeMap::new();
        let mut seen = std::collections::BTreeSet::new();
        for record in lines_of(folder, set)? {
            let Some(case) = case(&record) else { continue };
            // One record counts once, however many parts of one clock and width ship it.
            if !seen.insert(format!("{} {} {}", width(&record), case, record["knowledge"])) {
                continue;
            }
            match ratio(&record, &case, assumed) {
                Ok(ratio) => sides.entry(fold(&case) >= 6).or_default().push(ratio),
                Err(reason) => *refused.entry(reason).or_default() += 1,
            }
        }
        let cell = |held_out: bool| {
            sides.get(&held_out).map_or(String::new(), |ratios| {
                let share =
                    |most: f64| 100.0 * ratios.iter().filter(|&&r| r <= most).count() as f64 / ratios.len() as f64;
                let [no_slower, slower] = [share(1.000_001), 100.0 - share(APART)];
                format!("{no_slower:.0} ({} records, {slower:.0} % over 10 % slower)", ratios.len())
            })
        };
        if !sides.is_empty() {
            lines.push([what.to_owned(), goal.to_owned(), cell(true), cell(false)]);
        }
        for (reason, count) in refused.iter().take(3) {
            println!("{set}: not priced: {count} ({reason})");
        }
    }
    Ok(lines)
}

/// Cores of a record's part.
fn width(record: &Value) -> &str {
    record["soc_cores"].as_str().and_then(|name| name.rsplit_once('_')).map_or("", |(_, cores)| cores)
}

/// The problem of a record as a case without a tiling.
fn case(record: &Value) -> Option<Value> {
    let info = &record["info_dict"];
    let dtype = |name: &str| match info[name].as_i64()? {
        0 => Some("float32"),
        1 => Some("float16"),
        2 => Some("int8"),
        3 => Some("int32"),
        27 => Some("bfloat16"),
        _ => None,
    };
    let format = |name: &str| if info[name] == 29 { "FRACTAL_NZ" } else { "ND" };
    Some(json!({
        "op": record["op"], "m": info["m"], "k": info["k"], "n": info["n"],
        "dtype": dtype("a_dtype")?, "out_dtype": dtype("out_dtype")?, "bias": info["bias_flag"],
        "trans_a": info["trans_a_flag"], "trans_b": info["trans_b_flag"],
        "a_format": format("a_format"), "b_format": format("b_format"),
    }))
}

/// Predicted time of the record's tiling over that of the default.
fn ratio(record: &Value, case: &Value, assumed: &Assumed) -> Result<f64, String> {
    let name = record["soc_cores"].as_str().and_then(|name| name.rsplit_once('_')).map_or("", |(part, _)| part);
    let mut soc = Soc::find(name).map_err(|e| e.to_string())?;
    assumed.apply(&mut soc)?;
    // Some parts are sold with a core more than CANN's tables tell.
    let cores: u32 = width(record).parse().map_err(|_| format!("{}: no number of cores", record["soc_cores"]))?;
    if cores > soc.ai_core_cnt {
        soc.set("ai_core_cnt", &cores.to_string()).map_err(|e| e.to_string())?;
    }
    let price = |case: &Value| {
        let job = read(&case.to_string(), &soc).map_err(|e| e.to_string())?;
        let prediction = job.predict(&soc, &Constants::FITTED).map_err(|e| e.to_string())?;
        Ok::<f64, String>(prediction.time_us)
    };
    let mut tuned = case.clone();
    tuned["schedule"] = record["knowledge"].clone();
    Ok(price(&tuned)? / price(case)?)
}
