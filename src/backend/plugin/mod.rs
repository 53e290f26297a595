//! Backends of others: libraries that are loaded by path, and tables that a program registers.
//!
//! | file | holds |
//! |---|---|
//! | `table` | what crosses the border, as C sees it |
//! | `fields` | JSON as named values |
//! | `functions` | the calls, and loading a library; all `unsafe` code |
//! | `registry` | the plug-ins of this process |

mod fields;
mod functions;
mod registry;
pub mod table;

pub use functions::Functions;
pub use registry::{is_registered, loaded, register, registered, registered_names};

use super::gate::Gate;
use super::{Backend, Description, Measure, Measurement};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{Schedule, Workload, canonical_json};
use fields::Fields;
use functions::Unmeasured;
use serde_json::json;
use std::ffi::CString;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Longest name of a plug-in, in bytes.
const MAX_NAME: usize = 64;

/// What a time can be, in microseconds: from a picosecond to eleven days. Sums and quotients of such are numbers.
const TIMES_US: RangeInclusive<f64> = 1e-6..=1e12;

/// Names that mean something else as values of the option `backend`.
const RESERVED: [&str; 3] = ["auto", "simulator", "ascend"];

/// A plug-in that has said what it is.
#[derive(Debug)]
pub struct Plugin {
    functions: Functions,
    description: Description,
    soc: Soc,
    parallel: Option<NonZeroUsize>,
    measuring_time: Option<Duration>,
    gate: Gate,
}

impl Plugin {
    /// Asks a plug-in what it is. `origin` names it in messages: its path, or what registered it.
    ///
    /// Fails with [`Error::Backend`] for what it cannot be, and as [`Soc::load`] does for its `soc`.
    fn new(functions: Functions, origin: &str) -> Result<Plugin> {
        let refused = |reason| Error::Backend { backend: origin.to_owned(), reason };
        let answer = functions.describe().map_err(refused)?;
        check_name(&answer.name).map_err(refused)?;
        if answer.measuring_us != 0.0 && !TIMES_US.contains(&answer.measuring_us) {
            return Err(refused(format!("measuring_us = {} is no time", answer.measuring_us)));
        }
        let soc = if answer.soc.trim_start().starts_with('{') {
            Soc::described(&answer.soc, Path::new(origin))
        } else {
            Soc::find(&answer.soc)
        };
        let parallel = NonZeroUsize::new(answer.parallel as usize);
        Ok(Plugin {
            functions,
            soc: soc.map_err(|error| refused(format!("its `soc`: {error}")))?,
            description: Description {
                name: answer.name,
                detail: answer.detail,
                noisy: answer.noisy,
                is_simulated: false,
            },
            parallel,
            measuring_time: (answer.measuring_us > 0.0).then(|| Duration::from_secs_f64(answer.measuring_us / 1e6)),
            gate: Gate::new(parallel),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// The part that it measures.
    pub fn soc(&self) -> &Soc {
        &self.soc
    }
}

/// Whether a name can stand in the option `backend`, in a report and in a file.
fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) || name.contains(".so") {
        return Err(format!(
            "its name `{}` is not 1 to {MAX_NAME} letters, digits, `-`, `_` and `.` without `.so`",
            name.escape_debug()
        ));
    }
    if RESERVED.contains(&name) {
        return Err(format!("its name `{name}` is another backend's"));
    }
    Ok(())
}

/// A plug-in as a tuning uses it: with the SoC that the caller wants.
pub struct PluginBackend {
    plugin: Arc<Plugin>,
    soc: Soc,
}

impl PluginBackend {
    /// A plug-in that measures for a SoC.
    pub fn new(plugin: Arc<Plugin>, soc: Soc) -> PluginBackend {
        PluginBackend { plugin, soc }
    }
}

impl Backend for PluginBackend {
    fn describe(&self) -> Description {
        self.plugin.description.clone()
    }

    fn soc(&self) -> &Soc {
        &self.soc
    }

    fn measuring_time(&self) -> Option<Duration> {
        self.plugin.measuring_time
    }

    fn parallel(&self) -> Option<NonZeroUsize> {
        self.plugin.parallel
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        let op_type = CString::new(workload.op_type())
            .map_err(|_| Error::Workload { workload: workload.to_string(), reason: "its type holds a NUL".into() })?;
        let json = canonical_json(workload);
        Ok(Box::new(Prepared { plugin: &self.plugin, op_type, fields: Fields::of(&json), workload: json }))
    }
}

/// One workload, taken apart once.
struct Prepared<'a> {
    plugin: &'a Plugin,
    op_type: CString,
    workload: serde_json::Value,
    fields: Fields,
}

impl Prepared<'_> {
    fn time_us(&self, schedule: &Schedule) -> Result<f64, Unmeasured> {
        let schedule = serde_json::to_value(schedule).map_err(|error| error.to_string())?;
        let fields = Fields::of(&schedule);
        let whole = json!({"op": self.workload_op(), "workload": self.workload, "schedule": schedule});
        // JSON escapes a NUL, so that the text holds none.
        let text = CString::new(whole.to_string()).map_err(|error| error.to_string())?;
        let _turn = self.plugin.gate.enter();
        let us = self.plugin.functions.measure(&self.op_type, &self.fields, &fields, &text)?;
        if TIMES_US.contains(&us) {
            Ok(us)
        } else {
            Err(Unmeasured::Candidate(format!("`measure` answered {us} us, which is no time")))
        }
    }

    fn workload_op(&self) -> &str {
        self.op_type.to_str().unwrap_or_default()
    }
}

impl Measure for Prepared<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Measurement {
        match self.time_us(schedule) {
            Ok(us) => Measurement::Time { us },
            Err(Unmeasured::Candidate(why)) => {
                Measurement::Failed { reason: format!("backend {}: {why}", self.plugin.name()) }
            }
            Err(Unmeasured::Lost(reason)) => Measurement::Ended { reason },
        }
    }
}
