//! CANN's graph compiler GE, found and asked to make an offline model of a tuned graph.

use super::ge::{COMPANIONS, GRAPH_WRAPPER, Ge, Order};
use super::places::{places, python_folders};
use super::report::Outcome;
use crate::backend::RuntimeEnv;
use std::borrow::Cow;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use super::ge::COMPILING;

/// GE with its C interface, ready to compile.
pub struct Compiler {
    ge: Ge,
    /// The library it was found in.
    path: PathBuf,
}

/// What looking for GE came to.
pub enum Search {
    /// There is none.
    Absent,
    /// There is one that cannot be used: where, and why.
    Unusable(String),
    /// There is one.
    Found(Compiler),
}

/// Options of a compilation, keys and values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// Of `aclgrphBuildInitialize`.
    pub initialize: Vec<(String, String)>,
    /// Of `aclgrphBuildModel`.
    pub build: Vec<(String, String)>,
}

/// Looks for GE's C interface: in the Python packages of an installed CANN, and wherever a runtime may be.
///
/// The first library found decides: a damaged installation is told of, not passed over.
pub fn compiler(env: &RuntimeEnv) -> Search {
    for place in python_folders(env).into_iter().chain(places(env)) {
        let path = place.path_of(GRAPH_WRAPPER);
        let unusable = |reason: String| Search::Unusable(format!("{} ({}): {reason}", path.display(), place.origin));
        let main = match place.load(&path) {
            Ok(library) => library,
            Err(Outcome::Absent) => continue,
            Err(outcome) => return unusable(outcome.to_string()),
        };
        let mut libraries = vec![main];
        let mut refused = Vec::new();
        for name in COMPANIONS {
            match place.load(&place.path_of(name)) {
                Ok(library) => libraries.push(library),
                Err(Outcome::Absent) => {}
                Err(outcome) => refused.push(outcome.to_string()),
            }
        }
        return match Ge::resolve(&libraries) {
            Ok(ge) => Search::Found(Compiler { ge, path }),
            Err(missing) => {
                let lacks = Outcome::Incomplete(missing.into_iter().map(Cow::Borrowed).collect()).to_string();
                unusable(std::iter::once(lacks).chain(refused).collect::<Vec<_>>().join("; "))
            }
        };
    }
    Search::Absent
}

impl Compiler {
    /// The library that GE was found in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Compiles an .air file to an .om file; answers the file that GE wrote, whose name ends in `_<os>_<arch>.om` where
    /// the model has code of the host. Where that fails: which function of GE's did, with its
    /// code and GE's message.
    pub fn compile(&self, air: &Path, om: &Path, options: &CompileOptions) -> Result<PathBuf, String> {
        let c_path = |path: &Path| c_text(path.as_os_str().as_bytes());
        let pairs = |list: &[(String, String)]| {
            let pair = |(key, value): &(String, String)| Ok((c_text(key.as_bytes())?, c_text(value.as_bytes())?));
            list.iter().map(pair).collect::<Result<Vec<_>, String>>()
        };
        let order = Order {
            air: &c_path(air)?,
            om_stem: &c_path(&om.with_extension(""))?,
            initialize: &pairs(&options.initialize)?,
            build: &pairs(&options.build)?,
        };
        self.ge.compile(&order).map_err(|failure| failure.to_string())?;
        if om.is_file() {
            return Ok(om.to_owned());
        }
        of_a_host(om).ok_or_else(|| format!("it reports success, but there is no `{}`", om.display()))
    }
}

/// The file `<stem>_<os>_<arch>.om` that GE writes in place of `<stem>.om` where the model has code of the host.
fn of_a_host(om: &Path) -> Option<PathBuf> {
    // `linux` is the one system that `host_env_os` takes.
    let begin = format!("{}_linux_", om.file_stem()?.to_str()?);
    let is_its = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_suffix(".om").is_some_and(|stem| stem.starts_with(&begin)) && path.is_file()
    };
    std::fs::read_dir(om.parent()?).ok()?.filter_map(|entry| Some(entry.ok()?.path())).find(is_its)
}

fn c_text(bytes: &[u8]) -> Result<CString, String> {
    CString::new(bytes).map_err(|_| format!("`{}` has a NUL byte", String::from_utf8_lossy(bytes)))
}
