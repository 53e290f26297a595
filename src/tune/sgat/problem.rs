//! One distinct subgraph on its way through the tuning: looked up, decided, told.

use super::groups::Solver;
use super::network::Role;
use super::outcome::{Plan, PlanGroup};
use super::price::Pricer;
use super::record;
use super::steps::Subgraph;
use super::strategy::best;
use super::{Case, SgatSettings, Strategy};
use crate::bank::subgraph::{self as bank, Feature, Kind};
use crate::tune::{BankStatus, Interrupt, MINIMUM_GAIN};

/// Subgraphs that are alike, with what was known of them before the tuning began.
#[derive(Debug)]
pub struct Problem {
    /// The form of the graph that it is of.
    pub variant: usize,
    /// The subgraphs, in graph order; never empty.
    pub subgraphs: Vec<Subgraph>,
    /// How CANN runs them by default.
    pub default: Strategy,
    /// What they are to the bank.
    pub feature: Feature,
    /// Their number in the bank.
    pub id: u64,
    /// What an interrupted tuning made of them.
    pub earlier: Option<(bank::Strategy, BankStatus)>,
    /// What the bank says of them, and whose record that is.
    pub recorded: Option<(bank::Strategy, Kind)>,
    /// Whether another problem before it is the same to the bank: what comes out for that is not known yet.
    pub has_equal: bool,
}

/// The strategies before and after, and what the latter means for the bank.
#[derive(Debug)]
pub struct Decision {
    /// The subgraphs with their strategies.
    pub case: Case,
    /// What becomes of the record.
    pub status: BankStatus,
    /// The strategy after, as the bank has it.
    pub strategy: bank::Strategy,
    /// The strategies before and after, as reports tell them.
    pub plans: [Plan; 2],
    /// The bank's strategy, where it had one that fits.
    pub banked: Option<Strategy>,
    /// Whether the strategy after is a record of CANN's.
    pub is_read_by_cann: bool,
}

/// Decides problems; what it says follows from the problem alone.
#[derive(Clone, Copy)]
pub struct Decider<'a> {
    /// Name of the network.
    pub name: &'a str,
    /// The caller's settings.
    pub settings: &'a SgatSettings,
    /// What may end the search.
    pub interrupt: Interrupt<'a>,
}

impl Decider<'_> {
    /// A decision that looks at no equal problem.
    pub fn decide(&self, solver: &mut Solver<'_>, problem: &Problem) -> Decision {
        let known = Known::of(solver, problem);
        let banked = known.banked().cloned();
        let (before, after, status) = self.strategies(solver, problem, known);
        let is_read_by_cann =
            status == BankStatus::Reserved && problem.recorded.as_ref().is_some_and(|(_, kind)| *kind == Kind::Cann);
        let (network, arch) = (solver.pricer().network(), solver.pricer().soc().arch);
        let strategy = record::to_bank(network, arch, self.name, &after);
        let plans = [plan(solver.pricer(), &before, &[]), plan(solver.pricer(), &after, &[])];
        let case = Case { subgraphs: problem.subgraphs.clone(), before, after };
        Decision { case, status, strategy, plans, banked, is_read_by_cann }
    }

    fn strategies(&self, solver: &mut Solver<'_>, problem: &Problem, known: Known) -> (Strategy, Strategy, BankStatus) {
        let subgraph = &problem.subgraphs[0];
        if is_border(solver, problem) {
            return (known.default.clone(), known.default, BankStatus::NotTuned);
        }
        let from = known.banked().unwrap_or(&known.default).clone();
        let Known { default, earlier, recorded: known } = known;
        if let Some((after, status)) = earlier {
            return (default, after, status);
        }
        let in_bank = known.is_some();
        // Such a record was made for another number of cores, or by another model.
        let is_bad = known.as_ref().is_some_and(|known| known.us > default.us * (1.0 + MINIMUM_GAIN));
        let searches = (!in_bank || is_bad || self.settings.repeat_tune) && self.interrupt.reason().is_none();
        let found = if searches { best(solver, subgraph, self.settings.mixed, &from) } else { from.clone() };
        let is_better = found.us < from.us * (1.0 - MINIMUM_GAIN);
        let status = match (in_bank, is_better) {
            (false, true) => BankStatus::Added,
            (true, true) => BankStatus::Updated,
            (true, false) => BankStatus::Reserved,
            (false, false) => BankStatus::Unsatisfied,
        };
        (default, if is_better { found } else { from }, status)
    }
}

/// Whether subgraphs end at a problem's kernels, so that there is nothing to decide.
fn is_border(solver: &mut Solver<'_>, problem: &Problem) -> bool {
    solver.pricer().network().stage(problem.subgraphs[0].kernels.start).role == Role::Border
}

/// The strategies of a problem that are known without a search.
struct Known {
    default: Strategy,
    earlier: Option<(Strategy, BankStatus)>,
    recorded: Option<Strategy>,
}

impl Known {
    fn of(solver: &mut Solver<'_>, problem: &Problem) -> Known {
        let subgraph = &problem.subgraphs[0];
        let mut fitting = |recorded| record::from_bank(solver.pricer(), subgraph, recorded);
        let earlier =
            problem.earlier.as_ref().and_then(|(recorded, status)| Some((fitting(recorded)?, status.clone())));
        let recorded = problem.recorded.as_ref().and_then(|(recorded, _)| fitting(recorded));
        Known { default: problem.default.clone(), earlier, recorded }
    }

    /// What the bank had before this tuning.
    fn banked(&self) -> Option<&Strategy> {
        match (&self.earlier, &self.recorded) {
            // What the interrupted tuning added to the bank was not there before it.
            (Some((after, BankStatus::Reserved)), _) | (None, Some(after)) => Some(after),
            _ => None,
        }
    }
}

/// A strategy as reports tell it, where each launch of its kernels finds so many bytes in device memory.
pub fn plan(pricer: &mut Pricer<'_>, strategy: &Strategy, missed: &[Option<f64>]) -> Plan {
    let network = pricer.network();
    let mut plan = Plan { us: strategy.us, ..Plan::default() };
    let mut missed = missed.iter().copied();
    for group in &strategy.groups {
        for members in &group.scopes {
            plan.traffic += pricer.traffic(members, group.run, missed.next().flatten()).unwrap_or_default();
        }
        let names = |members: &Vec<u32>| members.iter().map(|&at| network.name(at).to_owned()).collect();
        plan.groups.push(PlanGroup { parts: group.run.parts, scopes: group.scopes.iter().map(names).collect() });
    }
    plan
}
