//! The words for works and tilings.

use super::super::{Judgement, Status, shapes, tiling};
use super::{image, volume};
use crate::graph::{DataType, Format};
use crate::workload::{
    Buffers, Collective, CollectiveKind, Conv, Cores, CubeSchedule, Extents, L0Tile, L1Tile, L2Tiling, LoopOrder,
    MatMul, Move, Operand, OutputPath, Reduce, Schedule, SplitK, VectorSchedule, VectorTemplate, Workload,
};

#[test]
fn what_is_special_of_a_work_is_said_and_nothing_else() {
    let product = |w: MatMul| shapes(&Workload::MatMul(w));
    let plain = MatMul::new(2, 3, 5);
    assert_eq!(product(plain.clone()), "2x3x5 float16");
    assert_eq!(product(MatMul { trans_a: true, ..plain.clone() }), "2x3x5 float16 tA");
    assert_eq!(product(MatMul { a_format: Format::FractalNz, ..plain.clone() }), "2x3x5 float16 A:NZ");
    assert_eq!(product(MatMul { bias: true, hf32: true, batch: 2, ..plain }), "2x 2x3x5 float16 bias hf32");
    let conv = |w: Conv| shapes(&Workload::Conv(w));
    let unit = Conv { stride: [1, 1], ..image() };
    assert_eq!(conv(unit.clone()), "2x48x56x40 * 128x3x5 -> 28x20 float16");
    assert_eq!(conv(Conv { stride: [1, 2], ..unit.clone() }), "2x48x56x40 * 128x3x5 -> 28x20 float16 s1x2");
    assert_eq!(conv(Conv { groups: 2, bias: true, ..unit }), "2x48x56x40 * 128x3x5 -> 28x20 float16 g2 bias");
    // Of a volume the planes and taps are counted by themselves.
    assert_eq!(conv(volume()), "2x16x11x56x40 * 128x3x3x5 -> 6x28x20 float16 s2x2x4");
    let mut deep = Conv { stride: [1, 1], ..volume() };
    assert_eq!(conv(deep.clone()), "2x16x11x56x40 * 128x3x3x5 -> 6x28x20 float16 s2x1x1");
    deep.depth.as_mut().unwrap().stride = 1;
    assert_eq!(conv(deep), "2x16x11x56x40 * 128x3x3x5 -> 6x28x20 float16");
    let operand = Operand::new([8, 4], DataType::Float);
    let (inputs, outputs) = (vec![operand.clone(), operand], vec![Operand::new([8], DataType::Float16)]);
    let moved = Move { op_type: "Concat".into(), run_bytes: 4, inputs: inputs.clone(), outputs: outputs.clone() };
    assert_eq!(shapes(&Workload::Move(moved)), "2 of 8x4 float32 -> 8 float16");
    let summed = Reduce { op_type: "ReduceSum".into(), outer: 1, axis: 2, inner: 3, inputs, outputs };
    assert_eq!(shapes(&Workload::Reduce(summed)), "2 of 8x4 float32 -> 8 float16");
    let sent = Collective { kind: CollectiveKind::AllReduce, bytes: 77 };
    assert_eq!(shapes(&Workload::Collective(sent)), "77 bytes");
}

#[test]
fn a_cube_tiling_is_told_by_cores_tile_panels_and_how_k_is_split() {
    let schedule = CubeSchedule {
        used_cores: 20,
        cores: Cores { batch: 1, m: 4, n: 5, k: 1 },
        single: Extents { batch: 1, m: 128, n: 256, k: 1024 },
        l0: L0Tile { m: 128, n: 256, k_a: 64, k_b: 32 },
        l1_a: L1Tile::panel(256, 1),
        l1_b: L1Tile::panel(128, 3),
        buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 1 },
        order: LoopOrder::NFirst,
        l2: L2Tiling::default(),
        split_k: SplitK::None,
        output: OutputPath::Direct,
        unmodelled: std::collections::BTreeMap::new(),
    };
    let said = |schedule: CubeSchedule| tiling(&Schedule::Cube(schedule));
    assert_eq!(said(schedule.clone()), "20 cores 128x256x64 L1 256/128x3");
    let splits = [(SplitK::SingleCore, "one-core"), (SplitK::Deterministic, "ordered"), (SplitK::MultiCore, "atomic")];
    for (split_k, word) in splits {
        let told = said(CubeSchedule { split_k, ..schedule.clone() });
        assert_eq!(told, format!("20 cores 128x256x64 L1 256/128x3 k:{word}"));
    }
    let templates = [
        (VectorTemplate::Flat, "flat"),
        (VectorTemplate::FullLoad, "full_load"),
        (VectorTemplate::Recompute, "recompute"),
        (VectorTemplate::SplitAxis, "split_axis"),
    ];
    for (template, word) in templates {
        let schedule = VectorSchedule { cores: 40, ub_tile_bytes: 8192, double_buffer: false, template };
        assert_eq!(tiling(&Schedule::Vector(schedule)), format!("40 cores 8192 B {word}"));
    }
}

#[test]
fn every_judgement_has_words_of_its_own_and_cann_stumbles_over_the_worst() {
    let words: std::collections::BTreeSet<_> = Status::ALL.iter().map(|status| status.words()).collect();
    assert_eq!(words.len(), Status::ALL.len());
    assert!(words.iter().all(|words| words.len() > 3), "{words:?}");
    let stumbles: Vec<_> = Status::ALL.into_iter().filter(|status| status.stumbles()).collect();
    assert_eq!(stumbles, Status::ALL[..6], "the worst come first");
    let judgement = Judgement { line: 3, remarks: Vec::new() };
    assert_eq!(serde_json::to_value(judgement).unwrap(), serde_json::json!({"line": 3, "remarks": []}));
}
