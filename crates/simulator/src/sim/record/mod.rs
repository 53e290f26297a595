//! Convolutions of TBE with a tiling from a repository: what the kernel does with the record, and how long that takes.
//!
//! Its pipes are those of every cube kernel of a part without fixpipe: images come to L1, im2col or plain loads bring
//! fractals to L0, the vector unit drains L0C. im2col takes the pixels of a fractal together where their distance is
//! 1, 2, 4 or 8, in so many steps, and one by one at any other.

mod fitted;
mod rates;
#[cfg(test)]
mod tests;
mod work;

use super::machine::norm_of;
use super::{Pipes, Prediction, Times};
use crate::soc::{Arch, Soc};
use crate::workload::ConvRecord;
use aoe_base::status::{Error, Result};
pub use rates::{KERNELS, PARTS, Rates, Shared, Table, place};
use work::Counts;

/// Prices a convolution with its record.
///
/// Fails with [`Error::Workload`] on parts that take no such record.
pub fn price(r: &ConvRecord, soc: &Soc) -> Result<Prediction> {
    price_with(r, soc, &Table::FITTED)
}

/// The same by other rates, for the fitting program.
///
/// Fails as [`price`] does.
pub fn price_with(r: &ConvRecord, soc: &Soc, table: &Table) -> Result<Prediction> {
    let fail = |reason: &str| Error::Workload { workload: r.conv.to_string(), reason: reason.to_owned() };
    let ([part, kernel], unit) =
        place(r, soc).ok_or_else(|| fail("tilings of this form are for parts without fixpipe: 910, 310, 310P, 610"))?;
    let counts = Counts::of(r, f64::from(soc.ai_core_cnt));
    let times = times(&counts, (&table.shared, &table.parts[part][kernel]), r, soc).in_unit(unit);
    let prediction = times.prediction(true);
    if prediction.time_us.is_finite() { Ok(prediction) } else { Err(fail("it has no finite time")) }
}

/// Units in which a part's tiling repository counts, in a microsecond.
pub fn unit(soc: &Soc) -> f64 {
    if soc.arch == Arch::M200 { rates::UNIT_M200 } else { 1.0 }
}

fn times(c: &Counts, (shared, rates): (&Shared, &Rates), r: &ConvRecord, soc: &Soc) -> Times {
    let us = |cycles: f64| cycles / soc.cube_freq_mhz;
    let [mut l0_a, mut l0_b] = c.l0;
    (l0_a, l0_b) = (l0_a * rates.plain, l0_b * rates.plain);
    let [even, odd] = c.im2col;
    let mac = us(c.mac);
    let mte1 = us(even * rates.even + odd * rates.odd + l0_a + l0_b + c.steps * shared.load_cycles);
    let mte2 = us(c.loaded / rates.gm + c.loads * shared.transfer_cycles);
    let bias = if r.conv.bias { c.sums / shared.bias_rate } else { 0.0 };
    let drain = us(c.sums / shared.sum_rate + bias + c.tiles * shared.tile_cycles);
    let spread = if c.spread > 0.0 { us(c.spread / rates.spread + c.loads * shared.spread_cycles) } else { 0.0 };
    let out = us(c.results / rates.out);
    let hbm = soc.hbm_gb_s * 1e3;
    let bytes = c.operands + c.fused * shared.fused_share + c.added * shared.added_share;
    let memory = (bytes / (hbm * rates.memory)).max((c.operands - soc.l2_size as f64) / hbm);
    let steady = norm_of(shared.overlap, [mac, mte1, mte2, drain + spread, out, memory]);
    let single = |buffers: [u8; 2], time: f64| if buffers.contains(&1) { time } else { 0.0 };
    let [l1_a, l1_b, l0_a, l0_b, l0_c, _] = r.tiling.buffers();
    let waits = single([l1_a, l1_b], mte2) + single([l0_a, l0_b], mte1) + single([l0_c, l0_c], drain);
    let start = rates.start + rates.core * c.cores;
    Times {
        busy: Pipes { mac, mte1, mte2, fixpipe: 0.0, vec: drain + spread, mte3: out },
        shared: memory,
        total: start + steady + shared.single_buffer * waits,
        lead: start,
        tail: 0.0,
        fixed: start,
    }
}

impl Times {
    fn in_unit(self, unit: f64) -> Times {
        let Times { busy, shared, total, lead, tail, fixed } = self;
        let Pipes { mac, mte1, mte2, fixpipe, vec, mte3 } = busy;
        let [mac, mte1, mte2, fixpipe, vec, mte3] = [mac, mte1, mte2, fixpipe, vec, mte3].map(|us| us * unit);
        let [shared, total, lead, tail, fixed] = [shared, total, lead, tail, fixed].map(|us| us * unit);
        Times { busy: Pipes { mac, mte1, mte2, fixpipe, vec, mte3 }, shared, total, lead, tail, fixed }
    }
}
