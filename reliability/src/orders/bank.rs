//! One bank in which several threads look up at once, as the workers of a tuning do: each gets what it would get alone, and what
//! is wrong with a file is said once.

use crate::campaign::Planted;
use crate::world::plan::{Find, PROBLEMS, workload};
use aoe::bank::{BankPaths, Entry, Guard, NewFile, OperatorBank, Storage};
use aoe::soc::Soc;
use aoe::workload::Schedule;
use shuttle::thread;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Files that are read, in a step each.
struct Files {
    contents: BTreeMap<PathBuf, Vec<u8>>,
    /// Where all threads note what they read, if the fault is planted that they do.
    shared: Option<Mutex<PathBuf>>,
}

/// What a bank answers of each problem: the record, and the tilings of its neighbours.
type Answers = Vec<(Option<Entry>, Vec<Schedule>)>;

/// What there is to know before the first order.
struct Known {
    soc: Soc,
    directory: PathBuf,
    contents: BTreeMap<PathBuf, Vec<u8>>,
    alone: Answers,
    warnings: Vec<String>,
}

/// Three threads look up all problems, each in another order.
pub fn looked_up(planted: Option<Planted>) {
    let known = known();
    let shared = (planted == Some(Planted::Shared)).then(Mutex::default);
    let bank = Arc::new(known.open(Files { contents: known.contents.clone(), shared }));
    let threads = [0, 1, 2].map(|first| {
        let bank = Arc::clone(&bank);
        thread::spawn(move || {
            for problem in (first..PROBLEMS).chain(0..first) {
                let place = usize::from(problem);
                assert_eq!(
                    answer(&bank, problem),
                    known.alone[place],
                    "problem {problem} is answered otherwise than alone"
                );
            }
        })
    });
    for thread in threads {
        thread.join().expect("a thread that panicked ends the world");
    }
    let mut warnings = bank.warnings();
    warnings.sort();
    assert_eq!(warnings, known.warnings, "what is wrong is not said once");
}

fn answer(bank: &OperatorBank, problem: u8) -> (Option<Entry>, Vec<Schedule>) {
    let workload = workload(problem);
    (bank.lookup(&workload).expect("it can be read"), bank.neighbours(&workload, 2).expect("it can be read"))
}

/// A bank with a bad line in each of its files.
fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let soc = Soc::find("Ascend910B2").expect("a built-in part");
        let root = std::env::temp_dir().join(format!("aoe-reliability-{}", std::process::id()));
        let directory = root.join("Ascend910B2/unified_bank");
        let paths = BankPaths { custom: directory.clone(), also_read: Vec::new() };
        let mut bank = OperatorBank::open(paths, &soc);
        // One has no record, and neighbours that have.
        for problem in 0..PROBLEMS - 1 {
            let find = Find { problem, tiling: 0, time_us: 5 };
            bank.record(&workload(problem), &find.schedule(), &find.measured()).expect("a legal record");
        }
        let files = bank.save().expect("the temporary directory can be written");
        let mut contents = BTreeMap::new();
        for file in std::fs::read_dir(&directory).expect("it was written").flatten() {
            let mut content = std::fs::read(file.path()).unwrap_or_default();
            if files.contains(&file.path()) {
                content.extend_from_slice(b"{\"damaged\": \n");
            }
            contents.insert(file.path(), content);
        }
        let _ = std::fs::remove_dir_all(&root);
        let mut known = Known { soc, directory, contents, alone: Vec::new(), warnings: Vec::new() };
        let alone = known.open(Files { contents: known.contents.clone(), shared: None });
        known.alone = (0..PROBLEMS).map(|problem| answer(&alone, problem)).collect();
        known.warnings = alone.warnings();
        known.warnings.sort();
        assert!(known.alone[0].0.is_some() && !known.alone[2].1.is_empty() && known.warnings.len() > 1);
        known
    })
}

impl Known {
    fn open(&self, files: Files) -> OperatorBank {
        let paths = BankPaths { custom: self.directory.clone(), also_read: Vec::new() };
        OperatorBank::with_storage(paths, &self.soc, Arc::new(files), "2026-01-01".to_owned())
    }
}

fn never<T>() -> io::Result<T> {
    Err(ErrorKind::Unsupported.into())
}

impl Storage for Files {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let Some(shared) = &self.shared else {
            thread::yield_now();
            return Ok(self.contents.get(path).cloned());
        };
        path.clone_into(&mut shared.lock().unwrap_or_else(PoisonError::into_inner));
        thread::yield_now();
        let path = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(self.contents.get(&path).cloned())
    }

    fn target(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    fn make_directory(&self, _: &Path) -> io::Result<()> {
        never()
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.contents.keys().any(|file| file.starts_with(path))
    }

    fn check_writable(&self, _: &Path) -> io::Result<()> {
        never()
    }

    fn check_file(&self, _: &Path) -> io::Result<()> {
        never()
    }

    fn lock(&self, _: &Path, _: bool) -> io::Result<Option<Guard>> {
        never()
    }

    fn create(&self, _: &Path, _: &Path) -> io::Result<Box<dyn NewFile>> {
        never()
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        never()
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        never()
    }

    fn files(&self, directory: &Path) -> Vec<PathBuf> {
        self.contents.keys().filter(|file| file.parent() == Some(directory)).cloned().collect()
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        never()
    }
}
