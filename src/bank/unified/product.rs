//! Matrix products as TBE's banks name them: the `info_dict` of the unified bank, the `shape` of the tiling
//! repository.

use super::python::{Dict, Value};
use crate::graph::{DataType, Format};
use crate::workload::MatMul;

/// Rows and columns of a fractal.
const F: u64 = 16;

/// `batch_type` of two matrices (facts: the keys of CANN's records).
const PLAIN: u64 = 0;
/// Of a stack of matrices and one matrix for all; read off the rows of CANN's repository for the 910B2, as the next is.
const ONE_B: u64 = 2;
/// Of two stacks.
const STACKS: u64 = 3;

/// A field that a bank's form and this library's terms do not share; the text names it.
pub(super) type Reason = String;

/// The product that an `info_dict` stands for. An error names the field that says something else.
pub(super) fn workload(info: &Dict) -> Result<MatMul, Reason> {
    let op = text(info, "op_type")?;
    if op != "matmul" {
        return Err(format!("`op_type` = {op}: only matmul is understood"));
    }
    if whole(info, "group")? != 1 {
        return Err("`group`: only 1 is understood".into());
    }
    let dtype = data_type(info, "A_dtype")?;
    if data_type(info, "B_dtype")? != dtype {
        return Err("`B_dtype` is not that of A".into());
    }
    let k0 = 256 / u64::from(dtype.bits().max(1));
    let [batch, k_blocks, m_blocks, rows, width] = sizes(info, "A_shape")?;
    if (rows, width) != (F, k0) {
        return Err(format!("`A_shape` ends in {rows}, {width}, not in {F}, {k0}"));
    }
    let [k, n_blocks, _, _, columns] = sizes(info, "B_shape")?;
    let product = |name: &str, a: u64, b: u64| a.checked_mul(b).ok_or_else(|| format!("`{name}` overflows"));
    if product("A_shape", k_blocks, k0)? != k || columns != F {
        return Err(format!("`B_shape` = [{k}, .., {columns}] does not fit `A_shape` with {k_blocks} blocks of k"));
    }
    let (m, n) = (product("A_shape", m_blocks, F)?, product("B_shape", n_blocks, F)?);
    if batch == 0 || m == 0 || k == 0 || n == 0 {
        return Err("`A_shape` or `B_shape` holds a zero".into());
    }
    let transposes = whole(info, "dilationH")?;
    if !(1..=4).contains(&transposes) {
        return Err(format!("`dilationH` = {transposes} is none of 1 to 4"));
    }
    let bias = match info.get("bias_flag") {
        Some(Value::Bool(bias)) => *bias,
        other => return Err(wrong("bias_flag", other)),
    };
    let has_one_b = whole(info, "batch_type").is_ok_and(|batch_type| batch_type == ONE_B);
    Ok(MatMul {
        batch,
        b_shared: batch > 1 && has_one_b,
        dtype,
        out_dtype: data_type(info, "C_dtype")?,
        trans_a: (transposes - 1) & 1 == 1,
        trans_b: (transposes - 1) & 2 == 2,
        bias,
        a_format: Format::FractalNz,
        b_format: Format::FractalNz,
        ..MatMul::new(m, k, n)
    })
}

/// Every `info_dict` under which TBE may ask for a plain product of whole fractals; the first is that of CANN's own
/// records. An error names the field for which TBE's rule is not known.
///
/// TBE asks with the old and with the new `fused_double_operand_num`; where nothing is fused both are 0.
pub(super) fn info_dicts(w: &MatMul) -> Result<Vec<Dict>, Reason> {
    // A product by itself may be one of two matrices or a stack of one.
    let batch_types: &[u64] = match (w.batch, w.a_shared, w.b_shared) {
        (1, ..) => &[PLAIN, ONE_B, STACKS],
        (_, false, true) => &[ONE_B],
        (_, false, false) => &[STACKS],
        _ => return Err("`batch_type`: how TBE numbers products with one A for all is not known".into()),
    };
    let plain = plain(w)?;
    // The type of a bias is the tensor's, which a product here does not tell.
    let biases: &[Option<DataType>] = if w.bias { &[Some(DataType::Float16), Some(DataType::Float)] } else { &[None] };
    // Bit 0 says that the result is not in fractals; whether the field is there where nothing else is fused is open.
    let flags: &[Option<u64>] = if w.bias { &[Some(1), None] } else { &[None, Some(1)] };
    let mut all = Vec::new();
    for &batch_type in batch_types {
        for &bias in biases {
            for &flag in flags {
                let mut info = plain.clone();
                info.set("batch_type", Value::from(batch_type));
                if let Some(bias) = bias {
                    info.set("bias_dtype", Value::from(bias.name()));
                }
                if let Some(flag) = flag {
                    info.set("fixpipe_flag", Value::from(flag));
                }
                all.push(info);
            }
        }
    }
    Ok(all)
}

/// What all of them have in common.
fn plain(w: &MatMul) -> Result<Dict, Reason> {
    let k0 = 256 / u64::from(w.dtype.bits().max(1));
    if [w.batch, w.m, w.k, w.n].contains(&0) {
        return Err("`A_shape`: an extent is zero".into());
    }
    if !w.m.is_multiple_of(F) || !w.k.is_multiple_of(k0) {
        return Err(format!("`shape_a_align`: {} x {} is not made of whole {F} x {k0} fractals", w.m, w.k));
    }
    if !w.n.is_multiple_of(F) {
        return Err(format!("`shape_b_align`: n = {} is not made of whole fractals of {F}", w.n));
    }
    let list = |items: [u64; 5]| Value::List(items.map(Value::from).to_vec());
    let dtype = |dtype: DataType| Value::from(dtype.name());
    let transposes = 1 + u64::from(w.trans_a) + 2 * u64::from(w.trans_b);
    let number = |n: u64| Value::from(n);
    let mad = dtype(if w.dtype.is_float() { DataType::Float } else { DataType::Int32 });
    let head = [
        ("op_type", Value::from("matmul")),
        ("A_shape", list([w.batch, w.k / k0, w.m / F, F, k0])),
        ("B_shape", list([w.k, w.n / F, 1, 1, F])),
        ("C_shape", list([0; 5])),
        ("A_dtype", dtype(w.dtype)),
        ("B_dtype", dtype(w.dtype)),
        ("C_dtype", dtype(w.out_dtype)),
        ("mad_dtype", mad),
    ];
    let zeros = ["padl", "padr", "padu", "padd"].map(|name| (name, number(0)));
    let ones = ["strideH", "strideW", "strideH_expand", "strideW_expand"].map(|name| (name, number(1)));
    let tail = [
        ("dilationH", number(transposes)),
        ("dilationW", number(1)),
        ("group", number(1)),
        ("bias_flag", Value::Bool(w.bias)),
        ("fused_double_operand_num", number(0)),
        ("shape_a_align", number(1)),
        ("shape_b_align", number(1)),
        ("scalar_size", number(0)),
        ("batch_type", number(PLAIN)),
        ("reduce_fusion", number(0)),
    ];
    Ok(head.into_iter().chain(zeros).chain(ones).chain(tail).collect())
}

/// What a field holds instead of what it should.
pub(super) fn wrong(name: &str, value: Option<&Value>) -> Reason {
    value.map_or_else(|| format!("`{name}` is missing"), |value| format!("`{name}` cannot be {value}"))
}

pub(super) fn text<'a>(info: &'a Dict, name: &str) -> Result<&'a str, Reason> {
    let value = info.get(name);
    value.and_then(Value::as_str).ok_or_else(|| wrong(name, value))
}

pub(super) fn whole(info: &Dict, name: &str) -> Result<u64, Reason> {
    let value = info.get(name);
    value.and_then(Value::as_u64).ok_or_else(|| wrong(name, value))
}

pub(super) fn data_type(info: &Dict, name: &str) -> Result<DataType, Reason> {
    let name_of_type = text(info, name)?;
    DataType::from_name(name_of_type).ok_or_else(|| format!("`{name}` = {name_of_type} is no data type"))
}

pub(super) fn sizes<const N: usize>(info: &Dict, name: &str) -> Result<[u64; N], Reason> {
    let value = info.get(name);
    let items = value.and_then(Value::as_list).map(|items| items.iter().map(Value::as_u64).collect::<Option<Vec<_>>>());
    items.flatten().and_then(|items| items.try_into().ok()).ok_or_else(|| wrong(name, value))
}
