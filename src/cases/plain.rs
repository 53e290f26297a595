//! Products given by their sizes and kernels given by their operands, read at once. Such cases come by the million, and a
//! document of every value between the line and the case is most of what reading them takes.

use super::Case;
use super::tensor::Tensor;
use serde::Deserialize;
use serde_json::Value;

/// A case that says sizes, types and formats of a product and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Product {
    #[serde(default)]
    id: Value,
    op: String,
    batch: Option<u64>,
    m: Option<u64>,
    k: Option<u64>,
    n: Option<u64>,
    dtype: Option<String>,
    out_dtype: Option<String>,
    #[serde(default)]
    bias: bool,
    a_format: Option<String>,
    b_format: Option<String>,
    format: Option<String>,
    trans_a: Option<bool>,
    trans_b: Option<bool>,
    #[serde(default)]
    hf32: bool,
    a_shape: Option<Vec<u64>>,
    b_shape: Option<Vec<u64>>,
    out_shape: Option<Vec<u64>>,
    bias_shape: Option<Vec<u64>>,
}

/// A case that says the operands of a kernel and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernel {
    #[serde(default)]
    id: Value,
    op: String,
    format: Option<String>,
    trans_a: Option<bool>,
    trans_b: Option<bool>,
    #[serde(default)]
    hf32: bool,
    inputs: Vec<PlainTensor>,
    outputs: Vec<PlainTensor>,
}

/// A tensor that says no more than counts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainTensor {
    shape: Vec<u64>,
    dtype: String,
    #[serde(default)]
    format: Option<String>,
}

/// The case of a line, where it is such a one without a fault; of any other line [`super::Case::parse`] reads every
/// value, and says what is wrong.
pub(super) fn read(line: &str) -> Option<Case> {
    let case = product(line).or_else(|| kernel(line))?;
    // Within an id a field could be there twice.
    (!case.id.is_object() && !case.id.is_array()).then_some(case)
}

fn product(line: &str) -> Option<Case> {
    let plain: Product = serde_json::from_str(line).ok()?;
    Some(Case {
        id: plain.id,
        op: plain.op,
        batch: plain.batch,
        m: plain.m,
        k: plain.k,
        n: plain.n,
        dtype: plain.dtype,
        out_dtype: plain.out_dtype,
        bias: plain.bias,
        a_format: plain.a_format,
        b_format: plain.b_format,
        format: plain.format,
        trans_a: plain.trans_a,
        trans_b: plain.trans_b,
        hf32: plain.hf32,
        a_shape: plain.a_shape,
        b_shape: plain.b_shape,
        out_shape: plain.out_shape,
        bias_shape: plain.bias_shape,
        ..Case::default()
    })
}

fn kernel(line: &str) -> Option<Case> {
    let plain: Kernel = serde_json::from_str(line).ok()?;
    let tensor = |PlainTensor { shape, dtype, format }| Some(Tensor { shape, dtype, format });
    let tensors = |all: Vec<PlainTensor>| Some(all.into_iter().map(tensor).collect());
    Some(Case {
        id: plain.id,
        op: plain.op,
        format: plain.format,
        trans_a: plain.trans_a,
        trans_b: plain.trans_b,
        hf32: plain.hf32,
        inputs: tensors(plain.inputs),
        outputs: tensors(plain.outputs),
        ..Case::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::Case;
    use super::read;
    use proptest::prelude::*;

    /// Fields that a product may have, among them some with a fault and some of other cases.
    const FIELDS: &[&str] = &[
        r#""m":128"#,
        r#""k":1"#,
        r#""n":4096"#,
        r#""batch":8"#,
        r#""m":null"#,
        r#""dtype":"bfloat16""#,
        r#""out_dtype":"float32""#,
        r#""bias":true"#,
        r#""bias":null"#,
        r#""a_format":"FRACTAL_NZ""#,
        r#""b_format":"ND""#,
        r#""format":"FRACTAL_NZ""#,
        r#""trans_a":true"#,
        r#""trans_b":false"#,
        r#""hf32":true"#,
        r#""a_shape":[2,3,4]"#,
        r#""b_shape":[4,-1]"#,
        r#""bias_shape":[8]"#,
        r#""out_shape":[3,8]"#,
        r#""id":{"a":1,"a":2}"#,
        r#""id":1.5e3"#,
        r#""id":18446744073709551615"#,
        r#""k":1.0"#,
        r#""n":NaN"#,
        r#""transa":true"#,
        r#""soc":"Ascend910B4""#,
        r#""inputs":[]"#,
        r#""outputs":[{"shape":[2,3],"dtype":"float16","format":"ND"}]"#,
        r#""inputs":[{"shape":[2,3],"dtype":"float16","name":"x"}]"#,
        r#""outputs":[{"shape":[2],"shape":[3],"dtype":"int8"}]"#,
        r#""count":3"#,
    ];

    proptest! {
        #[test]
        fn what_is_read_at_once_is_what_is_read_value_by_value(
            fields in prop::sample::subsequence(FIELDS, 0..8),
            repeated in prop::option::weighted(0.2, prop::sample::select(FIELDS)),
        ) {
            let fields: Vec<_> = [r#""op":"MatMulV3""#].into_iter().chain(fields).chain(repeated).collect();
            let line = format!(" {{{}}}", fields.join(","));
            if let Some(case) = read(&line) {
                let slowly = Case::value_by_value(&line).map(|slowly| format!("{slowly:?}"));
                prop_assert_eq!(Ok(format!("{case:?}")), slowly.map_err(|e| e.to_string()), "{}", line);
            }
        }
    }

    #[test]
    fn products_are_read_at_once_and_what_else_there_is_is_not() {
        for one in [
            r#"{"id":"a","op":"MatMulV3","m":1,"k":2,"n":3,"dtype":"float16","trans_b":true}"#,
            r#"{"id":7,"op":"MatMul","format":"ND","trans_a":true,"trans_b":false,"hf32":true,"inputs":[],"outputs":[]}"#,
            r#"{"op":"Add","inputs":[{"shape":[2],"dtype":"float"}],"outputs":[{"shape":[2],"dtype":"float","format":"ND"}]}"#,
        ] {
            let [at_once, slowly] =
                [read(one).unwrap(), Case::value_by_value(one).unwrap()].map(|case| format!("{case:?}"));
            assert_eq!(at_once, slowly, "{one}");
        }
        for other in [
            r#"{"op":"Add","inputs":[],"outputs":[],"attrs":{"axis":1}}"#,
            r#"{"op":"MatMul","inputs":[],"outputs":[],"m":1}"#,
            r#"{"op":"MatMulV3","m":1,"m":1}"#,
            r#"{"op":"MatMulV3","id":[1],"m":1}"#,
            r#"{"m":1}"#,
            "[]",
        ] {
            assert!(read(other).is_none(), "{other}");
        }
    }
}
