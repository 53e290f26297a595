//! The launches of one kernel in a profile, and which of their times count.

use std::collections::BTreeMap;

/// Launches from which on one of them that is far from the others is told.
const ENOUGH: u64 = 3;
/// Powers of two between a launch and the middle one from which on its time is none: some hundred times as long or short.
const FAR: i32 = 7;

/// Launches of one kernel, by the power of two of their times: times of any number of launches take little memory.
#[derive(Debug, Default)]
pub(super) struct Launches {
    count: u64,
    by_size: BTreeMap<i32, Sum>,
}

/// Launches that took about as long.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Sum {
    pub count: u64,
    pub us: f64,
    /// Every second launch of the kernel.
    pub seconds: u64,
    pub second_us: f64,
    /// Natural logarithms of their times and the squares of these, summed.
    pub logs: [f64; 2],
    /// Where the first of them stands in its file.
    pub line: u64,
}

impl Sum {
    fn with(self, other: &Sum) -> Sum {
        Sum {
            count: self.count + other.count,
            us: self.us + other.us,
            seconds: self.seconds + other.seconds,
            second_us: self.second_us + other.second_us,
            logs: [0, 1].map(|power| self.logs[power] + other.logs[power]),
            line: if self.line == 0 { other.line } else { self.line.min(other.line) },
        }
    }

    /// How far apart their times lie: of two the longer one over the shorter, of more the factor of two standard deviations of
    /// their logarithms.
    pub fn spread(&self) -> f64 {
        let [mean, square] = self.logs.map(|sum| sum / self.count.max(1) as f64);
        // Equal times leave what rounding makes of nothing.
        (2.0 * (square - mean * mean).max(0.0).sqrt()).exp()
    }
}

impl Launches {
    /// Takes up a launch of so many microseconds, above 0, from a line of the file.
    pub fn add(&mut self, us: f64, line: u64) {
        self.count += 1;
        let sum = self.by_size.entry(us.log2().floor() as i32).or_default();
        let second = u64::from(self.count.is_multiple_of(2));
        let second_us = if second == 1 { us } else { 0.0 };
        let log = us.ln();
        *sum = sum.with(&Sum { count: 1, us, seconds: second, second_us, logs: [log, log * log], line });
    }

    /// The launches whose times count, and those that are so far from the middle one that they are not its kernel's.
    pub fn split(&self) -> [Sum; 2] {
        let middle = self.middle();
        let is_far = |size: i32| self.count >= ENOUGH && (size - middle).abs() >= FAR;
        let sum = |far: bool| {
            let of = self.by_size.iter().filter(|(size, _)| is_far(**size) == far);
            of.fold(Sum::default(), |sum, (_, of)| sum.with(of))
        };
        [sum(false), sum(true)]
    }

    /// The power of two of the middle launch's time.
    fn middle(&self) -> i32 {
        let mut below = 0;
        let middle = self.by_size.iter().find(|(_, sum)| {
            below += sum.count;
            below > self.count / 2
        });
        middle.map_or(0, |(size, _)| *size)
    }
}
