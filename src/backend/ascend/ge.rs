//! The C interface of GE's offline compiler, called. The `unsafe` code of compiling is here.
//!
//! CANN's `ge` package for Python brings these functions: older ones all of them in [`GRAPH_WRAPPER`], later ones in
//! a library for each purpose.

use super::library::Loaded;
use super::report::CallFailure;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// The library of every generation of the package.
pub const GRAPH_WRAPPER: &str = "libgraph_wrapper.so";
/// Libraries that hold what the first does not, in later generations.
pub const COMPANIONS: [&str; 2] = ["liboffline_compile_wrapper.so", "libge_runtime_wrapper.so"];

/// Without these nothing can be compiled.
pub const COMPILING: [&str; 8] = [
    "GeApiWrapper_Graph_CreateGraph",
    "GeApiWrapper_Graph_DestroyGraph",
    "GeApiWrapper_Graph_LoadFromAir",
    "GeApiWrapper_OfflineCompile_BuildInitialize",
    "GeApiWrapper_OfflineCompile_BuildFinalize",
    "GeApiWrapper_OfflineCompile_BuildModel",
    "GeApiWrapper_OfflineCompile_SaveModel",
    "GeApiWrapper_ModelBuffer_Destroy",
];

/// `GRAPH_SUCCESS`.
const SUCCESS: u32 = 0;

type CreateGraphFn = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type DestroyFn = unsafe extern "C" fn(*const c_void);
type LoadFn = unsafe extern "C" fn(*mut c_void, *const c_char) -> u32;
type InitializeFn = unsafe extern "C" fn(*const *const c_char, *const *const c_char, c_int) -> u32;
type FinalizeFn = unsafe extern "C" fn();
type BuildFn =
    unsafe extern "C" fn(*mut c_void, *const *const c_char, *const *const c_char, c_int, *mut *mut c_void) -> u32;
type SaveFn = unsafe extern "C" fn(*const c_char, *const c_void) -> u32;
type IsInitializedFn = unsafe extern "C" fn() -> bool;
type MessageFn = unsafe extern "C" fn() -> *mut c_char;
type FreeFn = unsafe extern "C" fn(*mut c_char);

/// The functions, from libraries that are never unloaded.
pub struct Ge {
    create_graph: CreateGraphFn,
    destroy_graph: DestroyFn,
    load_from_air: LoadFn,
    initialize: InitializeFn,
    finalize: FinalizeFn,
    build: BuildFn,
    save: SaveFn,
    destroy_model: DestroyFn,
    /// Whether GE runs in this process already; of later generations.
    is_initialized: Option<IsInitializedFn>,
    /// GE's last message and how to give it back, of later generations.
    message: Option<(MessageFn, FreeFn)>,
}

/// What is to be compiled, and how. Options are keys and values.
pub struct Order<'a> {
    /// The .air file.
    pub air: &'a CStr,
    /// The .om file without its suffix, which GE adds.
    pub om_stem: &'a CStr,
    /// Of `aclgrphBuildInitialize`.
    pub initialize: &'a [(CString, CString)],
    /// Of `aclgrphBuildModel`.
    pub build: &'a [(CString, CString)],
}

impl Ge {
    /// Resolves the functions, each from the first of the libraries that has it; the names of those missing when
    /// one of [`COMPILING`] is.
    pub fn resolve(libraries: &[Loaded]) -> Result<Ge, Vec<&'static str>> {
        // SAFETY: the fields have the types of the wrapper's prototypes.
        unsafe { Ge::resolved(libraries) }.ok_or_else(|| {
            COMPILING.into_iter().filter(|name| !libraries.iter().any(|library| library.has(name))).collect()
        })
    }

    /// # Safety
    /// The libraries' functions of these names have the prototypes of GE's wrapper.
    unsafe fn resolved(libraries: &[Loaded]) -> Option<Ge> {
        /// # Safety
        /// As [`Loaded::function`].
        unsafe fn find<F: Copy>(libraries: &[Loaded], name: &str) -> Option<F> {
            // SAFETY: the caller's promise.
            libraries.iter().find_map(|library| unsafe { library.function(name) })
        }
        // SAFETY: the caller's promise, for each.
        unsafe {
            Some(Ge {
                create_graph: find(libraries, "GeApiWrapper_Graph_CreateGraph")?,
                destroy_graph: find(libraries, "GeApiWrapper_Graph_DestroyGraph")?,
                load_from_air: find(libraries, "GeApiWrapper_Graph_LoadFromAir")?,
                initialize: find(libraries, "GeApiWrapper_OfflineCompile_BuildInitialize")?,
                finalize: find(libraries, "GeApiWrapper_OfflineCompile_BuildFinalize")?,
                build: find(libraries, "GeApiWrapper_OfflineCompile_BuildModel")?,
                save: find(libraries, "GeApiWrapper_OfflineCompile_SaveModel")?,
                destroy_model: find(libraries, "GeApiWrapper_ModelBuffer_Destroy")?,
                is_initialized: find(libraries, "GeApiWrapper_IsGEInitialized"),
                message: find(libraries, "GeApiWrapper_GEGetErrorMsg").zip(find(libraries, "GeApiWrapper_FreeString")),
            })
        }
    }

    /// Compiles. What it initialised it finalises, whatever happens; a GE that the host runs is left alone.
    pub fn compile(&self, order: &Order<'_>) -> Result<(), CallFailure> {
        /// GE's build environment is one for the process.
        static BUILDING: Mutex<()> = Mutex::new(());
        let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `bool GeApiWrapper_IsGEInitialized()`.
        let is_hosts = self.is_initialized.is_some_and(|is_initialized| unsafe { is_initialized() });
        let _environment = if is_hosts { None } else { Some(self.environment(order.initialize)?) };
        let graph = Owned { pointer: self.load(order.air)?, destroy: self.destroy_graph };
        let model = Owned { pointer: self.model(&graph, order.build)?, destroy: self.destroy_model };
        // SAFETY: `graphStatus GeApiWrapper_OfflineCompile_SaveModel(const char *, const ModelBufferData *)`; the
        // model is GE's and alive.
        let code = unsafe { (self.save)(order.om_stem.as_ptr(), model.pointer) };
        self.check("GeApiWrapper_OfflineCompile_SaveModel", code)
    }

    fn environment(&self, options: &[(CString, CString)]) -> Result<Environment<'_>, CallFailure> {
        let options = Options::of(options);
        // SAFETY: `graphStatus GeApiWrapper_OfflineCompile_BuildInitialize(char **keys, char **values, int n)`; the
        // arrays have n texts each, which GE copies.
        let code = unsafe { (self.initialize)(options.keys.as_ptr(), options.values.as_ptr(), options.count()) };
        self.check("GeApiWrapper_OfflineCompile_BuildInitialize", code)?;
        Ok(Environment(self))
    }

    fn load(&self, air: &CStr) -> Result<*mut c_void, CallFailure> {
        // SAFETY: `Graph *GeApiWrapper_Graph_CreateGraph(const char *name)`.
        let pointer = unsafe { (self.create_graph)(c"tuned".as_ptr()) };
        if pointer.is_null() {
            return Err(self.failure("GeApiWrapper_Graph_CreateGraph", None));
        }
        let graph = Owned { pointer, destroy: self.destroy_graph };
        // SAFETY: `graphStatus GeApiWrapper_Graph_LoadFromAir(Graph *, const char *)`; the graph is GE's and alive.
        let code = unsafe { (self.load_from_air)(graph.pointer, air.as_ptr()) };
        self.check("GeApiWrapper_Graph_LoadFromAir", code)?;
        Ok(graph.release())
    }

    fn model(&self, graph: &Owned, options: &[(CString, CString)]) -> Result<*mut c_void, CallFailure> {
        let options = Options::of(options);
        let mut model = null_mut();
        // SAFETY: `graphStatus GeApiWrapper_OfflineCompile_BuildModel(Graph *, char **keys, char **values, int n,
        // ModelBufferData **)`; the arrays have n texts each, and the model's address is written to `model`.
        let code = unsafe {
            let (keys, values) = (options.keys.as_ptr(), options.values.as_ptr());
            (self.build)(graph.pointer, keys, values, options.count(), &raw mut model)
        };
        self.check("GeApiWrapper_OfflineCompile_BuildModel", code)?;
        if model.is_null() { Err(self.failure("GeApiWrapper_OfflineCompile_BuildModel", None)) } else { Ok(model) }
    }

    fn check(&self, function: &'static str, code: u32) -> Result<(), CallFailure> {
        if code == SUCCESS { Ok(()) } else { Err(self.failure(function, Some(code.cast_signed()))) }
    }

    /// A failed call, with GE's own message.
    fn failure(&self, function: &'static str, code: Option<i32>) -> CallFailure {
        let message = self.message.map_or_else(String::new, |(message, free)| {
            // SAFETY: `char *GeApiWrapper_GEGetErrorMsg()` gives a text of its own or NULL, which
            // `void GeApiWrapper_FreeString(char *)` takes back; in between it is copied.
            unsafe {
                let text = message();
                let copy = super::library::text(text);
                free(text);
                copy
            }
        });
        CallFailure { function: function.into(), code, message: message.trim().to_owned() }
    }
}

/// GE's build environment while it is ours.
struct Environment<'a>(&'a Ge);

impl Drop for Environment<'_> {
    fn drop(&mut self) {
        // SAFETY: `void GeApiWrapper_OfflineCompile_BuildFinalize()`, after our own BuildInitialize.
        unsafe { (self.0.finalize)() }
    }
}

/// An object of GE's that is destroyed with this.
struct Owned {
    pointer: *mut c_void,
    destroy: DestroyFn,
}

impl Owned {
    /// Hands the object on.
    fn release(self) -> *mut c_void {
        std::mem::ManuallyDrop::new(self).pointer
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the pointer is from the function that this one belongs to, and nobody else has it.
        unsafe { (self.destroy)(self.pointer) }
    }
}

/// Options as C has them.
struct Options {
    keys: Vec<*const c_char>,
    values: Vec<*const c_char>,
}

impl Options {
    /// Points into the texts, which must outlive it.
    fn of(options: &[(CString, CString)]) -> Options {
        let (keys, values) = options.iter().map(|(key, value)| (key.as_ptr(), value.as_ptr())).unzip();
        Options { keys, values }
    }

    fn count(&self) -> c_int {
        self.keys.len() as c_int
    }
}
