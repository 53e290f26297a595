mod defaults;
mod legality;
mod properties;

use super::Tiling;
use crate::soc::Soc;
use crate::tiling::Platform;
use crate::workload::MatMul;
use aoe_graph::DataType;

fn part(name: &str) -> Platform {
    Platform::of(&Soc::find(name).unwrap())
}

fn fp32(m: u64, k: u64, n: u64) -> MatMul {
    MatMul { dtype: DataType::Float, out_dtype: DataType::Float, ..MatMul::new(m, k, n) }
}

/// A tiling of one 128 x 256 block a task for 24 cores.
fn base(m_tasks: u32, n_tasks: u32) -> Tiling {
    Tiling::from_values([24, 128, 256, 1024, 128, 256, 64, 16, 8, 1, 1, 0, 8, 4, 2, 2, 1, 1, 1, m_tasks, n_tasks, 0, 0])
}
