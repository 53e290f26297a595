//! Interfaces of Ascend operators: what they are given and what they give, under which names and of which types.
//!
//! They stand in one file, `prototypes.txt`, which is part of the program; its top says where they are from and how it
//! is written. A line of it is read when somebody asks for its operator.

use crate::{Attr, DataType};
use aoe_base::spelling;
use rustc_hash::FxHashMap;
use std::sync::{LazyLock, OnceLock};

/// The file. `scripts/prototypes` makes it; the tests read every line.
const SOURCE: &str = include_str!("prototypes.txt");

/// Interface of an operator type.
#[derive(Debug, Clone, PartialEq)]
pub struct Prototype {
    /// Name of the operator type.
    pub op_type: &'static str,
    /// Inputs in order.
    pub inputs: Vec<Slot>,
    /// Outputs in order.
    pub outputs: Vec<Slot>,
    /// Attributes in order.
    pub attrs: Vec<AttrRule>,
    /// Names of the graphs that it calls.
    pub graphs: Vec<&'static str>,
    /// First version that was seen to have it: `8.1` (CANN 8.1.RC1), or `2026` (the open repositories of that year).
    pub since: &'static str,
}

/// One input or output.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// Its name; those of a dynamic one are the name with a number.
    pub name: &'static str,
    /// How often it is there.
    pub count: Count,
    /// Element types that it may have.
    pub types: TypeSet,
}

/// How often an input or output is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Once.
    Required,
    /// Once or not at all.
    Optional,
    /// Any number of times, numbered from 0.
    Dynamic,
}

/// One attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct AttrRule {
    /// Its name.
    pub name: &'static str,
    /// What its value is.
    pub kind: AttrKind,
    /// Whether it has to be set, because it has no default.
    pub required: bool,
    /// The value where it is not set; `None`, too, for a default that the project has no value for (tensors).
    pub default: Option<Attr>,
}

/// What the value of an attribute is, as GE tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttrKind {
    /// An integer.
    Int,
    /// A number.
    Float,
    /// A truth value.
    Bool,
    /// Text.
    Str,
    /// An element type.
    Type,
    /// A tensor with its elements.
    Tensor,
    /// A list of integers.
    Ints,
    /// A list of numbers.
    Floats,
    /// A list of truth values.
    Bools,
    /// A list of texts.
    Strs,
    /// A list of element types.
    Types,
    /// A list of lists of integers.
    IntLists,
}

impl AttrKind {
    /// Whether the project has values of the kind.
    const fn has_values(self) -> bool {
        !matches!(self, AttrKind::Types | AttrKind::Tensor)
    }

    const ALL: [(&'static str, AttrKind); 12] = [
        ("int", AttrKind::Int),
        ("float", AttrKind::Float),
        ("bool", AttrKind::Bool),
        ("string", AttrKind::Str),
        ("type", AttrKind::Type),
        ("tensor", AttrKind::Tensor),
        ("ints", AttrKind::Ints),
        ("floats", AttrKind::Floats),
        ("bools", AttrKind::Bools),
        ("strings", AttrKind::Strs),
        ("types", AttrKind::Types),
        ("int_lists", AttrKind::IntLists),
    ];

    /// Its name in messages, which is that in the file.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// A set of element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeSet(u64);

impl TypeSet {
    /// Every type.
    pub const ALL: TypeSet = TypeSet(u64::MAX);

    /// Whether a type is in the set; one that is not known may be.
    pub fn has(self, dtype: DataType) -> bool {
        dtype == DataType::Undefined || self.0 & TypeSet::bit(dtype) != 0
    }

    /// The types in the set.
    pub fn iter(self) -> impl Iterator<Item = DataType> {
        DataType::ALL.iter().copied().filter(move |&dtype| self.0 & TypeSet::bit(dtype) != 0)
    }

    /// The enum has fewer than 64 members; the numbers of `ge::DataType` are below 64, too.
    fn bit(dtype: DataType) -> u64 {
        1 << (dtype.ge_number() as u32 & 63)
    }
}

impl Prototype {
    /// Names of so many inputs; `None` where the operator has fewer, and where more than one of them stands for any
    /// number, so that the count does not tell which is which.
    pub fn input_names(&self, count: usize) -> Option<Vec<String>> {
        numbered(&self.inputs, count)
    }

    /// Names of so many outputs, as [`Prototype::input_names`].
    pub fn output_names(&self, count: usize) -> Option<Vec<String>> {
        numbered(&self.outputs, count)
    }

    /// The rule of an attribute.
    pub fn attr(&self, name: &str) -> Option<&AttrRule> {
        self.attrs.iter().find(|rule| rule.name == name)
    }
}

/// The interface of an operator type, where it is known.
pub fn prototype(op_type: &str) -> Option<&'static Prototype> {
    let row = FILE.rows.get(op_type)?;
    let parsed = row.parsed.get_or_init(|| parse(row.name, row.rest, &FILE.sets));
    parsed.as_ref()
}

/// The input at which a product has its bias: behind scales and offsets where its interface has such, and behind the
/// operands where it has none.
pub fn bias_place(op_type: &str) -> usize {
    let slots = prototype(op_type).map_or(&[][..], |interface| &interface.inputs);
    let is_bias = |slot: &str| slot == "bias" || slot == "b" && op_type.starts_with("FullyConnection");
    slots.iter().position(|slot| is_bias(slot.name)).unwrap_or(2)
}

/// Operator types that have an interface, in no particular order.
pub fn types() -> impl Iterator<Item = &'static str> {
    FILE.rows.keys().copied()
}

/// The operator type that a mistyped one may have meant.
pub fn nearest(op_type: &str) -> Option<&'static str> {
    spelling::nearest(op_type, types())
}

/// The names of `count` tensors in the order of their slots.
fn numbered(slots: &[Slot], count: usize) -> Option<Vec<String>> {
    let plain = |slots: &[Slot]| slots.iter().map(|slot| slot.name.to_owned()).collect::<Vec<_>>();
    let is_dynamic = |slot: &Slot| slot.count == Count::Dynamic;
    let Some(many) = slots.iter().position(is_dynamic) else {
        return (count <= slots.len()).then(|| plain(&slots[..count]));
    };
    if slots[many + 1..].iter().any(is_dynamic) {
        return None;
    }
    let copies = (count + 1).checked_sub(slots.len())?;
    let copies = (0..copies).map(|number| format!("{}{number}", slots[many].name));
    Some(plain(&slots[..many]).into_iter().chain(copies).chain(plain(&slots[many + 1..])).collect())
}

/// The file's lines by operator.
struct File {
    sets: Vec<TypeSet>,
    rows: FxHashMap<&'static str, Row>,
}

/// One operator's line; it is read when it is asked for.
struct Row {
    name: &'static str,
    rest: &'static str,
    parsed: OnceLock<Option<Prototype>>,
}

static FILE: LazyLock<File> = LazyLock::new(|| {
    let mut file = File { sets: Vec::new(), rows: FxHashMap::default() };
    file.rows.reserve(2048);
    for line in SOURCE.lines() {
        if let Some(set) = line.strip_prefix('@') {
            let names = set.split(' ').skip(1);
            file.sets.push(TypeSet(names.filter_map(DataType::from_name).fold(0, |set, t| set | TypeSet::bit(t))));
        } else if let Some((name, rest)) = line.split_once('\t').filter(|_| !line.starts_with('#')) {
            file.rows.insert(name, Row { name, rest, parsed: OnceLock::new() });
        }
    }
    file
});

/// Reads a line; `None` for one that is not of the file's form, which the tests rule out.
fn parse(op_type: &'static str, rest: &'static str, sets: &[TypeSet]) -> Option<Prototype> {
    let mut fields = rest.split('\t');
    let (inputs, outputs) = (slots(fields.next()?, sets)?, slots(fields.next()?, sets)?);
    let attrs = parts(fields.next()?, ';').map(attr_rule).collect::<Option<_>>()?;
    let graphs = parts(fields.next()?, ',').collect();
    Some(Prototype { op_type, inputs, outputs, attrs, graphs, since: fields.next()? })
}

fn parts(field: &'static str, separator: char) -> impl Iterator<Item = &'static str> {
    field.split(separator).filter(|part| !part.is_empty())
}

fn slots(field: &'static str, sets: &[TypeSet]) -> Option<Vec<Slot>> {
    parts(field, ',').map(|part| slot(part, sets)).collect()
}

/// `name`, `name?` or `name*`, with `:` and the number of a set.
fn slot(text: &'static str, sets: &[TypeSet]) -> Option<Slot> {
    let (name, types) = match text.split_once(':') {
        Some((name, set)) => (name, *sets.get(set.parse::<usize>().ok()?)?),
        None => (text, TypeSet::ALL),
    };
    let (name, count) = match (name.strip_suffix('?'), name.strip_suffix('*')) {
        (Some(name), _) => (name, Count::Optional),
        (_, Some(name)) => (name, Count::Dynamic),
        _ => (name, Count::Required),
    };
    Some(Slot { name, count, types })
}

/// `name:kind`, with `=` and the default in JSON.
fn attr_rule(text: &'static str) -> Option<AttrRule> {
    let (name, rest) = text.split_once(':')?;
    let (kind, default) = match rest.split_once('=') {
        Some((kind, default)) => (kind, Some(serde_json::from_str::<serde_json::Value>(default).ok()?)),
        None => (rest, None),
    };
    let kind = AttrKind::ALL.iter().find(|(word, _)| *word == kind)?.1;
    let required = default.is_none();
    let default = match default {
        Some(json) if !json.is_null() && kind.has_values() => Some(value(kind, &json)?),
        _ => None,
    };
    Some(AttrRule { name, kind, required, default })
}

/// A default.
fn value(kind: AttrKind, json: &serde_json::Value) -> Option<Attr> {
    fn list<T>(json: &serde_json::Value, item: impl Fn(&serde_json::Value) -> Option<T>) -> Option<Vec<T>> {
        json.as_array()?.iter().map(item).collect()
    }
    let text = |json: &serde_json::Value| json.as_str().map(str::to_owned);
    // A declaration may name the number of an element type by the type.
    let int = |json: &serde_json::Value| match json.as_str() {
        Some(name) => DataType::from_name(name).map(|dtype| i64::from(dtype.ge_number())),
        None => json.as_i64(),
    };
    Some(match kind {
        AttrKind::Int => Attr::Int(int(json)?),
        AttrKind::Float => Attr::Float(json.as_f64()?),
        AttrKind::Bool => Attr::Bool(json.as_bool()?),
        AttrKind::Str => Attr::Str(text(json)?),
        AttrKind::Type => Attr::Type(DataType::from_name(json.as_str()?)?),
        AttrKind::Ints => Attr::Ints(list(json, int)?),
        AttrKind::Floats => Attr::Floats(list(json, serde_json::Value::as_f64)?),
        AttrKind::Bools => Attr::Bools(list(json, serde_json::Value::as_bool)?),
        AttrKind::Strs => Attr::Strs(list(json, text)?),
        AttrKind::IntLists => Attr::IntLists(list(json, |inner| list(inner, int))?),
        AttrKind::Types | AttrKind::Tensor => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{AttrKind, Count, FILE, SOURCE, TypeSet, nearest, prototype, types};
    use crate::{Attr, DataType};

    #[test]
    fn every_line_of_the_file_is_read() {
        let lines = SOURCE.lines().filter(|line| !line.starts_with(['#', '@'])).count();
        assert_eq!(types().count(), lines, "an operator stands twice");
        for op_type in types() {
            let read = prototype(op_type).unwrap_or_else(|| panic!("{op_type} is not read"));
            assert!(read.inputs.iter().chain(&read.outputs).all(|slot| slot.types != TypeSet(0)), "{op_type}");
        }
        for line in SOURCE.lines().filter_map(|line| line.strip_prefix('@')) {
            let mut words = line.split(' ');
            let number: usize = words.next().unwrap().parse().unwrap();
            let names: Vec<_> =
                words.map(|name| DataType::from_name(name).unwrap_or_else(|| panic!("{name}"))).collect();
            assert_eq!(FILE.sets[number].iter().count(), names.len(), "{line}");
        }
    }

    #[test]
    fn an_interface_tells_kinds_types_and_defaults() {
        let conv = prototype("Conv2D").unwrap();
        assert_eq!(conv.inputs.iter().map(|slot| slot.name).collect::<Vec<_>>(), ["x", "filter", "bias", "offset_w"]);
        assert_eq!((conv.inputs[1].count, conv.inputs[2].count), (Count::Required, Count::Optional));
        assert!(conv.inputs[0].types.has(DataType::Float16) && !conv.inputs[0].types.has(DataType::String));
        assert!(conv.attr("strides").unwrap().required);
        assert_eq!(conv.attr("dilations").unwrap().default, Some(Attr::Ints(vec![1, 1, 1, 1])));
        assert_eq!(prototype("Shape").unwrap().attr("dtype").unwrap().default, Some(Attr::Int(3)));
        assert_eq!(prototype("Const").unwrap().attr("value").unwrap().kind, AttrKind::Tensor);
        assert_eq!(prototype("If").unwrap().graphs, ["then_branch", "else_branch"]);
        assert!(prototype("NoSuchOperator").is_none());
    }

    #[test]
    fn names_that_stand_for_many_are_numbered() {
        let inputs = |op_type: &str, count| prototype(op_type).unwrap().input_names(count);
        assert_eq!(inputs("Conv2D", 2).unwrap(), ["x", "filter"]);
        assert_eq!(inputs("Relu", 2), None);
        assert_eq!(inputs("ConcatV2", 4).unwrap(), ["x0", "x1", "x2", "concat_dim"]);
        assert_eq!(inputs("Concat", 1).unwrap(), ["concat_dim"]);
        assert_eq!(inputs("Concat", 0), None);
        assert_eq!(inputs("GroupedMatmul", 2), None, "which of its lists the second belongs to is not told");
        assert_eq!(prototype("Split").unwrap().output_names(3).unwrap(), ["y0", "y1", "y2"]);
    }

    #[test]
    fn a_mistyped_operator_has_a_nearest_one() {
        assert_eq!(nearest("MatMulV22"), Some("MatMulV2"));
        assert_eq!(nearest("quite_another"), None);
    }
}
