//! The closed loop of subgraph tuning: what the bank knows, else the best strategy that there is.

use super::groups::Solver;
use super::network::{Network, Role};
use super::outcome::SgatOutcome;
use super::price::Pricer;
use super::problem::{Decider, Decision, Problem};
use super::record::Mark;
use super::run::Subgraphs;
use super::settings::SgatSettings;
use super::state::State;
use crate::bank::subgraph::SubgraphBank;
use crate::lower::{self, Lowered};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tune::job::{Job, Units, run};
use crate::tune::watched::Searched;
use crate::tune::{Interrupt, Observer, Progress, Tuned, Tuning, Variant};
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
            let reason = format!("graph `{}` has no kernel that subgraph tuning covers", self.outcome.tuning.graph);
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

/// The distinct subgraphs of all variants, each a unit of work: one variant's after the other's.
pub struct Problems<'r> {
    pub(super) networks: &'r [Network<'r>],
    pub(super) soc: &'r Soc,
    pub(super) decider: Decider<'r>,
    pub(super) all: Vec<Problem>,
}

/// A variant, and what solves its problems: a thread keeps that of the variant at hand.
pub type VariantSolver<'r> = Option<(usize, Solver<'r>)>;

impl<'r> Problems<'r> {
    /// The solver of a variant.
    pub(super) fn solver<'t>(&self, solver: &'t mut VariantSolver<'r>, variant: usize) -> &'t mut Solver<'r> {
        let at_hand = solver.take().filter(|(of, _)| *of == variant);
        let new = || (variant, Solver::new(Pricer::new(&self.networks[variant], self.soc)));
        &mut solver.insert(at_hand.unwrap_or_else(new)).1
    }
}

impl<'r> Units for Problems<'r> {
    type Tool = VariantSolver<'r>;
    /// Nothing for a problem that has an equal: it waits for what came out for that.
    type Done = Option<Box<Decision>>;

    fn count(&self) -> usize {
        self.all.len()
    }

    fn tool(&self) -> VariantSolver<'r> {
        None
    }

    fn name(&self, unit: usize) -> String {
        let problem = &self.all[unit];
        self.networks[problem.variant].name(problem.subgraphs[0].kernels.start).to_owned()
    }

    fn work(
        &self,
        solver: &mut VariantSolver<'r>,
        unit: usize,
        _: &mut dyn FnMut(Searched),
    ) -> Result<Option<Box<Decision>>> {
        let problem = &self.all[unit];
        let decide = || Box::new(self.decider.decide(self.solver(solver, problem.variant), problem));
        Ok((!problem.has_equal).then(decide))
    }
}
