//! The plug-ins of this process, by name and by path. None is ever let go: a tuning may be using it.

use super::{Functions, Plugin};
use crate::status::{Error, Result};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

static REGISTERED: RwLock<BTreeMap<String, Arc<Plugin>>> = RwLock::new(BTreeMap::new());

/// Makes a table known under the name that it gives itself, in place of an earlier one; a tuning under way keeps
/// the one it began with.
///
/// Fails with [`Error::Backend`] where the plug-in does not describe itself as it must.
pub fn register(functions: Functions) -> Result<()> {
    // The plug-in is asked without a lock held: it may call this library.
    let plugin = Arc::new(Plugin::new(functions, "a registered backend")?);
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    registered.insert(plugin.name().to_owned(), plugin);
    Ok(())
}

/// The registered plug-in of this name.
pub fn registered(name: &str) -> Option<Arc<Plugin>> {
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

/// Whether there is a registered plug-in of this name.
pub fn is_registered(name: &str) -> bool {
    registered(name).is_some()
}

/// Their names.
pub fn registered_names() -> Vec<String> {
    REGISTERED.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
}

/// The plug-in library at a path, loaded the first time it is asked for. A plain name is looked for where the
/// system's loader looks.
///
/// Fails with [`Error::Backend`] for what cannot be loaded, is no plug-in, or does not describe itself as it must.
pub fn loaded(path: &Path) -> Result<Arc<Plugin>> {
    static LOADED: Mutex<Option<HashMap<PathBuf, Arc<Plugin>>>> = Mutex::new(None);

    let origin = path.display().to_string();
    // One file under two names is loaded once by the loader itself.
    let path =
        if origin.contains('/') { path.canonicalize().unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() };
    let known = |path: &Path| {
        let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.as_ref().and_then(|loaded| loaded.get(path).cloned())
    };
    if let Some(plugin) = known(&path) {
        return Ok(plugin);
    }
    // No lock is held while the plug-in's code runs.
    let functions = Functions::load(&path).map_err(|reason| Error::Backend { backend: origin.clone(), reason })?;
    let plugin = Arc::new(Plugin::new(functions, &origin)?);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Arc::clone(loaded.get_or_insert_default().entry(path).or_insert(plugin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_place_of_a_library_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.so");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        let error = loaded(&pipe).unwrap_err().to_string();
        assert!(error.contains("pipe.so is not a regular file"), "{error}");
    }
}
