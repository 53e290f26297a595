//! What a single-operator description says, field by field, and the rules of each.

use crate::graph::{Attr, Constant, DataType, Format, Shape, TensorDesc, UNKNOWN_DIM};
use serde::Deserialize;
use serde_json::Value;

use crate::frontend::device_view::framework_view;
use crate::frontend::limits::MAX_DIM;

/// One operator.
#[expect(clippy::struct_field_names, reason = "the names are the file's")]
#[derive(Debug, Deserialize)]
pub struct Op {
    /// Ascend operator type.
    pub op: String,
    /// Stem of the om file that ATC would write.
    pub name: Option<String>,
    /// Inputs in order.
    pub input_desc: Vec<Tensor>,
    /// Outputs in order.
    pub output_desc: Vec<Tensor>,
    /// Attributes.
    #[serde(default)]
    pub attr: Vec<Attribute>,
    /// 0 exact shapes, 1 fuzzy ones; deprecated.
    #[serde(default)]
    pub compile_flag: i64,
}

/// One input or output.
#[derive(Debug, Deserialize)]
pub struct Tensor {
    /// Name of the memory format.
    pub format: String,
    /// Sizes in that format; -1 is open.
    pub shape: Vec<i64>,
    /// Element type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name of the input or output; counts more than the group.
    pub name: Option<String>,
    /// Name of the group of a dynamic input.
    pub dynamic_input: Option<String>,
    /// Format in the framework's view.
    pub origin_format: Option<String>,
    /// Shape in the framework's view.
    pub origin_shape: Option<Vec<i64>>,
    /// Least and most of each open dimension.
    pub shape_range: Option<Vec<[i64; 2]>>,
    /// Whether the input is a constant.
    #[serde(default)]
    pub is_const: bool,
    /// Its elements.
    pub const_value: Option<Value>,
}

/// One attribute.
#[derive(Debug, Deserialize)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its type, by name.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its value.
    pub value: Value,
}

/// Element types that ATC takes, and the type each is.
const TYPES: &[(&str, DataType)] = &[
    ("bool", DataType::Bool),
    ("int8", DataType::Int8),
    ("uint8", DataType::Uint8),
    ("int16", DataType::Int16),
    ("uint16", DataType::Uint16),
    ("int32", DataType::Int32),
    ("uint32", DataType::Uint32),
    ("int64", DataType::Int64),
    ("uint64", DataType::Uint64),
    ("float16", DataType::Float16),
    ("half", DataType::Float16),
    ("fp16", DataType::Float16),
    ("float", DataType::Float),
    ("float32", DataType::Float),
    ("double", DataType::Double),
    ("complex32", DataType::Complex32),
    ("complex64", DataType::Complex64),
    ("complex128", DataType::Complex128),
    ("uint1", DataType::Uint1),
    ("bfloat16", DataType::Bfloat16),
    ("int4", DataType::Int4),
    ("hifloat8", DataType::Hifloat8),
    ("hifloat4", DataType::Hifloat4),
    ("float8_e5m2", DataType::Float8E5m2),
    ("float8_e4m3fn", DataType::Float8E4m3fn),
];

/// Longest name of an om file that ATC keeps.
const MAX_NAME: usize = 128;

/// What is wrong with a description.
pub type Reason = String;

impl Op {
    /// The name that the file gives, as ATC would use it.
    pub fn given_name(&self) -> Result<Option<&str>, Reason> {
        let Some(name) = self.name.as_deref().filter(|name| !name.is_empty()) else { return Ok(None) };
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        match name.chars().find(|&c| !allowed(c)) {
            Some(c) => Err(format!("`name` is `{name}`, in which `{c}` is not one of A-Z a-z 0-9 . _ -")),
            None => Ok(Some(&name[..name.len().min(MAX_NAME)])),
        }
    }

    /// Rules of the operator as a whole.
    pub fn check(&self) -> Result<(), Reason> {
        if self.op.is_empty() {
            return Err("`op` is empty".to_owned());
        }
        if !matches!(self.compile_flag, 0 | 1) {
            return Err(format!("`compile_flag` is {}, neither 0 (exact) nor 1 (fuzzy)", self.compile_flag));
        }
        if self.output_desc.is_empty() {
            return Err("`output_desc` is empty: an operator without outputs runs for nothing".to_owned());
        }
        Ok(())
    }

    /// The stem of ATC's om file where no name is given: place and type of the operator, then type,
    /// format and sizes of every tensor, cut where ATC cuts it.
    pub fn default_name(&self, index: usize) -> Result<String, Reason> {
        let mut name = format!("{index}_{}", self.op);
        for tensor in self.input_desc.iter().chain(&self.output_desc) {
            let numbers = [tensor.dtype()?.ge_number(), tensor.format()?.ge_number()].map(i64::from);
            for number in numbers.iter().chain(&tensor.shape) {
                if name.len() >= MAX_NAME {
                    break;
                }
                name.extend(["_".to_owned(), number.to_string()]);
            }
        }
        Ok(name.chars().take(MAX_NAME).collect())
    }
}

impl Tensor {
    /// Element type; undefined for an input that is left out.
    fn dtype(&self) -> Result<DataType, Reason> {
        let kind = self.kind.to_ascii_lowercase();
        if kind == "undefined" {
            return Ok(DataType::Undefined);
        }
        TYPES.iter().find(|(name, _)| *name == kind).map(|(_, dtype)| *dtype).ok_or_else(|| {
            let names: Vec<_> = TYPES.iter().map(|(name, _)| *name).collect();
            format!("`type` is `{}`, not one of {}", self.kind, names.join(", "))
        })
    }

    fn format(&self) -> Result<Format, Reason> {
        Format::from_name(&self.format).ok_or_else(|| format!("there is no format `{}`", self.format))
    }

    /// Whether the tensor is an optional input that is left out.
    pub fn is_absent(&self) -> Result<bool, Reason> {
        match (self.format()? == Format::Reserved, self.dtype()? == DataType::Undefined) {
            (true, true) if self.shape.is_empty() => Ok(true),
            (true, true) => Err("an input that is left out has shape []".to_owned()),
            (false, false) => Ok(false),
            _ => Err("format RESERVED and type UNDEFINED go together: they say that an input is left out".to_owned()),
        }
    }

    /// Description in the framework's view.
    pub fn desc(&self) -> Result<TensorDesc, Reason> {
        let (dtype, format) = (self.dtype()?, self.format()?);
        self.check_range()?;
        let origin_format = match &self.origin_format {
            Some(name) => Some(Format::from_name(name).ok_or_else(|| format!("there is no format `{name}`"))?),
            None => None,
        };
        let origin_shape = self.origin_shape.as_deref().map(|dims| shape("origin_shape", dims)).transpose()?;
        let (shape, format) = framework_view(shape("shape", &self.shape)?, format, origin_shape, origin_format);
        Ok(TensorDesc { dtype, shape, format })
    }

    /// A range for each open dimension, or for every one.
    fn check_range(&self) -> Result<(), Reason> {
        let Some(ranges) = &self.shape_range else { return Ok(()) };
        let open = self.shape.iter().filter(|&&d| d == UNKNOWN_DIM).count();
        if ![open, self.shape.len()].contains(&ranges.len()) && self.shape != [-2] {
            return Err(format!("`shape_range` has {} ranges for {open} open dimensions", ranges.len()));
        }
        // -1 is a most without end.
        match ranges.iter().find(|[least, most]| *least < 0 || (*most != -1 && most < least)) {
            Some([least, most]) => Err(format!("`shape_range` has [{least}, {most}], which no size is in")),
            None => Ok(()),
        }
    }

    /// The value of a constant input; `None` for one that is none.
    pub fn constant(&self, desc: &TensorDesc) -> Result<Option<Constant>, Reason> {
        if !self.is_const {
            return match self.const_value {
                Some(_) => Err("`const_value` is given, but `is_const` is not true".to_owned()),
                None => Ok(None),
            };
        }
        let Some(value) = &self.const_value else {
            return Err("`is_const` is true without a `const_value`".to_owned());
        };
        let list = value.as_array().ok_or("`const_value` is no array")?;
        let Some(elements) = desc.shape.elements() else { return Err("a constant has an open shape".to_owned()) };
        if list.len() as u64 != elements {
            return Err(format!("`const_value` has {} elements, shape {} has {elements}", list.len(), desc.shape));
        }
        let constant = numbers(list, desc.dtype)?;
        Ok(Some(if elements > Constant::MAX_VALUES { Constant::Opaque } else { constant }))
    }
}

fn shape(field: &str, dims: &[i64]) -> Result<Shape, Reason> {
    if dims == [-2] {
        return Ok(Shape::unknown_rank());
    }
    match dims.iter().find(|d| !(UNKNOWN_DIM..=MAX_DIM).contains(*d)) {
        Some(dim) => Err(format!("`{field}` has {dim}, neither 0 to {MAX_DIM} nor -1")),
        None => Ok(Shape::new(dims)),
    }
}

/// Numbers of an element type.
fn numbers(list: &[Value], dtype: DataType) -> Result<Constant, Reason> {
    use DataType::{Bfloat16, Double, Float, Float16};
    let wrong = |value: &Value| format!("`const_value` has {value}, which is no {}", dtype.name());
    if matches!(dtype, Float16 | Float | Double | Bfloat16) {
        let floats = list.iter().map(|value| value.as_f64().ok_or_else(|| wrong(value)));
        return Ok(Constant::Floats(floats.collect::<Result<_, _>>()?));
    }
    let (least, most) = match dtype {
        DataType::Int8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
        DataType::Uint8 => (0, i64::from(u8::MAX)),
        DataType::Int16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        DataType::Uint16 => (0, i64::from(u16::MAX)),
        DataType::Int32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        DataType::Uint32 => (0, i64::from(u32::MAX)),
        DataType::Int64 => (i64::MIN, i64::MAX),
        DataType::Uint64 => (0, i64::MAX),
        _ => return Err(format!("a constant of type {} cannot be written in JSON", dtype.name())),
    };
    let within = |value: &Value| value.as_i64().filter(|v| (least..=most).contains(v)).ok_or_else(|| wrong(value));
    Ok(Constant::Ints(list.iter().map(within).collect::<Result<_, _>>()?))
}

impl Attribute {
    /// The value, as its type says.
    pub fn read(&self) -> Result<Attr, Reason> {
        if self.name.is_empty() {
            return Err("its name is empty".to_owned());
        }
        let value = &self.value;
        let wrong = || format!("the value is not of type {}", self.kind);
        let list = || value.as_array().ok_or_else(wrong);
        let read = match self.kind.as_str() {
            "bool" => value.as_bool().map(Attr::Bool),
            "int" => value.as_i64().map(Attr::Int),
            "float" => value.as_f64().map(Attr::Float),
            "string" => value.as_str().map(|s| Attr::Str(s.to_owned())),
            "list_bool" => list()?.iter().map(Value::as_bool).collect::<Option<_>>().map(Attr::Bools),
            "list_int" => ints(value).map(Attr::Ints),
            "list_float" => list()?.iter().map(Value::as_f64).collect::<Option<_>>().map(Attr::Floats),
            "list_string" => {
                list()?.iter().map(|v| v.as_str().map(str::to_owned)).collect::<Option<_>>().map(Attr::Strs)
            }
            "list_list_int" => list()?.iter().map(ints).collect::<Option<_>>().map(Attr::IntLists),
            "data_type" => data_type(value).map(Attr::Type),
            other => {
                let known =
                    "bool, int, float, string, list_bool, list_int, list_float, list_string, list_list_int, data_type";
                return Err(format!("there is no type `{other}` of attributes; there are {known}"));
            }
        };
        read.ok_or_else(wrong)
    }
}

fn ints(value: &Value) -> Option<Vec<i64>> {
    value.as_array()?.iter().map(Value::as_i64).collect()
}

/// `"DT_FLOAT"` or the number in `ge::DataType`.
fn data_type(value: &Value) -> Option<DataType> {
    match value.as_str() {
        Some(name) => DataType::from_serial_name(name),
        None => DataType::from_ge(i32::try_from(value.as_i64()?).ok()?),
    }
}
