//! The fields of a case by name: which there are, which were meant, which are not used.

use super::{attention, conv, operands};
use crate::spelling::beginning;
use serde_json::{Map, Value};

/// Cube work by its sizes.
const SIZES: &[&str] = &[
    "m",
    "k",
    "n",
    "batch",
    "dtype",
    "out_dtype",
    "bias",
    "a_format",
    "b_format",
    "trans_a",
    "trans_b",
    "hf32",
    "raw",
    "a_shape",
    "b_shape",
    "out_shape",
    "bias_shape",
];
/// A kernel by its operands; `hf32` and transposes count for these too.
const OPERANDS: &[&str] = &["inputs", "outputs"];
/// What both forms have; the last ones belong to measured data and do not count.
const COMMON: &[&str] = &[
    "id",
    "op",
    "soc",
    "schedule",
    "block_dim",
    "missed_bytes",
    "format",
    "cache",
    "a_cache",
    "b_cache",
    "measured_us",
    "measured",
    "count",
    "network",
    "core",
    "a",
    "b",
    "c",
    "tiling",
    "l1_kib",
    "test_case",
];
/// A kernel field by field, instead of either form.
const EXACT: &str = "workload";
/// Attributes, of which an operator's own count.
const ATTRS: &str = "attrs";

/// Attributes that name the axes along which a kernel works.
pub(super) const AXES: &[&str] = &["axis", "axes", "dim", "dims", "dimension", "reduce_dims"];

/// Attributes that name the sizes of a window that slides over an image.
pub(super) const WINDOWS: &[&str] = &["ksize", "kernel_size", "kernel_shape"];

/// Attributes that say whether A is stored transposed, and B.
pub(super) const TRANSPOSES: [[&str; 4]; 2] = [
    ["transpose_x1", "adj_x1", "transposeX1", "transpose_a"],
    ["transpose_x2", "adj_x2", "transposeX2", "transpose_b"],
];

/// Names in `case` that no form has. A name that is nearly one of a form's is taken for a mistake.
///
/// Fails with a sentence on such a mistake, and where the fields of both forms are mixed.
pub(super) fn unused(case: &Map<String, Value>) -> Result<Vec<String>, String> {
    let known = || SIZES.iter().chain(OPERANDS).chain(COMMON).chain(&[EXACT, ATTRS]);
    let mut unused = Vec::new();
    for name in case.keys().filter(|name| !known().any(|k| k == name)) {
        if let Some(meant) = known().filter(|k| is_near(name, k)).min_by_key(|k| distance(name, k)) {
            return Err(format!("there is no field `{}`; did you mean `{meant}`?", beginning(name)));
        }
        unused.push(name.clone());
    }
    let has = |name: &&&str| case.contains_key(**name);
    let attrs = case.get(ATTRS).and_then(Value::as_object);
    let is_record = case.contains_key("tiling");
    if let Some(attrs) = attrs.filter(|_| !is_record) {
        unused.extend(unused_attrs(case.get("op").and_then(Value::as_str).unwrap_or_default(), attrs));
    }
    if case.contains_key("format") && (is_record || case.contains_key(EXACT)) {
        unused.push("format".to_owned());
    }
    if case.contains_key(EXACT)
        && let Some(other) = OPERANDS.iter().chain(&SIZES[..3]).find(has)
    {
        return Err(format!("`{other}` and `{EXACT}` are two forms of one case; give one of them"));
    }
    if let (Some(operand), Some(size)) = (OPERANDS.iter().find(has), SIZES[..3].iter().find(has)) {
        return Err(format!("`{size}` and `{operand}` are two forms of one case; give the sizes or the operands"));
    }
    if OPERANDS.iter().any(|name| case.contains_key(*name)) {
        // Operands tell types and formats; a profile may name them once more for the whole kernel.
        let counts = |name: &&&str| ["hf32", "trans_a", "trans_b"].contains(*name);
        unused.extend(SIZES.iter().filter(|name| !counts(name)).filter(has).map(|name| (*name).to_owned()));
    }
    Ok(unused)
}

/// The attributes of an operator that do not count: `attrs` where none does.
fn unused_attrs(op: &str, attrs: &Map<String, Value>) -> Vec<String> {
    let is_transpose = super::transpose::is_transpose(op);
    let lead = operands::parts(op).next().unwrap_or_default();
    let own: &[&str] = match lead {
        lead if conv::kind(lead).is_some() => conv::ATTRIBUTES,
        _ if attention::is_attention(op) => attention::ATTRIBUTES,
        _ => &[],
    };
    let is_product = lead.contains("MatMul") || lead.contains("Matmul");
    let turns = |name: &str| is_product && TRANSPOSES.iter().flatten().any(|turned| *turned == name);
    let counts = |name: &str| AXES.contains(&name) || WINDOWS.contains(&name) || own.contains(&name) || turns(name);
    let is_used = |name: &str| if name == "perm" { is_transpose } else { counts(name) };
    let unused: Vec<String> =
        attrs.keys().filter(|name| !is_used(name)).map(|name| format!("{ATTRS}.{name}")).collect();
    if unused.len() == attrs.len() && !unused.is_empty() { vec![ATTRS.to_owned()] } else { unused }
}

/// What an answer says of fields that were not used.
pub(super) fn note(unused: &[&str]) -> Option<String> {
    const SHOWN: usize = 8;
    let names = unused.iter().take(SHOWN).map(|name| format!("`{}`", beginning(name))).collect::<Vec<_>>().join(", ");
    let more = if unused.len() > SHOWN { ", ..." } else { "" };
    (!unused.is_empty()).then(|| format!("not used: {names}{more}"))
}

/// Whether a name is a known one but for its case, dashes and underscores, or one or two letters of a
/// longer name.
fn is_near(name: &str, known: &str) -> bool {
    if name.len() > 2 * known.len() + 4 {
        return false;
    }
    let letters = match plain(known).len() {
        0..=3 => 0,
        4..=6 => 1,
        _ => 2,
    };
    distance(name, known) <= letters
}

/// Letters in which two names differ; capitals and what stands between words do not count.
fn distance(name: &str, known: &str) -> usize {
    crate::spelling::edit_distance(&plain(name), &plain(known))
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unused_in(text: &str) -> Result<Vec<String>, String> {
        let case: Map<String, Value> = serde_json::from_str(text).unwrap();
        unused(&case)
    }

    #[test]
    fn a_misspelt_field_is_named_with_the_one_meant() {
        for (name, meant) in [
            ("transa", "trans_a"),
            ("transA", "trans_a"),
            ("transb", "trans_b"),
            ("trans_c", "trans_a"),
            ("M", "m"),
            ("Batch", "batch"),
            ("shedule", "schedule"),
            ("block-dim", "block_dim"),
            ("input", "inputs"),
            ("out_type", "out_dtype"),
        ] {
            let message = unused_in(&format!("{{\"{name}\":1}}")).unwrap_err();
            assert!(message.contains(name) && message.contains(&format!("`{meant}`")), "{message}");
        }
    }

    #[test]
    fn foreign_fields_are_listed_and_those_of_data_sets_are_known() {
        let text = r#"{"id":1,"network":"x","count":2,"core":"c","measured":{},"measured_us":1,"step":3,"zz":0}"#;
        assert_eq!(unused_in(text).unwrap(), ["step", "zz"]);
        assert_eq!(unused_in(r#"{"inputs":[],"dtype":"float16"}"#).unwrap(), ["dtype"]);
    }

    #[test]
    fn of_attributes_those_are_listed_that_do_not_count() {
        for (op, attrs, expected) in [
            (
                "FusedInferAttentionScore",
                r#"{"input_layout":"TND","num_heads":8,"scale":0.1,"inner_precise":1}"#,
                "attrs.inner_precise attrs.scale",
            ),
            ("FusedInferAttentionScore", r#"{"layout":"paged, block 128","seq_len":9,"block_size":128}"#, ""),
            ("Conv2D", r#"{"strides":[1,1,1,1],"data_format":"NCHW"}"#, "attrs.data_format"),
            ("MatMulV3", r#"{"transpose_x1":true,"offset_x":0}"#, "attrs.offset_x"),
            ("Add", r#"{"transpose_x1":true,"offset_x":0}"#, "attrs"),
            ("Add", "{}", ""),
        ] {
            let mut found = unused_in(&format!(r#"{{"op":"{op}","attrs":{attrs}}}"#)).unwrap();
            found.sort();
            assert_eq!(found.join(" "), expected, "{op} {attrs}");
        }
    }

    #[test]
    fn the_two_forms_do_not_mix() {
        let message = unused_in(r#"{"inputs":[],"m":3}"#).unwrap_err();
        assert!(message.contains("`m`") && message.contains("`inputs`"), "{message}");
    }
}
