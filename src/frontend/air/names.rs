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

/// More inputs than an interface names.
const MAX_NAMED: usize = 64;

/// Moves the inputs of an operator to the places that their names have in its prototype: the one the
/// file states, else the one known here. Nothing moves where a name is not in it.
///
/// Up to the first input that stands for many, places are those of the interface; from there on they are those of what is
/// there, in its order.
pub fn place_inputs<T: Clone>(op_type: &str, attrs: &mut Attrs, inputs: Vec<Option<T>>) -> Vec<Option<T>> {
    let Some(places) = places(op_type, attrs, inputs.len()) else { return inputs };
    if places.iter().enumerate().all(|(from, &to)| from == to) {
        return inputs;
    }
    let mut placed = vec![None; places.iter().max().map_or(0, |&last| last + 1)];
    for (&to, port) in places.iter().zip(inputs) {
        placed[to] = port;
    }
    // The names of what is left out stand for no place, and keep standing for none.
    let none = placed.len() as i64;
    let moved =
        |&from: &i64| usize::try_from(from).ok().and_then(|from| places.get(from)).map_or(none, |&to| to as i64);
    let values = attrs.ints(INPUT_VALUES).unwrap_or_default().iter().map(moved).collect();
    attrs.set(INPUT_VALUES, Attr::Ints(values));
    placed
}

/// Notes the names that the descriptions of inputs state, where no attribute does and they are other names of the interface
/// than so many inputs have by themselves: operators over lists have no others. The name of a list stands for its members, one
/// after the other.
pub fn note_inputs(op_type: &str, attrs: &mut Attrs, mut stated: Vec<String>) {
    let Some(known) = prototype(op_type).filter(|_| attrs.get(INPUT_KEYS).is_none() && !stated.is_empty()) else {
        return;
    };
    let lists: Vec<&str> = known.inputs.iter().filter(|s| s.count == Count::Dynamic).map(|s| s.name).collect();
    let mut members = vec![0_usize; lists.len()];
    for name in &mut stated {
        if let Some(list) = lists.iter().position(|list| list == name) {
            *name = format!("{name}{}", members[list]);
            members[list] += 1;
        }
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

/// The slots of an interface, in order: its names, and which of them stand for many.
fn interface(op_type: &str, attrs: &Attrs) -> Option<Vec<(String, bool)>> {
    let slots: Vec<_> = match (attrs.get(PROTOTYPE_KEYS), attrs.ints(PROTOTYPE_KINDS)) {
        (Some(Attr::Strs(names)), Some(kinds)) => {
            names.iter().enumerate().map(|(slot, name)| (name.clone(), kinds.get(slot) == Some(&DYNAMIC))).collect()
        }
        (Some(_), _) => return None,
        (None, _) => {
            let known = prototype(op_type)?.inputs.iter();
            known.map(|slot| (slot.name.to_owned(), slot.count == Count::Dynamic)).collect()
        }
    };
    (slots.len() <= MAX_NAMED).then_some(slots)
}

/// Which slot a name is of, and which member of it; a name of its own goes before that of a member.
fn slot_of(slots: &[(String, bool)], name: &str) -> Option<(usize, u32)> {
    let own = slots.iter().position(|(slot, many)| !many && slot == name).map(|slot| (slot, 0));
    let member = |(at, (slot, many)): (usize, &(String, bool))| {
        let number = name.strip_prefix(slot.as_str()).filter(|_| *many)?;
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        Some((at, number.parse().ok().filter(|_| is_number)?))
    };
    own.or_else(|| slots.iter().enumerate().filter_map(member).max_by_key(|&(at, _)| slots[at].0.len()))
}

/// The place in the prototype of each of `count` inputs.
fn places(op_type: &str, attrs: &Attrs, count: usize) -> Option<Vec<usize>> {
    let (Some(Attr::Strs(keys)), Some(values)) = (attrs.get(INPUT_KEYS), attrs.ints(INPUT_VALUES)) else {
        return None;
    };
    let slots = interface(op_type, attrs)?;
    let lists = slots.iter().position(|(_, many)| *many).unwrap_or(slots.len());
    // Without lists, more names than the interface has are not its names.
    if lists == slots.len() && keys.len().max(count) > MAX_NAMED {
        return None;
    }
    let mut named = vec![None; count];
    for (key, &value) in keys.iter().zip(values) {
        let slot = slot_of(&slots, key)?;
        // A name of an optional input that is left out may stand for no place at all.
        if let Some(place) = usize::try_from(value).ok().and_then(|v| named.get_mut(v)) {
            *place = Some(slot);
        }
    }
    let named: Vec<(usize, u32)> = named.into_iter().collect::<Option<_>>()?;
    let mut order = named.clone();
    order.sort_unstable();
    if order.windows(2).any(|pair| pair[0] == pair[1]) {
        return None;
    }
    // What stands before all lists has the place of its slot, whatever is left out before it.
    let before = order.partition_point(|&(slot, _)| slot < lists);
    let place = |slot: (usize, u32)| match slot {
        (at, _) if at < lists => Some(at),
        slot => order.binary_search(&slot).ok().map(|at| lists + at - before),
    };
    named.into_iter().map(place).collect()
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
