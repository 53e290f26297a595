//! Elements of constants that are passed on without being read.

use prost::bytes::Bytes;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// Bytes copied at a time from a file.
const BLOCK: usize = 1 << 20;

/// Where the little-endian elements of a constant lie. Nothing of them is copied until they are written.
#[derive(Debug, Clone, PartialEq)]
pub enum Weight {
    /// In memory: mostly a part of the model file as it was read.
    Bytes(Bytes),
    /// In a file beside the model.
    File {
        /// The file.
        path: Arc<Path>,
        /// Where the first byte is.
        offset: u64,
        /// How many bytes there are.
        length: u64,
    },
    /// One element again and again.
    Repeat {
        /// The bytes of the element.
        element: Bytes,
        /// How often.
        count: u64,
    },
}

impl Weight {
    /// Number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Weight::Bytes(bytes) => bytes.len() as u64,
            Weight::File { length, .. } => *length,
            Weight::Repeat { element, count } => count.saturating_mul(element.len() as u64),
        }
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the bytes, a block at a time where they are not in memory.
    ///
    /// Fails where they cannot be written, and where the file that holds them is gone or shorter than it was.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Weight::Bytes(bytes) => out.write_all(bytes),
            Weight::File { path, offset, length } => {
                let told = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
                let copied = copy(path, *offset, *length, out).map_err(told)?;
                let reason = || format!("{}: ends {} bytes before the weight does", path.display(), length - copied);
                if copied == *length { Ok(()) } else { Err(io::Error::new(ErrorKind::UnexpectedEof, reason())) }
            }
            Weight::Repeat { element, count } => repeat(element, *count, out),
        }
    }
}

/// Copies a part of a file; answers how many bytes of it there were.
fn copy(path: &Path, offset: u64, length: u64, out: &mut dyn Write) -> io::Result<u64> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut rest = file.take(length);
    let mut block = vec![0; BLOCK.min(usize::try_from(length).unwrap_or(BLOCK))];
    let mut copied = 0;
    loop {
        match rest.read(&mut block)? {
            0 => return Ok(copied),
            read => {
                out.write_all(&block[..read])?;
                copied += read as u64;
            }
        }
    }
}

fn repeat(element: &[u8], count: u64, out: &mut dyn Write) -> io::Result<()> {
    let whole = (BLOCK / element.len().max(1)).max(1) as u64;
    let block = element.repeat(whole.min(count) as usize);
    for _ in 0..count / whole {
        out.write_all(&block)?;
    }
    out.write_all(&block[..element.len() * (count % whole) as usize])
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Weight};
    use prost::bytes::Bytes;

    fn written(weight: &Weight) -> Vec<u8> {
        let mut out = Vec::new();
        weight.write_to(&mut out).unwrap();
        assert_eq!(out.len() as u64, weight.len());
        out
    }

    #[test]
    fn every_kind_of_weight_is_written_whole() {
        assert_eq!(written(&Weight::Bytes(Bytes::from_static(b"abc"))), b"abc");
        let repeat = |element: &'static [u8], count| Weight::Repeat { element: Bytes::from_static(element), count };
        for count in [0, 1, 3, BLOCK as u64, BLOCK as u64 + 7] {
            assert_eq!(written(&repeat(b"xyz", count)), b"xyz".repeat(count as usize));
        }
        assert_eq!(written(&repeat(b"", 5)), b"");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("weights.bin");
        let content: Vec<u8> = (0..BLOCK + 100).map(|i| (i % 251) as u8).collect();
        std::fs::write(&path, &content).unwrap();
        let file = |offset, length| Weight::File { path: path.as_path().into(), offset, length };
        assert_eq!(written(&file(50, BLOCK as u64 + 7)), content[50..BLOCK + 57]);
        let mut out = Vec::new();
        let short = file(50, BLOCK as u64 + 51).write_to(&mut out).unwrap_err().to_string();
        assert!(short.contains("weights.bin") && short.contains("ends 1 bytes before"), "{short}");
    }
}
