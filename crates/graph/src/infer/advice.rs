//! What a caller can do about a size that nobody has given: the option to paste.

use super::super::{DATA, Graph};
use super::DIM_NAMES;
use crate::{Attr, Shape, TensorDesc};
use std::fmt::Write as _;

/// Inputs that the option names; a network of more gets the rest as dots.
const NAMED: usize = 16;
/// Sizes to begin with: of a batch, of a sequence of tokens, and of an image's rows and columns.
const BATCH: i64 = 1;
const TOKENS: i64 = 128;
const PIXELS: i64 = 224;

/// Asks for the sizes of a graph's open inputs, with the option that gives them all, to be pasted.
pub(super) fn sizes_wanted(graph: &Graph) -> String {
    let open: Vec<String> = graph
        .iter()
        .filter(|(_, node)| node.op_type == DATA)
        .filter_map(|(_, node)| {
            let shape = proposed(node.outputs.first()?, node.attrs.get(DIM_NAMES))?;
            Some(format!("{}:{shape}", node.name))
        })
        .collect();
    // A name with a quote or a semicolon in it cannot be pasted as it is.
    let is_plain = |item: &String| !item.contains(['"', ';', '`', '$', '\\']) && !item.contains(char::is_control);
    if open.is_empty() || !open.iter().all(is_plain) {
        return "give its value with input_shape, or the option for dynamic dimensions that fits".to_owned();
    }
    let more = if open.len() > NAMED { ";..." } else { "" };
    let shapes = open[..open.len().min(NAMED)].join(";");
    format!(
        "give its sizes, with yours in place of these: --input_shape=\"{shapes}{more}\", or the option for dynamic \
         dimensions that fits"
    )
}

/// The shape of an input with a size for each of its open dimensions; none where all are known.
fn proposed(desc: &TensorDesc, names: Option<&Attr>) -> Option<String> {
    if desc.shape.known().is_some() {
        return None;
    }
    let Some(dims) = desc.shape.dims() else { return Some("1,...".to_owned()) };
    let names: &[String] = if let Some(Attr::Strs(names)) = names { names } else { &[] };
    let is_image = dims.len() == 4 && (is_channels(dims[1]) || is_channels(dims[3]));
    let mut text = String::new();
    for (axis, &dim) in dims.iter().enumerate() {
        let name = names.get(axis).map_or("", String::as_str);
        let size = if dim >= 0 { dim } else { size_of(axis, name, is_image, &desc.shape) };
        let _ = write!(text, "{}{size}", if axis == 0 { "" } else { "," });
    }
    Some(text)
}

/// Whether a size is that of an image's colours.
fn is_channels(dim: i64) -> bool {
    matches!(dim, 1 | 3 | 4)
}

/// A size for an open dimension: what its name says, else what stands at its place in most networks.
fn size_of(axis: usize, name: &str, is_image: bool, shape: &Shape) -> i64 {
    let name = name.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match shape.dims().map_or(0, <[i64]>::len) {
        _ if says(&["batch"]) => BATCH,
        _ if says(&["seq", "token", "length"]) => TOKENS,
        _ if says(&["height", "width"]) => PIXELS,
        _ if axis == 0 => BATCH,
        4 if is_image => PIXELS,
        2 | 3 if axis == 1 => TOKENS,
        _ => BATCH,
    }
}
