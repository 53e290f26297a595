//! A kernel as a tuning has it, field by field: what [`canonical_json`] writes, and the case around it.

use super::limits::{check_memory, matmul_bytes};
use super::{MAX_ELEMENTS, MAX_EXTENT, wrong};
use crate::soc::Soc;
use crate::status::Result;
use crate::workload::{Operand, Schedule, Workload, canonical_json};
use serde_json::{Map, Value, json};

/// The case of a kernel, with the bytes that it finds in device memory where what ran before it decides that: answered,
/// it has the time that the network counts for one launch.
pub fn case(id: &Value, workload: &Workload, missed: Option<f64>, schedule: Option<&Schedule>) -> Value {
    let mut case = json!({"id": id, "op": workload.op_type(), "workload": canonical_json(workload)});
    if let Some(schedule) = schedule {
        case["schedule"] = json!(schedule);
    }
    if let Some(missed) = missed {
        case["missed_bytes"] = json!(missed);
    }
    case
}

/// Reads a kernel so written. Fails where a field is missing or no tensor can be so large.
pub(super) fn workload(written: &Map<String, Value>, soc: &Soc) -> Result<Workload> {
    let workload = crate::bank::inspect::exact_workload(written).map_err(|e| wrong(format!("`workload`: {e}")))?;
    check_memory(workload.op_type(), check(&workload)?, soc)?;
    Ok(workload)
}

/// Bytes of its tensors; fails where a size cannot be.
fn check(workload: &Workload) -> Result<u128> {
    let extents = |sizes: &[u64]| match sizes.iter().find(|&&size| size > MAX_EXTENT) {
        Some(size) => Err(wrong(format!("`workload`: {size} is more than {MAX_EXTENT}"))),
        None => Ok(()),
    };
    match workload {
        Workload::MatMul(w) => extents(&[w.batch, w.m, w.k, w.n]).map(|()| matmul_bytes(w)),
        Workload::Conv(w) => {
            extents(&[w.batch, w.cin, w.hi, w.wi, w.cout, w.ho, w.wo, w.kh, w.kw, w.groups])?;
            extents(&[w.stride, w.dilation].concat())?;
            extents(&w.pads)?;
            let result = [w.batch, w.cout, w.ho, w.wo].iter().fold(1u128, |n, &d| n.saturating_mul(d.into()));
            Ok(result.saturating_mul(w.out_dtype.bits().into()) / 8)
        }
        Workload::Collective(w) => Ok(w.bytes.into()),
        Workload::Fused(parts) => parts.iter().map(check).try_fold(0u128, |most, bytes| Ok(most.max(bytes?))),
        Workload::Vector(_) | Workload::Reduce(_) | Workload::Move(_) => {
            if let Workload::Reduce(w) = workload
                && [w.outer, w.axis, w.inner].iter().any(|&n| n > MAX_ELEMENTS)
            {
                return Err(wrong(format!("`workload`: {w} has more than {MAX_ELEMENTS} elements")));
            }
            let (inputs, outputs) = workload.operands().unwrap_or_default();
            inputs.iter().chain(outputs).map(bytes).try_fold(0u128, |sum, bytes| Ok(sum + u128::from(bytes?)))
        }
    }
}

fn bytes(operand: &Operand) -> Result<u64> {
    if operand.elements() > MAX_ELEMENTS {
        return Err(wrong(format!("`workload`: {:?} has more than {MAX_ELEMENTS} elements", operand.shape)));
    }
    Ok(operand.bytes())
}
