//! Recurrent layers, which keep ONNX's inputs: `x w r b? sequence_lens? initial_h? ...`

use super::{
    Default::{Bool, Float, Floats, Int, Str, Strs},
    Rename, Rule, attr, same,
};

const LSTM: &[Rename] = &[
    attr("activation_alpha", "activation_alpha", Floats),
    attr("activation_beta", "activation_beta", Floats),
    attr("activations", "activations", Strs),
    attr("clip", "clip", Float(-1.0)),
    attr("direction", "direction", Str("forward")),
    attr("hidden_size", "hidden_size", Int(0)),
    attr("input_forget", "input_forget", Bool(false)),
    attr("layout", "layout", Int(0)),
];

const GRU: &[Rename] = &[
    attr("activation_alpha", "activation_alpha", Floats),
    attr("activation_beta", "activation_beta", Floats),
    attr("activations", "activations", Strs),
    attr("clip", "clip", Float(-1.0)),
    attr("direction", "direction", Str("forward")),
    attr("hidden_size", "hidden_size", Int(0)),
    attr("linear_before_reset", "linear_before_reset", Bool(false)),
    attr("layout", "layout", Int(0)),
];

pub const RULES: &[Rule] = &[same("LSTM", "CommonLSTM", LSTM), same("GRU", "CommonGRU", GRU)];
