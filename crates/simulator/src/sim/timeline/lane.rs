//! What one pipe did over time, in a bounded number of bars.

/// Bars that one lane keeps; where there is more to tell, neighbours are joined.
const MOST_BARS: usize = 1024;

/// A pipe of the core, or what the cores share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pipe {
    /// Device memory and L2, as far as they slow this core's transfers.
    Memory,
    /// GM to L1 or UB.
    Mte2,
    /// L1 to L0.
    Mte1,
    /// Cube unit.
    Cube,
    /// Vector unit.
    Vector,
    /// L0C to GM.
    Fixpipe,
    /// UB to GM.
    Mte3,
}

impl Pipe {
    /// Every pipe, in the order in which data pass them.
    pub const ALL: [Pipe; 7] =
        [Pipe::Memory, Pipe::Mte2, Pipe::Mte1, Pipe::Cube, Pipe::Vector, Pipe::Fixpipe, Pipe::Mte3];

    /// Its name in texts and traces.
    pub const fn name(self) -> &'static str {
        match self {
            Pipe::Memory => "memory",
            Pipe::Mte2 => "mte2",
            Pipe::Mte1 => "mte1",
            Pipe::Cube => "cube",
            Pipe::Vector => "vector",
            Pipe::Fixpipe => "fixpipe",
            Pipe::Mte3 => "mte3",
        }
    }
}

/// One operation of a pipe, or several that were joined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// Begin of the first operation in microseconds from the kernel's start.
    pub start_us: f64,
    /// End of the last.
    pub end_us: f64,
    /// Time between in which the pipe worked.
    pub busy_us: f64,
    /// Operations in it.
    pub operations: u64,
    /// What they did.
    pub what: &'static str,
}

/// A pipe's bars in order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    /// The pipe.
    pub pipe: Pipe,
    /// What it did.
    pub bars: Vec<Bar>,
    /// Time in which it worked.
    pub busy_us: f64,
    /// Operations in all.
    pub operations: u64,
    /// Operations that one bar takes before the next is begun.
    joined: u64,
}

impl Lane {
    pub(super) fn new(pipe: Pipe) -> Lane {
        Lane { pipe, bars: Vec::new(), busy_us: 0.0, operations: 0, joined: 1 }
    }

    /// Adds operations that follow all earlier ones.
    pub(super) fn add(&mut self, bar: Bar) {
        self.busy_us += bar.busy_us;
        self.operations += bar.operations;
        match self.bars.last_mut() {
            Some(last) if last.operations < self.joined => join(last, &bar),
            _ => {
                if self.bars.len() == MOST_BARS {
                    self.halve();
                }
                self.bars.push(bar);
            }
        }
    }

    /// Joins each two bars.
    fn halve(&mut self) {
        self.joined *= 2;
        let halves = self.bars.chunks(2).map(|pair| {
            let mut bar = pair[0];
            pair[1..].iter().for_each(|next| join(&mut bar, next));
            bar
        });
        self.bars = halves.collect();
    }

    /// Most operations that one bar stands for.
    pub fn most_joined(&self) -> u64 {
        self.bars.iter().map(|bar| bar.operations).max().unwrap_or(0)
    }

    /// The share of each of so many equal parts of the time that the pipe works in it, 0 to 1.
    pub fn shares(&self, parts: usize, total_us: f64) -> Vec<f64> {
        let part_us = total_us / parts as f64;
        let mut busy = vec![0.0; parts];
        for bar in &self.bars {
            let span = (bar.end_us - bar.start_us).max(f64::MIN_POSITIVE);
            let density = (bar.busy_us / span).min(1.0);
            let place = |us: f64| ((us / part_us) as usize).min(parts - 1);
            for (part, sum) in busy.iter_mut().enumerate().take(place(bar.end_us) + 1).skip(place(bar.start_us)) {
                let from = bar.start_us.max(part as f64 * part_us);
                let to = bar.end_us.min((part + 1) as f64 * part_us);
                *sum += (to - from).max(0.0) * density;
            }
        }
        busy.into_iter().map(|us| us / part_us).collect()
    }

    pub(super) fn shift(&mut self, us: f64) {
        for bar in &mut self.bars {
            bar.start_us += us;
            bar.end_us += us;
        }
    }
}

fn join(bar: &mut Bar, next: &Bar) {
    bar.end_us = next.end_us;
    bar.busy_us += next.busy_us;
    bar.operations += next.operations;
    if bar.what != next.what {
        bar.what = "several";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_bounded_and_loses_no_time() {
        let mut lane = Lane::new(Pipe::Cube);
        for i in 0..100_000u32 {
            let start_us = f64::from(i);
            lane.add(Bar { start_us, end_us: start_us + 0.5, busy_us: 0.5, operations: 1, what: "step" });
        }
        assert!(lane.bars.len() <= MOST_BARS && lane.bars.len() > MOST_BARS / 4, "{}", lane.bars.len());
        assert!((lane.bars.iter().map(|b| b.busy_us).sum::<f64>() - 50_000.0).abs() < 1e-6);
        assert_eq!((lane.operations, lane.bars.iter().map(|b| b.operations).sum::<u64>()), (100_000, 100_000));
        assert!(lane.bars.windows(2).all(|pair| pair[0].end_us <= pair[1].start_us));
        let shares = lane.shares(4, 100_000.0);
        assert!(shares.len() == 4 && shares.iter().all(|share| (share - 0.5).abs() < 1e-3), "{shares:?}");
        assert!((lane.bars[0].start_us, lane.bars.last().unwrap().end_us) == (0.0, 99_999.5));
    }
}
