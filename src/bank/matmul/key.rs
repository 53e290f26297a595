//! The key of a `MatMulV3` record, built from a workload as CANN does.

use crate::bank::layout::Layout;
use crate::graph::{DataType, Format};
pub use crate::tiling::matmul_v3::Rounding;
pub use crate::tiling::matmul_v3::rounding;
use crate::workload::MatMul;
use serde_json::{Map, Value};

/// Fields of a key that say how large a product is.
const SIZES: [&str; 6] = ["m", "k", "n", "m_align_flag", "k_align_flag", "n_align_flag"];

/// A packed key without its m, k and n and whether those were rounded, and the three; `None` for bytes that
/// are no key of a product or an extent that is negative.
pub fn split_key(layout: &Layout, key: &[u8]) -> Option<(Vec<u8>, [u64; 3])> {
    let rest = layout.without(key, SIZES)?;
    let extent = |axis| layout.field(axis)?.read(key)?.as_u64();
    Some((rest, [extent("m")?, extent("k")?, extent("n")?]))
}

/// Whether CANN's `MatMulV3` would query the runtime bank for this product: one product of float
/// operands in ND or `FRACTAL_NZ`.
pub fn has_key(w: &MatMul) -> bool {
    let folds = |t| folded_dtype(t).is_some();
    w.batch == 1 && w.b_dtype.is_none() && folds(w.dtype) && folds(w.out_dtype) && is_countable(w)
}

/// Whether the extents stay within the key's fields when they are rounded up.
pub fn is_countable(w: &MatMul) -> bool {
    i64::try_from(w.m.max(w.k).max(w.n)).is_ok_and(|x| x < 1 << 62)
}

/// 16-bit floats share their records.
fn folded_dtype(dtype: DataType) -> Option<DataType> {
    match dtype {
        DataType::Float => Some(DataType::Float),
        DataType::Float16 | DataType::Bfloat16 => Some(DataType::Float16),
        _ => None,
    }
}

fn folded_format(format: Format) -> Format {
    if format == Format::FractalNz { Format::FractalNz } else { Format::Nd }
}

/// The `info_dict` that CANN builds for a product. Call only where [`has_key`] holds.
pub fn info_dict(w: &MatMul) -> Map<String, Value> {
    let folded = |t| folded_dtype(t).unwrap_or(t);
    info_of(w, folded(w.dtype), folded(w.out_dtype), rounding(w))
}

/// The `info_dict` of a product with operands and result of these types and extents rounded up. Call only
/// where [`is_countable`] holds.
pub fn info_of(w: &MatMul, dtype: DataType, out_dtype: DataType, rounding: Rounding) -> Map<String, Value> {
    let mut info = Map::new();
    for (name, size, step) in [("m", w.m, rounding.m), ("k", w.k, rounding.k), ("n", w.n, rounding.n)] {
        let rounded = size.next_multiple_of(step);
        info.insert(name.into(), rounded.into());
        info.insert(format!("{name}_align_flag"), (rounded == size).into());
    }
    for i in 1..=4 {
        info.insert(format!("batch_a{i}"), 1.into());
        info.insert(format!("batch_b{i}"), 1.into());
    }
    for (name, value) in
        [("l1_fused_num", 0.0), ("aub_double_num", 1.0), ("bub_double_num", 1.0), ("fused_double_operand_num", 0.0)]
    {
        info.insert(name.into(), value.into());
    }
    for (name, value) in [
        ("a_dtype", dtype.ge_number()),
        ("b_dtype", dtype.ge_number()),
        ("out_dtype", out_dtype.ge_number()),
        ("a_format", folded_format(w.a_format).ge_number()),
        ("b_format", folded_format(w.b_format).ge_number()),
        ("out_format", Format::Nd.ge_number()),
    ] {
        info.insert(name.into(), value.into());
    }
    for (name, value) in
        [("trans_a_flag", w.trans_a), ("trans_b_flag", w.trans_b), ("bias_flag", w.bias), ("reserved_bool", false)]
    {
        info.insert(name.into(), value.into());
    }
    for i in 1..=6 {
        info.insert(format!("reserved_params{i}"), 0.into());
    }
    info
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_floats_have_a_key_of_their_type_and_both_16_bit_types_one() {
        let of = |dtype| MatMul { dtype, out_dtype: dtype, ..MatMul::new(64, 64, 64) };
        let [float, half, bfloat] = [DataType::Float, DataType::Float16, DataType::Bfloat16].map(of);
        assert!([&float, &half, &bfloat].into_iter().all(has_key));
        assert_ne!(info_dict(&float), info_dict(&half));
        assert_eq!(info_dict(&bfloat), info_dict(&half));
        assert!(!has_key(&of(DataType::Int8)));
    }
}
