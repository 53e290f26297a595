//! What is known of the gradients of a training step, however it was found out.

use super::split::Step;
use crate::bank::gradient::{Gradients, PLACEHOLDER};
use crate::graph::DataType;
use rustc_hash::FxHashMap;

/// Bytes of all gradients of a network at most, 1 PiB: no device holds so much, and every sum is exact.
pub const MOST_BYTES: u64 = 1 << 50;

/// One gradient.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradient {
    /// The node that computes it.
    pub node: String,
    /// The `HcomAllReduce` that exchanges it.
    pub all_reduce: String,
    /// Its element type.
    pub dtype: DataType,
    /// Its bytes.
    pub bytes: u64,
    /// The devices that exchange it.
    pub group: String,
}

/// A training step: its gradients in the order in which they are ready, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Training {
    /// The gradients.
    pub gradients: Vec<Gradient>,
    /// Nanoseconds when the first is ready, and from each one to the next: as the bank has them.
    pub times_ns: Vec<u64>,
    /// Microseconds from the last gradient to the end of the backward pass.
    pub rest_us: f64,
    /// Whether the first time counts from the begin of the step; else from whenever, and the step begins with it.
    pub from_begin: bool,
    /// The network's name in the gradient bank.
    pub hash: u64,
}

impl Training {
    /// The step as splits see it.
    pub fn step(&self) -> Step {
        let mut now = 0u64;
        let first = if self.from_begin { self.times_ns.first().copied().unwrap_or(0) } else { 0 };
        let pauses = std::iter::once(first).chain(self.times_ns.iter().skip(1).copied());
        let ready = pauses.take(self.times_ns.len()).map(|ns| {
            now = now.saturating_add(ns);
            now as f64 / 1e3
        });
        let ready_us: Vec<f64> = ready.collect();
        let backward_us = ready_us.last().copied().unwrap_or(0.0) + self.rest_us;
        let bytes = self.gradients.iter().map(|gradient| gradient.bytes).collect();
        let sets = self.sets().into_iter().map(|set| set.members).collect();
        Step { ready_us, bytes, backward_us, sets }
    }

    /// The sets of gradients that may be exchanged together, in the order of their first ones. CANN fuses exchanges of
    /// one group and one type.
    pub fn sets(&self) -> Vec<Set> {
        let mut sets: Vec<Set> = Vec::new();
        let mut known: FxHashMap<(&str, DataType), usize> = FxHashMap::default();
        for (at, Gradient { group, dtype, .. }) in self.gradients.iter().enumerate() {
            let place = *known.entry((group, *dtype)).or_insert_with(|| {
                sets.push(Set { group: group.clone(), dtype: *dtype, members: Vec::new() });
                sets.len() - 1
            });
            sets[place].members.push(at);
        }
        sets
    }

    /// What the bank is to hold. Times that look like a placeholder are told apart from one by a nanosecond at the
    /// first, which CANN does not use.
    pub fn entry(&self) -> Gradients {
        let mut time = self.times_ns.clone();
        if time == PLACEHOLDER {
            time[0] = 1;
        }
        Gradients { time, size: self.gradients.iter().map(|gradient| gradient.bytes).collect() }
    }

    /// What is wrong with the gradients, if they cannot be split.
    pub fn check(&self) -> Result<(), String> {
        if self.gradients.is_empty() {
            return Err("there is no gradient".into());
        }
        let all = self.gradients.iter().try_fold(0u64, |sum, gradient| sum.checked_add(gradient.bytes));
        if all.is_none_or(|all| all > MOST_BYTES) {
            return Err(format!("all gradients have more than {MOST_BYTES} bytes, which no device holds"));
        }
        match self.gradients.iter().find(|gradient| gradient.bytes == 0) {
            Some(empty) => Err(format!("gradient `{}` has no bytes", empty.node)),
            None => Ok(()),
        }
    }
}

/// Gradients that may be exchanged together: of one group and one type.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// The devices that exchange them.
    pub group: String,
    /// Their element type.
    pub dtype: DataType,
    /// Their places among all gradients, ascending.
    pub members: Vec<usize>,
}

/// The group of an exchange that names none.
pub const WORLD: &str = "hccl_world_group";

/// The types that CANN's tool knows in gradients.
pub const DTYPES: [DataType; 6] =
    [DataType::Float, DataType::Float16, DataType::Int8, DataType::Int16, DataType::Int32, DataType::Bfloat16];
