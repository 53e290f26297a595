//! Attributes as the interface of their operator has them: kinds and defaults.

use crate::graph::op::prototype::{AttrKind, Prototype, prototype};
use crate::graph::{Attr, Attrs, Format, Node};
use crate::status::{Error, Result};

/// Attribute that names the layout of an image.
const DATA_FORMAT: &str = "data_format";

/// Whether a value is of a kind. An empty list may be one of anything, and what is kept unread (tensors, lists of
/// types) is not looked into.
pub fn is_of(kind: AttrKind, value: &Attr) -> bool {
    match value {
        Attr::Opaque(_) => matches!(kind, AttrKind::Tensor | AttrKind::Types | AttrKind::Str | AttrKind::Strs),
        Attr::Int(_) => kind == AttrKind::Int,
        Attr::Float(_) => kind == AttrKind::Float,
        Attr::Bool(_) => kind == AttrKind::Bool,
        Attr::Str(_) => kind == AttrKind::Str,
        Attr::Type(_) => kind == AttrKind::Type,
        Attr::Ints(list) => kind == AttrKind::Ints || list.is_empty() && is_list(kind),
        Attr::Floats(_) => kind == AttrKind::Floats,
        Attr::Bools(_) => kind == AttrKind::Bools,
        Attr::Strs(_) => kind == AttrKind::Strs,
        Attr::IntLists(_) => kind == AttrKind::IntLists,
    }
}

fn is_list(kind: AttrKind) -> bool {
    use AttrKind::{Bools, Floats, IntLists, Ints, Strs, Types};
    matches!(kind, Ints | Floats | Bools | Strs | Types | IntLists)
}

/// The same value as one of a kind, where that loses nothing.
pub fn converted(kind: AttrKind, value: &Attr) -> Option<Attr> {
    Some(match (kind, value) {
        (AttrKind::Int, Attr::Type(dtype)) => Attr::Int(i64::from(dtype.ge_number())),
        (AttrKind::Float, Attr::Int(i)) => Attr::Float(*i as f64),
        (AttrKind::Bool, Attr::Int(i @ (0 | 1))) => Attr::Bool(*i == 1),
        (AttrKind::Type, Attr::Int(number)) => {
            Attr::Type(crate::graph::DataType::from_ge(i32::try_from(*number).ok()?)?)
        }
        (AttrKind::Ints, Attr::Int(i)) => Attr::Ints(vec![*i]),
        (AttrKind::Floats, Attr::Float(f)) => Attr::Floats(vec![*f]),
        (AttrKind::Floats, Attr::Ints(list)) => Attr::Floats(list.iter().map(|&i| i as f64).collect()),
        (AttrKind::Strs, Attr::Str(text)) => Attr::Strs(vec![text.clone()]),
        (AttrKind::Strs, Attr::Ints(list)) if list.is_empty() => Attr::Strs(Vec::new()),
        (AttrKind::Bools, Attr::Ints(list)) if list.iter().all(|i| matches!(i, 0 | 1)) => {
            Attr::Bools(list.iter().map(|&i| i == 1).collect())
        }
        _ => return None,
    })
}

/// Fails where a text stands for an attribute that is a number or a truth value: what is meant nobody knows, and GE does not
/// compile it. Numbers of another kind are read as far as they can be, as the tuner reads them.
pub fn check_words(node: &Node, place: &dyn Fn() -> String) -> Result<()> {
    use AttrKind::{Bool, Bools, Float, Floats, Int, IntLists, Ints};
    let Some(prototype) = node.mapped.then(|| prototype(&node.op_type)).flatten() else { return Ok(()) };
    for rule in &prototype.attrs {
        let is_number = matches!(rule.kind, Bool | Bools | Float | Floats | Int | IntLists | Ints);
        // An element type may have its name for its number.
        let is_named = rule.name.contains("type");
        if is_number && !is_named && matches!(node.attrs.get(rule.name), Some(Attr::Str(_) | Attr::Strs(_))) {
            let place = format!("{}, attribute `{}`", place(), rule.name);
            return Err(Error::graph(place, format!("is a text, and has to be of kind {}", rule.kind.name())));
        }
    }
    Ok(())
}

/// Gives attributes the kinds that the interface asks for. What cannot be converted stays as it is: a checker names it.
pub fn convert(attrs: &mut Attrs, prototype: &Prototype) {
    // An element type is a number where the number is one of a type (`dst_type`), not where it is an axis.
    let fits = |name: &str, value: &Attr| !matches!(value, Attr::Type(_)) || name.contains("type");
    for rule in &prototype.attrs {
        let value = attrs.get(rule.name).filter(|value| !is_of(rule.kind, value) && fits(rule.name, value));
        if let Some(value) = value.and_then(|value| converted(rule.kind, value)) {
            attrs.set(rule.name, value);
        }
    }
}

/// Gives attributes that are absent their defaults, as GE does when it makes an operator. `image` is the layout of the
/// first input. Answers which it gave.
pub fn complete(attrs: &mut Attrs, prototype: &Prototype, image: Format) -> Vec<String> {
    let mut given = Vec::new();
    for rule in prototype.attrs.iter().filter(|rule| !rule.required) {
        if attrs.get(rule.name).is_some() {
            continue;
        }
        // The default of a layout would contradict the tensor.
        let is_image = matches!(image, Format::Nchw | Format::Nhwc | Format::Ncdhw | Format::Ndhwc);
        if rule.name == DATA_FORMAT && !is_image {
            continue;
        }
        let layout = (rule.name == DATA_FORMAT && is_image).then(|| Attr::Str(image.name().to_owned()));
        let default = || rule.default.clone().filter(|default| goes_with(default, attrs));
        if let Some(value) = layout.or_else(default) {
            attrs.set(rule.name, value);
            given.push(rule.name.to_owned());
        }
    }
    given
}

/// Whether a default goes with the number of axes that the strides of a window tell: it has a number for each axis or
/// for each side of the spatial ones.
fn goes_with(default: &Attr, attrs: &Attrs) -> bool {
    let (Attr::Ints(default), Some(strides)) = (default, attrs.ints("strides")) else { return true };
    default.is_empty() || [strides.len(), 2 * strides.len().saturating_sub(2)].contains(&default.len())
}

#[cfg(test)]
mod tests {
    use super::{complete, convert, converted, is_of};
    use crate::graph::op::prototype::{AttrKind, prototype};
    use crate::graph::{Attr, Attrs, DataType, Format};

    #[test]
    fn a_value_takes_another_kind_only_where_nothing_is_lost() {
        assert_eq!(converted(AttrKind::Int, &Attr::Type(DataType::Int64)), Some(Attr::Int(9)));
        assert_eq!(converted(AttrKind::Type, &Attr::Int(9)), Some(Attr::Type(DataType::Int64)));
        assert_eq!(converted(AttrKind::Bool, &Attr::Int(1)), Some(Attr::Bool(true)));
        assert_eq!(converted(AttrKind::Bool, &Attr::Int(2)), None);
        assert_eq!(converted(AttrKind::Int, &Attr::Float(1.5)), None);
        assert_eq!(converted(AttrKind::Int, &Attr::Str("1".into())), None);
        assert!(is_of(AttrKind::Floats, &Attr::Ints(vec![])) && !is_of(AttrKind::Floats, &Attr::Ints(vec![1])));
    }

    #[test]
    fn absent_attributes_get_their_defaults_and_the_layout_that_of_the_image() {
        let mut attrs = Attrs::default();
        attrs.set("groups", Attr::Bool(true));
        convert(&mut attrs, prototype("Conv2D").unwrap());
        complete(&mut attrs, prototype("Conv2D").unwrap(), Format::Nchw);
        assert_eq!(attrs.get("groups"), Some(&Attr::Bool(true)), "a truth value is no number; a checker names it");
        assert_eq!(attrs.str("data_format"), Some("NCHW"));
        assert_eq!(attrs.ints("dilations"), Some(&[1, 1, 1, 1][..]));
        assert!(attrs.get("strides").is_none(), "a required attribute has no default");
    }
}
