//! A subgraph tuning under way: problems go out to threads, what comes back is kept in the order of the graph.

use super::apply::Price;
use super::fused::{defaults, untuned};
use super::groups::Solver;
use super::network::Network;
use super::outcome::{Place, SgatOutcome, SubgraphOutcome};
use super::price::Pricer;
use super::problem::{Decider, Decision, Equal, Found, Problem};
use super::record;
use super::state::State;
use super::steps::Subgraph;
use super::strategy::alike;
use super::{Case, Sgat, SgatJob, Strategy, apply};
use crate::backend::Backend;
use crate::backend::simulator::Simulator;
use crate::bank::subgraph::{self as bank, Record, SubgraphBank};
use crate::lower::Lowered;
use crate::output_file::directory_of;
use crate::soc::Soc;
use crate::status::Result;
use crate::tune::workers::Workers;
use crate::tune::{BankStatus, Interrupt, Observer, Progress, Tuned, Tuning, Unsaved, Variant, remaining_s};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Map;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Subgraphs after which bank and state are written for the first time; then after twice as many, and so on.
const FIRST_SAVE: usize = 8;

/// How a variant runs by default.
pub struct Before {
    /// Its kinds of subgraphs, in the order of `alike`.
    pub strategies: Vec<Strategy>,
    /// What all of each kind take.
    pub prices: Vec<Price>,
    /// Its kernels.
    pub lowered: Lowered,
}

/// A tuning under way.
pub struct Run<'a, 'n> {
    pub(super) networks: &'n [Network<'n>],
    variants: &'a [Variant],
    pub(super) soc: &'a Soc,
    bank: &'a mut SubgraphBank,
    state: &'a mut State,
    pub(super) decider: Decider<'a>,
    started: Instant,
    /// Subgraphs of each variant, alike ones together.
    pub(super) alike: Vec<Vec<Vec<Subgraph>>>,
    /// Of all variants.
    total: usize,
    /// How each variant runs by default.
    pub(super) before: Vec<Before>,
    /// Those dealt with, of each variant, in the order of `alike`.
    pub(super) cases: Vec<Vec<Case>>,
    /// What was found so far.
    pub outcome: SgatOutcome,
    /// Times of the network before and after, as far as it was dealt with.
    times_us: [f64; 2],
    /// Records of the outcome's subgraphs, and which is whose.
    pub(super) records: Vec<Record>,
    places: FxHashMap<u64, usize>,
    /// Variant and place among its cases of all that each of the outcome's subgraphs is of.
    pub(super) homes: Vec<Vec<(usize, usize)>>,
    /// What the bank had for each of the outcome's subgraphs.
    pub(super) banked: Vec<Option<bank::Strategy>>,
    /// How each variant runs with all that was found, and with what CANN reads of it.
    pub(super) after: Vec<Lowered>,
    pub(super) taken: Vec<Lowered>,
    /// Subgraphs in the state so far, and how many must be done for the next time.
    recorded: usize,
    next_save: usize,
}

impl<'a, 'n> Run<'a, 'n> {
    /// A tuning that has not begun.
    pub fn new(job: &'a mut SgatJob<'_>, networks: &'n [Network<'n>]) -> Run<'a, 'n> {
        let alike: Vec<_> = networks.iter().map(|network| alike(network, job.soc)).collect();
        let outcome = SgatOutcome {
            tuning: Tuning::new(job.name, Simulator::new(job.soc.clone()).describe(), job.soc, job.variants),
            subgraphs: Vec::new(),
            gears_before_us: Vec::new(),
        };
        let interrupt = Interrupt { cancel: job.cancel, deadline: job.settings.deadline };
        Run {
            networks,
            variants: job.variants,
            soc: job.soc,
            bank: job.bank,
            state: job.state,
            decider: Decider { name: job.name, settings: job.settings, interrupt },
            started: Instant::now(),
            total: alike.iter().map(Vec::len).sum(),
            alike,
            before: Vec::with_capacity(networks.len()),
            cases: networks.iter().map(|_| Vec::new()).collect(),
            outcome,
            times_us: [0.0; 2],
            records: Vec::new(),
            places: FxHashMap::default(),
            homes: Vec::new(),
            banked: Vec::new(),
            after: Vec::new(),
            taken: Vec::new(),
            recorded: 0,
            next_save: FIRST_SAVE,
        }
    }

    /// Tells how the network runs by default.
    ///
    /// Fails with [`crate::status::Error::Workload`] for a kernel that cannot run on the part at all.
    pub fn begin(&mut self) -> Result<()> {
        for (network, alike) in self.networks.iter().zip(&self.alike) {
            let strategies = defaults(network, self.soc, alike)?;
            let ordered = untuned(network, self.soc, alike, &strategies);
            let prices = ordered.prices(&mut Pricer::new(network, self.soc))?;
            self.outcome.gears_before_us.push(prices.iter().map(|price| price.us).sum());
            self.before.push(Before { strategies, prices, lowered: ordered.lowered });
        }
        Ok(())
    }

    /// Deals with every subgraph, or as many as there is time for, and keeps what was found.
    pub fn all(&mut self, observer: &mut dyn Observer) -> Result<()> {
        let ran = (0..self.networks.len()).try_for_each(|variant| self.variant(variant, observer));
        let cancelled = self.decider.interrupt.cancelled();
        // Whatever ended it, what was found is kept.
        let kept = self.finish();
        ran?;
        kept?;
        self.outcome.tuning.elapsed = self.started.elapsed();
        self.outcome.tuning.finished = !cancelled && self.done() == self.total;
        Ok(())
    }

    /// Fails where the state that it goes on from is none of these networks'.
    pub fn check_state(&self) -> Result<()> {
        if !self.state.is_reloaded() {
            return Ok(());
        }
        let problems = self.networks.iter().zip(&self.alike).flat_map(|(network, alike)| {
            alike.iter().map(|subgraphs| record::feature(network, &subgraphs[0]).graph_id())
        });
        self.state.check_network(&self.outcome.tuning.graph, &problems.collect::<Result<_>>()?)
    }

    fn done(&self) -> usize {
        self.cases.iter().map(Vec::len).sum()
    }

    /// Tells how far it is; `last` is the place of the subgraph that was finished last.
    pub fn tell(&self, observer: &mut dyn Observer, last: Option<usize>) {
        let outcome = &self.outcome;
        let [baseline_us, network_us] = self.times_us;
        let progress = Progress {
            unit: "subgraphs",
            done: self.done(),
            total: self.total,
            node: last.map(|index| outcome.subgraphs[index].name().to_owned()).unwrap_or_default(),
            network_us,
            baseline_us,
            elapsed_s: outcome.tuning.elapsed.as_secs_f64(),
            trials: 0,
            searching: 0,
            remaining_s: remaining_s(
                outcome.tuning.elapsed,
                self.done() as f64,
                self.total,
                self.decider.settings.deadline,
            ),
        };
        observer.progress(&progress, Tuned::Subgraphs(outcome));
    }

    /// Deals with the subgraphs of one variant.
    fn variant(&mut self, variant: usize, observer: &mut dyn Observer) -> Result<()> {
        let (networks, soc, decider) = (self.networks, self.soc, self.decider);
        let interrupt = decider.interrupt;
        let problems = self.problems(variant)?;
        let solver = || Solver::new(Pricer::new(&networks[variant], soc));
        // For those that wait for another one.
        let mut own = solver();
        // What came before its turn.
        let mut early: BTreeMap<usize, Found> = BTreeMap::new();
        let mut turn = 0;
        let stopped = || interrupt.cancelled();
        let workers = Workers { name: "aoe-subgraphs", threads: decider.settings.parallel, stopped: &stopped };
        let find = |solver: &mut Solver<'_>, index: usize, _: &mut dyn FnMut(_)| decider.find(solver, &problems[index]);
        workers.work(problems.len(), solver, find, |index, found| {
            early.insert(index, found);
            while let Some(found) = early.remove(&turn) {
                if interrupt.cancelled() {
                    return Ok(());
                }
                let index = self.keep(variant, &mut own, &problems[turn], found);
                turn += 1;
                self.outcome.tuning.elapsed = self.started.elapsed();
                if self.outcome.subgraphs.len() >= self.next_save {
                    self.save_state();
                    self.next_save *= 2;
                }
                self.tell(observer, Some(index));
            }
            Ok(())
        })
    }

    /// The problems of a variant, with what is known of them.
    fn problems(&mut self, variant: usize) -> Result<Vec<Problem>> {
        let network = &self.networks[variant];
        let mut seen = FxHashSet::default();
        let mut problems = Vec::with_capacity(self.alike[variant].len());
        for (subgraphs, default) in self.alike[variant].iter().zip(&self.before[variant].strategies) {
            let feature = record::feature(network, &subgraphs[0]);
            let id = feature.graph_id()?;
            let same = self.places.get(&id).copied().filter(|&index| self.records[index].feature == feature);
            let solved = same.map(|index| Equal::Solved(index, self.records[index].strategy.clone()));
            let ahead = (!seen.insert(id)).then_some(Equal::Unsolved);
            let earlier = self.state.finished(&feature)?.map(|(strategy, status)| (strategy.clone(), status));
            let recorded = self.bank.lookup(&feature)?.map(|(strategy, kind)| (strategy.clone(), kind));
            let (subgraphs, default) = (subgraphs.clone(), default.clone());
            problems.push(Problem { subgraphs, default, feature, id, earlier, recorded, equal: solved.or(ahead) });
        }
        Ok(problems)
    }

    /// Keeps what was found for a problem; answers which of the outcome's subgraphs it is.
    fn keep(&mut self, variant: usize, own: &mut Solver<'_>, problem: &Problem, found: Found) -> usize {
        let decision = match found {
            Found::Own(decision) => *decision,
            Found::Shared(index, after) => return self.share(variant, problem, index, after),
            Found::Waits => {
                let same = self.places.get(&problem.id).copied();
                let same = same.filter(|&index| self.records[index].feature == problem.feature);
                let after = same.and_then(|index| {
                    let strategy = &self.records[index].strategy;
                    Some((index, record::from_bank(own.pricer(), &problem.subgraphs[0], strategy)?))
                });
                match after {
                    Some((index, after)) => return self.share(variant, problem, index, after),
                    None => self.decider.decide(own, problem),
                }
            }
        };
        self.add(variant, problem, decision)
    }

    /// A problem that runs as another one does, which is the outcome's subgraph of this place.
    fn share(&mut self, variant: usize, problem: &Problem, index: usize, after: Strategy) -> usize {
        let subgraph = &self.outcome.subgraphs[index];
        let us = [subgraph.before.us, subgraph.after.us];
        self.count(us, problem);
        let places = self.places_of(variant, problem);
        self.outcome.subgraphs[index].places.extend(places);
        self.homes[index].push((variant, self.cases[variant].len()));
        let before = problem.default.clone();
        self.cases[variant].push(Case { subgraphs: problem.subgraphs.clone(), before, after });
        index
    }

    /// A problem with a decision of its own.
    fn add(&mut self, variant: usize, problem: &Problem, decision: Decision) -> usize {
        let network = &self.networks[variant];
        let Decision { case, status, strategy, plans: [mut before, mut after], banked, is_read_by_cann } = decision;
        let (feature, other) = (problem.feature.clone(), Map::new());
        let record = Record { graph_id: problem.id, feature, strategy, other };
        let index = self.outcome.subgraphs.len();
        let kernels = problem.subgraphs[0].kernels.clone();
        // The search knows what it saves, and the network what the default takes.
        let whole = self.before[variant].prices[self.cases[variant].len()].us / problem.subgraphs.len() as f64;
        let of_search = |us: f64| if before.us > 0.0 { whole * (us / before.us) } else { whole };
        let banked_us = banked.as_ref().map(|banked| of_search(banked.us));
        after.us = of_search(after.us);
        before.us = whole;
        let taken_us = if is_read_by_cann { after.us } else { before.us };
        self.count([before.us, after.us], problem);
        self.outcome.subgraphs.push(SubgraphOutcome {
            index,
            places: self.places_of(variant, problem),
            op_types: kernels.clone().map(|at| network.op_type(at).to_owned()).collect(),
            names: kernels.clone().map(|at| network.name(at).to_owned()).collect(),
            edges: network.edges(&kernels),
            repo_key: record.repo_key(),
            before,
            banked_us,
            after,
            taken_us,
            is_read_by_cann,
            status,
        });
        self.records.push(record);
        self.places.insert(problem.id, index);
        self.homes.push(vec![(variant, self.cases[variant].len())]);
        let to_bank = |banked| record::to_bank(network, self.soc.arch, self.decider.name, &banked);
        self.banked.push(banked.map(to_bank));
        self.cases[variant].push(case);
        index
    }

    fn count(&mut self, us: [f64; 2], problem: &Problem) {
        for (sum, us) in self.times_us.iter_mut().zip(us) {
            *sum += us * problem.subgraphs.len() as f64;
        }
    }

    fn places_of(&self, variant: usize, problem: &Problem) -> Vec<Place> {
        let (network, label) = (&self.networks[variant], &self.variants[variant].label);
        let place = |s: &Subgraph| Place {
            variant,
            first: format!("{}{label}", network.name(s.kernels.start)),
            kernels: s.kernels.clone(),
        };
        problem.subgraphs.iter().map(place).collect()
    }

    /// Keeps what is better in the network; what the bank does not take goes to the rescue's place, and the outcome says
    /// so.
    fn finish(&mut self) -> Result<()> {
        self.save_state();
        self.settle()?;
        self.times_us = [self.outcome.before_us(), self.outcome.after_us()];
        let Err(error) = self.save() else { return Ok(()) };
        for subgraph in &mut self.outcome.subgraphs {
            if subgraph.status.is_new() {
                subgraph.status = BankStatus::Unsaved;
            }
        }
        let bank = directory_of(self.bank.file()).to_owned();
        let rescue = self.decider.settings.rescue.as_deref();
        let save = |place: &Path| self.bank.save_elsewhere(place);
        self.outcome.tuning.unsaved = Some(Unsaved::rescued(&bank, &error, rescue, save));
        Ok(())
    }

    /// Writes what was found since the last time for a tuning that goes on from here: what becomes of it in the network is
    /// known when all is found.
    fn save_state(&mut self) {
        let new = self.records.iter().zip(&self.outcome.subgraphs).skip(self.recorded);
        for (record, subgraph) in new.filter(|(_, subgraph)| subgraph.status.is_tuned()) {
            self.state.finish(record.clone(), &subgraph.status);
        }
        self.recorded = self.records.len();
        // The state matters to a tuning that is interrupted alone: without it that begins anew, with what the bank has.
        if let Err(error) = self.state.save() {
            log::warn!("an interrupted tuning would not go on from here: {error}");
        }
    }

    /// Writes the bank.
    fn save(&mut self) -> Result<()> {
        for (record, subgraph) in self.records.iter().zip(&self.outcome.subgraphs) {
            if subgraph.status.is_new() {
                self.bank.record(record.clone());
            }
        }
        self.bank.save()?;
        self.outcome.tuning.saved = self.records.len();
        Ok(())
    }

    /// What it leaves behind.
    pub fn into_result(self) -> Sgat {
        let marks = self.networks.first().zip(self.cases.first());
        let marks = marks.map_or_else(Vec::new, |(network, cases)| apply::marks(network, self.soc, cases));
        let before = self.before.into_iter().map(|before| before.lowered).collect();
        Sgat { outcome: self.outcome, lowered: self.after, taken: self.taken, before, marks }
    }
}
