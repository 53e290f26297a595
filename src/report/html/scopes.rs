//! The fusion scopes on the graph: the launches of each subgraph in order, each a box with the nodes that are fused in it.

use super::axes::place;
use super::sequence::{Block, Launch, blocks, launches};
use super::text::{cleaned, shortened, time};
use crate::graph::op::{self, Kind};
use crate::report::figures::{microseconds, truncated_improvement};
use crate::report::model::Report;
use crate::report::sgat::{Subgraph, Subgraphs};
use crate::report::status::Status;
use maud::{Markup, html};

/// Subgraphs drawn.
const DRAWN: usize = 6;
/// Boxes of one drawing.
const BOXES: usize = 64;
/// Nodes of one box that are named.
const NODES: usize = 8;
/// Boxes side by side, their width, and the way from one to the next.
const COLUMNS: usize = 8;
const WIDTH: f64 = 100.0;
const PITCH: f64 = 122.0;
/// Room at the left, of a node in a box, above a row of boxes for what passes over it, and below it.
const LEFT: f64 = 14.0;
const NODE: f64 = 19.0;
const ABOVE: f64 = 46.0;
const BELOW: f64 = 26.0;

/// The section.
pub fn scopes(report: &Report<'_>) -> Markup {
    html! {
        section #scopes {
            h2 { "Fusion scopes" }
            @match &report.subgraphs {
                None => p .none { "Subgraphs were not tuned in this run, and every operator is a kernel of its own; " code { "--job_type=1,2" } " tunes both." },
                Some(subgraphs) => (drawn(subgraphs)),
            }
        }
    }
}

fn drawn(subgraphs: &Subgraphs<'_>) -> Markup {
    let has_scopes = |subgraph: &&Subgraph<'_>| {
        subgraph.after.groups.iter().any(|group| group.parts > 1 || group.scopes.iter().any(|scope| scope.len() > 1))
    };
    let mut shown: Vec<&Subgraph<'_>> = subgraphs.distinct.iter().filter(has_scopes).collect();
    shown.sort_by(|a, b| b.total_us()[0].total_cmp(&a.total_us()[0]));
    let (others, drawn) = (subgraphs.distinct.len() - shown.len().min(DRAWN), &shown[..shown.len().min(DRAWN)]);
    html! {
        @if drawn.is_empty() {
            p .none { "Nothing is fused and nothing is cut: each kernel of the " (subgraphs.distinct.len()) " distinct subgraphs runs by itself." }
        } @else {
            p {
                "Each box is one launch, in the order in which they run; the operators in one box are fused. "
                "Lines show who reads whose result; a dashed frame stands for blocks that repeat."
            }
            p .legend { span .key.cube { "cube" } " " span .key.vector { "vector and data movement" } " " span .key.cut { "in parts of the batch" } }
            @for subgraph in drawn { (figure(subgraph)) }
            @if others > 0 { p .note { (others) " other distinct subgraphs, smaller or without scopes, are in report.json." } }
        }
    }
}

fn figure(subgraph: &Subgraph<'_>) -> Markup {
    let launches = launches(subgraph, &subgraph.after);
    let drawing = Drawing::of(blocks(subgraph, &launches), &launches);
    let (before, after) = (&subgraph.before, &subgraph.after);
    html! {
        figure .scope {
            figcaption {
                strong { (label(subgraph, 60)) } " " (subgraph.op_types.len()) " kernels in " (after.traffic.launches) " launches, "
                (before.traffic.launches) " before; " (time(before.us)) " → " (time(after.us)) " (" (truncated_improvement(microseconds(before.us), microseconds(after.us))) ", " (fate(subgraph.status)) ")"
            }
            div .scroll { (drawing.render(subgraph, &launches)) }
            @if drawing.left_out > 0 { p .note { "and " (drawing.left_out) " more launches" } }
        }
    }
}

/// The node that a subgraph begins with, at no more than so many characters, and how often the subgraph occurs.
pub fn label(subgraph: &Subgraph<'_>, most: usize) -> String {
    let name = shortened(subgraph.name(), most);
    if subgraph.count > 1 { format!("{name} ×{}", subgraph.count) } else { name }
}

/// What became of a subgraph's record.
const fn fate(status: Status) -> &'static str {
    match status {
        Status::Added => "added to the bank",
        Status::Updated => "updated in the bank",
        Status::Reserved => "kept from the bank",
        Status::Unsaved => "better, but not in the bank",
        Status::Unsatisfied => "CANN's default stays",
        Status::NotTuned => "no tuning problem",
        other => other.name(),
    }
}

/// Where everything stands.
struct Drawing {
    blocks: Vec<Block>,
    /// For each launch the box that stands for it.
    box_of: Vec<Option<usize>>,
    boxes: Vec<Spot>,
    height: f64,
    left_out: usize,
}

/// A box on the page.
struct Spot {
    launch: usize,
    row: usize,
    x: f64,
    y: f64,
    height: f64,
}

impl Drawing {
    fn of(mut blocks: Vec<Block>, launches: &[Launch]) -> Drawing {
        let mut boxes: Vec<Spot> = Vec::new();
        let mut box_of = vec![None; launches.len()];
        let (mut row, mut column) = (0, 0);
        let mut kept = 0;
        for block in &blocks {
            if boxes.len() + block.len > BOXES {
                break;
            }
            kept += 1;
            // A block stays in one row where it can.
            if column > 0 && column + block.len.min(COLUMNS) > COLUMNS {
                (row, column) = (row + 1, 0);
            }
            for at in 0..block.len {
                if column == COLUMNS {
                    (row, column) = (row + 1, 0);
                }
                let launch = block.start + at;
                (0..block.times).for_each(|copy| box_of[launch + copy * block.len] = Some(boxes.len()));
                let nodes = launches[launch].nodes.len();
                let height = (nodes.min(NODES) + usize::from(nodes > NODES)) as f64 * NODE + 8.0;
                boxes.push(Spot { launch, row, x: LEFT + column as f64 * PITCH, y: 0.0, height });
                column += 1;
            }
        }
        let left_out = box_of.iter().filter(|place| place.is_none()).count();
        blocks.truncate(kept);
        let mut y = 0.0;
        for row in boxes.chunk_by_mut(|a, b| a.row == b.row) {
            y += ABOVE;
            for spot in &mut *row {
                spot.y = y;
            }
            y += row.iter().fold(0.0, |height: f64, spot| height.max(spot.height)) + BELOW;
        }
        Drawing { blocks, box_of, boxes, height: y, left_out }
    }

    fn render(&self, subgraph: &Subgraph<'_>, launches: &[Launch]) -> Markup {
        let width = 2.0 * LEFT + (COLUMNS - 1) as f64 * PITCH + WIDTH;
        let label = format!("Launches of the subgraph from {}", label(subgraph, 60));
        html! {
            svg .wide viewBox={ "0 0 " (width) " " (place(self.height)) } role="img" aria-label=(label) {
                @for block in self.blocks.iter().filter(|block| block.times > 1) { (self.frame(block)) }
                @for (from, to) in self.edges(launches) { path .edge d=(way(from, to)) {} }
                @for spot in &self.boxes { (spot.render(subgraph, &launches[spot.launch])) }
            }
        }
    }

    /// Pairs of boxes of which one reads what the other makes. What a later copy of a block reads is left to the
    /// first.
    fn edges(&self, launches: &[Launch]) -> Vec<(&Spot, &Spot)> {
        let mut edges = Vec::new();
        for spot in &self.boxes {
            for &from in &launches[spot.launch].reads {
                if let Some(maker) = self.box_of[from].map(|place| &self.boxes[place])
                    && maker.launch < spot.launch
                {
                    edges.push((maker, spot));
                }
            }
        }
        edges
    }

    /// A frame around a block that repeats, one for each row that it stands in.
    fn frame(&self, block: &Block) -> Markup {
        let inside: Vec<&Spot> =
            self.boxes.iter().filter(|spot| (block.start..block.start + block.len).contains(&spot.launch)).collect();
        html! {
            @for row in inside.chunk_by(|a, b| a.row == b.row) {
                @let (first, last) = (row[0], row[row.len() - 1]);
                @let height = row.iter().fold(0.0, |height: f64, spot| height.max(spot.height)) + 16.0;
                rect .frame x=(place(first.x - 7.0)) y=(place(first.y - 8.0)) width=(place(last.x - first.x + WIDTH + 14.0)) height=(place(height)) rx="6" {}
                text .tick x=(place(last.x + WIDTH + 4.0)) y=(place(first.y + height + 4.0)) text-anchor="end" { "× " (block.times) }
            }
        }
    }
}

/// A line from one box to another: straight to the next, over what stands between, or down to a later row.
fn way(from: &Spot, to: &Spot) -> String {
    let (x1, x2) = (from.x + WIDTH, to.x);
    if from.row == to.row && x2 - x1 < PITCH {
        let y = place(from.y + 4.0 + NODE / 2.0);
        return format!("M{} {y}H{}", place(x1), place(x2));
    }
    let (x1, x2) = (from.x + WIDTH / 2.0, to.x + WIDTH / 2.0);
    if from.row == to.row {
        // Longer ways pass higher.
        let y = from.y - 14.0 - ((x2 - x1) / PITCH * 6.0).min(30.0);
        return format!("M{} {1}C{0} {3} {2} {3} {2} {1}", place(x1), place(from.y), place(x2), place(y));
    }
    let (y1, y2) = (from.y + from.height, to.y);
    let between = place(f64::midpoint(y1, y2));
    format!("M{0} {1}C{0} {4} {2} {4} {2} {3}", place(x1), place(y1), place(x2), place(y2), between)
}

impl Spot {
    fn render(&self, subgraph: &Subgraph<'_>, launch: &Launch) -> Markup {
        let (named, others) = launch.nodes.split_at(launch.nodes.len().min(NODES));
        let name = |node: &usize| subgraph.names.get(*node).map(|name| cleaned(name, 96)).unwrap_or_default();
        html! {
            g class=(if launch.parts > 1 { "launch cut" } else { "launch" }) {
                rect x=(place(self.x)) y=(place(self.y)) width=(WIDTH) height=(place(self.height)) rx="4" {}
                @for (at, node) in named.iter().enumerate() {
                    @let y = self.y + 4.0 + at as f64 * NODE;
                    g class=(unit(subgraph, *node)) {
                        title { (name(node)) }
                        rect .node x=(place(self.x + 4.0)) y=(place(y + 1.0)) width=(WIDTH - 8.0) height=(NODE - 2.0) rx="3" {}
                        text x=(place(self.x + WIDTH / 2.0)) y=(place(y + 13.5)) text-anchor="middle" {
                            (subgraph.op_types.get(*node).map(|op_type| shortened(op_type, 14)).unwrap_or_default())
                        }
                    }
                }
                @if !others.is_empty() {
                    text .tick x=(place(self.x + WIDTH / 2.0)) y=(place(self.y + self.height - 8.0)) text-anchor="middle" { "and " (others.len()) " more" }
                }
                @if launch.parts > 1 {
                    text .tick x=(place(self.x)) y=(place(self.y + self.height + 13.0)) { "in " (launch.parts) " parts" }
                }
            }
        }
    }
}

/// The unit that an operator runs on, as a class of the page.
fn unit(subgraph: &Subgraph<'_>, node: usize) -> &'static str {
    match subgraph.op_types.get(node).map(|op_type| op::kind(op_type)) {
        Some(Kind::MatMul | Kind::Within(_) | Kind::Einsum | Kind::Attention | Kind::Recurrent | Kind::Conv(_)) => {
            "cube"
        }
        _ => "vector",
    }
}
