//! The Ascend runtime of this machine: found, loaded and asked what it is; never linked.
//!
//! [`probe`] looks for `libascendcl.so` where the environment, the system's loader and CANN's installer
//! may have put it, resolves what measuring needs ([`MEASURING`]), and asks for version, device count
//! and SoC name. [`ask_apart`] does so in a process of its own, for a runtime may hang or crash.

mod asking;
mod atc;
mod backend;
mod bank_hits;
mod check;
mod codes;
mod compiler;
mod device;
mod devices;
mod ge;
mod helpers;
mod job;
mod kept;
mod kernel;
mod kernel_json;
mod libraries;
mod library;
mod measure;
mod operator;
mod places;
mod process;
mod program;
mod report;
mod symbols;
mod timing;
mod worker;
mod workshop;

pub use asking::ask_apart;
pub use backend::Ascend;
pub use check::{CheckReport, Step, Verdict, check};
pub use codes::DOCUMENTED as CODES;
pub use compiler::{COMPILING, CompileOptions, Compiler, Search, compiler};
pub use devices::{Devices, Setting};
pub use job::Described;
pub use kept::KeptAnswer;
pub use library::{ASKING, Symbol};
pub use program::COMMAND;
pub use report::{Attempt, CallFailure, Origin, Outcome, Probe, Runtime};
pub use symbols::{ACLNN, DEVICE_INFO, MEASURING};
pub use worker::work;

use super::RuntimeEnv;
use libraries::Libraries;
use library::{Api, Loaded};
use places::Place;
use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use symbols::{ACL_RT, ASCENDCL};

/// Looks for a runtime and asks the first one that answers.
///
/// A runtime that the process has loaded already is the only one tried, because two copies in one
/// process disturb each other. The two questions need no initialisation in current runtimes; where one
/// does, `aclInit` is called and undone, and an initialisation by the host is left alone.
pub fn probe(env: &RuntimeEnv) -> Probe {
    let mut attempts = Vec::new();
    if let Some((name, library)) = loaded_by_host(env) {
        let place = Place { origin: Origin::Process, folder: None };
        let runtime = examine(&library, &place, PathBuf::from(name), &mut attempts);
        return Probe { attempts, runtime };
    }
    let runtime = places::places(env).iter().find_map(|place| look_into(place, &mut attempts));
    Probe { attempts, runtime }
}

/// The runtime that the process has loaded already, and its name.
fn loaded_by_host(env: &RuntimeEnv) -> Option<(&'static str, Loaded)> {
    let names = [ASCENDCL, ACL_RT].into_iter().filter(|_| env.system_loader);
    names.into_iter().find_map(|name| Some((name, Loaded::in_process(name)?)))
}

/// Tries the runtime's names in one place.
fn look_into(place: &Place, attempts: &mut Vec<Attempt>) -> Option<Runtime> {
    for name in [ASCENDCL, ACL_RT] {
        let path = place.path_of(name);
        match place.load(&path) {
            Ok(library) => return examine(&library, place, path, attempts),
            // The split generations' name is worth a line only where it exists.
            Err(Outcome::Absent) if name == ACL_RT => {}
            Err(outcome) => attempts.push(Attempt { origin: place.origin, path, outcome }),
        }
    }
    None
}

impl Place {
    fn path_of(&self, name: &str) -> PathBuf {
        self.folder.as_ref().map_or_else(|| PathBuf::from(name), |folder| folder.join(name))
    }

    /// Loads a library of this place, or says how that failed.
    fn load(&self, path: &Path) -> Result<Loaded, Outcome> {
        let not_there = |error: std::io::Error| error.kind() == ErrorKind::NotFound;
        // Looking first: the loader takes some fifty times as long to find nothing.
        if self.folder.is_some() && path.metadata().is_err_and(not_there) {
            return Err(Outcome::Absent);
        }
        // A missing dependency is reported in the same words, under its own name.
        let nothing_found = format!("{}: cannot open shared object file", path.display());
        Loaded::open(path).map_err(|message| match self.folder {
            None if message.starts_with(&nothing_found) => Outcome::Absent,
            _ => Outcome::Refused(message),
        })
    }
}

/// Resolves and asks a loaded library.
fn examine(main: &Loaded, place: &Place, path: PathBuf, attempts: &mut Vec<Attempt>) -> Option<Runtime> {
    let api = match Api::resolve(main) {
        Ok(api) => api,
        Err(names) => {
            attempts.push(Attempt { origin: place.origin, path, outcome: Outcome::Incomplete(names) });
            return None;
        }
    };
    attempts.push(Attempt { origin: place.origin, path: path.clone(), outcome: Outcome::Loaded });
    let missing = missing_symbols(main, place, attempts);
    let (answers, cleanup) = ask(&api);
    Some(Runtime {
        file: main.file().unwrap_or_else(|| path.clone()),
        path,
        version: api.version(),
        devices: answers.devices,
        soc_name: answers.soc_name,
        missing,
        cleanup,
    })
}

/// Names of the functions that neither the main library nor its companions of the split have.
fn missing_symbols(main: &Loaded, place: &Place, attempts: &mut Vec<Attempt>) -> Vec<Cow<'static, str>> {
    let mut libraries = Libraries::of(main, place);
    let missing = MEASURING.iter().filter(|symbol| !libraries.has(symbol)).map(|symbol| symbol.name.into()).collect();
    attempts.append(&mut libraries.attempts);
    missing
}

struct Answers {
    devices: Result<u32, CallFailure>,
    soc_name: Result<String, CallFailure>,
}

impl Answers {
    fn of(api: &Api) -> Answers {
        Answers { devices: api.device_count(), soc_name: api.soc_name() }
    }

    /// Whether there is nothing more to learn by initialising.
    fn complete(&self) -> bool {
        matches!((&self.devices, &self.soc_name), (Ok(0), _) | (Ok(_), Ok(_)))
    }
}

/// Asks without initialising first: a host that initialises later, with its own configuration, would be
/// refused by a runtime that has been initialised with another one. Also the failure to undo an
/// initialisation, if one was needed.
fn ask(api: &Api) -> (Answers, Option<CallFailure>) {
    /// Keeps one thread from finalising what another relies on. Held over calls of the runtime alone.
    static INITIALISED: Mutex<()> = Mutex::new(());

    let answers = Answers::of(api);
    if answers.complete() {
        return (answers, None);
    }
    let _initialised = INITIALISED.lock().unwrap_or_else(PoisonError::into_inner);
    match api.init() {
        code @ (codes::SUCCESS | codes::REPEAT_INITIALIZE) => {
            let answers = Answers::of(api);
            (answers, api.undo_init(code).err())
        }
        code => {
            let failure = api.failure("aclInit", Some(code));
            (Answers { devices: Err(failure.clone()), soc_name: Err(failure) }, None)
        }
    }
}
