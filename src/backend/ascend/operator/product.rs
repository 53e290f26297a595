//! Matrix products on a device, and what their results must be.

use super::{Attribute, Entry, Expected, Operator, Run, Tensor, exponent, is_close, lines, pattern};
use crate::graph::{DataType, Format};
use crate::soc::{Arch, Soc};
use crate::workload::{MatMul, MatMulKernel};
use serde::{Deserialize, Serialize};

/// `cubeMathType` of `aclnn` products: the operands' own type, and HF32 for float32.
pub(super) const KEEP_TYPE: i8 = 0;
pub(super) const USE_HF32: i8 = 3;

/// Matrix products whose operands hold [`pattern`]s: each element of the results is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    /// Products.
    pub batch: u64,
    /// Whether all of them share the left operand, and the right one.
    pub shared: [bool; 2],
    /// Rows of a result.
    pub m: u64,
    /// Terms of each sum.
    pub k: u64,
    /// Columns of a result.
    pub n: u64,
    /// Exponent of the right operand's smaller elements.
    pub exponent: i32,
    /// Whether a bias is added.
    pub bias: bool,
}

/// A product, or several, as a device runs them.
pub fn operator(w: &MatMul, soc: &Soc) -> Operator {
    let exponent = exponent(w.k);
    let stacked = |of: u64, rows: u64, columns: u64| match w.batch {
        0 | 1 => vec![rows, columns],
        _ => vec![of, rows, columns],
    };
    let matrix = |shared, rows, columns, transposed, format, axis: usize, exponent| {
        let sides = if transposed { [columns, rows] } else { [rows, columns] };
        let shape = match (shared, w.kernel) {
            // TBE tells one matrix for all from a stack of one.
            (true, MatMulKernel::Tbe) => sides.to_vec(),
            (true, _) => stacked(1, sides[0], sides[1]),
            (false, _) => stacked(w.batch, sides[0], sides[1]),
        };
        let fill = Some((if transposed { 1 - axis } else { axis }, exponent));
        Tensor { dtype: w.dtype, shape, format, transposed, fill, constant: None }
    };
    let mut inputs = vec![
        matrix(w.a_shared, w.m, w.k, w.trans_a, w.a_format, 0, 0),
        matrix(w.b_shared, w.k, w.n, w.trans_b, w.b_format, 1, exponent),
    ];
    if w.bias {
        // CANN adds a bias of bf16 products in float32.
        let dtype = if w.dtype == DataType::Bfloat16 { DataType::Float } else { w.dtype };
        let fill = Some((0, 0));
        inputs.push(Tensor { dtype, shape: vec![w.n], format: Format::Nd, transposed: false, fill, constant: None });
    }
    let names = if w.batch > 1 { ["adj_x1", "adj_x2"] } else { ["transpose_x1", "transpose_x2"] };
    let flag = |name: &str, set: bool| set.then(|| (name.to_owned(), Attribute::Flag(true)));
    // TBE's operators have no such attribute.
    let hf32 = w.hf32 && w.dtype == DataType::Float && w.kernel == MatMulKernel::AscendC;
    let attributes = [flag(names[0], w.trans_a), flag(names[1], w.trans_b), flag("enable_hf32", hf32)];
    let is_plain = !w.bias && w.batch == 1 && w.a_format == Format::Nd && w.b_format == Format::Nd;
    // What `aclnnMatmul` makes of ND operands on other parts is not known: it may run another product than this one.
    let is_plain = is_plain && soc.arch == Arch::C220 && w.kernel == MatMulKernel::AscendC;
    let math = if hf32 { USE_HF32 } else { KEEP_TYPE };
    Operator {
        op_type: w.op_type().to_owned(),
        entry: if is_plain { Entry::AclnnMatmul(math) } else { Entry::Aclop },
        inputs,
        output: Tensor {
            dtype: w.out_dtype,
            shape: stacked(w.batch, w.m, w.n),
            format: Format::Nd,
            transposed: false,
            fill: None,
            constant: None,
        },
        attributes: attributes.into_iter().flatten().collect(),
        expected: Some(Expected::Product(Product {
            batch: w.batch,
            shared: [w.a_shared, w.b_shared],
            m: w.m,
            k: w.k,
            n: w.n,
            exponent,
            bias: w.bias,
        })),
    }
}

impl Product {
    /// Element `[i, j]` of the results, whose rows lie one below the other.
    pub fn element(&self, i: u64, j: u64) -> f64 {
        let power = |exponent: i32| 2f64.powi(exponent);
        let [a_shared, b_shared] = self.shared;
        let row = if a_shared { i % self.m.max(1) } else { i };
        let product = if b_shared { 0 } else { i / self.m.max(1) };
        let column = product.wrapping_mul(self.n).wrapping_add(j);
        let sum = self.k as f64 * power(pattern(row) + pattern(column) + self.exponent);
        if self.bias { sum + power(pattern(j)) } else { sum }
    }

    /// Rows to look at.
    pub(super) fn runs(&self) -> Vec<Run> {
        let run = |line: u64| Run { line, block: 0, from: line.saturating_mul(self.n), count: self.n };
        lines(self.batch.saturating_mul(self.m)).into_iter().map(run).collect()
    }

    /// What is wrong with a row of the results.
    pub(super) fn check_row(&self, i: u64, row: &[f64], dtype: DataType) -> Result<(), String> {
        for (&found, j) in row.iter().zip(0u64..) {
            let expected = self.element(i, j);
            if !is_close(found, expected, dtype) {
                return Err(format!("wrong result: element [{i}, {j}] is {found} instead of {expected}"));
            }
        }
        Ok(())
    }
}
