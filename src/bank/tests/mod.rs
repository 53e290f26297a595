//! Tests of the bank as a whole; the small parts are tested in their own files.

mod conv2d;
mod conv3d;
mod crash;
mod damage;
mod disk;
mod document;
mod faults;
mod foreign;
mod format;
mod later;
mod links;
pub mod memory;
pub mod merge;
mod merge_whole;
pub mod mutate;
mod near;
mod quant;
mod repair;
mod schedule;
mod together;
mod trials;
mod volumes;

use super::form::Form;
use super::{BankPaths, Measured, OperatorBank};
use crate::graph::{DataType, Format};
use crate::soc::Soc;
use crate::workload::{
    Buffers, Cores, CubeSchedule, Extents, L0Tile, L1Tile, L2Tiling, LoopOrder, MatMul, OutputPath, Schedule, SplitK,
    Vector, VectorSchedule, VectorTemplate, Workload,
};
use std::path::PathBuf;
use std::sync::Arc;

/// Name of the `MatMulV3` file of the SoC that the tests use.
const FILE: &str = "Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json";
const DIRECTORY: &str = "/bank/Ascend910B2/unified_bank";

fn matmul_v3() -> Form {
    Form::runtime("MatMulV3")
}

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

fn paths() -> BankPaths {
    BankPaths { custom: PathBuf::from(DIRECTORY), also_read: Vec::new() }
}

fn bank(storage: &Arc<memory::Memory>) -> OperatorBank {
    OperatorBank::with_storage(paths(), &soc(), storage.clone(), "2026-01-02".into())
}

/// The product of the first key vector of CANN's format: 128 x 1024 x 4096, B transposed and in NZ.
fn product() -> MatMul {
    MatMul { trans_b: true, b_format: Format::FractalNz, ..MatMul::new(128, 1024, 4096) }
}

fn product_of(m: u64) -> Workload {
    Workload::MatMul(MatMul::new(m, 1024, 4096))
}

/// A legal tiling of any product with k = 1024 and n = 4096.
fn tiling(m: u64, base_k: u32) -> Schedule {
    let tiles = m.div_ceil(128) as u32;
    Schedule::Cube(CubeSchedule {
        used_cores: 16,
        cores: Cores { batch: 1, m: tiles, n: 16, k: 1 },
        single: Extents { batch: 1, m: 128, n: 256, k: 1024 },
        l0: L0Tile { m: 128, n: 256, k_a: base_k, k_b: base_k },
        l1_a: L1Tile::panel(4 * base_k, 1),
        l1_b: L1Tile::panel(2 * base_k, 1),
        buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 1 },
        order: LoopOrder::NFirst,
        l2: L2Tiling { m_tiles: 1, n_tiles: 1, m_block: tiles, n_block: 16, order: LoopOrder::MFirst },
        split_k: SplitK::None,
        output: OutputPath::Direct,
        unmodelled: std::collections::BTreeMap::new(),
    })
}

fn gelu() -> Workload {
    let operand = crate::workload::Operand::new([8, 1024], DataType::Float16);
    Workload::Vector(Vector { op_type: "Gelu".into(), inputs: vec![operand.clone()], outputs: vec![operand] })
}

fn vector_tiling(cores: u32) -> Schedule {
    let template = VectorTemplate::Flat;
    Schedule::Vector(VectorSchedule { cores, ub_tile_bytes: 4096, double_buffer: true, template })
}

pub fn measured(after_us: f64) -> Measured {
    Measured {
        before_us: 2.0 * after_us,
        after_us,
        backend: "simulator".into(),
        space: 1,
        default: crate::workload::DefaultOrigin::Estimated,
    }
}

/// Rows of the products in a bank as [`saved`] makes it.
const PRODUCTS: [u64; 2] = [128, 256];

/// A bank with two saved products and one vector kernel.
fn saved() -> Arc<memory::Memory> {
    let storage = Arc::new(memory::Memory::default());
    let mut bank = bank(&storage);
    for m in PRODUCTS {
        bank.record(&product_of(m), &tiling(m, 64), &measured(m as f64)).unwrap();
    }
    bank.record(&gelu(), &vector_tiling(8), &measured(3.0)).unwrap();
    bank.save().unwrap();
    storage
}
