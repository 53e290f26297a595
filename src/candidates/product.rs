//! A program that computes a block of a product at a time: blocks of A and B go through L1, a loop over k adds up in L0C.

use super::configuration::Configuration;
use crate::soc::Soc;
use crate::workload::{
    Buffers, Cores, CubeSchedule, CubeShape, Extents, L0Tile, L1Tile, L2Tiling, LoopOrder, OutputPath, Schedule, SplitK,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Rows and columns of one cube step.
const F: u64 = 16;
/// Bytes of a sum in L0C.
const SUM: u64 = 4;

/// The tiling of a configuration, or the rule that it breaks. That of L1 and its multiples is the simulator's own.
pub(super) fn schedule(shape: &CubeShape, configuration: &Configuration, soc: &Soc) -> Result<Value, String> {
    let (m, n, k) = (configuration.size("m")?, configuration.size("n")?, configuration.size("k")?);
    let buffers = configuration.buffers()?;
    let k0 = shape.k0();
    for (name, size, step) in [("m", m, F), ("n", n, F), ("k", k, k0)] {
        if !size.is_multiple_of(step) {
            let next = size.next_multiple_of(step);
            return Err(format!("a block of {size} along {name} is no multiple of {step}: take {next}"));
        }
    }
    let fits = |name: &str, needed: u64, size: u64, axes: &str| {
        let reason =
            || format!("{name} needs {needed} bytes, {} has {size}: take a smaller block along {axes}", soc.name);
        if needed <= size { Ok(()) } else { Err(reason()) }
    };
    fits("L0C", m.saturating_mul(n).saturating_mul(SUM), soc.l0_c_size, "m or n")?;
    let es = shape.dtype.bytes().max(1);
    // The compiler cuts the depth of a block into pieces of which L0A and L0B hold two each.
    let most = (soc.l0_a_size / 2 / es / m).min(soc.l0_b_size / 2 / es / n) / k0;
    fits("L0A", 2 * m.saturating_mul(k0) * es, soc.l0_a_size, "m")?;
    fits("L0B", 2 * n.saturating_mul(k0) * es, soc.l0_b_size, "n")?;
    let steps = k / k0;
    let base_k = k0 * (1..=steps.min(most)).rev().find(|piece| steps.is_multiple_of(*piece)).unwrap_or(1);
    let narrow = |size: u64| u32::try_from(size).map_err(|_| format!("{size} is too large"));
    let (batch, along_m, along_n) = (narrow(shape.batch)?, narrow(shape.m.div_ceil(m))?, narrow(shape.n.div_ceil(n))?);
    let tasks = u64::from(batch) * u64::from(along_m) * u64::from(along_n);
    let panel = L1Tile::panel(narrow(k.min(shape.k.next_multiple_of(k0)).max(base_k) / base_k * base_k)?, 1);
    let double = buffers.min(8) as u8;
    let l0_c = if 2 * m * n * SUM <= soc.l0_c_size { 2 } else { 1 };
    let schedule = Schedule::Cube(CubeSchedule {
        used_cores: tasks.min(soc.ai_core_cnt.into()) as u32,
        cores: Cores { batch, m: along_m, n: along_n, k: 1 },
        single: Extents { batch: 1, m, n, k: shape.k },
        l0: L0Tile { m: narrow(m)?, n: narrow(n)?, k_a: narrow(base_k)?, k_b: narrow(base_k)? },
        l1_a: panel,
        l1_b: panel,
        buffers: Buffers { l1_a: double, l1_b: double, l0_a: 2, l0_b: 2, l0_c },
        order: LoopOrder::default(),
        l2: L2Tiling::default(),
        split_k: SplitK::default(),
        output: OutputPath::default(),
        unmodelled: BTreeMap::default(),
    });
    Ok(json!(schedule))
}
