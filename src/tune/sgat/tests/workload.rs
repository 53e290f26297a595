//! What a fused kernel does: each tensor that crosses its border is moved once, the others not at all.

use super::{Plan, Sketch, with_network};
use crate::soc::Soc;
use crate::tune::sgat::scope;
use crate::workload::{Operand, Workload};
use std::borrow::Cow;

/// Relu, Sigmoid, Add, Mul, `MatMulV2` by number, on tensors of 8 rows of 64.
fn fused(plans: &[(usize, [usize; 2])], outputs: &[usize], members: &[u32], parts: u64) -> Option<Workload> {
    let plans = plans.iter().map(|&(op, reads)| Plan { op, reads }).collect();
    let sketch = Sketch { batch: 4, columns: 64, plans, outputs: outputs.to_vec() };
    let soc = Soc::find("Ascend310P3").unwrap();
    with_network(&sketch, &soc, |_, _, network| scope::workload(network, members, parts).map(Cow::into_owned))
}

/// Bytes that the first piece reads and writes.
fn moved(work: &Workload) -> [u64; 2] {
    let Workload::Fused(pieces) = work else { panic!("{work}") };
    let Workload::Vector(head) = &pieces[0] else { panic!("{work}") };
    let bytes = |operands: &[Operand]| operands.iter().map(Operand::bytes).sum();
    [bytes(&head.inputs), bytes(&head.outputs)]
}

const TENSOR: u64 = 8 * 64 * 2;

#[test]
fn a_tensor_that_two_members_read_is_fetched_once() {
    // x * sigmoid(x)
    let silu = fused(&[(1, [0, 0]), (3, [0, 1])], &[2], &[0, 1], 1).unwrap();
    assert_eq!(moved(&silu), [TENSOR, TENSOR]);
}

#[test]
fn what_passes_between_members_is_not_moved_and_what_leaves_is() {
    let chain = [(0, [0, 0]), (1, [1, 1]), (0, [2, 2])];
    assert_eq!(moved(&fused(&chain, &[3], &[0, 1, 2], 1).unwrap()), [TENSOR, TENSOR]);
    assert_eq!(moved(&fused(&chain, &[3, 2], &[0, 1, 2], 1).unwrap()), [TENSOR, 2 * TENSOR]);
    // A member's result that a kernel outside reads goes out too.
    assert_eq!(moved(&fused(&chain, &[3], &[0, 1], 1).unwrap()), [TENSOR, TENSOR]);
}

#[test]
fn operands_from_outside_come_in() {
    // Relu of one kernel, plus the result of another that is no member.
    let plans = [(1, [0, 0]), (0, [0, 0]), (2, [1, 2])];
    assert_eq!(moved(&fused(&plans, &[3], &[1, 2], 1).unwrap()), [2 * TENSOR, TENSOR]);
}

#[test]
fn behind_a_cube_the_operands_of_the_epilogue_are_its_own() {
    // matmul(x) + x: what the product reads goes elsewhere, so x is read again.
    let work = fused(&[(4, [0, 0]), (2, [0, 1])], &[2], &[0, 1], 1).unwrap();
    let Workload::Fused(pieces) = &work else { panic!("{work}") };
    assert!(matches!(pieces[0], Workload::MatMul(_)));
    let Workload::Vector(add) = &pieces[1] else { panic!("{work}") };
    // Beside a product in fractals, of which eight rows fill a half.
    assert_eq!(add.inputs.iter().map(Operand::bytes).collect::<Vec<_>>(), [2 * TENSOR, 2 * TENSOR]);
}

#[test]
fn a_part_of_the_batch_moves_its_share() {
    let silu = fused(&[(1, [0, 0]), (3, [0, 1])], &[2], &[0, 1], 4).unwrap();
    assert_eq!(moved(&silu), [TENSOR / 4, TENSOR / 4]);
}
