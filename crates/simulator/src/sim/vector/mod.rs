//! Vector work and data movement: tiles through the unified buffer.

mod prices;
mod shape;

use super::constants::Constants;
use super::machine::{Held, Machine, norm};
use super::recipe::{self, Recipe, recipe};
use super::{Cache, Counts, Pipes, Times, Work};
use crate::soc::{Arch, Soc};
use crate::workload::{Move, Operand, Reduce, Vector, VectorSchedule, VectorTemplate, Workload};
use aoe_graph::DataType;
use aoe_graph::op::{self, OpClass};
use prices::Prices;

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
    /// Operands that are read.
    operands: f64,
    /// Instructions for all elements, whatever cycles each takes.
    operations: f64,
    /// Vector cycles in all, were one core to do it.
    cycles: f64,
    /// Rows that are reduced one by one, each with its fixed cost.
    rows: f64,
    row_cycles: f64,
    /// The same of rows that another kernel has just made, on its tiles.
    following_row_cycles: f64,
    /// Cycles that the kernel takes besides when it works alone, from device memory to device memory.
    alone_cycles: f64,
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
    /// Planes of an image whose sums leave one by one.
    summed: f64,
    /// Steps along an axis that every core takes, each a transfer of its own.
    steps: f64,
    held: Held,
    /// Microseconds before the first tile beyond any kernel's start, where code and parameters are not in L2.
    setup_us: f64,
    mhz: f64,
    load_rate: f64,
    store_rate: f64,
    machine: Machine,
}

/// Whether the model knows what vector work computes, or what a movement moves; true for all other work.
pub(super) fn is_known(workload: &Workload) -> bool {
    match workload {
        Workload::Vector(Vector { op_type, .. }) | Workload::Reduce(Reduce { op_type, .. }) => recipe(op_type).known,
        // A product that nobody can count moves its data all the same, which does not bound its time.
        Workload::Move(Move { op_type, .. }) => {
            let multiplies = matches!(op::class(op_type), OpClass::MatMul | OpClass::Conv);
            recipe(op_type).known || op::family(op_type).is_some() && !multiplies
        }
        _ => true,
    }
}

/// Bytes that a vector kernel finds in device memory where kernels have just made what it works on, though its operands look
/// like parameters: plain fp32 matrices and vectors. `None` for any other work.
pub fn missed_of_made(workload: &Workload, soc: &Soc) -> Option<f64> {
    let (inputs, outputs) = match workload {
        Workload::Vector(w) if !recipe(&w.op_type).copies => (&w.inputs, &w.outputs),
        Workload::Reduce(w) => (&w.inputs, &w.outputs),
        Workload::Fused(parts) => return parts.first().and_then(|first| missed_of_made(first, soc)),
        _ => return None,
    };
    if !shape::is_cold(inputs, outputs) {
        return None;
    }
    let bytes = |operands: &[Operand]| operands.iter().map(|o| o.bytes() as f64).sum::<f64>();
    Some(Machine::new(soc, &Constants::FITTED).vector_missed(bytes(inputs), bytes(outputs), Held::Recent))
}

/// Microseconds of its own before the first tile of a kernel that finds its code in device memory, and what a type of which
/// only is known that it is no plain loop would have; `None` for parts of the first generation.
pub fn setups_us(op_type: &str, soc: &Soc) -> Option<[f64; 2]> {
    let generation = Prices::of(soc, &Constants::FITTED).setup_generation()?;
    Some(recipe::setups(op_type).map(|us| us[generation]))
}

/// Whether a movement takes or adds rows by index.
pub(super) fn is_indexed(op_type: &str) -> bool {
    let words = ["Gather", "Scatter", "Segment", "Embedding", "Index", "FinalizeRouting", "InitRouting"];
    let others = ["TokenPermute", "TokenUnpermute", "InplaceUpdate"];
    words.iter().chain(&others).any(|n| op_type.contains(n))
}

/// Whether every element has an index of its own: rows lie in UB, and the elements are taken there.
fn takes_elements(op_type: &str) -> bool {
    op_type.contains("Elements") || op_type == "GatherD"
}

impl Problem {
    pub(super) fn vector(w: &Vector, soc: &Soc, c: &Constants) -> Result<Problem, String> {
        let recipe = recipe(&w.op_type);
        let problem = Problem::new(&w.inputs, &w.outputs, recipe, soc, c)?;
        let prices = Prices::of(soc, c);
        let rows = if recipe.by_row { shape::last_axis_rows(&w.inputs) } else { 0.0 };
        let halved = if recipe.divide == GATED_DIVIDE { shape::halved_rows(&w.inputs, &w.outputs) } else { 0.0 };
        let apart = shape::spread_rows(&w.inputs, &w.outputs) * prices.spread_row + halved * prices.halved_row;
        let first = problem.machine.first;
        let planes = if first && w.op_type.contains("InstanceNorm") { by_plane(w, c) } else { 0.0 };
        Ok(Problem {
            units: if recipe.by_row {
                rows
            } else if first && !w.op_type.starts_with("Resize") {
                // A smaller image is repeated along no axis.
                shape::units(&w.inputs, &w.outputs, problem.machine.cores)
            } else {
                0.0
            },
            planes: shape::planes(&w.inputs, &w.outputs),
            summed: summed(&w.op_type, &w.inputs, &w.outputs),
            runs: if w.op_type.contains("Rotary") { shape::last_axis_rows(&w.inputs) } else { 0.0 },
            rows,
            row_cycles: prices.row(&recipe, f64::INFINITY),
            alone_cycles: apart + planes,
            ..problem
        })
    }

    pub(super) fn reduce(w: &Reduce, soc: &Soc, c: &Constants) -> Result<Problem, String> {
        if w.outer == 0 || w.axis == 0 || w.inner == 0 {
            return Err("an extent is zero".into());
        }
        let recipe = recipe(&w.op_type);
        let problem = Problem::new(&w.inputs, &w.outputs, recipe, soc, c)?;
        let prices = Prices::of(soc, c);
        // Lanes below the axis are reduced side by side; along the last axis each row is its own.
        let rows = if w.inner == 1 && w.axis > 1 { w.outer as f64 } else { 0.0 };
        let bits = w.inputs.first().map_or(32, |x| u64::from(x.dtype.bits()));
        let row_bytes = w.axis.saturating_mul(bits) / 8;
        // TBE's kernels pad rows that fill no whole blocks one by one, waiting for each transfer.
        let odd = !w.inputs.is_empty() && row_bytes > 32 && !row_bytes.is_multiple_of(32);
        let padding = if odd && problem.machine.first { 2.0 * c.tile_transfer_cycles } else { 0.0 };
        let planes = shape::planes(&w.inputs, &w.outputs);
        let steps = steps(w, &problem.machine);
        let row_cycles = prices.row(&recipe, row_bytes as f64) + padding;
        let (runs, units) = if problem.machine.first { (0.0, 0.0) } else { lanes(w, &recipe, bits, soc) };
        let volume = w.outer as f64 * w.axis as f64 * w.inner as f64;
        let wide_rows = volume * 4.0 / soc.vec_bytes_per_cycle * prices.row_instructions(&recipe);
        let ranked = if w.inner > 1 && ranks(&recipe) && soc.arch == Arch::C220 { c.ranked_lanes_factor } else { 1.0 };
        // A window is gone through tap by tap for each result.
        let taps = if w.op_type.contains("Pool") && w.inner > 1 {
            let largest = shape::largest(&w.inputs, &w.outputs).map_or(1.0, |o| o.elements() as f64);
            (volume / largest.max(1.0)).max(1.0)
        } else {
            1.0
        };
        let alone_cycles = problem.cycles * (ranked * taps - 1.0) + wide_rows;
        let summed = summed(&w.op_type, &w.inputs, &w.outputs);
        Ok(Problem { rows, row_cycles, alone_cycles, runs, units, planes, summed, steps, ..problem })
    }

    pub(super) fn movement(w: &Move, soc: &Soc, c: &Constants) -> Result<Problem, String> {
        let problem = Problem::new(&w.inputs, &w.outputs, recipe::movement(&w.op_type), soc, c)?;
        // A table of which only a part is taken was last read a step ago.
        let table = w.op_type.starts_with("Gather") && w.inputs.first() == w.outputs.first();
        let held = if table { Held::AllBut(problem.read) } else { problem.held };
        let problem = Problem { held, ..problem };
        let prices = Prices::of(soc, c);
        let runs = if w.run_bytes == 0 { 0.0 } else { problem.largest / w.run_bytes as f64 };
        if takes_elements(&w.op_type) && !problem.machine.first {
            let elements = w.inputs.get(1).map_or(0.0, |indices| indices.elements() as f64);
            return Ok(Problem { addresses: elements * TAKEN_CYCLES, ..problem });
        }
        if is_indexed(&w.op_type) {
            // Indices of 64 bits may outweigh what they take.
            let runs = w.inputs.get(1).map_or(runs, |indices| runs.min(indices.elements() as f64));
            let odd = w.run_bytes > 32 && !w.run_bytes.is_multiple_of(32);
            let index = prices.index * if odd { prices.odd_index } else { 1.0 };
            return Ok(Problem { addresses: runs * index, ..problem });
        }
        // From the 910B on shorter pieces are turned in UB with what is around them, as a transpose's rows are, where all
        // around them is moved. Kernels of TBE for fused cores move them one by one (910: slices of 4 bytes, 16 cycles each).
        let apart = problem.machine.first || w.op_type.contains("Slice") || w.op_type == "AsStrided";
        let runs = if apart { runs } else { runs.min(problem.largest / SHORTEST_RUN) };
        let turned = w.op_type.contains("Transpose") && shape::is_turned(&w.inputs, &w.outputs);
        let cycles = if turned { problem.largest * prices.turn_byte } else { 0.0 };
        Ok(Problem { cycles, runs, ..problem })
    }

    fn new(inputs: &[Operand], outputs: &[Operand], r: Recipe, soc: &Soc, c: &Constants) -> Result<Problem, String> {
        let sum = |operands: &[Operand]| operands.iter().map(|o| o.bytes() as f64).sum::<f64>();
        let (read, written) = (sum(inputs), sum(outputs));
        if read + written > MAX_BYTES {
            return Err("more than 1e15 bytes cannot be moved".into());
        }
        let prices = Prices::of(soc, c);
        let largest = shape::largest(inputs, outputs);
        let elements = largest.map_or(0.0, |o| o.elements() as f64);
        let bits = largest.map_or(32, |o| o.dtype.bits().clamp(8, 64));
        // The vector unit of the 910B has no bfloat16 arithmetic: operands pass through fp32.
        let rounded = inputs.iter().chain(outputs).filter(|o| o.dtype == DataType::Bfloat16);
        let casts = if r.simple + r.divide + r.root == 0.0 {
            0.0
        } else {
            rounded.filter(|o| 2 * o.elements() > elements as u64).count() as f64
        };
        let converts = r.wide_later && soc.arch == Arch::C220;
        let halves = |operands: &[Operand]| operands.iter().filter(|o| o.dtype == DataType::Float16).count() as f64;
        let casts = if converts { casts + halves(inputs) + halves(outputs) } else { casts };
        let wide = r.wide || converts || casts > 0.0;
        let lane = if wide { 4.0 } else { f64::from(bits.clamp(16, 32)) / 8.0 };
        let repeats = elements * lane / soc.vec_bytes_per_cycle;
        let long_integers = bits == 64 && largest.is_some_and(|o| !o.dtype.is_float());
        let cycles = if long_integers {
            elements * prices.long_integer * r.simple
        } else {
            repeats * prices.instructions(casts, &r)
        };
        Ok(Problem {
            read,
            written,
            largest: inputs.iter().chain(outputs).map(|o| o.bytes() as f64).fold(0.0, f64::max),
            operands: inputs.len() as f64,
            operations: elements * (r.simple + r.divide + r.root),
            cycles: cycles + elements * prices.scalar(&r, bits),
            rows: 0.0,
            row_cycles: 0.0,
            following_row_cycles: prices.following_row,
            alone_cycles: 0.0,
            runs: 0.0,
            run_cycles: prices.run,
            addresses: 0.0,
            // A sum needs its rows once.
            passes: if 2.0 * written >= read / inputs.len().max(1) as f64 { PASSES } else { 1.0 },
            units: 0.0,
            planes: 0.0,
            summed: 0.0,
            steps: 0.0,
            held: match (r.copies, shape::is_cold(inputs, outputs)) {
                (true, _) => Held::JustMade,
                (false, true) => Held::Nothing,
                (false, false) => Held::Recent,
            },
            setup_us: prices.setup(&r),
            mhz: soc.vec_freq_mhz,
            load_rate: soc.gm_to_ub_rate,
            store_rate: soc.ub_to_gm_rate,
            machine: Machine::new(soc, c),
        })
    }

    /// Share of its data that comes from device memory.
    pub(super) fn missed_share(&self) -> f64 {
        let distinct = self.read + self.written;
        if distinct > 0.0 { self.machine.vector_missed(self.read, self.written, self.held) / distinct } else { 0.0 }
    }

    /// Has so many bytes come from device memory, all else from L2.
    pub(super) fn miss(&mut self, bytes: f64) {
        self.held = Held::AllBut(bytes);
    }

    /// Has L2 hold what the word says when the kernel starts.
    pub(super) fn lie(&mut self, cache: Cache) {
        self.held = match cache {
            Cache::Cold => Held::Cold,
            Cache::Warm => Held::Warm,
        };
    }

    /// Has so many bytes come from device memory, all else from L2, with nothing else under way.
    pub(super) fn lie_apart(&mut self, bytes: f64) {
        self.held = Held::Apart(bytes);
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
        let transfer = |bytes: f64, rate: f64, transfers: f64| {
            if bytes > 0.0 { part(bytes) / rate + runs + transfers * c.tile_transfer_cycles } else { 0.0 }
        };
        let load = transfer(self.read * again, self.load_rate, tiles.max(self.steps));
        // What a sum leaves goes out once, however many steps it took.
        let store = transfer(self.written, self.store_rate, tiles);
        let compute = part(self.cycles + self.alone_cycles) + part(self.rows) * self.row_cycles;
        let addresses = part(self.addresses);
        // Kernels of the 910B that reduce row by row wait for each row.
        let row_by_row = self.rows > 0.0 && self.machine.waits_for_rows;
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
        let own = if self.held.lacks_code() { self.setup_us } else { 0.0 };
        let begin = match self.held {
            _ if self.machine.first => 0.0,
            held if held.is_alone() => c.vector_alone_us_c220,
            _ => c.vector_start_us_c220 + self.operands * c.operand_us_c220,
        };
        let start = self.machine.start_us(cores) + own + begin;
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
        let vec = us(self.cycles + self.rows * self.following_row_cycles + self.summed * self.machine.plane_cycles);
        let busy = Pipes { vec, mte2: lead, ..Pipes::default() };
        if behind_cube {
            Times { busy, shared: memory, total: vec + lead, lead, ..Times::default() }
        } else {
            Times { busy, shared: memory, total: norm([vec, lead]), ..Times::default() }
        }
    }
}

/// Planes whose sums batch normalisation makes.
fn summed(op_type: &str, inputs: &[Operand], outputs: &[Operand]) -> f64 {
    let sums = op_type.contains("TrainingReduce") && !op_type.contains("Grad");
    if sums { shape::image_planes(inputs, outputs) } else { 0.0 }
}

/// Cycles in which TBE's kernel normalises the planes of a plain tensor, its lanes side by side: element by element where
/// the planes fill whole blocks, and else row by row, waiting for each row's transfers, of which it takes the lanes of one
/// fp32 instruction without a mask.
fn by_plane(w: &Vector, c: &Constants) -> f64 {
    let Some((rows, lanes, whole)) = shape::instance_rows(&w.inputs, &w.outputs) else { return 0.0 };
    let each = c.plane_element_cycles_c100 * lanes;
    if whole {
        return rows * each;
    }
    let masked = if lanes > INSTRUCTION_LANES { c.masked_row_cycles_c100 } else { 0.0 };
    rows * (each + c.odd_plane_row_cycles_c100 + masked)
}

/// Cycles of an element that is taken by its own index out of a row in UB: its index, its address, the load, the store.
const TAKEN_CYCLES: f64 = 4.0;
/// Bytes below which pieces that are moved pass UB together: four blocks of UB.
const SHORTEST_RUN: f64 = 128.0;
/// Elements of fp32 that one vector instruction takes.
const INSTRUCTION_LANES: f64 = 64.0;
/// Divisions for each element of both halves of a gated row: what tells these operators from others.
const GATED_DIVIDE: f64 = recipe::GATED.divide;
/// Elements of a row that one core ranks at least.
const RANKED_LANES: u64 = 1024;
/// Bytes of UB that each element of a row takes which is normalised: both operands and two rows in fp32.
const NORMALISED_BYTES: u64 = 16;
/// Bytes of a core's piece of a step from which it is a transfer alone: 704 lanes of fp32 on the first 910 are
/// ([640, 21128] takes a transfer's 200 cycles for each row), 128 lanes of fp16 are not.
const STEP_BYTES: f64 = 2048.0;
/// Lanes that a tile has at least: a burst of two blocks.
const FEWEST_LANES: u64 = 32;

/// Contiguous pieces and parts that can be dealt of work along an axis.
///
/// A kernel that normalises along an axis with lanes below it holds the whole axis in UB, so the longer the axis, the
/// fewer lanes a tile has; each step along the axis is a piece of its own.
fn lanes(w: &Reduce, recipe: &Recipe, bits: u64, soc: &Soc) -> (f64, f64) {
    let volume = w.outer as f64 * w.axis as f64;
    let keeps = w.outputs.iter().any(|y| y.elements() as f64 >= volume * w.inner as f64);
    let by_register = soc.arch == Arch::C310;
    if w.inner == 1 {
        let whole = keeps || ranks(recipe) && !by_register;
        return (0.0, if whole { w.outer as f64 } else { 0.0 });
    }
    if keeps && !by_register {
        let room = soc.ub_size / NORMALISED_BYTES.saturating_mul(w.axis).max(1);
        let tile = room.clamp(FEWEST_LANES * 16 / bits.max(16), w.inner.max(FEWEST_LANES)).min(w.inner);
        let pieces = w.inner.div_ceil(tile.max(1)) as f64;
        return (volume * pieces, w.outer as f64 * pieces);
    }
    (0.0, if ranks(recipe) && !by_register { w.outer as f64 * (w.inner / RANKED_LANES).max(1) as f64 } else { 0.0 })
}

/// Transfers of each core for a sum along an axis whose lanes the cores have to share: each step along the axis is a piece
/// of its own for a core, and short pieces of several steps share a transfer. TBE's kernels.
fn steps(w: &Reduce, machine: &Machine) -> f64 {
    let volume = w.outer.saturating_mul(w.axis).saturating_mul(w.inner);
    let whole = w.inputs.first().map_or(0, Operand::elements);
    let sums = w.op_type.starts_with("Reduce") && !w.outputs.iter().any(|y| y.elements() >= volume);
    let parts = machine.cores / w.outer.max(1) as f64;
    if !(machine.first && sums && w.inner > 1 && parts > 1.0 && volume <= whole) {
        return 0.0;
    }
    let bytes = w.inputs.first().map_or(0.0, |x| f64::from(x.dtype.bits()) / 8.0);
    let piece = w.inner as f64 * bytes / parts;
    w.axis as f64 * (piece / STEP_BYTES).min(1.0)
}

/// Whether an operator looks for the place of a value.
fn ranks(recipe: &Recipe) -> bool {
    recipe.row >= recipe::ARG_EXTREME.row
}
