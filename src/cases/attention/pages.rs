//! Keys and values in pages: a cache of blocks of tokens, in which each sequence has some.

use super::stated::{Lengths, Stated, mean};

/// A cache in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pages {
    count: u64,
    /// Tokens of one.
    size: u64,
    pub kv_heads: u64,
}

impl Pages {
    /// Reads [pages, size, heads side by side], [pages, heads, size, depth], [pages, size, heads, depth], or the second of
    /// them in fractals: [pages, heads, depth / 16, size, 16]. The heads have `depth` elements.
    pub fn of(keys: &[u64], depth: u64, stated: &Stated, notes: &mut Vec<String>) -> Result<Pages, String> {
        let heads_of = |width: u64| match width / depth.max(1) {
            heads if heads > 0 && heads * depth == width => Ok(heads),
            _ => Err(format!("`inputs[1].shape`: {keys:?} has no heads of {depth}, which the query has")),
        };
        let pages = match *keys {
            [count, size, width] => Pages { count, size, kv_heads: heads_of(width)? },
            [count, kv_heads, blocks, size, lanes] if blocks.saturating_mul(lanes) == depth => {
                Pages { count, size, kv_heads }
            }
            [count, x, y, last] if last == depth => {
                let heads_first = heads_first([x, y], stated);
                let (kv_heads, size) = if heads_first { (x, y) } else { (y, x) };
                Pages { count, size, kv_heads }
            }
            [count, blocks, size, lanes] => Pages { count, size, kv_heads: heads_of(blocks.saturating_mul(lanes))? },
            _ => return Err(format!("`inputs[1].shape`: {keys:?} is no cache in pages for heads of {depth}")),
        };
        if let Some(stated) = stated.kv_heads.filter(|&heads| heads != pages.kv_heads) {
            let found = pages.kv_heads;
            return Err(format!("`attrs.num_key_value_heads`: the cache {keys:?} has {found} heads, not {stated}"));
        }
        if let Some(block) = stated.block.filter(|&block| block != pages.size) {
            let size = pages.size;
            notes.push(format!("`attrs.block_size` is {block}, the cache has pages of {size}: these are taken"));
        }
        Ok(pages)
    }

    /// Keys of a sequence, in the mean.
    pub fn columns(&self, batch: u64, lengths: Option<&Lengths>, notes: &mut Vec<String>) -> Result<u64, String> {
        let tokens = self.count.saturating_mul(self.size);
        let Some(lengths) = lengths else {
            let size = self.size;
            notes.push(format!(
                "keys in pages of {size} without lengths of sequences (`attrs.actual_seq_lengths_kv`): a full cache is taken"
            ));
            return Ok((tokens / batch.max(1)).max(1));
        };
        let each = lengths.each(batch, tokens, "the cache")?;
        let for_all = if each.len() == 1 { batch } else { 1 };
        let needed = each.iter().map(|n| n.div_ceil(self.size.max(1))).sum::<u64>().saturating_mul(for_all);
        if needed > self.count {
            notes.push(format!(
                "`attrs.{}`: {batch} sequences need {needed} pages, the cache has {}: they are taken to share some",
                lengths.name, self.count
            ));
        }
        Ok(mean(&each))
    }
}

/// Whether the heads come before the tokens of a page.
fn heads_first([x, y]: [u64; 2], stated: &Stated) -> bool {
    let one_of = |n: u64| (n == x) != (n == y);
    if let Some(heads) = stated.kv_heads.filter(|&heads| one_of(heads)) {
        return heads == x;
    }
    if let Some(block) = stated.block.filter(|&block| one_of(block)) {
        return block == y;
    }
    // A page has more tokens than heads.
    y >= x
}
