//! What the kernels reach of what the SoC gives: operations a second against operations for each byte.

use super::axes::{Log, place};
use super::labels::apart;
use super::text::{digits, power, shortened};
use crate::report::model::Report;
use crate::report::runs::{Launched, Runs};
use crate::sim::{Roofs, Work};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Points of a moment drawn at the most; beyond it, those of the longest kernels.
const MOST: usize = 300;
/// Characters of a name.
const NAME: usize = 44;
/// Size of the chart, and the room around its plot: left, top, right, bottom.
const SIZE: [f64; 2] = [1000.0, 560.0];
const ROOM: [f64; 4] = [62.0, 16.0, 20.0, 46.0];

/// Kernels that compute, all alike, before tuning or after.
struct Point<'a> {
    launched: &'a Launched,
    /// Short, and other than that of any other point of the moment.
    label: String,
    class: &'static str,
    /// Operations for each byte.
    intensity: f64,
    /// Operations in a microsecond.
    rate: f64,
}

/// The points before and after; where the same kernel runs at both moments, its places in the two.
struct Points<'a> {
    moments: [Vec<Point<'a>>; 2],
    pairs: Vec<[usize; 2]>,
}

/// The section.
pub fn roofline(report: &Report<'_>) -> Markup {
    let points = report.runs.as_deref().map(Points::of);
    html! {
        section #roofline {
            h2 { "Roofline" }
            @match (&report.roofs, &report.runs, &points) {
                (Some(roofs), Some(runs), Some(points)) if points.all().next().is_some() => {
                    p {
                        "Each kernel by the operations that it does for each byte that it reads or writes, and by the rate that it reaches: "
                        "a ring before tuning, a disc after, with a line between them where the same kernel runs before and after. "
                        "The slopes are what device memory and L2 deliver, the levels what the units compute."
                    }
                    p .legend {
                        span .key.cube { "cube kernels" } " " span .key.vector { "vector kernels" }
                    }
                    div .scroll { (chart(roofs, points)) }
                    (table(roofs, points))
                    @let others = runs.after.len() - points.moments[1].len();
                    @if others > 0 { p .note { (others) " kinds of kernels only move data, exchange it, were not measured or are very short, and have no place here." } }
                }
                _ => p .none { "No kernel that computes was priced one by one." },
            }
        }
    }
}

impl<'a> Points<'a> {
    fn of(runs: &'a Runs) -> Points<'a> {
        let moments = runs.moments().map(|run| {
            let mut points: Vec<Point<'a>> = run.iter().filter_map(point).collect();
            points.sort_by(|a, b| b.launched.us.total_cmp(&a.launched.us));
            points.truncate(MOST);
            let labels = apart(points.iter().map(|point| point.launched.name.as_deref().unwrap_or_default()), NAME);
            for (point, label) in points.iter_mut().zip(labels) {
                let count = point.launched.count;
                point.label = if count > 1 { format!("{label} ×{count}") } else { label };
            }
            points
        });
        let same = |point: &Point<'a>| (point.launched.name.as_ref(), point.launched.workload.as_ref());
        let before: BTreeMap<_, usize> = moments[0].iter().enumerate().map(|(at, point)| (same(point), at)).collect();
        let pair = |(at, point)| Some([*before.get(&same(point))?, at]);
        let pairs = moments[1].iter().enumerate().filter_map(pair).collect();
        Points { moments, pairs }
    }

    fn all(&self) -> impl Iterator<Item = &Point<'a>> {
        self.moments.iter().flatten()
    }
}

fn point(launched: &Launched) -> Option<Point<'_>> {
    let Work { bytes, cube_operations, vector_operations } = launched.work?;
    let (class, operations) =
        if cube_operations > 0.0 { ("cube", cube_operations) } else { ("vector", vector_operations) };
    let (intensity, rate) = (operations / bytes, operations * launched.count as f64 / launched.us);
    let is_value = |x: f64| x.is_finite() && x > 0.0;
    (is_value(intensity) && is_value(rate)).then(|| Point { launched, label: String::new(), class, intensity, rate })
}

fn chart(roofs: &Roofs, points: &Points<'_>) -> Markup {
    let [left, top, right, bottom] = ROOM;
    let [width, height] = SIZE;
    // Where the slope of device memory meets the cube's level belongs on the chart.
    let knee = roofs.cube_16_bit / roofs.memory;
    let x = Log::over(points.all().map(|p| p.intensity).chain([knee, 1.0]), left, width - right);
    let rates = points.all().map(|p| p.rate).chain([roofs.cube_16_bit, roofs.vector_16_bit]);
    let y = Log::over(rates, height - bottom, top);
    let exceeds = points.all().any(|p| p.class == "cube" && p.rate > roofs.cube_16_bit);
    html! {
        svg .wide viewBox={ "0 0 " (width) " " (height) } role="img" aria-labelledby="roofline-title" {
            title #roofline-title { "Roofline of " (points.moments[0].len()) " kinds of kernels before tuning and " (points.moments[1].len()) " after; the table below has the numbers" }
            @for tick in x.ticks() {
                @let at = place(x.at(10_f64.powi(tick)));
                line .grid x1=(at) x2=(at) y1=(top) y2=(height - bottom) {}
                text .tick x=(at) y=(height - bottom + 16.0) text-anchor="middle" { (power(tick)) }
            }
            @for tick in y.ticks() {
                @let at = place(y.at(10_f64.powi(tick)));
                line .grid x1=(left) x2=(width - right) y1=(at) y2=(at) {}
                // From a microsecond to a second.
                text .tick x=(left - 6.0) y=(place(y.at(10_f64.powi(tick)) + 4.0)) text-anchor="end" { (power(tick + 6)) }
            }
            text .axis x=(f64::midpoint(left, width - right)) y=(height - 6.0) text-anchor="middle" { "operations for each byte read or written" }
            text .axis transform={ "translate(14 " (f64::midpoint(top, height - bottom)) ") rotate(-90)" } text-anchor="middle" { "operations per second" }
            (slope(&x, &y, roofs.memory, roofs.cube_16_bit, "device memory"))
            (slope(&x, &y, roofs.l2, roofs.cube_16_bit, "L2"))
            (level(&x, &y, roofs.cube_16_bit, roofs.l2, "cube, 16 bits"))
            @if exceeds { (level(&x, &y, roofs.cube_8_bit, roofs.l2, "cube, 8 bits")) }
            (level(&x, &y, roofs.vector_16_bit, roofs.l2, "vector, 16 bits"))
            @for [before, after] in &points.pairs { (way(&points.moments[0][*before], &points.moments[1][*after], &x, &y)) }
            // The longest last, so that they lie on top.
            @for point in points.moments[0].iter().rev() { (mark(point, ("ring", "3.2"), &x, &y)) }
            @for point in points.moments[1].iter().rev() { (mark(point, ("disc", "3.6"), &x, &y)) }
        }
    }
}

/// The way of a kernel from before to after.
fn way(before: &Point<'_>, after: &Point<'_>, x: &Log, y: &Log) -> Markup {
    let at = |point: &Point<'_>| [x.at(point.intensity), y.at(point.rate)].map(place);
    let ([x1, y1], [x2, y2]) = (at(before), at(after));
    html! { g class=(after.class) { line .way x1=(x1) x2=(x2) y1=(y1) y2=(y2) {} } }
}

fn mark(point: &Point<'_>, (shape, radius): (&str, &str), x: &Log, y: &Log) -> Markup {
    let (launched, moment) = (point.launched, if shape == "ring" { "before" } else { "after" });
    let op_type = launched.op_type.as_ref().map(|name| shortened(name, 24)).unwrap_or_default();
    html! {
        g class=(point.class) {
            title { (point.label) ", " (op_type) ", " (moment) ": " (rate(point.rate)) }
            circle class=(shape) cx=(place(x.at(point.intensity))) cy=(place(y.at(point.rate))) r=(radius) {}
        }
    }
}

/// The rate that a bandwidth allows, up to a peak.
fn slope(x: &Log, y: &Log, bandwidth: f64, peak: f64, name: &str) -> Markup {
    let [low, high] = x.ends();
    // From where the line enters the plot to where it meets the peak.
    let (from, to) = (low.max(y.ends()[0] / bandwidth), high.min(peak / bandwidth));
    let [x1, x2] = [from, to].map(|intensity| x.at(intensity));
    let [y1, y2] = [from, to].map(|intensity| y.at(intensity * bandwidth));
    let turn = (y2 - y1).atan2(x2 - x1).to_degrees();
    let (middle_x, middle_y) = (x1 + (x2 - x1) * 0.3, y1 + (y2 - y1) * 0.3);
    html! {
        line .roof x1=(place(x1)) x2=(place(x2)) y1=(place(y1)) y2=(place(y2)) {}
        text .roof transform={ "translate(" (place(middle_x)) " " (place(middle_y)) ") rotate(" (place(turn)) ")" } dy="-5" {
            (name) ", " (digits(bandwidth / 1e6)) " TB/s"
        }
    }
}

/// The rate that a unit computes at, from where L2 can feed it.
fn level(x: &Log, y: &Log, peak: f64, feeding: f64, name: &str) -> Markup {
    let [low, high] = x.ends();
    let (from, at) = (place(x.at(low.max(peak / feeding))), y.at(peak));
    html! {
        line .roof x1=(from) x2=(place(x.at(high))) y1=(place(at)) y2=(place(at)) {}
        text .roof x=(place(x.at(high) - 4.0)) y=(place(at - 5.0)) text-anchor="end" { (name) ", " (rate(peak)) }
    }
}

/// Operations in a microsecond as a rate in a second.
fn rate(per_us: f64) -> String {
    if per_us >= 1e6 { format!("{} T/s", digits(per_us / 1e6)) } else { format!("{} G/s", digits(per_us / 1e3)) }
}

fn table(roofs: &Roofs, points: &Points<'_>) -> Markup {
    html! {
        details {
            summary { "The longest kernels in numbers" }
            div .scroll {
                table {
                    thead {
                        tr {
                            th { "kernel" } th { "run" } th { "unit" } th .number { "operations a byte" } th .number { "rate" } th .number { "of the roof" }
                        }
                    }
                    tbody {
                        @for (moment, points) in ["before", "after"].into_iter().zip(&points.moments) {
                            @for point in points.iter().take(24) { (row(roofs, moment, point)) }
                        }
                    }
                }
            }
            p .note { "The roof is the unit's level for 16 bits, or what L2 delivers for so many operations a byte, whichever is lower." }
        }
    }
}

fn row(roofs: &Roofs, moment: &str, point: &Point<'_>) -> Markup {
    let unit = if point.class == "cube" { roofs.cube_16_bit } else { roofs.vector_16_bit };
    let roof = unit.min(point.intensity * roofs.l2);
    html! {
        tr {
            th scope="row" { (point.label) }
            td { (moment) }
            td { (point.class) }
            td .number { (digits(point.intensity)) }
            td .number { (rate(point.rate)) }
            td .number { (format!("{:.0} %", point.rate / roof * 100.0)) }
        }
    }
}
