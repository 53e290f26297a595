//! The closed loop of subgraph tuning: what the bank knows, else the best strategy that there is.

use super::network::{Network, Role};
use super::outcome::SgatOutcome;
use super::record::Mark;
use super::run::Run;
use super::settings::SgatSettings;
use super::state::State;
use crate::bank::subgraph::SubgraphBank;
use crate::lower::{self, Lowered};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tune::{Observer, Variant};
use std::sync::atomic::AtomicBool;

/// Everything subgraph tuning needs.
pub struct SgatJob<'a> {
    /// Name of the network.
    pub name: &'a str,
    /// The graph in every form to tune; times are summed over them.
    pub variants: &'a [Variant],
    /// How the variants were lowered.
    pub lowering: &'a lower::Settings,
    /// The SoC tuned for.
    pub soc: &'a Soc,
    /// The bank read from and written to.
    pub bank: &'a mut SubgraphBank,
    /// What an interrupted tuning had found, and where this one keeps the same.
    pub state: &'a mut State,
    /// The caller's settings.
    pub settings: &'a SgatSettings,
    /// Set from any thread to stop.
    pub cancel: &'a AtomicBool,
}

/// What subgraph tuning leaves behind.
#[derive(Debug)]
pub struct Sgat {
    /// For reports.
    pub outcome: SgatOutcome,
    /// The kernels of each variant with all that was found. Where it was interrupted, what was not dealt with runs by
    /// default.
    pub lowered: Vec<Lowered>,
    /// The same with the strategies alone that CANN reads: as CANN will run it, for operator tuning.
    pub taken: Vec<Lowered>,
    /// The kernels of each variant as they ran before.
    pub before: Vec<Lowered>,
    /// What the strategies say of each kernel of the first variant, and its kernels as they were.
    pub marks: Vec<Mark>,
}

/// Tunes every subgraph of a graph and records what is better in the bank.
///
/// The state is written when 8, 16, 32, ... subgraphs are done, the bank at the end, also when it ends early: it gets what is
/// better where it stands in the network. The
/// state is the caller's to remove, when all that follows is done. After a cancel the outcome says `finished: false`.
/// Prices are the simulator's,
/// whatever measures operators: no device is asked.
///
/// Fails with [`Error::NothingToTune`] when there is no kernel that could be fused or cut, with
/// [`Error::Workload`] for a kernel that cannot run on the part at all, with [`Error::Option`] for a state of another
/// network, which stays as it is. A bank that cannot be written, on a full disk for one, ends no tuning: it is tried again,
/// at the end the records go where there is room, and the outcome says so.
pub fn sgat(job: &mut SgatJob<'_>, observer: &mut dyn Observer) -> Result<Sgat> {
    let networks = job
        .variants
        .iter()
        .map(|v| Network::new(&v.graph, &v.lowered, job.soc, job.lowering))
        .collect::<Result<Vec<_>>>()?;
    let mut run = Run::new(job, &networks);
    run.check_state()?;
    let is_tunable = |network: &Network<'_>| network.stages().iter().any(|stage| stage.role != Role::Border);
    if !networks.iter().any(is_tunable) {
        run.outcome.tuning.finished = true;
        run.tell(observer, None);
        return Err(Error::NothingToTune {
            reason: format!("graph `{}` has no kernel that subgraph tuning covers", run.outcome.tuning.graph),
        });
    }
    run.begin()?;
    run.tell(observer, None);
    run.all(observer)?;
    run.tell(observer, None);
    Ok(run.into_result())
}
