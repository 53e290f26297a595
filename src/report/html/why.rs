//! Why one tiling is faster than another, by what the performance model says of both.

use super::text::{digits, percent, shortened, time};
use super::winner::Winner;
use crate::report::explain::{Layout, Predicted};
use crate::report::kernel::Kernel;

/// Share by which something has to change to be told.
const TOLD: f64 = 0.05;

/// What moves data or works, by its name in the report and on the page.
pub const PIPES: [(&str, &str); 6] = [
    ("mte2", "MTE2 (GM to L1 or UB)"),
    ("mte1", "MTE1 (L1 to L0)"),
    ("cube", "Cube unit"),
    ("vector", "Vector unit"),
    ("fixpipe", "Fixpipe (L0C to GM)"),
    ("mte3", "MTE3 (UB to GM)"),
];
/// Ways by which cores read from GM.
const FROM_GM: [(&str, &str); 2] = [WAYS[0], WAYS[4]];
/// Ways that data take.
pub const WAYS: [(&str, &str); 6] = [
    ("gm_to_l1", "GM to L1"),
    ("l1_to_l0_a", "L1 to L0A"),
    ("l1_to_l0_b", "L1 to L0B"),
    ("l0_c_to_gm", "L0C to GM"),
    ("gm_to_ub", "GM to UB"),
    ("ub_to_gm", "UB to GM"),
];

/// Cycles in which a pipe of the busiest core works.
pub fn cycles(predicted: &Predicted, pipe: &str) -> f64 {
    predicted.cycles.get(pipe).copied().unwrap_or(0.0)
}

/// Bytes that take a way.
pub fn moved(predicted: &Predicted, way: &str) -> f64 {
    let moved = &predicted.moved;
    match way {
        "gm_to_l1" => moved.gm_to_l1,
        "l1_to_l0_a" => moved.l1_to_l0_a,
        "l1_to_l0_b" => moved.l1_to_l0_b,
        "l0_c_to_gm" => moved.l0_c_to_gm,
        "gm_to_ub" => moved.gm_to_ub,
        "ub_to_gm" => moved.ub_to_gm,
        _ => 0.0,
    }
}

/// The reasons in sentences, the weightiest first; nothing where the tiling is as it was or nothing is known of it.
pub fn why(kernel: &Kernel<'_>) -> Vec<String> {
    let winner = Winner::of(kernel);
    let (Some(before), Some(after)) = (&kernel.predicted_before, winner.predicted) else { return Vec::new() };
    if !winner.is_changed(kernel) {
        return Vec::new();
    }
    let mut reasons = Vec::new();
    let of =
        |value: fn(&Predicted, &str) -> f64| move |name: &str| [before, after].map(|predicted| value(predicted, name));
    let busiest = most(&PIPES, of(cycles), |[before, after]| before - after);
    reasons.extend(
        busiest.map(|(name, us)| {
            format!("{name}: {} cycles instead of {} ({})", digits(us[1]), digits(us[0]), change(us))
        }),
    );
    // What comes from GM is what the cores share.
    let fell = |ways: &[_]| most(ways, of(moved), |[before, after]| before - after);
    let ways = fell(&FROM_GM).or_else(|| fell(&WAYS));
    reasons.extend(ways.map(|(name, bytes)| {
        let [before, after] = bytes.map(|bytes| digits(bytes / 1e6));
        format!("{name}: {after} MB instead of {before} ({})", change(bytes))
    }));
    reasons.extend(rounds(kernel.held_before.as_ref(), winner));
    if reasons.is_empty() {
        reasons.extend(overlap(before, after));
    }
    if before.us <= after.us {
        reasons.push(format!(
            "The performance model does not expect it: it predicts {} for the tiling before and {} for this one",
            time(before.us),
            time(after.us)
        ));
    }
    reasons.extend(waited(kernel));
    reasons
}

/// The one of which `fall` is largest, and its values before and after, where that is worth telling.
fn most<'a>(
    names: &[(&'static str, &'a str)],
    value: impl Fn(&str) -> [f64; 2],
    fall: impl Fn([f64; 2]) -> f64,
) -> Option<(&'a str, [f64; 2])> {
    let pairs = names.iter().map(|(name, said)| (*said, value(name)));
    let told = pairs.filter(|(_, values)| fall(*values) > TOLD * values[0]);
    told.max_by(|a, b| fall(a.1).total_cmp(&fall(b.1)))
}

/// Blocks of the busiest core, where there are fewer.
fn rounds(before: Option<&Layout>, winner: Winner<'_>) -> Option<String> {
    let (before, after) = (before?, winner.held?);
    let [a, b] = [before, after].map(|layout| layout.blocks as f64 / layout.cores.max(1) as f64);
    // The last round of a tail keeps the other cores waiting.
    let idle = |layout: &Layout, mean: f64| 1.0 - mean / layout.blocks_of_busiest.max(1) as f64;
    let [idle_before, idle_after] = [idle(before, a), idle(after, b)];
    if after.cores != before.cores {
        return Some(format!("{} cores work instead of {}", after.cores, before.cores));
    }
    (idle_before - idle_after > TOLD).then(|| {
        format!(
            "Cores wait for the last block {} of the time instead of {}",
            percent(idle_after, 1.0),
            percent(idle_before, 1.0)
        )
    })
}

/// The pipe that is busy for more of the time than before: what is faster without less work waits less.
fn overlap(before: &Predicted, after: &Predicted) -> Option<String> {
    let share = |name: &str| [before, after].map(|predicted| cycles(predicted, name) / predicted.us.max(1e-9));
    let (name, [before_share, after_share]) = most(&PIPES, share, |[before, after]| after - before)?;
    Some(format!(
        "No pipe works less, but there is less waiting: {name} is busy for {} times as much of the time",
        digits(after_share / before_share.max(1e-9))
    ))
}

/// Whom the computing unit waits for in the winner's timeline.
fn waited(kernel: &Kernel<'_>) -> Option<String> {
    let timeline = kernel.timeline.as_ref()?;
    let (pipe, us) = timeline.waits.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    (*us > TOLD * timeline.us).then(|| {
        format!("Waits that are left are for {}, {} of the time", shortened(pipe, 12), percent(*us, timeline.us))
    })
}

/// By how much it fell or rose.
fn change([before, after]: [f64; 2]) -> String {
    let text = percent((after - before).abs(), before);
    if after < before { format!("−{text}") } else { format!("+{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn kernel(change: impl Fn(&mut Value)) -> Kernel<'static> {
        let vector =
            |cores: u32| json!({"cores": cores, "double_buffer": true, "template": "flat", "ub_tile_bytes": 4096});
        let held = |cores: u32| json!({"blocks": cores, "blocks_of_busiest": 1, "cores": cores, "buffers": {}});
        let says = |mte2: f64, moved: f64, us: f64| json!({"cycles": {"mte2": mte2, "vector": 100.0}, "moved": {"gm_to_ub": moved}, "us": us});
        let mut kernel = json!({"after": vector(2), "after_us": 5.0, "backend": "simulator", "before": vector(1), "before_us": 10.0, "count": 1, "failed_trials": 0,
            "held_before": held(2), "held_after": held(2), "known_trials": 0, "nodes": [], "op_type": "Add", "status": "added", "trials": 1,
            "predicted_before": says(1000.0, 4e6, 10.0), "predicted_after": says(1000.0, 4e6, 5.0), "workload": "Add"});
        change(&mut kernel);
        serde_json::from_value(kernel).unwrap()
    }

    #[test]
    fn the_pipe_and_the_way_that_fell_most_are_named_with_their_numbers() {
        let fewer = kernel(|kernel| {
            kernel["predicted_after"]["cycles"]["mte2"] = json!(400.0);
            kernel["predicted_after"]["moved"]["gm_to_ub"] = json!(1e6);
            kernel["held_after"]["cores"] = json!(4);
        });
        assert_eq!(
            why(&fewer),
            [
                "MTE2 (GM to L1 or UB): 400 cycles instead of 1000 (−60.0 %)",
                "GM to UB: 1.00 MB instead of 4.00 (−75.0 %)",
                "4 cores work instead of 2",
            ]
        );
    }

    #[test]
    fn where_no_pipe_works_less_it_is_the_waiting_and_what_the_model_does_not_expect_is_said() {
        let text = why(&kernel(|_| {})).join("\n");
        assert!(
            text.starts_with("No pipe works less, but there is less waiting") && !text.contains("does not expect"),
            "{text}"
        );
        let slower = why(&kernel(|kernel| kernel["predicted_after"]["us"] = json!(12.0))).join("\n");
        assert!(
            slower.contains("does not expect it: it predicts 10.0 µs for the tiling before and 12.0 µs"),
            "{slower}"
        );
    }

    #[test]
    fn a_tiling_that_stays_needs_no_reason() {
        assert!(why(&kernel(|kernel| kernel["after"] = kernel["before"].clone())).is_empty());
    }
}
