//! The fixed parts of an om file: header and partition table, byte for byte.

use crate::status::{Error, Result};
use std::ops::Range;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 256;
/// The first four bytes, a little-endian number that reads `IMOD`.
pub const MAGIC: u32 = 0x444f_4d49;
/// Version of the layout.
const VERSION: u32 = 0x2000_0000;

const MODEL_NAME: Range<usize> = 84..116;
const USER_INFO: Range<usize> = 120..152;

/// What a header says, as far as it is used here. Fields that are not here are zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Bytes after the header, where 32 bits hold them.
    pub length: u32,
    /// Whether the content is encrypted.
    pub is_encrypt: bool,
    /// Kind of the model; 0 is GE's IR.
    pub model_type: u8,
    /// Name of the model, at most 32 bytes.
    pub name: String,
    /// Free text of whoever made the file, at most 32 bytes.
    pub user_info: String,
    /// Models in the file; files of one say 0 or 1.
    pub model_num: u32,
    /// Bytes of the model; where it is not 0, the partition table has 64-bit numbers.
    pub model_length: u64,
    /// Whether a shape in the model is open.
    pub is_unknown_model: bool,
}

impl Header {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &MAGIC.to_le_bytes());
        put(4, &(HEADER_BYTES as u32).to_le_bytes());
        put(8, &VERSION.to_le_bytes());
        put(76, &self.length.to_le_bytes());
        put(80, &[u8::from(self.is_encrypt)]);
        // No checksum is in the file.
        put(81, &[1]);
        put(82, &[self.model_type]);
        put(MODEL_NAME.start, cut(&self.name, MODEL_NAME.len()));
        put(USER_INFO.start, cut(&self.user_info, USER_INFO.len()));
        put(156, &self.model_num.to_le_bytes());
        put(184, &self.model_length.to_le_bytes());
        put(193, &[u8::from(self.is_unknown_model)]);
        bytes
    }

    /// Reads the header at the start of a file.
    pub fn decode(file: &[u8], place: &dyn Fn() -> String) -> Result<Header> {
        let Some(bytes) = file.first_chunk::<HEADER_BYTES>() else {
            let reason = format!("is no om file: it has {} bytes, the header alone has {HEADER_BYTES}", file.len());
            return Err(Error::graph(place(), reason));
        };
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let wrong = |reason: String| Err(Error::graph(place(), reason));
        if u32_at(0) != MAGIC {
            return wrong("is no om file: it does not begin with `IMOD`".to_owned());
        }
        if u32_at(4) as usize != HEADER_BYTES {
            return wrong(format!("its header has {} bytes, not {HEADER_BYTES}", u32_at(4)));
        }
        let text = |range: Range<usize>| {
            let field = &bytes[range];
            let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
            String::from_utf8_lossy(&field[..end]).into_owned()
        };
        Ok(Header {
            length: u32_at(76),
            is_encrypt: bytes[80] != 0,
            model_type: bytes[82],
            name: text(MODEL_NAME),
            user_info: text(USER_INFO),
            model_num: u32_at(156),
            model_length: u64::from(u32_at(184)) | u64::from(u32_at(188)) << 32,
            is_unknown_model: bytes[193] != 0,
        })
    }
}

/// As much of a text as fits, whole characters, with a NUL after it.
fn cut(text: &str, room: usize) -> &[u8] {
    let end = (0..room.min(text.len() + 1)).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    &text.as_bytes()[..end]
}

/// Kinds of partitions that are used here.
pub mod partition {
    /// The model as `ge.proto.ModelDef`.
    pub const MODEL_DEF: u32 = 0;
    /// The values of its constants.
    pub const WEIGHTS_DATA: u32 = 1;
}

/// Most partitions that the loader takes.
const MAX_PARTITIONS: usize = 8;
/// Bytes of an entry with 64-bit numbers, and of what stands before the entries.
const WIDE: (usize, usize) = (24, 8);
/// The same with 32-bit numbers.
const COMPACT: (usize, usize) = (12, 4);

/// The table for partitions of these kinds and sizes, with 64-bit numbers.
pub fn encode_table(partitions: &[(u32, u64)]) -> Vec<u8> {
    let mut table = u64::from(partitions.len() as u32).to_le_bytes().to_vec();
    let mut offset = 0u64;
    for &(kind, size) in partitions {
        table.extend_from_slice(&u64::from(kind).to_le_bytes());
        table.extend_from_slice(&offset.to_le_bytes());
        table.extend_from_slice(&size.to_le_bytes());
        offset += size;
    }
    table
}

/// Where the partitions lie in a file, by kind: sizes count, offsets do not, as in CANN's loader.
pub fn partitions(file: &[u8], header: &Header, place: &dyn Fn() -> String) -> Result<Vec<(u32, Range<usize>)>> {
    let wrong = |reason: String| Error::graph(place(), reason);
    let payload = file.get(HEADER_BYTES..).unwrap_or_default();
    let wide = header.model_length != 0;
    let (entry_bytes, lead) = if wide { WIDE } else { COMPACT };
    let u32_at = |at: usize| payload.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b));
    let u64_at = |at: usize| payload.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b));
    let count = u32_at(0).ok_or_else(|| wrong("ends before its partition table".to_owned()))? as usize;
    if !(1..=MAX_PARTITIONS).contains(&count) {
        return Err(wrong(format!("has {count} partitions, not 1 to {MAX_PARTITIONS}")));
    }
    let mut start = HEADER_BYTES + lead + count * entry_bytes;
    let mut found = Vec::with_capacity(count);
    for index in 0..count {
        let at = lead + index * entry_bytes;
        let size = if wide { u64_at(at + 16) } else { u32_at(at + 8).map(u64::from) };
        let entry = u32_at(at).zip(size).ok_or_else(|| wrong(format!("ends within entry {index} of its table")))?;
        let end = usize::try_from(entry.1).ok().and_then(|size| start.checked_add(size)).filter(|&e| e <= file.len());
        let Some(end) = end else {
            return Err(wrong(format!("partition {index} has {} bytes, more than are left of the file", entry.1)));
        };
        found.push((entry.0, start..end));
        start = end;
    }
    if start != file.len() {
        return Err(wrong(format!("has {} bytes after its last partition", file.len() - start)));
    }
    Ok(found)
}
