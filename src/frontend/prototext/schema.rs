//! What a `.proto` file says of a message, as far as reading its text takes it.

/// A message.
#[derive(Debug)]
pub struct Schema {
    /// Its name, for errors.
    pub name: &'static str,
    /// Its fields, at most 64.
    pub fields: &'static [Field],
}

/// A field.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its number on the wire.
    pub number: u32,
    /// How often it may occur.
    pub label: Label,
    /// What it holds.
    pub kind: Kind,
}

/// How often a field may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// Once.
    One,
    /// Any number of times.
    Many,
    /// Once, and no other field with this label in the same message: the message is a `oneof`.
    Choice,
}

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// `int64`.
    Int64,
    /// `uint32`.
    Uint32,
    /// `bool`.
    Bool,
    /// `float`.
    Float,
    /// `string`, which is UTF-8.
    String,
    /// `bytes`.
    Bytes,
    /// The value of an enumeration, by the number of its name.
    Enum(fn(&str) -> Option<i32>),
    /// Another message.
    Message(&'static Schema),
    /// Whatever it is, it is not needed.
    Skipped,
}

impl Schema {
    /// The place of a field among [`Schema::fields`]. `after` is where the last one was: most fields of a file come in
    /// order, and lists one value after the other.
    pub fn find(&self, name: &[u8], after: usize) -> Option<usize> {
        let is = |at: &usize| self.fields.get(*at).is_some_and(|field| field.name.as_bytes() == name);
        [after, after + 1].iter().find(|at| is(at)).copied().or_else(|| (0..self.fields.len()).find(is))
    }
}

impl Kind {
    /// What such a value looks like, for errors.
    pub fn wanted(self) -> &'static str {
        match self {
            Kind::Int64 | Kind::Uint32 => "a whole number",
            Kind::Bool => "true or false",
            Kind::Float => "a number",
            Kind::String | Kind::Bytes => "a string in quotes",
            Kind::Enum(_) => "a name of its enumeration",
            Kind::Message(_) => "a message in `{}` or `<>`",
            Kind::Skipped => "a value",
        }
    }
}
