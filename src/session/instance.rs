//! What `AoeInitialize` fixed for the life that it begins.

use super::environment::Environment;
use super::options::OptionMap;
use crate::backend::ascend::KeptAnswer;
use crate::report::ProcessFiles;
use std::sync::Arc;

/// What `AoeInitialize` fixed.
#[derive(Debug)]
pub struct Instance {
    /// Global options.
    pub options: OptionMap,
    /// The environment at that moment.
    pub environment: Environment,
    /// What the runtime of this machine answered, once it was asked.
    pub runtime: Arc<KeptAnswer>,
    /// Result files that the tunings of this life share.
    pub results: ProcessFiles,
}
