//! Data movement: what is touched and how much of it lies together.

use super::{Case, op, shapes};
use crate::graph::{Attr, DataType};
use crate::lower::Settings;
use crate::workload::{Move, Workload};

#[track_caller]
fn moved(case: Case) -> Move {
    match case.one() {
        Workload::Move(m) => m,
        other => panic!("{other:?}"),
    }
}

#[test]
fn transposes_keep_the_axes_that_move() {
    let m = moved(op("Transpose").x(&[8, 128, 12, 64]).ints(&[0, 2, 1, 3]));
    assert_eq!((shapes(&m.inputs), shapes(&m.outputs)), (vec![vec![8, 128, 12, 64]], vec![vec![8, 12, 128, 64]]));
    assert_eq!(m.run_bytes, 128, "64 float16 stay together");
    let m = moved(op("Transpose").x(&[2, 3, 4, 5]).ints(&[2, 3, 0, 1]));
    assert_eq!(
        (shapes(&m.outputs), m.run_bytes),
        (vec![vec![20, 6]], 160),
        "blocks turned over, of rows that fill none"
    );
    let closed = Settings { ge_closed: true, ..Settings::default() };
    let unmoved = || op("Transpose").x(&[2, 1, 3]).ints(&[1, 0, 2]);
    assert_eq!(unmoved().on("Ascend910B2", Settings::default()).unwrap(), []);
    assert_eq!(unmoved().on("Ascend910B2", closed).unwrap().len(), 1);
}

#[test]
fn joining_copies_rows() {
    let m = moved(op("ConcatD").x(&[8, 64, 7, 7]).x(&[8, 32, 7, 7]).set("concat_dim", Attr::Int(1)));
    assert_eq!(shapes(&m.inputs), [vec![8, 64 * 49], vec![8, 32 * 49]]);
    assert_eq!((shapes(&m.outputs), m.run_bytes), (vec![vec![8, 96 * 49]], 32 * 49 * 2));
    let m = moved(op("ConcatD").x(&[4, 8]).x(&[2, 8]).set("concat_dim", Attr::Int(0)));
    assert_eq!(m.run_bytes, 0, "whole tensors one behind the other");
    let m = moved(op("ConcatD").x(&[4, 0]).x(&[4, 8]).set("concat_dim", Attr::Int(1)));
    assert_eq!(m.inputs.len(), 1, "a tensor without elements is not read");
}

#[test]
fn splitting_copies_rows() {
    let m = moved(op("SplitVD").x(&[4, 10]).list("size_splits", &[4, 6]).set("split_dim", Attr::Int(1)).outputs(2));
    assert_eq!((shapes(&m.outputs), m.run_bytes), (vec![vec![4, 4], vec![4, 6]], 8));
    let m = moved(op("SplitD").x(&[4, 10]).set("split_dim", Attr::Int(0)).outputs(2));
    assert_eq!((shapes(&m.outputs), m.run_bytes), (vec![vec![20], vec![20]], 0));
}

#[test]
fn slices_read_only_what_they_take() {
    let slice = |axis: i64, begin: i64, end: i64, step: i64| {
        moved(op("StridedSliceV2").x(&[16, 32, 8]).ints(&[begin]).ints(&[end]).ints(&[axis]).ints(&[step]))
    };
    let front = slice(0, 2, 6, 1);
    assert_eq!((shapes(&front.inputs), front.run_bytes), (vec![vec![1024]], 0));
    assert_eq!(slice(1, 0, 4, 1).run_bytes, 4 * 8 * 2);
    assert_eq!(slice(2, 0, 4, 1).run_bytes, 8);
    assert_eq!(slice(2, 0, 8, 2).run_bytes, 2);
    assert_eq!(slice(1, 0, 32, 2).run_bytes, 16);
}

#[test]
fn gathers_read_only_the_rows_they_pick() {
    let m = moved(op("GatherV2").w(&[30522, 768]).typed(DataType::Int64, &[8, 128]).ints(&[0]));
    assert_eq!(shapes(&m.inputs), [vec![1024 * 768], vec![1024]]);
    assert_eq!((shapes(&m.outputs), m.run_bytes), (vec![vec![1024 * 768]], 768 * 2));
    let m = moved(op("GatherElements").x(&[8, 8]).typed(DataType::Int64, &[8, 4]).set("dim", Attr::Int(1)));
    assert_eq!(m.run_bytes, 2);
}

#[test]
fn other_movements_touch_every_tensor_once() {
    let m = moved(op("PadV3").x(&[4, 8]).ints(&[0, 1, 0, 1]));
    assert_eq!((shapes(&m.inputs), shapes(&m.outputs), m.run_bytes), (vec![vec![32]], vec![vec![40]], 16));
    let m = moved(op("Tile").x(&[4, 8]).ints(&[2, 1]));
    assert_eq!((shapes(&m.outputs), m.run_bytes), (vec![vec![64]], 64));
    let m = moved(op("TransData").x(&[1, 3, 8, 8]).text("dst_format", "NC1HWC0"));
    assert_eq!(m.run_bytes, 32);
    let m = moved(op("TensorMove").x(&[4, 8]));
    assert_eq!(m.run_bytes, 0);
}
