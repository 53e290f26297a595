//! Convolutions of TBE with a tiling from a repository: what the kernel does with the record, and how long that takes.
//!
//! Its pipes are those of every cube kernel of a part without fixpipe: images come to L1, im2col or plain loads bring
//! fractals to L0, the vector unit drains L0C. im2col takes the pixels of a fractal together where their distance is
//! 1, 2, 4 or 8, in so many steps, and one by one at any other.

mod rates;
#[cfg(test)]
mod tests;
mod work;

use super::machine::norm_of;
use super::{Pipes, Prediction, Times};
use crate::soc::{Arch, Soc};
use crate::workload::ConvRecord;
use aoe_base::status::{Error, Result};
use rates::Rates;
use work::Counts;

/// Prices a convolution with its record.
///
/// Fails with [`Error::Workload`] on parts that take no such record.
pub fn price(r: &ConvRecord, soc: &Soc) -> Result<Prediction> {
    let fail = |reason: &str| Error::Workload { workload: r.conv.to_string(), reason: reason.to_owned() };
    let rates = Rates::of(r, soc)
        .ok_or_else(|| fail("tilings of this form are for parts without fixpipe: 910, 310, 310P, 610"))?;
    let counts = Counts::of(r, f64::from(soc.ai_core_cnt));
    let times = times(&counts, &rates, r, soc);
    // What a repository has of a kernel that takes longer is when its measurement was broken off.
    let prediction = Times { total: times.total.min(rates::BROKEN_OFF_US), ..times }.prediction(true);
    if prediction.time_us.is_finite() { Ok(prediction) } else { Err(fail("it has no finite time")) }
}

/// Microseconds of the unit in which a part's tiling repository counts.
pub fn unit(soc: &Soc) -> f64 {
    if soc.arch == Arch::M200 { rates::UNIT_M200 } else { 1.0 }
}

fn times(c: &Counts, rates: &Rates, r: &ConvRecord, soc: &Soc) -> Times {
    let us = |cycles: f64| cycles / soc.cube_freq_mhz;
    let [mut l0_a, mut l0_b] = c.l0;
    (l0_a, l0_b) = (l0_a * rates.plain, l0_b * rates.plain);
    let [even, odd] = c.im2col;
    let mac = us(c.mac);
    let mte1 = us(even * rates.even + odd * rates.odd + l0_a + l0_b + c.steps * rates::LOAD_CYCLES);
    let mte2 = us(c.loaded / rates.gm + c.loads * rates::TRANSFER_CYCLES);
    let bias = if r.conv.bias { c.sums / rates::BIAS_RATE } else { 0.0 };
    let drain = us(c.sums / rates::SUM_RATE + bias + c.tiles * rates::TILE_CYCLES);
    let spread = if c.spread > 0.0 { us(c.spread / rates.spread + c.loads * rates::SPREAD_CYCLES) } else { 0.0 };
    let out = us(c.results / rates.out);
    let hbm = soc.hbm_gb_s * 1e3;
    let shared = c.operands + c.fused * rates::FUSED_SHARE + c.added * rates::ADDED_SHARE;
    let memory = (shared / (hbm * rates.memory)).max((c.operands - soc.l2_size as f64) / hbm);
    let steady = norm_of(rates::OVERLAP, [mac, mte1, mte2, drain + spread, out, memory]);
    let single = |buffers: [u8; 2], time: f64| if buffers.contains(&1) { time } else { 0.0 };
    let [l1_a, l1_b, l0_a, l0_b, l0_c, _] = r.tiling.buffers();
    let waits = single([l1_a, l1_b], mte2) + single([l0_a, l0_b], mte1) + single([l0_c, l0_c], drain);
    let start = rates.start + rates.core * c.cores;
    let unit = rates.unit * rates::CENTRE;
    Times {
        busy: Pipes { mac, mte1, mte2, fixpipe: 0.0, vec: drain + spread, mte3: out }.scaled(unit),
        shared: memory * unit,
        total: unit * (start + steady + rates::SINGLE_BUFFER * waits),
        lead: unit * start,
        tail: 0.0,
        fixed: unit * start,
    }
}

impl Pipes {
    fn scaled(self, unit: f64) -> Pipes {
        let Pipes { mac, mte1, mte2, fixpipe, vec, mte3 } = self;
        Pipes {
            mac: mac * unit,
            mte1: mte1 * unit,
            mte2: mte2 * unit,
            fixpipe: fixpipe * unit,
            vec: vec * unit,
            mte3: mte3 * unit,
        }
    }
}
