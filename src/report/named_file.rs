//! A result file under a name of its own, replaced whole.

use crate::output_file::{create_whole, replace, replace_hastily, sweep};
use crate::status::{Error, Result};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// How the names of result files begin.
const RESULT: &str = "aoe_result";

/// CANN's `aoe_result_<job>_<timestamp>_pid<pid>.json`, replaced whole.
#[derive(Debug)]
pub(super) struct NamedFile {
    /// Where it lies.
    pub path: PathBuf,
}

impl NamedFile {
    /// Makes a file of a new name with this content; also the time stamp in the name. What killed tunings left beside
    /// it goes.
    pub fn reserve(directory: &Path, job: &str, content: &str) -> Result<(NamedFile, String)> {
        fs::create_dir_all(directory).map_err(|e| Error::directory("create", directory, e))?;
        sweep(directory);
        let mut moment = jiff::Zoned::now();
        loop {
            let timestamp = timestamp(&moment);
            let path = directory.join(file_name(RESULT, job, &timestamp, std::process::id()));
            // Whoever looks, and be it after a kill, finds JSON.
            match create_whole(&path, content.as_bytes()) {
                Ok(()) => return Ok((NamedFile { path }, timestamp)),
                // Another session of this process began in the same millisecond.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => moment = next(&moment),
                Err(e) => return Err(Error::file("create", &path, e)),
            }
        }
    }

    /// Replaces the content. Only the last one is worth waiting for the disk.
    pub fn replace(&self, content: &str, durable: bool) -> Result<()> {
        let put = if durable { replace } else { replace_hastily };
        put(&self.path, content.as_bytes())
    }

    /// Takes it away, as far as that is possible.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The next moment that a time stamp can tell from this one.
pub(super) fn next(moment: &jiff::Zoned) -> jiff::Zoned {
    // The end of time is far.
    moment.checked_add(jiff::SignedDuration::from_millis(1)).unwrap_or_else(|_| jiff::Zoned::now())
}

/// `YYYYMMDD_HHMMSSmmm`.
pub(super) fn timestamp(moment: &jiff::Zoned) -> String {
    format!("{}{:03}", moment.strftime("%Y%m%d_%H%M%S"), moment.millisecond())
}

/// `<kind>_<job>_<timestamp>_pid<pid>.json`.
pub(super) fn file_name(kind: &str, job: &str, timestamp: &str, pid: u32) -> String {
    format!("{kind}_{job}_{timestamp}_pid{pid}.json")
}

#[cfg(test)]
mod tests {
    use super::{RESULT, file_name, timestamp};

    #[test]
    fn the_name_holds_the_moment_and_the_process() {
        let moment = jiff::civil::datetime(2026, 3, 4, 5, 6, 7, 89_000_000).to_zoned(jiff::tz::TimeZone::UTC).unwrap();
        let name = file_name(RESULT, "opat", &timestamp(&moment), 42);
        assert_eq!(name, "aoe_result_opat_20260304_050607089_pid42.json");
    }
}
