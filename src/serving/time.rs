//! A time with its uncertainty.

use serde::Serialize;

/// A time in microseconds, with what it may be where the simulator says that.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Time {
    /// Best estimate.
    pub us: f64,
    /// Low and high end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_us: Option<[f64; 2]>,
}

impl Time {
    pub(super) fn exact(us: f64) -> Time {
        Time { us, interval_us: None }
    }

    /// Both one after the other. What has no interval of its own is taken as it is, and the ends add up: errors of one
    /// model go the same way.
    pub(super) fn plus(self, other: Time, count: f64) -> Time {
        let end = |at: usize| {
            let of = |time: Time| time.interval_us.map_or(time.us, |ends| ends[at]);
            of(self) + count * of(other)
        };
        let known = self.interval_us.is_some() || other.interval_us.is_some();
        Time { us: self.us + count * other.us, interval_us: known.then(|| [end(0), end(1)]) }
    }
}
