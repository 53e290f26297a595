//! A timeline as text: a lane for each pipe, and where the time goes.

use super::Explanation;
use crate::sim::timeline::{Lane, Pipe, Timeline};
use std::fmt::Write as _;

/// Columns of a lane.
const WIDTH: usize = 72;
/// A column's letter by how much of it the pipe works: none, up to a quarter, half, three quarters, all.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
/// Share of a column from which a pipe counts as working all through it.
const WHOLE: f64 = 0.98;

impl Explanation {
    /// The timeline as text of at most 100 columns that ends with an empty line.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let t = &self.timeline;
        let bound = serde_json::to_value(t.prediction.bound).ok();
        let bound = bound.as_ref().and_then(|b| b.as_str()).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}", self.title());
        let _ = writeln!(
            out,
            "  {:.3} us by the model (bound: {bound}), {:.3} us by the queues of the busiest core, shown here",
            t.prediction.time_us, t.total_us
        );
        let _ = writeln!(out, "  {}", blocks(t));
        out.push('\n');
        let end = format!("{:.3} us", t.total_us);
        let _ = writeln!(out, "  {:<8} 0{end:>1$}  busy", "", WIDTH - 1);
        let _ = writeln!(out, "  {:<8} {}", "phase", phases(t));
        for lane in &t.lanes {
            let share = lane.busy_us / t.total_us * 100.0;
            let _ = writeln!(out, "  {:<8} {} {share:>4.0} %", lane.pipe.name(), shades(lane, t.total_us));
        }
        out.push('\n');
        for line in account(t) {
            let _ = writeln!(out, "  {line}");
        }
        for note in sampling(t).into_iter().chain(self.notes.iter().flat_map(|note| folded(note))) {
            let _ = writeln!(out, "  {note}");
        }
        out.push('\n');
        out
    }
}

fn blocks(t: &Timeline) -> String {
    let b = t.blocks;
    let cores = format!("{} core{} at work", b.cores, if b.cores == 1 { "" } else { "s" });
    if b.tasks <= b.cores {
        return format!("{cores}, one block each");
    }
    format!("{cores} on {} blocks: {} rounds, {} cores work in the last", b.tasks, b.rounds(), b.cores_in_last_round())
}

/// The phases by their first letters, over the lanes' columns.
fn phases(t: &Timeline) -> String {
    let name = |column: usize| {
        let us = (column as f64 + 0.5) / WIDTH as f64 * t.total_us;
        t.phases.iter().find(|p| us < p.end_us).or(t.phases.last()).map_or("", |p| p.name)
    };
    let mut line = String::new();
    let mut column = 0;
    while column < WIDTH {
        let here = name(column);
        let width = (column..WIDTH).take_while(|&c| name(c) == here).count();
        // A mark where it begins, its name where there is room.
        let label: String = std::iter::once('|').chain(here.chars()).take(width).collect();
        let _ = write!(line, "{label:-<width$}");
        column += width;
    }
    line
}

/// A lane: how much of each column's time the pipe works.
fn shades(lane: &Lane, total_us: f64) -> String {
    let shade = |share: f64| match share {
        share if share <= 0.0 => SHADES[0],
        share if share >= WHOLE => SHADES[4],
        share => SHADES[1 + ((share * 3.0) as usize).min(2)],
    };
    lane.shares(WIDTH, total_us).into_iter().map(shade).collect()
}

/// Where the time goes, part by part.
fn account(t: &Timeline) -> Vec<String> {
    let part = |name: &str, us: f64, what: &str| {
        format!("{name:<10} {us:>12.3} us {:>5.1} %  {what}", us / t.total_us * 100.0).trim_end().to_owned()
    };
    let of = |name: &str| t.phases.iter().find(|p| p.name == name).map_or(0.0, |p| p.end_us - p.start_us);
    let working = if t.lanes.iter().any(|lane| lane.pipe == Pipe::Cube) { Pipe::Cube } else { Pipe::Vector };
    let mut lines = vec![
        part("start", of("start"), "until the last core begins"),
        part("fill", of("fill"), &format!("first loads, until the {} unit begins", working.name())),
        part("steady", of("steady"), &format!("until the {} unit ends; of that", working.name())),
    ];
    let waits: Vec<_> = t.waits.iter().filter(|(_, us)| *us > 0.0005 * t.total_us).collect();
    let idle: f64 = waits.iter().map(|(_, us)| us).sum();
    lines.push(part("  working", (of("steady") - idle).max(0.0), ""));
    lines.extend(waits.iter().map(|(pipe, us)| part("  waiting", *us, &format!("for {}", reason(*pipe)))));
    lines.push(part("drain", of("drain"), "last results on their way out"));
    lines
}

/// What it means that a pipe was waited for.
fn reason(pipe: Pipe) -> &'static str {
    match pipe {
        Pipe::Memory => "memory: device memory and L2, shared by all cores, give no more",
        Pipe::Mte2 => "mte2: loads from GM, or a buffer in L1 for them",
        Pipe::Mte1 => "mte1: loads from L1 to L0, or a buffer in L0 for them",
        Pipe::Cube => "the scalar unit, which issues tiles",
        Pipe::Vector => "vector: the way out of L0C",
        Pipe::Fixpipe => "fixpipe: the way out of L0C",
        Pipe::Mte3 => "mte3: the way out of UB",
    }
}

/// What was not gone through one by one.
fn sampling(t: &Timeline) -> Vec<String> {
    let [all, simulated] = t.tiles;
    let mut lines = Vec::new();
    if simulated < all {
        lines.push(format!("{simulated} of {all} tiles were gone through; the others are taken for repeats of them"));
    }
    if t.steps_joined > 1 {
        lines.push(format!("{} cube steps were taken as one", t.steps_joined));
    }
    lines
}

/// A text of any length in lines of at most 96 letters.
fn folded(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    letters.chunks(96).map(|line| line.iter().collect()).collect()
}
