//! Kernels that take, write or add rows where an index says, from their names and operands.

use crate::workload::{Move, Operand};

/// Names that begin the operators which do so.
const BY_INDEX: &[&str] = &[
    "Gather",
    "Embedding",
    "UnsortedSegment",
    "Scatter",
    "IndexSelect",
    "SegmentSum",
    "TensorScatter",
    "IndexPut",
    "InplaceUpdate",
    "InplaceScatter",
    "InplaceIndexAdd",
];
/// Names that begin the operators which bring rows of tokens to experts and back.
const ROUTED: &[&str] =
    &["MoeFinalizeRouting", "MoeInitRouting", "MoeTokenUnpermute", "MoeTokenPermute", "MoeReRouting"];

/// The movement of such a kernel; `None` for other operators.
pub(super) fn movement(op: &str, inputs: &[Operand], outputs: &[Operand]) -> Option<Move> {
    let is = |names: &[&str]| names.iter().any(|n| op.starts_with(n));
    if is(ROUTED) {
        return Some(routed(op, inputs, outputs));
    }
    if !is(BY_INDEX) && op != "Index" {
        return None;
    }
    Some(written(op, inputs, outputs).unwrap_or_else(|| taken(op, inputs, outputs)))
}

/// Whether an operand says where: whole numbers of 32 or 64 bits.
fn is_index(o: &Operand) -> bool {
    !o.dtype.is_float() && o.dtype.bits() >= 32
}

/// Whether an operator writes into a tensor that it is given, or into a copy of it.
fn writes(op: &str) -> bool {
    ["Scatter", "TensorScatter", "IndexPut", "Inplace"].iter().any(|n| op.starts_with(n))
}

/// Rows written into a tensor: where the tensor itself is the result, nothing else of it is touched. Kernels that give
/// another tensor (`TensorScatterUpdate`, `ScatterElements`, `ScatterNd`) write all of that besides.
fn written(op: &str, inputs: &[Operand], outputs: &[Operand]) -> Option<Move> {
    if !writes(op) {
        return None;
    }
    let fresh = op == "ScatterNd" || op == "ScatterNdD";
    // Of caches only the rows are left here: see `leave_in_place`.
    let alone = fresh || op.contains("Cache");
    let into = if alone { None } else { Some(inputs.first()?) };
    let brought = &inputs[usize::from(!alone)..];
    // The index comes before what is written, which may be whole numbers too; lists of indices come behind it.
    let mut indices = brought.iter().filter(|o| is_index(o));
    let index = if op.starts_with("IndexPut") { indices.max_by_key(|o| o.elements()) } else { indices.next() }?;
    let update = brought.iter().filter(|o| !std::ptr::eq(*o, index)).max_by_key(|o| o.bytes())?;
    let depth =
        if op.contains("Nd") || op.starts_with("Tensor") { index.shape.last().copied().unwrap_or(1) } else { 1 };
    let rows = (index.elements() / depth.max(1)).max(1);
    let run_bytes = (update.bytes() / rows).max(1);
    let adds = ["Add", "Sub", "Mul", "Div", "Max", "Min"].iter().any(|n| op.contains(n));
    let mut moved = (vec![update.clone(), index.clone()], vec![update.clone()]);
    if adds {
        moved.0.push(update.clone());
    }
    let copied = fresh || op.starts_with("TensorScatter") || op == "ScatterElements";
    if copied {
        moved.0.extend(into.cloned());
        moved.1.extend(outputs.first().cloned());
    }
    // Runs are counted on the largest operand.
    let largest = moved.0.iter().chain(&moved.1).map(Operand::bytes).max().unwrap_or(0);
    let scaled = (largest as f64 / update.bytes().max(1) as f64 * run_bytes as f64).ceil() as u64;
    Some(Move { op_type: op.to_owned(), run_bytes: scaled.max(1), inputs: moved.0, outputs: moved.1 })
}

/// Rows taken by index, or rows that are all added up where an index says: only those are read, each on its own.
fn taken(op: &str, inputs: &[Operand], outputs: &[Operand]) -> Move {
    let sums =
        !(op.starts_with("Gather") || op.starts_with("Embedding") && !op.contains("Grad") || op.starts_with("Index"));
    // A table of whole numbers is no index: that comes behind it.
    let behind = inputs.iter().skip(1).filter(|o| is_index(o)).max_by_key(|o| o.elements());
    let indices = behind.or_else(|| inputs.iter().filter(|o| !o.dtype.is_float()).max_by_key(|o| o.elements()));
    let moved = if sums { inputs.first() } else { outputs.first() };
    let (Some(moved), Some(indices)) = (moved, indices) else {
        return Move { op_type: op.to_owned(), run_bytes: 0, inputs: inputs.to_vec(), outputs: outputs.to_vec() };
    };
    let row = moved.bytes() / indices.elements().max(1);
    // Rows that are taken again come from L2 or UB.
    let table = inputs.first().filter(|table| !sums && table.bytes() <= moved.bytes()).unwrap_or(moved);
    Move {
        op_type: op.to_owned(),
        run_bytes: row.max(1),
        inputs: vec![table.clone(), indices.clone()],
        outputs: vec![moved.clone()],
    }
}

/// Rows of tokens that change places between tokens and experts; rows of one expert lie together on the way there.
fn routed(op: &str, inputs: &[Operand], outputs: &[Operand]) -> Move {
    let row =
        inputs.first().map_or(0, |x| x.bytes() / (x.elements() / x.shape.last().copied().unwrap_or(1).max(1)).max(1));
    let run_bytes = if op.starts_with("MoeReRouting") { 0 } else { row };
    Move { op_type: op.to_owned(), run_bytes, inputs: inputs.to_vec(), outputs: outputs.to_vec() }
}

/// Takes caches out of the operands of a kernel that writes rows into them: tensors that it is given and gives back, and
/// that are larger than all that it brings. What it brings is written there.
pub(super) fn leave_in_place(inputs: &mut Vec<Operand>, outputs: &mut Vec<Operand>) {
    let in_place = |x: &Operand| outputs.contains(x);
    let brought = inputs.iter().filter(|x| !in_place(x)).max_by_key(|x| x.bytes()).cloned();
    let Some(brought) = brought else { return };
    let caches: Vec<Operand> = inputs.iter().filter(|x| in_place(x) && x.bytes() > brought.bytes()).cloned().collect();
    if caches.is_empty() {
        return;
    }
    inputs.retain(|x| !caches.contains(x));
    outputs.retain(|y| !caches.contains(y));
    outputs.push(brought);
}

#[cfg(test)]
mod tests {
    use super::{leave_in_place, movement};
    use crate::graph::DataType;
    use crate::workload::Operand;

    fn half(shape: &[u64]) -> Operand {
        Operand::new(shape, DataType::Float16)
    }

    fn index(shape: &[u64]) -> Operand {
        Operand::new(shape, DataType::Int64)
    }

    fn bytes(operands: &[Operand]) -> u64 {
        operands.iter().map(Operand::bytes).sum()
    }

    #[test]
    fn what_is_written_in_place_leaves_the_rest_of_the_tensor_alone() {
        let (cache, update) = (half(&[8, 65536, 128]), half(&[8, 1, 128]));
        let operands = [cache.clone(), index(&[8]), update.clone()];
        let moved = movement("ScatterUpdate", &operands, std::slice::from_ref(&cache)).unwrap();
        assert_eq!(bytes(&moved.outputs), update.bytes());
        assert!(bytes(&moved.inputs) < 2 * update.bytes());
        let copied = movement("TensorScatterUpdate", &operands, std::slice::from_ref(&cache)).unwrap();
        assert!(bytes(&copied.outputs) > cache.bytes() && bytes(&copied.inputs) > cache.bytes());
    }

    #[test]
    fn a_table_of_whole_numbers_is_no_index() {
        let numbers = |shape: &[u64], dtype| Operand::new(shape, dtype);
        for dtype in [DataType::Int8, DataType::Int32, DataType::Int64, DataType::Float] {
            let (table, rows) = (numbers(&[50_000, 1024], dtype), numbers(&[256, 1024], dtype));
            let taken = movement("GatherV2", &[table.clone(), index(&[256]), index(&[1])], std::slice::from_ref(&rows));
            assert_eq!(taken.unwrap().run_bytes, rows.bytes() / 256, "{dtype:?}");
            let added = movement(
                "UnsortedSegmentSum",
                &[rows.clone(), index(&[256]), index(&[1])],
                std::slice::from_ref(&table),
            );
            assert_eq!(added.unwrap().run_bytes, rows.bytes() / 256, "{dtype:?}");
            let written = movement("ScatterUpdate", &[table.clone(), index(&[256]), rows.clone()], &[table]).unwrap();
            assert_eq!((written.run_bytes, bytes(&written.outputs)), (rows.bytes() / 256, rows.bytes()), "{dtype:?}");
        }
    }

    #[test]
    fn a_new_tensor_of_few_rows_is_written_whole() {
        let (update, result) = (half(&[16, 64]), half(&[4096, 64]));
        let moved =
            movement("ScatterNd", &[index(&[16, 1]), update.clone(), index(&[2])], std::slice::from_ref(&result))
                .unwrap();
        assert_eq!(bytes(&moved.outputs), result.bytes() + update.bytes());
    }

    #[test]
    fn adding_reads_what_is_added_to() {
        let operands = [half(&[4096, 64]), index(&[16]), half(&[16, 64])];
        let price = |op: &str| bytes(&movement(op, &operands, &operands[..1]).unwrap().inputs);
        assert_eq!(price("ScatterAdd") - price("ScatterUpdate"), operands[2].bytes());
    }

    #[test]
    fn caches_are_no_traffic_of_a_kernel_that_writes_rows_into_them() {
        let (cache, rows) = (half(&[1024, 128, 1, 512]), half(&[32, 1, 1, 576]));
        let mut inputs = vec![rows.clone(), half(&[512]), index(&[32]), cache.clone()];
        let mut outputs = vec![cache.clone()];
        leave_in_place(&mut inputs, &mut outputs);
        assert_eq!((inputs.len(), outputs), (3, vec![rows]));
    }
}
