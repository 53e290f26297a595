//! Subgraphs as units of work: what a thread needs to decide about one.

use super::groups::Solver;
use super::network::Network;
use super::price::Pricer;
use super::problem::{Decider, Decision, Problem};
use crate::soc::Soc;
use crate::status::Result;
use crate::tune::job::Units;
use crate::tune::watched::Searched;

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
