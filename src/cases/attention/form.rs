//! How the operands of attention lie: which axes are batch, heads and tokens, and how many keys there are.

use super::pages::Pages;
use super::stated::{Layout, Stated, mean};
use crate::workload::Operand;

/// Elements of a head where nothing tells.
const USUAL_HEAD: u64 = 128;

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

type Notes = Vec<String>;

impl Form {
    /// The sizes, and what has to be said where operands and attributes do not tell them. Fails where they contradict
    /// each other so that no kernel would run.
    pub fn of(
        q: &Operand,
        keys: &Operand,
        statistic: Option<&Operand>,
        stated: &Stated,
    ) -> Result<(Form, Notes), String> {
        let mut notes: Notes = stated.note.iter().cloned().collect();
        let form = match q.shape.as_slice() {
            &[b, x, y, d] => four_axes([b, x, y, d], &keys.shape, statistic, stated, &mut notes)?,
            &[n, t, d] if stated.is(Layout::Ntd) => {
                // Keys in this order have heads first, too.
                let turned = match *keys.shape.as_slice() {
                    [kn, kt, kd] if kd == d && n.is_multiple_of(kn.max(1)) => vec![kt, kn, kd],
                    _ => keys.shape.clone(),
                };
                tokens([t, n, d], &turned, stated, &mut notes)?
            }
            &[t, n, d] if stated.is(Layout::Tnd) || (stated.layout.is_none() && stated.heads == Some(n)) => {
                tokens([t, n, d], &keys.shape, stated, &mut notes)?
            }
            &[x, y, width] => three_axes([x, y, width], keys, statistic, stated, &mut notes)?,
            shape => other_axes(shape, keys, stated, &mut notes),
        };
        let Form { heads, kv_heads, .. } = form;
        if !heads.is_multiple_of(kv_heads.max(1)) {
            notes.push(format!("{heads} heads of queries are no multiple of {kv_heads} heads of keys"));
        }
        if let Some(batch) = stated.batch.filter(|&batch| batch != form.batch) {
            notes.push(format!("`attrs.batch` is {batch}, the operands have {}: these are taken", form.batch));
        }
        Ok((form, notes))
    }
}

/// Says so where the stated layout has another number of axes than the query.
fn contradicted(stated: &Stated, axes: usize, taken: &str, notes: &mut Notes) {
    if let Some(layout) = stated.layout.filter(|_| stated.is_of_operands) {
        notes.push(format!("`attrs.input_layout` is {}, the query has {axes} axes: {taken} is taken", layout.name()));
    }
}

/// A size that is stated and that an axis has; fails where they differ.
fn agree(name: &str, stated: Option<u64>, found: u64, of: &str) -> Result<(), String> {
    match stated {
        Some(stated) if stated != found => Err(format!("`attrs.{name}`: {of} has {found} heads, not {stated}")),
        _ => Ok(()),
    }
}

/// [batch, heads, tokens, depth] or [batch, tokens, heads, depth], keys likewise or in pages.
fn four_axes(
    q: [u64; 4],
    keys: &[u64],
    statistic: Option<&Operand>,
    stated: &Stated,
    notes: &mut Notes,
) -> Result<Form, String> {
    let [b, x, y, d] = q;
    // Keys of a batch of their own, or that their sequences do not fit, lie in pages.
    let dense = match *keys {
        [kb, kx, ky, _] if kb == b => {
            let block = stated.block.filter(|&block| block == kx || block == ky);
            let fits = |block: u64| stated.keys.as_ref().is_none_or(|l| l.each(b, block, "a page").is_ok());
            block.is_none_or(fits).then_some([kx, ky])
        }
        _ => None,
    };
    let pages = if dense.is_none() { Some(Pages::of(keys, d, stated, notes)?) } else { None };
    let heads_first = heads_first(q, dense, pages, statistic, stated, notes)?;
    let (heads, rows) = if heads_first { (x, y) } else { (y, x) };
    agree("num_heads", stated.heads, heads, "the query")?;
    let rows = match &stated.queries {
        Some(lengths) => mean(&lengths.each(b, rows, "the query")?),
        None => rows,
    };
    let (kv_heads, columns) = match (dense, pages) {
        (Some([kx, ky]), _) => {
            let (kv_heads, stored) = if heads_first { (kx, ky) } else { (ky, kx) };
            agree("num_key_value_heads", stated.kv_heads, kv_heads, "the key")?;
            (
                kv_heads,
                match &stated.keys {
                    Some(lengths) => mean(&lengths.each(b, stored, "the keys")?),
                    None => stored,
                },
            )
        }
        (None, Some(pages)) => (pages.kv_heads, pages.columns(b, stated.keys.as_ref(), notes)?),
        (None, None) => return Err("query and key need axes".into()),
    };
    Ok(Form { batch: b, heads, kv_heads, rows, columns, depth: d })
}

/// Whether the heads of a query with four axes come before its tokens.
fn heads_first(
    [_, x, y, _]: [u64; 4],
    dense: Option<[u64; 2]>,
    pages: Option<Pages>,
    statistic: Option<&Operand>,
    stated: &Stated,
    notes: &mut Notes,
) -> Result<bool, String> {
    if let Some(s) = statistic {
        return Ok(y == s.shape[2]);
    }
    if stated.is(Layout::Bnsd) || stated.is(Layout::Bsnd) {
        return Ok(stated.is(Layout::Bnsd));
    }
    let name = |first: bool| if first { "BNSD" } else { "BSND" };
    if let Some(heads) = stated.heads {
        if heads != x && heads != y {
            return Err(format!("`attrs.num_heads`: the query has axes of {x} and {y}, none of {heads} heads"));
        }
        if x != y {
            contradicted(stated, 4, name(heads == x), notes);
            return Ok(heads == x);
        }
    }
    // Heads of queries are a multiple of those of keys.
    let fits = |heads: u64, of_keys: u64| heads >= of_keys && heads.is_multiple_of(of_keys.max(1));
    let (first, sure) = match (dense, pages) {
        (Some([kx, ky]), _) => match (fits(x, kx), fits(y, ky)) {
            (true, false) => (true, true),
            (false, true) => (false, true),
            // Tokens are more than heads.
            _ => (ky >= kx, x == y && kx == ky),
        },
        (None, pages) => {
            let of_keys = pages.map_or(1, |pages| pages.kv_heads);
            match (fits(x, of_keys), fits(y, of_keys)) {
                (true, false) => (true, true),
                (false, true) => (false, true),
                // One token a sequence is what a cache is asked for most.
                _ => (x != 1 || y == 1, x == 1 || y == 1),
            }
        }
    };
    if stated.layout.is_some() && stated.is_of_operands {
        contradicted(stated, 4, name(first), notes);
    } else if !sure {
        notes.push(format!("`attrs.input_layout` is not given: {} is taken", name(first)));
    }
    Ok(first)
}

/// [tokens of all sequences, heads, depth], keys likewise or in pages.
fn tokens([t, n, d]: [u64; 3], keys: &[u64], stated: &Stated, notes: &mut Notes) -> Result<Form, String> {
    agree("num_heads", stated.heads, n, "the query")?;
    let batch = stated.sequences().unwrap_or(1).max(1);
    if stated.sequences().is_none() {
        notes.push("TND without lengths of sequences: one sequence is taken".to_owned());
    }
    let rows = match &stated.queries {
        Some(lengths) => lengths.mean_of(t, "the query")?,
        None => t.div_ceil(batch).max(1),
    };
    let is_page = |kn: u64| stated.block == Some(kn) && stated.kv_heads.is_none_or(|heads| heads != kn);
    let (kv_heads, columns) = match *keys {
        [kt, kn, kd] if kd == d && n.is_multiple_of(kn.max(1)) && !is_page(kn) => {
            agree("num_key_value_heads", stated.kv_heads, kn, "the key")?;
            let columns = match &stated.keys {
                Some(lengths) if lengths.is_for_all() => mean(&lengths.each(batch, kt, "the keys")?),
                Some(lengths) => lengths.mean_of(kt, "the keys")?,
                None => kt.div_ceil(batch).max(1),
            };
            (kn, columns)
        }
        _ => {
            let pages = Pages::of(keys, d, stated, notes)?;
            (pages.kv_heads, pages.columns(batch, stated.keys.as_ref(), notes)?)
        }
    };
    Ok(Form { batch, heads: n, kv_heads, rows, columns, depth: d })
}

/// [tokens, batch, heads side by side] or [batch, tokens, heads side by side], keys likewise or in pages.
fn three_axes(
    [x, y, width]: [u64; 3],
    keys: &Operand,
    statistic: Option<&Operand>,
    stated: &Stated,
    notes: &mut Notes,
) -> Result<Form, String> {
    if let Some(heads) = stated.heads.filter(|heads| !width.is_multiple_of(*heads)) {
        return Err(format!("`attrs.num_heads`: the query's {width} elements of a token are no {heads} heads"));
    }
    let heads = stated.heads.or(statistic.map(|s| s.shape[1])).unwrap_or(width.div_ceil(USUAL_HEAD)).max(1);
    let depth = (width / heads).max(1);
    let sequences = stated.sequences().filter(|&n| (n == x) != (n == y));
    let tokens_first = match (statistic, stated.layout, keys.shape.as_slice()) {
        (Some(s), _, _) => x == s.shape[2],
        (None, Some(Layout::Sbh), _) => true,
        (None, Some(Layout::Bsh), _) => false,
        (None, _, &[kx, ky, _]) => match sequences {
            Some(batch) => batch == y,
            // Tokens are more than batches.
            None => kx > ky,
        },
        // Only sequences that come first have their keys in pages.
        (None, _, _) => false,
    };
    let (batch, rows) = if tokens_first { (y, x) } else { (x, y) };
    let name = if tokens_first { "SBH" } else { "BSH" };
    if statistic.is_none() && !stated.is(Layout::Sbh) && !stated.is(Layout::Bsh) {
        if stated.is_of_operands {
            contradicted(stated, 3, name, notes);
        } else {
            notes.push(format!("`attrs.input_layout` is not given: {name} with heads of {depth} is taken"));
        }
    }
    let rows = match &stated.queries {
        Some(lengths) => mean(&lengths.each(batch, rows, "the query")?),
        None => rows,
    };
    // Keys of another number of batches lie in pages.
    let dense = match *keys.shape.as_slice() {
        [kx, ky, key_width] if tokens_first && ky == batch => Some((kx, key_width)),
        [kx, ky, key_width] if !tokens_first && kx == batch => Some((ky, key_width)),
        _ => None,
    };
    let lengths = stated.keys.as_ref();
    let dense = dense.filter(|&(stored, _)| {
        stated.block != Some(stored) || lengths.is_none_or(|lengths| lengths.each(batch, stored, "a page").is_ok())
    });
    let (kv_heads, columns) = if let Some((stored, key_width)) = dense {
        let found = (key_width / depth).clamp(1, heads);
        agree("num_key_value_heads", stated.kv_heads, found, "the key")?;
        let columns = match lengths {
            Some(lengths) => mean(&lengths.each(batch, stored, "the keys")?),
            None => stored,
        };
        (found, columns)
    } else {
        let pages = Pages::of(&keys.shape, depth, stated, notes)?;
        (pages.kv_heads, pages.columns(batch, lengths, notes)?)
    };
    Ok(Form { batch: batch.max(1), heads, kv_heads, rows: rows.max(1), columns: columns.max(1), depth })
}

/// Rows of heads side by side.
fn other_axes(shape: &[u64], keys: &Operand, stated: &Stated, notes: &mut Notes) -> Form {
    let width = shape.last().copied().unwrap_or(1);
    let depth = stated.heads.map_or(USUAL_HEAD.min(width), |n| (width / n).max(1));
    let rows = shape[..shape.len().saturating_sub(1)].iter().fold(1u64, |n, &d| n.saturating_mul(d));
    let heads = (width / depth).max(1);
    let columns = (keys.elements() / width.max(1)).max(1);
    notes.push(
        "attention with a query of other than 3 or 4 axes: one sequence, rows of heads side by side, is taken".into(),
    );
    Form { batch: 1, heads, kv_heads: heads, rows: rows.max(1), columns, depth }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::DataType;
    use serde_json::{Value, json};

    fn read(q: &[u64], keys: &[u64], attrs: &Value) -> Result<(Form, Vec<String>), String> {
        let operand = |shape: &[u64]| Operand::new(shape.to_vec(), DataType::Bfloat16);
        Form::of(&operand(q), &operand(keys), None, &Stated::of("FusedInferAttentionScore", attrs.as_object())?)
    }

    fn form(q: &[u64], keys: &[u64], attrs: &Value) -> (Form, String) {
        let (form, notes) = read(q, keys, attrs).unwrap_or_else(|error| panic!("{q:?} {keys:?} {attrs}: {error}"));
        (form, notes.join("; "))
    }

    /// 16 sequences of 4096 keys in a cache of 2048 pages of 128.
    const SERVED: Form = Form { batch: 16, heads: 32, kv_heads: 8, rows: 1, columns: 4096, depth: 128 };

    #[test]
    fn a_cache_in_pages_gives_the_same_sizes_in_every_layout() {
        let lengths = json!(vec![4096; 16]);
        for (layout, q) in [
            ("BNSD", vec![16, 32, 1, 128]),
            ("BSND", vec![16, 1, 32, 128]),
            ("BSH", vec![16, 1, 4096]),
            ("TND", vec![16, 32, 128]),
        ] {
            for keys in
                [vec![2048, 128, 1024], vec![2048, 8, 128, 128], vec![2048, 128, 8, 128], vec![2048, 8, 8, 128, 16]]
            {
                for attrs in [
                    json!({"actual_seq_lengths_kv": lengths, "block_size": 128, "num_heads": 32, "input_layout": layout}),
                    json!({"actual_seq_lengths_kv": lengths, "num_heads": 32, "num_key_value_heads": 8, "input_layout": layout}),
                    json!({"layout": "paged, block 128", "seq_len": 4096, "heads": 32, "kv_heads": 8, "batch": 16}),
                ] {
                    let (found, note) = form(&q, &keys, &attrs);
                    assert_eq!(found, SERVED, "{q:?} {keys:?} {attrs}");
                    // Three axes do not say by themselves whose they are.
                    assert!(note.is_empty() || (layout == "BSH" && attrs["input_layout"].is_null()), "{note} {q:?}");
                }
            }
        }
    }

    #[test]
    fn lengths_of_a_cache_in_pages_are_those_of_each_sequence() {
        let growing = json!([1024, 2048, 3072, 4096]);
        let attrs =
            json!({"input_layout": "TND", "actual_seq_lengths": [1, 2, 3, 4], "actual_seq_lengths_kv": growing});
        let (found, note) = form(&[4, 32, 128], &[2048, 128, 1024], &attrs);
        assert_eq!((found.batch, found.rows, found.columns, note.as_str()), (4, 1, 2560, ""));
        // Without pages they are sums of all before.
        let (found, _) = form(&[4, 32, 128], &[4096, 8, 128], &attrs);
        assert_eq!((found.batch, found.rows, found.columns), (4, 1, 1024));
        // Keys beside each other are only as many as their lengths.
        let (found, note) = form(
            &[4, 32, 1, 128],
            &[4, 8, 4096, 128],
            &json!({"input_layout": "BNSD", "actual_seq_lengths_kv": growing}),
        );
        assert_eq!((found.columns, note.as_str()), (2560, ""));
        // A few pages, as many as there are sequences.
        let attrs = json!({"input_layout": "BNSD", "actual_seq_lengths_kv": [512, 16, 16, 16], "block_size": 128});
        let (found, note) = form(&[4, 32, 1, 128], &[4, 8, 128, 128], &attrs);
        assert!(found.columns == 140 && note.contains("need 7 pages"), "{found:?} {note}");
    }

    #[test]
    fn what_is_assumed_of_a_cache_is_said() {
        let (q, keys) = ([16, 32, 1, 128], [2048, 128, 1024]);
        for (attrs, said) in [
            (json!({"input_layout": "BNSD"}), "a full cache is taken"),
            (json!({"input_layout": "BNSD", "seq_len": 4096, "block_size": 64}), "pages of 128"),
            (json!({"input_layout": "BNSD", "seq_len": 32_000}), "need 4000 pages, the cache has 2048"),
            (json!({"input_layout": "TND", "seq_len": 4096}), "TND, the query has 4 axes: BNSD is taken"),
            (json!({"layout": "rows", "seq_len": 4096}), "`rows` is no layout"),
            (json!({"input_layout": "BNSD", "seq_len": 4096, "batch": 8}), "`attrs.batch` is 8"),
        ] {
            let (found, note) = form(&q, &keys, &attrs);
            assert!(note.contains(said) && found.heads == 32 && found.batch == 16, "{attrs}: {note}");
        }
    }

    #[test]
    fn what_no_kernel_would_run_is_refused_by_name() {
        let (q, keys) = ([16, 32, 1, 128], [2048, 128, 1024]);
        for (attrs, named, reason) in [
            (json!({"input_layout": "BXYZ"}), "attrs.input_layout", "BXYZ"),
            (json!({"input_layout": 3}), "attrs.input_layout", "no text"),
            (json!({"input_layout": "BNSD", "num_heads": 24}), "attrs.num_heads", "32 heads, not 24"),
            (json!({"num_heads": 24}), "attrs.num_heads", "none of 24"),
            (json!({"input_layout": "BNSD", "num_key_value_heads": 4}), "attrs.num_key_value_heads", "8 heads, not 4"),
            (
                json!({"input_layout": "BNSD", "actual_seq_lengths_kv": [300_000]}),
                "attrs.actual_seq_lengths_kv",
                "300000",
            ),
            (
                json!({"input_layout": "BNSD", "actual_seq_lengths_kv": [1, 2]}),
                "attrs.actual_seq_lengths_kv",
                "2 lengths for 16",
            ),
            (
                json!({"input_layout": "BNSD", "actual_seq_lengths": [9]}),
                "attrs.actual_seq_lengths",
                "9 is more than the 1",
            ),
        ] {
            let error = read(&q, &keys, &attrs).unwrap_err();
            assert!(error.contains(named) && error.contains(reason), "{attrs}: {error}");
        }
        let dense = json!({"input_layout": "BNSD", "actual_seq_lengths_kv": vec![513; 4]});
        assert!(read(&[4, 32, 512, 128], &[4, 8, 512, 128], &dense).unwrap_err().contains("513"));
        let flat = json!({"input_layout": "BSH", "num_heads": 24});
        assert!(read(&[16, 1, 4096], &[2048, 128, 1024], &flat).unwrap_err().contains("24 heads"));
        assert!(
            read(&q, &[2048, 128, 1000], &json!({"input_layout": "BNSD"})).unwrap_err().contains("inputs[1].shape")
        );
    }

    #[test]
    fn one_token_at_a_time_has_lengths_of_keys_only() {
        let attrs = json!({"actual_seq_lengths": [4096], "input_layout": "BSH", "num_heads": 32});
        let stated = Stated::of("IncreFlashAttention", attrs.as_object()).unwrap();
        let operand = |shape: &[u64]| Operand::new(shape.to_vec(), DataType::Bfloat16);
        let form = Form::of(&operand(&[16, 1, 4096]), &operand(&[2048, 128, 1024]), None, &stated).unwrap();
        assert_eq!(form, (SERVED, Vec::new()));
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
            assert_eq!(form(&q, &keys, &attrs), (expected, String::new()), "{q:?} {attrs}");
        }
    }

    #[test]
    fn a_layout_that_does_not_tell_is_said() {
        let (_, note) = form(&[4, 16, 32, 128], &[4, 16, 32, 128], &json!({}));
        assert!(note.contains("input_layout"));
        let (found, note) = form(&[64, 8, 128], &[64, 8, 128], &json!({"input_layout": "TND"}));
        assert!(found.batch == 1 && note.contains("lengths"));
    }

    #[test]
    fn attributes_that_are_no_numbers_are_named() {
        for (attrs, name) in [
            (json!({"num_heads": "many"}), "num_heads"),
            (json!({"num_heads": -1}), "num_heads"),
            (json!({"actual_seq_lengths": [1, "x"]}), "actual_seq_lengths"),
            (json!({"actual_seq_lengths_kv": 3}), "actual_seq_lengths_kv"),
        ] {
            assert!(Stated::of("FlashAttentionScore", attrs.as_object()).unwrap_err().contains(name), "{attrs}");
        }
    }
}
