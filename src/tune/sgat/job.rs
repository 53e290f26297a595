//! The closed loop of subgraph tuning: what the bank knows, else the best strategy that there is.

use super::network::{Network, Role};
use super::problem::Decision;
use super::run::{Sgat, SgatJob, Subgraphs};
use super::units::Problems;
use crate::status::{Error, Result};
use crate::tune::cases::because_left_out;
use crate::tune::job::{Job, run};
use crate::tune::{Interrupt, Observer, Progress, Tuned, Tuning};

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
    let (threads, interrupt) =
        (job.settings.parallel, Interrupt { cancel: job.cancel, deadline: job.settings.deadline });
    let mut subgraphs = Subgraphs::new(job, &networks, interrupt);
    run(&mut subgraphs, threads, interrupt, observer)?;
    Ok(subgraphs.into_result())
}

impl<'r> Job for Subgraphs<'r> {
    type Units = Problems<'r>;

    /// Places in the outcome are those of the graph, and what waits for an equal problem finds it before.
    const IN_ORDER: bool = true;

    fn prepare(&mut self) -> Result<Problems<'r>> {
        self.check_state()?;
        let is_tunable = |network: &Network<'_>| network.stages().iter().any(|stage| stage.role != Role::Border);
        if !self.networks.iter().any(is_tunable) {
            let left_out = because_left_out(self.variants);
            let graph = &self.outcome.tuning.graph;
            let reason = format!("graph `{graph}` has no kernel that subgraph tuning covers{left_out}");
            return Err(Error::NothingToTune { reason });
        }
        self.begin()?;
        self.problems()
    }

    fn keep(&mut self, units: &Problems<'r>, unit: usize, decision: Option<Box<Decision>>) {
        // What was decided without a search is not kept: a tuning that goes on from here searches.
        if !self.decider.interrupt.cancelled() {
            self.keep_one(units, &units.all[unit], decision);
        }
    }

    fn settled(&self) -> usize {
        self.outcome.subgraphs.len()
    }

    /// Writes the state: what becomes of all this in the network, and so in the bank, is known when all is found.
    fn save(&mut self, first: usize) -> Result<()> {
        self.save_state(first);
        Ok(())
    }

    fn finish(&mut self, _: &Problems<'r>) -> Result<()> {
        self.save_state(usize::MAX);
        self.settle()?;
        self.save_bank();
        Ok(())
    }

    fn progress(&self) -> Progress {
        Progress::of("subgraphs", [self.done(), self.total], self.times_us)
    }

    fn tuning(&mut self) -> &mut Tuning {
        &mut self.outcome.tuning
    }

    fn tuned(&self) -> Tuned<'_> {
        Tuned::Subgraphs(&self.outcome)
    }
}
