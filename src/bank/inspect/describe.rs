//! Workloads and tilings in the few words that a table has room for.

use crate::graph::Format;
use crate::workload::{
    Conv, CubeSchedule, L1Tile, MatMul, Operand, Schedule, SplitK, VectorSchedule, VectorTemplate, Workload,
};
use std::fmt::Write as _;

/// Sizes and types of a workload: `128x1024x4096 float16, B transposed`. A product is m x k x n.
pub fn shapes(workload: &Workload) -> String {
    match workload {
        Workload::MatMul(w) => product(w),
        Workload::Conv(w) => conv(w),
        Workload::Vector(w) => tensors(&w.inputs, &w.outputs),
        Workload::Reduce(w) => tensors(&w.inputs, &w.outputs),
        Workload::Move(w) => tensors(&w.inputs, &w.outputs),
        Workload::Collective(w) => format!("{} bytes", w.bytes),
        Workload::Fused(parts) => parts.iter().map(shapes).collect::<Vec<_>>().join(" + "),
    }
}

/// A tiling: cores, L0 tile (m x n x k) and what of k lies in L1, or the vector kernel's tile.
pub fn tiling(schedule: &Schedule) -> String {
    match schedule {
        Schedule::Cube(s) => cube(s),
        Schedule::Vector(s) => vector(s),
    }
}

fn product(w: &MatMul) -> String {
    let mut text = if w.batch > 1 { format!("{}x ", w.batch) } else { String::new() };
    let _ = write!(text, "{}x{}x{} {}", w.m, w.k, w.n, w.dtype.name());
    if w.out_dtype != w.dtype {
        let _ = write!(text, "->{}", w.out_dtype.name());
    }
    let nz = |format| format == Format::FractalNz;
    for (holds, word) in [
        (w.trans_a, "tA"),
        (w.trans_b, "tB"),
        (nz(w.a_format), "A:NZ"),
        (nz(w.b_format), "B:NZ"),
        (w.bias, "bias"),
        (w.hf32, "hf32"),
    ] {
        if holds {
            let _ = write!(text, " {word}");
        }
    }
    text
}

fn conv(w: &Conv) -> String {
    // A volume's depth comes first, as in its shape.
    let along = |depth: Option<u64>, rest: [u64; 2]| {
        let sizes = depth.into_iter().chain(rest).map(|size| size.to_string());
        sizes.collect::<Vec<_>>().join("x")
    };
    let depth = w.depth;
    let [planes, taps] = depth.map_or([1, 1], |depth| [depth.output.max(1), depth.kernel.max(1)]);
    let mut text = format!(
        "{}x{}x{} * {}x{} -> {} {}",
        w.batch / planes,
        w.cin / taps,
        along(depth.map(|depth| depth.input), [w.hi, w.wi]),
        w.cout,
        along(depth.map(|depth| depth.kernel), [w.kh, w.kw]),
        along(depth.map(|depth| depth.output), [w.ho, w.wo]),
        w.dtype.name()
    );
    if w.stride != [1, 1] || depth.is_some_and(|depth| depth.stride != 1) {
        let _ = write!(text, " s{}", along(depth.map(|depth| depth.stride), w.stride));
    }
    if w.groups > 1 {
        let _ = write!(text, " g{}", w.groups);
    }
    if w.bias {
        text.push_str(" bias");
    }
    text
}

fn tensors(inputs: &[Operand], outputs: &[Operand]) -> String {
    format!("{} -> {}", operands(inputs), operands(outputs))
}

/// Operands one after the other, equal neighbours once with their number.
fn operands(operands: &[Operand]) -> String {
    let groups = operands.chunk_by(|a, b| a == b);
    let group = |group: &[Operand]| {
        let sizes = group[0].shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
        let sizes = if sizes.is_empty() { "scalar" } else { &sizes };
        let text = format!("{sizes} {}", group[0].dtype.name());
        if group.len() > 1 { format!("{} of {text}", group.len()) } else { text }
    };
    groups.map(group).collect::<Vec<_>>().join(", ")
}

fn cube(s: &CubeSchedule) -> String {
    let mut text = format!("{} cores {}x{}x{}", s.used_cores, s.l0.m, s.l0.n, s.l0.k_a);
    let panel = |tile: L1Tile| match tile {
        L1Tile::Full(_) => "full".to_owned(),
        L1Tile::Panel(p) if p.tiles == 1 => p.k.to_string(),
        L1Tile::Panel(p) => format!("{}x{}", p.k, p.tiles),
    };
    let _ = write!(text, " L1 {}/{}", panel(s.l1_a), panel(s.l1_b));
    text.push_str(match s.split_k {
        SplitK::None => "",
        SplitK::SingleCore => " k:one-core",
        SplitK::Deterministic => " k:ordered",
        SplitK::MultiCore => " k:atomic",
    });
    text
}

fn vector(s: &VectorSchedule) -> String {
    let template = match s.template {
        VectorTemplate::Flat => "flat",
        VectorTemplate::FullLoad => "full_load",
        VectorTemplate::Recompute => "recompute",
        VectorTemplate::SplitAxis => "split_axis",
    };
    let buffers = if s.double_buffer { "2x" } else { "" };
    format!("{} cores {buffers}{} B {template}", s.cores, s.ub_tile_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::DataType;
    use crate::workload::{ConvKind, Vector};

    #[test]
    fn workloads_are_told_by_sizes_types_and_what_is_special() {
        let product = MatMul { trans_b: true, b_format: Format::FractalNz, ..MatMul::new(128, 1024, 4096) };
        assert_eq!(shapes(&Workload::MatMul(product.clone())), "128x1024x4096 float16 tB B:NZ");
        let batched = MatMul { batch: 8, out_dtype: DataType::Float, ..MatMul::new(1, 2, 3) };
        assert_eq!(shapes(&Workload::MatMul(batched)), "8x 1x2x3 float16->float32");
        let operand = |shape: &[u64]| Operand::new(shape, DataType::Float16);
        let vector = Vector {
            op_type: "Add".into(),
            inputs: vec![operand(&[8, 4]), operand(&[8, 4]), operand(&[])],
            outputs: vec![operand(&[8, 4])],
        };
        assert_eq!(shapes(&Workload::Vector(vector)), "2 of 8x4 float16, scalar float16 -> 8x4 float16");
        let conv = Conv {
            ho: 28,
            wo: 28,
            stride: [2, 2],
            bias: true,
            format: Format::Nc1hwc0,
            ..Conv::image(ConvKind::Forward, 1, [64, 128], 56, 3)
        };
        let both = Workload::Fused(vec![Workload::Conv(conv), Workload::MatMul(product)]);
        assert_eq!(shapes(&both), "1x64x56x56 * 128x3x3 -> 28x28 float16 s2x2 bias + 128x1024x4096 float16 tB B:NZ");
    }

    #[test]
    fn tilings_are_told_by_cores_and_tiles() {
        let template = VectorTemplate::SplitAxis;
        let schedule = VectorSchedule { cores: 40, ub_tile_bytes: 8192, double_buffer: true, template };
        assert_eq!(tiling(&Schedule::Vector(schedule)), "40 cores 2x8192 B split_axis");
    }
}
