//! The table of `docs/simulator.md`: what the model is judged by, with its goals, for the side that fitting saw and for
//! the one that it did not.

use super::data::Row;
use super::score::Score;
use super::{Priced, totals};
use aoe::sim::{Prediction, Roofs};
use aoe::workload::Workload;

/// One line: which rows of which set, and the mean absolute error that is wanted, in percent.
struct Line {
    what: &'static str,
    set: &'static str,
    goal: f64,
    only: fn(&Row) -> bool,
}

/// Shortest time of a kernel of the 30-core 910 that is judged alone.
const KERNEL_US: f64 = 5.0;
/// Most rows of A in a product of decode.
const DECODE_ROWS: u64 = 256;

const LINES: &[Line] = &[
    Line {
        what: "decode products, weights cold, M <= 256, 910B",
        set: "mm_bf16_910b_24core",
        goal: 12.0,
        only: |r| r.is_judged() && is_decode(r) && b_cache(r) == Some("cold"),
    },
    Line {
        what: "decode products, weights warm, M <= 256",
        set: "mm_bf16_910b_24core",
        goal: 20.0,
        only: |r| r.is_judged() && is_decode(r) && b_cache(r) == Some("warm"),
    },
    Line {
        what: "prefill products, M > 256",
        set: "mm_bf16_910b_24core",
        goal: 12.0,
        only: |r| r.is_judged() && !is_decode(r),
    },
    Line { what: "quantised linear layers", set: "w8a8_910b_24core", goal: 15.0, only: Row::is_judged },
    Line { what: "a served network on an A3 die", set: "serving_a3_24core", goal: 20.0, only: |_| true },
    Line {
        what: "fused attention, prefill",
        set: "fia_910b_24core",
        goal: 20.0,
        only: |r| r.is_judged() && r.case["attrs"]["phase"] == "prefill",
    },
    Line {
        what: "fused attention, decode",
        set: "fia_910b_24core",
        goal: 20.0,
        only: |r| r.is_judged() && r.case["attrs"]["phase"] == "decode",
    },
    Line { what: "operators, L2 cold, 910B2", set: "kernels_cold_910b2", goal: 25.0, only: |_| true },
    Line { what: "operators, L2 cold, 950PR", set: "kernels_cold_950pr", goal: 30.0, only: |_| true },
    Line { what: "Relu and Mul, L2 warm, 910B", set: "vector_warm_910b", goal: 25.0, only: |_| true },
    Line { what: "training step on a 910B1", set: "trace_910b1_1850mhz", goal: 25.0, only: |_| true },
    Line {
        what: "training step on a 20-core 910B4, over 5 µs",
        set: "trace_20core_1650mhz",
        goal: 20.0,
        only: |r| r.measured_us > KERNEL_US,
    },
    Line {
        what: "30-core 910, cube kernels over 5 µs",
        set: "kernels_910_30core",
        goal: 20.0,
        only: |r| r.measured_us > KERNEL_US && r.class == super::data::Class::Cube,
    },
    Line {
        what: "30-core 910, vector kernels over 5 µs",
        set: "kernels_910_30core",
        goal: 20.0,
        only: |r| r.measured_us > KERNEL_US && r.class != super::data::Class::Cube,
    },
    Line { what: "910B2 products with their tiling", set: "matmul_910b2", goal: 20.0, only: |_| true },
    Line { what: "310P products with their tiling", set: "matmul_310p3", goal: 30.0, only: |_| true },
    Line { what: "310 products with their tiling", set: "matmul_310", goal: 30.0, only: |_| true },
    Line { what: "310P convolutions with their tiling", set: "conv_tilings_310p3", goal: 30.0, only: |_| true },
    Line { what: "910 convolutions with their tiling", set: "conv_tilings_910a", goal: 30.0, only: |_| true },
    Line { what: "310 convolutions with their tiling", set: "conv_tilings_310", goal: 35.0, only: |_| true },
    Line { what: "15 operators on a 310", set: "kernels_310", goal: 30.0, only: |_| true },
];

fn is_decode(row: &Row) -> bool {
    matches!(&row.job, Ok(job) if matches!(&job.workload, Workload::MatMul(w) if w.m <= DECODE_ROWS))
}

fn b_cache(row: &Row) -> Option<&str> {
    row.case["b_cache"].as_str()
}

/// A line of the table: what is judged, its goal, the side that fitting did not see, and the one that it saw.
pub type Cells = [String; 4];

/// What marks lines whose constants were fitted to both sides.
const BOTH: &str = " (*)";

/// The lines for these rows of all sets, priced where the model prices them.
pub fn lines(rows: &[(&Row, Option<Priced>)]) -> Vec<Cells> {
    let mut lines = Vec::new();
    for line in LINES {
        let mine = || rows.iter().filter(|(row, _)| row.set == line.set && (line.only)(row));
        if mine().next().is_none() {
            continue;
        }
        let side = |held_out: bool| side(&mine().filter(|(row, _)| row.held_out == held_out).collect::<Vec<_>>());
        let mark = if line.set == "matmul_310p3" { BOTH } else { "" };
        lines.push([format!("{}{mark}", line.what), line.goal.to_string(), side(true), side(false)]);
    }
    let priced: Vec<Priced> =
        rows.iter().filter_map(|(_, p)| *p).filter(|(r, _)| r.set == super::data::NETWORKS).collect();
    if !priced.is_empty() {
        let [seen, held_out] = [false, true].map(|side| {
            let errors: Vec<f64> =
                totals(&priced).values().filter(|t| t.0 == side).map(|t| (t.2 / t.1 - 1.0).abs()).collect();
            let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64 * 100.0;
            format!("{mean:.1} ({} networks)", errors.len())
        });
        lines.push(["30-core 910, totals of networks".to_owned(), "10".to_owned(), held_out, seen]);
    }
    lines
}

/// Error, bias and number of one side's rows, and how many were not priced. Times that no part can have reached are in it; how many
/// they are, and what the others' error is, stands behind.
fn side(part: &[&(&Row, Option<Priced>)]) -> String {
    let times = |of: fn(&Row, &Prediction) -> bool| -> Vec<(f64, f64)> {
        let priced = part.iter().filter_map(|(row, p)| Some((*row, &p.as_ref()?.1)));
        priced.filter(|(row, p)| of(row, p)).map(|(row, p)| (row.measured_us, p.time_us)).collect()
    };
    let all = times(|_, _| true);
    let refused = part.len() - all.len();
    let refused = if refused > 0 { format!(", {refused} refused") } else { String::new() };
    let possible = times(|row, prediction| !beats_the_part(row, prediction));
    let beyond = match Score::of(&possible) {
        Some(score) if possible.len() < all.len() => {
            format!("; {:.1} without {} that beat the part", score.mean * 100.0, all.len() - possible.len())
        }
        _ => String::new(),
    };
    Score::of(&all).map_or(format!("-{refused}"), |score| {
        format!("{:.1} ({:+.1}, {}{refused}{beyond})", score.mean * 100.0, score.bias * 100.0, score.rows)
    })
}

/// Whether a convolution with its tiling is said to be done sooner than all cubes of the part could multiply its numbers, and than
/// the busiest one could those that its tiling deals it: some rows of repositories hold no time.
fn beats_the_part(row: &Row, prediction: &Prediction) -> bool {
    let Ok(job) = row.job.as_ref().map(|job| &job.workload) else { return false };
    let Some(shape) = job.cube().filter(|_| !row.case["tiling"].is_null()) else { return false };
    let operations = 2.0 * (shape.batch as f64) * (shape.m as f64) * (shape.k as f64) * (shape.n as f64);
    let roofs = Roofs::of(&row.soc);
    let peak = if shape.dtype.bits() == 8 { roofs.cube_8_bit } else { roofs.cube_16_bit };
    // Repositories of one part count in units of their own.
    let least_us = operations / peak * aoe::sim::record::unit(&row.soc);
    least_us.min(prediction.pipes.mac * prediction.time_us) > row.measured_us
}

/// The lines as a table of a page, one line each.
pub fn page(lines: &[Cells]) -> Vec<String> {
    let row = |cells: &[&str]| format!("| {} |", cells.join(" | "));
    let head = [row(&["what", "goal", "held out", "seen by the fit"]), "|---|---|---|---|".to_owned()];
    let body = lines.iter().map(|cells| row(&cells.each_ref().map(String::as_str)));
    head.into_iter().chain(body).collect()
}
