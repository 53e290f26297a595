//! Protobuf's printer of text, as far as the messages of a test go: field by field, without the tables of the reader.

use crate::frontend::air::proto::{self as ge, decode};
use crate::graph::DataType;
use prost::Message;
use prost::bytes::Bytes;
use std::fmt::{Display, Write};

/// How a text is written, where the format leaves it open.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent freedoms of the format")]
pub struct Style {
    /// `<>` in place of `{}`.
    pub angles: bool,
    /// `[1, 2]` in place of a line for each.
    pub lists: bool,
    /// `\xHH` in place of `\OOO`.
    pub hexadecimal: bool,
    /// Text beyond ASCII as it is.
    pub raw_text: bool,
    /// What stands behind a field.
    pub separator: &'static str,
    /// A comment here and there.
    pub comments: bool,
    /// Numbers in place of the names of an enumeration.
    pub numbers: bool,
}

impl Style {
    pub fn random(rng: &mut fastrand::Rng) -> Style {
        Style {
            angles: rng.bool(),
            lists: rng.bool(),
            hexadecimal: rng.bool(),
            raw_text: rng.bool(),
            separator: ["", ";", ","][rng.usize(..3)],
            comments: rng.bool(),
            numbers: rng.bool(),
        }
    }
}

/// The text of a model.
pub fn print(model: &ge::Model, style: &Style) -> String {
    let mut printer = Printer { style, text: String::new(), indent: 0 };
    printer.model(model);
    printer.text
}

struct Printer<'s> {
    style: &'s Style,
    text: String,
    indent: usize,
}

fn part<M: Message + Default>(bytes: &Bytes) -> M {
    decode(bytes.clone(), || "a part of a test's model".into()).unwrap()
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let separator = self.style.separator;
        writeln!(self.text, "{:indent$}{text}{separator}", "", indent = self.indent).unwrap();
        if self.style.comments && self.text.len().is_multiple_of(7) {
            self.text.push_str("# } \" > é\r\n");
        }
    }

    fn message(&mut self, name: &str, body: impl FnOnce(&mut Self)) {
        let (open, close) = if self.style.angles { ("<", ">") } else { ("{", "}") };
        writeln!(self.text, "{:indent$}{name} {open}", "", indent = self.indent).unwrap();
        self.indent += 2;
        body(self);
        self.indent -= 2;
        self.line(close);
    }

    fn quoted(&self, bytes: &[u8]) -> String {
        let mut out = String::from("\"");
        match std::str::from_utf8(bytes) {
            Ok(text) if self.style.raw_text => {
                for c in text.chars() {
                    match c {
                        ' '..='~' if !"\"\\".contains(c) => out.push(c),
                        _ if c > '~' => out.push(c),
                        _ => write!(out, "\\{:03o}", c as u32).unwrap(),
                    }
                }
            }
            _ => {
                for (at, &b) in bytes.iter().enumerate() {
                    match b {
                        b'\n' => out.push_str("\\n"),
                        b'"' | b'\\' => out.extend(['\\', char::from(b)]),
                        b' '..=b'~' => out.push(char::from(b)),
                        // A digit behind it would belong to it.
                        _ if self.style.hexadecimal && !bytes.get(at + 1).is_some_and(u8::is_ascii_hexdigit) => {
                            write!(out, "\\x{b:02x}").unwrap();
                        }
                        _ => write!(out, "\\{b:03o}").unwrap(),
                    }
                }
            }
        }
        out.push('"');
        out
    }

    fn strings<T: AsRef<[u8]>>(&mut self, name: &str, values: &[T]) {
        for value in values {
            self.line(&format!("{name}: {}", self.quoted(value.as_ref())));
        }
    }

    fn string(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.strings(name, &[value]);
        }
    }

    fn numbers<T: ToString>(&mut self, name: &str, values: &[T]) {
        let values: Vec<_> = values.iter().map(T::to_string).collect();
        if self.style.lists && !values.is_empty() {
            self.line(&format!("{name}: [{}]", values.join(", ")));
        } else {
            for value in &values {
                self.line(&format!("{name}: {value}"));
            }
        }
    }

    /// A number that is left out where it is zero.
    fn number(&mut self, name: &str, value: i64) {
        if value != 0 {
            self.scalar(name, value);
        }
    }

    fn scalar(&mut self, name: &str, value: impl Display) {
        self.line(&format!("{name}: {value}"));
    }

    fn model(&mut self, model: &ge::Model) {
        self.string("name", &model.name);
        self.number("version", model.version.into());
        self.string("custom_version", &model.custom_version);
        model.graph.iter().for_each(|graph| self.message("graph", |p| p.graph(&part(graph))));
        self.attrs(&model.attr);
    }

    fn graph(&mut self, graph: &ge::Graph) {
        self.string("name", &graph.name);
        self.strings("input", &graph.input);
        self.strings("output", &graph.output);
        graph.op.iter().for_each(|op| self.message("op", |p| p.op(&part(op))));
        self.attrs(&graph.attr);
    }

    fn op(&mut self, op: &ge::Op) {
        self.string("name", &op.name);
        self.string("type", &op.op_type);
        self.strings("input", &op.input);
        self.attrs(&op.attr);
        if op.has_out_attr {
            self.scalar("has_out_attr", true);
        }
        self.number("id", op.id);
        op.input_desc.iter().for_each(|desc| self.message("input_desc", |p| p.tensor(&part(desc))));
        op.output_desc.iter().for_each(|desc| self.message("output_desc", |p| p.tensor(&part(desc))));
        self.strings("subgraph_name", &op.subgraph_name);
    }

    fn attrs(&mut self, entries: &[Bytes]) {
        for entry in entries {
            let entry: ge::Entry = part(entry);
            self.message("attr", |p| {
                p.string("key", &entry.key);
                p.message("value", |p| p.value(&part(&entry.value)));
            });
        }
    }

    fn value(&mut self, value: &ge::Value) {
        if let Some(list) = &value.list {
            self.message("list", |p| p.list(&part(list)));
        } else if let Some(s) = &value.s {
            self.strings("s", &[s]);
        } else if let Some(i) = value.i {
            self.scalar("i", i);
        } else if let Some(f) = value.f {
            self.scalar("f", f);
        } else if let Some(b) = value.b {
            self.scalar("b", b);
        } else if let Some(t) = &value.t {
            self.message("t", |p| p.tensor_def(&part(t)));
        } else if let Some(lists) = &value.list_list_int {
            let lists: ge::ListListInt = part(lists);
            self.message("list_list_int", |p| {
                for list in &lists.lists {
                    let list: ge::ListInt = part(list);
                    p.message("list_list_i", |p| p.numbers("list_i", &list.values));
                }
            });
        } else if let Some(dt) = value.dt {
            self.scalar("dt", dt);
        }
    }

    fn list(&mut self, list: &ge::ListValue) {
        self.strings("s", &list.s);
        self.numbers("i", &list.i);
        self.numbers("f", &list.f);
        self.numbers("b", &list.b);
        self.strings("bt", &list.bt);
        list.td.iter().for_each(|desc| self.message("td", |p| p.tensor(&part(desc))));
        list.t.iter().for_each(|tensor| self.message("t", |p| p.tensor_def(&part(tensor))));
        list.g.iter().for_each(|graph| self.message("g", |p| p.graph(&part(graph))));
        self.numbers("dt", &list.dt);
        let names = [
            "NONE",
            "STRING",
            "INT",
            "FLOAT",
            "BOOL",
            "BYTES",
            "TENSOR_DESC",
            "TENSOR",
            "GRAPH",
            "NAMED_ATTRS",
            "DATA_TYPE",
        ];
        if self.style.numbers || list.val_type == 0 {
            self.number("val_type", list.val_type.into());
        } else {
            self.scalar("val_type", format!("VT_LIST_{}", names[list.val_type as usize]));
        }
    }

    fn tensor_def(&mut self, tensor: &ge::TensorDef) {
        self.message("desc", |p| p.tensor(&part(&tensor.desc)));
        if !tensor.data.is_empty() {
            self.strings("data", &[&tensor.data]);
        }
    }

    fn tensor(&mut self, tensor: &ge::Tensor) {
        self.string("name", &tensor.name);
        let known = DataType::from_proto(tensor.dtype).filter(|_| !self.style.numbers && tensor.dtype != 0);
        match known {
            Some(DataType::Float) => self.scalar("dtype", "DT_FLOAT"),
            Some(DataType::Bfloat16) => self.scalar("dtype", "DT_BF16"),
            Some(dtype) => self.scalar("dtype", format!("DT_{}", dtype.name().to_uppercase())),
            None => self.number("dtype", tensor.dtype.into()),
        }
        if let Some(shape) = &tensor.shape {
            self.message("shape", |p| p.numbers("dim", &shape.dim));
        }
        self.string("layout", &tensor.layout);
        self.attrs(&tensor.attr);
        if tensor.has_out_attr {
            self.scalar("has_out_attr", true);
        }
        self.number("weight_size", tensor.weight_size);
        self.string("device_type", &tensor.device_type);
        self.number("data_offset", tensor.data_offset);
    }
}
