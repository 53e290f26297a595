//! Progress within the search for one operator's tiling, where measuring takes long.

use crate::backend::{Backend, Measure, Measurement};
use crate::workload::Schedule;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What measures faster ends an operator before a call would be due, and would feel the look at the clock.
const SHORT: Duration = Duration::from_millis(1);

/// How far the search for one operator is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Searched {
    /// Measurements made.
    pub measured: usize,
    /// Microseconds before, and of the best measurement so far.
    pub before_us: f64,
    pub best_us: f64,
}

/// When the next call is due; one for all searches of a tuning.
#[derive(Debug)]
pub(super) struct Pace {
    began: Instant,
    pause: Duration,
    /// Microseconds after the begin.
    due: AtomicU64,
}

impl Pace {
    /// Calls so far apart, the first so long after now. `None` for a backend that measures too fast for any.
    pub fn of(backend: &dyn Backend, pause: Duration) -> Option<Pace> {
        let is_slow = backend.measuring_time().is_none_or(|time| time >= SHORT);
        is_slow.then(|| Pace { began: Instant::now(), pause, due: AtomicU64::new(micros(pause)) })
    }

    /// Whether a call is due; then the next one is due a pause later.
    fn is_due(&self) -> bool {
        let (now, due) = (micros(self.began.elapsed()), self.due.load(Ordering::Relaxed));
        let next = now.saturating_add(micros(self.pause));
        now >= due && self.due.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// What measures, and tells after a measurement how far the search is, whenever that is due.
pub(super) struct Watched<'a, 'm> {
    inner: &'a mut (dyn Measure + 'm),
    pace: &'a Pace,
    searched: Searched,
    tell: &'a mut dyn FnMut(Searched),
}

impl<'a, 'm> Watched<'a, 'm> {
    /// Watches the search for an operator that took so long before.
    pub fn new(
        inner: &'a mut (dyn Measure + 'm),
        pace: &'a Pace,
        before_us: f64,
        tell: &'a mut dyn FnMut(Searched),
    ) -> Watched<'a, 'm> {
        Watched { inner, pace, searched: Searched { measured: 0, before_us, best_us: before_us }, tell }
    }

    fn note(&mut self, measurement: &Measurement) {
        self.searched.measured += 1;
        if let Measurement::Time { us } = measurement
            && *us < self.searched.best_us
        {
            self.searched.best_us = *us;
        }
        if self.pace.is_due() {
            (self.tell)(self.searched);
        }
    }
}

impl Measure for Watched<'_, '_> {
    fn unmeasurable(&self) -> Option<&str> {
        self.inner.unmeasurable()
    }

    fn fixed(&self) -> Option<&str> {
        self.inner.fixed()
    }

    fn measure(&mut self, schedule: &Schedule) -> Measurement {
        let measurement = self.inner.measure(schedule);
        self.note(&measurement);
        measurement
    }

    fn together(&self) -> usize {
        self.inner.together()
    }

    fn measure_all(&mut self, schedules: &[Schedule]) -> Vec<Measurement> {
        let measurements = self.inner.measure_all(schedules);
        for measurement in &measurements {
            self.note(measurement);
        }
        measurements
    }

    fn untuned(&mut self) -> Option<Measurement> {
        let measurement = self.inner.untuned()?;
        self.note(&measurement);
        Some(measurement)
    }
}
