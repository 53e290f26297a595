//! What vector cores do for a cube kernel: rewrite operands, add and cast partial sums, clear or compact results.

use super::super::Problem;
use super::super::plan::Passes;
use crate::sim::machine::norm;

/// One pass over data by the vector cores of the active cube cores.
#[derive(Debug, Clone, Copy, Default)]
pub(in super::super) struct Pass {
    /// Its microseconds, vector pipes and L2 together.
    pub us: f64,
    /// Those of the vector unit alone.
    pub vec: f64,
    pub read: f64,
    pub written: f64,
}

impl Pass {
    /// A pass that reads and writes so many bytes of L2, in so many contiguous pieces beyond its tiles (0: all of it
    /// is contiguous), with so many simple instructions for what it reads. Double buffered: the slowest pipe decides.
    pub fn new(p: &Problem, cores: f64, [read, written]: [f64; 2], runs: [f64; 2], instructions: f64) -> Pass {
        let machine = &p.machine;
        let vectors = (cores * machine.vectors_per_cube).max(1.0);
        let us = |cycles: f64| cycles / vectors / machine.vector_mhz;
        let run_cycles = machine.constants.run_cycles_c220;
        let transfer = |bytes: f64, rate: f64, runs: f64| {
            if bytes > 0.0 { us(bytes / rate + runs * run_cycles) } else { 0.0 }
        };
        let load = transfer(read, machine.ub_in_rate, runs[0]);
        let store = transfer(written, machine.ub_out_rate, runs[1]);
        let vec = us(instructions * read.max(written) / machine.vector_bytes * machine.constants.simple_cycles);
        let shared = (read + written) / (machine.l2_vector * cores.max(1.0));
        Pass { us: norm([load, store, vec, shared]), vec, read, written }
    }

    /// The same, with so many microseconds of device memory's traffic.
    #[expect(clippy::wrong_self_convention, reason = "where the bytes come from, not a conversion")]
    pub fn from_memory(self, memory_us: f64) -> Pass {
        Pass { us: norm([self.us, memory_us]), ..self }
    }

    /// This pass, then the other.
    pub fn then(self, other: Pass) -> Pass {
        Pass {
            us: self.us + other.us,
            vec: self.vec + other.vec,
            read: self.read + other.read,
            written: self.written + other.written,
        }
    }
}

impl Passes {
    /// A pass before the cube starts.
    pub fn before(&mut self, pass: &Pass) {
        self.head += pass.us;
        self.count(pass);
    }

    /// A pass that has nothing to wait for.
    pub fn beside(&mut self, pass: &Pass) {
        self.beside += pass.us;
        self.count(pass);
    }

    /// A pass in `parts`, each behind the cube's work on it: the last stands alone.
    pub fn behind(&mut self, pass: &Pass, parts: f64) {
        let last = pass.us / parts.max(1.0);
        self.beside += pass.us - last;
        self.tail += last;
        self.count(pass);
    }

    /// A pass after the cube's work and a barrier.
    pub fn after(&mut self, pass: &Pass, barrier_us: f64) {
        self.tail += barrier_us + pass.us;
        self.count(pass);
    }

    fn count(&mut self, pass: &Pass) {
        self.vec += pass.vec;
        self.read += pass.read;
        self.written += pass.written;
    }
}
