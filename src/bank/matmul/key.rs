//! The key of a `MatMulV3` record, built from a workload and packed as CANN does.

use crate::bank::json;
use crate::bank::key::Unusable;
use crate::graph::{DataType, Format};
use crate::workload::MatMul;
use serde_json::{Map, Value};

/// Bytes of the packed key.
pub const KEY_BYTES: usize = 183;

/// Type of one key field; each is packed little-endian and without padding.
#[derive(Debug, Clone, Copy)]
enum Kind {
    I64,
    F32,
    I32,
    Bool,
    U64,
}

impl Kind {
    const fn bytes(self) -> usize {
        match self {
            Kind::I64 | Kind::U64 => 8,
            Kind::F32 | Kind::I32 => 4,
            Kind::Bool => 1,
        }
    }
}

/// The key structure, field by field in packed order.
const FIELDS: [(&str, Kind); 34] = [
    ("m", Kind::I64),
    ("k", Kind::I64),
    ("n", Kind::I64),
    ("batch_a1", Kind::I64),
    ("batch_a2", Kind::I64),
    ("batch_a3", Kind::I64),
    ("batch_a4", Kind::I64),
    ("batch_b1", Kind::I64),
    ("batch_b2", Kind::I64),
    ("batch_b3", Kind::I64),
    ("batch_b4", Kind::I64),
    ("l1_fused_num", Kind::F32),
    ("aub_double_num", Kind::F32),
    ("bub_double_num", Kind::F32),
    ("fused_double_operand_num", Kind::F32),
    ("a_dtype", Kind::I32),
    ("b_dtype", Kind::I32),
    ("out_dtype", Kind::I32),
    ("a_format", Kind::I32),
    ("b_format", Kind::I32),
    ("out_format", Kind::I32),
    ("trans_a_flag", Kind::Bool),
    ("trans_b_flag", Kind::Bool),
    ("bias_flag", Kind::Bool),
    ("reserved_bool", Kind::Bool),
    ("m_align_flag", Kind::Bool),
    ("k_align_flag", Kind::Bool),
    ("n_align_flag", Kind::Bool),
    ("reserved_params1", Kind::U64),
    ("reserved_params2", Kind::U64),
    ("reserved_params3", Kind::U64),
    ("reserved_params4", Kind::U64),
    ("reserved_params5", Kind::U64),
    ("reserved_params6", Kind::U64),
];

/// Packs an `info_dict` into CANN's key structure. A missing field makes the record unusable, a wrong
/// type damaged; fields that the structure does not have are ignored.
pub fn pack_key(info: &Map<String, Value>) -> Result<Vec<u8>, Unusable> {
    let mut key = Vec::with_capacity(KEY_BYTES);
    for (name, kind) in FIELDS {
        let value = info.get(name).ok_or_else(|| Unusable::Foreign(format!("info_dict: `{name}` is missing")))?;
        pack_field(value, kind, &mut key)
            .ok_or_else(|| Unusable::Damaged(format!("info_dict: `{name}` cannot be {value}")))?;
    }
    Ok(key)
}

fn pack_field(value: &Value, kind: Kind, key: &mut Vec<u8>) -> Option<()> {
    match kind {
        Kind::I64 => key.extend(json::integer(value)?.to_le_bytes()),
        Kind::I32 => key.extend(i32::try_from(json::integer(value)?).ok()?.to_le_bytes()),
        Kind::U64 => key.extend(value.as_u64().or_else(|| json::integer(value)?.try_into().ok())?.to_le_bytes()),
        Kind::F32 => key.extend((value.as_f64()? as f32).to_le_bytes()),
        Kind::Bool => key.push(u8::from(value.as_bool()?)),
    }
    Some(())
}

/// A packed key without its m, k and n and whether those were rounded, and the three; `None` for bytes that
/// are no key or an extent that is negative.
pub fn split_key(key: &[u8]) -> Option<(Vec<u8>, [u64; 3])> {
    let (mut rest, mut extents, mut at) = (key.to_vec(), [0; 3], 0);
    for (name, kind) in FIELDS {
        let field = rest.get_mut(at..at + kind.bytes())?;
        at += kind.bytes();
        if let Some(axis) = ["m", "k", "n"].iter().position(|axis| *axis == name) {
            extents[axis] = i64::from_le_bytes((&*field).try_into().ok()?).try_into().ok()?;
            field.fill(0);
        } else if name.ends_with("_align_flag") {
            field.fill(0);
        }
    }
    (at == rest.len()).then_some((rest, extents))
}

/// Whether CANN's `MatMulV3` would query the runtime bank for this product: one product of float
/// operands in ND or `FRACTAL_NZ`.
pub fn has_key(w: &MatMul) -> bool {
    let folds = |t| folded_dtype(t).is_some();
    w.batch == 1
        && folds(w.dtype)
        && folds(w.out_dtype)
        && i64::try_from(w.m.max(w.k).max(w.n)).is_ok_and(|x| x < 1 << 62)
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

/// m as the key has it.
pub(super) fn rounded_m(w: &MatMul) -> u64 {
    w.m.next_multiple_of(16)
}

/// n as the key has it.
pub(super) fn rounded_n(w: &MatMul) -> u64 {
    w.n.next_multiple_of(16)
}

/// k as the key has it.
pub(super) fn rounded_k(w: &MatMul) -> u64 {
    w.k.next_multiple_of(if w.dtype == DataType::Float { 8 } else { 16 })
}

/// The `info_dict` that CANN builds for a product: m and n rounded up to 16, k to 16 or, for fp32, 8.
///
/// Call only where [`has_key`] holds.
pub fn info_dict(w: &MatMul) -> Map<String, Value> {
    let dtype = |t| folded_dtype(t).unwrap_or(t).ge_number();
    let mut info = Map::new();
    for (name, size, rounded) in [("m", w.m, rounded_m(w)), ("k", w.k, rounded_k(w)), ("n", w.n, rounded_n(w))] {
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
        ("a_dtype", dtype(w.dtype)),
        ("b_dtype", dtype(w.dtype)),
        ("out_dtype", dtype(w.out_dtype)),
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
