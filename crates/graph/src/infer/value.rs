//! Small tensors whose values are known while shapes are inferred.

use super::dim;
use crate::{Constant, DataType, Port, Shape, TensorDesc};
use rustc_hash::FxHashMap;

/// Values with more elements than this do not decide shapes and are not followed.
pub(crate) const MAX_ELEMENTS: usize = 4096;

/// Elements of all values of one graph together (about 16 bytes each); beyond it, nothing more is
/// followed rather than time and memory exhausted.
const BUDGET: usize = 1 << 23;

/// Values with more elements than this, which are tables rather than shapes, get half of the budget.
const TABLE: usize = 64;

/// Elements in row-major order; `None` is one that is not known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Elements {
    /// Integers, and booleans as 0 and 1.
    Ints(Vec<Option<i64>>),
    /// Floating-point numbers.
    Floats(Vec<Option<f64>>),
}

/// A small tensor, known element by element.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    /// Sizes, all known; their product is the number of elements.
    pub dims: Vec<i64>,
    /// The elements.
    pub elements: Elements,
}

impl Value {
    /// A value, unless sizes and elements disagree or it is too large to follow.
    pub fn new(dims: Vec<i64>, elements: Elements) -> Option<Value> {
        let len = match &elements {
            Elements::Ints(v) => v.len(),
            Elements::Floats(v) => v.len(),
        };
        (len <= MAX_ELEMENTS && dim::product(&dims) == Ok(len as i64)).then_some(Value { dims, elements })
    }

    /// Whether [`Value::of_constant`] can read a constant.
    pub fn is_readable(constant: &Constant) -> bool {
        match constant {
            Constant::Ints(v) => v.len() <= MAX_ELEMENTS,
            Constant::Floats(v) => v.len() <= MAX_ELEMENTS,
            Constant::Stored(_) | Constant::Opaque => false,
        }
    }

    /// The value of a constant that was read.
    pub fn of_constant(constant: &Constant, shape: &Shape) -> Option<Value> {
        if !Value::is_readable(constant) {
            return None;
        }
        let elements = match constant {
            Constant::Ints(v) => Elements::Ints(v.iter().copied().map(Some).collect()),
            Constant::Floats(v) => Elements::Floats(v.iter().copied().map(Some).collect()),
            Constant::Stored(_) | Constant::Opaque => return None,
        };
        Value::new(shape.known()?.to_vec(), elements)
    }

    /// The constant, when every element is known.
    pub fn to_constant(&self) -> Option<Constant> {
        match &self.elements {
            Elements::Ints(v) => v.iter().copied().collect::<Option<_>>().map(Constant::Ints),
            Elements::Floats(v) => v.iter().copied().collect::<Option<_>>().map(Constant::Floats),
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match &self.elements {
            Elements::Ints(v) => v.len(),
            Elements::Floats(v) => v.len(),
        }
    }

    /// The elements as integers when all are known; floating-point ones are truncated.
    pub fn ints(&self) -> Option<Vec<i64>> {
        self.partial_ints().into_iter().collect()
    }

    /// The elements as integers as far as they are known.
    pub fn partial_ints(&self) -> Vec<Option<i64>> {
        match &self.elements {
            Elements::Ints(v) => v.clone(),
            Elements::Floats(v) => v.iter().map(|f| f.map(|f| f as i64)).collect(),
        }
    }

    /// The elements as floating-point numbers as far as they are known.
    pub fn partial_floats(&self) -> Vec<Option<f64>> {
        match &self.elements {
            Elements::Ints(v) => v.iter().map(|i| i.map(|i| i as f64)).collect(),
            Elements::Floats(v) => v.clone(),
        }
    }

    /// The elements at these positions, as a value of these sizes; a position outside is not known.
    pub fn pick(&self, dims: Vec<i64>, positions: impl Iterator<Item = Option<usize>>) -> Option<Value> {
        let elements = match &self.elements {
            Elements::Ints(v) => Elements::Ints(positions.map(|p| v.get(p?).copied().flatten()).collect()),
            Elements::Floats(v) => Elements::Floats(positions.map(|p| v.get(p?).copied().flatten()).collect()),
        };
        Value::new(dims, elements)
    }

    /// The same elements under other sizes.
    pub fn reshaped(&self, dims: Vec<i64>) -> Option<Value> {
        Value::new(dims, self.elements.clone())
    }
}

/// Row-major strides of these sizes, all known; `None` when they overflow.
pub(crate) fn strides(dims: &[i64]) -> Option<Vec<i64>> {
    let mut strides = vec![1i64; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i].checked_mul(dims[i].max(1))?;
    }
    Some(strides)
}

/// Positions `base + sum(index[k] * step[k])` over all indices of a tensor of these sizes, in row-major
/// order; `None` when there are too many to follow.
pub(crate) fn positions(dims: &[i64], base: i64, steps: &[i64]) -> Option<impl Iterator<Item = Option<usize>> + use<>> {
    let count = usize::try_from(dim::product(dims).ok()?).ok().filter(|&n| n <= MAX_ELEMENTS)?;
    let mut all = Vec::with_capacity(count);
    let mut index = vec![0i64; dims.len()];
    let mut at = base;
    for _ in 0..count {
        all.push(usize::try_from(at).ok());
        for k in (0..dims.len()).rev() {
            index[k] += 1;
            at = at.wrapping_add(steps[k]);
            if index[k] < dims[k] {
                break;
            }
            at = at.wrapping_sub(steps[k].wrapping_mul(dims[k]));
            index[k] = 0;
        }
    }
    Some(all.into_iter())
}

/// Known values of a graph by tensor.
#[derive(Debug, Default)]
pub struct Values {
    known: FxHashMap<Port, Value>,
    elements: usize,
}

impl Values {
    /// Keeps a value; one that [`Values::has_room`] has no room for is dropped.
    pub(crate) fn insert(&mut self, port: Port, value: Value) {
        if self.has_room(value.len()) {
            // An empty value costs its place in the table.
            self.elements += value.len().max(1);
            self.known.insert(port, value);
        }
    }

    /// Whether a value of so many elements is still worth computing.
    pub fn has_room(&self, elements: usize) -> bool {
        self.elements + elements <= if elements > TABLE { BUDGET / 2 } else { BUDGET }
    }

    /// The value of a tensor.
    pub(crate) fn get(&self, port: Port) -> Option<&Value> {
        self.known.get(&port)
    }
}

/// Sizes of an output that is small enough to follow.
pub(super) fn small(out: &TensorDesc) -> Option<&[i64]> {
    let dims = out.shape.known()?;
    followable(dims).map(|_| dims)
}

/// Number of elements of a part of a shape. A tensor without elements may have axes too long to walk.
pub(super) fn followable(dims: &[i64]) -> Option<usize> {
    usize::try_from(dim::product(dims).ok()?).ok().filter(|&n| n <= MAX_ELEMENTS)
}

/// Elements converted to what a type holds: integers are truncated, truth values are 0 or 1.
pub(super) fn as_type(elements: Elements, dtype: DataType) -> Elements {
    match elements {
        Elements::Ints(v) if dtype.is_float() => Elements::Floats(v.into_iter().map(|i| i.map(|i| i as f64)).collect()),
        Elements::Ints(v) if dtype == DataType::Bool => {
            Elements::Ints(v.into_iter().map(|i| i.map(|i| i64::from(i != 0))).collect())
        }
        Elements::Floats(v) if dtype == DataType::Bool => {
            Elements::Ints(v.into_iter().map(|f| f.map(|f| i64::from(f != 0.0))).collect())
        }
        Elements::Floats(v) if !dtype.is_float() && dtype != DataType::Undefined => {
            Elements::Ints(v.into_iter().map(|f| f.map(|f| f as i64)).collect())
        }
        other => other,
    }
}

/// A value repeated along the axes where it has size 1 or none.
pub(super) fn broadcast_value(x: &Value, dims: &[i64]) -> Option<Value> {
    if x.dims == dims {
        return Some(x.clone());
    }
    let missing = dims.len().checked_sub(x.dims.len())?;
    let own = strides(&x.dims)?;
    let step = |i: usize| match i.checked_sub(missing) {
        Some(j) if x.dims[j] != 1 => own[j],
        _ => 0,
    };
    let steps: Vec<_> = (0..dims.len()).map(step).collect();
    x.pick(dims.to_vec(), positions(dims, 0, &steps)?)
}
