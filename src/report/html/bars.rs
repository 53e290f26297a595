//! Tables whose rows carry a bar for before and one for after.

use super::text::{percent, time};
use crate::report::figures::gain;
use maud::{Markup, html};

/// One row.
pub struct Row {
    pub label: String,
    /// What a pointer that rests on the row is told.
    pub title: String,
    /// Another column, as the table's heading says.
    pub note: String,
    /// Microseconds before and after.
    pub us: [f64; 2],
    /// How much better that is.
    pub gain: String,
}

/// Rows sorted by time before; those past the first `most` are summed in a last one.
pub fn top(mut rows: Vec<Row>, most: usize, what: &str) -> Vec<Row> {
    rows.sort_by(|a, b| b.us[0].total_cmp(&a.us[0]).then_with(|| a.label.cmp(&b.label)));
    // One row more costs no more than the sum of one.
    if rows.len() > most + 1 {
        let rest = rows.split_off(most);
        let us = rest.iter().fold([0.0; 2], |sum, row| [sum[0] + row.us[0], sum[1] + row.us[1]]);
        let label = format!("{} other {what}", rest.len());
        rows.push(Row { title: label.clone(), label, note: String::new(), us, gain: gain(us[0], us[1]) });
    }
    rows
}

/// The table; `headings` are of the label and of the note.
pub fn table(headings: [&str; 2], rows: &[Row]) -> Markup {
    let whole = rows.iter().fold([0.0; 2], |sum, row| [sum[0] + row.us[0], sum[1] + row.us[1]]);
    let longest = rows.iter().flat_map(|row| row.us).filter(|us| us.is_finite()).fold(0.0, f64::max);
    html! {
        div .scroll {
            table .bars {
                thead {
                    tr {
                        th { (headings[0]) }
                        th { (headings[1]) }
                        th .chart { span .key.before { "before" } " " span .key.after { "after" } }
                        th .number { "before" }
                        th .number { "after" }
                        th .number { "of all" }
                        th .number { "gain" }
                    }
                }
                tbody {
                    @for row in rows {
                        tr title=(row.title) {
                            th scope="row" { (row.label) }
                            td { (row.note) }
                            td .chart { (pair(row.us, longest)) }
                            td .number { (time(row.us[0])) }
                            td .number { (time(row.us[1])) }
                            td .number { (percent(row.us[1], whole[1])) }
                            td .number { (row.gain) }
                        }
                    }
                }
                tfoot {
                    tr {
                        th scope="row" colspan="3" { "together" }
                        td .number { (time(whole[0])) }
                        td .number { (time(whole[1])) }
                        td .number {}
                        td .number { (gain(whole[0], whole[1])) }
                    }
                }
            }
        }
    }
}

/// Two bars, one above the other, the longest of the table 100 long.
pub fn pair(us: [f64; 2], longest: f64) -> Markup {
    let length = |us: f64| {
        let share = if longest > 0.0 && us.is_finite() { (us / longest).clamp(0.0, 1.0) } else { 0.0 };
        format!("{:.2}", share * 100.0)
    };
    html! {
        svg viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label={ (time(us[0])) " before, " (time(us[1])) " after" } {
            rect .before x="0" y="0" height="5.4" width=(length(us[0])) {}
            rect .after x="0" y="6.2" height="5.4" width=(length(us[1])) {}
        }
    }
}
