//! One core's pipes as queues: each works in order, and begins when its input is there, its output's buffer
//! free, and itself done with what came before.

use super::lane::{Bar, Lane, Pipe};

/// An operation's times, and who made it wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub start: f64,
    pub end: f64,
    /// The pipe that an operation waiting for this one waits for.
    pub blame: Pipe,
}

impl Done {
    /// Something that was there from the beginning.
    pub const NOTHING: Done = Done { start: 0.0, end: 0.0, blame: Pipe::Mte2 };
}

/// The pipes of one core. Times are microseconds from the core's start.
pub(super) struct Core {
    pub lanes: [Lane; Pipe::ALL.len()],
    free: [f64; Pipe::ALL.len()],
    /// Time that the cube (or, in vector kernels, the vector unit) waited, by the pipe that it waited for.
    pub waits: [f64; Pipe::ALL.len()],
    /// Microseconds of the shared memory for one byte of this core's traffic.
    pub memory_us_per_byte: f64,
}

impl Core {
    pub fn new() -> Core {
        Core { lanes: Pipe::ALL.map(Lane::new), free: [0.0; 7], waits: [0.0; 7], memory_us_per_byte: 0.0 }
    }

    /// Runs an operation of `us` on a pipe, not before `ready`.
    pub fn run(&mut self, pipe: Pipe, ready: f64, us: f64, what: &'static str) -> Done {
        let start = self.free[pipe as usize].max(ready);
        let end = start + us;
        self.free[pipe as usize] = end;
        if us > 0.0 {
            self.lanes[pipe as usize].add(Bar { start_us: start, end_us: end, busy_us: us, operations: 1, what });
        }
        Done { start, end, blame: pipe }
    }

    /// Runs a transfer of so many bytes, which ends when both the pipe and the memory are done with it.
    pub fn transfer(&mut self, pipe: Pipe, ready: f64, us: f64, bytes: f64, what: &'static str) -> Done {
        let start = self.free[pipe as usize].max(ready);
        let memory = self.run(Pipe::Memory, start, bytes * self.memory_us_per_byte, what);
        let own = self.run(pipe, start, us, what);
        if memory.end <= own.end {
            return own;
        }
        // The queue holds its next transfer back until this one is through.
        self.free[pipe as usize] = memory.end;
        Done { end: memory.end, blame: Pipe::Memory, ..own }
    }

    /// Runs an operation of the unit that computes, and notes what it waited for.
    pub fn compute(&mut self, pipe: Pipe, needs: [Done; 3], us: f64, what: &'static str) -> Done {
        let last = needs.iter().fold(needs[0], |last, need| if need.end > last.end { *need } else { last });
        let wait = last.end - self.free[pipe as usize];
        // Before its first operation it waits for the fill, which is a part of the time by itself.
        if wait > 0.0 && self.lanes[pipe as usize].operations > 0 {
            self.waits[last.blame as usize] += wait;
        }
        self.run(pipe, last.end, us, what)
    }

    /// When a pipe has done all it was given.
    pub fn free(&self, pipe: Pipe) -> f64 {
        self.free[pipe as usize]
    }

    /// Holds all pipes until the last of them is done: a barrier.
    pub fn meet(&mut self) {
        self.free = [self.end(); 7];
    }

    /// When all pipes have.
    pub fn end(&self) -> f64 {
        self.free.iter().copied().fold(0.0, f64::max)
    }

    /// Takes what was done since `from` for `times` more of the same, without going through it.
    pub fn repeat(&mut self, earlier: &[f64; 7], from: f64, times: f64) {
        let us = (self.end() - from) * times;
        let begin = self.end();
        for (lane, earlier) in self.lanes.iter_mut().zip(earlier) {
            let busy_us = (lane.busy_us - earlier) * times;
            if busy_us > 0.0 {
                let operations = (lane.operations as f64 * times) as u64;
                lane.add(Bar { start_us: begin, end_us: begin + us, busy_us, operations, what: "repeats" });
            }
        }
        self.free = [begin + us; 7];
    }

    /// Busy time of each pipe so far.
    pub fn busy(&self) -> [f64; 7] {
        std::array::from_fn(|i| self.lanes[i].busy_us)
    }
}

/// Buffers that are filled in turn; each is free again when its last reader is done.
#[derive(Debug, Clone)]
pub(super) struct Buffers {
    free_at: Vec<Done>,
    next: usize,
}

impl Buffers {
    pub fn new(count: usize) -> Buffers {
        Buffers { free_at: vec![Done::NOTHING; count.max(1)], next: 0 }
    }

    pub fn single(&self) -> bool {
        self.free_at.len() == 1
    }

    /// When the buffer that is filled next is free.
    pub fn free(&self) -> Done {
        self.free_at[self.next]
    }

    /// The next buffer is filled now.
    pub fn take(&mut self) -> usize {
        let taken = self.next;
        self.next = (self.next + 1) % self.free_at.len();
        taken
    }

    /// A reader is done with a buffer.
    pub fn read(&mut self, buffer: usize, reader: Done) {
        self.free_at[buffer] = reader;
    }
}
