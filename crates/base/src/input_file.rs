//! Files that users name: opened without waiting, and never read past a limit.
//!
//! An option may name anything: a pipe that nobody writes to, a device without end, a directory.

use crate::status::{Error, Result};
use std::fs::{File, FileType, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Largest text file that is read: options, lists of operators, SoC descriptions. The largest useful one
/// names every node of a network of a hundred thousand.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// Reads a whole regular file of at most `limit` bytes; `too_large` says what is wrong with a larger one.
///
/// Fails with [`Error::File`], which says what lies there instead.
pub fn read(path: &Path, limit: u64, too_large: &str) -> Result<Vec<u8>> {
    let file = open(path)?;
    let data = file.metadata().map_err(|e| Error::file("read", path, e))?;
    if data.len() > limit {
        return Err(Error::file("read", path, too_large));
    }
    read_limited(&file, data.len(), limit)
        .map_err(|e| Error::file("read", path, e))?
        .ok_or_else(|| Error::file("read", path, too_large))
}

/// Opens a regular file for reading.
///
/// Fails with [`Error::File`], which says what lies there instead.
pub fn open(path: &Path) -> Result<File> {
    // Opening a pipe would otherwise wait for its writer, and a terminal might become the process's own.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    // Asked before, because opening a device may do things, and after, of the file in hand.
    let kind = std::fs::metadata(path).map_err(|e| Error::file("open", path, e))?.file_type();
    check_regular(path, kind)?;
    let file =
        OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|e| Error::file("open", path, e))?;
    check_regular(path, file.metadata().map_err(|e| Error::file("read", path, e))?.file_type())?;
    Ok(file)
}

/// Reads a text file from a user, without its byte order mark.
///
/// Fails with [`Error::File`] for what is no regular file, has more than 16 MiB or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    let too_large = format!("has more than {} MiB, too many for such a file", MAX_TEXT_BYTES >> 20);
    let content = read(path, MAX_TEXT_BYTES, &too_large)?;
    // UTF-16 without a mark would pass for UTF-8 with zeros between its letters.
    if let Some(name) = encoding(&content) {
        return Err(Error::file("read", path, not_utf8(&content, &name)));
    }
    let mut text =
        String::from_utf8(content).map_err(|e| Error::file("read", path, not_utf8(e.as_bytes(), &e.utf8_error())))?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// What is wrong with bytes that are not UTF-8, and what to do.
#[must_use]
pub fn not_utf8(start: &[u8], error: &dyn std::fmt::Display) -> String {
    match encoding(start) {
        Some(name) => format!("is {name} text; save it as UTF-8 (`iconv -f {name} -t UTF-8`)"),
        None => format!("is not UTF-8 text: {error}; save it as UTF-8 (from Chinese Windows: `iconv -f GBK -t UTF-8`)"),
    }
}

/// The encoding that a file's first bytes announce, where it is one that is not read here.
#[must_use]
pub fn encoding(start: &[u8]) -> Option<&'static str> {
    // UTF-16 without a mark: ASCII with a zero beside each letter.
    match start {
        [0xff, 0xfe, ..] | [1..=0x7f, 0, 1..=0x7f, 0, ..] => Some("UTF-16LE"),
        [0xfe, 0xff, ..] | [0, 1..=0x7f, 0, 1..=0x7f, ..] => Some("UTF-16BE"),
        _ => None,
    }
}

/// Whether a table of columns with commas between them can be read that begins so; a sentence that says what to do where
/// it cannot.
pub fn check_table(start: &[u8]) -> std::result::Result<(), String> {
    if let Some(name) = encoding(start) {
        return Err(not_utf8(start, &name));
    }
    let header = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if header.strip_suffix(b"\r").unwrap_or(header).contains(&b'\r') {
        return Err("its lines end with carriage returns alone; save it with line feeds".into());
    }
    let has = |separator: u8| header.contains(&separator);
    let other = [(b';', "semicolons"), (b'\t', "tabs")].into_iter().find(|&(byte, _)| !has(b',') && has(byte));
    match other {
        Some((_, name)) => Err(format!("its columns are separated by {name}; export it with commas")),
        None => Ok(()),
    }
}

/// The content; `None` where there is more than the limit, as in a file that grows.
fn read_limited(file: impl Read, expected: u64, limit: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    content.try_reserve_exact(expected as usize)?;
    file.take(limit + 1).read_to_end(&mut content)?;
    Ok(Some(content).filter(|c| c.len() as u64 <= limit))
}

fn check_regular(path: &Path, kind: FileType) -> Result<()> {
    let what = match kind {
        k if k.is_file() => return Ok(()),
        k if k.is_dir() => "a directory",
        k if k.is_fifo() => "a pipe (fifo)",
        k if k.is_char_device() || k.is_block_device() => "a device",
        k if k.is_socket() => "a socket",
        _ => "of an unknown kind",
    };
    Err(Error::file("read", path, format!("it is {what}, not a regular file")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn reason(path: &Path) -> String {
        match read_text(path).unwrap_err() {
            Error::File { reason, path: named, .. } if named == path => reason,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn what_is_no_regular_file_is_named_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink(at("fifo"), at("link")).unwrap();
        for (path, what) in [
            (at("fifo"), "a pipe"),
            (at("link"), "a pipe"),
            (at("socket"), "a socket"),
            (directory.path().to_owned(), "a directory"),
            ("/dev/zero".into(), "a device"),
        ] {
            assert!(reason(&path).contains(what), "{}: {}", path.display(), reason(&path));
        }
        assert!(matches!(read_text(&at("missing")), Err(Error::File { action: "open", .. })));
    }

    #[test]
    fn the_limit_holds_for_the_size_and_for_what_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(MAX_TEXT_BYTES).unwrap();
        assert_eq!(read_text(file.path()).unwrap().len() as u64, MAX_TEXT_BYTES);
        file.as_file().set_len(MAX_TEXT_BYTES + 1).unwrap();
        assert!(reason(file.path()).contains("16 MiB"));
        // A file that says it has nothing and goes on for ever.
        assert_eq!(read_limited(std::io::repeat(b'x'), 0, 10).unwrap(), None);
        assert_eq!(read_limited(&b"0123456789"[..], 0, 10).unwrap().unwrap(), b"0123456789");
    }

    #[test]
    fn text_is_utf_8_with_or_without_a_mark() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "\u{feff}{\u{e9}}").unwrap();
        assert_eq!(read_text(file.path()).unwrap(), "{\u{e9}}");
        for (encoded, name) in [(b"o\0k\0", "UTF-16LE"), (b"\0o\0k", "UTF-16BE")] {
            fs::write(file.path(), encoded).unwrap();
            assert!(reason(file.path()).contains(name), "{}", reason(file.path()));
        }
        fs::write(file.path(), b"ok\xff").unwrap();
        assert!(reason(file.path()).contains("not UTF-8"), "{}", reason(file.path()));
    }
}
