//! A storage in memory that can fail any operation and tell what a crash after it would leave.

use crate::bank::{Guard, Storage};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What the disk holds and what a reader sees. A file's name becomes durable with its directory.
#[derive(Debug, Default, Clone)]
struct State {
    seen: Files,
    durable: Files,
    directories: BTreeSet<PathBuf>,
    operations: usize,
    fail_at: Option<(usize, ErrorKind)>,
    writes: usize,
    full_at: Option<usize>,
    /// Everything a crash may leave, one set of images for each moment.
    images: Vec<Files>,
    record_images: bool,
}

#[derive(Debug, Default)]
pub struct Memory(Mutex<State>);

impl Memory {
    pub fn with(files: Files) -> Memory {
        let memory = Memory::default();
        memory.edit(|s| (s.seen, s.durable) = (files.clone(), files));
        memory
    }

    fn edit<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    pub fn files(&self) -> Files {
        self.edit(|s| s.seen.clone())
    }

    pub fn get(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        self.edit(|s| s.seen.get(path.as_ref()).cloned())
    }

    pub fn put(&self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) {
        let content = content.into();
        self.edit(|s| {
            s.seen.insert(path.as_ref().into(), content.clone());
            s.durable.insert(path.as_ref().into(), content);
        });
    }

    /// Lets the `n`th operation from now on (0 is the next) fail.
    pub fn fail_at(&self, n: usize, kind: ErrorKind) {
        self.edit(|s| s.fail_at = Some((s.operations + n, kind)));
    }

    /// Lets the `n`th write from now on (0 is the next) and all later ones find the disk full.
    pub fn fill_at(&self, n: usize) {
        self.edit(|s| s.full_at = Some(s.writes + n));
    }

    /// Whether the failure asked for has come; there will be no other.
    pub fn has_failed(&self) -> bool {
        self.edit(|s| {
            let failed = s.fail_at.take().is_some_and(|(at, _)| s.operations > at);
            failed | s.full_at.take().is_some_and(|at| s.writes > at)
        })
    }

    /// From now on, remembers what a crash could leave at each moment.
    pub fn record_images(&self) {
        self.edit(|s| s.record_images = true);
    }

    pub fn images(&self) -> Vec<Files> {
        self.edit(|s| s.images.clone())
    }

    /// Counts an operation, fails it if it is the chosen one.
    fn step(&self) -> io::Result<()> {
        self.edit(|s| {
            let now = s.operations;
            s.operations += 1;
            match s.fail_at {
                Some((at, kind)) if at == now => Err(Error::new(kind, "injected")),
                _ => Ok(()),
            }
        })
    }

    /// Notes both what is certain and what a reader sees: a crash leaves one or the other, or the
    /// certain files with some of the newer names.
    fn image(&self) {
        self.edit(|s| {
            if !s.record_images {
                return;
            }
            s.images.push(s.durable.clone());
            s.images.push(s.seen.clone());
            for (path, content) in s.seen.clone() {
                let mut partial = s.durable.clone();
                partial.insert(path, content);
                s.images.push(partial);
            }
        });
    }
}

impl Storage for Memory {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.step()?;
        Ok(self.get(path))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.edit(|s| s.directories.insert(path.to_owned()));
        Ok(())
    }

    fn check_writable(&self, _directory: &Path) -> io::Result<()> {
        self.step()
    }

    fn lock(&self, path: &Path, create: bool) -> io::Result<Option<Guard>> {
        self.step()?;
        Ok((create || self.get(path).is_some()).then_some(Guard::none()))
    }

    fn write(&self, path: &Path, content: &[u8], _like: &Path) -> io::Result<()> {
        // A crash or an error in the middle leaves any part of the content.
        let half = content[..content.len() / 2].to_vec();
        self.edit(|s| s.seen.insert(path.into(), half));
        self.image();
        self.step()?;
        self.edit(|s| {
            s.writes += 1;
            if s.full_at.is_some_and(|at| s.writes > at) {
                return Err(Error::from(ErrorKind::StorageFull));
            }
            s.seen.insert(path.into(), content.to_vec());
            Ok(())
        })?;
        self.image();
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        let moved = self.edit(|s| match s.seen.remove(from) {
            Some(content) => {
                s.seen.insert(to.into(), content);
                Ok(())
            }
            None => Err(Error::from(ErrorKind::NotFound)),
        });
        self.image();
        moved
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.edit(|s| {
            s.durable.retain(|file, _| file.parent() != Some(path));
            let synced: Files = s
                .seen
                .iter()
                .filter(|(file, _)| file.parent() == Some(path))
                .map(|(f, c)| (f.clone(), c.clone()))
                .collect();
            s.durable.extend(synced);
        });
        self.image();
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.edit(|s| s.seen.remove(path)).map(|_| ()).ok_or_else(|| ErrorKind::NotFound.into())
    }
}
