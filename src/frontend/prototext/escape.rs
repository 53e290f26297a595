//! Escapes in the strings of protobuf's text format, for both of its readers.

/// What to do about escapes that make no text.
pub const NO_TEXT: &str = "its escapes make bytes that are not UTF-8, as those of latin-1 or GBK do: write the characters \
                           themselves, or their bytes in UTF-8 (`\\303\\251` for `\u{e9}`)";

/// Longest escape, without its backslash: two surrogates, `uXXXX\uXXXX`.
pub const LONGEST: usize = 11;

/// What an escape stands for: at most the four bytes of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Escaped {
    bytes: [u8; 4],
    length: usize,
}

impl Escaped {
    fn byte(byte: u8) -> Escaped {
        Escaped { bytes: [byte, 0, 0, 0], length: 1 }
    }

    fn character(c: char) -> Escaped {
        let mut bytes = [0; 4];
        let length = c.encode_utf8(&mut bytes).len();
        Escaped { bytes, length }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The escape that follows a backslash at the beginning of `rest`, and how many bytes of it belong to the escape; the
/// reason why it is none is the error.
pub fn read(rest: &[u8]) -> Result<(usize, Escaped), &'static str> {
    let simple = |byte| Ok((1, Escaped::byte(byte)));
    match rest.first() {
        Some(b'a') => simple(0x07),
        Some(b'b') => simple(0x08),
        Some(b'f') => simple(0x0c),
        Some(b'n') => simple(b'\n'),
        Some(b'r') => simple(b'\r'),
        Some(b't') => simple(b'\t'),
        Some(b'v') => simple(0x0b),
        Some(&quoted @ (b'\\' | b'"' | b'\'' | b'?')) => simple(quoted),
        Some(b'x' | b'X') => {
            let (count, value) = digits(&rest[1..], 2, 16);
            if count == 0 {
                Err("`\\x` is followed by no digit: write a backslash itself as `\\\\`")
            } else {
                Ok((1 + count, Escaped::byte(value as u8)))
            }
        }
        Some(b'0'..=b'7') => {
            let (count, value) = digits(rest, 3, 8);
            let byte = u8::try_from(value)
                .map_err(|_| "an octal escape is larger than a byte: write it as three digits up to `\\377`")?;
            Ok((count, Escaped::byte(byte)))
        }
        Some(b'u') => utf16(rest),
        Some(b'U') => match digits(&rest[1..], 8, 16) {
            (8, value) => character(value).map(|c| (9, c)),
            _ => Err("`\\U` is not followed by eight digits"),
        },
        _ => Err("a string has an escape that protobuf does not know: write a backslash itself as `\\\\`"),
    }
}

/// `uXXXX`, or two of them for a character beyond the first 65536.
fn utf16(rest: &[u8]) -> Result<(usize, Escaped), &'static str> {
    let (4, first) = digits(&rest[1..], 4, 16) else { return Err("`\\u` is not followed by four digits") };
    if (0xd800..0xdc00).contains(&first)
        && let Some([b'\\', b'u', second @ ..]) = rest.get(5..)
        && let (4, second @ 0xdc00..0xe000) = digits(second, 4, 16)
    {
        return character(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).map(|c| (11, c));
    }
    character(first).map(|c| (5, c))
}

fn character(value: u32) -> Result<Escaped, &'static str> {
    char::from_u32(value).map(Escaped::character).ok_or("an escape names no character of Unicode")
}

/// The digits at the beginning, at most so many: how many there are, and their value.
fn digits(text: &[u8], most: usize, base: u32) -> (usize, u32) {
    let values = text.iter().take(most).map_while(|&b| char::from(b).to_digit(base));
    values.fold((0, 0), |(count, value), digit| (count + 1, value * base + digit))
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn an_escape_is_a_byte_or_the_bytes_of_a_character() {
        #[rustfmt::skip]
        let known: &[(&str, usize, &[u8])] = &[
            ("n", 1, b"\n"), ("a", 1, b"\x07"), ("v", 1, b"\x0b"), ("?x", 1, b"?"), ("'", 1, b"'"), ("0", 1, b"\0"),
            ("3451", 3, &[0o345]), ("18", 1, b"\x01"), ("xfg", 2, b"\x0f"), ("XffF", 3, b"\xff"), ("u00e91", 5, "é".as_bytes()),
            ("ud83d\\ude00", 11, "😀".as_bytes()), ("U0001F600", 9, "😀".as_bytes()),
        ];
        for &(text, length, bytes) in known {
            let (read, escaped) = read(text.as_bytes()).unwrap_or_else(|reason| panic!("{text}: {reason}"));
            assert_eq!((read, escaped.as_bytes()), (length, bytes), "{text}");
        }
    }

    #[test]
    fn what_protobuf_does_not_know_is_no_escape() {
        for text in ["", "q", "x", "xg", "400", "u12", "ud83d", "ude00", "U00110000", "U1234567"] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
