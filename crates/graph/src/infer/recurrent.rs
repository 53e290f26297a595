//! Rules and geometry of LSTM and GRU.

use super::dim::{self, Reason, UNKNOWN};
use super::{Call, Inference, Inferred};
use crate::{Shape, TensorDesc};

/// Sizes of a recurrent layer; -1 where one is not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layer {
    /// Steps of the sequence.
    pub steps: i64,
    /// Sequences.
    pub batch: i64,
    /// Elements of one input vector.
    pub input: i64,
    /// Elements of one state vector.
    pub hidden: i64,
    /// 2 when the sequence is read in both directions.
    pub directions: i64,
    /// Gates: 4 for LSTM, 3 for GRU, 1 for a plain layer.
    pub gates: i64,
}

fn gates(op_type: &str) -> i64 {
    match op_type {
        t if t.contains("GRU") => 3,
        // CANN's DynamicRNN is an LSTM by its default `cell_type`.
        "CommonRNN" | "RNN" => 1,
        _ => 4,
    }
}

impl Layer {
    /// Reads x [steps, batch, input] and the state size; `None` while x's rank is not known.
    pub fn of(call: &Call<'_>) -> Result<Option<Layer>, Reason> {
        let Some(x) = call.dims(0)? else { return Ok(None) };
        let gates = gates(&call.node.op_type);
        let (steps, batch, input) = match *x {
            [steps, batch, input] => (steps, batch, input),
            [batch, input] => (1, batch, input),
            _ => return Err("x must have 3 axes: steps, batch, elements".into()),
        };
        // ONNX's other layout has the batch first.
        let (steps, batch) = if call.int(&["layout"]) == Some(1) { (batch, steps) } else { (steps, batch) };
        let both = matches!(call.str("direction"), Some("bidirectional" | "BIDIRECTIONAL"));
        let hidden = match call.int(&["hidden_size", "num_output"]) {
            Some(h) if h > 0 => h,
            Some(h) if h < 0 => return Err(format!("the state has {h} elements")),
            _ => weight_columns(call, gates)?,
        };
        Ok(Some(Layer { steps, batch, input, hidden, directions: if both { 2 } else { 1 }, gates }))
    }
}

/// State size from the weights: `DynamicRNN` has [input + hidden, gates * hidden], the common form
/// [directions, gates * hidden, input].
fn weight_columns(call: &Call<'_>, gates: i64) -> Result<i64, Reason> {
    let columns = match call.dims(1)? {
        Some(&([_, columns] | [_, columns, _])) => columns,
        Some(_) => return Err("the weights have no gates".into()),
        None => UNKNOWN,
    };
    match columns {
        c if c < 0 => Ok(UNKNOWN),
        c if c % gates == 0 => Ok(c / gates),
        c => Err(format!("{c} weight columns do not divide into {gates} gates")),
    }
}

/// Checks what ONNX's form reads beside x: w, r, b, lengths, the states, and the peepholes of an LSTM.
fn check_weights(call: &Call<'_>, layer: &Layer) -> Result<(), Reason> {
    let Layer { batch, input, hidden, directions, gates, .. } = *layer;
    let (rows, biases) = (dim::times(gates, hidden)?, dim::times(2 * gates, hidden)?);
    let state = if call.int(&["layout"]) == Some(1) {
        vec![batch, directions, hidden]
    } else {
        vec![directions, batch, hidden]
    };
    let expected = [
        ("weights", vec![directions, rows, input]),
        ("recurrent weights", vec![directions, rows, hidden]),
        ("biases", vec![directions, biases]),
        ("lengths", vec![batch]),
        ("first state", state.clone()),
        ("first cell state", state),
        ("peepholes", vec![directions, dim::times(3, hidden)?]),
    ];
    for (slot, (what, wanted)) in expected.iter().enumerate() {
        let Some(dims) = call.get(slot + 1).and_then(|desc| desc.shape.dims()) else { continue };
        let agree = |(&d, &w): (&i64, &i64)| dim::unify(d, w).is_ok();
        if dims.len() != wanted.len() || !dims.iter().zip(wanted).all(agree) {
            let (found, wanted) = (Shape::new(dims), Shape::new(wanted.as_slice()));
            return Err(format!("shape {found} of its {what} should be {wanted}"));
        }
    }
    Ok(())
}

/// ONNX's form: y [steps, directions, batch, hidden], then the last states.
pub(crate) fn common(call: &Call<'_>) -> Inference {
    let dtype = call.dtype(0);
    let Some(layer) = Layer::of(call)? else { return Inferred::unknown(dtype) };
    check_weights(call, &layer)?;
    let Layer { steps, batch, directions, hidden, .. } = layer;
    let (y, state) = if call.int(&["layout"]) == Some(1) {
        (vec![batch, steps, directions, hidden], vec![batch, directions, hidden])
    } else {
        (vec![steps, directions, batch, hidden], vec![directions, batch, hidden])
    };
    let y = TensorDesc::new(dtype, Shape::new(y));
    let state = TensorDesc::new(dtype, Shape::new(state));
    Inferred::all(vec![y, state.clone(), state])
}

/// CANN's kernels: every output has [steps, batch, hidden].
pub(crate) fn dynamic(call: &Call<'_>) -> Inference {
    let dtype = call.dtype(0);
    let Some(layer) = Layer::of(call)? else { return Inferred::unknown(dtype) };
    let width = dim::times(layer.hidden, layer.directions)?;
    let y = TensorDesc::new(dtype, Shape::new([layer.steps, layer.batch, width]));
    Inferred::all(vec![y; call.results()])
}
