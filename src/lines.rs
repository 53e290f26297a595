//! Lines of bounded length from a stream of any length.

use std::io::{BufRead, ErrorKind, Result};

/// What a line was.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// It is in the buffer, without its line break.
    Whole,
    /// It had this many bytes, more than the limit; it was read past and is gone.
    TooLong(u64),
}

/// Reads the next line into `line`, never more than `limit` bytes of it; `None` at the end.
pub fn next(reader: &mut dyn BufRead, line: &mut Vec<u8>, limit: usize) -> Result<Option<Line>> {
    line.clear();
    let mut bytes: u64 = 0;
    loop {
        let chunk = match reader.fill_buf() {
            Ok(chunk) => chunk,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if chunk.is_empty() && bytes == 0 {
            return Ok(None);
        }
        let end = chunk.iter().position(|&b| b == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        bytes += part.len() as u64;
        if bytes <= limit as u64 {
            line.extend_from_slice(part);
        }
        let (used, last) = (part.len() + usize::from(end.is_some()), end.is_some() || chunk.is_empty());
        reader.consume(used);
        if last {
            return Ok(Some(if bytes <= limit as u64 { Line::Whole } else { Line::TooLong(bytes) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    fn lines(text: &[u8], chunk: usize) -> Vec<std::result::Result<Vec<u8>, u64>> {
        let mut reader = BufReader::with_capacity(chunk, text);
        let (mut line, mut lines) = (Vec::new(), Vec::new());
        while let Some(kind) = next(&mut reader, &mut line, 4).unwrap() {
            lines.push(match kind {
                Line::Whole => Ok(line.clone()),
                Line::TooLong(bytes) => Err(bytes),
            });
        }
        lines
    }

    #[test]
    fn lines_are_the_same_whatever_the_chunks() {
        let text = b"ab\n\nabcd\nabcde\nlonger than that\nxy";
        let expected = [Ok(b"ab".to_vec()), Ok(vec![]), Ok(b"abcd".to_vec()), Err(5), Err(16), Ok(b"xy".to_vec())];
        for chunk in 1..text.len() + 2 {
            assert_eq!(lines(text, chunk), expected, "chunks of {chunk}");
        }
        assert!(lines(b"", 8).is_empty());
        assert_eq!(lines(b"\n", 8), [Ok(vec![])]);
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let mut reader = BufReader::new(std::io::repeat(b'x').take(64 << 20));
        let mut line = Vec::new();
        assert_eq!(next(&mut reader, &mut line, 1024).unwrap(), Some(Line::TooLong(64 << 20)));
        assert!(line.capacity() <= 64 << 10, "{}", line.capacity());
    }
}
