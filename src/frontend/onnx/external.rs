//! Constants whose values lie in a file beside the model.

use super::proto::{self, decode};
use crate::graph::{TensorDesc, Weight};
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
    /// How many they are, where the model says so.
    length: Option<u64>,
}

impl Place {
    /// Why a file of this size does not hold a tensor's `wanted` bytes there.
    fn wrong(&self, wanted: u64, desc: &TensorDesc, whole: u64) -> Option<String> {
        let Place { offset, length, .. } = *self;
        if let Some(length) = length.filter(|length| *length != wanted) {
            let (shape, dtype) = (&desc.shape, desc.dtype.name());
            return Some(format!("`length` is {length}, and {dtype} of shape {shape} takes {wanted} bytes"));
        }
        let is_inside = offset.checked_add(wanted).is_some_and(|end| end <= whole);
        (!is_inside).then(|| format!("{wanted} bytes are asked for from {offset} on, and the file ends at {whole}"))
    }
}

/// The bytes of a small tensor that is stored outside the model; `None` where the model has no
/// directory or the file is not there, which is no error: shapes are enough.
///
/// `base` is the model's directory, which the file may not leave.
pub fn read(
    tensor: &proto::Tensor,
    base: Option<&Path>,
    desc: &TensorDesc,
    place: &dyn Fn() -> String,
) -> Result<Option<Bytes>> {
    let (Some((path, at)), Some(wanted)) = (found(tensor, base, place)?, desc.bytes()) else { return Ok(None) };
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::file("open", &path, e)),
    };
    let whole = file.metadata().map_err(|e| Error::file("read", &path, e))?.len();
    if let Some(wrong) = at.wrong(wanted, desc, whole) {
        return Err(Error::file("read", &path, format!("{}: {wrong}", place())));
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at.offset))
        .and_then(|_| file.take(wanted).read_to_end(&mut bytes))
        .map_err(|e| Error::file("read", &path, e))?;
    if bytes.len() as u64 != wanted {
        return Err(Error::file("read", &path, format!("{}: the file became shorter while it was read", place())));
    }
    Ok(Some(Bytes::from(bytes)))
}

/// Where the bytes of a large tensor lie that is stored outside the model; `None` where they are not there, which
/// is no error: shapes are enough.
pub fn weight(
    tensor: &proto::Tensor,
    base: Option<&Path>,
    desc: &TensorDesc,
    place: &dyn Fn() -> String,
) -> Result<Option<Weight>> {
    let (Some((path, at)), Some(length)) = (found(tensor, base, place)?, desc.bytes()) else { return Ok(None) };
    let Ok(whole) = path.metadata().map(|file| file.len()) else { return Ok(None) };
    if let Some(wrong) = at.wrong(length, desc, whole) {
        log::warn!("{}: {}: {wrong}; its values are not used", place(), path.display());
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
    let mut found = Place { location: String::new(), offset: 0, length: None };
    for bytes in &tensor.external_data {
        let entry: proto::Entry = decode(bytes.clone(), place)?;
        match entry.key.as_str() {
            "location" => found.location = entry.value,
            "offset" => found.offset = number(&entry, place)?,
            "length" => found.length = Some(number(&entry, place)?),
            _ => {}
        }
    }
    Ok(found)
}

/// The number that an entry is.
fn number(entry: &proto::Entry, place: &dyn Fn() -> String) -> Result<u64> {
    let (key, value) = (&entry.key, &entry.value);
    value.parse().map_err(|_| Error::graph(place(), format!("the {key} of its external data is `{value}`")))
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
    use super::{read, weight};
    use crate::graph::{DataType, Shape, TensorDesc};
    use prost::Message;
    use std::path::Path;

    fn stored(entries: &[(&str, &str)]) -> Tensor {
        let entry =
            |&(key, value): &(&str, &str)| Entry { key: key.into(), value: value.into() }.encode_to_vec().into();
        Tensor { external_data: entries.iter().map(entry).collect(), ..Tensor::default() }
    }

    /// Two bytes.
    fn pair() -> TensorDesc {
        TensorDesc::new(DataType::Int8, Shape::new([2]))
    }

    fn read_from(base: &Path, entries: &[(&str, &str)]) -> Result<Option<Vec<u8>>, String> {
        read(&stored(entries), Some(base), &pair(), &|| "initializer `w`".into())
            .map(|bytes| bytes.map(|b| b.to_vec()))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn bytes_come_from_their_offset_and_an_absent_file_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("weights.bin"), [1, 2, 3, 4]).unwrap();
        let from = |file: &str, offset: &str| read_from(dir.path(), &[("location", file), ("offset", offset)]);
        assert_eq!(from("weights.bin", "1").unwrap(), Some(vec![2, 3]));
        assert_eq!(from("weights.bin", "2").unwrap(), Some(vec![3, 4]));
        assert_eq!(from("other.bin", "1").unwrap(), None);
        assert!(from("weights.bin", "-3").unwrap_err().contains("`-3`"));
    }

    #[test]
    fn places_that_do_not_fit_the_file_or_the_tensor_are_named_with_their_numbers() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("weights.bin"), [1, 2, 3, 4]).unwrap();
        for (offset, length, said) in [
            ("3", None, "2 bytes are asked for from 3 on, and the file ends at 4"),
            ("4", None, "from 4 on"),
            ("99", Some("2"), "from 99 on"),
            ("18446744073709551615", None, "from 18446744073709551615 on"),
            ("0", Some("1"), "`length` is 1, and int8 of shape [2] takes 2 bytes"),
            ("0", Some("4"), "`length` is 4"),
            ("0", Some("x"), "the length of its external data is `x`"),
        ] {
            let mut entries = vec![("location", "weights.bin"), ("offset", offset)];
            entries.extend(length.map(|length| ("length", length)));
            let message = read_from(dir.path(), &entries).unwrap_err();
            assert!(message.contains("initializer `w`") && message.contains(said), "{message}");
            // The values of a large one are not needed: it is without them.
            let large = weight(&stored(&entries), Some(dir.path()), &pair(), &|| "initializer `w`".into());
            assert!(
                large.map_or_else(|error| error.to_string().contains(said), |found| found.is_none()),
                "{entries:?}"
            );
        }
        assert_eq!(
            read_from(dir.path(), &[("location", "weights.bin"), ("offset", "1"), ("length", "2")]).unwrap(),
            Some(vec![2, 3])
        );
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
            let message = read_from(&model, &[("location", location)]).unwrap_err();
            assert!(message.contains("directory") && message.contains("`w`"), "{location}: {message}");
        }
    }
}
