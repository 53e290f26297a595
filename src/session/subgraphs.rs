//! The subgraph job of a tuning call: its bank, its state in the workspace, and what it leaves in the graph.

use super::live::Live;
use super::options::{NEWEST, NEWEST_IF_ANY};
use super::settings::Settings;
use super::state::Session;
use super::tuned_graph::set_strategies;
use super::work::Work;
use super::workspace;
use crate::backend::Backend;
use crate::bank::subgraph::SubgraphBank;
use crate::bank::{BankPaths, Reader};
use crate::lower;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tune::Variant;
use crate::tune::sgat::{SgatJob, SgatOutcome, State, fused, sgat, state_file};
use std::collections::BTreeMap;
use std::path::PathBuf;

impl Session {
    /// Tunes the subgraphs of the variants, whose kernels are then those that CANN will run: a strategy that it does not
    /// read changes none of them. Their graphs say what was found for each node. The reports hear how they
    /// ran before. The outcome may be unfinished,
    /// after a cancel; the state is to be removed when all that the tuning leaves is written.
    pub(super) fn tune_subgraphs(
        &self,
        work: &mut Work,
        paths: &BankPaths,
        live: &mut Live<'_>,
    ) -> Result<(SgatOutcome, State)> {
        let Work { settings, backend, variants, .. } = work;
        let soc = backend.soc();
        let name = variants.first().map(|variant| variant.graph.name.clone()).unwrap_or_default();
        let mut bank = SubgraphBank::open(paths, soc).with_patience(self.patience());
        bank.check_writable()?;
        let mut state = match interrupted(settings, &name)? {
            Some(directory) => State::reload(&directory, soc, &settings.sgat)?,
            None => State::new(live.workspace(settings, &name)?.directory(), soc, &settings.sgat),
        };
        state.check_writable()?;
        let mut job = SgatJob {
            name: &name,
            variants,
            lowering: &settings.lowering(),
            soc,
            bank: &mut bank,
            state: &mut state,
            settings: &settings.sgat,
            cancel: self.cancelled(),
        };
        let found = sgat(&mut job, live)?;
        if found.outcome.tuning.finished {
            for ((variant, marks), lowered) in variants.iter_mut().zip(&found.marks).zip(found.taken) {
                set_strategies(&mut variant.graph, &variant.lowered, marks);
                variant.lowered = lowered;
            }
            live.note_before(found.before);
        }
        Ok((found.outcome, state))
    }

    /// The subgraph bank: for it the option beats `TUNE_BANK_PATH`.
    pub(super) fn subgraph_paths(&self, settings: &Settings, backend: &dyn Backend) -> Result<BankPaths> {
        let (environment, soc) = (&self.instance.environment, backend.soc());
        let named = settings.mdl_bank_path.as_deref();
        let places = environment.bank_places(None);
        let aoe = BankPaths::subgraph(Reader::Tuner, &places, named, soc)
            .map(|paths| paths.over(environment.toolkit().graph_banks()));
        // Strategies are the simulator's, whoever measures operators; but they belong to these.
        settings.destination(&backend.describe(), named).paths(environment, aoe, BankPaths::graphs_in)
    }
}

/// Has the variants run as CANN fuses them by itself, where no tuning of subgraphs decided that.
pub fn fuse_by_default(variants: &mut [Variant], settings: &Settings, soc: &Soc) -> Result<()> {
    for variant in variants {
        variant.lowered = fused(&variant.graph, &variant.lowered, soc, &settings.lowering())?;
    }
    Ok(())
}

/// The passes that made kernels of the first variant one.
pub fn ub_fusion(variants: &[Variant]) -> Vec<lower::Fused> {
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    for pass in variants.iter().take(1).flat_map(|v| &v.lowered.kernels).filter_map(|kernel| kernel.pass) {
        *counts.entry(pass).or_default() += 1;
    }
    counts.into_iter().map(|(pass, times)| lower::Fused { pass, match_times: times, effect_times: times }).collect()
}

/// Whether a text is the time in a file name, `20261231_235959999`; the name of a network may go on behind another's.
fn is_timestamp(text: &str) -> bool {
    let are_digits = |part: &str, count| part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once('_').is_some_and(|(day, time)| are_digits(day, 8) && are_digits(time, 9))
}

/// With `reload` the directory of the interrupted tuning to go on from; `None` where the tuning begins anew.
///
/// Fails with [`Error::Option`] where there is none to go on from.
fn interrupted(settings: &Settings, graph: &str) -> Result<Option<PathBuf>> {
    let missing = |reason: String| Error::option("reload", reason);
    match settings.reload.as_deref() {
        None => Ok(None),
        Some(job) if ![NEWEST, NEWEST_IF_ANY].iter().any(|word| job.as_os_str() == *word) => {
            let found = state_file(job).is_file();
            let reason = format!("`{}` holds no interrupted subgraph tuning", job.display());
            if found { Ok(Some(job.to_owned())) } else { Err(missing(reason)) }
        }
        Some(word) => {
            let (workspace, prefix) = workspace::jobs(settings, graph);
            let jobs = std::fs::read_dir(&workspace).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
            let is_ours = |job: &PathBuf| {
                let name = job.file_name().unwrap_or_default().to_string_lossy();
                name.strip_prefix(&prefix).is_some_and(is_timestamp) && state_file(job).is_file()
            };
            // Names end in the time.
            let newest = jobs.filter(is_ours).max();
            let reason = format!("{} holds no interrupted subgraph tuning of `{graph}`", workspace.display());
            if newest.is_none() && word.as_os_str() == NEWEST_IF_ANY {
                log::warn!("{reason}: it begins anew");
                return Ok(None);
            }
            newest.map(Some).ok_or_else(|| missing(reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn a_time_in_a_name_is_not_the_rest_of_a_longer_name() {
        assert!(is_timestamp("20261122_095450974"));
        for other in ["b8_20261122_095450974", "20261122", "20261122_", "20261122_09545097x", "2026112_0954509741", ""]
        {
            assert!(!is_timestamp(other), "{other}");
        }
    }
}
