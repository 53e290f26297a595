//! What becomes of a tiling that seems better than what runs: one rule for all that records.

use crate::sim::interval::Interval;

/// What becomes of a tiling that seems better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The interval of its gain excludes zero: it is recorded.
    Sure,
    /// It surely beats the tiling that stands for CANN's default, and not surely CANN's own, which is closed and may be
    /// faster than its estimate. Its record lies apart until a measurement decides.
    ToMeasure,
    /// Not even that is sure: there is no record.
    NotSure,
}

impl Finding {
    /// What becomes of a tiling that takes `us` by a prediction, where what runs takes `before_us`. Of their true ratio nine
    /// of ten lie in `of_tilings` if the tiling before is known, and in `over_before` as it is known here. Without a reader
    /// in CANN no run could decide, so nothing is to be measured.
    pub fn of(
        [before_us, us]: [f64; 2],
        of_tilings: Interval,
        over_before: Interval,
        is_read_by_cann: bool,
    ) -> Finding {
        let gains = |doubt: Interval| us / doubt.low < before_us;
        match (gains(over_before), gains(of_tilings)) {
            (true, _) => Finding::Sure,
            (false, true) if is_read_by_cann => Finding::ToMeasure,
            (false, _) => Finding::NotSure,
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
    fn only_what_the_whole_interval_calls_faster_is_sure_and_doubt_of_the_default_alone_is_to_measure() {
        let doubt = |low: f64| Interval { low, high: 1.0 / low };
        let of = |us, is_read| Finding::of([100.0, us], doubt(0.8), doubt(0.5), is_read);
        assert_eq!(of(49.9, true), Finding::Sure);
        assert_eq!(of(50.0, true), Finding::ToMeasure, "a gain of nothing is none");
        assert_eq!(of(79.9, true), Finding::ToMeasure);
        assert_eq!(of(79.9, false), Finding::NotSure, "nobody would run its record");
        assert_eq!(of(80.0, true), Finding::NotSure);
    }
}
