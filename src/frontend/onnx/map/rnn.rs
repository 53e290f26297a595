//! Recurrent layers, which keep ONNX's inputs: `x w r b? sequence_lens? initial_h? ...`

use super::{
    Default::{Bool, Float, Floats, Str, Strs},
    Rename, Rule, attr, set_attrs, with,
};
use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, Port};
use crate::status::Result;

pub const RULES: &[Rule] = &[with("LSTM", lstm), with("GRU", gru)];

const BOTH: &[Rename] = &[
    attr("activation_alpha", "activation_alpha", Floats),
    attr("activation_beta", "activation_beta", Floats),
    attr("activations", "activations", Strs),
    attr("direction", "direction", Str("forward")),
];

/// States are inputs 5 and 6.
fn lstm(op: &mut Op) -> Result<()> {
    recurrent(op, "CommonLSTM", attr("input_forget", "input_forget", Bool(false)), &[5, 6])
}

/// The state is input 5.
fn gru(op: &mut Op) -> Result<()> {
    recurrent(op, "CommonGRU", attr("linear_before_reset", "linear_before_reset", Bool(false)), &[5])
}

fn recurrent(op: &mut Op, op_type: &str, own: Rename, states: &[usize]) -> Result<()> {
    let batch_first = op.int("layout")?.unwrap_or(0) != 0;
    let mut inputs = op.inputs().to_vec();
    if batch_first {
        // Steps come first on the device; x, the states and all outputs are turned round.
        for &index in [0].iter().chain(states) {
            if let Some(Some(port)) = inputs.get(index).copied() {
                inputs[index] = Some(op.transposed(port, &[1, 0, 2])?);
            }
        }
    }
    let mut node = op.node(op_type);
    node.inputs = inputs;
    set_attrs(op, &mut node, BOTH)?;
    set_attrs(op, &mut node, &[own, attr("clip", "clip", Float(-1.0))])?;
    if let Some(hidden) = op.int("hidden_size")? {
        node.attrs.set("hidden_size", Attr::Int(hidden));
    }
    if !batch_first {
        return op.finish(node);
    }
    let outputs = node.outputs.len();
    let id = op.core(node)?;
    for index in 0..outputs {
        // y is [steps, directions, batch, hidden], the states are [directions, batch, hidden].
        let order: &[i64] = if index == 0 { &[2, 0, 1, 3] } else { &[1, 0, 2] };
        let turned = op.transposed(Port { node: id, output: index as u32 }, order)?;
        op.finish_output(index, turned);
    }
    Ok(())
}
