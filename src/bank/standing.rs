//! Which of two records for the same stays in a merge.
//!
//! A total order of records with what they were measured to cost: in whatever order, and by how many steps, banks are
//! merged, the same record is left.

use super::knowledge::Knowledge;
use super::side::Measurement;
use std::cmp::Ordering;

/// Backend of predicted times; those of a device count for more.
const SIMULATOR: &str = "simulator";

/// A record as far as it decides which of two stays.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// What it was measured to cost.
    pub measurement: Option<&'a Measurement>,
    /// What it says.
    pub knowledge: &'a Knowledge,
    /// Digest of the part's description as it is today, where the part is known.
    pub soc_fields: Option<u64>,
}

impl Standing<'_> {
    /// Whether this record takes the other's place.
    pub fn outranks(&self, other: &Standing<'_>) -> bool {
        self.compare(other).is_gt()
    }

    /// A device's time stands before the simulator's, and any before none; one of the part as it is described today
    /// before one of another description; then the lower time, the later day, and last what the record says.
    fn compare(&self, other: &Standing<'_>) -> Ordering {
        let by_time = match (self.measurement, other.measurement) {
            (Some(a), Some(b)) => {
                let is_current = |m: &Measurement| self.soc_fields == Some(m.soc_fields);
                (a.backend != SIMULATOR)
                    .cmp(&(b.backend != SIMULATOR))
                    .then_with(|| is_current(a).cmp(&is_current(b)))
                    .then_with(|| b.after_us.total_cmp(&a.after_us))
                    // Days as YYYY-MM-DD sort as texts.
                    .then_with(|| a.date.cmp(&b.date))
                    // Nothing is left that tells one from the other, but one has to stay.
                    .then_with(|| (&a.backend, a.soc_fields).cmp(&(&b.backend, b.soc_fields)))
                    .then_with(|| a.before_us.total_cmp(&b.before_us))
            }
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
        let all: Vec<Standing<'_>> = measured
            .iter()
            .flat_map(|m| {
                tilings.iter().map(|k| Standing { measurement: m.as_ref(), knowledge: k, soc_fields: Some(2) })
            })
            .collect();
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
}
