//! Knowledge as the texts that many records share, and the numbers between them that are each record's.

use std::ops::Range;

/// Bytes of a text copied at once.
const STEP: usize = 32;
/// Bytes copied for each number.
const LONGEST_TOKEN: usize = 16;
/// Bits of a number's length: a longer one is not kept as such, but its record's knowledge as a text.
const LENGTH_BITS: usize = 4;
/// Bytes behind values and texts that have to be there, whatever they are: copies are made in whole steps.
pub const SLACK: usize = STEP + LONGEST_TOKEN;

/// The texts between the numbers of a knowledge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// All texts, and [`SLACK`] bytes after the last.
    texts: Box<[u8]>,
    pieces: Box<[Range<u32>]>,
    /// Bytes of all texts.
    length: usize,
}

impl Template {
    /// The template of these texts, one more than there are numbers.
    pub fn new(texts: &[Box<[u8]>]) -> Template {
        let mut all: Vec<u8> = Vec::new();
        let mut pieces = Vec::with_capacity(texts.len());
        for text in texts {
            let start = all.len() as u32;
            all.extend_from_slice(text);
            pieces.push(start..all.len() as u32);
        }
        let length = all.len();
        all.resize(length + SLACK, 0);
        Template { texts: all.into(), pieces: pieces.into(), length }
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.texts.len() + self.pieces.len() * size_of::<Range<u32>>() + size_of::<Template>()
    }

    /// Bytes before the numbers of a record: their lengths, two to a byte. Where a number goes is then known
    /// before those before it are read.
    fn length_bytes(&self) -> usize {
        (self.pieces.len() - 1).div_ceil(2)
    }

    /// Puts numbers between the texts. Copies whole steps, of which the next one writes over what is too much: most
    /// texts are shorter than one, and copies of a fixed size need no call.
    #[inline]
    fn render(&self, values: &[u8], out: &mut [u8]) -> Option<usize> {
        let mut at = 0;
        let (last, pieces) = self.pieces.split_last()?;
        let (lengths, mut tokens) = values.split_at_checked(self.length_bytes())?;
        for (pair, lengths) in pieces.chunks(2).zip(lengths) {
            let mut lengths = usize::from(*lengths);
            for piece in pair {
                let (start, length) = (piece.start as usize, piece.len());
                let token = tokens.first_chunk::<LONGEST_TOKEN>()?;
                let out = out.get_mut(at..)?;
                if length <= STEP {
                    let out = out.first_chunk_mut::<{ STEP + LONGEST_TOKEN }>()?;
                    out[..STEP].copy_from_slice(self.texts.get(start..)?.first_chunk::<STEP>()?);
                    out[length..length + LONGEST_TOKEN].copy_from_slice(token);
                } else {
                    let (text, after) = out.split_at_mut_checked(length)?;
                    text.copy_from_slice(self.texts.get(start..start + length)?);
                    *after.first_chunk_mut()? = *token;
                }
                let token = lengths % (1 << LENGTH_BITS);
                lengths >>= LENGTH_BITS;
                tokens = tokens.get(token..)?;
                at += length + token;
            }
        }
        let end = at + last.len();
        out.get_mut(at..end)?.copy_from_slice(self.texts.get(last.start as usize..last.end as usize)?);
        Some(end)
    }
}

/// Adds the values of a record to what is kept of it: the lengths of its numbers and those themselves. `false` where
/// one is too long; what was added then is to be removed.
pub fn push_values(values: &mut Vec<u8>, tokens: impl ExactSizeIterator<Item: AsRef<[u8]>>) -> bool {
    let lengths = values.len();
    values.resize(lengths + tokens.len().div_ceil(2), 0);
    for (index, token) in tokens.enumerate() {
        let token = token.as_ref();
        match values.get_mut(lengths + index / 2) {
            Some(pair) if token.len() < 1 << LENGTH_BITS => *pair |= (token.len() << (index % 2 * LENGTH_BITS)) as u8,
            _ => return false,
        }
        values.extend_from_slice(token);
    }
    true
}

/// The knowledge found for a key.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// `None` where the values are the text.
    pub(super) template: Option<&'a Template>,
    /// The values, and [`SLACK`] bytes behind them.
    pub(super) values: &'a [u8],
    /// Bytes of the values.
    pub(super) length: usize,
}

impl Found<'_> {
    /// The text of the knowledge: JSON, as it stands in the file. A buffer that is used again does not grow again.
    #[inline]
    pub fn text<'b>(&self, buffer: &'b mut Vec<u8>) -> &'b [u8] {
        let length = match self.template {
            Some(template) => template.length + self.length - template.length_bytes(),
            None => self.length,
        };
        if buffer.len() < length + SLACK {
            buffer.resize(length + SLACK, 0);
        }
        let written = match self.template {
            Some(template) => template.render(self.values, buffer),
            None => self.values.get(..length).zip(buffer.get_mut(..length)).map(|(text, buffer)| {
                buffer.copy_from_slice(text);
                length
            }),
        };
        // What does not fit is a bug of `push_values`.
        debug_assert_eq!(written, Some(length));
        buffer.get(..length).unwrap_or_default()
    }
}
