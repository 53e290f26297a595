//! Values that are no string and no message: how a text says them, and their bytes on the wire.

use super::schema::Kind;
use prost::encoding::{WireType, encode_varint};

/// A value that is no string and no message.
#[derive(Clone, Copy)]
pub(super) enum Scalar {
    Number(u64),
    Float(f32),
}

impl Scalar {
    pub(super) fn read(word: &[u8], is_negative: bool, kind: Kind) -> Option<Scalar> {
        let signed = |least: i64, most: i64| {
            integer(word, is_negative).filter(|i| (i128::from(least)..=i128::from(most)).contains(i))
        };
        match kind {
            Kind::Int64 => signed(i64::MIN, i64::MAX).map(|i| Scalar::Number(i as i64 as u64)),
            Kind::Uint32 => signed(0, u32::MAX.into()).map(|i| Scalar::Number(i as u64)),
            Kind::Bool => match word {
                _ if is_negative => None,
                b"true" | b"True" | b"t" | b"1" => Some(Scalar::Number(1)),
                b"false" | b"False" | b"f" | b"0" => Some(Scalar::Number(0)),
                _ => None,
            },
            Kind::Float => float(word, is_negative).map(Scalar::Float),
            Kind::Enum(number) => {
                let named = std::str::from_utf8(word).ok().filter(|_| !is_negative).and_then(number).map(i64::from);
                let value = named.or_else(|| signed(i32::MIN.into(), i32::MAX.into()).map(|i| i as i64))?;
                Some(Scalar::Number(value as u64))
            }
            Kind::String | Kind::Bytes | Kind::Message(_) | Kind::Skipped => None,
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        match self {
            Scalar::Number(number) => *number == 0,
            // Minus zero is another value.
            Scalar::Float(float) => float.to_bits() == 0,
        }
    }

    pub(super) fn wire_type(&self) -> WireType {
        match self {
            Scalar::Number(_) => WireType::Varint,
            Scalar::Float(_) => WireType::ThirtyTwoBit,
        }
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Scalar::Number(number) => encode_varint(*number, out),
            Scalar::Float(float) => out.extend_from_slice(&float.to_le_bytes()),
        }
    }
}

/// A whole number: decimal, hexadecimal after `0x`, or octal after `0`.
pub(super) fn integer(word: &[u8], is_negative: bool) -> Option<i128> {
    let (digits, base) = match word {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'0', digits @ ..] if !digits.is_empty() => (digits, 8),
        digits => (digits, 10),
    };
    if digits.is_empty() || digits.len() > 24 {
        return None;
    }
    let value = digits
        .iter()
        .try_fold(0_i128, |value, &b| Some(value * base + i128::from(char::from(b).to_digit(base as u32)?)))?;
    Some(if is_negative { -value } else { value })
}

fn float(word: &[u8], is_negative: bool) -> Option<f32> {
    let word = std::str::from_utf8(word).ok()?;
    let is_name = |name: &str| word.eq_ignore_ascii_case(name);
    let value = if is_name("inf") || is_name("infinity") {
        f32::INFINITY
    } else if is_name("nan") {
        f32::NAN
    } else {
        // A sign of its own has been taken.
        let digits = word.strip_suffix(['f', 'F']).unwrap_or(word);
        digits.parse().ok().filter(|_| digits.starts_with(|c: char| c.is_ascii_digit() || c == '.'))?
    };
    Some(if is_negative { -value } else { value })
}
