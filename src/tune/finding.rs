//! What becomes of a tiling that seems better than what runs: one rule for all that records.

use crate::sim::interval::Interval;

/// Least share of a kernel's time that is worth a measurement: runs of a network scatter by as much.
const WORTH_MEASURING: f64 = 0.01;

/// What becomes of a tiling that seems better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The interval of its gain excludes zero: it is recorded.
    Sure,
    /// It is predicted to gain, and may not. Its record lies apart until a measurement decides.
    ToMeasure,
    /// No record: a measurement did not confirm the gain, or no run of CANN's could decide, as CANN reads no record of it or the
    /// gain is too small.
    NotSure,
}

impl Finding {
    /// What becomes of a tiling that takes `us` by a prediction, where what runs takes `before_us`. Of their true ratio nine
    /// of ten lie in `doubt`.
    pub fn predicted([before_us, us]: [f64; 2], doubt: Interval, is_read_by_cann: bool) -> Finding {
        if us / doubt.low < before_us {
            Finding::Sure
        } else if is_read_by_cann && us < before_us * (1.0 - WORTH_MEASURING) {
            Finding::ToMeasure
        } else {
            Finding::NotSure
        }
    }

    /// The same of times that were measured by turns.
    pub fn measured(is_sure: bool) -> Finding {
        if is_sure { Finding::Sure } else { Finding::NotSure }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_whole_interval_calls_faster_is_sure_and_what_cann_would_run_is_to_measure() {
        let of = |us, is_read| Finding::predicted([100.0, us], Interval { low: 0.5, high: 2.0 }, is_read);
        assert_eq!(of(49.9, true), Finding::Sure);
        assert_eq!(of(49.9, false), Finding::Sure);
        assert_eq!(of(50.0, true), Finding::ToMeasure, "a gain of nothing is none");
        assert_eq!(of(50.0, false), Finding::NotSure, "nobody would run its record");
        assert_eq!([of(98.9, true), of(99.1, true)], [Finding::ToMeasure, Finding::NotSure], "runs scatter by as much");
    }
}
