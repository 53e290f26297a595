//! Products given by their sizes, read at once. Such cases come by the million, and a document of every value between
//! the line and the case is most of what reading them takes.

use super::{Case, Raw};
use serde::Deserialize;
use serde_json::Value;

/// A case that says sizes, types and formats of a product and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
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
    trans_a: Option<bool>,
    trans_b: Option<bool>,
    #[serde(default)]
    hf32: bool,
    a_shape: Option<Vec<u64>>,
    b_shape: Option<Vec<u64>>,
    out_shape: Option<Vec<u64>>,
    bias_shape: Option<Vec<u64>>,
}

/// The case of a line, where it is such a product without a fault; of any other line [`super::Case::parse`] reads every
/// value, and says what is wrong.
pub(super) fn read(line: &str) -> Option<Case> {
    let plain: Plain = serde_json::from_str(line).ok()?;
    // Within an id a field could be there twice.
    if plain.id.is_object() || plain.id.is_array() {
        return None;
    }
    Some(Case {
        id: plain.id,
        op: plain.op,
        soc: None,
        batch: plain.batch,
        m: plain.m,
        k: plain.k,
        n: plain.n,
        dtype: plain.dtype,
        out_dtype: plain.out_dtype,
        bias: plain.bias,
        a_format: plain.a_format,
        b_format: plain.b_format,
        trans_a: plain.trans_a,
        trans_b: plain.trans_b,
        hf32: plain.hf32,
        raw: Raw::default(),
        block_dim: None,
        a_shape: plain.a_shape,
        b_shape: plain.b_shape,
        out_shape: plain.out_shape,
        bias_shape: plain.bias_shape,
        inputs: None,
        outputs: None,
        schedule: None,
        attrs: None,
        workload: None,
        missed_bytes: None,
        cache: None,
        a_cache: None,
        b_cache: None,
        a: None,
        b: None,
        c: None,
        tiling: None,
        unused: Vec::new(),
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
        assert!(read(r#"{"id":"a","op":"MatMulV3","m":1,"k":2,"n":3,"dtype":"float16","trans_b":true}"#).is_some());
        for other in [
            r#"{"op":"Add","inputs":[],"outputs":[]}"#,
            r#"{"op":"MatMulV3","m":1,"m":1}"#,
            r#"{"op":"MatMulV3","id":[1],"m":1}"#,
            r#"{"m":1}"#,
            "[]",
        ] {
            assert!(read(other).is_none(), "{other}");
        }
    }
}
