//! Files and folders that are prepared out of sight and put in place together.

mod replace;

pub use replace::{create_whole, replace, replace_by, replace_hastily};

use super::hidden_folder::{self, HiddenFolder};
use super::lock::{self, Guard};
use super::patience::Patience;
use super::{check_directory, directory_of};
use crate::status::{Error, Result};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How the names begin of the hidden folders in which files are prepared.
const UNFINISHED: &str = ".aoe-unfinished-";
/// How often a directory is made again that another tuning, which gave up, takes away.
const MOST_TRIES: usize = 100;

/// Files and folders that are to appear together.
///
/// Each is prepared under its own name in a hidden folder beside its place, which is where a full disk shows, and
/// [`Publication::commit`] renames them one after the other: whoever looks finds each as it was or whole. Dropped before
/// that nothing has changed, and not even directories that were made for it are left. What a killed process leaves is
/// removed by the next publication into the same directory.
#[derive(Debug, Default)]
pub struct Publication {
    /// Folders are put in place first: what files tell of is there. Else in the order of their preparation.
    pieces: Vec<Piece>,
    /// Files that go when the pieces are in place.
    retired: Vec<PathBuf>,
    /// The hidden folder of each directory.
    hidden_folders: Vec<(PathBuf, HiddenFolder)>,
    /// Directories that were made for it, the outer ones first.
    made: Vec<PathBuf>,
    /// Whether it may be lost in a crash of the system, and what killed processes left stays.
    is_hasty: bool,
    /// Released last.
    lock: Option<Guard>,
}

#[derive(Debug)]
struct Piece {
    target: PathBuf,
    staged: PathBuf,
    is_folder: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The disk may not have it yet.
    Prepared,
    /// The disk has its content.
    Synced,
    /// It has taken the place of something.
    Replaced,
    /// It has taken the place of nothing.
    Added,
}

impl Publication {
    /// An empty one.
    pub fn new() -> Publication {
        Publication::default()
    }

    /// Prepares a file; one that was prepared for the same place before is replaced. Answers where it lies until it is put
    /// in place.
    ///
    /// Fails with [`Error::File`] or [`Error::Directory`]; then nothing is prepared for this place.
    pub fn file(&mut self, target: &Path, content: &[u8]) -> Result<PathBuf> {
        self.file_with(target, |file| file.write_all(content))
    }

    /// As [`Publication::file`], with what `write` writes.
    pub fn file_with(
        &mut self,
        target: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<PathBuf> {
        let staged = self.place(target)?;
        let written = create(&staged).and_then(|mut file| {
            write(&mut file)?;
            if self.is_hasty { Ok(()) } else { file.sync_all() }
        });
        if let Some(piece) = self.pieces.iter_mut().find(|piece| piece.target == target) {
            piece.state = State::Synced;
        }
        match written {
            Ok(()) => Ok(staged),
            Err(error) => {
                self.withdraw(target);
                Err(Error::file("write", target, error))
            }
        }
    }

    /// Takes a place for a file that the caller makes at the path answered.
    ///
    /// Fails with [`Error::File`] or [`Error::Directory`].
    pub fn place(&mut self, target: &Path) -> Result<PathBuf> {
        if target.file_name().is_none() || target.is_dir() {
            return Err(Error::file("write", target, "it names a directory"));
        }
        self.stage(target)
    }

    /// Has what was prepared for a place appear under the name of the file that its maker wrote instead, in the same hidden
    /// folder. Answers the new place.
    pub fn renamed(&mut self, target: &Path, written: PathBuf) -> PathBuf {
        let place = target.with_file_name(written.file_name().unwrap_or_default());
        if let Some(piece) = self.pieces.iter_mut().find(|piece| piece.target == target) {
            piece.target.clone_from(&place);
            piece.staged = written;
        }
        place
    }

    /// Takes a place for a folder, which the caller fills with [`Publication::write`] at the path answered.
    ///
    /// Fails with [`Error::Directory`].
    pub fn folder(&mut self, target: &Path) -> Result<PathBuf> {
        if target.file_name().is_none() || target.symlink_metadata().is_ok() {
            return Err(Error::directory("create", target, "it exists"));
        }
        let staged = self.stage(target)?;
        if let Some(piece) = self.pieces.last_mut() {
            piece.is_folder = true;
        }
        fs::create_dir(&staged).map_err(|e| Error::directory("create", target, e))?;
        Ok(staged)
    }

    /// Writes a file in a folder that is prepared, and waits until the disk has it.
    pub fn write(path: &Path, content: &[u8]) -> Result<()> {
        let directory = directory_of(path);
        fs::create_dir_all(directory).map_err(|e| Error::directory("create", directory, e))?;
        let written = create(path).and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()));
        written.map_err(|e| Error::file("write", path, e))
    }

    /// Whether something is prepared for a place.
    pub fn has(&self, target: &Path) -> bool {
        self.pieces.iter().any(|piece| piece.target == target)
    }

    /// Gives up what was prepared for a place, and its room on the disk with it.
    pub fn withdraw(&mut self, target: &Path) {
        let Some(index) = self.pieces.iter().position(|piece| piece.target == target) else { return };
        // What stays here goes with the hidden folder.
        let _ = clear(&self.pieces.remove(index).staged);
    }

    /// Waits for the lock of a directory, which keeps other publications from it until this one is in place. Nothing is
    /// put into the directory for that; where it cannot be locked, that is said once.
    ///
    /// Fails with [`Error::Directory`] where another process holds it for too long.
    pub fn lock(&mut self, directory: &Path, patience: &Patience) -> Result<()> {
        self.lock = lock::directory(directory, patience).map_err(|e| Error::directory("lock", directory, e))?;
        Ok(())
    }

    /// Has a file removed when all is in place.
    pub fn retire(&mut self, path: PathBuf) {
        self.retired.push(path);
    }

    /// Puts everything in place, folders first, else in the order in which it was prepared, and waits until the disk has it.
    ///
    /// Fails with [`Error::File`] or [`Error::Directory`] that names what cannot be put in place; what took the place of
    /// nothing is then taken back.
    pub fn commit(mut self) -> Result<()> {
        if !self.is_hasty {
            self.sync_pieces()?;
        }
        if let Err(error) = self.put_in_place() {
            for piece in self.pieces.iter().filter(|piece| piece.state == State::Added) {
                if let Err(error) = fs::rename(&piece.target, &piece.staged) {
                    log::warn!("{} stays: {error}", piece.target.display());
                }
            }
            return Err(error);
        }
        let mut removed = Ok(());
        for path in &self.retired {
            match fs::remove_file(path) {
                // Someone else was as quick.
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    removed = removed.and(Err(Error::file("remove", path, error)));
                }
                _ => {}
            }
        }
        let synced = if self.is_hasty { Ok(()) } else { self.sync_directories() };
        removed.and(synced)
    }

    fn stage(&mut self, target: &Path) -> Result<PathBuf> {
        let staged = self.hidden_folder(directory_of(target))?.join(target.file_name().unwrap_or_default());
        if let Some(piece) = self.pieces.iter_mut().find(|piece| piece.target == target) {
            clear(&piece.staged).map_err(|e| Error::file("write", target, e))?;
            piece.state = State::Prepared;
        } else {
            let target = target.to_owned();
            let piece = Piece { target, staged: staged.clone(), is_folder: false, state: State::Prepared };
            self.pieces.push(piece);
        }
        Ok(staged)
    }

    /// The hidden folder in a directory, which is made where it does not exist.
    fn hidden_folder(&mut self, directory: &Path) -> Result<PathBuf> {
        if let Some((_, known)) = self.hidden_folders.iter().find(|(of, _)| of == directory) {
            return Ok(known.path().to_owned());
        }
        let failed = |error: io::Error| Error::directory("write to", directory, error);
        for attempt in 1.. {
            self.make(directory)?;
            if !self.is_hasty {
                hidden_folder::sweep(directory, UNFINISHED, |_| {});
            }
            match HiddenFolder::open(directory, UNFINISHED) {
                Ok(opened) => {
                    let path = opened.path().to_owned();
                    self.hidden_folders.push((directory.to_owned(), opened));
                    return Ok(path);
                }
                Err(error) if error.kind() == ErrorKind::NotFound && attempt < MOST_TRIES => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(ErrorKind::NotFound.into()))
    }

    /// Makes a directory and those around it, as far as they are missing.
    fn make(&mut self, directory: &Path) -> Result<()> {
        let missing: Vec<_> = directory.ancestors().take_while(|path| !path.exists()).collect();
        for path in missing.into_iter().rev().filter(|path| !path.as_os_str().is_empty()) {
            match fs::create_dir(path) {
                Ok(()) => self.made.push(path.to_owned()),
                Err(e) if e.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
                // Another publication, which gave up, took away what was around it: the caller tries again.
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
                Err(e) => {
                    let reason = check_directory(path).err().unwrap_or(e);
                    return Err(Error::directory("create", path, reason));
                }
            }
        }
        Ok(())
    }

    /// What is there before anything is renamed is there after a crash, too.
    fn sync_pieces(&self) -> Result<()> {
        for piece in self.pieces.iter().filter(|piece| piece.state == State::Prepared) {
            sync_tree(&piece.staged).map_err(|e| Error::file("write", &piece.target, e))?;
        }
        Ok(())
    }

    fn put_in_place(&mut self) -> Result<()> {
        self.pieces.sort_by_key(|piece| !piece.is_folder);
        for piece in &mut self.pieces {
            let is_new = piece.target.symlink_metadata().is_err();
            fs::rename(&piece.staged, &piece.target).map_err(|e| Error::file("write", &piece.target, e))?;
            piece.state = if is_new { State::Added } else { State::Replaced };
        }
        Ok(())
    }

    fn sync_directories(&self) -> Result<()> {
        let of_pieces = self.pieces.iter().map(|piece| directory_of(&piece.target));
        let of_retired = self.retired.iter().map(|path| directory_of(path));
        let around = self.made.iter().map(|path| directory_of(path));
        let directories: BTreeSet<&Path> = of_pieces.chain(of_retired).chain(around).collect();
        directories.into_iter().try_for_each(|directory| {
            let synced = File::open(directory).and_then(|file| file.sync_all());
            synced.map_err(|e| Error::directory("write to", directory, e))
        })
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        self.hidden_folders.clear();
        for directory in self.made.iter().rev() {
            // One that holds something by now stays.
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Removes what killed processes left of their publications into a directory.
pub fn sweep(directory: &Path) {
    hidden_folder::sweep(directory, UNFINISHED, |_| {});
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).open(path)
}

/// Removes a file, or a folder with what is in it; what is not there is gone.
fn clear(path: &Path) -> io::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Waits until the disk has a file, or the directories of a folder, whose files were synced when they were written.
fn sync_tree(path: &Path) -> io::Result<()> {
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let file = File::open(&path)?;
        file.sync_all()?;
        if file.metadata()?.is_dir() {
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    open.push(entry.path());
                }
            }
        }
    }
    Ok(())
}
