//! The counters of the cores (`aic_metrics`): values as the performance model counts them. What it does not count is
//! `N/A`, and so is everything where a device measured the time.

use super::metrics::Metrics;
use super::run::{Engine, Kernel};
use super::table::{known, us};
use crate::graph::DataType;
use crate::sim::{Counts, Pipes, Prediction};
use crate::soc::Soc;

impl Metrics {
    /// The values of these columns for a kernel.
    pub fn values(self, kernel: &Kernel, soc: &Soc) -> Vec<String> {
        let measured = Measured::of(kernel, soc);
        let value = |side: Side, counter: &str| known(measured.as_ref().and_then(|it| it.value(side, counter)));
        let frame = |side: Side, counters: &[String]| -> Vec<String> {
            let counters = counters.iter().map(String::as_str);
            ["time", "cycles"].into_iter().chain(counters).map(|counter| value(side, counter)).collect()
        };
        let mut values = if soc.arch.is_split() {
            let [cubes, vectors] = self.split();
            [frame(Side::Cubes, &cubes), frame(Side::Vectors, &vectors)].concat()
        } else {
            frame(Side::Both, &self.joined())
        };
        if self == Metrics::PipeUtilization {
            values.push(known(measured.map(|measured| measured.cube_utilization())));
        }
        values
    }
}

/// Busy shares of a kernel's pipes, as far as they are known.
#[derive(Debug, Clone, Copy)]
pub struct Shares {
    pub mac: f64,
    pub mte1: f64,
    /// `None` for a kernel on both kinds of cores: the performance model has the sum of both.
    pub mte2: Option<f64>,
    pub fixpipe: f64,
    pub vec: f64,
    /// `None` for a kernel on both kinds of cores: the performance model has its results leave through fixpipe.
    pub mte3: Option<f64>,
}

impl Shares {
    /// What is known of the pipes of a kernel that runs on this.
    pub fn of(engine: Engine, pipes: &Pipes) -> Shares {
        let Pipes { mac, mte1, mte2, fixpipe, vec, mte3 } = *pipes;
        let alone = |share: f64| (engine != Engine::MixAic).then_some(share);
        Shares { mac, mte1, mte2: alone(mte2), fixpipe, vec, mte3: alone(mte3) }
    }
}

/// Which cores a column is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Cubes,
    Vectors,
    Both,
}

/// A kernel as the performance model sees it.
struct Measured<'a> {
    kernel: &'a Kernel,
    soc: &'a Soc,
    us: f64,
    prediction: Prediction,
    counts: Counts,
}

impl<'a> Measured<'a> {
    /// `None` where the model did not time the kernel, or knows of no pipes that it uses.
    fn of(kernel: &'a Kernel, soc: &'a Soc) -> Option<Measured<'a>> {
        let us = kernel.duration_us.filter(|_| kernel.is_simulated && kernel.engine.computes())?;
        Some(Measured { kernel, soc, us, prediction: kernel.prediction?, counts: kernel.counts? })
    }

    /// Whether cores of this kind work on the kernel.
    fn works(&self, side: Side) -> bool {
        match side {
            Side::Both => true,
            Side::Cubes => self.kernel.engine != Engine::AiVectorCore,
            Side::Vectors => self.kernel.engine != Engine::AiCore,
        }
    }

    /// The value of a counter; `None` where the model does not count it.
    fn value(&self, side: Side, counter: &str) -> Option<String> {
        if !self.works(side) {
            return Some("0".to_owned());
        }
        let name = counter.split('(').next().unwrap_or(counter);
        if let Some(pipe) = name.strip_suffix("_ratio").or_else(|| name.strip_suffix("_time")) {
            let share = self.share(pipe)?;
            return Some(if name.ends_with("_time") { us(share * self.us) } else { us(share) });
        }
        let bytes = |bytes: f64| if counter.ends_with("(KB)") { bytes / 1024.0 } else { self.per_second(bytes) };
        Some(match name {
            "time" => us(self.us),
            "cycles" => format!("{:.0}", self.us * self.mhz(side) * f64::from(self.blocks(side))),
            "memory_bound" => {
                let busiest = self.prediction.pipes.mac.max(self.prediction.pipes.vec);
                us(if busiest > 0.0 { self.prediction.pipes.mte2 / busiest } else { return None })
            }
            // Multiply-add steps of 16 x 16 x 16 halves, or twice as deep for bytes; no other type is counted.
            "cube_fops" => match self.cube_type()? {
                DataType::Int8 => format!("{:.0}", self.counts.mac_cycles * 16384.0),
                _ => format!("{:.0}", self.counts.mac_cycles * 8192.0),
            },
            name => us(bytes(self.bytes(name, side)?)),
        })
    }

    /// Share of the time that a pipe works.
    fn share(&self, pipe: &str) -> Option<f64> {
        let pipes = Shares::of(self.kernel.engine, &self.prediction.pipes);
        Some(match pipe {
            "mac" => pipes.mac,
            "mte1" => pipes.mte1,
            "mte2" => pipes.mte2?,
            "fixpipe" => pipes.fixpipe,
            "vec" => pipes.vec,
            "mte3" => pipes.mte3?,
            "mac_fp16" | "mac_int8" if self.kernel.workload.cube().is_none() => 0.0,
            "mac_fp16" if self.cube_type()? == DataType::Float16 => pipes.mac,
            "mac_int8" if self.cube_type()? == DataType::Int8 => pipes.mac,
            "mac_fp16" | "mac_int8" => 0.0,
            _ => return None,
        })
    }

    /// The type that the cube multiplies, when it is one that has a counter.
    fn cube_type(&self) -> Option<DataType> {
        self.kernel.workload.cube().map(|cube| cube.dtype).filter(|t| matches!(t, DataType::Float16 | DataType::Int8))
    }

    /// Bytes on a path.
    fn bytes(&self, path: &str, side: Side) -> Option<f64> {
        let c = &self.counts;
        let (read, written) = match side {
            Side::Cubes => (c.gm_to_l1, c.l0_c_to_gm),
            Side::Vectors => (c.gm_to_ub, c.ub_to_gm),
            Side::Both => (c.read(), c.written()),
        };
        // What the vector cores beside leading cube cores fetch and bring out is told as a part of the whole only.
        if side == Side::Vectors && self.kernel.engine == Engine::MixAic {
            return None;
        }
        Some(match path {
            "l1_write_bw" | "GM_to_L1_datas" => c.gm_to_l1,
            "l1_read_bw" => c.l1_to_l0_a + c.l1_to_l0_b,
            "l0a_write_bw" => c.l1_to_l0_a,
            "l0b_write_bw" => c.l1_to_l0_b,
            "l2_read_bw" => read,
            "l2_write_bw" => written,
            "L0C_to_GM_datas" => c.l0_c_to_gm,
            // Cube cores by themselves have no UB.
            "GM_to_UB_datas" | "UB_to_GM_datas" if side == Side::Cubes => 0.0,
            "GM_to_UB_datas" => c.gm_to_ub,
            "UB_to_GM_datas" => c.ub_to_gm,
            _ => return None,
        })
    }

    /// GB (2^30 bytes) per second over the kernel's time.
    fn per_second(&self, bytes: f64) -> f64 {
        if self.us > 0.0 { bytes / self.us * 1e6 / f64::from(1 << 30) } else { 0.0 }
    }

    fn blocks(&self, side: Side) -> u32 {
        match (side, self.kernel.engine) {
            (Side::Vectors, Engine::MixAic) => self.kernel.mix_blocks(self.soc),
            _ => self.kernel.blocks(),
        }
    }

    fn mhz(&self, side: Side) -> f64 {
        let of_vectors = side == Side::Vectors || self.kernel.engine == Engine::AiVectorCore;
        if of_vectors { self.soc.vec_freq_mhz } else { self.soc.cube_freq_mhz }
    }

    /// Share of the part's cube cores that work while the kernel runs, in percent.
    fn cube_utilization(&self) -> String {
        if !self.works(Side::Cubes) || self.soc.ai_core_cnt == 0 {
            return "0".to_owned();
        }
        us(f64::from(self.blocks(Side::Cubes)) / f64::from(self.soc.ai_core_cnt) * 100.0)
    }
}
