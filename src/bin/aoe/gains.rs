//! The lines that say where the gain of a tuning lies.

use crate::labels::{labelled, some_of};
use crate::table::middle_cut;
use aoe::report::model::{Gains, Left, Over, Reader, Sum, WorthMeasuring};
use aoe::report::{counted, time};

/// Columns of the name of an operator.
const NAME_COLUMNS: usize = 40;
/// Gains out of reach that are told one by one.
const LEFT: usize = 5;

/// `5.12% (90 %: 1.20% to 9.80%)`, and the times.
fn over(over: &Over) -> String {
    let times = format!("{} to {}", time(over.before_us), time(over.after_us));
    match &over.interval {
        _ if over.improvement == "0.00%" => format!("0.00% ({})", time(over.before_us)),
        Some([least, most]) => format!("{} (90 %: {least} to {most}), {times}", over.improvement),
        None => format!("{} (its interval is not known), {times}", over.improvement),
    }
}

/// The lines, the headline first.
pub fn lines(gains: &Gains<'_>, is_simulated: bool) -> Vec<String> {
    let by = if is_simulated { "predicted by the simulator" } else { "measured" };
    let mut lines = vec![labelled(
        "Gain",
        &format!("{} over CANN's own default, by what CANN reads; {by}", over(&gains.over_default)),
    )];
    lines.extend(gains.gears.iter().map(|gear| labelled("", &format!("{}: {}", gear.name, over(&gear.over)))));
    lines.extend(gains.readers.iter().map(|(name, reader)| labelled("", &by_reader(name, reader))));
    if gains.over_estimated.before_us > gains.over_estimated.after_us {
        lines.push(labelled(
            "Estimated",
            &format!("{} of it are over defaults that are estimated", saved(&gains.over_estimated)),
        ));
    }
    lines.extend(
        gains.with_your_bank_us.map(|us| labelled("Your bank", &format!("{} with what it had before", time(us)))),
    );
    lines.extend(
        sum(&gains.own_form).map(|told| labelled("Own form", &format!("{told} in records that CANN does not read"))),
    );
    lines.extend(sum(&gains.not_sure).map(|told| labelled("Not sure", &format!("{told} may be none: not counted"))));
    lines.extend(to_measure(&gains.worth_measuring));
    lines.extend(gains.reached.map(|[reached, wanted]| {
        labelled("Time limit", &format!("{reached} of {wanted} operators were reached, the largest share first"))
    }));
    lines.extend(left(gains));
    lines.extend(failed(gains));
    lines
}

/// What CANN would run though its gain is not sure, and how to be sure.
fn to_measure(found: &WorthMeasuring) -> Vec<String> {
    let WorthMeasuring { count, decided_by, run_with, saved_us, .. } = found;
    let kinds = counted(*count as u64, "kind of kernel", "kinds of kernels");
    let told = format!("records of {kinds} may save {} of it, or nothing", time(*saved_us));
    match (count, run_with.is_empty()) {
        (0, _) => Vec::new(),
        (_, true) => vec![labelled("To measure", &told)],
        (_, false) => vec![
            labelled("To measure", &format!("{told}; CANN runs them with")),
            labelled("", run_with),
            labelled("", decided_by),
        ],
    }
}

/// What would reach what CANN does not take, the most first.
fn left(gains: &Gains<'_>) -> Vec<String> {
    let line = |left: &Left<'_>| {
        let Left { count, lever, op, op_type, saved_us, .. } = left;
        let name = middle_cut(op, NAME_COLUMNS);
        let launches = if *count > 1 { format!(" (x{count})") } else { String::new() };
        format!("{} {name}{launches}, {op_type}: {}: {}", time(*saved_us), lever.kind, lever.what)
    };
    let label = |index: usize| if index == 0 { "Left" } else { "" };
    let mut said: Vec<&str> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for left in &gains.left {
        // One way to reach several of them is told once, at the largest.
        if lines.len() < LEFT && !said.contains(&left.lever.what.as_str()) {
            said.push(&left.lever.what);
            lines.push(labelled(label(lines.len()), &line(left)));
        }
    }
    if gains.left.len() > lines.len() {
        lines.push(labelled("", &format!("{} in all; the report has the others", time(gains.left_us))));
    }
    lines
}

fn failed(gains: &Gains<'_>) -> Option<String> {
    let names: Vec<_> = gains.failed.iter().map(|one| format!("{} ({})", one.op, one.reason)).collect();
    let counted: f64 = gains.failed.iter().map(|one| one.counted_us).sum();
    let what = format!("not measured, they count with CANN's default as the simulator has it, {}", time(counted));
    (!names.is_empty()).then(|| labelled("Failed", &format!("{}: {what}", some_of(&names))))
}

fn saved(over: &Over) -> String {
    time(over.before_us - over.after_us)
}

fn sum(Sum { count, saved_us }: &Sum) -> Option<String> {
    let kinds = || counted(*count as u64, "kind of kernel", "kinds of kernels");
    (*count > 0).then(|| format!("{} more, of {},", time(*saved_us), kinds()))
}

fn by_reader(name: &str, reader: &Reader) -> String {
    let Reader { added, already_in_bank, measured_by, saved_us } = reader;
    let measured_by: Vec<&str> = measured_by.iter().map(String::as_str).collect();
    let who = match name {
        "runtime_bank" => "CANN's operators, from the runtime bank",
        "unified_bank" => "TBE, from the unified bank",
        _ => "CANN's graph compiler, from the subgraph bank",
    };
    let already = if *already_in_bank > 0 { format!(", {already_in_bank} already in the bank") } else { String::new() };
    let added = counted(*added as u64, "new record", "new records");
    format!("{} by {who}: {added}{already}; times by {}", time(*saved_us), measured_by.join(", "))
}
