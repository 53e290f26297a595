//! What the attributes of attention tell, by CANN's names and by those of measurements.

use crate::spelling::beginning;
use serde_json::{Map, Value};

/// Largest number that an attribute may give.
const MOST: u64 = i32::MAX as u64;

/// The attributes that count.
pub(in crate::cases) const ATTRIBUTES: &[&str] = &[
    "input_layout",
    "layout",
    "num_heads",
    "head_num",
    "heads",
    "num_key_value_heads",
    "kv_heads",
    "batch",
    "seq_len",
    "causal",
    "sparse_mode",
    "block_size",
    QUERIES[0],
    QUERIES[1],
    KEYS[0],
    KEYS[1],
];
const QUERIES: [&str; 2] = ["actual_seq_lengths", "actual_seq_qlen"];
const KEYS: [&str; 2] = ["actual_seq_lengths_kv", "actual_seq_kvlen"];

/// The order of a query's axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Bnsd,
    Bsnd,
    Bsh,
    Sbh,
    Tnd,
    /// Heads, tokens of all sequences, depth; `NSD` is the same for one sequence.
    Ntd,
    /// Tokens, heads side by side.
    Sh,
}

impl Layout {
    const ALL: [(&'static str, Layout); 8] = [
        ("BNSD", Layout::Bnsd),
        ("BSND", Layout::Bsnd),
        ("BSH", Layout::Bsh),
        ("SBH", Layout::Sbh),
        ("TND", Layout::Tnd),
        ("NTD", Layout::Ntd),
        ("NSD", Layout::Ntd),
        ("SH", Layout::Sh),
    ];

    /// That of the query: `BNSD_BSND` names the result's behind it.
    fn of(name: &str) -> Option<Layout> {
        let known = |name: &str| Layout::ALL.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let (query, result) = name.split_once('_').map_or((name, None), |(query, result)| (query, Some(result)));
        // Some results have an order that no query has: `BSH_NBSD`.
        let letters = |result: &str| result.len() <= 4 && result.bytes().all(|b| b.is_ascii_alphabetic());
        known(query).filter(|_| result.is_none_or(letters)).map(|(_, layout)| *layout)
    }

    pub fn name(self) -> &'static str {
        Layout::ALL.iter().find(|(_, layout)| *layout == self).map_or("", |(name, _)| name)
    }
}

/// Lengths of sequences under the name of their attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lengths {
    pub name: &'static str,
    values: Vec<u64>,
}

impl Lengths {
    /// The length of each sequence: one for all, or one for each of `batch`, none longer than `most`.
    pub fn each(&self, batch: u64, most: u64, of: &str) -> Result<Vec<u64>, String> {
        let Lengths { name, values } = self;
        if values.len() != 1 && values.len() as u64 != batch {
            return Err(format!("`attrs.{name}`: {} lengths for {batch} sequences", values.len()));
        }
        match values.iter().find(|&&length| length > most) {
            Some(length) => Err(format!("`attrs.{name}`: {length} is more than the {most} tokens of {of}")),
            None => Ok(values.clone()),
        }
    }

    /// The mean length of sequences that lie one behind the other in so many tokens. Lengths that only grow are sums of
    /// all before, as CANN has them there, unless together they are the tokens.
    pub fn mean_of(&self, tokens: u64, of: &str) -> Result<u64, String> {
        let Lengths { name, values } = self;
        let last = values.last().copied().unwrap_or_default();
        let whole: u64 = values.iter().sum();
        let grows = values.len() > 1 && values.windows(2).all(|pair| pair[0] <= pair[1]);
        let sums = grows && whole != tokens && (last == tokens || values.windows(2).all(|pair| pair[0] < pair[1]));
        let total = if sums { last } else { whole };
        if total > tokens {
            return Err(format!("`attrs.{name}`: {total} tokens in all are more than the {tokens} of {of}"));
        }
        Ok(total.div_ceil(self.count()).max(1))
    }

    /// Sequences that it has a length of.
    pub fn count(&self) -> u64 {
        self.values.len() as u64
    }

    /// Whether it is one for all sequences, and tells nothing of their number.
    pub fn is_for_all(&self) -> bool {
        self.name == "seq_len"
    }
}

/// The mean of lengths, rounded up.
pub(super) fn mean(lengths: &[u64]) -> u64 {
    lengths.iter().sum::<u64>().div_ceil(lengths.len().max(1) as u64).max(1)
}

/// What the attributes tell.
#[derive(Debug, Default)]
pub(super) struct Stated {
    pub layout: Option<Layout>,
    /// The layout is CANN's `input_layout`, that of the operands as they are; a measurement's may be that of its call.
    pub is_of_operands: bool,
    /// Keys and values are said to lie in pages, of so many tokens.
    pub in_pages: bool,
    pub block: Option<u64>,
    pub batch: Option<u64>,
    pub heads: Option<u64>,
    pub kv_heads: Option<u64>,
    pub queries: Option<Lengths>,
    pub keys: Option<Lengths>,
    pub causal: Option<bool>,
    /// What has to be said of them.
    pub note: Option<String>,
}

type Attrs<'a> = Option<&'a Map<String, Value>>;

impl Stated {
    /// Reads the attributes of an operator; fails on one that is no value of its kind.
    pub fn of(op: &str, attrs: Attrs) -> Result<Stated, String> {
        let (queries, keys) = (lengths(attrs, &QUERIES)?, lengths(attrs, &KEYS)?);
        // One query token a sequence: the only lengths are those of keys.
        let (queries, keys) =
            if op.contains("IncreFlashAttention") { (None, keys.or(queries)) } else { (queries, keys) };
        let seq_len = number(attrs, &["seq_len"])?.map(|length| Lengths { name: "seq_len", values: vec![length] });
        let causal = match find(attrs, &["causal", "sparse_mode"]) {
            Some((_, Value::Bool(causal))) => Some(*causal),
            // 2 to 4: the masks that hide later keys.
            Some((_, value)) => value.as_u64().map(|mode| (2..=4).contains(&mode)).filter(|&causal| causal),
            None => None,
        };
        let stated = Stated {
            block: number(attrs, &["block_size"])?,
            batch: number(attrs, &["batch"])?,
            heads: number(attrs, &["num_heads", "head_num", "heads"])?,
            kv_heads: number(attrs, &["num_key_value_heads", "kv_heads"])?,
            queries,
            keys: keys.or(seq_len),
            causal,
            ..Stated::default()
        };
        stated.with_layouts(attrs)
    }

    /// The same with CANN's layout, or what a measurement says of it: `TND`, `paged, block 128`, `.. given as BNSD`.
    fn with_layouts(mut self, attrs: Attrs) -> Result<Stated, String> {
        let text = |name| {
            find(attrs, &[name]).map(|(_, value)| value.as_str().ok_or(format!("`attrs.{name}`: it is no text")))
        };
        if let Some(words) = text("layout").transpose()? {
            let upper = words.to_ascii_uppercase();
            let own = upper.rsplit_once("GIVEN AS").map_or(upper.as_str(), |(_, given)| given);
            let split = |text: &'_ str| text.split([' ', ',', ';']).map(str::to_owned).collect::<Vec<_>>();
            let mut known = split(own).into_iter().filter_map(|word| Layout::of(&word));
            self.layout = known.next().filter(|_| known.next().is_none());
            self.in_pages = upper.contains("PAGE");
            let all = split(&upper);
            let block = all.iter().skip_while(|word| *word != "BLOCK").nth(1).and_then(|size| size.parse().ok());
            self.block = self.block.or(block.filter(|n| (1..=MOST).contains(n)));
            if self.layout.is_none() && !self.in_pages {
                let shown = beginning(words);
                self.note = Some(format!("`attrs.layout`: `{shown}` is no layout that is known, the operands tell"));
            }
        }
        if let Some(name) = text("input_layout").transpose()? {
            self.layout = Some(Layout::of(name).ok_or_else(|| {
                let known = Layout::ALL.map(|(name, _)| name).join(", ");
                format!("`attrs.input_layout`: `{}` is none of {known}", beginning(name))
            })?);
            self.is_of_operands = true;
        }
        Ok(self)
    }

    /// Sequences, as far as numbers and lists of lengths tell.
    pub fn sequences(&self) -> Option<u64> {
        let count = |lengths: &Option<Lengths>| lengths.as_ref().filter(|l| !l.is_for_all()).map(Lengths::count);
        self.batch.or(count(&self.queries)).or(count(&self.keys))
    }

    pub fn is(&self, layout: Layout) -> bool {
        self.layout == Some(layout)
    }
}

fn find<'a>(attrs: Attrs<'a>, names: &[&'static str]) -> Option<(&'static str, &'a Value)> {
    names.iter().find_map(|name| attrs?.get(*name).filter(|v| !v.is_null()).map(|value| (*name, value)))
}

/// A number; CANN has 0 for what is as the operands say.
fn number(attrs: Attrs, names: &[&'static str]) -> Result<Option<u64>, String> {
    match find(attrs, names) {
        None => Ok(None),
        Some((name, value)) => match value.as_u64().filter(|&n| n <= MOST) {
            Some(n) => Ok((n > 0).then_some(n)),
            None => Err(format!("`attrs.{name}`: it is no number from 0 to {MOST}")),
        },
    }
}

fn lengths(attrs: Attrs, names: &[&'static str]) -> Result<Option<Lengths>, String> {
    let Some((name, value)) = find(attrs, names) else { return Ok(None) };
    let Value::Array(items) = value else { return Err(format!("`attrs.{name}`: it is no list of lengths")) };
    let values: Option<Vec<u64>> = items.iter().map(|n| n.as_u64().filter(|&n| n <= MOST)).collect();
    let values = values.ok_or_else(|| format!("`attrs.{name}`: it holds something that is no length"))?;
    Ok((!values.is_empty()).then_some(Lengths { name, values }))
}
