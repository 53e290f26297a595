//! Matrix products and convolutions: the cube core's pipes over L1, L0 and the result.

#![expect(clippy::many_single_char_names, reason = "m, n, k, a and b are the names of matrix arithmetic")]

use super::constants::{BURST_CYCLES, GM_LATENCY_CYCLES, L0_LOAD_CYCLES, MMAD_CYCLES, OUTPUT_CYCLES};
use super::memory::Shared;
use super::{Pipes, Times};
use crate::graph::{DataType, Format};
use crate::soc::Soc;
use crate::workload::{Conv, ConvKind, CubeSchedule, CubeShape, L1Tile, LoopOrder, MatMul, SplitK};

/// Most elements of one operand: beyond it sizes are taken for nonsense.
const MAX_ELEMENTS: f64 = 1e15;

/// Cube work reduced to numbers.
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
    shared: Shared,
    mhz: f64,
    rates: Rates,
}

/// How one operand lies in memory.
#[derive(Debug, Clone, Copy)]
struct Side {
    /// Bytes in GM per element of the matrix; below the element size where im2col repeats pixels.
    bytes_per_element: f64,
    /// Contiguous bytes per element of the tile's extent along m (or n), 0 where runs lie along k.
    run_per_extent: f64,
    /// Contiguous bytes per element of the tile's extent along k.
    run_per_k: f64,
}

#[derive(Debug, Clone, Copy)]
struct Rates {
    gm: f64,
    l0_a: f64,
    l0_b: f64,
    out: f64,
}

impl Problem {
    pub(super) fn matmul(w: &MatMul, soc: &Soc) -> Result<Problem, String> {
        let shape = w.cube();
        let es = shape.dtype.bytes() as f64;
        let side = |format: Format, along_k: bool| match format {
            Format::FractalNz => Side { bytes_per_element: es, run_per_extent: 32.0, run_per_k: 0.0 },
            _ if along_k => Side { bytes_per_element: es, run_per_extent: 0.0, run_per_k: es },
            _ => Side { bytes_per_element: es, run_per_extent: es, run_per_k: 0.0 },
        };
        Problem::new(&shape, side(w.a_format, !w.trans_a), side(w.b_format, w.trans_b), soc)
    }

    pub(super) fn conv(w: &Conv, soc: &Soc) -> Result<Problem, String> {
        let sizes = [w.batch, w.cin, w.hi, w.wi, w.cout, w.ho, w.wo, w.kh, w.kw, w.groups, w.stride[0], w.stride[1]];
        if sizes.contains(&0) {
            return Err("a size is zero".into());
        }
        let shape = w.cube();
        let es = shape.dtype.bytes() as f64;
        let plain = Side { bytes_per_element: es, run_per_extent: 32.0, run_per_k: 0.0 };
        // im2col happens between L1 and L0: a pixel comes from GM once, not once per kernel position.
        let taps = (w.kh * w.kw) as f64 / (w.stride[0] * w.stride[1]) as f64;
        let window = Side { bytes_per_element: es / taps.max(1.0), ..plain };
        match w.kind {
            ConvKind::Forward | ConvKind::BackpropInput => Problem::new(&shape, window, plain, soc),
            ConvKind::BackpropFilter => Problem::new(&shape, plain, window, soc),
        }
    }

    fn new(shape: &CubeShape, a: Side, b: Side, soc: &Soc) -> Result<Problem, String> {
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
        let step_cycles = match shape.dtype {
            DataType::Float if shape.hf32 => 1.0,
            DataType::Float => 2.0,
            _ => 1.0,
        };
        Ok(Problem {
            batch,
            m,
            n,
            k,
            k0: shape.k0() as f64,
            in_bytes: shape.dtype.bytes() as f64,
            out_bytes: shape.out_dtype.bytes() as f64,
            step_cycles,
            a,
            b,
            shared: Shared::new(soc),
            mhz: soc.cube_freq_mhz,
            rates: Rates {
                gm: soc.gm_to_l1_rate,
                l0_a: soc.l1_to_l0_a_rate,
                l0_b: soc.l1_to_l0_b_rate,
                out: soc.l0_c_out_rate,
            },
        })
    }

    /// Prices one legal schedule.
    pub(super) fn times(&self, s: &CubeSchedule) -> Times {
        let used = f64::from(s.used_cores);
        let (sb, sm) = ((s.single.batch as f64).min(self.batch), (s.single.m as f64).min(self.m));
        let (sn, sk) = ((s.single.n as f64).min(self.n), (s.single.k as f64).min(self.k));
        let tasks = (self.batch / sb).ceil() * (self.m / sm).ceil() * (self.n / sn).ceil() * (self.k / sk).ceil();
        let rounds = (tasks / used).ceil();
        let active = tasks.min(used);
        let task = Task::new(self, s, sm, sn, sk);
        let repeat = rounds * sb;
        let cycles = |c: f64| c * repeat / self.mhz;
        let busy = Pipes {
            mac: cycles(task.mac),
            mte1: cycles(task.mte1),
            mte2: cycles(task.mte2),
            fixpipe: cycles(task.output),
            ..Pipes::default()
        };
        let output = self.batch * self.m * self.n * self.out_bytes * if s.split_k == SplitK::None { 1.0 } else { 2.0 };
        let distinct =
            self.batch * (self.m * self.a.bytes_per_element + self.n * self.b.bytes_per_element) * self.k + output;
        let shared = self.shared.us(task.gm_bytes * repeat * active + output, distinct, active);
        let total = (cycles(task.steady)).max(shared) + (task.fill + task.drain) / self.mhz;
        Times { busy, shared, total }
    }
}

/// Cycles of one product of one core task.
struct Task {
    mac: f64,
    mte1: f64,
    mte2: f64,
    output: f64,
    /// Cycles when all pipes run.
    steady: f64,
    /// Cycles before the first MMAD.
    fill: f64,
    /// Cycles after the last.
    drain: f64,
    gm_bytes: f64,
}

impl Task {
    fn new(p: &Problem, s: &CubeSchedule, m: f64, n: f64, k: f64) -> Task {
        let up = |x: f64, step: f64| (x / step).ceil() * step;
        let (l0_m, l0_n) = (f64::from(s.l0.m), f64::from(s.l0.n));
        let k_pad = up(k, p.k0);
        let (m_tiles, n_tiles) = ((m / l0_m).ceil(), (n / l0_n).ceil());
        let tiles = m_tiles * n_tiles;
        let (m_pad, n_pad) = (up(m, 16.0), up(n, 16.0));
        let k_loops = (k_pad / f64::from(s.l0.k_a)).ceil();
        let mac = m_pad / 16.0 * n_pad / 16.0 * (k_pad / p.k0) * p.step_cycles + tiles * k_loops * MMAD_CYCLES;

        let b_stays_in_l0 = f64::from(s.l0.k_b) >= k_pad && n_tiles * n * k_pad * p.in_bytes <= 65536.0;
        let a_l0 = m_pad * k_pad * p.in_bytes * n_tiles / p.rates.l0_a;
        let b_l0 = n_pad * k_pad * p.in_bytes * if b_stays_in_l0 { 1.0 } else { m_tiles } / p.rates.l0_b;
        let mte1 = a_l0 + b_l0 + tiles * k_loops * L0_LOAD_CYCLES;

        let a = panel(s.l1_a, k_pad, m_tiles);
        let b = panel(s.l1_b, k_pad, n_tiles);
        let a_stays = a.whole_k && (a.groups <= 1.0 || s.order == LoopOrder::NFirst);
        let b_stays = b.whole_k && (b.groups <= 1.0 || s.order == LoopOrder::MFirst);
        let a_loads = if a_stays { 1.0 } else { b.groups };
        let b_loads = if b_stays { 1.0 } else { a.groups };
        let load = |side: Side, extent: f64, tile: f64, panel: &Panels, loads: f64| {
            let bytes = extent * k * side.bytes_per_element * loads;
            let run = if side.run_per_k > 0.0 { side.run_per_k * panel.k } else { side.run_per_extent * tile };
            let transfers = loads * panel.groups * panel.k_loads;
            (bytes, bytes / p.rates.gm + bytes / run.max(32.0) * BURST_CYCLES + transfers * GM_LATENCY_CYCLES)
        };
        let (a_bytes, a_cycles) = load(p.a, m, (m / a.groups).min(m), &a, a_loads);
        let (b_bytes, b_cycles) = load(p.b, n, (n / b.groups).min(n), &b, b_loads);
        let mte2 = a_cycles + b_cycles;
        let output = m * n * p.out_bytes / p.rates.out + tiles * OUTPUT_CYCLES;

        // A pipe without a second buffer cannot run ahead of the one that it feeds.
        let alone = |single: bool, cycles: f64| if single { cycles } else { 0.0 };
        let compute = mac.max(mte1) + alone(s.buffers.l0_a == 1 && s.buffers.l0_b == 1, mac.min(mte1));
        let with_load = compute.max(mte2)
            + alone(s.buffers.l1_a == 1 && !a.once, a_cycles.min(compute))
            + alone(s.buffers.l1_b == 1 && !b.once, b_cycles.min(compute));
        let steady = with_load.max(output) + alone(s.buffers.l0_c == 1, output.min(compute));
        let first =
            (a_cycles / (a_loads * a.groups * a.k_loads) + b_cycles / (b_loads * b.groups * b.k_loads)).min(mte2);
        Task { mac, mte1, mte2, output, steady, fill: first, drain: output / tiles, gm_bytes: a_bytes + b_bytes }
    }
}

/// An operand's way into L1.
struct Panels {
    k: f64,
    /// Loads along k for one group.
    k_loads: f64,
    /// Groups of L0 tiles along m or n.
    groups: f64,
    whole_k: bool,
    /// Loaded once and for all.
    once: bool,
}

fn panel(tile: L1Tile, k: f64, tiles: f64) -> Panels {
    match tile {
        L1Tile::Full(_) => Panels { k, k_loads: 1.0, groups: 1.0, whole_k: true, once: true },
        L1Tile::Panel(p) => {
            let held = f64::from(p.k).min(k);
            let groups = (tiles / f64::from(p.tiles)).ceil();
            Panels { k: held, k_loads: (k / held).ceil(), groups, whole_k: held >= k, once: held >= k && groups <= 1.0 }
        }
    }
}
