//! The one canonical form of a tiling.
//!
//! Each bank format maps to and from it and the simulator reads nothing else. In JSON it has the form
//! of the measured cases: `{"cores":{..},"single":{..},"l1_a":"full"|{..},"l0":{..},"buffers":{..},..}`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a workload is laid out over cores, buffers and time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Schedule {
    /// For matrix products and convolutions.
    Cube(CubeSchedule),
    /// For everything else.
    Vector(VectorSchedule),
}

impl Schedule {
    /// Cores that get work.
    pub fn cores(&self) -> u32 {
        match self {
            Schedule::Cube(s) => s.used_cores,
            Schedule::Vector(s) => s.cores,
        }
    }
}

/// Tiling of cube work. Extents are elements.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CubeSchedule {
    /// Cores that get work (`usedCoreNum`).
    pub used_cores: u32,
    /// Number of core tasks along each axis; tasks are dealt to the used cores in turn.
    pub cores: Cores,
    /// Extent of one core task (`singleCoreM/N/K`).
    pub single: Extents,
    /// The L0 tile (`baseM/N/K`).
    pub l0: L0Tile,
    /// What of A is brought to L1 at once.
    pub l1_a: L1Tile,
    /// What of B is brought to L1 at once.
    pub l1_b: L1Tile,
    /// Buffers of each kind: 1, or 2 for double buffering.
    pub buffers: Buffers,
    /// Order of the L0 tiles inside a core task (`iterateOrder`).
    #[serde(default)]
    pub order: LoopOrder,
    /// Grouping of core tasks so that a group's operands stay in L2.
    #[serde(default)]
    pub l2: L2Tiling,
    /// How K is split, when it is.
    #[serde(default)]
    pub split_k: SplitK,
    /// How the result leaves the core.
    #[serde(default)]
    pub output: OutputPath,
    /// Fields of the bank record that this was read from, by CANN's names, which no other field expresses,
    /// so that it is written back unchanged. Empty for new tilings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unmodelled: BTreeMap<String, u64>,
}

/// Number of core tasks along each axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cores {
    /// Along the batch.
    pub batch: u32,
    /// Along m.
    pub m: u32,
    /// Along n.
    pub n: u32,
    /// Along k; `group` in TBE's tilings counts here too.
    #[serde(default = "one", alias = "group")]
    pub k: u32,
}

impl Cores {
    /// Number of core tasks; saturates.
    pub fn tasks(&self) -> u64 {
        [self.m, self.n, self.k].iter().fold(u64::from(self.batch), |n, &c| n.saturating_mul(u64::from(c)))
    }
}

/// Extents of one core task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extents {
    /// Products of the batch.
    #[serde(default = "one_u64")]
    pub batch: u64,
    /// Rows of A.
    pub m: u64,
    /// Columns of B.
    pub n: u64,
    /// Inner extent.
    pub k: u64,
}

/// The tile that one round of MMAD works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L0Tile {
    /// Rows of A in L0A and of the result in L0C.
    pub m: u32,
    /// Columns of B in L0B and of the result in L0C.
    pub n: u32,
    /// Inner extent held in L0A (`baseK`).
    pub k_a: u32,
    /// Inner extent held in L0B; equal to `k_a` in `AscendC` tilings.
    pub k_b: u32,
}

/// Part of an operand that one transfer from L2 brings to L1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged, expecting = "neither \"full\" nor {k, tiles (m_tiles, n_tiles), batch}")]
pub enum L1Tile {
    /// `"full"`: the core task's whole operand panel is loaded once and stays.
    Full(Full),
    /// A piece of it.
    Panel(Panel),
}

impl L1Tile {
    /// The whole panel.
    pub const FULL: L1Tile = L1Tile::Full(Full::Full);

    /// A panel of `k` elements by `tiles` L0 tiles of one product.
    pub const fn panel(k: u32, tiles: u32) -> Self {
        L1Tile::Panel(Panel { k, tiles, batch: 1 })
    }
}

/// The word `full` in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Full {
    /// `"full"`
    Full,
}

/// A piece of an operand in L1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Elements along k (`stepKa * baseK`).
    pub k: u32,
    /// L0 tiles along m or n (`stepM`, `stepN`).
    #[serde(alias = "m_tiles", alias = "n_tiles")]
    pub tiles: u32,
    /// Products of the batch whose panels are brought together; `AscendC` tilings always bring one.
    #[serde(default = "one")]
    pub batch: u32,
}

/// Number of buffers of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffers {
    /// L1 buffers of A's panel.
    pub l1_a: u8,
    /// L1 buffers of B's panel.
    pub l1_b: u8,
    /// L0A buffers.
    pub l0_a: u8,
    /// L0B buffers.
    pub l0_b: u8,
    /// L0C buffers.
    pub l0_c: u8,
}

/// Which axis the inner loop over L0 tiles walks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopOrder {
    /// Along m first (`iterateOrder` 0).
    #[default]
    MFirst,
    /// Along n first (`iterateOrder` 1).
    NFirst,
}

/// Grouping of core tasks for L2. All zero: no grouping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L2Tiling {
    /// L2 tiles along m (`l2MTileCnt`).
    pub m_tiles: u32,
    /// L2 tiles along n (`l2NTileCnt`).
    pub n_tiles: u32,
    /// Base blocks of one L2 tile along m (`l2MTileBlock`).
    pub m_block: u32,
    /// Base blocks of one L2 tile along n (`l2NTileBlock`).
    pub n_block: u32,
    /// Order in which L2 tiles are walked (`l2IterateOrder`).
    pub order: LoopOrder,
}

/// How the inner axis is split over time or cores (ones digit of `tilingEnable`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitK {
    /// Not split: a core task holds all of k.
    #[default]
    None,
    /// One core works through k in pieces and accumulates in memory (2).
    SingleCore,
    /// Several cores, partial results summed in a fixed order (3).
    Deterministic,
    /// Several cores, partial results added atomically (4).
    MultiCore,
}

/// How the result leaves the core (thousands digit of `tilingEnable`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputPath {
    /// Fixpipe writes ND directly.
    #[default]
    Direct,
    /// Fixpipe writes aligned rows (1).
    Aligned,
    /// Fixpipe writes NZ and vector cores convert (2).
    VectorNzToNd,
}

/// Tiling of vector work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VectorSchedule {
    /// Vector cores that get work (`block_dim`).
    pub cores: u32,
    /// Bytes of one UB tile of the largest operand.
    pub ub_tile_bytes: u32,
    /// Tiles are double buffered, so that loading, computing and storing overlap.
    pub double_buffer: bool,
    /// How rows and axes meet the tiles.
    pub template: VectorTemplate,
}

/// Code templates of vector kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorTemplate {
    /// Flat elements; for elementwise work and movement.
    Flat,
    /// Whole rows of the axis stay in UB; each is read once.
    FullLoad,
    /// Rows are cut into tiles and read once more for every pass.
    Recompute,
    /// The axis is split over cores and partial results are combined.
    SplitAxis,
}

fn one() -> u32 {
    1
}

fn one_u64() -> u64 {
    1
}
