//! An operator as a device runs it: type, operands with what fills them, and what the result must be.

use crate::bank::Sayable;
use crate::graph::{DataType, Format};
use crate::soc::{Arch, Soc};
use crate::workload::{MatMul, Workload};
use serde::{Deserialize, Serialize};

/// Sums of products stay near 2 to this power: exact in every float type, far from the largest number.
const SUM_EXPONENT: i32 = 9;
/// The least power of two that float16 holds without losing digits.
const LEAST_EXPONENT: i32 = -14;
/// `cubeMathType` of `aclnn` products: the operands' own type, and HF32 for float32.
const KEEP_TYPE: i8 = 0;
const USE_HF32: i8 = 3;

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
    /// Attributes that differ from their default; all are flags.
    pub flags: Vec<(String, bool)>,
    /// What the result must be.
    pub product: Product,
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

/// One operand. A matrix is described as it is stored; what a transposition makes of it is said beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tensor {
    /// Element type, one of the floats of [`Tensor::encode`].
    pub dtype: DataType,
    /// Sizes in format ND.
    pub shape: Vec<u64>,
    /// Layout in memory: ND or `FRACTAL_NZ`.
    pub format: Format,
    /// Whether the operator reads it with its two axes exchanged.
    pub transposed: bool,
    /// The axis along which the elements vary, and the least of their exponents; `None` for a result.
    pub fill: Option<(usize, i32)>,
}

/// A matrix product whose operands hold [`pattern`]s: each element of the result is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    /// Rows of the result.
    pub m: u64,
    /// Terms of each sum.
    pub k: u64,
    /// Columns of the result.
    pub n: u64,
    /// Exponent of the right operand's smaller elements.
    pub exponent: i32,
    /// Whether a bias is added.
    pub bias: bool,
}

/// Elements are 1 or 2, times a power of two, by their place along one axis: a tile that lands in the wrong
/// place shows.
pub fn pattern(index: u64) -> i32 {
    i32::from(index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63 == 1)
}

impl Operator {
    /// The operator of a workload on a SoC; why a device cannot measure its tilings where it cannot.
    pub fn of(workload: &Workload, soc: &Soc) -> Result<Operator, String> {
        if !Sayable::of(workload, soc).is_read_by_cann() {
            return Err(format!(
                "on {} CANN reads no tiling of {} from its runtime bank, so that none can be measured",
                soc.name,
                workload.op_type()
            ));
        }
        match workload {
            Workload::MatMul(w) if w.dtype.is_float() => Ok(Operator::product(w, soc)),
            _ => Err(format!("how a device runs {} with a tiling of ours is not known", workload.op_type())),
        }
    }

    /// A product that TBE compiles, which asks its bank then and not when it is launched.
    pub fn of_tbe(w: &MatMul, soc: &Soc) -> Operator {
        Operator { op_type: "MatMulV2".to_owned(), entry: Entry::Aclop, ..Operator::product(w, soc) }
    }

    fn product(w: &MatMul, soc: &Soc) -> Operator {
        let exponent = (SUM_EXPONENT - w.k.max(1).ilog2() as i32).max(LEAST_EXPONENT);
        let matrix = |rows, columns, transposed, format, axis: usize, exponent| Tensor {
            dtype: w.dtype,
            shape: if transposed { vec![columns, rows] } else { vec![rows, columns] },
            format,
            transposed,
            fill: Some((if transposed { 1 - axis } else { axis }, exponent)),
        };
        let mut inputs =
            vec![matrix(w.m, w.k, w.trans_a, w.a_format, 0, 0), matrix(w.k, w.n, w.trans_b, w.b_format, 1, exponent)];
        if w.bias {
            // CANN adds a bias of bf16 products in float32.
            let dtype = if w.dtype == DataType::Bfloat16 { DataType::Float } else { w.dtype };
            let fill = Some((0, 0));
            inputs.push(Tensor { dtype, shape: vec![w.n], format: Format::Nd, transposed: false, fill });
        }
        let flag = |name: &str, set: bool| set.then(|| (name.to_owned(), true));
        let flags = [
            flag("transpose_x1", w.trans_a),
            flag("transpose_x2", w.trans_b),
            flag("enable_hf32", w.hf32 && w.dtype == DataType::Float),
        ];
        let is_plain = !w.bias && w.a_format == Format::Nd && w.b_format == Format::Nd;
        // What `aclnnMatmul` makes of ND operands on other parts is not known: it may run another product than this one.
        let is_plain = is_plain && soc.arch == Arch::C220;
        let math = if w.hf32 && w.dtype == DataType::Float { USE_HF32 } else { KEEP_TYPE };
        Operator {
            op_type: "MatMulV3".to_owned(),
            entry: if is_plain { Entry::AclnnMatmul(math) } else { Entry::Aclop },
            inputs,
            output: Tensor {
                dtype: w.out_dtype,
                shape: vec![w.m, w.n],
                format: Format::Nd,
                transposed: false,
                fill: None,
            },
            flags: flags.into_iter().flatten().collect(),
            product: Product { m: w.m, k: w.k, n: w.n, exponent, bias: w.bias },
        }
    }
}

impl Product {
    /// Element `[i, j]` of the result.
    pub fn element(&self, i: u64, j: u64) -> f64 {
        let power = |exponent: i32| 2f64.powi(exponent);
        let sum = self.k as f64 * power(pattern(i) + pattern(j) + self.exponent);
        if self.bias { sum + power(pattern(j)) } else { sum }
    }

    /// Rows to check: the first, the last and some between, at no regular distance: tiles are regular, and what is
    /// missing of each must not lie between the rows looked at.
    pub fn rows(&self) -> Vec<u64> {
        const BETWEEN: u64 = 15;
        // Multiples of the golden ratio, which spread evenly over the rows.
        let scattered =
            |i: u64| ((u128::from(i.wrapping_mul(0x9E37_79B9_7F4A_7C15)) * u128::from(self.m)) >> 64) as u64;
        let mut rows: Vec<u64> = (1..=BETWEEN).map(scattered).chain([0, self.m.saturating_sub(1)]).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// What is wrong with a row of the result.
    pub fn check_row(&self, i: u64, row: &[f64], dtype: DataType) -> Result<(), String> {
        // Two units in the last place; operands of HF32 keep eleven digits, the pattern needs one.
        let tolerance = match dtype {
            DataType::Float => 1e-5,
            DataType::Bfloat16 => 2f64.powi(-7),
            _ => 2f64.powi(-9),
        };
        for (j, (&found, j_index)) in row.iter().zip(0u64..).enumerate() {
            let expected = self.element(i, j_index);
            let is_close = (found - expected).abs() <= tolerance * expected;
            if !is_close {
                return Err(format!("wrong result: element [{i}, {j}] is {found} instead of {expected}"));
            }
        }
        Ok(())
    }
}

impl Tensor {
    /// Sizes as they lie in memory.
    pub fn stored_shape(&self) -> Vec<u64> {
        match (self.format, self.shape.as_slice()) {
            (Format::FractalNz, &[rows, columns]) => {
                let c0 = self.block();
                vec![columns.div_ceil(c0), rows.div_ceil(16), 16, c0]
            }
            _ => self.shape.clone(),
        }
    }

    /// Size in memory.
    pub fn bytes(&self) -> u64 {
        self.stored_shape().iter().fold(self.dtype.bytes(), |n, &d| n.saturating_mul(d))
    }

    /// Elements of 32 bytes.
    fn block(&self) -> u64 {
        32 / self.dtype.bytes().max(1)
    }

    /// The content that `fill` describes.
    pub fn content(&self) -> Vec<u8> {
        let Some((axis, exponent)) = self.fill else { return Vec::new() };
        let size = self.dtype.bytes() as usize;
        let value = |index: u64| self.encode(exponent + pattern(index));
        let line = |extent: u64| (0..extent).flat_map(|i| value(i)[..size].to_vec()).collect::<Vec<u8>>();
        match (self.format, self.shape.as_slice()) {
            (Format::FractalNz, &[rows, columns]) => {
                let (c0, mut content) = (self.block(), vec![0; self.bytes() as usize]);
                let height = rows.next_multiple_of(16);
                for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                    let place = (column / c0 * height + row) * c0 + column % c0;
                    let at = place as usize * size;
                    content[at..at + size].copy_from_slice(&value(if axis == 0 { row } else { column })[..size]);
                }
                content
            }
            (_, &[rows, columns]) if axis == 0 => {
                (0..rows).flat_map(|i| value(i)[..size].repeat(columns as usize)).collect()
            }
            (_, &[rows, columns]) => line(columns).repeat(rows as usize),
            (_, shape) => line(shape.iter().product()),
        }
    }

    /// Two to a power, in the first bytes. The types are those of matrix products that CANN's bank knows.
    fn encode(&self, exponent: i32) -> [u8; 4] {
        let bits = match self.dtype {
            DataType::Float16 => ((exponent + 15) as u32) << 10,
            DataType::Bfloat16 => ((exponent + 127) as u32) << 7,
            _ => ((exponent + 127) as u32) << 23,
        };
        bits.to_le_bytes()
    }

    /// Elements as numbers.
    pub fn decode(&self, content: &[u8]) -> Vec<f64> {
        let half = |pair: &[u8]| u16::from_le_bytes([pair[0], pair[1]]);
        match self.dtype {
            DataType::Float16 => content.chunks_exact(2).map(|pair| from_float16(half(pair))).collect(),
            DataType::Bfloat16 => {
                content.chunks_exact(2).map(|pair| f64::from(f32::from_bits(u32::from(half(pair)) << 16))).collect()
            }
            _ => content.chunks_exact(4).map(|w| f64::from(f32::from_le_bytes([w[0], w[1], w[2], w[3]]))).collect(),
        }
    }
}

fn from_float16(bits: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soc(name: &str) -> Soc {
        Soc::find(name).unwrap()
    }

    fn of(w: MatMul) -> Operator {
        Operator::of(&Workload::MatMul(w), &soc("Ascend910B2")).unwrap()
    }

    /// Multiplies the operands' content as CANN does.
    fn multiplied(operator: &Operator) -> Vec<Vec<f64>> {
        let Product { m, k, n, .. } = operator.product;
        let read = |tensor: &Tensor, row: u64, column: u64| {
            let (row, column) = if tensor.transposed { (column, row) } else { (row, column) };
            let values = tensor.decode(&tensor.content());
            let [rows, columns] = tensor.shape[..] else { panic!() };
            let place = if tensor.format == Format::FractalNz {
                let c0 = 32 / tensor.dtype.bytes();
                (column / c0 * rows.next_multiple_of(16) + row) * c0 + column % c0
            } else {
                row * columns + column
            };
            values[place as usize]
        };
        let bias = operator.inputs.get(2).map(|bias| bias.decode(&bias.content()));
        let element = |i, j| {
            let sum: f64 = (0..k).map(|l| read(&operator.inputs[0], i, l) * read(&operator.inputs[1], l, j)).sum();
            sum + bias.as_ref().map_or(0.0, |bias| bias[j as usize])
        };
        (0..m).map(|i| (0..n).map(|j| element(i, j)).collect()).collect()
    }

    #[test]
    fn the_result_of_a_product_is_foretold_whatever_types_formats_and_transpositions() {
        for dtype in [DataType::Float16, DataType::Bfloat16, DataType::Float] {
            for flags in 0..16u32 {
                let format = if flags & 8 == 0 { Format::Nd } else { Format::FractalNz };
                let w = MatMul {
                    dtype,
                    out_dtype: dtype,
                    trans_a: flags & 1 != 0,
                    trans_b: flags & 2 != 0,
                    bias: flags & 4 != 0,
                    b_format: format,
                    ..MatMul::new(5, 7, 19)
                };
                let operator = of(w);
                for (i, row) in (0..).zip(multiplied(&operator)) {
                    operator.product.check_row(i, &row, dtype).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_column_in_the_wrong_place_is_a_wrong_result() {
        let operator = of(MatMul::new(3, 64, 40));
        let mut row = multiplied(&operator).swap_remove(1);
        let other = (1..40).find(|&j| pattern(j as u64) != pattern(0)).unwrap();
        row.swap(0, other);
        let reason = operator.product.check_row(1, &row, DataType::Float16).unwrap_err();
        assert!(reason.contains("[1, 0]"), "{reason}");
        assert!(operator.product.check_row(0, &[f64::NAN], DataType::Float16).is_err());
    }

    #[test]
    fn only_plain_products_of_parts_with_separate_cores_go_through_aclnn() {
        let w = MatMul::new(64, 64, 64);
        assert_eq!(of(w.clone()).entry, Entry::AclnnMatmul(KEEP_TYPE));
        let float = MatMul { dtype: DataType::Float, out_dtype: DataType::Float, hf32: true, ..w.clone() };
        assert_eq!(of(float).entry, Entry::AclnnMatmul(USE_HF32));
        let on_310p = Operator::of(&Workload::MatMul(w.clone()), &soc("Ascend310P3")).unwrap();
        assert_eq!(on_310p.entry, Entry::Aclop);
        let biased = of(MatMul { bias: true, trans_b: true, ..w });
        assert_eq!(biased.entry, Entry::Aclop);
        assert_eq!(biased.flags, [("transpose_x2".to_owned(), true)]);
        assert_eq!(biased.inputs.len(), 3);
    }

    #[test]
    fn what_cann_reads_no_tiling_of_is_refused_by_name() {
        let batched = Workload::MatMul(MatMul { batch: 4, ..MatMul::new(64, 64, 64) });
        let reason = Operator::of(&batched, &soc("Ascend910B2")).unwrap_err();
        assert!(reason.contains("BatchMatMulV3") && reason.contains("Ascend910B2"), "{reason}");
        let quantised = MatMul { dtype: DataType::Int8, ..MatMul::new(64, 64, 64) };
        assert!(Operator::of(&Workload::MatMul(quantised), &soc("Ascend310P3")).is_err());
    }

    #[test]
    fn long_sums_stay_within_float16() {
        for k in [1, 2, 1000, 1 << 20] {
            let product = of(MatMul::new(16, k, 16)).product;
            assert!(product.element(0, 0) < 8192.0 && product.element(0, 0) >= 1.0, "{k}");
        }
    }

    #[test]
    fn rows_to_check_are_distinct_and_hold_both_ends() {
        for m in [1, 2, 9, 10, 1000] {
            let rows = of(MatMul::new(m, 16, 16)).product.rows();
            assert_eq!((rows[0], rows[rows.len() - 1]), (0, m - 1));
            assert!(rows.len() <= 17 && rows.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn a_block_that_is_missing_of_each_task_does_not_lie_between_the_rows_to_check() {
        for m in [768, 1024, 4097, 8192, 30_720] {
            let rows = of(MatMul::new(m, 16, 16)).product.rows();
            for block in [16, 32, 64, 96, 128, 256] {
                assert!(rows.iter().any(|row| row % (2 * block) >= block), "{m} rows, blocks of {block}: {rows:?}");
            }
        }
    }

    #[test]
    fn float16_is_decoded_as_it_is_defined() {
        let known = [(0x3C00, 1.0), (0xC000, -2.0), (0x7BFF, 65504.0), (1, 2f64.powi(-24)), (0x7C00, f64::INFINITY)];
        for (bits, value) in known {
            assert_eq!(from_float16(bits).to_bits(), f64::to_bits(value), "{bits:x}");
        }
        assert!(from_float16(0x5A5A) > 0.0 && from_float16(0x7E00).is_nan());
    }
}
