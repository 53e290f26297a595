//! What is wrong with bytes that are no model, in words that say what to do.

use super::prototext::input::other_encoding;
use std::fmt::Display;

/// How much of a file tells whether it is text.
const HEAD_BYTES: usize = 64 << 10;
/// Marks of the order of bytes that a text may begin with, the longer ones first.
const MARKS: [&[u8]; 5] = [&[0xff, 0xfe, 0, 0], &[0, 0, 0xfe, 0xff], &[0xef, 0xbb, 0xbf], &[0xff, 0xfe], &[0xfe, 0xff]];
/// What a file of Git LFS begins with that stands for another.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Why bytes hold nothing, whatever they should be.
pub fn nothing(data: &[u8]) -> Option<&'static str> {
    if data.is_empty() {
        return Some("is empty");
    }
    if data.starts_with(POINTER) {
        return Some("stands for a file that Git LFS keeps elsewhere; fetch that with `git lfs pull`");
    }
    let text = MARKS.iter().find_map(|mark| data.strip_prefix(*mark)).unwrap_or(data);
    if text.iter().all(u8::is_ascii_whitespace) {
        return Some("holds nothing but white space; write or copy it again");
    }
    data.iter().all(|&byte| byte == 0).then_some("holds nothing but zeros; write or copy it again")
}

/// What a file of another kind begins with, and what to do about it.
const OTHERS: [(&[u8], &str); 7] = [
    (b"\x1f\x8b", "is packed by gzip; unpack it"),
    (b"BZh", "is packed by bzip2; unpack it"),
    (b"\xfd7zXZ\0", "is packed by xz; unpack it"),
    (b"\x28\xb5\x2f\xfd", "is packed by zstd; unpack it"),
    (
        b"PK\x03\x04",
        "is a zip archive, as PyTorch's and Keras's own models are; export the model to ONNX, or unpack it",
    ),
    (b"\x89HDF", "is HDF5, as Keras's own models are; export the model to ONNX, or freeze it to a GraphDef"),
    (b"\x80\x02", "is a pickle, as PyTorch's own models are; export the model to ONNX"),
];

/// Why bytes are a model of no framework, where they show what else they are.
pub fn of_another_kind(data: &[u8]) -> Option<&'static str> {
    if let Some((_, reason)) = OTHERS.iter().find(|(begin, _)| data.starts_with(begin)) {
        return Some(reason);
    }
    let text = MARKS.iter().find_map(|mark| data.strip_prefix(*mark)).unwrap_or(data);
    let mut marks = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    matches!((marks.next(), marks.next()), (Some(b'{'), Some(b'"' | b'}')) | (Some(b'['), Some(b'{' | b']'))).then_some(
        "is JSON, which ATC writes of models for people to read; give the file that it was made of (.air, .txt, .om)",
    )
}

/// Why bytes are not what was wanted: a message of protobuf that `error` says cannot be decoded. `text` is what the wanted
/// model is as text, where it may be one.
pub fn reason(data: &[u8], wanted: &str, text: Option<&str>, error: impl Display) -> String {
    let head = &data[..data.len().min(HEAD_BYTES)];
    let not_utf8 = not_utf8(data);
    match text {
        Some(_) if not_utf8.is_some() => not_utf8.unwrap_or_default(),
        Some(text) if is_text(head) => format!("is text, and not that of {text}"),
        None if is_text(head) || other_encoding(head).is_some() => {
            format!("is text, and {wanted} is binary; say with option framework whose text it is")
        }
        _ => format!("is not {wanted}, or not all of one: {error}; write or copy it again"),
    }
}

/// What keeps a text from being read that is not UTF-8; `None` for a text that is, and for what is no text.
pub fn not_utf8(data: &[u8]) -> Option<String> {
    let head = &data[..data.len().min(HEAD_BYTES)];
    if let Some(encoding) = other_encoding(head) {
        return Some(format!("it is {encoding}; convert it to UTF-8"));
    }
    let at = std::str::from_utf8(data).err().filter(|_| is_text(head))?.valid_up_to();
    let before = &data[..at];
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let line = before.split(|&byte| byte == b'\n').count();
    let column = before[start..].iter().filter(|&&byte| byte & 0xc0 != 0x80).count() + 1;
    let byte = data.get(at).copied().unwrap_or_default();
    Some(format!(
        "line {line}, column {column}: byte {byte:#04x} is not UTF-8; if the text is latin-1 or another, convert it"
    ))
}

/// Whether bytes are letters, whatever those beyond ASCII are.
fn is_text(head: &[u8]) -> bool {
    let is_letter = |&byte: &u8| byte >= 0x80 || byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    head.iter().all(is_letter) && head.iter().any(u8::is_ascii_graphic)
}

#[cfg(test)]
mod tests {
    use super::{not_utf8, nothing, of_another_kind, reason};

    #[test]
    fn files_of_another_kind_say_what_they_are() {
        let said = |data: &[u8]| of_another_kind(data).unwrap_or_default();
        for (data, part) in [
            (&b"\x1f\x8b\x08\0"[..], "gzip; unpack"),
            (b"PK\x03\x04\x14", "zip archive"),
            (b"\x89HDF\r\n", "HDF5"),
            (b"\x80\x02}q", "pickle"),
            (b"\xef\xbb\xbf\n{ \"graph\": []}", "JSON"),
            (b"[{}]", "JSON"),
        ] {
            assert!(said(data).contains(part), "{data:?}: {}", said(data));
        }
        // Text of protobuf, and its bytes.
        for data in [&b"graph { name: 'x' }"[..], b"{ name", b"\x0a\x05hello", b""] {
            assert_eq!(of_another_kind(data), None, "{data:?}");
        }
    }

    #[test]
    fn what_holds_nothing_says_so() {
        for data in
            [&b""[..], b" \n\t\r ", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff\xfe\0\0", b"\xef\xbb\xbf \n", &[0; 5000]]
        {
            let said = nothing(data).unwrap();
            assert!(said.contains("is empty") || said.contains("nothing but") && said.contains("again"), "{said}");
        }
        assert!(nothing(b"version https://git-lfs.github.com/spec/v1\noid sha256:0").unwrap().contains("git lfs pull"));
        for data in [&b" x"[..], b"\0\x01", b"\xef\xbb\xbfx"] {
            assert_eq!(nothing(data), None);
        }
    }

    #[test]
    fn a_text_that_is_not_utf8_is_named_by_its_place() {
        assert_eq!(not_utf8("a: 1\nb: '\u{e4}'".as_bytes()), None);
        let half = not_utf8(b"a: 1\nb: '\xc3\xa4\xe4").unwrap();
        assert!(half.starts_with("line 2, column 6: byte 0xe4 is not UTF-8"), "{half}");
        let wide: Vec<u8> = "name: 'network'".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(not_utf8(&wide).unwrap().contains("UTF-16"));
        assert_eq!(not_utf8(b"\x0a\x03\xff\x01"), None);
    }

    #[test]
    fn bytes_that_are_no_model_are_told_from_text_and_from_a_part_of_one() {
        let part = reason(b"\x0a\x05ab", "an ONNX model", None, "buffer underflow");
        assert!(part.contains("or not all of one: buffer underflow; write or copy it again"), "{part}");
        let text = reason(b"hello, world", "an ONNX model", None, "");
        assert!(text.contains("is text") && text.contains("binary") && text.contains("framework"), "{text}");
        assert_eq!(reason(b"hello", "a graph", Some("a graph"), ""), "is text, and not that of a graph");
        let latin = reason(b"name: 'K\xf6ln'", "a graph", Some("a graph"), "");
        assert!(latin.contains("line 1, column 9: byte 0xf6"), "{latin}");
    }
}
