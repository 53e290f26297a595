//! The gradients of a training step: when each segment is exchanged, before and after, and what others make of them.

use super::axes::place;
use super::bars::pair;
use super::text::{digits, percent, time};
use crate::report::figures::gain;
use crate::report::gdat::{Gradients, ScaleUs, SegmentUs, SplitUs};
use crate::report::model::Report;
use maud::{Markup, html};

/// Segments of a split that are drawn, and numbers of a list that are written out.
const MOST: usize = 256;
/// Size of the timeline, and the room around its plot: left and right.
const SIZE: [f64; 2] = [1000.0, 176.0];
const ROOM: [f64; 2] = [150.0, 12.0];
/// Height of a lane, and of its bars.
const LANE: f64 = 32.0;
const BAR: f64 = 22.0;

/// The section.
pub fn gradients(gradients: &Gradients<'_>) -> Markup {
    html! {
        section #gradients {
            h2 { "Gradients" }
            @match gradients.split_before.as_ref().zip(gradients.split_after.as_ref()) {
                Some((before, after)) => (found(gradients, before, after)),
                None => p .none { "The times of the gradients were not known yet." },
            }
        }
    }
}

fn found(gradients: &Gradients<'_>, before: &SplitUs<'_>, after: &SplitUs<'_>) -> Markup {
    let trailing = [before.trailing_us, after.trailing_us];
    html! {
        p {
            "With the best split the exchange goes on for " (time(trailing[0])) " → " strong { (time(trailing[1])) }
            " after the last backward operator: " (before.segments.len()) " → " (after.segments.len()) " segments of "
            (gradients.tensors.len()) " gradients."
        }
        (pair(trailing, trailing[0].max(trailing[1])))
        h3 { "The step" }
        p .legend {
            span .key.move { "computing" } " " span .key.vector { "AllReduce beside it" } " "
            span .key.cube { "AllReduce behind it" }
        }
        div .scroll { (timeline(before, after)) }
        h3 { "The splits" }
        (splits(gradients, before, after))
        @if let Some(bank) = &gradients.split_from_bank {
            p .note {
                "CANN's graph compiler reads times and sizes from the bank and cuts by a rule of its own: "
                (bank.segments.len()) " segments, and " (time(bank.trailing_us)) " behind the backward pass. "
                "The best split itself comes from hccl's interface or the tuned model."
            }
            @if bank.end_us > before.end_us {
                p .warning {
                    "By that the step takes " (ms(bank.end_us)) ", longer than the " (ms(before.end_us))
                    " of hccl's default: take the best split itself."
                }
            }
        }
        (numbers(after))
        @if !gradients.scaling.is_empty() {
            h3 { "On other numbers of devices" }
            (scaling(&gradients.scaling))
        }
    }
}

/// Both moments, one above the other, each with a lane that computes and one that exchanges.
fn timeline(before: &SplitUs<'_>, after: &SplitUs<'_>) -> Markup {
    let [width, height] = SIZE;
    let end = [before, after].into_iter().flat_map(|split| [split.end_us, split.backward_us]).fold(0.0, f64::max);
    let at = |us: f64| {
        let share = if end > 0.0 { (us / end).clamp(0.0, 1.0) } else { 0.0 };
        ROOM[0] + share * (width - ROOM[0] - ROOM[1])
    };
    html! {
        svg .wide viewBox={ "0 0 " (width) " " (height) } role="img" aria-labelledby="gradients-title" {
            title #gradients-title { "Computing and segments of the exchange before and after tuning; the tables below have the numbers" }
            @for (row, (moment, split)) in [("before", before), ("after", after)].into_iter().enumerate() {
                @let top = row as f64 * (2.0 * LANE + 12.0) + 4.0;
                (lane(top, &format!("{moment}: computing")))
                (bar("move", [0.0, split.backward_us].map(at), top, &format!("computing, until {}", time(split.backward_us))))
                (lane(top + LANE, "AllReduce"))
                @for (number, segment) in split.segments.iter().take(MOST).enumerate() {
                    (exchange(number, segment, split.backward_us, &at, top + LANE))
                }
            }
            text .tick x=(ROOM[0]) y=(height - 6.0) { "0" }
            text .tick x=(width - ROOM[1]) y=(height - 6.0) text-anchor="end" { (time(end)) }
        }
    }
}

fn lane(top: f64, name: &str) -> Markup {
    html! { text .tick x=(ROOM[0] - 8.0) y=(place(top + BAR / 2.0 + 4.0)) text-anchor="end" { (name) } }
}

/// A segment: what runs beside the backward pass, and what behind it.
fn exchange(number: usize, segment: &SegmentUs, backward_us: f64, at: &impl Fn(f64) -> f64, top: f64) -> Markup {
    let turn = backward_us.clamp(segment.start_us, segment.end_us.max(segment.start_us));
    let name = format!(
        "segment {}, gradients {} to {}: {} to {}",
        number + 1,
        segment.first,
        segment.last,
        time(segment.start_us),
        time(segment.end_us)
    );
    html! {
        @if turn > segment.start_us { (bar("vector", [segment.start_us, turn].map(at), top, &name)) }
        @if segment.end_us > turn { (bar("cube", [turn, segment.end_us].map(at), top, &name)) }
    }
}

fn bar(class: &str, [start, end]: [f64; 2], top: f64, name: &str) -> Markup {
    // A line of the ground between neighbours.
    let width = (end - start - 0.8).max(0.4);
    html! {
        rect class=(class) x=(place(start)) y=(place(top)) width=(format!("{width:.1}")) height=(BAR) { title { (name) } }
    }
}

fn splits(gradients: &Gradients<'_>, before: &SplitUs<'_>, after: &SplitUs<'_>) -> Markup {
    let bank = gradients.split_from_bank.as_ref().map(|bank| ("what CANN takes from the bank", bank));
    let rows = [("hccl's default", before)].into_iter().chain(bank).chain([("the best", after)]);
    html! {
        div .scroll {
            table {
                thead { tr { th { "split" } th .number { "step" } th .number { "behind it" } th { "by idx" } th { "by size, %" } } }
                tbody {
                    @for (name, split) in rows {
                        tr {
                            th scope="row" { (name) }
                            td .number { (ms(split.end_us)) }
                            td .number { (ms(split.trailing_us)) }
                            td { code { (list(&split.by_idx, usize::to_string)) } }
                            td { code { (list(&split.by_size, |share| format!("{share}"))) } }
                        }
                    }
                }
            }
        }
        @if after.sets.is_empty() { p .note { "As " code { "set_split_strategy_by_idx" } " and " code { "set_split_strategy_by_size" } " of hccl take them." } }
        @else { p .note { "Over the gradients of all " (after.sets.len()) " groups and types; report.json has the lists of each." } }
    }
}

/// Numbers as a list, the first of them where there are very many.
fn list<T>(numbers: &[T], text: impl Fn(&T) -> String) -> String {
    let shown: Vec<_> = numbers.iter().take(MOST).map(text).collect();
    let more = if numbers.len() > MOST { format!(", … {} more", numbers.len() - MOST) } else { String::new() };
    format!("[{}{more}]", shown.join(", "))
}

/// The segments of the best split in numbers.
fn numbers(split: &SplitUs<'_>) -> Markup {
    let whole = split.segments.iter().map(|segment| segment.bytes as f64).sum();
    html! {
        details {
            summary { "The segments of the best split in numbers" }
            div .scroll {
                table {
                    thead {
                        tr {
                            th { "gradients" } th .number { "MB" } th .number { "of all" } th .number { "ready" }
                            th .number { "begins" } th .number { "ends" }
                        }
                    }
                    tbody {
                        @for segment in split.segments.iter().take(MOST) {
                            tr {
                                th scope="row" { (segment.first) " – " (segment.last) }
                                td .number { (digits(segment.bytes as f64 / 1e6)) }
                                td .number { (percent(segment.bytes as f64, whole)) }
                                @for us in [segment.ready_us, segment.start_us, segment.end_us] { td .number { (time(us)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Milliseconds to the microsecond: splits are near each other.
fn ms(us: f64) -> String {
    if us.is_finite() { format!("{:.3} ms", us / 1e3) } else { time(us) }
}

fn scaling(rows: &[ScaleUs]) -> Markup {
    html! {
        div .scroll {
            table {
                thead {
                    tr {
                        th .number { "devices" } th .number { "nodes" } th .number { "step before" } th .number { "step after" } th .number { "gain" }
                        th .number { "behind it before" } th .number { "behind it after" } th .number { "segments" }
                    }
                }
                tbody {
                    @for row in rows.iter().take(MOST) {
                        tr {
                            td .number { (row.devices) }
                            td .number { (row.nodes) }
                            td .number { (ms(row.before_us)) }
                            td .number { (ms(row.after_us)) }
                            td .number { (gain(row.before_us, row.after_us)) }
                            td .number { (ms(row.trailing_before_us)) }
                            td .number { (ms(row.trailing_after_us)) }
                            td .number { (row.by_idx.len()) }
                        }
                    }
                }
            }
        }
    }
}

/// Times behind the backward pass before and, as CANN runs it with the bank, after, where they are known.
pub fn trailing(report: &Report<'_>) -> Option<[f64; 2]> {
    let gradients = report.gradients.as_ref()?;
    let before = gradients.split_before.as_ref()?;
    Some([before, gradients.split_from_bank.as_ref().unwrap_or(before)].map(|split| split.trailing_us))
}
