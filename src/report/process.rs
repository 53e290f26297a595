//! One result file for all tunings of a process, as CANN has it for training and for PyTorch.

use super::named_file::{NamedFile, next, timestamp};
use crate::status::{Error, Result};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tunings in one file at most: each is kept, and written again with every other. The next begins another file.
const MOST_ENTRIES: usize = 100;

/// Files that are kept in mind, beside those of tunings under way.
const MOST_FILES: usize = 64;

/// The result files of a process: one for each work path and job, with an entry for each tuning. Tunings of several
/// threads write to one file.
#[derive(Debug, Default)]
pub struct ProcessFiles(Mutex<HashMap<(PathBuf, String), SharedFile>>);

type SharedFile = Arc<Mutex<ProcessFile>>;

/// `{"report_<timestamp>_<thread>": [...], ...}`.
#[derive(Debug, Default)]
struct ProcessFile {
    /// There while there are entries.
    file: Option<NamedFile>,
    /// The text of each entry, once it has one.
    entries: BTreeMap<String, Option<String>>,
    /// The last moment that a tuning in a file before has; later ones are free.
    taken: String,
    /// Whether another file has taken its place: its moments after the last one are that file's.
    is_closed: bool,
}

/// The entry of one tuning.
#[derive(Debug)]
pub(super) struct Entry {
    shared: SharedFile,
    key: String,
    path: PathBuf,
    timestamp: String,
}

/// No holder of a lock here leaves a file half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ProcessFiles {
    /// Begins an entry for a tuning by this thread, in the file for a job in a work path. It shows in the file once
    /// it has a text.
    ///
    /// Fails with [`Error::Directory`] or [`Error::File`].
    pub(super) fn entry(&self, directory: &Path, job: &str) -> Result<Entry> {
        loop {
            let shared = self.shared(directory, job);
            // Others may have filled it since, and another file may have taken its place.
            if let Some(entry) = Entry::begin(&shared, directory, job)? {
                return Ok(entry);
            }
        }
    }

    /// The file for a job in a work path that has room for one more tuning.
    fn shared(&self, directory: &Path, job: &str) -> SharedFile {
        let mut files = lock(&self.0);
        let place = (directory.to_owned(), job.to_owned());
        if files.len() >= MOST_FILES && !files.contains_key(&place) {
            // Nobody who comes later has a file here: he begins another.
            files.retain(|_, shared| Arc::strong_count(shared) > 1);
        }
        let shared = files.entry(place).or_default();
        let closed = lock(shared).close_if_full();
        if let Some(taken) = closed {
            *shared = Arc::new(Mutex::new(ProcessFile { taken, ..ProcessFile::default() }));
        }
        Arc::clone(shared)
    }
}

impl Entry {
    /// An entry in this file for a tuning by this thread; `None` where the file has no room.
    fn begin(shared: &SharedFile, directory: &Path, job: &str) -> Result<Option<Entry>> {
        let mut guard = lock(shared);
        if guard.is_closed || guard.entries.len() >= MOST_ENTRIES {
            return Ok(None);
        }
        let path = match &guard.file {
            Some(file) => file.path.clone(),
            None => guard.file.insert(NamedFile::reserve(directory, job, "{}\n")?.0).path.clone(),
        };
        let thread = rustix::thread::gettid().as_raw_nonzero();
        let mut moment = jiff::Zoned::now();
        let (key, timestamp) = loop {
            let timestamp = timestamp(&moment);
            let key = format!("report_{timestamp}_{thread}");
            if !guard.has_entry_of(&timestamp) {
                break (key, timestamp);
            }
            moment = next(&moment);
        };
        guard.entries.insert(key.clone(), None);
        drop(guard);
        Ok(Some(Entry { shared: Arc::clone(shared), key, path, timestamp }))
    }

    /// The file that it is in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The time stamp in its key.
    pub fn timestamp(&self) -> &str {
        &self.timestamp
    }

    /// Replaces its text, which is JSON, and with it the file.
    pub fn replace(&self, text: &str, durable: bool) -> Result<()> {
        let mut shared = lock(&self.shared);
        // JSON has no line breaks inside of texts.
        let indented = text.trim_end().replace('\n', "\n    ");
        shared.entries.insert(self.key.clone(), Some(indented));
        let whole = shared.text();
        match &shared.file {
            Some(file) => file.replace(&whole, durable),
            None => Err(Error::file("write", &self.path, "it was taken away")),
        }
    }

    /// Takes it out; with the last one goes the file.
    pub fn remove(&self) {
        let mut shared = lock(&self.shared);
        shared.entries.remove(&self.key);
        if shared.entries.is_empty()
            && let Some(file) = shared.file.take()
        {
            file.remove();
        }
    }
}

impl ProcessFile {
    /// Whether a tuning has this moment, by whichever thread: other files of a tuning are named by it alone.
    fn has_entry_of(&self, timestamp: &str) -> bool {
        let prefix = format!("report_{timestamp}_");
        let next = self.entries.range(prefix.clone()..).next();
        timestamp <= self.taken.as_str() || next.is_some_and(|(key, _)| key.starts_with(&prefix))
    }

    /// Takes no more tunings where there is no room for another, and answers the last moment of those that it has.
    fn close_if_full(&mut self) -> Option<String> {
        let last = self.entries.keys().next_back().filter(|_| self.entries.len() >= MOST_ENTRIES)?;
        self.is_closed = true;
        last.split('_').nth(1).zip(last.split('_').nth(2)).map(|(day, time)| format!("{day}_{time}"))
    }

    fn text(&self) -> String {
        let entry = |(key, text): (&String, &Option<String>)| Some(format!("    \"{key}\": {}", text.as_ref()?));
        let entries: Vec<_> = self.entries.iter().filter_map(entry).collect();
        if entries.is_empty() { "{}\n".to_owned() } else { format!("{{\n{}\n}}\n", entries.join(",\n")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeSet;

    /// The one file in a folder, its keys and its content.
    fn read(folder: &Path) -> (String, Value) {
        let names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name()).collect();
        let [name] = &names[..] else { panic!("{names:?}") };
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        (text.clone(), serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn tunings_of_many_threads_share_one_file_that_is_whole_at_every_moment() {
        let folder = tempfile::tempdir().unwrap();
        let files = ProcessFiles::default();
        let first = files.entry(folder.path(), "opat").unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (files, folder) = (&files, folder.path());
                scope.spawn(move || {
                    for tuning in 0..5 {
                        let entry = files.entry(folder, "opat").unwrap();
                        for text in ["[1]\n".to_owned(), format!("[\n    {thread},\n    {tuning}\n]\n")] {
                            entry.replace(&text, false).unwrap();
                            let text = std::fs::read_to_string(entry.path()).unwrap();
                            let whole: Value = serde_json::from_str(&text).unwrap();
                            assert!(whole[&entry.key].is_array());
                        }
                    }
                });
            }
        });
        first.remove();
        let (text, whole) = read(folder.path());
        let entries = whole.as_object().unwrap();
        assert_eq!(entries.len(), 40);
        assert!(entries.keys().all(|key| key.starts_with("report_2")), "{text}");
        assert!(text.contains("\": [\n        0,\n"), "nested as the rest is: {text}");
    }

    #[test]
    fn entries_of_one_thread_and_moment_have_keys_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let files = ProcessFiles::default();
        let entries: Vec<_> = (0..50).map(|_| files.entry(folder.path(), "opat").unwrap()).collect();
        let mut keys: Vec<_> = entries.iter().map(|entry| &entry.key).collect();
        keys.dedup();
        assert_eq!(keys.len(), 50);
        let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
        assert!(keys.iter().all(|key| key.ends_with(&format!("_{thread}"))));
        assert!(entries.iter().all(|entry| entry.path() == entries[0].path()));
    }

    #[test]
    fn tunings_of_many_threads_have_a_moment_each() {
        let folder = tempfile::tempdir().unwrap();
        let files = ProcessFiles::default();
        // More than one file takes, so that threads meet where one is full.
        let begin = || [(); 40].map(|()| files.entry(folder.path(), "gdat").unwrap());
        let entries: Vec<_> = std::thread::scope(|scope| {
            let threads = [(); 8].map(|()| scope.spawn(begin));
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let moments: BTreeSet<_> = entries.iter().map(Entry::timestamp).collect();
        assert_eq!(moments.len(), entries.len());
    }

    #[test]
    fn a_full_file_is_followed_by_another_whose_tunings_have_moments_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let files = ProcessFiles::default();
        let entries: Vec<_> = (0..=2 * MOST_ENTRIES).map(|_| files.entry(folder.path(), "opat").unwrap()).collect();
        for entry in &entries {
            entry.replace("[]", false).unwrap();
        }
        let in_file = |path: &Path| entries.iter().filter(|entry| entry.path() == path).count();
        assert_eq!(in_file(entries[0].path()), MOST_ENTRIES);
        assert_eq!(in_file(entries[MOST_ENTRIES].path()), MOST_ENTRIES);
        let moments: BTreeSet<_> = entries.iter().map(Entry::timestamp).collect();
        assert_eq!(moments.len(), entries.len());
        let whole: Value = serde_json::from_str(&std::fs::read_to_string(entries[0].path()).unwrap()).unwrap();
        assert_eq!(whole.as_object().unwrap().len(), MOST_ENTRIES);
    }

    #[test]
    fn files_that_no_tuning_is_in_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let files = ProcessFiles::default();
        let kept = files.entry(&folder.path().join("kept"), "opat").unwrap();
        for number in 0..3 * MOST_FILES {
            files.entry(&folder.path().join(number.to_string()), "opat").unwrap().replace("[]", false).unwrap();
        }
        assert!(lock(&files.0).len() <= MOST_FILES);
        assert_eq!(files.entry(&folder.path().join("kept"), "opat").unwrap().path(), kept.path());
    }

    #[test]
    fn a_file_without_entries_is_gone_and_the_next_tuning_has_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let files = ProcessFiles::default();
        files.entry(folder.path(), "opat").unwrap().remove();
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
        files.entry(folder.path(), "opat").unwrap().replace("[]", true).unwrap();
        assert_eq!(read(folder.path()).1.as_object().unwrap().len(), 1);
    }
}
