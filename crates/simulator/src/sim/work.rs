//! What a kernel computes and moves whatever its tiling, and the rates that a part sets to both: the two sides of a
//! roofline.

use super::Piece;
use crate::soc::Soc;
use crate::workload::k0;
use aoe_graph::DataType;
use serde::{Deserialize, Serialize};

/// What a kernel computes and moves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Bytes that it reads and writes, each once; what stays inside a fused kernel does not count.
    pub bytes: f64,
    /// Operations of the cube unit, a multiplication and an addition being two; what pads tiles does not count.
    pub cube_operations: f64,
    /// Operations of the vector unit: instructions for each element, by the classes of the model.
    pub vector_operations: f64,
}

impl Work {
    /// What the pieces of one kernel do together. The first has moved its result: of the others only operands of
    /// their own count.
    pub(super) fn of<'a>(pieces: impl Iterator<Item = &'a Piece>) -> Work {
        pieces.enumerate().fold(Work::default(), |sum, (at, piece)| {
            let work = match piece {
                Piece::Cube(problem) => problem.work(),
                Piece::Vector(problem) => problem.work(at > 0),
                Piece::Collective(_) => Work::default(),
            };
            Work {
                bytes: sum.bytes + work.bytes,
                cube_operations: sum.cube_operations + work.cube_operations,
                vector_operations: sum.vector_operations + work.vector_operations,
            }
        })
    }
}

/// The rates that no kernel on a part exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Roofs {
    /// Cube operations a microsecond with operands of 16 bits.
    pub cube_16_bit: f64,
    /// The same with operands of 8 bits.
    pub cube_8_bit: f64,
    /// Bytes a microsecond between L2 and all cores.
    pub l2: f64,
    /// Bytes a microsecond of device memory.
    pub memory: f64,
    /// Vector operations a microsecond on elements of 16 bits, one-cycle instructions.
    pub vector_16_bit: f64,
}

impl Roofs {
    /// Those of a part.
    pub fn of(soc: &Soc) -> Roofs {
        let cube_mhz = soc.cube_freq_mhz * f64::from(soc.ai_core_cnt);
        let step = |dtype| 2.0 * f64::from(soc.cube_m_size) * k0(dtype) as f64 * f64::from(soc.cube_n_size);
        Roofs {
            cube_16_bit: step(DataType::Float16) * cube_mhz,
            cube_8_bit: step(DataType::Int8) * cube_mhz,
            l2: soc.l2_rate * cube_mhz,
            memory: soc.hbm_gb_s * 1e3,
            vector_16_bit: soc.vec_bytes_per_cycle / 2.0 * soc.vec_freq_mhz * f64::from(soc.vector_core_cnt),
        }
    }
}
