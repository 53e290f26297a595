//! Vector work and data movement: tiles through the unified buffer.

use super::constants::{BURST_CYCLES, GM_LATENCY_CYCLES, VECTOR_START_CYCLES};
use super::memory::Shared;
use super::{Pipes, Times};
use crate::soc::Soc;
use crate::workload::{Move, Operand, Reduce, Vector, VectorSchedule, VectorTemplate};

/// Most bytes that one kernel can move: beyond it sizes are taken for nonsense.
const MAX_BYTES: f64 = 1e15;

/// Vector work reduced to numbers.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    read: f64,
    written: f64,
    /// Bytes of the largest operand: what tiles are cut from.
    largest: f64,
    /// Vector cycles in all, were one core to do it.
    cycles: f64,
    /// Contiguous bytes of a run; infinite where tensors are walked as they lie.
    run: f64,
    /// Passes over the input when rows do not stay in UB.
    passes: f64,
    shared: Shared,
    mhz: f64,
    load_rate: f64,
    store_rate: f64,
}

impl Problem {
    pub(super) fn vector(w: &Vector, soc: &Soc) -> Result<Problem, String> {
        let ops = (w.inputs.len() as f64).max(1.0) * instruction_cycles(&w.op_type);
        Problem::new(&w.inputs, &w.outputs, ops, f64::INFINITY, 1.0, soc)
    }

    pub(super) fn reduce(w: &Reduce, soc: &Soc) -> Result<Problem, String> {
        if w.outer == 0 || w.axis == 0 || w.inner == 0 {
            return Err("an extent is zero".into());
        }
        Problem::new(&w.inputs, &w.outputs, 4.0 * instruction_cycles(&w.op_type), f64::INFINITY, 3.0, soc)
    }

    pub(super) fn movement(w: &Move, soc: &Soc) -> Result<Problem, String> {
        let run = if w.run_bytes == 0 { f64::INFINITY } else { w.run_bytes as f64 };
        Problem::new(&w.inputs, &w.outputs, 1.0, run, 1.0, soc)
    }

    fn new(
        inputs: &[Operand],
        outputs: &[Operand],
        ops: f64,
        run: f64,
        passes: f64,
        soc: &Soc,
    ) -> Result<Problem, String> {
        let sum = |operands: &[Operand]| operands.iter().map(|o| o.bytes() as f64).sum::<f64>();
        let (read, written) = (sum(inputs), sum(outputs));
        if read + written > MAX_BYTES {
            return Err("more than 1e15 bytes cannot be moved".into());
        }
        let largest = inputs.iter().chain(outputs).map(|o| o.bytes() as f64).fold(0.0, f64::max);
        Ok(Problem {
            read,
            written,
            largest,
            cycles: largest * ops / soc.vec_bytes_per_cycle,
            run,
            passes,
            shared: Shared::new(soc),
            mhz: soc.vec_freq_mhz,
            load_rate: soc.gm_to_ub_rate,
            store_rate: soc.ub_to_gm_rate,
        })
    }

    /// Prices one legal schedule.
    pub(super) fn times(&self, s: &VectorSchedule) -> Times {
        let cores = f64::from(s.cores);
        let again = if s.template == VectorTemplate::Recompute { self.passes } else { 1.0 };
        let tile = f64::from(s.ub_tile_bytes);
        let tiles = (self.largest / cores / tile).ceil().max(1.0);
        let transfer = |bytes: f64, rate: f64| {
            bytes / rate + bytes / self.run.min(tile) * BURST_CYCLES + tiles * GM_LATENCY_CYCLES
        };
        let load = if self.read > 0.0 { transfer(self.read / cores * again, self.load_rate) } else { 0.0 };
        let store = transfer(self.written / cores, self.store_rate);
        let compute = self.cycles / cores + tiles * VECTOR_START_CYCLES;
        let overlapped = load.max(store).max(compute);
        let serial = load + store + compute;
        let steady = if s.double_buffer { overlapped + (serial - overlapped) / tiles } else { serial };
        let us = |cycles: f64| cycles / self.mhz;
        let shared = self.shared.us(self.read * again + self.written, self.read + self.written, cores);
        let busy = Pipes { mte2: us(load), vec: us(compute), mte3: us(store), ..Pipes::default() };
        Times { busy, shared, total: us(steady).max(shared) }
    }

    /// Prices the work as the tail of a cube kernel, on the result's tiles while they are in UB or L2.
    pub(super) fn epilogue(&self, cores: u32) -> Times {
        let cores = f64::from(cores);
        let us = |cycles: f64| cycles / cores / self.mhz;
        let busy = Pipes { vec: us(self.cycles), mte3: us(self.written / self.store_rate), ..Pipes::default() };
        Times { busy, shared: 0.0, total: us(self.cycles) }
    }
}

/// Cycles of 256 bytes for one operand of this operator: table of 910B1 instructions.
fn instruction_cycles(op_type: &str) -> f64 {
    match op_type {
        "Div" | "RealDiv" => 4.0,
        "Sigmoid" | "Tanh" | "Gelu" | "Swish" | "Softmax" | "SoftmaxV2" | "LayerNorm" => 6.0,
        "Exp" | "Log" | "Sqrt" => 3.0,
        _ => 1.0,
    }
}
