//! What a part's cube unit and memory can hold.

use super::wrong;
use crate::graph::DataType;
use crate::soc::{Arch, Soc};
use crate::status::{Error, Result};
use crate::workload::{MatMul, Workload};

/// Refuses cube work in types that the part's cube does not multiply, or does not make of them.
pub(crate) fn check_types(workload: &Workload, soc: &Soc) -> Result<()> {
    use DataType::{Bfloat16, Float, Float8E4m3fn, Float8E5m2, Float16, Hifloat8, Int4, Int8, Int32, Qint8, Quint8};
    use DataType::{Qint32, Uint8};
    const WHOLE: &[DataType] = &[Int4, Int8, Qint8, Quint8, Uint8];
    const EIGHT_BIT_FLOATS: &[DataType] = &[Float8E4m3fn, Float8E5m2, Hifloat8];
    let Some(shape) = workload.cube() else { return Ok(()) };
    let (read, written) = (shape.dtype, shape.out_dtype);
    let first = matches!(soc.arch, Arch::C100 | Arch::M200);
    let multiplied = match read {
        Float16 | Float => true,
        Bfloat16 => !first,
        eight_bit if EIGHT_BIT_FLOATS.contains(&eight_bit) => soc.arch == Arch::C310,
        other => WHOLE.contains(&other),
    };
    if !multiplied {
        return Err(wrong(format!("the cube unit of {} does not multiply {}", soc.name, read.name())));
    }
    // Results are rounded or quantised on their way out; only whole numbers add up to whole ones.
    let made = match written {
        Float16 | Bfloat16 | Float => true,
        Int32 | Qint32 => WHOLE.contains(&read),
        other => WHOLE.contains(&other) || EIGHT_BIT_FLOATS.contains(&other),
    };
    if made {
        return Ok(());
    }
    Err(wrong(format!("a product of {} does not give {}", read.name(), written.name())))
}

/// Refuses work whose tensors are larger than the device's memory.
pub(super) fn check_memory(op: &str, needed: u128, soc: &Soc) -> Result<()> {
    if soc.memory_size == 0 || needed <= u128::from(soc.memory_size) {
        return Ok(());
    }
    let reason = format!("its tensors need {needed} bytes, {} has {} of device memory", soc.name, soc.memory_size);
    Err(Error::Workload { workload: op.to_owned(), reason })
}

/// Bytes of a product's operands and results.
pub(super) fn matmul_bytes(w: &MatMul) -> u128 {
    let size = |batch: u64, rows: u64, columns: u64, dtype: DataType| {
        u128::from(batch) * u128::from(rows) * u128::from(columns) * u128::from(dtype.bits()) / 8
    };
    let batch = |shared: bool| if shared { 1 } else { w.batch };
    size(batch(w.a_shared), w.m, w.k, w.dtype)
        + size(batch(w.b_shared), w.k, w.n, w.dtype)
        + size(w.batch, w.m, w.n, w.out_dtype)
}
