//! `Conv2DBackpropFilter`: A is dy, B the image; rows are blocks of dy's channels, columns blocks of the image's
//! channels by kernel positions, and k counts pixels of dy in blocks of 16.

use super::{F, blocks};
use crate::graph::DataType;
use crate::workload::tbe::TbeTiling;
use crate::workload::{Conv, L1Tile};
use serde_json::{Map, Value};

/// Images in blocks of channels, as the kernel was compiled for (CANN's number).
const NC1HWC0: u32 = 1;

/// The fields of a tiling.
#[rustfmt::skip] // in the order of the structure
pub(super) const NAMES: &[&str] = &[
    "batch_dim", "n_dim", "m_dim", "k_dim", "group_dim", "m_al1", "k_al1", "k_bl1", "n_bl1", "batch_l0", "batch_aub",
    "batch_bub", "batch_cub", "m_l0", "k_l0", "n_l0", "n_cub", "m_aub", "k_aub", "k_bub", "n_bub", "db_al1", "db_bl1",
    "db_l0a", "db_l0b", "db_l0c", "db_aub", "db_bub", "db_cub",
];

/// Whether the key of a gradient is known: images of 16-bit floats, with sizes that its fields hold.
pub(super) fn has_key(w: &Conv) -> bool {
    let sizes = [w.batch, w.cin, w.hi, w.wi, w.cout, w.ho, w.wo, w.kh, w.kw, w.groups];
    let fits = sizes.iter().chain(&w.pads).chain(&w.stride).chain(&w.dilation).all(|&n| i64::try_from(n).is_ok());
    !w.is_volume() && fits && matches!(w.dtype, DataType::Float16 | DataType::Bfloat16) && !sizes[..9].contains(&0)
}

/// The key of a gradient; `c_shape_c` counts the channels of all groups.
pub(super) fn info_dict(w: &Conv) -> Map<String, Value> {
    let [top, bottom, left, right] = w.pads;
    let sizes = [
        ("a_shape_n", w.batch),
        ("a_shape_h", w.ho),
        ("a_shape_w", w.wo),
        ("b_shape_h", w.hi),
        ("b_shape_w", w.wi),
        ("c_shape_n", w.cout),
        ("c_shape_c", w.cin),
        ("c_shape_h", w.kh),
        ("c_shape_w", w.kw),
        ("groups", w.groups),
        ("stride_h", w.stride[0]),
        ("stride_w", w.stride[1]),
        ("dilation_h", w.dilation[0]),
        ("dilation_w", w.dilation[1]),
        ("pad_u", top),
        ("pad_d", bottom),
        ("pad_l", left),
        ("pad_r", right),
    ];
    let types = [("a_dtype", w.dtype), ("b_dtype", w.dtype), ("c_dtype", w.out_dtype)];
    let numbers = [("binary_mode", NC1HWC0), ("hf32_flag", u32::from(w.hf32))];
    let reserved = (1..=5).map(|i| (format!("reserved_params{i}"), Value::from(0)));
    let sizes = sizes.map(|(name, size)| (name.to_owned(), Value::from(size)));
    let types = types.map(|(name, dtype)| (name.to_owned(), Value::from(dtype.ge_number())));
    let numbers = numbers.map(|(name, number)| (name.to_owned(), Value::from(number)));
    sizes.into_iter().chain(types).chain(numbers).chain(reserved).collect()
}

/// The values of [`NAMES`]; an error names the field that cannot be said. Sizes of buffers and whether L1 holds an operand
/// whole are recomputed by CANN.
pub(super) fn values(t: &TbeTiling, w: &Conv) -> Result<[u32; 29], String> {
    let (c, l0, b) = (t.cores, t.l0, t.buffers);
    let groups = w.groups.max(1);
    let (m, c1) = ((w.cout / groups).div_ceil(F), (w.cin / groups).div_ceil(F));
    // CANN deals whole blocks of the image's channels.
    if !c1.is_multiple_of(c.n.into()) {
        return Err(format!("`n_dim` = {} does not divide {c1} blocks of channels", c.n));
    }
    let n = c1.saturating_mul(w.kh).saturating_mul(w.kw);
    let k = blocks("k_al1", w.ho.saturating_mul(w.wo).div_ceil(F).saturating_mul(F), F)?;
    let (m_l0, n_l0) = (blocks("m_l0", l0.m.into(), F)?, blocks("n_l0", l0.n.into(), F)?);
    let k_l0 = blocks("k_l0", l0.k_a.into(), F)?;
    let l1 = |name: &str, tile: L1Tile, blocks_of: u64, cores: u32, tile_blocks: u32| match tile {
        // What L1 holds whole is told by its product with the tile, which must be all that a core has.
        L1Tile::Full(_) => Ok((k, blocks(name, blocks_of, u64::from(cores) * u64::from(tile_blocks))?)),
        L1Tile::Panel(panel) => Ok::<_, String>((blocks(name, panel.k.into(), F)?, panel.tiles)),
    };
    let (k_al1, m_al1) = l1("m_al1", t.l1_a, m, c.m, m_l0)?;
    let (k_bl1, n_bl1) = l1("n_bl1", t.l1_b, n, c.n, n_l0)?;
    let [al1, bl1, al0, bl0, cl0] = [b.l1_a, b.l1_b, b.l0_a, b.l0_b, b.l0_c].map(u32::from);
    #[rustfmt::skip] // as NAMES has them
    let values = [
        // k stays whole: an image's pixels are dealt with the image.
        c.batch, c.n, c.m, 1, c.k, m_al1, k_al1, k_bl1, n_bl1, 1, 1, 1, 1, m_l0, k_l0, n_l0,
        n_l0, 1, 1, 1, 1, al1, bl1, al0, bl0, cl0, 1, 1, 1,
    ];
    Ok(values)
}
