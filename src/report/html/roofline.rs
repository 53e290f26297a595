//! What the kernels reach of what the SoC gives: operations a second against operations for each byte.

use super::axes::{Log, place};
use super::data::{Kernel, Report, Roofs, Work};
use super::text::{digits, power};
use maud::{Markup, html};

/// Points drawn at the most; beyond it, those of the longest kernels.
const MOST: usize = 4000;
/// Size of the chart, and the room around its plot: left, top, right, bottom.
const SIZE: [f64; 2] = [1000.0, 560.0];
const ROOM: [f64; 4] = [62.0, 16.0, 20.0, 46.0];

/// A kernel that computes.
struct Point<'a> {
    kernel: &'a Kernel,
    class: &'static str,
    /// Operations for each byte.
    intensity: f64,
    /// Operations in a microsecond before and after.
    rates: [f64; 2],
}

/// The section.
pub fn roofline(report: &Report) -> Markup {
    let mut points: Vec<Point<'_>> = report.kernels.iter().filter_map(point).collect();
    let others = report.kernels.len() - points.len();
    points.sort_by(|a, b| b.kernel.total_us()[0].total_cmp(&a.kernel.total_us()[0]));
    points.truncate(MOST);
    html! {
        section #roofline {
            h2 { "Roofline" }
            @match &report.roofs {
                Some(roofs) if !points.is_empty() => {
                    p {
                        "Each kernel by the operations that it does for each byte that it reads or writes, and by the rate that it reaches: "
                        "a ring before tuning, a disc after. The slopes are what device memory and L2 deliver, the levels what the units compute."
                    }
                    p .legend {
                        span .key.cube { "cube kernels" } " " span .key.vector { "vector kernels" }
                    }
                    div .scroll { (chart(roofs, &points)) }
                    (table(roofs, &points))
                    @if others > 0 { p .note { (others) " operators only move data, exchange it, or were not measured, and have no place here." } }
                }
                _ => p .none { "No kernel was priced one by one; operators were not tuned in this run, or none of them computes." },
            }
        }
    }
}

fn point(kernel: &Kernel) -> Option<Point<'_>> {
    let Work { bytes, cube_operations, vector_operations } = kernel.work?;
    let (class, operations) =
        if cube_operations > 0.0 { ("cube", cube_operations) } else { ("vector", vector_operations) };
    let intensity = operations / bytes;
    let rates = [kernel.before_us, kernel.after_us].map(|us| operations / us);
    let is_value = |x: f64| x.is_finite() && x > 0.0;
    (is_value(intensity) && rates.into_iter().all(is_value)).then_some(Point { kernel, class, intensity, rates })
}

fn chart(roofs: &Roofs, points: &[Point<'_>]) -> Markup {
    let [left, top, right, bottom] = ROOM;
    let [width, height] = SIZE;
    // Where the slope of device memory meets the cube's level belongs on the chart.
    let knee = roofs.cube_16_bit / roofs.memory;
    let x = Log::over(points.iter().map(|p| p.intensity).chain([knee, 1.0]), left, width - right);
    let rates = points.iter().flat_map(|p| p.rates).chain([roofs.cube_16_bit, roofs.vector_16_bit]);
    let y = Log::over(rates, height - bottom, top);
    let exceeds = points.iter().any(|p| p.class == "cube" && p.rates[1] > roofs.cube_16_bit);
    html! {
        svg .wide viewBox={ "0 0 " (width) " " (height) } role="img" aria-labelledby="roofline-title" {
            title #roofline-title { "Roofline of " (points.len()) " kernels before and after tuning; the table below has the numbers" }
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
            // The longest last, so that they lie on top.
            @for point in points.iter().rev() { (mark(point, &x, &y)) }
        }
    }
}

fn mark(point: &Point<'_>, x: &Log, y: &Log) -> Markup {
    let at = place(x.at(point.intensity));
    let [before, after] = point.rates.map(|rate| place(y.at(rate)));
    html! {
        g class=(point.class) {
            title { (point.kernel.label(60)) ", " (point.kernel.op_type.short(24)) ": " (rate(point.rates[0])) " → " (rate(point.rates[1])) }
            line .way x1=(at) x2=(at) y1=(before) y2=(after) {}
            circle .ring cx=(at) cy=(before) r="3.2" {}
            circle .disc cx=(at) cy=(after) r="3.6" {}
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

fn table(roofs: &Roofs, points: &[Point<'_>]) -> Markup {
    let peak = |point: &Point<'_>| {
        let unit = if point.class == "cube" { roofs.cube_16_bit } else { roofs.vector_16_bit };
        unit.min(point.intensity * roofs.l2)
    };
    let share = |point: &Point<'_>, at: usize| format!("{:.0} %", point.rates[at] / peak(point) * 100.0);
    html! {
        details {
            summary { "The longest kernels in numbers" }
            div .scroll {
                table {
                    thead {
                        tr {
                            th { "operator" } th { "unit" } th .number { "operations a byte" } th .number { "before" } th .number { "of the roof" }
                            th .number { "after" } th .number { "of the roof" }
                        }
                    }
                    tbody {
                        @for point in points.iter().take(24) {
                            tr {
                                th scope="row" { (point.kernel.label(44)) }
                                td { (point.class) }
                                td .number { (digits(point.intensity)) }
                                td .number { (rate(point.rates[0])) }
                                td .number { (share(point, 0)) }
                                td .number { (rate(point.rates[1])) }
                                td .number { (share(point, 1)) }
                            }
                        }
                    }
                }
            }
            p .note { "The roof is the unit's level for 16 bits, or what L2 delivers for so many operations a byte, whichever is lower." }
        }
    }
}
