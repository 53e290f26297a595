//! What a tiling of `MatMulV2` must satisfy.

use super::{Judged, Strength, TbeTiling, demand, shared_rules};
use crate::rounding::round_up;
use crate::tiling::Platform;
use crate::workload::{CubeShape, L1Tile, MatMul};

/// Fails with the broken rule in one sentence.
pub fn check(t: &TbeTiling, w: &MatMul, p: &Platform, strength: Strength) -> Result<(), String> {
    let shape = w.cube();
    shared_rules(t, shape.dtype.bytes().max(1), w.bias, p)?;
    if strength == Strength::Written { written(t, &shape, p) } else { Ok(()) }
}

/// What is asked of records made here.
fn written(t: &TbeTiling, shape: &CubeShape, p: &Platform) -> Judged {
    let (c, l0) = (t.cores, t.l0);
    let (m_tiles, n_tiles) = (shape.m.div_ceil(l0.m.into()), shape.n.div_ceil(l0.n.into()));
    let k = round_up(shape.k, shape.k0());
    demand(l0.k_a == l0.k_b, || format!("AL0_matrix holds {} of k and BL0_matrix {}", l0.k_a, l0.k_b))?;
    demand(c.k == 1 && u64::from(c.batch) <= shape.batch, || {
        "block_dim splits k, or more products than there are".into()
    })?;
    demand(has_work(shape.batch, c.batch) && has_work(m_tiles, c.m) && has_work(n_tiles, c.n), || {
        "block_dim gives some cores no tile to compute".to_owned()
    })?;
    demand(k.is_multiple_of(u64::from(l0.k_a)), || format!("AL0_matrix' k of {} does not divide k = {k}", l0.k_a))?;
    let mut total = if shape.bias { 1024 } else { 0 };
    let whole = |tiles: u64, blocks: u32, tile: u32| tiles.div_ceil(blocks.into()).saturating_mul(tile.into());
    for (name, tile, extent, base, buffers) in [
        ("AL1_shape", t.l1_a, whole(m_tiles, c.m, l0.m), l0.m, t.buffers.l1_a),
        ("BL1_shape", t.l1_b, whole(n_tiles, c.n, l0.n), l0.n, t.buffers.l1_b),
    ] {
        let (depth, width, buffers) = match tile {
            L1Tile::Full(_) => (k, extent, 1),
            L1Tile::Panel(p) => (p.k.into(), u64::from(p.tiles).saturating_mul(base.into()), buffers.into()),
        };
        let products = if let L1Tile::Panel(p) = tile { p.batch } else { 1 };
        demand(products == 1, || format!("{name} holds {products} products at once, of which too little is known"))?;
        demand(depth > 0 && depth.is_multiple_of(l0.k_a.into()) && k.is_multiple_of(depth), || {
            format!("{name}' k of {depth} is no multiple of AL0_matrix' {} that divides k = {k}", l0.k_a)
        })?;
        demand(width > 0 && width <= extent, || format!("{name} holds {width} of a core's {extent}"))?;
        total = depth
            .saturating_mul(width)
            .saturating_mul(shape.dtype.bytes().max(1))
            .saturating_mul(buffers)
            .saturating_add(total);
    }
    demand(total <= p.l1, || format!("AL1_shape and BL1_shape need {total} bytes of the {} that L1 has", p.l1))
}

/// Whether so many tiles, dealt in equal runs, leave no block without one.
pub(super) fn has_work(tiles: u64, blocks: u32) -> bool {
    let blocks = u64::from(blocks.max(1));
    tiles.div_ceil(tiles.div_ceil(blocks).max(1)) == blocks
}
