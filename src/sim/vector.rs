//! Vector work and data movement: tiles through the unified buffer.

use super::constants::Constants;
use super::machine::{Machine, is_first, norm};
use super::recipe::{COPY, Recipe, recipe};
use super::{Pipes, Times};
use crate::soc::Soc;
use crate::workload::{Move, Operand, Reduce, Vector, VectorSchedule, VectorTemplate};

/// Most bytes that one kernel can move: beyond it sizes are taken for nonsense.
const MAX_BYTES: f64 = 1e15;
/// Passes over rows that do not stay in UB: maximum or mean, sum, result.
const PASSES: f64 = 3.0;

/// Vector work reduced to numbers.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    read: f64,
    written: f64,
    /// Bytes of the largest operand: what tiles are cut from.
    largest: f64,
    /// Vector cycles in all, were one core to do it.
    cycles: f64,
    /// Rows that are reduced one by one, each with its fixed cost.
    rows: f64,
    row_cycles: f64,
    /// Contiguous pieces that are moved one by one.
    runs: f64,
    run_cycles: f64,
    /// Parts that the kernel cannot cut further; 0 where elements are dealt freely.
    units: f64,
    known: bool,
    mhz: f64,
    load_rate: f64,
    store_rate: f64,
    machine: Machine,
}

impl Problem {
    pub(super) fn vector(w: &Vector, soc: &Soc, c: &Constants) -> Result<Problem, String> {
        let problem = Problem::new(&w.inputs, &w.outputs, recipe(&w.op_type), soc, c)?;
        Ok(Problem { units: units(&w.inputs, &w.outputs, problem.machine.cores), ..problem })
    }

    pub(super) fn reduce(w: &Reduce, soc: &Soc, c: &Constants) -> Result<Problem, String> {
        if w.outer == 0 || w.axis == 0 || w.inner == 0 {
            return Err("an extent is zero".into());
        }
        let recipe = recipe(&w.op_type);
        let problem = Problem::new(&w.inputs, &w.outputs, recipe, soc, c)?;
        // Lanes below the axis are reduced side by side; along the last axis each row is its own.
        let rows = if w.inner == 1 && w.axis > 1 { w.outer as f64 } else { 0.0 };
        // TBE's kernels pad rows that fill no whole blocks one by one, waiting for each transfer.
        let odd = w.inputs.first().is_some_and(|x| !(w.axis * u64::from(x.dtype.bits()) / 8).is_multiple_of(32));
        let padding = if odd && is_first(soc.arch) { 2.0 * c.tile_transfer_cycles } else { 0.0 };
        Ok(Problem { rows, row_cycles: problem.row_cycles + padding, ..problem })
    }

    pub(super) fn movement(w: &Move, soc: &Soc, c: &Constants) -> Result<Problem, String> {
        let problem = Problem::new(&w.inputs, &w.outputs, COPY, soc, c)?;
        let runs = if w.run_bytes == 0 { 0.0 } else { problem.largest / w.run_bytes as f64 };
        let indexed = ["Gather", "Scatter", "Segment", "Embedding", "Index"].iter().any(|n| w.op_type.contains(n));
        let run_cycles = if indexed { c.index_cycles } else { c.run_cycles };
        Ok(Problem { runs, run_cycles, ..problem })
    }

    fn new(inputs: &[Operand], outputs: &[Operand], r: Recipe, soc: &Soc, c: &Constants) -> Result<Problem, String> {
        let sum = |operands: &[Operand]| operands.iter().map(|o| o.bytes() as f64).sum::<f64>();
        let (read, written) = (sum(inputs), sum(outputs));
        if read + written > MAX_BYTES {
            return Err("more than 1e15 bytes cannot be moved".into());
        }
        let largest = inputs.iter().chain(outputs).max_by_key(|o| o.elements());
        let elements = largest.map_or(0.0, |o| o.elements() as f64);
        let bits = largest.map_or(32, |o| o.dtype.bits().clamp(8, 64));
        let lane = if r.wide { 4.0 } else { f64::from(bits.clamp(16, 32)) / 8.0 };
        let repeats = elements * lane / soc.vec_bytes_per_cycle;
        let first = is_first(soc.arch);
        let (divide, root, row_cycles) = if first {
            (c.divide_cycles_c100, c.root_cycles_c100, c.row_cycles_c100)
        } else {
            (c.divide_cycles_c220, c.root_cycles_c220, c.row_cycles_c220)
        };
        let cycles = repeats * (r.simple * c.simple_cycles + r.divide * divide + r.root * root);
        Ok(Problem {
            read,
            written,
            largest: inputs.iter().chain(outputs).map(|o| o.bytes() as f64).fold(0.0, f64::max),
            cycles,
            rows: 0.0,
            row_cycles,
            runs: 0.0,
            run_cycles: c.run_cycles,
            units: 0.0,
            known: r.known,
            mhz: soc.vec_freq_mhz,
            load_rate: soc.gm_to_ub_rate,
            store_rate: soc.ub_to_gm_rate,
            machine: Machine::new(soc, c),
        })
    }

    /// Whether the model knows what the operator computes.
    pub(super) fn is_known(&self) -> bool {
        self.known
    }

    /// Prices one legal schedule.
    pub(super) fn times(&self, s: &VectorSchedule) -> Times {
        let c = &self.machine.constants;
        let cores = f64::from(s.cores);
        let again = if s.template == VectorTemplate::Recompute { PASSES } else { 1.0 };
        let uneven = if self.units > 0.0 { (self.units / cores).ceil() * cores / self.units } else { 1.0 };
        let part = |whole: f64| whole / cores * uneven;
        let tiles = (part(self.largest) / f64::from(s.ub_tile_bytes)).ceil().max(1.0);
        let runs = part(self.runs) * self.run_cycles;
        let transfer = |bytes: f64, rate: f64| {
            if bytes > 0.0 { part(bytes) / rate + runs + tiles * c.tile_transfer_cycles } else { 0.0 }
        };
        let load = transfer(self.read * again, self.load_rate);
        let store = transfer(self.written, self.store_rate);
        let compute = part(self.cycles) + part(self.rows) * self.row_cycles;
        let steady = if s.double_buffer {
            norm([load, compute, store]) + (load + compute + store) / tiles / 2.0
        } else {
            load + compute + store
        };
        let us = |cycles: f64| cycles / self.mhz;
        let moved = self.read * again + self.written;
        let shared = self.machine.vector_memory_us(moved, self.read, self.written, cores);
        let start = self.machine.start_us(cores);
        let busy = Pipes { mte2: us(load), vec: us(compute), mte3: us(store), ..Pipes::default() };
        Times { busy, shared, total: norm([us(steady), shared]) + start, lead: start, tail: us(store) / tiles }
    }

    /// Prices the work as the tail of a cube kernel on `cores` cores, on the result's tiles as they come.
    /// Only what the cube kernel does not move anyway is counted as traffic.
    pub(super) fn epilogue(&self, cores: u32) -> Times {
        let cores = f64::from(cores) * self.machine.vectors_per_cube;
        let us = |cycles: f64| cycles / cores / self.mhz;
        let extra = (self.read + self.written - 2.0 * self.largest).max(0.0);
        let vec = us(self.cycles + self.rows * self.row_cycles);
        let busy = Pipes { vec, mte2: us(extra / self.load_rate), ..Pipes::default() };
        Times { busy, total: norm([vec, busy.mte2]), ..Times::default() }
    }
}

/// Parts into which elementwise work can be cut when an operand is repeated along inner axes: whole
/// outer slices, then channel blocks.
fn units(inputs: &[Operand], outputs: &[Operand], cores: f64) -> f64 {
    let Some(whole) = inputs.iter().chain(outputs).max_by_key(|o| o.elements()) else { return 0.0 };
    let repeated = inputs.iter().any(|o| o.elements() > 1 && o.elements() < whole.elements());
    match whole.shape.as_slice() {
        [outer, blocks, _, ..] if repeated && whole.shape.len() >= 4 => {
            let (outer, blocks) = (*outer as f64, *blocks as f64);
            if outer >= cores { outer } else { outer.max(blocks) }
        }
        _ => 0.0,
    }
}
