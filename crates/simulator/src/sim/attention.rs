//! Attention as one kernel of cube and vector cores: blocks of query rows are dealt to the cores, each goes along its
//! keys; scores pass to the vector cores, whose softmax takes longer than both products, and keys and values come from
//! L2 or, where a cache of them is larger, from device memory.

use super::constants::Constants;
use super::machine::{Machine, norm};
use super::{Cache, Pipes, Places, Times};
use crate::soc::{Arch, Soc};
use crate::workload::{MatMul, Workload};

/// Rows of queries in one block.
const ROWS: f64 = 128.0;
/// Fewest keys for which a block is cut along its keys, so that all cores have work.
const LEAST_KEYS: f64 = 256.0;
/// Bytes of a score, and of what a vector instruction works on.
const SCORE_BYTES: f64 = 4.0;
/// Rows of one cube step, and multiplications in one.
const FRACTAL: f64 = 16.0;
const STEP: f64 = 4096.0;

/// What no kernel of attention beats on any part: its operands in device memory come through its bus.
#[derive(Debug, Clone)]
pub(super) struct Least {
    /// Bytes of query, keys and values.
    operands: [f64; 3],
    /// Those of them that are not in L2.
    missed: f64,
    machine: Machine,
}

impl Least {
    /// That of the attention that these parts of a kernel are; `None` for any other parts.
    pub fn of(parts: &[Workload], soc: &Soc, c: &Constants) -> Option<Least> {
        let scores = scores(parts)?;
        let bytes = |rows: u64| [scores.batch, rows, scores.k, scores.dtype.bytes()].map(|n| n.max(1) as f64);
        let operands = [scores.m, scores.n, scores.n].map(|rows| bytes(rows).iter().product());
        let least = Least { operands, missed: 0.0, machine: Machine::new(soc, c) };
        Some(Least { missed: least.beyond_l2(), ..least })
    }

    fn beyond_l2(&self) -> f64 {
        (self.operands.iter().sum::<f64>() - self.machine.l2_bytes).max(0.0)
    }

    /// Has the inputs lie where they are said to.
    pub fn place(&mut self, places: &Places) {
        let cold = |(input, bytes): (usize, &f64)| if places.of(input) == Cache::Cold { *bytes } else { 0.0 };
        self.missed = self.beyond_l2().max(self.operands.iter().enumerate().map(cold).sum());
    }

    /// Has so many bytes come from device memory.
    pub fn miss(&mut self, bytes: f64) {
        self.missed = bytes.min(self.operands.iter().sum());
    }

    /// These times, or those of the bus where it is slower.
    pub fn bound(&self, times: Times) -> Times {
        let least = self.machine.least_us(self.missed);
        let shared = times.shared.max(least);
        let mte2 = times.busy.mte2.max(least);
        Times { total: times.total.max(least), shared, busy: Pipes { mte2, ..times.busy }, ..times }
    }
}

/// The product of queries and keys in the parts of attention: scores, context and a softmax between them.
fn scores(parts: &[Workload]) -> Option<&MatMul> {
    let products: Vec<&MatMul> = parts.iter().filter_map(product).collect();
    let softmaxes = parts.iter().filter(|p| matches!(p, Workload::Reduce(r) if r.op_type.contains("Softmax")));
    let [scores, context] = products.as_slice() else { return None };
    let fits = (scores.batch, scores.m, scores.n, scores.k) == (context.batch, context.m, context.k, context.n);
    (fits && parts.len() == 3 && softmaxes.count() == 1).then_some(*scores)
}

/// The work of a kernel reduced to numbers.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    /// Heads of keys in all batches, query rows that share one, keys that each row sees, elements of a head.
    heads: f64,
    rows: f64,
    keys: f64,
    depth: f64,
    bytes: f64,
    cores: f64,
    /// Bytes of keys and values that are not in L2.
    missed: f64,
    /// The kernel runs by itself, on operands whose places are known: not one of a stream.
    alone: bool,
    prices: Prices,
    machine: Machine,
}

/// What a block of rows costs on a generation's cores.
#[derive(Debug, Clone, Copy)]
struct Prices {
    softmax: f64,
    row: f64,
    task: f64,
    /// Microseconds before all cores work together: in a stream, and alone.
    start: [f64; 2],
}

impl Prices {
    fn of(soc: &Soc, c: &Constants) -> Prices {
        match soc.arch {
            // Scores go from L0C to UB and on as registers, without a way through L2.
            Arch::C310 => Prices {
                softmax: c.softmax_cycles_c310,
                row: 0.0,
                task: c.attention_task_cycles_c310,
                start: [c.attention_start_us_c310; 2],
            },
            _ => Prices {
                softmax: c.softmax_cycles,
                row: c.attention_row_cycles,
                task: c.attention_task_cycles,
                start: [c.attention_start_us, c.attention_alone_us],
            },
        }
    }
}

impl Problem {
    /// The attention that these parts of a kernel are: scores, context and a softmax between them. `None` for any
    /// other parts, and on parts whose cores are not split.
    pub fn of(parts: &[Workload], soc: &Soc, c: &Constants) -> Option<Problem> {
        let scores = scores(parts).filter(|_| soc.arch.is_split())?;
        let machine = Machine::new(soc, c);
        let [heads, rows, keys, depth] = [scores.batch, scores.m, scores.n, scores.k].map(|n| n.max(1) as f64);
        let bytes = scores.dtype.bytes().max(1) as f64;
        let cores = f64::from(soc.ai_core_cnt.max(1));
        let prices = Prices::of(soc, c);
        let problem = Problem { heads, rows, keys, depth, bytes, cores, missed: 0.0, alone: false, prices, machine };
        Some(Problem { missed: problem.missed_by_size(), ..problem })
    }

    /// Bytes of keys and values.
    fn cache(&self) -> f64 {
        2.0 * self.heads * self.keys * self.depth * self.bytes
    }

    /// What of a cache L2 does not hold when only its size tells: it is gone through from one end to the other, so one
    /// that is a quarter larger than L2 has left it when it comes up again.
    fn missed_by_size(&self) -> f64 {
        let beyond = (self.cache() - self.machine.l2_bytes).max(0.0) / self.machine.l2_bytes.max(1.0);
        self.cache() * (BEYOND * beyond).min(1.0)
    }

    /// Has the keys and values lie where they are said to: the second and third input.
    pub fn place(&mut self, places: &Places) {
        let half = 0.5 * self.cache();
        let cold = |input| if places.of(input) == Cache::Cold { half } else { 0.0 };
        self.missed = self.missed_by_size().max(cold(1) + cold(2));
    }

    /// Has the kernel run by itself, on keys and values that lie together.
    pub fn run_alone(&mut self) {
        self.alone = true;
    }

    /// Has so many bytes come from device memory.
    pub fn miss(&mut self, bytes: f64) {
        self.missed = bytes.min(self.cache());
    }

    /// Prices the kernel.
    pub fn times(&self) -> Times {
        let (machine, prices) = (&self.machine, self.prices);
        let us = |cycles: f64| cycles / machine.mhz;
        let blocks = (self.rows / ROWS).ceil();
        let tasks = self.heads * blocks;
        // Blocks of the busiest core; fewer blocks than cores are cut along their keys.
        let busiest = if tasks >= self.cores {
            (tasks / self.cores).ceil()
        } else {
            (tasks / self.cores).max(1.0 / (self.keys / LEAST_KEYS).ceil())
        };
        let uneven = (busiest * self.cores / tasks).max(1.0);
        let rows = self.rows / blocks;
        let scores = rows * self.keys;
        let vectors = machine.vectors_per_cube;
        let vec = busiest * (scores * SCORE_BYTES / machine.vector_bytes * prices.softmax / vectors);
        let mac = busiest * 2.0 * (rows / FRACTAL).ceil() * FRACTAL * self.keys * self.depth / STEP;
        let fixed = busiest.max(1.0) * (prices.task + rows * prices.row);
        let mte2 = busiest * 2.0 * self.keys * self.depth * self.bytes / machine.l2_rate;
        // What lies together and is read for the first time comes faster than the pages of a served cache.
        let delivered = if self.alone { machine.cold_us(self.missed) } else { machine.missed_us(self.missed) };
        let memory = delivered * uneven;
        let start = prices.start[usize::from(self.alone)];
        let steady = norm([us(fixed + vec.max(mac)), us(mte2), memory]);
        let store = us(busiest * scores * SCORE_BYTES / machine.l2_rate);
        Times {
            busy: Pipes { mac: us(mac), vec: us(vec), mte2: us(mte2).max(memory), fixpipe: store, ..Pipes::default() },
            shared: memory,
            total: start + steady,
            lead: start,
            tail: 0.0,
            fixed: start,
        }
    }
}

/// How fast a cache larger than L2 leaves it.
const BEYOND: f64 = 4.0;

fn product(part: &Workload) -> Option<&MatMul> {
    match part {
        Workload::MatMul(w) => Some(w),
        _ => None,
    }
}
