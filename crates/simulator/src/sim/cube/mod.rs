//! Matrix products and convolutions on the cube cores.
//!
//! [`Problem`] is the workload reduced to numbers. What a kernel does with a schedule is a [`plan`], which each
//! family of kernels makes for itself: [`tbe`], [`matmul_v3`]. [`task`] prices one core's work under it: transfers
//! GM to L1 (MTE2), L1 to L0 (MTE1), cube steps, and the way of the result out.

mod counts;
mod loads;
mod matmul_v3;
mod plan;
mod quant;
mod side;
mod task;
mod tbe;
mod turned;
pub(super) mod two_cores;
mod walk;

use super::constants::Constants;
use super::machine::{Machine, norm, overlap};
use super::{Cache, Pipes, Places, Times, Work};
use crate::soc::{Arch, Soc};
use crate::workload::{Conv, ConvKind, CubeSchedule, CubeShape, MatMul, MatMulKernel};
use aoe_graph::{DataType, Format};
pub(super) use plan::Reload;
use plan::{Plan, Tiles};
use side::Side;
use task::Task;
pub(super) use walk::{Operand, Walk};

/// Most elements of one operand: beyond it sizes are taken for nonsense.
const MAX_ELEMENTS: f64 = 1e15;
/// Most times that a line is fetched while it is under way.
const MOST_FETCHES: f64 = 4.0;
/// The block that CANN's default tilings of `MatMulV3` begin with, in rows and columns of C.
const START_BLOCK: [f64; 2] = [128.0, 256.0];
/// Rows of A up to which a B stored by its columns comes panel after panel: published times are the same from one row to
/// eight, and less for sixteen.
const FEW_ROWS: u64 = 8;
/// Columns of a core that pass in one go there.
const TURN_COLUMNS: f64 = 32.0;
/// Columns of a result's row that `result_cycles` are for.
const RESULT_COLUMNS: f64 = 128.0;
/// Rows and columns of one cube step.
const FRACTAL: f64 = 16.0;

/// Cube work reduced to numbers. Extents are elements, `k` rounded up to whole fractals.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    batch: f64,
    m: f64,
    n: f64,
    k: f64,
    k0: f64,
    in_bytes: f64,
    out_bytes: f64,
    /// Cycles of one 16 x k0 x 16 step.
    step_cycles: f64,
    a: Side,
    b: Side,
    /// Cube steps that rounding each image's pixels up to whole fractals adds, as a factor.
    padding: f64,
    /// Images that are dealt to the cores whole; 0 where rows are dealt.
    images: f64,
    /// One B serves all products: it is loaded once where it stays in L1.
    b_shared: bool,
    /// The result is a plain matrix that fixpipe turns into rows.
    plain_result: bool,
    /// Tiles at the edge bring to L0 what is there: AscendC's kernels do, of others it is not public.
    short_edges: bool,
    /// Multiplications and additions, without padding.
    operations: f64,
    /// Bytes of A and of B.
    operands: [f64; 2],
    /// Bytes of all operands and results together: what L2 would have to hold.
    footprint: f64,
    /// The same, also where they pass through L2 piece by piece.
    bytes: f64,
    /// Bytes of A and B that L2 does not hold when the kernel starts, where who prices it knows that; else its size
    /// tells.
    cold: Option<[f64; 2]>,
    /// What the kernels of `MatMulV3` know of it, where one of them computes it.
    matmul_v3: Option<matmul_v3::Product>,
    /// The same of the kernel of quantised products.
    quant: Option<quant::Product>,
    /// Microseconds that panels of a B stored by its columns take one after the other where A has hardly any rows.
    in_turns: f64,
    /// What a product of TBE's costs besides its pipes on a part of two cores.
    two_cores: Option<two_cores::Weights>,
    /// Microseconds in which a kernel that runs alone brings its code and parameters from device memory.
    fetch_us: f64,
    traits: Traits,
    machine: Machine,
}

/// What tells the loops of kernels apart beyond their plans.
#[derive(Debug, Clone, Copy)]
struct Traits {
    /// Times the bytes of A cost on the way to L0A.
    a_load: f64,
    /// Power of the norm that joins the pipes' times.
    power: f64,
    /// Part of a tile's way out for which a single buffer of L0C keeps the cube waiting.
    l0_c_wait: f64,
    operands: Operands,
}

/// What TBE's kernel of the 310P makes of its operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Another kernel's: its pipes' times tell.
    AsPriced,
    /// Fractals.
    Fractals,
    /// Plain matrices that it turns: [`turned`].
    Plain,
}

impl Traits {
    const USUAL: Traits = Traits { a_load: 1.0, power: 8.0, l0_c_wait: 1.0, operands: Operands::AsPriced };

    /// TBE's products on the 310P, machine and all: A's fractals are loaded one by one, and its pipes wait for each
    /// other more than elsewhere. Which of two tilings is the faster follows from these; the times themselves are
    /// not known, the repository's unit being none (`sim::record`).
    fn of_m200(machine: &mut Machine, c: &Constants) -> Traits {
        machine.constants.l0_load_cycles = c.l0_load_cycles_m200;
        // The first 910's steps cost far more than what orders tilings here.
        machine.mmad_cycles = c.mmad_cycles;
        machine.ub_out_rate = machine.ub_out_rate.min(c.ub_out_rate_m200);
        Traits {
            a_load: c.a_load_m200,
            power: c.overlap_power_m200,
            l0_c_wait: c.l0_c_wait_m200,
            operands: Operands::Fractals,
        }
    }
}

impl Problem {
    pub(super) fn matmul(w: &MatMul, soc: &Soc, constants: &Constants) -> Result<Problem, String> {
        let shape = w.cube();
        let stored = |rows: u64, columns: u64, turned: bool| if turned { [columns, rows] } else { [rows, columns] };
        let a = Side::matrix(w.a_format, !w.trans_a, stored(w.m, w.k, w.trans_a), &shape);
        let b = Side::matrix(w.b_format, w.trans_b, stored(w.k, w.n, w.trans_b), &shape);
        let problem = Problem::new(&shape, a, b, soc, constants)?;
        let products = |shared: bool| if shared { 1.0 } else { problem.batch };
        let operands = [products(w.a_shared) * problem.m, products(w.b_shared) * problem.n]
            .map(|extent| extent * problem.k * problem.in_bytes);
        let footprint = operands[0] + operands[1] + problem.batch * problem.m * problem.n * problem.out_bytes;
        let plain_result = w.a_format == Format::Nd && !problem.machine.first;
        let (matmul_v3, quant) = (matmul_v3::Product::of(w, soc), quant::Product::of(w, soc));
        let mut problem = problem;
        if soc.has_two_cores() && w.kernel == MatMulKernel::Tbe {
            problem.two_cores = Some(two_cores::FRACTALS);
        }
        match soc.arch {
            Arch::M200 if w.kernel == MatMulKernel::Tbe => {
                problem.traits = Traits::of_m200(&mut problem.machine, constants);
            }
            Arch::C100 if w.kernel == MatMulKernel::Tbe => problem.traits.power = constants.overlap_power_c100,
            _ => {}
        }
        let mut problem = Problem {
            b_shared: w.b_shared,
            plain_result,
            short_edges: w.kernel == MatMulKernel::AscendC,
            operands,
            footprint,
            bytes: footprint,
            in_turns: if matmul_v3.is_some() { problem.in_turns(w, soc) } else { 0.0 },
            matmul_v3,
            quant,
            ..problem
        };
        // The 950's vector cores widen a weight on its way to L1; those of other parts write it to L2 as wide as A.
        if let (Some(stored), Arch::C310) = (w.b_dtype, soc.arch) {
            problem.narrow_weight(f64::from(stored.bits()) / f64::from(w.dtype.bits()));
        }
        Ok(problem)
    }

    pub(super) fn conv(w: &Conv, soc: &Soc, constants: &Constants) -> Result<Problem, String> {
        let sizes = [w.batch, w.cin, w.hi, w.wi, w.cout, w.ho, w.wo, w.kh, w.kw, w.groups, w.stride[0], w.stride[1]];
        if sizes.contains(&0) {
            return Err("a size is zero".into());
        }
        if !w.cin.is_multiple_of(w.groups) || !w.cout.is_multiple_of(w.groups) {
            return Err(format!("{} and {} channels cannot be cut into {} groups", w.cin, w.cout, w.groups));
        }
        let shape = w.cube();
        let taps = (w.kh * w.kw) as f64;
        let strides = (w.stride[0] * w.stride[1]) as f64;
        // im2col happens between L1 and L0: a pixel comes from GM once, not once for each kernel tap.
        let reuse = match w.kind {
            ConvKind::Forward | ConvKind::BackpropFilter => (taps / strides).max(1.0),
            // The gradient is spread out by the stride with zeros that no one loads.
            ConvKind::BackpropInput => taps * strides,
        };
        let (window, filter) = (Side::window(&shape, taps, reuse), Side::filter(&shape));
        let (a, b) = match w.kind {
            ConvKind::Forward | ConvKind::BackpropInput => (window, filter),
            ConvKind::BackpropFilter => (Side::window(&shape, 1.0, 1.0), window),
        };
        let problem = Problem::new(&shape, a, b, soc, constants)?;
        let es = shape.dtype.bytes() as f64;
        // The kernels of a 950 read maps as the network has them.
        let [x, y] = w.stored(soc.arch != Arch::C310).map(|elements| elements as f64);
        // A tile never spans two images.
        let pixels = (if w.kind == ConvKind::BackpropInput { w.hi * w.wi } else { w.ho * w.wo }) as f64;
        let padding = up(pixels, FRACTAL) / pixels;
        let spread = w.kind == ConvKind::BackpropInput && strides > 1.0 && soc.arch == Arch::C100;
        let columns = if w.kind == ConvKind::BackpropFilter { problem.m } else { problem.k };
        let filter = problem.batch * columns * problem.n * es;
        let footprint = (x + y) * es + filter;
        let mut problem = problem;
        // In which order blocks of convolutions are dealt, and so what cores read at the same time, is not public.
        problem.machine.serves_in_turn = false;
        let operands = match w.kind {
            ConvKind::Forward => [x * es, filter],
            ConvKind::BackpropInput => [y * es, filter],
            ConvKind::BackpropFilter => [y * es, x * es],
        };
        // What is asked of it, not the blocks in which it does that.
        let operations = 2.0 * w.macs() as f64;
        if spread {
            problem.images = w.batch as f64;
            if taps > 1.0 {
                problem.step_cycles *= constants.spread_factor_c100;
            }
        }
        Ok(Problem { padding, operands, footprint, bytes: footprint, operations, ..problem })
    }

    fn new(shape: &CubeShape, a: Side, b: Side, soc: &Soc, constants: &Constants) -> Result<Problem, String> {
        let (batch, m, n, k) = (shape.batch as f64, shape.m as f64, shape.n as f64, shape.k as f64);
        if [batch, m, n, k].contains(&0.0) {
            return Err("a size is zero".into());
        }
        if [batch * m * k, batch * k * n, batch * m * n].iter().any(|&e| e > MAX_ELEMENTS) {
            return Err("a tensor of more than 1e15 elements cannot be".into());
        }
        if shape.dtype.bits() == 0 || shape.out_dtype.bits() == 0 {
            return Err(format!("type {} has no cube arithmetic", shape.dtype.name()));
        }
        let k0 = shape.k0() as f64;
        Ok(Problem {
            batch,
            m,
            n,
            k: up(k, k0),
            k0,
            in_bytes: shape.dtype.bytes() as f64,
            out_bytes: shape.out_dtype.bytes() as f64,
            // fp32 takes two passes over the same fractal unless it may be rounded to HF32.
            step_cycles: if shape.dtype == DataType::Float && !shape.hf32 { 2.0 } else { 1.0 },
            a,
            b,
            padding: 1.0,
            images: 0.0,
            b_shared: false,
            plain_result: false,
            short_edges: false,
            operations: 2.0 * batch * m * k * n,
            operands: [0.0; 2],
            footprint: 0.0,
            bytes: 0.0,
            cold: None,
            matmul_v3: None,
            quant: None,
            in_turns: 0.0,
            two_cores: None,
            fetch_us: 0.0,
            traits: Traits::USUAL,
            machine: Machine::new(soc, constants),
        })
    }

    /// Makes the operands and results pass through L2 piece by piece, in fractals: products of one kernel
    /// that feed each other.
    pub(super) fn stay_in_l2(&mut self) {
        self.footprint = 0.0;
        self.operands = [0.0; 2];
        self.traits.operands = Operands::AsPriced;
        self.plain_result = false;
        self.matmul_v3 = None;
        self.quant = None;
        self.in_turns = 0.0;
        self.two_cores = None;
    }

    /// Has B take this share of its bytes in memory.
    fn narrow_weight(&mut self, share: f64) {
        let saved = self.operands[1] * (1.0 - share);
        self.operands[1] -= saved;
        (self.footprint, self.bytes) = ((self.footprint - saved).max(0.0), (self.bytes - saved).max(0.0));
    }

    /// Microseconds that `MatMulV3` takes at least for one product of few rows whose plain B lies by columns: panel comes
    /// after panel, none loaded ahead, whatever n is. No published time tells of a tiling that escapes it.
    fn in_turns(&self, w: &MatMul, soc: &Soc) -> f64 {
        if w.batch > 1 || w.m > FEW_ROWS || !w.trans_b || w.b_format == Format::FractalNz {
            return 0.0;
        }
        let columns = (self.n / f64::from(soc.ai_core_cnt.max(1))).ceil();
        let tiles = if columns <= TURN_COLUMNS { 1.0 } else { 2.0 };
        tiles * self.k * self.machine.constants.turn_cycles / self.machine.mhz
    }

    /// Tasks that the busiest of so many cores works through, of all those that a schedule makes.
    ///
    /// Where images are dealt whole, so many of them are a round as there are cores, and half as many keep as many cores
    /// busy: fewer than that are cut. The share is then a part of a task, too.
    fn tasks_a_core(&self, tasks: f64, cores: f64) -> f64 {
        if self.images == 0.0 {
            return (tasks / cores).ceil();
        }
        let rounds =
            if self.images > cores { (self.images / cores).ceil() } else { (2.0 * self.images / cores).min(1.0) };
        tasks * rounds / self.images
    }

    /// Has the operands be plain matrices, which TBE's kernel turns into fractals itself.
    pub(super) fn turn_operands(&mut self) {
        self.two_cores = self.two_cores.map(|_| two_cores::PLAIN);
        if self.traits.operands == Operands::Fractals {
            self.traits.operands = Operands::Plain;
        }
    }

    /// Microseconds of the kernel as a whole, of whose pipes it is known that they would take `pipes_us`.
    fn whole_us(&self, pipes_us: f64, t: &Tiles, s: &CubeSchedule, mac_us: f64) -> f64 {
        let results = self.batch * self.m * self.n;
        let beyond = (self.footprint - self.machine.l2_bytes).max(0.0);
        let least = mac_us.max(self.machine.least_us(beyond));
        if self.traits.operands == Operands::Plain {
            let results_us = self.machine.missed_us(results * self.out_bytes);
            return turned::time_us(pipes_us, self.in_bytes, results_us).max(least);
        }
        let Some(weights) = &self.two_cores else { return pipes_us };
        let moved = two_cores::Moved {
            bytes: [self.operands[1], results * self.out_bytes],
            elements: [self.operands[1] / self.in_bytes, results],
            tiles: t.products * t.count() * f64::from(s.l0.m) * t.k * self.in_bytes,
        };
        weights.time_us(pipes_us, &moved).max(least)
    }

    /// Has the kernel find neither its code nor its parameters in L2.
    pub(super) fn start_cold(&mut self) {
        self.fetch_us = self.machine.fetch_us;
    }

    /// Share of its data that comes from device memory, were all of it used shortly before.
    pub(super) fn missed_share(&self) -> f64 {
        self.machine.missed_share(self.footprint)
    }

    /// Share of an operand that comes from device memory, by who prices the kernel or by its size.
    fn cold_share(&self, operand: usize) -> f64 {
        match self.cold {
            Some(cold) if self.operands[operand] > 0.0 => cold[operand] / self.operands[operand],
            Some(_) => 0.0,
            None => self.missed_share(),
        }
    }

    /// Bytes of A and B that are known to be cold.
    fn cold_bytes(&self) -> [f64; 2] {
        self.cold.unwrap_or_default()
    }

    /// Has so many bytes of A and B come from device memory, all else from L2.
    pub(super) fn chill(&mut self, [a, b]: [f64; 2]) {
        self.cold = Some([a.min(self.operands[0]), b.min(self.operands[1])]);
    }

    /// Has so many bytes come from device memory, of B before A: a network's weights are what it uses once a step.
    pub(super) fn miss(&mut self, bytes: f64) {
        let b = bytes.min(self.operands[1]);
        self.chill([bytes - b, b]);
    }

    /// Places A and B. What is warm comes from device memory only as far as all of the kernel's data exceed L2.
    pub(super) fn place(&mut self, places: &Places) {
        let beyond = self.missed_share();
        let cold = [0, 1].map(|at| match places.of(at) {
            Cache::Cold => self.operands[at],
            Cache::Warm => self.operands[at] * beyond,
        });
        // Where all is warm, what exceeds L2 is what has left it and is read again.
        if [0, 1].iter().any(|&at| places.of(at) == Cache::Cold) {
            self.chill(cold);
        }
    }

    /// Microseconds in which device memory delivers what is cold. Cores that ask for one panel at the same time each
    /// have it fetched: a line under way is not yet in L2.
    fn cold_us(&self, plan: &Plan, s: &CubeSchedule) -> f64 {
        let (c, blocks) = (&self.machine.constants, self.blocks_beside(plan, s));
        let fetched = |at: usize, side: &Side| {
            let times = blocks[1 - at].clamp(1.0, MOST_FETCHES);
            plan.cold[at] * times.powf(c.fetch_exponent) * side.conflict(&self.machine)
        };
        // A kernel of one loop also misses what it drives out of L2 itself; the others' plans count that.
        let driven_out = match (&self.matmul_v3, self.quant, self.cold) {
            (None, None, Some([a, b])) => (self.machine.missed(self.footprint) - a - b).max(0.0),
            _ => 0.0,
        };
        self.machine.cold_us(fetched(0, &self.a) + fetched(1, &self.b) + driven_out)
    }

    /// Blocks of rows and of columns that are at work beside each other. Kernels that deal a grid of blocks have those of
    /// their tiling. `MatMulV3` goes along diagonals, where few cores share a panel, and yet measured products with its
    /// default tiling have what is cold fetched as often; which tiling would spare it is not known, so there it is the same
    /// for all tilings of a product.
    fn blocks_beside(&self, plan: &Plan, s: &CubeSchedule) -> [f64; 2] {
        if self.matmul_v3.is_some() {
            return [(self.m / START_BLOCK[0]).ceil(), (self.n / START_BLOCK[1]).ceil()];
        }
        let t = &plan.tiles;
        let blocks = |whole: f64, part: f64, tile: u32| {
            let blocks = (whole / part).ceil().max(1.0);
            if tile > 0 { blocks.min(f64::from(tile)) } else { blocks }
        };
        [blocks(self.m, t.m, s.l2.m_block), blocks(self.n, t.n, s.l2.n_block)].map(|blocks| blocks.min(t.active))
    }

    /// Least cycles in which fixpipe reads a row of an L0 tile out of L0C for a plain result. It reads accumulators of
    /// 4 bytes whatever it writes; the written bytes have their own rate.
    fn row_cycles(&self, s: &CubeSchedule, t: &Tiles) -> f64 {
        let columns = f64::from(s.l0.n).min(t.n);
        self.machine.constants.result_cycles * (columns / RESULT_COLUMNS).max(0.5)
    }

    /// What it computes and moves.
    pub(super) fn work(&self) -> Work {
        Work { bytes: self.bytes, cube_operations: self.operations, vector_operations: 0.0 }
    }

    /// What the kernel does with a schedule.
    fn plan(&self, s: &CubeSchedule) -> Plan {
        let mut plan = match (&self.matmul_v3, self.quant) {
            (Some(product), _) => matmul_v3::plan(self, product, s),
            (None, Some(product)) => quant::plan(self, product, s),
            (None, None) => tbe::plan(self, s),
        };
        if self.machine.serves_in_turn {
            let [a, b] = self.readers(s, &plan.tiles);
            plan.a.shared_by(a, &self.machine);
            plan.b.shared_by(b, &self.machine);
        }
        plan
    }

    /// Cores that read one panel of A, and of B, at the same time.
    fn readers(&self, s: &CubeSchedule, t: &Tiles) -> [f64; 2] {
        if self.batch <= 1.0 {
            return matmul_v3::readers(self, s, t);
        }
        let along = [(self.m / t.m).ceil(), (self.n / t.n).ceil()];
        [along[1].min(t.active), if self.b_shared { t.active } else { along[0].min(t.active) }]
    }

    /// Prices one legal schedule. Data of which only the size is known never take longer than were all of it cold.
    pub(super) fn times(&self, s: &CubeSchedule) -> Times {
        let s = &*self.in_fractals(s);
        let by_size = self.times_as_placed(s);
        if self.cold.is_some() || self.missed_share() <= 0.0 {
            return by_size;
        }
        let mut chilled = self.clone();
        chilled.chill(self.operands);
        let cold = chilled.times_as_placed(s);
        if cold.total < by_size.total { cold } else { by_size }
    }

    fn times_as_placed(&self, s: &CubeSchedule) -> Times {
        let plan = self.plan(s);
        let task = Task::new(self, s, &plan);
        let (machine, passes) = (&self.machine, &plan.passes);
        let us = |cycles: f64| cycles / machine.mhz;
        let steady = us(task.steady);
        let start = machine.start_us(task.active) + self.fetch_us;
        let cold = self.cold_us(&plan, s);
        let beside = norm([steady, plan.memory, passes.beside]);
        let busy = Pipes {
            mac: us(task.mac),
            mte1: us(task.mte1),
            mte2: us(task.mte2.max(task.l2)),
            fixpipe: us(task.fixpipe),
            vec: us(task.vec) + passes.vec,
            mte3: us(task.mte3),
        };
        let pipes =
            overlap(beside, cold).max(self.in_turns) + us(task.fill + task.drain) + start + passes.head + passes.tail;
        Times {
            busy,
            shared: plan.memory + cold,
            total: self.whole_us(pipes, &plan.tiles, s, busy.mac),
            lead: us(task.fill) + start + passes.head,
            tail: us(task.drain) + passes.tail,
            fixed: us(machine.constants.gm_latency) + start,
        }
    }
}

/// Rounds up to a multiple of `step`.
fn up(x: f64, step: f64) -> f64 {
    (x / step).ceil() * step
}
