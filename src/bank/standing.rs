//! Which of two records for the same stays in a merge.
//!
//! A total order of records with what they were measured to cost: in whatever order, and by how many steps, banks are
//! merged, the same record is left.

use super::knowledge::Knowledge;
use super::measurement::Measurement;
use std::cmp::Ordering;

/// Backend of predicted times; those of a device count for more.
const SIMULATOR: &str = "simulator";

/// A record as far as it decides which of two stays.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// What it was measured to cost.
    pub measurement: Option<&'a Measurement>,
    /// Microseconds that it states itself where nothing else tells what it cost: in unified banks, CANN's tuner does, which
    /// measures on devices.
    pub stated_us: Option<f64>,
    /// What it says.
    pub knowledge: &'a Knowledge,
    /// Digest of the part's description as it is today, where the part is known.
    pub soc_fields: Option<u64>,
}

/// When, by whom and as what a record was timed, as far as that decides.
struct Time<'a> {
    is_device: bool,
    is_current: bool,
    us: f64,
    /// `YYYY-MM-DD`, which sort as texts; empty for one that is stated.
    date: &'a str,
    /// What is left to tell one from the other: backend, part, time before and a line of a later version.
    rest: (&'a str, u64, f64, Option<&'a str>),
}

impl<'a> Standing<'a> {
    /// That of a record which was measured so.
    pub fn measured(measurement: &'a Measurement, soc_fields: Option<u64>) -> Standing<'a> {
        let knowledge = &measurement.knowledge;
        Standing { measurement: Some(measurement), stated_us: None, knowledge, soc_fields }
    }

    /// Whether this record takes the other's place.
    pub fn outranks(&self, other: &Standing<'_>) -> bool {
        self.compare(other).is_gt()
    }

    /// What there is known of its time.
    fn time(&self) -> Option<Time<'a>> {
        let measured = self.measurement.map(|m| Time {
            is_device: m.backend != SIMULATOR,
            is_current: self.soc_fields == Some(m.soc_fields),
            us: m.after_us,
            date: &m.date,
            rest: (&m.backend, m.soc_fields, m.before_us, m.line.as_deref()),
        });
        let stated = |us| Time { is_device: true, is_current: true, us, date: "", rest: ("", 0, 0.0, None) };
        measured.or(self.stated_us.map(stated))
    }

    /// Whether its time is a prediction.
    pub fn is_predicted(&self) -> bool {
        self.time().is_some_and(|time| !time.is_device)
    }

    /// Microseconds that it takes, where that is known.
    pub fn us(&self) -> Option<f64> {
        self.time().map(|time| time.us)
    }

    /// Whether the times of both are of one kind: measured or predicted, and of one description of the part.
    pub fn is_comparable(&self, other: &Standing<'_>) -> bool {
        let kind = |time: Time<'_>| (time.is_device, time.is_current);
        self.time().map(kind).zip(other.time().map(kind)).is_some_and(|(ours, theirs)| ours == theirs)
    }

    /// A device's time stands before the simulator's, and any before none; one of the part as it is described today
    /// before one of another description; then the lower time, the later day, and last what the record says.
    pub fn compare(&self, other: &Standing<'_>) -> Ordering {
        let by_time = match (self.time(), other.time()) {
            (Some(a), Some(b)) => (a.is_device.cmp(&b.is_device))
                .then_with(|| a.is_current.cmp(&b.is_current))
                .then_with(|| b.us.total_cmp(&a.us))
                .then_with(|| a.date.cmp(b.date))
                // Nothing is left that tells one from the other, but one has to stay.
                .then_with(|| (a.rest.0, a.rest.1).cmp(&(b.rest.0, b.rest.1)))
                .then_with(|| a.rest.2.total_cmp(&b.rest.2))
                .then_with(|| a.rest.3.cmp(&b.rest.3)),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        by_time.then_with(|| text(self.knowledge).cmp(&text(other.knowledge)))
    }
}

/// What a record says, as a text.
fn text(knowledge: &Knowledge) -> String {
    let fields = knowledge.to_fields().unwrap_or_default();
    super::json::to_sorted_text(&serde_json::Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn knowledge(tile: u32) -> Knowledge {
        Knowledge::Opaque(json!({ "tile": tile }).as_object().unwrap().clone())
    }

    fn measurement(backend: &str, soc_fields: u64, after_us: f64, date: &str) -> Measurement {
        Measurement {
            key: 1,
            id: 1,
            knowledge: knowledge(0),
            before_us: 20.0,
            after_us,
            backend: backend.to_owned(),
            soc: "Ascend910B2".to_owned(),
            soc_fields,
            date: date.to_owned(),
            space: 1,
            default: crate::workload::DefaultOrigin::Public,
            line: None,
        }
    }

    /// Of any three records, in any order and by any steps, the same one is left.
    #[test]
    fn the_record_that_stays_does_not_depend_on_the_order_of_a_merge() {
        let mut measured = vec![None];
        for backend in ["simulator", "ascend"] {
            for fields in [1, 2, 3] {
                for (us, date) in [(10.0, "2026-01-02"), (9.0, "2026-01-01"), (10.0, "2026-01-03")] {
                    measured.push(Some(measurement(backend, fields, us, date)));
                }
            }
        }
        let tilings = [knowledge(1), knowledge(2)];
        let of = |measurement, stated_us| {
            let standing = move |knowledge| Standing { measurement, stated_us, knowledge, soc_fields: Some(2) };
            tilings.iter().map(standing)
        };
        let stated = [9.0, 9.5, 10.0].into_iter().flat_map(|us| of(None, Some(us)));
        let all: Vec<Standing<'_>> = measured.iter().flat_map(|m| of(m.as_ref(), None)).chain(stated).collect();
        let better = |a: usize, b: usize| if all[b].outranks(&all[a]) { b } else { a };
        for a in 0..all.len() {
            for b in 0..all.len() {
                assert_eq!(better(a, b), better(b, a), "{:?} {:?}", all[a], all[b]);
                for c in 0..all.len() {
                    assert_eq!(better(better(a, b), c), better(a, better(b, c)));
                }
            }
        }
    }

    #[test]
    fn what_counts_for_more_decides_whatever_counts_for_less() {
        let sorted = [knowledge(1), knowledge(2)];
        let standing = |measurement, stated_us, tile: usize| Standing {
            measurement,
            stated_us,
            knowledge: &sorted[tile],
            soc_fields: Some(2),
        };
        let slow = "2026-01-01";
        let [predicted, old, foreign, faster, later, before, device] = [
            measurement(SIMULATOR, 2, 10.0, slow),
            measurement(SIMULATOR, 1, 1.0, "2026-01-09"),
            measurement(SIMULATOR, 3, 1.0, "2026-01-09"),
            measurement(SIMULATOR, 2, 9.0, slow),
            measurement(SIMULATOR, 2, 9.0, "2026-01-02"),
            Measurement { before_us: 21.0, ..measurement(SIMULATOR, 2, 9.0, "2026-01-02") },
            measurement("ascend", 2, 50.0, slow),
        ];
        // From the worst to the best.
        let order = [
            standing(None, None, 0),
            standing(None, None, 1),
            standing(Some(&old), None, 1),
            standing(Some(&foreign), None, 1),
            standing(Some(&predicted), None, 1),
            standing(Some(&faster), None, 0),
            standing(Some(&faster), None, 1),
            standing(Some(&later), None, 0),
            standing(Some(&before), None, 0),
            standing(Some(&device), None, 0),
            standing(None, Some(40.0), 0),
        ];
        for (a, worse) in order.iter().enumerate() {
            assert!(!worse.outranks(worse));
            for better in &order[a + 1..] {
                assert!(better.outranks(worse) && !worse.outranks(better), "{better:?} {worse:?}");
            }
        }
        let told = order.map(|standing| (standing.us(), standing.is_predicted()));
        assert_eq!(told[0], (None, false));
        assert_eq!((told[2], told[9], told[10]), ((Some(1.0), true), (Some(50.0), false), (Some(40.0), false)));
        // Times of one kind compare; the parts of two other descriptions count as one kind.
        let [none, old, foreign, now, measured, stated] = [0, 2, 3, 4, 9, 10].map(|at| order[at]);
        assert!(measured.is_comparable(&stated) && now.is_comparable(&now) && old.is_comparable(&foreign));
        for (a, b) in [(now, old), (now, measured), (none, now), (none, none), (old, stated)] {
            assert!(!a.is_comparable(&b) && !b.is_comparable(&a), "{a:?} {b:?}");
        }
        // What a record states itself counts only where nothing else tells.
        assert_eq!(standing(Some(&device), Some(1.0), 0).us(), Some(50.0));
        assert_eq!(Standing::measured(&device, Some(2)).us(), Some(50.0));
    }
}
