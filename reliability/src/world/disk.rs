//! A disk in memory that several processes use at once. A file's content is durable from its sync on, a name from the
//! sync of its directory on; a power cut may keep any part of what is not.

use crate::campaign::Planted;
use shuttle::sync::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// Where what happens is told, line by line; outlives the world.
pub type Told = Arc<std::sync::Mutex<Vec<String>>>;

/// Numbers of system errors, as Linux has them.
pub const EIO: i32 = 5;
pub const ENOSPC: i32 = 28;

/// What goes wrong in one process. Operations are counted from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is killed before its n-th operation, or in the middle of it where that writes.
    Killed(u32),
    /// Its n-th operation fails.
    Fails(u32),
    /// Its n-th operation that needs room finds the disk full, and so do as many after it.
    Full(u32, u32),
}

#[derive(Debug, Clone, Default)]
struct Inode {
    content: Vec<u8>,
    is_synced: bool,
}

/// A change of names that is not durable yet.
#[derive(Debug, Clone)]
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

#[derive(Debug, Clone, Default)]
struct Names {
    files: BTreeMap<PathBuf, usize>,
    directories: BTreeSet<PathBuf>,
}

impl Names {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Directory(path) => drop(self.directories.insert(path)),
            Change::Link(path, inode) => drop(self.files.insert(path, inode)),
            Change::Unlink(path) => drop(self.files.remove(&path)),
            Change::Rename(from, to, inode) => {
                self.files.remove(&from);
                self.files.insert(to, inode);
            }
        }
    }
}

/// How a process fares.
#[derive(Debug, Default)]
struct Fate {
    operations: u32,
    needing_room: u32,
    faults: Vec<Fault>,
    is_dead: bool,
}

#[derive(Debug, Default)]
pub(super) struct State {
    inodes: Vec<Inode>,
    seen: Names,
    durable: Names,
    pending: Vec<Change>,
    /// Who holds the lock of a file.
    locks: BTreeMap<usize, usize>,
    processes: Vec<Fate>,
    operations: u32,
    /// The operation, counted over all processes, at which the power goes.
    power_cut: Option<u32>,
    planted: Option<Planted>,
    /// What happened, where it is to be told.
    told: Option<Told>,
}

/// The disk of a world.
#[derive(Debug, Default)]
pub struct Disk {
    state: Mutex<State>,
    released: Condvar,
}

impl Disk {
    pub fn new(planted: Option<Planted>, told: Option<Told>) -> Arc<Disk> {
        let state = State { planted, told, ..State::default() };
        Arc::new(Disk { state: Mutex::new(state), released: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a world that panicked is over")
    }

    /// A new process with these faults before it.
    pub fn process(&self, faults: Vec<Fault>) -> usize {
        let mut state = self.lock();
        state.processes.push(Fate { faults, ..Fate::default() });
        state.processes.len() - 1
    }

    /// Lets the power go at an operation, counted over all processes from now on.
    pub fn cut_power_at(&self, operation: Option<u32>) {
        let mut state = self.lock();
        state.power_cut = operation.map(|n| state.operations + n);
    }

    /// Whether a process still runs.
    pub fn lives(&self, process: usize) -> bool {
        !self.lock().processes[process].is_dead
    }

    /// Adds to what happened.
    pub fn tell(&self, line: impl FnOnce() -> String) {
        self.lock().tell(line);
    }

    /// The files whose names end so.
    pub fn files_ending(&self, suffix: &str) -> Vec<PathBuf> {
        let state = self.lock();
        state.seen.files.keys().filter(|path| path.to_string_lossy().ends_with(suffix)).cloned().collect()
    }

    /// The text of a file; none where it is not there.
    pub fn text(&self, path: &Path) -> String {
        String::from_utf8_lossy(&self.lock().content(path).unwrap_or_default()).into_owned()
    }

    /// Lays a file, durably.
    pub fn lay(&self, path: &Path, content: &[u8]) {
        let mut state = self.lock();
        let above = path.parent().into_iter().flat_map(Path::ancestors).filter(|p| p.parent().is_some());
        state.seen.directories.extend(above.map(Path::to_owned));
        state.inodes.push(Inode { content: content.to_vec(), is_synced: true });
        let inode = state.inodes.len() - 1;
        state.seen.files.insert(path.to_owned(), inode);
        state.durable = state.seen.clone();
    }

    /// Changes each file, or removes it, and makes all that there is durable.
    pub fn settle(&self, change: impl Fn(&Path, &str) -> Option<String>) {
        let mut state = self.lock();
        for (path, inode) in state.seen.files.clone() {
            let text = String::from_utf8_lossy(&state.inodes[inode].content).into_owned();
            match change(&path, &text) {
                Some(text) => state.inodes[inode].content = text.into_bytes(),
                None => drop(state.seen.files.remove(&path)),
            }
        }
        state.pending.clear();
        state.durable = state.seen.clone();
    }

    /// What a power cut leaves is what there is from now on.
    pub fn after_power_cut(&self, random: &mut fastrand::Rng) {
        let mut state = self.lock();
        let mut names = std::mem::take(&mut state.durable);
        for change in std::mem::take(&mut state.pending) {
            if random.bool() {
                names.apply(change);
            }
        }
        // What hangs in no directory is not found.
        let directories = names.directories.clone();
        let is_reachable = |path: &Path| {
            let above = path.parent().into_iter().flat_map(Path::ancestors);
            above.filter(|p| p.parent().is_some()).all(|p| directories.contains(p))
        };
        names.files.retain(|path, _| is_reachable(path));
        names.directories.retain(|path| is_reachable(path));
        for inode in names.files.values() {
            let inode = &mut state.inodes[*inode];
            if !inode.is_synced {
                tear(&mut inode.content, random);
                inode.is_synced = true;
            }
        }
        state.seen = names.clone();
        state.durable = names;
        state.locks.clear();
        state.power_cut = None;
        state.tell(|| "-- power is back".to_owned());
    }

    /// Whether the power went.
    pub fn is_dark(&self) -> bool {
        let state = self.lock();
        state.power_cut.is_some_and(|at| state.operations >= at)
    }

    /// Waits for the lock of the file that has this name.
    pub(super) fn wait(self: &Arc<Self>, process: usize, path: &Path, create: bool) -> io::Result<Option<usize>> {
        loop {
            let mut state = self.lock();
            if let Err(error) = state.step(process, create, || format!("lock {}", path.display())) {
                drop(state);
                // What a dead process held is free.
                self.released.notify_all();
                return Err(error);
            }
            let Some(&inode) = state.seen.files.get(path) else {
                if !create {
                    return Ok(None);
                }
                state.link(path, Inode { is_synced: true, ..Inode::default() })?;
                continue;
            };
            if state.is_planted(Planted::Locks) {
                return Ok(Some(inode));
            }
            while state.locks.contains_key(&inode) {
                state = self.released.wait(state).expect("a world that panicked is over");
                state.check(process)?;
            }
            // A writer that replaced the file meanwhile leaves the lock on the old one.
            if state.seen.files.get(path) == Some(&inode) {
                state.locks.insert(inode, process);
                return Ok(Some(inode));
            }
        }
    }

    pub(super) fn release(&self, inode: usize, process: usize) {
        let mut state = self.lock();
        if state.locks.get(&inode) == Some(&process) {
            state.locks.remove(&inode);
        }
        drop(state);
        self.released.notify_all();
    }

    /// One operation of a process.
    pub(super) fn operate<T>(
        &self,
        process: usize,
        needs_room: bool,
        what: impl FnOnce() -> String,
        work: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.lock();
        let done = state.step(process, needs_room, what).and_then(|()| work(&mut state));
        let is_over = state.processes[process].is_dead;
        drop(state);
        if is_over {
            // Its locks are free.
            self.released.notify_all();
        }
        done
    }

    /// What a process sees without that counting as an operation.
    pub(super) fn see<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.lock())
    }
}

/// What a power cut leaves of a content that was not synced.
fn tear(content: &mut Vec<u8>, random: &mut fastrand::Rng) {
    let length = content.len();
    match random.u8(..5) {
        0 => {}
        1 => content.clear(),
        2 => content.truncate(random.usize(..=length)),
        3 => content.fill(0),
        _ => content[..length / 2].fill(0),
    }
}

impl State {
    fn tell(&self, line: impl FnOnce() -> String) {
        if let Some(told) = &self.told {
            told.lock().unwrap_or_else(PoisonError::into_inner).push(line());
        }
    }

    /// Fails where the process is dead.
    fn check(&mut self, process: usize) -> io::Result<()> {
        let is_dark = self.power_cut.is_some_and(|at| self.operations >= at);
        if is_dark {
            self.processes.iter_mut().for_each(|fate| fate.is_dead = true);
            self.locks.clear();
        }
        if self.processes[process].is_dead {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        Ok(())
    }

    fn step(&mut self, process: usize, needs_room: bool, what: impl FnOnce() -> String) -> io::Result<()> {
        self.operations += u32::from(!self.processes[process].is_dead);
        self.check(process)?;
        let fate = &mut self.processes[process];
        let (now, room) = (fate.operations, fate.needing_room);
        fate.operations += 1;
        fate.needing_room += u32::from(needs_room);
        let fault = fate.faults.iter().copied().find(|fault| match *fault {
            Fault::Killed(at) | Fault::Fails(at) => at == now,
            Fault::Full(from, count) => needs_room && (from..from + count).contains(&room),
        });
        self.tell(|| {
            let fault = fault.map_or(String::new(), |fault| format!(": {fault:?}"));
            format!("{process}.{now} {}{fault}", what())
        });
        match fault {
            None => Ok(()),
            Some(Fault::Killed(_)) => {
                self.processes[process].is_dead = true;
                self.locks.retain(|_, owner| *owner != process);
                Err(io::Error::from_raw_os_error(EIO))
            }
            Some(Fault::Fails(_)) => Err(io::Error::from_raw_os_error(EIO)),
            Some(Fault::Full(..)) => Err(io::Error::from_raw_os_error(ENOSPC)),
        }
    }

    fn link(&mut self, path: &Path, inode: Inode) -> io::Result<usize> {
        if !path.parent().is_some_and(|directory| self.is_directory(directory)) {
            return Err(ErrorKind::NotFound.into());
        }
        self.inodes.push(inode);
        self.change(Change::Link(path.to_owned(), self.inodes.len() - 1));
        Ok(self.inodes.len() - 1)
    }

    fn change(&mut self, change: Change) {
        self.seen.apply(change.clone());
        self.pending.push(change);
    }

    pub(super) fn is_directory(&self, path: &Path) -> bool {
        path.parent().is_none() || self.seen.directories.contains(path)
    }

    pub(super) fn is_planted(&self, planted: Planted) -> bool {
        self.planted == Some(planted)
    }

    pub(super) fn inode(&self, path: &Path) -> Option<usize> {
        self.seen.files.get(path).copied()
    }

    pub(super) fn content(&self, path: &Path) -> Option<Vec<u8>> {
        self.inode(path).map(|inode| self.inodes[inode].content.clone())
    }

    pub(super) fn files_of(&self, directory: &Path) -> Vec<PathBuf> {
        self.seen.files.keys().filter(|path| path.parent() == Some(directory)).cloned().collect()
    }

    pub(super) fn make_directory(&mut self, path: &Path) -> io::Result<()> {
        if self.is_directory(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        self.change(Change::Directory(path.to_owned()));
        Ok(())
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<usize> {
        if self.seen.files.contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        self.link(path, Inode::default())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let inode = self.inode(from).ok_or(ErrorKind::NotFound)?;
        self.change(Change::Rename(from.to_owned(), to.to_owned(), inode));
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.inode(path).ok_or(ErrorKind::NotFound)?;
        self.change(Change::Unlink(path.to_owned()));
        Ok(())
    }

    pub(super) fn append(&mut self, inode: usize, content: &[u8]) {
        self.inodes[inode].content.extend_from_slice(content);
        self.inodes[inode].is_synced = false;
    }

    pub(super) fn sync(&mut self, inode: usize) {
        self.inodes[inode].is_synced |= !self.is_planted(Planted::Contents);
    }

    pub(super) fn sync_directory(&mut self, path: &Path) {
        if self.is_planted(Planted::Directories) {
            return;
        }
        for change in std::mem::take(&mut self.pending) {
            if change.is_in(path) {
                self.durable.apply(change);
            } else {
                self.pending.push(change);
            }
        }
    }
}
