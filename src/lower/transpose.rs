//! Transposes, as kernels do them: rows where the last axis stays, else square blocks turned over in UB.

use super::collapse;
use crate::graph::DataType;
use crate::soc::{Arch, Soc};
use crate::workload::{Move, Operand};

/// Bytes of a block of UB, what rows are padded to there.
const UB_BLOCK: u64 = 32;
/// Shortest rows that are copied as they lie; shorter ones are turned over in UB with what is around them
/// (CANN's transpose tiling: four blocks).
const SHORTEST_ROW: u64 = 4 * UB_BLOCK;
/// Contiguous bytes that a tile of turned blocks reads and writes at once: sixteen blocks of UB.
const TURNED_RUN: u64 = 16 * UB_BLOCK;
/// The same where rows fill no whole blocks of UB, so that each passes alone: measured on the 910B2, where
/// [2049, 513] float16 takes 22.7 us, [1009, 1021] float32 33.1 us and [133221, 373] int32 651 us.
const ODD_TURNED_RUN: u64 = 5 * UB_BLOCK;

/// A transpose of a tensor of these sizes; `order` are the axes of the result, each once.
pub fn transposed(op_type: &str, dims: &[u64], order: &[usize], dtype: DataType, soc: &Soc) -> Move {
    let (sizes, order) = collapse::transpose(dims, order);
    let moved: Vec<u64> = order.iter().map(|&axis| sizes[axis]).collect();
    let row = |sizes: &[u64]| sizes.last().map_or(0, |&n| n.saturating_mul(u64::from(dtype.bits())).div_ceil(8));
    let run_bytes = match order.last() {
        _ if order.len() <= 1 => 0,
        Some(&last) if last + 1 == sizes.len() => row(&sizes).max(SHORTEST_ROW),
        _ => turned_run(row(&sizes), row(&moved), dtype, soc),
    };
    let whole = |sizes: Vec<u64>| Operand::new(if sizes.is_empty() { vec![1] } else { sizes }, dtype);
    Move { op_type: op_type.to_owned(), run_bytes, inputs: vec![whole(sizes)], outputs: vec![whole(moved)] }
}

/// Bytes that stay together where the last axis moves; `read` and `written` are the bytes of the rows.
fn turned_run(read: u64, written: u64, dtype: DataType, soc: &Soc) -> u64 {
    // The vector unit of the first generation turns blocks of 16-bit elements; others move one by one (910A:
    // float32 of [32, 255, 6400] takes 8 ms, four cycles for each element).
    if matches!(soc.arch, Arch::C100 | Arch::M200) && dtype.bits() != 16 {
        return u64::from(dtype.bits()).div_ceil(8);
    }
    let whole_blocks = read.is_multiple_of(UB_BLOCK) && written.is_multiple_of(UB_BLOCK);
    if whole_blocks { TURNED_RUN } else { ODD_TURNED_RUN }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(dims: &[u64], order: &[usize], dtype: DataType, soc: &str) -> u64 {
        transposed("Transpose", dims, order, dtype, &Soc::find(soc).unwrap()).run_bytes
    }

    #[test]
    fn rows_that_stay_are_copied_whole_and_others_turned_in_blocks() {
        let heads = [8, 128, 12, 64];
        assert_eq!(run(&heads, &[0, 2, 1, 3], DataType::Float16, "Ascend910B2"), 128);
        assert_eq!(run(&[8, 128, 12, 256], &[0, 2, 1, 3], DataType::Float16, "Ascend910B2"), 512);
        assert_eq!(run(&heads, &[0, 2, 3, 1], DataType::Float16, "Ascend910B2"), TURNED_RUN);
        assert_eq!(run(&[2049, 513], &[1, 0], DataType::Float16, "Ascend910B2"), ODD_TURNED_RUN);
        assert_eq!(run(&[8, 128, 2], &[1, 0, 2], DataType::Float, "Ascend910B2"), SHORTEST_ROW);
    }

    #[test]
    fn the_first_generation_turns_blocks_of_16_bit_elements_only() {
        for soc in ["Ascend910A", "Ascend310P3"] {
            assert_eq!(run(&[128, 768], &[1, 0], DataType::Float16, soc), TURNED_RUN);
            assert_eq!(run(&[128, 768], &[1, 0], DataType::Float, soc), 4);
        }
    }

    #[test]
    fn what_moves_no_byte_stays_together() {
        assert_eq!(run(&[2, 1, 3], &[1, 0, 2], DataType::Float16, "Ascend910B2"), 0);
        assert_eq!(run(&[1, 1], &[1, 0], DataType::Float16, "Ascend910B2"), 0);
    }
}
