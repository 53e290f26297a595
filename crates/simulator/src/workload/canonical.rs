//! A workload as JSON: every field that makes two workloads different problems and nothing else. It is the
//! `info_dict` of our own bank records and what plug-in backends are told.
//!
//! Each structure is taken apart completely, so that a field added to one cannot be forgotten here.

use super::{
    Collective, CollectiveKind, Conv, ConvKind, Depth, MatMul, MatMulKernel, Move, Operand, Reduce, Vector, Workload,
};
use serde_json::{Value, json};

/// The JSON of a workload. Equal workloads give equal JSON, different ones different JSON.
pub fn canonical_json(workload: &Workload) -> Value {
    match workload {
        Workload::MatMul(w) => mat_mul(w),
        Workload::Conv(w) => conv(w),
        Workload::Vector(w) => vector(w),
        Workload::Reduce(w) => reduce(w),
        Workload::Move(w) => movement(w),
        Workload::Collective(w) => collective(w),
        Workload::Fused(parts) => {
            json!({"kind": "fused", "parts": parts.iter().map(canonical_json).collect::<Vec<_>>()})
        }
    }
}

fn mat_mul(w: &MatMul) -> Value {
    #[rustfmt::skip]
    let MatMul {
        batch, a_shared, b_shared, m, k, n, dtype, b_dtype, out_dtype, trans_a, trans_b, bias, a_format, b_format,
        hf32, kernel,
    } = w;
    let mut fields = json!({
        "kind": "matmul", "batch": batch, "a_shared": a_shared, "b_shared": b_shared, "m": m, "k": k, "n": n,
        "dtype": dtype.name(), "out_dtype": out_dtype.name(), "trans_a": trans_a, "trans_b": trans_b,
        "bias": bias, "a_format": a_format.name(), "b_format": b_format.name(), "hf32": hf32,
    });
    if let Some(stored) = b_dtype {
        fields["b_dtype"] = stored.name().into();
    }
    // Older records have no kernel: it was AscendC's.
    match kernel {
        MatMulKernel::AscendC => {}
        MatMulKernel::Tbe => fields["kernel"] = "tbe".into(),
        MatMulKernel::QuantV4 => fields["kernel"] = "quant_v4".into(),
        MatMulKernel::Transposed => fields["kernel"] = "transposed".into(),
        MatMulKernel::Grouped => fields["kernel"] = "grouped".into(),
        MatMulKernel::Fused => fields["kernel"] = "fused".into(),
    }
    fields
}

fn conv(w: &Conv) -> Value {
    #[rustfmt::skip]
    let Conv {
        kind, batch, cin, hi, wi, cout, ho, wo, kh, kw, stride, pads, dilation, groups, dtype, out_dtype, bias,
        format, hf32, depth,
    } = w;
    let kind = match kind {
        ConvKind::Forward => "conv",
        ConvKind::BackpropInput => "conv_backprop_input",
        ConvKind::BackpropFilter => "conv_backprop_filter",
    };
    let mut fields = json!({
        "kind": kind, "batch": batch, "cin": cin, "hi": hi, "wi": wi, "cout": cout, "ho": ho, "wo": wo,
        "kh": kh, "kw": kw, "stride": stride, "pads": pads, "dilation": dilation, "groups": groups,
        "dtype": dtype.name(), "out_dtype": out_dtype.name(), "bias": bias, "format": format.name(), "hf32": hf32,
    });
    if let Some(Depth { input, output, kernel, stride, pads, dilation }) = depth {
        fields["depth"] = json!({
            "input": input, "output": output, "kernel": kernel, "stride": stride, "pads": pads, "dilation": dilation,
        });
    }
    fields
}

fn vector(w: &Vector) -> Value {
    let Vector { op_type, inputs, outputs } = w;
    json!({"kind": "vector", "op_type": op_type, "inputs": operands(inputs), "outputs": operands(outputs)})
}

fn reduce(w: &Reduce) -> Value {
    let Reduce { op_type, outer, axis, inner, inputs, outputs } = w;
    json!({
        "kind": "reduce", "op_type": op_type, "outer": outer, "axis": axis, "inner": inner,
        "inputs": operands(inputs), "outputs": operands(outputs),
    })
}

fn movement(w: &Move) -> Value {
    let Move { op_type, run_bytes, inputs, outputs } = w;
    json!({
        "kind": "move", "op_type": op_type, "run_bytes": run_bytes,
        "inputs": operands(inputs), "outputs": operands(outputs),
    })
}

fn collective(w: &Collective) -> Value {
    let Collective { kind, bytes } = w;
    let exchange = match kind {
        CollectiveKind::AllReduce => "all_reduce",
        CollectiveKind::AllGather => "all_gather",
        CollectiveKind::ReduceScatter => "reduce_scatter",
        CollectiveKind::AllToAll => "all_to_all",
        CollectiveKind::Broadcast => "broadcast",
    };
    json!({"kind": "collective", "exchange": exchange, "bytes": bytes})
}

fn operands(operands: &[Operand]) -> Vec<Value> {
    let operand = |Operand { shape, dtype, format }: &Operand| json!([shape, dtype.name(), format.name()]);
    operands.iter().map(operand).collect()
}
