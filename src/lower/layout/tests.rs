//! What a view moves and what it does not, by the elements themselves.

use super::DeviceLayout::{self, Channels, Fractals, Plain};
use super::{EDGE, stored_groups};
use crate::graph::infer::conv::Convolution;
use crate::graph::infer::{Call, Values};
use crate::graph::op::ConvPass;
use crate::graph::{Attr, Constant, DataType, Format, Graph, Node, Shape, TensorDesc};
use proptest::prelude::*;

/// The elements of a tensor in the order in which they lie on the device, padding as `None`.
fn placed(layout: DeviceLayout, dims: &[i64]) -> Vec<Option<i64>> {
    let padded = |n: i64| (n + EDGE - 1) / EDGE * EDGE;
    let element = |at: &[i64]| {
        let inside = at.iter().zip(dims).all(|(at, size)| at < size);
        inside.then(|| at.iter().zip(dims).fold(0, |sum, (at, size)| sum * size + at))
    };
    let mut elements = Vec::new();
    match layout {
        Plain => elements.extend((0..dims.iter().product::<i64>()).map(Some)),
        Channels(axis) => {
            // Batch, depth where there is one, blocks of channels, the rest of the space, channels of a block.
            let space: Vec<usize> = (1..dims.len()).filter(|&a| a != axis).collect();
            let (depth, rest) = space.split_at(usize::from(dims.len() == 5));
            let count = |axes: &[usize]| axes.iter().map(|&a| dims[a]).product::<i64>();
            for place in 0..dims[0] * count(depth) * padded(dims[axis]) * count(rest) {
                let mut at = vec![0; dims.len()];
                let (mut left, lane) = (place / EDGE, place % EDGE);
                let mut take = |size: i64| {
                    let digit = left % size;
                    left /= size;
                    digit
                };
                for &a in rest.iter().rev() {
                    at[a] = take(dims[a]);
                }
                at[axis] = take(padded(dims[axis]) / EDGE) * EDGE + lane;
                for &a in depth {
                    at[a] = take(dims[a]);
                }
                at[0] = take(dims[0]);
                elements.push(element(&at));
            }
        }
        Fractals => {
            let [stacks @ .., rows, columns] = dims else { panic!("{dims:?}") };
            let (tall, wide) = (padded(*rows), padded(*columns));
            for place in 0..stacks.iter().product::<i64>() * tall * wide {
                let (stack, within) = (place / (tall * wide), place % (tall * wide));
                let (block, within) = (within / (tall * EDGE), within % (tall * EDGE));
                let (row, column) = (within / EDGE, block * EDGE + within % EDGE);
                let inside = row < *rows && column < *columns;
                elements.push(inside.then(|| (stack * rows + row) * columns + column));
            }
        }
    }
    elements
}

/// Sizes with the same number of elements: parts of `factors`, in order.
fn grouped(factors: &[i64], cuts: u32, most: usize) -> Vec<i64> {
    let mut dims = vec![1];
    for (bit, &factor) in factors.iter().enumerate() {
        if bit > 0 && cuts & 1 << bit != 0 && dims.len() < most {
            dims.push(1);
        }
        *dims.last_mut().unwrap() *= factor;
    }
    dims
}

proptest! {
    #[test]
    fn what_is_free_moves_no_byte(
        factors in prop::collection::vec(prop::sample::select(vec![1i64, 2, 3, 16]), 2..7),
        cuts in any::<[u32; 2]>(), which in 0..4usize,
    ) {
        let [from, to] = cuts.map(|cuts| grouped(&factors, cuts, 5));
        let layout = match which {
            0 => Plain,
            1 => Channels(1),
            2 => Channels(from.len() - 1),
            _ => Fractals,
        };
        let exists = match layout {
            Plain => true,
            Channels(_) => from.len() >= 3,
            Fractals => from.len() >= 2,
        };
        if exists {
            let desc = TensorDesc::new(DataType::Float16, Shape::new(&from[..]));
            let stored = layout.stored(&desc, DataType::Float16).unwrap();
            prop_assert_eq!(stored.iter().product::<i64>(), placed(layout, &from).len() as i64);
            // Each axis is in the sizes that are said to be of it, filled up where it is blocked.
            let axes: Vec<usize> = (0..from.len()).collect();
            let origins = layout.along_stored(&axes);
            prop_assert_eq!(origins.len(), stored.len());
            for axis in axes {
                let of = stored.iter().zip(&origins).filter(|(_, origin)| **origin == axis);
                let fills = if layout.blocked(from.len()).contains(&axis) { EDGE } else { 1 };
                let size = (from[axis] + fills - 1) / fills * fills;
                prop_assert_eq!(of.map(|(size, _)| size).product::<i64>(), size, "axis {} of {:?}", axis, from);
            }
        }
        if let Some(seen) = layout.viewed(&from, &to).filter(|_| exists) {
            prop_assert_eq!(placed(layout, &from), placed(seen, &to), "{:?}: {:?} as {:?}", layout, from, to);
        }
    }
}

fn desc(format: Format, dims: &[i64]) -> TensorDesc {
    TensorDesc { format, ..TensorDesc::new(DataType::Float16, Shape::new(dims)) }
}

#[test]
fn sizes_are_those_of_canns_formats() {
    let image = desc(Format::Nchw, &[2, 40, 7, 9]);
    assert_eq!(Channels(1).stored(&image, DataType::Float16).unwrap(), [2, 3, 7, 9, 16]);
    assert_eq!(Channels(1).stored(&image, DataType::Int8).unwrap(), [2, 2, 7, 9, 32]);
    let volume = desc(Format::Ndhwc, &[2, 5, 7, 9, 40]);
    assert_eq!(Channels(4).stored(&volume, DataType::Float16).unwrap(), [2, 5, 3, 7, 9, 16]);
    let matrices = desc(Format::Nd, &[4, 20, 100]);
    assert_eq!(Fractals.stored(&matrices, DataType::Float16).unwrap(), [4, 7, 2, 16, 16]);
    let filter =
        |axis, format, dims: &[i64]| Channels(axis).stored_filter(&desc(format, dims), DataType::Float16).unwrap();
    assert_eq!(filter(1, Format::Nchw, &[64, 40, 3, 5]), [45, 4, 16, 16]);
    assert_eq!(filter(1, Format::Dhwcn, &[2, 3, 5, 40, 64]), [90, 4, 16, 16]);
    assert_eq!(filter(1, Format::Nd, &[64, 40, 3, 5]), [45, 4, 16, 16]);
    assert_eq!(filter(3, Format::Nd, &[3, 5, 40, 64]), [45, 4, 16, 16]);
}

#[test]
fn filters_of_groups_share_blocks_until_their_channels_fill_them() {
    // [groups, channels of an image, filters, taps of an axis] as CANN stores them.
    let sizes = |groups: i64, channels: i64, filters: i64, kernel: i64| {
        let mut graph = Graph::new("g");
        let of = |dims: &[i64]| desc(Format::Nchw, dims);
        let x = graph.add_input("x", of(&[1, channels, 8, 8])).unwrap();
        let filter = [filters, channels / groups, kernel, kernel];
        let filter = graph.add_const("f", of(&filter), Constant::Opaque).unwrap();
        let mut node = Node::new("c", "Conv2D").with_inputs([x, filter]);
        let [strides, pads] = [1, 1].map(|n| Attr::Ints(vec![n; 4]));
        let attrs = [("strides", strides), ("pads", pads), ("groups", Attr::Int(groups))];
        for (name, value) in attrs {
            node.attrs.set(name, value);
        }
        let id = graph.add(node).unwrap();
        let values = Values::default();
        let call = Call::new(&graph, graph.node(id), &values);
        let read = Convolution::of(&call, ConvPass::Forward).unwrap().unwrap();
        stored_groups(&read, DataType::Float16).unwrap()
    };
    // Sixteen groups of one channel fill a block; the last of five are eight.
    assert_eq!(sizes(72, 72, 72, 3), [5 * 9, 1, 16, 16]);
    // AlexNet: 48 channels are three blocks, and 128 filters eight.
    assert_eq!(sizes(2, 96, 256, 5), [2 * 3 * 25, 8, 16, 16]);
    // Four groups of 12 channels and 20 filters: 48 and 80.
    assert_eq!(sizes(8, 96, 160, 3), [2 * 3 * 9, 5, 16, 16]);
    // There are no more than three groups: 36 channels of 48, 60 filters of 64.
    assert_eq!(sizes(3, 36, 60, 1), [3, 4, 16, 16]);
}

#[test]
fn views_are_told_apart() {
    let free = |layout: DeviceLayout, from: &[i64], to: &[i64]| layout.viewed(from, to).is_some();
    assert!(free(Channels(1), &[2, 64, 14, 14], &[2, 64, 196, 1]));
    assert!(!free(Channels(1), &[2, 64, 14, 14], &[2, 64 * 196]));
    assert!(!free(Channels(1), &[2, 64, 14, 14], &[1, 128, 14, 14]));
    assert!(!free(Channels(1), &[2, 64, 3, 4, 4], &[2, 64, 12, 4]));
    assert_eq!(Channels(3).viewed(&[2, 14, 14, 64], &[2, 196, 64]), Some(Channels(2)));
    assert!(free(Fractals, &[4, 32, 128], &[2, 2, 32, 128]));
    assert!(!free(Fractals, &[4, 32, 128], &[128, 128]));
    assert!(free(Plain, &[4, 32, 128], &[7]));
}
