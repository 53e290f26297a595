//! The closed loop of subgraph tuning: what the bank knows, else the best strategy that there is.

use super::groups::Solver;
use super::network::{Network, Role};
use super::outcome::{Place, Plan, PlanGroup, SgatOutcome, SubgraphOutcome};
use super::price::Pricer;
use super::record::{self, Mark};
use super::state::State;
use super::steps::Subgraph;
use super::strategy::{alike, best, default_strategy};
use super::{Case, Strategy, tuned};
use crate::backend::Backend;
use crate::backend::simulator::Simulator;
use crate::bank::subgraph::{Feature, Record, SubgraphBank};
use crate::lower::{self, Lowered};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tune::cases::unmapped;
use crate::tune::{BankStatus, Interrupt, Observer, Progress, Variant};
use rustc_hash::FxHashMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// A strategy counts as better only when the gain shows in a report with two decimals.
const MINIMUM_GAIN: f64 = 1e-4;
/// Subgraphs after which bank and state are written for the first time; then after twice as many, and so on.
const FIRST_SAVE: usize = 8;

/// What a caller may decide about subgraph tuning.
#[derive(Debug, Clone, Default)]
pub struct SgatSettings {
    /// Whether the groups of one subgraph may be cut into different numbers of parts (`nonhomo_split`).
    pub mixed: bool,
    /// Search again for subgraphs that a bank already holds (`REPEAT_TUNE`).
    pub repeat_tune: bool,
    /// No new search is begun after this moment.
    pub deadline: Option<Instant>,
}

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
    /// The kernels of each variant as they run now, for operator tuning. Where it was interrupted, what was
    /// not dealt with is missing.
    pub lowered: Vec<Lowered>,
    /// What the strategies say of each kernel of the first variant, and its kernels as they were.
    pub marks: Vec<Mark>,
}

/// Tunes every subgraph of a graph and records what is better in the bank.
///
/// The bank is written when 8, 16, 32, ... subgraphs are done, and at the end, also when it ends early. After a
/// cancel the outcome says `finished: false`, and the state holds what was found. Prices are the simulator's,
/// whatever measures operators: no device is asked.
///
/// Fails with [`Error::NothingToTune`] when there is no kernel that could be fused or cut, with
/// [`Error::Workload`] for a kernel that cannot run on the part at all, and with the bank's error when it
/// cannot be written.
pub fn sgat(job: &mut SgatJob<'_>, observer: &mut dyn Observer<SgatOutcome>) -> Result<Sgat> {
    let networks = job
        .variants
        .iter()
        .map(|v| Network::new(&v.graph, &v.lowered, job.soc, job.lowering))
        .collect::<Result<Vec<_>>>()?;
    let mut run = Run::new(job, &networks);
    let is_tunable = |network: &Network<'_>| network.stages().iter().any(|stage| stage.role != Role::Border);
    if !networks.iter().any(is_tunable) {
        run.outcome.finished = true;
        run.tell(observer, None);
        return Err(Error::NothingToTune {
            reason: format!("graph `{}` has no kernel that subgraph tuning covers", run.outcome.graph),
        });
    }
    run.tell(observer, None);
    let ran = run.all(observer);
    let cancelled = run.interrupt.cancelled();
    // Whatever ended it, what was found is kept.
    let kept = run.save();
    ran.and(kept)?;
    run.outcome.elapsed = run.started.elapsed();
    run.outcome.finished = !cancelled && run.done() == run.total;
    if run.outcome.finished {
        run.state.clear()?;
    }
    run.tell(observer, None);
    Ok(run.into_result())
}

/// A tuning under way.
struct Run<'a, 'n> {
    networks: &'n [Network<'n>],
    variants: &'a [Variant],
    settings: &'a SgatSettings,
    soc: &'a Soc,
    bank: &'a mut SubgraphBank,
    state: &'a mut State,
    interrupt: Interrupt<'a>,
    started: Instant,
    /// Subgraphs of each variant, alike ones together.
    alike: Vec<Vec<Vec<Subgraph>>>,
    /// Of all variants.
    total: usize,
    /// Those dealt with, of each variant.
    cases: Vec<Vec<Case>>,
    outcome: SgatOutcome,
    /// Records of the outcome's subgraphs, and which is whose.
    records: Vec<Record>,
    places: FxHashMap<u64, usize>,
    /// Subgraphs recorded so far, and how many must be for the next save.
    recorded: usize,
    next_save: usize,
}

impl<'a, 'n> Run<'a, 'n> {
    fn new(job: &'a mut SgatJob<'_>, networks: &'n [Network<'n>]) -> Run<'a, 'n> {
        let alike: Vec<_> = networks.iter().map(|network| alike(network, job.soc)).collect();
        let outcome = SgatOutcome {
            graph: job.name.to_owned(),
            pricer: Simulator::new(job.soc.clone()).describe(),
            soc: job.soc.name.clone(),
            subgraphs: Vec::new(),
            unmapped: unmapped(job.variants),
            elapsed: Duration::ZERO,
            finished: false,
        };
        Run {
            networks,
            variants: job.variants,
            settings: job.settings,
            soc: job.soc,
            bank: job.bank,
            state: job.state,
            interrupt: Interrupt { cancel: job.cancel, deadline: job.settings.deadline },
            started: Instant::now(),
            total: alike.iter().map(Vec::len).sum(),
            alike,
            cases: networks.iter().map(|_| Vec::new()).collect(),
            outcome,
            records: Vec::new(),
            places: FxHashMap::default(),
            recorded: 0,
            next_save: FIRST_SAVE,
        }
    }

    fn done(&self) -> usize {
        self.cases.iter().map(Vec::len).sum()
    }

    fn tell(&self, observer: &mut dyn Observer<SgatOutcome>, last: Option<usize>) {
        let outcome = &self.outcome;
        let progress = Progress {
            unit: "subgraphs",
            done: self.done(),
            total: self.total,
            node: last.map(|index| outcome.subgraphs[index].name().to_owned()).unwrap_or_default(),
            network_us: outcome.after_us(),
            baseline_us: outcome.before_us(),
            elapsed_s: outcome.elapsed.as_secs_f64(),
        };
        observer.progress(&progress, outcome);
    }

    fn all(&mut self, observer: &mut dyn Observer<SgatOutcome>) -> Result<()> {
        for (variant, network) in self.networks.iter().enumerate() {
            let mut solver = Solver::new(Pricer::new(network, self.soc));
            for subgraphs in std::mem::take(&mut self.alike[variant]) {
                if self.interrupt.cancelled() {
                    return Ok(());
                }
                let index = self.one(variant, &mut solver, subgraphs)?;
                self.outcome.elapsed = self.started.elapsed();
                if self.outcome.subgraphs.len() >= self.next_save {
                    self.save()?;
                    self.next_save *= 2;
                }
                self.tell(observer, Some(index));
            }
        }
        Ok(())
    }

    /// Deals with subgraphs that are alike; answers which of the outcome's they are.
    fn one(&mut self, variant: usize, solver: &mut Solver<'_>, subgraphs: Vec<Subgraph>) -> Result<usize> {
        let network = solver.pricer().network();
        let feature = record::feature(network, &subgraphs[0]);
        let label = &self.variants[variant].label;
        let place = |s: &Subgraph| Place {
            variant,
            first: format!("{}{label}", network.name(s.kernels.start)),
            kernels: s.kernels.clone(),
        };
        let places: Vec<Place> = subgraphs.iter().map(place).collect();
        // Another batch size may leave a subgraph as it is.
        let id = feature.graph_id()?;
        let same = self.places.get(&id).copied().filter(|&index| self.records[index].feature == feature);
        if let Some(index) = same
            && let Some(after) = record::from_bank(solver.pricer(), &subgraphs[0], &self.records[index].strategy)
        {
            self.outcome.subgraphs[index].places.extend(places);
            let before = after.clone();
            self.cases[variant].push(Case { subgraphs, before, after });
            return Ok(index);
        }
        let (case, status) = self.decide(solver, subgraphs, &feature)?;
        let arch = self.soc.arch;
        let strategy = record::to_bank(network, arch, &self.outcome.graph, &case.after);
        let record = Record { graph_id: id, ..Record::new(feature, strategy)? };
        let index = self.outcome.subgraphs.len();
        self.outcome.subgraphs.push(SubgraphOutcome {
            index,
            places,
            op_types: case.subgraphs[0].kernels.clone().map(|at| network.op_type(at).to_owned()).collect(),
            repo_key: record.repo_key(),
            before: plan(solver.pricer(), &case.subgraphs[0], &case.before),
            after: plan(solver.pricer(), &case.subgraphs[0], &case.after),
            status,
        });
        self.records.push(record);
        self.places.insert(id, index);
        self.cases[variant].push(case);
        Ok(index)
    }

    /// The strategies before and after, and what the latter means for the bank.
    fn decide(
        &self,
        solver: &mut Solver<'_>,
        subgraphs: Vec<Subgraph>,
        feature: &Feature,
    ) -> Result<(Case, BankStatus)> {
        let subgraph = &subgraphs[0];
        let default = default_strategy(solver, subgraph)?;
        if solver.pricer().network().stage(subgraph.kernels.start).role == Role::Border {
            let case = Case { before: default.clone(), after: default, subgraphs };
            return Ok((case, BankStatus::NotTuned));
        }
        let mut fitting = |recorded| record::from_bank(solver.pricer(), subgraph, recorded);
        let earlier = self.state.finished(feature)?;
        let earlier = earlier.and_then(|(recorded, status)| Some((fitting(recorded)?, status)));
        let known = self.bank.lookup(feature)?.and_then(&mut fitting);
        if let Some((after, status)) = earlier {
            // What the interrupted tuning added to the bank was not there before it.
            let before = if status == BankStatus::Reserved { after.clone() } else { default };
            return Ok((Case { subgraphs, before, after }, status));
        }
        let in_bank = known.is_some();
        let before = known.unwrap_or(default);
        let searches = (!in_bank || self.settings.repeat_tune) && self.interrupt.reason().is_none();
        let found = if searches { best(solver, subgraph, self.settings.mixed, &before) } else { before.clone() };
        let is_better = found.us < before.us * (1.0 - MINIMUM_GAIN);
        let status = match (in_bank, is_better) {
            (false, true) => BankStatus::Added,
            (true, true) => BankStatus::Updated,
            (true, false) => BankStatus::Reserved,
            (false, false) => BankStatus::Unsatisfied,
        };
        let after = if is_better { found } else { before.clone() };
        Ok((Case { subgraphs, before, after }, status))
    }

    /// Writes what was found since the last time.
    fn save(&mut self) -> Result<()> {
        let new = self.records.iter().zip(&self.outcome.subgraphs).skip(self.recorded);
        for (record, subgraph) in new {
            if matches!(subgraph.status, BankStatus::Added | BankStatus::Updated) {
                self.bank.record(record.clone());
            }
            if subgraph.status.is_tuned() {
                self.state.finish(record.clone(), &subgraph.status);
            }
        }
        self.recorded = self.records.len();
        self.bank.save()?;
        // A tuning that has come to its end needs no state.
        if self.done() == self.total { Ok(()) } else { self.state.save() }
    }

    fn into_result(self) -> Sgat {
        let lowered = self.networks.iter().zip(&self.cases).map(|(network, cases)| tuned(network, cases)).collect();
        let marks = self.networks.first().zip(self.cases.first());
        let marks = marks.map_or_else(Vec::new, |(network, cases)| marks_of(network, self.soc, cases));
        Sgat { outcome: self.outcome, lowered, marks }
    }
}

/// The marks of all kernels of a network, its scopes numbered throughout.
fn marks_of(network: &Network<'_>, soc: &Soc, cases: &[Case]) -> Vec<Mark> {
    let mut marks = Vec::with_capacity(network.stages().len());
    let mut numbered = 0;
    for case in cases {
        let solved = record::marks(network, soc.arch, &case.after);
        let scopes = solved.iter().map(|mark| mark.scope.abs()).max().unwrap_or(0);
        for subgraph in &case.subgraphs {
            let (from, to) = (case.subgraphs[0].kernels.start, subgraph.kernels.start);
            let moved = |mark: &Mark| Mark {
                at: mark.at - from + to,
                scope: mark.scope + numbered * mark.scope.signum(),
                ..*mark
            };
            marks.extend(solved.iter().map(moved));
            numbered += scopes;
        }
    }
    marks.sort_unstable_by_key(|mark| mark.at);
    marks
}

/// A strategy as reports tell it.
fn plan(pricer: &mut Pricer<'_>, subgraph: &Subgraph, strategy: &Strategy) -> Plan {
    let network = pricer.network();
    let mut plan = Plan { us: strategy.us, ..Plan::default() };
    for group in &strategy.groups {
        let kernels = subgraph.steps[group.steps.start].start..subgraph.steps[group.steps.end - 1].end;
        let run = pricer.run(&kernels, group.parts);
        for members in &group.scopes {
            plan.traffic += pricer.traffic(members, run).unwrap_or_default();
        }
        let names = |members: &Vec<u32>| members.iter().map(|&at| network.name(at).to_owned()).collect();
        plan.groups.push(PlanGroup { parts: group.parts, scopes: group.scopes.iter().map(names).collect() });
    }
    plan
}
