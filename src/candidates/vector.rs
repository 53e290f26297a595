//! A program of the vector unit: each core takes blocks, and works on a part of one at a time.

use super::buffers::Buffer;
use super::configuration::Configuration;
use crate::cases::largest_bytes;
use crate::soc::Soc;
use crate::workload::{Operand, Schedule, VectorSchedule, VectorTemplate, Workload};
use serde_json::{Value, json};

/// The tiling of a configuration, or the rule that it breaks. What the program says to hold in UB counts in place of
/// its operands.
pub(super) fn schedule(
    workload: &Workload,
    configuration: &Configuration,
    buffers: &[Buffer],
    soc: &Soc,
) -> Result<Value, String> {
    // Beside elements of a row that is reduced, a block is so many rows.
    let columns = match configuration.optional("columns") {
        Some(0) => return Err("rblock = 0 is no size: take the elements of a row, or leave it out".to_owned()),
        columns => columns.unwrap_or(1),
    };
    let [block, part] = {
        let block = configuration.size("block")?;
        [block, configuration.optional("sub").unwrap_or(block)].map(|size| size.saturating_mul(columns))
    };
    if part == 0 || part > block {
        return Err(format!("parts of {part} elements are none of a block of {block}: take from 1 to {block}"));
    }
    let (inputs, outputs) =
        workload.operands().ok_or("`case` is no kernel of the vector unit alone: ask for each of its kernels")?;
    let largest = inputs.iter().chain(outputs).max_by_key(|o| o.bytes()).ok_or("the case has no operands")?;
    let bytes_of = |operand: &Operand| part.saturating_mul(u64::from(operand.dtype.bits())).div_ceil(8);
    let count = configuration.buffers()?;
    if buffers.is_empty() {
        let full: Vec<&Operand> =
            inputs.iter().chain(outputs).filter(|o| o.elements().saturating_mul(2) >= largest.elements()).collect();
        let needed = full.iter().map(|o| bytes_of(o)).fold(0, u64::saturating_add).saturating_mul(count);
        if needed > soc.ub_size {
            return Err(format!(
                "UB needs {needed} bytes for {count} buffers of {} operands, {} has {}: take a smaller part, or fewer buffers",
                full.len(),
                soc.name,
                soc.ub_size
            ));
        }
    }
    let tile = bytes_of(largest);
    if tile == 0 || !tile.is_multiple_of(32) {
        return Err(format!("{part} elements are {tile} bytes, no positive multiple of 32: take a part that is one"));
    }
    let blocks = largest.elements().div_ceil(block).max(1);
    let cores = blocks.min(soc.vector_core_cnt.max(soc.ai_core_cnt).into()) as u32;
    let tile = tile.min(largest_bytes(workload).next_multiple_of(32));
    let ub_tile_bytes = u32::try_from(tile).map_err(|_| format!("{tile} bytes are too many for UB"))?;
    let template = match workload {
        Workload::Reduce(reduce) if reduce.axis.saturating_mul(reduce.inner) > part => VectorTemplate::Recompute,
        Workload::Reduce(_) => VectorTemplate::FullLoad,
        _ => VectorTemplate::Flat,
    };
    Ok(json!(Schedule::Vector(VectorSchedule { cores, ub_tile_bytes, double_buffer: count > 1, template })))
}
