//! Constants whose values lie in a file beside the model.

use super::proto::{self, decode};
use crate::graph::Weight;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

/// Constants up to this many elements are read from outside the model: sizes and axes. What decides
/// no shape is not worth opening a file for.
pub const MAX_VALUES: u64 = 64;

/// Where a tensor's bytes lie.
struct Place {
    location: String,
    offset: u64,
}

/// The `length` bytes of a tensor that is stored outside the model; `None` where the model has no
/// directory or the file is not there, which is no error: shapes are enough.
///
/// `base` is the model's directory, which the file may not leave.
pub fn read(
    tensor: &proto::Tensor,
    base: Option<&Path>,
    length: u64,
    place: &dyn Fn() -> String,
) -> Result<Option<Bytes>> {
    let Some((path, at)) = found(tensor, base, place)? else { return Ok(None) };
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::file("open", &path, e)),
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at.offset))
        .and_then(|_| file.take(length).read_to_end(&mut bytes))
        .map_err(|e| Error::file("read", &path, e))?;
    if bytes.len() as u64 != length {
        let reason = format!("{} asks for {length} bytes from {} on; the file ends before", place(), at.offset);
        return Err(Error::file("read", &path, reason));
    }
    Ok(Some(Bytes::from(bytes)))
}

/// Where the `length` bytes of a large tensor lie that is stored outside the model; `None` where they are not there, which
/// is no error: shapes are enough.
pub fn weight(
    tensor: &proto::Tensor,
    base: Option<&Path>,
    length: Option<u64>,
    place: &dyn Fn() -> String,
) -> Result<Option<Weight>> {
    let (Some((path, at)), Some(length)) = (found(tensor, base, place)?, length) else { return Ok(None) };
    let Ok(whole) = path.metadata().map(|file| file.len()) else { return Ok(None) };
    if at.offset.checked_add(length).is_none_or(|end| end > whole) {
        log::warn!("{}: {} ends before its values do; they are not used", place(), path.display());
        return Ok(None);
    }
    Ok(Some(Weight::File { path: path.into(), offset: at.offset, length }))
}

/// The file that holds a tensor, which need not be there, and where in it; `None` where the model has no directory.
fn found(tensor: &proto::Tensor, base: Option<&Path>, place: &dyn Fn() -> String) -> Result<Option<(PathBuf, Place)>> {
    let Some(base) = base else { return Ok(None) };
    let at = locate(tensor, place)?;
    let Some(path) = inside(base, &at.location) else {
        let reason = format!("external data in `{}`, which is not a path below the model's directory", at.location);
        return Err(Error::graph(place(), reason));
    };
    Ok(Some((path, at)))
}

/// Reads the entries that say where the bytes lie.
fn locate(tensor: &proto::Tensor, place: &dyn Fn() -> String) -> Result<Place> {
    let mut found = Place { location: String::new(), offset: 0 };
    for bytes in &tensor.external_data {
        let entry: proto::Entry = decode(bytes.clone(), place)?;
        match entry.key.as_str() {
            "location" => found.location = entry.value,
            "offset" => {
                found.offset = entry.value.parse().map_err(|_| {
                    Error::graph(place(), format!("the offset of its external data is `{}`", entry.value))
                })?;
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The path of a regular file below `base`, when `location` leads to nothing else.
fn inside(base: &Path, location: &str) -> Option<PathBuf> {
    let relative = Path::new(location);
    let plain = relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if location.is_empty() || !plain {
        return None;
    }
    let path = base.join(relative);
    // What is not there leads nowhere; what is may be a link to elsewhere.
    let Ok(real) = path.canonicalize() else { return Some(path) };
    let below = base.canonicalize().is_ok_and(|base| real.starts_with(base));
    (below && real.is_file()).then_some(real)
}

#[cfg(test)]
mod tests {
    use super::super::proto::{Entry, Tensor};
    use super::read;
    use prost::Message;
    use std::path::Path;

    fn stored(location: &str, offset: &str) -> Tensor {
        let entry = |key: &str, value: &str| Entry { key: key.into(), value: value.into() }.encode_to_vec().into();
        Tensor { external_data: vec![entry("location", location), entry("offset", offset)], ..Tensor::default() }
    }

    fn read_from(base: &Path, location: &str, offset: &str) -> Result<Option<Vec<u8>>, String> {
        let tensor = stored(location, offset);
        read(&tensor, Some(base), 2, &|| "initializer `w`".into())
            .map(|bytes| bytes.map(|b| b.to_vec()))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn bytes_come_from_their_offset_and_an_absent_file_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("weights.bin"), [1, 2, 3, 4]).unwrap();
        assert_eq!(read_from(dir.path(), "weights.bin", "1").unwrap(), Some(vec![2, 3]));
        assert_eq!(read_from(dir.path(), "other.bin", "1").unwrap(), None);
        assert!(read_from(dir.path(), "weights.bin", "3").unwrap_err().contains("`w`"));
        assert!(read_from(dir.path(), "weights.bin", "-3").unwrap_err().contains("`-3`"));
    }

    #[test]
    fn no_location_leaves_the_directory_of_the_model() {
        let dir = tempfile::tempdir().unwrap();
        let model = dir.path().join("model");
        std::fs::create_dir(&model).unwrap();
        let secret = dir.path().join("secret");
        std::fs::write(&secret, [1, 2, 3, 4]).unwrap();
        std::os::unix::fs::symlink(&secret, model.join("link")).unwrap();
        for location in ["../secret", "link", secret.to_str().unwrap(), "", ".", "a/../../secret"] {
            let message = read_from(&model, location, "0").unwrap_err();
            assert!(message.contains("directory") && message.contains("`w`"), "{location}: {message}");
        }
    }
}
