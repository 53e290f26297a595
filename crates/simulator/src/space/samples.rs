//! Workloads for the property tests of this room.

use crate::soc::Soc;
use crate::workload::{Collective, CollectiveKind, Conv, ConvKind, MatMul, Move, Operand, Reduce, Vector, Workload};
use aoe_graph::{DataType, Format};
use proptest::prelude::*;
use std::sync::OnceLock;

/// Every SoC of the table.
pub fn socs() -> impl Iterator<Item = Soc> {
    static SOCS: OnceLock<Vec<Soc>> = OnceLock::new();
    SOCS.get_or_init(|| Soc::names().iter().map(|name| Soc::find(name).unwrap()).collect()).iter().cloned()
}

/// Extents of all magnitudes, multiples of 16 as often as not.
fn extent() -> impl Strategy<Value = u64> {
    prop_oneof![1u64..40, (1u64..300).prop_map(|v| v * 16), 1u64..9000, (1u64..2000).prop_map(|v| v * 128)]
}

fn dtype() -> impl Strategy<Value = DataType> {
    use DataType::{Bfloat16, Double, Float, Float16, Int4, Int8};
    proptest::sample::select(vec![Float16, Bfloat16, Float, Int8, Int4, Double])
}

fn matmul() -> impl Strategy<Value = Workload> {
    let batch = prop_oneof![3 => Just(1u64), 1 => 1u64..200];
    let flags = any::<(bool, bool, bool, bool)>();
    (batch, extent(), extent(), extent(), dtype(), flags).prop_map(|(batch, m, k, n, dtype, flags)| {
        let (trans_a, trans_b, bias, nz) = flags;
        let b_format = if nz { Format::FractalNz } else { Format::Nd };
        Workload::MatMul(MatMul { batch, dtype, trans_a, trans_b, bias, b_format, ..MatMul::new(m, k, n) })
    })
}

fn conv() -> impl Strategy<Value = Workload> {
    let kind = proptest::sample::select(vec![ConvKind::Forward, ConvKind::BackpropInput, ConvKind::BackpropFilter]);
    let channels = (1u64..65, 1u64..20, prop_oneof![4 => Just(1u64), 1 => 1u64..65]);
    (kind, 1u64..64, channels, 1u64..130, 1u64..130, 1u64..8, 1u64..3, dtype(), any::<bool>()).prop_map(
        |(kind, batch, (cin, cout, groups), hi, wi, kernel, stride, dtype, bias)| {
            let out = |input: u64| input.div_ceil(stride);
            Workload::Conv(Conv {
                kind,
                batch,
                cin: cin * groups,
                hi,
                wi,
                cout: cout * groups,
                ho: out(hi),
                wo: out(wi),
                kh: kernel,
                kw: kernel,
                stride: [stride; 2],
                pads: [kernel / 2; 4],
                dilation: [1; 2],
                groups,
                dtype,
                out_dtype: dtype,
                bias,
                format: Format::Nc1hwc0,
                hf32: false,
                depth: None,
            })
        },
    )
}

fn vector() -> impl Strategy<Value = Workload> {
    let names = proptest::sample::select(vec!["Add", "Gelu", "SoftmaxV2", "LayerNormV3", "ReduceSum", "TransData"]);
    (names, extent(), extent(), 1u64..70, dtype(), 0u8..4).prop_map(|(name, outer, axis, inner, dtype, kind)| {
        let op_type = name.to_owned();
        let whole = Operand::new([outer, axis, inner], dtype);
        let inputs = vec![whole.clone(), Operand::new([1, axis, 1], dtype)];
        match kind {
            0 => Workload::Vector(Vector { op_type, inputs, outputs: vec![whole] }),
            1 => Workload::Reduce(Reduce { op_type, outer, axis, inner, inputs, outputs: vec![whole] }),
            2 => Workload::Move(Move { op_type, run_bytes: 32, inputs, outputs: vec![whole] }),
            _ => Workload::Collective(Collective { kind: CollectiveKind::AllReduce, bytes: whole.bytes() }),
        }
    })
}

fn single() -> impl Strategy<Value = Workload> {
    prop_oneof![3 => matmul(), 2 => conv(), 2 => vector()]
}

/// Any workload that can exist, fused ones included.
pub fn workload() -> impl Strategy<Value = Workload> {
    prop_oneof![
        8 => single(),
        1 => proptest::collection::vec(single(), 1..4).prop_map(Workload::Fused),
    ]
}
