//! The processes that measuring programs start, wherever they go: a program may leave its process group
//! (`setsid`) and even its parent (a daemon), and must end at its timeout all the same.
//!
//! This process adopts what its programs leave behind (`PR_SET_CHILD_SUBREAPER`), so that all of it stays below
//! us in the tree of processes. Which program an adopted process belongs to is told by its environment.

use rustc_hash::FxHashSet;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, set_child_subreaper, waitid,
};
use std::fs::{read, read_dir, read_to_string};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The variable that tells which measurement a process belongs to.
pub const MARK: &str = "AOE_MEASUREMENT";
/// Wait for processes that were killed: longer takes only what hangs in the kernel.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks at them.
const PAUSE: Duration = Duration::from_millis(1);

/// The measuring programs of this process; one for all, since adopting is a property of the process.
#[derive(Debug)]
pub struct Families {
    /// The first processes of those under way.
    running: Mutex<FxHashSet<Pid>>,
    /// Children that were there before.
    foreign: FxHashSet<Pid>,
    started: AtomicU64,
    /// Why processes left behind are not adopted or not seen.
    hindrance: Option<String>,
}

static FAMILIES: LazyLock<Families> = LazyLock::new(Families::adopt);

/// A program under way.
#[derive(Debug)]
pub struct Family {
    /// Its first process.
    pub child: Child,
    /// `MARK=value`, as its environment has it.
    mark: String,
}

impl Families {
    /// The programs of this process; from the first call on it adopts what they leave behind.
    pub fn get() -> &'static Families {
        &FAMILIES
    }

    fn adopt() -> Families {
        let listed = Path::new("/proc/thread-self/children").exists();
        let hindrance = match set_child_subreaper(Some(getpid())) {
            Err(error) => Some(error.to_string()),
            Ok(()) => (!listed).then(|| "/proc does not list the children of processes".to_owned()),
        };
        let foreign = children(getpid()).into_iter().collect();
        Families { running: Mutex::default(), foreign, started: AtomicU64::new(0), hindrance }
    }

    /// Why only what stays in a program's process group is sure to end with it; `None` where all is.
    pub fn hindrance(&self) -> Option<&str> {
        self.hindrance.as_deref()
    }

    /// Starts a program in a process group of its own.
    pub fn start(&self, command: &mut Command) -> io::Result<Family> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let value = format!("{}.{number}", std::process::id());
        // Locked, so that nobody takes the new child for one that was left behind.
        let mut running = self.running();
        let child = command.env(MARK, &value).process_group(0).spawn()?;
        running.insert(Pid::from_child(&child));
        drop(running);
        Ok(Family { child, mark: format!("{MARK}={value}") })
    }

    fn running(&self) -> MutexGuard<'_, FxHashSet<Pid>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Family {
    /// The number of the first process, and of its process group.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Kills the program and all that it started. It must not be reaped yet: so long its number names its group
    /// and no other.
    pub fn end(&self) {
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let deadline = Instant::now() + PATIENCE;
        let mut known = vec![self.pid()];
        loop {
            self.find(&mut known);
            for &process in &known {
                let _ = kill_process(process, Signal::KILL);
            }
            // What is killed may have started something since it was looked at.
            known.retain(|&process| !is_dead(process));
            if known.is_empty() || Instant::now() > deadline {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Adds what lives of the program to what is known of it.
    fn find(&self, known: &mut Vec<Pid>) {
        let running = FAMILIES.running();
        // First those below: what loses its parent meanwhile turns up among the adopted.
        add_descendants(known);
        for adopted in children(getpid()) {
            if running.contains(&adopted) || FAMILIES.foreign.contains(&adopted) || known.contains(&adopted) {
                continue;
            }
            // Nobody else waits for it.
            let reaped = waitid(WaitId::Pid(adopted), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            if !matches!(reaped, Ok(Some(_))) && self.owns(adopted, running.len()) {
                known.push(adopted);
            }
        }
        add_descendants(known);
    }

    /// Whether the program has started an adopted process: the mark says so, or else, where the mark was
    /// wiped out, that nobody else can have.
    fn owns(&self, adopted: Pid, running: usize) -> bool {
        let environment = read(format!("/proc/{}/environ", adopted.as_raw_pid())).unwrap_or_default();
        let mut variables = environment.split(|&byte| byte == 0);
        match variables.find(|variable| variable.starts_with(MARK.as_bytes())) {
            Some(mark) => mark == self.mark.as_bytes(),
            None => running == 1 && FAMILIES.foreign.is_empty(),
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        FAMILIES.running().remove(&self.pid());
    }
}

/// The children of a process, as far as the system tells.
fn children(process: Pid) -> Vec<Pid> {
    let threads = read_dir(format!("/proc/{}/task", process.as_raw_pid()));
    // A thread that ends meanwhile leaves its children to another one.
    let lists =
        threads.into_iter().flatten().flatten().flat_map(|thread| read_to_string(thread.path().join("children")));
    let numbers = |list: String| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>();
    lists.flat_map(numbers).filter_map(Pid::from_raw).collect()
}

/// Adds all that is below some processes in the tree of processes.
fn add_descendants(all: &mut Vec<Pid>) {
    let mut next = 0;
    while let Some(&process) = all.get(next) {
        for child in children(process) {
            if !all.contains(&child) {
                all.push(child);
            }
        }
        next += 1;
    }
}

/// Whether a process is gone or waits to be reaped.
fn is_dead(process: Pid) -> bool {
    let status = read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).unwrap_or_default();
    // The name, in brackets, may hold anything.
    status.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}
