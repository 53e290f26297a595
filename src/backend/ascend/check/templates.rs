//! Whether each template computes the right result with the record that we write.
//!
//! A right result alone says nothing: where CANN passes over the record, its own tiling computes it as well. So a
//! template passes only where other steps have shown that CANN takes records of its operator.

use super::machine::Machine;
use super::{Step, Verdict};
use crate::status::Result;
use crate::workload::{Schedule, Workload};
use serde_json::json;

const ADVICE: &str = "send the report: records of this template must not be written for this CANN";
const ADVICE_DOUBT: &str = "do first what the step that it names says, then run the check again";

/// A kernel to try.
#[derive(Clone)]
pub(super) struct Trial {
    /// Name of its step.
    pub name: String,
    /// What it computes.
    pub workload: Workload,
    /// The record's tiling, or none: CANN's own; why there is none on this part.
    pub schedule: std::result::Result<Option<Schedule>, String>,
    /// Why it is not known that CANN takes the record; none where that was shown, or there is no record.
    pub doubt: Option<String>,
}

/// Why it is not known that CANN takes the records of an operator: by the step that runs one of them, and by the
/// profiler where it was asked. A profiler that saw nothing does not speak against the times.
pub(super) fn doubt(record: Option<&Step>, profiled: Option<&Step>) -> Option<String> {
    let Some(record) = record else { return Some("it was not tried whether CANN takes such records".to_owned()) };
    let against = if record.verdict == Verdict::Passed {
        profiled.filter(|step| step.verdict == Verdict::Failed)
    } else {
        Some(record)
    };
    against.map(|step| {
        let Step { name, verdict, .. } = step;
        format!("step `{name}`, which shows that CANN takes such records, ended as {}", verdict.text())
    })
}

/// Tries all of them, several at a time.
pub(super) fn steps(machine: &Machine, trials: &[Trial]) -> Result<Vec<Step>> {
    let ready = trials.iter().filter_map(|t| Some((&t.workload, t.schedule.as_ref().ok()?.as_ref())));
    let mut timed = machine.all_timed(&ready.collect::<Vec<_>>())?.into_iter();
    let step = |trial: &Trial| {
        let Trial { name, workload, schedule, doubt } = trial;
        if let Err(reason) = schedule {
            return Step::new(name, Verdict::NotPossible, reason, "");
        }
        match timed.next() {
            Some(Ok(times)) => right(name, workload, doubt.as_deref(), times.median),
            Some(Err(reason)) => Step::new(name, Verdict::Failed, format!("{workload}: {reason}"), ADVICE),
            None => Step::new(name, Verdict::NotPossible, "it was not tried", ""),
        }
    };
    Ok(trials.iter().map(step).collect())
}

/// The step of a kernel whose result is right.
fn right(name: &str, workload: &Workload, doubt: Option<&str>, us: f64) -> Step {
    let found = format!("{workload} computes the right result, in {us:.1} us");
    let step = match doubt {
        None => Step::new(name, Verdict::Passed, found, ""),
        Some(doubt) => {
            let found = format!("{found}, but perhaps with CANN's own tiling: {doubt}");
            Step::new(name, Verdict::NotPossible, found, ADVICE_DOUBT)
        }
    };
    step.with(&json!({ "us": us }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_in_doubt_unless_one_was_taken_and_the_profiler_does_not_object() {
        use Verdict::{Failed, NotPossible, Passed};
        let said = |record, profiled: Option<Verdict>| {
            let profiled = profiled.map(|verdict| Step::new("profiler", verdict, "", ""));
            doubt(Some(&Step::new("record", record, "", "")), profiled.as_ref())
        };
        for profiled in [None, Some(Passed), Some(NotPossible)] {
            assert_eq!(said(Passed, profiled), None);
            assert!(said(Failed, profiled).unwrap().contains("`record`"));
            assert!(said(NotPossible, profiled).unwrap().contains("not possible"));
        }
        assert!(said(Passed, Some(Failed)).unwrap().contains("`profiler`"));
        assert!(doubt(None, None).is_some());
    }
}
