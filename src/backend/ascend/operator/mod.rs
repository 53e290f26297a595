//! An operator as a device runs it: type, operands with what fills them, and what the result must be.
//!
//! `tensor` is an operand as it lies in memory, `product` and `volume` are what the results of matrix products and of
//! convolutions of volumes must be.

mod image;
mod product;
mod tensor;
#[cfg(test)]
mod tests;
mod volume;

pub use product::Product;
pub use tensor::{Tensor, pattern};
pub use volume::Volume;

use crate::bank::Writable;
use crate::graph::DataType;
use crate::soc::Soc;
use crate::workload::{MatMul, Workload};
use serde::{Deserialize, Serialize};

/// Sums of products stay near 2 to this power: exact in every float type, far from the largest number.
const SUM_EXPONENT: i32 = 9;
/// The least power of two that float16 holds without losing digits.
const LEAST_EXPONENT: i32 = -14;
/// Lines of a result that are looked at besides the first and the last.
const LINES: u64 = 15;

/// How an operator is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operator {
    /// CANN's operator type.
    pub op_type: String,
    /// Which entry of CANN runs it.
    pub entry: Entry,
    /// What it reads.
    pub inputs: Vec<Tensor>,
    /// What it writes.
    pub output: Tensor,
    /// Attributes that differ from their default.
    pub attributes: Vec<(String, Attribute)>,
    /// What the result must be; `None` of what is compiled and not run.
    pub expected: Option<Expected>,
}

/// An entry of CANN that runs an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// `aclnnMatmul`, with its `cubeMathType`.
    AclnnMatmul(i8),
    /// `aclopCompile` and `aclopExecuteV2`, which take any operator type.
    Aclop,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attribute {
    /// `bool`.
    Flag(bool),
    /// `int`.
    Number(i64),
    /// A list of `int`.
    Numbers(Vec<i64>),
    /// `string`.
    Text(String),
}

/// A result that is known beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// Of a matrix product, or of several.
    Product(Product),
    /// Of a convolution of volumes.
    Volume(Volume),
}

/// Elements of a result that lie one behind the other, to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Which line of the result.
    line: u64,
    /// Which block of channels; 0 where there are none.
    block: u64,
    /// Its first element, counted from the beginning of the result.
    pub from: u64,
    /// Elements.
    pub count: u64,
}

impl Expected {
    /// The parts of the result to look at: of its first line, its last, and some between.
    pub fn runs(&self) -> Vec<Run> {
        match self {
            Expected::Product(product) => product.runs(),
            Expected::Volume(volume) => volume.runs(),
        }
    }

    /// What is wrong with a part of the result.
    pub fn check(&self, run: Run, values: &[f64], dtype: DataType) -> Result<(), String> {
        match self {
            Expected::Product(product) => product.check_row(run.line, values, dtype),
            Expected::Volume(volume) => volume.check(run, values, dtype),
        }
    }
}

/// Lines to look at of so many: the first, the last and some between, at no regular distance: tiles are regular, and
/// what is missing of each must not lie between the lines looked at.
fn lines(count: u64) -> Vec<u64> {
    // Multiples of the golden ratio, which spread evenly.
    let scattered = |i: u64| ((u128::from(i.wrapping_mul(0x9E37_79B9_7F4A_7C15)) * u128::from(count)) >> 64) as u64;
    let mut lines: Vec<u64> = (1..=LINES).map(scattered).chain([0, count.saturating_sub(1)]).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Whether an element is what it must be: two units in the last place. Operands of HF32 keep eleven digits, a pattern
/// needs one.
fn is_close(found: f64, expected: f64, dtype: DataType) -> bool {
    let tolerance = match dtype {
        DataType::Float => 1e-5,
        DataType::Bfloat16 => 2f64.powi(-7),
        _ => 2f64.powi(-9),
    };
    (found - expected).abs() <= tolerance * expected
}

/// The exponent of the smaller elements with which sums of so many products stay near 2 to [`SUM_EXPONENT`].
fn exponent(terms: u64) -> i32 {
    (SUM_EXPONENT - terms.max(1).ilog2() as i32).max(LEAST_EXPONENT)
}

impl Operator {
    /// The operator of a workload on a SoC; why a device cannot measure its tilings where it cannot.
    pub fn of(workload: &Workload, soc: &Soc) -> Result<Operator, String> {
        let writable = Writable::of(workload, soc);
        if let Workload::MatMul(w) = workload
            && writable.is_read_when_compiled()
            && w.dtype.is_float()
        {
            return Ok(Operator::of_tbe(w, soc));
        }
        if writable.is_read_when_compiled() {
            return Err(format!(
                "TBE compiles {} with what is fused into it, which a single operator is not, so that its tilings are \
                 not measured",
                workload.op_type()
            ));
        }
        if !writable.is_read_by_cann() {
            let why = writable.why_own().map_or_else(String::new, |why| format!(": {why}"));
            return Err(format!(
                "on {} CANN reads no tiling of {} from its runtime bank, so that none can be measured{why}",
                soc.name,
                workload.op_type()
            ));
        }
        match workload {
            Workload::MatMul(w) if w.dtype.is_float() => Ok(product::operator(w, soc)),
            Workload::Conv(w) if w.is_volume() => volume::operator(w),
            _ => Err(format!("how a device runs {} with a tiling of ours is not known", workload.op_type())),
        }
    }

    /// The operator of a workload with whatever tiling CANN gives it, for those whose tilings cannot be measured; `None`
    /// where it is not known how a device runs it.
    pub fn as_cann_runs_it(workload: &Workload, soc: &Soc) -> Option<Operator> {
        match workload {
            // The bias of one product is known, not how it is spread over several.
            Workload::MatMul(w) if w.dtype.is_float() && w.out_dtype.is_float() && !(w.bias && w.batch > 1) => {
                Some(product::operator(w, soc))
            }
            _ => None,
        }
    }

    /// What TBE compiles of a workload when it is asked for it alone: whether it finds a record shows without a run. Fails
    /// for work that it compiles in no way that is known.
    pub fn to_compile(workload: &Workload, soc: &Soc) -> Result<Operator, String> {
        match workload {
            Workload::MatMul(w) => Ok(Operator::of_tbe(w, soc)),
            Workload::Conv(w) => image::operator(w),
            _ => Err(format!("how TBE compiles {} alone is not known", workload.op_type())),
        }
    }

    /// A product that TBE compiles, which asks its bank then and not when it is launched. Whatever operator of TBE's
    /// multiplies two matrices asks under the same name.
    pub fn of_tbe(w: &MatMul, soc: &Soc) -> Operator {
        let op_type = if w.batch > 1 { "BatchMatMulV2" } else { "MatMulV2" };
        Operator { op_type: op_type.to_owned(), entry: Entry::Aclop, ..product::operator(w, soc) }
    }
}
