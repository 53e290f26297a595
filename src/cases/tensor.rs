//! Tensors of a case.

use super::{MAX_ELEMENTS, MAX_EXTENT, wrong};
use crate::graph::{DataType, Format};
use crate::spelling::beginning;
use crate::status::Result;
use crate::workload::Operand;
use serde::Deserialize;

/// Most dimensions of a tensor.
const MAX_RANK: usize = 16;
/// Most operands of a kernel.
const MAX_OPERANDS: usize = 4096;
#[derive(Debug, Deserialize)]
pub(super) struct Tensor {
    pub shape: Vec<u64>,
    pub dtype: String,
    #[serde(default)]
    pub format: Option<String>,
}

/// The operands of a field; those that name no format have that of the `others`, where their shape can. Optional ones that
/// are not there keep their place.
pub(super) fn read(field: &str, tensors: &[Option<Tensor>], others: Format) -> Result<Vec<Operand>> {
    if tensors.len() > MAX_OPERANDS {
        return Err(wrong(format!("`{field}`: {} operands are more than {MAX_OPERANDS}", tensors.len())));
    }
    let operand = |(i, tensor): (usize, &Option<Tensor>)| match tensor.as_ref().filter(|tensor| !tensor.is_absent()) {
        Some(tensor) => tensor.operand(&format!("{field}[{i}]"), others),
        None => Ok(Operand::new([], DataType::Undefined)),
    };
    tensors.iter().enumerate().map(operand).collect()
}

impl Tensor {
    /// Whether profiles write so of an optional operand that is not there: no shape and no type, or no element. A type
    /// without a shape is a scalar.
    fn is_absent(&self) -> bool {
        const NO_TYPE: [&str; 5] = ["", "UNDEFINED", "DT_UNDEFINED", "NULL", "N/A"];
        match self.shape.as_slice() {
            [] => NO_TYPE.iter().any(|name| self.dtype.trim().eq_ignore_ascii_case(name)),
            shape => shape == [0],
        }
    }

    /// `place` says which one it is.
    fn operand(&self, place: &str, others: Format) -> Result<Operand> {
        let wrong_shape = |reason: String| wrong(format!("`{place}.shape`: {reason}"));
        let (_, dtype) = self.plain(place)?;
        let format = match self.format.as_deref() {
            // A bias beside images and the like.
            None if misfit(others, &self.shape).is_some() => Format::Nd,
            None => others,
            Some("NULL") => Format::Nd,
            Some(name) => format(&format!("{place}.format"), name)?,
        };
        // Profiles show scalars in the layout of the operands beside them.
        if !self.shape.is_empty()
            && let Some(form) = misfit(format, &self.shape)
        {
            return Err(wrong_shape(format!(
                "{:?} does not fit format {}, which is {form}",
                self.shape,
                format.name()
            )));
        }
        Ok(Operand { shape: self.shape.clone(), dtype, format })
    }

    /// Its sizes and type, whatever format it names. `place` says which one it is.
    pub(super) fn plain(&self, place: &str) -> Result<(&[u64], DataType)> {
        let wrong_shape = |reason: String| wrong(format!("`{place}.shape`: {reason}"));
        if self.shape.len() > MAX_RANK {
            return Err(wrong_shape(format!("{} dimensions are more than {MAX_RANK}", self.shape.len())));
        }
        if let Some(dim) = self.shape.iter().find(|d| !(1..=MAX_EXTENT).contains(*d)) {
            return Err(wrong_shape(format!("{dim} is not from 1 to {MAX_EXTENT}")));
        }
        let elements = self.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)).filter(|&n| n <= MAX_ELEMENTS);
        if elements.is_none() {
            return Err(wrong_shape(format!("{:?} has more than {MAX_ELEMENTS} elements", self.shape)));
        }
        Ok((&self.shape, dtype(&format!("{place}.dtype"), &self.dtype)?))
    }
}

/// The format of a name. `place` says which one it is.
pub(super) fn format(place: &str, name: &str) -> Result<Format> {
    Format::from_name(stored(name)).ok_or_else(|| wrong(format!("`{place}`: there is no format `{}`", beginning(name))))
}

/// A layout's name without what profilers add: `FORMAT_ND`, `NC1HWC0:1` with its groups.
fn stored(name: &str) -> &str {
    let name = name.strip_prefix("FORMAT_").unwrap_or(name);
    name.split_once(':').filter(|(_, groups)| groups.bytes().all(|b| b.is_ascii_digit())).map_or(name, |(name, _)| name)
}

/// The form of a format whose tensors cannot have this shape.
fn misfit(format: Format, shape: &[u64]) -> Option<&'static str> {
    /// Elements of the innermost block, by type; 4 for few input channels.
    const C0: [u64; 5] = [4, 8, 16, 32, 64];
    let block = shape.last().is_some_and(|c0| C0.contains(c0));
    let fractal = block && matches!(shape, [.., 16, _]);
    let (fits, form) = match format {
        Format::FractalNz => (shape.len() >= 4 && fractal, "[.., n / C0, m / 16, 16, C0]"),
        Format::Nc1hwc0 => (shape.len() == 5 && block, "[n, c / C0, h, w, C0]"),
        Format::Ndc1hwc0 => (shape.len() == 6 && block, "[n, d, c / C0, h, w, C0]"),
        // Profiles show an empty shape for filters that a fused kernel makes for itself.
        Format::FractalZ | Format::FractalZ3d => {
            (shape.is_empty() || (shape.len() == 4 && fractal), "[c / C0 * kh * kw, n / 16, 16, C0]")
        }
        _ => (true, ""),
    };
    (!fits).then_some(form)
}

pub(super) fn dtype(place: &str, name: &str) -> Result<DataType> {
    Ok(match name {
        // Profiles write these for masks, shapes without a type, and absent optional operands.
        "uint" => DataType::Uint8,
        "begin" | "undefined" | "null" => DataType::Int32,
        _ => DataType::from_name(name)
            .ok_or_else(|| wrong(format!("`{place}`: there is no data type `{}`", beginning(name))))?,
    })
}

/// The format of a matrix. `place` says whose it is.
pub(super) fn matrix_format(place: &str, name: &str) -> Result<Format> {
    match format(place, name)? {
        format @ (Format::Nd | Format::FractalNz) => Ok(format),
        other => Err(wrong(format!("`{place}`: a matrix is ND or FRACTAL_NZ, not {}", other.name()))),
    }
}
