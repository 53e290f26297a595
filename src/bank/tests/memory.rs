//! A file system in memory that fails any operation and tells what a crash at any moment would leave.
//!
//! A file's content is durable from its sync on, and a name from the sync of its directory on. Until then a
//! crash may keep any of the changes of names and none of the others, and any part of a content.

use crate::bank::{Guard, NewFile, Storage};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Changes of names of which every subset is tried; of more, those that are in order but for one.
const SUBSETS_OF: usize = 6;

#[derive(Debug, Clone, Default)]
struct Inode {
    content: Vec<u8>,
    is_synced: bool,
}

/// A change of names that is not durable yet.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    Directory(PathBuf),
    Link(PathBuf, usize),
    Unlink(PathBuf),
    Rename(PathBuf, PathBuf, usize),
}

impl Change {
    fn is_in(&self, directory: &Path) -> bool {
        let (Change::Directory(p) | Change::Link(p, _) | Change::Unlink(p) | Change::Rename(_, p, _)) = self;
        p.parent() == Some(directory)
    }
}

/// The names of files and directories.
#[derive(Debug, Clone, Default)]
struct Names {
    files: BTreeMap<PathBuf, usize>,
    directories: BTreeSet<PathBuf>,
}

impl Names {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Directory(path) => drop(self.directories.insert(path.clone())),
            Change::Link(path, inode) => drop(self.files.insert(path.clone(), *inode)),
            Change::Unlink(path) => drop(self.files.remove(path)),
            Change::Rename(from, to, inode) => {
                self.files.remove(from);
                self.files.insert(to.clone(), *inode);
            }
        }
    }
}

/// What shall fail.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// One operation.
    At(usize, i32),
    /// This operation and all later ones.
    From(usize, i32),
    /// Everything that needs room, from this operation on.
    FullFrom(usize, i32),
}

/// Something that a storage only pretends to do: as if the code had left it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgotten {
    /// Syncing files: a rename comes before the content is durable.
    Contents,
    /// Syncing directories of this name.
    Directory(&'static str),
    /// Removing what is in the way of a temporary file.
    Removal,
}

#[derive(Debug, Default)]
struct State {
    inodes: Vec<Inode>,
    seen: Names,
    durable: Names,
    pending: Vec<Change>,
    operations: usize,
    faults: Vec<Fault>,
    has_failed: bool,
    forgotten: Option<Forgotten>,
    images: Option<BTreeSet<Image>>,
}

/// What a crash leaves: for each name the file, how much of its content, and in which state.
type Image = BTreeMap<PathBuf, (usize, usize, Torn)>;

impl State {
    /// Counts an operation, and fails it where that was asked for.
    fn step(&mut self, needs_room: bool) -> io::Result<()> {
        let now = self.operations;
        self.operations += 1;
        let errno = |fault: &Fault| match *fault {
            Fault::At(at, errno) if at == now => Some(errno),
            Fault::From(from, errno) if from <= now => Some(errno),
            Fault::FullFrom(from, errno) if from <= now && needs_room => Some(errno),
            _ => None,
        };
        let Some(errno) = self.faults.iter().find_map(errno) else { return Ok(()) };
        self.has_failed = true;
        Err(Error::from_raw_os_error(errno))
    }

    /// Adds a file.
    fn link(&mut self, path: &Path, inode: Inode) -> io::Result<usize> {
        if !path.parent().is_some_and(|directory| self.seen.directories.contains(directory)) {
            return Err(ErrorKind::NotFound.into());
        }
        self.inodes.push(inode);
        self.change(Change::Link(path.to_owned(), self.inodes.len() - 1));
        Ok(self.inodes.len() - 1)
    }

    fn change(&mut self, change: Change) {
        self.seen.apply(&change);
        self.pending.push(change);
        self.image();
    }

    /// Notes what a crash now would leave.
    fn image(&mut self) {
        let Some(mut images) = self.images.take() else { return };
        for survivors in subsets(self.pending.len()) {
            let mut names = self.durable.clone();
            let survives = |(at, change): (usize, &Change)| survivors.contains(&at).then(|| names.apply(change));
            let _ = self.pending.iter().enumerate().filter_map(survives).count();
            for damage in [Torn::Whole, Torn::Empty, Torn::Half, Torn::Zeros, Torn::Reordered] {
                let unsynced = names.files.values().any(|&inode| !self.inodes[inode].is_synced);
                if damage == Torn::Whole || unsynced {
                    images.insert(self.left(&names, damage));
                }
            }
        }
        self.images = Some(images);
    }

    fn left(&self, names: &Names, damage: Torn) -> Image {
        let reachable = |path: &&PathBuf| {
            let above = path.parent().into_iter().flat_map(Path::ancestors);
            above.filter(|p| p.parent().is_some()).all(|p| names.directories.contains(p))
        };
        let content = |id: usize| {
            let inode = &self.inodes[id];
            (id, inode.content.len(), if inode.is_synced { Torn::Whole } else { damage })
        };
        names.files.keys().filter(reachable).map(|path| (path.clone(), content(names.files[path]))).collect()
    }

    /// The files of an image: a content only ever grows, so that its beginning is what it was.
    fn files(&self, image: &Image) -> Files {
        let content = |&(id, length, torn): &(usize, usize, Torn)| torn.of(&self.inodes[id].content[..length]);
        image.iter().map(|(path, file)| (path.clone(), content(file))).collect()
    }
}

/// What becomes of a content that was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Torn {
    Whole,
    Empty,
    Half,
    Zeros,
    /// The later half was written first.
    Reordered,
}

impl Torn {
    fn of(self, content: &[u8]) -> Vec<u8> {
        let half = content.len() / 2;
        match self {
            Torn::Whole => content.to_vec(),
            Torn::Empty => Vec::new(),
            Torn::Half => content[..half].to_vec(),
            Torn::Zeros => vec![0; content.len()],
            Torn::Reordered => [&vec![0; half], &content[half..]].concat(),
        }
    }
}

/// Sets of numbers below `count`: all of them, or those that are in order but for one.
fn subsets(count: usize) -> Vec<BTreeSet<usize>> {
    if count <= SUBSETS_OF {
        return (0u32..1 << count).map(|bits| (0..count).filter(|at| bits >> at & 1 == 1).collect()).collect();
    }
    let prefixes = (0..=count).map(|n| (0..n).collect());
    let without_one = (0..count).map(|gone| (0..count).filter(|&at| at != gone).collect());
    prefixes.chain(without_one).chain((0..count).map(|only| BTreeSet::from([only]))).collect()
}

#[derive(Debug, Default)]
pub struct Memory(Arc<Mutex<State>>);

impl Memory {
    /// What a crash left; all of it is durable.
    pub fn with(files: Files) -> Memory {
        let memory = Memory::default();
        for (path, content) in files {
            memory.put(path, content);
        }
        memory
    }

    fn edit<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }

    pub fn files(&self) -> Files {
        self.edit(|s| {
            s.seen.files.iter().map(|(path, &inode)| (path.clone(), s.inodes[inode].content.clone())).collect()
        })
    }

    /// What is certain to outlive a crash now.
    pub fn durable(&self) -> Files {
        self.edit(|s| s.files(&s.left(&s.durable, Torn::Empty)))
    }

    pub fn get(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        self.edit(|s| s.seen.files.get(path.as_ref()).map(|&inode| s.inodes[inode].content.clone()))
    }

    /// Puts a file there, durably, as another program would.
    pub fn put(&self, path: impl AsRef<Path>, content: impl Into<Vec<u8>>) {
        let (path, content) = (path.as_ref().to_owned(), content.into());
        self.edit(|s| {
            s.inodes.push(Inode { content, is_synced: true });
            let inode = s.inodes.len() - 1;
            for names in [&mut s.seen, &mut s.durable] {
                names.directories.extend(path.parent().into_iter().flat_map(Path::ancestors).map(Path::to_owned));
                names.files.insert(path.clone(), inode);
            }
        });
    }

    /// Lets the `n`th operation from now on (0 is the next) fail.
    pub fn fail_at(&self, n: usize, errno: i32) {
        self.edit(|s| s.faults.push(Fault::At(s.operations + n, errno)));
    }

    /// Lets the `n`th operation from now on and all later ones fail.
    pub fn fail_from(&self, n: usize, errno: i32) {
        self.edit(|s| s.faults.push(Fault::From(s.operations + n, errno)));
    }

    /// From the `n`th operation from now on, lets all that needs room find the disk full.
    pub fn fill_from(&self, n: usize, errno: i32) {
        self.edit(|s| s.faults.push(Fault::FullFrom(s.operations + n, errno)));
    }

    /// Whether a failure asked for has come; there will be no other.
    pub fn has_failed(&self) -> bool {
        self.edit(|s| {
            s.faults.clear();
            std::mem::take(&mut s.has_failed)
        })
    }

    /// From now on, only pretends to do this.
    pub fn forget(&self, what: Forgotten) {
        self.edit(|s| s.forgotten = Some(what));
    }

    /// From now on, remembers what a crash could leave at each moment.
    pub fn record_images(&self) {
        self.edit(|s| s.images = Some(BTreeSet::new()));
    }

    /// Everything a crash could have left since the last call, each once.
    pub fn take_images(&self) -> impl Iterator<Item = Files> {
        let images = self.edit(|s| s.images.replace(BTreeSet::new()).unwrap_or_default());
        images.into_iter().map(|image| self.edit(|s| s.files(&image)))
    }
}

/// A file being written; every call is an operation, and the first takes in only half of what it is given.
struct Writing {
    state: Arc<Mutex<State>>,
    inode: usize,
}

impl Write for Writing {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock().unwrap();
        state.step(true)?;
        let inode = &mut state.inodes[self.inode];
        let taken = if inode.content.is_empty() { content.len().div_ceil(2) } else { content.len() };
        inode.content.extend_from_slice(&content[..taken]);
        inode.is_synced = false;
        state.image();
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for Writing {
    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.step(true)?;
        state.inodes[self.inode].is_synced = state.forgotten != Some(Forgotten::Contents);
        state.image();
        Ok(())
    }
}

impl Storage for Memory {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.edit(|s| s.step(false))?;
        Ok(self.get(path))
    }

    fn target(&self, path: &Path) -> io::Result<PathBuf> {
        self.edit(|s| s.step(false))?;
        Ok(path.to_owned())
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        self.edit(|s| {
            s.step(true)?;
            if s.seen.directories.contains(path) {
                return Err(ErrorKind::AlreadyExists.into());
            }
            s.change(Change::Directory(path.to_owned()));
            Ok(())
        })
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.parent().is_none() || self.edit(|s| s.seen.directories.contains(path))
    }

    fn check_writable(&self, _directory: &Path) -> io::Result<()> {
        self.edit(|s| s.step(false))
    }

    fn check_file(&self, _path: &Path) -> io::Result<()> {
        self.edit(|s| s.step(false))
    }

    fn lock(&self, path: &Path, create: bool) -> io::Result<Option<Guard>> {
        self.edit(|s| {
            s.step(create)?;
            if !s.seen.files.contains_key(path) {
                if !create {
                    return Ok(None);
                }
                s.link(path, Inode { is_synced: true, ..Inode::default() })?;
            }
            Ok(Some(Guard::with(|| {})))
        })
    }

    fn create(&self, path: &Path, _like: &Path) -> io::Result<Box<dyn NewFile>> {
        self.edit(|s| {
            s.step(true)?;
            if s.seen.files.contains_key(path) {
                return Err(ErrorKind::AlreadyExists.into());
            }
            let inode = s.link(path, Inode::default())?;
            Ok(Box::new(Writing { state: Arc::clone(&self.0), inode }) as Box<dyn NewFile>)
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.edit(|s| {
            s.step(false)?;
            let inode = *s.seen.files.get(from).ok_or(ErrorKind::NotFound)?;
            s.change(Change::Rename(from.to_owned(), to.to_owned(), inode));
            Ok(())
        })
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.edit(|s| {
            s.step(false)?;
            if matches!(s.forgotten, Some(Forgotten::Directory(name)) if path.ends_with(name)) {
                return Ok(());
            }
            let (synced, pending) = std::mem::take(&mut s.pending).into_iter().partition(|change| change.is_in(path));
            s.pending = pending;
            let synced: Vec<Change> = synced;
            for change in &synced {
                s.durable.apply(change);
            }
            s.image();
            Ok(())
        })
    }

    fn files(&self, directory: &Path) -> Vec<PathBuf> {
        self.edit(|s| s.seen.files.keys().filter(|path| path.parent() == Some(directory)).cloned().collect())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.edit(|s| {
            s.step(false)?;
            if !s.seen.files.contains_key(path) {
                return Err(ErrorKind::NotFound.into());
            }
            if s.forgotten == Some(Forgotten::Removal) {
                return Ok(());
            }
            s.change(Change::Unlink(path.to_owned()));
            Ok(())
        })
    }
}
