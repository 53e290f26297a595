//! How the operands of attention lie: which axes are batch, heads and tokens, and how many keys there are.

use crate::workload::Operand;
use serde_json::{Map, Value};

/// Elements of a head where nothing tells.
const USUAL_HEAD: u64 = 128;
/// Largest number that an attribute may give.
const MOST: u64 = i32::MAX as u64;

/// The sizes of attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub batch: u64,
    /// Heads of queries, and of keys and values.
    pub heads: u64,
    pub kv_heads: u64,
    /// Query rows of a head, and keys.
    pub rows: u64,
    pub columns: u64,
    /// Elements of a head.
    pub depth: u64,
}

/// What the attributes tell, by CANN's names and by those of measurements.
#[derive(Debug, Default)]
pub(super) struct Stated {
    layout: Option<String>,
    batch: Option<u64>,
    heads: Option<u64>,
    kv_heads: Option<u64>,
    /// Mean length of a sequence of queries, and of keys.
    queries: Option<u64>,
    keys: Option<u64>,
    pub causal: Option<bool>,
}

impl Stated {
    /// Reads the attributes; fails on one that is no number of its kind.
    pub fn of(attrs: Option<&Map<String, Value>>) -> Result<Stated, String> {
        let find = |names: &[&'static str]| {
            names.iter().find_map(|name| attrs?.get(*name).filter(|v| !v.is_null()).map(|value| (*name, value)))
        };
        let number = |names: &[&'static str]| match find(names) {
            None => Ok(None),
            Some((name, value)) => match value.as_u64().filter(|&n| n <= MOST) {
                // CANN has 0 for what is as the operands say.
                Some(n) => Ok((n > 0).then_some(n)),
                None => Err(format!("`attrs.{name}`: it is no number from 0 to {MOST}")),
            },
        };
        let mean = |names: &[&'static str]| match find(names) {
            None => Ok(None),
            Some((name, Value::Array(lengths))) => {
                lengths_of(lengths).map_err(|reason| format!("`attrs.{name}`: {reason}"))
            }
            Some((name, _)) => Err(format!("`attrs.{name}`: it is no list of lengths")),
        };
        let batch = number(&["batch"])?;
        let (queries, keys) = (mean(&["actual_seq_lengths"])?, mean(&["actual_seq_lengths_kv"])?);
        let causal = match find(&["causal", "sparse_mode"]) {
            Some((_, Value::Bool(causal))) => Some(*causal),
            // 2 to 4: the masks that hide later keys.
            Some((_, value)) => value.as_u64().map(|mode| (2..=4).contains(&mode)).filter(|&causal| causal),
            None => None,
        };
        Ok(Stated {
            layout: find(&["input_layout", "layout"]).and_then(|(_, v)| v.as_str()).map(str::to_ascii_uppercase),
            batch: batch.or(queries.map(|q| q.0)).or(keys.map(|k| k.0)),
            heads: number(&["num_heads", "head_num", "heads"])?,
            kv_heads: number(&["num_key_value_heads", "kv_heads"])?,
            queries: queries.map(|q| q.1),
            keys: keys.map(|k| k.1).or(number(&["seq_len"])?),
            causal,
        })
    }

    fn is(&self, layout: &str) -> bool {
        self.layout.as_deref() == Some(layout)
    }
}

/// How many sequences there are and their mean length; lengths that only grow are sums of all before.
fn lengths_of(lengths: &[Value]) -> Result<Option<(u64, u64)>, String> {
    let lengths: Option<Vec<u64>> = lengths.iter().map(|n| n.as_u64().filter(|&n| n <= MOST)).collect();
    let lengths = lengths.ok_or("it holds something that is no length")?;
    let Some(&last) = lengths.last() else { return Ok(None) };
    let count = lengths.len() as u64;
    let sums = count > 1 && lengths.windows(2).all(|pair| pair[0] < pair[1]);
    let total = if sums { last } else { lengths.iter().sum() };
    Ok(Some((count, total.div_ceil(count).max(1))))
}

impl Form {
    /// The sizes, and what has to be said where the operands do not tell them.
    pub fn of(q: &Operand, keys: &Operand, statistic: Option<&Operand>, stated: &Stated) -> (Form, Option<String>) {
        match (q.shape.as_slice(), keys.shape.as_slice()) {
            (&[b, x, y, d], &[_, kx, ky, _]) => four_axes([b, x, y, d], [kx, ky], statistic, stated),
            (&[t, n, d], _) if stated.is("TND") || (stated.layout.is_none() && stated.heads == Some(n)) => {
                tokens([t, n, d], keys, stated)
            }
            (&[x, y, width], _) => three_axes([x, y, width], keys, statistic, stated),
            (shape, _) => {
                let width = shape.last().copied().unwrap_or(1);
                let depth = stated.heads.map_or(USUAL_HEAD.min(width), |n| (width / n).max(1));
                let rows: u64 = shape[..shape.len().saturating_sub(1)].iter().product();
                let heads = (width / depth).max(1);
                let columns = (keys.elements() / width.max(1)).max(1);
                let note = "attention with operands of other than 3 or 4 axes: rows of heads side by side are taken";
                (Form { batch: 1, heads, kv_heads: heads, rows: rows.max(1), columns, depth }, Some(note.to_owned()))
            }
        }
    }
}

/// [batch, heads, tokens, depth] or [batch, tokens, heads, depth].
fn four_axes(
    [b, x, y, d]: [u64; 4],
    [kx, ky]: [u64; 2],
    statistic: Option<&Operand>,
    stated: &Stated,
) -> (Form, Option<String>) {
    let heads_first = Form { batch: b, heads: x, kv_heads: kx, rows: y, columns: ky, depth: d };
    let tokens_first = Form { batch: b, heads: y, kv_heads: ky, rows: x, columns: kx, depth: d };
    if let Some(s) = statistic {
        let rows = s.shape[2];
        return (if y == rows { heads_first } else { tokens_first }, None);
    }
    if stated.is("BNSD") || stated.is("BSND") {
        return (if stated.is("BNSD") { heads_first } else { tokens_first }, None);
    }
    if let Some(heads) = stated.heads.filter(|&n| (n == x) != (n == y)) {
        return (if heads == x { heads_first } else { tokens_first }, None);
    }
    // Heads of queries are a multiple of those of keys.
    let fits = |heads: u64, of_keys: u64| heads >= of_keys && heads.is_multiple_of(of_keys.max(1));
    match (fits(x, kx), fits(y, ky)) {
        (true, false) => (heads_first, None),
        (false, true) => (tokens_first, None),
        _ => {
            // Tokens are more than heads.
            let form = if ky >= kx { heads_first } else { tokens_first };
            let name = if ky >= kx { "BNSD" } else { "BSND" };
            let same = x == y && kx == ky;
            (form, (!same).then(|| format!("`attrs.input_layout` is not given: {name} is taken")))
        }
    }
}

/// [tokens of all sequences, heads, depth], keys likewise or in pages.
fn tokens([t, n, d]: [u64; 3], keys: &Operand, stated: &Stated) -> (Form, Option<String>) {
    let batch = stated.batch.unwrap_or(1).max(1);
    let rows = stated.queries.unwrap_or(t.div_ceil(batch)).max(1);
    let kv_heads =
        stated.kv_heads.unwrap_or_else(|| keys.shape.get(1).copied().filter(|&k| k <= n).unwrap_or(n)).max(1);
    let stored = keys.elements() / (kv_heads * d).max(1);
    let columns = stated.keys.unwrap_or(stored.div_ceil(batch)).max(1);
    let note = stated.batch.is_none().then(|| "TND without lengths of sequences: one sequence is taken".to_owned());
    (Form { batch, heads: n, kv_heads, rows, columns, depth: d }, note)
}

/// [tokens, batch, heads side by side] or [batch, tokens, heads side by side], keys likewise or in pages.
fn three_axes(
    [x, y, width]: [u64; 3],
    keys: &Operand,
    statistic: Option<&Operand>,
    stated: &Stated,
) -> (Form, Option<String>) {
    let key_shape = keys.shape.as_slice();
    let (kx, ky, key_width) = match key_shape {
        &[kx, ky, key_width] => (kx, ky, key_width),
        _ => (1, keys.elements() / width.max(1), width),
    };
    let heads = stated.heads.or(statistic.map(|s| s.shape[1])).unwrap_or(width.div_ceil(USUAL_HEAD)).max(1);
    let depth = (width / heads).max(1);
    let kv_heads = stated.kv_heads.unwrap_or(key_width / depth).clamp(1, heads);
    let tokens_first = match (statistic, stated.layout.as_deref()) {
        (Some(s), _) => x == s.shape[2],
        (None, Some("SBH")) => true,
        (None, Some("BSH")) => false,
        // Tokens are more than batches.
        (None, _) => kx > ky,
    };
    let (batch, rows, columns) = if tokens_first { (y, x, kx) } else { (x, y, ky) };
    // Keys of another number of batches lie in pages.
    let paged = (if tokens_first { ky } else { kx }) != batch;
    let stored = (keys.elements() / (kv_heads * depth).max(1)).div_ceil(batch.max(1));
    let columns = stated.keys.filter(|_| paged).unwrap_or(if paged { stored } else { columns }).max(1);
    let name = if tokens_first { "SBH" } else { "BSH" };
    let guessed = statistic.is_none() && stated.layout.is_none();
    let note = guessed.then(|| format!("`attrs.input_layout` is not given: {name} with heads of {depth} is taken"));
    (Form { batch: batch.max(1), heads, kv_heads, rows: rows.max(1), columns, depth }, note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::DataType;
    use serde_json::json;

    fn form(q: &[u64], keys: &[u64], attrs: &Value) -> (Form, Option<String>) {
        let operand = |shape: &[u64]| Operand::new(shape.to_vec(), DataType::Bfloat16);
        Form::of(&operand(q), &operand(keys), None, &Stated::of(attrs.as_object()).unwrap())
    }

    #[test]
    fn every_layout_gives_the_same_sizes() {
        let expected = Form { batch: 4, heads: 32, kv_heads: 8, rows: 512, columns: 512, depth: 128 };
        let lengths = json!([512, 1024, 1536, 2048]);
        for (q, keys, attrs) in [
            (vec![4, 32, 512, 128], vec![4, 8, 512, 128], json!({"input_layout": "BNSD"})),
            (vec![4, 32, 512, 128], vec![4, 8, 512, 128], json!({"heads": 32})),
            (vec![4, 512, 32, 128], vec![4, 512, 8, 128], json!({"input_layout": "BSND"})),
            (vec![4, 512, 4096], vec![4, 512, 1024], json!({"input_layout": "BSH", "num_heads": 32})),
            (vec![512, 4, 4096], vec![512, 4, 1024], json!({"input_layout": "SBH", "num_heads": 32})),
            (vec![2048, 32, 128], vec![2048, 8, 128], json!({"layout": "TND", "actual_seq_lengths": lengths})),
        ] {
            assert_eq!(form(&q, &keys, &attrs), (expected, None), "{q:?} {attrs}");
        }
    }

    #[test]
    fn a_layout_that_does_not_tell_is_said() {
        let (_, note) = form(&[4, 16, 32, 128], &[4, 16, 32, 128], &json!({}));
        assert!(note.unwrap().contains("input_layout"));
        let (found, note) = form(&[64, 8, 128], &[64, 8, 128], &json!({"input_layout": "TND"}));
        assert!(found.batch == 1 && note.unwrap().contains("lengths"));
    }

    #[test]
    fn attributes_that_are_no_numbers_are_named() {
        for (attrs, name) in [
            (json!({"num_heads": "many"}), "num_heads"),
            (json!({"num_heads": -1}), "num_heads"),
            (json!({"actual_seq_lengths": [1, "x"]}), "actual_seq_lengths"),
            (json!({"actual_seq_lengths_kv": 3}), "actual_seq_lengths_kv"),
        ] {
            assert!(Stated::of(attrs.as_object()).unwrap_err().contains(name), "{attrs}");
        }
    }
}
