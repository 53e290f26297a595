//! Convergence as a picture.

use crate::MARKS;
use crate::replay::Replay;
use crate::run::Run;
use std::fmt::Write as _;

const SIZE: (f64, f64) = (760.0, 440.0);
const MARGIN: (f64, f64) = (60.0, 40.0);
/// Least fraction shown.
const FLOOR: f64 = 0.6;
const COLOURS: [&str; 8] = ["#0b6e4f", "#888888", "#c8553d", "#4464ad", "#8e5ba6", "#c9a227", "#30323d", "#e07a9b"];

/// Mean fraction of the optimum over the hard spaces (all, where none is hard) by measurements.
pub fn svg(spaces: &[Replay], runs: &[Run]) -> String {
    let mut chosen: Vec<&str> = spaces.iter().filter(|s| s.is_hard()).map(|s| s.name.as_str()).collect();
    if chosen.is_empty() {
        chosen = spaces.iter().map(|s| s.name.as_str()).collect();
    }
    let (width, height) = SIZE;
    let x = |n: f64| MARGIN.0 + n / MARKS[3] as f64 * (width - MARGIN.0 - 130.0);
    let y = |f: f64| height - MARGIN.1 - (f.max(FLOOR) - FLOOR) / (1.0 - FLOOR) * (height - 2.0 * MARGIN.1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{}\" y=\"20\">Mean \
         fraction of the optimum on {} spaces by unique measurements</text>\n",
        MARGIN.0,
        chosen.len()
    );
    for tick in 0..=8 {
        let f = FLOOR + f64::from(tick) * (1.0 - FLOOR) / 8.0;
        let (x0, x1, yf) = (x(0.0), x(MARKS[3] as f64), y(f));
        let _ = writeln!(svg, "<line x1=\"{x0}\" y1=\"{yf}\" x2=\"{x1}\" y2=\"{yf}\" stroke=\"#dddddd\"/>");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{f:.2}</text>", x0 - 6.0, yf + 4.0);
    }
    for mark in MARKS {
        let (xm, yb) = (x(mark as f64), height - MARGIN.1);
        let _ = writeln!(svg, "<line x1=\"{xm}\" y1=\"{}\" x2=\"{xm}\" y2=\"{yb}\" stroke=\"#dddddd\"/>", y(1.0));
        let _ = writeln!(svg, "<text x=\"{xm}\" y=\"{}\" text-anchor=\"middle\">{mark}</text>", yb + 18.0);
    }
    let mut tuners: Vec<&str> = runs.iter().map(|r| r.tuner.as_str()).collect();
    tuners.sort_unstable();
    tuners.dedup();
    for (i, tuner) in tuners.iter().enumerate() {
        let its: Vec<&Run> = runs.iter().filter(|r| r.tuner == *tuner && chosen.contains(&r.space.as_str())).collect();
        if its.is_empty() {
            continue;
        }
        let colour = COLOURS[i % COLOURS.len()];
        let points: Vec<String> = points(&its).iter().map(|&(n, f)| format!("{:.1},{:.1}", x(n), y(f))).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\"/>",
            points.join(" "),
            if *tuner == "auto" { 3 } else { 1 }
        );
        let (lx, ly) = (width - 120.0, 50.0 + 20.0 * i as f64);
        let _ = writeln!(svg, "<rect x=\"{lx}\" y=\"{}\" width=\"14\" height=\"4\" fill=\"{colour}\"/>", ly - 5.0);
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{ly}\">{tuner}</text>", lx + 20.0);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Mean curve; of runs that were read only the marks are known.
fn points(runs: &[&Run]) -> Vec<(f64, f64)> {
    let n = runs.len() as f64;
    if runs.iter().any(|run| run.curve.is_empty()) {
        let mean = |i: usize| runs.iter().map(|run| run.marks[i]).sum::<f64>() / n;
        return MARKS.iter().enumerate().map(|(i, &mark)| (mark as f64, mean(i))).collect();
    }
    let value = |run: &Run, i: usize| run.curve.get(i).or(run.curve.last()).copied().unwrap_or(0.0);
    (0..MARKS[3]).map(|i| ((i + 1) as f64, runs.iter().map(|run| value(run, i)).sum::<f64>() / n)).collect()
}
