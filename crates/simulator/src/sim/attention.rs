//! Attention as one kernel of cube and vector cores: blocks of query rows are dealt to the cores, each goes along its
//! keys; scores pass to the vector cores, whose softmax takes longer than both products, and keys and values come from
//! L2 or, where a cache of them is larger, from device memory.

use super::constants::Constants;
use super::machine::{Machine, norm};
use super::{Cache, Pipes, Places, Times};
use crate::soc::Soc;
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
    machine: Machine,
}

impl Problem {
    /// The attention that these parts of a kernel are: scores, context and a softmax between them. `None` for any
    /// other parts, and on parts whose cores are not split.
    pub fn of(parts: &[Workload], soc: &Soc, c: &Constants) -> Option<Problem> {
        let products: Vec<&MatMul> = parts.iter().filter_map(product).collect();
        let softmaxes = parts.iter().filter(|p| matches!(p, Workload::Reduce(r) if r.op_type.contains("Softmax")));
        let [scores, context] = products.as_slice() else { return None };
        let fits = (scores.batch, scores.m, scores.n, scores.k) == (context.batch, context.m, context.k, context.n);
        if !fits || parts.len() != 3 || softmaxes.count() != 1 || !soc.arch.is_split() {
            return None;
        }
        let machine = Machine::new(soc, c);
        let [heads, rows, keys, depth] = [scores.batch, scores.m, scores.n, scores.k].map(|n| n.max(1) as f64);
        let bytes = scores.dtype.bytes().max(1) as f64;
        let cores = f64::from(soc.ai_core_cnt.max(1));
        let problem = Problem { heads, rows, keys, depth, bytes, cores, missed: 0.0, machine };
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

    /// Has so many bytes come from device memory.
    pub fn miss(&mut self, bytes: f64) {
        self.missed = bytes.min(self.cache());
    }

    /// Prices the kernel.
    pub fn times(&self) -> Times {
        let (machine, c) = (&self.machine, &self.machine.constants);
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
        let vec = busiest * (scores * SCORE_BYTES / machine.vector_bytes * c.softmax_cycles / vectors);
        let mac = busiest * 2.0 * (rows / FRACTAL).ceil() * FRACTAL * self.keys * self.depth / STEP;
        let fixed = busiest.max(1.0) * (c.attention_task_cycles + rows * c.attention_row_cycles);
        let mte2 = busiest * 2.0 * self.keys * self.depth * self.bytes / machine.l2_rate;
        let memory = machine.missed_us(self.missed) * uneven;
        let start = c.attention_start_us;
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
