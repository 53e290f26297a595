//! The key of a `QuantBatchMatmulV3` record: `MatMulV3`'s structure, with int8's fractals.

use crate::bank::matmul::{self, Rounding};
use crate::graph::DataType;
use crate::workload::MatMul;
use serde_json::{Map, Value};

/// All public records have m in multiples of 16, n and k of 32.
const ROUNDING: Rounding = Rounding { m: 16, k: 32, n: 32 };

/// Whether the bank of this operator can hold a product: one product of int8 operands, A as it is, into
/// a type that the public records have.
pub fn has_key(w: &MatMul) -> bool {
    w.batch == 1
        && w.dtype == DataType::Int8
        && !w.trans_a
        && matches!(w.out_dtype, DataType::Float16 | DataType::Int8 | DataType::Int32)
        && matmul::is_countable(w)
}

/// The `info_dict` of a product. Call only where [`has_key`] holds.
pub fn info_dict(w: &MatMul) -> Map<String, Value> {
    let mut info = matmul::info_of(w, w.dtype, w.out_dtype, ROUNDING);
    // Set in 3260 of 3268 public records; what it stands for is not known.
    info.insert("reserved_bool".into(), true.into());
    info
}
