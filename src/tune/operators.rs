//! Operators under way: what tuning them needs, and what is known so far.

use super::cases::Variant;
use super::outcome::OpatOutcome;
use super::settings::OpatSettings;
use super::watched::Searched;
use crate::backend::Backend;
use crate::bank::OperatorBank;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Everything operator tuning needs.
pub struct OpatJob<'a> {
    /// Name of the network.
    pub name: &'a str,
    /// The graph in every form to tune; times are summed over them.
    pub variants: &'a [Variant],
    /// Who measures.
    pub backend: &'a dyn Backend,
    /// The bank read from and written to.
    pub bank: &'a mut OperatorBank,
    /// The bank of an earlier tuning to start from (`base_result`); its records are tried early, its trials
    /// count as known.
    pub base: Option<&'a OperatorBank>,
    /// Directory of a bank for what [`OpatJob::bank`] does not take, on a full disk for one.
    pub rescue: Option<PathBuf>,
    /// Takes the records that a measurement is to decide about; without it there are none. Nothing is read from it.
    pub to_measure: Option<ToMeasure<'a>>,
    /// The caller's settings.
    pub settings: &'a OpatSettings,
    /// Set from any thread to stop.
    pub cancel: &'a AtomicBool,
}

/// A bank of its own for records that a measurement is to decide about.
pub struct ToMeasure<'a> {
    /// The bank.
    pub bank: &'a mut OperatorBank,
    /// What `TUNE_BANK_PATH` has to name for CANN to read it; `None` where it does not stay.
    pub root: Option<PathBuf>,
}

/// The job of tuning operators.
pub(super) struct Operators<'j, 'a> {
    pub job: &'j mut OpatJob<'a>,
    pub outcome: OpatOutcome,
    /// Cases recorded: the first so many.
    pub recorded: usize,
    /// Distinct operators.
    pub total: usize,
    /// Those of them whose tiling is searched: the others take no time beside them.
    pub searches: usize,
    /// By unit, what is known of the searches under way, and how often each operator is launched.
    pub under_way: BTreeMap<usize, (f64, Searched)>,
}
