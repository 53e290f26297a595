//! The disk as one process has it: what a bank is given as its storage.

use super::disk::Disk;
use super::later;
use crate::campaign::Planted;
use aoe::bank::{Guard, Identity, NewFile, Storage};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A process of a world.
pub struct Process {
    pub disk: Arc<Disk>,
    pub id: usize,
}

/// A file that a process writes; of each content it is given, half is taken in at first.
struct Writing {
    disk: Arc<Disk>,
    process: usize,
    inode: usize,
    is_begun: bool,
}

impl Write for Writing {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        let taken = if self.is_begun { content.len() } else { content.len().div_ceil(2) };
        self.is_begun = true;
        let what = || format!("write {taken} bytes");
        self.disk.operate(self.process, true, what, |s| {
            s.append(self.inode, &content[..taken]);
            Ok(taken)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for Writing {
    fn sync(&mut self) -> io::Result<()> {
        self.disk.operate(
            self.process,
            true,
            || "sync".to_owned(),
            |s| {
                s.sync(self.inode);
                Ok(())
            },
        )
    }
}

impl Storage for Process {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.disk.operate(
            self.id,
            false,
            || format!("read {}", path.display()),
            |s| {
                let content = s.content(path);
                Ok(if s.is_planted(Planted::Versions) {
                    content.map(|content| later::known(&content))
                } else {
                    content
                })
            },
        )
    }

    fn target(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    fn identity(&self, path: &Path) -> io::Result<Option<Identity>> {
        Ok(self.disk.see(|s| s.inode(path)).map(|inode| Identity { device: 0, inode: inode as u64 }))
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        let what = || format!("make directory {}", path.display());
        self.disk.operate(self.id, true, what, |s| s.make_directory(path))
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.disk.see(|s| s.is_directory(path))
    }

    fn check_writable(&self, directory: &Path) -> io::Result<()> {
        self.disk.operate(self.id, false, || format!("check {}", directory.display()), |_| Ok(()))
    }

    fn check_file(&self, path: &Path) -> io::Result<()> {
        self.disk.operate(self.id, false, || format!("check {}", path.display()), |_| Ok(()))
    }

    fn lock(&self, path: &Path, create: bool) -> io::Result<Option<Guard>> {
        let locked = self.disk.wait(self.id, path, create)?;
        let (disk, process) = (Arc::clone(&self.disk), self.id);
        Ok(locked.map(|inode| Guard::with(move || disk.release(inode, process))))
    }

    fn create(&self, path: &Path, _like: &Path) -> io::Result<Box<dyn NewFile>> {
        let what = || format!("create {}", path.display());
        let inode = self.disk.operate(self.id, true, what, |s| s.create(path))?;
        Ok(Box::new(Writing { disk: Arc::clone(&self.disk), process: self.id, inode, is_begun: false }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let what = || format!("rename {} to {}", from.display(), to.display());
        self.disk.operate(self.id, false, what, |s| s.rename(from, to))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.disk.operate(
            self.id,
            false,
            || format!("sync {}", path.display()),
            |s| {
                s.sync_directory(path);
                Ok(())
            },
        )
    }

    fn files(&self, directory: &Path) -> Vec<PathBuf> {
        self.disk.see(|s| {
            let mut files = s.files_of(directory);
            if s.is_planted(Planted::Merge) {
                files.pop();
            }
            files
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.operate(self.id, false, || format!("remove {}", path.display()), |s| s.remove(path))
    }
}
