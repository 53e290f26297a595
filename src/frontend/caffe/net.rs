//! The net that a prototxt describes: its inputs, and the layers that run at inference.

use crate::frontend::limits::MAX_DIM;
use crate::frontend::prototext::Message;
use crate::frontend::prototext::message::Reason;
use crate::graph::{Shape, UNKNOWN_DIM};
use crate::status::{Error, Result};

/// An input of the net.
pub struct Input {
    pub name: String,
    pub shape: Shape,
}

/// One layer.
pub struct Layer<'m> {
    pub name: String,
    /// Type as a `layer` block names it, whichever of the two forms the file has.
    pub kind: String,
    pub bottoms: Vec<String>,
    pub tops: Vec<String>,
    pub message: &'m Message,
}

/// Types of the old form (`layers`): number, name, and the name that the new form has for it.
#[rustfmt::skip]
const OLD_TYPES: &[(&str, &str, &str)] = &[
    ("1", "ACCURACY", "Accuracy"), ("2", "BNLL", "BNLL"), ("3", "CONCAT", "Concat"), ("4", "CONVOLUTION", "Convolution"),
    ("5", "DATA", "Data"), ("6", "DROPOUT", "Dropout"), ("7", "EUCLIDEAN_LOSS", "EuclideanLoss"), ("8", "FLATTEN", "Flatten"),
    ("9", "HDF5_DATA", "HDF5Data"), ("11", "IM2COL", "Im2col"), ("12", "IMAGE_DATA", "ImageData"),
    ("14", "INNER_PRODUCT", "InnerProduct"), ("15", "LRN", "LRN"), ("17", "POOLING", "Pooling"), ("18", "RELU", "ReLU"),
    ("19", "SIGMOID", "Sigmoid"), ("20", "SOFTMAX", "Softmax"), ("21", "SOFTMAX_LOSS", "SoftmaxWithLoss"), ("22", "SPLIT", "Split"),
    ("23", "TANH", "TanH"), ("24", "WINDOW_DATA", "WindowData"), ("25", "ELTWISE", "Eltwise"), ("26", "POWER", "Power"),
    ("29", "MEMORY_DATA", "MemoryData"), ("30", "ARGMAX", "ArgMax"), ("31", "THRESHOLD", "Threshold"),
    ("32", "DUMMY_DATA", "DummyData"), ("33", "SLICE", "Slice"), ("34", "MVN", "MVN"), ("35", "ABSVAL", "AbsVal"),
    ("36", "SILENCE", "Silence"), ("38", "EXP", "Exp"), ("39", "DECONVOLUTION", "Deconvolution"),
];

/// The inputs that the net itself declares: `input` with `input_shape`, or with four `input_dim` each.
pub fn inputs(net: &Message, place: &str) -> Result<Vec<Input>> {
    let fail = |reason: Reason| Error::graph(place, reason);
    let names = net.texts("input").map_err(fail)?;
    let shapes = net.messages("input_shape").map_err(fail)?;
    let dims = net.ints("input_dim").map_err(fail)?;
    let given = if shapes.is_empty() { dims.len() } else { 4 * shapes.len() };
    if given != 0 && given != 4 * names.len() || !shapes.is_empty() && !dims.is_empty() {
        let reason = format!("{} inputs with {} input_shape and {} input_dim", names.len(), shapes.len(), dims.len());
        return Err(fail(format!("{reason}; each input takes one input_shape or four input_dim")));
    }
    let shape = |index: usize, name: &str| {
        let at = format!("{place}, input `{name}`");
        match shapes.get(index) {
            Some(message) => shape_of(message, &at),
            None => dims.get(4 * index..4 * index + 4).map_or(Ok(Shape::unknown_rank()), |dims| checked(dims, &at)),
        }
    };
    let input = |(index, name): (usize, &String)| Ok(Input { name: name.clone(), shape: shape(index, name)? });
    names.iter().enumerate().map(input).collect()
}

/// A `BlobShape`.
pub fn shape_of(message: &Message, place: &str) -> Result<Shape> {
    checked(&message.ints("dim").map_err(|reason| Error::graph(place, reason))?, place)
}

/// Sizes that make sense; -1 leaves one open.
fn checked(dims: &[i64], place: &str) -> Result<Shape> {
    match dims.iter().enumerate().find(|(_, d)| **d != UNKNOWN_DIM && !(1..=MAX_DIM).contains(*d)) {
        Some((axis, dim)) => Err(Error::graph(place, format!("dimension {axis} is {dim}, not 1 to {MAX_DIM}"))),
        None => Ok(Shape::new(dims)),
    }
}

/// The layers that run at inference, in the file's order, which is the order in which they run.
pub fn layers<'m>(net: &'m Message, place: &str) -> Result<Vec<Layer<'m>>> {
    if net.has("layer") && net.has("layers") {
        return Err(Error::graph(place, "`layer` and `layers` blocks, the new and the old form, are mixed"));
    }
    let old = net.has("layers");
    let blocks = net.messages(if old { "layers" } else { "layer" }).map_err(|reason| Error::graph(place, reason))?;
    let mut layers = Vec::with_capacity(blocks.len());
    for (index, block) in blocks.into_iter().enumerate() {
        let at = |reason: Reason| Error::graph(format!("layer {index} of {place}"), reason);
        if runs(block).map_err(at)? {
            layers.push(layer(block, old, index).map_err(at)?);
        }
    }
    Ok(layers)
}

fn layer(block: &Message, old: bool, index: usize) -> Result<Layer<'_>, Reason> {
    let kind = if old {
        let word = block.word("type")?.ok_or("it has no `type`")?;
        let row = OLD_TYPES.iter().find(|(number, name, _)| *number == word || *name == word);
        row.map_or(word, |(.., kind)| kind).to_owned()
    } else {
        block.text("type")?.ok_or("it has no `type`")?.to_owned()
    };
    if kind.is_empty() {
        return Err("its `type` is empty".into());
    }
    let name =
        block.text("name")?.filter(|name| !name.is_empty()).map_or_else(|| format!("{kind}_{index}"), str::to_owned);
    Ok(Layer { name, kind, bottoms: block.texts("bottom")?, tops: block.texts("top")?, message: block })
}

/// Whether a layer is part of the net at inference: phase TEST, level 0, no stage.
fn runs(block: &Message) -> Result<bool, Reason> {
    if block.word("phase")?.is_some_and(is_train) {
        return Ok(false);
    }
    let (include, exclude) = (block.messages("include")?, block.messages("exclude")?);
    if !include.is_empty() && !exclude.is_empty() {
        return Err("it has both `include` and `exclude`".into());
    }
    let meets = |rule: &&Message| -> Result<bool, Reason> {
        let level = rule.int("min_level")?.is_none_or(|l| l <= 0) && rule.int("max_level")?.is_none_or(|l| l >= 0);
        Ok(level && !rule.word("phase")?.is_some_and(is_train) && rule.texts("stage")?.is_empty())
    };
    let any = |rules: &[&Message]| rules.iter().map(meets).try_fold(false, |any, met| Ok::<_, Reason>(any | met?));
    if include.is_empty() { Ok(!any(&exclude)?) } else { any(&include) }
}

fn is_train(phase: &str) -> bool {
    matches!(phase, "TRAIN" | "0")
}
