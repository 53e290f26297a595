//! The result files, from the outcome types of `tune`.
//!
//! [`ResultFile`] is CANN's `aoe_result_opat_*.json` or `aoe_result_sgat_*.json`, or our `aoe_result_gdat_*.json`, written live; [`full_report`] is ours and says
//! everything. [`Folder`] is the results folder that option `output` names. `docs/results.md` describes the fields of all.

mod aoe;
mod counts;
mod earlier;
mod explain;
mod figures;
mod file;
mod folder;
mod full;
mod fusions;
mod gains;
mod gdat;
mod gdat_timeline;
mod html;
mod kernel;
pub mod model;
mod named_file;
mod operators;
mod process;
mod runs;
mod sections;
mod sgat;
mod shell;
mod status;
mod summary;
#[cfg(test)]
mod tests;

pub use earlier::Earlier;
pub use figures::{counted, gain, improvement, time};
pub use file::ResultFile;
pub use folder::Folder;
pub use full::full_report;
pub use fusions::Fusions;
pub use gdat_timeline::gdat_timeline;
pub use html::{Pages, pages};
pub use process::ProcessFiles;
pub use runs::Runs;
pub use sections::result;
pub use shell::quoted;

use crate::bank::BankPaths;
use crate::graph::infer::LeftOut;
use crate::soc::Soc;
use crate::tune::Tuned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a report needs to know besides the outcome.
#[derive(Debug, Clone)]
pub struct Context {
    /// Directory of the result file: `ASCEND_WORK_PATH`, else the working directory.
    pub work_path: PathBuf,
    /// Why this backend was chosen.
    pub backend_note: String,
    /// Where records are kept.
    pub bank: BankPaths,
    /// What `TUNE_BANK_PATH` has to name for CANN to read the bank, where that lies in the work path.
    pub bank_root: Option<PathBuf>,
    /// Whether nothing is to stay.
    pub dry_run: bool,
    /// The SoC as it was measured, with what the caller changed; `None` leaves the bounds of the
    /// kernels out.
    pub soc: Option<Soc>,
    /// Where records of subgraphs are kept, where these are tuned.
    pub subgraph_bank: Option<PathBuf>,
    /// Nodes that were left out because nothing tells the sizes of what they read or write.
    pub left_out: Vec<LeftOut>,
    /// The timeline of the gradients, once it is written.
    pub timeline: Option<PathBuf>,
    /// CANN's summary of the gradients, once it is written.
    pub gradient_summary: Option<PathBuf>,
    /// The files of the tuned model, once they are written; of several gears those of each, in their order.
    pub tuned_models: Vec<TunedModel>,
    /// Where the profiles before and after lie, once they are written.
    pub profiles: Option<[PathBuf; 2]>,
    /// What one run of the network launches before and after, once that is known.
    pub runs: Option<Runs>,
    /// What CANN's fusion passes did to the network before it was tuned, where that is known.
    pub fusions: Option<Fusions>,
    /// Options that were given, by key.
    pub options: BTreeMap<String, String>,
    /// When the tuning began, as the names of its files have it.
    pub began: String,
    /// Runs that ended in the same folder before, the newest first.
    pub earlier: Vec<Earlier>,
    /// The results folder, where one was asked for.
    pub folder: Option<Folder>,
}

/// The files of a tuned model.
#[derive(Debug, Clone)]
pub struct TunedModel {
    /// GE's IR.
    pub air: PathBuf,
    /// The same compiled by GE, or in the om container.
    pub om: PathBuf,
    /// Who wrote the om.
    pub om_by: OmWriter,
    /// Which of several gears they hold.
    pub gear: Option<String>,
}

/// Who wrote an .om file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OmWriter {
    /// This library: a container of the IR. Why GE, which is installed, did not; `None` where none is.
    Libaoe(Option<String>),
    /// GE, found in this library: a compiled model.
    Ge(PathBuf),
}

impl TunedModel {
    /// What the files hold, for those who would load them, after this tuning.
    pub fn content(&self, tuned: Tuned<'_>) -> String {
        let air = match tuned {
            Tuned::Gradients(_) => "GE IR with segments of the gradients as attributes",
            _ => "GE IR with scopes and tilings as attributes",
        };
        let gear = self.gear.as_ref().map(|gear| format!("; for {gear}")).unwrap_or_default();
        let content = match &self.om_by {
            OmWriter::Libaoe(None) => format!("{air}; no compiled kernels"),
            OmWriter::Libaoe(Some(reason)) => format!("{air}; no compiled kernels: GE was not used, {reason}"),
            OmWriter::Ge(library) => format!("{air}; the om compiled by GE, {}", library.display()),
        };
        content + &gear
    }
}

impl Context {
    /// A context without SoC and options.
    pub fn new(work_path: &Path, backend_note: impl Into<String>, bank: &BankPaths) -> Context {
        Context {
            work_path: work_path.to_owned(),
            backend_note: backend_note.into(),
            bank: bank.clone(),
            bank_root: None,
            dry_run: false,
            soc: None,
            subgraph_bank: None,
            left_out: Vec::new(),
            timeline: None,
            gradient_summary: None,
            tuned_models: Vec::new(),
            profiles: None,
            runs: None,
            fusions: None,
            options: BTreeMap::new(),
            began: String::new(),
            earlier: Vec::new(),
            folder: None,
        }
    }
}
