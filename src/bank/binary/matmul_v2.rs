//! `MatMulV2`: the key structure of `MatMulV3`, and 28 fields of a tiling in fractals.

use super::{F, blocks};
use crate::bank::matmul;
use crate::graph::DataType;
use crate::workload::tbe::TbeTiling;
use crate::workload::{CubeShape, L1Tile, MatMul};
use serde_json::{Map, Value};

/// The fields of a tiling.
#[rustfmt::skip] // in the order of the structure
pub(super) const NAMES: &[&str] = &[
    "batch_dim", "n_dim", "m_dim", "k_dim", "m_al1", "k_al1", "k_bl1", "n_bl1", "batch_l0", "batch_aub", "batch_bub",
    "batch_cub", "m_l0", "k_l0", "n_l0", "n_cub", "m_aub", "k_aub", "k_bub", "n_bub", "db_al1", "db_bl1", "db_l0a",
    "db_l0b", "db_l0c", "db_aub", "db_bub", "db_cub",
];

/// Whether the key of a product is known: floats, one product.
pub(super) fn has_key(w: &MatMul) -> bool {
    let is_float = |dtype| matches!(dtype, DataType::Float16 | DataType::Bfloat16 | DataType::Float);
    w.batch == 1 && is_float(w.dtype) && is_float(w.out_dtype) && matmul::is_countable(w)
}

/// Types are as they are: bfloat16 is not asked for as float16.
pub(super) fn info_dict(w: &MatMul) -> Map<String, Value> {
    matmul::info_of(w, w.dtype, w.out_dtype, matmul::rounding(w))
}

/// The values of [`NAMES`]; an error names the field that cannot be said.
pub(super) fn values(t: &TbeTiling, w: &MatMul) -> Result<[u32; 28], String> {
    let shape: CubeShape = w.cube();
    let k0 = shape.k0();
    let (c, l0, b) = (t.cores, t.l0, t.buffers);
    let (m_l0, n_l0) = (blocks("m_l0", l0.m.into(), F)?, blocks("n_l0", l0.n.into(), F)?);
    let k_l0 = blocks("k_l0", l0.k_a.into(), k0)?;
    let whole_k = blocks("k_al1", shape.k.div_ceil(k0).saturating_mul(k0), k0)?;
    // All that a core has, in L0 tiles.
    let all = |extent: u64, tile: u32, cores: u32| {
        u32::try_from(extent.div_ceil(tile.into()).div_ceil(cores.into())).map_err(|_| "too many tiles".to_owned())
    };
    let l1 = |name: &str, tile: L1Tile, all: u32| match tile {
        L1Tile::Full(_) => Ok((whole_k, all)),
        L1Tile::Panel(panel) => Ok::<_, String>((blocks(name, panel.k.into(), k0)?, panel.tiles)),
    };
    let (k_al1, m_al1) = l1("k_al1", t.l1_a, all(shape.m, l0.m, c.m)?)?;
    let (k_bl1, n_bl1) = l1("k_bl1", t.l1_b, all(shape.n, l0.n, c.n)?)?;
    let [al1, bl1, al0, bl0, cl0] = [b.l1_a, b.l1_b, b.l0_a, b.l0_b, b.l0_c].map(u32::from);
    #[rustfmt::skip] // as NAMES has them
    let values = [
        c.batch, c.n, c.m, c.k, m_al1, k_al1, k_bl1, n_bl1, 1, 1, 1, 1, m_l0, k_l0, n_l0,
        // Fixpipe brings a tile from L0C at once; no vector core is on its way.
        n_l0, 1, 1, 1, 1, al1, bl1, al0, bl0, cl0, 1, 1, 1,
    ];
    Ok(values)
}
