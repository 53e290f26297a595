//! Names and order of operator inputs and outputs, as GE's operator prototypes have them.
//!
//! A file states them in attributes of each operator. They matter in two places: a file made by a
//! parser may leave out an optional input in the middle, so that the names alone tell which inputs
//! there are; and GE looks inputs up by name, so that a written file has them.

use crate::graph::op::prototype::{Count, Slot, prototype};
use crate::graph::{Attr, Attrs, Node};

pub const INPUT_KEYS: &str = "_input_name_key";
pub const INPUT_VALUES: &str = "_input_name_value";
const OUTPUT_KEYS: &str = "_output_name_key";
const OUTPUT_VALUES: &str = "_output_name_value";
/// Inputs of the prototype in order, and of which kind each is.
const PROTOTYPE_KEYS: &str = "_ir_inputs_key";
const PROTOTYPE_KINDS: &str = "_ir_inputs_value";
/// Outputs of the prototype in order, and of which kind each is.
const PROTOTYPE_OUTPUT_KEYS: &str = "_ir_outputs_key";
const PROTOTYPE_OUTPUT_KINDS: &str = "_ir_outputs_value";
/// Attributes of the prototype in order.
const PROTOTYPE_ATTRS: &str = "_ir_attr_names";
/// Inputs that may be left out.
const OPTIONAL_INPUTS: &str = "_opt_input";
/// `IrInputType` of an input that stands for any number of them.
const DYNAMIC: i64 = 2;

/// More inputs than a prototype without dynamic ones has.
const MAX_NAMED: usize = 64;

/// Moves the inputs of an operator to the places that their names have in its prototype: the one the
/// file states, else the one known here. Nothing moves where a name is not in it.
pub fn place_inputs<T: Clone>(op_type: &str, attrs: &mut Attrs, inputs: Vec<Option<T>>) -> Vec<Option<T>> {
    let Some(slots) = slots(op_type, attrs, inputs.len()) else { return inputs };
    if slots.iter().enumerate().all(|(place, &slot)| place == slot) {
        return inputs;
    }
    let mut placed = vec![None; slots.iter().max().map_or(0, |&last| last + 1)];
    for (&slot, port) in slots.iter().zip(inputs) {
        placed[slot] = port;
    }
    attrs.set(INPUT_VALUES, Attr::Ints(slots.into_iter().map(|slot| slot as i64).collect()));
    placed
}

/// Notes the names that the descriptions of inputs state, where no attribute does and they are other names of the interface
/// than so many inputs have by themselves: operators over lists have no others. The name of a list stands for its first.
pub fn note_inputs(op_type: &str, attrs: &mut Attrs, mut stated: Vec<String>) {
    let Some(known) = prototype(op_type).filter(|_| attrs.get(INPUT_KEYS).is_none() && !stated.is_empty()) else {
        return;
    };
    let lists: Vec<&str> = known.inputs.iter().filter(|s| s.count == Count::Dynamic).map(|s| s.name).collect();
    for name in stated.iter_mut().filter(|name| lists.contains(&name.as_str())) {
        name.push('0');
    }
    let is_known = |name: &String| known.inputs.iter().any(|slot| is_name(name, slot.name, slot.count));
    let mut distinct: Vec<&String> = stated.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let are_names = distinct.len() == stated.len() && stated.iter().all(is_known);
    if are_names && known.input_names(stated.len()).as_ref() != Some(&stated) {
        attrs.set(INPUT_VALUES, Attr::Ints((0..stated.len() as i64).collect()));
        attrs.set(INPUT_KEYS, Attr::Strs(stated));
    }
}

/// Whether a name is that of a slot, or one of those that a slot for many stands for.
pub fn is_name(name: &str, slot: &str, count: Count) -> bool {
    match name.strip_prefix(slot) {
        Some("") => count != Count::Dynamic,
        Some(number) => count == Count::Dynamic && number.bytes().all(|b| b.is_ascii_digit()),
        None => false,
    }
}

/// The place in the prototype of each of `count` inputs.
fn slots(op_type: &str, attrs: &Attrs, count: usize) -> Option<Vec<usize>> {
    let (Some(Attr::Strs(keys)), Some(values)) = (attrs.get(INPUT_KEYS), attrs.ints(INPUT_VALUES)) else {
        return None;
    };
    let order: Vec<&str> = match (attrs.get(PROTOTYPE_KEYS), attrs.ints(PROTOTYPE_KINDS)) {
        (Some(Attr::Strs(names)), Some(kinds)) if !kinds.contains(&DYNAMIC) => {
            names.iter().map(String::as_str).collect()
        }
        (Some(_), _) => return None,
        (None, _) => {
            let inputs = &prototype(op_type)?.inputs;
            let is_fixed = inputs.iter().all(|slot| slot.count != Count::Dynamic);
            is_fixed.then(|| inputs.iter().map(|slot| slot.name).collect())?
        }
    };
    if order.len().max(keys.len()).max(count) > MAX_NAMED {
        return None;
    }
    let mut slots = vec![usize::MAX; count];
    for (key, &value) in keys.iter().zip(values) {
        let slot = order.iter().position(|name| name == key)?;
        // A name of an optional input that is left out may stand for no place at all.
        if let Some(place) = usize::try_from(value).ok().and_then(|v| slots.get_mut(v)) {
            *place = slot;
        }
    }
    let mut seen = slots.clone();
    seen.sort_unstable();
    seen.dedup();
    (seen.len() == count && seen.last() != Some(&usize::MAX)).then_some(slots)
}

/// The attributes that name inputs, outputs and attributes, and say which of them the interface has, where the operator
/// has none and its interface is known. GE writes them with every operator and looks inputs up by them.
///
/// `op_type` is the node's type as it is written, `inputs` how many it describes.
pub fn attributes(node: &Node, op_type: &str, inputs: usize) -> Vec<(&'static str, Attr)> {
    let Some(prototype) = prototype(op_type).filter(|_| node.mapped) else { return Vec::new() };
    let mut attrs = Vec::new();
    let mut add = |keys: &'static str, names: Vec<String>, values: &'static str, numbers: Vec<i64>| {
        if !names.is_empty() && node.attrs.get(keys).is_none() && node.attrs.get(values).is_none() {
            attrs.push((keys, Attr::Strs(names)));
            attrs.push((values, Attr::Ints(numbers)));
        }
    };
    let outputs = node.outputs.len();
    let places = |count: usize| (0..count as i64).collect::<Vec<_>>();
    add(INPUT_KEYS, prototype.input_names(inputs).unwrap_or_default(), INPUT_VALUES, places(inputs));
    add(OUTPUT_KEYS, prototype.output_names(outputs).unwrap_or_default(), OUTPUT_VALUES, places(outputs));
    let names = |slots: &[Slot]| slots.iter().map(|slot| slot.name.to_owned()).collect::<Vec<_>>();
    let kinds = |slots: &[Slot]| slots.iter().map(|slot| kind(slot.count)).collect::<Vec<_>>();
    add(PROTOTYPE_KEYS, names(&prototype.inputs), PROTOTYPE_KINDS, kinds(&prototype.inputs));
    add(PROTOTYPE_OUTPUT_KEYS, names(&prototype.outputs), PROTOTYPE_OUTPUT_KINDS, kinds(&prototype.outputs));
    let mut list = |key: &'static str, names: Vec<String>| {
        if !names.is_empty() && node.attrs.get(key).is_none() {
            attrs.push((key, Attr::Strs(names)));
        }
    };
    list(PROTOTYPE_ATTRS, prototype.attrs.iter().map(|rule| rule.name.to_owned()).collect());
    let optional = prototype.inputs.iter().filter(|slot| slot.count == Count::Optional);
    list(OPTIONAL_INPUTS, optional.map(|slot| slot.name.to_owned()).collect());
    attrs
}

/// The names of what the end of a network reads, as GE gives them.
pub fn end_attributes(count: usize) -> Attrs {
    let mut attrs = Attrs::default();
    if count > 0 {
        attrs.set(INPUT_KEYS, Attr::Strs((0..count).map(|input| format!("__input{input}")).collect()));
        attrs.set(INPUT_VALUES, Attr::Ints((0..count as i64).collect()));
    }
    attrs
}

/// GE's number of how often an input or output is there.
fn kind(count: Count) -> i64 {
    match count {
        Count::Required => 0,
        Count::Optional => 1,
        Count::Dynamic => DYNAMIC,
    }
}
