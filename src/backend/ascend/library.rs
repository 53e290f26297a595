//! Loading libraries, and asking a runtime what it is.

use super::codes;
use super::report::CallFailure;
use crate::backend::check_library;
use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};
use std::borrow::Cow;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Without these a library cannot even be asked what it is.
pub const ASKING: [&str; 4] = ["aclInit", "aclFinalize", "aclrtGetDeviceCount", "aclrtGetSocName"];

/// One function of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol {
    /// C name.
    pub name: &'static str,
    /// Libraries of which one holds it where `libascendcl.so` does not.
    pub libraries: &'static [&'static str],
}

type InitFn = unsafe extern "C" fn(*const c_char) -> c_int;
type FinalizeFn = unsafe extern "C" fn() -> c_int;
type FinalizeReferenceFn = unsafe extern "C" fn(*mut u64) -> c_int;
type TextFn = unsafe extern "C" fn() -> *const c_char;
type DeviceCountFn = unsafe extern "C" fn(*mut u32) -> c_int;
type VersionFn = unsafe extern "C" fn(*mut i32, *mut i32, *mut i32) -> c_int;

/// A loaded library. It stays loaded for the life of the process: a runtime leaves threads and
/// thread-local destructors behind that must not lose their code.
pub struct Loaded(ManuallyDrop<Library>);

impl Loaded {
    /// Loads a library by path, or by plain name through the system's loader; the loader's message
    /// when that fails, or what lies there that is no file.
    pub fn open(name: &Path) -> Result<Loaded, String> {
        check_library(name)?;
        Loaded::with_flags(name.as_os_str(), RTLD_LAZY | RTLD_LOCAL)
    }

    /// A library that the process has loaded already under this name (its SONAME).
    pub fn in_process(name: &str) -> Option<Loaded> {
        Loaded::with_flags(OsStr::new(name), RTLD_LAZY | RTLD_LOCAL | libc::RTLD_NOLOAD).ok()
    }

    fn with_flags(name: &OsStr, flags: c_int) -> Result<Loaded, String> {
        // SAFETY: loading runs the library's constructors. The name is one that CANN's runtime has and
        // the place one that the user's environment, the system's loader or CANN's installer names;
        // running the code found there is what was asked for.
        let library = unsafe { Library::open(Some(name), flags) };
        library.map(|library| Loaded(ManuallyDrop::new(library))).map_err(|error| {
            // The loader's own words are the source of libloading's error.
            std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
        })
    }

    /// The file that the library was loaded from, where the system tells: by the name it was found under, for its
    /// companions lie beside that, wherever a link leads.
    pub fn file(&self) -> Option<PathBuf> {
        let name = name_of(self.address("aclInit")?)?;
        std::path::absolute(name).ok().filter(|path| path.exists())
    }

    /// Whether the library, or one that it depends on, has this function.
    pub fn has(&self, name: &str) -> bool {
        self.address(name).is_some()
    }

    /// The function of this name.
    ///
    /// # Safety
    /// `F` is the function pointer type of the prototype that the function of this name has.
    pub unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*const c_void>(), "no function pointer") };
        // SAFETY: the caller's promise.
        unsafe { self.0.get::<F>(name) }.ok().map(|symbol| *symbol)
    }

    /// Where a symbol lies, as a number to look at.
    fn address(&self, name: &str) -> Option<*const c_void> {
        // SAFETY: whatever the symbol is, its address is one; nothing is read through it.
        unsafe { self.function(name) }
    }
}

/// The functions that asking needs, from a library that is never unloaded.
pub struct Api {
    init: InitFn,
    finalize: FinalizeFn,
    device_count: DeviceCountFn,
    soc_name: TextFn,
    /// Of the reference-counted generations only.
    finalize_reference: Option<FinalizeReferenceFn>,
    version: Option<VersionFn>,
    recent_error: Option<TextFn>,
}

impl Api {
    /// Resolves the functions; the names of those missing when one of [`ASKING`] is.
    pub fn resolve(library: &Loaded) -> Result<Api, Vec<Cow<'static, str>>> {
        // SAFETY: the fields have the types of the prototypes in ACL's documentation.
        let api = unsafe { Api::resolved(library) };
        api.ok_or_else(|| ASKING.into_iter().filter(|name| !library.has(name)).map(Cow::Borrowed).collect())
    }

    /// # Safety
    /// The library's functions of these names have ACL's prototypes.
    unsafe fn resolved(library: &Loaded) -> Option<Api> {
        // SAFETY: the caller's promise, for each.
        unsafe {
            Some(Api {
                init: library.function("aclInit")?,
                finalize: library.function("aclFinalize")?,
                device_count: library.function("aclrtGetDeviceCount")?,
                soc_name: library.function("aclrtGetSocName")?,
                finalize_reference: library.function("aclFinalizeReference"),
                version: library.function("aclrtGetVersion"),
                recent_error: library.function("aclGetRecentErrMsg"),
            })
        }
    }

    /// `aclInit` without a configuration; its code, which may be [`codes::REPEAT_INITIALIZE`].
    pub fn init(&self) -> i32 {
        // SAFETY: the prototype is `aclError aclInit(const char *)`, and NULL means defaults.
        unsafe { (self.init)(std::ptr::null()) }
    }

    /// Undoes one [`Api::init`] that returned `init_code`, and nothing that the host did.
    pub fn undo_init(&self, init_code: i32) -> Result<(), CallFailure> {
        let (function, code) = match self.finalize_reference {
            // Counted generations count the repeated call too.
            Some(finalize_reference) => {
                let mut count = 0;
                // SAFETY: `aclError aclFinalizeReference(uint64_t *)` writes one u64.
                ("aclFinalizeReference", unsafe { finalize_reference(&raw mut count) })
            }
            None if init_code == codes::SUCCESS => {
                // SAFETY: `aclError aclFinalize()`; the initialisation is ours.
                ("aclFinalize", unsafe { (self.finalize)() })
            }
            None => return Ok(()),
        };
        if code == codes::SUCCESS { Ok(()) } else { Err(self.failure(function, Some(code))) }
    }

    /// Number of devices.
    pub fn device_count(&self) -> Result<u32, CallFailure> {
        let mut count = 0u32;
        // SAFETY: `aclError aclrtGetDeviceCount(uint32_t *)` writes one u32.
        match unsafe { (self.device_count)(&raw mut count) } {
            codes::SUCCESS => Ok(count),
            code => Err(self.failure("aclrtGetDeviceCount", Some(code))),
        }
    }

    /// SoC name of the devices.
    pub fn soc_name(&self) -> Result<String, CallFailure> {
        // SAFETY: `const char *aclrtGetSocName()`.
        let name = text(unsafe { (self.soc_name)() });
        if name.is_empty() { Err(self.failure("aclrtGetSocName", None)) } else { Ok(name) }
    }

    /// ACL version, where the runtime tells it.
    pub fn version(&self) -> Option<(i32, i32, i32)> {
        let version = self.version?;
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: `aclError aclrtGetVersion(int32_t *, int32_t *, int32_t *)` writes three i32.
        let code = unsafe { version(&raw mut major, &raw mut minor, &raw mut patch) };
        (code == codes::SUCCESS).then_some((major, minor, patch))
    }

    /// A failed call, with the runtime's message of this thread.
    pub fn failure(&self, function: &'static str, code: Option<i32>) -> CallFailure {
        // SAFETY: `const char *aclGetRecentErrMsg()`.
        let message = self.recent_error.map_or_else(String::new, |recent| text(unsafe { recent() }));
        CallFailure { function: function.into(), code, message: message.trim().to_owned() }
    }
}

/// Copies a text that the runtime has just returned; empty for NULL.
pub fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the runtime's texts are NUL-terminated and stay valid until its next call on this
    // thread; it is copied at once.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// The file that holds this library's own code: `libaoe.so`, or a program that it is linked into.
pub fn own_path() -> Option<PathBuf> {
    // A program is named as it was called, which may be a name to be looked up.
    let name = name_of(own_path as *const c_void)?;
    std::fs::canonicalize(name).ok().or_else(|| std::env::current_exe().ok())
}

/// The file that a function was loaded from, as the loader calls it.
fn name_of(function: *const c_void) -> Option<PathBuf> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` takes any address and fills the structure when it finds it in a library; zeroed, the
    // structure is a valid one.
    let found = unsafe {
        if libc::dladdr(function, found.as_mut_ptr()) == 0 {
            return None;
        }
        found.assume_init()
    };
    if found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a NUL-terminated name that lives as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_place_of_a_library_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("libascendcl.so");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        let message = Loaded::open(&pipe).err().unwrap();
        assert!(message.contains("libascendcl.so is not a regular file"), "{message}");
    }
}
