//! The model's own constants: what no SoC description holds. Each has its source.

/// Cycles before an MMAD instruction delivers: 910B1 micro-benchmark, ideal + 2, plus issue.
pub const MMAD_CYCLES: f64 = 6.0;
/// Cycles that a transfer from GM takes beyond its bytes: 1 KiB takes 173 cycles.
pub const GM_LATENCY_CYCLES: f64 = 170.0;
/// Cycles of each contiguous run inside a transfer from or to GM.
pub const BURST_CYCLES: f64 = 2.0;
/// Cycles that an L1 to L0 load takes beyond its bytes: load2d table of 910B1.
pub const L0_LOAD_CYCLES: f64 = 16.0;
/// Cycles that writing one L0C tile takes beyond its bytes.
pub const OUTPUT_CYCLES: f64 = 60.0;
/// Microseconds of a kernel that does nothing: the shortest kernels' core time is 0.8.
pub const START_US: f64 = 0.8;
/// Share of L2 that operands may fill before they go to device memory.
pub const L2_USABLE: f64 = 0.5;
/// Share of device memory bandwidth that mixed reads and writes reach: 73 to 85 %.
pub const HBM_EFFICIENCY: f64 = 0.8;
/// Cycles of a vector instruction stream's start per tile.
pub const VECTOR_START_CYCLES: f64 = 40.0;
