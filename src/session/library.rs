//! The library's one piece of global state: whether it is initialised, and the table of sessions.
//!
//! Handles are slot-map keys: slot and generation. The table outlives finalise, so that a handle from
//! an earlier life never names a session of a later one.

use super::environment::Environment;
use super::instance::Instance;
use super::options::gather;
use super::process::{Use, use_library};
use super::state::Session;
use super::turn::Inside;
use crate::report::ProcessFiles;
use crate::status::{Error, Result};
use crate::sync::{Global, Mutex, MutexGuard};
use slotmap::{Key, KeyData, SlotMap};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, PoisonError};

slotmap::new_key_type! { struct SessionKey; }

#[derive(Default)]
struct Library {
    instance: Option<Arc<Instance>>,
    sessions: SlotMap<SessionKey, Arc<Session>>,
    /// The use of a whole life, while there is an instance.
    life: Option<Use>,
}

static LIBRARY: Global<Mutex<Library>> = Global::new(Mutex::default);

/// The library, locked; in this order, for a child that is forked meanwhile finds the lock taken.
struct Locked {
    library: MutexGuard<'static, Library>,
    _use: Use,
}

impl Deref for Locked {
    type Target = Library;

    fn deref(&self) -> &Library {
        &self.library
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Library {
        &mut self.library
    }
}

fn library() -> Result<Locked> {
    let in_use = use_library()?;
    Ok(Locked { library: LIBRARY.get().lock().unwrap_or_else(PoisonError::into_inner), _use: in_use })
}

/// Initialises the library with global options and the environment of this moment.
///
/// Fails with the option's error, and with [`Error::RepeatInitialize`] when it is initialised.
pub fn initialize<'a>(options: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<()> {
    let life = use_library()?;
    // This may log, and the host's log function may call anything here: no lock yet.
    let options = gather(options)?;
    let mut library = library()?;
    if library.instance.is_some() {
        return Err(Error::RepeatInitialize);
    }
    super::logging::set_level(options.get("log").map(String::as_str).filter(|v| !v.is_empty()));
    library.instance = Some(Arc::new(Instance {
        options,
        environment: Environment::read(),
        runtime: Arc::default(),
        results: ProcessFiles::default(),
    }));
    library.life = Some(life);
    Ok(())
}

/// Ends the library's life; sessions that still live are reclaimed.
///
/// Fails with [`Error::Uninitialized`], or with [`Error::Busy`] while a session is inside a call.
pub fn finalize() -> Result<()> {
    let mut library = library()?;
    if library.instance.is_none() {
        return Err(Error::Uninitialized);
    }
    let sessions: Vec<_> = library.sessions.values().cloned().collect();
    // Enter all of them first, so that a busy one leaves everything as it was.
    let entered = sessions.iter().map(|s| s.enter()).collect::<Result<Vec<_>>>()?;
    library.sessions.clear();
    library.instance = None;
    library.life = None;
    drop(library);
    entered.into_iter().for_each(Inside::close);
    // Only now: the host's log function may call anything here.
    if !sessions.is_empty() {
        log::warn!("AoeFinalize reclaimed {} session(s) that were not destroyed", sessions.len());
    }
    Ok(())
}

/// Creates a session and returns its handle, which is never 0.
pub fn create() -> Result<u64> {
    let mut library = library()?;
    let instance = library.instance.clone().ok_or(Error::Uninitialized)?;
    let key = library.sessions.insert_with_key(|key| Arc::new(Session::new(key.data().as_ffi(), instance)));
    Ok(key.data().as_ffi())
}

/// Destroys a session. Fails with [`Error::Busy`] while it is inside a call.
pub fn destroy(handle: u64) -> Result<()> {
    let mut library = library()?;
    let key = library.key(handle)?;
    let session = Arc::clone(&library.sessions[key]);
    session.enter()?.close();
    library.sessions.remove(key);
    Ok(())
}

/// The session behind a handle.
///
/// Fails with [`Error::Uninitialized`], [`Error::Forked`] or [`Error::InvalidSession`].
pub fn session(handle: u64) -> Result<Arc<Session>> {
    let library = library()?;
    let key = library.key(handle)?;
    Ok(Arc::clone(&library.sessions[key]))
}

impl Library {
    fn key(&self, handle: u64) -> Result<SessionKey> {
        if self.instance.is_none() {
            return Err(Error::Uninitialized);
        }
        let key = SessionKey::from(KeyData::from_ffi(handle));
        // from_ffi rounds foreign numbers to keys; only an exact one is a handle.
        if key.data().as_ffi() == handle && self.sessions.contains_key(key) {
            Ok(key)
        } else {
            Err(Error::InvalidSession { handle })
        }
    }
}
