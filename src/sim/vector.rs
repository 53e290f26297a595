//! Vector work and data movement: tiles through the unified buffer.

use super::constants::Constants;
use super::machine::{Held, Machine, is_first, norm};
use super::recipe::{COPY, Recipe, recipe};
use super::{Counts, Pipes, Times, Work};
use crate::graph::{DataType, Format};
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
    /// Instructions for all elements, whatever cycles each takes.
    operations: f64,
    /// Vector cycles in all, were one core to do it.
    cycles: f64,
    /// Rows that are reduced one by one, each with its fixed cost.
    rows: f64,
    row_cycles: f64,
    /// Contiguous pieces that are moved one by one.
    runs: f64,
    run_cycles: f64,
    /// Cycles of the scalar unit for rows whose addresses come from an index, were one core to do it.
    addresses: f64,
    /// Times that rows are read which do not stay in UB.
    passes: f64,
    /// Parts that the kernel cannot cut further; 0 where elements are dealt freely.
    units: f64,
    /// Planes of a feature map that are worked on one by one, each with its channels' parameters.
    planes: f64,
    held: Held,
    known: bool,
    mhz: f64,
    load_rate: f64,
    store_rate: f64,
    machine: Machine,
}

impl Problem {
    pub(super) fn vector(w: &Vector, soc: &Soc, c: &Constants) -> Result<Problem, String> {
        let problem = Problem::new(&w.inputs, &w.outputs, recipe(&w.op_type), soc, c)?;
        Ok(Problem {
            units: units(&w.inputs, &w.outputs, problem.machine.cores),
            planes: planes(&w.inputs, &w.outputs),
            runs: if w.op_type.contains("Rotary") { last_axis_rows(&w.inputs) } else { 0.0 },
            ..problem
        })
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
        let odd = w.inputs.first().is_some_and(|x| {
            let row = w.axis.saturating_mul(u64::from(x.dtype.bits())) / 8;
            row > 32 && !row.is_multiple_of(32)
        });
        let padding = if odd && is_first(soc.arch) { 2.0 * c.tile_transfer_cycles } else { 0.0 };
        let planes = planes(&w.inputs, &w.outputs);
        Ok(Problem { rows, row_cycles: problem.row_cycles + padding, planes, ..problem })
    }

    pub(super) fn movement(w: &Move, soc: &Soc, c: &Constants) -> Result<Problem, String> {
        let copies = recipe(&w.op_type).copies;
        let problem = Problem::new(&w.inputs, &w.outputs, Recipe { copies, ..COPY }, soc, c)?;
        let runs = if w.run_bytes == 0 { 0.0 } else { problem.largest / w.run_bytes as f64 };
        let indexed = ["Gather", "Scatter", "Segment", "Embedding", "Index"].iter().any(|n| w.op_type.contains(n));
        if indexed {
            let index_cycles = if is_first(soc.arch) { c.index_cycles_c100 } else { c.index_cycles_c220 };
            return Ok(Problem { addresses: runs * index_cycles, ..problem });
        }
        Ok(Problem { runs, ..problem })
    }

    fn new(inputs: &[Operand], outputs: &[Operand], r: Recipe, soc: &Soc, c: &Constants) -> Result<Problem, String> {
        let sum = |operands: &[Operand]| operands.iter().map(|o| o.bytes() as f64).sum::<f64>();
        let (read, written) = (sum(inputs), sum(outputs));
        if read + written > MAX_BYTES {
            return Err("more than 1e15 bytes cannot be moved".into());
        }
        let largest = largest(inputs, outputs);
        let elements = largest.map_or(0.0, |o| o.elements() as f64);
        let bits = largest.map_or(32, |o| o.dtype.bits().clamp(8, 64));
        // The vector unit of the 910B has no bfloat16 arithmetic: operands pass through fp32.
        let rounded = inputs.iter().chain(outputs).filter(|o| o.dtype == DataType::Bfloat16);
        let casts = if r == COPY || r.copies {
            0.0
        } else {
            rounded.filter(|o| 2 * o.elements() > elements as u64).count() as f64
        };
        let wide = r.wide || casts > 0.0;
        let lane = if wide { 4.0 } else { f64::from(bits.clamp(16, 32)) / 8.0 };
        let repeats = elements * lane / soc.vec_bytes_per_cycle;
        let first = is_first(soc.arch);
        let (divide, root, row_cycles) = if first {
            (c.divide_cycles_c100, c.root_cycles_c100, c.row_cycles_c100)
        } else {
            (c.divide_cycles_c220, c.root_cycles_c220, c.row_cycles_c220)
        };
        let cycles = repeats * (casts + r.simple * c.simple_cycles + r.divide * divide + r.root * root);
        Ok(Problem {
            read,
            written,
            largest: inputs.iter().chain(outputs).map(|o| o.bytes() as f64).fold(0.0, f64::max),
            operations: elements * (r.simple + r.divide + r.root),
            cycles,
            rows: 0.0,
            row_cycles,
            runs: 0.0,
            run_cycles: if first { c.run_cycles_c100 } else { c.run_cycles_c220 },
            addresses: 0.0,
            // A sum needs its rows once.
            passes: if 2.0 * written >= read / inputs.len().max(1) as f64 { PASSES } else { 1.0 },
            units: 0.0,
            planes: 0.0,
            held: match (r.copies, is_cold(inputs, outputs)) {
                (true, _) => Held::JustMade,
                (false, true) => Held::Nothing,
                (false, false) => Held::Recent,
            },
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

    /// Share of its data that comes from device memory.
    pub(super) fn missed_share(&self) -> f64 {
        let distinct = self.read + self.written;
        if distinct > 0.0 { self.machine.vector_missed(distinct, self.held) / distinct } else { 0.0 }
    }

    /// Has so many bytes come from device memory, all else from L2.
    pub(super) fn miss(&mut self, bytes: f64) {
        self.held = Held::AllBut(bytes);
    }

    /// What it computes and moves; behind another piece, only operands of its own are moved.
    pub(super) fn work(&self, follows: bool) -> Work {
        let bytes = if follows { self.beside_the_results() } else { self.read + self.written };
        Work { bytes, cube_operations: 0.0, vector_operations: self.operations }
    }

    /// Prices one legal schedule.
    pub(super) fn times(&self, s: &VectorSchedule) -> Times {
        let c = &self.machine.constants;
        let cores = f64::from(s.cores);
        let again = self.readings(s);
        let uneven = if self.units > 0.0 { (self.units / cores).ceil() * cores / self.units } else { 1.0 };
        let part = |whole: f64| whole / cores * uneven;
        let tiles = (part(self.largest) / f64::from(s.ub_tile_bytes)).ceil().max(part(self.planes)).max(1.0);
        let runs = part(self.runs) * self.run_cycles;
        let transfer = |bytes: f64, rate: f64| {
            if bytes > 0.0 { part(bytes) / rate + runs + tiles * c.tile_transfer_cycles } else { 0.0 }
        };
        let load = transfer(self.read * again, self.load_rate);
        let store = transfer(self.written, self.store_rate);
        let compute = part(self.cycles) + part(self.rows) * self.row_cycles;
        let addresses = part(self.addresses);
        // Kernels of the 910B that reduce row by row wait for each row.
        let row_by_row = self.rows > 0.0 && !self.machine.first;
        let overlapped = (s.double_buffer || part(self.planes) > 1.0) && !row_by_row;
        let steady = if overlapped {
            // The first tile passes all pipes before the next can hide behind it.
            let slowest = load.max(compute).max(store);
            norm([load, compute, store, addresses]) + (load + compute + store - slowest) / tiles
        } else {
            load + compute + store + addresses
        };
        let us = |cycles: f64| cycles / self.mhz;
        let moved = self.read * again + self.written;
        let shared = self.machine.vector_memory_us(moved, self.read, self.written, self.held, cores);
        let start = self.machine.start_us(cores) + if self.machine.first { 0.0 } else { c.vector_start_us_c220 };
        // A pipe that waits for memory is busy.
        let read_share = self.read / (self.read + self.written);
        let busy = Pipes {
            // A copy's loads and stores take turns at the memory.
            mte2: us(load).max(shared * if self.cycles > 0.0 { 1.0 } else { read_share }),
            vec: us(compute),
            mte3: us(store).max(shared * (1.0 - read_share)),
            ..Pipes::default()
        };
        Times {
            busy,
            shared,
            total: norm([us(steady), shared]) + start,
            lead: start,
            tail: us(store) / tiles,
            fixed: start + us(c.tile_transfer_cycles),
        }
    }

    /// Times that it reads its data.
    fn readings(&self, s: &VectorSchedule) -> f64 {
        if s.template == VectorTemplate::Recompute { self.passes } else { 1.0 }
    }

    /// What [`Problem::times`] moves.
    pub(super) fn counts(&self, s: &VectorSchedule) -> Counts {
        Counts { gm_to_ub: self.read * self.readings(s), ub_to_gm: self.written, ..Counts::default() }
    }

    /// What [`Problem::epilogue`] moves.
    pub(super) fn counts_as_epilogue(&self) -> Counts {
        Counts { gm_to_ub: self.beside_the_results(), ..Counts::default() }
    }

    /// Bytes that work on another kernel's results moves besides these.
    fn beside_the_results(&self) -> f64 {
        (self.read + self.written - 2.0 * self.largest).max(0.0)
    }

    /// Prices the work as the tail of a cube kernel on `cores` cores, on the result's tiles as they come.
    /// Only what the cube kernel does not move anyway is counted as traffic.
    pub(super) fn epilogue(&self, cores: u32, behind_cube: bool) -> Times {
        let cores = f64::from(cores) * self.machine.vectors_per_cube;
        let us = |cycles: f64| cycles / cores / self.mhz;
        // Operands of its own come through the pipe that feeds the cube, and from memory.
        let extra = self.beside_the_results();
        let memory = self.machine.vector_memory_us(extra, extra, 0.0, self.held, cores);
        let lead = norm([us(extra / self.load_rate), memory]);
        let vec = us(self.cycles + self.rows * self.row_cycles);
        let busy = Pipes { vec, mte2: lead, ..Pipes::default() };
        if behind_cube {
            Times { busy, total: vec + lead, lead, ..Times::default() }
        } else {
            Times { busy, total: norm([vec, lead]), ..Times::default() }
        }
    }
}

/// The operand with most elements.
fn largest<'a>(inputs: &'a [Operand], outputs: &'a [Operand]) -> Option<&'a Operand> {
    inputs.iter().chain(outputs).max_by_key(|o| o.elements())
}

/// Parts into which elementwise work can be cut when an operand is repeated along inner axes: whole
/// outer slices, then channel blocks.
fn units(inputs: &[Operand], outputs: &[Operand], cores: f64) -> f64 {
    let Some(whole) = largest(inputs, outputs) else { return 0.0 };
    let repeated = inputs.iter().any(|o| o.elements() > 1 && o.elements() < whole.elements());
    match whole.shape.as_slice() {
        [outer, blocks, _, ..] if repeated && whole.shape.len() >= 4 => {
            let (outer, blocks) = (*outer as f64, *blocks as f64);
            if outer >= cores { outer } else { outer.max(blocks) }
        }
        _ => 0.0,
    }
}

/// Whether a kernel works on parameters, gradients or optimizer state: plain fp32 matrices and vectors, and
/// filters. They are used once or twice in a step, so L2 does not hold them; what other kernels read was
/// written shortly before.
fn is_cold(inputs: &[Operand], outputs: &[Operand]) -> bool {
    let largest = largest(inputs, outputs).map_or(0, Operand::elements);
    let parameter = |o: &Operand| {
        o.elements() * 2 > largest
            && match o.format {
                Format::FractalZ | Format::FractalZ3d => true,
                Format::Nd => o.shape.len() <= 2 && o.dtype == DataType::Float,
                _ => false,
            }
    };
    inputs.iter().chain(outputs).any(parameter)
}

/// Planes of an NC1HWC0 feature map when an operand has one value for each channel.
fn planes(inputs: &[Operand], outputs: &[Operand]) -> f64 {
    let Some(whole) = largest(inputs, outputs) else { return 0.0 };
    match (whole.format, whole.shape.as_slice()) {
        (Format::Nc1hwc0, &[batch, blocks, height, width, lanes]) if height * width > 1 => {
            let each_channel = |o: &Operand| o.format == Format::Nc1hwc0 && o.elements() == blocks * lanes;
            if inputs.iter().chain(outputs).any(each_channel) { (batch * blocks) as f64 } else { 0.0 }
        }
        _ => 0.0,
    }
}

/// Rows along the last axis: rotary embeddings work on halves of each.
fn last_axis_rows(inputs: &[Operand]) -> f64 {
    let whole = inputs.iter().max_by_key(|o| o.elements());
    whole.map_or(0.0, |o| o.elements() as f64 / o.shape.last().copied().unwrap_or(1).max(1) as f64)
}
