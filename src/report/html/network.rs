//! The timeline of the network: its kernels in the order in which they run, as wide as they take time.

use super::axes::place;
use super::labels::apart;
use super::shares::{class, legend};
use super::text::{percent, shortened, time};
use crate::report::model::Report;
use crate::report::runs::{Launched, Step};
use maud::{Markup, html};

/// Size of the drawing: its width, the height of a run, and the way from one to the next.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 46.0;
const PITCH: f64 = 74.0;
/// Width from which a step stands alone, from which it is named, and of a letter of its name.
const ALONE: f64 = 4.0;
const NAMED: f64 = 40.0;
const LETTER: f64 = 6.6;
/// Characters of a name, and rows of the table.
const NAME: usize = 60;
const LISTED: usize = 24;

/// One run: its steps, what they run, and short names of these.
struct Run<'a> {
    moment: &'static str,
    kernels: &'a [Launched],
    labels: Vec<String>,
    pieces: Vec<Piece>,
    us: f64,
}

/// Steps that are drawn as one.
struct Piece {
    /// The one that takes most of the time.
    kernel: Option<usize>,
    count: u64,
    start_us: f64,
    us: f64,
}

/// The section.
pub fn network(report: &Report<'_>) -> Markup {
    let runs = report.runs.as_ref().map(|runs| {
        let us = |steps: &[Step]| steps.iter().map(|step| step.us).sum::<f64>();
        let longest_us = us(&runs.sequence_before).max(us(&runs.sequence_after));
        [
            Run::of("before", &runs.before, &runs.sequence_before, longest_us),
            Run::of("after", &runs.after, &runs.sequence_after, longest_us),
        ]
    });
    html! {
        section #network {
            h2 { "One run of the network" }
            @match &runs {
                Some(runs) if runs.iter().any(|run| run.us > 0.0) => {
                    p { "The kernels in the order in which they run, each as wide as it takes time, coloured by what it waits for most. Short ones that follow each other are drawn as one." }
                    (legend())
                    div .scroll tabindex="0" role="region" aria-label="Timeline of the network" { (drawing(runs)) }
                    (table(&runs[1]))
                }
                _ => p .none { "The order of the kernels and their times are not known one by one." },
            }
        }
    }
}

impl<'a> Run<'a> {
    fn of(moment: &'static str, kernels: &'a [Launched], steps: &[Step], longest_us: f64) -> Run<'a> {
        let labels = apart(kernels.iter().map(|kernel| kernel.name.as_deref().unwrap_or_default()), NAME);
        let least_us = longest_us * ALONE / WIDTH;
        let mut pieces: Vec<Piece> = Vec::new();
        let mut us = 0.0;
        let mut longest_of_piece = 0.0;
        for step in steps {
            let start_us = us;
            us += step.us;
            if let Some(last) = pieces.last_mut().filter(|last| last.us < least_us && step.us < least_us) {
                if step.us > longest_of_piece {
                    (longest_of_piece, last.kernel) = (step.us, step.kernel);
                }
                last.count = last.count.saturating_add(step.count);
                last.us += step.us;
            } else {
                longest_of_piece = step.us;
                pieces.push(Piece { kernel: step.kernel, count: step.count, start_us, us: step.us });
            }
        }
        Run { moment, kernels, labels, pieces, us }
    }

    fn kernel(&self, piece: &Piece) -> Option<&'a Launched> {
        self.kernels.get(piece.kernel?)
    }

    /// What a piece is, in words.
    fn title(&self, piece: &Piece) -> String {
        let name = piece.kernel.and_then(|at| self.labels.get(at)).map_or("many short kernels", String::as_str);
        let more = if piece.count > 1 { format!(" and {} more", piece.count - 1) } else { String::new() };
        format!("{name}{more}: {}", time(piece.us))
    }

    fn draw(&self, y: f64, scale: f64) -> Markup {
        html! {
            text .tick x="0" y=(place(y - 6.0)) { (self.moment) ", " (time(self.us)) }
            @for piece in &self.pieces {
                @let (x, width) = (piece.start_us * scale, piece.us * scale);
                @let kernel = self.kernel(piece);
                rect class=(kernel.map_or("unknown", class)) x=(place(x)) y=(place(y)) width=(format!("{:.2}", (width - 0.4).max(0.1))) height=(HEIGHT) {
                    title { (self.title(piece)) }
                }
                @if let Some(op_type) = kernel.filter(|_| width > NAMED).and_then(|kernel| kernel.op_type.as_ref()) {
                    text .inside x=(place(x + width / 2.0)) y=(place(y + HEIGHT / 2.0 + 4.0)) text-anchor="middle" { (shortened(op_type, (width / LETTER) as usize - 1)) }
                }
            }
        }
    }
}

fn drawing(runs: &[Run<'_>; 2]) -> Markup {
    let longest_us = runs[0].us.max(runs[1].us);
    let scale = WIDTH / longest_us;
    let label = format!("One run of the network takes {} before and {} after", time(runs[0].us), time(runs[1].us));
    html! {
        svg .wide viewBox={ "0 0 " (WIDTH) " " (place(2.0 * PITCH)) } role="img" aria-label=(label) {
            @for (at, run) in runs.iter().enumerate() { (run.draw(20.0 + at as f64 * PITCH, scale)) }
        }
    }
}

/// The longest pieces after, in order.
fn table(run: &Run<'_>) -> Markup {
    let mut longest: Vec<&Piece> = run.pieces.iter().collect();
    longest.sort_by(|a, b| b.us.total_cmp(&a.us));
    longest.truncate(LISTED);
    longest.sort_by(|a, b| a.start_us.total_cmp(&b.start_us));
    html! {
        details {
            summary { "The longest of the run after, in their order" }
            div .scroll {
                table {
                    thead { tr { th { "kernel" } th { "type" } th .number { "begins at" } th .number { "takes" } th .number { "of the run" } } }
                    tbody {
                        @for piece in longest {
                            tr {
                                th scope="row" { (piece.kernel.and_then(|at| run.labels.get(at)).map_or("many short kernels", String::as_str)) @if piece.count > 1 { " and " (piece.count - 1) " more" } }
                                td { @if let Some(op_type) = run.kernel(piece).and_then(|kernel| kernel.op_type.as_ref()) { (shortened(op_type, 24)) } }
                                td .number { (time(piece.start_us)) }
                                td .number { (time(piece.us)) }
                                td .number { (percent(piece.us, run.us)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
