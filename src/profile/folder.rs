//! A profile on disk.

use super::files::{File, each_file};
use super::options::Options;
use super::run::Run;
use crate::output_file::Publication;
use crate::status::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Letters at the end of a profile's name, and how many there are to choose from.
const LETTERS: usize = 8;
const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQR";

/// The place of a profile that is not there yet.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    /// The 14 digits in the names of its files.
    stamp: String,
}

impl Folder {
    /// The place of a profile that is made at this moment, in a directory.
    pub fn of(directory: &Path, moment: &jiff::Zoned) -> Folder {
        Folder { path: directory.join(name(moment)), stamp: moment.strftime("%Y%m%d%H%M%S").to_string() }
    }

    /// Where it will lie.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Prepares the profile of a run, file by file.
    ///
    /// Fails with [`Error::File`] or [`Error::Directory`], and with [`Error::Cancelled`] between two files; then
    /// nothing is prepared.
    pub fn prepare(
        &self,
        run: &Run,
        options: &Options,
        publication: &mut Publication,
        cancel: &AtomicBool,
    ) -> Result<()> {
        let unfinished = publication.folder(&self.path)?;
        let prepared = each_file(run, options, &self.stamp, &mut |File { path, content }| {
            if cancel.load(Ordering::Acquire) {
                return Err(Error::Cancelled);
            }
            let path = unfinished.join(path);
            match content {
                Some(content) => Publication::write(&path, &content),
                None => fs::create_dir_all(&path).map_err(|e| Error::directory("create", &path, e)),
            }
        });
        if prepared.is_err() {
            publication.withdraw(&self.path);
        }
        prepared
    }
}

/// `PROF_000001_<17 digits of the moment>_<8 digits of the process><8 letters>`.
fn name(moment: &jiff::Zoned) -> String {
    let time = format!("{}{:03}", moment.strftime("%Y%m%d%H%M%S"), moment.millisecond());
    let letters: String = (0..LETTERS).map(|_| char::from(ALPHABET[fastrand::usize(..ALPHABET.len())])).collect();
    format!("PROF_000001_{time}_{:08}{letters}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::name;

    fn moment() -> jiff::Zoned {
        jiff::civil::datetime(2026, 3, 4, 5, 6, 7, 89_000_000).to_zoned(jiff::tz::TimeZone::UTC).unwrap()
    }

    #[test]
    fn the_name_is_one_that_readers_accept() {
        let name = name(&moment());
        let parts: Vec<_> = name.split('_').collect();
        assert_eq!(parts[..3], ["PROF", "000001", "20260304050607089"]);
        let (process, letters) = parts[3].split_at(parts[3].len() - 8);
        assert!(process.len() >= 8 && process.parse::<u32>().unwrap() == std::process::id());
        assert!(letters.bytes().all(|b| (b'A'..=b'R').contains(&b)), "{letters}");
    }
}
