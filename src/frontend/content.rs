//! What is written to a file, in pieces: weights stay where they are until they are written.

use crate::graph::Weight;
use prost::encoding::{WireType, encode_key, encode_varint};
use std::io::{self, Write};

/// Weights up to this many bytes are copied, which takes less than a piece of their own.
const SMALL: u64 = 1024;
/// Bytes up to which a piece grows: one of a whole file would be copied again and again.
const PIECE: usize = 256 << 10;
/// Bytes from which a piece of other content is taken as it is.
const MOVED: usize = 4 << 10;

/// Bytes of a file.
#[derive(Debug, Default)]
pub struct Content {
    pieces: Vec<Piece>,
    len: u64,
}

#[derive(Debug)]
enum Piece {
    Own(Vec<u8>),
    Stored(Weight),
}

impl Content {
    /// Number of bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        match self.pieces.last_mut() {
            Some(Piece::Own(own)) if own.len() + bytes.len() <= PIECE => own.extend_from_slice(bytes),
            _ => self.pieces.push(Piece::Own(bytes.to_vec())),
        }
    }

    /// Appends the bytes of a weight.
    pub fn push_weight(&mut self, weight: Weight) {
        match weight {
            Weight::Bytes(bytes) if bytes.len() as u64 <= SMALL => self.push(&bytes),
            weight => {
                self.len += weight.len();
                self.pieces.push(Piece::Stored(weight));
            }
        }
    }

    /// Appends other content.
    pub fn append(&mut self, other: Content) {
        for piece in other.pieces {
            match piece {
                Piece::Own(bytes) if bytes.len() >= MOVED => {
                    self.len += bytes.len() as u64;
                    self.pieces.push(Piece::Own(bytes));
                }
                Piece::Own(bytes) => self.push(&bytes),
                Piece::Stored(weight) => self.push_weight(weight),
            }
        }
    }

    /// Appends other content as a protobuf field of this number: a message, text or bytes.
    pub fn field(&mut self, number: u32, content: Content) {
        let mut head = Vec::new();
        encode_key(number, WireType::LengthDelimited, &mut head);
        encode_varint(content.len, &mut head);
        self.push(&head);
        self.append(content);
    }

    /// Fills up with zeros to a multiple of `unit`.
    pub fn align(&mut self, unit: u64) {
        let missing = self.len.next_multiple_of(unit) - self.len;
        self.push(&vec![0; missing as usize]);
    }

    /// Writes the bytes.
    ///
    /// Fails where they cannot be written, and where a weight is no longer where it was.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        self.pieces.iter().try_for_each(|piece| match piece {
            Piece::Own(bytes) => out.write_all(bytes),
            Piece::Stored(weight) => weight.write_to(out),
        })
    }

    /// All the bytes in memory; fails as [`Content::write_to`].
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.len).unwrap_or(0));
        self.write_to(&mut bytes)?;
        Ok(bytes)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Content {
        Content { len: bytes.len() as u64, pieces: vec![Piece::Own(bytes)] }
    }
}
