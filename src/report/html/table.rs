//! The table of all operators: before and after, who reads the record, and what the tilings are. As it stands it is
//! read without a script; `page.js` sorts and filters it and opens its rows into what `details` has.

use super::details::Details;
use super::labels::apart;
use super::text::{cleaned, percent, shortened, time};
use super::tilings::{difference, held, text};
use super::winner::Winner;
use crate::bank::RecordReader;
use crate::report::explain::Layout;
use crate::report::figures::gain;
use crate::report::kernel::Kernel;
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeSet;

/// Operators of one page, and bytes of their rows and details: what keeps the page under 2 MB, however long its names.
const ROWS: usize = 1000;
const BYTES: usize = 1_650_000;
/// The same of the second page.
const MORE_ROWS: usize = 5000;
const MORE_BYTES: usize = 8_000_000;
/// Characters of a name.
const NAME: usize = 44;
/// Columns.
const COLUMNS: usize = 9;

/// The operators by the page that has them.
pub struct Rows<'a> {
    all: Vec<Row<'a>>,
    /// Where the second page begins, and where it ends.
    more: usize,
    end: usize,
    /// Time of all after, and the longest of one.
    whole_us: f64,
    longest_us: f64,
}

struct Row<'a> {
    kernel: &'a Kernel<'a>,
    label: String,
}

impl<'a> Rows<'a> {
    /// The slowest before first.
    pub fn of(kernels: &'a [Kernel<'a>]) -> Rows<'a> {
        let labels = apart(kernels.iter().map(Kernel::name), NAME);
        let mut rows: Vec<Row<'a>> = kernels.iter().zip(labels).map(|(kernel, label)| Row { kernel, label }).collect();
        rows.sort_by(|a, b| b.kernel.total_us()[0].total_cmp(&a.kernel.total_us()[0]));
        let sums = kernels.iter().map(Kernel::total_us);
        let (whole_us, longest_us) =
            sums.fold((0.0, 0.0_f64), |(whole, longest), us| (whole + us[1], longest.max(us[0]).max(us[1])));
        let mut rows = Rows { all: rows, more: 0, end: 0, whole_us, longest_us };
        rows.more = rows.fit(0, ROWS, BYTES);
        rows.end = rows.fit(rows.more, MORE_ROWS, MORE_BYTES);
        rows
    }

    /// Whether there is a second page.
    pub fn has_more(&self) -> bool {
        self.more < self.all.len()
    }

    /// The first row from `from` on that no longer fits.
    fn fit(&self, from: usize, rows: usize, bytes: usize) -> usize {
        let mut details = Details::new();
        let mut left = bytes;
        let mut end = from;
        for row in self.all.iter().skip(from).take(rows) {
            let needed = self.body(row).into_string().len() + details.add(row.kernel);
            // A page without any row would help nobody.
            if needed > left && end > from {
                break;
            }
            left = left.saturating_sub(needed);
            end += 1;
        }
        end
    }

    /// The table of the first page, or of the second.
    pub fn table(&self, is_more: bool) -> Markup {
        let rows = if is_more { &self.all[self.more..self.end] } else { &self.all[..self.more] };
        let mut details = Details::new();
        for row in rows {
            details.add(row.kernel);
        }
        html! {
            (filters(rows))
            div .scroll tabindex="0" role="region" aria-label="Table of operators" {
                table #ops {
                    thead {
                        tr {
                            th scope="col" { "operator" }
                            th .number scope="col" { "before" }
                            th .number scope="col" { "after" }
                            th .number scope="col" { "gain" }
                            th .number scope="col" { "of all" }
                            th .chart scope="col" data-fixed { span .key.before { "before" } " " span .key.after { "after" } }
                            th scope="col" { "type" }
                            th scope="col" { "status" }
                            th scope="col" { "read by" }
                        }
                    }
                    @for row in rows { (self.body(row)) }
                    @if !is_more { (self.foot()) }
                }
            }
            @let others = self.all.len() - self.end;
            @if !is_more && self.has_more() {
                p { (self.end - self.more) " operators that take less time have rows in " a href="report_more.html" { "a second page" } "." }
            }
            @if others > 0 { p .note { (others) " more are in report.json." } }
            script #details type="application/json" { (PreEscaped(details.text())) }
        }
    }

    /// One operator: its row, and its tilings in a second one.
    fn body(&self, Row { kernel, label }: &Row<'_>) -> Markup {
        let us = kernel.total_us();
        let name = if kernel.count > 1 { format!("{label} ×{}", kernel.count) } else { label.clone() };
        let share = |us: f64| if self.longest_us > 0.0 { us / self.longest_us * 100.0 } else { 0.0 };
        let full = cleaned(kernel.name(), 96);
        html! {
            tbody {
                tr {
                    th scope="row" title=[(full != *label).then_some(&full)] { (name) }
                    td { (time(us[0])) } td { (time(us[1])) }
                    td { (gain(kernel.before_us, kernel.after_us)) }
                    td { (percent(us[1], self.whole_us)) }
                    td style={ "--b:" (format!("{:.1}", share(us[0]))) ";--a:" (format!("{:.1}", share(us[1]))) } {}
                    td { (shortened(&kernel.op_type, 24)) } td { (outcome(kernel)) } td { (reader(kernel)) }
                }
                tr { td colspan=(COLUMNS) { (tilings(kernel)) } }
            }
        }
    }

    fn foot(&self) -> Markup {
        let [before, after, taken] = self.all.iter().fold([0.0; 3], |sum, row| {
            let us = row.kernel.total_us();
            [sum[0] + us[0], sum[1] + us[1], sum[2] + row.kernel.taken_us()]
        });
        let sum = |name: &str, after: f64| {
            html! {
                tr {
                    th scope="row" { (name) }
                    td { (time(before)) } td { (time(after)) } td { (gain(before, after)) } td { } td { } td { } td { } td { }
                }
            }
        };
        html! {
            tfoot {
                // The headline's, and what would be with what it does not count.
                (sum(if self.has_more() { "all, with the second page" } else { "together" }, taken))
                @if after < taken { (sum("with what only libaoe reads", after)) }
            }
        }
    }
}

/// What narrows the table; without a script it stays hidden.
fn filters(rows: &[Row<'_>]) -> Markup {
    let select = |id: &str, label: &str, values: BTreeSet<String>| {
        html! {
            label {
                (label) " "
                select id=(id) {
                    option value="" { "all" }
                    @for value in values { option { (value) } }
                }
            }
        }
    };
    let all = |value: fn(&Kernel<'_>) -> String| rows.iter().map(|row| value(row.kernel)).collect();
    html! {
        div #filters role="search" hidden {
            label { "Name " input #find type="search" autocomplete="off" spellcheck="false"; }
            (select("of-type", "Type", all(|kernel| shortened(&kernel.op_type, 24))))
            (select("of-status", "Status", all(|kernel| outcome(kernel).to_owned())))
            (select("of-reader", "Read by", all(|kernel| reader(kernel).to_owned())))
            output #found for="find of-type of-status of-reader" {}
        }
    }
}

/// What became of it, in words. What the time limit left out is not said to be best as it is.
fn outcome(kernel: &Kernel<'_>) -> &'static str {
    if kernel.is_missed() { "not reached" } else { kernel.status.words() }
}

/// Who takes what was found.
fn reader(kernel: &Kernel<'_>) -> &'static str {
    match kernel.read_by {
        Some(RecordReader::OwnForm) => "libaoe alone",
        Some(_) => "CANN",
        None if kernel.unsure.is_some() => "not sure",
        None => "no record",
    }
}

/// The tilings before and after, and what they lay into the cores.
fn tilings(kernel: &Kernel<'_>) -> Markup {
    let told = |moment: &str, tiling, layout: Option<&Layout>| {
        html! {
            div { b { (moment) } " " (text(tiling)) @if let Some(layout) = layout { br; (held(layout)) } }
        }
    };
    let winner = Winner::of(kernel);
    html! {
        @if kernel.unsure.is_some() {
            (told("before and after", &kernel.after, kernel.held_after.as_ref()))
            div {
                b { "not sure to be better" } " " (time(winner.us)) " with " (difference(winner.tiling, &kernel.before))
                @if let Some(layout) = winner.held { br; (held(layout)) }
            }
        } @else if winner.is_changed(kernel) {
            (told("before", &kernel.before, kernel.held_before.as_ref()))
            (told("after", winner.tiling, winner.held))
        } @else {
            (told("before and after", winner.tiling, winner.held))
        }
    }
}
