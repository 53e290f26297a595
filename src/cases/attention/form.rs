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
