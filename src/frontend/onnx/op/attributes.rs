//! The attributes of a node, by type.

use super::Op;
use crate::frontend::onnx::proto::{self, decode, kind};
use crate::frontend::onnx::tensor;
use crate::graph::{Attr, Constant, DataType, Node, TensorDesc};
use crate::status::Result;
use prost::bytes::Bytes;

impl Op<'_> {
    /// The attribute of this name.
    pub fn attr(&self, name: &str) -> Option<&proto::Attribute> {
        self.attrs.iter().find(|a| a.name == name)
    }

    /// The attribute when it is of this type; files older than IR version 2 leave the type out.
    fn typed(&self, name: &str, kind: i32, what: &str) -> Result<Option<&proto::Attribute>> {
        match self.attr(name) {
            Some(attr) if attr.kind == kind || attr.kind == 0 => Ok(Some(attr)),
            Some(_) => Err(self.error(format!("attribute `{name}` is not {what}"))),
            None => Ok(None),
        }
    }

    /// An integer attribute.
    pub fn int(&self, name: &str) -> Result<Option<i64>> {
        Ok(self.typed(name, kind::INT, "an integer")?.map(|a| a.i.unwrap_or(0)))
    }

    /// A truth value, which ONNX writes as an integer.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool> {
        Ok(self.int(name)?.map_or(default, |v| v != 0))
    }

    /// A floating-point attribute.
    pub fn float(&self, name: &str) -> Result<Option<f64>> {
        Ok(self.typed(name, kind::FLOAT, "a number")?.map(|a| f64::from(a.f.unwrap_or(0.0))))
    }

    /// A string attribute.
    pub fn str(&self, name: &str) -> Result<Option<String>> {
        let Some(attr) = self.typed(name, kind::STRING, "a string")? else { return Ok(None) };
        let bytes = attr.s.as_deref().unwrap_or_default();
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(self.error(format!("attribute `{name}` is not UTF-8"))),
        }
    }

    /// A list of integers.
    pub fn ints(&self, name: &str) -> Result<Option<Vec<i64>>> {
        Ok(self.typed(name, kind::INTS, "a list of integers")?.map(|a| a.ints.clone()))
    }

    /// A list of numbers.
    pub fn floats(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let attr = self.typed(name, kind::FLOATS, "a list of numbers")?;
        Ok(attr.map(|a| a.floats.iter().map(|&v| f64::from(v)).collect()))
    }

    /// A list of strings.
    pub fn strs(&self, name: &str) -> Result<Option<Vec<String>>> {
        let Some(attr) = self.typed(name, kind::STRINGS, "a list of strings")? else { return Ok(None) };
        let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec());
        match attr.strings.iter().map(text).collect() {
            Ok(list) => Ok(Some(list)),
            Err(_) => Err(self.error(format!("attribute `{name}` is not UTF-8"))),
        }
    }

    /// Description of a sparse tensor attribute.
    pub fn sparse_tensor(&self, name: &str) -> Result<Option<TensorDesc>> {
        let Some(bytes) = self.attr(name).and_then(|a| a.sparse_tensor.clone()) else { return Ok(None) };
        let place = || format!("{}, attribute `{name}`", self.place());
        tensor::read_sparse(bytes, &place).map(|(_, desc)| Some(desc))
    }

    /// A tensor attribute.
    pub fn tensor(&self, name: &str) -> Result<Option<(TensorDesc, Constant)>> {
        let Some(attr) = self.typed(name, kind::TENSOR, "a tensor")? else { return Ok(None) };
        let place = || format!("{}, attribute `{name}`", self.place());
        let tensor: proto::Tensor = decode(attr.t.clone().unwrap_or_default(), place)?;
        tensor::read(&tensor, self.builder.base(), &place).map(Some)
    }

    /// Copies every attribute that has a place in the graph, under its own name; tensors and
    /// subgraphs have none.
    pub fn copy_attrs(&self, node: &mut Node) -> Result<()> {
        for attr in &self.attrs {
            let name = attr.name.as_str();
            let value = match attr.kind {
                kind::INT => self.int(name)?.map(Attr::Int),
                kind::FLOAT => self.float(name)?.map(Attr::Float),
                kind::INTS => self.ints(name)?.map(Attr::Ints),
                kind::FLOATS => self.floats(name)?.map(Attr::Floats),
                kind::STRING => Some(text(attr.s.as_ref().unwrap_or(&Bytes::new()))),
                kind::STRINGS => Some(texts(&attr.strings)),
                _ => None,
            };
            if let Some(value) = value {
                node.attrs.set(name, value);
            }
        }
        Ok(())
    }

    /// An attribute that is the number of an element type; `None` where the node has none.
    pub fn type_attr(&self, name: &str) -> Result<Option<DataType>> {
        let Some(number) = self.int(name)? else { return Ok(None) };
        let place = || format!("{}, attribute `{name}`", self.place());
        tensor::data_type(i32::try_from(number).unwrap_or(-1), &place).map(Some)
    }
}

/// A text; bytes that are none stay what they are, as GE's message of an attribute has them.
fn text(bytes: &Bytes) -> Attr {
    match String::from_utf8(bytes.to_vec()) {
        Ok(text) => Attr::Str(text),
        Err(_) => Attr::Opaque(field(AS_TEXT, bytes)),
    }
}

/// The same of a list.
fn texts(list: &[Bytes]) -> Attr {
    let read: std::result::Result<Vec<_>, _> = list.iter().map(|bytes| String::from_utf8(bytes.to_vec())).collect();
    let fields = || list.iter().flat_map(|bytes| field(AS_TEXT, bytes)).collect::<Vec<u8>>().into();
    read.map_or_else(|_| Attr::Opaque(field(AS_LIST, &fields())), Attr::Strs)
}

/// Numbers of the fields of `AttrDef` and of its list that hold texts, and of the one that holds the list.
const AS_TEXT: u32 = 2;
const AS_LIST: u32 = 1;

/// A field of a message with these bytes.
fn field(number: u32, bytes: &Bytes) -> Bytes {
    let mut message = Vec::with_capacity(bytes.len() + 12);
    prost::encoding::bytes::encode(number, bytes, &mut message);
    message.into()
}
